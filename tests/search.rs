//! `:RatSearch` with sessions that agents have had.

use crate::support::Chat;
use serde_json::json;

/// Holds (Searching): A session of another folder is found after a restart, and opened there.
#[test]
fn a_session_of_another_folder_is_found_and_resumed_there() {
    let loads = json!({"agentCapabilities": {"loadSession": true}});
    let mut chat = Chat::builder().initialized(loads.clone()).start();
    let session = chat.session.clone();
    chat.prompt("where does the xylophone come from?");
    chat.say("From the orchestra.\nThe Xylophone is in bar 7.");
    chat.end_turn("end_turn");
    chat.nvim.command("RatStop!");
    chat.agent.expect_gone();
    let folder = chat.path("");
    let other = chat.nvim.folder().folder("elsewhere");
    chat.nvim.command(&format!("cd {}", other.display()));
    chat.nvim.command("RatSearch xylophone bar");
    chat.nvim.poll_screen("The Xylophone is in bar 7.");
    chat.nvim.poll_screen("(1 of 1 session)");
    chat.nvim.input("<CR>");
    chat.agent.expect_start();
    chat.agent.initialize(loads);
    let load = chat.agent.expect_request("session/load");
    assert_eq!(load.params["sessionId"], json!(session));
    let real = std::fs::canonicalize(folder).unwrap();
    assert_eq!(load.params["cwd"], json!(real));
    chat.agent.reply(&load, json!({}));
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("From the orchestra.");
}

/// Holds (Searching): What is said in a turn that is going on is found.
#[test]
fn what_is_being_said_is_found() {
    let mut chat = Chat::in_turn();
    chat.say("A bassoon.\n");
    chat.nvim.poll("the bassoon", |nvim| {
        nvim.command("RatSearch bassoon");
        nvim.buffer_lines("rat://search").iter().any(|line| line.contains("A bassoon."))
    });
    chat.nvim.command("RatSearch Bassoon");
    chat.nvim.poll_screen("No session has all these words.");
}
