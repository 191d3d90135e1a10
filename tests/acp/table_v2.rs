//! The table of version 2 held against its schema, and against what is advertised, read and sent.

use super::schema::{Schema, V2};
use super::table::{calls, flags, names, nested};
use rat_nvim::acp::dialect::{CallKind, Dialect, EncodeError};
use rat_nvim::acp::handshake::{Handshake, Step};
use rat_nvim::acp::v1::table::{Row, Support, handles};
use rat_nvim::acp::v2::{outgoing, request, table};
use rat_nvim::core::messages::agent::{AgentEvent, METHOD_NOT_FOUND, Reply};
use rat_nvim::core::messages::call::{Call, SessionParams};
use rat_nvim::core::messages::effect::Answer;
use rat_nvim::session::agent::{AgentCapabilities, AgentConfig, AgentInfo, Capability, McpServer};
use rat_nvim::session::content::{About, Content};
use rat_nvim::session::elicitation::Action;
use rat_nvim::session::permission::Outcome;
use rat_nvim::session::turn::{Activity, StopReason};
use rat_nvim::session::update::Update;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// A part of the table, and the same names out of the schema.
type Part = (&'static str, &'static [Row], fn(&Schema) -> BTreeSet<String>);

const PARTS: &[Part] = &[
    ("to the agent", table::TO_AGENT, |schema| schema.methods("agent")),
    ("to the client", table::TO_CLIENT, |schema| schema.methods("client")),
    ("both ways", table::BOTH_WAYS, |schema| schema.methods("protocol")),
    ("updates", table::UPDATES, |schema| schema.tags("SessionUpdate", "sessionUpdate")),
    ("content", table::CONTENT, |schema| schema.tags("ContentBlock", "type")),
    ("tool content", table::TOOL_CONTENT, |schema| schema.tags("ToolCallContent", "type")),
    ("operations", table::DIFF_OPERATIONS, |schema| schema.tags("DiffChange", "operation")),
    ("subjects", table::PERMISSION_SUBJECTS, |schema| {
        schema.tags("RequestPermissionSubject", "type")
    }),
    ("plans", table::PLANS, |schema| schema.tags("PlanUpdateContent", "type")),
    ("states", table::STATES, |schema| schema.tags("StateUpdate", "state")),
    ("stop reasons", table::STOP_REASONS, |schema| schema.tags("IdleStateUpdate", "stopReason")),
    ("background", table::BACKGROUND, |schema| schema.tags("BackgroundWork", "type")),
    ("elicitation", table::ELICITATION_MODES, |schema| {
        schema.tags("CreateElicitationRequest", "mode")
    }),
    ("authentication", table::AUTH_METHODS, |schema| schema.tags("AuthMethod", "type")),
    ("MCP servers", table::MCP_SERVERS, |schema| schema.tags("McpServer", "type")),
    ("client", table::CLIENT_CAPABILITIES, |schema| {
        schema.capabilities("ClientCapabilities").into_keys().collect()
    }),
    ("agent", table::AGENT_CAPABILITIES, |schema| {
        schema.capabilities("AgentCapabilities").into_keys().collect()
    }),
];

#[test]
fn the_table_of_version_2_names_what_its_schema_names_and_nothing_else() {
    for (part, rows, of) in PARTS {
        let all = of(&V2);
        assert!(!all.is_empty(), "{part}: the schema names nothing");
        assert_eq!(names(rows, |row| row.gate.is_none()), all, "{part}");
        assert_eq!(names(rows, |_| true).len(), rows.len(), "{part}: a name stands there twice");
        for row in *rows {
            if let Support::Refused(why) | Support::Ignored(why) = row.support {
                assert!(why.contains(' '), "{} gives no reason: {why:?}", row.name);
            }
        }
    }
}

#[test]
fn requests_of_version_2_are_answered_exactly_as_the_table_says() {
    for row in table::TO_CLIENT {
        if V2.of_method("client", row.name, "Request").is_some() {
            assert_eq!(request::method(row.name).unwrap().name(), row.name);
        }
    }
    for gone in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/kill"] {
        assert_eq!(request::method(gone).unwrap_err().code, METHOD_NOT_FOUND, "{gone}");
    }
}

fn able() -> AgentCapabilities {
    AgentCapabilities::of(&[
        Capability::Directories,
        Capability::McpStdio,
        Capability::McpHttp,
        Capability::McpSse,
    ])
}

/// A place with everything that a session can be given.
fn place() -> SessionParams {
    let pair = || vec![("A".to_owned(), "b".to_owned())];
    let (name, url) = (|| "docs".to_owned(), || "http://localhost".to_owned());
    SessionParams {
        cwd: "/project".into(),
        directories: vec!["/more".into()],
        mcp_servers: vec![
            McpServer::Stdio {
                name: name(),
                command: "/bin/docs".to_owned(),
                args: vec!["-x".to_owned()],
                env: pair(),
            },
            McpServer::Http { name: name(), url: url(), headers: pair() },
            McpServer::Sse { name: name(), url: url(), headers: pair() },
        ],
    }
}

fn blocks() -> Vec<Content> {
    let (text, mime, about) = (|| "eA==".to_owned(), || "text/plain".to_owned(), About::default);
    vec![
        Content::Text(text()),
        Content::Image { data: text(), mime: mime(), uri: Some(text()), about: about() },
        Content::Audio { data: text(), mime: mime(), about: about() },
        Content::ResourceLink { uri: text(), name: text(), mime: Some(mime()), about: about() },
        Content::Resource { uri: text(), mime: Some(mime()), text: text(), about: about() },
        Content::Blob { uri: text(), mime: None, data: text(), about: about() },
    ]
}

/// All fields that the schema requires are there, and none that it does not know.
fn check_params(name: &str, said: &Json) {
    assert_eq!(V2.strangers(name, said), [""; 0], "{said}");
    let required = V2.definition(name)["required"].as_array();
    for field in required.into_iter().flatten().filter_map(Json::as_str) {
        assert!(said.get(field).is_some_and(|it| !it.is_null()), "{name} lacks {field}: {said}");
    }
}

#[test]
fn every_call_of_version_2_is_what_its_schema_has() {
    let mut called = BTreeSet::new();
    for call in calls() {
        let call = match call {
            Call::NewSession(_) => Call::NewSession(place()),
            Call::Load(id, _) => Call::Load(id, place()),
            Call::Resume(id, _) => Call::Resume(id, place()),
            Call::Prompt { session, .. } => Call::Prompt { session, blocks: blocks() },
            other => other,
        };
        let line = match outgoing::call(1, &call, able()) {
            Ok(line) => line,
            Err(EncodeError::NoMethod(_)) => {
                let gone =
                    matches!(call, Call::Fork(..) | Call::SetMode { .. } | Call::SetModel { .. });
                assert!(gone, "{call:?}");
                continue;
            }
            Err(error) => panic!("{call:?}: {error}"),
        };
        let mut said: Json = serde_json::from_str(&line).unwrap();
        let method = said["method"].as_str().unwrap().to_owned();
        assert!(handles(table::TO_AGENT, &method), "{method}");
        if method == "initialize" {
            // For agents of version 1.
            for field in ["clientInfo", "clientCapabilities"] {
                assert!(said["params"].as_object_mut().unwrap().remove(field).is_some());
            }
        }
        match V2.of_method("agent", &method, "Request") {
            Some(name) => check_params(name, &said["params"]),
            None => assert_eq!(method, "session/fork", "unstable"),
        }
        called.insert(method);
    }
    let handled = names(table::TO_AGENT, |row| row.support == Support::Handled);
    let requests = handled.into_iter().filter(|name| name != "session/cancel");
    assert_eq!(called, requests.collect());
}

#[test]
fn a_session_that_is_loaded_is_resumed_with_a_replay() {
    let said = |call: &Call| -> Json {
        serde_json::from_str(&outgoing::call(1, call, able()).unwrap()).unwrap()
    };
    let loaded = said(&Call::Load("s".into(), place()));
    assert_eq!(loaded["params"]["replayFrom"], json!({"type": "start"}));
    let resumed = said(&Call::Resume("s".into(), place()));
    assert!(resumed["params"].get("replayFrom").is_none(), "{resumed}");
    let servers = loaded["params"]["mcpServers"].as_array().unwrap();
    let types: Vec<_> = servers.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["stdio", "http"], "sse is gone");
}

#[test]
fn every_answer_of_version_2_is_what_its_schema_has() {
    let id = RawValue::from_string("7".to_owned()).unwrap();
    let answers = [
        ("RequestPermissionResponse", Answer::Permission(Outcome::Selected("a".into()))),
        ("RequestPermissionResponse", Answer::Permission(Outcome::Cancelled)),
        ("CreateElicitationResponse", Answer::Elicitation(Action::Accept(None))),
        ("CreateElicitationResponse", Answer::Elicitation(Action::Decline)),
        ("CreateElicitationResponse", Answer::Elicitation(Action::Cancel)),
    ];
    for (name, answer) in answers {
        let line = outgoing::answer(&id, &answer).unwrap();
        let said: Json = serde_json::from_str(&line).unwrap();
        assert_eq!(said["id"], 7);
        check_params(name, &said["result"]);
    }
}

#[test]
fn exactly_what_is_handled_is_advertised_in_version_2() {
    let line = outgoing::call(1, &Call::Initialize, AgentCapabilities::default()).unwrap();
    let said: Json = serde_json::from_str(&line).unwrap();
    let said = &said["params"]["capabilities"];
    for row in table::CLIENT_CAPABILITIES {
        let flag = said.pointer(&format!("/{}", row.name.replace('.', "/")));
        assert!(flag.is_some_and(Json::is_object), "{}: {said}", row.name);
    }
    let mut paths = BTreeSet::new();
    flags(said, "", &mut paths);
    assert!(paths.is_subset(&names(table::CLIENT_CAPABILITIES, |_| true)), "{paths:?}");
}

/// What an agent with these fields in its answer to `initialize` is, and how it is talked to.
fn initialized(fields: Json) -> (Box<dyn Dialect>, AgentInfo) {
    let mut result = json!({"protocolVersion": 2, "info": {"name": "fake", "version": "1"}});
    result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let config = AgentConfig::unusable("fake".into(), String::new());
    match Handshake::new(&config, "/".as_ref()).answered(Ok(&result.to_string()), true) {
        Step::Chosen(dialect, info) => (dialect, *info),
        other => panic!("{other:?}"),
    }
}

#[test]
fn exactly_what_is_handled_is_read_of_the_capabilities_of_version_2() {
    let read = |flags: Json| initialized(json!({"capabilities": flags})).1.capabilities;
    for row in table::AGENT_CAPABILITIES {
        // What holds others says something only with one of them, except for `session`.
        let below = format!("{}.", row.name);
        let holds = |it: &&Row| it.name.starts_with(&below);
        let inner = table::AGENT_CAPABILITIES.iter().find(holds);
        let path = inner.filter(|_| row.name != "session").map_or(row.name, |inner| inner.name);
        let outer = path.rsplit_once('.').map_or(json!({}), |(outer, _)| nested(outer, json!({})));
        let changes = read(nested(path, json!({}))) != read(outer);
        assert_eq!(row.support == Support::Handled, changes, "{}", row.name);
    }
    let sessions = read(json!({"session": {}}));
    for baseline in [Capability::Load, Capability::Resume, Capability::List, Capability::Close] {
        assert!(sessions.has(baseline), "{baseline:?}");
    }
    assert!(!sessions.has(Capability::McpStdio) && !sessions.has(Capability::Delete));
    let (_, info) = initialized(json!({"authMethods": [
        {"type": "agent", "methodId": "key", "name": "Key"},
        {"type": "terminal", "methodId": "tty", "name": "Terminal", "args": ["login"]},
    ]}));
    assert_eq!(info.auth_methods.len(), 2);
    assert!(info.capabilities.has(Capability::Logout));
}

fn events(dialect: &mut dyn Dialect, update: &Json) -> Vec<Update> {
    let params = json!({"sessionId": "s", "update": update}).to_string();
    let mut events = Vec::new();
    dialect.notification("session/update", &params, &mut events);
    let update = |event| match event {
        AgentEvent::Update { update, .. } => update,
        other => panic!("{other:?}"),
    };
    events.into_iter().map(update).collect()
}

#[test]
fn handled_updates_states_and_reasons_of_version_2_are_understood() {
    let (mut dialect, _) = initialized(json!({}));
    let shown = |row: &&Row| row.support == Support::Handled;
    for row in table::UPDATES.iter().filter(shown) {
        for update in events(&mut *dialect, &json!({"sessionUpdate": row.name})) {
            let unknown = matches!(&update, Update::Unknown { problem: None, .. });
            assert!(!unknown, "{}: {update:?}", row.name);
        }
    }
    for row in table::STATES {
        let update = json!({"sessionUpdate": "state_update", "state": row.name});
        let [Update::Activity(activity)] = &events(&mut *dialect, &update)[..] else {
            panic!("{} is no state", row.name)
        };
        assert_eq!(matches!(activity, Activity::Busy), row.name != "idle", "{}", row.name);
    }
    for row in table::STOP_REASONS {
        let update =
            json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": row.name});
        let [Update::Activity(activity)] = &events(&mut *dialect, &update)[..] else {
            panic!("{} is no reason", row.name)
        };
        let unknown = matches!(activity, Activity::Idle(StopReason::Unknown(_)) | Activity::Busy);
        assert!(!unknown, "{}: {activity:?}", row.name);
    }
}

#[test]
fn a_new_session_of_version_2_brings_its_commands() {
    let (mut dialect, _) = initialized(json!({}));
    let commands = json!([
        {"type": "command", "name": "plan", "description": "Plans", "input": {"type": "text", "hint": "what"}},
        {"type": "_macro", "name": "m", "description": "not to be sent as text"},
    ]);
    let result = json!({"sessionId": "s", "availableCommands": commands, "_meta": {"a": 1}});
    let result = result.to_string();
    let reply = dialect.result(CallKind::NewSession, None, &result).unwrap();
    assert!(matches!(reply, Reply::Session { .. }));
    let (session, updates) = dialect.after_result("session/new", &result);
    assert_eq!(session, Some("s".into()));
    let [Update::Commands(commands), Update::Meta(_)] = &updates[..] else { panic!("{updates:?}") };
    let names: Vec<_> = commands.iter().map(|it| (&*it.name, it.hint.as_deref())).collect();
    assert_eq!(names, [("plan", Some("what"))]);
}
