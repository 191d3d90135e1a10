//! Agents that die, hang, or talk nonsense, in real Neovim: what the user is told, what is settled, what stays, and
//! how it goes on.

use crate::support::{Chat, Nvim, Processes};
use serde_json::{Value as Json, json};

fn call(chat: &mut Chat, id: &str, status: &str) {
    chat.tool_call(json!({"toolCallId": id, "title": id, "status": status}));
}

/// The agent still talks and listens.
fn expect_alive(chat: &mut Chat) {
    chat.say("Still here.");
    chat.nvim.poll_screen("Still here.");
    assert_eq!(chat.nvim.status()["state"], json!("running"));
}

/// ACP 4, 138.
/// Holds (Crashes): A dead agent's exit status and last stderr lines are shown, and all that was open is settled.
#[test]
fn an_exit_is_explained_and_settles_all_that_was_open() {
    let mut chat = Chat::start();
    chat.prompt("go");
    chat.nvim.send("queued");
    call(&mut chat, "build", "in_progress");
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    chat.ask_permission(json!({"toolCallId": "build"}), options);
    chat.nvim.input("idraft");
    chat.poll_draft(&["draft"]);
    chat.agent.exit(3, "\u{1b}[31mpanic:\u{1b}[0m out of memory\n  at worker.js:17");
    chat.nvim.poll_state("failed");
    let status = chat.nvim.status();
    assert_eq!(
        status["detail"],
        json!("fake exited with status 3. Send a prompt or :RatRestart to restart.")
    );
    assert_eq!(status["permissions"], json!([]));
    assert_eq!(status["queued"], json!(["queued"]));
    // The prompt of the turn that was lost comes back before what is being written.
    chat.poll_draft(&["go", "", "draft"]);
    assert_eq!(chat.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("error"));
    assert_eq!(chat.nvim.poll_events("RatError", 1)["message"], status["detail"]);
    for text in ["✗ tool build", "│ panic: out of memory", "│   at worker.js:17"] {
        chat.nvim.poll_screen(text);
    }
    let log = chat.nvim.messages();
    assert!(log.contains("exited with status 3"), "{log}");
}

#[test]
fn a_signal_is_named() {
    let mut chat = Chat::start();
    Processes::signal(chat.agent.pid(), "KILL");
    chat.nvim.poll_state("failed");
    assert!(chat.nvim.detail().contains("fake was killed by SIGKILL"), "{}", chat.nvim.detail());
}

/// Holds (Crashes): An agent that closes its stdout is ended, and the user told why.
#[test]
fn a_closed_stdout_ends_the_agent_and_says_so() {
    let mut chat = Chat::start();
    chat.prompt("go");
    let pid = chat.agent.pid();
    chat.agent.close_stdout();
    chat.nvim.poll_state("failed");
    assert!(chat.nvim.detail().contains("fake closed its stdout"), "{}", chat.nvim.detail());
    assert!(Processes::is_gone(pid));
}

/// ACP 3, 16.
#[test]
fn garbage_on_stdout_does_no_harm() {
    let mut chat = Chat::start();
    chat.prompt("go");
    chat.agent.send_raw(b"DEBUG: starting\n\n{\"jsonrpc\": \n[1, 2]\nnull\n\"x\"\n{}\n\x00\x01\n");
    expect_alive(&mut chat);
    assert_eq!(chat.agent.unexpected(), [""; 0], "garbage was answered");
}

/// ACP 5.
#[test]
fn a_line_of_many_megabytes_arrives_whole() {
    let mut chat = Chat::start();
    chat.prompt("go");
    let line = "word ".repeat(1000) + "\n";
    let text = line.repeat(8 * 1024 * 1024 / line.len());
    chat.say(&text);
    chat.say("The end.");
    chat.nvim.poll_screen("The end.");
    let count = "local buf = vim.fn.bufnr('rat://fake/1')
        return vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))";
    let bytes = chat.nvim.lua(count, json!([])).as_u64().unwrap();
    assert!(bytes > text.len() as u64 && bytes < text.len() as u64 + 200, "{bytes}");
}

/// ACP 6.
#[test]
fn bytes_that_are_no_utf8_do_no_harm() {
    let mut chat = Chat::start();
    chat.prompt("go");
    let update =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a?b"}});
    let params = json!({"sessionId": chat.session, "update": update});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string();
    let bytes: Vec<u8> = line.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    chat.agent.send_raw(&bytes);
    chat.agent.send_raw(b"\n");
    chat.nvim.poll_screen("a\u{fffd}b");
    expect_alive(&mut chat);
}

/// ACP 12, 13, 15.
#[test]
fn unknown_requests_are_refused_and_unknown_notifications_ignored() {
    let mut chat = Chat::start();
    chat.prompt("go");
    for method in ["mcp/message", "_vendor/secret", "session/prompt"] {
        let error = chat.request(method, json!({})).unwrap_err();
        assert_eq!(error["code"], json!(-32601), "{method}");
    }
    chat.agent.notify("_vendor/news", json!({"sessionId": chat.session}));
    chat.agent.send(&json!({"jsonrpc": "2.0", "id": 4711, "result": {}}));
    chat.agent.notify("session/update", json!({"nonsense": true}));
    expect_alive(&mut chat);
}

#[test]
fn an_agent_that_hangs_at_its_start_is_given_up() {
    let fake = json!({"timeouts": {"initialize": 1000}});
    let (mut nvim, mut agent) = Chat::builder().agent(fake).launch();
    agent.expect_request("initialize");
    nvim.poll_state("failed");
    let detail = nvim.detail();
    assert!(detail.contains("fake did not answer initialize within 1 s"), "{detail}");
    nvim.poll("the agent is gone", |_| Processes::is_gone(agent.pid()));
}

/// ACP 22.
#[test]
fn another_version_of_the_protocol_is_named() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    agent.initialize(json!({"protocolVersion": 3}));
    nvim.poll_state("failed");
    let detail = nvim.detail();
    let answered = "fake answered initialize with protocolVersion 3, but rat.nvim speaks ACP 1,";
    assert!(detail.contains(answered), "{detail}");
    assert_eq!(agent.unexpected(), [""; 0]);
    assert!(Processes::is_gone(agent.pid()));
}

#[test]
fn a_session_that_cannot_be_opened_says_why() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    agent.initialize(json!({}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32603, "no model is configured");
    nvim.poll_state("failed");
    nvim.poll_screen("fake failed at session/new");
    let detail = nvim.detail();
    assert!(detail.contains("no model is configured"), "{detail}");
}

#[test]
fn a_command_that_is_not_there_says_how_to_install_it() {
    let mut nvim = Nvim::wide();
    let ghost = json!({"command": "no-such-agent", "install_hint": "npm install -g ghost"});
    let wrong = json!({"command": "/no/such/agent"});
    nvim.setup(json!({"agents": {"ghost": ghost, "wrong": wrong}}));
    nvim.command("RatStart ghost");
    nvim.poll_state("failed");
    nvim.poll_screen("no-such-agent is not on PATH. Install it: ");
    nvim.poll_screen("npm install -g ghost");
    nvim.command("RatStart wrong");
    nvim.poll_screen("/no/such/agent does not exist");
    nvim.poll_screen("agents.wrong.command");
    nvim.command("RatInfo");
    let version = concat!("rat.nvim      ", env!("CARGO_PKG_VERSION"));
    for row in [version, "protocol      unknown", "capabilities  none"] {
        nvim.poll_screen(row);
    }
}

/// ACP 4.
/// Holds (Crashes): The transcript has the last lines of stderr and says where the rest is.
#[test]
fn of_what_a_dead_agent_wrote_the_transcript_has_the_last_lines_and_the_log_all() {
    let mut chat = Chat::start();
    chat.prompt("go");
    for number in 1..=60 {
        chat.agent.stderr(&format!("loading plugin {number}"));
    }
    chat.agent.exit(3, &"x".repeat(4000));
    chat.nvim.poll_state("failed");
    chat.nvim.poll_screen("… 56 earlier lines in :RatLog");
    let lines = chat.transcript();
    let at = lines.iter().position(|line| line.contains("earlier lines")).unwrap();
    // Their frame is drawn over blanks.
    let rest = lines[at + 1..].iter().take_while(|line| !line.is_empty());
    let shown: Vec<&str> = rest.map(|line| &line[4..]).collect();
    let plugins: Vec<_> = (57..=60).map(|number| format!("loading plugin {number}")).collect();
    assert_eq!(shown[..4], plugins);
    assert_eq!(shown[4], format!("{}…", "x".repeat(200)));
    assert!(shown[5].starts_with("Last messages: ") && shown.len() == 6, "{shown:#?}");
    let log = chat.nvim.log();
    assert!(log.contains("loading plugin 1\n") && log.contains(&"x".repeat(4000)));
}

/// Holds (Crashes): stderr is in the log, and in a log of the agent's own that `:RatLog` shows, without secrets.
#[test]
fn stderr_is_in_the_log_without_secrets() {
    let fake = json!({"env": {"MY_API_KEY": "hunter2hunter2"}});
    let mut chat = Chat::builder().agent(fake).start();
    chat.nvim.command("RatLog fake");
    chat.nvim.poll_screen("The log of fake is empty");
    chat.agent.stderr("loading plugins with hunter2hunter2");
    chat.nvim.poll("the line in the log", |nvim| {
        nvim.log().contains("stderr: loading plugins with [redacted]")
    });
    let log = chat.nvim.log();
    assert!(!log.contains("hunter2"), "{log}");
    // Written after the line in the log, and `:RatLog` reads it once.
    let path = chat.nvim.lua("return require('rat.rpc').agent_logs() .. '/fake.log'", json!([]));
    chat.nvim.poll("the line in the agent's own log", |_| {
        let text = std::fs::read_to_string(path.as_str().unwrap()).unwrap_or_default();
        text.ends_with("loading plugins with [redacted]\n")
    });
    chat.nvim.command("RatLog fake");
    chat.nvim.poll_screen("loading plugins with [redacted]");
    let names = chat.nvim.eval("vim.fn.getcompletion('RatLog ', 'cmdline')");
    assert_eq!(names, json!(["fake"]));
    chat.nvim.command("RatLog nobody");
    chat.nvim.poll_screen("There is no log of nobody");
}

/// Holds (Messages between Lua and the binary): A message from Lua is read whole, or refused with the path of the wrong field.
#[test]
fn a_message_that_makes_no_sense_does_nothing_and_is_in_the_log_with_its_field() {
    let mut chat = Chat::start();
    let start = "local agents = require('rat.config.agents')
        local request = agents.request('fake')
        request.options.timeouts = { initialize = 'soon' }
        require('rat.rpc').notify('start', request)";
    chat.nvim.lua(start, json!([]));
    chat.nvim.poll("the line in the log", |nvim| {
        nvim.log().contains("start: options.timeouts.initialize: expected an integer, got text")
    });
    chat.prompt("go");
    chat.nvim.poll_state("running");
}

#[test]
fn an_unknown_agent_is_named_with_the_one_probably_meant() {
    let mut nvim = Nvim::plain();
    nvim.command("RatStart cluade");
    nvim.poll_screen(r#"No agent is named "cluade" (did you mean claude?)"#);
    assert_eq!(nvim.status()["state"], json!("stopped"));
}

/// Holds (Crashes): A prompt starts an agent again that was stopped.
#[test]
fn a_prompt_to_a_stopped_agent_starts_it_again() {
    let mut chat = Chat::start();
    let pid = chat.agent.pid();
    chat.nvim.command("RatStop");
    assert!(Processes::is_gone(pid));
    chat.nvim.poll_state("stopped");
    chat.nvim.input("imy words<C-s>");
    chat.agent.expect_start();
    chat.agent.handshake();
    assert_eq!(chat.expect_prompt().params["prompt"][0]["text"], json!("my words"));
    chat.poll_draft(&[""]);
}

/// ACP 138.
/// Holds (Crashes): Draft and queue survive a crash, and the next prompt restarts the agent. The queue waits for the user, since what is in it may build on the turn that was lost.
#[test]
fn the_next_prompt_after_a_crash_starts_the_agent_again() {
    let mut chat = Chat::start();
    chat.prompt("one");
    chat.nvim.send("queued");
    chat.nvim.poll_queue(&["queued"]);
    chat.agent.exit(1, "");
    chat.nvim.poll_state("failed");
    chat.nvim.poll_screen("This turn was lost with it.");
    chat.poll_draft(&["one"]);
    chat.nvim.send("two");
    chat.agent.expect_start();
    chat.session = chat.agent.handshake_with(json!({}), json!({"sessionId": "s2"}));
    let second = chat.expect_prompt();
    assert_eq!(second.params["prompt"][0]["text"], json!("two"));
    chat.nvim.poll_screen("cannot resume sessions");
    chat.end_turn("end_turn");
    chat.nvim.poll("a queue that waits", |nvim| nvim.status()["queue_paused"] == json!(true));
    chat.nvim.input("<Esc>ggdG<CR>");
    let third = chat.expect_prompt();
    assert_eq!(third.params["prompt"][0]["text"], json!("queued"));
}

/// Holds (Turns): A turn that is ended by `:RatStop` or `:RatRestart` is marked as cancelled, and the queue waits for the user.
#[test]
fn a_turn_that_the_user_ends_with_its_agent_is_cancelled() {
    for command in ["RatStop", "RatRestart"] {
        let mut chat = Chat::start();
        chat.prompt("one");
        chat.nvim.send("queued");
        chat.nvim.poll_queue(&["queued"]);
        chat.nvim.command(command);
        chat.nvim.poll_screen("Cancelled");
        if command == "RatStop" {
            chat.nvim.poll_state("stopped");
            chat.nvim.command("RatRestart");
        }
        chat.agent.expect_start();
        chat.session = chat.agent.handshake_with(json!({}), json!({"sessionId": "s2"}));
        chat.nvim.poll_state("ready");
        assert_eq!(chat.nvim.status()["queue_paused"], json!(true));
        assert_eq!(chat.nvim.status()["queued"], json!(["queued"]));
        chat.nvim.input("<CR>");
        assert_eq!(chat.expect_prompt().params["prompt"][0]["text"], json!("queued"));
    }
}

/// ACP 44, 138.
#[test]
fn a_restart_resumes_the_session_where_the_agent_can() {
    let mut chat = Chat::start();
    chat.prompt("What is it?");
    chat.say("A question.");
    chat.end_turn("end_turn");
    Processes::signal(chat.agent.pid(), "KILL");
    chat.nvim.poll_state("failed");
    chat.nvim.command("RatRestart");
    chat.agent.expect_start();
    let capabilities = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    chat.agent.initialize(json!({"agentCapabilities": capabilities}));
    let resume = chat.agent.expect_request("session/resume");
    assert_eq!(resume.params["sessionId"], json!("s1"));
    assert_eq!(resume.params["cwd"], json!(chat.nvim.cwd()));
    chat.agent.reply(&resume, json!({}));
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("Resumed the session");
    assert!(chat.nvim.screen().contains("A question."), "what was said is gone");
    chat.prompt("Go on.");
}

/// ACP 49.
#[test]
fn a_session_that_cannot_be_restored_is_followed_by_a_new_one() {
    let mut chat = Chat::start();
    chat.nvim.command("RatRestart");
    chat.agent.expect_start();
    chat.agent.initialize(json!({"agentCapabilities": {"loadSession": true}}));
    let load = chat.agent.expect_request("session/load");
    chat.agent.reply_error(&load, -32002, "no such session");
    chat.agent.open("s2");
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("Could not restore the session");
    assert_eq!(chat.nvim.status()["session_id"], json!("s2"));
}

/// ACP 19.
/// Holds (Crashes): Errors of the connection, the agent and a tool are told apart.
#[test]
fn errors_of_a_tool_of_the_agent_and_of_the_connection_are_told_apart() {
    let mut chat = Chat::start();
    chat.prompt("one");
    call(&mut chat, "lint", "failed");
    chat.nvim.poll_screen("✗ tool lint");
    assert_eq!(chat.nvim.status()["state"], json!("running"));
    assert_eq!(chat.nvim.events("RatError"), [Json::Null; 0]);
    chat.agent.reply_error(&chat.last_prompt(), 429, "slow down");
    let error = chat.nvim.poll_events("RatError", 1)["message"].clone();
    assert!(error.as_str().unwrap().contains("fake could not answer: slow down (error 429)"));
    assert_eq!(chat.nvim.status()["state"], json!("ready"));
    chat.prompt("two");
    chat.agent.exit(0, "");
    let error = chat.nvim.poll_events("RatError", 2)["message"].clone();
    assert!(error.as_str().unwrap().contains("fake exited with status 0"));
}
