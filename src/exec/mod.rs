//! `rat-nvim exec`: one prompt to an agent without Neovim, for scripts. The core, the agents and the files are the same as for
//! Neovim; this is their other user, who answers by rules.

pub mod arguments;
mod exit;
mod last_frames;
mod no_editor;
mod output;
mod plan;
mod policy;
mod questions;
pub mod rules;
mod run;
mod signals;
mod stdout;
mod terminal;

use crate::core::messages::notice::without_error_numbers;
use arguments::Arguments;
use exit::Exit;
use std::process::ExitCode;

/// Runs the command and returns how it has ended, which [`arguments::AFTER_HELP`] explains. What the agent says goes to
/// stdout, and what there is to know beside it to stderr.
pub fn run(arguments: Arguments) -> ExitCode {
    let end = match plan::plan(arguments) {
        Ok(plan) => run::run(plan),
        Err(end) => end,
    };
    if let Some(why) = end.why.as_deref().filter(|why| !why.is_empty()) {
        output::tell(why);
    }
    end.exit.into()
}

/// How a run has ended.
#[derive(Debug)]
struct End {
    exit: Exit,
    /// What is left to say about it, in one line.
    why: Option<String>,
}

impl End {
    fn new(exit: Exit, why: impl Into<String>) -> Self {
        Self { exit, why: Some(without_error_numbers(why.into())) }
    }
}

impl From<Exit> for End {
    fn from(exit: Exit) -> Self {
        Self { exit, why: None }
    }
}
