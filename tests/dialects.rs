//! Agents that speak another protocol than version 1 of ACP, in real Neovim: the same conversation as with any agent.

use std::fs;

use serde_json::{Value as Json, json};

use crate::support::{Agent, Chat, Nvim};

fn prompt(nvim: &mut Nvim, words: &str) {
    nvim.lua("require('rat').send(...)", json!([words]));
}

/// The screen shows a conversation of these parts.
fn expect_conversation(nvim: &mut Nvim) {
    nvim.poll_screen("Hello from afar");
    nvim.poll_screen("✓ tool build");
    nvim.poll_screen("all of it");
}

fn refuse_number(agent: &mut Agent) {
    for version in [2, 1] {
        let offer = agent.expect_request("initialize");
        assert_eq!(offer.params["protocolVersion"], version);
        agent.reply_error(&offer, -32602, "json: cannot unmarshal number into string");
    }
}

/// An agent on the Go package, up to its session.
fn go_session(agent: &mut Agent, id: &str) {
    refuse_number(agent);
    go_session_after_refusal(agent, id);
}

fn go_session_after_refusal(agent: &mut Agent, id: &str) {
    let offer = agent.expect_request("initialize");
    assert_eq!(offer.params["protocolVersion"], "0.1");
    assert_eq!(offer.params["clientInfo"]["name"], "rat.nvim");
    assert_eq!(offer.params["capabilities"]["fs.readTextFile"], true);
    let about = json!({"name": "gopher", "version": "1"});
    let capabilities = json!({"loadSession": true, "terminal": true});
    agent.reply(
        &offer,
        json!({"protocolVersion": "2025-01-01", "agentInfo": about, "capabilities": capabilities}),
    );
    let request = agent.expect_request("session/new");
    assert!(request.params["metadata"]["workDir"].is_string(), "{}", request.params);
    assert_eq!(request.params.as_object().unwrap().len(), 1);
    agent.reply(&request, json!({"session": {"id": id, "metadata": {}}}));
}

fn go_update(agent: &mut Agent, session: &str, update: Json) {
    agent.notify("session/update", json!({"sessionId": session, "update": update}));
}

/// ACP 140, 148.
/// Holds (Dialects): An agent on the Go package that refuses a number as the version is offered a string and has the same conversation.
#[test]
fn an_agent_on_the_go_package() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    go_session(&mut agent, "session-1");
    nvim.poll_state("ready");
    prompt(&mut nvim, "go");
    let request = agent.expect_request("session/prompt");
    assert_eq!(request.params["prompt"], json!([{"type": "text", "text": "go"}]));
    let chunk = json!({"type": "text", "text": "Hello from afar"});
    go_update(
        &mut agent,
        "session-1",
        json!({"type": "messageChunk", "role": "agent", "chunk": chunk}),
    );
    for status in ["running", "completed"] {
        let call = json!({"id": "1", "name": "build", "status": status, "input": "{\"command\":\"make\"}", "output": "all of it"});
        go_update(&mut agent, "session-1", json!({"type": "toolCall", "toolCall": call}));
    }
    go_update(&mut agent, "session-1", json!({"type": "planUpdate"}));
    agent.reply(&request, json!({"stopReason": "endTurn"}));
    expect_conversation(&mut nvim);
    nvim.poll_state("ready");
    nvim.command("RatInfo");
    nvim.poll_screen("protocol      go-acp");
}

/// Holds (Dialects): An agent on the Go package gets images and audio as it says, the branch of the project with a session, and the commands named in `options.commands` as such.
#[test]
fn an_agent_on_the_go_package_gets_media_a_branch_and_commands() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0";
    let (mut nvim, mut agent) = Chat::builder()
        .agent(json!({"dialect": "go", "options": {"commands": "fix, /search"}}))
        .file("cat.png", PNG)
        .file("cat.ogg", b"OggS\0".as_slice())
        .file(".git/HEAD", "ref: refs/heads/feature/new-ui\n")
        .launch();
    let offer = agent.expect_request("initialize");
    let capabilities = json!({"loadSession": true, "promptCapabilities": {"image": true}});
    agent.reply(
        &offer,
        json!({"protocolVersion": "2025-01-01", "agentInfo": {"name": "gopher", "version": "1"}, "capabilities": capabilities}),
    );
    let request = agent.expect_request("session/new");
    let cwd = nvim.cwd().display().to_string();
    let metadata = json!({"workDir": cwd, "branch": "feature/new-ui"});
    assert_eq!(request.params, json!({"metadata": metadata}));
    agent.reply(&request, json!({"session": {"id": "session-1"}}));
    nvim.poll_state("ready");
    let input = "in @cat.png\nand @cat.ogg";
    for (words, command) in [
        ("/search  in @cat.png\nand @cat.ogg", json!({"name": "search", "input": input})),
        ("/fix", json!({"name": "fix"})),
        ("/other x", Json::Null),
        ("see /fix", Json::Null),
    ] {
        prompt(&mut nvim, words);
        let request = agent.expect_request("session/prompt");
        assert_eq!(request.params["command"], command, "{words}");
        let parts = request.params["prompt"].as_array().unwrap();
        assert!(parts[0]["text"].as_str().unwrap().starts_with(words), "{parts:?}");
        if words.starts_with("/search") {
            assert_eq!(parts[1]["type"], "image");
            assert_eq!(parts[1]["mimeType"], "image/png");
            nvim.poll_screen("cat.ogg was sent as a link: the agent does not accept audio");
            assert_eq!(parts.len(), 2);
        }
        agent.reply(&request, json!({"stopReason": "endTurn"}));
        nvim.poll_state("ready");
    }
    let names = "return vim.tbl_map(function(command) return command.name end, require('rat.chat.current').get().commands)";
    assert_eq!(nvim.lua(names, json!([])), json!(["fix", "search"]), "offered in the prompt");
    let warned = nvim.messages();
    assert!(!warned.contains("no such option"), "{warned}");
}

/// ACP 151.
/// Holds (Dialects): A turn that such an agent ends with an error is shown as failed.
#[test]
fn an_agent_on_the_go_package_ends_a_turn_with_an_error() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    go_session(&mut agent, "session-1");
    nvim.poll_state("ready");
    prompt(&mut nvim, "go");
    let request = agent.expect_request("session/prompt");
    agent.reply(&request, json!({"stopReason": "error"}));
    nvim.poll_screen("could not answer");
    nvim.poll_state("ready");
}

/// ACP 150, 152.
/// Holds (Dialects): An agent that does not obey a cancellation because it cannot read it is ended and started again.
#[test]
fn an_agent_on_the_go_package_is_deaf_to_a_cancellation() {
    let (mut nvim, mut agent) =
        Chat::builder().agent(json!({"timeouts": {"cancel": 200}})).launch();
    go_session(&mut agent, "session-1");
    nvim.poll_state("ready");
    prompt(&mut nvim, "go");
    agent.expect_request("session/prompt");
    nvim.command("RatCancel");
    assert_eq!(agent.expect_request("session/cancel").params, json!({"sessionId": "session-1"}));
    agent.send(
        &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no id"}}),
    );
    agent.expect_start();
    go_session(&mut agent, "session-1");
    nvim.poll_screen("did not stop, so it was ended");
    nvim.poll_state("ready");
    let end = nvim.poll_events("RatTurnEnd", 1);
    assert_eq!(end["stop_reason"], json!("cancelled"));
}

/// ACP 149.
/// Holds (Dialects): A line longer than the agent can read is refused here, and the agent lives on.
#[test]
fn an_agent_on_the_go_package_gets_no_line_it_cannot_read() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    go_session(&mut agent, "session-1");
    nvim.poll_state("ready");
    prompt(&mut nvim, &"x".repeat(65_500));
    nvim.poll_screen("The prompt could not be sent to fake: the message");
    nvim.poll_state("ready");
    prompt(&mut nvim, "short");
    let request = agent.expect_request("session/prompt");
    agent.reply(&request, json!({"stopReason": "endTurn"}));
    nvim.poll_state("ready");
}

/// Holds (Dialects): An agent that ends on the first offer is started again and offered the next one.
#[test]
fn an_agent_that_ends_on_the_first_offer_is_offered_the_next() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    agent.expect_request("initialize");
    agent.exit(1, "panic: version");
    agent.expect_start();
    go_session_after_refusal(&mut agent, "session-1");
    nvim.poll_state("ready");
}

/// ACP 143.
/// Holds (Dialects): Where an agent refuses every offer, the reason it gave for refusing the first is shown.
#[test]
fn an_agent_that_refuses_every_offer_is_given_up() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    refuse_number(&mut agent);
    let offer = agent.expect_request("initialize");
    agent.reply_error(&offer, -32603, "neither");
    nvim.poll_state("failed");
    let detail = nvim.detail();
    assert!(detail.contains("cannot unmarshal number"), "{detail}");
}

/// ACP 141, 144, 145, 147.
/// Holds (Dialects): An agent of ACP 0.1.1 is recognized by its frames, and its writes are answered with null.
#[test]
fn an_agent_of_release_0_1_1() {
    let servers = json!({"near": {"command": "cat"}, "far": {"url": "http://127.0.0.1:1/"}});
    let mut chat = Chat::builder()
        .file("a.txt", "one\n")
        .agent(json!({"mcp_servers": servers, "editor_tools": false}))
        .configure();
    let (nvim, agent) = (&mut chat.0, &mut chat.1);
    nvim.command("RatStart fake");
    agent.expect_start();
    let offer = agent.expect_request("initialize");
    let result = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "authMethods": []});
    agent.send(&json!({"id": offer.id, "result": result}));
    let request = agent.expect_request("session/new");
    assert_eq!(request.params["mcpServers"].as_array().unwrap().len(), 1);
    assert_eq!(request.params["mcpServers"][0]["name"], "near");
    agent.send(&json!({"id": request.id, "result": {"sessionId": "s1"}}));
    nvim.poll_state("ready");
    nvim.poll_screen("does not support: far");
    let shown = nvim.buffer_lines("rat://fake/1").join("\n");
    assert_eq!(shown.matches("far").count(), 1, "said once: {shown}");
    prompt(nvim, "go");
    let request = agent.expect_request("session/prompt");
    let path = nvim.cwd().join("a.txt");
    let write = json!({"sessionId": "s1", "path": path, "content": "two\n"});
    agent.send(&json!({"id": 0, "method": "fs/write_text_file", "params": write}));
    let answer = agent.expect_reply_to(0);
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 0, "result": null}));
    assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
    let location = json!({"path": path, "type": "ToolCallLocation"});
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "build",
        "status": "completed", "locations": [location],
        "content": [{"type": "content", "content": {"type": "text", "text": "all of it"}}]});
    agent.update("s1", call);
    agent.say("s1", "Hello from afar");
    agent.send(&json!({"id": request.id, "result": {"stopReason": "end_turn"}}));
    expect_conversation(nvim);
    nvim.poll_state("ready");
    nvim.command("RatInfo");
    nvim.poll_screen("ACP 0.1.1");
}

/// OpenOxide, up to its answer to `initialize`.
fn openoxide(agent: &mut Agent) {
    agent.send_raw(b"OpenOxide 0.3, ready\n");
    let offer = agent.expect_request("initialize");
    assert_eq!(offer.params["protocolVersion"], "0.1");
    let commands = json!([{"command": "/plan", "description": "Plan it"}]);
    agent.reply(
        &offer,
        json!({"protocolVersion": "0.1", "serverInfo": {"name": "openoxide", "version": "0.3"},
        "session_fork": true, "slash_commands": commands}),
    );
}

fn openoxide_session(agent: &mut Agent) {
    openoxide(agent);
    openoxide_creates(agent, "o1");
}

fn openoxide_creates(agent: &mut Agent, id: &str) {
    let request = agent.expect_request("session/create");
    assert!(request.params["workingDir"].is_string());
    assert_eq!(request.params["config"], json!({"model": "large"}));
    agent.reply(&request, json!({"session_id": id}));
}

fn in_openoxide() -> (Nvim, Agent) {
    in_openoxide_with(&json!({}))
}

fn in_openoxide_with(options: &Json) -> (Nvim, Agent) {
    let mut config =
        json!({"dialect": "openoxide", "options": {"model": "large"}, "timeouts": {"cancel": 200}});
    config.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let (mut nvim, mut agent) = Chat::builder().agent(config).launch();
    assert_eq!(agent.unexpected(), [""; 0], "before it is ready");
    openoxide_session(&mut agent);
    nvim.poll_state("ready");
    (nvim, agent)
}

fn event(agent: &mut Agent, event: Json) {
    agent.notify("event", json!({"session_id": "o1", "event": event}));
}

/// ACP 142, 153, 154.
/// Holds (Dialects): OpenOxide has the same conversation: events, diffs that are not asked about, a plan, and `done` as the end.
#[test]
fn openoxide_has_the_same_conversation() {
    let (mut nvim, mut agent) = in_openoxide();
    prompt(&mut nvim, "go");
    let request = agent.expect_request("prompt/send");
    assert_eq!(request.params["content"], json!([{"type": "text", "text": "go"}]));
    event(&mut agent, json!({"type": "text_delta", "text": "Hello from afar"}));
    event(
        &mut agent,
        json!({"type": "tool_use", "id": "1", "name": "build", "input": {"command": "make"}}),
    );
    event(&mut agent, json!({"type": "tool_result", "tool_use_id": "1", "output": "all of it"}));
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
    event(&mut agent, json!({"type": "diff_block", "path": "a.txt", "unified_diff": diff}));
    event(&mut agent, json!({"type": "plan_step", "text": "First"}));
    event(&mut agent, json!({"type": "plan_step", "text": "Second"}));
    expect_conversation(&mut nvim);
    nvim.poll_screen("Edit a.txt");
    nvim.poll("its command", |nvim| {
        let names = "return vim.tbl_map(function(command) return command.name end, require('rat.chat.current').get().commands)";
        nvim.lua(names, json!([])) == json!(["plan"])
    });
    event(&mut agent, json!({"type": "done"}));
    nvim.poll_state("ready");
    agent.reply(&request, json!({}));
    prompt(&mut nvim, "again");
    let request = agent.expect_request("prompt/send");
    agent.reply(&request, json!({}));
    event(&mut agent, json!({"type": "error", "message": "out of credit"}));
    event(&mut agent, json!({"type": "done"}));
    nvim.poll_screen("out of credit");
    nvim.poll_state("ready");
}

/// ACP 155.
/// Holds (Dialects): OpenOxide is told of a cancellation by the prompt's id, and ended and resumed if it does not obey.
#[test]
fn openoxide_is_restarted_and_resumed_if_it_does_not_obey() {
    let (mut nvim, mut agent) = in_openoxide();
    prompt(&mut nvim, "go");
    let request = agent.expect_request("prompt/send");
    event(&mut agent, json!({"type": "text_delta", "text": "Working"}));
    nvim.poll_screen("Working");
    nvim.command("RatCancel");
    assert_eq!(agent.expect_notification("$/cancelRequest"), json!({"id": request.id}));
    agent.expect_start();
    openoxide(&mut agent);
    let resumed = agent.expect_request("session/resume");
    assert_eq!(resumed.params["session_id"], "o1");
    agent.reply(&resumed, json!({"session_id": "o1"}));
    nvim.poll_state("ready");
    nvim.poll_screen("did not stop, so it was ended");
}

/// Holds (Dialects): With `on_cancel_timeout = "ask"` an agent that does not obey is not ended without a question.
#[test]
fn openoxide_is_not_restarted_without_a_question_where_that_is_chosen() {
    let (mut nvim, mut agent) = in_openoxide_with(&json!({"on_cancel_timeout": "ask"}));
    prompt(&mut nvim, "go");
    agent.expect_request("prompt/send");
    nvim.command("RatCancel");
    nvim.poll_screen("has not stopped yet");
    event(&mut agent, json!({"type": "done"}));
    nvim.poll_state("ready");
    assert_eq!(agent.unexpected().len(), 1, "the cancellation only");
}

/// Holds (Dialects): OpenOxide forks a session after the turn the user chooses; the fork shows the conversation up to there.
#[test]
fn openoxide_forks_after_an_earlier_turn() {
    let (mut nvim, mut agent) = in_openoxide();
    for (words, answer) in [("one", "uno"), ("two", "due"), ("three", "tre")] {
        prompt(&mut nvim, words);
        let request = agent.expect_request("prompt/send");
        event(&mut agent, json!({"type": "text_delta", "text": answer}));
        agent.reply(&request, json!({}));
        event(&mut agent, json!({"type": "done"}));
        nvim.poll_screen(answer);
        nvim.poll_state("ready");
    }
    for (row, point) in [
        (2, json!({"source_session_id": "o1", "branch_at_turn": 2})),
        (1, json!({"source_session_id": "o1"})),
    ] {
        nvim.command("1wincmd w");
        nvim.command("buffer rat://fake/1");
        nvim.command("RatFork");
        nvim.poll_screen("Fork after which prompt?");
        nvim.poll_screen("1  three");
        nvim.choose(row);
        let request = agent.expect_request("session/fork");
        assert_eq!(request.params, point);
        agent.reply(&request, json!({"session_id": format!("o{}", 4 - row)}));
        nvim.poll_state("ready");
    }
    nvim.poll("the forks", |nvim| {
        let fork = nvim.buffer_lines("rat://fake/2").join("\n");
        fork.contains("due") && !fork.contains("three") && fork.contains("Forked: ")
    });
    nvim.poll("the whole fork", |nvim| {
        nvim.buffer_lines("rat://fake/3").join("\n").contains("tre")
    });
}

/// ACP 156.
/// Holds (Dialects): Where OpenOxide refuses to resume a session, the user is told, and a new one begins.
#[test]
fn openoxide_refuses_to_resume() {
    let (mut nvim, mut agent) = in_openoxide();
    nvim.command("RatRestart");
    agent.expect_start();
    openoxide(&mut agent);
    let resumed = agent.expect_request("session/resume");
    agent.reply_error(&resumed, -32602, "no such session");
    openoxide_creates(&mut agent, "o2");
    nvim.poll_state("ready");
    nvim.poll_screen("no such session");
    prompt(&mut nvim, "go");
    assert_eq!(agent.expect_request("prompt/send").params["session_id"], "o2");
}

/// Holds (Dialects): A dialect that is not known is refused before anything is started.
#[test]
fn an_unknown_dialect_is_named() {
    let (mut nvim, _agent) = Chat::builder().agent(json!({"dialect": "esperanto"})).configure();
    nvim.command("RatStart fake");
    nvim.poll_state("failed");
    let detail = nvim.detail();
    assert!(detail.contains("it can be 1, 2, 0.1.1, go, openoxide"), "{detail}");
}

/// Holds (Dialects): An agent that changes its dialect in the middle of a session is told of in the chat; nothing of the turn is lost.
#[test]
fn an_agent_changes_its_dialect_in_the_middle_of_a_session() {
    let mut chat = Chat::builder().start();
    chat.nvim.send("go");
    chat.expect_prompt();
    chat.say("Before. ");
    let chunk = json!({"type": "text", "text": "In Go."});
    go_update(
        &mut chat.agent,
        "s1",
        json!({"type": "messageChunk", "role": "agent", "chunk": chunk}),
    );
    let oxide = json!({"type": "text_delta", "text": "In Oxide."});
    chat.agent.notify("event", json!({"session_id": "s1", "event": oxide}));
    let state = json!({"sessionUpdate": "state_change", "state": {"type": "idle"}});
    chat.update(state);
    chat.say("After.");
    chat.end_turn("end_turn");
    // It may still be shown as ready from before the prompt.
    chat.nvim.poll_screen("After.");
    let shown = chat.nvim.screen().text();
    assert!(shown.contains("Before."), "{shown}");
    for tag in ["messageChunk", "event", "state_change"] {
        assert_eq!(shown.matches(&format!("\"{tag}\"")).count(), 1, "{shown}");
    }
}
