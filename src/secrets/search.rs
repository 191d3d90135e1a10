//! Looks for secrets in texts that come in pieces: what it knows of a text is how much of each secret its end may be, so a piece
//! costs the same after a megabyte as at the start.

use super::Secrets;
use std::fmt;

/// Secrets to look for: those that were known when it was made.
#[derive(Default)]
pub struct Search {
    words: Vec<Word>,
    longest: usize,
}

/// How much of each secret the end of a text is, in bytes.
#[derive(Debug, Clone)]
pub struct State(Vec<usize>);

/// A secret in a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its length, some of which may be in earlier pieces.
    pub len: usize,
    /// Where it ends in the last piece.
    pub end: usize,
}

struct Word {
    bytes: Vec<u8>,
    /// For each beginning, how long the longest shorter one is that it ends with (Knuth, Morris and Pratt).
    shorter: Vec<usize>,
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Search({})", self.words.len())
    }
}

impl Search {
    /// Creates one for the secrets that are known by now.
    pub fn new(secrets: &Secrets) -> Self {
        let words: Vec<_> = secrets.0.read().iter().map(|secret| Word::new(secret)).collect();
        let longest = words.iter().map(|word| word.bytes.len()).max().unwrap_or(0);
        Self { words, longest }
    }

    /// Returns how many secrets it looks for.
    pub fn known(&self) -> usize {
        self.words.len()
    }

    /// Returns the state of an empty text.
    pub fn start(&self) -> State {
        State(vec![0; self.words.len()])
    }

    /// Goes on with the next piece of a text and returns the secrets that end in it. Those in the middle of a long piece are left
    /// out: they do not need a search in pieces.
    pub fn next(&self, state: &mut State, piece: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        let rest = piece.len().saturating_sub(self.longest);
        let (head, tail) = if rest > self.longest { (self.longest, rest) } else { (rest, rest) };
        for (word, matched) in self.words.iter().zip(&mut state.0) {
            word.next(matched, &piece[..head], 0, &mut found);
            if head < tail {
                *matched = 0;
            }
            word.next(matched, &piece[tail..], tail, &mut found);
        }
        found
    }
}

impl State {
    /// Returns how many bytes at the end of the text may be the beginning of a secret.
    pub fn open(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(0)
    }

    /// Returns how many bytes at the end are half of a secret or more, and so hardly anything else.
    pub fn likely(&self, search: &Search) -> usize {
        let all = self.0.iter().zip(&search.words);
        let likely = all.filter(|(matched, word)| **matched * 2 >= word.bytes.len());
        likely.map(|(matched, _)| *matched).max().unwrap_or(0)
    }
}

impl Word {
    fn new(secret: &str) -> Self {
        let bytes = secret.as_bytes().to_vec();
        let (mut shorter, mut matched) = (vec![0], 0);
        for byte in bytes.iter().skip(1) {
            while matched > 0 && bytes[matched] != *byte {
                matched = shorter[matched - 1];
            }
            matched += usize::from(bytes[matched] == *byte);
            shorter.push(matched);
        }
        Self { bytes, shorter }
    }

    fn next(&self, matched: &mut usize, text: &[u8], start: usize, found: &mut Vec<Found>) {
        for (at, byte) in text.iter().enumerate() {
            while *matched > 0 && self.bytes[*matched] != *byte {
                *matched = self.shorter[*matched - 1];
            }
            *matched += usize::from(self.bytes[*matched] == *byte);
            if *matched == self.bytes.len() {
                found.push(Found { len: *matched, end: start + at + 1 });
                *matched = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_secret_is_found_however_its_text_is_cut(
            secret in "[ab]{8,12}",
            text in "[ab]{0,60}",
            cuts in proptest::collection::vec(0..9_usize, 60),
        ) {
            let secrets = Secrets::default();
            secrets.add([secret.clone()]);
            let search = Search::new(&secrets);
            let (mut state, mut rest, mut before) = (search.start(), text.as_str(), 0);
            let mut found = Vec::new();
            for cut in cuts.into_iter().chain([60]) {
                let (piece, next) = rest.split_at(cut.min(rest.len()));
                let ends = search.next(&mut state, piece.as_bytes());
                found.extend(ends.into_iter().map(|it| before + it.end - it.len));
                (rest, before) = (next, before + piece.len());
                prop_assert!(secret.starts_with(&text[before - state.open()..before]));
            }
            let expected: Vec<_> = text.match_indices(&secret).map(|(at, _)| at).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_ends_of_a_long_piece_are_searched() {
        let secrets = Secrets::default();
        secrets.add(["sk-12345678".to_owned()]);
        let search = Search::new(&secrets);
        let mut state = search.start();
        assert!(search.next(&mut state, b"my sk-123").is_empty());
        assert_eq!((state.open(), state.likely(&search)), (6, 6));
        let long = format!("45678 {} sk-1", "x".repeat(1000));
        assert_eq!(search.next(&mut state, long.as_bytes()), [Found { len: 11, end: 5 }]);
        assert_eq!((state.open(), state.likely(&search)), (4, 0));
    }
}
