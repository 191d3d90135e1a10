//! Each update of a session becomes an event of its own name, and each event is a table with the number of its chat.

use super::*;
use crate::core::messages::conversation::{ConversationEvent, ToolCallEvent};
use crate::session::content;
use crate::session::terminal::{TerminalExit, TerminalUpdate};
use crate::session::tool_call::{self, Diff, FileChange, ToolCallPatch};
use crate::session::turn::{self, StopReason};
use crate::session::update::{self, Patch, Update};
use rmpv::Value;

fn told(event: ConversationEvent) -> (String, Value) {
    let value = crate::nvim::value::write(&SessionEvent::new(7, event));
    (value["name"].as_str().unwrap().to_owned(), value["data"].clone())
}

fn told_update(update: Update) -> (String, Value) {
    told(ConversationEvent::Update { update, is_replayed: false })
}

fn text(text: &str) -> content::Content {
    content::Content::Text(text.to_owned())
}

#[test]
fn each_update_becomes_an_event_of_its_name() {
    let usage = update::Usage { used: 1, size: 2, cost: Some((0.5, "USD".to_owned())) };
    let terminal = |update| Update::Terminal { id: "t".into(), update };
    let exit = TerminalExit { code: Some(2), signal: None };
    let item =
        tool_call::ToolContent::Diff(Diff { path: "/a".into(), old: None, new: "b".to_owned() });
    let compaction = Update::Compaction {
        id: "c".to_owned(),
        status: String::new(),
        summary: Patch::Clear,
        error: Patch::Unchanged,
    };
    let meta = update::Meta { kind: "plan".to_owned(), id: None, json: None, size: 3 };
    let updates = [
        (
            "message",
            Update::Message {
                role: update::Role::User,
                message: "m".into(),
                content: vec![text("a")],
            },
        ),
        ("tool_call", Update::ToolCall { id: "t".into(), patch: Box::default() }),
        ("tool_content", Update::ToolContent { id: "t".into(), content: item }),
        ("terminal", terminal(TerminalUpdate::Started)),
        ("terminal", terminal(TerminalUpdate::Command("ls".to_owned()))),
        ("terminal", terminal(TerminalUpdate::Output(b"a\xffb".to_vec()))),
        ("terminal", terminal(TerminalUpdate::Whole(Vec::new()))),
        ("terminal", terminal(TerminalUpdate::Exited(exit))),
        ("plan", Update::Plan(Vec::new())),
        ("commands", Update::Commands(Vec::new())),
        ("mode", Update::Mode("ask".to_owned())),
        ("options", Update::Options(Vec::new())),
        ("session_info", Update::Info { title: Patch::Clear, updated_at: Patch::Unchanged }),
        ("usage", Update::Usage(usage)),
        (
            "notice",
            Update::Notice {
                severity: update::Severity::Info,
                title: String::new(),
                description: None,
            },
        ),
        ("compaction", compaction),
        ("compaction_chunk", Update::CompactionChunk { id: "c".to_owned(), content: text("a") }),
        ("meta", Update::Meta(meta)),
        ("activity", Update::Activity(turn::Activity::Busy)),
        ("activity", Update::Activity(turn::Activity::Idle(StopReason::EndTurn))),
        ("activity", Update::Activity(turn::Activity::Failed("no".to_owned()))),
        ("unknown", Update::Unknown { tag: "x".to_owned(), problem: None }),
    ];
    for (name, update) in updates {
        let (found, data) = told_update(update);
        assert_eq!((found.as_str(), &data["chat"]), (name, &Value::from(7)));
    }
}

#[test]
fn what_is_cleared_is_empty_and_what_has_not_changed_is_missing() {
    let info = Update::Info { title: Patch::Clear, updated_at: Patch::Unchanged };
    let (_, data) = told_update(info);
    assert_eq!((&data["title"], &data["updated_at"]), (&Value::from(""), &Value::Nil));
}

#[test]
fn titles_are_one_clean_line_and_texts_as_they_were_sent() {
    let hostile = "a\u{1b}[2J\nb";
    let patch = ToolCallPatch {
        output: Some(hostile.to_owned()),
        content: Some(vec![
            tool_call::ToolContent::Content(text(hostile)),
            tool_call::ToolContent::Change(FileChange {
                done: "moved".to_owned(),
                path: "/b".into(),
                from: Some("/a".into()),
            }),
            tool_call::ToolContent::Terminal("t".into()),
            tool_call::ToolContent::Unknown { kind: hostile.to_owned() },
        ]),
        ..ToolCallPatch::default()
    };
    let call = ToolCallEvent {
        id: "t".into(),
        patch,
        is_new: true,
        title: hostile.to_owned(),
        kind: tool_call::ToolKind::Other,
        status: tool_call::ToolStatus::Pending,
        is_replayed: false,
    };
    let (name, data) = told(ConversationEvent::ToolCall(Box::new(call)));
    assert_eq!(name, "tool_call");
    assert!(!data["title"].as_str().unwrap().contains(['\u{1b}', '\n']));
    assert_eq!(data["output"].as_str(), Some(hostile));
    assert_eq!(data["content"][0]["content"]["text"].as_str(), Some(hostile));
    assert_eq!(data["content"][1]["what"].as_str(), Some("moved"));
    assert_eq!(data["content"][2]["terminal"].as_str(), Some("t"));
    assert!(!data["content"][3]["what"].as_str().unwrap().contains('\u{1b}'));
    assert_eq!(data["locations"], Value::Nil, "they have not changed");
}
