//! What a client has to do that is no matter of one message: the order of things, what is sent and what is not, and whose
//! answer goes to whom. Played to `Peer` and `State`; what needs an editor is in `editor`.

use super::schema::{UNSTABLE, V1};
use super::table::calls;
use super::world::World;
use rat_nvim::acp::v1::outgoing;
use rat_nvim::core::messages::call::{Call, SessionParams};
use rat_nvim::core::messages::effect::Answer;
use rat_nvim::core::messages::status::ChatState;
use rat_nvim::core::messages::user::{PermissionChoice, SessionTarget, UserAction};
use rat_nvim::session::agent::{AgentCapabilities, Capability, McpServer};
use rat_nvim::session::content::{About, Content};
use rat_nvim::session::fork::ForkPoint;
use rat_nvim::session::permission::Outcome;
use serde_json::{Value as Json, json};

fn permission(id: u64, session: &str, kinds: &[&str]) -> Json {
    let option =
        |kind: &&str| json!({"optionId": format!("{kind}-id"), "name": kind, "kind": kind});
    let options: Vec<_> = kinds.iter().map(option).collect();
    let call = json!({"toolCallId": format!("{session}-{id}"), "title": "Do it"});
    let params = json!({"sessionId": session, "toolCall": call, "options": options});
    json!({"id": id, "method": "session/request_permission", "params": params})
}

fn chosen(option: &str) -> Json {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// ACP 20, 21, 26.
#[test]
fn initialize_is_first_and_alone_until_it_is_answered() {
    let mut world = World::start();
    world.prompt("early");
    world.user(UserAction::Cancel(None));
    world.user(UserAction::ListSessions {
        act: rat_nvim::core::messages::user::SessionAction::Open,
        cwd: "/project".into(),
    });
    let methods: Vec<_> = world.calls.iter().map(|called| called.method.as_str()).collect();
    assert_eq!(methods, ["initialize"]);
    assert!(world.said.is_empty(), "{:?}", world.said);
    let params = &world.calls[0].params;
    assert_eq!(params["protocolVersion"], json!(2));
    // For agents of version 1, and for those of version 2.
    assert_eq!(params["clientInfo"], params["info"]);
    for field in ["name", "title", "version"] {
        assert!(
            params["clientInfo"][field].as_str().is_some_and(|text| !text.is_empty()),
            "{field}"
        );
    }
}

/// ACP 30.
#[test]
fn a_session_that_cannot_go_on_without_a_login_goes_on_after_it() {
    for (capabilities, method) in [
        (json!({"loadSession": true}), "session/load"),
        (json!({"sessionCapabilities": {"resume": {}}}), "session/resume"),
    ] {
        let initialized = json!({
            "protocolVersion": 1, "agentCapabilities": capabilities,
            "authMethods": [{"id": "key", "name": "Key"}],
        });
        let mut world = World::start();
        world.answer("initialize", &initialized);
        world.answer("session/new", &json!({"sessionId": "s"}));
        world.user(UserAction::Restart { chat: None, force: false });
        world.answer("initialize", &initialized);
        let called = world.take_call(method);
        let error = json!({"code": -32000, "message": "Authentication required"});
        world.receive(&json!({"id": called.id, "error": error}));
        world.answer("authenticate", &json!({}));
        assert_eq!(world.take_call(method).params["sessionId"], "s");
    }
}

/// ACP 31, 35.
#[test]
fn a_login_of_an_unknown_type_is_not_offered() {
    let mut world = World::start();
    let methods = json!([
        {"id": "m", "name": "Magic", "type": "magic"},
        {"id": "key", "name": "Key"},
    ]);
    world.answer("initialize", &json!({"protocolVersion": 1, "authMethods": methods}));
    let called = world.take_call("session/new");
    world.receive(&json!({"id": called.id, "error": {"code": -32000, "message": ""}}));
    // The only other one is taken without asking.
    assert_eq!(world.take_call("authenticate").params, json!({"methodId": "key"}));
}

/// ACP 57.
#[test]
fn a_prompt_is_waited_for_as_long_as_it_takes() {
    let world = World::in_a_turn();
    assert_eq!(world.calls[0].method, "session/prompt");
    assert_eq!(world.calls[0].timeout, None);
    let world = World::start();
    assert!(world.calls[0].timeout.is_some(), "other calls have a limit");
}

/// ACP 59.
#[test]
fn what_comes_after_a_turn_is_taken_all_the_same() {
    let mut world = World::in_a_turn();
    world.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look"}));
    assert_eq!(world.stands, ChatState::Running, "no update ends a turn");
    world.answer("session/prompt", &json!({"stopReason": "end_turn"}));
    assert_eq!(world.stands, ChatState::Ready);
    let content = json!({"type": "text", "text": "One more thing."});
    world.update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    world.update(
        &json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}),
    );
    let drawn = world.drawn();
    assert!(drawn.contains("One more thing.") && drawn.contains("✓ tool Look"), "{drawn}");
    assert_eq!(world.stands, ChatState::Ready);
}

/// ACP 81, 82, 83.
#[test]
fn each_permission_waits_for_an_answer_that_was_offered_to_it() {
    let mut world = World::in_a_turn();
    world.start_chat("/project", SessionTarget::New);
    world.answer("session/new", &json!({"sessionId": "other"}));
    world.prompt("go");
    world.receive(&permission(1, "s", &["allow_once", "allow_always"]));
    world.receive(&permission(2, "other", &["allow_once"]));
    world.receive(&permission(3, "s", &["reject_once", "allow_once"]));
    assert!(world.answers.is_empty(), "{:?}", world.answers);
    world.decide(PermissionChoice::Option("nobody offered this".into()));
    assert!(world.answers.is_empty(), "{:?}", world.answers);
    world.decide(PermissionChoice::Option("allow_once-id".into()));
    assert_eq!(world.answers["1"][0]["result"], chosen("allow_once-id"));
    assert_eq!(world.answers.len(), 1);
    world.decide(PermissionChoice::Allow);
    assert_eq!(world.answers["2"][0]["result"], chosen("allow_once-id"));
    world.decide(PermissionChoice::Deny(None));
    assert_eq!(world.answers["3"][0]["result"], chosen("reject_once-id"));
}

/// ACP 46, 98.
#[test]
fn nothing_is_done_for_a_session_nobody_knows() {
    let mut world = World::in_a_turn();
    let drawn = world.drawn();
    let content = json!({"type": "text", "text": "Who is there?"});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let params = json!({"sessionId": "nobody", "update": update});
    world.receive(&json!({"method": "session/update", "params": params}));
    assert_eq!(world.drawn(), drawn);
    for (id, method, params) in [
        (1, "fs/read_text_file", json!({"sessionId": "nobody", "path": "/project/a"})),
        (
            2,
            "fs/write_text_file",
            json!({"sessionId": "nobody", "path": "/project/a", "content": ""}),
        ),
    ] {
        world.receive(&json!({"id": id, "method": method, "params": params}));
        let error = &world.answers[&id.to_string()][0]["error"];
        assert_eq!(error["code"], json!(-32602), "{error}");
    }
    assert_eq!(world.writes, 0);
}

/// ACP 75.
#[test]
fn an_answer_and_a_cancel_that_cross_are_one_answer() {
    let cancel = json!({"method": "$/cancel_request", "params": {"requestId": 1}});
    let mut world = World::in_a_turn();
    world.receive(&permission(1, "s", &["allow_once"]));
    world.decide(PermissionChoice::Allow);
    world.receive(&cancel);
    assert_eq!(world.answers["1"].len(), 1);
    assert_eq!(world.answers["1"][0]["result"], chosen("allow_once-id"));
    let mut world = World::in_a_turn();
    world.receive(&permission(1, "s", &["allow_once"]));
    world.receive(&cancel);
    world.decide(PermissionChoice::Allow);
    assert_eq!(world.answers["1"].len(), 1);
    assert_eq!(world.answers["1"][0]["result"]["outcome"]["outcome"], "cancelled");
}

/// A message of ours, whole.
fn message(line: &str) -> Json {
    serde_json::from_str(line).unwrap()
}

/// ACP 133.
#[test]
fn we_say_nothing_the_protocol_has_no_word_for() {
    let pair = || vec![("A".to_owned(), "1".to_owned())];
    let place = SessionParams {
        cwd: "/project".into(),
        directories: vec!["/more".into()],
        mcp_servers: vec![
            McpServer::Stdio {
                name: "s".into(),
                command: "/s".into(),
                args: vec!["x".into()],
                env: pair(),
            },
            McpServer::Http { name: "h".into(), url: "http://h".into(), headers: pair() },
            McpServer::Sse { name: "e".into(), url: "http://e".into(), headers: pair() },
        ],
    };
    let uri = || "file:///a".to_owned();
    let blocks = vec![
        Content::Text("t".into()),
        Content::Image {
            mime: "image/png".into(),
            data: "aGk=".into(),
            uri: Some(uri()),
            about: About::default(),
        },
        Content::Audio { mime: "audio/ogg".into(), data: "aGk=".into(), about: About::default() },
        Content::ResourceLink {
            uri: uri(),
            name: "a".into(),
            mime: Some("text/plain".into()),
            about: About::default(),
        },
        Content::Resource { uri: uri(), mime: None, text: "t".into(), about: About::default() },
        Content::Blob { uri: uri(), mime: None, data: "aGk=".into(), about: About::default() },
    ];
    let able =
        AgentCapabilities::of(&[Capability::Directories, Capability::McpHttp, Capability::McpSse]);
    let more = [
        Call::NewSession(place.clone()),
        Call::Load("s".into(), place.clone()),
        Call::Resume("s".into(), place.clone()),
        Call::Fork(ForkPoint::whole("s"), place),
        Call::List("/project".into(), Some("cursor".into())),
        Call::Prompt { session: "s".into(), blocks },
    ];
    // LuaMessage only to an agent that has offered models, in words of its own.
    let own = |call: &&Call| matches!(call, Call::SetModel { .. });
    for call in calls().iter().filter(|call| !own(call)).chain(&more) {
        let said = message(&outgoing::call(1, call, able).unwrap());
        let fields: Vec<_> = said.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["jsonrpc", "id", "method", "params"]);
        let name = UNSTABLE.of_method("agent", call.method(), "Request").unwrap();
        assert_eq!(UNSTABLE.strangers(name, &said["params"]), [""; 0], "{said}");
    }
    let id = serde_json::value::to_raw_value(&1).unwrap();
    for (name, answer) in [
        ("ReadTextFileResponse", Answer::Text("t".into())),
        ("WriteTextFileResponse", Answer::Written),
        ("RequestPermissionResponse", Answer::Permission(Outcome::Selected("o".into()))),
        ("RequestPermissionResponse", Answer::Permission(Outcome::Cancelled)),
    ] {
        let said = message(&outgoing::answer(&id, &answer).unwrap());
        assert_eq!(V1.strangers(name, &said["result"]), [""; 0], "{said}");
    }
    let strange = json!({"sessionId": "s", "path": "/a", "color": 1});
    assert_eq!(V1.strangers("ReadTextFileRequest", &strange), ["ReadTextFileRequest.color"]);
}
