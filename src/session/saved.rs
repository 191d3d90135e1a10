//! The types of saved sessions and transcripts, from which a session is resumed after a restart.

use super::entry::Entry;
use super::ids::{AgentName, SessionId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An entry of the list of saved sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSession {
    /// The name of the agent in the configuration.
    pub agent: AgentName,
    /// The id that the agent gave it.
    pub id: SessionId,
    /// Its working directory, absolute.
    pub cwd: PathBuf,
    /// The title from the agent, else the beginning of the first prompt.
    #[serde(default)]
    pub title: Option<String>,
    /// When it was last used, in seconds since 1970; set by the store.
    #[serde(default)]
    pub used_at: u64,
    /// Whether it consists of changes in place only (`:RatEdit`), which are no conversation to go on with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// Whether some Neovim has it open; not saved.
    #[serde(skip)]
    pub open: bool,
}

/// Identifies a saved session: agents in two directories may use the same session id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoreKey {
    /// Its working directory, absolute.
    pub cwd: PathBuf,
    /// The name of the agent in the configuration.
    pub agent: AgentName,
    /// The id that the agent gave it.
    pub id: SessionId,
}

impl SavedSession {
    /// Returns what identifies it.
    pub fn key(&self) -> StoreKey {
        StoreKey { cwd: self.cwd.clone(), agent: self.agent.clone(), id: self.id.clone() }
    }
}

/// The changes of a transcript since it was last saved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptPart {
    /// New or changed entries with their index.
    pub entries: Vec<(usize, Entry)>,
    /// Text to append to the message at this index.
    pub more: Option<(usize, String)>,
}

impl TranscriptPart {
    /// Whether somebody has used the session. That its agent has ended or was started is noted in all sessions of the agent.
    pub fn is_use(&self) -> bool {
        let is_said = |entry: &Entry| !matches!(entry, Entry::Banner(_) | Entry::Note(_));
        self.more.is_some() || self.entries.iter().any(|(_, entry)| is_said(entry))
    }
}

/// The result of saving part of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveResult {
    /// It was saved, or saving is disabled.
    Written,
    /// It was saved, but most of the file may be replaced by what was saved later: the whole transcript should be saved.
    Overgrown,
    /// Another process has the session open and saves it.
    Elsewhere,
    /// It could be saved now, but an earlier part was not: the whole transcript has to be saved.
    Behind,
    /// It could not be saved; the reason.
    Failed(String),
}

/// A saved transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedTranscript {
    /// The entries in order.
    pub entries: Vec<Entry>,
    /// Some entries could not be read, so the index of those after them has changed.
    pub has_gaps: bool,
    /// Another process has the session open, so nothing was read.
    pub is_elsewhere: bool,
}

/// A session as its agent lists it (ACP `session/list`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// The id that the agent gave it.
    pub id: SessionId,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its title.
    pub title: Option<String>,
    /// When it last changed, as the agent wrote it (ISO 8601).
    pub updated_at: Option<String>,
}
