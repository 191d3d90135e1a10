//! Rules on real command lines: a table, and random lines that a real shell runs.

use crate::support::{Dice, TempFolder};
use rat_nvim::session::tool_call::ToolKind;
use rat_nvim::trust::rule::{Decision, Rule};
use rat_nvim::trust::rules::{Call, Verdict, decide, plain_path};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

const RULES: &[&str] = &[
    "allow execute cargo test *",
    "allow execute CI=1 cargo test *",
    "allow execute cargo build",
    "allow execute npm run lint",
    "allow execute git status *",
    "allow execute git log *",
    "allow execute ls *",
    "allow execute cat *",
    "allow execute echo *",
    "allow execute cd *",
    "allow execute ./x *",
    "allow execute env *",
    "allow execute timeout *",
    "allow execute nice *",
    "allow execute nohup *",
    "allow execute time *",
    "allow execute command *",
    "allow execute sudo *",
    "allow execute xargs *",
    "allow execute find *",
    "allow execute sh *",
    "allow execute bash *",
    "allow execute eval *",
    "ask execute git log --all *",
    "ask execute cargo build --offline",
    "deny execute rm *",
    "deny execute git push *",
    "allow edit target/",
    "allow read src/",
];

fn rules(lines: &[&str]) -> Vec<Rule> {
    lines.iter().map(|line| line.parse().unwrap_or_else(|why| panic!("{line}: {why}"))).collect()
}

fn verdict<'a>(rules: &'a [Rule], command: &str) -> Verdict<'a> {
    verdict_in(rules, command, "/project")
}

fn verdict_in<'a>(rules: &'a [Rule], command: &str, cwd: &str) -> Verdict<'a> {
    let call = Call {
        agent: "fake",
        kind: ToolKind::Execute,
        tool: None,
        files: &[],
        command: Some(command),
        root: Path::new("/project"),
        cwd: Path::new(cwd),
        real_path: &|path| Some(plain_path(path)),
    };
    decide(rules, call)
}

fn unescaped(text: &str) -> String {
    let text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\e", "\u{1b}");
    let mut parts = text.split("\\u{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (code, rest) = part.split_once('}').expect("a closed escape");
        let char =
            u32::from_str_radix(code, 16).ok().and_then(char::from_u32).expect("a character");
        format!("{text}{char}{rest}")
    })
}

/// Holds (Permission requests): A command is decided on by every program that it runs, not by its text.
#[test]
fn every_command_of_the_table_is_decided_as_it_says() {
    let rules = rules(RULES);
    let table = include_str!("fixtures/commands.txt");
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#') && line.contains('\t')) {
        let (expected, command) = line.split_once('\t').expect("it has a tab");
        let found = match verdict(&rules, &unescaped(command)) {
            Verdict::Open => "open",
            Verdict::Decided(Decision::Allow, _) => "allow",
            Verdict::Decided(Decision::Ask, _) => "ask",
            Verdict::Decided(Decision::Deny, _) => "deny",
            Verdict::Unclear(_) => "unclear",
        };
        count += 1;
        if found != expected {
            wrong.push(format!("{expected}, not {found}: {command}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count >= 200, "{count}");
}

/// Pieces of command lines. `ok` may run, `bad` may not.
const PIECES: &[&str] = &[
    "ok",
    "bad",
    "ok",
    "bad",
    "ok",
    " ",
    " ",
    " ",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "\n",
    "\t",
    "(",
    ")",
    "{",
    "}",
    "{ ",
    "; }",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "\\\n",
    "$\\\n(bad)",
    "$",
    "${",
    "$X",
    "$((",
    "$'",
    "#",
    " #",
    "!",
    "! ",
    "~",
    "*",
    "?",
    "[",
    "]",
    "[[",
    "<",
    ">",
    ">>",
    "<<",
    "<<<",
    "<(",
    ">(",
    "2>&1",
    "&>",
    ">&",
    "/dev/null",
    "=",
    "X=",
    "PATH=/",
    "a",
    "-",
    "--",
    "-c",
    "env ",
    "env -i ",
    "env -u X ",
    "xargs ",
    "xargs -n1 ",
    "xargs -I{} ",
    "{}",
    "find . -exec ",
    " \\;",
    " +",
    "sh -c ",
    "bash -c ",
    "eval ",
    "exec ",
    "command ",
    "command -v ",
    "nohup ",
    "nice ",
    "nice -n 5 ",
    "timeout 5 ",
    "time ",
    "time -p ",
    "if ",
    "then ",
    "fi",
    "for x in a; do ",
    "done",
    "while ",
    "case x in x) ",
    "esac",
    "function ok ",
    "ok() ",
    "alias ok=bad; ",
    "echo bad | ",
    "echo ok | ",
    "cat ",
    "printf ",
    "printf -v PATH ",
    "trap bad EXIT; ",
    ". ",
    "source ",
    "set -- bad; ",
    "export PATH=/; ",
    "\u{a0}",
    "\r",
    "e",
    "x=bad ",
    "EOF",
    "\nEOF\n",
];

/// Lines that are allowed, to be changed a little.
const LINES: &[&str] = &[
    "ok \"$(ok a)\" | xargs -n1 ok && env ok 'x bad' 2>&1",
    "sh -c 'ok \"bad\" && (ok; ok `ok bad`)' > /dev/null",
    "find . -name 'bad' -exec ok bad {} \\; ; timeout 5 ok bad",
    "{ ok bad; ok \\\n bad; } || ! ok # bad\nok bad & ok",
    "eval \"ok 'bad'\" ; nice -n 5 nohup ok bad <<< bad",
    "bash -c \"ok 'bad'; echo bad | cat\" | ok \"${X}bad\" $X\"bad\"",
    "echo bad|ok bad 2>/dev/null>&2;command -v bad",
];

/// A line of random pieces, or a line that is allowed with random changes.
fn random_line(dice: &mut Dice) -> String {
    if dice.once_in(2) {
        let count = dice.within(1..10);
        return (0..count).map(|_| *dice.pick(PIECES)).collect();
    }
    let mut line: Vec<char> = dice.pick(LINES).chars().collect();
    for _ in 0..dice.within(1..4) {
        let at = dice.within(0..line.len() + 1);
        if dice.once_in(2) {
            line.splice(at..at, dice.pick(PIECES).chars());
        } else {
            let end = line.len().min(at + dice.within(1..4));
            let moved: Vec<char> = line.drain(at..end).collect();
            if dice.once_in(2) {
                let to = dice.within(0..line.len() + 1);
                line.splice(to..to, moved);
            }
        }
    }
    line.into_iter().collect()
}

/// Holds (Permission requests): A rule allows no command in another folder than that of the session, where the same names are other files.
#[test]
fn what_is_allowed_is_allowed_in_the_folder_of_the_session() {
    let all = rules(RULES);
    for (command, cwd, is_allowed) in [
        ("cargo test", "/project/sub", true),
        ("cargo test", "/elsewhere", false),
        ("./x y", "/project", true),
        ("./x y", "/project/sub", false),
        ("cargo test > target/log", "/project", true),
        ("cargo test > target/log", "/project/sub", false),
        ("cargo test > log", "/project/target", true),
    ] {
        let found = matches!(verdict_in(&all, command, cwd), Verdict::Decided(Decision::Allow, _));
        assert_eq!(found, is_allowed, "{command} in {cwd}");
    }
    let any = rules(&["allow execute", "deny edit .env*"]);
    let denied = Verdict::Decided(Decision::Deny, vec![&any[1]]);
    assert_eq!(verdict(&any, "echo x > sub/../.env"), denied);
    assert_eq!(verdict(&any, "make > log"), Verdict::Decided(Decision::Allow, vec![&any[0]]));
}

/// Another seed every day.
/// Holds (Permission requests): Defaults of kinds decide only what no rule does, and allow nothing outside of the folder.
#[test]
fn defaults_decide_what_no_rule_does() {
    let default = |kind: &str, decision: &str| Rule::default_for(kind, decision).unwrap();
    let mut all = rules(&["allow execute ls *", "ask execute make *", "deny execute rm *"]);
    let decided = |rules: &[Rule], line: &str, cwd: &str| match verdict_in(rules, line, cwd) {
        Verdict::Decided(decision, by) => Some((decision, by[0].to_string())),
        Verdict::Open | Verdict::Unclear(_) => None,
    };
    let lines = ["ls", "make", "rm a", "touch a", "ls; touch a", "for x in a; do touch $x; done"];
    let before = lines.map(|line| decided(&all, line, "/project"));
    assert!(before[..3].iter().all(Option::is_some) && before[3..].iter().all(Option::is_none));
    for decision in ["allow", "ask", "deny"] {
        all.push(default("execute", decision));
        let after = lines.map(|line| decided(&all, line, "/project"));
        assert_eq!(after[..3], before[..3], "{decision}");
        let by = format!("permission.default: {decision} execute");
        for (line, after) in lines.iter().zip(&after).skip(3) {
            let is_unclear = line.starts_with("for");
            let expected = (!is_unclear || decision != "allow").then_some(by.clone());
            assert_eq!(after.clone().map(|(_, by)| by), expected, "{line}");
        }
        let elsewhere = decided(&all, "touch a", "/elsewhere");
        assert_eq!(elsewhere.is_some(), decision != "allow");
        all.pop();
    }
    let call = |file: &str| {
        let files = [file.into()];
        let rules = [default("edit", "allow")];
        let call = Call {
            agent: "fake",
            kind: ToolKind::Edit,
            tool: None,
            files: &files,
            command: None,
            root: Path::new("/project"),
            cwd: Path::new("/project"),
            real_path: &|path| Some(plain_path(path)),
        };
        matches!(decide(&rules, call), Verdict::Decided(Decision::Allow, _))
    };
    assert!(call("/project/a") && !call("/etc/hosts"));
}

fn seed_of_today() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_secs() / 86_400
}

/// Holds (Permission requests): No line that the rules allow runs a program that they do not allow, whatever is in it.
#[test]
fn what_the_rules_allow_runs_nothing_else_in_a_real_shell() {
    let folder = TempFolder::new();
    let (bin, work, ran) = (folder.folder("bin"), folder.folder("work"), folder.path().join("ran"));
    for name in ["ok", "bad"] {
        let stub = folder.file(&format!("bin/{name}"), "#!/bin/sh\necho \"$0\" >> \"$RAN\"\n");
        std::fs::set_permissions(stub, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let seed = std::env::var("RAT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(seed_of_today);
    let mut out = std::io::stderr();
    writeln!(out, "RAT_SEED={seed}").unwrap();
    let mut dice = Dice::new(seed);
    let rules = rules(&[
        "allow execute ok *",
        "allow execute a *",
        "allow execute e *",
        "allow execute env *",
        "allow execute xargs *",
        "allow execute find *",
        "allow execute sh -c *",
        "allow execute bash -c *",
        "allow execute eval *",
        "allow execute exec *",
        "allow execute command *",
        "allow execute nohup *",
        "allow execute nice *",
        "allow execute timeout *",
        "allow execute time *",
        "allow execute echo *",
        "allow execute cat *",
        "allow execute printf *",
    ]);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let is_there = |shell: &&str| Command::new(shell).args(["-c", ":"]).status().is_ok();
    let shells: Vec<_> = ["sh", "bash", "zsh", "fish"].into_iter().filter(is_there).collect();
    let (mut allowed, mut ended) = (0, 0);
    let steps = std::env::var("RAT_STEPS").ok().and_then(|steps| steps.parse().ok());
    for _ in 0..steps.unwrap_or(2_000) {
        let line = random_line(&mut dice);
        if !matches!(verdict(&rules, &line), Verdict::Decided(Decision::Allow, _)) {
            continue;
        }
        allowed += 1;
        if !line.contains("bad") {
            continue;
        }
        ended += 1;
        for shell in &shells {
            let status = Command::new(shell)
                .args(["-c", &line])
                .current_dir(&work)
                .env("PATH", &path)
                .env("RAN", &ran)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.is_ok(), "{line:?}");
            let text = std::fs::read_to_string(&ran).unwrap_or_default();
            assert!(
                !text.contains("/bad"),
                "{shell} -c {line:?} ran what is not allowed (RAT_SEED={seed})"
            );
        }
    }
    writeln!(out, "{allowed} allowed, {ended} of them run").unwrap();
    assert!(ended > 50, "{ended}");
}

proptest::proptest! {
    /// Holds (Permission requests): Whatever a command line is, the rules decide on it, in time that grows with its length.
    #[test]
    fn any_text_is_decided_on(line in ".{0,200}", pieces in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let rules = rules(RULES);
        verdict(&rules, &line);
        let line: String = pieces.into_iter().map(|at| PIECES[at]).collect();
        verdict(&rules, &line);
    }
}

/// Holds (Permission requests): Whatever a command line is, the rules decide on it, in time that grows with its length.
#[test]
fn deep_and_long_lines_are_unclear() {
    let rules = rules(RULES);
    for piece in
        ["(", "$(", "\"$(", "`", "{ ", "sh -c '", "env ", "xargs ", "! ", "eval ", "'", "\\"]
    {
        let line = piece.repeat(20_000);
        assert!(!matches!(verdict(&rules, &line), Verdict::Decided(Decision::Allow, _)), "{piece}");
    }
}
