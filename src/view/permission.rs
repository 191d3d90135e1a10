//! What a tool call would do, row by row: what the user decides about has to be in sight, whole.

use super::content::clipped;
use super::line::{Class, Line, Look};
use super::scene::{self, Scene};
use crate::session::tool_call::{ToolCall, ToolInput};
use crate::session::transcript::ToolEntry;

/// Characters of a title that stand in one line.
pub(super) const TITLE: usize = 1000;
/// Bytes of a command that are shown; what nobody reads any more would hold the editor up.
const COMMAND: usize = 64 * 1024;
/// Lines shown of the rest of an input.
const FIELD: usize = 40;
/// Characters in a summary of it all.
const SUMMARY: usize = 4000;
/// A text shorter than this may stand in a change by chance.
const TELLING: usize = 8;

/// A row, with what stands before it.
struct Row {
    sign: &'static str,
    text: String,
}

/// The rows of what a call would do, below its title.
pub(super) fn lines(entry: &ToolEntry) -> Vec<Line> {
    let waits = super::card::is_waiting(entry);
    let line = |row: Row| {
        let look = if row.sign.trim().is_empty() { Look::Dim } else { Look::Active };
        Line::of(Class::Body, row.text).with_prefix(format!("  │ {}", row.sign), look)
    };
    rows(&entry.call, waits).into_iter().map(line).collect()
}

/// All that a call would do, as several lines of text.
pub fn summary(call: &ToolCall, scene: &Scene) -> String {
    let mut out = scene.title(call);
    let paths: Vec<_> = call.paths().map(|path| scene.shorten(path)).collect();
    for row in rows(call, true) {
        out.push('\n');
        out.push_str(row.sign);
        out.push_str(&row.text);
    }
    for (number, path) in paths.iter().enumerate() {
        if !paths[..number].contains(path) && !path.is_empty() && !says(&out, path) {
            out.push('\n');
            out.push_str(path);
        }
    }
    clipped(&out, SUMMARY)
}

fn rows(call: &ToolCall, waits: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let (title, empty) = (scene::title(call), ToolInput::default());
    let input = call.input.as_ref().unwrap_or(&empty);
    let first = title.lines().next().unwrap_or_default();
    let is_whole = first.len() == title.len() && title.chars().count() <= TITLE;
    let in_command = input.command.as_ref().is_some_and(|command| says(command, title));
    let unfolds = !is_whole && !in_command;
    if unfolds {
        rows.extend(signed("", "", title));
    }
    if let Some(command) = &input.command
        && !says(if unfolds || is_whole { title } else { "" }, command)
    {
        rows.extend(signed("$ ", "  ", command));
    }
    if !waits {
        return rows;
    }
    if let Some(cwd) = &input.cwd {
        rows.push(Row { sign: "", text: format!("in {cwd}") });
    }
    for (name, value) in input.fields.iter().filter(|(name, value)| !is_shown(call, name, value)) {
        rows.extend(field(name, value));
    }
    rows
}

/// The lines of a text, one sign before the first and another before the others. Beyond what can be shown, how much more
/// there is.
fn signed(first: &'static str, others: &'static str, text: &str) -> Vec<Row> {
    let end = (0..=COMMAND.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let (shown, rest) = text.split_at(end.unwrap_or_default());
    let lines = shown.lines().enumerate();
    let sign = |number| if number == 0 { first } else { others };
    let row = |(number, line): (usize, &str)| Row { sign: sign(number), text: line.to_owned() };
    let mut rows: Vec<Row> = lines.map(row).collect();
    if !rest.is_empty() {
        let text = format!("… it goes on for {} bytes · <CR> on the title shows all", rest.len());
        rows.push(Row { sign: others, text });
    }
    rows
}

/// A field of the input: in one row, or its lines below its name.
fn field(name: &str, value: &str) -> Vec<Row> {
    let before = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let mut lines = value.lines();
    let mut rows = Vec::new();
    for (number, line) in lines.by_ref().take(FIELD).enumerate() {
        let before = if number == 0 { before.as_str() } else { "  " };
        rows.push(Row { sign: "", text: format!("{before}{line}") });
    }
    let hidden = lines.count();
    if hidden > 0 {
        let text = format!("… {hidden} more lines · <CR> on the title shows all");
        rows.push(Row { sign: "", text });
    }
    rows
}

/// Whether the card shows the value of a field already: in the title, as a path, or as a change.
fn is_shown(call: &ToolCall, name: &str, value: &str) -> bool {
    let has_diffs = call.diffs().next().is_some();
    let of_change =
        ["old_string", "new_string", "oldString", "newString", "content", "old_str", "new_str"];
    let in_change = || {
        call.diffs().any(|diff| {
            diff.new.contains(value) || diff.old.as_ref().is_some_and(|old| old.contains(value))
        })
    };
    value.trim().is_empty()
        || says(scene::title(call), value)
        || call.paths().any(|path| path.to_string_lossy() == value)
        || has_diffs && value == "false"
        || has_diffs && (value.len() >= TELLING || of_change.contains(&name)) && in_change()
}

/// Whether a text says another one: not as a part of a word.
pub(super) fn says(text: &str, part: &str) -> bool {
    let part = part.trim();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let ends =
        |c: Option<char>, own: Option<char>| !(c.is_some_and(is_word) && own.is_some_and(is_word));
    !part.is_empty()
        && text.match_indices(part).any(|(at, found)| {
            ends(text[..at].chars().next_back(), found.chars().next())
                && ends(text[at + found.len()..].chars().next(), found.chars().next_back())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tool_call::{Diff, Location, ToolContent, ToolKind};

    fn shown(call: &ToolCall) -> String {
        summary(call, &Scene { cwd: "/proj".into(), agent: String::new() })
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
    fn every_line_of_a_title_and_a_command_is_shown() {
        assert_eq!(shown(&call("ls -la\nrm -rf X", &[])), "ls -la\nls -la\nrm -rf X");
        assert_eq!(
            shown(&run("ls -la\nrm -rf X", "ls -la\nrm -rf X")),
            "ls -la\n$ ls -la\n  rm -rf X"
        );
        assert_eq!(shown(&run("Run tools", "ls")), "Run tools\n$ ls");
        assert_eq!(shown(&run("`ls`", "ls")), "`ls`");
        assert_eq!(shown(&run("ls | wc -l", "ls | wc -l")), "ls | wc -l");
        let long = format!("{}\nrm -rf X", "echo 1\n".repeat(1000));
        assert!(rows(&run("Tidy up", &long), true).iter().any(|row| row.text == "rm -rf X"));
        let endless = "x".repeat(COMMAND + 7);
        let last = rows(&run("Tidy up", &endless), true).pop().unwrap();
        assert_eq!(last.text, "… it goes on for 7 bytes · <CR> on the title shows all");
    }

    #[test]
    fn what_goes_into_a_tool_is_shown_unless_it_is_in_sight() {
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
