//! The table of the protocol held against the schemas, and against what is advertised, read and sent.

use super::schema::{Schema, UNSTABLE, V1};
use rat_nvim::acp::dialect::{CallKind, Method};
use rat_nvim::acp::v1::reply;
use rat_nvim::acp::v1::request;
use rat_nvim::acp::v1::table::{self, Row, Support, handles};
use rat_nvim::acp::v1::{chunk::LastIds, outgoing, update};
use rat_nvim::core::messages::agent::METHOD_NOT_FOUND;
use rat_nvim::core::messages::agent::Reply;
use rat_nvim::core::messages::call::{Call, SessionParams};
use rat_nvim::session::agent::{AgentCapabilities, AuthKind, Capability, McpServer};
use rat_nvim::session::fork::ForkPoint;
use rat_nvim::session::turn::StopReason;
use rat_nvim::session::update::{OptionValue, Update};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// A part of the table, and the same names out of a schema.
type Part = (&'static str, &'static [Row], fn(&Schema) -> BTreeSet<String>);

const PARTS: &[Part] = &[
    ("to the agent", table::TO_AGENT, |schema| schema.methods("agent")),
    ("to the client", table::TO_CLIENT, |schema| schema.methods("client")),
    ("both ways", table::BOTH_WAYS, |schema| schema.methods("protocol")),
    ("to a proxy", table::TO_PROXY, |schema| schema.methods("proxy")),
    ("updates", table::UPDATES, |schema| schema.tags("SessionUpdate", "sessionUpdate")),
    ("content", table::CONTENT, |schema| schema.tags("ContentBlock", "type")),
    ("tool content", table::TOOL_CONTENT, |schema| schema.tags("ToolCallContent", "type")),
    ("elicitation", table::ELICITATION_MODES, |schema| {
        schema.tags("CreateElicitationRequest", "mode")
    }),
    ("authentication", table::AUTH_METHODS, |schema| schema.tags("AuthMethod", "type")),
    ("MCP servers", table::MCP_SERVERS, |schema| schema.tags("McpServer", "type")),
    ("stop reasons", table::STOP_REASONS, |schema| schema.words("StopReason")),
    ("client", table::CLIENT_CAPABILITIES, |schema| {
        schema.capabilities("ClientCapabilities").into_keys().collect()
    }),
    ("agent", table::AGENT_CAPABILITIES, |schema| {
        schema.capabilities("AgentCapabilities").into_keys().collect()
    }),
];

pub(crate) fn names(rows: &[Row], keep: impl Fn(&Row) -> bool) -> BTreeSet<String> {
    rows.iter().filter(|row| keep(row)).map(|row| row.name.to_owned()).collect()
}

#[test]
fn the_table_names_what_the_schemas_name_and_nothing_else() {
    for (part, rows, of) in PARTS {
        let (stable, all) = (of(&V1), of(&UNSTABLE));
        assert!(stable.len() + all.len() > 0, "{part}: the schemas name nothing");
        assert_eq!(names(rows, |_| true), all, "{part}");
        assert_eq!(names(rows, |row| row.gate.is_none()), stable, "{part}, stable");
        assert_eq!(names(rows, |_| true).len(), rows.len(), "{part}: a name stands there twice");
    }
}

#[test]
fn what_is_unstable_names_its_capability_or_its_feature() {
    let capabilities = || table::AGENT_CAPABILITIES.iter().chain(table::CLIENT_CAPABILITIES);
    for row in PARTS.iter().flat_map(|(_, rows, _)| *rows) {
        let known = row.gate.is_none_or(|gate| {
            gate.starts_with("unstable_") || capabilities().any(|row| row.name == gate)
        });
        assert!(known, "{} is gated by {:?}, which is no capability", row.name, row.gate);
        if let Support::Refused(why) | Support::Ignored(why) = row.support {
            assert!(why.contains(' '), "{} gives no reason: {why:?}", row.name);
        }
    }
}

/// ACP 13.
#[test]
fn requests_are_answered_exactly_as_the_table_says() {
    let request = |row: &&Row| UNSTABLE.of_method("client", row.name, "Request").is_some();
    for row in table::TO_CLIENT.iter().filter(request) {
        let read = request::method(row.name);
        match row.support {
            Support::Handled => assert_eq!(read.unwrap().name(), row.name),
            _ => assert_eq!(read.unwrap_err().code, METHOD_NOT_FOUND, "{}", row.name),
        }
    }
    for method in Method::ALL {
        assert!(handles(table::TO_CLIENT, method.name()), "{} is not handled", method.name());
    }
}

/// One call of each kind. A new kind is named here first, and then in the table.
pub(crate) fn calls() -> Vec<Call> {
    let place = SessionParams::default;
    let calls = vec![
        Call::Initialize,
        Call::Authenticate("a".into()),
        Call::NewSession(place()),
        Call::Load("s".into(), place()),
        Call::Resume("s".into(), place()),
        Call::List(place().cwd, None),
        Call::Fork(ForkPoint::whole("s"), place()),
        Call::Close("s".into()),
        Call::Delete("s".into()),
        Call::Prompt { session: "s".into(), blocks: Vec::new() },
        Call::SetMode { session: "s".into(), mode: "m".into() },
        Call::SetOption {
            session: "s".into(),
            option: "o".into(),
            value: OptionValue::Boolean(true),
        },
        Call::Logout,
        Call::SetModel { session: "s".into(), model: "m".into() },
    ];
    let number = |call: &Call| match call {
        Call::Initialize => 0,
        Call::Authenticate(_) => 1,
        Call::NewSession(_) => 2,
        Call::Load(..) => 3,
        Call::Resume(..) => 4,
        Call::List(..) => 5,
        Call::Fork(..) => 6,
        Call::Close(_) => 7,
        Call::Delete(_) => 8,
        Call::Prompt { .. } => 9,
        Call::SetMode { .. } => 10,
        Call::SetOption { .. } => 11,
        Call::Logout => 12,
        Call::SetModel { .. } => 13,
    };
    assert!(calls.iter().map(number).eq(0..calls.len()), "a kind is missing");
    calls
}

#[test]
fn what_the_table_has_us_call_can_be_called() {
    let methods: BTreeSet<_> = calls().iter().map(Call::method).map(str::to_owned).collect();
    let mut known = names(table::TO_AGENT, |_| true);
    // Was never in a released schema.
    known.insert("session/set_model".to_owned());
    assert!(methods.is_subset(&known), "{methods:?}");
    let request = |row: &Row| UNSTABLE.of_method("agent", row.name, "Request").is_some();
    let handled = names(table::TO_AGENT, |row| row.support == Support::Handled && request(row));
    assert!(handled.is_subset(&methods), "{handled:?}");
}

/// ACP 27, 28, 29.
#[test]
fn exactly_what_is_handled_is_advertised() {
    let line = outgoing::call(1, &Call::Initialize, AgentCapabilities::default()).unwrap();
    let said: Json = serde_json::from_str(&line).unwrap();
    let said = &said["params"]["clientCapabilities"];
    let advertised = |name: &str| {
        let flag = said.pointer(&format!("/{}", name.replace('.', "/")));
        flag.is_some_and(|flag| !flag.is_null() && *flag != json!(false))
    };
    for row in table::CLIENT_CAPABILITIES {
        assert_eq!(row.support == Support::Handled, advertised(row.name), "{}: {said}", row.name);
    }
    for row in table::CLIENT_CAPABILITIES.iter().filter(|row| advertised(row.name)) {
        // An object that only holds others says nothing by itself.
        let below = format!("{}.", row.name);
        let inner = || table::CLIENT_CAPABILITIES.iter().filter(|it| it.name.starts_with(&below));
        assert!(inner().count() == 0 || inner().any(|it| advertised(it.name)), "{}", row.name);
    }
    let known = names(table::CLIENT_CAPABILITIES, |_| true);
    let mut paths = BTreeSet::new();
    flags(said, "", &mut paths);
    assert!(paths.is_subset(&known), "advertised and not in the table: {paths:?}");
}

/// The paths of all flags and empty objects.
pub(crate) fn flags(said: &Json, path: &str, found: &mut BTreeSet<String>) {
    match said.as_object() {
        Some(fields) if !fields.is_empty() => {
            for (key, value) in fields.iter().filter(|(key, _)| *key != "_meta") {
                flags(value, format!("{path}.{key}").trim_start_matches('.'), found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

fn initialized(capabilities: &Json, methods: &Json) -> Reply {
    let result = json!({
        "protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": methods,
    });
    reply::decode(CallKind::Initialize, &result.to_string()).unwrap()
}

/// An object with one flag in it, at this path.
pub(crate) fn nested(path: &str, flag: Json) -> Json {
    path.rsplit('.').fold(flag, |inner, key| json!({ key: inner }))
}

/// ACP 24.
#[test]
fn exactly_what_is_handled_is_read_of_an_agents_capabilities() {
    let none = initialized(&json!({}), &json!([]));
    let all = UNSTABLE.capabilities("AgentCapabilities");
    for row in table::AGENT_CAPABILITIES {
        let yes = all[row.name].clone();
        let read = initialized(&nested(row.name, yes), &json!([])) != none;
        assert_eq!(row.support == Support::Handled, read, "{}", row.name);
        for no in [json!(false), json!(null)] {
            assert_eq!(initialized(&nested(row.name, no), &json!([])), none, "{}", row.name);
        }
    }
}

#[test]
fn handled_updates_are_understood_and_ignored_ones_are_unknown() {
    for row in table::UPDATES {
        let params = json!({"sessionId": "s", "update": {"sessionUpdate": row.name}});
        let read = update::notification(&params.to_string(), &mut LastIds::default());
        let (_, read) = read.unwrap();
        let unknown = matches!(&read, Update::Unknown { problem: None, .. });
        assert_eq!(row.support != Support::Handled, unknown, "{}: {read:?}", row.name);
    }
}

#[test]
fn handled_stop_reasons_and_logins_are_known() {
    for row in table::STOP_REASONS {
        let result = json!({"stopReason": row.name}).to_string();
        let Ok(Reply::Turn(reason)) = reply::decode(CallKind::Prompt, &result) else {
            panic!("{} ends no turn", row.name)
        };
        let known = !matches!(reason, StopReason::Unknown(_));
        assert_eq!(row.support == Support::Handled, known, "{}", row.name);
    }
    for row in table::AUTH_METHODS {
        let methods = json!([{"id": "a", "name": "A", "type": row.name}]);
        let Reply::Initialized(info) = initialized(&json!({}), &methods) else {
            panic!("not initialized")
        };
        let kind = &info.auth_methods[0].kind;
        assert!(!matches!(kind, AuthKind::Unknown(_)), "{} is not known", row.name);
    }
}

#[test]
fn handled_mcp_servers_go_to_agents_that_take_them() {
    let text = String::new;
    let servers = vec![
        McpServer::Stdio { name: text(), command: text(), args: Vec::new(), env: Vec::new() },
        McpServer::Http { name: text(), url: text(), headers: Vec::new() },
        McpServer::Sse { name: text(), url: text(), headers: Vec::new() },
    ];
    let able = AgentCapabilities::of(&[Capability::McpHttp, Capability::McpSse]);
    let place = SessionParams { mcp_servers: servers, ..SessionParams::default() };
    let line = outgoing::call(1, &Call::NewSession(place), able).unwrap();
    let said: Json = serde_json::from_str(&line).unwrap();
    let servers = said["params"]["mcpServers"].as_array().unwrap();
    let types = servers.iter().map(|it| it["type"].as_str().unwrap_or("stdio").to_owned());
    let handled = names(table::MCP_SERVERS, |row| row.support == Support::Handled);
    assert_eq!(types.collect::<BTreeSet<_>>(), handled);
}
