//! Hides secrets that an agent has sent in pieces: the first piece gets [`HIDDEN`], and the rest is taken from the others. Lines
//! are held while a secret may go on after them.

use super::pieces::{self, Piece, Place};
use crate::jsonrpc::recording::{self, Record};
use crate::secrets::search::{Search, State};
use crate::session::credentials::HIDDEN;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// How many bytes are held, and how many texts whose end may be the beginning of a secret are remembered.
const MAX_HELD_BYTES: usize = 4 << 20;
const MAX_STREAMS: usize = 1000;

/// The lines that are held, and the texts that go on.
#[derive(Debug, Default)]
pub(super) struct Seams {
    search: Search,
    streams: HashMap<u64, Stream>,
    held: VecDeque<Held>,
    /// The number of the first line that is held.
    first: usize,
    held_bytes: usize,
}

#[derive(Debug)]
struct Held {
    line: Vec<u8>,
    /// How many pieces in it may have a part of a secret that goes on.
    open: usize,
    cuts: Vec<Cut>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    place: Place,
    start: usize,
    end: usize,
    /// Whether what is taken out is replaced.
    is_marked: bool,
}

/// A text in pieces.
#[derive(Debug)]
struct Stream {
    state: State,
    /// How long it is so far.
    len: usize,
    /// The last pieces, which may have a part of a secret that goes on.
    open: VecDeque<Open>,
}

#[derive(Debug)]
struct Open {
    line: usize,
    place: Place,
    range: Range<usize>,
}

impl Seams {
    pub(super) fn new(search: Search) -> Self {
        Self { search, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns how many secrets are looked for.
    pub(super) fn known(&self) -> usize {
        self.search.known()
    }

    /// Takes the next line with its end, and adds those to `out` that need not be held any more.
    pub(super) fn push(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let pieces = if self.known() == 0 { Vec::new() } else { pieces::of_line(line) };
        if self.held.is_empty() && pieces.is_empty() {
            out.extend_from_slice(line);
            return;
        }
        self.held_bytes += line.len();
        self.held.push_back(Held { line: line.to_vec(), open: 0, cuts: Vec::new() });
        for piece in pieces {
            self.follow(piece);
        }
        if self.held_bytes > MAX_HELD_BYTES || self.streams.len() > MAX_STREAMS {
            self.settle(out);
        }
        while self.held.front().is_some_and(|held| held.open == 0)
            && let Some(held) = self.held.pop_front()
        {
            self.first += 1;
            self.held_bytes -= held.line.len();
            held.write(out);
        }
    }

    /// Adds all lines that are held to `out`. What is half of a secret or more at the end of a text is taken for a secret.
    pub(super) fn settle(&mut self, out: &mut Vec<u8>) {
        for stream in self.streams.values_mut() {
            let likely = stream.state.likely(&self.search);
            if likely > 0 {
                stream.cut(stream.len - likely..stream.len, &mut self.held, self.first);
            }
            stream.open.clear();
        }
        if self.streams.len() > MAX_STREAMS {
            self.streams.clear();
        }
        self.first += self.held.len();
        self.held_bytes = 0;
        for held in self.held.drain(..) {
            held.write(out);
        }
    }

    /// Looks at a piece of the last line.
    fn follow(&mut self, piece: Piece) {
        let Piece { stream: id, place, bytes } = piece;
        let new = || Stream { state: self.search.start(), len: 0, open: VecDeque::new() };
        let stream = self.streams.entry(id).or_insert_with(new);
        let (start, line) = (stream.len, self.first + self.held.len() - 1);
        stream.len += bytes.len();
        stream.open.push_back(Open { line, place, range: start..stream.len });
        self.held[line - self.first].open += 1;
        for found in self.search.next(&mut stream.state, &bytes) {
            let end = start + found.end;
            stream.cut(end - found.len..end, &mut self.held, self.first);
        }
        let open_from = stream.len - stream.state.open();
        while stream.open.front().is_some_and(|piece| piece.range.end <= open_from)
            && let Some(piece) = stream.open.pop_front()
        {
            self.held[piece.line - self.first].open -= 1;
        }
        if open_from == stream.len {
            self.streams.remove(&id);
        }
    }
}

impl Stream {
    /// Has a part of the text taken out of the lines that are still held.
    fn cut(&self, range: Range<usize>, held: &mut VecDeque<Held>, first: usize) {
        let mut is_marked = true;
        for Open { line, place, range: piece } in &self.open {
            let (start, end) = (range.start.max(piece.start), range.end.min(piece.end));
            if start < end {
                let (start, end) = (start - piece.start, end - piece.start);
                let cut = Cut { place: place.clone(), start, end, is_marked };
                held[line - first].cuts.push(cut);
                is_marked = false;
            }
        }
    }
}

impl Held {
    fn write(self, out: &mut Vec<u8>) {
        match self.cut() {
            Some(line) => out.extend_from_slice(line.as_bytes()),
            None => out.extend_from_slice(&self.line),
        }
    }

    /// Returns the line without what is to be taken out; `None` if that is nothing.
    fn cut(&self) -> Option<String> {
        if self.cuts.is_empty() {
            return None;
        }
        let Record { t, direction, message } = serde_json::from_slice(&self.line).ok()?;
        let mut message: Value = serde_json::from_str(message.get()).ok()?;
        let mut cuts: Vec<_> = self.cuts.iter().collect();
        cuts.sort();
        for cuts in cuts.chunk_by(|a, b| a.place == b.place) {
            cuts[0].place.edit(&mut message, |bytes| without(bytes, cuts));
        }
        Some(recording::line(t, direction, &message.to_string()))
    }
}

/// Takes parts out, which are sorted and may overlap.
fn without(bytes: &[u8], cuts: &[&Cut]) -> Vec<u8> {
    let (mut left, mut at) = (Vec::with_capacity(bytes.len()), 0);
    for cut in cuts {
        left.extend_from_slice(bytes.get(at..cut.start).unwrap_or_default());
        if cut.is_marked && cut.start >= at {
            left.extend_from_slice(HIDDEN.as_bytes());
        }
        at = at.max(cut.end);
    }
    left.extend_from_slice(bytes.get(at..).unwrap_or_default());
    left
}
