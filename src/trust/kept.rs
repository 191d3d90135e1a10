//! The rules that the user has made while working: for one project or everywhere. Those for a session are never saved.

use super::rule::{Decision, Rule};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A rule, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRule {
    /// The rule, as a line of text.
    pub rule: Rule,
    /// When it was saved, in seconds since 1970; 0 before that.
    pub since: u64,
    /// The title of the request that it was made from; `None` if it was written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How many requests it has decided.
    #[serde(default)]
    pub decided: u64,
}

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// In one chat, until its session ends.
    Session,
    /// In all sessions of a folder.
    Project,
    /// In all sessions.
    Everywhere,
}

impl Extent {
    /// All of them, the widest first.
    pub const ALL: [Self; 3] = [Self::Everywhere, Self::Project, Self::Session];

    /// Its name in messages to and from the editor.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
            Self::Everywhere => "everywhere",
        }
    }

    /// Returns the one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|extent| extent.name() == name)
    }
}

/// The rules that are saved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRules {
    /// Those for all sessions.
    #[serde(default)]
    everywhere: Vec<KeptRule>,
    /// Those for the sessions of a folder.
    #[serde(default)]
    projects: BTreeMap<PathBuf, Vec<KeptRule>>,
}

/// A change of saved rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulesChange {
    /// None: they are only read again.
    Nothing,
    /// Rules are added, for a project or everywhere. One that is there already stays as it is.
    Add(Option<PathBuf>, Vec<KeptRule>),
    /// These are the rules of projects, or everywhere. What is known of those that stay is kept.
    Set(Vec<(Option<PathBuf>, Vec<KeptRule>)>),
    /// These rules have decided a request in a project.
    Decided(PathBuf, Vec<String>),
}

/// Why saved rules are not what they should be, with the reason as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulesFailure {
    /// They cannot be read.
    Unreadable(String),
    /// A change could not be saved. They are what they were.
    Unsaved(String),
}

impl RulesChange {
    /// Notes when the rules were made that are new, and cleans the titles of their requests.
    #[must_use]
    pub fn made_at(mut self, now: u64, clean: impl Fn(&str) -> String) -> Self {
        let lists: Vec<&mut Vec<KeptRule>> = match &mut self {
            Self::Add(_, rules) => vec![rules],
            Self::Set(lists) => lists.iter_mut().map(|(_, rules)| rules).collect(),
            Self::Nothing | Self::Decided(..) => Vec::new(),
        };
        for rule in lists.into_iter().flatten().filter(|rule| rule.since == 0) {
            rule.since = now;
            rule.from = rule.from.as_deref().map(&clean);
        }
        self
    }
}

impl KeptRules {
    /// Returns the rules of a project, or those for everywhere.
    pub fn of(&self, project: Option<&Path>) -> &[KeptRule] {
        match project {
            Some(project) => self.projects.get(project).map(Vec::as_slice).unwrap_or_default(),
            None => &self.everywhere,
        }
    }

    /// Makes a change.
    pub fn change(&mut self, change: RulesChange) {
        match change {
            RulesChange::Nothing => {}
            RulesChange::Add(project, rules) => add(self.of_mut(project), rules),
            RulesChange::Set(lists) => {
                for (project, rules) in lists {
                    set(self.of_mut(project), rules);
                }
            }
            RulesChange::Decided(project, lines) => {
                count(&mut self.everywhere, &lines);
                count(self.projects.entry(project).or_default(), &lines);
            }
        }
        self.projects.retain(|_, rules| !rules.is_empty());
    }

    fn of_mut(&mut self, project: Option<PathBuf>) -> &mut Vec<KeptRule> {
        match project {
            Some(project) => self.projects.entry(project).or_default(),
            None => &mut self.everywhere,
        }
    }
}

/// Adds rules that are not there yet.
pub fn add(rules: &mut Vec<KeptRule>, new: Vec<KeptRule>) {
    for rule in new {
        if !rules.iter().any(|known| known.rule == rule.rule) {
            rules.push(rule);
        }
    }
}

/// Replaces rules. What is known of those that stay is kept.
pub fn set(rules: &mut Vec<KeptRule>, new: Vec<KeptRule>) {
    let old = std::mem::take(rules);
    let known = |new: KeptRule| old.iter().find(|old| old.rule == new.rule).cloned().unwrap_or(new);
    add(rules, new.into_iter().map(known).collect());
}

/// Counts a request that was decided by rules with these lines.
pub fn count(rules: &mut [KeptRule], lines: &[String]) {
    for rule in rules.iter_mut().filter(|it| lines.contains(&it.rule.to_string())) {
        rule.decided += 1;
    }
}

/// Returns the lines that are rules, with their indices: neither empty nor comments.
pub fn rule_lines(lines: &[String]) -> impl Iterator<Item = (usize, &str)> {
    let trimmed = lines.iter().map(|line| line.trim()).enumerate();
    trimmed.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Parses lines of rules; blank lines and those that begin with `#` are left out. The error has the index of each wrong line, and
/// what is wrong with it.
pub fn parse(lines: &[String], from: Option<&str>) -> Result<Vec<KeptRule>, Vec<(usize, String)>> {
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for (index, line) in rule_lines(lines) {
        match line.parse::<Rule>() {
            Ok(rule) => {
                let from = from.map(str::to_owned);
                rules.push(KeptRule { rule, since: 0, from, decided: 0 });
            }
            Err(why) => problems.push((index, why)),
        }
    }
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}

/// Returns the rules that hold where one source of rules has an error: none of them allows anything, since what is wrong may be
/// one that denies.
pub fn without_allowing(rules: impl IntoIterator<Item = Rule>) -> Vec<Rule> {
    rules.into_iter().filter(|rule| rule.decision != Decision::Allow).collect()
}
