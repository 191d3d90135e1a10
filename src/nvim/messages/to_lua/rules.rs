//! Messages about the rules that the user makes.

use super::Chat;
use crate::core::messages::rules::{self, ListedRule, RuleSuggestion, RulesList, RulesPage};
use crate::nvim::text::{FilePath, Label, Word, each};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// All rules that hold in a chat.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Rules {
    /// The chat.
    chat: Chat,
    /// The agent's display name.
    agent: Label,
    /// The folder of its session.
    cwd: FilePath,
    /// The lists that the user can change.
    lists: Vec<RuleList>,
    /// What is wrong with the rules of the option `permission.rules`, and those that hold.
    configured: Vec<Label>,
}

/// The rules of one extent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct RuleList {
    /// Where they hold: `session`, `project` or `everywhere`.
    extent: Word,
    /// The rules.
    rules: Vec<KeptRule>,
}

/// A rule that the user has made.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct KeptRule {
    /// The rule.
    line: Label,
    /// When it was made, in seconds since 1970; missing for a rule of the session.
    since: Option<u64>,
    /// The title of the request that it was made from; missing if it was written by hand.
    from: Option<Label>,
    /// How many requests it has decided.
    decided: u64,
}

impl From<RulesPage> for Rules {
    fn from(page: RulesPage) -> Self {
        Self {
            chat: page.chat.0,
            agent: Label::new(page.agent),
            cwd: FilePath::new(&page.cwd),
            lists: page.lists.into_iter().map(RuleList::from).collect(),
            configured: each(page.configured, Label::new),
        }
    }
}

impl From<RulesList> for RuleList {
    fn from(list: RulesList) -> Self {
        let rules = list.rules.into_iter().map(|rule: ListedRule| KeptRule {
            line: Label::new(rule.line),
            since: rule.since,
            from: rule.from.map(Label::new),
            decided: rule.decided,
        });
        Self { extent: Word::new(list.extent.name()), rules: rules.collect() }
    }
}

/// Rules made of a request, for the user to edit.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Suggestion {
    /// The chat.
    chat: Chat,
    /// Our number of the request.
    request: u64,
    /// The folder of its session.
    cwd: FilePath,
    /// The rules.
    lines: Vec<Label>,
}

impl From<RuleSuggestion> for Suggestion {
    fn from(suggestion: RuleSuggestion) -> Self {
        let RuleSuggestion { chat, request, cwd, lines } = suggestion;
        let (cwd, lines) = (FilePath::new(&cwd), each(lines, Label::new));
        Self { chat: chat.0, request, cwd, lines }
    }
}

/// What is wrong with the lists of rules that the user has written; nothing if they hold now.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct RuleProblems {
    /// What is wrong, in the order of the lists.
    problems: Vec<RuleProblem>,
}

/// What is wrong with a line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct RuleProblem {
    /// The list.
    extent: Word,
    /// The index of the line in it, from 1.
    index: usize,
    /// What is wrong, in one line.
    why: Label,
}

impl From<Vec<rules::RuleProblem>> for RuleProblems {
    fn from(problems: Vec<rules::RuleProblem>) -> Self {
        let problems = problems.into_iter().map(|problem| RuleProblem {
            extent: Word::new(problem.extent.name()),
            index: problem.index + 1,
            why: Label::new(problem.why),
        });
        Self { problems: problems.collect() }
    }
}
