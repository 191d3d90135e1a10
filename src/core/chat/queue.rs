//! Prompts waiting for the running turn to end.

use crate::session::prompt::Prompt;
use std::collections::VecDeque;

/// Prompts waiting to be sent.
#[derive(Debug, Default)]
pub(in crate::core) struct PromptQueue {
    /// Oldest first.
    pub prompts: VecDeque<Prompt>,
    /// Whether the queue waits for the user to resume it.
    pub paused: bool,
}

impl PromptQueue {
    /// Pauses or resumes the queue. An empty queue is never paused.
    pub(in crate::core) fn pause_if(&mut self, pause: bool) {
        self.paused = pause && !self.prompts.is_empty();
    }

    /// Whether a prompt can be sent as soon as the agent is ready.
    pub(in crate::core) fn is_ready(&self) -> bool {
        !self.prompts.is_empty() && !self.paused
    }
}
