//! Agents that die, hang, or talk nonsense, in real Neovim: what the user is told, what is settled, what stays, and
//! how it goes on.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Processes, Request};

struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

impl Talk {
    fn start() -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        nvim.record(&["RatTurnEnd", "RatError"]);
        let mut agent = nvim.start_agent();
        let session = agent.handshake();
        nvim.poll_state("ready");
        Self { nvim, agent, session }
    }

    fn prompt(&mut self, text: &str) -> Request {
        self.nvim.send(text);
        let prompt = self.agent.expect_request("session/prompt");
        assert_eq!(prompt.params["prompt"][0]["text"], json!(text));
        prompt
    }

    fn call(&mut self, id: &str, status: &str) {
        let update =
            json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": id, "status": status});
        self.agent.update(&self.session, update);
    }

    fn detail(&mut self) -> String {
        self.nvim.status()["detail"].as_str().unwrap_or_default().to_owned()
    }

    /// The agent still talks and listens.
    fn expect_alive(&mut self) {
        self.agent.say(&self.session, "Still here.");
        self.nvim.poll_screen("Still here.");
        assert_eq!(self.nvim.status()["state"], json!("running"));
    }
}

/// ACP 4, 138.
#[test]
fn an_exit_is_explained_and_settles_all_that_was_open() {
    let mut talk = Talk::start();
    talk.prompt("go");
    talk.nvim.send("queued");
    talk.call("build", "in_progress");
    talk.agent.ask(
        "session/request_permission",
        json!({
            "sessionId": talk.session, "toolCall": {"toolCallId": "build"},
            "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
        }),
    );
    talk.nvim.poll_state("waiting");
    talk.nvim.input("idraft");
    talk.nvim.poll("the draft", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == ["draft"]);
    talk.agent.exit(3, "\u{1b}[31mpanic:\u{1b}[0m out of memory\n  at worker.js:17");
    talk.nvim.poll_state("failed");
    let status = talk.nvim.status();
    assert_eq!(
        status["detail"],
        json!("fake ended with exit status 3: the next prompt or :RatRestart starts it again")
    );
    assert_eq!(status["permissions"], json!([]));
    assert_eq!(status["queued"], json!(["queued"]));
    assert_eq!(talk.nvim.buffer_lines("rat://fake/1/prompt"), ["draft"]);
    assert_eq!(talk.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("error"));
    assert_eq!(talk.nvim.poll_events("RatError", 1)["message"], status["detail"]);
    for text in ["✗ tool build", "│ panic: out of memory", "│   at worker.js:17"] {
        talk.nvim.poll_screen(text);
    }
    let log = talk.nvim.messages();
    assert!(log.contains("exit status 3"), "{log}");
}

#[test]
fn a_signal_is_named() {
    let mut talk = Talk::start();
    Processes::signal(talk.agent.pid(), "KILL");
    talk.nvim.poll_state("failed");
    assert!(talk.detail().contains("fake was killed by SIGKILL"), "{}", talk.detail());
}

#[test]
fn a_closed_stdout_ends_the_agent_and_says_so() {
    let mut talk = Talk::start();
    talk.prompt("go");
    let pid = talk.agent.pid();
    talk.agent.close_stdout();
    talk.nvim.poll_state("failed");
    assert!(talk.detail().contains("fake closed its output"), "{}", talk.detail());
    assert!(Processes::is_gone(pid));
}

/// ACP 3, 16.
#[test]
fn garbage_on_stdout_does_no_harm() {
    let mut talk = Talk::start();
    talk.prompt("go");
    talk.agent.send_raw(b"DEBUG: starting\n\n{\"jsonrpc\": \n[1, 2]\nnull\n\"x\"\n{}\n\x00\x01\n");
    talk.expect_alive();
    assert_eq!(talk.agent.unexpected(), [""; 0], "garbage was answered");
}

/// ACP 5.
#[test]
fn a_line_of_many_megabytes_arrives_whole() {
    let mut talk = Talk::start();
    talk.prompt("go");
    let line = "word ".repeat(1000) + "\n";
    let text = line.repeat(8 * 1024 * 1024 / line.len());
    talk.agent.say(&talk.session, &text);
    talk.agent.say(&talk.session, "The end.");
    talk.nvim.poll_screen("The end.");
    let count = "local buf = vim.fn.bufnr('rat://fake/1')
        return vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))";
    let bytes = talk.nvim.lua(count, json!([])).as_u64().unwrap();
    assert!(bytes > text.len() as u64 && bytes < text.len() as u64 + 200, "{bytes}");
}

/// ACP 6.
#[test]
fn bytes_that_are_no_utf8_do_no_harm() {
    let mut talk = Talk::start();
    talk.prompt("go");
    let update =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a?b"}});
    let params = json!({"sessionId": talk.session, "update": update});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string();
    let bytes: Vec<u8> = line.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    talk.agent.send_raw(&bytes);
    talk.agent.send_raw(b"\n");
    talk.nvim.poll_screen("a\u{fffd}b");
    talk.expect_alive();
}

/// ACP 12, 13, 15.
#[test]
fn unknown_requests_are_refused_and_unknown_notifications_ignored() {
    let mut talk = Talk::start();
    talk.prompt("go");
    for method in ["mcp/message", "_vendor/secret", "session/prompt"] {
        let error = talk.agent.request(method, json!({"sessionId": talk.session})).unwrap_err();
        assert_eq!(error["code"], json!(-32601), "{method}");
    }
    talk.agent.notify("_vendor/news", json!({"sessionId": talk.session}));
    talk.agent.send(&json!({"jsonrpc": "2.0", "id": 4711, "result": {}}));
    talk.agent.notify("session/update", json!({"nonsense": true}));
    talk.expect_alive();
}

#[test]
fn an_agent_that_hangs_at_its_start_is_given_up() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.listen();
    let mut config = agent.config();
    config["timeouts"] = json!({"initialize": 1000});
    nvim.setup(json!({"agents": {"fake": config}}));
    nvim.command("RatStart fake");
    agent.expect_start();
    agent.expect_request("initialize");
    nvim.poll_state("failed");
    let detail = nvim.status()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("fake did not answer initialize within 1 s"), "{detail}");
    nvim.poll("the agent is gone", |_| Processes::is_gone(agent.pid()));
}

/// ACP 22.
#[test]
fn another_version_of_the_protocol_is_named() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.start_agent();
    let request = agent.expect_request("initialize");
    agent.reply(&request, json!({"protocolVersion": 2, "agentCapabilities": {}}));
    nvim.poll_state("failed");
    let detail = nvim.status()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("speaks version 2"), "{detail}");
    assert_eq!(agent.unexpected(), [""; 0]);
    assert!(Processes::is_gone(agent.pid()));
}

#[test]
fn a_session_that_cannot_be_opened_says_why() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.start_agent();
    let request = agent.expect_request("initialize");
    agent.reply(&request, json!({"protocolVersion": 1, "agentCapabilities": {}}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32603, "no model is configured");
    nvim.poll_state("failed");
    nvim.poll_screen("fake failed at session/new");
    nvim.poll_screen("no model is configured");
}

#[test]
fn a_command_that_is_not_there_says_how_to_install_it() {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let ghost = json!({"command": "no-such-agent", "install_hint": "npm install -g ghost"});
    let wrong = json!({"command": "/no/such/agent"});
    nvim.setup(json!({"agents": {"ghost": ghost, "wrong": wrong}}));
    nvim.command("RatStart ghost");
    nvim.poll_state("failed");
    nvim.poll_screen("no-such-agent is not on PATH: install it with");
    nvim.poll_screen("npm install -g ghost");
    nvim.command("RatStart wrong");
    nvim.poll_screen("/no/such/agent does not exist");
    nvim.poll_screen("agents.wrong.command");
}

#[test]
fn an_unknown_agent_is_named_with_the_one_probably_meant() {
    let mut nvim = Nvim::plain();
    nvim.command("RatStart cluade");
    nvim.poll_screen(r#"there is no agent "cluade", did you mean claude?"#);
    assert_eq!(nvim.status()["state"], json!("stopped"));
}

#[test]
fn a_prompt_to_a_stopped_agent_comes_back() {
    let mut talk = Talk::start();
    let pid = talk.agent.pid();
    talk.nvim.command("RatStop");
    assert!(Processes::is_gone(pid));
    talk.nvim.poll_state("stopped");
    talk.nvim.input("imy words<Esc><CR>");
    talk.nvim.poll_screen("fake is stopped: :RatRestart starts it again, the prompt is kept");
    talk.nvim.poll("the draft", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == ["my words"]);
    talk.nvim.command("RatRestart");
    talk.agent.expect_start();
}

/// ACP 138.
#[test]
fn the_next_prompt_after_a_crash_starts_the_agent_again() {
    let mut talk = Talk::start();
    talk.prompt("one");
    talk.nvim.send("queued");
    talk.nvim.poll("the queue", |nvim| nvim.status()["queued"] == json!(["queued"]));
    talk.agent.exit(1, "");
    talk.nvim.poll_state("failed");
    talk.nvim.send("two");
    talk.agent.expect_start();
    talk.agent.handshake_with(json!({}), json!({"sessionId": "s2"}));
    let second = talk.agent.expect_request("session/prompt");
    assert_eq!(second.params["prompt"][0]["text"], json!("two"));
    assert_eq!(second.params["sessionId"], json!("s2"));
    talk.nvim.poll_screen("cannot go on with a session");
    talk.agent.reply(&second, json!({"stopReason": "end_turn"}));
    let third = talk.agent.expect_request("session/prompt");
    assert_eq!(third.params["prompt"][0]["text"], json!("queued"));
}

/// ACP 44, 138.
#[test]
fn a_restart_resumes_the_session_where_the_agent_can() {
    let mut talk = Talk::start();
    let prompt = talk.prompt("What is it?");
    talk.agent.say(&talk.session, "A question.");
    talk.agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    talk.nvim.poll_events("RatTurnEnd", 1);
    Processes::signal(talk.agent.pid(), "KILL");
    talk.nvim.poll_state("failed");
    talk.nvim.command("RatRestart");
    talk.agent.expect_start();
    let request = talk.agent.expect_request("initialize");
    let capabilities = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    talk.agent.reply(&request, json!({"protocolVersion": 1, "agentCapabilities": capabilities}));
    let resume = talk.agent.expect_request("session/resume");
    assert_eq!(resume.params["sessionId"], json!("s1"));
    assert_eq!(resume.params["cwd"], json!(talk.nvim.cwd()));
    talk.agent.reply(&resume, json!({}));
    talk.nvim.poll_state("ready");
    talk.nvim.poll_screen("the session goes on");
    assert!(talk.nvim.screen().contains("A question."), "what was said is gone");
    talk.prompt("Go on.");
}

/// ACP 49.
#[test]
fn a_session_that_cannot_be_restored_is_followed_by_a_new_one() {
    let mut talk = Talk::start();
    talk.nvim.command("RatRestart");
    talk.agent.expect_start();
    let request = talk.agent.expect_request("initialize");
    let capabilities = json!({"loadSession": true});
    talk.agent.reply(&request, json!({"protocolVersion": 1, "agentCapabilities": capabilities}));
    let load = talk.agent.expect_request("session/load");
    talk.agent.reply_error(&load, -32002, "no such session");
    let new = talk.agent.expect_request("session/new");
    talk.agent.reply(&new, json!({"sessionId": "s2"}));
    talk.nvim.poll_state("ready");
    talk.nvim.poll_screen("the session could not be restored");
    assert_eq!(talk.nvim.status()["session_id"], json!("s2"));
}

/// ACP 19.
#[test]
fn errors_of_a_tool_of_the_agent_and_of_the_connection_are_told_apart() {
    let mut talk = Talk::start();
    let prompt = talk.prompt("one");
    talk.call("lint", "failed");
    talk.nvim.poll_screen("✗ tool lint");
    assert_eq!(talk.nvim.status()["state"], json!("running"));
    assert_eq!(talk.nvim.events("RatError"), [Json::Null; 0]);
    talk.agent.reply_error(&prompt, 429, "slow down");
    let error = talk.nvim.poll_events("RatError", 1)["message"].clone();
    assert!(error.as_str().unwrap().contains("fake could not answer (error 429: slow down)"));
    assert_eq!(talk.nvim.status()["state"], json!("ready"));
    talk.prompt("two");
    talk.agent.exit(0, "");
    let error = talk.nvim.poll_events("RatError", 2)["message"].clone();
    assert!(error.as_str().unwrap().contains("fake ended with exit status 0"));
}
