//! The filter of `:RatTrace`: words that all have to let a message through.

use super::super::v1::table::{self, Support};
use super::super::v2;
use crate::jsonrpc::recording::Direction;

/// A filter; without words it lets everything through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter(Vec<Word>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    /// Whether it lets through what does not match.
    negated: bool,
    wanted: Wanted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Direction(Direction),
    /// Part of a method's name.
    Method(String),
    /// Any text, in lower case.
    Text(String),
}

impl Filter {
    /// Reads words separated by blanks. `>` and `<` are directions, `!` before a word negates it, four letters or more of a method's name mean
    /// the method, and all else any text, as does what is in double quotes.
    pub fn parse(text: &str) -> Self {
        let mut words = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (negated, word) = match rest.strip_prefix('!') {
                Some(word) => (true, word),
                None => (false, rest),
            };
            let wanted;
            (wanted, rest) = if let Some(quoted) = word.strip_prefix('"') {
                let (text, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
                ((!text.is_empty()).then(|| Wanted::Text(text.to_lowercase())), rest)
            } else {
                let (word, rest) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
                ((!word.is_empty()).then(|| Wanted::of(word)), rest)
            };
            words.extend(wanted.map(|wanted| Word { negated, wanted }));
            rest = rest.trim_start();
        }
        Self(words)
    }

    /// Whether it lets a message through. An answer has the method and the direction of its request. `json` is the message.
    pub(super) fn allows(&self, direction: Direction, method: Option<&str>, json: &str) -> bool {
        let mut lower = None;
        self.0.iter().all(|Word { negated, wanted }| {
            let matches = match wanted {
                Wanted::Direction(wanted) => direction == *wanted,
                Wanted::Method(part) => method.is_some_and(|method| method.contains(part)),
                Wanted::Text(text) => {
                    let lower = lower.get_or_insert_with(|| json.to_lowercase());
                    memchr::memmem::find(lower.as_bytes(), text.as_bytes()).is_some()
                }
            };
            matches != *negated
        })
    }
}

impl Wanted {
    fn of(word: &str) -> Self {
        let v1 = [table::TO_AGENT, table::TO_CLIENT, table::BOTH_WAYS].concat();
        let v2 = [v2::table::TO_AGENT, v2::table::TO_CLIENT].concat();
        // What is not handled seldom comes, and one name is also that of an update.
        let mut handled = v1.iter().chain(&v2).filter(|row| row.support == Support::Handled);
        match word {
            ">" => Self::Direction(Direction::ToAgent),
            "<" => Self::Direction(Direction::FromAgent),
            part if is_long(part) && handled.any(|row| row.name.contains(part)) => {
                Self::Method(part.to_owned())
            }
            text => Self::Text(text.to_lowercase()),
        }
    }
}

/// Whether a word may be part of a method's name. Shorter ones would be part of too many.
fn is_long(word: &str) -> bool {
    word.len() > 3 || word.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_have_to_let_a_message_through() {
        let update = r#"{"method":"session/update","params":{"text":"In src/Main.rs: a prompt"}}"#;
        let allows = |filter: &str| {
            let method = Some("session/update");
            Filter::parse(filter).allows(Direction::FromAgent, method, update)
        };
        for filter in
            ["", "session/update", "update", "<", "src/main.rs", "\"a prompt\"", "!>", "< !fs/ in"]
        {
            assert!(allows(filter), "{filter}");
        }
        for filter in
            ["!session/update", ">", "session/prompt", "prompt", "< fs/", "!\"a prompt\"", "x y"]
        {
            assert!(!allows(filter), "{filter}");
        }
        assert_eq!(Wanted::of("tool_call"), Wanted::Text("tool_call".to_owned()));
        assert_eq!(Filter::parse(" ! \"\" \"\""), Filter::default());
        assert!(!Filter::parse("update").allows(Direction::Stderr, None, "\"update\""));
        assert!(Filter::parse("\"update").allows(Direction::Stderr, None, "\"update\""));
    }
}
