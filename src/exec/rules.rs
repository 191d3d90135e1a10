//! The rules of `--allow`: which tool calls are allowed beyond what the other flags say.

use crate::session::tool_call::ToolKind;
use globset::{GlobBuilder, GlobMatcher};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The kinds of tool calls by name, with what the pattern of a rule is matched with (ACP `ToolKind`).
const KINDS: [(&str, ToolKind, Subject); 9] = [
    ("read", ToolKind::Read, Subject::Files),
    ("search", ToolKind::Search, Subject::Files),
    ("edit", ToolKind::Edit, Subject::Files),
    ("delete", ToolKind::Delete, Subject::Files),
    ("move", ToolKind::Move, Subject::Files),
    ("execute", ToolKind::Execute, Subject::Command),
    ("fetch", ToolKind::Fetch, Subject::Nothing),
    ("switch-mode", ToolKind::SwitchMode, Subject::Nothing),
    ("other", ToolKind::Other, Subject::Nothing),
];

/// What a pattern is matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// All files that the call names, relative to the folder.
    Files,
    /// The command line.
    Command,
    /// There are no patterns for this kind.
    Nothing,
}

/// What makes a command more than one simple command, or one that is not what it looks like.
const SHELL_SYNTAX: &[char] = &[
    ';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\n', '\r', '\\', '"', '\'', '#', '!',
    '~',
];

/// A rule of `--allow`: a kind of tool call, and a pattern if it is not for all of that kind.
#[derive(Debug, Clone)]
pub struct Rule {
    kind: ToolKind,
    subject: Subject,
    pattern: Option<GlobMatcher>,
}

impl FromStr for Rule {
    type Err = String;

    /// Parses `KIND` or `KIND:PATTERN`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, pattern) = match text.split_once(':') {
            Some((name, pattern)) => (name, Some(pattern)),
            None => (text, None),
        };
        let found = KINDS.iter().find(|(known, ..)| *known == name);
        let Some((_, kind, subject)) = found else {
            let known: Vec<_> = KINDS.iter().map(|(known, ..)| *known).collect();
            return Err(format!("there is no kind {name:?}; the kinds are {}", known.join(", ")));
        };
        let pattern = match pattern {
            Some(_) if *subject == Subject::Nothing => {
                return Err(format!("{name} takes no pattern"));
            }
            Some("") => return Err("the pattern is empty".to_owned()),
            Some(pattern) => {
                let glob = GlobBuilder::new(pattern)
                    .literal_separator(*subject == Subject::Files)
                    .build()
                    .map_err(|error| error.kind().to_string())?;
                Some(glob.compile_matcher())
            }
            None => None,
        };
        Ok(Self { kind: *kind, subject: *subject, pattern })
    }
}

impl Rule {
    /// Whether it allows all calls of this kind.
    pub(super) fn allows_all(&self, kind: ToolKind) -> bool {
        self.kind == kind && self.pattern.is_none()
    }

    /// Whether it allows a call of this kind with these files and this command. The files are real paths. A command with
    /// syntax of the shell matches no pattern, since it can be more than it looks like.
    pub(super) fn allows(
        &self,
        kind: ToolKind,
        files: &[PathBuf],
        command: Option<&str>,
        root: &Path,
    ) -> bool {
        let Some(pattern) = self.pattern.as_ref().filter(|_| self.kind == kind) else {
            return self.allows_all(kind);
        };
        match self.subject {
            Subject::Files => {
                let matches =
                    |file: &PathBuf| pattern.is_match(file.strip_prefix(root).unwrap_or(file));
                !files.is_empty() && files.iter().all(matches)
            }
            Subject::Command => command
                .filter(|command| !command.contains(SHELL_SYNTAX))
                .is_some_and(|command| pattern.is_match(command.trim())),
            Subject::Nothing => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    fn files(rule: &Rule, files: &[&str]) -> bool {
        let files: Vec<_> = files.iter().map(PathBuf::from).collect();
        rule.allows(ToolKind::Edit, &files, None, Path::new("/p"))
    }

    #[test]
    fn a_pattern_of_files_has_to_match_all_of_them() {
        assert!(files(&rule("edit"), &["/p/a", "/etc/x"]));
        let below = rule("edit:src/**/*.rs");
        assert!(files(&below, &["/p/src/a.rs", "/p/src/b/c.rs"]));
        assert!(!files(&below, &["/p/src/a.rs", "/p/b.rs"]) && !files(&below, &[]));
        assert!(!files(&rule("edit:*.rs"), &["/p/src/a.rs"]), "a star is one name");
        assert!(files(&rule("edit:/etc/*"), &["/etc/hosts"]), "an absolute pattern");
        assert!(!rule("read").allows(ToolKind::Edit, &[], None, Path::new("/p")));
    }

    /// Holds (Scripts): A pattern for commands never matches one with syntax of the shell.
    #[test]
    fn a_pattern_of_commands_matches_simple_commands() {
        let tests = rule("execute:cargo test*");
        let runs = |command| tests.allows(ToolKind::Execute, &[], Some(command), Path::new("/p"));
        assert!(runs("cargo test") && runs("cargo test --lib a/b"));
        for command in [
            "cargo build",
            "cargo test; rm -rf /",
            "cargo test && x",
            "cargo test | x",
            "cargo test > x",
            "cargo test $(x)",
            "cargo test `x`",
            "cargo test\nx",
            "cargo test \"$x\"",
            "x cargo test",
        ] {
            assert!(!runs(command), "{command}");
        }
        assert!(!tests.allows(ToolKind::Execute, &[], None, Path::new("/p")));
        assert!(
            !tests.allows_all(ToolKind::Execute) && rule("execute").allows_all(ToolKind::Execute)
        );
    }

    #[test]
    fn what_is_no_rule_is_explained() {
        let why = |text: &str| text.parse::<Rule>().unwrap_err();
        assert!(
            why("everything").starts_with("there is no kind \"everything\"; the kinds are read,")
        );
        assert_eq!(why("fetch:x"), "fetch takes no pattern");
        assert_eq!(why("edit:"), "the pattern is empty");
        assert_eq!(why("edit:[a"), "unclosed character class; missing ']'");
    }
}
