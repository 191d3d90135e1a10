//! What agents may say, line by line, and what we make of it. The fixtures are what the schema allows, marked
//! `valid` and checked against its types, and what agents send beside it; the golden files say how we read them.
//! `UPDATE_EXPECT=1` writes the golden files anew.

use agent_client_protocol_schema::v1;
use expect_test::expect_file;
use rat_nvim::acp::dialect::CallKind;
use rat_nvim::acp::v1::chunk::LastIds;
use rat_nvim::acp::v1::reply;
use rat_nvim::acp::v1::{outgoing, request, update};
use rat_nvim::core::messages::agent::AgentEvent;
use rat_nvim::core::messages::call::{Call, SessionParams};
use rat_nvim::core::messages::effect::Answer;
use rat_nvim::jsonrpc::incoming::{self, Message};
use rat_nvim::session::agent::{AgentCapabilities, Capability, McpServer};
use rat_nvim::session::content::{About, Content};
use rat_nvim::session::permission::Outcome;
use rat_nvim::session::update::Update;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Deserialize)]
struct Fixture {
    case: String,
    #[serde(default)]
    valid: bool,
    update: Option<Box<RawValue>>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    to: Option<String>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(d).map(Some)
}

/// Reads each fixture with `read`, which gives what we make of it, and puts the results under their names.
fn golden(fixtures: &str, read: impl Fn(&Fixture) -> String) -> String {
    let mut golden = String::new();
    for line in fixtures.lines() {
        let fixture: Fixture = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        writeln!(golden, "{}\n    {}", fixture.case, read(&fixture)).unwrap();
    }
    golden
}

fn check_schema<T: DeserializeOwned>(fixture: &Fixture, json: &str) {
    if fixture.valid {
        let read = serde_json::from_str::<T>(json);
        assert!(read.is_ok(), "{} is not valid: {:?}", fixture.case, read.err());
    }
}

/// ACP 77, 79, 119, 122.
#[test]
fn updates_are_read_as_the_golden_file_says() {
    let read = |fixture: &Fixture| {
        let update = fixture.update.as_deref().expect("an update");
        let params = format!(r#"{{"sessionId":"s","update":{update}}}"#);
        check_schema::<v1::SessionNotification>(fixture, &params);
        let (session, update) = update::notification(&params, &mut LastIds::default()).unwrap();
        assert_eq!(session.as_str(), "s");
        let known = !matches!(update, Update::Unknown { .. });
        assert!(known || !fixture.valid, "{} is valid and was not understood", fixture.case);
        format!("{update:?}")
    };
    let golden = golden(include_str!("fixtures/acp/updates.jsonl"), read);
    expect_file!["fixtures/acp/updates.txt"].assert_eq(&golden);
}

/// ACP 14.
#[test]
fn requests_are_read_as_the_golden_file_says() {
    let read = |fixture: &Fixture| {
        let name = fixture.method.as_deref().expect("a method");
        let params = fixture.params.as_deref().map(RawValue::get);
        match name {
            "fs/read_text_file" => {
                check_schema::<v1::ReadTextFileRequest>(fixture, params.unwrap());
            }
            "fs/write_text_file" => {
                check_schema::<v1::WriteTextFileRequest>(fixture, params.unwrap());
            }
            "elicitation/create" => {
                check_schema::<v1::CreateElicitationRequest>(fixture, params.unwrap());
            }
            _ => check_schema::<v1::RequestPermissionRequest>(fixture, params.unwrap()),
        }
        let read = request::method(name).and_then(|method| request::decode(method, params));
        assert!(read.is_ok() || !fixture.valid, "{} is valid: {read:?}", fixture.case);
        format!("{read:?}")
    };
    let golden = golden(include_str!("fixtures/acp/requests.jsonl"), read);
    expect_file!["fixtures/acp/requests.txt"].assert_eq(&golden);
}

/// ACP 146.
#[test]
fn replies_are_read_as_the_golden_file_says() {
    let read = |fixture: &Fixture| {
        if let Some(error) = &fixture.error {
            return format!("{:?}", reply::error(error.get()));
        }
        let result = fixture.result.as_deref().map(RawValue::get).expect("a result");
        let kind = kind(fixture.to.as_deref().expect("a method")).expect("a call of ours");
        match kind {
            CallKind::Initialize => check_schema::<v1::InitializeResponse>(fixture, result),
            CallKind::NewSession => check_schema::<v1::NewSessionResponse>(fixture, result),
            CallKind::Prompt => check_schema::<v1::PromptResponse>(fixture, result),
            CallKind::List => check_schema::<v1::ListSessionsResponse>(fixture, result),
            CallKind::SetOption => {
                check_schema::<v1::SetSessionConfigOptionResponse>(fixture, result);
            }
            CallKind::Restore | CallKind::Plain => {}
        }
        let read = reply::decode(kind, result);
        assert!(read.is_ok() || !fixture.valid, "{} is valid: {read:?}", fixture.case);
        format!("{read:?}")
    };
    let golden = golden(include_str!("fixtures/acp/replies.jsonl"), read);
    expect_file!["fixtures/acp/replies.txt"].assert_eq(&golden);
}

fn kind(method: &str) -> Option<CallKind> {
    Some(match method {
        "initialize" => CallKind::Initialize,
        "session/new" => CallKind::NewSession,
        "session/list" => CallKind::List,
        "session/set_config_option" => CallKind::SetOption,
        "session/load" | "session/resume" => CallKind::Restore,
        "session/prompt" => CallKind::Prompt,
        "authenticate" | "session/close" | "session/set_mode" => CallKind::Plain,
        _ => return None,
    })
}

fn place() -> SessionParams {
    let pairs = || vec![("A".to_owned(), "1".to_owned())];
    SessionParams {
        cwd: "/ws".into(),
        directories: vec!["/more".into()],
        mcp_servers: vec![
            McpServer::Stdio {
                name: "s".into(),
                command: "/bin/s".into(),
                args: vec!["-x".into()],
                env: pairs(),
            },
            McpServer::Http { name: "h".into(), url: "http://h".into(), headers: pairs() },
            McpServer::Sse { name: "e".into(), url: "http://e".into(), headers: Vec::new() },
        ],
    }
}

/// The method and the params of a call as it goes over the wire.
fn said(call: &Call, agent: AgentCapabilities) -> (String, serde_json::Value) {
    let line = outgoing::call(5, call, agent).unwrap();
    assert!(!line.contains('\n'), "{line}");
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&said["jsonrpc"], &said["id"]), (&"2.0".into(), &5.into()));
    (said["method"].as_str().unwrap().to_owned(), said["params"].clone())
}

/// ACP 1, 7.
#[test]
fn what_we_say_is_what_the_schema_says() {
    fn check<T: DeserializeOwned>(call: &Call) {
        let (method, params) = said(call, AgentCapabilities::default());
        assert_eq!(method, call.method());
        let read = serde_json::from_value::<T>(params);
        assert!(read.is_ok(), "{method}: {:?}", read.err());
    }
    check::<v1::InitializeRequest>(&Call::Initialize);
    check::<v1::AuthenticateRequest>(&Call::Authenticate("a".into()));
    check::<v1::NewSessionRequest>(&Call::NewSession(place()));
    check::<v1::LoadSessionRequest>(&Call::Load("s".into(), place()));
    check::<v1::ResumeSessionRequest>(&Call::Resume("s".into(), place()));
    check::<v1::CloseSessionRequest>(&Call::Close("s".into()));
    check::<v1::PromptRequest>(&Call::Prompt { session: "s".into(), blocks: Vec::new() });
    check::<v1::SetSessionModeRequest>(&Call::SetMode { session: "s".into(), mode: "m".into() });
}

/// ACP 38, 39.
#[test]
fn roots_and_servers_go_only_to_agents_that_take_them() {
    let (_, least) = said(&Call::NewSession(place()), AgentCapabilities::default());
    let env = serde_json::json!([{"name": "A", "value": "1"}]);
    let stdio = serde_json::json!({"name": "s", "command": "/bin/s", "args": ["-x"], "env": env});
    assert_eq!(least, serde_json::json!({"cwd": "/ws", "mcpServers": [stdio]}));
    let able =
        AgentCapabilities::of(&[Capability::Directories, Capability::McpHttp, Capability::McpSse]);
    let (_, all) = said(&Call::Load("s".into(), place()), able);
    assert_eq!(all["additionalDirectories"], serde_json::json!(["/more"]));
    assert_eq!(all["mcpServers"][1]["type"], "http");
    assert_eq!(all["mcpServers"][1]["headers"], env);
    assert_eq!(all["mcpServers"][2]["type"], "sse");
    let (_, none) = said(&Call::NewSession(SessionParams::default()), able);
    assert_eq!(none["mcpServers"], serde_json::json!([]));
}

/// ACP 1.
#[test]
fn prompts_carry_what_they_were_given() {
    let uri = || "file:///a.rs#L1-2".to_owned();
    let blocks = vec![
        Content::Text("hi\n".into()),
        Content::Resource {
            uri: uri(),
            mime: Some("text/x-rust".into()),
            text: "fn".into(),
            about: About::default(),
        },
        Content::ResourceLink {
            uri: uri(),
            name: "a.rs".into(),
            mime: None,
            about: About::default(),
        },
        Content::Image {
            mime: "image/png".into(),
            data: "aGk=".into(),
            uri: None,
            about: About::default(),
        },
        Content::Unknown { kind: "hologram".into() },
    ];
    let prompt = Call::Prompt { session: "s".into(), blocks };
    let (_, params) = said(&prompt, AgentCapabilities::default());
    let expected = serde_json::json!({"sessionId": "s", "prompt": [
        {"type": "text", "text": "hi\n"},
        {"type": "resource", "resource":
            {"uri": uri(), "mimeType": "text/x-rust", "text": "fn"}},
        {"type": "resource_link", "uri": uri(), "name": "a.rs"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]});
    assert_eq!(params, expected);
}

/// ACP 96.
#[test]
fn answers_have_the_shape_of_their_method() {
    let id = serde_json::value::to_raw_value("x").unwrap();
    let said = |answer| {
        let line: serde_json::Value =
            serde_json::from_str(&outgoing::answer(&id, &answer).unwrap()).unwrap();
        line.get("result").or(line.get("error")).cloned().unwrap()
    };
    let selected = Answer::Permission(Outcome::Selected("once".into()));
    let outcome = serde_json::json!({"outcome": {"outcome": "selected", "optionId": "once"}});
    assert_eq!(said(selected), outcome);
    let cancelled = serde_json::json!({"outcome": {"outcome": "cancelled"}});
    assert_eq!(said(Answer::Permission(Outcome::Cancelled)), cancelled);
    assert_eq!(said(Answer::Written), serde_json::json!({}));
    assert_eq!(said(Answer::Text(String::new())), serde_json::json!({"content": ""}));
    let error = Answer::Error { code: -32002, message: "a \"b\"\nc".into() };
    let expected = serde_json::json!({"code": -32002, "message": "a \"b\"\nc"});
    assert_eq!(said(error), expected);
}

/// A line of a recording of a real agent.
#[derive(Deserialize)]
struct Recorded {
    dir: String,
    msg: Option<Box<RawValue>>,
}

#[test]
fn recordings_of_real_agents_are_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let mut messages = 0;
    for recording in std::fs::read_dir(folder).unwrap() {
        let path = recording.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        messages += understand(&path.display().to_string(), &text);
    }
    assert!(messages > 1000, "only {messages} messages in the recordings");
}

/// Reads a whole recording; how many messages of the agent it had.
fn understand(name: &str, text: &str) -> usize {
    let mut calls = HashMap::new();
    let mut messages = 0;
    for line in text.lines() {
        let Recorded { dir, msg: Some(msg) } = serde_json::from_str(line).unwrap() else {
            continue;
        };
        let message = incoming::parse(msg.get()).unwrap_or_else(|e| panic!("{name}: {e}: {line}"));
        match (dir.as_str(), message) {
            ("c2a", Message::Request { id, method, .. }) => {
                calls.insert(id.get().to_owned(), method.into_owned());
            }
            ("a2c", message) => {
                messages += 1;
                understand_message(name, &calls, message);
            }
            _ => {}
        }
    }
    messages
}

fn understand_message(name: &str, calls: &HashMap<String, String>, message: Message<'_>) {
    match message {
        Message::Notification { method, params } if method == "session/update" => {
            let params = params.expect("params").get();
            let read = update::notification(params, &mut LastIds::default());
            let Some((session, update)) = read else {
                panic!("{name}: no session in {params}");
            };
            assert!(!matches!(update, Update::Unknown { .. }), "{name}: {update:?}: {params}");
            let shown = format!("{:?}", AgentEvent::Update { session, update });
            assert!(!shown.contains("Unknown"), "{name}: {shown}: {params}");
        }
        Message::Notification { method, .. } => {
            assert!(method.starts_with('_'), "{name}: {method}");
        }
        Message::Request { method, params, .. } => {
            let read = request::method(&method)
                .and_then(|method| request::decode(method, params.map(RawValue::get)));
            assert!(read.is_ok(), "{name}: {read:?}");
            assert!(!format!("{read:?}").contains("Unknown"), "{name}: {read:?}");
        }
        Message::Response { id, outcome: Ok(result), .. } => {
            if let Some(kind) = calls.get(id.get()).and_then(|method| kind(method)) {
                let read = reply::decode(kind, result.get());
                assert!(read.is_ok(), "{name}: {read:?}");
                assert!(!format!("{read:?}").contains("Unknown"), "{name}: {read:?}");
            }
        }
        Message::Response { outcome: Err(_), .. } => {}
    }
}
