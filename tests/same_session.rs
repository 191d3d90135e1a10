//! Sessions that have one name: of two agents, and of one agent in two folders. Neither takes anything from the other.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use std::path::Path;

use serde_json::json;
use support::{Agent, Nvim, Options};

fn wide() -> Options {
    Options { columns: 120, lines: 40, ..Options::default() }
}

/// Starts an agent of this name whose session is `s1`, in the middle of a turn.
fn start(nvim: &mut Nvim, name: &str) -> Agent {
    let mut agent = nvim.listen();
    nvim.setup(json!({"agents": {name: agent.config()}}));
    nvim.command(&format!("RatStart {name}"));
    agent.expect_start();
    let can = json!({"agentCapabilities": {"sessionCapabilities": {"resume": {}}}});
    assert_eq!(agent.handshake_with(can, json!({})), "s1");
    nvim.poll_state("ready");
    agent
}

fn prompt(nvim: &mut Nvim, agent: &mut Agent, text: &str) {
    nvim.send(text);
    agent.expect_request("session/prompt");
}

fn read(agent: &mut Agent, path: &Path) -> String {
    let params = json!({"sessionId": "s1", "path": path});
    let answer = agent.request("fs/read_text_file", params).unwrap();
    answer["content"].as_str().unwrap().to_owned()
}

/// What each has read is what its own text refers to: the other one's edit is none of its own, nor taken back by it.
#[test]
fn two_agents_keep_each_others_edits() {
    let mut nvim = Nvim::start(wide());
    let path = nvim.folder().file("project/a.txt", "1\n2\n3\n4\n5\n");
    let mut one = start(&mut nvim, "one");
    prompt(&mut nvim, &mut one, "go");
    let mut two = start(&mut nvim, "two");
    prompt(&mut nvim, &mut two, "go");
    let text = read(&mut two, &path);
    assert_eq!(read(&mut one, &path), text);
    let write = |agent: &mut Agent, text: &str| {
        let params = json!({"sessionId": "s1", "path": path, "content": text});
        agent.request("fs/write_text_file", params)
    };
    write(&mut one, &text.replace('1', "one")).unwrap();
    write(&mut two, &text.replace('5', "two")).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n2\n3\n4\ntwo\n");
    // A text it has read does not count as read by the other either.
    assert_eq!(read(&mut two, &path), "one\n2\n3\n4\ntwo\n");
    write(&mut one, "one\n2\nthree\n4\n5\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n2\nthree\n4\ntwo\n");
}

#[test]
fn an_agent_in_two_folders_keeps_what_was_said_in_each() {
    let mut nvim = Nvim::start(wide());
    let other = nvim.folder().folder("other");
    let project = nvim.cwd().to_owned();
    let say = |nvim: &mut Nvim, agent: &mut Agent, text: &str| {
        nvim.send(text);
        let request = agent.expect_request("session/prompt");
        agent.reply(&request, json!({"stopReason": "end_turn"}));
        nvim.poll_state("ready");
    };
    let mut here = start(&mut nvim, "fake");
    say(&mut nvim, &mut here, "asked in the project");
    nvim.command(&format!("cd {}", other.display()));
    let mut there = start(&mut nvim, "fake");
    say(&mut nvim, &mut there, "asked elsewhere");
    nvim.quit();
    for (cwd, said, not_said) in [
        (project, "asked in the project", "asked elsewhere"),
        (other, "asked elsewhere", "asked in the project"),
    ] {
        let mut nvim = nvim.beside(Options { cwd: Some(cwd), ..wide() });
        let mut agent = nvim.listen();
        nvim.setup(json!({"agents": {"fake": agent.config()}}));
        nvim.command("RatStart fake");
        agent.expect_start();
        let request = agent.expect_request("initialize");
        let can = json!({"sessionCapabilities": {"resume": {}}});
        agent.reply(&request, json!({"protocolVersion": 1, "agentCapabilities": can}));
        let request = agent.expect_request("session/resume");
        assert_eq!(request.params["sessionId"], json!("s1"));
        agent.reply(&request, json!({}));
        nvim.poll_screen(said);
        assert!(!nvim.screen().contains(not_said));
    }
}
