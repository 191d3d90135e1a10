//! What a text has to match: JavaScript's regular expressions as far as they can be matched in linear time, so that no
//! agent's pattern takes for ever. It knows nothing of forms.

use regex::{Regex, RegexBuilder};

/// How large a compiled pattern may become, in bytes.
const LARGEST: usize = 1 << 20;

/// A pattern (JSON Schema `pattern`): a text fits where some part of it matches.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Pattern {
    /// Reads a pattern as it came. Why it cannot be read, in one line: looking around and going back are not there.
    pub fn new(source: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(&translate(source)).size_limit(LARGEST).build();
        let regex = regex.map_err(|error| {
            let error = error.to_string();
            error.lines().last().unwrap_or_default().to_owned()
        })?;
        Ok(Self { source: source.to_owned(), regex })
    }

    /// As it came.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether some part of the text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// From JavaScript's dialect: digits and words are ASCII there, and sets of characters know no sets within.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut chars = source.chars();
    let mut in_set = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[A-Za-z0-9_]"),
                Some('W') => out.push_str("[^A-Za-z0-9_]"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' | '&' | '~' if in_set => out.extend(['\\', c]),
            '[' => {
                in_set = true;
                out.push(c);
            }
            ']' => {
                in_set = false;
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}
