//! Texts of others, made fit for any place on the screen: a window's title, a status line, a message. Some of these places
//! hand a text to the terminal as it is, so nothing in it may be a command to one, or show it as another than it is.

use std::borrow::Cow;

/// What stands for a character that cannot be shown.
const REPLACED: char = '\u{fffd}';

/// One line: what breaks a line is a space, what a terminal or a reader could be misled by is `U+FFFD`.
pub fn line(text: &str) -> Cow<'_, str> {
    cleaned(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(' '))
}

/// Several lines: the same, but for the ends of lines.
pub fn lines(text: &str) -> Cow<'_, str> {
    cleaned(text, |c| match c {
        '\n' => Some('\n'),
        '\r' | '\t' => Some(' '),
        _ => None,
    })
}

/// One line of at most so many characters; what was cut off leaves an ellipsis.
pub fn short(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let kept: String = chars.by_ref().take(most).collect();
    let mut out = line(&kept).into_owned();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Whether a text is shown as what it is: a name with other characters is none that anybody could check.
pub fn is_plain(text: &str) -> bool {
    !text.chars().any(misleads)
}

fn cleaned(text: &str, blank: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    let has_pairs = text.contains("\r\n");
    let text = if has_pairs { text.replace("\r\n", "\n").into() } else { Cow::Borrowed(text) };
    // Bytes of printable ASCII are most of it.
    let is_fit = |byte: u8| (0x20..0x7f).contains(&byte);
    if text.bytes().all(is_fit) || text.chars().all(|c| !misleads(c)) {
        return text;
    }
    let fit = |c| if misleads(c) { blank(c).unwrap_or(REPLACED) } else { c };
    Cow::Owned(text.chars().map(fit).collect())
}

/// Characters that control a terminal, end a line, turn the direction of writing, or are not seen at all. Those that join
/// letters stay: languages need them. `lua/rat/text.lua` has the same ones.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_holds_nothing_that_misleads(text in any::<String>()) {
            let shown = line(&text);
            prop_assert!(is_plain(&shown), "{shown:?}");
            prop_assert_eq!(line(&shown), shown.as_ref());
            prop_assert!(lines(&text).split('\n').all(is_plain));
        }

        #[test]
        fn what_misleads_nobody_stays(text in "[a-zäöü漢😀\u{200d} ]{0,40}") {
            prop_assert_eq!(line(&text), text.as_str());
            prop_assert_eq!(lines(&text), text.as_str());
        }
    }

    #[test]
    fn what_was_there_is_seen_to_have_been_there() {
        assert_eq!(
            line("a\r\nb\tc\u{1b}]52;c;\u{7}\u{9b}1m\u{202e}\0"),
            "a b c\u{fffd}]52;c;\u{fffd}\u{fffd}1m\u{fffd}\u{fffd}"
        );
        assert_eq!(lines("a\r\nb\rc\0"), "a\nb c\u{fffd}");
        assert_eq!(short("one two", 3), "one…");
        assert_eq!(short("one", 3), "one");
    }
}
