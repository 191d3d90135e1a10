//! [`Patch`], changes to a view buffer. They are made in order: the rows of each refer to the
//! buffer after the previous ones.

use super::line::Line;

/// Changes to a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// The changes.
    pub ops: Vec<Op>,
    /// The number of bytes of text in them.
    pub bytes: usize,
}

/// A change. Rows are 0-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Replaces rows.
    Lines {
        /// The first row to replace.
        first: usize,
        /// The row after the last one to replace.
        last: usize,
        /// The lines that replace them.
        lines: Vec<Line>,
    },
    /// Inserts text at the end of a row.
    Text {
        /// The row to append to.
        row: usize,
        /// Its length in bytes.
        col: usize,
        /// The text, which may contain newlines.
        text: String,
        /// The formats of the rows from `row` to the last one inserted.
        formats: Vec<String>,
    },
    /// Changes the formats of rows.
    Formats {
        /// The first row.
        row: usize,
        /// Their formats.
        formats: Vec<String>,
    },
    /// Creates a closed fold.
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
    pub fn text(&mut self, row: usize, col: usize, text: String, formats: Vec<String>) {
        self.bytes += text.len();
        self.ops.push(Op::Text { row, col, text, formats });
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Replaces the lines `old`, which start at `row`, by `new`, except for a common prefix and
    /// suffix.
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

    /// Applies a patch to a buffer as Neovim would.
    pub(in crate::view) fn apply(buffer: &mut Vec<Line>, patch: &Patch) {
        for op in &patch.ops {
            match op {
                Op::Lines { first, last, lines } => {
                    buffer.splice(first..last, lines.iter().cloned());
                }
                Op::Text { row, col, text, formats } => {
                    assert_eq!(buffer[*row].text.len(), *col, "text goes to the end of its row");
                    let mut pieces = text.split('\n');
                    buffer[*row].text.push_str(pieces.next().unwrap_or_default());
                    let rest = pieces.map(|text| Line { text: text.to_owned(), ..Line::default() });
                    buffer.splice((row + 1)..=*row, rest.collect::<Vec<_>>());
                    set_formats(buffer, *row, formats);
                }
                Op::Formats { row, formats } => set_formats(buffer, *row, formats),
                Op::Fold { .. } => {}
            }
        }
    }

    fn set_formats(buffer: &mut [Line], row: usize, formats: &[String]) {
        for (line, format) in buffer[row..].iter_mut().zip(formats) {
            line.format.clone_from(format);
        }
    }
}
