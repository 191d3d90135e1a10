//! The end of a command's output as bytes for a terminal buffer. The beginning is dropped only
//! between tokens, so that no character and no escape sequence is cut.

use std::collections::VecDeque;

/// A possible start is recorded at most once in this many bytes.
const STEP: u64 = 1024;

/// A longer token is text and may be cut between characters.
const MAX_TOKEN: usize = 8 << 10;

/// The last bytes of an output. Offsets count all bytes since the start.
#[derive(Debug)]
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    /// The number of dropped bytes.
    dropped: u64,
    /// The offsets at which the retained bytes may start.
    starts: VecDeque<u64>,
    room: usize,
}

impl Ring {
    /// Creates an empty ring that retains at most `room` bytes.
    pub(super) fn new(room: usize) -> Self {
        Self { bytes: VecDeque::new(), dropped: 0, starts: VecDeque::new(), room }
    }

    /// Appends a token.
    pub(super) fn push(&mut self, piece: &str) {
        let mut rest = piece;
        while rest.len() > MAX_TOKEN {
            // Escape sequences are shorter, so this is text.
            let middle = (0..=MAX_TOKEN).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
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

    /// Retains at most the last `room` bytes from now on.
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
        let count = usize::try_from(start - self.dropped).unwrap_or(usize::MAX);
        self.bytes.drain(..count.min(self.bytes.len()));
        self.dropped = start;
    }

    /// Returns the offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.dropped + self.bytes.len() as u64
    }

    /// Returns the memory it uses, in bytes.
    pub(super) fn size(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * size_of::<u64>()
    }

    /// Returns at most `most` bytes from an offset on, and the offset where they start: later than
    /// asked if the bytes there were dropped.
    pub(super) fn read(&self, offset: u64, most: usize) -> (u64, Vec<u8>) {
        let start = offset.clamp(self.dropped, self.end());
        let skip = usize::try_from(start - self.dropped).unwrap_or(usize::MAX);
        (start, self.bytes.iter().skip(skip).take(most).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The retained bytes are the end of the output, start where a token does, and are all if
        /// they fit.
        #[test]
        fn the_end_is_retained_from_the_start_of_a_token(
            pieces in prop::collection::vec("[a-z]{1,900}", 0..12),
            room in 0..4000usize,
        ) {
            let mut ring = Ring::new(room);
            for piece in &pieces {
                ring.push(piece);
                prop_assert!(ring.bytes.len() <= room);
            }
            let all = pieces.concat();
            let (start, retained) = ring.read(0, usize::MAX);
            prop_assert_eq!(ring.end(), all.len() as u64);
            prop_assert_eq!(&all.as_bytes()[usize::try_from(start).unwrap()..], &retained[..]);
            let mut at = 0;
            let starts: Vec<u64> = pieces.iter().map(|piece| {
                at += piece.len() as u64;
                at - piece.len() as u64
            }).collect();
            prop_assert!(starts.contains(&start) || start == all.len() as u64);
            if all.len() <= room {
                prop_assert_eq!(start, 0);
            }
            let next = retained.get(1..3.min(retained.len())).unwrap_or_default();
            prop_assert_eq!(ring.read(start + 1, 2).1, next);
        }
    }
}
