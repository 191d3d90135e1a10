//! Rules that the user makes, lists and changes.

use crate::session::author::ChatId;
use crate::trust::kept::Extent;
use std::path::PathBuf;

/// All rules that hold in a chat, for the user to read and change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesPage {
    /// The chat.
    pub chat: ChatId,
    /// The agent's display name.
    pub agent: String,
    /// The folder of its session.
    pub cwd: PathBuf,
    /// The lists that the user can change, the widest first.
    pub lists: Vec<RulesList>,
    /// What is wrong with the rules of the option `permission.rules`, and those that hold.
    pub configured: Vec<String>,
}

/// The rules of one extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesList {
    /// Where they hold.
    pub extent: Extent,
    /// The rules.
    pub rules: Vec<ListedRule>,
}

/// A rule that the user has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRule {
    /// Its line.
    pub line: String,
    /// When it was made, in seconds since 1970; `None` for a rule of the session.
    pub since: Option<u64>,
    /// The title of the request that it was made from; `None` if it was written by hand.
    pub from: Option<String>,
    /// How many requests it has decided.
    pub decided: u64,
}

/// Rules for the user to edit, which would decide a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSuggestion {
    /// The chat.
    pub chat: ChatId,
    /// Our number of the request.
    pub request: u64,
    /// The folder of its session.
    pub cwd: PathBuf,
    /// The rules.
    pub lines: Vec<String>,
}

/// What to tell the user once the rules are saved, or were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThenTell {
    /// Nothing.
    Nothing,
    /// Which rules are kept, and where they hold.
    Kept(String),
    /// All rules.
    Rules(ChatId),
    /// That the rules they have written hold now.
    Applied(ChatId),
}

/// What is wrong with a line of a list of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProblem {
    /// The list.
    pub extent: Extent,
    /// The index of the line in it.
    pub index: usize,
    /// What is wrong, in one line.
    pub why: String,
}
