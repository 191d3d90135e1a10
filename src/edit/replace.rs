//! Replaces texts in a [`Text`] by others, as the editing tools of agents do: each text must be there, and only once.

use super::text::Text;

/// Why a text was not replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceError {
    /// The text to be replaced is empty, but that in which it should be is not.
    Empty {
        /// Which replacement, counted from 0.
        at: usize,
    },
    /// The text is not there.
    Missing {
        /// Which replacement, counted from 0.
        at: usize,
    },
    /// The text is there several times.
    Ambiguous {
        /// Which replacement, counted from 0.
        at: usize,
        /// The lines in which it begins, from 1.
        lines: Vec<usize>,
    },
}

/// Makes replacements, each of an old text by a new one, in order. With the flag, all occurrences are replaced. Returns the text,
/// and how many places were replaced.
pub fn replace<'a>(
    text: &Text,
    replacements: impl IntoIterator<Item = (&'a str, &'a str, bool)>,
) -> Result<(Text, usize), ReplaceError> {
    let mut content = text.lf_content();
    let mut count = 0;
    for (at, (old, new, all)) in replacements.into_iter().enumerate() {
        let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        if old.is_empty() {
            if !content.is_empty() {
                return Err(ReplaceError::Empty { at });
            }
            (content, count) = (new, count + 1);
            continue;
        }
        let places: Vec<usize> = content.match_indices(&old).map(|(place, _)| place).collect();
        match places.len() {
            0 => return Err(ReplaceError::Missing { at }),
            1 => {}
            _ if all => {}
            _ => {
                let line = |place: &usize| 1 + content[..*place].matches('\n').count();
                let lines = places.iter().map(line).collect();
                return Err(ReplaceError::Ambiguous { at, lines });
            }
        }
        count += places.len();
        content = content.replace(&old, &new);
    }
    Ok((text.with_lf_content(content), count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replaced(content: &str, old: &str, new: &str, all: bool) -> Result<String, ReplaceError> {
        replace(&Text::parse(content), [(old, new, all)]).map(|(text, _)| text.content())
    }

    #[test]
    fn a_text_is_replaced_where_it_is_once() {
        assert_eq!(replaced("a\nb\n", "b", "c", false).as_deref(), Ok("a\nc\n"));
        assert_eq!(replaced("a\r\nb\r\n", "a\nb", "c\nd", false).as_deref(), Ok("c\r\nd\r\n"));
        assert_eq!(replaced("a\nb", "b", "", false).as_deref(), Ok("a\n"));
        assert_eq!(replaced("a\nb\n", "b\n", "", false).as_deref(), Ok("a\n"));
        assert_eq!(replaced("", "", "new\n", false).as_deref(), Ok("new\n"));
        assert_eq!(replaced("a\na\n", "a", "b", true).as_deref(), Ok("b\nb\n"));
        assert_eq!(replaced("a\n", "x", "b", true), Err(ReplaceError::Missing { at: 0 }));
        assert_eq!(replaced("a\n", "", "b", true), Err(ReplaceError::Empty { at: 0 }));
        let lines = vec![1, 3];
        let twice = Err(ReplaceError::Ambiguous { at: 0, lines });
        assert_eq!(replaced("a\nb\na\n", "a", "b", false), twice);
    }

    proptest! {
        #[test]
        fn it_replaces_what_a_string_would(
            content in "[ab\n]{0,20}",
            old in "[ab\n]{1,3}",
            new in "[abc\n]{0,3}",
        ) {
            let once = content.matches(&old).count() == 1;
            match replaced(&content, &old, &new, false) {
                Ok(replaced) => {
                    prop_assert!(once);
                    prop_assert_eq!(replaced, content.replace(&old, &new));
                }
                Err(_) => prop_assert!(!once),
            }
        }
    }
}
