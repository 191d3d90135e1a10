//! The binary missing, killed or too old, and the end of Neovim in every way: what the user is told, what stays, and
//! that no process is left.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Chat, Nvim, Options, Processes, TRANSCRIPT, repository};
use serde_json::{Value as Json, json};

/// Neovim and an agent that a closed stdin and SIGTERM do not end, nor what it has started.
struct Stubborn {
    chat: Chat,
    grandchild: u32,
}

impl Stubborn {
    fn start() -> Self {
        let mut chat = Chat::start();
        chat.agent.ignore_sigterm();
        let grandchild = chat.agent.start_grandchild();
        Self { chat, grandchild }
    }

    fn expect_no_agent(&mut self) {
        assert!(Processes::is_gone(self.chat.agent.pid()), "the agent lives");
        assert!(Processes::is_gone(self.grandchild), "the grandchild lives");
    }

    fn expect_nothing(&mut self) {
        self.expect_no_agent();
        let processes = self.chat.nvim.processes().clone();
        if let Err(left) = processes.wait_until_gone(crate::support::DEADLINE) {
            panic!("left behind:\n{left}");
        }
    }
}

/// ACP 137.
/// Holds (Crashes): Leaving Neovim leaves no process.
#[test]
fn leaving_neovim_leaves_no_process() {
    let mut stubborn = Stubborn::start();
    stubborn.chat.nvim.quit();
    stubborn.expect_nothing();
}

/// Holds (Crashes): Killing Neovim leaves no process.
#[test]
fn killing_neovim_leaves_no_process() {
    let mut stubborn = Stubborn::start();
    stubborn.chat.nvim.kill();
    stubborn.expect_nothing();
}

/// Holds (Crashes): Killing the binary leaves no agent.
#[test]
fn killing_the_binary_leaves_no_agent() {
    let mut stubborn = Stubborn::start();
    let pid = stubborn.chat.nvim.binary();
    Processes::signal(pid, "KILL");
    stubborn.expect_no_agent();
    stubborn.chat.nvim.poll_state("failed");
}

/// ACP 137.
/// Holds (Crashes): `:RatStop` leaves no process of the agent.
#[test]
fn stopping_the_agent_leaves_nothing_of_it() {
    let mut stubborn = Stubborn::start();
    stubborn.chat.nvim.command("RatStop");
    stubborn.chat.agent.expect_stdin_closed();
    stubborn.chat.agent.expect_sigterm();
    stubborn.expect_no_agent();
    stubborn.chat.nvim.poll_state("stopped");
}

/// Holds (Crashes): Processes that a dead agent has started are ended.
#[test]
fn what_a_dead_agent_has_started_goes_with_it() {
    let mut stubborn = Stubborn::start();
    stubborn.chat.agent.exit(1, "");
    stubborn.chat.nvim.poll_state("failed");
    stubborn.expect_no_agent();
}

#[test]
fn a_killed_binary_fails_the_chats_and_the_next_prompt_starts_it_again() {
    let mut chat = Chat::start();
    chat.prompt("one");
    chat.say("Half an ans");
    chat.nvim.poll_screen("Half an ans");
    chat.nvim.input("ia draft");
    chat.poll_draft(&["a draft"]);
    Processes::signal(chat.nvim.binary(), "KILL");
    chat.nvim.poll_state("failed");
    let detail = chat.nvim.detail();
    assert!(detail.contains("rat-nvim exited") && detail.contains("Drafts are kept"), "{detail}");
    assert_eq!(chat.nvim.events("RatState").last().unwrap()["state"], json!("failed"));
    // The prompt of the turn that was lost, and what is being written.
    assert_eq!(chat.draft(), ["one", "", "a draft"]);
    assert!(chat.nvim.screen().contains("Half an ans"), "what was said is gone");

    chat.nvim.input("<Esc><CR>");
    chat.agent.expect_start();
    chat.agent.handshake();
    let prompt = chat.expect_prompt();
    assert_eq!(prompt.params["prompt"], json!([{"type": "text", "text": "one\n\na draft"}]));
    chat.say("Here I am again.");
    chat.nvim.poll_screen("Here I am again.");
    chat.nvim.poll_state("running");
}

/// The binary writes down what comes of an answer every few seconds, not only at the end of a turn.
/// Holds (Sessions): The part of an answer that had arrived survives a killed binary.
#[test]
fn what_had_come_of_an_answer_when_the_binary_was_killed_is_there_when_the_session_goes_on() {
    let can = json!({"agentCapabilities": {"sessionCapabilities": {"resume": {}}}});
    let mut chat = Chat::builder().initialized(can.clone()).start();
    chat.prompt("What is it?");
    // More than is held back because a secret might begin there.
    let answer: String = (1..=1000).map(|number| format!("Line {number} of it.\n")).collect();
    chat.say(&answer);
    let kept =
        "local files = vim.fn.glob(vim.fn.stdpath('state') .. '/**/fake=s1.jsonl', true, true)
        return files[1] and table.concat(vim.fn.readfile(files[1]), '\\n') or ''";
    chat.nvim.poll("a part of the answer on disk", |nvim| {
        nvim.lua(kept, json!([])).as_str().unwrap().contains("Line 20 of it.")
    });
    Processes::signal(chat.nvim.binary(), "KILL");
    chat.nvim.poll_state("failed");
    chat.nvim.quit();
    chat.agent.expect_gone();
    let later = chat.nvim.beside(Options::wide());
    let (mut nvim, mut agent) = Chat::builder().neovim(later).launch();
    agent.initialize(can);
    let request = agent.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s1"));
    agent.reply(&request, json!({}));
    nvim.poll_state("ready");
    nvim.poll("what was said", |nvim| {
        let lines = nvim.buffer_lines(TRANSCRIPT);
        let there = |line: &str| lines.iter().any(|it| it == line);
        there("What is it?") && there("Line 1 of it.") && there("Line 20 of it.")
    });
}

#[test]
fn a_missing_binary_is_explained() {
    let mut nvim = Nvim::start(Options {
        init: "vim.g.rat_binary = '/no/such/rat-nvim'".to_owned(),
        ..Options::default()
    });
    for command in ["RatStart tour", "RatSend hello", "RatStart"] {
        nvim.command("messages clear");
        nvim.command(command);
        nvim.poll(command, |nvim| {
            let said = nvim.messages().replace('\n', " ");
            said.contains("/no/such/rat-nvim") && said.contains("nvim -l build.lua")
        });
    }
    assert_eq!(nvim.status()["state"], json!("stopped"));
}

#[test]
fn a_binary_of_another_version_is_explained_and_ended() {
    let standin = repository().join("tests/support/standin");
    let program = std::env::var("NVIM_BIN").unwrap_or_else(|_| "nvim".to_owned());
    let mut nvim = Nvim::start(Options {
        init: format!("vim.g.rat_binary = '{}'", standin.display()),
        env: vec![
            ("STANDIN_VERSION".to_owned(), "0.0.1".to_owned()),
            ("NVIM_BIN".to_owned(), program),
        ],
        ..Options::default()
    });
    nvim.command("RatStart tour");
    nvim.poll("the versions", |nvim| {
        let said = nvim.messages().replace('\n', " ");
        said.contains("rat-nvim is version 0.0.1") && said.contains("nvim -l build.lua")
    });
    let pid = nvim.pid();
    nvim.poll("only Neovim", |nvim| nvim.processes().living() == [pid]);
}

#[test]
fn a_binary_that_ends_at_once_is_explained() {
    let mut nvim = Nvim::plain();
    let path = nvim.folder().file("wrong", "#!/bin/sh\necho 'no such library' >&2\nexit 127\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    nvim.lua("vim.g.rat_binary = ...", json!([path]));
    nvim.command("RatStart tour");
    nvim.poll("the reason", |nvim| {
        let said = nvim.messages().replace('\n', " ");
        said.contains("rat-nvim exited with status 127 (no such library)")
    });
}

#[test]
fn chats_with_two_agents_die_apart() {
    let mut nvim = Nvim::wide();
    let (mut one, _) = Chat::builder().named("one").start_in(&mut nvim);
    let second = Chat::builder().named("two").opened(json!({"sessionId": "s2"}));
    let (mut two, _) = second.start_in(&mut nvim);
    assert_eq!(nvim.status()["session_id"], json!("s2"));
    one.exit(1, "");
    let states = "return vim.tbl_map(function(chat) return { chat.agent, chat.status.state } end,
        require('rat.chat.registry').list())";
    let wanted: Json = json!([["two", "ready"], ["one", "failed"]]);
    nvim.poll("one failed chat", |nvim| nvim.lua(states, json!([])) == wanted);
    nvim.send("still there?");
    two.expect_request("session/prompt");
}
