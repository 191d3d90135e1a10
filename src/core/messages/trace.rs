//! The page of `:RatTrace` and the files that traffic is saved to.

use crate::session::author::ChatId;
use std::path::PathBuf;

/// What the user wants of the traffic with a chat's agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceCommand {
    /// Show what this filter lets through; the page follows.
    Open(String),
    /// The page has shown a piece and takes the next one.
    More,
    /// The page is closed.
    Close,
    /// Save all of it.
    Save(TraceFile),
}

/// What is to be done with the traffic of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceTask {
    /// Send a page, piece by piece: what this filter lets through. `Event::TracePiece` follows.
    Open {
        /// The filter, as the user has typed it.
        filter: String,
        /// Whether the user has just asked for it.
        focus: bool,
    },
    /// Save all of it. `Event::TraceSaved` follows.
    Save {
        /// The file.
        file: TraceFile,
        /// The agent's name in the configuration.
        agent: String,
    },
}

/// The file that traffic is saved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// Absolute.
    pub path: PathBuf,
    /// Whether an existing file is overwritten.
    pub replace: bool,
}

/// How saving the traffic has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceSaved {
    /// So many messages are in the file, and so many are missing.
    Done(u64, u64),
    /// The file exists and was not overwritten.
    Exists,
    /// It failed; holds the reason.
    Failed(String),
}

/// A piece of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePiece {
    /// The chat.
    pub chat: ChatId,
    /// The filter of the page.
    pub filter: String,
    /// Whether it is the first piece, which replaces what the page has shown.
    pub reset: bool,
    /// Whether the user has just asked for the page.
    pub focus: bool,
    /// Whether more of what was recorded when the page was opened follows.
    pub more: bool,
    /// The messages, oldest first.
    pub items: Vec<TraceItem>,
}

/// A message of the protocol as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceItem {
    /// Its number; 0 for a note of ours.
    pub number: u64,
    /// For an answer to a shown request: the number of that, and what its line ends with from now on.
    pub answers: Option<(u64, String)>,
    /// What it is, in one line.
    pub line: String,
    /// The message.
    pub body: Vec<String>,
}
