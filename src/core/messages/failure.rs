//! Failures as scripts see them (`:help RatError`).

use super::notice::Notice;

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What the user is told.
    pub message: Notice,
    /// Lines below it: the end of the agent's stderr, or what came with an error.
    pub details: Vec<Notice>,
    /// Where it failed.
    pub origin: Origin,
    /// The code of the agent's error (JSON-RPC, ACP).
    pub code: Option<i64>,
    /// Whether the same may succeed if it is tried again.
    pub is_retryable: bool,
    /// Short descriptions of the last messages before a connection ended, oldest first.
    pub last_messages: Vec<String>,
}

/// Where something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// On the way to the agent.
    Transport,
    /// In the agent.
    Agent,
    /// Here, or in the configuration.
    Client,
}

impl Origin {
    /// Returns the word for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Agent => "agent",
            Self::Client => "client",
        }
    }
}
