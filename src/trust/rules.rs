//! What the rules decide on a tool call. Deny wins over ask, and ask over allow.

use super::command::CommandLine;
use super::rule::{Decision, Match, Rule};
use super::shell::{Access, Unclear, Word};
use crate::session::tool_call::ToolKind;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is known of a tool call before it is decided on.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The agent's name in the configuration.
    pub agent: &'a str,
    /// What the tool does.
    pub kind: ToolKind,
    /// The name of the tool, if the agent tells it.
    pub tool: Option<&'a str>,
    /// The files it names, as real paths.
    pub files: &'a [PathBuf],
    /// Its command line.
    pub command: Option<&'a str>,
    /// The folder of the session, as a real path.
    pub root: &'a Path,
    /// Returns the real path of a file that a command line names, which may not exist.
    pub real_path: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({}, {:?}, {:?}, {:?})", self.agent, self.kind, self.files, self.command)
    }
}

/// What the rules decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The rules do not allow it, and none decides otherwise.
    Open,
    /// The rules with these indices decide.
    Decided(Decision, Vec<usize>),
    /// There are rules for commands, but what this one runs cannot be known.
    Unclear(Unclear),
}

impl Verdict {
    fn strictness(&self) -> u8 {
        match self {
            Self::Decided(Decision::Allow, _) => 0,
            Self::Open => 1,
            Self::Unclear(_) => 2,
            Self::Decided(Decision::Ask, _) => 3,
            Self::Decided(Decision::Deny, _) => 4,
        }
    }

    fn stricter(self, other: Self) -> Self {
        if other.strictness() > self.strictness() { other } else { self }
    }
}

/// Decides on a tool call.
pub fn decide(rules: &[Rule], call: Call<'_>) -> Verdict {
    let judge = Judge { rules, call };
    let by_tool = strictest_of(judge.rules_for(call.kind), |rule| rule.matches_tool(call.tool));
    let by_kind = match call.kind {
        ToolKind::Execute => judge.by_command(),
        ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            judge.by_files()
        }
        _ => judge.by_kind_alone(),
    };
    match (by_tool, by_kind) {
        // One that allows is enough, unless the other one is stricter than having no opinion.
        (allowed @ Verdict::Decided(Decision::Allow, _), Verdict::Open)
        | (Verdict::Open, allowed @ Verdict::Decided(Decision::Allow, _)) => allowed,
        (by_tool, by_kind) => by_kind.stricter(by_tool),
    }
}

struct Judge<'a> {
    rules: &'a [Rule],
    call: Call<'a>,
}

impl<'a> Judge<'a> {
    /// Returns the rules for calls of this agent and kind, with their indices.
    fn rules_for(
        &self,
        kind: ToolKind,
    ) -> impl Iterator<Item = (usize, &'a Rule)> + Clone + use<'a> {
        let agent = self.call.agent;
        self.rules.iter().enumerate().filter(move |(_, rule)| rule.is_for(agent, kind))
    }

    /// Returns the rules for calls of this kind that do not name a tool.
    fn rules_of(
        &self,
        kind: ToolKind,
    ) -> impl Iterator<Item = (usize, &'a Rule)> + Clone + use<'a> {
        self.rules_for(kind).filter(|(_, rule)| rule.kind.is_some())
    }

    fn by_kind_alone(&self) -> Verdict {
        strictest_of(self.rules_of(self.call.kind), Rule::is_for_all)
    }

    /// Every file has to be allowed.
    fn by_files(&self) -> Verdict {
        if self.call.files.is_empty() {
            // It does not say what it is about, so only rules without a pattern are about it; and none of the others may
            // be about it for sure, so it is not allowed either.
            return match self.by_kind_alone() {
                Verdict::Decided(Decision::Allow, _) => Verdict::Open,
                verdict => verdict,
            };
        }
        all(self.call.files.iter().map(|file| self.by_file(self.call.kind, file)))
    }

    fn by_file(&self, kind: ToolKind, file: &Path) -> Verdict {
        strictest_of(self.rules_of(kind), |rule| rule.matches_file(file, self.call.root))
    }

    /// Every program that the command line runs has to be allowed, and every file that it is redirected to or from.
    fn by_command(&self) -> Verdict {
        let rules = self.rules_of(ToolKind::Execute);
        let has_patterns = rules.clone().any(|(_, rule)| !rule.is_for_all());
        let Some(command) = self.call.command.filter(|_| has_patterns) else {
            return self.by_kind_alone();
        };
        match CommandLine::parse(command) {
            Ok(line) => {
                let programs = line.programs.iter().map(|program| {
                    strictest(rules.clone().filter_map(|(at, rule)| {
                        match (rule.decision, rule.matches_program(program)) {
                            (decision, Match::Yes) => Some((at, decision)),
                            (Decision::Ask | Decision::Deny, Match::Maybe) => {
                                Some((at, Decision::Ask))
                            }
                            (Decision::Allow, Match::Maybe) | (_, Match::No) => None,
                        }
                    }))
                });
                let files = line.files.iter().filter(|(_, word)| !is_harmless(word));
                let files = files.map(|(access, word)| self.by_redirection(&line, *access, word));
                all(programs.chain(files).chain(is_elsewhere(&line).then_some(Verdict::Open)))
            }
            Err(why) => match self.by_kind_alone() {
                Verdict::Decided(Decision::Allow, _) | Verdict::Open => Verdict::Unclear(why),
                verdict => verdict,
            },
        }
    }

    /// A file that is redirected to is like one that is edited.
    fn by_redirection(&self, line: &CommandLine, access: Access, word: &Word) -> Verdict {
        let kind = match access {
            Access::Read => ToolKind::Read,
            Access::Write => ToolKind::Edit,
        };
        let path = word.literal().filter(|_| !line.changes_folder);
        let file = path.and_then(|path| (self.call.real_path)(&self.call.root.join(path)));
        match file.map_or(Verdict::Open, |file| self.by_file(kind, &file)) {
            // Whoever allows every command allows what is redirected, too.
            Verdict::Open => self.by_kind_alone(),
            verdict => verdict,
        }
    }
}

/// Returns the strictest decision of the rules that match, and which of them decide so.
fn strictest_of<'a>(
    rules: impl Iterator<Item = (usize, &'a Rule)>,
    matches: impl Fn(&Rule) -> bool,
) -> Verdict {
    strictest(rules.filter(|(_, rule)| matches(rule)).map(|(at, rule)| (at, rule.decision)))
}

fn strictest(decided: impl Iterator<Item = (usize, Decision)>) -> Verdict {
    let decided: Vec<_> = decided.collect();
    let Some(decision) = decided.iter().map(|(_, how)| *how).max() else { return Verdict::Open };
    let by = decided.iter().filter(|(_, how)| *how == decision).map(|(at, _)| *at);
    Verdict::Decided(decision, by.collect())
}

/// Combines the verdicts on the parts of a call: each of them has to be allowed.
fn all(parts: impl Iterator<Item = Verdict>) -> Verdict {
    let mut allowed = Vec::new();
    let mut worst: Option<Verdict> = None;
    for part in parts {
        if let Verdict::Decided(Decision::Allow, by) = &part {
            allowed.extend(by);
        }
        worst = Some(worst.map_or(part.clone(), |worst| worst.stricter(part)));
    }
    allowed.sort_unstable();
    allowed.dedup();
    match worst {
        Some(Verdict::Decided(Decision::Allow, _)) => Verdict::Decided(Decision::Allow, allowed),
        Some(verdict) => verdict,
        None => Verdict::Open,
    }
}

/// Whether a program is named by a relative path after the line has gone to another folder: it may be any program.
fn is_elsewhere(line: &CommandLine) -> bool {
    let is_relative = |name: &str| name.contains('/') && !name.starts_with('/');
    let mut names = line.programs.iter().filter_map(|program| program.words.first()?.literal());
    line.changes_folder && names.any(is_relative)
}

fn is_harmless(file: &Word) -> bool {
    let files = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"];
    file.literal().is_some_and(|path| files.contains(&path))
}
