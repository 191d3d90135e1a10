//! The decisions that the user has made in reviews and may take back, in their order. It carries nothing out.

use crate::core::messages::review::ReviewAction;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, oneshot};

/// How many decisions can be taken back. Each of them holds what is known of its files.
const MAX_DECISIONS: usize = 100;

/// A decision, which may have several parts.
#[derive(Debug)]
struct Decision<T> {
    number: u64,
    action: ReviewAction,
    /// What each of them has done, once it is carried out.
    parts: Vec<oneshot::Receiver<Vec<T>>>,
    /// Several may be about one file.
    one_at_a_time: Arc<AsyncMutex<()>>,
}

/// A part of a decision that is to be carried out.
#[derive(Debug)]
pub(super) struct DecisionPart<T> {
    done: oneshot::Sender<Vec<T>>,
    one_at_a_time: Arc<AsyncMutex<()>>,
}

impl<T> DecisionPart<T> {
    /// Waits for the other parts of the decision.
    pub(super) async fn wait(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.one_at_a_time).lock_owned().await
    }

    /// The part has been carried out.
    pub(super) fn done(self, what: Vec<T>) {
        // The decision may have been forgotten.
        let _ = self.done.send(what);
    }
}

/// The decisions that can be taken back. `T` is what one has done to a file.
#[derive(Debug)]
pub(super) struct ReviewHistory<T> {
    decisions: Mutex<VecDeque<Decision<T>>>,
    /// So that two are taken back one after the other.
    pub(super) taking_back: AsyncMutex<()>,
}

impl<T> ReviewHistory<T> {
    pub(super) fn new() -> Self {
        Self { decisions: Mutex::default(), taking_back: AsyncMutex::default() }
    }

    /// A part of a decision is about to be carried out.
    pub(super) fn begin(&self, number: u64, action: ReviewAction) -> DecisionPart<T> {
        let (done, part) = oneshot::channel();
        let mut decisions = self.decisions.lock();
        if decisions.back().is_none_or(|last| last.number != number) {
            let (parts, one_at_a_time) = (Vec::new(), Arc::default());
            decisions.push_back(Decision { number, action, parts, one_at_a_time });
        }
        let mut one_at_a_time = Arc::default();
        if let Some(last) = decisions.back_mut() {
            last.parts.push(part);
            one_at_a_time = Arc::clone(&last.one_at_a_time);
        }
        if decisions.len() > MAX_DECISIONS {
            decisions.pop_front();
        }
        DecisionPart { done, one_at_a_time }
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
