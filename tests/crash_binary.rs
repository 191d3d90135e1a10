//! The binary missing, killed or too old, and the end of Neovim in every way: what the user is told, what stays, and
//! that no process is left.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]

mod support;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Processes, repository};

/// Neovim and an agent that a closed stdin and SIGTERM do not end, nor what it has started.
struct Stubborn {
    nvim: Nvim,
    agent: Agent,
    grandchild: u32,
}

impl Stubborn {
    fn start() -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let mut agent = nvim.start_agent();
        agent.handshake();
        nvim.poll_state("ready");
        agent.ignore_sigterm();
        let grandchild = agent.start_grandchild();
        Self { nvim, agent, grandchild }
    }

    fn expect_no_agent(&mut self) {
        assert!(Processes::is_gone(self.agent.pid()), "the agent lives");
        assert!(Processes::is_gone(self.grandchild), "the grandchild lives");
    }

    fn expect_nothing(&mut self) {
        self.expect_no_agent();
        let processes = self.nvim.processes().clone();
        if let Err(left) = processes.wait_until_gone(support::DEADLINE) {
            panic!("left behind:\n{left}");
        }
    }
}

/// The pid of the binary Neovim has started.
fn binary(nvim: &mut Nvim) -> u32 {
    let code = "for _, channel in ipairs(vim.api.nvim_list_chans()) do
          if channel.argv and channel.argv[1] == vim.g.rat_binary then return vim.fn.jobpid(channel.id) end
        end";
    u32::try_from(nvim.lua(code, json!([])).as_u64().unwrap()).unwrap()
}

/// ACP 137.
#[test]
fn leaving_neovim_leaves_no_process() {
    let mut stubborn = Stubborn::start();
    stubborn.nvim.quit();
    stubborn.expect_nothing();
}

#[test]
fn killing_neovim_leaves_no_process() {
    let mut stubborn = Stubborn::start();
    stubborn.nvim.kill();
    stubborn.expect_nothing();
}

#[test]
fn killing_the_binary_leaves_no_agent() {
    let mut stubborn = Stubborn::start();
    let pid = binary(&mut stubborn.nvim);
    Processes::signal(pid, "KILL");
    stubborn.expect_no_agent();
    stubborn.nvim.poll_state("failed");
}

/// ACP 137.
#[test]
fn stopping_the_agent_leaves_nothing_of_it() {
    let mut stubborn = Stubborn::start();
    stubborn.nvim.command("RatStop");
    stubborn.agent.expect_stdin_closed();
    stubborn.agent.expect_sigterm();
    stubborn.expect_no_agent();
    stubborn.nvim.poll_state("stopped");
}

#[test]
fn what_a_dead_agent_has_started_goes_with_it() {
    let mut stubborn = Stubborn::start();
    stubborn.agent.exit(1, "");
    stubborn.nvim.poll_state("failed");
    stubborn.expect_no_agent();
}

#[test]
fn a_killed_binary_fails_the_chats_and_the_next_prompt_starts_it_again() {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    nvim.record(&["RatState", "RatError"]);
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("one");
    agent.expect_request("session/prompt");
    agent.say(&session, "Half an ans");
    nvim.poll_screen("Half an ans");
    nvim.input("ia draft");
    nvim.poll("the draft", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == ["a draft"]);
    let pid = binary(&mut nvim);
    Processes::signal(pid, "KILL");
    nvim.poll_state("failed");
    let detail = nvim.status()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("rat-nvim ended") && detail.contains("Drafts are kept"), "{detail}");
    assert_eq!(nvim.events("RatState").last().unwrap()["state"], json!("failed"));
    assert_eq!(nvim.buffer_lines("rat://fake/1/prompt"), ["a draft"]);
    assert!(nvim.screen().contains("Half an ans"), "what was said is gone");

    nvim.input("<Esc><CR>");
    agent.expect_start();
    agent.handshake();
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"], json!([{"type": "text", "text": "a draft"}]));
    agent.say("s1", "Here I am again.");
    nvim.poll_screen("Here I am again.");
    nvim.poll_state("running");
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
            said.contains("/no/such/rat-nvim") && said.contains("cargo build --release")
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
        said.contains("rat-nvim is version 0.0.1") && said.contains("cargo build --release")
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
        said.contains("rat-nvim ended with status 127 (no such library)")
    });
}

#[test]
fn chats_with_two_agents_die_apart() {
    let mut nvim = Nvim::plain();
    let (mut one, mut two) = (nvim.listen(), nvim.listen());
    nvim.setup(json!({"agents": {"one": one.config(), "two": two.config()}}));
    nvim.command("RatStart one");
    one.expect_start();
    one.handshake();
    nvim.poll_state("ready");
    nvim.command("RatStart two");
    two.expect_start();
    two.handshake_with(json!({}), json!({"sessionId": "s2"}));
    nvim.poll("the second chat", |nvim| nvim.status()["session_id"] == json!("s2"));
    one.exit(1, "");
    let states = "return vim.tbl_map(function(chat) return { chat.agent, chat.status.state } end,
        require('rat.chat').list())";
    let wanted: Json = json!([["two", "ready"], ["one", "failed"]]);
    nvim.poll("one failed chat", |nvim| nvim.lua(states, json!([])) == wanted);
    nvim.send("still there?");
    two.expect_request("session/prompt");
}
