//! Decoding of each message, and an error with the field's path for each invalid field.

use super::start::StartRequest;
use super::*;
use crate::config::resolve::AgentSelection;
use crate::core::messages::elicitation::ElicitationChoice;
use crate::core::messages::policy::ChatPolicy;
use crate::core::messages::user::{PermissionChoice, SessionTarget};
use crate::session::content::ContentId;
use crate::session::elicitation::FieldValue;
use proptest::prelude::*;
use rmpv::{Utf8String, Value};
use serde_json::{Value as Json, json};

/// Converts JSON to a value as Lua would send it.
fn lua(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(flag) => (*flag).into(),
        Json::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::Array(items.iter().map(lua).collect()),
        Json::Object(fields) => {
            Value::Map(fields.iter().map(|(name, it)| (name.as_str().into(), lua(it))).collect())
        }
    }
}

fn said(name: &str, payload: &Json) -> Result<LuaMessage, String> {
    notification(name, vec![lua(payload)]).map_err(|error| error.to_string())
}

fn action(name: &str, payload: &Json) -> UserAction {
    match said(name, payload) {
        Ok(LuaMessage::User(action)) => action,
        other => panic!("{name} with {payload}: {other:?}"),
    }
}

/// A payload for each message, with every field it can have.
fn all() -> Vec<(&'static str, Json)> {
    let chat = json!({"chat": 1});
    vec![
        ("start", start()),
        ("sessions", json!({"act": "open", "cwd": "/a"})),
        ("sessions_more", json!({})),
        ("search", json!({"request": 3, "words": "fix parser"})),
        ("session_close", json!({"agent": "a", "session": "s"})),
        ("session_delete", json!({"agent": "a", "session": "s", "cwd": "/a"})),
        ("prompt", json!({"chat": 1, "text": "hi", "attachments": [attachment()], "now": true})),
        ("cancel", chat.clone()),
        ("stop", chat.clone()),
        ("close", chat.clone()),
        ("restart", chat.clone()),
        ("option", json!({"chat": 1, "option": "mode", "value": "plan"})),
        ("login", json!({"chat": 1, "method": "m"})),
        ("login_ended", json!({"chat": 1, "status": -1})),
        ("logout", chat.clone()),
        ("queue_take", json!({"chat": 1, "number": 2})),
        ("queue_drop", json!({"chat": 1, "number": 2})),
        ("queue_send", json!({"chat": 1, "number": 2})),
        (
            "queue_arrange",
            json!({"chat": 1, "prompts": [{"number": 2, "text": "hi", "changed": true}], "known": [2]}),
        ),
        ("export_chat", json!({"chat": 1, "path": "/a", "replace": true})),
        ("queue_go", chat),
        (
            "permission",
            json!({"chat": 1, "id": 2, "revision": 3, "option": "o", "allow": true, "reason": "r"}),
        ),
        ("elicitation", json!({"chat": 1, "id": 2, "action": "check", "entered": entered()})),
        ("answer", json!({"id": 1, "index": 1})),
        ("diff", json!({"chat": 1, "id": 2, "tool_call": "t"})),
        ("fork", json!({"chat": 1})),
        ("turns", json!({"chat": 1, "request": 2, "entry": 3})),
        ("show_write", json!({"id": 1})),
        ("decide_write", json!({"id": 1, "lines": ["a"]})),
        ("diff_edited", json!({"chat": 1, "path": "/a", "old": [], "new": ["a"], "edited": ["b"]})),
        ("output", json!({"chat": 1, "tool_call": "t"})),
        ("terminal", json!({"chat": 1, "terminal": "t", "show": true})),
        (
            "content",
            json!({"chat": 1, "id": ContentId::Message(0, 0).encode(), "act": "write", "path": "/a", "replace": true, "use": "show"}),
        ),
        ("show", json!({"chat": 1})),
        ("trace", json!({"chat": 1, "act": "open", "filter": "session/update"})),
        ("save_trace", json!({"chat": 1, "path": "/a", "replace": true})),
        ("redraw", json!({"chat": 1, "view": "plan"})),
        ("configure", json!({"log_level": "debug"})),
        ("problem", json!({"text": "t"})),
        ("buffer", json!({"kind": "read", "path": "/a"})),
    ]
}

fn start() -> Json {
    json!({
        "agent": "a",
        "options": {
            "command": "c",
            "args": ["x"],
            "env": {"A": "1"},
            "cwd": "/b",
            "mcp_servers": {
                "s": {"type": "stdio", "command": "c", "args": ["x"], "env": {"A": "1"}},
                "h": {"url": "u", "headers": {"A": "1"}},
            },
            "options": {"mode": "plan"},
            "auth_method": "m",
            "timeouts": {"initialize": 1, "authenticate": 0, "session": 2, "request": 3, "cancel": 4},
            "install_hint": "i",
        },
        "mcp_servers": {"t": {"command": "c"}},
        "settings_file": "/a/rat.json",
        "environment": {"B": "2"},
        "cwd": "/a",
        "directories": ["/b"],
        "project_settings": ["option mode = plan"],
        "unsaved": "save",
        "write_dirty": "ask",
        "review": "off",
        "wish": "session",
        "session": "s",
        "focus": true,
    })
}

fn attachment() -> Json {
    json!({
        "uri": "file:///a", "label": "a", "first": 1, "last": 2, "part": "p", "mime": "m", "text": "t",
        "path": "/a",
    })
}

fn entered() -> Json {
    json!([{"key": "a", "value": "x"}, {"key": "b", "value": true}, {"key": "c", "value": ["y"]}])
}

/// Calls `visit` with the path of each scalar in `json` as errors write it, and with its JSON pointer.
fn each_scalar(json: &Json, path: &str, pointer: &str, visit: &mut dyn FnMut(&str, &str)) {
    match json {
        Json::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                let below = (format!("{path}{dot}{name}"), format!("{pointer}/{name}"));
                each_scalar(value, &below.0, &below.1, visit);
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{}]", index + 1);
                each_scalar(item, &path, &format!("{pointer}/{index}"), visit);
            }
        }
        _ => visit(path, pointer),
    }
}

#[test]
fn each_message_is_read() {
    for (name, payload) in all() {
        assert!(said(name, &payload).is_ok(), "{name}: {:?}", said(name, &payload));
    }
}

/// Holds (Messages between Lua and the binary): A message from Lua is read whole, or refused with the path of the wrong field.
#[test]
fn each_bad_field_is_named_by_its_path() {
    for (name, payload) in all() {
        each_scalar(&payload, "", "", &mut |path, pointer| {
            let mut broken = payload.clone();
            // No field of any message is a table with this field.
            *broken.pointer_mut(pointer).unwrap() = json!({"wrong": 1});
            let error = said(name, &broken).unwrap_err();
            assert!(error.starts_with(&format!("{name}: {path}: expected ")), "{error}");
            assert!(error.ends_with("got a table"), "{error}");
        });
    }
}

#[test]
fn a_field_that_is_unknown_or_missing_is_named() {
    for (name, mut payload) in all() {
        payload["colour"] = json!("red");
        assert_eq!(said(name, &payload), Err(format!("{name}: colour: no such field")));
    }
    let without = |name: &str, payload: &Json, field: &str| {
        let mut payload = payload.clone();
        let (table, field) = field.rsplit_once('/').unwrap();
        payload.pointer_mut(table).unwrap().as_object_mut().unwrap().remove(field);
        said(name, &payload).unwrap_err()
    };
    let all: std::collections::BTreeMap<_, _> = all().into_iter().collect();
    for (name, field, error) in [
        ("start", "/cwd", "start: cwd: missing"),
        ("start", "/session", "start: session: missing"),
        ("start", "/agent", "start: agent: missing"),
        ("content", "/path", "content: path: missing"),
        ("content", "/act", "content: act: missing"),
        ("redraw", "/chat", "redraw: chat: missing"),
        ("elicitation", "/entered/1/value", "elicitation: entered[2].value: missing"),
    ] {
        assert_eq!(without(name, &all[name], field), error);
    }
    assert_eq!(said("paint", &json!({})), Err("paint: no such message".to_owned()));
}

#[test]
fn errors_are_in_plain_english_and_hold_no_text_that_may_be_secret() {
    let mut payload = start();
    for (pointer, value, error) in [
        (
            "/options/timeouts/initialize",
            json!("soon"),
            "start: options.timeouts.initialize: expected an integer, got text",
        ),
        (
            "/options/timeouts/cancel",
            json!(-1),
            "start: options.timeouts.cancel: -1 is out of range (u64)",
        ),
        (
            "/options/timeouts/cancel",
            json!(1.5),
            "start: options.timeouts.cancel: expected an integer, got 1.5",
        ),
        ("/options/args/0", json!(["A"]), "start: options.args[1]: expected text, got a list"),
        ("/options/env", json!("A=secret"), "start: options.env: expected a table, got text"),
        (
            "/options/mcp_servers/s/args",
            json!("x"),
            "start: options.mcp_servers.s.args: expected a list, got text",
        ),
        ("/options", json!(["c"]), "start: options: expected a table, got a list"),
        ("/focus", json!("yes"), "start: focus: expected a boolean, got text"),
        (
            "/wish",
            json!("best"),
            "start: wish: expected one of last, never, new, session, fork, got best",
        ),
        ("/directories", json!({"a": 1}), "start: directories: expected a list, got a table"),
    ] {
        let was = payload.pointer_mut(pointer).unwrap().take();
        *payload.pointer_mut(pointer).unwrap() = value;
        assert_eq!(said("start", &payload).unwrap_err(), error);
        *payload.pointer_mut(pointer).unwrap() = was;
    }
    let handle = Value::Ext(0, vec![1]);
    let error = notification("output", vec![Value::Map(vec![("tool_call".into(), handle)])]);
    assert_eq!(error.unwrap_err().to_string(), "output: tool_call: is no data but a handle");
}

#[test]
fn equivalent_lua_values_are_read_alike() {
    // An integer may arrive as a float.
    let payload = Value::Map(vec![("chat".into(), 3.0.into())]);
    let cancelled = Ok(LuaMessage::User(UserAction::Cancel(Some(ChatId(3)))));
    assert_eq!(notification("cancel", vec![payload]), cancelled);
    // A nil field is missing.
    assert_eq!(action("cancel", &json!({"chat": null, "other": null})), UserAction::Cancel(None));
    assert_eq!(notification("cancel", vec![]), Ok(LuaMessage::User(UserAction::Cancel(None))));
    // An empty table may be a list or a map.
    assert_eq!(action("sessions_more", &json!([])), UserAction::MoreSessions);
    let empty = json!({"text": "a", "attachments": {}});
    assert_eq!(
        action("prompt", &empty),
        action("prompt", &json!({"text": "a", "attachments": []}))
    );
    // Text that is not valid UTF-8 may arrive as a string or as binary.
    let bytes = b"/a\xff".to_vec();
    for path in [Value::String(lossless(&bytes)), Value::Binary(bytes.clone())] {
        let payload = Value::Map(vec![("kind".into(), "saved".into()), ("path".into(), path)]);
        let fact = LuaMessage::Buffer("/a\u{fffd}".into(), BufferEvent::Saved);
        assert_eq!(notification("buffer", vec![payload]), Ok(fact));
    }
}

/// A string of these bytes, as the connection's decoder would create it.
fn lossless(bytes: &[u8]) -> Utf8String {
    let mut encoded = vec![0xa0 + u8::try_from(bytes.len()).unwrap()];
    encoded.extend(bytes);
    match rmpv::decode::read_value(&mut encoded.as_slice()) {
        Ok(Value::String(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_fields_have_defaults() {
    let least = start_request(&json!({"agent": "a", "cwd": "/a"}));
    assert_eq!(
        (least.directories, least.policy, least.target, least.focus),
        (vec![], ChatPolicy::default(), SessionTarget::Current, false)
    );
    assert_eq!(least.agent, AgentSelection { name: "a".into(), ..AgentSelection::default() });
    assert_eq!(least.settings_file, None);
}

#[test]
fn a_start_says_what_is_set_for_its_agent() {
    let all = start_request(&start());
    assert_eq!(all.target, SessionTarget::Existing("s".into()));
    assert_eq!(all.agent.options.args, Some(vec!["x".to_owned()]));
    assert_eq!(all.agent.options.timeouts.authenticate, Some(0));
    assert_eq!(all.agent.mcp_servers["t"].command.as_deref(), Some("c"));
    assert_eq!(all.agent.environment["B"], "2");
    assert_eq!(all.settings_file, Some("/a/rat.json".into()));
}

fn start_request(payload: &Json) -> StartRequest {
    match said("start", payload) {
        Ok(LuaMessage::Start(request)) => *request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_permission_is_answered_with_an_option_or_with_yes_or_no() {
    let choice = |payload: Json| match action("permission", &payload) {
        UserAction::Permission { choice, .. } => choice,
        other => panic!("{other:?}"),
    };
    assert_eq!(choice(json!({"option": "o", "allow": true})), PermissionChoice::Option("o".into()));
    assert_eq!(choice(json!({"allow": true})), PermissionChoice::Allow);
    assert_eq!(choice(json!({"reason": ""})), PermissionChoice::Deny(None));
    assert_eq!(choice(json!({"reason": "no"})), PermissionChoice::Deny(Some("no".to_owned())));
}

#[test]
fn entered_values_are_text_a_boolean_or_a_list() {
    let payload = |value: Json| json!({"chat": 1, "id": 2, "action": "accept", "entered": [{"key": "k", "value": value}]});
    for (value, given) in [
        (json!("x"), FieldValue::Text("x".to_owned())),
        (json!(true), FieldValue::Flag(true)),
        (json!(["y"]), FieldValue::Several(vec!["y".to_owned()])),
        (json!([]), FieldValue::Several(vec![])),
        (json!({}), FieldValue::Several(vec![])),
    ] {
        let UserAction::Elicitation { choice, .. } = action("elicitation", &payload(value)) else {
            panic!("no elicitation");
        };
        assert_eq!(choice, ElicitationChoice::Accept(vec![("k".to_owned(), given)]));
    }
}

#[test]
fn indices_from_one_become_indices_from_zero() {
    assert_eq!(action("answer", &json!({"id": 1})), UserAction::Answer { id: 1, index: None });
    let error = said("answer", &json!({"id": 1, "index": 0}));
    assert_eq!(error, Err("answer: index: counts from 1".to_owned()));
}

#[test]
fn unknown_fields_of_attachments_are_ignored() {
    let mut attachment = attachment();
    attachment["colour"] = json!("red");
    assert!(said("prompt", &json!({"attachments": [attachment]})).is_ok());
    let error = said("prompt", &json!({"attachments": [{"uri": "a", "label": "a"}]}));
    assert_eq!(error, Err("prompt: attachments[1].text: missing".to_owned()));
}

/// Any msgpack value.
fn any_value() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        "[a-z_]{1,9}",
        proptest::sample::select(vec![
            "chat",
            "id",
            "agent",
            "cwd",
            "text",
            "act",
            "timeouts",
            "entered",
            "key",
            "value",
            "index",
            "attachments",
            "mcp_servers",
            "env",
            "action",
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,5}".prop_map(Value::from),
        field.clone().prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(|bytes| Value::String(lossless(&bytes))),
        (any::<i8>(), prop::collection::vec(any::<u8>(), 0..3))
            .prop_map(|(kind, it)| Value::Ext(kind, it)),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let key = prop_oneof![9 => field.clone().prop_map(Value::from), 1 => inner.clone()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((key, inner), 0..6).prop_map(Value::Map),
        ]
    })
}

proptest! {
    /// Holds (Messages between Lua and the binary): A message from Lua is read whole, or refused with the path of the wrong field.
    #[test]
    fn any_value_is_read_or_refused(index in 0..all().len(), payload in any_value()) {
        let (name, _) = all().swap_remove(index);
        if let Err(error) = notification(name, vec![payload]) {
            let start = format!("{name}: ");
            prop_assert!(error.to_string().starts_with(&start));
        }
    }

    /// Replaces one value of a valid payload.
    #[test]
    fn any_change_of_a_good_payload_is_read_or_refused(
        index in 0..all().len(),
        at in any::<prop::sample::Index>(),
        value in any_value(),
    ) {
        let (name, payload) = all().swap_remove(index);
        let mut payload = lua(&payload);
        let Value::Map(fields) = &mut payload else { panic!("no table") };
        if !fields.is_empty() {
            let at = at.index(fields.len());
            fields[at].1 = value;
        }
        if let Err(error) = notification(name, vec![payload]) {
            let start = format!("{name}: ");
            prop_assert!(error.to_string().starts_with(&start));
        }
    }
}
