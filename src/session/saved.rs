//! What is remembered of a session when Neovim has ended, so that it can go on.

use super::ids::{AgentName, SessionId};
use super::transcript::Entry;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A session that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The agent's name in the configuration.
    pub agent: AgentName,
    /// As the agent named it.
    pub id: SessionId,
    /// Where it works, absolute.
    pub cwd: PathBuf,
    /// Its title, where the agent gave it one, else how its first prompt begins.
    #[serde(default)]
    pub title: Option<String>,
    /// When it was used last, in seconds since 1970; set by who keeps it.
    #[serde(default)]
    pub used_at: u64,
    /// Whether some Neovim has it open; never written down.
    #[serde(skip)]
    pub open: bool,
}

/// By what a session is found again: agents of two folders may give theirs one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoreKey {
    /// Where it works, absolute.
    pub cwd: PathBuf,
    /// The agent's name in the configuration.
    pub agent: AgentName,
    /// As the agent named it.
    pub id: SessionId,
}

impl Remembered {
    /// By what it is found again.
    pub fn key(&self) -> StoreKey {
        StoreKey { cwd: self.cwd.clone(), agent: self.agent.clone(), id: self.id.clone() }
    }
}

/// What became of what was to be written down of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is written down, or nothing of any session ever is.
    Written,
    /// Another program has the session open and writes it.
    Elsewhere,
    /// It could be written now, but what came before it was not: all is needed, not only what has changed.
    Behind,
    /// It could not be written; why.
    Failed(String),
}

/// What was said in a session, as far as it was written down.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Past {
    /// In order.
    pub entries: Vec<Entry>,
    /// Some are missing: those after them stand elsewhere now than where they were written down.
    pub has_gaps: bool,
    /// Another program has it open; nothing was read.
    pub is_elsewhere: bool,
}

/// What an agent says of one of its sessions (ACP session list).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// As the agent named it.
    pub id: SessionId,
    /// Where it works.
    pub cwd: PathBuf,
    /// Its title.
    pub title: Option<String>,
    /// When it changed last, as the agent wrote it (ISO 8601).
    pub updated_at: Option<String>,
}
