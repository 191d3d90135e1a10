//! The command line: runs the bridge that Neovim starts (the default), the tour, the report for `:checkhealth rat`, or the
//! watchdog of a process group.

use clap::{Parser, Subcommand};
use rat_nvim::config::report::report;
use rat_nvim::exec;
use rat_nvim::process::program;
use std::process::ExitCode;

/// The output of `--version`, which `:checkhealth rat` shows: the version, and whether the binary is a release build.
const VERSION: &str = if option_env!("RAT_RELEASE_BUILD").is_some() {
    concat!(env!("CARGO_PKG_VERSION"), " (release)")
} else {
    concat!(env!("CARGO_PKG_VERSION"), " (built from source)")
};

/// The backend of rat.nvim. Neovim starts it; only `exec` and `tour` are useful by hand.
#[derive(Debug, Parser)]
#[command(name = "rat-nvim", version = VERSION)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Plays the built-in tour: an agent on stdin and stdout that needs no key and no network.
    Tour,
    /// Sends one prompt to an agent and prints what it answers, for scripts.
    Exec(Box<exec::arguments::Arguments>),
    /// Reports whether the configured agents can be started, for `:checkhealth rat`.
    #[command(hide = true)]
    CheckAgents,
    /// Ends a process and all it started when stdin closes.
    #[command(hide = true)]
    WatchGroup {
        /// Its process group.
        group: i32,
        /// The mark that all its processes have in their environment.
        mark: String,
    },
}

/// Reads the configuration from stdin and writes the report to stdout, both as JSON.
fn check_agents() -> ExitCode {
    let environment = std::env::vars_os();
    let environment = environment
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let cwd = std::env::current_dir().unwrap_or_default();
    let written = serde_json::from_reader(std::io::stdin()).and_then(|configured| {
        let lines = report(&configured, &environment.collect(), &cwd, &program::this_program());
        serde_json::to_writer(std::io::stdout(), &lines)
    });
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        None => rat_nvim::bridge::run(),
        Some(Command::Exec(arguments)) => exec::run(*arguments),
        Some(Command::Tour) => rat_nvim::tour::run(),
        Some(Command::CheckAgents) => check_agents(),
        Some(Command::WatchGroup { group, mark }) => {
            rat_nvim::process::watch::watch_group(group, &mark)
        }
    }
}
