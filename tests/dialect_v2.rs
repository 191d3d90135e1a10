//! Agents that speak the draft of version 2, in real Neovim.

use std::fs;

use serde_json::{Value as Json, json};

use crate::support::{Agent, Chat, ChatBuilder, Nvim, TRANSCRIPT};

fn prompt(nvim: &mut Nvim, words: &str) {
    nvim.lua("require('rat').send(...)", json!([words]));
}

/// Up to the answer to `initialize`.
fn handshake(agent: &mut Agent) {
    let offer = agent.expect_request("initialize");
    assert_eq!(offer.params["protocolVersion"], 2);
    assert_eq!(offer.params["info"]["name"], "rat.nvim");
    let info = json!({"name": "second", "title": "Second", "version": "0.1"});
    let capabilities = json!({"session": {"prompt": {"embeddedContext": {}}}});
    agent.reply(&offer, json!({"protocolVersion": 2, "info": info, "capabilities": capabilities}));
}

fn launch(builder: ChatBuilder) -> (Nvim, Agent) {
    let (mut nvim, mut agent) = builder.launch();
    handshake(&mut agent);
    let request = agent.expect_request("session/new");
    let command = json!({"type": "command", "name": "plan", "description": "Plan it", "input": {"type": "text", "hint": "what"}});
    agent.reply(&request, json!({"sessionId": "s", "availableCommands": [command]}));
    nvim.poll_state("ready");
    (nvim, agent)
}

fn update(agent: &mut Agent, kind: &str, mut fields: Json) {
    fields["sessionUpdate"] = json!(kind);
    agent.update("s", fields);
}

fn state(agent: &mut Agent, fields: Json) {
    update(agent, "state_update", fields);
}

/// A prompt is received and echoed, and the agent works.
fn begin(nvim: &mut Nvim, agent: &mut Agent, words: &str, message: &str) {
    prompt(nvim, words);
    let request = agent.expect_request("session/prompt");
    let content = request.params["prompt"].clone();
    update(agent, "user_message", json!({"messageId": message, "content": content}));
    agent.reply(&request, json!({"messageId": message}));
    state(agent, json!({"state": "running"}));
}

fn chat(nvim: &mut Nvim) -> Vec<String> {
    nvim.buffer_lines(TRANSCRIPT)
}

/// Holds (Dialects): An agent of version 2 has the same conversation: its turn ends by its state, and its prompts are not shown twice.
#[test]
fn an_agent_of_version_2_has_the_same_conversation() {
    let (mut nvim, mut agent) = launch(Chat::builder());
    begin(&mut nvim, &mut agent, "Do it twice", "m1");
    let text = |words: &str| json!({"type": "text", "text": words});
    update(
        &mut agent,
        "agent_message_chunk",
        json!({"messageId": "m2", "content": text("Hello from")}),
    );
    update(
        &mut agent,
        "agent_message",
        json!({"messageId": "m2", "content": [text("Hello from afar")]}),
    );
    let call = json!({"toolCallId": "1", "title": "build", "kind": "execute", "status": "in_progress",
        "content": [{"type": "terminal", "terminalId": "t"}]});
    update(&mut agent, "tool_call_update", call);
    // "all of it\n", in two pieces.
    update(
        &mut agent,
        "terminal_update",
        json!({"terminalId": "t", "command": "make all", "output": {"data": "YWxs"}}),
    );
    update(&mut agent, "terminal_output_chunk", json!({"terminalId": "t", "data": "IG9mIGl0Cg=="}));
    update(
        &mut agent,
        "terminal_update",
        json!({"terminalId": "t", "exitStatus": {"exitCode": 0}}),
    );
    update(&mut agent, "tool_call_update", json!({"toolCallId": "1", "status": "completed"}));
    let entries = json!([{"content": "First", "priority": "high", "status": "in_progress"}]);
    update(
        &mut agent,
        "plan_update",
        json!({"plan": {"type": "items", "planId": "p", "entries": entries}}),
    );
    for words in ["Hello from afar", "make all", "all of it", "First"] {
        nvim.poll_screen(words);
    }
    nvim.poll("its command", |nvim| {
        let names = "return vim.tbl_map(function(command) return command.name end, require('rat.chat.current').get().commands)";
        nvim.lua(names, json!([])) == json!(["plan"])
    });
    state(&mut agent, json!({"state": "_pondering"}));
    nvim.poll_state("running");
    state(&mut agent, json!({"state": "idle", "stopReason": "end_turn"}));
    nvim.poll_state("ready");
    let prompts = chat(&mut nvim).iter().filter(|line| line.contains("Do it twice")).count();
    assert_eq!(prompts, 1, "{:#?}", chat(&mut nvim));
    nvim.command("RatInfo");
    nvim.poll_screen("ACP 2 (draft)");
}

/// Holds (Dialects): Version 2's changes of files are shown with their text or with what was done, and are in the review of the turn.
#[test]
fn changes_of_files_are_patches() {
    let builder = Chat::builder().file("a.txt", "one\n").file("old.txt", "x\n");
    let (mut nvim, mut agent) = launch(builder);
    begin(&mut nvim, &mut agent, "go", "m1");
    let (a, old, new) =
        (nvim.cwd().join("a.txt"), nvim.cwd().join("old.txt"), nvim.cwd().join("new.txt"));
    fs::write(&a, "two\n").unwrap();
    fs::rename(&old, &new).unwrap();
    let (path, from, to) = (a.to_str().unwrap(), old.to_str().unwrap(), new.to_str().unwrap());
    let text = format!(
        "diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1 +1 @@\n-one\n+two\n\
         diff --git {from} {to}\nrename from {from}\nrename to {to}\n"
    );
    let changes = json!([
        {"operation": "modify", "path": path},
        {"operation": "move", "oldPath": from, "path": to},
    ]);
    let diff = json!({"type": "diff", "changes": changes,
        "patch": {"format": "git_patch", "text": text}});
    let call = json!({"toolCallId": "1", "title": "Tidy up", "kind": "edit", "status": "completed",
        "content": [diff]});
    update(&mut agent, "tool_call_update", call);
    nvim.poll_screen("- one");
    nvim.poll_screen("+ two");
    nvim.poll_screen("moved ");
    state(&mut agent, json!({"state": "idle", "stopReason": "end_turn"}));
    nvim.poll_state("ready");
    nvim.command("RatReview");
    nvim.poll_screen("a.txt");
    nvim.poll_screen("new.txt");
}

fn options() -> Json {
    json!([
        {"optionId": "yes", "name": "Go ahead", "kind": "allow_once"},
        {"optionId": "no", "name": "Stop", "kind": "reject_once"},
    ])
}

/// Holds (Dialects): A permission request of version 2 is asked with its own words, whether it is about a call, a command or neither.
#[test]
fn permission_requests_are_asked_in_their_own_words() {
    let (mut nvim, mut agent) = launch(Chat::builder());
    begin(&mut nvim, &mut agent, "go", "m1");
    let ask = |agent: &mut Agent, title: &str, subject: Json| {
        let description = "It is needed for the build.";
        agent.ask(
            "session/request_permission",
            json!({"sessionId": "s", "title": title, "description": description,
                "subject": subject, "options": options()}),
        )
    };
    let command = json!({"type": "command", "command": "curl example.org", "cwd": "/tmp"});
    let call = json!({"type": "tool_call", "toolCall": {"toolCallId": "c", "title": "Fetch it"}});
    for (title, subject, shown) in [
        ("Use the network?", command, "curl example.org"),
        ("May I fetch this?", call, "Fetch it"),
        ("Remember this folder?", Json::Null, "It is needed for the build."),
    ] {
        let pending = ask(&mut agent, title, subject);
        nvim.poll_screen(title);
        nvim.poll_screen(shown);
        nvim.poll_screen("It is needed for the build.");
        nvim.poll("one request", |nvim| nvim.waiting() == 1);
        nvim.let_time_pass();
        nvim.command("RatAllow");
        let selected = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
        assert_eq!(agent.expect_answer(pending), Ok(selected), "{title}");
    }
    state(&mut agent, json!({"state": "idle", "stopReason": "end_turn"}));
    nvim.poll_state("ready");
}

/// Holds (Dialects): A turn of version 2 ends with the state it reports after a cancellation or an error.
#[test]
fn a_turn_ends_by_the_reported_state() {
    let (mut nvim, mut agent) = launch(Chat::builder());
    begin(&mut nvim, &mut agent, "first", "m1");
    nvim.poll_state("running");
    nvim.command("RatCancel");
    agent.expect_notification("session/cancel");
    state(&mut agent, json!({"state": "idle", "stopReason": "cancelled"}));
    nvim.poll_state("ready");
    assert_eq!(nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("cancelled"));
    begin(&mut nvim, &mut agent, "second", "m2");
    let error = json!({"code": -32603, "message": "No credit", "data": {"details": "pay first"}});
    state(&mut agent, json!({"state": "idle", "stopReason": "error", "error": error}));
    nvim.poll_screen("No credit: pay first");
    nvim.poll_state("ready");
    // The agent begins to work by itself.
    state(&mut agent, json!({"state": "running"}));
    nvim.poll_state("running");
    state(&mut agent, json!({"state": "idle"}));
    nvim.poll_state("ready");
}

/// Holds (Dialects): A session of version 2 is resumed after a restart of its agent.
#[test]
fn a_session_is_resumed() {
    let (mut nvim, mut agent) = launch(Chat::builder());
    begin(&mut nvim, &mut agent, "Remember me", "m1");
    state(&mut agent, json!({"state": "idle", "stopReason": "end_turn"}));
    nvim.poll_state("ready");
    nvim.command("RatRestart");
    agent.expect_start();
    handshake(&mut agent);
    let resumed = agent.expect_request("session/resume");
    assert_eq!(resumed.params["sessionId"], "s");
    assert!(resumed.params.get("replayFrom").is_none(), "the transcript is known");
    agent.reply(&resumed, json!({}));
    nvim.poll_state("ready");
    begin(&mut nvim, &mut agent, "Once more", "m2");
    state(&mut agent, json!({"state": "idle", "stopReason": "end_turn"}));
    nvim.poll_screen("Once more");
    let lines = chat(&mut nvim);
    for words in ["Remember me", "Once more"] {
        assert_eq!(lines.iter().filter(|line| line.contains(words)).count(), 1, "{lines:#?}");
    }
}

/// Holds (Dialects): An agent that answers with version 1 gets version 1 for the whole connection.
#[test]
fn an_agent_of_version_1_is_spoken_to_in_version_1() {
    for answer in [
        json!({"protocolVersion": 1}),
        // It repeats what it was offered, without what version 2 requires.
        json!({"protocolVersion": 2, "agentInfo": {"name": "echo", "version": "1"}}),
    ] {
        let (mut nvim, mut agent) = Chat::builder().launch();
        let offer = agent.expect_request("initialize");
        assert_eq!(offer.params["clientCapabilities"]["fs"]["readTextFile"], true);
        agent.reply(&offer, answer);
        agent.open("s");
        nvim.poll_state("ready");
        prompt(&mut nvim, "go");
        let request = agent.expect_request("session/prompt");
        agent.say("s", "as ever");
        agent.reply(&request, json!({"stopReason": "end_turn"}));
        nvim.poll_screen("as ever");
        nvim.poll_state("ready");
    }
}

/// Holds (Dialects): An agent that refuses version 2 as an error is offered version 1 in the same process.
#[test]
fn an_agent_that_refuses_version_2_is_offered_version_1() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    let offer = agent.expect_request("initialize");
    agent.reply_error(&offer, -32022, "Unsupported protocol version");
    let offer = agent.expect_request("initialize");
    assert_eq!(offer.params["protocolVersion"], 1);
    assert!(offer.params.get("info").is_none(), "{}", offer.params);
    agent.reply(&offer, json!({"protocolVersion": 1}));
    agent.open("s");
    nvim.poll_state("ready");
}

/// Holds (Dialects): What a subagent of version 2 does is shown in its agent's chat, and its requests are asked there; its end does not end the turn.
#[test]
fn a_subagent_is_shown_with_its_agent() {
    let (mut nvim, mut agent) = launch(Chat::builder());
    begin(&mut nvim, &mut agent, "go", "m1");
    update(&mut agent, "subagent_update", json!({"sessionId": "child", "title": "Explorer"}));
    // Its ids are those of its own session, in which the agent may use the same ones.
    for session in ["s", "child"] {
        let title = format!("Search by {session}");
        let call = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "title": title,
            "kind": "search", "status": "completed"});
        agent.update(session, call);
    }
    nvim.poll_screen("Search by s");
    nvim.poll_screen("Search by child");
    agent.update("child", json!({"sessionUpdate": "state_update", "state": "idle"}));
    let call = json!({"toolCallId": "2", "title": "Delete everything"});
    let pending = agent.ask(
        "session/request_permission",
        json!({"sessionId": "child", "title": "Delete everything",
            "subject": {"type": "tool_call", "toolCall": call}, "options": options()}),
    );
    nvim.poll_screen("Delete everything");
    nvim.poll("one request", |nvim| nvim.waiting() == 1);
    let shown = chat(&mut nvim).iter().filter(|line| line.contains("Delete everything")).count();
    assert_eq!(shown, 1, "a question that the call shows already");
    nvim.command("RatDeny");
    let selected = json!({"outcome": {"outcome": "selected", "optionId": "no"}});
    assert_eq!(agent.expect_answer(pending), Ok(selected));
    nvim.poll_state("running");
    state(&mut agent, json!({"state": "idle", "stopReason": "end_turn"}));
    nvim.poll_state("ready");
}
