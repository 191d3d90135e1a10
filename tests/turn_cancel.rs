//! Cancelling a turn in real Neovim, to the letter of the protocol: told once, shown at once, late updates counted,
//! and a way out where the agent does not stop.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Request};

struct Turn {
    nvim: Nvim,
    agent: Agent,
    session: String,
    prompt: Request,
}

impl Turn {
    fn start() -> Self {
        Self::start_with(json!({}))
    }

    /// A turn in which a tool call runs; `timeouts` are the agent's.
    fn start_with(timeouts: Json) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        nvim.record(&["RatTurnEnd", "RatError"]);
        let mut agent = nvim.listen();
        let mut config = agent.config();
        config["timeouts"] = timeouts;
        nvim.setup(json!({"agents": {"fake": config}}));
        nvim.command("RatStart fake");
        agent.expect_start();
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("go");
        let prompt = agent.expect_request("session/prompt");
        let mut turn = Self { nvim, agent, session, prompt };
        turn.call("build", "in_progress", "Build");
        turn.nvim.poll_screen("● tool Build");
        turn
    }

    fn call(&mut self, id: &str, status: &str, title: &str) {
        let update = json!({"sessionUpdate": "tool_call", "toolCallId": id, "status": status, "title": title});
        self.agent.update(&self.session, update);
    }

    fn cancel(&mut self) {
        self.nvim.command("RatCancel");
        let params = self.agent.expect_notification("session/cancel");
        assert_eq!(params, json!({"sessionId": self.session}));
    }

    fn expect_cancelled(&mut self) {
        let end = self.nvim.poll_events("RatTurnEnd", 1);
        assert_eq!(end["stop_reason"], json!("cancelled"));
        self.nvim.poll_state("ready");
        self.nvim.poll_screen("· cancelled");
        assert_eq!(self.nvim.events("RatError").len(), 0);
    }
}

/// So long that it cannot run out during a test.
fn patient() -> Json {
    json!({"cancel": 600_000})
}

/// ACP 69, 70.
#[test]
fn what_runs_shows_as_cancelled_at_once_and_late_updates_count() {
    let mut turn = Turn::start_with(patient());
    turn.call("done", "completed", "Look");
    turn.nvim.poll_screen("✓ tool Look");
    turn.cancel();
    turn.nvim.poll_screen("⊘ tool Build");
    assert!(turn.nvim.screen().contains("✓ tool Look"));
    assert_eq!(turn.nvim.status()["state"], json!("cancelling"));
    turn.agent.say(&turn.session, "I had almost done it.");
    turn.nvim.poll_screen("I had almost done it.");
    let late =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "build", "status": "completed"});
    turn.agent.update(&turn.session, late);
    turn.nvim.poll_screen("✓ tool Build");
    turn.agent.reply(&turn.prompt, json!({"stopReason": "cancelled"}));
    turn.expect_cancelled();
}

/// ACP 66.
#[test]
fn the_agent_is_told_once() {
    let mut turn = Turn::start_with(patient());
    turn.cancel();
    turn.nvim.command("RatCancel");
    turn.nvim.poll_screen("has not stopped yet");
    turn.agent.reply(&turn.prompt, json!({"stopReason": "cancelled"}));
    turn.expect_cancelled();
    assert_eq!(turn.agent.unexpected(), [""; 0]);
}

#[test]
fn the_keys_of_the_prompt_and_the_lua_function_cancel_too() {
    for cancel in ["<C-c>", ":lua require('rat').cancel()<CR>"] {
        let mut turn = Turn::start_with(patient());
        turn.nvim.input(cancel);
        turn.agent.expect_notification("session/cancel");
        turn.agent.reply(&turn.prompt, json!({"stopReason": "cancelled"}));
        turn.expect_cancelled();
    }
}

/// ACP 70.
#[test]
fn an_error_after_a_cancel_is_a_cancel() {
    let mut turn = Turn::start();
    turn.cancel();
    turn.agent.reply_error(&turn.prompt, -32603, "aborted by signal");
    turn.expect_cancelled();
    assert!(!turn.nvim.screen().contains("aborted by signal"));
}

#[test]
fn the_end_of_a_turn_after_a_cancel_is_a_cancel() {
    let mut turn = Turn::start();
    turn.nvim.send("next");
    turn.nvim.poll("the queue", |nvim| nvim.status()["queued"] == json!(["next"]));
    turn.cancel();
    turn.agent.reply(&turn.prompt, json!({"stopReason": "end_turn"}));
    turn.expect_cancelled();
    assert_eq!(turn.nvim.status()["queue_paused"], json!(true));
    assert_eq!(turn.agent.unexpected(), [""; 0]);
}

#[test]
fn the_next_prompt_after_a_cancel_works() {
    let mut turn = Turn::start();
    turn.cancel();
    turn.agent.reply(&turn.prompt, json!({"stopReason": "cancelled"}));
    turn.expect_cancelled();
    turn.nvim.send("again");
    let prompt = turn.agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"][0]["text"], json!("again"));
    turn.agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    let end = turn.nvim.poll_events("RatTurnEnd", 2);
    assert_eq!(end["stop_reason"], json!("end_turn"));
}

/// ACP 71.
#[test]
fn an_agent_that_does_not_stop_can_be_ended() {
    let mut turn = Turn::start_with(json!({"cancel": 50}));
    let pid = turn.agent.pid();
    turn.cancel();
    turn.nvim.poll_screen("Fake agent has not stopped yet");
    turn.nvim.poll_screen("1  End the agent");
    turn.nvim.choose(1);
    turn.agent.expect_stdin_closed();
    assert!(support::Processes::is_gone(pid));
    turn.nvim.poll_state("stopped");
    assert_eq!(turn.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("cancelled"));
    turn.nvim.command("RatRestart");
    turn.agent.expect_start();
    turn.agent.handshake();
    turn.nvim.poll_state("ready");
}

#[test]
fn the_offer_to_end_the_agent_can_be_turned_down() {
    let mut turn = Turn::start_with(json!({"cancel": 50}));
    turn.cancel();
    turn.nvim.poll_screen("2  Wait");
    turn.nvim.choose(2);
    turn.nvim.poll("no question", |nvim| !nvim.screen().contains("Wait"));
    assert_eq!(turn.nvim.status()["state"], json!("cancelling"));
    turn.agent.reply(&turn.prompt, json!({"stopReason": "cancelled"}));
    turn.expect_cancelled();
}

#[test]
fn the_offer_to_end_the_agent_is_taken_back_when_it_stops() {
    let mut turn = Turn::start_with(json!({"cancel": 50}));
    turn.cancel();
    turn.nvim.poll_screen("1  End the agent");
    turn.agent.reply(&turn.prompt, json!({"stopReason": "cancelled"}));
    turn.expect_cancelled();
    turn.nvim.poll("no question", |nvim| !nvim.screen().contains("End the agent"));
}

#[test]
fn a_cancel_without_a_turn_says_so_and_tells_the_agent_nothing() {
    let mut turn = Turn::start();
    turn.agent.reply(&turn.prompt, json!({"stopReason": "end_turn"}));
    turn.nvim.poll_state("ready");
    turn.nvim.command("RatCancel");
    turn.nvim.poll_screen("there is no turn to cancel");
    assert_eq!(turn.agent.unexpected(), [""; 0]);
}
