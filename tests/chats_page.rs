//! `:RatChats` with agents: how each chat stands, what is pending, and what the keys do.

use crate::support::{Chat, Nvim};
use serde_json::json;

/// The rows of the list.
fn rows(nvim: &mut Nvim) -> Vec<String> {
    nvim.buffer_lines("rat://chats")
}

/// Waits until a row has these columns.
fn poll_row(nvim: &mut Nvim, row: usize, columns: &[&str]) {
    nvim.poll(&format!("{columns:?} in row {row}"), |nvim| {
        rows(nvim).get(row).is_some_and(|line| columns.iter().all(|column| line.contains(column)))
    });
}

/// Holds (Several chats): Chats that need the user are listed first: those that wait, have failed, have finished unseen.
#[test]
fn the_list_follows_chats_with_agents() {
    let mut first = Chat::builder().file("a.txt", "1\n2\n").named("one").start();
    first.prompt("rename it");
    let write = json!({"path": first.path("a.txt"), "content": "1\ntwo\n3\n"});
    first.request("fs/write_text_file", write).unwrap();
    let (mut second, session) = Chat::builder().named("two").start_in(&mut first.nvim);
    first.nvim.command("RatChats");
    poll_row(&mut first.nvim, 0, &["> running", "rename it", "+2 -1", "now", "Fake agent"]);
    poll_row(&mut first.nvim, 1, &["- ready", "(no prompt yet)"]);
    first.nvim.lua("require('rat').send('look around', { session = 2 })", json!([]));
    let prompt = second.expect_request("session/prompt");
    first.end_turn("end_turn");
    poll_row(&mut first.nvim, 0, &["* done", "rename it", "+2 -1"]);
    poll_row(&mut first.nvim, 1, &["> running", "look around"]);
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
    let call = json!({"toolCallId": "c", "title": "Run it", "kind": "execute"});
    let asks = json!({"sessionId": session, "toolCall": call, "options": options});
    let pending = second.ask("session/request_permission", asks);
    poll_row(&mut first.nvim, 0, &["? needs you", "look around"]);
    let counts = first.nvim.eval("require('rat').counts()");
    assert_eq!(counts, json!({"waiting": 1, "failed": 0, "done": 1, "running": 0}));
    first.nvim.command("RatAllow");
    second.expect_answer(pending).unwrap();
    second.reply(&prompt, json!({"stopReason": "end_turn"}));
    first.nvim.poll("nothing to do in the second", |nvim| {
        rows(nvim).last().is_some_and(|row| row.starts_with("- ready"))
    });
}
