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
    /// Whether what lasts is a start: there was no session to lose.
    is_start: bool,
}

impl Losses {
    /// Whether no loss lasts.
    pub(in crate::core) fn is_over(&self) -> bool {
        !self.lasts
    }

    /// Whether the agent has not been reached since it was started, so that it may still be coming up.
    pub(in crate::core) fn is_start(&self) -> bool {
        self.lasts && self.is_start
    }

    /// The agent was lost, could not be got back, or, if `is_start`, was not there yet. Another attempt will follow.
    pub(in crate::core) fn began(&mut self, is_start: bool) {
        if !self.lasts {
            (self.lasts, self.is_start) = (true, is_start);
        }
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
