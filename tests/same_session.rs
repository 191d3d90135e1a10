//! Sessions that have one name: of two agents, and of one agent in two folders. Neither takes anything from the other.

use std::path::Path;

use crate::support::{Agent, Chat, Nvim, Options};
use serde_json::{Value as Json, json};

fn resuming() -> Json {
    json!({"agentCapabilities": {"sessionCapabilities": {"resume": {}}}})
}

/// Starts an agent of this name whose session is `s1`.
fn start(nvim: &mut Nvim, name: &str) -> Agent {
    let (agent, session) = Chat::builder().named(name).initialized(resuming()).start_in(nvim);
    assert_eq!(session, "s1");
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
/// Holds (Sessions): Sessions with the same id are apart: of two agents, and of one agent in two folders.
#[test]
fn two_agents_keep_each_others_edits() {
    let mut nvim = Nvim::wide();
    let path = nvim.file("a.txt", "1\n2\n3\n4\n5\n");
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

/// Holds (Sessions): Sessions with the same id are apart: of two agents, and of one agent in two folders.
#[test]
fn an_agent_in_two_folders_keeps_what_was_said_in_each() {
    let mut nvim = Nvim::wide();
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
        let nvim = nvim.beside(Options { cwd: Some(cwd), ..Options::wide() });
        let (mut nvim, mut agent) = Chat::builder().neovim(nvim).launch();
        agent.initialize(resuming());
        let request = agent.expect_request("session/resume");
        assert_eq!(request.params["sessionId"], json!("s1"));
        agent.reply(&request, json!({}));
        nvim.poll_screen(said);
        assert!(!nvim.screen().contains(not_said));
    }
}

/// Holds (Sessions): A session opened by name is that of its own folder, though another folder has one of the same id open.
#[test]
fn a_session_is_opened_in_its_own_folder() {
    let mut nvim = Nvim::wide();
    let other = nvim.folder().folder("other");
    let project = nvim.cwd().to_owned();
    let _here = start(&mut nvim, "fake");
    nvim.command(&format!("cd {}", other.display()));
    let _there = start(&mut nvim, "fake");
    nvim.poll("the second chat", |nvim| nvim.status()["cwd"] == json!(other));
    for folder in [&project, &other] {
        let open = json!({"agent": "fake", "session": "s1", "cwd": folder});
        nvim.lua("require('rat.chat.launch').start(...)", json!([open]));
        nvim.poll("the chat of the folder", |nvim| nvim.status()["cwd"] == json!(folder));
    }
    assert_eq!(nvim.eval("#require('rat.chat.registry').list()"), json!(2));
}
