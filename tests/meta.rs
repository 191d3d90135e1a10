//! What agents add to what the protocol says, in real Neovim: it reaches autocommands and `status()`, and changes nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim};

fn start(initialized: Json, opened: Json) -> (Nvim, Agent) {
    let mut nvim = Nvim::plain();
    nvim.record(&["RatMeta"]);
    let mut agent = nvim.start_agent();
    agent.handshake_with(initialized, opened);
    nvim.poll_state("ready");
    (nvim, agent)
}

fn title(meta: Json) -> Json {
    json!({"sessionUpdate": "session_info_update", "title": "A title", "_meta": meta})
}

/// ACP 134.
#[test]
fn it_reaches_autocommands_and_the_status() {
    let own = json!({"steering": true});
    let (mut nvim, mut agent) =
        start(json!({"_meta": own}), json!({"_meta": {"a": 1, "b": null, "c": [{}]}}));
    let meta = nvim.poll_events("RatMeta", 2);
    let first = nvim.events("RatMeta")[0].clone();
    assert_eq!((&first["kind"], &first["meta"]), (&json!("initialize"), &own));
    assert_eq!(first["session_id"], Json::Null);
    assert_eq!((&meta["kind"], &meta["session_id"]), (&json!("session/new"), &json!("s1")));
    assert_eq!(nvim.status()["meta"]["a"], 1);
    agent.update("s1", title(json!({"a": 2, "d": "new"})));
    nvim.poll_events("RatMeta", 3);
    assert_eq!(nvim.status()["meta"]["a"], 2);
    assert_eq!(nvim.status()["meta"]["d"], "new");

    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look",
        "_meta": {"claudeCode": {"toolName": "Read"}}});
    agent.update("s1", call);
    let meta = nvim.poll_events("RatMeta", 4);
    assert_eq!((&meta["kind"], &meta["id"]), (&json!("tool_call"), &json!("t")));
    assert_eq!(meta["meta"]["claudeCode"]["toolName"], "Read");
    agent.reply(&prompt, json!({"stopReason": "end_turn", "_meta": {"quota": 7}}));
    let meta = nvim.poll_events("RatMeta", 5);
    assert_eq!((&meta["kind"], &meta["meta"]), (&json!("session/prompt"), &json!({"quota": 7})));
}

/// ACP 134.
#[test]
fn nothing_depends_on_it() {
    let (mut nvim, mut agent) = start(json!({"_meta": 5}), json!({"_meta": null}));
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "_meta": {"each": true},
        "content": {"type": "text", "text": "Hello"}});
    agent.update("s1", chunk);
    nvim.poll_screen("Hello");
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let update = format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{}}}}}"#,
        title(json!({"x": "DEEP"})).to_string().replace("\"DEEP\"", &deep)
    );
    agent.send_raw(format!("{update}\n").as_bytes());
    agent.update("s1", title(json!({"large": "x".repeat(20_000)})));
    let meta = nvim.poll_events("RatMeta", 1);
    assert_eq!(meta["kind"], "session_info_update");
    let last = nvim.poll_for("the large one", |nvim| {
        nvim.events("RatMeta").into_iter().find(|meta| meta["size"].as_u64() > Some(20_000))
    });
    assert_eq!(last["meta"], Json::Null, "too large");
    assert_eq!(nvim.status()["meta"], Json::Null);
    nvim.send("go");
    agent.expect_request("session/prompt");
}
