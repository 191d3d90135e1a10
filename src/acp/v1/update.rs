//! Decodes `session/update`. An update that is unknown or malformed becomes `Update::Unknown`.

use super::chunk::{self, LastIds};
use super::tool;
use crate::acp::content;
use crate::acp::fields::{Fields, json};
use crate::acp::options;
use crate::acp::plan;
use crate::session::ids::{SessionId, ToolCallId};
use crate::session::tool_call::ToolCallPatch;
use crate::session::update::{Patch, Role, Severity, Update, Usage};
use serde_json::Value;

/// Decodes the params of a `session/update` into its session and the update. `None` if the session cannot be determined; such a
/// notification is dropped.
pub fn notification(params: &str, last: &mut LastIds) -> Option<(SessionId, Update)> {
    if let Some(found) = last.text_chunk(params) {
        return Some(found);
    }
    let Some(mut params) = json(params).and_then(Fields::of) else {
        return chunk::identify(params).map(|(session, tag)| {
            (session, malformed(&tag, "JSON that is too deep or too large"))
        });
    };
    let session = params.text("sessionId")?;
    let update = match params.object("update") {
        Some(update) => update_of(update),
        None => malformed("", "no update"),
    };
    Some((session.into(), update))
}

/// Decodes the `update` of a notification.
pub fn update_of(mut fields: Fields) -> Update {
    let Some(tag) = fields.text("sessionUpdate") else {
        let tag = fields.text("type").unwrap_or_default();
        return malformed(&tag, "no sessionUpdate, so not of the protocol this agent chose");
    };
    if let Some(role) = chunk::role(&tag) {
        return chunk_of(role, fields).unwrap_or_else(|| malformed(&tag, "no content"));
    }
    match tag.as_str() {
        "tool_call" | "tool_call_update" => tool_call(fields, &tag),
        "plan" => or_malformed(plan::decode(&mut fields), &tag, "no entries"),
        "available_commands_update" => {
            let commands = options::commands(&mut fields).map(Update::Commands);
            or_malformed(commands, &tag, "no availableCommands")
        }
        // The schema of ACP has `currentModeId`, an example in the specification `modeId`.
        "current_mode_update" => {
            let mode = fields.text("currentModeId").or_else(|| fields.text("modeId"));
            or_malformed(mode.map(Update::Mode), &tag, "no currentModeId")
        }
        "config_option_update" => {
            let options = options::config(&mut fields).map(Update::Options);
            or_malformed(options, &tag, "no configOptions")
        }
        "session_info_update" => {
            Update::Info { title: fields.patch("title"), updated_at: fields.patch("updatedAt") }
        }
        "usage_update" => or_malformed(usage(&mut fields), &tag, "neither used nor size"),
        "notice" => or_malformed(notice(&mut fields), &tag, "no title"),
        "compaction_update" => or_malformed(compaction(&mut fields), &tag, "no compactionId"),
        "compaction_summary_chunk" => {
            or_malformed(compaction_chunk(&mut fields), &tag, "no compactionId or content")
        }
        _ => Update::Unknown { tag, problem: None },
    }
}

/// Returns what stands for an update that makes no sense.
pub fn malformed(tag: &str, problem: &str) -> Update {
    Update::Unknown { tag: tag.to_owned(), problem: Some(problem.to_owned()) }
}

/// Returns the update, or what stands for one that makes no sense.
pub fn or_malformed(update: Option<Update>, tag: &str, problem: &str) -> Update {
    update.unwrap_or_else(|| malformed(tag, problem))
}

fn chunk_of(role: Role, mut fields: Fields) -> Option<Update> {
    let content = content::block(fields.any("content")?);
    Some(Update::Chunk { role, message: fields.text("messageId").map(Into::into), content })
}

fn tool_call(mut fields: Fields, tag: &str) -> Update {
    match fields.text("toolCallId") {
        Some(id) => {
            let announces = tag == "tool_call";
            let patch = ToolCallPatch { announces, ..tool::patch(&mut fields) };
            Update::ToolCall { id: ToolCallId::from(id), patch: Box::new(patch) }
        }
        None => malformed(tag, "no toolCallId"),
    }
}

fn usage(fields: &mut Fields) -> Option<Update> {
    let (used, size) = (fields.whole("used"), fields.whole("size"));
    let cost = fields.object("cost").and_then(|mut cost| {
        Some((cost.float("amount")?, cost.text("currency").unwrap_or_default()))
    });
    (used.is_some() || size.is_some()).then(|| {
        let (used, size) = (used.unwrap_or_default(), size.unwrap_or_default());
        Update::Usage(Usage { used, size, cost })
    })
}

fn notice(fields: &mut Fields) -> Option<Update> {
    let severity = match fields.text("severity").as_deref() {
        Some("error") => Severity::Error,
        Some("warning") => Severity::Warning,
        _ => Severity::Info,
    };
    Some(Update::Notice {
        severity,
        title: fields.text("title")?,
        description: fields.text("description"),
    })
}

fn compaction(fields: &mut Fields) -> Option<Update> {
    let summary = match fields.any_or_null("summary") {
        Some(Value::Array(blocks)) if !blocks.is_empty() => Patch::Set(content::blocks(blocks)),
        Some(Value::Array(_) | Value::Null) => Patch::Clear,
        _ => Patch::Unchanged,
    };
    Some(Update::Compaction {
        id: fields.text("compactionId")?,
        status: fields.text("status").unwrap_or_default(),
        summary,
        error: fields.patch("error"),
    })
}

fn compaction_chunk(fields: &mut Fields) -> Option<Update> {
    let content = content::block(fields.any("content")?);
    Some(Update::CompactionChunk { id: fields.text("compactionId")?, content })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn the_fast_path_gives_the_same_result(
            tag in "agent_message_chunk|agent_thought_chunk|user_message_chunk|x",
            kind in "text|image|x",
            text in ".*",
            id in proptest::option::of(".{0,3}"),
            session in ".{0,3}",
        ) {
            let content = json!({"type": kind, "text": text, "annotations": null});
            let update = json!({"messageId": id, "content": content, "sessionUpdate": tag, "_meta": {}});
            let params = json!({"update": update, "sessionId": session}).to_string();
            let expected = Fields::of(update).map(|fields| (SessionId::from(session), update_of(fields)));
            let mut last = LastIds::default();
            // The second time the ids are reused.
            prop_assert_eq!(notification(&params, &mut last), expected.clone());
            prop_assert_eq!(notification(&params, &mut last), expected);
        }
    }
}
