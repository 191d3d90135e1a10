//! Prompts waiting to be sent.

use crate::session::prompt::Prompt;
use std::collections::VecDeque;

/// Prompts waiting to be sent. A paused queue waits for the user to resume it, except for those that go ahead of it.
#[derive(Debug, Default)]
pub(in crate::core) struct PromptQueue {
    /// Oldest first, after those that go ahead.
    prompts: VecDeque<Prompt>,
    /// How many of the first go ahead: they are sent although the queue is paused.
    ahead: usize,
    paused: bool,
}

impl PromptQueue {
    /// Adds a prompt at the end.
    pub(in crate::core) fn push(&mut self, prompt: Prompt) {
        self.prompts.push_back(prompt);
    }

    /// Adds a prompt that is sent before all others, even if the queue is paused.
    pub(in crate::core) fn push_ahead(&mut self, prompt: Prompt) {
        self.prompts.push_front(prompt);
        self.ahead += 1;
    }

    /// Removes and returns the next prompt to send, unless all that are left wait for the user.
    pub(in crate::core) fn next(&mut self) -> Option<Prompt> {
        if self.is_ready() { self.remove(0) } else { None }
    }

    /// Removes the prompt at this index.
    pub(in crate::core) fn remove(&mut self, index: usize) -> Option<Prompt> {
        let prompt = self.prompts.remove(index)?;
        if index < self.ahead {
            self.ahead -= 1;
        }
        self.paused &= !self.prompts.is_empty();
        Some(prompt)
    }

    /// Pauses the queue, with those that would have gone ahead. An empty queue is not paused.
    pub(in crate::core) fn pause(&mut self) {
        self.ahead = 0;
        self.paused = !self.prompts.is_empty();
    }

    /// Resumes a paused queue.
    pub(in crate::core) fn resume(&mut self) {
        self.paused = false;
    }

    /// Whether prompts wait for the user to resume the queue.
    pub(in crate::core) fn is_paused(&self) -> bool {
        self.paused && self.ahead < self.prompts.len()
    }

    /// Whether a prompt can be sent as soon as the agent is ready.
    pub(in crate::core) fn is_ready(&self) -> bool {
        !self.prompts.is_empty() && (!self.paused || self.ahead > 0)
    }

    /// The texts of the prompts, in the order in which they are sent.
    pub(in crate::core) fn texts(&self) -> impl Iterator<Item = &str> {
        self.prompts.iter().map(|prompt| prompt.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(texts: &[&str]) -> PromptQueue {
        let mut queue = PromptQueue::default();
        for text in texts {
            queue.push(prompt(text));
        }
        queue
    }

    fn prompt(text: &str) -> Prompt {
        Prompt { text: text.to_owned(), attachments: Vec::new() }
    }

    fn next(queue: &mut PromptQueue) -> Option<String> {
        queue.next().map(|prompt| prompt.text)
    }

    #[test]
    fn what_goes_ahead_does_not_resume_a_paused_queue() {
        let mut queue = queue(&["a", "b"]);
        queue.pause();
        queue.push_ahead(prompt("now"));
        assert!(queue.is_ready() && queue.is_paused());
        assert_eq!(next(&mut queue).as_deref(), Some("now"));
        assert!(!queue.is_ready() && next(&mut queue).is_none());
        queue.resume();
        assert_eq!(next(&mut queue).as_deref(), Some("a"));
    }

    #[test]
    fn a_pause_holds_what_would_have_gone_ahead() {
        let mut queue = PromptQueue::default();
        queue.push_ahead(prompt("now"));
        queue.pause();
        assert!(next(&mut queue).is_none());
    }

    #[test]
    fn an_empty_queue_is_not_paused() {
        let mut queue = queue(&["a"]);
        queue.pause();
        queue.remove(0);
        queue.push(prompt("b"));
        assert_eq!(next(&mut queue).as_deref(), Some("b"));
        queue.pause();
        assert!(!queue.is_paused());
    }
}
