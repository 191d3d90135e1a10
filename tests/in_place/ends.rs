//! Changes in place that are not made: refused, cancelled, or ended by something else.

use super::{ANSWER, CHANGED, Desk, FILE, builder};
use crate::support::{Chat, text};
use serde_json::json;

/// Holds (In place): Lines that the user has changed meanwhile are not replaced; they are told once.
#[test]
fn lines_that_the_user_has_changed_are_kept() {
    let (mut desk, asked) = Desk::asked();
    desk.nvim.command("call setline(4, '    fn mine() {')");
    desk.answer(&asked, ANSWER);
    desk.poll_message("Could not change a.rs:4-6");
    desk.poll_quiet();
    assert_eq!(desk.lines()[3..5], ["    fn mine() {", "        fs::read()"]);
    assert_eq!(desk.nvim.messages().matches("Could not change").count(), 1);
}

/// Holds (In place): Lines that an agent is still to change are not given to another.
#[test]
fn lines_are_asked_for_once() {
    let (mut desk, asked) = Desk::asked();
    desk.nvim.command("6,7RatEdit remove them");
    desk.poll_message("Fake agent is still to change some of these lines");
    desk.answer(&asked, ANSWER);
    desk.poll_line(4, CHANGED[0]);
    assert!(desk.agent.unexpected().is_empty(), "nothing else was asked");
}

/// Holds (In place): `:RatCancel` in the lines cancels their change and no other turn.
#[test]
fn a_change_is_cancelled_in_its_lines() {
    let (mut desk, asked) = Desk::asked();
    desk.nvim.command("5 | RatCancel");
    desk.agent.expect_notification("session/cancel");
    desk.agent.say(&asked.session, ANSWER);
    desk.agent.reply(&asked.prompt, json!({"stopReason": "end_turn"}));
    desk.poll_quiet();
    assert_eq!(desk.disk(), FILE);
    assert_eq!(desk.lines().join("\n") + "\n", FILE);
}

/// A change that is cancelled while the agent starts is never asked for.
#[test]
fn a_change_is_cancelled_while_the_agent_starts() {
    let mut desk = Desk::new();
    desk.nvim.command("4,6RatEdit make it async");
    desk.agent.expect_start();
    let initialize = desk.agent.expect_request("initialize");
    desk.poll_words("initializing");
    desk.nvim.command("4 | RatCancel");
    desk.poll_quiet();
    desk.agent.reply(&initialize, json!({"protocolVersion": 1}));
    desk.agent.open("s1");
    desk.nvim.command("1RatEdit something else");
    let asked = desk.expect_in("s2");
    assert_eq!(asked.prompt.params["prompt"][0], text("something else"));
}

/// Holds (In place): An answer without code changes nothing, and the user is told where it is.
#[test]
fn an_answer_without_code_changes_nothing() {
    let (mut desk, asked) = Desk::asked();
    desk.answer(&asked, "It **is** async.");
    desk.poll_message(
        "Fake agent's answer has no code, so a.rs:4-6 is unchanged. :RatToggle there shows the answer.",
    );
    desk.poll_quiet();
    assert_eq!(desk.disk(), FILE);
    desk.nvim.command("4 | RatToggle");
    desk.nvim.poll_screen("It is async.");
}

/// Holds (In place): A change whose buffer is closed is cancelled; the user is told.
#[test]
fn a_change_ends_with_its_buffer() {
    let (mut desk, asked) = Desk::asked();
    desk.nvim.command("enew | bwipeout a.rs");
    desk.poll_message("a.rs was closed, so its change in place is cancelled");
    desk.agent.expect_notification("session/cancel");
    desk.answer(&asked, ANSWER);
    desk.nvim.poll_events("RatTurnEnd", 1);
    assert_eq!(desk.disk(), FILE);
}

/// Holds (In place): A change ends with its agent, with one message, and can be asked for again.
#[test]
fn a_change_ends_with_its_agent() {
    let (mut desk, _) = Desk::asked();
    desk.agent.exit(3, "out of memory");
    desk.poll_message("fake exited with status 3");
    desk.poll_quiet();
    desk.nvim.command("4 | RatEdit");
    desk.nvim.poll_screen("make it async");
    desk.nvim.input("<C-s>");
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let again = desk.expect(session);
    desk.answer(&again, ANSWER);
    desk.poll_line(4, CHANGED[0]);
}

/// An agent that allows no session says why, once.
#[test]
fn a_change_ends_if_there_is_no_session() {
    let mut desk = Desk::new();
    desk.nvim.command("4,6RatEdit make it async");
    desk.agent.expect_start();
    desk.agent.initialize(json!({}));
    let open = desk.agent.expect_request("session/new");
    desk.agent.reply_error(&open, -32000 - 3, "too many sessions");
    desk.poll_message("too many sessions");
    desk.poll_quiet();
}

/// Holds (In place): What the user has written and not sent is there again.
#[test]
fn a_text_that_was_not_sent_comes_back() {
    let mut desk = Desk::new();
    desk.nvim.command("4,6RatEdit");
    desk.nvim.poll_screen("Change these 3 lines");
    desk.nvim.input("make it<CR>async<Esc><Esc>");
    desk.nvim.poll_no("Change these 3 lines");
    desk.nvim.command("1RatEdit");
    desk.nvim.poll_screen("Change this line");
    desk.nvim.input("<Esc><CR>");
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let asked = desk.expect(session);
    assert_eq!(asked.prompt.params["prompt"][0], text("make it\nasync"));
}

/// Where no file is, nothing is asked.
#[test]
fn only_files_are_changed_in_place() {
    let mut desk = Desk::new();
    desk.nvim.command("enew | RatEdit write a poem");
    desk.poll_message("This buffer is not a file, so nothing can be changed in place");
    desk.nvim.command("edit a.rs | set nomodifiable | RatEdit write a poem");
    desk.poll_message("This buffer is not modifiable, so nothing can be changed in place");
}

/// Holds (In place): `:RatReject` on a change in place leaves what was pending there before; again, it rejects that.
#[test]
fn a_change_is_rejected_without_what_was_pending_there() {
    let mut chat = builder().start();
    chat.nvim.command("wincmd t | edit a.rs");
    chat.prompt("go");
    let path = chat.path("a.rs");
    let pending = FILE.replace("fs::read()", "fs::read(path)");
    chat.request("fs/write_text_file", json!({"path": path, "content": pending})).unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let chat_session = chat.session.clone();
    let Chat { mut nvim, agent, .. } = chat;
    nvim.command("4,6RatEdit make it async");
    let mut desk = Desk { nvim, agent };
    let asked = desk.expect_in("edit");
    assert_ne!(asked.session, chat_session);
    desk.answer(&asked, ANSWER);
    desk.poll_line(4, CHANGED[0]);
    desk.poll_quiet();
    desk.nvim.command("5 | RatReject");
    desk.poll_line(4, "    fn read() {");
    assert_eq!(desk.disk(), pending);
    desk.nvim.command("5 | RatReject");
    desk.poll_line(5, "        fs::read()");
    assert_eq!(desk.disk(), FILE);
}

/// Holds (In place): The session of a change that was accepted ends with the next change.
#[test]
fn sessions_of_decided_changes_end() {
    let (mut desk, asked) = Desk::asked();
    let chats = "return #require('rat.chat.registry').all()";
    desk.answer(&asked, ANSWER);
    desk.poll_pending(1);
    desk.poll_quiet();
    desk.nvim.command("1RatEdit first");
    let first = desk.expect_in("s2");
    assert_eq!(desk.nvim.lua(chats, json!([])), json!(2), "something of it is pending");
    desk.answer(&first, "```\nuse std::io;\n```");
    desk.poll_line(1, "use std::io;");
    desk.poll_quiet();
    desk.nvim.command("RatAccept file");
    desk.poll_pending(0);
    desk.nvim.command("1RatEdit second");
    desk.expect_in("s3");
    desk.nvim.poll("one chat", |nvim| nvim.lua(chats, json!([])) == json!(1));
}
