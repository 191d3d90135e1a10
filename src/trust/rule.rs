//! One rule: what it is about, what it decides, and the line of text that says so.

use super::command::{CommandLine, Program};
use super::shell::Word;
use crate::session::editor_tool::names_of;
use crate::session::tool_call::ToolKind;
use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// What a rule decides. The later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// The user is not asked, and it is allowed.
    Allow,
    /// The user is asked, whatever else allows it.
    Ask,
    /// It is rejected.
    Deny,
}

const DECISIONS: [(&str, Decision); 3] =
    [("allow", Decision::Allow), ("ask", Decision::Ask), ("deny", Decision::Deny)];

/// What a pattern is matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The files that the call names.
    Files,
    /// Its command line.
    Command,
    /// The name of the tool.
    Tool,
    /// There are no patterns.
    Nothing,
}

/// The kinds of tool calls by name (ACP `ToolKind`), with what a pattern is matched with. `tool` is any kind, by the name of
/// the tool.
const KINDS: [(&str, Option<ToolKind>, Subject); 11] = [
    ("read", Some(ToolKind::Read), Subject::Files),
    ("search", Some(ToolKind::Search), Subject::Files),
    ("edit", Some(ToolKind::Edit), Subject::Files),
    ("delete", Some(ToolKind::Delete), Subject::Files),
    ("move", Some(ToolKind::Move), Subject::Files),
    ("execute", Some(ToolKind::Execute), Subject::Command),
    ("fetch", Some(ToolKind::Fetch), Subject::Nothing),
    ("think", Some(ToolKind::Think), Subject::Nothing),
    ("switch-mode", Some(ToolKind::SwitchMode), Subject::Nothing),
    ("other", Some(ToolKind::Other), Subject::Nothing),
    ("tool", None, Subject::Tool),
];

/// Whether a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It does.
    Yes,
    /// It may: a word is known only when the command runs.
    Maybe,
    /// It does not.
    No,
}

/// A rule. Two rules are equal if their lines are.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    /// What it decides.
    pub decision: Decision,
    /// The agent it is for, by the name in the configuration; `None` for all.
    pub agent: Option<String>,
    /// The kind of tool call; `None` for `tool`.
    pub kind: Option<ToolKind>,
    pattern: Option<Pattern>,
    /// Whether it only decides what no other rule does.
    is_default: bool,
    line: String,
}

#[derive(Debug, Clone)]
enum Pattern {
    Files { glob: GlobMatcher, is_absolute: bool },
    Command(Vec<WordPattern>),
    Tool(WordPattern),
}

/// A word in which `*` stands for any text, as the texts between the stars. A lone `*` at the end of a command stands for any
/// number of words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WordPattern(Vec<String>);

impl WordPattern {
    fn is_any(&self) -> bool {
        self.0 == ["", ""]
    }

    fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|only| only == text);
        };
        let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
        let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
        middle.iter().all(|part| match rest.find(part.as_str()) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

impl Eq for Rule {}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.line == other.line
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl FromStr for Rule {
    type Err = String;

    /// Parses `DECISION [AGENT:]KIND [PATTERN]`. The error says in one line what is wrong.
    fn from_str(line: &str) -> Result<Self, String> {
        let (decision, rest) = split_word(line);
        let (kind, pattern) = split_word(rest);
        let known = || DECISIONS.map(|(name, _)| name).join(", ");
        let Some((_, decision)) = DECISIONS.into_iter().find(|(name, _)| *name == decision) else {
            return Err(format!("a rule begins with one of {}, not with {decision:?}", known()));
        };
        let (agent, kind) = match kind.rsplit_once(':') {
            Some(("", _)) => return Err("the name of the agent is empty".to_owned()),
            Some((agent, kind)) => (Some(agent.to_owned()), kind),
            None => (None, kind),
        };
        let Some((name, kind, subject)) = KINDS.into_iter().find(|(name, ..)| *name == kind) else {
            let known = KINDS.map(|(name, ..)| name).join(", ");
            return Err(format!("there is no kind {kind:?}; the kinds are {known}"));
        };
        // It would be a part of the pattern, which then is about nothing that anybody meant.
        if pattern.split_whitespace().skip(1).any(|word| word.starts_with('#')) {
            return Err(
                "a comment needs a line of its own, and a \"#\" in a command quotes".to_owned()
            );
        }
        let pattern = match (subject, pattern) {
            (Subject::Tool, "") => return Err("the name of the tool is missing".to_owned()),
            (_, "") => None,
            (Subject::Nothing, _) => return Err(format!("{name} takes no pattern")),
            (Subject::Files, pattern) => Some(file_pattern(pattern)?),
            (Subject::Command, pattern) => Some(Pattern::Command(command_pattern(pattern)?)),
            (Subject::Tool, pattern) => {
                let mut words = command_pattern(pattern)?;
                let word = words.pop().filter(|_| words.is_empty());
                Some(Pattern::Tool(word.ok_or("the name of a tool is one word")?))
            }
        };
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self { decision, agent, kind, pattern, is_default: false, line })
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn file_pattern(pattern: &str) -> Result<Pattern, String> {
    let whole = if pattern.ends_with('/') { format!("{pattern}**") } else { pattern.to_owned() };
    let whole = whole.strip_prefix("./").unwrap_or(&whole);
    if Path::new(whole).components().any(|part| part == std::path::Component::ParentDir) {
        return Err("a pattern for files has no \"..\"".to_owned());
    }
    let glob = GlobBuilder::new(whole)
        .literal_separator(true)
        .build()
        .map_err(|error| error.kind().to_string())?;
    Ok(Pattern::Files { glob: glob.compile_matcher(), is_absolute: whole.starts_with('/') })
}

/// Splits a pattern into words, with quotes as in a shell. Stars in quotes stand for themselves.
fn command_pattern(pattern: &str) -> Result<Vec<WordPattern>, String> {
    let (mut words, mut quote) = (Vec::new(), None);
    // The texts between the stars of a word before the last star, and the text after it.
    let mut word: Option<(Vec<String>, String)> = None;
    let ended = |(mut parts, last): (Vec<String>, String)| {
        parts.push(last);
        WordPattern(parts)
    };
    for char in pattern.chars() {
        if quote.is_none() && matches!(char, ' ' | '\t') {
            words.extend(word.take().map(ended));
            continue;
        }
        let (parts, last) = word.get_or_insert_default();
        match (char, quote) {
            ('"' | '\'', None) => quote = Some(char),
            (_, Some(open)) if open == char => quote = None,
            ('*', None) => parts.push(std::mem::take(last)),
            _ => last.push(char),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(word.map(ended));
    if words.first().is_some_and(|first| first.0.len() > 1 && first.0[0].is_empty()) {
        return Err("a pattern cannot begin with a star: leave it out to mean any".to_owned());
    }
    Ok(words)
}

impl TryFrom<String> for Rule {
    type Error = String;

    fn try_from(line: String) -> Result<Self, String> {
        line.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.line
    }
}

impl Rule {
    /// Returns the rule for all calls of a kind that no other rule decides on (the option `permission.default`).
    ///
    /// # Errors
    /// If there is no such kind or decision, in one line.
    pub fn default_for(kind: &str, decision: &str) -> Result<Self, String> {
        if !Self::kind_names().any(|name| name == kind) {
            let known = Self::kind_names().collect::<Vec<_>>().join(", ");
            return Err(format!("there is no kind {kind:?}; the kinds are {known}"));
        }
        let rule: Self = format!("{decision} {kind}").parse()?;
        let line = format!("permission.default: {decision} {kind}");
        Ok(Self { is_default: true, line, ..rule })
    }

    /// Returns the names of the kinds of tool calls.
    pub fn kind_names() -> impl Iterator<Item = &'static str> {
        KINDS.into_iter().filter(|(_, kind, _)| kind.is_some()).map(|(name, ..)| name)
    }

    /// Whether it only decides what no other rule does.
    pub(super) fn is_default(&self) -> bool {
        self.is_default
    }

    /// Returns the name of a kind of tool calls in rules.
    pub(super) fn kind_name(kind: ToolKind) -> Option<&'static str> {
        KINDS.into_iter().find(|(_, own, _)| *own == Some(kind)).map(|(name, ..)| name)
    }

    /// Whether it is for calls of this agent and kind, apart from its pattern.
    pub(super) fn is_for(&self, agent: &str, kind: ToolKind) -> bool {
        self.agent.as_deref().is_none_or(|name| name == agent)
            && self.kind.is_none_or(|own| own == kind)
    }

    /// Whether it has no pattern.
    pub(super) fn is_for_all(&self) -> bool {
        self.pattern.is_none()
    }

    /// Whether it is about a file, given as a real path. Without a pattern, it is about those in the project.
    pub(super) fn matches_file(&self, file: &Path, root: &Path) -> bool {
        let below = file.strip_prefix(root).ok();
        match &self.pattern {
            None => below.is_some(),
            Some(Pattern::Files { glob, is_absolute: true }) => glob.is_match(file),
            Some(Pattern::Files { glob, .. }) => below.is_some_and(|below| glob.is_match(below)),
            Some(Pattern::Command(_) | Pattern::Tool(_)) => false,
        }
    }

    /// Whether it is about a tool of this name. A tool of ours has another name with each agent, and any of them will do.
    pub(super) fn matches_tool(&self, tool: Option<&str>) -> bool {
        match (&self.pattern, tool) {
            (Some(Pattern::Tool(pattern)), Some(tool)) => {
                names_of(tool).iter().any(|name| pattern.matches(name))
            }
            _ => false,
        }
    }

    /// Whether it allows this program word by word, with no stars: then it allows also what these words say to run.
    pub(super) fn spells_out(&self, program: &Program) -> bool {
        let Some(Pattern::Command(patterns)) = &self.pattern else { return false };
        self.decision == Decision::Allow
            && patterns.iter().all(|pattern| pattern.0.len() == 1)
            && self.matches_program(program) == Match::Yes
    }

    /// Whether a command line that cannot be parsed may run what it is about: each word of its pattern is in there.
    pub(super) fn may_mean(&self, line: &str) -> bool {
        match &self.pattern {
            None => true,
            Some(Pattern::Command(words)) => {
                let mut words = words.iter().filter(|word| !word.is_any());
                words.all(|word| {
                    CommandLine::mentions(line, |text| {
                        word.matches(text) || word.matches(&text.to_lowercase())
                    })
                })
            }
            Some(Pattern::Files { .. } | Pattern::Tool(_)) => false,
        }
    }

    /// Whether it is about this program with its arguments. One that allows has to match all of it, with the variables that
    /// are set for it; the others match the program wherever it is installed, and whatever is set for it.
    pub(super) fn matches_program(&self, program: &Program) -> Match {
        let patterns = match &self.pattern {
            None => return Match::Yes,
            Some(Pattern::Command(words)) => words,
            Some(Pattern::Files { .. } | Pattern::Tool(_)) => return Match::No,
        };
        let all: Vec<_> = program.assignments.iter().chain(&program.words).collect();
        let exact = match_words(patterns, &all);
        if self.decision == Decision::Allow || exact != Match::No {
            return exact;
        }
        let Some((name, arguments)) = program.words.split_first() else { return Match::No };
        let Word::Literal(path) = name else {
            return match_words(patterns, &program.words.iter().collect::<Vec<_>>());
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        // Some file systems find `rm` by the name `RM`.
        let names = [name.to_owned(), name.to_lowercase()].map(Word::Literal);
        let by_name =
            |name| match_words(patterns, &[name].into_iter().chain(arguments).collect::<Vec<_>>());
        names.iter().map(by_name).find(|found| *found != Match::No).unwrap_or(Match::No)
    }
}

fn match_words(patterns: &[WordPattern], words: &[&Word]) -> Match {
    match (patterns, words) {
        ([], []) => Match::Yes,
        ([last], rest) if last.is_any() && !rest.is_empty() => Match::Yes,
        ([last], []) if last.is_any() => Match::Yes,
        // A variable may be several words, or none.
        ([], rest) if rest.iter().all(|word| word.literal().is_none()) => Match::Maybe,
        ([], _) | (_, []) => Match::No,
        ([first, patterns @ ..], [word, words @ ..]) => match word.literal() {
            Some(text) if first.matches(text) => match_words(patterns, words),
            Some(_) => Match::No,
            None => Match::Maybe,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(line: &str) -> Rule {
        line.parse().unwrap_or_else(|why| panic!("{line}: {why}"))
    }

    #[test]
    fn a_rule_is_a_decision_a_kind_and_a_pattern() {
        let all = rule("  allow   read ");
        assert_eq!(
            (all.decision, all.kind, &all.agent),
            (Decision::Allow, Some(ToolKind::Read), &None)
        );
        assert_eq!(all.to_string(), "allow read");
        let one = rule("deny claude:execute git push *");
        assert_eq!((one.decision, one.agent.as_deref()), (Decision::Deny, Some("claude")));
        assert!(one.is_for("claude", ToolKind::Execute) && !one.is_for("codex", ToolKind::Execute));
        assert!(!one.is_for("claude", ToolKind::Edit));
        assert!(rule("ask tool mcp__*").is_for("any", ToolKind::Edit));
    }

    /// Holds (Editor tools): A rule about a tool of the editor holds under the name that any agent gives it.
    #[test]
    fn a_tool_of_ours_goes_by_any_of_its_names() {
        for pattern in ["mcp__rat__edit_buffer", "rat_edit_buffer", "mcp_rat_edit_*", "rat_*"] {
            let rule = rule(&format!("deny tool {pattern}"));
            for name in ["mcp__rat__edit_buffer", "rat_edit_buffer", "mcp_rat_edit_buffer"] {
                assert!(rule.matches_tool(Some(name)), "{pattern} {name}");
            }
            assert!(!rule.matches_tool(Some("edit_buffer")) && !rule.matches_tool(Some("other_x")));
        }
        assert!(!rule("deny tool rat_edit_buffer").matches_tool(Some("mcp__other__edit_buffer")));
    }

    /// Holds (Permission requests): What is wrong with a rule is told in one line.
    #[test]
    fn what_is_no_rule_is_explained() {
        for (line, why) in [
            ("", "a rule begins with one of allow, ask, deny, not with \"\""),
            ("permit read", "a rule begins with one of allow, ask, deny, not with \"permit\""),
            ("allow", "there is no kind \"\"; the kinds are read, search, edit"),
            ("allow reed", "there is no kind \"reed\"; the kinds are read, search, edit"),
            ("allow :read", "the name of the agent is empty"),
            ("allow fetch x", "fetch takes no pattern"),
            ("allow tool", "the name of the tool is missing"),
            ("allow tool a b", "the name of a tool is one word"),
            ("allow tool *", "a pattern cannot begin with a star: leave it out to mean any"),
            (
                "allow execute * push",
                "a pattern cannot begin with a star: leave it out to mean any",
            ),
            ("allow execute git 'push", "a quote is not closed"),
            ("allow edit ../x", "a pattern for files has no \"..\""),
            ("allow edit [a", "unclosed character class; missing ']'"),
        ] {
            let found = line.parse::<Rule>().unwrap_err();
            assert!(found.starts_with(why), "{line}: {found}");
        }
    }

    #[test]
    fn patterns_of_files_are_relative_to_the_folder_or_absolute() {
        let matches =
            |line: &str, file: &str| rule(line).matches_file(Path::new(file), Path::new("/p"));
        for (line, inside, outside) in [
            ("allow edit", "/p/a/b", "/a"),
            ("allow edit src/", "/p/src/a/b", "/p/srcs/a"),
            ("allow edit ./src/", "/p/src/a", "/src/a"),
            ("allow edit *.rs", "/p/a.rs", "/p/src/a.rs"),
            ("allow edit **/*.rs", "/p/src/x/a.rs", "/q/src/a.rs"),
            ("allow edit /etc/*", "/etc/hosts", "/p/etc/hosts"),
            ("allow edit my notes.txt", "/p/my notes.txt", "/p/my"),
        ] {
            assert!(matches(line, inside) && !matches(line, outside), "{line}");
        }
    }

    #[test]
    fn stars_stand_for_any_text_and_at_the_end_for_any_words() {
        let word = |text: &str| Word::Literal(text.to_owned());
        let program = |words: &[&str]| Program {
            told_by: None,
            is_script: false,
            assignments: Vec::new(),
            words: words.iter().map(|text| word(text)).collect(),
        };
        for (line, words, expected) in [
            ("allow execute make", &["make"][..], Match::Yes),
            ("allow execute make", &["make", "all"], Match::No),
            ("allow execute make *", &["make"], Match::Yes),
            ("allow execute make *", &["make", "a", "b"], Match::Yes),
            ("allow execute make * b", &["make", "a", "b"], Match::Yes),
            ("allow execute make * b", &["make", "b"], Match::No),
            ("allow execute npm run test*", &["npm", "run", "test:all"], Match::Yes),
            ("allow execute npm run a*b*c", &["npm", "run", "abbc"], Match::Yes),
            ("allow execute npm run a*b*c", &["npm", "run", "acb"], Match::No),
            ("allow execute echo '*'", &["echo", "x"], Match::No),
            ("allow execute echo '*'", &["echo", "*"], Match::Yes),
            ("allow execute echo \"a b\"", &["echo", "a b"], Match::Yes),
        ] {
            assert_eq!(rule(line).matches_program(&program(words)), expected, "{line}: {words:?}");
        }
        let unknown = Program {
            told_by: None,
            is_script: false,
            assignments: Vec::new(),
            words: vec![word("make"), Word::Dynamic],
        };
        assert_eq!(rule("allow execute make all").matches_program(&unknown), Match::Maybe);
        assert_eq!(rule("allow execute make").matches_program(&unknown), Match::Maybe);
        assert_eq!(rule("allow execute make *").matches_program(&unknown), Match::Yes);
        assert_eq!(rule("allow execute rake *").matches_program(&unknown), Match::No);
    }
}
