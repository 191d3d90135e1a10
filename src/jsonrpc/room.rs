//! How much may be held of messages that are not complete: connections that come from one side share a room, since each by itself
//! may send the longest message there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What several connections share. Clones are the same room.
#[derive(Debug, Clone)]
pub struct Room {
    taken: Arc<AtomicUsize>,
    /// In bytes.
    size: usize,
}

/// The part of a room that one connection takes. It is given back when this is dropped.
#[derive(Debug)]
pub struct Share {
    room: Room,
    held: usize,
}

impl Room {
    /// A room for so many bytes.
    pub fn new(size: usize) -> Self {
        Self { taken: Arc::default(), size }
    }

    /// A part of it, which is empty at first.
    pub fn share(&self) -> Share {
        Share { room: self.clone(), held: 0 }
    }

    /// How many bytes are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Share {
    /// Makes it as large as this, in bytes. Returns whether there is room; it is that large all the same, so whoever grows has to
    /// give up what is not needed and say so again.
    pub fn hold(&mut self, bytes: usize) -> bool {
        let (before, taken) = (std::mem::replace(&mut self.held, bytes), &self.room.taken);
        if bytes <= before {
            taken.fetch_sub(before - bytes, Ordering::Relaxed);
            return true;
        }
        let more = bytes - before;
        taken.fetch_add(more, Ordering::Relaxed) + more <= self.room.size
    }

    /// How many bytes it has.
    pub fn held(&self) -> usize {
        self.held
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_full_when_its_parts_are() {
        let room = Room::new(10);
        let (mut one, mut other) = (room.share(), room.share());
        assert!(one.hold(6) && other.hold(4));
        assert!(!other.hold(5));
        assert!(other.hold(3) && one.hold(7));
        drop(one);
        assert_eq!((room.taken(), other.held()), (3, 3));
    }
}
