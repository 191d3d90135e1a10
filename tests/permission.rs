//! Permission requests in real Neovim: what the card says, what the status counts, and that every request gets
//! exactly the answer the user gave, or `cancelled`.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Pending, Request};

/// A turn that runs, with the user in an empty buffer beside the chat.
struct Turn {
    nvim: Nvim,
    agent: Agent,
    session: String,
    prompt: Request,
}

impl Turn {
    fn start() -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        nvim.record(&["RatPermission", "RatTurnEnd"]);
        let mut agent = nvim.start_agent();
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.command("wincmd t");
        nvim.send("go");
        let prompt = agent.expect_request("session/prompt");
        nvim.poll_state("running");
        Self { nvim, agent, session, prompt }
    }

    /// Asks for a call with these fields and waits until the request is counted.
    fn ask(&mut self, call: Json) -> Pending {
        self.ask_with(call, options())
    }

    fn ask_with(&mut self, call: Json, options: Json) -> Pending {
        let before = self.waiting();
        let params = json!({"sessionId": self.session, "toolCall": call, "options": options});
        let pending = self.agent.ask("session/request_permission", params);
        self.nvim.poll("the request", |nvim| waiting(nvim) > before);
        pending
    }

    fn waiting(&mut self) -> usize {
        waiting(&mut self.nvim)
    }

    fn answer(&mut self, pending: Pending) -> Json {
        self.agent.expect_answer(pending).unwrap()
    }

    fn end(&mut self, reason: &str) {
        self.agent.reply(&self.prompt, json!({"stopReason": reason}));
        self.nvim.poll_events("RatTurnEnd", 1);
    }

    /// Puts the user on the row of the transcript that holds the text.
    fn go_to(&mut self, text: &str) {
        self.nvim.lua(
            "vim.api.nvim_set_current_win(vim.fn.bufwinid('rat://fake/1'))
             vim.fn.search('\\\\V' .. ..., 'w')",
            json!([text]),
        );
    }
}

fn waiting(nvim: &mut Nvim) -> usize {
    nvim.status()["permissions"].as_array().map_or(0, Vec::len)
}

fn options() -> Json {
    json!([
        {"optionId": "r1", "name": "No", "kind": "reject_once"},
        {"optionId": "a1", "name": "Yes", "kind": "allow_once"},
        {"optionId": "a2", "name": "Yes, always", "kind": "allow_always"},
    ])
}

fn call(id: &str) -> Json {
    json!({"toolCallId": id, "title": format!("Edit {id}.txt"), "kind": "edit", "status": "pending"})
}

fn selected(option: &str) -> Json {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

fn cancelled() -> Json {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// ACP 80.
#[test]
fn the_card_shows_command_folder_and_the_options_in_the_agents_order() {
    let mut turn = Turn::start();
    turn.ask(json!({
        "toolCallId": "run", "title": "Run the tests", "kind": "execute",
        "rawInput": {"command": "make clean\nmake test && rm -rf /srv/old", "cwd": "/srv/new"},
    }));
    let rows = [
        "? Run the tests",
        "$ make clean",
        "make test && rm -rf /srv/old",
        "in /srv/new",
        "[1] No",
        "[2] Yes",
        "[3] Yes, always",
        "1-3 · :RatAllow · :RatDeny",
    ];
    turn.nvim.poll_screen(rows[7]);
    let lines = turn.nvim.screen().lines();
    let row = |text: &str| lines.iter().position(|line| line.contains(text));
    let found: Vec<_> = rows.iter().map(|text| row(text).expect(text)).collect();
    assert!(found.is_sorted(), "{found:?}\n{}", lines.join("\n"));
}

/// ACP 80.
#[test]
fn the_card_shows_every_diff_of_the_request() {
    let mut turn = Turn::start();
    let cwd = turn.nvim.cwd().to_owned();
    let diff = |name: &str, old: Json, new: &str| json!({"type": "diff", "path": cwd.join(name), "oldText": old, "newText": new});
    turn.ask(json!({
        "toolCallId": "edit", "title": "Edit two files", "kind": "edit",
        "locations": [{"path": cwd.join("one.txt")}, {"path": cwd.join("elsewhere.txt"), "line": 7}],
        "content": [diff("one.txt", json!("a\nb\n"), "a\nB\n"), diff("sub/two.txt", Json::Null, "new\n")],
    }));
    turn.nvim.poll_screen("gd diff");
    for text in ["│ one.txt", "- b", "+ B", "│ sub/two.txt (new file)", "+ new", "elsewhere.txt:7"]
    {
        assert!(turn.nvim.screen().contains(text), "{text}\n{}", turn.nvim.screen().text());
    }
}

#[test]
fn the_status_counts_the_requests_and_an_autocommand_tells_of_each() {
    let mut turn = Turn::start();
    turn.ask(call("one"));
    assert_eq!(turn.nvim.status()["state"], json!("waiting"));
    let event = turn.nvim.poll_events("RatPermission", 1);
    assert_eq!(event["title"], json!("Edit one.txt"));
    turn.ask(call("two"));
    let line = turn.nvim.lua("return require('rat').statusline()", json!([]));
    assert_eq!(line, json!("fake waiting · 2 to answer"));
    turn.nvim.poll_screen("2 requests: :RatPermission");
    assert_eq!(turn.nvim.events("RatPermission").len(), 2);
    turn.nvim.command("RatAllow");
    turn.nvim.poll("one less", |nvim| waiting(nvim) == 1);
    turn.nvim.command("RatAllow");
    turn.nvim.poll_state("running");
}

/// ACP 81, 82.
#[test]
fn allow_takes_once_before_always_and_the_oldest_first_from_any_window() {
    let mut turn = Turn::start();
    let first = turn.ask(call("one"));
    let second = turn.ask(call("two"));
    turn.nvim.command("tabnew");
    turn.nvim.command("RatAllow");
    assert_eq!(turn.answer(first), selected("a1"));
    assert!(!turn.agent.is_answered(second));
    turn.nvim.command("RatAllow");
    assert_eq!(turn.answer(second), selected("a1"));
    turn.nvim.command("RatAllow");
    turn.nvim.poll_screen("no permission request is waiting");
}

#[test]
fn deny_rejects_and_its_reason_is_the_next_prompt() {
    let mut turn = Turn::start();
    let pending = turn.ask(call("one"));
    turn.nvim.command("RatDeny use tabs instead");
    assert_eq!(turn.answer(pending), selected("r1"));
    turn.end("end_turn");
    let next = turn.agent.expect_request("session/prompt");
    assert_eq!(next.params["prompt"], json!([{"type": "text", "text": "use tabs instead"}]));
}

#[test]
fn a_digit_answers_the_card_under_the_cursor() {
    let mut turn = Turn::start();
    let first = turn.ask(call("one"));
    let second = turn.ask(call("two"));
    turn.nvim.poll_screen("Edit two.txt");
    turn.go_to("two.txt");
    turn.nvim.lua("vim.fn.search('Yes, always')", json!([]));
    turn.nvim.input("1");
    assert_eq!(turn.answer(second), selected("r1"));
    assert!(!turn.agent.is_answered(first));
    turn.nvim.poll_screen("✗ No");
    turn.go_to("one.txt");
    turn.nvim.input("2");
    assert_eq!(turn.answer(first), selected("a1"));
    turn.nvim.poll_screen("✓ Yes");
}

#[test]
fn a_digit_that_is_not_meant_for_a_request_stays_a_count() {
    let mut turn = Turn::start();
    let pending = turn.ask(call("one"));
    turn.nvim.poll_screen("[3] Yes, always");
    turn.go_to("Fake agent 1.0.0");
    turn.nvim.input("3j");
    let line = "return vim.fn.line('.')";
    turn.nvim.poll("the fourth line", |nvim| nvim.lua(line, json!([])) == 4);
    turn.go_to("Yes, always");
    let last = turn.nvim.lua(line, json!([])).as_u64().unwrap();
    turn.nvim.input("9k");
    turn.nvim.poll("further up", |nvim| nvim.lua(line, json!([])).as_u64().unwrap() < last);
    turn.nvim
        .lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('rat://fake/1/prompt'))", json!([]));
    turn.nvim.input("ione two three<Esc>02w");
    turn.nvim.poll("the third word", |nvim| {
        nvim.lua("return vim.fn.expand('<cword>')", json!([])) == "three"
    });
    assert!(!turn.agent.is_answered(pending));
    turn.nvim.input("dd2");
    assert_eq!(turn.answer(pending), selected("a1"));
}

/// ACP 78.
#[test]
fn a_call_never_announced_is_announced_by_its_request() {
    let mut turn = Turn::start();
    let pending = turn.ask(call("unheard"));
    turn.nvim.poll_screen("? Edit unheard.txt");
    turn.nvim.command("RatTools");
    let tools = turn.nvim.buffer_lines("rat://fake/1/tools");
    assert_eq!(tools, ["Edit unheard.txt"]);
    turn.nvim.command("RatAllow");
    assert_eq!(turn.answer(pending), selected("a1"));
    // The request's fields stay with the call.
    let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "unheard", "status": "completed"});
    turn.agent.update(&turn.session, update);
    turn.nvim.poll_screen("✓ Edit unheard.txt");
}

/// ACP 67, 72.
#[test]
fn cancelling_answers_every_waiting_request_and_every_later_one() {
    let mut turn = Turn::start();
    let first = turn.ask(call("one"));
    let second = turn.ask(call("two"));
    turn.nvim.command("RatCancel");
    assert_eq!(turn.answer(first), cancelled());
    assert_eq!(turn.answer(second), cancelled());
    turn.agent.expect_notification("session/cancel");
    let params = json!({"sessionId": turn.session, "toolCall": call("late"), "options": options()});
    assert_eq!(turn.agent.request("session/request_permission", params), Ok(cancelled()));
    turn.nvim.poll("none that waits", |nvim| waiting(nvim) == 0);
    assert_eq!(turn.nvim.events("RatPermission").len(), 2);
    turn.end("cancelled");
    assert_eq!(turn.nvim.status()["state"], json!("ready"));
}

#[test]
fn always_settles_the_requests_that_ask_the_same() {
    let mut turn = Turn::start();
    let first = turn.ask(call("one"));
    let same = turn.ask(call("two"));
    let other_kind = turn.ask(json!({"toolCallId": "run", "title": "Run", "kind": "execute"}));
    turn.nvim.poll_screen("Run");
    turn.go_to("one.txt");
    turn.nvim.lua("vim.fn.search('Yes, always')", json!([]));
    turn.nvim.input("3");
    assert_eq!(turn.answer(first), selected("a2"));
    assert_eq!(turn.answer(same), selected("a2"));
    turn.nvim.poll("one that waits", |nvim| waiting(nvim) == 1);
    assert!(!turn.agent.is_answered(other_kind));
}

#[test]
fn an_answer_that_is_not_always_settles_one_request() {
    let mut turn = Turn::start();
    let first = turn.ask(call("one"));
    let second = turn.ask(call("two"));
    turn.nvim.command("RatAllow");
    assert_eq!(turn.answer(first), selected("a1"));
    turn.nvim.poll("one that waits", |nvim| waiting(nvim) == 1);
    assert!(!turn.agent.is_answered(second));
}

/// ACP 73.
#[test]
fn a_request_the_agent_withdraws_is_closed_and_answered() {
    let mut turn = Turn::start();
    let pending = turn.ask(call("one"));
    turn.nvim.command("RatTools");
    turn.nvim.command("RatPermission");
    turn.nvim.poll_screen("<CR> choose");
    turn.agent.notify("$/cancel_request", json!({"requestId": 0}));
    assert_eq!(turn.answer(pending), cancelled());
    turn.nvim.poll("no chooser", |nvim| !nvim.screen().contains("<CR> choose"));
    turn.nvim.poll_screen("not decided: cancelled");
    turn.nvim.poll("no open request in the tool calls", |nvim| !nvim.screen().contains("? Edit"));
    assert_eq!(turn.waiting(), 0);
    assert_eq!(turn.nvim.status()["state"], json!("running"));
}

#[test]
fn a_request_without_options_can_be_turned_down_only() {
    let mut turn = Turn::start();
    let pending = turn.ask_with(call("one"), json!([]));
    turn.nvim.poll_screen("└ :RatDeny");
    turn.nvim.poll_screen(" :RatDeny · <C-c> cancel");
    turn.nvim.command("RatAllow");
    turn.nvim.poll_screen("no way to allow it");
    assert!(!turn.agent.is_answered(pending));
    turn.nvim.command("RatPermission");
    turn.nvim.poll_screen(":RatDeny turns it down");
    turn.nvim.command("RatDeny");
    assert_eq!(turn.answer(pending), cancelled());
    turn.nvim.poll_state("running");
}

#[test]
fn an_option_of_an_unknown_kind_can_be_chosen() {
    let mut turn = Turn::start();
    let options = json!([{"optionId": "x", "name": "Ask me in an hour", "kind": "allow_later"}]);
    let pending = turn.ask_with(call("one"), options);
    turn.nvim.poll_screen("[1] Ask me in an hour");
    turn.go_to("one.txt");
    turn.nvim.input("1");
    assert_eq!(turn.answer(pending), selected("x"));
}

/// ACP 98.
#[test]
fn a_request_for_an_unknown_session_is_an_error_and_shows_nothing() {
    let mut turn = Turn::start();
    let params = json!({"sessionId": "other", "toolCall": call("one"), "options": options()});
    let error = turn.agent.request("session/request_permission", params).unwrap_err();
    assert_eq!(error["code"], json!(-32602));
    assert_eq!(turn.waiting(), 0);
    assert_eq!(turn.nvim.status()["state"], json!("running"));
}
