//! The streaming end of a message: what is new of its text, and how the last rows look now. The cost of a step
//! goes with what is new, never with the length of the message.

use super::line::{Class, Style};
use super::markdown::{self, OpenFence};

/// A block that grows beyond this many bytes is not read from its beginning any more.
const LONGEST_BLOCK: usize = 16 * 1024;

/// How far a message is drawn.
#[derive(Debug, Default)]
pub struct Tail {
    /// Bytes of the message that are drawn.
    drawn: usize,
    /// The row its last drawn byte is on, counted from the message's first row, and that row's length.
    row: usize,
    col: usize,
    /// Where reading begins again: the start of a line.
    start: usize,
    start_row: usize,
    /// The looks of the rows from `start_row` on, as they were sent.
    sent: Vec<String>,
    /// The code block that `start` lies in.
    fence: Option<OpenFence>,
    /// Distinguishes this message's code blocks from others'.
    base: u64,
    plain: bool,
}

/// What one step adds.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The row to append at, and its length in bytes.
    pub row: usize,
    /// Where on the row.
    pub col: usize,
    /// The new text.
    pub text: &'a str,
    /// The first row whose look is given; it may lie before `row`.
    pub looks_row: usize,
    /// The looks from there to the last row.
    pub looks: Vec<String>,
}

impl Tail {
    /// The end of an empty message with this number, the number being unique in its buffer.
    pub fn new(number: usize) -> Self {
        Self { base: (number as u64) << 32, ..Self::default() }
    }

    /// The end of an empty message whose lines all look like thoughts.
    pub fn plain() -> Self {
        Self { plain: true, ..Self::default() }
    }

    /// Whether its lines all look like thoughts.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// How many rows are drawn beyond the first.
    pub fn rows(&self) -> usize {
        self.row
    }

    /// Whether all of `text` is drawn.
    pub fn is_at_end(&self, text: &str) -> bool {
        self.drawn == text.len()
    }

    /// Draws at most `budget` bytes more of `text`, which only ever grows. `None`: nothing is new.
    pub fn advance<'a>(&mut self, text: &'a str, budget: usize) -> Option<Step<'a>> {
        let limit = floor_boundary(text, (self.drawn + budget.max(4)).min(text.len()));
        if limit == self.drawn {
            return None;
        }
        let (row, col, new) = (self.row, self.col, &text[self.drawn..limit]);
        let first_row = self.start_row;
        let looks = self.read(&text[self.start..limit]);
        let same = looks.iter().zip(&self.sent).take_while(|(a, b)| a == b).count();
        // Rows the text brings always come with their look.
        let from = same.min(row - first_row);
        let step = Step {
            row,
            col,
            text: new,
            looks_row: first_row + from,
            looks: looks[from..].to_vec(),
        };
        self.sent = looks;
        self.sent.drain(..self.start_row - first_row);
        self.drawn = limit;
        self.row += new.matches('\n').count();
        self.col = new.rfind('\n').map_or(col + new.len(), |at| new.len() - at - 1);
        Some(step)
    }

    /// The looks of the lines of `piece`, which begins at `start`. Moves `start` as far as it can.
    fn read(&mut self, piece: &str) -> Vec<String> {
        if self.plain {
            let look = Style::new(Class::Thought).encode();
            let lines = piece.matches('\n').count();
            self.move_start(piece.rfind('\n').map_or(0, |at| at + 1), lines);
            return vec![look; lines + 1];
        }
        let mut looks = Vec::new();
        let mut rest = piece;
        loop {
            rest = self.read_fence(rest, &mut looks);
            if self.fence.is_some() {
                return looks;
            }
            rest = self.read_blocks(rest, &mut looks);
            if self.fence.is_none() {
                return looks;
            }
        }
    }

    /// Reads lines of the open code block. Gives what comes after it.
    fn read_fence<'a>(&mut self, piece: &'a str, looks: &mut Vec<String>) -> &'a str {
        let Some(mut fence) = self.fence.take() else { return piece };
        let mut rest = piece;
        while let Some(end) = rest.find('\n') {
            let line = &rest[..end];
            if fence.is_left_by(line) {
                return rest;
            }
            let closed = fence.is_closed_by(line);
            let style = if closed { Style::new(Class::Fence) } else { fence.code(fence.lines) };
            looks.push(style.encode());
            rest = &rest[end + 1..];
            self.move_start(end + 1, 1);
            if closed {
                return rest;
            }
            fence.lines += 1;
        }
        let style = if fence.is_closed_by(rest) {
            Style::new(Class::Fence)
        } else {
            fence.code(fence.lines)
        };
        looks.push(style.encode());
        self.fence = Some(fence);
        rest
    }

    /// Reads blocks up to the end, or up to the lines of a code block that does not end.
    fn read_blocks<'a>(&mut self, piece: &'a str, looks: &mut Vec<String>) -> &'a str {
        let read = markdown::read(piece, self.base + self.start as u64);
        let last_line = piece.rfind('\n').map_or(0, |at| at + 1);
        let long = piece.len() - read.last_block > LONGEST_BLOCK;
        // What ends a block in a list or a quote is subtle: such a one is read anew as long as that is cheap.
        if let Some(fence) = read.open_fence.filter(|fence| long || !fence.nested) {
            looks.extend(read.lines[..read.lines.len() - 1].iter().map(Style::encode));
            self.move_start(last_line, read.lines.len() - 1);
            self.fence = Some(fence);
            return &piece[last_line..];
        }
        let start = if long { last_line } else { read.last_block };
        self.move_start(start, piece[..start].matches('\n').count());
        looks.extend(read.lines.iter().map(Style::encode));
        piece
    }

    fn move_start(&mut self, bytes: usize, rows: usize) {
        self.start += bytes;
        self.start_row += rows;
    }
}

/// The largest character boundary that is not beyond `index`.
fn floor_boundary(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::Tail;
    use proptest::prelude::*;

    /// Draws `text` in pieces and gives all lines with their looks.
    fn draw(text: &str, cuts: &[usize], budget: usize) -> Vec<(String, String)> {
        let mut tail = Tail::new(1);
        let mut lines = vec![(String::new(), String::new())];
        let mut ends: Vec<usize> =
            cuts.iter().map(|cut| super::floor_boundary(text, cut % (text.len() + 1))).collect();
        ends.sort_unstable();
        ends.push(text.len());
        for end in ends {
            while let Some(step) = tail.advance(&text[..end], budget) {
                assert_eq!((step.row, step.col), (lines.len() - 1, lines[lines.len() - 1].0.len()));
                let mut pieces = step.text.split('\n');
                lines[step.row].0.push_str(pieces.next().unwrap());
                lines.extend(pieces.map(|piece| (piece.to_owned(), String::new())));
                assert_eq!(step.looks_row + step.looks.len(), lines.len());
                for (line, look) in lines[step.looks_row..].iter_mut().zip(step.looks) {
                    line.1 = look;
                }
            }
            assert!(tail.is_at_end(&text[..end]));
        }
        lines
    }

    /// Markdown that meets every rule of the reader: pieces of lines, in any order.
    fn markdown() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("# "),
            Just("text "),
            Just("*a* "),
            Just("**b**"),
            Just("`c`"),
            Just("- "),
            Just("1. "),
            Just("> "),
            Just("```"),
            Just("```lua"),
            Just("~~~"),
            Just("   "),
            Just("    "),
            Just("| a | b |"),
            Just("|---|---|"),
            Just("==="),
            Just("---"),
            Just("[x](y)"),
            Just("<b>"),
            Just("é"),
            Just("\n"),
            Just("\n"),
            Just("\n"),
            Just("\n\n"),
            Just("[ ] "),
            Just("\\"),
            Just("***"),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// However the text is cut into chunks and frames, the screen ends up the same.
        /// ACP 64.
        #[test]
        fn any_split_looks_the_same(text in markdown(), cuts in prop::collection::vec(0usize..400, 0..8)) {
            let whole = draw(&text, &[], usize::MAX / 2);
            prop_assert_eq!(&whole, &draw(&text, &cuts, usize::MAX / 2));
            prop_assert_eq!(&whole, &draw(&text, &[], 7));
        }

        /// The text is there byte for byte.
        #[test]
        fn text_is_kept(text in ".{0,200}|(.|\n){0,200}", budget in 1usize..50) {
            let lines = draw(&text, &[], budget);
            let drawn: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
            prop_assert_eq!(drawn.join("\n"), text);
        }
    }

    #[test]
    fn a_long_block_costs_no_more_than_a_short_one() {
        let mut tail = Tail::new(1);
        let mut text = String::from("```lua\n");
        while tail.advance(&text, 1 << 20).is_some() {}
        for _ in 0..100_000 {
            text.push_str("local x = 1\n");
        }
        while tail.advance(&text, 1 << 16).is_some() {}
        text.push_str("x\n");
        let step = tail.advance(&text, 1 << 16).unwrap();
        assert!(step.looks.len() <= 2, "{:?}", step.looks);
        assert!(tail.start + 16 > text.len());
    }

    #[test]
    fn a_long_paragraph_is_read_from_near_its_end() {
        let mut tail = Tail::new(1);
        let text = "one more line of a *paragraph* that does not end\n".repeat(10_000);
        while tail.advance(&text, 1 << 16).is_some() {}
        assert!(text.len() - tail.start <= super::LONGEST_BLOCK);
    }

    #[test]
    fn a_line_that_only_looked_like_a_table_changes_nothing_above() {
        let text = "a***b\n| a | b |***\n- |---|---|| a | b |";
        assert_eq!(draw(text, &[], usize::MAX / 2), draw(text, &[], 7));
    }
}
