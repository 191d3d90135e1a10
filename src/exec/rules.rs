//! The rules of `--allow`: what is allowed beyond what the other flags say. Each is a [`trust::rule`](crate::trust::rule) that
//! allows.

use crate::trust::rule::Rule;
use std::str::FromStr;

/// A rule of `--allow`.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowed(pub(super) Rule);

impl FromStr for Allowed {
    type Err = String;

    /// Parses `KIND` or `KIND:PATTERN`. A kind that is about files and has no pattern allows all files, also those outside of
    /// the folder.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, pattern) = match text.split_once(':') {
            Some((_, pattern)) if pattern.trim().is_empty() => {
                return Err("the pattern is empty".to_owned());
            }
            Some(parts) => parts,
            None => (text, ""),
        };
        let all_files = matches!(kind, "read" | "search" | "edit" | "delete" | "move");
        let pattern = if all_files && pattern.is_empty() { "/**" } else { pattern };
        format!("allow {kind} {pattern}").parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_and_a_pattern_are_a_rule_that_allows() {
        for (text, rule) in [
            ("execute", "allow execute"),
            ("execute:cargo test *", "allow execute cargo test *"),
            ("edit", "allow edit /**"),
            ("edit:src/**", "allow edit src/**"),
        ] {
            assert_eq!(text.parse::<Allowed>().unwrap().0.to_string(), rule);
        }
    }

    #[test]
    fn what_is_no_rule_is_explained() {
        let why = |text: &str| text.parse::<Allowed>().unwrap_err();
        assert!(
            why("everything").starts_with("there is no kind \"everything\"; the kinds are read,")
        );
        assert_eq!(why("fetch:x"), "fetch takes no pattern");
        assert_eq!(why("edit:"), "the pattern is empty");
        assert_eq!(why("edit:[a"), "unclosed character class; missing ']'");
        assert_eq!(why("execute:'a"), "a quote is not closed");
    }
}
