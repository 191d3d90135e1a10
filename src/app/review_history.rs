//! The decisions that the user has made in reviews and may take back, in their order. It carries nothing out.

use crate::core::messages::review::ReviewAction;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// How many decisions can be taken back. Each of them holds what is known of its files.
const MAX_DECISIONS: usize = 100;

/// A decision, which may have several parts.
#[derive(Debug)]
struct Decision<T> {
    number: u64,
    action: ReviewAction,
    /// What each of them has done, once it is carried out.
    parts: Vec<oneshot::Receiver<Vec<T>>>,
}

/// A part of a decision that is to be carried out.
#[derive(Debug)]
pub(super) struct DecisionPart<T>(oneshot::Sender<Vec<T>>);

impl<T> DecisionPart<T> {
    /// The part has been carried out.
    pub(super) fn done(self, what: Vec<T>) {
        // The decision may have been forgotten.
        let _ = self.0.send(what);
    }
}

/// The decisions that can be taken back. `T` is what one has done to a file.
#[derive(Debug)]
pub(super) struct ReviewHistory<T> {
    decisions: Mutex<VecDeque<Decision<T>>>,
}

impl<T> ReviewHistory<T> {
    pub(super) fn new() -> Self {
        Self { decisions: Mutex::default() }
    }

    /// A part of a decision is about to be carried out.
    pub(super) fn begin(&self, number: u64, action: ReviewAction) -> DecisionPart<T> {
        let (done, part) = oneshot::channel();
        let mut decisions = self.decisions.lock();
        if decisions.back().is_none_or(|last| last.number != number) {
            decisions.push_back(Decision { number, action, parts: Vec::new() });
        }
        if let Some(last) = decisions.back_mut() {
            last.parts.push(part);
        }
        if decisions.len() > MAX_DECISIONS {
            decisions.pop_front();
        }
        DecisionPart(done)
    }

    /// Forgets all decisions.
    pub(super) fn clear(&self) {
        self.decisions.lock().clear();
    }

    /// Removes the last decision that has done anything, and returns what: the latest comes first.
    pub(super) async fn take(&self) -> Option<(ReviewAction, Vec<T>)> {
        loop {
            let last = self.decisions.lock().pop_back();
            let Decision { action, parts, .. } = last?;
            let mut all = Vec::new();
            for part in parts {
                all.extend(part.await.unwrap_or_default());
            }
            if !all.is_empty() {
                all.reverse();
                return Some((action, all));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn decisions_are_taken_whole_and_the_latest_first() {
        let history = ReviewHistory::new();
        for (number, names) in [(1, &["a"][..]), (2, &["b", "c"]), (3, &[])] {
            for name in names {
                history.begin(number, ReviewAction::Keep).done(vec![*name]);
            }
            // This part has done nothing.
            drop(history.begin(number, ReviewAction::Keep));
        }
        assert_eq!(history.take().await.unwrap().1, ["c", "b"]);
        assert_eq!(history.take().await.unwrap().1, ["a"]);
        assert!(history.take().await.is_none());
    }

    #[tokio::test]
    async fn only_the_latest_decisions_are_remembered() {
        let history = ReviewHistory::new();
        for number in 0..2 * MAX_DECISIONS as u64 {
            history.begin(number, ReviewAction::Keep).done(vec![number]);
        }
        for number in (MAX_DECISIONS as u64..2 * MAX_DECISIONS as u64).rev() {
            assert_eq!(history.take().await.unwrap().1, [number]);
        }
        assert!(history.take().await.is_none());
    }
}
