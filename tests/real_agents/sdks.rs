//! What SDKs do that other agents do not: how their agents are recognized, what they would reject, and lines they lose.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_sdk};

with_each_sdk!(
    is_recognized,
    gets_only_the_mcp_servers_it_can_read,
    edits_a_long_file,
    is_cancelled_while_a_command_runs,
    is_asked_for_nothing_it_does_not_know,
);

/// Holds (Dialects): An agent on the crate agent-client-protocol 0.1.1 is recognized, and those on the newest packages of Python and TypeScript are spoken to in ACP 1, or in ACP 2 if they can.
fn is_recognized(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.nvim.command("RatInfo");
    let protocol = match kind {
        Kind::Crate011 => "ACP 0.1.1",
        Kind::TypeScriptV2 => "ACP 2 (draft)",
        _ => "ACP 1",
    };
    chat.nvim.poll_screen(&format!("protocol      {protocol}"));
    chat.nvim.command("bwipeout!");
    chat.finish();
}

/// With one entry of another kind the crate refuses the session, and so may the others, which do not offer HTTP.
fn gets_only_the_mcp_servers_it_can_read(kind: Kind) {
    let servers = json!({"near": {"command": "cat"}, "far": {"url": "http://127.0.0.1:1/"}});
    let mut chat =
        Chat::open_with(kind, &[], json!({"mcp_servers": servers, "editor_tools": false}));
    chat.ask_and_wait("[[say Ready.]]");
    let transcript = chat.transcript();
    assert!(transcript.contains("does not support: far"), "{transcript}");
    assert_eq!(transcript.matches("far").count(), 1, "said once: {transcript}");
    assert!(transcript.ends_with("Ready."), "{transcript}");
}

/// The crate loses a line that it has half read if it writes meanwhile: the file is its answer's only line.
fn edits_a_long_file(kind: Kind) {
    let line = "All work and no play makes Jack a dull boy.\n";
    let mut text = line.repeat(20_000);
    text.push_str("the end");
    let mut chat = Chat::open(kind, &[]);
    chat.nvim.folder().file("project/long.txt", &text);
    chat.ask("[[edit long.txt|the end|THE END]]");
    chat.answer("allow_once");
    chat.ends("end_turn");
    assert!(chat.file("long.txt").unwrap().ends_with("boy.\nTHE END"), "{}", chat.transcript());
    chat.finish();
}

fn is_cancelled_while_a_command_runs(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask("[[shell touch running; tail -f /dev/null]]");
    chat.answer("allow_once");
    chat.until("the command", |chat| chat.file("running"));
    chat.nvim.command("RatCancel");
    chat.ends("cancelled");
    chat.ask_and_wait("[[say Next.]]");
    assert!(chat.transcript().ends_with("Next."), "{}", chat.transcript());
    chat.nvim.quit();
    chat.all_gone();
}

/// Holds (Dialects): Agents on the crate 0.1.1 and on the newest packages of Python and TypeScript are sent nothing in a turn that their SDKs refuse.
fn is_asked_for_nothing_it_does_not_know(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", "one\n")]);
    chat.ask("[[think First]][[read a.py]][[edit a.py|one|1]][[todo 3]]");
    chat.answer("allow_once");
    chat.ends("end_turn");
    chat.ask("[[say Waiting.]][[hang 1]]");
    chat.wait_for_text("\nWaiting.");
    chat.nvim.command("RatCancel");
    chat.ends("cancelled");
    chat.nvim.command("RatTrace");
    let traffic = chat.until("the traffic", |chat| {
        chat.traffic().filter(|traffic| traffic.contains("cancelled"))
    });
    assert!(!traffic.contains("\"error\""), "{traffic}");
    chat.nvim.command("bwipeout!");
    chat.finish();
}
