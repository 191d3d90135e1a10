//! What programs print on the line of a message although nothing but messages belongs there: a byte order mark, colours,
//! progress that is overwritten (`\r`), a banner without a line break.

/// How many places of a line are tried as the beginning of a message.
const MAX_TRIES: usize = 8;

/// A line of more bytes than that is not parsed again and again.
const LONG_LINE: usize = 1 << 20;

/// A part of a line that may be a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The text before it that a person would read.
    pub before: &'a str,
    /// From `{` to `}`.
    pub json: &'a str,
}

/// Returns the parts of a line that may be a message although the line is none: at most eight, of a long line one.
pub fn candidates(line: &str) -> impl Iterator<Item = Candidate<'_>> {
    let tries = if line.len() > LONG_LINE { 1 } else { MAX_TRIES };
    let end = line.rfind('}').map_or(0, |at| at + 1);
    let line = &line[..end];
    line.match_indices('{').take(tries).map(move |(at, _)| {
        // What was there before a `\r` is overwritten.
        let before = line[..at].rsplit('\r').next().unwrap_or_default();
        Candidate { before: if is_blank(before) { "" } else { before }, json: &line[at..] }
    })
}

/// Whether a text has nothing that is visible: white space, escape sequences, a byte order mark.
fn is_blank(text: &str) -> bool {
    without_escapes(text).chars().all(|c| c.is_whitespace() || c.is_control() || c == '\u{feff}')
}

/// Removes escape sequences of terminals.
pub fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' { skip_escape(&mut chars) } else { plain.push(c) }
    }
    plain
}

/// Skips the rest of an escape sequence.
pub fn skip_escape(chars: &mut std::str::Chars<'_>) {
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

    #[test]
    fn a_message_is_found_behind_what_nobody_should_print() {
        let first = |line: &'static str| candidates(line).next().unwrap();
        for (line, before) in [
            ("\u{feff}{\"id\":1}", ""),
            ("\u{1b}[32m{\"id\":1}\u{1b}[0m", ""),
            ("\u{1b}]0;title\u{7}\u{1b}[2K {\"id\":1}", ""),
            (" 10%\r 50%\r100%\r{\"id\":1}\r", ""),
            ("agent v1.0 {\"id\":1}", "agent v1.0 "),
            ("10%\r\u{1b}[1mready\u{1b}[0m {\"id\":1} ok", "\u{1b}[1mready\u{1b}[0m "),
        ] {
            assert_eq!(first(line), Candidate { before, json: "{\"id\":1}" }, "{line:?}");
        }
        assert_eq!(candidates("{a} {b} {\"id\":1}").nth(2).unwrap().json, "{\"id\":1}");
        assert_eq!(candidates("no message").count(), 0);
        assert_eq!(candidates(&"{".repeat(99)).count(), 0);
        assert_eq!(candidates(&("{".repeat(99) + "}")).count(), MAX_TRIES);
    }
}
