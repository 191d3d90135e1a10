//! Rules on command lines: a table, defaults, folders, and any text.

use rat_nvim::session::paths::plain_path;
use rat_nvim::session::tool_call::ToolKind;
use rat_nvim::trust::rule::{Decision, Rule};
use rat_nvim::trust::rules::{Call, Verdict, decide};
use std::path::Path;

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
        commands: &[command.to_owned()],
        root: Path::new("/project"),
        cwds: &[cwd.into()],
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
    // Where a line has gone to another folder, any file may be the one that a rule is about.
    let secret = rules(&["allow execute", "deny edit secret/*"]);
    for (command, decision) in [
        ("echo a > secret/x", Decision::Deny),
        ("cd .; echo a > secret/x", Decision::Deny),
        ("cd secret; echo a > x", Decision::Ask),
        ("sh -c 'cd secret; echo a > x'", Decision::Ask),
        ("secret/; echo a > x", Decision::Ask),
        ("echo a > /proc/self/cwd/secret/x", Decision::Ask),
        ("echo a > x", Decision::Allow),
    ] {
        let found = verdict(&secret, command);
        assert!(matches!(found, Verdict::Decided(it, _) if it == decision), "{command}: {found:?}");
    }
    let any = rules(&["allow execute", "deny edit .env*"]);
    let denied = Verdict::Decided(Decision::Deny, vec![&any[1]]);
    assert_eq!(verdict(&any, "echo x > sub/../.env"), denied);
    assert_eq!(verdict(&any, "make > log"), Verdict::Decided(Decision::Allow, vec![&any[0]]));
}

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
            commands: &[],
            root: Path::new("/project"),
            cwds: &[],
            real_path: &|path| Some(plain_path(path)),
        };
        matches!(decide(&rules, call), Verdict::Decided(Decision::Allow, _))
    };
    assert!(call("/project/a") && !call("/etc/hosts"));
}

proptest::proptest! {
    /// Holds (Permission requests): Whatever a command line is, the rules decide on it, in time that grows with its length.
    #[test]
    fn any_text_is_decided_on(line in ".{0,200}", signs in "[a-c '\"$`(){}<>|&;\\n\\\\*?~!#=\\[\\]]{0,60}") {
        let rules = rules(RULES);
        verdict(&rules, &line);
        verdict(&rules, &signs);
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
