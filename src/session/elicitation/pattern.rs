//! Regular expressions of JSON Schema `pattern`, which are JavaScript's. Only those that match in
//! linear time are supported, so that no agent's pattern can hang the client.

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled pattern in bytes.
const MAX_COMPILED_SIZE: usize = 1 << 20;

/// A compiled pattern. A text matches if any part of it does.
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
    /// Compiles a pattern. The error is one line; lookaround and backreferences are not supported.
    pub fn new(source: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(&translate(source)).size_limit(MAX_COMPILED_SIZE).build();
        let regex = regex.map_err(|error| {
            let error = error.to_string();
            error.lines().last().unwrap_or_default().to_owned()
        })?;
        Ok(Self { source: source.to_owned(), regex })
    }

    /// Returns the pattern as the agent wrote it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether some part of the text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// Translates JavaScript's syntax: its `\d` and `\w` are ASCII only, and its character classes do
/// not nest.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut chars = source.chars();
    let mut in_class = false;
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
            '[' | '&' | '~' if in_class => out.extend(['\\', c]),
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}
