//! Names every program that a command line runs, also those that another program is told to run: `env`, `xargs`, `find -exec`,
//! `sh -c` and their like.

use super::builtins;
use super::shell::{Access, SimpleCommand, Unclear, Word, parse};

/// The deepest nesting of programs that run programs.
const MAX_DEPTH: usize = 8;

/// What a command line would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The programs it runs, each with its arguments. One that runs another comes before it.
    pub programs: Vec<Program>,
    /// The files that it reads or writes by redirection.
    pub files: Vec<(Access, Word)>,
    /// Whether it goes to another folder, so that its relative paths may lead anywhere.
    pub changes_folder: bool,
}

/// A program with its arguments, and the variables that are set for it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The place in [`CommandLine::programs`] of the program whose arguments say to run it.
    pub told_by: Option<usize>,
    /// Whether it is a script for that program, which whoever allows that program allows.
    pub is_script: bool,
    /// Assignments before it: `A=b`.
    pub assignments: Vec<Word>,
    /// Its name and its arguments.
    pub words: Vec<Word>,
}

impl CommandLine {
    /// Whether a line whose programs are not known has such a word among its own, apart from quotes: between blanks and syntax,
    /// or between any signs.
    pub(super) fn mentions(line: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let bare: String = line.replace("\\\n", "").replace(['\'', '"', '\\'], "");
        let is_syntax = |char: char| char.is_whitespace() || ";&|<>()$`{}".contains(char);
        let is_sign = |char: char| !char.is_alphanumeric() && !"_.+-".contains(char);
        bare.split(is_syntax).any(&is_meant) || bare.split(is_sign).any(is_meant)
    }

    /// Parses a command line of a POSIX shell. Fails if it cannot be known what would run.
    pub fn parse(line: &str) -> Result<Self, Unclear> {
        let mut all = Self::default();
        all.add_line(line, None, 0)?;
        if all.programs.is_empty() && all.files.is_empty() {
            return Err(Unclear("it is empty"));
        }
        Ok(all)
    }

    fn add_line(
        &mut self,
        line: &str,
        told_by: Option<usize>,
        depth: usize,
    ) -> Result<(), Unclear> {
        for SimpleCommand { assignments, words, files } in parse(line)? {
            self.files.extend(files);
            self.add(Program { told_by, is_script: false, assignments, words }, depth)?;
        }
        Ok(())
    }

    fn add(&mut self, program: Program, depth: usize) -> Result<(), Unclear> {
        if depth > MAX_DEPTH {
            return Err(Unclear("it is nested too deeply"));
        }
        let name = program.words.first().and_then(Word::literal).map(base_name);
        if depth > 0 && name.is_some_and(|name| name.contains('=')) {
            return Err(Unclear("shells may take a program for an assignment"));
        }
        self.changes_folder |= name.is_some_and(|name| MOVING.contains(&name));
        let inner = name.map_or(Ok(Inner::None), |name| inner(name, &program.words[1..]))?;
        let told_by = Some(self.programs.len());
        self.programs.push(program);
        match inner {
            Inner::None => Ok(()),
            Inner::Program(assignments, words) if words.is_empty() && assignments.is_empty() => {
                Ok(())
            }
            Inner::Program(assignments, words) => {
                self.add(Program { told_by, is_script: false, assignments, words }, depth + 1)
            }
            Inner::Programs(all) => all.into_iter().try_for_each(|words| {
                self.add(
                    Program { told_by, is_script: false, assignments: Vec::new(), words },
                    depth + 1,
                )
            }),
            Inner::Line(line) => self.add_line(&line, told_by, depth + 1),
            Inner::Script(word) => {
                let (assignments, words) = (Vec::new(), vec![word]);
                let script = Program { told_by, is_script: true, assignments, words };
                self.programs.push(script);
                Ok(())
            }
        }
    }
}

/// Commands that go to another folder.
const MOVING: &[&str] = &["cd", "cdh", "chdir", "nextd", "prevd", "z", "j"];

/// What a program is told to run.
enum Inner {
    None,
    Program(Vec<Word>, Vec<Word>),
    Programs(Vec<Vec<Word>>),
    Line(String),
    Script(Word),
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Options of a program that runs another one: those without a value and those whose value is the next word. Others are not
/// known, and make the command unclear.
struct Options {
    alone: &'static [&'static str],
    with_value: &'static [&'static str],
}

impl Options {
    /// Whether it is an option of one letter with a number right after it: `-n1`.
    fn has_number(&self, text: &str) -> bool {
        let Some((option, number)) = text.split_at_checked(2) else { return false };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && self.with_value.contains(&option)
    }
}

/// How many words that belong to the program itself stand before the command it runs, beside its options.
fn runner(name: &str) -> Option<(Options, usize)> {
    let options = |alone, with_value| Options { alone, with_value };
    Some(match name {
        "command" | "builtin" | "nohup" | "exec" | "noglob" | "nocorrect" => {
            (options(&["-p", "-c", "-l"], &["-a"]), 0)
        }
        "setsid" => (options(&["-f", "-w", "-c", "--fork", "--wait", "--ctty"], &[]), 0),
        "time" => (options(&["-p", "-v", "--portability", "--verbose"], &["-f", "--format"]), 0),
        "nice" => (options(&[], &["-n", "--adjustment"]), 0),
        "ionice" => (options(&["-t"], &["-c", "-n", "--class", "--classdata"]), 0),
        "stdbuf" => (options(&["-oL", "-o0", "-eL", "-e0", "-iL", "-i0"], &["-o", "-e", "-i"]), 0),
        "timeout" | "gtimeout" => (
            options(
                &["--foreground", "--preserve-status", "-v", "--verbose"],
                &["-k", "-s", "--kill-after", "--signal"],
            ),
            1,
        ),
        "sudo" | "doas" => {
            (options(&["-n", "-E", "-H", "-S", "-k", "-b", "-P", "-A"], &["-u", "-g"]), 0)
        }
        "env" => (options(&["-i", "-", "--ignore-environment"], &["-u", "--unset"]), 0),
        "xargs" | "gxargs" => (
            options(
                &[
                    "-0",
                    "-r",
                    "-t",
                    "-p",
                    "-x",
                    "--null",
                    "--no-run-if-empty",
                    "--verbose",
                    "--exit",
                ],
                &[
                    "-n",
                    "-P",
                    "-L",
                    "-I",
                    "-d",
                    "-a",
                    "-E",
                    "-s",
                    "--max-args",
                    "--max-procs",
                    "--max-lines",
                ],
            ),
            0,
        ),
        _ => return None,
    })
}

/// Programs that run others in ways that are not looked into.
const OPAQUE: &[&str] = &[
    "arch",
    "at",
    "batch",
    "bwrap",
    "busybox",
    "caffeinate",
    "capsh",
    "catchsegv",
    "chronic",
    "chroot",
    "chrt",
    "cpulimit",
    "dbus-launch",
    "dbus-run-session",
    "dtach",
    "eatmydata",
    "entr",
    "expect",
    "faketime",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "gosu",
    "ifne",
    "linux32",
    "linux64",
    "ltrace",
    "mispipe",
    "nsenter",
    "numactl",
    "parallel",
    "pee",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "runcon",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "setuidgid",
    "sg",
    "softlimit",
    "ssh-agent",
    "start-stop-daemon",
    "strace",
    "su",
    "su-exec",
    "systemd-run",
    "taskset",
    "tmux",
    "torify",
    "torsocks",
    "toybox",
    "trickle",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xvfb-run",
];

const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ksh93", "mksh", "lksh", "ash", "fish", "rbash", "rzsh",
    "yash",
];

/// Returns what a program with these arguments is told to run.
fn inner(name: &str, arguments: &[Word]) -> Result<Inner, Unclear> {
    builtins::check(name, arguments)?;
    if OPAQUE.contains(&name) {
        return Err(Unclear("it has a program that runs others in ways that are not looked into"));
    }
    if name == "command"
        && arguments
            .first()
            .and_then(Word::literal)
            .is_some_and(|first| matches!(first, "-v" | "-V"))
    {
        return Ok(Inner::None);
    }
    if name == "eval" {
        return Ok(Inner::Line(joined(arguments)?));
    }
    if SHELLS.contains(&name) {
        return shell(arguments);
    }
    match name {
        "find" | "gfind" => return finder(arguments),
        "fd" | "fdfind" => return fd(arguments),
        _ => {}
    }
    let Some((options, own)) = runner(name) else { return Ok(Inner::None) };
    let mut rest = arguments.iter();
    let (mut taken, mut replaced) = (0, None);
    let mut words = loop {
        let Some(word) = rest.next() else { return Ok(Inner::None) };
        let text = word.literal().ok_or(UNKNOWN)?;
        if !text.starts_with('-') || taken > 0 {
            if taken == own {
                break [word.clone()].into_iter().chain(rest.cloned()).collect();
            }
            taken += 1;
        } else if text == "--" {
            break rest.cloned().collect::<Vec<_>>();
        } else if options.with_value.contains(&text) {
            let value = rest.next().and_then(Word::literal).ok_or(UNKNOWN)?;
            replaced = if text == "-I" { Some(value) } else { replaced };
        } else if text.starts_with("-I") && options.with_value.contains(&"-I") {
            replaced = text.get(2..);
        } else if !options.alone.contains(&text) && !options.has_number(text) {
            return Err(UNKNOWN);
        }
    };
    let skip = (own - taken).min(words.len());
    words.drain(..skip);
    if name.ends_with("xargs") {
        // What it reads becomes arguments, or stands in them.
        words.push(Word::Dynamic);
        hide(&mut words, replaced);
    }
    let sets_variables = matches!(name, "env" | "sudo" | "doas");
    let is_assignment = |word: &&Word| word.literal().is_none_or(|text| text.contains('='));
    let count = if sets_variables { words.iter().take_while(is_assignment).count() } else { 0 };
    let assignments = words.drain(..count).collect();
    Ok(Inner::Program(assignments, words))
}

const UNKNOWN: Unclear = Unclear("it has a program whose options are not known here");

const READS: Unclear = Unclear("a shell reads what it runs");

/// What a shell is told to run: the text after `-c` and its other options, or a script.
fn shell(arguments: &[Word]) -> Result<Inner, Unclear> {
    let mut rest = arguments.iter();
    let mut has_line = false;
    while let Some(word) = rest.next() {
        let text = word.literal().ok_or(UNKNOWN)?;
        let word = match text {
            // What follows is no option.
            "--" => rest.next(),
            "-" => return Err(UNKNOWN),
            text if text.starts_with(['-', '+']) => None,
            _ => Some(word),
        };
        if text == "--" || word.is_some() {
            return match (word, has_line) {
                (None, _) => Err(READS),
                (Some(word), true) => word
                    .literal()
                    .map(|line| Inner::Line(line.to_owned()))
                    .ok_or(Unclear("a shell is told to run what is not known yet")),
                (Some(word), false) => Ok(Inner::Script(word.clone())),
            };
        }
        let is_cluster =
            !text.starts_with("--") && text[1..].chars().all(|char| "celixuvo".contains(char));
        if is_cluster && text.contains('o') {
            let name = rest.next().and_then(Word::literal).ok_or(UNKNOWN)?;
            if text.contains('c') || name.starts_with(['-', '+']) {
                return Err(UNKNOWN);
            }
        } else if !is_cluster && !matches!(text, "--login" | "--norc" | "--noprofile" | "--posix") {
            return Err(UNKNOWN);
        }
        has_line |= is_cluster && text.contains('c') && text.starts_with('-');
    }
    Err(READS)
}

/// What `find` is told to run: the words after `-exec` and its like, up to `;` or `+`.
fn finder(arguments: &[Word]) -> Result<Inner, Unclear> {
    let mut all = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        // A pattern for names could be an option.
        let text = word.literal().ok_or(Unclear("`find` is given what is not known yet"))?;
        if matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            let mut words: Vec<_> = rest
                .by_ref()
                .take_while(|word| !matches!(word.literal(), Some(";" | "+")))
                .cloned()
                .collect();
            hide(&mut words, Some("{}"));
            all.push(words);
        }
    }
    all.retain(|words| !words.is_empty());
    Ok(Inner::Programs(all))
}

/// Checks that `fd` runs nothing: `-x` and `-X` may stand after other letters and right before what they run.
fn fd(arguments: &[Word]) -> Result<Inner, Unclear> {
    for word in arguments {
        let text = word.literal().ok_or(Unclear("`fd` is given what is not known yet"))?;
        let is_short = text.starts_with('-') && !text.starts_with("--");
        if is_short && text.contains(['x', 'X']) || text.starts_with("--exec") {
            return Err(Unclear("`fd` runs a program for each file"));
        }
    }
    Ok(Inner::None)
}

/// Makes the words dynamic that have a placeholder in them.
fn hide(words: &mut [Word], placeholder: Option<&str>) {
    for word in words {
        if word.literal().zip(placeholder).is_some_and(|(text, mark)| text.contains(mark)) {
            *word = Word::Dynamic;
        }
    }
}

/// Joins words as `eval` does.
fn joined(words: &[Word]) -> Result<String, Unclear> {
    let known: Option<Vec<_>> = words.iter().map(Word::literal).collect();
    known.map(|words| words.join(" ")).ok_or(Unclear("`eval` is given what is not known yet"))
}
