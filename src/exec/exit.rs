//! The exit codes.

use std::process::ExitCode;

/// How the program exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// The turn has ended, or the list was printed.
    Done,
    /// The agent has failed or died, or its session could not be opened.
    Failed,
    /// The command line or the settings make no sense.
    Usage,
    /// The agent could not be started or reached.
    NoAgent,
    /// The agent refuses to answer the prompt.
    Refused,
    /// The time was over.
    TimedOut,
    /// The user has cancelled.
    Cancelled,
    /// Nobody reads the output any more.
    OutputClosed,
}

impl Exit {
    /// The number, as in the help.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NoAgent => 3,
            Self::Refused => 4,
            Self::TimedOut => 124,
            Self::Cancelled => 130,
            Self::OutputClosed => 141,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
