//! What an agent says on stderr: free text, kept for the day it dies. Bounded in lines and in their length.

use super::codec::{Line, Lines};
use std::collections::VecDeque;

/// How many lines are kept.
const LINES: usize = 40;

/// How much of a line is kept, in bytes.
const LINE_LENGTH: usize = 4096;

/// The longest line that is put together at all, in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// The last lines of a stream of text.
#[derive(Debug)]
pub(super) struct Tail {
    pipe: Lines,
    lines: VecDeque<String>,
}

impl Default for Tail {
    fn default() -> Self {
        Self { pipe: Lines::new(LONGEST_LINE), lines: VecDeque::with_capacity(LINES) }
    }
}

impl Tail {
    /// Takes the next bytes and hands each line they complete to `each`, without escape sequences.
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        let lines = &mut self.lines;
        self.pipe.feed(bytes, |line| keep(lines, &line, &mut each));
    }

    /// Takes what stands at the end without a line end.
    pub(super) fn end(&mut self, mut each: impl FnMut(&str)) {
        let lines = &mut self.lines;
        self.pipe.end(|line| keep(lines, &line, &mut each));
    }

    /// The last lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}

fn keep(lines: &mut VecDeque<String>, line: &Line<'_>, each: &mut impl FnMut(&str)) {
    let text = match line {
        Line::Whole(bytes) => clean(bytes),
        Line::TooLong { bytes } => format!("(a line of {bytes} bytes)"),
    };
    if text.trim().is_empty() {
        return;
    }
    each(&text);
    if lines.len() == LINES {
        lines.pop_front();
    }
    lines.push_back(text);
}

/// The text of a line without escape sequences and control characters, cut to its limit.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len().min(LINE_LENGTH));
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\t' => clean.push('\t'),
            c if c.is_control() => {}
            c if clean.len() + c.len_utf8() > LINE_LENGTH => {
                clean.push('…');
                break;
            }
            c => clean.push(c),
        }
    }
    clean
}

/// Skips the rest of an escape sequence (ECMA-48: CSI up to its final byte, strings up to their end).
fn skip_escape(chars: &mut std::str::Chars<'_>) {
    match chars.next() {
        Some('[') => {
            chars.find(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    break;
                }
                if c == '\u{1b}' {
                    chars.next();
                    break;
                }
            }
        }
        // Two-byte sequences, and those with intermediate bytes such as `ESC ( B`.
        Some('\u{20}'..='\u{2f}') => {
            chars.find(|c| ('\u{30}'..='\u{7e}').contains(c));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tail_of(text: &[u8]) -> Vec<String> {
        let mut tail = Tail::default();
        tail.feed(text, |_| {});
        tail.end(|_| {});
        tail.lines()
    }

    #[test]
    fn escape_sequences_are_left_out() {
        let text = b"\x1b[1;31merror\x1b[0m: \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Bok\rx\n";
        assert_eq!(tail_of(text), ["error: link okx"]);
    }

    /// ACP 4.
    #[test]
    fn the_last_forty_lines_stay_each_cut_at_its_limit() {
        let text = (0..100).map(|n| format!("line {n}\n")).collect::<Vec<_>>().join("\n");
        let lines = tail_of(text.as_bytes());
        assert_eq!((lines.len(), &*lines[0], &*lines[39]), (40, "line 60", "line 99"));
        let long = tail_of("é".repeat(5000).as_bytes());
        assert_eq!(long[0].chars().count(), LINE_LENGTH / 2 + 1);
    }

    proptest! {
        #[test]
        fn nothing_a_terminal_obeys_comes_through(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for line in tail_of(&bytes) {
                prop_assert!(line.chars().all(|c| c == '\t' || !c.is_control()), "{:?}", line);
            }
        }
    }
}
