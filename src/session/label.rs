//! Sanitizes untrusted text for display. Some places of Neovim's screen (titles, statuslines,
//! messages) pass text to the terminal as it is, so it must not contain control sequences, nor
//! characters that make it look like another text.

use super::signs::ELLIPSIS;
use std::borrow::Cow;
use std::ops::Range;

/// What replaces a character that must not be shown.
const REPLACEMENT: char = '\u{fffd}';

/// Sanitizes a text for one line: line breaks and tabs become spaces, other misleading characters
/// `U+FFFD`.
pub fn line(text: &str) -> Cow<'_, str> {
    replace_misleading(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(' '))
}

/// Sanitizes a text like [`line()`], but preserves its line breaks (`\n`, `\r\n`).
pub fn lines(text: &str) -> Cow<'_, str> {
    replace_misleading(text, |c| match c {
        '\n' => Some('\n'),
        '\r' | '\t' => Some(' '),
        _ => None,
    })
}

/// Sanitizes a text for one line and truncates it to `most` characters, plus an ellipsis.
pub fn short(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(most).collect();
    let mut out = line(&start).into_owned();
    if chars.next().is_some() {
        out.push_str(ELLIPSIS.now());
    }
    out
}

/// Returns the byte ranges of the SGR sequences in a text, such as `ESC [ 31 m`.
pub fn colours(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("\x1b[").filter_map(|(start, opening)| {
        let rest = &text[start + opening.len()..];
        let numbers = rest.bytes().take_while(|byte| b"0123456789;:".contains(byte)).count();
        rest[numbers..].starts_with('m').then_some(start..start + opening.len() + numbers + 1)
    })
}

/// Removes SGR sequences from a text: commands write them even if their output is not a terminal.
pub fn strip_colours(text: &str) -> Cow<'_, str> {
    let (mut plain, mut from) = (String::new(), 0);
    for colour in colours(text) {
        plain.push_str(&text[from..colour.start]);
        from = colour.end;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    plain.push_str(&text[from..]);
    Cow::Owned(plain)
}

/// Whether a text has no misleading characters. The user cannot verify a name that has some.
pub fn is_plain(text: &str) -> bool {
    let mut before = None;
    text.chars().all(|c| !is_misleading(before.replace(c), c))
}

/// Replaces each misleading character by what `blank` returns for it, else by [`REPLACEMENT`].
fn replace_misleading(text: &str, blank: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    let has_pairs = text.contains("\r\n");
    let text = if has_pairs { text.replace("\r\n", "\n").into() } else { Cow::Borrowed(text) };
    // The fast path, since most text is printable ASCII.
    let is_printable_ascii = |byte: u8| (0x20..0x7f).contains(&byte);
    if text.bytes().all(is_printable_ascii) || is_plain(&text) {
        return text;
    }
    let mut before = None;
    let replace = |c| {
        let is_misleading = is_misleading(before, c);
        let shown = if is_misleading { blank(c).unwrap_or(REPLACEMENT) } else { c };
        before = Some(shown);
        shown
    };
    Cow::Owned(text.chars().map(replace).collect())
}

/// Whether a character after `before` controls a terminal, ends a line, changes the direction of
/// text or is invisible. Joiners without a width are needed in some languages and emojis, but never
/// after an ASCII character. The list is the same as in `lua/rat/util/text.lua`.
fn is_misleading(before: Option<char>, c: char) -> bool {
    let joins = || before.is_some_and(|before| !before.is_ascii() && before != REPLACEMENT);
    match c {
        '\u{200c}' | '\u{200d}' => !joins(),
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sanitized_text_has_no_misleading_characters(text in any::<String>()) {
            let shown = line(&text);
            prop_assert!(is_plain(&shown), "{shown:?}");
            prop_assert_eq!(line(&shown), shown.as_ref());
            prop_assert!(lines(&text).split('\n').all(is_plain));
        }

        #[test]
        fn other_characters_are_unchanged(text in "[a-zäöü漢😀 ]{0,40}") {
            prop_assert_eq!(line(&text), text.as_str());
            prop_assert_eq!(lines(&text), text.as_str());
        }
    }

    #[test]
    fn only_sgr_sequences_are_stripped() {
        assert_eq!(strip_colours("\x1b[1;31mred\x1b[0m \x1b[38:2::1mé\x1b[m"), "red é");
        for other in ["plain", "\x1b[2J", "\x1b[31", "\x1b]0;m\x07", "[31m", "\x1b[3\x1bm"] {
            assert_eq!(strip_colours(other), other);
        }
    }

    /// Holds (Hostile agents): Characters that hide or reorder text are visible in titles, cards, choosers and messages.
    #[test]
    fn each_misleading_character_is_replaced() {
        for c in [
            '\0',
            '\u{7}',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202b}',
            '\u{202c}',
            '\u{202d}',
            '\u{202e}',
            '\u{2060}',
            '\u{2064}',
            '\u{2066}',
            '\u{2067}',
            '\u{2068}',
            '\u{2069}',
            '\u{206f}',
            '\u{2800}',
            '\u{3164}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{fffb}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{e0fff}',
        ] {
            let text = format!("rm{c} -rf");
            assert!(!is_plain(&text), "{c:?}");
            assert_eq!(line(&text), "rm\u{fffd} -rf", "{c:?}");
        }
        assert_eq!(
            line("a\u{200d}\u{200c}b\u{202e}\u{200d}"),
            "a\u{fffd}\u{fffd}b\u{fffd}\u{fffd}"
        );
        for text in [
            "نمی\u{200c}خواهم",
            "👩\u{200d}👧",
            "क\u{94d}\u{200d}ष",
            "❤\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
        ] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn misleading_characters_are_replaced_visibly() {
        assert_eq!(
            line("a\r\nb\tc\u{1b}]52;c;\u{7}\u{9b}1m\u{202e}\0"),
            "a b c\u{fffd}]52;c;\u{fffd}\u{fffd}1m\u{fffd}\u{fffd}"
        );
        assert_eq!(lines("a\r\nb\rc\0"), "a\nb c\u{fffd}");
        assert_eq!(short("one two", 3), "one…");
        assert_eq!(short("one", 3), "one");
    }
}
