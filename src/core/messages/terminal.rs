//! Commands in terminals: what is done with one, and what comes of it.

use crate::session::terminal::TerminalExit;
use std::path::PathBuf;
use std::time::Duration;

/// What is done with a command.
#[derive(Debug, Clone, PartialEq)]
pub enum ToTerminal {
    /// Start it; `FromTerminal::Started` or `NotStarted` follows.
    Start(Box<Launch>),
    /// End it with all it started: SIGTERM, SIGKILL.
    Kill,
    /// The same, and forget it.
    Release,
}

/// A command to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// A program, or without arguments a whole command line for a shell.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment; of two values of one name the later counts.
    pub env: Vec<(String, String)>,
    /// Where it runs, absolute.
    pub cwd: PathBuf,
}

/// What happens in a terminal of ours, in this order; nothing comes after the release of one that has exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromTerminal {
    /// The command runs.
    Started,
    /// It does not, and why, in one line. Nothing more will come.
    NotStarted(String),
    /// It has written this.
    Output(Vec<u8>),
    /// It has ended, after so long, and what it had written by then has been told. Others it started may write on.
    Exited(TerminalExit, Duration),
}
