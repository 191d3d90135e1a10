//! Agents that know the project by another path, or that have another disk, in real Neovim.

use std::fs;

use serde_json::{Value as Json, json};

use crate::support::{Agent, Chat, Nvim, PROMPT, TRANSCRIPT};

/// The folder that the agent knows as the project's.
const WORKSPACE: &str = "/workspace";

/// A project with a file, whose agent knows it as [`WORKSPACE`], up to its session.
fn mapped() -> (Nvim, Agent) {
    let (mut nvim, mut agent) = Chat::builder().file("a.txt", "one\ntwo\n").configure();
    let paths = json!({ nvim.cwd().to_str().unwrap(): WORKSPACE });
    configure(&mut nvim, &agent, paths, true);
    nvim.command("RatStart fake");
    agent.expect_start();
    agent.initialize(json!({"agentCapabilities": {"sessionCapabilities": {"list": {}}}}));
    let request = agent.open("s");
    assert_eq!(request.params["cwd"], WORKSPACE);
    nvim.poll_state("ready");
    (nvim, agent)
}

fn configure(nvim: &mut Nvim, agent: &Agent, paths: Json, shared: bool) {
    let mut config = agent.config();
    config["paths"] = paths;
    config["shared"] = json!(shared);
    let setup = "require('rat').setup(...)";
    nvim.lua(setup, json!([{"agents": {"fake": config}}]));
}

fn prompt(nvim: &mut Nvim, agent: &mut Agent) {
    nvim.lua("require('rat').send('go')", json!([]));
    agent.expect_request("session/prompt");
    nvim.poll_state("running");
}

fn in_workspace(name: &str) -> String {
    format!("{WORKSPACE}/{name}")
}

/// Holds (Agents elsewhere): The paths of an agent in a container are those of the project here, in every request and update.
#[test]
fn the_paths_of_a_container_are_those_of_the_project() {
    let (mut nvim, mut agent) = mapped();
    prompt(&mut nvim, &mut agent);
    nvim.command("edit a.txt");
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'unsaved' })", json!([]));
    let read = json!({"sessionId": "s", "path": in_workspace("a.txt")});
    let content = agent.request("fs/read_text_file", read).unwrap();
    assert_eq!(content["content"], "unsaved\ntwo\n");
    let write = json!({"sessionId": "s", "path": in_workspace("sub/b.txt"), "content": "new\n"});
    agent.request("fs/write_text_file", write).unwrap();
    assert_eq!(fs::read_to_string(nvim.cwd().join("sub/b.txt")).unwrap(), "new\n");
    let terminal = json!({"sessionId": "s", "command": "pwd", "cwd": in_workspace("sub")});
    let terminal = agent.request("terminal/create", terminal).unwrap()["terminalId"].clone();
    let named = json!({"sessionId": "s", "terminalId": terminal});
    agent.request("terminal/wait_for_exit", named.clone()).unwrap();
    let output = agent.request("terminal/output", named).unwrap()["output"].clone();
    let below = nvim.cwd().canonicalize().unwrap().join("sub");
    assert_eq!(output.as_str().unwrap().trim(), below.to_str().unwrap());
    let uri = format!("file://{}#L2", in_workspace("a.txt"));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit both",
    "locations": [{"path": in_workspace("a.txt"), "line": 2}],
    "content": [
        {"type": "diff", "path": in_workspace("c.txt"), "newText": "created\n"},
        {"type": "content", "content": {"type": "resource_link", "uri": uri, "name": "a.txt"}},
    ]});
    agent.update("s", call);
    nvim.poll_screen("│ c.txt (new file)");
    nvim.poll_screen("a.txt:2");
    assert!(!nvim.screen().contains(WORKSPACE), "{}", nvim.screen().text());
}

/// Holds (Agents elsewhere): A path of the agent's that is in no shared folder is refused or shown as the agent's, never taken for one here.
#[test]
fn what_only_the_agent_has_is_not_looked_for_here() {
    let (mut nvim, mut agent) = mapped();
    prompt(&mut nvim, &mut agent);
    for path in ["/etc/hostname", "/workspace/../etc/hostname", "/workspaces/a.txt"] {
        for method in ["fs/read_text_file", "fs/write_text_file"] {
            let params = json!({"sessionId": "s", "path": path, "content": "x"});
            let error = agent.request(method, params).unwrap_err();
            assert_eq!(error["code"], -32602, "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("in no folder that the editor shares"), "{message}");
        }
    }
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Look around",
        "locations": [{"path": "/etc/hostname", "line": 3}]});
    agent.update("s", call);
    nvim.poll_screen("fake:/etc/hostname:3");
}

/// Holds (Agents elsewhere): What is attached has the agent's path, and a file that the agent does not have is named before anything is sent.
#[test]
fn attachments_have_the_paths_of_the_agent() {
    let (mut nvim, mut agent) = mapped();
    nvim.command("edit a.txt");
    nvim.command("2RatAdd");
    nvim.command("RatSend look");
    let request = agent.expect_request("session/prompt");
    let blocks = request.params["prompt"].as_array().unwrap();
    let uri = |block: &Json| block["uri"].as_str().map(str::to_owned);
    let uris: Vec<_> = blocks.iter().filter_map(uri).collect();
    assert_eq!(uris, ["file:///workspace/a.txt#L2"]);
    agent.say("s", "seen");
    agent.reply(&request, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
    let outside = nvim.cwd().with_extension("outside.txt");
    fs::write(&outside, "far\n").unwrap();
    nvim.command(&format!("edit {}", outside.display()));
    nvim.command("%RatAdd");
    nvim.command("RatSend and this");
    nvim.poll_screen("is in no folder of agents.fake.paths");
    nvim.poll_state("ready");
    assert_eq!(agent.unexpected(), [""; 0]);
    assert!(nvim.buffer_lines(PROMPT).contains(&"and this".to_owned()), "nothing is lost");
    fs::remove_file(outside).unwrap();
}

/// Holds (Agents elsewhere): A mapping that is ambiguous, or a project outside of it, is one clear line before anything is started.
#[test]
fn a_mapping_that_cannot_be_used_is_named() {
    let (mut nvim, mut agent) = Chat::builder().configure();
    configure(&mut nvim, &agent, json!({"/a": "/w", "/b": "/w"}), true);
    nvim.command("RatStart fake");
    nvim.poll_state("failed");
    let detail = nvim.detail();
    assert!(detail.contains("agents.fake.paths: /w would be both /a and /b"), "{detail}");
    configure(&mut nvim, &agent, json!({"/nowhere": "/w"}), true);
    nvim.command("RatStart! fake");
    agent.expect_start();
    agent.initialize(json!({}));
    nvim.poll_state("failed");
    let detail = nvim.detail();
    assert!(detail.contains("is in no folder of agents.fake.paths"), "{detail}");
}

/// Holds (Agents elsewhere): Of an agent on another disk the user is told what it can do, and gets its files through Neovim.
#[test]
fn an_agent_on_another_disk() {
    let (mut nvim, mut agent) = Chat::builder().file("a.txt", "one\n").configure();
    configure(&mut nvim, &agent, json!({}), false);
    nvim.command("RatStart fake");
    agent.expect_start();
    agent.initialize(json!({}));
    agent.open("s");
    nvim.poll_state("ready");
    let transcript = nvim.buffer_lines(TRANSCRIPT).join(" ");
    assert!(transcript.contains("reads and writes your files through Neovim"), "{transcript}");
    prompt(&mut nvim, &mut agent);
    let path = nvim.cwd().join("a.txt");
    let read = agent.request("fs/read_text_file", json!({"sessionId": "s", "path": path}));
    assert_eq!(read.unwrap()["content"], "one\n");
}

/// Holds (Agents elsewhere): The sessions of an agent are listed with the paths they have here.
#[test]
fn listed_sessions_have_the_paths_they_have_here() {
    let (mut nvim, mut agent) = mapped();
    nvim.command("RatSessions");
    let request = agent.expect_request("session/list");
    assert_eq!(request.params["cwd"], WORKSPACE);
    let sessions = json!([{"sessionId": "other", "cwd": WORKSPACE, "title": "An earlier one"}]);
    agent.reply(&request, json!({"sessions": sessions}));
    nvim.poll_screen("An earlier one");
}
