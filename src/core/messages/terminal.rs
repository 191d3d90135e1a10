//! Terminals: commands that run for agents.

use crate::session::confinement::Confinement;
use crate::session::terminal::TerminalExit;
use std::path::PathBuf;
use std::time::Duration;

/// A command for a terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalCommand {
    /// Start the process; `TerminalEvent::Started` or `NotStarted` follows.
    Start(Box<CommandSpec>),
    /// End the process and everything it has started: SIGTERM, then SIGKILL.
    Kill,
    /// Like `Kill`, and forget the terminal.
    Release,
}

/// The process to start in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// A program; or, if `args` is empty, a command line for a shell.
    pub command: String,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The complete environment. Of two values with the same name, the later one counts.
    pub env: Vec<(String, String)>,
    /// The working directory; absolute.
    pub cwd: PathBuf,
    /// What the process may do, if its agent is confined.
    pub confinement: Option<Confinement>,
}

/// Something that happened in a terminal. After `Exited`, a released terminal sends nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalEvent {
    /// The process is running.
    Started,
    /// The process could not be started; holds the reason in one line. This is the last event.
    NotStarted(String),
    /// The process, or one that it started, has written output.
    Output(Vec<u8>),
    /// The process has ended after this time, and its output up to then has been sent. Processes it started may still
    /// write.
    Exited(TerminalExit, Duration),
}
