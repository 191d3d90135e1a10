//! Tool calls as agents announce and change them (ACP tool calls).

use super::content;
use super::fields::{self, Fields};
use crate::acp::quirks;
use crate::session::ids::TerminalId;
use crate::session::terminal::request::{quoted, runs_line};
use crate::session::terminal::{TerminalExit, TerminalNews};
use crate::session::tool_call::{
    Diff, Location, ToolCallPatch, ToolContent, ToolInput, ToolKind, ToolStatus,
};
use serde_json::Value;
use std::path::PathBuf;

/// What a `tool_call`, a `tool_call_update` or the `toolCall` of a permission changes: the fields that are
/// there, understood, and not `null`.
pub(super) fn patch(fields: &mut Fields) -> ToolCallPatch {
    let mut patch = ToolCallPatch {
        title: fields.text("title"),
        name: fields.text("name"),
        kind: fields.text("kind").map(|kind| tool_kind(&kind)),
        status: fields.text("status").and_then(|status| tool_status(&status)),
        content: fields.list("content").map(|items| items.into_iter().map(item).collect()),
        locations: fields.objects("locations").map(|all| all.filter_map(location).collect()),
        input: fields.any("rawInput").and_then(input),
        output: fields.any("rawOutput").as_ref().and_then(output),
        terminals: fields.object("_meta").map(terminals).unwrap_or_default(),
    };
    quirks::take_apart(&mut patch);
    patch
}

fn tool_kind(kind: &str) -> ToolKind {
    match kind {
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "delete" => ToolKind::Delete,
        "move" => ToolKind::Move,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "think" => ToolKind::Think,
        "fetch" => ToolKind::Fetch,
        "switch_mode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// `cancelled` is no status of version 1, but agents say it; what we do not know changes nothing.
fn tool_status(status: &str) -> Option<ToolStatus> {
    Some(match status {
        "pending" => ToolStatus::Pending,
        "in_progress" => ToolStatus::InProgress,
        "completed" => ToolStatus::Completed,
        "failed" => ToolStatus::Failed,
        "cancelled" | "canceled" => ToolStatus::Cancelled,
        _ => return None,
    })
}

fn item(value: Value) -> ToolContent {
    let Some(mut fields) = Fields::of(value) else {
        return ToolContent::Unknown { kind: String::new() };
    };
    let kind = fields.text("type").unwrap_or_default();
    let known = match kind.as_str() {
        "content" => fields.any("content").map(|block| ToolContent::Content(content::block(block))),
        "diff" => diff(&mut fields).map(ToolContent::Diff),
        "terminal" => fields.text("terminalId").map(|id| ToolContent::Terminal(id.into())),
        // A content block without the `content` around it: the specification's own example, and real agents.
        bare if content::is_kind(bare) => {
            Some(ToolContent::Content(content::of_kind(bare, fields)))
        }
        _ => None,
    };
    known.unwrap_or(ToolContent::Unknown { kind })
}

fn diff(fields: &mut Fields) -> Option<Diff> {
    Some(Diff {
        path: PathBuf::from(fields.text("path")?),
        old: fields.text("oldText"),
        new: fields.text("newText")?,
    })
}

fn location(mut fields: Fields) -> Option<Location> {
    let path = PathBuf::from(fields.text("path")?);
    let line = fields.whole("line").and_then(|line| u32::try_from(line).ok());
    Some(Location { path, line: line.filter(|line| *line > 0) })
}

/// What agents tell in `_meta` of terminals of their own, once we said that we show it (`outgoing::capabilities`).
fn terminals(mut meta: Fields) -> Vec<(TerminalId, TerminalNews)> {
    let mut news = Vec::new();
    let mut tell = |key: &str, what: fn(&mut Fields) -> Option<TerminalNews>| {
        let Some(mut fields) = meta.object(key) else { return };
        let id = fields.text("terminal_id").map(TerminalId::from);
        news.extend(id.zip(what(&mut fields)));
    };
    tell("terminal_info", |_| Some(TerminalNews::Begun));
    // Either is what was written since the last.
    for key in ["terminal_output", "terminal_output_delta"] {
        tell(key, |fields| fields.text("data").map(|text| TerminalNews::Output(text.into_bytes())));
    }
    tell("terminal_exit", |fields| Some(TerminalNews::Exited(exit(fields))));
    news
}

fn exit(fields: &mut Fields) -> TerminalExit {
    let code = fields.whole("exit_code").and_then(|code| u32::try_from(code).ok());
    TerminalExit { code, signal: fields.text("signal") }
}

/// A field of an input is kept with so many bytes; all of them are in its JSON.
const FIELD: usize = 16 * 1024;
/// So many of them.
const FIELDS: usize = 64;

/// What went into the tool. An empty object says nothing: agents announce a call before its input is known.
fn input(value: Value) -> Option<ToolInput> {
    if value.as_object().is_some_and(serde_json::Map::is_empty) {
        return None;
    }
    let json = format!("{value:#}");
    let Value::Object(map) = value else {
        return Some(ToolInput {
            fields: vec![(String::new(), as_text(value))],
            json,
            ..ToolInput::default()
        });
    };
    let mut input = ToolInput { json, ..ToolInput::default() };
    let args = map.get("args").cloned();
    for (name, value) in map {
        match name.as_str() {
            "command" | "cmd" if input.command.is_none() => {
                input.command = command_line(value, args.as_ref());
            }
            "args" if args.as_ref().is_some_and(Value::is_array) => {}
            "cwd" | "workdir" | "working_directory" if input.cwd.is_none() && value.is_string() => {
                input.cwd = Some(as_text(value));
            }
            _ if value.is_null() || input.fields.len() == FIELDS => {}
            _ => input.fields.push((name, as_text(value))),
        }
    }
    // Words for a command that there is none of.
    if let Some(args) = args.filter(|args| input.command.is_none() && args.is_array()) {
        input.fields.push(("args".to_owned(), as_text(args)));
    }
    Some(input)
}

/// A value as text, cut to what is kept of one.
fn as_text(value: Value) -> String {
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    if text.len() <= FIELD {
        return text;
    }
    let end = (0..=FIELD).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… ({} more bytes)", &text[..end], text.len() - end)
}

/// A command given as one line, as `[shell, "-c", line]`, or as words, with the words that follow it.
fn command_line(value: Value, args: Option<&Value>) -> Option<String> {
    let args = args.and_then(Value::as_array).cloned().map(fields::texts).unwrap_or_default();
    let words = match value {
        Value::String(line) if args.is_empty() => return Some(line),
        Value::String(line) => {
            let args = args.iter().map(|word| quoted(word));
            return Some(std::iter::once(line).chain(args).collect::<Vec<_>>().join(" "));
        }
        Value::Array(items) => fields::texts(items).into_iter().chain(args).collect::<Vec<_>>(),
        _ => return None,
    };
    match words.as_slice() {
        [] => None,
        [shell, flag, line] if runs_line(shell, flag) => Some(line.clone()),
        words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// What came out, as text: the text itself where the agent wraps it, else the JSON.
fn output(value: &Value) -> Option<String> {
    let wrapped = |key| value.get(key).and_then(Value::as_str);
    if let Some(text) = value.as_str().or_else(|| wrapped("output")).or_else(|| wrapped("error")) {
        return Some(text.to_owned());
    }
    let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
    (!empty).then(|| format!("{value:#}"))
}
