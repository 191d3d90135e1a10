//! How each variant of an update and each kind of content is drawn: messages made by hand, and golden texts of the
//! transcript. `UPDATE_EXPECT=1` writes them anew.

use super::world::World;
use crate::support::text;
use expect_test::{ExpectFile, expect_file};
use rat_nvim::acp::v1::table::{self, Row, handles};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// What is drawn, and the updates that draw it.
type Case = (&'static str, Vec<Json>);

fn update(tag: &str, fields: Json) -> Json {
    let mut update = json!({"sessionUpdate": tag});
    update.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap_or_default());
    update
}

/// Plays updates in a turn and says what is drawn after the prompt, and what the user is told besides.
fn draw(updates: &[Json]) -> String {
    let mut world = World::in_a_turn();
    let before = world.drawn();
    for update in updates {
        world.update(update);
    }
    assert_eq!(world.writes, 0, "what is shown is written");
    let drawn = world.drawn();
    let mut out = drawn.strip_prefix(&before).unwrap_or(&drawn).to_owned();
    for (level, text) in &world.told {
        writeln!(out, "told {level:?}: {text}").unwrap();
    }
    out
}

fn golden(cases: &[Case], file: &ExpectFile) {
    let mut golden = String::new();
    for (name, updates) in cases {
        writeln!(golden, "== {name}\n{}", draw(updates)).unwrap();
    }
    file.assert_eq(&golden);
}

/// Every row of this part of the table that is handled has a case of its name.
fn covers(cases: &[Case], rows: &[Row]) {
    for row in rows.iter().filter(|row| handles(rows, row.name)) {
        let begins = |name: &str| name == row.name || name.starts_with(&format!("{},", row.name));
        assert!(cases.iter().any(|(name, _)| begins(name)), "{} is not drawn", row.name);
    }
}

fn call(fields: Json) -> Json {
    let mut call = json!({"toolCallId": "t", "title": "Look around", "kind": "search"});
    call.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap_or_default());
    update("tool_call", call)
}

fn chunk(tag: &str, message: Json, words: &str) -> Json {
    update(tag, json!({"content": text(words), "messageId": message}))
}

fn messages() -> Vec<Case> {
    vec![
        ("user_message_chunk", vec![chunk("user_message_chunk", json!("u"), "said elsewhere")]),
        ("user_message_chunk, our own prompt", vec![chunk("user_message_chunk", json!("u"), "go")]),
        (
            "agent_message_chunk, of two messages",
            vec![
                chunk("agent_message_chunk", json!("a"), "# One\n\n```rust\nfn "),
                chunk("agent_message_chunk", json!("a"), "f() {}\n```\n"),
                chunk("agent_message_chunk", json!("b"), "two"),
            ],
        ),
        (
            "agent_message_chunk, without ids",
            vec![
                chunk("agent_message_chunk", Json::Null, "one, "),
                chunk("agent_message_chunk", Json::Null, "still one"),
                chunk("agent_thought_chunk", Json::Null, "hm"),
                chunk("agent_message_chunk", Json::Null, "two"),
            ],
        ),
        (
            "agent_thought_chunk",
            vec![
                chunk("agent_thought_chunk", json!("t"), "Let me\n"),
                chunk("agent_thought_chunk", json!("t"), "see."),
            ],
        ),
    ]
}

fn calls_and_plans() -> Vec<Case> {
    let entry = |content: &str, status: &str| json!({"content": content, "priority": "high", "status": status});
    let patched = |fields: Json| update("tool_call_update", fields);
    vec![
        ("tool_call", vec![call(json!({}))]),
        (
            "tool_call_update, of a call that was announced",
            vec![
                call(
                    json!({"status": "in_progress", "locations": [{"path": "/project/a.rs", "line": 3}]}),
                ),
                patched(json!({"toolCallId": "t", "status": "completed"})),
                patched(
                    json!({"toolCallId": "t", "title": null, "locations": [{"path": "/project/b.rs"}]}),
                ),
            ],
        ),
        (
            "tool_call_update, of one that was not",
            vec![patched(json!({"toolCallId": "new", "status": "failed", "name": "grep"}))],
        ),
        (
            "plan",
            vec![
                update("plan", json!({"entries": [entry("gone", "pending")]})),
                update(
                    "plan",
                    json!({"entries": [
                        entry("first", "completed"), entry("second", "in_progress"), entry("third", "pending"),
                        entry("fourth", "cancelled"), entry("fifth", "postponed"),
                    ]}),
                ),
            ],
        ),
        (
            "plan, emptied",
            vec![
                update("plan", json!({"entries": [entry("gone", "pending")]})),
                update("plan", json!({"entries": []})),
            ],
        ),
    ]
}

fn about_the_session() -> Vec<Case> {
    let compaction = |fields: Json| update("compaction_update", fields);
    vec![
        (
            "available_commands_update",
            vec![update(
                "available_commands_update",
                json!({"availableCommands": [{"name": "x", "description": "X"}]}),
            )],
        ),
        (
            "current_mode_update",
            vec![update("current_mode_update", json!({"currentModeId": "plan"}))],
        ),
        (
            "config_option_update",
            vec![update("config_option_update", json!({"configOptions": []}))],
        ),
        ("session_info_update", vec![update("session_info_update", json!({"title": "A title"}))]),
        (
            "usage_update",
            vec![update(
                "usage_update",
                json!({"used": 1, "size": 2, "cost": {"amount": 3.5, "currency": "credits"}}),
            )],
        ),
        (
            "notice",
            vec![
                update(
                    "notice",
                    json!({"severity": "error", "title": "Worse", "description": "by far"}),
                ),
                update("notice", json!({"severity": "odd", "title": "Strange"})),
            ],
        ),
        (
            "compaction_update",
            vec![
                compaction(json!({"compactionId": "1", "status": "in_progress"})),
                update(
                    "compaction_summary_chunk",
                    json!({"compactionId": "4", "content": text("It was ")}),
                ),
                update(
                    "compaction_summary_chunk",
                    json!({"compactionId": "4", "content": text("so long.")}),
                ),
                compaction(json!({"compactionId": "4", "status": "completed"})),
                compaction(json!({"compactionId": "2", "status": "failed", "error": "no room"})),
                compaction(
                    json!({"compactionId": "1", "status": "completed", "summary": [text("It was long.")]}),
                ),
                compaction(json!({"compactionId": "3", "status": "paused"})),
            ],
        ),
        (
            "compaction_summary_chunk",
            vec![update(
                "compaction_summary_chunk",
                json!({"compactionId": "1", "content": text("It was")}),
            )],
        ),
        ("an update of another version", vec![update("state_update", json!({"state": "idle"}))]),
        ("plan, malformed", vec![update("plan", json!({"entries": 5}))]),
    ]
}

/// ACP 62, 65, 77, 78, 86, 121, 123, 124.
#[test]
fn each_update_is_drawn_as_the_golden_file_says() {
    let cases = [messages(), calls_and_plans(), about_the_session()].concat();
    covers(&cases, table::UPDATES);
    golden(&cases, &expect_file!["../golden/updates.txt"]);
}

fn contents() -> Vec<(&'static str, Json)> {
    let resource = |resource: Json| json!({"type": "resource", "resource": resource});
    vec![
        ("text", text("Hello *you*")),
        ("image", json!({"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"})),
        (
            "image, with all that is said of it",
            json!({"type": "image", "data": "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA=", "mimeType": "image/png",
                "uri": "https://a.b/c\u{202e}.png", "annotations": {"audience": ["user"], "priority": 0.8}}),
        ),
        ("audio", json!({"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/ogg"})),
        (
            "resource_link",
            json!({"type": "resource_link", "uri": "file:///project/a.rs", "name": "a.rs"}),
        ),
        (
            "resource_link, with all that is said of it",
            json!({"type": "resource_link", "uri": "https://a.b/c", "name": "c", "title": "A title\nin two",
                "description": "About it", "mimeType": "text/html", "size": 20480,
                "annotations": {"audience": ["assistant"], "priority": 7, "lastModified": "?"}}),
        ),
        (
            "resource, long",
            resource(json!({"uri": "file:///project/long.txt", "text": "a line\n".repeat(1000)})),
        ),
        ("resource", resource(json!({"uri": "file:///project/a.rs", "text": "fn main() {}\n"}))),
        ("resource, binary", resource(json!({"uri": "file:///project/a.bin", "blob": "aGVsbG8="}))),
        ("hologram", json!({"type": "hologram", "text": "?"})),
    ]
}

/// ACP 63.
#[test]
fn each_kind_of_content_is_drawn_as_the_golden_file_says() {
    let cases: Vec<Case> = contents()
        .into_iter()
        .map(|(name, content)| {
            let message = update("agent_message_chunk", json!({"content": content}));
            let thought = update("agent_thought_chunk", json!({"content": content}));
            let item = json!({"type": "content", "content": content});
            (name, vec![message, thought, call(json!({"content": [item]}))])
        })
        .collect();
    covers(&cases, table::CONTENT);
    golden(&cases, &expect_file!["../golden/content.txt"]);
}

/// ACP 79, 84, 85.
#[test]
fn each_kind_of_content_of_a_tool_call_is_drawn_as_the_golden_file_says() {
    let content = |items: Json| vec![call(json!({"content": items}))];
    let diff = |old: Json, new: &str| json!({"type": "diff", "path": "/project/a.rs", "oldText": old, "newText": new});
    let cases = [
        ("content", content(json!([{"type": "content", "content": text("two\nlines")}]))),
        ("content, bare", content(json!([text("bare")]))),
        ("diff", content(json!([diff(json!("one\ntwo\n"), "one\n2\n")]))),
        ("diff, of a new file", content(json!([diff(json!(null), "new\n")]))),
        ("terminal", content(json!([{"type": "terminal", "terminalId": "t1"}]))),
        (
            "hologram, among others",
            content(json!([text("before"), {"type": "hologram"}, 5, text("after")])),
        ),
    ];
    covers(&cases, table::TOOL_CONTENT);
    golden(&cases, &expect_file!["../golden/tool_content.txt"]);
}

/// ACP 121.
#[test]
fn a_plan_that_is_taken_back_in_a_later_turn_is_gone_from_its_split() {
    let mut world = World::in_a_turn();
    let entry = json!({"content": "a step", "priority": "low", "status": "pending"});
    world.update(&update("plan", json!({"entries": [entry]})));
    assert_eq!(world.views["plan"][1].text, "    a step");
    world.answer("session/prompt", &json!({"stopReason": "end_turn"}));
    world.prompt("drop it");
    world.update(&update("plan", json!({"entries": []})));
    let plan: Vec<_> = world.views["plan"].iter().map(|line| line.text.as_str()).collect();
    assert_eq!(plan, ["The agent cleared its plan"]);
}
