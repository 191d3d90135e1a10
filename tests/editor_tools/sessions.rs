//! Whose calls are whose.

use serde_json::json;

use crate::support::{Chat, Mcp};

/// Holds (Editor tools): Each session has a token of its own, and a later one gets another.
#[test]
fn each_session_has_its_own_server() {
    let mut chat = Chat::start();
    let first = chat.agent.mcp_servers.clone();
    assert_eq!(first[0]["name"], json!("rat"));
    chat.nvim.command("RatRestart");
    chat.agent.expect_start();
    chat.agent.handshake();
    let second = chat.agent.mcp_servers.clone();
    assert_ne!(first, second);
    chat.nvim.poll_state("ready");
    assert!(!Mcp::start(&second).call("open_buffers", json!({})).is_error);
    assert!(Mcp::start(&first).call("open_buffers", json!({})).is_error);
}

/// Holds (Editor tools): They are not offered where an option says so, for all agents or for one.
#[test]
fn they_can_be_switched_off() {
    let chat = Chat::builder().setup(json!({"editor_tools": false})).start();
    assert_eq!(chat.agent.mcp_servers, json!([]));
    let chat = Chat::builder().agent(json!({"editor_tools": false})).start();
    assert_eq!(chat.agent.mcp_servers, json!([]));
    let servers = json!({"rat": {"command": "true"}});
    let chat = Chat::builder().setup(json!({"mcp_servers": servers})).start();
    assert_eq!(chat.agent.mcp_servers.as_array().map(Vec::len), Some(1), "the user's own");
}
