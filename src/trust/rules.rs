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
    /// The command lines that it may run: agents have several names for the field. Each is decided on.
    pub commands: &'a [String],
    /// The folder of the session, as a real path.
    pub root: &'a Path,
    /// The folders that they may run in, as real paths; that of the session if there are none.
    pub cwds: &'a [PathBuf],
    /// Returns the real path of a file that a command line names, which may not exist.
    pub real_path: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({}, {:?}, {:?}, {:?})", self.agent, self.kind, self.files, self.commands)
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
            let is_redirected = call.commands.iter().any(|line| line.contains(['<', '>']));
            let is_about = |rule: &&Rule| {
                let is_for = |kind| rule.kind == Some(kind) && rule.is_for(call.agent, kind);
                is_for(ToolKind::Execute)
                    || is_redirected && (is_for(ToolKind::Read) || is_for(ToolKind::Edit))
            };
            let mut about = rules.iter().filter(is_about);
            let rule = about.find(|rule| rule.decision != Decision::Allow)?;
            Some(Restriction { decision: Decision::Ask, rule, unclear: Some(why) })
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

/// Decides on a tool call. One that has a command is decided on by that, whatever kind it calls itself.
pub fn decide<'a>(rules: &'a [Rule], call: Call<'_>) -> Verdict<'a> {
    let judge = Judge { rules, call };
    let by_tool = strictest_of(judge.rules_for(call.kind), |rule| rule.matches_tool(call.tool));
    let by_kind = match call.kind {
        ToolKind::Execute if call.commands.is_empty() => judge.by_untold_command(),
        ToolKind::Execute => Verdict::Open,
        ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            judge.by_files()
        }
        kind => judge.by_kind_alone(kind),
    };
    let by_kind = match (call.commands, by_kind) {
        ([], by_kind) => by_kind,
        (_, Verdict::Open | Verdict::Decided(Decision::Allow, _)) => judge.by_commands(),
        (_, by_kind) => judge.by_commands().stricter(by_kind),
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
        let is_command = call.kind == ToolKind::Execute || !call.commands.is_empty();
        let default_for = |kind| {
            let mut defaults = self.rules.iter().filter(|rule| rule.is_default());
            defaults.find(|rule| rule.is_for(call.agent, kind))
        };
        // A command that calls itself something else is allowed by the default for commands only.
        let own =
            default_for(call.kind).filter(|rule| !is_command || rule.decision != Decision::Allow);
        let of_commands = default_for(ToolKind::Execute).filter(|_| is_command);
        let Some(default) = own.into_iter().chain(of_commands).max_by_key(|rule| rule.decision)
        else {
            return verdict;
        };
        let is_inside = call.files.iter().all(|file| file.starts_with(call.root));
        let is_known = !is_command || self.is_in_session_folders();
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

    fn by_kind_alone(&self, kind: ToolKind) -> Verdict<'a> {
        strictest_of(self.rules_of(kind), Rule::is_for_all)
    }

    fn is_in_session_folders(&self) -> bool {
        self.call.cwds.iter().all(|cwd| cwd.starts_with(self.call.root))
    }

    /// Every file has to be allowed.
    fn by_files(&self) -> Verdict<'a> {
        if self.call.files.is_empty() {
            // It does not say what it is about, so only rules without a pattern are about it; and none of the others may
            // be about it for sure, so it is not allowed either.
            return match self.by_kind_alone(self.call.kind) {
                Verdict::Decided(Decision::Allow, _) => Verdict::Open,
                verdict => verdict,
            };
        }
        all(self.call.files.iter().map(|file| self.by_file(self.call.kind, file)))
    }

    fn by_file(&self, kind: ToolKind, file: &Path) -> Verdict<'a> {
        strictest_of(self.rules_of(kind), |rule| rule.matches_file(file, self.call.root))
    }

    /// Whether rules decide on parts of commands, and not on all commands alike.
    fn is_about_parts(&self) -> bool {
        self.rules_of(ToolKind::Execute).any(|rule| !rule.is_for_all())
            || [ToolKind::Read, ToolKind::Edit]
                .into_iter()
                .any(|kind| self.rules_of(kind).any(|rule| rule.decision != Decision::Allow))
    }

    /// A command that is not told may be any.
    fn by_untold_command(&self) -> Verdict<'a> {
        match self.by_kind_alone(ToolKind::Execute) {
            Verdict::Decided(Decision::Allow, _) if self.is_about_parts() => {
                Verdict::Unclear(Unclear("the agent does not say what it runs"))
            }
            verdict => verdict,
        }
    }

    /// Each command has to be allowed in each folder.
    fn by_commands(&self) -> Verdict<'a> {
        let root = [self.call.root.to_owned()];
        let cwds = if self.call.cwds.is_empty() { &root } else { self.call.cwds };
        let in_each = |line: &String| all(cwds.iter().map(|cwd| self.by_command(line, cwd)));
        all(self.call.commands.iter().map(in_each))
    }

    /// Every program that a command line runs has to be allowed, and every file that it is redirected to or from.
    fn by_command(&self, command: &str, cwd: &Path) -> Verdict<'a> {
        if !self.is_about_parts() {
            return self.by_kind_alone(ToolKind::Execute);
        }
        match CommandLine::parse(command) {
            Ok(line) => {
                let programs = self.by_programs(&line);
                let files = line.files.iter().filter(|(_, word)| !is_harmless(word));
                let files =
                    files.map(|(access, word)| self.by_redirection(&line, cwd, *access, word));
                // Whoever allows every command allows it in every folder.
                let elsewhere = self.is_elsewhere(&line, cwd).then(|| {
                    match self.by_kind_alone(ToolKind::Execute) {
                        allowed @ Verdict::Decided(Decision::Allow, _) => allowed,
                        _ => Verdict::Open,
                    }
                });
                all(programs.into_iter().chain(files).chain(elsewhere))
            }
            Err(why) => {
                let meant =
                    |rule: &&Rule| rule.decision == Decision::Deny && rule.may_mean(command);
                let denied: Vec<_> = self.rules_of(ToolKind::Execute).filter(meant).collect();
                if !denied.is_empty() {
                    return Verdict::Decided(Decision::Deny, denied);
                }
                match self.by_kind_alone(ToolKind::Execute) {
                    Verdict::Decided(Decision::Allow, _) | Verdict::Open => Verdict::Unclear(why),
                    verdict => verdict,
                }
            }
        }
    }

    /// Decides on each program of a line. One that another is told to run is also allowed by a rule that spells out both.
    fn by_programs(&self, line: &CommandLine) -> Vec<Verdict<'a>> {
        let mut verdicts = Vec::with_capacity(line.programs.len());
        let mut spelled: Vec<Option<&Rule>> = Vec::with_capacity(line.programs.len());
        for program in &line.programs {
            let rules = self.rules_of(ToolKind::Execute);
            let verdict = strictest(rules.clone().filter_map(|rule| {
                match (rule.decision, rule.matches_program(program)) {
                    (decision, Match::Yes) => Some((rule, decision)),
                    (Decision::Ask | Decision::Deny, Match::Maybe) => Some((rule, Decision::Ask)),
                    (Decision::Allow, Match::Maybe) | (_, Match::No) => None,
                }
            }));
            let by_outer = program.told_by.and_then(|outer| spelled[outer]);
            spelled.push(by_outer.or_else(|| rules.clone().find(|rule| rule.spells_out(program))));
            let by_shell = program.told_by.filter(|_| program.is_script);
            let by_shell = by_shell.and_then(|shell| verdicts.get(shell).cloned());
            verdicts.push(match (verdict, by_outer, by_shell) {
                (Verdict::Open, _, Some(verdict)) => verdict,
                (Verdict::Open, Some(rule), _) => Verdict::Decided(Decision::Allow, vec![rule]),
                (verdict, ..) => verdict,
            });
        }
        verdicts
    }

    /// A file that is redirected to is like one that is edited.
    fn by_redirection(
        &self,
        line: &CommandLine,
        cwd: &Path,
        access: Access,
        word: &Word,
    ) -> Verdict<'a> {
        let kind = match access {
            Access::Read => ToolKind::Read,
            Access::Write => ToolKind::Edit,
        };
        let path = word
            .literal()
            .filter(|path| !path.starts_with("/proc/") && !path.starts_with("/dev/fd"));
        let file = path.and_then(|path| (self.call.real_path)(&cwd.join(path)));
        let is_known = file.is_some() && !line.changes_folder;
        let here = file.map_or(Verdict::Open, |file| self.by_file(kind, &file));
        let verdict = if is_known {
            here
        } else {
            // It may be any file, so also one that a rule is about.
            let others: Vec<_> =
                self.rules_of(kind).filter(|rule| rule.decision != Decision::Allow).collect();
            match (here, others.is_empty()) {
                (denied @ Verdict::Decided(Decision::Deny, _), _) => denied,
                (_, false) => Verdict::Decided(Decision::Ask, others),
                (_, true) => Verdict::Open,
            }
        };
        match verdict {
            // Whoever allows every command allows what is redirected, too.
            Verdict::Open => self.by_kind_alone(ToolKind::Execute),
            verdict => verdict,
        }
    }

    /// Whether what the line names may be something else than in the folder of the session: it runs outside of that, or a
    /// relative path names a program after the line has gone to another folder.
    fn is_elsewhere(&self, line: &CommandLine, cwd: &Path) -> bool {
        let is_relative = |name: &str| name.contains('/') && !name.starts_with('/');
        let mut names = line.programs.iter().filter_map(|program| program.words.first()?.literal());
        !cwd.starts_with(self.call.root)
            || (line.changes_folder || cwd != self.call.root) && names.any(is_relative)
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
