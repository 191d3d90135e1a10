//! What OpenOxide keeps in a project, and what it says that it can do, in real Neovim.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::support::{Agent, Chat, Nvim, Request};

fn begin(files: &[(&str, &str)]) -> (Nvim, Agent) {
    let agent = json!({"dialect": "openoxide", "timeouts": {"cancel": 200}});
    let mut builder = Chat::builder().agent(agent);
    for (name, text) in files {
        builder = builder.file(name, *text);
    }
    builder.configure()
}

fn start(nvim: &mut Nvim, agent: &mut Agent, capabilities: Json) {
    nvim.command("RatStart fake");
    agent.expect_start();
    initialize(agent, capabilities);
}

fn initialize(agent: &mut Agent, capabilities: Json) {
    agent.send_raw(b"OpenOxide 0.3, ready\n");
    let offer = agent.expect_request("initialize");
    let info = json!({"name": "openoxide", "version": "0.3"});
    agent.reply(
        &offer,
        json!({"protocolVersion": "0.1", "serverInfo": info, "capabilities": capabilities}),
    );
}

fn create(agent: &mut Agent, id: &str) -> Request {
    let request = agent.expect_request("session/create");
    agent.reply(&request, json!({"session_id": id}));
    request
}

fn current(nvim: &mut Nvim) -> PathBuf {
    nvim.cwd().join(".openoxide/sessions/.current")
}

/// Holds (Dialects): `.openoxide/sessions/.current` names the session that is open; one that it names is resumed where none is known.
#[test]
fn the_current_session_is_noted_and_resumed() {
    let (mut nvim, mut agent) = begin(&[(".openoxide/sessions/.current", "o7\n")]);
    start(&mut nvim, &mut agent, json!({}));
    let request = agent.expect_request("session/resume");
    assert_eq!(request.params["session_id"], "o7");
    agent.reply(&request, json!({"session_id": "o7"}));
    nvim.poll_state("ready");
    nvim.poll_screen("Resumed your last session");
    nvim.command("RatStart! fake");
    create(&mut agent, "o8");
    nvim.poll_state("ready");
    let file = current(&mut nvim);
    assert_eq!(fs::read_to_string(&file).unwrap(), "o8\n", "a new one was asked for");
}

/// Holds (Dialects): A session that `.current` names and OpenOxide does not know is told of, and the new one is noted.
#[test]
fn a_current_session_that_is_gone_is_replaced() {
    let (mut nvim, mut agent) = begin(&[(".openoxide/sessions/.current", "gone\n")]);
    start(&mut nvim, &mut agent, json!({}));
    let request = agent.expect_request("session/resume");
    agent.reply_error(&request, -32602, "no such session");
    create(&mut agent, "o1");
    nvim.poll_state("ready");
    nvim.poll_screen("no such session");
    assert_eq!(fs::read_to_string(current(&mut nvim)).unwrap(), "o1\n");
}

/// Holds (Dialects): No second OpenOxide is started in a folder where one is running; one line says which.
#[test]
fn a_second_one_is_not_started() {
    let (mut nvim, mut agent) = begin(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    fs::create_dir_all(nvim.cwd().join(".openoxide")).unwrap();
    fs::write(nvim.cwd().join(".openoxide/agent.port"), port.to_string()).unwrap();
    nvim.command("RatStart fake");
    nvim.poll_state("failed");
    let detail = nvim.detail();
    let said =
        format!("one is running in this folder already (port {port}, .openoxide/agent.port)");
    assert!(detail.contains(&said) && !detail.contains('\n'), "{detail}");
    drop(listener);
    nvim.command("RatRestart");
    agent.expect_start();
    initialize(&mut agent, json!({}));
    create(&mut agent, "o1");
    nvim.poll_state("ready");
}

/// Holds (Dialects): What OpenOxide says that it cannot do is not shown as something it can, and files go with the prompt if it cannot read them.
#[test]
fn what_it_cannot_do_is_hidden() {
    let (mut nvim, mut agent) = begin(&[("data.csv", "1,2\n")]);
    let can = json!({"file_read": false, "file_write": true, "terminal_exec": false,
        "web_search": true, "streaming": true, "session_fork": false});
    start(&mut nvim, &mut agent, can);
    create(&mut agent, "o1");
    nvim.poll_state("ready");
    nvim.send("look at @data.csv");
    let request = agent.expect_request("prompt/send");
    let content = request.params["content"].to_string();
    assert!(content.contains("1,2"), "{content}");
    agent.reply(&request, json!({}));
    agent.notify("event", json!({"session_id": "o1", "event": {"type": "done"}}));
    nvim.poll_state("ready");
    nvim.command("RatInfo");
    nvim.poll_screen("OpenOxide");
    nvim.poll("the page", |nvim| {
        let shown = nvim.buffer_lines("rat://fake/1/info").join("\n");
        shown.contains("resume, writing files, web search, streaming\n")
    });
    let shown = nvim.buffer_lines("rat://fake/1/info").join("\n");
    for hidden in ["reading files", "commands,", "fork"] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
}
