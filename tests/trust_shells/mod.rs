//! Command lines in all shells of the machine: what the rules allow runs and writes nothing else, and what a rule denies never
//! runs. The lines are those that got through once, lines made from the grammar of shells, pieces put together, and lines that
//! are allowed with random changes. `RAT_SEED` and `RAT_STEPS` choose which and how many.

mod lines;

use crate::support::{Dice, TempFolder};
use lines::{FOUND, LINES, quoted, random_line};
use rat_nvim::session::paths::plain_path;
use rat_nvim::session::tool_call::ToolKind;
use rat_nvim::trust::rule::{Decision, Rule};
use rat_nvim::trust::rules::{Call, Verdict, decide, restriction};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// So many lines run in one process of a shell, each in a subshell of it.
const BATCH: usize = 400;

/// What begins a process of each shell; the line, or the script, follows.
const SHELLS: &[&[&str]] = &[
    &["sh", "-c"],
    &["bash", "-c"],
    &["dash", "-c"],
    &["zsh", "-fc"],
    &["ksh93", "-c"],
    &["mksh", "-c"],
    &["busybox", "sh", "-c"],
    &["yash", "-c"],
    &["fish", "--no-config", "-c"],
];

/// Programs that rules allow, as far as they are stubs.
const ALLOWED: &[&str] = &["ok", "a", "e", "ls", "echo", "make"];

/// Programs that nothing allows. Some are what a line falls into where a shell reads it differently.
const STUBS: &[&str] =
    &["bad", "evil", "x", "b", "X", "1", "2", "-", "EOF", "in", "#", "}", "w", "\\", "+"];

const TOOLS: &[&str] =
    &["env", "xargs", "find", "sh", "bash", "nohup", "nice", "timeout", "cat", "true", "test", "["];

const RULES: &[&str] = &[
    "allow execute ok *",
    "allow execute a *",
    "allow execute e *",
    "allow execute ls *",
    "allow execute make",
    "allow execute make all",
    "allow execute X=1 ok *",
    "allow execute env *",
    "allow execute xargs *",
    "allow execute find *",
    "allow execute fd *",
    "allow execute sh -c *",
    "allow execute fish *",
    "allow execute zsh -c *",
    "allow execute bash -c *",
    "allow execute eval *",
    "allow execute exec *",
    "allow execute command *",
    "allow execute builtin *",
    "allow execute nohup *",
    "allow execute nice *",
    "allow execute timeout *",
    "allow execute time *",
    "allow execute echo *",
    "allow execute cat *",
    "allow execute printf *",
    "allow execute test *",
    "allow execute [ *",
    "allow execute true *",
    "allow execute exit *",
    "allow edit w",
    "allow read w",
];

/// A folder with programs that write down that they ran, and a project in which a line may write the file `w`.
struct Ground {
    folder: TempFolder,
    shells: Vec<&'static [&'static str]>,
}

impl Ground {
    fn new() -> Self {
        let folder = TempFolder::new();
        let (bin, _) = (folder.folder("bin"), folder.folder("outer/work"));
        let ran = folder.path().join("ran");
        let link = |name: &str, to: &Path| std::os::unix::fs::symlink(to, bin.join(name)).unwrap();
        for name in TOOLS {
            let found = ["/usr/bin", "/bin"].map(|at| Path::new(at).join(name));
            found.iter().find(|path| path.exists()).into_iter().for_each(|path| link(name, path));
        }
        let nothing = found_program("true").expect("there is a true");
        for name in ALLOWED {
            link(name, &nothing);
        }
        for name in STUBS {
            let text = format!("#!/bin/sh\necho '{name}' >> '{}'\n", ran.display());
            let stub = folder.file(&format!("bin/{name}"), &text);
            std::fs::set_permissions(stub, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let shells = SHELLS.iter().copied().filter(|shell| found_program(shell[0]).is_some());
        Self { shells: shells.collect(), folder }
    }

    /// Runs a line, or a script, and returns what it must not have done.
    fn run(&self, shell: &[&str], line: &str, may_write: bool) -> Option<String> {
        let program = found_program(shell[0]).expect("it was there");
        let status = Command::new(program)
            .args(&shell[1..])
            .arg(line)
            .current_dir(self.folder.path().join("outer/work"))
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("HOME", self.folder.path().join("outer"))
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok(), "{line:?}");
        self.harm(may_write)
    }

    fn harm(&self, may_write: bool) -> Option<String> {
        let ran = self.folder.path().join("ran");
        if let Ok(text) = std::fs::read_to_string(&ran) {
            std::fs::remove_file(ran).unwrap();
            return Some(format!("ran {}", text.trim().replace('\n', ", ")));
        }
        let mut wrote = Vec::new();
        for (folder, known) in [("outer/work", &["w", "done"][..]), ("outer", &["work"])] {
            for entry in std::fs::read_dir(self.folder.path().join(folder)).unwrap().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                // A shell makes folders for itself in its home.
                if !known.contains(&name.as_str()) && !name.starts_with('.') {
                    wrote.push(name);
                    std::fs::remove_file(entry.path()).unwrap();
                }
            }
        }
        (!may_write && !wrote.is_empty()).then(|| format!("wrote {}", wrote.join(", ")))
    }

    /// Runs lines together, then alone if that was not harmless, and returns those that were not, each with its shell.
    fn run_all(&self, lines: &[String], may_write: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        for shell in &self.shells {
            for lines in lines.chunks(BATCH) {
                let script = if shell[0] == "fish" { fish_script(lines) } else { script(lines) };
                let done = self.folder.path().join("outer/work/done");
                let harm = self.run(shell, &script, may_write);
                if harm.is_none() && std::fs::remove_file(&done).is_ok() {
                    continue;
                }
                for line in lines {
                    if let Some(harm) = self.run(shell, line, may_write) {
                        wrong.push(format!("{} {line:?} {harm}", shell[0]));
                    }
                }
            }
        }
        wrong
    }
}

fn found_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.exists())
}

/// A subshell for each line, since a syntax error ends the shell that has one.
fn script(lines: &[String]) -> String {
    let mut all = String::from("t() { (eval \"$1\"); }\n");
    for line in lines {
        writeln!(all, "t {}", quoted(line)).unwrap();
    }
    all + ": > done\n"
}

/// fish has no subshells. What may end it is left to a process of its own.
fn fish_script(lines: &[String]) -> String {
    let mut all = String::new();
    for line in lines {
        let line = line.replace('\\', "\\\\").replace('\'', "\\'");
        writeln!(all, "eval '{line}'").unwrap();
    }
    all + "echo > done\n"
}

fn call(commands: &[String]) -> Call<'_> {
    Call {
        agent: "fake",
        kind: ToolKind::Execute,
        tool: None,
        files: &[],
        commands,
        root: Path::new("/project"),
        cwds: &[],
        real_path: &|path| Some(plain_path(path)),
    }
}

fn rules(lines: &[&str]) -> Vec<Rule> {
    lines.iter().map(|line| line.parse().unwrap_or_else(|why| panic!("{line}: {why}"))).collect()
}

fn is_allowed(rules: &[Rule], line: &str) -> bool {
    let commands = [line.to_owned()];
    matches!(decide(rules, call(&commands)), Verdict::Decided(Decision::Allow, _))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Holds (Permission requests): No line that the rules allow runs or writes anything else in any shell, and none runs what a rule denies unless the user is asked.
#[test]
fn what_rules_allow_does_nothing_else_in_any_shell() {
    let ground = Ground::new();
    let days = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = number("RAT_SEED").unwrap_or(days.as_secs() / 86_400);
    let steps = number("RAT_STEPS").unwrap_or(8_000);
    let mut out = std::io::stderr();
    writeln!(
        out,
        "RAT_SEED={seed}, in {:?}",
        ground.shells.iter().map(|it| it[0]).collect::<Vec<_>>()
    )
    .unwrap();
    assert!(ground.shells.len() > 1);
    let allowing = rules(RULES);
    let mut denying = rules(&["allow execute"]);
    denying.extend(
        STUBS.iter().filter_map(|name| format!("deny execute {name} *").parse::<Rule>().ok()),
    );
    let mut dice = Dice::new(seed);
    let (mut known, mut lines, mut others) = (HashSet::new(), Vec::new(), Vec::new());
    let (mut all, mut wrong) = (0, Vec::new());
    let fixed = FOUND.iter().chain(LINES).map(|line| (*line).to_owned());
    let mut fixed: Vec<String> = fixed.collect();
    for step in 0..steps {
        let line = fixed.pop().unwrap_or_else(|| random_line(&mut dice));
        let commands = [line.clone()];
        let runs = is_allowed(&allowing, &line);
        // What an agent runs through us without asking.
        let is_left_to_it = || restriction(&denying, call(&commands)).is_none();
        if (runs || is_left_to_it()) && known.insert(line.clone()) {
            if runs { &mut lines } else { &mut others }.push(line);
        }
        for (lines, may_write) in [(&mut lines, false), (&mut others, true)] {
            if lines.len() == BATCH || step + 1 == steps {
                all += lines.len();
                wrong.extend(ground.run_all(&std::mem::take(lines), may_write));
            }
        }
    }
    writeln!(out, "{steps} lines, {all} of them allowed and run in {} shells", ground.shells.len())
        .unwrap();
    assert!(wrong.is_empty(), "RAT_SEED={seed} RAT_STEPS={steps}\n{}", wrong.join("\n"));
    assert!(all * 50 > usize::try_from(steps).unwrap(), "{all} lines are too few");
}

/// Holds (Permission requests): A line is allowed only in forms that all shells read alike.
#[test]
fn what_got_through_once_is_asked_about() {
    let allowing = rules(RULES);
    let through: Vec<_> = FOUND.iter().filter(|line| is_allowed(&allowing, line)).collect();
    assert!(through.is_empty(), "{through:#?}");
    let asked: Vec<_> = LINES.iter().filter(|line| !is_allowed(&allowing, line)).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}
