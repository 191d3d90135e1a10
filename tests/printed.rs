//! What agents print to stdout although only messages belong there, in real Neovim.

use crate::support::{Chat, TRANSCRIPT};
use serde_json::json;

fn initialized() -> serde_json::Value {
    json!({"protocolVersion": 1, "agentInfo": {"name": "fake", "title": "Fake agent", "version": "1.0.0"}})
}

/// Holds (Sessions): A banner, colours, progress or a byte order mark before a message on its line do not hold up the start.
#[test]
fn what_is_printed_before_a_message_does_not_hold_up_the_start() {
    for noise in [
        "\u{feff}",
        "\u{1b}[1;32m",
        "10%\r50%\r100%\r",
        "\u{1b}]0;agent\u{7}\u{1b}[2K\r",
        "Fake agent v1.0 (c) {2026} ",
        "\u{1b}[33mwarning\u{1b}[0m: no config \r\u{1b}[K",
    ] {
        let (mut nvim, mut agent) = Chat::builder().launch();
        let request = agent.expect_request("initialize");
        agent.send_raw(noise.as_bytes());
        agent.reply(&request, initialized());
        agent.open("s1");
        nvim.poll_state("ready");
    }
}

/// Holds (Sessions): A message that a line of a log quotes is none.
#[test]
fn a_message_that_is_quoted_in_a_log_is_none() {
    let mut chat = Chat::in_turn();
    let request = r#"{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{}}"#;
    chat.agent.send_raw(format!("debug: sends {request}\n").as_bytes());
    let answer = chat.last_prompt().id;
    let answer =
        format!(r#"debug: {{"jsonrpc":"2.0","id":{answer},"result":{{"stopReason":"end_turn"}}}}"#);
    chat.agent.send_raw(format!("{answer}\n").as_bytes());
    chat.say("Still here.");
    chat.nvim.poll_screen("Still here.");
    assert_eq!(chat.nvim.status()["state"], json!("running"));
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}

/// Holds (Options and logins): An address that an agent prints while its chat waits for it is shown there, and is not saved.
#[test]
fn an_address_to_sign_in_at_is_shown() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    let request = agent.expect_request("initialize");
    agent
        .send_raw(b"\x1b[1mSign in\x1b[0m to go on:\n  https://example.com/device?code=se-cr-et\n");
    nvim.poll_screen("printed this while starting");
    nvim.poll_screen("https://example.com/device?code=se-cr-et");
    assert!(nvim.buffer_lines(TRANSCRIPT).iter().any(|line| line.contains("Sign in to go on:")));
    // A question without a line break, and its end.
    agent.send_raw(b"Then press <Enter>");
    nvim.poll_screen("Then press <Enter>");
    agent.send_raw(b" here. ");
    agent.reply(&request, initialized());
    agent.open("s1");
    nvim.poll_state("ready");
    nvim.command("RatSend hello");
    let prompt = agent.expect_request("session/prompt");
    agent.say("s1", "Hello.");
    agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
    nvim.poll_screen("https://example.com/device?code=se-cr-et");
    let root = nvim.lua("return require('rat.util.private_file').root()", json!([]));
    let transcripts = std::path::Path::new(root.as_str().unwrap()).join("transcripts");
    nvim.poll("the transcript", |_| transcripts.exists());
    nvim.quit();
    for folder in std::fs::read_dir(transcripts).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            assert!(text.contains("printed this") && !text.contains("se-cr-et"), "{text}");
        }
    }
}

/// Holds (Sessions): What an agent prints and goes on is not shown.
#[test]
fn an_address_of_documentation_is_not_shown() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    let request = agent.expect_request("initialize");
    agent.send_raw(b"Docs: https://example.com/docs\n");
    agent.reply(&request, initialized());
    agent.open("s1");
    nvim.poll_state("ready");
    nvim.command("RatSend hello");
    let prompt = agent.expect_request("session/prompt");
    agent.say("s1", "Hello.");
    agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    nvim.poll_screen("Hello.");
    nvim.let_time_pass();
    nvim.poll_no("example.com");
}

/// Holds (Turns): A character of which one half ends a chunk and the other begins the next is whole.
#[test]
fn a_character_in_two_halves_is_whole() {
    let mut chat = Chat::in_turn();
    for half in [r"Good \ud83d", r"\ude00 morning."] {
        let session = &chat.session;
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{half}"}}}}}}}}"#
        );
        chat.agent.send_raw(format!("{line}\n").as_bytes());
    }
    chat.nvim.poll("the character", |nvim| {
        nvim.buffer_lines(TRANSCRIPT).iter().any(|line| line == "Good 😀 morning.")
    });
}
