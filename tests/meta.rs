//! What agents add to what the protocol says, in real Neovim: it reaches autocommands and `status()`, and changes nothing.

use crate::support::Chat;
use serde_json::{Value as Json, json};

fn title(meta: Json) -> Json {
    json!({"sessionUpdate": "session_info_update", "title": "A title", "_meta": meta})
}

/// ACP 134.
/// Holds (Content): `_meta` reaches autocommands and `status()`.
#[test]
fn it_reaches_autocommands_and_the_status() {
    let own = json!({"steering": true});
    let chat = Chat::builder().initialized(json!({"_meta": own}));
    let mut chat = chat.opened(json!({"_meta": {"a": 1, "b": null, "c": [{}]}})).start();
    let meta = chat.nvim.poll_events("RatMeta", 2);
    let first = chat.nvim.events("RatMeta")[0].clone();
    assert_eq!((&first["kind"], &first["meta"]), (&json!("initialize"), &own));
    assert_eq!(first["session_id"], Json::Null);
    assert_eq!((&meta["kind"], &meta["session_id"]), (&json!("session/new"), &json!("s1")));
    assert_eq!(chat.nvim.status()["meta"]["a"], 1);
    chat.update(title(json!({"a": 2, "d": "new"})));
    chat.nvim.poll_events("RatMeta", 3);
    assert_eq!(chat.nvim.status()["meta"]["a"], 2);
    assert_eq!(chat.nvim.status()["meta"]["d"], "new");

    let prompt = chat.prompt("go");
    let call = json!({"toolCallId": "t", "title": "Look",
        "_meta": {"claudeCode": {"toolName": "Read"}}});
    chat.tool_call(call);
    let meta = chat.nvim.poll_events("RatMeta", 4);
    assert_eq!((&meta["kind"], &meta["id"]), (&json!("tool_call"), &json!("t")));
    assert_eq!(meta["meta"]["claudeCode"]["toolName"], "Read");
    chat.agent.reply(&prompt, json!({"stopReason": "end_turn", "_meta": {"quota": 7}}));
    let meta = chat.nvim.poll_events("RatMeta", 5);
    assert_eq!((&meta["kind"], &meta["meta"]), (&json!("session/prompt"), &json!({"quota": 7})));
}

/// ACP 134.
/// Holds (Content): Nothing depends on `_meta`, whatever it holds.
#[test]
fn nothing_depends_on_it() {
    let chat = Chat::builder().initialized(json!({"_meta": 5}));
    let mut chat = chat.opened(json!({"_meta": null})).start();
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "_meta": {"each": true},
        "content": {"type": "text", "text": "Hello"}});
    chat.update(chunk);
    chat.nvim.poll_screen("Hello");
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let update = format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{}}}}}"#,
        title(json!({"x": "DEEP"})).to_string().replace("\"DEEP\"", &deep)
    );
    chat.agent.send_raw(format!("{update}\n").as_bytes());
    chat.update(title(json!({"large": "x".repeat(20_000)})));
    let meta = chat.nvim.poll_events("RatMeta", 1);
    assert_eq!(meta["kind"], "session_info_update");
    let last = chat.nvim.poll_for("the large one", |nvim| {
        nvim.events("RatMeta").into_iter().find(|meta| meta["size"].as_u64() > Some(20_000))
    });
    assert_eq!(last["meta"], Json::Null, "too large");
    assert_eq!(chat.nvim.status()["meta"], Json::Null);
    chat.prompt("go");
}
