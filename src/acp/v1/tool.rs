//! Decodes tool calls and their updates (ACP tool calls).

use crate::acp::content;
use crate::acp::fields::{Fields, cut, first};
use crate::acp::quirks;
use crate::acp::tool_data;
use crate::session::ids::TerminalId;
use crate::session::terminal::{TerminalExit, TerminalUpdate};
use crate::session::tool_call::{
    Diff, Location, MAX_ITEMS, Omitted, ToolCallPatch, ToolContent, ToolKind, ToolStatus,
};
use serde_json::Value;
use std::path::PathBuf;

/// The maximum size of a title, in bytes.
pub const MAX_TITLE_BYTES: usize = 64 * 1024;

/// Decodes a `tool_call`, a `tool_call_update` or the `toolCall` of a permission request. Fields that are absent, `null` or
/// invalid leave the tool call unchanged.
pub(super) fn patch(fields: &mut Fields) -> ToolCallPatch {
    let content = fields.list("content").map(|all| first(all.into_iter().map(item), MAX_ITEMS));
    let locations =
        fields.objects("locations").map(|all| first(all.filter_map(location), MAX_ITEMS));
    let omitted = omitted(content.as_ref(), locations.as_ref());
    let mut meta = fields.object("_meta");
    let by_subagent = meta.as_mut().is_some_and(is_of_subagent);
    let mut patch = ToolCallPatch {
        title: fields.text("title").map(|title| cut(title, MAX_TITLE_BYTES)),
        name: fields.text("name").map(|name| cut(name, MAX_TITLE_BYTES)),
        kind: fields.text("kind").map(|kind| tool_kind(&kind)),
        status: fields.text("status").and_then(|status| tool_status(&status)),
        content: content.map(|(items, _)| items),
        locations: locations.map(|(locations, _)| locations),
        omitted,
        input: fields.any("rawInput").and_then(tool_data::input),
        output: fields.any("rawOutput").as_ref().and_then(tool_data::output),
        by_subagent,
        announces: false,
        terminals: meta.map(terminals).unwrap_or_default(),
    };
    quirks::normalize_tool_call(&mut patch);
    patch
}

/// Returns how many of a call's items and locations were left out.
pub fn omitted(
    content: Option<&(Vec<ToolContent>, usize)>,
    locations: Option<&(Vec<Location>, usize)>,
) -> Omitted {
    let content = content.map_or(0, |(_, others)| *others);
    Omitted { content, locations: locations.map_or(0, |(_, others)| *others) }
}

/// Returns the kind with this name.
pub fn tool_kind(kind: &str) -> ToolKind {
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

/// Decodes a status. Version 1 has neither `cancelled`, which agents send, nor `paused`. An unknown one leaves the status
/// unchanged.
pub fn tool_status(status: &str) -> Option<ToolStatus> {
    Some(match status {
        "pending" | "paused" => ToolStatus::Pending,
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
    item_of_kind(fields.text("type").unwrap_or_default(), fields)
}

/// Decodes an item of content whose `type` field has been taken out already.
pub fn item_of_kind(kind: String, mut fields: Fields) -> ToolContent {
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

/// Decodes a location; `None` if it has no path.
pub fn location(mut fields: Fields) -> Option<Location> {
    let path = PathBuf::from(fields.text("path")?);
    let line = fields.whole("line").and_then(|line| u32::try_from(line).ok());
    Some(Location { path, line: line.filter(|line| *line > 0) })
}

/// Whether `_meta` says that a subagent makes the call, as Claude does: it names the call that the subagent was started with.
fn is_of_subagent(meta: &mut Fields) -> bool {
    let claude = meta.object("claudeCode");
    claude.is_some_and(|mut claude| claude.text("parentToolUseId").is_some())
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
