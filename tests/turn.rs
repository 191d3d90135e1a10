//! Turns in real Neovim: prompts that wait in a queue, how a turn may end, and what an agent says before and after
//! it should.

use crate::support::Chat;
use serde_json::json;

/// A chat with an agent that loads sessions.
fn that_loads() -> Chat {
    Chat::builder().initialized(json!({"agentCapabilities": {"loadSession": true}})).start()
}

/// Waits for the next prompt, which has to be this one and nothing else.
fn expect_prompt(chat: &mut Chat, text: &str) {
    let prompt = chat.expect_prompt();
    assert_eq!(prompt.params["prompt"], json!([{"type": "text", "text": text}]));
}

fn queue(chat: &mut Chat, prompts: &[&str]) {
    for prompt in prompts {
        chat.nvim.send(prompt);
    }
    chat.nvim.poll_queue(prompts);
}

fn last_stop_reason(chat: &mut Chat) -> String {
    let end = chat.nvim.events("RatTurnEnd").pop().expect("the end of a turn");
    end["stop_reason"].as_str().unwrap().to_owned()
}

fn expect_paused(chat: &mut Chat) {
    chat.nvim.poll("a queue that waits", |nvim| nvim.status()["queue_paused"] == json!(true));
    assert_eq!(chat.nvim.status()["state"], json!("ready"));
    assert_eq!(chat.agent.unexpected(), [""; 0], "sent in spite of the pause");
    chat.nvim.poll_screen("<CR> send the queue");
}

/// ACP 58.
/// Holds (Turns): Prompts sent during a turn are queued, shown and sent one by one.
#[test]
fn prompts_sent_during_a_turn_wait_and_follow_one_by_one() {
    let mut chat = Chat::start();
    chat.prompt("one");
    queue(&mut chat, &["two", "three"]);
    chat.nvim.poll_screen("» two");
    chat.nvim.poll_screen("» three");
    chat.nvim.poll_screen("2 queued");
    assert_eq!(chat.agent.unexpected(), [""; 0]);
    chat.end_turn("end_turn");
    expect_prompt(&mut chat, "two");
    chat.nvim.poll_queue(&["three"]);
    assert_eq!(chat.agent.unexpected(), [""; 0]);
    chat.end_turn("max_tokens");
    expect_prompt(&mut chat, "three");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    assert_eq!(chat.nvim.events("RatTurnStart").len(), 3);
}

#[test]
fn a_prompt_sent_while_the_agent_starts_is_its_first() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    nvim.send("early");
    nvim.poll_queue(&["early"]);
    agent.handshake();
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"][0]["text"], json!("early"));
}

#[test]
fn a_queued_prompt_can_be_taken_back_with_what_goes_with_it() {
    let mut chat = Chat::start();
    chat.prompt("one");
    chat.nvim
        .lua("require('rat').send('two', { context = { { buf = 1, first = 1 } } })", json!([]));
    chat.nvim.poll_queue(&["two"]);
    chat.nvim.input("g<lt>");
    chat.poll_draft(&["two"]);
    chat.nvim.poll_screen("+ [No Name 1]:1");
    assert_eq!(chat.nvim.status()["queued"], json!([]));
    chat.end_turn("end_turn");
    assert_eq!(chat.agent.unexpected(), [""; 0], "sent although it was taken back");
    chat.nvim.input("A more<Esc><CR>");
    let second = chat.expect_prompt();
    assert_eq!(second.params["prompt"][0]["text"], json!("two more"));
    assert_eq!(second.params["prompt"][1]["type"], json!("resource"));
}

#[test]
fn a_draft_makes_room_for_a_queued_prompt_and_comes_back() {
    let mut chat = Chat::start();
    chat.prompt("one");
    queue(&mut chat, &["two"]);
    chat.nvim.input("imine<Esc>g<lt>");
    chat.poll_draft(&["two"]);
    chat.nvim.input("<CR>");
    chat.poll_draft(&["mine"]);
    chat.nvim.poll_queue(&["two"]);
}

/// Holds (Turns): A queued prompt can be taken back and edited.
#[test]
fn of_several_queued_prompts_the_user_chooses_which_to_edit() {
    let mut chat = Chat::start();
    chat.prompt("one");
    queue(&mut chat, &["two", "three", "four", "five", "six"]);
    chat.nvim.poll_screen("» … 2 more");
    chat.nvim.input("g<lt>");
    chat.nvim.poll_screen("2  three");
    chat.nvim.choose(2);
    chat.poll_draft(&["three"]);
    let rest = json!(["two", "four", "five", "six"]);
    chat.nvim.poll("the rest", |nvim| nvim.status()["queued"] == rest);
}

/// Holds (Turns): The queue pauses after a cancelled turn, an error and a refusal.
#[test]
fn the_queue_pauses_after_a_cancel_and_goes_on_when_told() {
    let mut chat = Chat::start();
    chat.prompt("one");
    queue(&mut chat, &["two"]);
    chat.nvim.command("RatCancel");
    chat.agent.expect_notification("session/cancel");
    chat.end_turn("cancelled");
    expect_paused(&mut chat);
    chat.nvim.input("<CR>");
    expect_prompt(&mut chat, "two");
}

/// Holds (Turns): The queue pauses after a cancelled turn, an error and a refusal.
#[test]
fn the_queue_pauses_after_an_error() {
    let mut chat = Chat::start();
    chat.prompt("one");
    queue(&mut chat, &["two"]);
    let prompt = chat.last_prompt();
    chat.agent.reply_error(&prompt, -32603, "model overloaded");
    assert_eq!(chat.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("error"));
    chat.nvim.poll("a queue that waits", |nvim| nvim.status()["queue_paused"] == json!(true));
    chat.nvim.poll_screen("fake could not answer: model overloaded (error -32603)");
}

/// Holds (Turns): The prompt of a turn that failed is in the prompt buffer again, before what was written since.
#[test]
fn the_prompt_of_a_failed_turn_is_back() {
    let mut chat = Chat::start();
    chat.prompt("one");
    chat.write_draft("half written");
    let prompt = chat.last_prompt();
    chat.agent.reply_error(&prompt, -32603, "model overloaded");
    chat.poll_draft(&["one", "", "half written"]);
}

/// Holds (Turns): The queue pauses after a cancelled turn, an error and a refusal, and stays paused where another prompt is sent first.
#[test]
fn the_queue_pauses_after_a_refusal() {
    let mut chat = Chat::start();
    chat.prompt("one");
    queue(&mut chat, &["two"]);
    chat.end_turn("refusal");
    expect_paused(&mut chat);
    chat.nvim.command("RatSend three");
    expect_prompt(&mut chat, "three");
    chat.end_turn("end_turn");
    expect_paused(&mut chat);
    chat.nvim.input("<CR>");
    expect_prompt(&mut chat, "two");
}

/// ACP 60, 61.
#[test]
fn every_stop_reason_is_told_and_an_unknown_one_ends_the_turn_too() {
    let cases = [
        ("end_turn", None),
        ("max_tokens", Some("token limit")),
        ("max_turn_requests", Some("limit of requests")),
        ("refusal", Some("The agent forgets this prompt")),
        ("cancelled", Some("Cancelled")),
        ("lunch_break", Some("The turn ended: lunch_break")),
    ];
    let mut chat = Chat::start();
    for (reason, note) in cases {
        let before = chat.transcript().len();
        chat.prompt("go");
        chat.say("done");
        chat.end_turn(reason);
        assert_eq!(last_stop_reason(&mut chat), reason);
        chat.nvim.poll_state("ready");
        let lines = chat.transcript();
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
    let mut chat = Chat::start();
    let prompt = chat.prompt("go");
    chat.agent.reply(&prompt, json!({}));
    chat.nvim.poll_events("RatTurnEnd", 1);
    chat.nvim.poll_state("ready");
}

/// ACP 19.
#[test]
fn an_error_shows_what_the_agent_said_of_it() {
    let mut chat = Chat::start();
    let prompt = chat.prompt("go");
    chat.agent.send(&json!({
        "jsonrpc": "2.0", "id": prompt.id,
        "error": {"code": -32603, "message": "no quota\nuntil Friday", "data": {"plan": "free"}},
    }));
    let error = chat.nvim.poll_events("RatError", 1);
    assert_eq!(
        error["message"],
        json!(
            "fake could not answer: no quota until Friday (error -32603). Your prompt is in the prompt buffer again."
        )
    );
    let facts = (&error["origin"], &error["code"], &error["retryable"]);
    assert_eq!(facts, (&json!("agent"), &json!(-32603), &json!(true)));
    let lines = chat.transcript().join("\n");
    assert!(lines.contains(r#"{"plan":"free"}"#), "{lines}");
}

/// Holds (Crashes): The detail of an error comes before its code.
#[test]
fn the_detail_of_an_error_comes_before_its_code() {
    let mut chat = Chat::start();
    for data in [
        json!("API rate limit exceeded"),
        json!({"details": "API rate limit exceeded"}),
        json!({"error": {"message": "API rate limit exceeded\n at worker.js:17"}}),
    ] {
        let before = chat.nvim.events("RatError").len();
        let prompt = chat.prompt("go");
        let error = json!({"code": -32603, "message": "Internal error", "data": data});
        chat.agent.send(&json!({"jsonrpc": "2.0", "id": prompt.id, "error": error}));
        let error = chat.nvim.poll_events("RatError", before + 1);
        let wanted = "fake could not answer: API rate limit exceeded (Internal error, error -32603). \
                      Your prompt is in the prompt buffer again.";
        assert_eq!(error["message"], json!(wanted), "{data}");
    }
    let lines = chat.transcript().join("\n");
    assert!(!lines.contains("details"), "it is told once: {lines}");
    assert!(lines.contains("worker.js:17"), "{lines}");
}

/// ACP 45, 46.
/// Holds (Turns): Updates that arrive before the answer to `session/new` are kept.
#[test]
fn updates_that_come_before_the_session_is_known_are_kept() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    agent.initialize(json!({}));
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
/// Holds (Turns): A loaded session is replayed before or after the answer to `session/load`.
#[test]
fn a_session_is_loaded_with_its_replay_before_the_answer() {
    let mut chat = that_loads();
    restart_after_a_turn(&mut chat);
    let load = chat.agent.expect_request("session/load");
    assert_eq!(load.params["sessionId"], json!(chat.session));
    assert_eq!(load.params["cwd"], json!(chat.nvim.cwd()));
    replay(&mut chat);
    chat.agent.reply(&load, json!({}));
    chat.nvim.poll_state("ready");
    expect_replay(&mut chat);
}

/// Holds (Turns): A loaded session is replayed before or after the answer to `session/load`.
#[test]
fn a_session_is_loaded_with_its_replay_after_the_answer() {
    let mut chat = that_loads();
    restart_after_a_turn(&mut chat);
    let load = chat.agent.expect_request("session/load");
    chat.agent.reply(&load, json!({}));
    chat.nvim.poll_state("ready");
    replay(&mut chat);
    expect_replay(&mut chat);
}

#[test]
fn a_session_that_is_loaded_without_a_replay_keeps_what_is_shown() {
    let mut chat = that_loads();
    restart_after_a_turn(&mut chat);
    let load = chat.agent.expect_request("session/load");
    chat.agent.reply(&load, json!({}));
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("Loaded the session");
    chat.prompt("Go on.");
    chat.say("Gladly.");
    chat.end_turn("end_turn");
    let lines = chat.transcript();
    for text in ["What is it?", "A question.", "Go on.", "Gladly."] {
        assert!(lines.iter().any(|line| line == text), "{text}: {lines:#?}");
    }
}

/// Gemini begins its replay after it has said that the session is loaded.
/// Holds (Turns): What is replayed after the next prompt was sent is not shown twice, and not after that prompt.
#[test]
fn what_is_replayed_late_is_no_part_of_what_the_user_sent() {
    let mut chat = that_loads();
    restart_after_a_turn(&mut chat);
    let load = chat.agent.expect_request("session/load");
    chat.agent.reply(&load, json!({}));
    chat.nvim.poll_state("ready");
    chat.prompt("Go on.");
    for piece in ["What ", "is it?"] {
        let piece = json!({"type": "text", "text": piece});
        let chunk = json!({"sessionUpdate": "user_message_chunk", "content": piece});
        chat.update(chunk);
    }
    chat.say("Gladly.");
    chat.end_turn("end_turn");
    let lines = chat.transcript();
    let said = ["What is it?", "A question.", "Go on.", "Gladly."];
    let found: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| said.contains(line)).collect();
    assert_eq!(found, said, "{lines:#?}");
}

fn restart_after_a_turn(chat: &mut Chat) {
    chat.prompt("What is it?");
    chat.say("A question.");
    chat.end_turn("end_turn");
    chat.nvim.command("RatRestart");
    chat.agent.expect_start();
    chat.agent.initialize(json!({"agentCapabilities": {"loadSession": true}}));
}

fn replay(chat: &mut Chat) {
    let user = json!({"type": "text", "text": "What is it?"});
    chat.update(json!({"sessionUpdate": "user_message_chunk", "content": user}));
    chat.say("A question.");
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Think", "status": "completed"});
    chat.update(call);
}

fn expect_replay(chat: &mut Chat) {
    chat.nvim.poll_screen("✓ tool Think");
    let lines = chat.transcript();
    let count = |text: &str| lines.iter().filter(|line| *line == text).count();
    assert_eq!((count("What is it?"), count("A question.")), (1, 1), "{lines:#?}");
}
