//! How often a chat has lost its agent lately.

/// The losses of a chat's agent, and the attempts to get it back.
#[derive(Debug, Default)]
pub(in crate::core) struct Losses {
    /// Attempts since the session last lasted for a while.
    pub attempts: u32,
    /// The number of the last attempt, counted from 1 within the chat.
    pub number: u64,
    /// Whether the agent has not been got back yet.
    lasts: bool,
}

impl Losses {
    /// Whether no loss lasts.
    pub(in crate::core) fn is_over(&self) -> bool {
        !self.lasts
    }

    /// The agent was lost, or could not be got back. Another attempt will follow.
    pub(in crate::core) fn began(&mut self) {
        self.lasts = true;
        self.attempts = self.attempts.saturating_add(1);
        self.number += 1;
    }

    /// The agent is back. Returns the number of the attempt that succeeded.
    pub(in crate::core) fn recovered(&mut self) -> u64 {
        self.lasts = false;
        self.number
    }

    /// Nobody tries to get the agent back by itself any more.
    pub(in crate::core) fn given_up(&mut self) {
        (self.lasts, self.attempts) = (false, 0);
    }
}
