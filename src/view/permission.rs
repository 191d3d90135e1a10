//! Renders what a tool call would do. Whatever the user decides about has to be visible completely.

use super::card;
use super::content::truncate;
use super::line::{Class, Highlight, Line};
use super::scene::{self, Scene};
use super::title::{self, MAX_TITLE};
use crate::session::entry::ToolEntry;
use crate::session::keys;
use crate::session::signs::ELLIPSIS;
use crate::session::tool_call::{Diff, ToolCall, ToolInput, ToolKind};
use std::path::Path;

/// The maximum number of bytes of a command; more would only delay the editor.
const MAX_COMMAND: usize = 64 * 1024;
/// The maximum number of lines of a command.
const MAX_COMMAND_LINES: usize = 1000;
/// The maximum number of lines of another field of the input.
const MAX_FIELD_LINES: usize = 40;
/// The maximum number of characters in a summary, apart from the row that says what is missing.
const MAX_SUMMARY: usize = 4000;
/// How many of them are its end.
const SUMMARY_END: usize = 1000;
/// A value of fewer bytes may occur in a diff by chance.
const MIN_MATCH: usize = 8;

/// What a key on the title of a card does.
const SHOWS_ALL: &str = "on the title shows all";

/// A row with its prefix.
struct Row {
    prefix: &'static str,
    text: String,
}

/// Renders what a call would do, to be shown below its title.
pub(super) fn lines(entry: &ToolEntry) -> Vec<Line> {
    let waits = card::is_waiting(entry);
    let line = |row: Row| {
        let highlight =
            if row.prefix.trim().is_empty() { Highlight::Dim } else { Highlight::Active };
        Line::of(Class::Body, row.text).with_prefix(format!("  │ {}", row.prefix), highlight)
    };
    rows(&entry.call, waits).into_iter().map(line).collect()
}

/// Describes all that a call would do, in several lines of text, and then what the agent asks.
pub fn summary(entry: &ToolEntry, scene: &Scene) -> String {
    let question = question(entry).map(|line| format!("\n{line}"));
    summary_of_call(&entry.call, scene) + &question.collect::<String>()
}

/// Returns what the agent asks, line by line, without what the call shows already.
pub(super) fn question(entry: &ToolEntry) -> impl Iterator<Item = &str> {
    let call = &entry.call;
    let command = call.input.as_ref().and_then(|input| input.command.as_deref());
    let is_shown = move |line: &str| {
        let shown = std::iter::once(scene::title(call)).chain(command);
        line.trim().is_empty() || shown.into_iter().any(|text| text.contains(line.trim()))
    };
    let question = entry.asked.as_ref().and_then(|asked| asked.question.as_deref());
    question.unwrap_or_default().lines().filter(move |line| !is_shown(line))
}

fn summary_of_call(call: &ToolCall, scene: &Scene) -> String {
    // The title of a command, or of a tool of unknown kind, is shown unchanged.
    let is_plain = matches!(call.kind, ToolKind::Execute | ToolKind::Other);
    let title = || truncate(&scene.title(call), MAX_TITLE);
    let mut out = if is_plain { title() } else { title::heading(call, scene) };
    let paths: Vec<_> = call.paths().map(|path| scene.shorten(path)).collect();
    for row in rows(call, true) {
        out.push('\n');
        out.push_str(row.prefix);
        out.push_str(&row.text);
    }
    for (number, path) in paths.iter().enumerate() {
        if !paths[..number].contains(path) && !path.is_empty() && !mentions(&out, path) {
            out.push('\n');
            out.push_str(path);
        }
    }
    cut_in_the_middle(out)
}

/// Shortens a text that is too long. The end of a command is as important as its beginning.
fn cut_in_the_middle(text: String) -> String {
    let count = text.chars().count();
    if count <= MAX_SUMMARY {
        return text;
    }
    let at = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(at, _)| at);
    let (first, last) = (at(MAX_SUMMARY - SUMMARY_END), at(count - SUMMARY_END));
    format!(
        "{}{ELLIPSIS}\n{ELLIPSIS} see the chat for the rest {ELLIPSIS}\n{ELLIPSIS}{}",
        &text[..first],
        &text[last..]
    )
}

/// Returns the rows that the first line of the title does not show. The fields of the input are
/// included only while the call waits for the user.
fn rows(call: &ToolCall, waits: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let (title, empty) = (scene::title(call), ToolInput::default());
    let input = call.input.as_ref().unwrap_or(&empty);
    let first = title.lines().next().unwrap_or_default();
    let is_whole = first.len() == title.len() && title.chars().count() <= MAX_TITLE;
    let in_command = input.command.as_ref().is_some_and(|command| mentions(command, title));
    let repeats_title = !is_whole && !in_command;
    // Before a long title, which could push it out of sight.
    if let Some(command) = &input.command
        && !mentions(if repeats_title || is_whole { title } else { "" }, command)
    {
        rows.extend(prefixed("$ ", "  ", command));
    }
    if repeats_title {
        rows.extend(prefixed("", "", title));
    }
    if !waits {
        return rows;
    }
    if let Some(cwd) = &input.cwd {
        rows.push(Row { prefix: "", text: format!("in {cwd}") });
    }
    for (name, value) in input.fields.iter().filter(|(name, value)| !is_shown(call, name, value)) {
        rows.extend(field(name, value));
    }
    rows
}

/// Returns the lines of a text with one prefix for the first and another for the others. If the
/// text is too long, the last row says how much is missing.
fn prefixed(first: &'static str, others: &'static str, text: &str) -> Vec<Row> {
    let end = (0..=MAX_COMMAND.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let (shown, rest) = text.split_at(end.unwrap_or_default());
    let mut lines = shown.lines().enumerate();
    let prefix = |number| if number == 0 { first } else { others };
    let row = |(number, line): (usize, &str)| Row { prefix: prefix(number), text: line.to_owned() };
    let mut rows: Vec<Row> = lines.by_ref().take(MAX_COMMAND_LINES).map(row).collect();
    if lines.next().is_some() {
        let hidden = text.lines().count() - rows.len();
        let text = keys::after(&format!("{ELLIPSIS} {hidden} more lines"), "<CR>", SHOWS_ALL);
        rows.push(Row { prefix: others, text });
    } else if !rest.is_empty() {
        let text = keys::after(&format!("{ELLIPSIS} {} more bytes", rest.len()), "<CR>", SHOWS_ALL);
        rows.push(Row { prefix: others, text });
    }
    rows
}

/// Returns the rows of a field of the input: its name, and its value in one or more lines.
fn field(name: &str, value: &str) -> Vec<Row> {
    let before = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let mut lines = value.lines();
    let mut rows = Vec::new();
    for (number, line) in lines.by_ref().take(MAX_FIELD_LINES).enumerate() {
        let before = if number == 0 { before.as_str() } else { "  " };
        rows.push(Row { prefix: "", text: format!("{before}{line}") });
    }
    let hidden = lines.count();
    if hidden > 0 {
        let text = keys::after(&format!("{ELLIPSIS} {hidden} more lines"), "<CR>", SHOWS_ALL);
        rows.push(Row { prefix: "", text });
    }
    rows
}

/// Whether the card already shows the value of a field: in the title, as a path, or in a diff.
fn is_shown(call: &ToolCall, name: &str, value: &str) -> bool {
    let has_diffs = call.diffs().next().is_some();
    let diff_fields =
        ["old_string", "new_string", "oldString", "newString", "content", "old_str", "new_str"];
    let in_diff = || {
        call.diffs().any(|diff| {
            diff.new.contains(value) || diff.old.as_ref().is_some_and(|old| old.contains(value))
        })
    };
    value.trim().is_empty()
        || mentions(scene::title(call), value)
        || call.paths().any(|path| path.to_string_lossy() == value)
        || has_diffs && value == "false"
        || has_diffs && (value.len() >= MIN_MATCH || diff_fields.contains(&name)) && in_diff()
        || has_diffs && is_shown_patch(call, value)
}

/// Whether a text is a patch of which the diffs of the call show every line, so that nothing can hide in it.
fn is_shown_patch(call: &ToolCall, text: &str) -> bool {
    let has = |line: &str, of: fn(&Diff) -> Option<&str>| {
        call.diffs().filter_map(of).any(|side| side.lines().any(|shown| shown == line))
    };
    let is_path = |text: &str| call.paths().any(|path| path == Path::new(text.trim()));
    let mut is_in_hunk = false;
    text.lines().all(|line| {
        if line.starts_with("@@ ") {
            is_in_hunk = true;
            return line.bytes().all(|byte| b"@-+, 0123456789".contains(&byte));
        }
        if !is_in_hunk {
            let mut heads = ["Index: ", "--- ", "+++ "].iter();
            return line.bytes().all(|byte| byte == b'=')
                || heads.any(|head| line.strip_prefix(head).is_some_and(is_path));
        }
        match line.split_at_checked(1) {
            Some(("+", added)) => has(added, |diff| Some(&diff.new)),
            Some(("-", removed)) => has(removed, |diff| diff.old.as_deref()),
            Some((" ", kept)) => has(kept, |diff| Some(&diff.new)),
            None => true,
            Some(_) => line == "\\ No newline at end of file",
        }
    }) && is_in_hunk
}

/// Whether `text` contains `part`, which must not start or end within a word.
pub(super) fn mentions(text: &str, part: &str) -> bool {
    let part = part.trim();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_boundary = |outer: Option<char>, inner: Option<char>| {
        !(outer.is_some_and(is_word) && inner.is_some_and(is_word))
    };
    !part.is_empty()
        && text.match_indices(part).any(|(at, found)| {
            is_boundary(text[..at].chars().next_back(), found.chars().next())
                && is_boundary(text[at + found.len()..].chars().next(), found.chars().next_back())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tool_call::{Location, ToolContent};

    fn shown(call: &ToolCall) -> String {
        summary_of_call(call, &Scene { cwd: "/proj".into(), agent: String::new() })
    }

    fn call(title: &str, fields: &[(&str, &str)]) -> ToolCall {
        let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let input = Some(ToolInput { fields, ..ToolInput::default() });
        ToolCall { title: title.into(), input, ..ToolCall::new("t".into()) }
    }

    fn run(title: &str, command: &str) -> ToolCall {
        let mut call = call(title, &[]);
        call.kind = ToolKind::Execute;
        call.input = Some(ToolInput { command: Some(command.into()), ..ToolInput::default() });
        call
    }

    #[test]
    fn all_lines_of_a_title_and_a_command_are_shown() {
        assert_eq!(shown(&call("ls -la\nrm -rf X", &[])), "ls -la\nls -la\nrm -rf X");
        assert_eq!(
            shown(&run("ls -la\nrm -rf X", "ls -la\nrm -rf X")),
            "ls -la\n$ ls -la\n  rm -rf X"
        );
        assert_eq!(shown(&run("Run tools", "ls")), "Run tools\n$ ls");
        assert_eq!(shown(&run("`ls`", "ls")), "`ls`");
        assert_eq!(shown(&run("ls | wc -l", "ls | wc -l")), "ls | wc -l");
        let hidden = run(&"x ".repeat(10_000), "rm -rf X");
        let lines: Vec<String> = shown(&hidden).lines().map(str::to_owned).collect();
        assert_eq!((lines[0].chars().count(), lines[1].as_str()), (MAX_TITLE + 1, "$ rm -rf X"));
        let cut = shown(&hidden);
        assert!(cut.contains("…\n… see the chat for the rest …\n…"), "{cut}");
        assert_eq!(
            cut.chars().count(),
            MAX_SUMMARY + "…\n… see the chat for the rest …\n…".chars().count()
        );
        let lines = format!("{}rm -rf LAST", "echo one more\n".repeat(900));
        assert!(shown(&run("Tidy up", &lines)).ends_with("\n  rm -rf LAST"));
        let long = format!("{}\nrm -rf X", "echo 1\n".repeat(900));
        assert!(rows(&run("Tidy up", &long), true).iter().any(|row| row.text == "rm -rf X"));
        let many = "echo 1\n".repeat(MAX_COMMAND_LINES + 20_000);
        let last = rows(&run("Tidy up", &many), true).pop().unwrap();
        assert_eq!(last.text, "… 20000 more lines · <CR> on the title shows all");
        let endless = "x".repeat(MAX_COMMAND + 7);
        let last = rows(&run("Tidy up", &endless), true).pop().unwrap();
        assert_eq!(last.text, "… 7 more bytes · <CR> on the title shows all");
    }

    /// OpenCode sends the patch of an edit beside its diff.
    #[test]
    fn a_patch_is_shown_unless_a_diff_shows_all_of_it() {
        let head =
            "Index: /proj/a.py\n===\n--- /proj/a.py\n+++ /proj/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n";
        let shows_patch = |patch: &str| {
            let mut call = call("edit a.py", &[("diff", patch)]);
            let (old, new) = (Some("one\ntwo\n".to_owned()), "one\n2\n".to_owned());
            call.content = vec![ToolContent::Diff(Diff { path: "/proj/a.py".into(), old, new })];
            shown(&call).contains("diff: ")
        };
        assert!(!shows_patch(&format!("{head}+2\n\\ No newline at end of file\n")));
        assert!(shows_patch(&format!("{head}+3\n")));
        assert!(shows_patch(&format!("{head}+2\nrm -rf /\n")));
        assert!(shows_patch(&format!("{head}+2\n rm -rf /\n")));
        assert!(shows_patch(&format!("{head}+2\n@@ rm -rf / @@\n")));
        assert!(shows_patch(&format!("--- rm -rf /\n{head}+2\n")));
        assert!(shows_patch("rm -rf /\n"));
    }

    #[test]
    fn the_input_is_shown_unless_the_card_shows_it_already() {
        let query = call("Query", &[("sql", "drop table users;\ncommit"), ("force", "true")]);
        assert_eq!(shown(&query), "Query\nsql: drop table users;\n  commit\nforce: true");
        assert_eq!(shown(&call("Fetch", &[("", "http://a.test")])), "Fetch\nhttp://a.test");
        let mut edit =
            call("Edit a", &[("file_path", "/etc/a"), ("old_string", "x"), ("all", "false")]);
        let diff = Diff { path: "/etc/a".into(), old: Some("x".into()), new: "y".into() };
        edit.content = vec![ToolContent::Diff(diff)];
        assert_eq!(shown(&edit), "Edit a\n/etc/a");
        edit.locations = vec![Location { path: "../b".into(), line: None }];
        assert_eq!(shown(&edit), "Edit a\n../b\n/etc/a");
        edit.locations = vec![Location { path: "/proj/src/a".into(), line: None }];
        assert_eq!(shown(&edit), "Edit a\nsrc/a\n/etc/a");
    }
}
