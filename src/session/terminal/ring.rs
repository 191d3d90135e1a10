//! What a terminal buffer is fed with: the last of what a command wrote, begun anew only between pieces, so that no
//! character and no escape sequence is cut.

use std::collections::VecDeque;

/// A place to begin at is noted after so many bytes.
const STEP: u64 = 1024;

/// A longer piece is text, and may be cut between characters.
const LONGEST: usize = 8 << 10;

/// Bytes, of which the first may be gone.
#[derive(Debug)]
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    /// How many are gone.
    gone: u64,
    /// Where it can begin, counted with those that are gone.
    starts: VecDeque<u64>,
    room: usize,
}

impl Ring {
    /// Nothing; at most `room` bytes will be kept.
    pub(super) fn new(room: usize) -> Self {
        Self { bytes: VecDeque::new(), gone: 0, starts: VecDeque::new(), room }
    }

    /// Adds a piece that must not be cut at its start.
    pub(super) fn push(&mut self, piece: &str) {
        let mut rest = piece;
        while rest.len() > LONGEST {
            // Only text is as long as that.
            let middle = (0..=LONGEST).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
            self.add(&rest[..middle]);
            rest = &rest[middle..];
        }
        self.add(rest);
    }

    fn add(&mut self, piece: &str) {
        let end = self.end();
        if self.starts.back().is_none_or(|last| end - last >= STEP) {
            self.starts.push_back(end);
        }
        self.bytes.extend(piece.as_bytes());
        self.cut();
    }

    /// Keeps at most the last `room` bytes from now on.
    pub(super) fn shrink(&mut self, room: usize) {
        self.room = room;
        self.cut();
        self.bytes.shrink_to_fit();
    }

    fn cut(&mut self) {
        if self.bytes.len() <= self.room {
            return;
        }
        let least = self.end() - self.room as u64;
        while self.starts.front().is_some_and(|start| *start < least) {
            self.starts.pop_front();
        }
        let start = self.starts.front().copied().unwrap_or_else(|| self.end());
        let gone = usize::try_from(start - self.gone).unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.drain(..gone);
        self.gone = start;
    }

    /// Where the next byte will stand, counted from the first there ever was.
    pub(super) fn end(&self) -> u64 {
        self.gone + self.bytes.len() as u64
    }

    /// What they take of memory, in bytes.
    pub(super) fn size(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * size_of::<u64>()
    }

    /// At most `most` bytes from a place on, and where they really begin: later, where what stood there is gone.
    pub(super) fn from(&self, place: u64, most: usize) -> (u64, Vec<u8>) {
        let start = place.clamp(self.gone, self.end());
        let skip = usize::try_from(start - self.gone).unwrap_or(usize::MAX);
        (start, self.bytes.iter().skip(skip).take(most).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is kept is the end, begins where a piece does, and is all where it fits.
        #[test]
        fn the_end_is_kept_from_the_start_of_a_piece(
            pieces in prop::collection::vec("[a-z]{1,900}", 0..12),
            room in 0..4000usize,
        ) {
            let mut ring = Ring::new(room);
            for piece in &pieces {
                ring.push(piece);
                prop_assert!(ring.bytes.len() <= room);
            }
            let all = pieces.concat();
            let (start, kept) = ring.from(0, usize::MAX);
            prop_assert_eq!(ring.end(), all.len() as u64);
            prop_assert_eq!(&all.as_bytes()[usize::try_from(start).unwrap()..], &kept[..]);
            let mut at = 0;
            let starts: Vec<u64> = pieces.iter().map(|piece| {
                at += piece.len() as u64;
                at - piece.len() as u64
            }).collect();
            prop_assert!(starts.contains(&start) || start == all.len() as u64);
            if all.len() <= room {
                prop_assert_eq!(start, 0);
            }
            prop_assert_eq!(ring.from(start + 1, 2).1, kept.get(1..3.min(kept.len())).unwrap_or_default());
        }
    }
}
