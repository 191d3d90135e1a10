//! Agents that run elsewhere, in real Neovim: how they are reached, lost and got back, and what the user is told.

use crate::support::{Agent, Chat, Dice, Gateway, Nvim, Options, PROMPT, TRANSCRIPT, Way};
use serde_json::{Value as Json, json};

const WAYS: [Way; 5] = [Way::Unix, Way::WebSocket, Way::Streamable, Way::OneStream, Way::Replies];

/// Neovim with an agent behind a gateway; `fields` are laid over its entry in `agents`.
fn configured(way: Way, fields: Json) -> (Nvim, Agent, Gateway) {
    let mut nvim = Nvim::start(Options::wide());
    let agent = nvim.listen();
    let gateway = Gateway::start(way, agent.command(), nvim.folder().path());
    let mut entry = json!({"url": gateway.url});
    for (name, value) in fields.as_object().into_iter().flatten() {
        entry[name] = value.clone();
    }
    nvim.setup(json!({"agents": {"fake": entry}, "default_agent": "fake"}));
    (nvim, agent, gateway)
}

fn started(way: Way) -> (Nvim, Agent, Gateway) {
    let (mut nvim, mut agent, gateway) = configured(way, json!({}));
    nvim.command("RatStart");
    agent.expect_start();
    agent.handshake_with(json!({"agentCapabilities": capabilities()}), json!({}));
    nvim.poll_state("ready");
    (nvim, agent, gateway)
}

fn capabilities() -> Json {
    json!({"loadSession": true, "sessionCapabilities": {"resume": {}}})
}

/// The agent is reached again, and resumes the session.
fn resume(nvim: &mut Nvim, agent: &mut Agent) {
    agent.expect_start();
    agent.initialize(json!({"agentCapabilities": capabilities()}));
    let resume = agent.expect_request("session/resume");
    assert_eq!(resume.params["sessionId"], json!("s1"));
    assert_eq!(resume.params["cwd"], json!(nvim.cwd()));
    agent.reply(&resume, json!({}));
}

fn poll_waiting(nvim: &mut Nvim) {
    nvim.poll("the wait for another attempt", |nvim| nvim.detail() == "waiting to connect again");
}

/// Starts an agent that cannot be reached and gives the reason.
fn failure(nvim: &mut Nvim) -> String {
    let told = nvim.events("RatError").len();
    nvim.command("RatStart");
    nvim.poll_events("RatError", told + 1);
    nvim.poll_state("failed");
    nvim.detail()
}

/// Holds (Transports): An agent elsewhere talks, calls tools, reads files and is cancelled like any other.
#[test]
fn a_conversation() {
    for way in WAYS {
        let (mut nvim, mut agent, _gateway) = started(way);
        let file = nvim.file("a.txt", "here\n");
        nvim.send("go");
        let prompt = agent.expect_request("session/prompt");
        agent.say("s1", "Hello from afar");
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "build", "status": "completed"});
        agent.update("s1", call);
        let params = json!({"sessionId": "s1", "path": file});
        let read = agent.request("fs/read_text_file", params);
        assert_eq!(read, Ok(json!({"content": "here\n"})), "{way:?}");
        nvim.poll_screen("Hello from afar");
        nvim.poll_screen("✓ tool build");
        nvim.command("RatCancel");
        agent.expect_notification("session/cancel");
        agent.reply(&prompt, json!({"stopReason": "cancelled"}));
        nvim.poll_state("ready");
        nvim.command("RatStop");
        nvim.poll_state("stopped");
        // Where nothing names a connection, nothing says that it is left.
        if !matches!(way, Way::OneStream | Way::Replies) {
            agent.expect_gone();
        }
    }
}

/// Holds (Transports): A connection that is lost in a turn comes back by itself with its session, and the prompt of that turn is in the prompt buffer again.
#[test]
fn a_lost_connection_comes_back() {
    for way in WAYS {
        let (mut nvim, mut agent, gateway) = started(way);
        nvim.send("go");
        agent.expect_request("session/prompt");
        agent.say("s1", "Half an ans");
        nvim.poll_screen("Half an ans");
        gateway.cut();
        if way == Way::OneStream {
            // Its events are numbered: what the agent goes on to say is taken up.
            agent.say("s1", "wer.");
            nvim.poll_screen("Half an answer.");
            continue;
        }
        poll_waiting(&mut nvim);
        nvim.poll_screen("Connecting again.");
        nvim.poll_screen("This turn was lost");
        assert_eq!(nvim.buffer_lines(PROMPT), ["go"], "{way:?}");
        assert_eq!(nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("error"));
        resume(&mut nvim, &mut agent);
        nvim.poll_state("ready");
        nvim.poll_screen("Resumed the session");
        nvim.send("on");
        agent.expect_request("session/prompt");
        agent.say("s1", "On we go");
        nvim.poll_screen("On we go");
    }
}

/// Holds (Transports): However often and whenever a connection is cut, what was received stays once, and the session goes on.
#[test]
fn twenty_cuts() {
    let mut dice = Dice::new(20);
    let ways = [Way::Unix, Way::WebSocket, Way::Streamable];
    for (index, way) in ways.into_iter().enumerate() {
        let (mut nvim, mut agent, gateway) = started(way);
        let mut said = String::new();
        for cut in 0..[7, 7, 6][index] {
            let words = format!("prompt{cut}");
            nvim.send(&words);
            let prompt = agent.expect_request("session/prompt");
            assert_eq!(prompt.params["prompt"][0]["text"], json!(words));
            let chunks = dice.within(0..40);
            for chunk in 0..chunks {
                let text = format!("<{cut}.{chunk}>");
                agent.say("s1", &text);
                said += &text;
            }
            if dice.once_in(3) {
                let ends = nvim.events("RatTurnEnd").len();
                agent.reply(&prompt, json!({"stopReason": "end_turn"}));
                nvim.poll_events("RatTurnEnd", ends + 1);
            } else if chunks > 0 {
                nvim.poll_screen(&format!("<{cut}.{}>", chunks - 1));
            }
            gateway.cut();
            poll_waiting(&mut nvim);
            // A prompt does not wait for the next attempt.
            nvim.send("again");
            resume(&mut nvim, &mut agent);
            let prompt = agent.expect_request("session/prompt");
            assert_eq!(prompt.params["prompt"][0]["text"], json!("again"), "{way:?}");
            let ends = nvim.events("RatTurnEnd").len();
            agent.reply(&prompt, json!({"stopReason": "end_turn"}));
            nvim.poll_events("RatTurnEnd", ends + 1);
            // The lost prompts are the user's to send or to drop.
            let clear = "vim.api.nvim_buf_set_lines(vim.fn.bufnr(...), 0, -1, true, {})";
            nvim.lua(clear, json!([PROMPT]));
        }
        let shown = nvim.buffer_lines(TRANSCRIPT).concat();
        let pieces = shown.split('<').skip(1).filter_map(|it| it.split_once('>'));
        let shown: String = pieces.map(|(piece, _)| format!("<{piece}>")).collect();
        assert_eq!(shown, said, "{way:?}");
    }
}

/// Holds (Transports): What keeps an agent elsewhere from being reached is told in one line that says what to do.
#[test]
fn obstacles_are_told() {
    let (mut nvim, _agent, gateway) = configured(Way::WebSocket, json!({}));
    let url = gateway.url.clone();
    gateway.answer(&["HTTP/1.1 401 Unauthorized"]);
    let expected =
        "fake could not be reached: it answered 401 Unauthorized. Check agents.fake.headers.";
    assert_eq!(failure(&mut nvim), expected);
    gateway.answer(&["HTTP/1.1 404 Not Found"]);
    let expected = format!(
        "fake could not be reached: it answered 404 Not Found. Check agents.fake.url ({url})."
    );
    assert_eq!(failure(&mut nvim), expected);
    gateway.answer(&["HTTP/1.1 302 Found", "location: https://example.org/?token=x"]);
    let expected = "fake could not be reached: it redirects to https://example.org/. \
                    If you trust that server, set agents.fake.url to it.";
    assert_eq!(failure(&mut nvim), expected);
    drop(gateway);
    // So that it is not waited for.
    let entry = json!({"url": url, "timeouts": {"initialize": 500}});
    nvim.setup(json!({"agents": {"fake": entry}, "default_agent": "fake"}));
    let expected = format!(
        "fake could not be reached: Connection refused. Check that it is running at {url}. \
         Send a prompt or :RatRestart to try again."
    );
    let found = failure(&mut nvim);
    assert_eq!(found, expected);
}

/// Holds (Transports): An agent that is not there yet is waited for, whether nothing listens or a server says that it is not ready.
#[test]
fn an_agent_that_comes_up_slowly_is_waited_for() {
    for way in [Way::Unix, Way::WebSocket, Way::Streamable] {
        let (mut nvim, mut agent, gateway) = configured(way, json!({}));
        let url = gateway.url.clone();
        let folder = nvim.folder().path().to_owned();
        let gateway = if way == Way::Unix {
            drop(gateway);
            std::fs::remove_file(folder.join("gateway")).unwrap();
            None
        } else {
            gateway.answer(&["HTTP/1.1 503 Service Unavailable"]);
            Some(gateway)
        };
        nvim.command("RatStart");
        let told = "Trying again for up to 60 s. :RatStop stops it.";
        nvim.poll(told, |nvim| nvim.buffer_lines(TRANSCRIPT).join("\n").contains(told));
        assert_eq!(nvim.status()["state"], json!("starting"));
        assert_eq!(nvim.events("RatError").len(), 1);
        let gateway = match gateway {
            Some(gateway) => {
                gateway.serve();
                gateway
            }
            None => Gateway::start(way, agent.command(), &folder),
        };
        assert_eq!(gateway.url, url);
        agent.expect_start();
        agent.handshake();
        nvim.poll_state("ready");
    }
}

/// Holds (Transports): A certificate that is not trusted is told, and the option that helps.
#[test]
fn a_certificate_is_told() {
    let mut nvim = Nvim::start(Options::wide());
    let mut agent = nvim.listen();
    let folder = nvim.folder().path().to_owned();
    let gateway = Gateway::start_with_tls(Way::Streamable, agent.command(), &folder);
    nvim.setup(json!({"agents": {"fake": {"url": gateway.url}}, "default_agent": "fake"}));
    let expected = "fake could not be reached: its certificate is from an unknown authority. \
        If you trust it, set agents.fake.ca_file to a file with its authority's certificate.";
    assert_eq!(failure(&mut nvim), expected);
    let entry = json!({"url": gateway.url, "ca_file": folder.join("ca.pem")});
    nvim.setup(json!({"agents": {"fake": entry}, "default_agent": "fake"}));
    nvim.command("RatStart");
    agent.expect_start();
    agent.handshake();
    nvim.poll_state("ready");
}

#[test]
fn what_is_misconfigured_is_told() {
    let mut nvim = Nvim::start(Options::wide());
    for (entry, expected) in [
        (
            json!({"url": "ftp://host"}),
            "agents.fake.url begins with ftp:; it must begin with unix://, ws://, wss://, http:// or https://",
        ),
        (
            json!({"url": "ws://host", "command": "x"}),
            "agents.fake has both command and url; set only one",
        ),
        (
            json!({"url": "ws://host", "headers": {"Authorization": "Bearer ${RAT_NO_TOKEN}"}}),
            "agents.fake.headers.Authorization needs the environment variable RAT_NO_TOKEN, which is not set",
        ),
    ] {
        nvim.setup(json!({"agents": {"fake": entry}, "default_agent": "fake"}));
        assert_eq!(failure(&mut nvim), format!("fake cannot be started: {expected}"));
    }
}

/// Holds (Transports): A server that answers late holds up neither Neovim nor the rest of the plugin.
#[test]
fn a_slow_server_holds_up_nothing() {
    let (mut nvim, mut agent, gateway) = configured(Way::Streamable, json!({}));
    gateway.hold(true);
    nvim.command("RatStart");
    nvim.poll("a request", |_| !gateway.requests().is_empty());
    nvim.command("RatInfo");
    nvim.poll_screen(&gateway.url);
    assert_eq!(nvim.status()["state"], json!("starting"), "the server still holds its answer");
    gateway.hold(false);
    agent.expect_start();
    agent.handshake();
    nvim.poll_state("ready");
}

/// Holds (Transports): Tokens in headers and URLs are shown nowhere: not in pages, messages, the log or files.
#[test]
fn secrets_are_shown_nowhere() {
    let headers = json!({"Authorization": "Bearer ${RAT_TOKEN}", "X-Key": "plain-but-secret"});
    let (mut nvim, mut agent, gateway) = configured(Way::WebSocket, json!({}));
    let url = gateway.url.replace("ws://", "ws://me:hidden-password@") + "?key=hidden-query";
    let entry = json!({"url": url, "headers": headers, "env": {"RAT_TOKEN": "very-secret-token"}});
    nvim.setup(json!({"agents": {"fake": entry}, "default_agent": "fake"}));
    nvim.command("RatStart");
    agent.expect_start();
    agent.handshake();
    nvim.poll_state("ready");
    let seen = gateway.requests().remove(0);
    assert_eq!(seen.headers["authorization"], "Bearer very-secret-token");
    assert_eq!(
        (seen.headers["x-key"].as_str(), &*seen.path),
        ("plain-but-secret", "/acp?key=hidden-query")
    );
    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    agent.say("s1", "I got very-secret-token and plain-but-secret");
    agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
    let mut shown = String::new();
    for (page, part) in [("RatInfo", "ws://127.0.0.1"), ("RatTrace", "I got")] {
        nvim.command(page);
        let text = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')";
        nvim.poll(page, |nvim| nvim.lua(text, json!([])).to_string().contains(part));
        shown += &nvim.lua(text, json!([])).to_string();
        nvim.command("close");
    }
    gateway.answer(&["HTTP/1.1 403 Forbidden"]);
    gateway.cut();
    nvim.poll_state("failed");
    shown += &(nvim.messages() + &nvim.log() + &nvim.detail());
    let state = crate::support::files_below(&nvim.folder().path().join("state"));
    for file in state {
        shown += &String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default());
    }
    assert!(shown.contains("403 Forbidden") && shown.contains("I got [redacted]"), "{shown}");
    for secret in ["very-secret", "plain-but-secret", "hidden-password", "hidden-query"] {
        assert!(!shown.contains(secret), "{secret} is shown: {shown}");
    }
}

/// Holds (Transports): With `reconnect = "prompt"` a lost connection is made again with the next prompt only.
#[test]
fn reconnecting_waits_for_a_prompt_where_that_is_chosen() {
    let (mut nvim, mut agent, gateway) = configured(Way::Unix, json!({"reconnect": "prompt"}));
    nvim.command("RatStart");
    agent.expect_start();
    agent.handshake_with(json!({"agentCapabilities": capabilities()}), json!({}));
    nvim.poll_state("ready");
    gateway.cut();
    nvim.poll_state("failed");
    assert_eq!(
        nvim.detail(),
        "fake closed the connection. Send a prompt or :RatRestart to restart."
    );
    nvim.send("go");
    agent.expect_start();
    agent.handshake_with(json!({}), json!({"sessionId": "s2"}));
    agent.expect_request("session/prompt");
}

/// Holds (Crashes): A program that crashes in a turn is started again at once with its session; the prompt of that turn is in the prompt buffer again.
#[test]
fn a_program_that_crashes_is_started_again() {
    let mut chat = Chat::builder()
        .agent(json!({"reconnect": "now"}))
        .initialized(json!({"agentCapabilities": capabilities()}))
        .in_turn();
    chat.say("Half an ans");
    chat.agent.exit(3, "out of memory");
    resume(&mut chat.nvim, &mut chat.agent);
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("fake exited with status 3. Starting it again.");
    chat.nvim.poll_screen("out of memory");
    assert_eq!(chat.draft(), ["go"]);
    chat.prompt("on");
    // One that has ended as it wanted to is not.
    chat.agent.exit(0, "");
    chat.nvim.poll_state("failed");
}
