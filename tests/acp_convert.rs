//! What agents may say, line by line, and what we make of it. The fixtures are what the schema allows, marked
//! `valid` and checked against its types, and what agents send beside it; the golden files say how we read them.
//! `UPDATE_EXPECT=1` writes the golden files anew.

use agent_client_protocol_schema::v1;
use expect_test::expect_file;
use rat_nvim::acp::codec::{self, Message};
use rat_nvim::acp::convert::chunk::LastIds;
use rat_nvim::acp::convert::reply::{self, Kind};
use rat_nvim::acp::convert::{request, update};
use rat_nvim::core::event::FromAgent;
use rat_nvim::session::update::Update;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt::Write;
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
            _ => check_schema::<v1::RequestPermissionRequest>(fixture, params.unwrap()),
        }
        let read = request::method(name).and_then(|method| request::decode(method, params));
        assert!(read.is_ok() || !fixture.valid, "{} is valid: {read:?}", fixture.case);
        format!("{read:?}")
    };
    let golden = golden(include_str!("fixtures/acp/requests.jsonl"), read);
    expect_file!["fixtures/acp/requests.txt"].assert_eq(&golden);
}

#[test]
fn replies_are_read_as_the_golden_file_says() {
    let read = |fixture: &Fixture| {
        if let Some(error) = &fixture.error {
            return format!("{:?}", reply::error(error.get()));
        }
        let result = fixture.result.as_deref().map(RawValue::get).expect("a result");
        let kind = kind(fixture.to.as_deref().expect("a method")).expect("a call of ours");
        match kind {
            Kind::Initialize => check_schema::<v1::InitializeResponse>(fixture, result),
            Kind::NewSession => check_schema::<v1::NewSessionResponse>(fixture, result),
            Kind::Prompt => check_schema::<v1::PromptResponse>(fixture, result),
            Kind::Restore | Kind::Plain => {}
        }
        let read = reply::decode(kind, result);
        assert!(read.is_ok() || !fixture.valid, "{} is valid: {read:?}", fixture.case);
        format!("{read:?}")
    };
    let golden = golden(include_str!("fixtures/acp/replies.jsonl"), read);
    expect_file!["fixtures/acp/replies.txt"].assert_eq(&golden);
}

fn kind(method: &str) -> Option<Kind> {
    Some(match method {
        "initialize" => Kind::Initialize,
        "session/new" => Kind::NewSession,
        "session/load" | "session/resume" => Kind::Restore,
        "session/prompt" => Kind::Prompt,
        "authenticate" | "session/close" | "session/set_mode" => Kind::Plain,
        _ => return None,
    })
}

/// A line of a recording of a real agent.
#[derive(Deserialize)]
struct Recorded {
    dir: String,
    msg: Option<Box<RawValue>>,
}

#[test]
fn recordings_of_real_agents_are_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/agents/transcripts");
    let Ok(recordings) = std::fs::read_dir(&folder) else {
        println!("skipped: there are no recordings of real agents in {}", folder.display());
        return;
    };
    let mut messages = 0;
    for recording in recordings {
        let path = recording.unwrap().path();
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
        let message = codec::parse(msg.get()).unwrap_or_else(|e| panic!("{name}: {e}: {line}"));
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
            let shown = format!("{:?}", FromAgent::Update { session, update });
            assert!(!shown.contains("Unknown"), "{name}: {shown}: {params}");
        }
        Message::Notification { method, .. } => {
            assert!(method.starts_with('_'), "{name}: {method}")
        }
        Message::Request { method, params, .. } => {
            let read = request::method(&method)
                .and_then(|method| request::decode(method, params.map(RawValue::get)));
            assert!(read.is_ok(), "{name}: {read:?}");
            assert!(!format!("{read:?}").contains("Unknown"), "{name}: {read:?}");
        }
        Message::Answer { id, outcome: Ok(result) } => {
            if let Some(kind) = calls.get(id.get()).and_then(|method| kind(method)) {
                let read = reply::decode(kind, result.get());
                assert!(read.is_ok(), "{name}: {read:?}");
                assert!(!format!("{read:?}").contains("Unknown"), "{name}: {read:?}");
            }
        }
        Message::Answer { outcome: Err(_), .. } => {}
    }
}
