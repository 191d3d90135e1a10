//! The rules that would allow a tool call from now on, for the user to edit before they are kept.

use super::command::{CommandLine, Program};
use super::rule::{Decision, Rule};
use super::rules::{Call, Verdict, decide};
use super::shell::{Access, Unclear, Word};
use crate::session::tool_call::ToolKind;
use std::path::{Path, PathBuf};

/// The most rules that are suggested for one call.
const MAX_RULES: usize = 8;

/// Returns the lines of rules that allow just this call, and after them, as comments, those that allow calls like it: the same
/// subcommand of a program with any arguments.
///
/// # Errors
///
/// Fails if no rule allows it, with the reason as the end of a sentence.
pub fn suggest(call: Call<'_>) -> Result<Vec<String>, String> {
    let (lines, wider) = match (call.kind, call.commands) {
        (_, [_, ..]) => of_commands(call)?,
        (
            ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete | ToolKind::Move,
            _,
        ) if !call.files.is_empty() => {
            let files = call.files.iter();
            (files.filter_map(|file| of_file(call.kind, file, call.root)).collect(), Vec::new())
        }
        (kind, _) => {
            let line = call.tool.and_then(of_tool).or_else(|| of_kind(kind));
            (line.into_iter().collect::<Vec<_>>(), Vec::new())
        }
    };
    let mut rules: Vec<Rule> = Vec::new();
    for line in &lines {
        let rule =
            line.parse::<Rule>().map_err(|why| format!("there is no pattern for it: {why}"))?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.len() > MAX_RULES {
        return Err("it takes more rules than are worth reading".to_owned());
    }
    if !matches!(decide(&rules, call), Verdict::Decided(Decision::Allow, _)) {
        return Err("no rule can allow it".to_owned());
    }
    let mut all: Vec<String> = rules.iter().map(ToString::to_string).collect();
    for line in wider {
        let line = format!("# {line}");
        if !all.contains(&line) {
            all.push(line);
        }
    }
    Ok(all)
}

/// Returns the rules for command lines, and wider ones.
fn of_commands(call: Call<'_>) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut exact, mut wider) = (Vec::new(), Vec::new());
    for command in call.commands {
        let line = CommandLine::parse(command)
            .map_err(|Unclear(why)| format!("it is not clear what would run: {why}"))?;
        // Whoever allows a program by all of its words allows what these words say to run.
        let programs = line.programs.iter().enumerate();
        for (at, program) in programs.filter(|(_, program)| program.told_by.is_none()) {
            exact.push(format!("allow execute {}", exact_words(program)?.join(" ")));
            // A rule with a star is not about what that program is told to run.
            let runs_another = line.programs.iter().any(|it| it.told_by == Some(at));
            let wide = wide_words(program)?.filter(|_| !runs_another);
            wider.extend(wide.map(|words| format!("allow execute {}", words.join(" "))));
        }
        for (access, word) in &line.files {
            let kind = match access {
                Access::Read => ToolKind::Read,
                Access::Write => ToolKind::Edit,
            };
            let cwd = call.cwds.first().map_or(call.root, PathBuf::as_path);
            let path = word.literal().and_then(|path| (call.real_path)(&cwd.join(path)));
            let file = path.and_then(|path| of_file(kind, &path, call.root));
            exact.extend(file.filter(|line| !line.contains("/dev/")));
        }
    }
    Ok((exact, wider))
}

/// Returns the words of a pattern for just this program with these arguments.
fn exact_words(program: &Program) -> Result<Vec<String>, String> {
    program.assignments.iter().chain(&program.words).map(pattern).collect()
}

/// Returns the words of a pattern for a program with any arguments after its subcommand; `None` without one, since `python *`
/// would allow anything.
fn wide_words(program: &Program) -> Result<Option<Vec<String>>, String> {
    let [name, first, ..] = &program.words[..] else { return Ok(None) };
    let text = first.literal().unwrap_or_default();
    let is_subcommand = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c));
    if !is_subcommand {
        return Ok(None);
    }
    let words = program.assignments.iter().chain([name, first]).map(pattern);
    words.chain([Ok("*".to_owned())]).collect::<Result<Vec<_>, _>>().map(Some)
}

/// Returns a pattern that matches just this word.
fn pattern(word: &Word) -> Result<String, String> {
    let Some(text) = word.literal() else {
        return Err("which files it is about is known only when it runs".to_owned());
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    if text.contains("  ") || text.contains(|c: char| c != ' ' && c.is_whitespace()) {
        return Err("a rule cannot have such blanks".to_owned());
    }
    if !text.contains('\'') {
        return Ok(format!("'{text}'"));
    }
    Ok(text.split('\'').map(|part| format!("'{part}'")).collect::<Vec<_>>().join("\"'\""))
}

fn of_file(kind: ToolKind, file: &Path, root: &Path) -> Option<String> {
    let path = file.strip_prefix(root).unwrap_or(file).to_str()?;
    Some(format!("allow {} {}", Rule::kind_name(kind)?, globset::escape(path)))
}

fn of_tool(name: &str) -> Option<String> {
    let word = pattern(&Word::Literal(name.to_owned())).ok()?;
    (!name.is_empty()).then(|| format!("allow tool {word}"))
}

fn of_kind(kind: ToolKind) -> Option<String> {
    Some(format!("allow {}", Rule::kind_name(kind)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::paths::plain_path;

    fn suggested(
        kind: ToolKind,
        files: &[&str],
        command: Option<&str>,
        tool: Option<&str>,
    ) -> Result<Vec<String>, String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let call = Call {
            agent: "fake",
            kind,
            tool,
            files: &files,
            commands: &command.map(str::to_owned).into_iter().collect::<Vec<_>>(),
            root: Path::new("/p"),
            cwds: &[],
            real_path: &|path| Some(plain_path(path)),
        };
        suggest(call)
    }

    /// Holds (Permission requests): The rule suggested for a command allows just this command; wider ones stand below it as comments.
    #[test]
    fn a_command_is_allowed_as_it_stands() {
        for (command, rules) in [
            (
                "cargo test --lib",
                &["allow execute cargo test --lib", "# allow execute cargo test *"][..],
            ),
            ("rm build", &["allow execute rm build", "# allow execute rm build *"]),
            ("ls | xargs rm", &["allow execute ls", "allow execute xargs rm"]),
            ("find . -exec rm {} \\;", &["allow execute find . -exec rm '{}' ';'"]),
            ("sh -c 'make x'", &["allow execute sh -c 'make x'"]),
            ("python x.py --all", &["allow execute python x.py --all"]),
            ("make", &["allow execute make"]),
            ("ls -la 'my files'", &["allow execute ls -la 'my files'"]),
            ("echo '*' \"it's\" ''", &["allow execute echo '*' 'it'\"'\"'s' ''"]),
            (
                "CI=1 npm run lint",
                &["allow execute CI=1 npm run lint", "# allow execute CI=1 npm run *"],
            ),
            (
                "cargo test 2>/dev/null >out.txt",
                &["allow execute cargo test", "allow edit out.txt", "# allow execute cargo test *"],
            ),
        ] {
            let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
            assert_eq!(
                suggested(ToolKind::Execute, &[], Some(command), None),
                Ok(rules),
                "{command}"
            );
        }
        for (command, why) in [
            ("for x in a; do make; done", "it is not clear what would run: "),
            ("echo 'a  b'", "a rule cannot have such blanks"),
            ("rm *.o", "which files it is about is known only when it runs"),
        ] {
            let found = suggested(ToolKind::Execute, &[], Some(command), None).unwrap_err();
            assert!(found.starts_with(why), "{command}: {found}");
        }
    }

    #[test]
    fn files_and_tools_are_allowed_by_their_names() {
        for (kind, files, tool, rules) in [
            (
                ToolKind::Edit,
                &["/p/src/a.rs", "/p/b.rs"][..],
                None,
                &["allow edit src/a.rs", "allow edit b.rs"][..],
            ),
            (ToolKind::Read, &["/etc/[x]"], None, &["allow read /etc/[[]x[]]"]),
            (ToolKind::Other, &[], Some("mcp__db__query"), &["allow tool mcp__db__query"]),
            (ToolKind::Fetch, &[], None, &["allow fetch"]),
        ] {
            let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
            assert_eq!(suggested(kind, files, None, tool), Ok(rules));
        }
    }
}
