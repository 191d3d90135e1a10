//! [`Tail`], the state of a message whose text is streaming: computes the new text and the formats
//! that changed. The cost of a step depends on what is new, not on the length of the message.

use super::line::{Class, Highlight, Span, Style};
use super::line_pieces::{Pieces, floor_boundary};
use super::markdown::{self, OpenFence};
use crate::session::label;
use std::borrow::Cow;

/// A block of more bytes is not parsed from its start any more.
const MAX_BLOCK: usize = 16 * 1024;

/// How far a message is drawn, and where to resume parsing it.
#[derive(Debug, Default)]
pub struct Tail {
    /// The text as it is drawn, which offsets are of.
    pieces: Pieces,
    /// The number of bytes drawn.
    drawn: usize,
    /// The row of the last drawn byte, counted from the first row of the message, and that row's
    /// length.
    row: usize,
    col: usize,
    /// The offset and row of the line at which parsing resumes.
    start: usize,
    start_row: usize,
    /// The formats of the rows from `start_row` on as last drawn.
    drawn_formats: Vec<String>,
    /// The code block that contains `start`, if any.
    fence: Option<OpenFence>,
    /// Added to the numbers of code blocks, so that they differ from those of other messages.
    base: u64,
    /// Whether the text is reasoning, which is not parsed as Markdown.
    plain: bool,
}

/// How headers of ours and the rows of cards begin.
const FRAME: [char; 5] = ['▌', '◦', '│', '├', '└'];
/// The first byte of each of them in UTF-8.
const FRAME_START: u8 = 0xe2;

/// Whether a line of a message would look like a header of ours or a row of a card, also behind marks that may be concealed. A
/// tree of files does not: its lines go on after a corner.
fn is_lookalike(shown: impl Iterator<Item = char>) -> bool {
    let mut shown = shown.skip_while(|c| c.is_whitespace() || "#*_`~>\\".contains(*c));
    shown.next().is_some_and(|c| FRAME.contains(&c)) && shown.next().is_none_or(char::is_whitespace)
}

/// Whether what is shown of a line would look like one of ours. Links, code and SGR sequences have parts that are concealed.
fn shows_lookalike(style: &Style, line: &str) -> bool {
    // Most lines have none of them.
    if memchr::memchr(FRAME_START, line.as_bytes()).is_none() {
        return false;
    }
    let spans = style.spans.iter().filter(|span| span.highlight == Highlight::Hidden);
    let mut hidden: Vec<_> = spans.map(|span| span.start..span.end).collect();
    if line.len() <= markdown::LONG_LINE {
        hidden.extend(label::colours(line));
    }
    let is_shown = |at: usize| !hidden.iter().any(|range| range.contains(&at));
    is_lookalike(line.char_indices().filter(|(at, _)| is_shown(*at)).map(|(_, c)| c))
}

/// Returns the format of a line. SGR sequences stay in its text but are concealed.
fn format_of(style: &Style, line: &str) -> String {
    let is_prose = matches!(
        style.class,
        Class::Plain
            | Class::Heading(_)
            | Class::Quote
            | Class::Html
            | Class::Thought
            | Class::Table
            | Class::TableHead
    );
    if is_prose && shows_lookalike(style, line) {
        // Without a highlight, since ours have one.
        return Style::new(Class::Lookalike).encode();
    }
    if !line.contains('\x1b') || line.len() > markdown::LONG_LINE {
        return style.encode();
    }
    let mut style = style.clone();
    let highlight = Highlight::Hidden;
    let hidden = label::colours(line).map(|at| Span { start: at.start, end: at.end, highlight });
    style.spans.extend(hidden);
    style.spans.sort_by_key(|span| span.start);
    style.encode()
}

/// What to append to a message.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The row to append to, counted from the first row of the message.
    pub row: usize,
    /// The length of that row in bytes.
    pub col: usize,
    /// The new text.
    pub text: Cow<'a, str>,
    /// The first row of `formats`, which may be before `row`.
    pub formats_row: usize,
    /// The formats from there to the last row.
    pub formats: Vec<String>,
}

impl Tail {
    /// Creates the state of an empty message. `number` is unique in its buffer.
    pub fn new(number: usize) -> Self {
        Self { base: (number as u64) << 32, ..Self::default() }
    }

    /// Creates the state of an empty message of reasoning.
    pub fn plain() -> Self {
        Self { plain: true, ..Self::default() }
    }

    /// Whether the message is reasoning.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Returns the number of rows drawn after the first one.
    pub fn rows(&self) -> usize {
        self.row
    }

    /// Whether all of `text` is drawn.
    pub fn is_at_end(&self, text: &str) -> bool {
        self.pieces.len_of(text) == Some(self.drawn)
    }

    /// Draws up to `budget` more bytes of `text`, which may only have grown. `None` if nothing is
    /// new.
    pub fn advance<'a>(&mut self, text: &'a str, budget: usize) -> Option<Step<'a>> {
        self.pieces.read(text);
        // Given back below.
        let broken = self.pieces.take();
        let whole = broken.as_deref().unwrap_or(text);
        let limit = floor_boundary(whole, (self.drawn + budget.max(4)).min(whole.len()));
        if limit == self.drawn {
            self.pieces.put(broken);
            return None;
        }
        let (row, col, new) = (self.row, self.col, &whole[self.drawn..limit]);
        let first_row = self.start_row;
        let formats = self.parse(&whole[self.start..limit]);
        let same = formats.iter().zip(&self.drawn_formats).take_while(|(a, b)| a == b).count();
        // New rows always come with their format.
        let from = same.min(row - first_row);
        let step = Step {
            row,
            col,
            text: broken.as_ref().map_or_else(
                || Cow::Borrowed(&text[self.drawn..limit]),
                |_| Cow::Owned(new.to_owned()),
            ),
            formats_row: first_row + from,
            formats: formats[from..].to_vec(),
        };
        self.drawn_formats = formats;
        self.drawn_formats.drain(..self.start_row - first_row);
        self.drawn = limit;
        self.row += new.matches('\n').count();
        self.col = new.rfind('\n').map_or(col + new.len(), |at| new.len() - at - 1);
        self.pieces.put(broken);
        Some(step)
    }

    /// Returns the formats of the lines of `rest`, the text from `start` on. Advances `start` as
    /// far as possible.
    fn parse(&mut self, mut rest: &str) -> Vec<String> {
        if self.plain {
            let style = Style::new(Class::Thought);
            let lines = rest.matches('\n').count();
            self.advance_start(rest.rfind('\n').map_or(0, |at| at + 1), lines);
            return rest.split('\n').map(|line| format_of(&style, line)).collect();
        }
        let mut formats = Vec::new();
        loop {
            rest = self.parse_fence(rest, &mut formats);
            if self.fence.is_some() {
                return formats;
            }
            rest = self.parse_blocks(rest, &mut formats);
            if self.fence.is_none() {
                return formats;
            }
        }
    }

    /// Parses lines of the open code block and returns the text after it.
    fn parse_fence<'a>(&mut self, text: &'a str, formats: &mut Vec<String>) -> &'a str {
        let Some(mut fence) = self.fence.take() else { return text };
        let mut rest = text;
        while let Some(end) = rest.find('\n') {
            let line = &rest[..end];
            if fence.is_left_by(line) {
                return rest;
            }
            let closed = fence.is_closed_by(line);
            let style = if closed { Style::new(Class::Fence) } else { fence.code(fence.lines) };
            formats.push(format_of(&style, line));
            rest = &rest[end + 1..];
            self.advance_start(end + 1, 1);
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
        formats.push(format_of(&style, rest));
        self.fence = Some(fence);
        rest
    }

    /// Parses blocks up to the end. If that is in a code block that is still open, its last line is
    /// not formatted but returned.
    fn parse_blocks<'a>(&mut self, text: &'a str, formats: &mut Vec<String>) -> &'a str {
        let parsed = markdown::parse(text, self.base + self.start as u64);
        let last_line = text.rfind('\n').map_or(0, |at| at + 1);
        let is_long = text.len() - parsed.last_block > MAX_BLOCK;
        let with_styles = |styles: &[Style]| {
            let lines = text.split('\n').zip(styles);
            lines.map(|(line, style)| format_of(style, line)).collect::<Vec<_>>()
        };
        // The rules for the end of a block inside a list or quote are subtle, so such a block is
        // parsed again with Markdown's own parser as long as that is cheap.
        if let Some(fence) = parsed.open_fence.filter(|fence| is_long || !fence.nested) {
            formats.extend(with_styles(&parsed.lines[..parsed.lines.len() - 1]));
            self.advance_start(last_line, parsed.lines.len() - 1);
            self.fence = Some(fence);
            return &text[last_line..];
        }
        let start = if is_long { last_line } else { parsed.last_block };
        self.advance_start(start, text[..start].matches('\n').count());
        formats.extend(with_styles(&parsed.lines));
        text
    }

    fn advance_start(&mut self, bytes: usize, rows: usize) {
        self.start += bytes;
        self.start_row += rows;
    }
}

#[cfg(test)]
mod tests {
    use super::{Tail, is_lookalike};
    use proptest::prelude::*;

    #[test]
    fn what_looks_like_a_card_or_a_header_is_told_apart() {
        for line in
            ["▌ You", "# ▌ You", "**▌ You**", "  │ $ rm -rf /", "  └ ✓ Yes", "> │", "◦ Thought"]
        {
            assert!(is_lookalike(line.chars()), "{line}");
        }
        for line in ["├── src", "└─ a", "✓ done", "words │ words", "│a", "", "- item"]
        {
            assert!(!is_lookalike(line.chars()), "{line}");
        }
    }

    #[test]
    fn what_looks_like_a_card_behind_concealed_marks_is_told_apart() {
        for text in [
            "[│ $ rm -rf ~](http://a.test)",
            "`│` $ rm -rf ~",
            "**│** $ rm -rf ~",
            "\u{1b}[1m│ $ rm -rf ~",
            "│\u{1b}[m $ rm -rf ~",
            "│ $ rm | x\n--|--\n│ ✓ done | y",
        ] {
            let lines = draw(text, &[], 4096);
            assert!(lines[0].1.starts_with('l'), "{lines:?}");
        }
    }

    #[test]
    fn a_fence_is_closed_by_a_line_that_ends_with_crlf() {
        let text = "```\r\ncode\r\n```\r\nwords";
        for cuts in [&[][..], &[7], &[12, 16]] {
            let lines = draw(text, cuts, 4096);
            assert!(lines[2].1.starts_with('f'), "{lines:?}");
            assert_eq!(lines[3], ("words".to_owned(), String::new()));
        }
    }

    /// Draws `text` in chunks and returns all lines with their formats.
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
                assert_eq!(step.formats_row + step.formats.len(), lines.len());
                for (line, format) in lines[step.formats_row..].iter_mut().zip(step.formats) {
                    line.1 = format;
                }
            }
            assert!(tail.is_at_end(&text[..end]));
        }
        lines
    }

    /// Fragments of Markdown in any order, which exercise every rule of the parser.
    fn markdown() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("# "),
            Just("text "),
            Just("*a* "),
            Just("\u{1b}[1;31mr\u{1b}[0m "),
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

        /// However the text is split into chunks and frames, the result is the same.
        /// ACP 64.
        #[test]
        fn any_split_gives_the_same_formats(
            text in markdown(),
            cuts in prop::collection::vec(0usize..400, 0..8),
        ) {
            let whole = draw(&text, &[], usize::MAX / 2);
            prop_assert_eq!(&whole, &draw(&text, &cuts, usize::MAX / 2));
            prop_assert_eq!(&whole, &draw(&text, &[], 7));
        }

        #[test]
        fn the_text_is_drawn_unchanged(text in ".{0,200}|(.|\n){0,200}", budget in 1usize..50) {
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
        assert!(step.formats.len() <= 2, "{:?}", step.formats);
        assert!(tail.start + 16 > text.len());
    }

    #[test]
    fn a_long_paragraph_is_parsed_from_near_its_end() {
        let mut tail = Tail::new(1);
        let text = "one more line of a *paragraph* that does not end\n".repeat(10_000);
        while tail.advance(&text, 1 << 16).is_some() {}
        assert!(text.len() - tail.start <= super::MAX_BLOCK);
    }

    #[test]
    fn an_incomplete_table_does_not_change_the_lines_above() {
        let text = "a***b\n| a | b |***\n- |---|---|| a | b |";
        assert_eq!(draw(text, &[], usize::MAX / 2), draw(text, &[], 7));
    }

    #[test]
    fn sgr_sequences_are_concealed_everywhere() {
        let lines = draw("\u{1b}[31ma *b*\n```\n\u{1b}[0mc\n```\n\u{1b}[2Jd", &[], 1000);
        let formats: Vec<&str> = lines.iter().map(|(_, format)| format.as_str()).collect();
        assert_eq!(formats, ["p|0,5X7,8X8,9I9,10X||", "f|||", "c|0,4X||4294967307:0:", "f|||", ""]);
        let mut thought = Tail::plain();
        let step = thought.advance("\u{1b}[31ma\nb", 1000).unwrap();
        assert_eq!(step.formats, ["w|0,5X||", "w|||"]);
    }
}
