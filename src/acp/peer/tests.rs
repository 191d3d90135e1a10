//! The peer under any order of requests, answers, cancellations and the end of the connection.

use super::*;
use crate::core::messages::agent::AgentRequest;
use crate::jsonrpc::incoming::parse;
use crate::session::agent::{AgentConfig, ClientCapabilities, FileCapabilities};
use crate::session::permission;
use crate::session::protocol::{Offered, Protocol};
use crate::session::turn::StopReason;
use crate::session::update::Update;
use proptest::prelude::*;

fn new_peer() -> Peer {
    let config = AgentConfig::unusable("fake".into(), String::new());
    Peer::new(Tokens::default(), Handshake::new(&config, "/".as_ref()))
}

fn receive(peer: &mut Peer, line: &str) -> Outcome {
    let mut out = Outcome::default();
    peer.receive(parse(line).unwrap(), &mut out);
    out
}

fn with(step: impl FnOnce(&mut Outcome)) -> Outcome {
    let mut out = Outcome::default();
    step(&mut out);
    out
}

fn token_of(out: &Outcome) -> RequestToken {
    match out.events.as_slice() {
        [AgentEvent::Request { token, .. }] => *token,
        other => panic!("no request: {other:?}"),
    }
}

fn prompt() -> Call {
    Call::Prompt { session: "s".into(), blocks: Vec::new() }
}

const READ: &str = r#""method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}"#;

#[test]
fn an_agent_that_is_never_ready_fails_within_its_timeout() {
    let config = AgentConfig::unusable("fake".into(), String::new());
    let config = AgentConfig { offered: Offered::Only(Protocol::OpenOxide), ..config };
    let mut peer = Peer::new(Tokens::default(), Handshake::new(&config, "/".as_ref()));
    let out = with(|out| peer.call(CallId(1), &Call::Initialize, out));
    assert!(out.lines.is_empty() && peer.silence() == Some(READY_LIMIT));
    let timeout = Duration::from_secs(1);
    let out = with(|out| peer.expire(CallId(1), timeout, out));
    assert_eq!(out.events, [failed_call(CallId(1), CallError::Timeout(timeout))]);
    assert!(with(|out| peer.fell_silent(out)).lines.is_empty(), "given up");
}

/// Holds (Configuration): What is switched off for an agent is not offered to it, and refused if it asks nevertheless.
#[test]
fn a_capability_that_is_off_is_neither_offered_nor_granted() {
    let off = ClientCapabilities {
        files: FileCapabilities { read: true, write: false },
        terminal: false,
        elicitation: false,
        ..ClientCapabilities::default()
    };
    for offered in [Offered::Acp, Offered::Only(Protocol::V1), Offered::Only(Protocol::Go)] {
        let config = AgentConfig::new("fake".into(), String::new());
        let config = AgentConfig { capabilities: off, offered, ..config };
        let mut peer = Peer::new(Tokens::default(), Handshake::new(&config, "/".as_ref()));
        let out = with(|out| peer.call(CallId(1), &Call::Initialize, out));
        let params = serde_json::from_str::<Value>(&out.lines[0]).unwrap()["params"].clone();
        if offered == Offered::Only(Protocol::Go) {
            let ours = &params["capabilities"];
            assert_eq!(ours["terminal"], json!(false));
            assert_eq!(
                (&ours["fs.readTextFile"], &ours["fs.writeTextFile"]),
                (&json!(true), &json!(false))
            );
            continue;
        }
        let ours = &params["clientCapabilities"];
        assert_eq!(ours["fs"], json!({"readTextFile": true, "writeTextFile": false}));
        assert_eq!((&ours["terminal"], &ours["elicitation"]), (&json!(false), &Value::Null));
        assert_eq!(params["capabilities"]["elicitation"], Value::Null);
        for method in
            ["fs/write_text_file", "terminal/create", "terminal/kill", "elicitation/create"]
        {
            let line = format!(r#"{{"id":1,"method":"{method}","params":{{"sessionId":"s"}}}}"#);
            let out = receive(&mut peer, &line);
            let (session, method) = ("s".into(), method.to_owned());
            let told = AgentEvent::MethodRefused {
                session,
                method: method.clone(),
                is_switched_off: true,
            };
            assert_eq!(out.events, [told], "{method}");
            assert!(out.lines[0].contains("-32601"), "{method}: {:?}", out.lines);
        }
        let read = receive(&mut peer, &format!(r#"{{"id":2,{READ}}}"#));
        assert_eq!(read.events.len(), 1);
    }
}

/// ACP 8.
#[test]
fn ids_are_echoed_exactly_as_they_came() {
    for id in ["0", "-7", "9007199254740993", r#""a\u0062\"c""#, "null", "1.5"] {
        let mut peer = new_peer();
        let token = token_of(&receive(&mut peer, &format!(r#"{{{READ},"id":{id}}}"#)));
        let out = with(|out| peer.answer(token, &Answer::Text("é\n".into()), out));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":"é\n"}}}}"#);
        assert_eq!(out.lines, [line]);
    }
}

/// ACP 9.
#[test]
fn ids_of_the_agent_and_ours_are_independent() {
    let mut peer = new_peer();
    let call = with(|out| peer.call(CallId(9), &prompt(), out));
    assert!(call.lines[0].contains(r#""id":1,"#), "{}", call.lines[0]);
    let token = token_of(&receive(&mut peer, &format!(r#"{{"id":1,{READ}}}"#)));
    let out = receive(&mut peer, r#"{"id":1,"result":{"stopReason":"end_turn"}}"#);
    let answer =
        AgentEvent::Answer { call: CallId(9), result: Ok(Reply::Turn(StopReason::EndTurn)) };
    assert_eq!(out.events, [answer]);
    assert_eq!(with(|out| peer.answer(token, &Answer::Text(String::new()), out)).lines.len(), 1);
}

/// ACP 12, 13, 14.
#[test]
fn unadvertised_methods_and_malformed_params_are_refused() {
    let refused = |request: &str| {
        let mut peer = new_peer();
        let out = receive(&mut peer, &format!(r#"{{"id":3,{request}}}"#));
        let is_told = |event: &AgentEvent| {
            matches!(event, AgentEvent::MethodRefused { is_switched_off: false, .. })
        };
        assert!(out.events.iter().all(is_told), "{:?}", out.events);
        let answer: Value = serde_json::from_str(&out.lines[0]).unwrap();
        assert_eq!(answer["id"], 3);
        let code = answer["error"]["code"].as_i64().unwrap();
        assert_eq!(out.events.len(), usize::from(code == -32601), "{request}");
        (code, answer["error"]["message"].to_string())
    };
    let unknown = ["mcp/message", "_x/y", "session/update"];
    for method in unknown {
        let params = r#"{"sessionId":"s","terminalId":"t"}"#;
        let (code, message) = refused(&format!(r#""method":"{method}","params":{params}"#));
        assert!(code == -32601 && message.contains(method), "{method}: {code} {message}");
    }
    let read = r#""method":"fs/read_text_file""#;
    let malformed = [
        read.to_owned(),
        format!(r#"{read},"params":[]"#),
        format!(r#"{read},"params":{{"sessionId":"s"}}"#),
        format!(r#"{read},"params":{{"sessionId":7,"path":"/a"}}"#),
        format!(r#"{read},"params":{{"sessionId":"s","path":"/a","line":-1}}"#),
        format!(r#"{read},"params":{{"sessionId":"s","path":"/a","limit":"all"}}"#),
        r#""method":"fs/write_text_file","params":{"sessionId":"s","path":"/a"}"#.to_owned(),
        r#""method":"session/request_permission","params":{"sessionId":"s"}"#.to_owned(),
        r#""method":"terminal/create","params":{"sessionId":"s"}"#.to_owned(),
        r#""method":"terminal/output","params":{"sessionId":"s"}"#.to_owned(),
    ];
    for request in malformed {
        assert_eq!(refused(&request).0, -32602, "{request}");
    }
}

/// ACP 10, 12, 15, 74.
#[test]
fn unknown_notifications_and_unknown_answers_change_nothing() {
    let mut peer = new_peer();
    let lines = [
        r#"{"method":"_auth/status_update","params":{}}"#,
        r#"{"method":"_auth/status_update","params":{"sessionId":"s"}}"#,
        r#"{"method":"session/update","params":7}"#,
        r#"{"method":"$/cancel_request","params":{"requestId":5}}"#,
        r#"{"method":"$/cancel_request"}"#,
        r#"{"id":5,"result":{}}"#,
        r#"{"id":"x","error":{"code":1}}"#,
        r#"{"id":null,"error":{"code":-32700}}"#,
    ];
    for line in lines {
        let out = receive(&mut peer, line);
        assert!(out.events.is_empty() && out.lines.is_empty(), "{line}: {out:?}");
    }
}

/// ACP 10.
#[test]
fn an_unknown_notification_about_a_session_is_told() {
    for method in ["event", "fs/read_text_file"] {
        let line = format!(r#"{{"method":"{method}","params":{{"sessionId":"s","path":"/a"}}}}"#);
        let out = receive(&mut new_peer(), &line);
        let update = Update::Unknown { tag: method.to_owned(), problem: None };
        assert_eq!(out.events, [AgentEvent::Update { session: "s".into(), update }]);
        assert!(out.lines.is_empty());
    }
}

/// ACP 74.
#[test]
fn a_withdrawn_request_still_gets_its_answer() {
    let mut peer = new_peer();
    let first = token_of(&receive(&mut peer, &format!(r#"{{"id":"a\u0062",{READ}}}"#)));
    let cancel = r#"{"method":"$/cancel_request","params":{"requestId":"ab"}}"#;
    assert_eq!(receive(&mut peer, cancel).events, [AgentEvent::Withdrawn(first)]);
    let answer = Answer::Error { code: -32800, message: "Request cancelled".into() };
    let out = with(|out| peer.answer(first, &answer, out));
    assert!(out.lines[0].starts_with(r#"{"jsonrpc":"2.0","id":"a\u0062","error""#));
    assert!(receive(&mut peer, cancel).events.is_empty());
}

#[test]
fn an_answer_of_the_wrong_type_is_sent_as_an_error() {
    let mut peer = new_peer();
    let token = token_of(&receive(&mut peer, &format!(r#"{{"id":1,{READ}}}"#)));
    let out =
        with(|out| peer.answer(token, &Answer::Permission(permission::Outcome::Cancelled), out));
    assert!(out.lines[0].contains("-32603"), "{}", out.lines[0]);
}

#[test]
fn a_call_that_times_out_fails_and_is_withdrawn() {
    let mut peer = new_peer();
    with(|out| peer.call(CallId(4), &prompt(), out));
    let timeout = Duration::from_secs(2);
    let out = with(|out| peer.expire(CallId(4), timeout, out));
    assert_eq!(out.events, [failed_call(CallId(4), CallError::Timeout(timeout))]);
    assert!(out.lines[0].contains(r#""$/cancel_request","params":{"requestId":1}"#));
    assert!(receive(&mut peer, r#"{"id":1,"result":{}}"#).events.is_empty());
    assert!(with(|out| peer.expire(CallId(4), timeout, out)).events.is_empty());
}

#[test]
fn a_path_that_is_not_utf_8_fails_only_its_call() {
    use std::os::unix::ffi::OsStrExt;
    let mut peer = new_peer();
    let cwd = std::ffi::OsStr::from_bytes(b"/\xff").into();
    let place = crate::core::messages::call::SessionParams { cwd, ..Default::default() };
    let out = with(|out| peer.call(CallId(1), &Call::NewSession(place), out));
    assert!(matches!(
        out.events.as_slice(),
        [AgentEvent::Answer { result: Err(CallError::NotSent(_)), .. }]
    ));
    assert!(out.lines.is_empty());
}

#[test]
fn a_withdrawn_call_still_gets_its_answer() {
    let mut peer = new_peer();
    with(|out| peer.call(CallId(4), &prompt(), out));
    let out = with(|out| peer.withdraw(CallId(4), out));
    let withdrawal = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#;
    assert_eq!(out.lines, [withdrawal]);
    let error = r#"{"id":1,"error":{"code":-32800,"message":"Request cancelled"}}"#;
    let rpc = CallError::Rpc {
        code: -32800,
        message: "Request cancelled".into(),
        detail: None,
        data: None,
    };
    assert_eq!(receive(&mut peer, error).events, [failed_call(CallId(4), rpc)]);
    assert!(with(|out| peer.withdraw(CallId(4), out)).lines.is_empty());
}

#[test]
fn an_update_that_is_nested_too_deeply_becomes_an_unknown_update() {
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let update = format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{deep}}}"#);
    let params = format!(r#"{{"sessionId":"s","update":{update}}}"#);
    let line = format!(r#"{{"method":"session/update","params":{params}}}"#);
    let out = receive(&mut new_peer(), &line);
    let [AgentEvent::Update { update: Update::Unknown { tag, problem: Some(_) }, .. }] =
        out.events.as_slice()
    else {
        panic!("{out:?}");
    };
    assert_eq!(tag, "tool_call");
}

#[test]
fn a_chunk_with_half_a_surrogate_pair_is_not_lost() {
    let mut peer = new_peer();
    let line = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\ud83d"}}}}"#;
    let mut said = |line: &str| {
        let out = receive(&mut peer, line);
        let [AgentEvent::Update { update: Update::Chunk { content, .. }, .. }] =
            out.events.as_slice()
        else {
            panic!("{out:?}");
        };
        content.text().map(str::to_owned)
    };
    // The other half may follow.
    assert_eq!(said(line).as_deref(), Some("a"));
    assert_eq!(said(&line.replace("\\ud83d", "b")).as_deref(), Some("\u{fffd}ab"));
}

/// Holds (Hostile agents): Of more requests than any agent makes, the rest is refused at once, and room is made by answers.
#[test]
fn too_many_requests_at_once_are_refused() {
    let mut peer = new_peer();
    let ask = |peer: &mut Peer, id: usize| {
        let mut out = Outcome::default();
        peer.receive(parse(&format!(r#"{{"id":{id},{READ}}}"#)).unwrap(), &mut out);
        (out.events.len(), out.lines.len())
    };
    for id in 0..MAX_REQUESTS {
        assert_eq!(ask(&mut peer, id), (1, 0));
    }
    assert_eq!(ask(&mut peer, MAX_REQUESTS), (0, 1));
    let mut out = Outcome::default();
    peer.answer(RequestToken(0), &Answer::Text(String::new()), &mut out);
    assert_eq!(out.lines.len(), 1);
    assert_eq!(ask(&mut peer, MAX_REQUESTS), (1, 0));
}

/// One step of the property test.
#[derive(Debug, Clone)]
enum Step {
    Call,
    AgentAnswers { id: i64, error: bool },
    AgentAsks { id: u8, method: usize },
    AgentCancels { id: u8 },
    WeAnswer { token: u64, error: bool },
    Withdraw { call: u64 },
    Expire { call: u64 },
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Call),
        4 => (1_i64..12, any::<bool>()).prop_map(|(id, error)| Step::AgentAnswers { id, error }),
        4 => (0_u8..6, 0_usize..5).prop_map(|(id, method)| Step::AgentAsks { id, method }),
        1 => (0_u8..6).prop_map(|id| Step::AgentCancels { id }),
        4 => (0_u64..12, any::<bool>()).prop_map(|(token, error)| Step::WeAnswer { token, error }),
        1 => (0_u64..12).prop_map(|call| Step::Withdraw { call }),
        1 => (0_u64..12).prop_map(|call| Step::Expire { call }),
        1 => Just(Step::Close),
    ]
}

/// Encodes a request of the agent: two valid ones, a malformed one, one without params, and one with a string id.
fn asks(id: u8, method: usize) -> String {
    let write =
        r#""method":"fs/write_text_file","params":{"sessionId":"s","path":"/a","content":""}"#;
    match method {
        0 => format!(r#"{{"id":{id},{READ}}}"#),
        1 => format!(r#"{{"id":{id},{write}}}"#),
        2 => format!(r#"{{"id":{id},"method":"fs/read_text_file"}}"#),
        3 => format!(r#"{{"id":{id},"method":"terminal/create"}}"#),
        _ => format!(r#"{{"id":"{id}",{READ}}}"#),
    }
}

proptest! {
    /// ACP 11, 75.
    #[test]
    fn each_request_gets_exactly_one_answer(steps in proptest::collection::vec(step(), 0..60)) {
        let mut peer = new_peer();
        let (mut called, mut answered_calls) = (0_u64, HashMap::<u64, u32>::new());
        // By id: how many requests the agent made, and how many answers it got.
        let (mut asked, mut answers) = (HashMap::<String, u32>::new(), HashMap::<String, u32>::new());
        let mut tokens = Vec::new();
        let mut open = true;
        let all = steps.into_iter().chain([Step::Close]);
        for step in all {
            let mut out = Outcome::default();
            match step {
                Step::Call => {
                    peer.call(CallId(called), &prompt(), &mut out);
                    called += 1;
                }
                Step::AgentAnswers { id, error: true } => {
                    peer.receive(parse(&format!(r#"{{"id":{id},"error":{{}}}}"#)).unwrap(), &mut out);
                }
                Step::AgentAnswers { id, error: false } => {
                    peer.receive(parse(&format!(r#"{{"id":{id},"result":{{}}}}"#)).unwrap(), &mut out);
                }
                Step::AgentAsks { id, method } => {
                    let raw = if method > 3 { format!("\"{id}\"") } else { id.to_string() };
                    *asked.entry(raw).or_default() += u32::from(open);
                    peer.receive(parse(&asks(id, method)).unwrap(), &mut out);
                }
                Step::AgentCancels { id } => {
                    let line = format!(r#"{{"method":"$/cancel_request","params":{{"requestId":{id}}}}}"#);
                    peer.receive(parse(&line).unwrap(), &mut out);
                }
                Step::WeAnswer { token, error: true } => {
                    let error = Answer::Error { code: -32603, message: String::new() };
                    peer.answer(RequestToken(token), &error, &mut out);
                }
                Step::WeAnswer { token, error: false } => {
                    peer.answer(RequestToken(token), &Answer::Written, &mut out);
                }
                Step::Withdraw { call } => peer.withdraw(CallId(call), &mut out),
                Step::Expire { call } => peer.expire(CallId(call), Duration::ZERO, &mut out),
                Step::Close => {
                    // All requests have to be answered before the connection is closed.
                    if open {
                        for token in &tokens {
                            peer.answer(*token, &Answer::Written, &mut out);
                        }
                    }
                    peer.close(&mut out);
                }
            }
            prop_assert!(open || out.lines.is_empty(), "sent after the end: {:?}", out.lines);
            open &= !matches!(step, Step::Close);
            for event in out.events {
                match event {
                    AgentEvent::Answer { call, .. } => *answered_calls.entry(call.0).or_default() += 1,
                    AgentEvent::Request { token, request, .. } => {
                        prop_assert!(!matches!(request, AgentRequest::Permission(_)));
                        tokens.push(token);
                    }
                    AgentEvent::Withdrawn(token) => prop_assert!(tokens.contains(&token)),
                    other => prop_assert!(false, "unexpected {:?}", other),
                }
            }
            for line in out.lines {
                let line: Value = serde_json::from_str(&line).unwrap();
                if line.get("method").is_none() {
                    *answers.entry(line["id"].to_string()).or_default() += 1;
                }
            }
        }
        prop_assert_eq!(answered_calls.len() as u64, called);
        prop_assert!(answered_calls.values().all(|count| *count == 1), "{:?}", answered_calls);
        asked.retain(|_, count| *count > 0);
        prop_assert_eq!(answers, asked);
    }
}
