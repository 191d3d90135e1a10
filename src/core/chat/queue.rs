//! Prompts waiting to be sent.

use crate::core::messages::user::ArrangedPrompt;
use crate::session::in_place::InPlace;
use crate::session::prompt::Prompt;
use std::collections::VecDeque;
use std::sync::Arc;

/// Prompts waiting to be sent. A paused queue waits for the user to resume it, except for those that go ahead of it.
#[derive(Debug, Default)]
pub(in crate::core) struct PromptQueue {
    /// In the order in which they are sent, each with the number by which the user means it.
    prompts: VecDeque<(u64, Prompt)>,
    /// The number of the latest prompt.
    latest: u64,
    /// How many of the first go ahead: they are sent although the queue is paused.
    ahead: usize,
    paused: bool,
    /// Whether the turn is being cancelled in favour of the first prompt, so that its end does not pause the queue.
    interrupts: bool,
}

impl PromptQueue {
    fn numbered(&mut self, prompt: Prompt) -> (u64, Prompt) {
        self.latest += 1;
        (self.latest, prompt)
    }

    /// Adds a prompt at the end. Returns its number.
    pub(in crate::core) fn push(&mut self, prompt: Prompt) -> u64 {
        let numbered = self.numbered(prompt);
        self.prompts.push_back(numbered);
        self.latest
    }

    /// Adds a prompt that is sent before all others, even if the queue is paused.
    pub(in crate::core) fn push_ahead(&mut self, prompt: Prompt) {
        let numbered = self.numbered(prompt);
        self.prompts.push_front(numbered);
        self.ahead += 1;
    }

    /// Has a prompt sent before all others, even if the queue is paused. Returns `false` if it is not queued any more.
    pub(in crate::core) fn move_ahead(&mut self, number: u64) -> bool {
        let Some(index) = self.index(number) else { return false };
        if index >= self.ahead {
            self.ahead += 1;
        }
        let moved = self.prompts.remove(index);
        self.prompts.extend(moved);
        self.prompts.rotate_right(1);
        true
    }

    /// Has the end of the running turn, which is cancelled in favour of the first prompt, not pause the queue.
    pub(in crate::core) fn interrupt(&mut self) {
        self.interrupts = true;
    }

    /// Removes and returns the next prompt to send, unless all that are left wait for the user.
    pub(in crate::core) fn next(&mut self) -> Option<Prompt> {
        if !self.is_ready() {
            return None;
        }
        let next = self.remove_at(0);
        self.interrupts = false;
        next
    }

    /// Removes the prompt with this number.
    pub(in crate::core) fn remove(&mut self, number: u64) -> Option<Prompt> {
        let index = self.index(number)?;
        self.remove_at(index)
    }

    fn index(&self, number: u64) -> Option<usize> {
        self.prompts.iter().position(|(queued, _)| *queued == number)
    }

    fn remove_at(&mut self, index: usize) -> Option<Prompt> {
        let (_, prompt) = self.prompts.remove(index)?;
        if index < self.ahead {
            self.ahead -= 1;
        }
        self.interrupts &= self.ahead > 0;
        self.paused &= !self.prompts.is_empty();
        Some(prompt)
    }

    /// Removes the prompts that are to change lines in place, and returns what they are about.
    pub(in crate::core) fn take_in_place(&mut self) -> Vec<Arc<InPlace>> {
        self.take_in_place_from(0)
    }

    /// The same for those that wait for the user to resume the queue: they are not shown in it.
    pub(in crate::core) fn take_paused_in_place(&mut self) -> Vec<Arc<InPlace>> {
        if self.is_paused() { self.take_in_place_from(self.ahead) } else { Vec::new() }
    }

    fn take_in_place_from(&mut self, first: usize) -> Vec<Arc<InPlace>> {
        let mut taken = Vec::new();
        let is_in_place = |(_, prompt): &(u64, Prompt)| prompt.in_place.is_some();
        while let Some(at) = self.prompts.iter().skip(first).position(is_in_place) {
            taken.extend(self.remove_at(first + at).and_then(|prompt| prompt.in_place));
        }
        taken
    }

    /// Puts prompts into the order that the user has given them, with the texts they have now. Of those in `known`, the ones
    /// that are not in `wanted` are removed; all others stay, behind. Returns the texts that the user has changed and that are
    /// not queued any more.
    pub(in crate::core) fn arrange(
        &mut self,
        wanted: Vec<ArrangedPrompt>,
        known: &[u64],
    ) -> Vec<String> {
        // The user decides on the order now.
        self.ahead = 0;
        let mut late = Vec::new();
        let mut old = std::mem::take(&mut self.prompts);
        for ArrangedPrompt { number, text, is_changed } in wanted {
            let at = old.iter().position(|(queued, _)| Some(*queued) == number);
            let place = match at.and_then(|at| old.remove(at)) {
                Some((queued, prompt)) => (queued, Prompt { text, ..prompt }),
                None if number.is_none() => self.numbered(Prompt { text, ..Prompt::default() }),
                None => {
                    late.extend(is_changed.then_some(text));
                    continue;
                }
            };
            self.prompts.push_back(place);
        }
        self.prompts.extend(old.into_iter().filter(|(queued, _)| !known.contains(queued)));
        self.paused &= !self.prompts.is_empty();
        late
    }

    /// Pauses the queue, with those that would have gone ahead, unless the turn was cancelled in favour of the first one. An
    /// empty queue is not paused.
    pub(in crate::core) fn pause(&mut self) {
        if !self.interrupts {
            self.hold();
        }
    }

    /// Pauses the queue in any case.
    pub(in crate::core) fn hold(&mut self) {
        (self.ahead, self.interrupts) = (0, false);
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

    /// The texts of the prompts, in the order in which they are sent, without those that are to change lines in place.
    pub(in crate::core) fn texts(&self) -> impl Iterator<Item = &str> {
        self.shown().map(|(_, prompt)| prompt.text.as_str())
    }

    /// The numbers of the prompts, in the same order.
    pub(in crate::core) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.shown().map(|(number, _)| *number)
    }

    fn shown(&self) -> impl Iterator<Item = &(u64, Prompt)> {
        self.prompts.iter().filter(|(_, prompt)| prompt.in_place.is_none())
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
        Prompt { text: text.to_owned(), ..Prompt::default() }
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
        queue.remove(1);
        queue.push(prompt("b"));
        assert_eq!(next(&mut queue).as_deref(), Some("b"));
        queue.pause();
        assert!(!queue.is_paused());
    }

    fn texts(queue: &PromptQueue) -> Vec<&str> {
        queue.texts().collect()
    }

    #[test]
    fn an_interrupted_turn_does_not_pause_the_queue() {
        let mut queue = queue(&["a", "b"]);
        let now = queue.push(prompt("now"));
        assert!(queue.move_ahead(now));
        queue.interrupt();
        queue.pause();
        assert_eq!(next(&mut queue).as_deref(), Some("now"));
        assert_eq!(next(&mut queue).as_deref(), Some("a"));
        queue.pause();
        assert!(queue.is_paused(), "only that one turn was interrupted");
        assert!(!queue.move_ahead(now));
    }

    #[test]
    fn several_go_ahead_the_latest_first() {
        let mut queue = queue(&["a", "b", "c"]);
        queue.pause();
        assert!(queue.move_ahead(2) && queue.move_ahead(3) && queue.move_ahead(2));
        assert_eq!(texts(&queue), ["b", "c", "a"]);
        let sent = [next(&mut queue), next(&mut queue), next(&mut queue)];
        assert_eq!(sent, [Some("b".to_owned()), Some("c".to_owned()), None]);
    }

    /// Holds (Turns): Prompts that were queued or sent while the user edited the queue are not touched by what they write.
    #[test]
    fn arranging_leaves_what_the_user_has_not_seen() {
        let mut queue = queue(&["a", "b", "c", "d"]);
        let arranged = |number, text: &str, is_changed| ArrangedPrompt {
            number,
            text: text.to_owned(),
            is_changed,
        };
        queue.next();
        queue.push(prompt("e"));
        let wanted = vec![
            arranged(Some(4), "d", false),
            arranged(None, "new", true),
            arranged(Some(1), "a, too", true),
            arranged(Some(2), "B", true),
        ];
        assert_eq!(queue.arrange(wanted, &[1, 2, 3, 4]), ["a, too"]);
        assert_eq!(texts(&queue), ["d", "new", "B", "e"]);
        assert_eq!(queue.numbers().collect::<Vec<_>>(), [4, 6, 2, 5]);
    }
}
