//! Requests of agents for documents, after their paths have been checked and resolved.

use std::path::PathBuf;

use crate::core::messages::files::Consent;
use crate::core::messages::policy::WriteDirty;
use crate::session::author::{Author, SessionKey};

/// A request `fs/read_text_file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    /// The session that reads.
    pub session: SessionKey,
    /// The real path, from `host::paths`.
    pub path: PathBuf,
    /// First line, from 1; 0 is taken for 1.
    pub line: Option<u32>,
    /// Maximum number of lines.
    pub limit: Option<u32>,
}

/// A request `fs/write_text_file`.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteRequest {
    /// The session that writes, and its turn.
    pub by: Author,
    /// The real path, from `host::paths`. The file need not exist.
    pub path: PathBuf,
    /// The whole new text.
    pub content: String,
    /// The whole text it replaces, if that is known for certain. `None`: the text the session last read or sent.
    pub base: Option<String>,
    /// What to do about unsaved changes in the buffer.
    pub dirty: WriteDirty,
    /// Whether the agent will also write the same text to the disk itself.
    pub repeats: bool,
    /// What the user has said to it.
    pub consent: Consent,
}
