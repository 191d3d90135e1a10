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
        "[g1] No",
        "[g2] Yes",
        "[g3] Yes, always",
        "ga allow once · gr reject",
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
fn a_key_with_the_options_number_answers_the_card_under_the_cursor() {
    let mut turn = Turn::start();
    let first = turn.ask(call("one"));
    let second = turn.ask(call("two"));
    turn.nvim.poll_screen("Edit two.txt");
    turn.go_to("two.txt");
    turn.nvim.lua("vim.fn.search('Yes, always')", json!([]));
    turn.nvim.input("g1");
    assert_eq!(turn.answer(second), selected("r1"));
    assert!(!turn.agent.is_answered(first));
    turn.nvim.poll_screen("✗ No");
    turn.go_to("one.txt");
    turn.nvim.input("ga");
    assert_eq!(turn.answer(first), selected("a1"));
    turn.nvim.poll_screen("✓ Yes");
}

#[test]
fn digits_are_counts_on_a_card_and_in_an_empty_prompt() {
    let mut turn = Turn::start();
    let pending = turn.ask(call("one"));
    turn.nvim.poll_screen("[g3] Yes, always");
    let line = "return vim.fn.line('.')";
    turn.go_to("Yes, always");
    let last = turn.nvim.lua(line, json!([])).as_u64().unwrap();
    turn.nvim.input("2k");
    turn.nvim.poll("two lines up", |nvim| nvim.lua(line, json!([])).as_u64() == Some(last - 2));
    turn.nvim.input("3");
    turn.nvim.input("j");
    turn.nvim
        .lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('rat://fake/1/prompt'))", json!([]));
    turn.nvim.input("3k2jione<Esc>");
    turn.nvim.poll("the text", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == ["one"]);
    assert!(!turn.agent.is_answered(pending));
    turn.nvim.input("gr");
    assert_eq!(turn.answer(pending), selected("r1"));
}

#[test]
fn a_lasting_answer_is_never_chosen_by_a_command_but_shown() {
    let lasting = |kind: &str| json!([{"optionId": "x", "name": "From now on", "kind": kind}]);
    let keys = [("allow_always", "RatAllow", "ga"), ("reject_always", "RatDeny", "gr")];
    for (kind, command, key) in keys {
        let mut turn = Turn::start();
        let pending = turn.ask_with(call("one"), lasting(kind));
        turn.nvim.command(command);
        turn.nvim.poll_screen("only lasting answers are offered");
        turn.nvim.poll_screen("1  From now on");
        turn.nvim.input("<CR><Esc>");
        turn.go_to("one.txt");
        turn.nvim.input(key);
        turn.nvim.poll_screen("1  From now on");
        assert!(!turn.agent.is_answered(pending));
        turn.nvim.choose(1);
        assert_eq!(turn.answer(pending), selected("x"));
    }
}

#[test]
fn a_request_that_changes_while_it_waits_asks_anew() {
    let mut turn = Turn::start();
    let run = |command: &str| json!({"toolCallId": "run", "title": "Run it", "kind": "execute", "rawInput": {"command": command}});
    let pending = turn.ask(run("make test"));
    turn.nvim.command("RatPermission");
    turn.nvim.poll_screen("$ make test");
    turn.nvim.poll_screen("<CR> choose");
    let stale = turn.nvim.status()["permissions"][0].clone();
    let mut update = run("rm -rf /");
    update["sessionUpdate"] = json!("tool_call_update");
    turn.agent.update(&turn.session, update);
    turn.nvim.poll("the new command", |nvim| {
        nvim.status()["permissions"][0]["command"] == json!("rm -rf /")
    });
    turn.nvim.poll("no chooser with the old one", |nvim| {
        !nvim.screen().contains("make test") || !nvim.screen().contains("<CR> choose")
    });
    // An answer that was on its way when the request changed.
    let late = "require('rat.rpc').notify('permission', {
          chat = 1, id = ...,  revision = select(2, ...), option = 'a1' })";
    turn.nvim.lua(late, json!([stale["id"], stale["revision"]]));
    turn.nvim.poll_screen("the request has changed since you saw it");
    assert!(!turn.agent.is_answered(pending));
    turn.nvim.command("RatDeny");
    assert_eq!(turn.answer(pending), selected("r1"));
}

#[test]
fn what_an_answer_is_about_is_in_sight() {
    for (call, wanted) in [
        (json!({"title": "ls -la\nrm -rf X", "kind": "execute"}), vec!["ls -la", "rm -rf X"]),
        (json!({"title": "rm -rf CWD/", "kind": "execute"}), vec!["rm -rf CWD/"]),
        (json!({"title": "cp /backup CWD", "kind": "other"}), vec!["cp /backup CWD"]),
        (json!({"rawInput": {"command": ["/x/evil", "-c", "ls"]}}), vec!["$ /x/evil -c ls"]),
        (json!({"rawInput": {"command": "rm", "args": ["-rf", "a b"]}}), vec!["$ rm -rf 'a b'"]),
        (json!({"rawInput": {"sql": "drop table t", "n": 3}}), vec!["sql: drop table t", "n: 3"]),
        (json!({"rawInput": {"file_path": "/etc/passwd"}}), vec!["file_path: /etc/passwd"]),
        (json!({"rawInput": "rm -rf /srv"}), vec!["rm -rf /srv"]),
        (json!({"title": "Read a.txt", "locations": [{"path": "/etc/a.txt"}]}), vec!["/etc/a.txt"]),
    ] {
        let mut turn = Turn::start();
        let cwd = turn.nvim.cwd().display().to_string();
        let mut call: Json = serde_json::from_str(&call.to_string().replace("CWD", &cwd)).unwrap();
        call["toolCallId"] = json!("t");
        turn.ask(call.clone());
        turn.nvim.poll_screen("ga allow once");
        let card = turn.nvim.buffer_lines("rat://fake/1").join("\n");
        let prefixes = "return table.concat(vim.tbl_map(function(mark)
              return mark[4].virt_text[1][1]
            end, vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('^rat://fake/1$'),
              vim.api.nvim_create_namespace('rat.prefix'), 0, -1, { details = true })))";
        let prefixes = turn.nvim.lua(prefixes, json!([])).as_str().unwrap().to_owned();
        turn.nvim.command("RatPermission");
        turn.nvim.poll_screen("<CR> choose");
        for text in wanted {
            let text = text.replace("CWD", &cwd);
            assert!(card.contains(text.trim_start_matches("$ ")), "{text}: {call}\n{card}");
            assert!(!text.starts_with("$ ") || prefixes.contains("$ "), "{call}");
            let asks = turn.nvim.status()["permissions"][0]["asks"].clone();
            assert!(asks.as_str().unwrap().contains(&text), "{text}: {asks}");
        }
    }
}

#[test]
fn a_command_that_waits_for_permission_is_not_drawn_as_running() {
    let mut turn = Turn::start();
    let update = json!({
        "sessionUpdate": "tool_call", "toolCallId": "run", "title": "make test", "kind": "execute",
        "content": [{"type": "terminal", "terminalId": "t"}], "_meta": {"terminal_info": {"terminal_id": "t"}},
    });
    turn.agent.update(&turn.session, update);
    // Of several calls at once an agent asks for one after the other.
    turn.nvim.poll_screen("no output yet · <CR> opens it");
    turn.ask(json!({"toolCallId": "run"}));
    turn.nvim.poll_screen("waiting for permission");
    // What stands there is the request, not an empty terminal.
    turn.go_to("waiting for permission");
    turn.nvim.input("<CR>");
    turn.nvim.poll_screen("<CR> choose");
    turn.nvim.input("<Esc>");
    turn.nvim.command("RatAllow");
    turn.nvim.poll_screen("no output yet · <CR> opens it");
    let begun =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "run", "status": "in_progress"});
    turn.agent.update(&turn.session, begun);
    turn.nvim.poll_screen("runs · <CR> opens it");
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
    let cwd = turn.nvim.cwd().to_owned();
    let edit = |id: &str, path: &str| {
        let mut call = call(id);
        call["name"] = json!("edit_file");
        call["locations"] = json!([{"path": cwd.join(path)}]);
        call
    };
    let run = |id: &str, command: &str| json!({"toolCallId": id, "title": command, "kind": "execute", "name": "bash"});
    let first = turn.ask(edit("one", "one.txt"));
    let same = turn.ask(edit("two", "sub/two.txt"));
    let outside = turn.ask(edit("three", "../three.txt"));
    let other_tool = turn.ask(call("four"));
    let list = turn.ask(run("five", "ls"));
    let remove = turn.ask(run("six", "rm -rf x"));
    let list_again = turn.ask(run("seven", "ls"));
    turn.nvim.poll_screen("rm -rf x");
    turn.go_to("one.txt");
    turn.nvim.input("g3");
    assert_eq!(turn.answer(first), selected("a2"));
    assert_eq!(turn.answer(same), selected("a2"));
    turn.nvim.poll("five that wait", |nvim| waiting(nvim) == 5);
    turn.go_to("ls");
    turn.nvim.input("g3");
    assert_eq!(turn.answer(list), selected("a2"));
    assert_eq!(turn.answer(list_again), selected("a2"));
    turn.nvim.poll("three that wait", |nvim| waiting(nvim) == 3);
    for pending in [outside, other_tool, remove] {
        assert!(!turn.agent.is_answered(pending));
    }
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
    turn.nvim.poll_screen("[g1] Ask me in an hour");
    turn.go_to("one.txt");
    turn.nvim.input("g1");
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
