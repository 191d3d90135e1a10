//! Decodes tool calls and their updates (ACP tool calls).

use super::content;
use super::fields::{self, Fields};
use crate::acp::quirks;
use crate::session::ids::TerminalId;
use crate::session::terminal::request::{quote, runs_line};
use crate::session::terminal::{TerminalExit, TerminalUpdate};
use crate::session::tool_call::{
    Diff, Location, ToolCallPatch, ToolContent, ToolInput, ToolKind, ToolStatus,
};
use serde_json::Value;
use std::path::PathBuf;

/// Decodes a `tool_call`, a `tool_call_update` or the `toolCall` of a permission request. Fields that are absent, `null` or
/// invalid leave the tool call unchanged.
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
    quirks::normalize_tool_call(&mut patch);
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

/// Decodes a status. Version 1 has no `cancelled`, but agents send it. An unknown one leaves the status unchanged.
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
        // A content block without the `content` around it, as in an example of the specification and from real agents.
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

/// Decodes the news about terminals of the agent itself in `_meta`, which agents send if `outgoing::capabilities` asks for it.
fn terminals(mut meta: Fields) -> Vec<(TerminalId, TerminalUpdate)> {
    let mut news = Vec::new();
    let mut add = |key: &str, decode: fn(&mut Fields) -> Option<TerminalUpdate>| {
        let Some(mut fields) = meta.object(key) else { return };
        let id = fields.text("terminal_id").map(TerminalId::from);
        news.extend(id.zip(decode(&mut fields)));
    };
    add("terminal_info", |_| Some(TerminalUpdate::Started));
    // Both contain only the output since the previous message.
    for key in ["terminal_output", "terminal_output_delta"] {
        add(key, |fields| {
            fields.text("data").map(|text| TerminalUpdate::Output(text.into_bytes()))
        });
    }
    add("terminal_exit", |fields| Some(TerminalUpdate::Exited(exit(fields))));
    news
}

fn exit(fields: &mut Fields) -> TerminalExit {
    let code = fields.whole("exit_code").and_then(|code| u32::try_from(code).ok());
    TerminalExit { code, signal: fields.text("signal") }
}

/// The maximum size of a field in `ToolInput::fields`, in bytes. `ToolInput::json` has it in full.
const MAX_FIELD_BYTES: usize = 16 * 1024;
/// The maximum number of fields in `ToolInput::fields`.
const MAX_FIELDS: usize = 64;

/// Decodes the input of a tool. An empty object counts as absent, since agents announce a call before its input is known.
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
            _ if value.is_null() || input.fields.len() == MAX_FIELDS => {}
            _ => input.fields.push((name, as_text(value))),
        }
    }
    // Without a command, `args` is a field like any other.
    if let Some(args) = args.filter(|args| input.command.is_none() && args.is_array()) {
        input.fields.push(("args".to_owned(), as_text(args)));
    }
    Some(input)
}

/// Returns a value as text, cut at `MAX_FIELD_BYTES`.
fn as_text(value: Value) -> String {
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    if text.len() <= MAX_FIELD_BYTES {
        return text;
    }
    let end = (0..=MAX_FIELD_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… ({} more bytes)", &text[..end], text.len() - end)
}

/// Formats a command as a shell would read it. It may be a line or a program, a list of words, or `[shell, "-c", line]`;
/// `args` follow it.
fn command_line(value: Value, args: Option<&Value>) -> Option<String> {
    let args = args.and_then(Value::as_array).cloned().map(fields::texts).unwrap_or_default();
    let words = match value {
        Value::String(line) if args.is_empty() => return Some(line),
        Value::String(line) => {
            let args = args.iter().map(|word| quote(word));
            return Some(std::iter::once(line).chain(args).collect::<Vec<_>>().join(" "));
        }
        Value::Array(items) => fields::texts(items).into_iter().chain(args).collect::<Vec<_>>(),
        _ => return None,
    };
    match words.as_slice() {
        [] => None,
        [shell, flag, line] if runs_line(shell, flag) => Some(line.clone()),
        words => Some(words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// Decodes the output of a tool: a string, which may be wrapped in an object, or else the JSON. `None` for an empty object.
fn output(value: &Value) -> Option<String> {
    let wrapped = |key| value.get(key).and_then(Value::as_str);
    if let Some(text) = value.as_str().or_else(|| wrapped("output")).or_else(|| wrapped("error")) {
        return Some(text.to_owned());
    }
    let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
    (!empty).then(|| format!("{value:#}"))
}
