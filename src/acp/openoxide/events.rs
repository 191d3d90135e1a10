//! Decodes the events of OpenOxide. What its protocol leaves open is read in each way that suggests itself: an event may be
//! the params of a notification or a field of them, and an id or a text may have one of several names.

use crate::acp::fields::Fields;
use crate::acp::tool_data;
use crate::acp::unified;
use crate::session::content::Content;
use crate::session::ids::{SessionId, ToolCallId};
use crate::session::tool_call::{Diff, Location, ToolCallPatch, ToolContent, ToolKind, ToolStatus};
use crate::session::update::{PlanEntry, PlanPriority, PlanStatus, Role, Severity, Update};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What an event says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    Update(Update),
    Diff(DiffBlock),
    PlanStep(String),
    Error(String),
    /// The turn has ended.
    Done,
}

/// A change that the agent has made to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffBlock {
    path: PathBuf,
    /// As a unified diff.
    diff: String,
}

/// Decodes the params of a notification: the session that is named, and the event. `None` if there is no known event.
pub(super) fn decoded(mut params: Fields) -> Option<(Option<SessionId>, News)> {
    let session = session_of(&mut params);
    let mut event =
        ["event", "update"].into_iter().find_map(|name| params.object(name)).unwrap_or(params);
    let session = session.or_else(|| session_of(&mut event));
    let kind = event.text("type")?;
    let news = match kind.as_str() {
        "text_delta" => News::Update(Update::Chunk {
            role: Role::Agent,
            message: None,
            content: Content::Text(text(&mut event)?),
        }),
        "tool_use" => News::Update(tool_use(event)?),
        "tool_result" => News::Update(tool_result(event)?),
        "diff_block" => News::Diff(DiffBlock {
            path: PathBuf::from(first(&mut event, &["path", "file"])?),
            diff: first(&mut event, &["unified_diff", "diff", "patch"]).unwrap_or_default(),
        }),
        "plan_step" => News::PlanStep(
            text(&mut event).or_else(|| first(&mut event, &["step", "description", "title"]))?,
        ),
        "error" => News::Error(
            first(&mut event, &["message", "error"])
                .or_else(|| text(&mut event))
                .unwrap_or_else(|| "an error without a message".to_owned()),
        ),
        "done" => News::Done,
        _ => return None,
    };
    Some((session, news))
}

fn session_of(fields: &mut Fields) -> Option<SessionId> {
    first(fields, &["session_id", "sessionId"]).map(Into::into)
}

/// Returns the id of the session that a result names.
pub(super) fn session_id(result: Value) -> Option<SessionId> {
    if let Value::String(id) = result {
        return Some(id.into());
    }
    let mut fields = Fields::of(result)?;
    let id = first(&mut fields, &["session_id", "sessionId", "id"]);
    id.or_else(|| fields.object("session")?.text("id")).map(Into::into)
}

fn first(fields: &mut Fields, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| fields.text(name))
}

fn text(fields: &mut Fields) -> Option<String> {
    first(fields, &["text", "delta", "content"])
}

fn tool_id(fields: &mut Fields) -> Option<ToolCallId> {
    first(fields, &["tool_use_id", "tool_call_id", "id"]).map(Into::into)
}

fn tool_use(mut event: Fields) -> Option<Update> {
    let patch = ToolCallPatch {
        title: first(&mut event, &["name", "tool", "title"]),
        status: Some(ToolStatus::InProgress),
        input: ["input", "arguments"]
            .iter()
            .find_map(|key| event.any(key))
            .and_then(tool_data::input),
        ..ToolCallPatch::default()
    };
    Some(Update::ToolCall { id: tool_id(&mut event)?, patch: Box::new(patch) })
}

fn tool_result(mut event: Fields) -> Option<Update> {
    let has_failed = event.flag("is_error") || event.flag("isError");
    let output = ["output", "result", "content"].iter().find_map(|key| event.any(key));
    let patch = ToolCallPatch {
        status: Some(if has_failed { ToolStatus::Failed } else { ToolStatus::Completed }),
        output: output.as_ref().and_then(tool_data::output),
        ..ToolCallPatch::default()
    };
    Some(Update::ToolCall { id: tool_id(&mut event)?, patch: Box::new(patch) })
}

/// Returns the tool call that shows a change. The file has been written already, so there is nothing to ask.
pub(super) fn shown(block: DiffBlock, number: usize) -> Update {
    let DiffBlock { path, diff } = block;
    let diffs = fragments(&path, &diff);
    let as_text = || vec![ToolContent::Content(Content::Text(format!("```diff\n{diff}\n```")))];
    let line = None;
    let patch = ToolCallPatch {
        title: Some(format!("Edit {}", path.display())),
        kind: Some(ToolKind::Edit),
        status: Some(ToolStatus::Completed),
        content: Some(if diffs.is_empty() { as_text() } else { diffs }),
        locations: Some(vec![Location { path, line }]),
        ..ToolCallPatch::default()
    };
    Update::ToolCall { id: format!("diff_block {number}").into(), patch: Box::new(patch) }
}

/// Returns the old and new lines of each hunk of a unified diff.
fn fragments(path: &Path, diff: &str) -> Vec<ToolContent> {
    let diffs = unified::hunks(diff).into_iter().map(|unified::Hunk { old, new }| {
        let old = Some(old).filter(|old| !old.is_empty());
        ToolContent::Diff(Diff { path: path.to_owned(), old, new })
    });
    diffs.collect()
}

/// Adds a step to a plan. The steps before it are done.
pub(super) fn add_step(plan: &mut Vec<PlanEntry>, content: String) {
    for entry in &mut *plan {
        entry.status = PlanStatus::Completed;
    }
    let (priority, status) = (PlanPriority::Medium, PlanStatus::InProgress);
    plan.push(PlanEntry { content, priority, status });
}

/// Returns what shows an error that does not end the turn.
pub(super) fn failed(message: String) -> Update {
    Update::Notice { severity: Severity::Error, title: message, description: None }
}
