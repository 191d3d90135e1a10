//! The chat as a user sees it, against golden screens at 80x24 and 120x40; every state that waits for the user has
//! to name the key that goes on.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Request, repository};

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

const ANSWER: &str = "The comparison in `format_duration` leaves out **equal** values:\n\n\
    - `60` seconds should be `1m`, and are `60s`\n\
    - the same for hours and days\n\n\
    ```python\nif seconds >= size:\n    count, seconds = divmod(seconds, size)\n```\n\n\
    I will change that one line and run";

/// Neovim on the sample project with a chat, the user in the file or in the prompt.
struct Scene {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

impl Scene {
    fn open((columns, lines): (u16, u16)) -> Self {
        let mut nvim = Nvim::start(Options { columns, lines, ..Options::default() });
        let sample = repository().join("tests/sample/duration.py");
        std::fs::copy(sample, nvim.cwd().join("duration.py")).unwrap();
        nvim.command("edit duration.py");
        let mut agent = nvim.start_agent();
        let session = agent.handshake();
        nvim.poll_state("ready");
        Self { nvim, agent, session }
    }

    fn prompt(&mut self) -> Request {
        self.nvim.send("Why is a minute shown as 60s?");
        self.agent.expect_request("session/prompt")
    }

    fn update(&mut self, update: Json) {
        self.agent.update(&self.session, update);
    }

    /// The user goes back to the file.
    fn leave_the_chat(&mut self) {
        self.nvim.command("wincmd t");
    }

    /// What an agent does before it asks: it thinks, plans, reads and talks.
    fn work(&mut self) {
        let thought = json!({"type": "text", "text": "The user sees 60s.\nThat is an off-by-one."});
        self.update(json!({"sessionUpdate": "agent_thought_chunk", "content": thought}));
        self.update(json!({"sessionUpdate": "plan", "entries": [
            {"content": "Find the comparison", "priority": "high", "status": "completed"},
            {"content": "Change it", "priority": "high", "status": "in_progress"},
            {"content": "Run the tests", "priority": "low", "status": "pending"},
        ]}));
        let path = self.nvim.cwd().join("duration.py");
        self.update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "read", "kind": "read", "status": "completed",
            "title": "Read duration.py", "locations": [{"path": path, "line": 38}],
        }));
    }

    fn change(&self) -> Json {
        let path = self.nvim.cwd().join("duration.py");
        let old = std::fs::read_to_string(&path).unwrap();
        let new = old.replace("seconds > size", "seconds >= size");
        json!({"type": "diff", "path": path, "oldText": old, "newText": new})
    }

    fn ask_to_edit(&mut self) {
        let call = json!({
            "toolCallId": "edit", "kind": "edit", "title": "Edit duration.py",
            "status": "pending", "content": [self.change()],
        });
        let options = json!([
            {"optionId": "once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "always", "name": "Always allow edits", "kind": "allow_always"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]);
        self.agent.ask(
            "session/request_permission",
            json!({"sessionId": self.session, "toolCall": call, "options": options}),
        );
        self.nvim.poll_state("waiting");
    }
}

#[test]
fn idle() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        scene.nvim.expect_screen("idle");
        assert!(scene.nvim.screen().contains("<CR> send"), "no key for sending");
    }
}

#[test]
fn streaming() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.work();
        scene.agent.say(&scene.session, ANSWER);
        scene.nvim.expect_screen("streaming");
        assert!(scene.nvim.screen().contains("<C-c> cancel"), "no key for cancelling");
    }
}

#[test]
fn streaming_with_prompts_in_the_queue() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.agent.say(&scene.session, ANSWER);
        scene.nvim.send("Then write a test for it.");
        scene.nvim.send("And say what you changed in the change log.\nOne line will do.");
        scene.nvim.expect_screen("queue");
    }
}

#[test]
fn waiting_for_a_permission_while_the_user_is_in_a_file() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.leave_the_chat();
        scene.work();
        scene.ask_to_edit();
        scene.nvim.expect_screen("permission");
        for key in ["[g1] Allow", ":RatAllow", ":RatDeny"] {
            assert!(scene.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

#[test]
fn waiting_for_a_permission_while_the_user_is_in_the_chat() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.ask_to_edit();
        scene.nvim.expect_screen("chooser");
        for key in ["1  Allow", "<CR> choose", "<Esc> close"] {
            assert!(scene.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

#[test]
fn waiting_for_a_permission_to_run_a_command() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.leave_the_chat();
        let command =
            "python3 -m unittest -v test_duration.py 2>&1 | tee /tmp/report.txt && git diff --stat";
        let call = json!({
            "toolCallId": "run", "kind": "execute", "title": "Run the tests", "status": "pending",
            "rawInput": {"command": command, "cwd": "/srv/project"},
        });
        let options = json!([
            {"optionId": "once", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No, and tell it what to do instead", "kind": "reject_once"},
        ]);
        scene.agent.ask(
            "session/request_permission",
            json!({"sessionId": scene.session, "toolCall": call, "options": options}),
        );
        scene.nvim.poll_state("waiting");
        scene.nvim.expect_screen("command");
    }
}

#[test]
fn showing_a_diff() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.leave_the_chat();
        scene.ask_to_edit();
        scene.nvim.command("wincmd b | wincmd k");
        scene.nvim.input("gd");
        scene.nvim.expect_screen("diff");
        for key in ["ga allow", "gr reject", "q close"] {
            assert!(scene.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

/// The user has changed a line of the file, and the agent's own tool writes the same line and another one to the disk.
fn contested(scene: &mut Scene) {
    // What is said of it comes and goes.
    scene.nvim.lua("vim.notify = function() end", json!([]));
    scene.leave_the_chat();
    scene.nvim.input(":32<CR>zzA  # never a whole minute<Esc>");
    let path = scene.nvim.cwd().join("duration.py");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("seconds > size", "seconds >= size");
    let text = text.replace("\"0s\" for none", "\"0s\" for 0");
    scene.nvim.poll("the user has typed", |nvim| {
        nvim.lua("return vim.bo.modified", json!([])) == json!(true)
    });
    std::fs::write(&path, text).unwrap();
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "edit", "kind": "edit", "status": "completed",
        "title": "Edit duration.py", "locations": [{"path": path}],
    });
    scene.update(call);
    let list = "return #require('rat.conflict').list()";
    scene.nvim.poll("the place is marked", |nvim| nvim.lua(list, json!([])) == json!(1));
}

#[test]
fn a_conflict_in_a_file() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        contested(&mut scene);
        scene.nvim.poll_screen("running");
        scene.nvim.expect_screen("conflict");
        assert!(scene.nvim.screen().contains(":RatConflicts"), "no way to decide");
    }
}

#[test]
fn deciding_a_conflict() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        contested(&mut scene);
        scene.nvim.input(":RatConflicts<CR>");
        let diff = "return vim.wo.diff";
        scene.nvim.poll("diff mode", |nvim| nvim.lua(diff, json!([])) == json!(true));
        scene.nvim.poll_screen("dp yours");
        scene.nvim.expect_screen("decide");
        for key in ["do agent's", "dp yours", "]c next"] {
            assert!(scene.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

/// Runs a script in a terminal that a tool call of this title shows, gives the terminal.
fn run(scene: &mut Scene, title: &str, script: &str) -> String {
    let session = json!(scene.session);
    let params = json!({"sessionId": session, "command": "/bin/sh", "args": ["-c", script]});
    let answer = scene.agent.request("terminal/create", params).unwrap();
    let terminal = answer["terminalId"].as_str().unwrap().to_owned();
    scene.update(json!({
        "sessionUpdate": "tool_call", "toolCallId": terminal, "kind": "execute", "title": title,
        "status": "in_progress", "rawInput": {"command": script},
        "content": [{"type": "terminal", "terminalId": terminal}],
    }));
    terminal
}

fn on_terminal(scene: &mut Scene, method: &str, terminal: &str) {
    let params = json!({"sessionId": scene.session, "terminalId": terminal});
    scene.agent.request(&format!("terminal/{method}"), params).unwrap();
}

fn ended(scene: &mut Scene, terminal: &str, status: &str) {
    on_terminal(scene, "wait_for_exit", terminal);
    let update =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": terminal, "status": status});
    scene.update(update);
}

#[test]
fn a_command_that_runs_in_a_terminal() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.leave_the_chat();
        let script = "echo ok test_one; echo ok test_two; exec sleep 600";
        let terminal = run(&mut scene, "Run the tests", script);
        scene.nvim.poll_screen("ok test_two");
        scene.nvim.expect_screen("terminal-running");
        assert!(scene.nvim.screen().contains("<CR> opens"), "no key for the terminal");
        on_terminal(&mut scene, "kill", &terminal);
        scene.nvim.expect_screen("terminal-killed");
    }
}

#[test]
fn commands_that_ran_in_terminals() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.leave_the_chat();
        let done = run(&mut scene, "Run the tests", "printf '\\033[32m3 passed\\033[0m\\n'");
        ended(&mut scene, &done, "completed");
        on_terminal(&mut scene, "release", &done);
        let failed = run(&mut scene, "Build", "echo 10%; echo error: no such file >&2; exit 2");
        ended(&mut scene, &failed, "failed");
        scene.nvim.poll_screen("exit 2");
        scene.nvim.expect_screen("terminal-done");
    }
}

#[test]
fn more_output_than_a_card_shows() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.leave_the_chat();
        let script = "seq -f 'line %g' 100; until test -e gate; do sleep 0.02; done";
        let terminal = run(&mut scene, "Count", script);
        scene.nvim.poll_screen("line 100");
        scene.nvim.expect_screen("terminal-long");
        assert!(scene.nvim.screen().contains("<CR> shows all"), "no key for all of it");
        std::fs::write(scene.nvim.cwd().join("gate"), "").unwrap();
        ended(&mut scene, &terminal, "completed");
        scene.nvim.expect_screen("terminal-long-done");
    }
}

#[test]
fn failed() {
    for size in SIZES {
        let mut scene = Scene::open(size);
        let _turn = scene.prompt();
        scene.agent.say(&scene.session, "I will look at ");
        scene.agent.exit(3, "panic: out of memory\n  at worker.js:17");
        scene.nvim.poll_state("failed");
        scene.nvim.expect_screen("failed");
        assert!(scene.nvim.screen().contains(":RatRestart"), "no way out");
    }
}
