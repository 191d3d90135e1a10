//! The chat as a user sees it, against golden screens at 80x24 and 120x40; every state that waits for the user has
//! to name the key that goes on.

use crate::support::{Chat, Nvim, Options, repository};
use serde_json::{Value as Json, json};

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

const ANSWER: &str = "The comparison in `format_duration` leaves out **equal** values:\n\n\
    - `60` seconds should be `1m`, and are `60s`\n\
    - the same for hours and days\n\n\
    ```python\nif seconds >= size:\n    count, seconds = divmod(seconds, size)\n```\n\n\
    I will change that one line and run";

/// A chat beside a file of the sample project, the user in the prompt.
fn beside_the_sample((columns, lines): (u16, u16)) -> Chat {
    let mut nvim = Nvim::start(Options { columns, lines, ..Options::default() });
    let sample = repository().join("tests/sample/duration.py");
    std::fs::copy(sample, nvim.cwd().join("duration.py")).unwrap();
    nvim.command("edit duration.py");
    Chat::builder().neovim(nvim).start()
}

fn ask_why(chat: &mut Chat) {
    chat.prompt("Why is a minute shown as 60s?");
}

/// The user goes back to the file.
fn leave_the_chat(nvim: &mut Nvim) {
    nvim.command("wincmd t");
}

/// What an agent does before it asks: it thinks, plans, reads and talks.
fn work(chat: &mut Chat) {
    chat.think("The user sees 60s.\nThat is an off-by-one.");
    chat.update(json!({"sessionUpdate": "plan", "entries": [
        {"content": "Find the comparison", "priority": "high", "status": "completed"},
        {"content": "Change it", "priority": "high", "status": "in_progress"},
        {"content": "Run the tests", "priority": "low", "status": "pending"},
    ]}));
    let path = chat.path("duration.py");
    chat.tool_call(json!({
        "toolCallId": "read", "kind": "read", "status": "completed",
        "title": "Read duration.py", "locations": [{"path": path, "line": 38}],
    }));
}

fn change(chat: &Chat) -> Json {
    let path = chat.path("duration.py");
    let old = std::fs::read_to_string(&path).unwrap();
    let new = old.replace("seconds > size", "seconds >= size");
    json!({"type": "diff", "path": path, "oldText": old, "newText": new})
}

fn ask_to_edit(chat: &mut Chat) {
    let call = json!({
        "toolCallId": "edit", "kind": "edit", "title": "Edit duration.py",
        "status": "pending", "content": [change(chat)],
    });
    let options = json!([
        {"optionId": "once", "name": "Allow", "kind": "allow_once"},
        {"optionId": "always", "name": "Always allow edits", "kind": "allow_always"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]);
    chat.ask_permission(call, options);
}

/// Holds (Windows and views): The screens of each state at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn idle() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        chat.nvim.expect_screen("idle");
        assert!(chat.nvim.screen().contains("<CR> send"), "no key for sending");
    }
}

/// Holds (Windows and views): The screens of each state at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn streaming() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        work(&mut chat);
        chat.say(ANSWER);
        chat.nvim.expect_screen("streaming");
        assert!(chat.nvim.screen().contains("<C-c> cancel"), "no key for cancelling");
    }
}

#[test]
fn streaming_with_prompts_in_the_queue() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        chat.say(ANSWER);
        chat.nvim.send("Then write a test for it.");
        chat.nvim.send("And say what you changed in the change log.\nOne line will do.");
        chat.nvim.expect_screen("queue");
    }
}

/// Holds (Windows and views): The screens of each state at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn waiting_for_a_permission_while_the_user_is_in_a_file() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        leave_the_chat(&mut chat.nvim);
        work(&mut chat);
        ask_to_edit(&mut chat);
        chat.nvim.expect_screen("permission");
        for key in ["[g1] Allow", ":RatAllow", ":RatDeny"] {
            assert!(chat.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

/// Holds (Windows and views): The screens of each state at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn waiting_for_a_permission_while_the_user_is_in_the_chat() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        ask_to_edit(&mut chat);
        chat.nvim.expect_screen("chooser");
        for key in ["1  Allow", "<CR> choose", "<Esc> close"] {
            assert!(chat.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

#[test]
fn waiting_for_a_permission_to_run_a_command() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        leave_the_chat(&mut chat.nvim);
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
        chat.ask_permission(call, options);
        chat.nvim.expect_screen("command");
    }
}

/// Holds (Windows and views): The screens of each state at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn showing_a_diff() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        leave_the_chat(&mut chat.nvim);
        ask_to_edit(&mut chat);
        chat.nvim.command("wincmd b | wincmd k");
        chat.nvim.input("gd");
        chat.nvim.expect_screen("diff");
        for key in ["ga allow", "gr reject", "q close"] {
            assert!(chat.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

/// The user has changed a line of the file, and the agent's own tool writes the same line and another one to the disk.
fn contested(chat: &mut Chat) {
    // What is said of it comes and goes.
    chat.nvim.lua("vim.notify = function() end", json!([]));
    leave_the_chat(&mut chat.nvim);
    chat.nvim.input(":32<CR>zzA  # never a whole minute<Esc>");
    let path = chat.path("duration.py");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("seconds > size", "seconds >= size");
    let text = text.replace("\"0s\" for none", "\"0s\" for 0");
    chat.nvim.poll("the user has typed", |nvim| nvim.eval("vim.bo.modified") == json!(true));
    std::fs::write(&path, text).unwrap();
    chat.tool_call(json!({
        "toolCallId": "edit", "kind": "edit", "status": "completed",
        "title": "Edit duration.py", "locations": [{"path": path}],
    }));
    let list = "return #require('rat.document.conflict').list()";
    chat.nvim.poll("the place is marked", |nvim| nvim.lua(list, json!([])) == json!(1));
    // The other line that the agent has changed.
    let pending = "return #require('rat.review.pending').rows(0)";
    chat.nvim.poll("a pending hunk", |nvim| nvim.lua(pending, json!([])) == json!(1));
}

#[test]
fn a_conflict_in_a_file() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        contested(&mut chat);
        chat.nvim.poll_screen("running");
        chat.nvim.expect_screen("conflict");
        assert!(chat.nvim.screen().contains(":RatConflicts"), "no way to decide");
    }
}

#[test]
fn deciding_a_conflict() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        contested(&mut chat);
        chat.nvim.input(":RatConflicts<CR>");
        let diff = "return vim.wo.diff";
        chat.nvim.poll("diff mode", |nvim| nvim.lua(diff, json!([])) == json!(true));
        chat.nvim.poll_screen("dp keep yours");
        chat.nvim.expect_screen("decide");
        for key in ["do take it", "dp keep yours", "]c next"] {
            assert!(chat.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

/// Runs a script in a terminal that a tool call of this title shows, gives the terminal.
fn run(chat: &mut Chat, title: &str, script: &str) -> String {
    let params = json!({"command": "/bin/sh", "args": ["-c", script]});
    let answer = chat.request("terminal/create", params).unwrap();
    let terminal = answer["terminalId"].as_str().unwrap().to_owned();
    chat.tool_call(json!({
        "toolCallId": terminal, "kind": "execute", "title": title,
        "status": "in_progress", "rawInput": {"command": script},
        "content": [{"type": "terminal", "terminalId": terminal}],
    }));
    terminal
}

fn on_terminal(chat: &mut Chat, method: &str, terminal: &str) {
    chat.request(&format!("terminal/{method}"), json!({"terminalId": terminal})).unwrap();
}

fn ended(chat: &mut Chat, terminal: &str, status: &str) {
    on_terminal(chat, "wait_for_exit", terminal);
    chat.tool_call_update(json!({"toolCallId": terminal, "status": status}));
}

#[test]
fn a_command_that_runs_in_a_terminal() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        leave_the_chat(&mut chat.nvim);
        let script = "echo ok test_one; echo ok test_two; exec sleep 600";
        let terminal = run(&mut chat, "Run the tests", script);
        chat.nvim.poll_screen("ok test_two");
        chat.nvim.expect_screen("terminal-running");
        assert!(chat.nvim.screen().contains("<CR> opens"), "no key for the terminal");
        on_terminal(&mut chat, "kill", &terminal);
        chat.nvim.expect_screen("terminal-killed");
    }
}

#[test]
fn commands_that_ran_in_terminals() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        leave_the_chat(&mut chat.nvim);
        let done = run(&mut chat, "Run the tests", "printf '\\033[32m3 passed\\033[0m\\n'");
        ended(&mut chat, &done, "completed");
        on_terminal(&mut chat, "release", &done);
        let failed = run(&mut chat, "Build", "echo 10%; echo error: no such file >&2; exit 2");
        ended(&mut chat, &failed, "failed");
        chat.nvim.poll_screen("exit 2");
        chat.nvim.expect_screen("terminal-done");
    }
}

#[test]
fn more_output_than_a_card_shows() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        leave_the_chat(&mut chat.nvim);
        let script = "seq -f 'line %g' 100; until test -e gate; do sleep 0.02; done";
        let terminal = run(&mut chat, "Count", script);
        chat.nvim.poll_screen("line 100");
        chat.nvim.expect_screen("terminal-long");
        assert!(chat.nvim.screen().contains("<CR> shows all"), "no key for all of it");
        chat.nvim.file("gate", "");
        ended(&mut chat, &terminal, "completed");
        chat.nvim.expect_screen("terminal-long-done");
    }
}

/// Holds (Windows and views): The screens of each state at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn failed() {
    for size in SIZES {
        let mut chat = beside_the_sample(size);
        ask_why(&mut chat);
        chat.say("I will look at ");
        chat.agent.exit(3, "panic: out of memory\n  at worker.js:17");
        chat.nvim.poll_state("failed");
        chat.nvim.expect_screen("failed");
        assert!(chat.nvim.screen().contains(":RatRestart"), "no way out");
    }
}
