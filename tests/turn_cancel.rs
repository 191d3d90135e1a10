//! Cancelling a turn in real Neovim, to the letter of the protocol: told once, shown at once, late updates counted,
//! and a way out where the agent does not stop.

use crate::support::{Chat, Processes};
use serde_json::json;

/// Milliseconds to stop in that cannot run out during a test.
const PATIENT: u32 = 600_000;

/// A turn in which a tool call runs; the agent has that many milliseconds to stop in.
fn in_a_tool_call(timeout: u32) -> Chat {
    let mut chat = Chat::builder().agent(json!({"timeouts": {"cancel": timeout}})).in_turn();
    call(&mut chat, "build", "in_progress", "Build");
    chat.nvim.poll_screen("● tool Build");
    chat
}

fn call(chat: &mut Chat, id: &str, status: &str, title: &str) {
    chat.tool_call(json!({"toolCallId": id, "status": status, "title": title}));
}

fn cancel(chat: &mut Chat) {
    chat.nvim.command("RatCancel");
    let params = chat.agent.expect_notification("session/cancel");
    assert_eq!(params, json!({"sessionId": chat.session}));
}

fn expect_cancelled(chat: &mut Chat) {
    let end = chat.nvim.poll_events("RatTurnEnd", 1);
    assert_eq!(end["stop_reason"], json!("cancelled"));
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("· Cancelled");
    assert_eq!(chat.nvim.events("RatError").len(), 0);
}

/// ACP 69, 70.
/// Holds (Turns): Cancelling shows at once; later updates still count.
#[test]
fn what_runs_shows_as_cancelled_at_once_and_late_updates_count() {
    let mut chat = in_a_tool_call(PATIENT);
    call(&mut chat, "done", "completed", "Look");
    chat.nvim.poll_screen("✓ tool Look");
    cancel(&mut chat);
    chat.nvim.poll_screen("⊘ tool Build");
    assert!(chat.nvim.screen().contains("✓ tool Look"));
    assert_eq!(chat.nvim.status()["state"], json!("cancelling"));
    chat.say("I had almost done it.");
    chat.nvim.poll_screen("I had almost done it.");
    let late =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "build", "status": "completed"});
    chat.update(late);
    chat.nvim.poll_screen("✓ tool Build");
    chat.end_turn("cancelled");
    expect_cancelled(&mut chat);
}

/// ACP 66.
#[test]
fn the_agent_is_told_once() {
    let mut chat = in_a_tool_call(PATIENT);
    cancel(&mut chat);
    chat.nvim.command("RatCancel");
    chat.nvim.poll_screen("has not stopped yet");
    chat.end_turn("cancelled");
    expect_cancelled(&mut chat);
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}

#[test]
fn the_keys_of_the_prompt_and_the_lua_function_cancel_too() {
    for cancel in ["<C-c>", ":lua require('rat').cancel()<CR>"] {
        let mut chat = in_a_tool_call(PATIENT);
        chat.nvim.input(cancel);
        chat.agent.expect_notification("session/cancel");
        chat.end_turn("cancelled");
        expect_cancelled(&mut chat);
    }
}

/// ACP 70.
/// Holds (Turns): An error after a cancel counts as cancelled.
#[test]
fn an_error_after_a_cancel_is_a_cancel() {
    let mut chat = in_a_tool_call(PATIENT);
    cancel(&mut chat);
    chat.agent.reply_error(&chat.last_prompt(), -32603, "aborted by signal");
    expect_cancelled(&mut chat);
    assert!(!chat.nvim.screen().contains("aborted by signal"));
}

#[test]
fn the_end_of_a_turn_after_a_cancel_is_a_cancel() {
    let mut chat = in_a_tool_call(PATIENT);
    chat.nvim.send("next");
    chat.nvim.poll_queue(&["next"]);
    cancel(&mut chat);
    chat.end_turn("end_turn");
    expect_cancelled(&mut chat);
    assert_eq!(chat.nvim.status()["queue_paused"], json!(true));
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}

#[test]
fn the_next_prompt_after_a_cancel_works() {
    let mut chat = in_a_tool_call(PATIENT);
    cancel(&mut chat);
    chat.end_turn("cancelled");
    expect_cancelled(&mut chat);
    chat.nvim.send("again");
    let prompt = chat.expect_prompt();
    assert_eq!(prompt.params["prompt"][0]["text"], json!("again"));
    chat.end_turn("end_turn");
    let end = chat.nvim.poll_events("RatTurnEnd", 2);
    assert_eq!(end["stop_reason"], json!("end_turn"));
}

/// Holds (Turns): With `on_cancel_timeout = "restart"` any agent that does not stop is ended, started again and its session resumed.
#[test]
fn an_agent_that_does_not_stop_is_restarted_where_that_is_chosen() {
    let capabilities = json!({"sessionCapabilities": {"resume": {}}});
    let config = json!({"timeouts": {"cancel": 50}, "on_cancel_timeout": "restart"});
    let initialized = json!({"agentCapabilities": capabilities});
    let mut chat = Chat::builder().agent(config).initialized(initialized.clone()).start();
    chat.nvim.send("go");
    chat.expect_prompt();
    cancel(&mut chat);
    chat.agent.expect_start();
    chat.agent.initialize(initialized);
    let resumed = chat.agent.expect_request("session/resume");
    assert_eq!(resumed.params["sessionId"], "s1");
    chat.agent.reply(&resumed, json!({}));
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("did not stop, so it was ended");
    assert_eq!(chat.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("cancelled"));
}

/// ACP 71.
/// Holds (Turns): The user may end an agent that does not answer a cancel.
#[test]
fn an_agent_that_does_not_stop_can_be_ended() {
    let mut chat = in_a_tool_call(50);
    let pid = chat.agent.pid();
    cancel(&mut chat);
    chat.nvim.poll_screen("Fake agent has not stopped yet");
    chat.nvim.poll_screen("1  End the agent");
    chat.nvim.choose(1);
    chat.agent.expect_stdin_closed();
    assert!(Processes::is_gone(pid));
    chat.nvim.poll_state("stopped");
    assert_eq!(chat.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("cancelled"));
    chat.nvim.poll_screen("· Stopped. Send");
    let notes: Vec<_> = chat
        .transcript()
        .into_iter()
        .filter(|line| line.contains("Cancelled") || line.contains("Stopped"))
        .collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    chat.nvim.command("RatRestart");
    chat.agent.expect_start();
    chat.agent.handshake();
    chat.nvim.poll_state("ready");
}

/// Holds (Turns): Before an agent is ended that other chats use as well, the user is told so.
#[test]
fn the_offer_to_end_the_agent_names_the_other_chats_that_end_with_it() {
    let config = json!({"timeouts": {"cancel": 50}});
    let mut chat = Chat::builder().agent(config).start();
    chat.nvim.command("RatStart! fake");
    chat.agent.open("s2");
    chat.session = "s2".to_owned();
    chat.nvim.send("go");
    chat.expect_prompt();
    cancel(&mut chat);
    chat.nvim.poll_screen("1  End the agent, and 1 other chat that uses it");
}

#[test]
fn the_offer_to_end_the_agent_can_be_turned_down() {
    let mut chat = in_a_tool_call(50);
    cancel(&mut chat);
    chat.nvim.poll_screen("2  Wait");
    chat.nvim.choose(2);
    chat.nvim.poll_no("Wait");
    assert_eq!(chat.nvim.status()["state"], json!("cancelling"));
    chat.end_turn("cancelled");
    expect_cancelled(&mut chat);
}

#[test]
fn the_offer_to_end_the_agent_is_taken_back_when_it_stops() {
    let mut chat = in_a_tool_call(50);
    cancel(&mut chat);
    chat.nvim.poll_screen("1  End the agent");
    chat.end_turn("cancelled");
    expect_cancelled(&mut chat);
    chat.nvim.poll_no("End the agent");
}

#[test]
fn a_cancel_without_a_turn_says_so_and_tells_the_agent_nothing() {
    let mut chat = in_a_tool_call(PATIENT);
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatCancel");
    chat.nvim.poll_screen("No turn to cancel");
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}
