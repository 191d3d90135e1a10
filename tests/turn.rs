//! Turns in real Neovim: prompts that wait in a queue, how a turn may end, and what an agent says before and after
//! it should.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Request};

struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

impl Talk {
    fn start() -> Self {
        Self::start_with(json!({"promptCapabilities": {"embeddedContext": true}}))
    }

    fn start_with(capabilities: Json) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        nvim.record(&["RatTurnStart", "RatTurnEnd", "RatError"]);
        let mut agent = nvim.start_agent();
        let session = agent.handshake_with(json!({"agentCapabilities": capabilities}), json!({}));
        nvim.poll_state("ready");
        Self { nvim, agent, session }
    }

    fn prompt(&mut self, text: &str) -> Request {
        self.nvim.send(text);
        self.expect_prompt(text)
    }

    fn expect_prompt(&mut self, text: &str) -> Request {
        let prompt = self.agent.expect_request("session/prompt");
        assert_eq!(prompt.params["prompt"], json!([{"type": "text", "text": text}]));
        assert_eq!(prompt.params["sessionId"], json!(self.session));
        prompt
    }

    fn queue(&mut self, texts: &[&str]) {
        for text in texts {
            self.nvim.send(text);
        }
        let wanted = json!(texts);
        self.nvim.poll("the queue", |nvim| nvim.status()["queued"] == wanted);
    }

    fn end(&mut self, prompt: &Request, reason: &str) {
        let ends = self.nvim.events("RatTurnEnd").len();
        self.agent.reply(prompt, json!({"stopReason": reason}));
        self.nvim.poll_events("RatTurnEnd", ends + 1);
    }

    fn last_end(&mut self) -> Json {
        self.nvim.events("RatTurnEnd").last().unwrap()["stop_reason"].clone()
    }

    fn expect_paused(&mut self) {
        self.nvim.poll("a queue that waits", |nvim| nvim.status()["queue_paused"] == json!(true));
        assert_eq!(self.nvim.status()["state"], json!("ready"));
        assert_eq!(self.agent.unexpected(), [""; 0], "sent in spite of the pause");
        self.nvim.poll_screen("<CR> go on with the queue");
    }

    fn transcript(&mut self) -> Vec<String> {
        self.nvim.buffer_lines("rat://fake/1")
    }
}

/// ACP 58.
#[test]
fn prompts_sent_during_a_turn_wait_and_follow_one_by_one() {
    let mut talk = Talk::start();
    let first = talk.prompt("one");
    talk.queue(&["two", "three"]);
    talk.nvim.poll_screen("» two");
    talk.nvim.poll_screen("» three");
    talk.nvim.poll_screen("2 queued");
    assert_eq!(talk.agent.unexpected(), [""; 0]);
    talk.end(&first, "end_turn");
    let second = talk.expect_prompt("two");
    talk.nvim.poll("one less", |nvim| nvim.status()["queued"] == json!(["three"]));
    assert_eq!(talk.agent.unexpected(), [""; 0]);
    talk.end(&second, "max_tokens");
    let third = talk.expect_prompt("three");
    talk.end(&third, "end_turn");
    talk.nvim.poll_state("ready");
    assert_eq!(talk.nvim.events("RatTurnStart").len(), 3);
}

#[test]
fn a_prompt_sent_while_the_agent_starts_is_its_first() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.start_agent();
    nvim.send("early");
    nvim.poll("the queue", |nvim| nvim.status()["queued"] == json!(["early"]));
    agent.handshake();
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"][0]["text"], json!("early"));
}

#[test]
fn a_queued_prompt_can_be_taken_back_with_what_goes_with_it() {
    let mut talk = Talk::start();
    let first = talk.prompt("one");
    talk.nvim
        .lua("require('rat').send('two', { context = { { buf = 1, first = 1 } } })", json!([]));
    talk.nvim.poll("the queue", |nvim| nvim.status()["queued"] == json!(["two"]));
    talk.nvim.input("g<lt>");
    talk.nvim.poll("the prompt", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == ["two"]);
    talk.nvim.poll_screen("+ [No Name 1]:1");
    assert_eq!(talk.nvim.status()["queued"], json!([]));
    talk.end(&first, "end_turn");
    assert_eq!(talk.agent.unexpected(), [""; 0], "sent although it was taken back");
    talk.nvim.input("A more<Esc><CR>");
    let second = talk.agent.expect_request("session/prompt");
    assert_eq!(second.params["prompt"][0]["text"], json!("two more"));
    assert_eq!(second.params["prompt"][1]["type"], json!("resource"));
}

#[test]
fn of_several_queued_prompts_the_user_chooses_which_to_edit() {
    let mut talk = Talk::start();
    talk.prompt("one");
    talk.queue(&["two", "three", "four", "five", "six"]);
    talk.nvim.poll_screen("» … 2 more");
    talk.nvim.input("g<lt>");
    talk.nvim.poll_screen("2  three");
    talk.nvim.choose(2);
    talk.nvim.poll("the prompt", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == ["three"]);
    let rest = json!(["two", "four", "five", "six"]);
    talk.nvim.poll("the rest", |nvim| nvim.status()["queued"] == rest);
}

#[test]
fn the_queue_pauses_after_a_cancel_and_goes_on_when_told() {
    let mut talk = Talk::start();
    let first = talk.prompt("one");
    talk.queue(&["two"]);
    talk.nvim.command("RatCancel");
    talk.agent.expect_notification("session/cancel");
    talk.end(&first, "cancelled");
    talk.expect_paused();
    talk.nvim.input("<CR>");
    talk.expect_prompt("two");
}

#[test]
fn the_queue_pauses_after_an_error() {
    let mut talk = Talk::start();
    let first = talk.prompt("one");
    talk.queue(&["two"]);
    talk.agent.reply_error(&first, -32603, "model overloaded");
    assert_eq!(talk.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("error"));
    talk.expect_paused();
    talk.nvim.poll_screen("fake could not answer (error -32603: model overloaded)");
}

#[test]
fn the_queue_pauses_after_a_refusal() {
    let mut talk = Talk::start();
    let first = talk.prompt("one");
    talk.queue(&["two"]);
    talk.end(&first, "refusal");
    talk.expect_paused();
    talk.nvim.command("RatSend three");
    let third = talk.expect_prompt("three");
    talk.end(&third, "end_turn");
    talk.expect_prompt("two");
}

/// ACP 60, 61.
#[test]
fn every_stop_reason_is_told_and_an_unknown_one_ends_the_turn_too() {
    let cases = [
        ("end_turn", None),
        ("max_tokens", Some("limit of tokens")),
        ("max_turn_requests", Some("limit of requests")),
        ("refusal", Some("the agent does not remember this prompt")),
        ("cancelled", Some("cancelled")),
        ("lunch_break", Some("ended: lunch_break")),
    ];
    let mut talk = Talk::start();
    for (reason, note) in cases {
        let before = talk.transcript().len();
        let prompt = talk.prompt("go");
        talk.agent.say(&talk.session, "done");
        talk.end(&prompt, reason);
        assert_eq!(talk.last_end(), json!(reason));
        talk.nvim.poll_state("ready");
        let lines = talk.transcript();
        let last = lines.last().unwrap();
        match note {
            Some(note) => assert!(last.contains(note), "{reason}: {last}"),
            None => assert_eq!(last, "done"),
        }
        assert!(lines.len() > before);
    }
}

#[test]
fn an_answer_without_a_stop_reason_ends_the_turn() {
    let mut talk = Talk::start();
    let prompt = talk.prompt("go");
    talk.agent.reply(&prompt, json!({}));
    talk.nvim.poll_events("RatTurnEnd", 1);
    talk.nvim.poll_state("ready");
}

/// ACP 19.
#[test]
fn an_error_shows_what_the_agent_said_of_it() {
    let mut talk = Talk::start();
    let prompt = talk.prompt("go");
    talk.agent.send(&json!({
        "jsonrpc": "2.0", "id": prompt.id,
        "error": {"code": -32603, "message": "no quota\nuntil Friday", "data": {"plan": "free"}},
    }));
    let error = talk.nvim.poll_events("RatError", 1);
    assert_eq!(
        error["message"],
        json!("fake could not answer (error -32603: no quota until Friday): send the prompt again")
    );
    let lines = talk.transcript().join("\n");
    assert!(lines.contains(r#"{"plan":"free"}"#), "{lines}");
}

/// ACP 45, 46.
#[test]
fn updates_that_come_before_the_session_is_known_are_kept() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.start_agent();
    let request = agent.expect_request("initialize");
    agent.reply(&request, json!({"protocolVersion": 1, "agentCapabilities": {}}));
    let request = agent.expect_request("session/new");
    agent.update("s7", json!({"sessionUpdate": "session_info_update", "title": "Early title"}));
    agent.say("s7", "I was first.");
    agent.say("s8", "I am somebody else's.");
    agent.reply(&request, json!({"sessionId": "s7"}));
    nvim.poll_state("ready");
    nvim.poll_screen("I was first.");
    assert_eq!(nvim.status()["detail"], json!("Early title"));
    assert!(!nvim.screen().contains("somebody else"));
}

/// ACP 41.
#[test]
fn a_session_is_loaded_with_its_replay_before_the_answer() {
    let mut talk = Talk::start_with(json!({"loadSession": true}));
    restart_after_a_turn(&mut talk);
    let load = talk.agent.expect_request("session/load");
    assert_eq!(load.params["sessionId"], json!(talk.session));
    assert_eq!(load.params["cwd"], json!(talk.nvim.cwd()));
    replay(&mut talk);
    talk.agent.reply(&load, json!({}));
    talk.nvim.poll_state("ready");
    expect_replay(&mut talk);
}

#[test]
fn a_session_is_loaded_with_its_replay_after_the_answer() {
    let mut talk = Talk::start_with(json!({"loadSession": true}));
    restart_after_a_turn(&mut talk);
    let load = talk.agent.expect_request("session/load");
    talk.agent.reply(&load, json!({}));
    talk.nvim.poll_state("ready");
    replay(&mut talk);
    expect_replay(&mut talk);
}

#[test]
fn a_session_that_is_loaded_without_a_replay_keeps_what_is_shown() {
    let mut talk = Talk::start_with(json!({"loadSession": true}));
    restart_after_a_turn(&mut talk);
    let load = talk.agent.expect_request("session/load");
    talk.agent.reply(&load, json!({}));
    talk.nvim.poll_state("ready");
    talk.nvim.poll_screen("the session was loaded again");
    let prompt = talk.prompt("Go on.");
    talk.agent.say(&talk.session, "Gladly.");
    talk.end(&prompt, "end_turn");
    let lines = talk.transcript();
    for text in ["What is it?", "A question.", "Go on.", "Gladly."] {
        assert!(lines.iter().any(|line| line == text), "{text}: {lines:#?}");
    }
}

fn restart_after_a_turn(talk: &mut Talk) {
    let prompt = talk.prompt("What is it?");
    talk.agent.say(&talk.session, "A question.");
    talk.end(&prompt, "end_turn");
    talk.nvim.command("RatRestart");
    talk.agent.expect_start();
    let request = talk.agent.expect_request("initialize");
    let capabilities = json!({"loadSession": true});
    talk.agent.reply(&request, json!({"protocolVersion": 1, "agentCapabilities": capabilities}));
}

fn replay(talk: &mut Talk) {
    let user = json!({"type": "text", "text": "What is it?"});
    talk.agent
        .update(&talk.session, json!({"sessionUpdate": "user_message_chunk", "content": user}));
    talk.agent.say(&talk.session, "A question.");
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Think", "status": "completed"});
    talk.agent.update(&talk.session, call);
}

fn expect_replay(talk: &mut Talk) {
    talk.nvim.poll_screen("✓ tool Think");
    let lines = talk.transcript();
    let count = |text: &str| lines.iter().filter(|line| *line == text).count();
    assert_eq!((count("What is it?"), count("A question.")), (1, 1), "{lines:#?}");
}
