//! An agent of ACP 0.1.1, in real Neovim: each method of the client trait of that release is served. Its frames do not name the
//! version of JSON-RPC.

use std::fs;

use crate::support::{Agent, Chat, Nvim};
use serde_json::{Value as Json, json};

fn start() -> (Nvim, Agent) {
    let (mut nvim, mut agent) = Chat::builder().file("a.txt", "one\ntwo\n").launch();
    let offer = agent.expect_request("initialize");
    let result = json!({"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []});
    agent.send(&json!({"id": offer.id, "result": result}));
    let request = agent.expect_request("session/new");
    agent.send(&json!({"id": request.id, "result": {"sessionId": "s1"}}));
    nvim.poll_state("ready");
    (nvim, agent)
}

fn answered(agent: &mut Agent, id: u64) -> Json {
    let answer = agent.expect_reply_to(id);
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

/// Holds (Dialects): Each method of the client trait of ACP 0.1.1 is served: permissions, reading and writing files, and each update of a session.
#[test]
fn the_client_trait_is_whole() {
    let (mut nvim, mut agent) = start();
    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    let path = nvim.cwd().join("a.txt");

    // `read_text_file`, with and without lines.
    for (id, more, text) in
        [(0, json!({}), "one\ntwo\n"), (1, json!({"line": 2, "limit": 1}), "two\n")]
    {
        let mut params = json!({"sessionId": "s1", "path": path});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent.send(&json!({"id": id, "method": "fs/read_text_file", "params": params}));
        assert_eq!(answered(&mut agent, id), json!({"content": text}));
    }

    // `write_text_file`.
    let params = json!({"sessionId": "s1", "path": path, "content": "three\n"});
    agent.send(&json!({"id": 2, "method": "fs/write_text_file", "params": params}));
    assert_eq!(answered(&mut agent, 2), Json::Null);
    assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");

    // `request_permission`.
    let call = |id: u64| json!({"toolCallId": format!("p{id}"), "title": "Run it", "locations": [], "content": []});
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"}]);
    for (id, command, outcome) in [
        (3, "RatAllow", json!({"outcome": "selected", "optionId": "yes"})),
        (4, "RatDeny", json!({"outcome": "selected", "optionId": "no"})),
    ] {
        let params = json!({"sessionId": "s1", "toolCall": call(id), "options": options});
        agent.send(&json!({"id": id, "method": "session/request_permission", "params": params}));
        nvim.poll("the request", |nvim| {
            nvim.status()["permissions"][0]["tool_call"] == json!(format!("p{id}"))
        });
        nvim.let_time_pass();
        nvim.command(command);
        assert_eq!(answered(&mut agent, id), json!({"outcome": outcome}));
    }

    // `session_notification`, with each of its updates.
    let text = |words: &str| json!({"type": "text", "text": words});
    let entry = json!({"content": "A step", "priority": "medium", "status": "pending"});
    for update in [
        json!({"sessionUpdate": "user_message_chunk", "content": text("Said by you.")}),
        json!({"sessionUpdate": "agent_thought_chunk", "content": text("A thought.")}),
        json!({"sessionUpdate": "agent_message_chunk", "content": text("An answer.")}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "A call", "kind": "search",
            "status": "in_progress", "content": [], "locations": [{"path": path, "type": "ToolCallLocation"}]}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
            "content": [{"type": "content", "content": text("Its output.")}]}),
        json!({"sessionUpdate": "plan", "entries": [entry]}),
    ] {
        let params = json!({"sessionId": "s1", "update": update});
        agent.send(&json!({"method": "session/update", "params": params}));
    }
    nvim.poll_screen("A step");
    let shown = nvim.buffer_lines("rat://fake/1").join("\n");
    for words in ["Said by you.", "A thought.", "An answer.", "A call", "Its output."] {
        assert!(shown.contains(words), "{words}: {shown}");
    }

    // A method that came later is refused, and a cancellation answers what waits.
    agent.send(&json!({"id": 5, "method": "fs/delete", "params": {"sessionId": "s1"}}));
    assert_eq!(agent.expect_reply_to(5)["error"]["code"], -32601);
    let params = json!({"sessionId": "s1", "toolCall": call(6), "options": options});
    agent.send(&json!({"id": 6, "method": "session/request_permission", "params": params}));
    nvim.poll_state("waiting");
    nvim.command("RatCancel");
    assert_eq!(answered(&mut agent, 6), json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(agent.expect_notification("session/cancel"), json!({"sessionId": "s1"}));
    agent.send(&json!({"id": prompt.id, "result": {"stopReason": "cancelled"}}));
    nvim.poll_state("ready");
}
