//! Makes the edits of a language server (LSP `TextEdit`): each replaces a range of the same text, and counts characters in the
//! units of the server.

use super::text::Text;
use std::ops::Range;

/// In what a language server counts the characters of a line (LSP `PositionEncodingKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionEncoding {
    /// Bytes of UTF-8.
    Utf8,
    /// Code units of UTF-16, which is the default of the protocol.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

/// A place between two characters (LSP `Position`); both numbers count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// How many units are before it in its line.
    pub character: usize,
}

/// A replacement of a range (LSP `TextEdit`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeEdit {
    /// Where the range begins.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
    /// What replaces it.
    pub text: String,
}

/// Makes edits, whose ranges are all about the text before. `None` if two of them overlap, or one ends before it begins.
pub fn apply_ranges(text: &Text, edits: &[RangeEdit], encoding: PositionEncoding) -> Option<Text> {
    let mut content = text.lf_content();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(memchr::memchr_iter(b'\n', content.as_bytes()).map(|at| at + 1))
        .collect();
    let place = |position: Position| {
        let Some(start) = starts.get(position.line) else { return content.len() };
        let end = starts.get(position.line + 1).map_or(content.len(), |next| next - 1);
        start + bytes_of(&content[*start..end], position.character, encoding)
    };
    let mut ranges: Vec<(Range<usize>, String)> = edits
        .iter()
        .map(|edit| (place(edit.start)..place(edit.end), edit.text.replace("\r\n", "\n")))
        .collect();
    // Texts that are inserted at the same place keep their order.
    ranges.sort_by_key(|(range, _)| (range.start, range.end));
    let overlaps = |pair: &[(Range<usize>, String)]| pair[0].0.end > pair[1].0.start;
    if ranges.windows(2).any(overlaps) || ranges.iter().any(|(range, _)| range.end < range.start) {
        return None;
    }
    for (range, new) in ranges.into_iter().rev() {
        content.replace_range(range, &new);
    }
    Some(text.with_lf_content(content))
}

/// Returns how many bytes of a line come before a character; all of them if the line is shorter.
fn bytes_of(line: &str, character: usize, encoding: PositionEncoding) -> usize {
    let mut units = 0;
    for (at, char) in line.char_indices() {
        if units >= character {
            return at;
        }
        units += match encoding {
            PositionEncoding::Utf8 => char.len_utf8(),
            PositionEncoding::Utf16 => char.len_utf16(),
            PositionEncoding::Utf32 => 1,
        };
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(from: (usize, usize), to: (usize, usize), text: &str) -> RangeEdit {
        let position = |(line, character)| Position { line, character };
        RangeEdit { start: position(from), end: position(to), text: text.to_owned() }
    }

    fn applied(content: &str, edits: &[RangeEdit]) -> Option<String> {
        let text = apply_ranges(&Text::parse(content), edits, PositionEncoding::Utf16);
        text.map(|text| text.content())
    }

    #[test]
    fn ranges_are_about_the_text_before() {
        let edits = [edit((1, 0), (1, 1), "B"), edit((0, 0), (0, 1), "long\nA")];
        assert_eq!(applied("a\nb\n", &edits).as_deref(), Some("long\nA\nB\n"));
        let inserted = [edit((0, 1), (0, 1), "1"), edit((0, 1), (0, 1), "2")];
        assert_eq!(applied("ab", &inserted).as_deref(), Some("a12b"));
        assert_eq!(applied("a\r\nb\r\n", &edits).as_deref(), Some("long\r\nA\r\nB\r\n"));
        let beyond = [edit((7, 0), (9, 9), "end\n")];
        assert_eq!(applied("a\n", &beyond).as_deref(), Some("a\nend\n"));
        assert_eq!(applied("abc\n", &[edit((0, 0), (0, 2), "x"), edit((0, 1), (0, 3), "y")]), None);
        assert_eq!(applied("abc\n", &[edit((0, 2), (0, 1), "x")]), None);
    }

    #[test]
    fn characters_are_counted_as_the_server_does() {
        let line = "ä😀x";
        let counts = [
            (PositionEncoding::Utf8, 6),
            (PositionEncoding::Utf16, 3),
            (PositionEncoding::Utf32, 2),
        ];
        for (encoding, before_x) in counts {
            assert_eq!(bytes_of(line, before_x, encoding), 6, "{encoding:?}");
            assert_eq!(bytes_of(line, 99, encoding), line.len());
        }
    }

    proptest! {
        #[test]
        fn one_range_is_replaced_as_in_a_string(
            content in "[aä😀\n]{0,20}",
            from in 0_usize..20,
            to in 0_usize..20,
            new in "[xy\n]{0,4}",
        ) {
            let chars: Vec<char> = content.chars().collect();
            let (from, to) = (from.min(to).min(chars.len()), to.max(from).min(chars.len()));
            let position = |count: usize| {
                let before: String = chars[..count].iter().collect();
                let line = before.matches('\n').count();
                (line, before.chars().rev().take_while(|char| *char != '\n').count())
            };
            let (start, end) = (position(from), position(to));
            let edits = [edit(start, end, &new)];
            let made = apply_ranges(&Text::parse(&content), &edits, PositionEncoding::Utf32);
            let expected: String = chars[..from].iter().copied().chain(new.chars()).chain(chars[to..].iter().copied()).collect();
            prop_assert_eq!(made.map(|text| text.content()), Some(expected));
        }
    }
}
