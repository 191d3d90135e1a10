//! Changes to a drawn buffer, in the order they are to be made: rows are counted as they are when their turn comes.

use super::line::Line;

/// Changes to one buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// The changes.
    pub ops: Vec<Op>,
    /// Bytes of text in them.
    pub bytes: usize,
}

/// One change. Rows count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Replaces the rows from `first` up to but without `last`.
    Lines {
        /// First row.
        first: usize,
        /// Row after the last.
        last: usize,
        /// What stands there now.
        lines: Vec<Line>,
    },
    /// Inserts text at the end of a row.
    Text {
        /// The row.
        row: usize,
        /// Its length in bytes.
        col: usize,
        /// What is inserted; may hold newlines.
        text: String,
        /// The looks of the rows from `row` to the last one inserted.
        looks: Vec<String>,
    },
    /// Changes how rows look.
    Looks {
        /// First row.
        row: usize,
        /// Their looks.
        looks: Vec<String>,
    },
    /// Folds rows, closed.
    Fold {
        /// First row.
        first: usize,
        /// Last row.
        last: usize,
    },
}

impl Patch {
    /// Adds a replacement of rows.
    pub fn lines(&mut self, first: usize, last: usize, lines: Vec<Line>) {
        self.bytes += lines.iter().map(|line| line.text.len() + 1).sum::<usize>();
        self.ops.push(Op::Lines { first, last, lines });
    }

    /// Adds an insertion of text.
    pub fn text(&mut self, row: usize, col: usize, text: String, looks: Vec<String>) {
        self.bytes += text.len();
        self.ops.push(Op::Text { row, col, text, looks });
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Replaces `old` lines, which begin at `row`, by `new` ones, leaving equal ones at both ends alone.
    pub fn replace(&mut self, row: usize, old: &[Line], new: &[Line]) {
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let tail = old[head..]
            .iter()
            .rev()
            .zip(new[head..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        if head == old.len() && head == new.len() {
            return;
        }
        let lines = new[head..new.len() - tail].to_vec();
        self.lines(row + head, row + old.len() - tail, lines);
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::{Line, Op, Patch};

    /// Applies a patch to plain lines: what the tests compare a whole rendering with.
    pub(in crate::view) fn apply(buffer: &mut Vec<Line>, patch: &Patch) {
        for op in &patch.ops {
            match op {
                Op::Lines { first, last, lines } => {
                    buffer.splice(first..last, lines.iter().cloned());
                }
                Op::Text { row, col, text, looks } => {
                    assert_eq!(buffer[*row].text.len(), *col, "text goes to the end of its row");
                    let mut pieces = text.split('\n');
                    buffer[*row].text.push_str(pieces.next().unwrap_or_default());
                    let rest = pieces.map(|text| Line { text: text.to_owned(), ..Line::default() });
                    buffer.splice((row + 1)..=*row, rest.collect::<Vec<_>>());
                    set_looks(buffer, *row, looks);
                }
                Op::Looks { row, looks } => set_looks(buffer, *row, looks),
                Op::Fold { .. } => {}
            }
        }
    }

    fn set_looks(buffer: &mut [Line], row: usize, looks: &[String]) {
        for (line, look) in buffer[row..].iter_mut().zip(looks) {
            line.look.clone_from(look);
        }
    }
}
