//! Decodes `session/update`. One notification may become several updates.

use super::tool;
use crate::acp::content;
use crate::acp::fields::{Fields, json};
use crate::acp::plan;
use crate::acp::v1::chunk::{self, LastIds};
use crate::acp::v1::reply;
use crate::acp::v1::update::{malformed, or_malformed, update_of};
use crate::core::messages::agent::CallError;
use crate::session::content::{About, Content};
use crate::session::ids::{SessionId, TerminalId, ToolCallId};
use crate::session::terminal::{TerminalExit, TerminalUpdate};
use crate::session::turn::{Activity, StopReason};
use crate::session::update::{PlanEntry, Role, Update};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::HashMap;

/// What a notification tells.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Updates of a session.
    Updates(SessionId, Vec<Update>),
    /// A session has a subagent with a session of its own (ACP draft, subagents).
    Subagent {
        /// The session of the agent.
        parent: SessionId,
        /// The session of the subagent.
        child: SessionId,
    },
}

/// The plans of each session by their ids, in the order in which they were first seen.
#[derive(Debug, Default)]
pub struct Plans(HashMap<SessionId, Vec<(String, Vec<PlanEntry>)>>);

impl Plans {
    /// Replaces a plan, and returns the entries of all plans of the session.
    fn set(&mut self, session: &SessionId, id: String, entries: Vec<PlanEntry>) -> Vec<PlanEntry> {
        let plans = self.0.entry(session.clone()).or_default();
        match plans.iter_mut().find(|(known, _)| *known == id) {
            Some((_, old)) => *old = entries,
            None => plans.push((id, entries)),
        }
        plans.iter().flat_map(|(_, entries)| entries.iter().cloned()).collect()
    }

    fn has(&self, session: &SessionId, id: &str) -> bool {
        self.0.get(session).is_some_and(|plans| plans.iter().any(|(known, _)| known == id))
    }
}

/// Decodes the params of a `session/update`. `None` if the session cannot be determined; such a notification is dropped.
pub fn notification(params: &str, last: &mut LastIds, plans: &mut Plans) -> Option<News> {
    if let Some((session, chunk)) = last.text_chunk(params) {
        return Some(News::Updates(session, vec![chunk]));
    }
    let Some(mut fields) = json(params).and_then(Fields::of) else {
        let problem = "JSON that is too deep or too large";
        let (session, tag) = chunk::identify(params)?;
        return Some(News::Updates(session, vec![malformed(&tag, problem)]));
    };
    let session = fields.text("sessionId")?.into();
    let updates = match fields.object("update") {
        Some(mut update) if tag_of(&update) == "subagent_update" => {
            let child = update.text("sessionId")?.into();
            return Some(News::Subagent { parent: session, child });
        }
        Some(update) => updates(&session, update, plans),
        None => vec![malformed("", "no update")],
    };
    Some(News::Updates(session, updates))
}

fn tag_of(update: &Fields) -> &str {
    let tag = update.peek("sessionUpdate").or_else(|| update.peek("type"));
    tag.and_then(Value::as_str).unwrap_or_default()
}

fn updates(session: &SessionId, mut fields: Fields, plans: &mut Plans) -> Vec<Update> {
    let tag = tag_of(&fields).to_owned();
    let one = match tag.as_str() {
        "user_message" => return message(Role::User, &tag, fields).into_iter().collect(),
        "agent_message" => return message(Role::Agent, &tag, fields).into_iter().collect(),
        "agent_thought" => return message(Role::Thought, &tag, fields).into_iter().collect(),
        "tool_call_update" => or_malformed(tool_call(fields), &tag, "no toolCallId"),
        "tool_call_content_chunk" => return tool_content(fields),
        "terminal_update" => return terminal(fields),
        "terminal_output_chunk" => {
            or_malformed(output_chunk(fields), &tag, "no terminalId or data")
        }
        "state_update" => or_malformed(activity(fields), &tag, "no state"),
        "plan_update" => {
            let plan = fields.object("plan").unwrap_or_default();
            or_malformed(plan_update(session, plan, plans), &tag, "no entries")
        }
        "plan_removed" => or_malformed(plan_removed(session, fields, plans), &tag, "no planId"),
        _ => update_of(fields),
    };
    vec![one]
}

/// Decodes a whole message. Without `content` it says nothing new.
fn message(role: Role, tag: &str, mut fields: Fields) -> Option<Update> {
    let Some(message) = fields.text("messageId").map(Into::into) else {
        return Some(malformed(tag, "no messageId"));
    };
    let content = match fields.any_or_null("content")? {
        Value::Array(blocks) => content::blocks(blocks),
        _ => Vec::new(),
    };
    Some(Update::Message { role, message, content })
}

fn tool_call(mut fields: Fields) -> Option<Update> {
    let id = ToolCallId::from(fields.text("toolCallId")?);
    Some(Update::ToolCall { id, patch: Box::new(tool::patch(&mut fields)) })
}

fn tool_content(mut fields: Fields) -> Vec<Update> {
    let (Some(id), Some(item)) = (fields.text("toolCallId"), fields.any("content")) else {
        return vec![malformed("tool_call_content_chunk", "no toolCallId or content")];
    };
    let id = ToolCallId::from(id);
    let items = tool::items(item).into_iter();
    items.map(|content| Update::ToolContent { id: id.clone(), content }).collect()
}

/// Decodes the state of a terminal of the agent's own. Its size and folder are not shown.
fn terminal(mut fields: Fields) -> Vec<Update> {
    let Some(id) = fields.text("terminalId").map(TerminalId::from) else {
        return vec![malformed("terminal_update", "no terminalId")];
    };
    let output = match fields.any_or_null("output") {
        Some(Value::Null) => Some(Vec::new()),
        output => output.and_then(Fields::of).and_then(|mut output| data(&mut output)),
    };
    let exit = fields.object("exitStatus").map(|mut exit| {
        let code = exit.whole("exitCode").and_then(|code| u32::try_from(code).ok());
        TerminalExit { code, signal: exit.text("signal") }
    });
    let news = [
        Some(TerminalUpdate::Started),
        fields.text("command").map(TerminalUpdate::Command),
        output.map(TerminalUpdate::Whole),
        exit.map(TerminalUpdate::Exited),
    ];
    let news = news.into_iter().flatten();
    news.map(|update| Update::Terminal { id: id.clone(), update }).collect()
}

fn output_chunk(mut fields: Fields) -> Option<Update> {
    let id = fields.text("terminalId")?.into();
    Some(Update::Terminal { id, update: TerminalUpdate::Output(data(&mut fields)?) })
}

/// Takes bytes that are encoded in base64.
fn data(fields: &mut Fields) -> Option<Vec<u8>> {
    STANDARD.decode(fields.text("data")?).ok()
}

fn plan_update(session: &SessionId, mut plan: Fields, plans: &mut Plans) -> Option<Update> {
    let kind = plan.text("type").unwrap_or_default();
    let id = plan.text("planId").unwrap_or_default();
    let content = match kind.as_str() {
        "items" | "" => match plan::decode(&mut plan)? {
            Update::Plan(entries) => return Some(Update::Plan(plans.set(session, id, entries))),
            other => return Some(other),
        },
        "markdown" => Content::Text(plan.text("content")?),
        "file" => {
            let uri = plan.text("uri")?;
            Content::ResourceLink { name: uri.clone(), uri, mime: None, about: About::default() }
        }
        _ => return Some(Update::Unknown { tag: format!("plan_update {kind}"), problem: None }),
    };
    Some(plan_message(&id, vec![content]))
}

/// Returns a plan that is no list of tasks as a message that changes in place.
fn plan_message(id: &str, content: Vec<Content>) -> Update {
    Update::Message { role: Role::Agent, message: format!("plan {id}").into(), content }
}

fn plan_removed(session: &SessionId, mut fields: Fields, plans: &mut Plans) -> Option<Update> {
    let id = fields.text("planId")?;
    Some(if plans.has(session, &id) {
        Update::Plan(plans.set(session, id, Vec::new()))
    } else {
        plan_message(&id, Vec::new())
    })
}

/// Decodes the agent's state. One that nobody knows must not look like the end of a turn.
fn activity(mut fields: Fields) -> Option<Update> {
    let state = fields.text("state")?;
    if state != "idle" {
        return Some(Update::Activity(Activity::Busy));
    }
    Some(Update::Activity(match fields.peek("stopReason").and_then(Value::as_str) {
        None => Activity::Idle(StopReason::EndTurn),
        Some("error") => Activity::Failed(failure(fields.any("error"))),
        Some(_) => Activity::Idle(reply::stop_reason(&mut fields)),
    }))
}

/// Describes the error that ended a turn in one line.
fn failure(error: Option<Value>) -> String {
    match error.map(|error| reply::error(&error.to_string())) {
        Some(CallError::Rpc { message, detail: Some(detail), .. }) => {
            format!("{message}: {detail}")
        }
        Some(CallError::Rpc { message, .. }) => message,
        _ => "an error without a message".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(update: &Value, plans: &mut Plans) -> Vec<Update> {
        let params = json!({"sessionId": "s", "update": update}).to_string();
        match notification(&params, &mut LastIds::default(), plans) {
            Some(News::Updates(_, updates)) => updates,
            other => panic!("{other:?}"),
        }
    }

    fn state(update: Value) -> Activity {
        match read(&update, &mut Plans::default()).pop() {
            Some(Update::Activity(activity)) => activity,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_idle_ends_a_turn() {
        let idle = |reason: Value| json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": reason});
        assert_eq!(state(idle(json!(null))), Activity::Idle(StopReason::EndTurn));
        assert_eq!(state(idle(json!("cancelled"))), Activity::Idle(StopReason::Cancelled));
        let mut failed = idle(json!("error"));
        assert_eq!(state(failed.clone()), Activity::Failed("an error without a message".into()));
        failed["error"] =
            json!({"code": -32603, "message": "No\nmodel", "data": {"details": "quota"}});
        assert_eq!(state(failed), Activity::Failed("No model: quota".into()));
        for busy in ["running", "requires_action", "_dreaming"] {
            let update = json!({"sessionUpdate": "state_update", "state": busy});
            assert_eq!(state(update), Activity::Busy, "{busy}");
        }
    }

    #[test]
    fn the_plans_of_a_session_are_shown_one_below_the_other() {
        let mut plans = Plans::default();
        let mut plan = |id: &str, tasks: &[&str]| {
            let entries: Vec<_> = tasks.iter().map(|task| json!({"content": task})).collect();
            let plan = json!({"type": "items", "planId": id, "entries": entries});
            match &read(&json!({"sessionUpdate": "plan_update", "plan": plan}), &mut plans)[..] {
                [Update::Plan(all)] => all.iter().map(|it| it.content.clone()).collect::<Vec<_>>(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(plan("a", &["one", "two"]), ["one", "two"]);
        assert_eq!(plan("b", &["three"]), ["one", "two", "three"]);
        assert_eq!(plan("a", &["new"]), ["new", "three"]);
        assert_eq!(plan("b", &[]), ["new"]);
        let removed = json!({"sessionUpdate": "plan_removed", "planId": "a"});
        assert_eq!(read(&removed, &mut plans), [Update::Plan(Vec::new())]);
    }

    #[test]
    fn a_plan_in_markdown_is_a_message_that_changes_in_place() {
        let plan = json!({"type": "markdown", "planId": "m", "content": "# First"});
        let shown = |content: Vec<Content>| vec![plan_message("m", content)];
        let update = json!({"sessionUpdate": "plan_update", "plan": plan});
        let mut plans = Plans::default();
        assert_eq!(read(&update, &mut plans), shown(vec![Content::Text("# First".into())]));
        let removed = json!({"sessionUpdate": "plan_removed", "planId": "m"});
        assert_eq!(read(&removed, &mut plans), shown(Vec::new()));
    }

    #[test]
    fn the_bytes_of_a_terminal_come_in_base64() {
        let update = json!({"sessionUpdate": "terminal_update", "terminalId": "t", "command": "make",
            "output": {"data": "aGk="}, "exitStatus": {"exitCode": 2}});
        let news = read(&update, &mut Plans::default()).into_iter().map(|it| match it {
            Update::Terminal { update, .. } => update,
            other => panic!("{other:?}"),
        });
        let exit = TerminalExit { code: Some(2), signal: None };
        let expected = [
            TerminalUpdate::Started,
            TerminalUpdate::Command("make".into()),
            TerminalUpdate::Whole(b"hi".to_vec()),
            TerminalUpdate::Exited(exit),
        ];
        assert_eq!(news.collect::<Vec<_>>(), expected);
        let chunk =
            json!({"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "?"});
        let problem = read(&chunk, &mut Plans::default());
        assert!(matches!(&problem[..], [Update::Unknown { problem: Some(_), .. }]), "{problem:?}");
    }
}
