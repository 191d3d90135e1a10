//! [`Backlog`], how much work on files waits for each chat. An agent may report the ends of tool calls faster than their files
//! can be looked at, and must not fill memory with that.

use crate::session::author::ChatId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// How many pieces of work may wait for one chat.
pub(super) const MAX_WAITING: usize = 256;

/// The number of pieces of work that wait or run, by chat.
#[derive(Debug, Clone, Default)]
pub(super) struct Backlog(Arc<Mutex<HashMap<ChatId, usize>>>);

/// A piece of work that waits or runs. Dropping it makes room for another.
#[derive(Debug)]
pub(super) struct Place {
    backlog: Backlog,
    chat: ChatId,
}

impl Backlog {
    /// Adds a piece of work; `None` if too much waits already.
    pub(super) fn enter(&self, chat: ChatId) -> Option<Place> {
        let mut waiting = self.0.lock();
        let count = waiting.entry(chat).or_default();
        if *count >= MAX_WAITING {
            return None;
        }
        *count += 1;
        Some(Place { backlog: self.clone(), chat })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.backlog.0.lock();
        if let Some(count) = waiting.get_mut(&self.chat) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.chat);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds (Hostile agents): However fast tool calls end, a bounded number of looks at files waits for each chat.
    #[test]
    fn each_chat_has_so_many_places() {
        let backlog = Backlog::default();
        let (one, other) = (ChatId(1), ChatId(2));
        let mut places: Vec<_> = (0..MAX_WAITING).map(|_| backlog.enter(one)).collect();
        assert!(places.iter().all(Option::is_some));
        assert!(backlog.enter(one).is_none());
        assert!(backlog.enter(other).is_some(), "one chat holds up another");
        places.pop();
        assert!(backlog.enter(one).is_some());
        drop(places);
        assert!(backlog.0.lock().is_empty(), "what has ended is counted");
    }
}
