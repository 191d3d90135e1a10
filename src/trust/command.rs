//! Names every program that a command line runs, also those that another program is told to run: `env`, `xargs`, `find -exec`,
//! `sh -c` and their like.

use super::builtins;
use super::shell::{Access, SimpleCommand, Unclear, Word, parse};
use super::wrappers::{OPAQUE, SHELLS, runner};

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
        let evaluated =
            |word: &Word| word.literal().is_some_and(|text| text.contains(['`', '[', '$']));
        if program.assignments.iter().any(evaluated) {
            return Err(Unclear("a shell may compute what is assigned"));
        }
        let path = program.words.first().and_then(Word::literal);
        // Some file systems find `sh` by the name `SH`.
        let name = path.map(base_name).map(str::to_lowercase);
        let name = name.as_deref();
        if depth > 0 && name.is_some_and(|name| name.contains('=')) {
            return Err(Unclear("shells may take a program for an assignment"));
        }
        if name.is_some_and(|name| name.starts_with('-')) {
            return Err(Unclear("shells may take a program for an option"));
        }
        let is_elsewhere = |word: &Word| matches!(word.literal(), Some("-execdir" | "-okdir"));
        // fish goes to a folder that is named as a program.
        self.changes_folder |= name.is_some_and(|name| MOVING.contains(&name))
            || path.is_some_and(|path| path.ends_with('/') || path.ends_with(".."))
            || program.words.iter().any(is_elsewhere);
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
            Inner::Script(path) => {
                let (assignments, words) = (Vec::new(), vec![Word::Literal(path)]);
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
    Script(String),
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns what a program with these arguments is told to run.
fn inner(name: &str, arguments: &[Word]) -> Result<Inner, Unclear> {
    builtins::check(name, arguments)?;
    let is_loader = name.starts_with("ld-linux") || name.starts_with("ld-musl");
    if OPAQUE.contains(&name) || is_loader {
        return Err(Unclear("it has a program that runs others, which rules do not look into"));
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
        if arguments.first().and_then(Word::literal).is_some_and(|first| first.starts_with('-')) {
            return Err(UNKNOWN);
        }
        return Ok(Inner::Line(joined(arguments)?));
    }
    if SHELLS.contains(&name) {
        return shell(name, arguments);
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
    let is_assignment = |word: &&Word| word.literal().is_some_and(|text| text.contains('='));
    let count = if sets_variables { words.iter().take_while(is_assignment).count() } else { 0 };
    let assignments = words.drain(..count).collect();
    Ok(Inner::Program(assignments, words))
}

const UNKNOWN: Unclear = Unclear("it runs a program with options that rules do not know");

const READS: Unclear = Unclear("a shell reads what it runs");

/// What a shell is told to run: the text after `-c` and its other options, or a script.
fn shell(name: &str, arguments: &[Word]) -> Result<Inner, Unclear> {
    let mut rest = arguments.iter();
    let mut has_line = false;
    while let Some(word) = rest.next() {
        let text = word.literal().ok_or(UNKNOWN)?;
        if !text.starts_with(['-', '+']) || text == "--" {
            let operand = if text == "--" { rest.next() } else { Some(word) };
            let text = operand.ok_or(READS)?.literal().ok_or(UNKNOWN)?;
            let is_path = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
            if has_line {
                return Ok(Inner::Line(text.to_owned()));
            }
            // ksh93 runs what is no file as a line.
            let is_script = text.chars().all(is_path);
            return if is_script { Ok(Inner::Script(text.to_owned())) } else { Err(UNKNOWN) };
        }
        if name == "fish" {
            // It goes on looking for options after the line, and runs each one.
            match text {
                "-c" => {
                    let line = rest.next().and_then(Word::literal).ok_or(UNKNOWN)?;
                    let is_operand =
                        |word: &Word| word.literal().is_some_and(|it| !it.starts_with('-'));
                    let is_all = rest.all(is_operand);
                    return if is_all { Ok(Inner::Line(line.to_owned())) } else { Err(UNKNOWN) };
                }
                "-l" | "-i" | "--login" | "--interactive" | "--no-config" => continue,
                _ => return Err(UNKNOWN),
            }
        }
        if matches!(text, "--login" | "--norc" | "--noprofile" | "--posix") {
            continue;
        }
        // The name of an option follows in the next word, or in this one.
        let letters = text[1..].strip_suffix('o').unwrap_or(&text[1..]);
        let takes_name = text.ends_with('o');
        if text.len() < 2 || !letters.chars().all(|char| "celixuv".contains(char)) {
            return Err(UNKNOWN);
        }
        if letters.contains('c') {
            if text.starts_with('+') || takes_name {
                return Err(UNKNOWN);
            }
            has_line = true;
        }
        if takes_name {
            let name = rest.next().and_then(Word::literal).ok_or(UNKNOWN)?;
            if name.starts_with(['-', '+']) {
                return Err(UNKNOWN);
            }
        }
    }
    Err(READS)
}

/// What `find` is told to run: the words after `-exec` and its like, up to `;` or `+`.
fn finder(arguments: &[Word]) -> Result<Inner, Unclear> {
    let mut all = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        // A pattern for names could be an option.
        let text =
            word.literal().ok_or(Unclear("the arguments of `find` are known only when it runs"))?;
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
        let text =
            word.literal().ok_or(Unclear("the arguments of `fd` are known only when it runs"))?;
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
    known
        .map(|words| words.join(" "))
        .ok_or(Unclear("the arguments of `eval` are known only when it runs"))
}
