//! Which face of the program is meant: the bridge that Neovim starts, the tour, or the watchdog of a process.

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The other half of rat.nvim. Neovim starts it; there is nothing to do with it by hand but `tour`.
#[derive(Debug, Parser)]
#[command(name = "rat-nvim", version)]
struct Arguments {
    #[command(subcommand)]
    face: Option<Face>,
}

#[derive(Debug, Subcommand)]
enum Face {
    /// Plays the built-in tour: an agent on stdin and stdout that needs no key and no network.
    Tour,
    /// Ends a process and all it started when stdin closes.
    #[command(hide = true)]
    WatchGroup {
        /// Its process group.
        group: i32,
        /// What all it started carries in its environment.
        mark: String,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().face {
        None => rat_nvim::bridge::run(),
        Some(Face::Tour) => rat_nvim::tour::run(),
        Some(Face::WatchGroup { group, mark }) => {
            rat_nvim::process::watch::watch_group(group, &mark)
        }
    }
}
