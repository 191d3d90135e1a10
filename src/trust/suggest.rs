//! The rules that would allow a tool call from now on, for the user to edit before they are kept.

use super::command::{CommandLine, Program};
use super::rule::{Decision, Rule};
use super::rules::{Call, Verdict, decide};
use super::shell::{Access, Unclear, Word};
use crate::session::tool_call::ToolKind;
use std::path::Path;

/// The most rules that are suggested for one call.
const MAX_RULES: usize = 8;

/// Returns rules that allow this call and calls like it: the same subcommand of a program with any arguments, the same files, the
/// same tool.
///
/// # Errors
///
/// Fails if no rule allows it, with the reason as the end of a sentence.
pub fn suggest(call: Call<'_>) -> Result<Vec<Rule>, String> {
    let lines = match (call.kind, call.command) {
        (ToolKind::Execute, Some(command)) => {
            let line = CommandLine::parse(command)
                .map_err(|Unclear(why)| format!("it is not clear what would run: {why}"))?;
            of_command(&line, call)
        }
        (
            ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete | ToolKind::Move,
            _,
        ) if !call.files.is_empty() => {
            call.files.iter().filter_map(|file| of_file(call.kind, file, call.root)).collect()
        }
        (kind, _) => call.tool.and_then(of_tool).or_else(|| of_kind(kind)).into_iter().collect(),
    };
    let mut rules: Vec<Rule> = Vec::new();
    for line in lines {
        let rule =
            line.parse::<Rule>().map_err(|why| format!("there is no pattern for it: {why}"))?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.len() > MAX_RULES {
        return Err("it takes more rules than are worth reading".to_owned());
    }
    match decide(&rules, call) {
        Verdict::Decided(Decision::Allow, _) => Ok(rules),
        _ => Err("no rule can allow it".to_owned()),
    }
}

fn of_command(line: &CommandLine, call: Call<'_>) -> Vec<String> {
    let programs = line.programs.iter().map(|program| {
        let words = words_of(program);
        format!("allow execute {}", words.join(" "))
    });
    let files = line.files.iter().filter_map(|(access, word)| {
        let kind = match access {
            Access::Read => ToolKind::Read,
            Access::Write => ToolKind::Edit,
        };
        let path = (call.real_path)(&call.cwd.join(word.literal()?))?;
        of_file(kind, &path, call.root)
    });
    programs.chain(files.filter(|line| !line.contains("/dev/"))).collect()
}

/// Returns the words of a pattern for a program: with any arguments if a subcommand follows, which says what it does; otherwise
/// just these, since `python *` would allow anything.
fn words_of(program: &Program) -> Vec<String> {
    let assigned = program.assignments.iter().map(pattern);
    let [name, rest @ ..] = &program.words[..] else { return assigned.collect() };
    let is_subcommand = |word: &Word| {
        let text = word.literal().unwrap_or_default();
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
    };
    let name = pattern(name);
    let arguments: Vec<String> = match rest {
        [first, ..] if is_subcommand(first) => vec![pattern(first), "*".to_owned()],
        rest => rest.iter().map(pattern).collect(),
    };
    assigned.chain([name]).chain(arguments).collect()
}

/// Returns a pattern that matches just this word, or any if there is none.
fn pattern(word: &Word) -> String {
    let any = || "*".to_owned();
    let Some(text) = word.literal() else { return any() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    // Blanks in a rule are not kept as they are.
    let has_blanks = text.contains("  ") || text.contains(|c: char| c != ' ' && c.is_whitespace());
    match ['\'', '"'].into_iter().find(|quote| !text.contains(*quote)) {
        Some(quote) if !has_blanks && !text.is_empty() => format!("{quote}{text}{quote}"),
        _ => any(),
    }
}

fn of_file(kind: ToolKind, file: &Path, root: &Path) -> Option<String> {
    let path = file.strip_prefix(root).unwrap_or(file).to_str()?;
    Some(format!("allow {} {}", Rule::kind_name(kind)?, globset::escape(path)))
}

fn of_tool(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| format!("allow tool {}", pattern(&Word::Literal(name.to_owned()))))
}

fn of_kind(kind: ToolKind) -> Option<String> {
    Some(format!("allow {}", Rule::kind_name(kind)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::rules::plain_path;
    use std::path::PathBuf;

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
            command,
            root: Path::new("/p"),
            cwd: Path::new("/p"),
            real_path: &|path| Some(plain_path(path)),
        };
        suggest(call).map(|rules| rules.iter().map(ToString::to_string).collect())
    }

    /// Holds (Permission requests): The rule suggested for a command allows its subcommand, or just this command if it has none.
    #[test]
    fn a_command_is_allowed_by_its_subcommand() {
        for (command, rules) in [
            ("cargo test --lib", &["allow execute cargo test *"][..]),
            ("python x.py --all", &["allow execute python x.py --all"]),
            ("make", &["allow execute make"]),
            ("ls -la 'my files'", &["allow execute ls -la 'my files'"]),
            ("echo '*' \"it's\" ''", &["allow execute echo '*' \"it's\" *"]),
            ("CI=1 npm run lint", &["allow execute CI=1 npm run *"]),
            (
                "cd src && git status; git status",
                &["allow execute cd src *", "allow execute git status *"],
            ),
            (
                "cargo test 2>/dev/null >out.txt",
                &["allow execute cargo test *", "allow edit out.txt"],
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
            ("$EDITOR x", "there is no pattern for it: "),
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
