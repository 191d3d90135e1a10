//! What the rules decide on a tool call. Deny wins over ask, and ask over allow.

use super::command::CommandLine;
use super::rule::{Decision, Match, Rule};
use super::shell::{Access, Unclear, Word};
use crate::session::tool_call::ToolKind;
use std::fmt;
use std::path::{Component, Path, PathBuf};

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
    /// The folder that the command runs in, as a real path.
    pub cwd: &'a Path,
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
pub enum Verdict<'a> {
    /// The rules do not allow it, and none decides otherwise.
    Open,
    /// These rules decide.
    Decided(Decision, Vec<&'a Rule>),
    /// There are rules for commands, but what this one runs cannot be known.
    Unclear(Unclear),
}

impl Verdict<'_> {
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

/// What the rules say of something that an agent does through us without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction<'a> {
    /// Whether to deny it, or to ask the user.
    pub decision: Decision,
    /// The rule that says so.
    pub rule: &'a Rule,
    /// Why the rule may be about it, if that is not certain: what a command runs may be unclear. That counts as if it were.
    pub unclear: Option<Unclear>,
}

/// Returns the rule that denies what an agent does without asking, or says to ask about it. `None` if it is left to the agent.
pub fn restriction<'a>(rules: &'a [Rule], call: Call<'_>) -> Option<Restriction<'a>> {
    match decide(rules, call) {
        Verdict::Decided(decision @ (Decision::Deny | Decision::Ask), by) => {
            by.first().map(|rule| Restriction { decision, rule, unclear: None })
        }
        Verdict::Unclear(why) => {
            let about = rules.iter().filter(|rule| rule.is_for(call.agent, call.kind));
            let strictest = about.max_by_key(|rule| rule.decision)?;
            let decision = strictest.decision;
            (decision != Decision::Allow).then_some(Restriction {
                decision,
                rule: strictest,
                unclear: Some(why),
            })
        }
        Verdict::Open | Verdict::Decided(Decision::Allow, _) => None,
    }
}

/// Returns the strictest rule about a tool of this name, whatever the tool does.
pub fn about_tool<'a>(rules: &'a [Rule], agent: &str, tool: &str) -> Option<&'a Rule> {
    let is_for = |rule: &&Rule| rule.agent.as_deref().is_none_or(|name| name == agent);
    let about = rules.iter().filter(is_for).filter(|rule| rule.matches_tool(Some(tool)));
    about.max_by_key(|rule| rule.decision)
}

/// Returns an absolute path without `.` and `..`. Links are not resolved.
pub fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Decides on a tool call.
pub fn decide<'a>(rules: &'a [Rule], call: Call<'_>) -> Verdict<'a> {
    let judge = Judge { rules, call };
    let by_tool = strictest_of(judge.rules_for(call.kind), |rule| rule.matches_tool(call.tool));
    let by_kind = match call.kind {
        ToolKind::Execute => judge.by_command(),
        ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            judge.by_files()
        }
        _ => judge.by_kind_alone(),
    };
    let verdict = match (by_tool, by_kind) {
        // One that allows is enough, unless the other one is stricter than having no opinion.
        (allowed @ Verdict::Decided(Decision::Allow, _), Verdict::Open)
        | (Verdict::Open, allowed @ Verdict::Decided(Decision::Allow, _)) => allowed,
        (by_tool, by_kind) => by_kind.stricter(by_tool),
    };
    judge.or_default(verdict)
}

struct Judge<'a, 'c> {
    rules: &'a [Rule],
    call: Call<'c>,
}

impl<'a> Judge<'a, '_> {
    /// Returns the rules for calls of this agent and kind.
    fn rules_for(&self, kind: ToolKind) -> impl Iterator<Item = &'a Rule> + Clone {
        let agent = self.call.agent;
        self.rules.iter().filter(move |rule| !rule.is_default() && rule.is_for(agent, kind))
    }

    /// Where no rule decides, what the user wants for all calls of the kind does. It allows nothing outside the folder of the
    /// session.
    fn or_default(&self, verdict: Verdict<'a>) -> Verdict<'a> {
        let call = self.call;
        let mut defaults = self.rules.iter().filter(|rule| rule.is_default());
        let Some(default) = defaults.find(|rule| rule.is_for(call.agent, call.kind)) else {
            return verdict;
        };
        let is_inside = call.files.iter().all(|file| file.starts_with(call.root));
        let is_known = call.kind != ToolKind::Execute || call.cwd.starts_with(call.root);
        match (&verdict, default.decision) {
            (Verdict::Open, Decision::Allow) if !(is_inside && is_known) => verdict,
            (Verdict::Unclear(_), Decision::Allow) => verdict,
            (Verdict::Open | Verdict::Unclear(_), decision) => {
                Verdict::Decided(decision, vec![default])
            }
            _ => verdict,
        }
    }

    /// Returns the rules for calls of this kind that do not name a tool.
    fn rules_of(&self, kind: ToolKind) -> impl Iterator<Item = &'a Rule> + Clone {
        self.rules_for(kind).filter(|rule| rule.kind.is_some())
    }

    fn by_kind_alone(&self) -> Verdict<'a> {
        strictest_of(self.rules_of(self.call.kind), Rule::is_for_all)
    }

    /// Every file has to be allowed.
    fn by_files(&self) -> Verdict<'a> {
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

    fn by_file(&self, kind: ToolKind, file: &Path) -> Verdict<'a> {
        strictest_of(self.rules_of(kind), |rule| rule.matches_file(file, self.call.root))
    }

    /// Every program that the command line runs has to be allowed, and every file that it is redirected to or from.
    fn by_command(&self) -> Verdict<'a> {
        let rules = self.rules_of(ToolKind::Execute);
        let is_about_parts = rules.clone().any(|rule| !rule.is_for_all())
            || [ToolKind::Read, ToolKind::Edit]
                .into_iter()
                .any(|kind| self.rules_of(kind).any(|rule| rule.decision != Decision::Allow));
        let Some(command) = self.call.command.filter(|_| is_about_parts) else {
            return self.by_kind_alone();
        };
        match CommandLine::parse(command) {
            Ok(line) => {
                let programs = line.programs.iter().map(|program| {
                    strictest(rules.clone().filter_map(|rule| {
                        match (rule.decision, rule.matches_program(program)) {
                            (decision, Match::Yes) => Some((rule, decision)),
                            (Decision::Ask | Decision::Deny, Match::Maybe) => {
                                Some((rule, Decision::Ask))
                            }
                            (Decision::Allow, Match::Maybe) | (_, Match::No) => None,
                        }
                    }))
                });
                let files = line.files.iter().filter(|(_, word)| !is_harmless(word));
                let files = files.map(|(access, word)| self.by_redirection(&line, *access, word));
                // Whoever allows every command allows it in every folder.
                let elsewhere = self.is_elsewhere(&line).then(|| match self.by_kind_alone() {
                    allowed @ Verdict::Decided(Decision::Allow, _) => allowed,
                    _ => Verdict::Open,
                });
                all(programs.chain(files).chain(elsewhere))
            }
            Err(why) => match self.by_kind_alone() {
                Verdict::Decided(Decision::Allow, _) | Verdict::Open => Verdict::Unclear(why),
                verdict => verdict,
            },
        }
    }

    /// A file that is redirected to is like one that is edited.
    fn by_redirection(&self, line: &CommandLine, access: Access, word: &Word) -> Verdict<'a> {
        let kind = match access {
            Access::Read => ToolKind::Read,
            Access::Write => ToolKind::Edit,
        };
        let path = word.literal().filter(|_| !line.changes_folder);
        let file = path.and_then(|path| (self.call.real_path)(&self.call.cwd.join(path)));
        match file.map_or(Verdict::Open, |file| self.by_file(kind, &file)) {
            // Whoever allows every command allows what is redirected, too.
            Verdict::Open => self.by_kind_alone(),
            verdict => verdict,
        }
    }

    /// Whether what the line names may be something else than in the folder of the session: it runs outside of that, or a
    /// relative path names a program after the line has gone to another folder.
    fn is_elsewhere(&self, line: &CommandLine) -> bool {
        let is_relative = |name: &str| name.contains('/') && !name.starts_with('/');
        let mut names = line.programs.iter().filter_map(|program| program.words.first()?.literal());
        !self.call.cwd.starts_with(self.call.root)
            || (line.changes_folder || self.call.cwd != self.call.root) && names.any(is_relative)
    }
}

/// Returns the strictest decision of the rules that match, and which of them decide so.
fn strictest_of<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    matches: impl Fn(&Rule) -> bool,
) -> Verdict<'a> {
    strictest(rules.filter(|rule| matches(rule)).map(|rule| (rule, rule.decision)))
}

fn strictest<'a>(decided: impl Iterator<Item = (&'a Rule, Decision)>) -> Verdict<'a> {
    let decided: Vec<_> = decided.collect();
    let Some(decision) = decided.iter().map(|(_, how)| *how).max() else { return Verdict::Open };
    let by = decided.iter().filter(|(_, how)| *how == decision).map(|(rule, _)| *rule);
    Verdict::Decided(decision, by.collect())
}

/// Combines the verdicts on the parts of a call: each of them has to be allowed.
fn all<'a>(parts: impl Iterator<Item = Verdict<'a>>) -> Verdict<'a> {
    let mut allowed: Vec<&Rule> = Vec::new();
    let mut worst: Option<Verdict<'_>> = None;
    for part in parts {
        if let Verdict::Decided(Decision::Allow, by) = &part {
            let new: Vec<_> = by.iter().copied().filter(|rule| !allowed.contains(rule)).collect();
            allowed.extend(new);
        }
        worst = Some(worst.map_or(part.clone(), |worst| worst.stricter(part)));
    }
    match worst {
        Some(Verdict::Decided(Decision::Allow, _)) => Verdict::Decided(Decision::Allow, allowed),
        Some(verdict) => verdict,
        None => Verdict::Open,
    }
}

fn is_harmless(file: &Word) -> bool {
    let files = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"];
    file.literal().is_some_and(|path| files.contains(&path))
}
