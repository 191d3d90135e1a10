//! Permission requests in real Neovim: what the card says, what the status counts, and that every request gets
//! exactly the answer the user gave, or `cancelled`.

use crate::support::{Chat, PROMPT, Pending};
use serde_json::{Value as Json, json};

/// A turn that runs, with the user in an empty buffer beside the chat.
fn beside_a_turn() -> Chat {
    let mut chat = Chat::in_turn();
    chat.nvim.command("wincmd t");
    chat
}

/// Asks for a call with these fields.
fn ask(chat: &mut Chat, call: Json) -> Pending {
    chat.ask_permission(call, options())
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
/// Holds (Permission requests): The card shows the command, its folder and the options in the agent's order.
#[test]
fn the_card_shows_command_folder_and_the_options_in_the_agents_order() {
    let mut chat = beside_a_turn();
    ask(
        &mut chat,
        json!({
            "toolCallId": "run", "title": "Run the tests", "kind": "execute",
            "rawInput": {"command": "make clean\nmake test && rm -rf /srv/old", "cwd": "/srv/new"},
        }),
    );
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
    chat.nvim.poll_screen(rows[7]);
    let lines = chat.nvim.screen().lines();
    let row = |text: &str| lines.iter().position(|line| line.contains(text));
    let found: Vec<_> = rows.iter().map(|text| row(text).expect(text)).collect();
    assert!(found.is_sorted(), "{found:?}\n{}", lines.join("\n"));
}

/// ACP 80.
/// Holds (Permission requests): The card shows every diff of the request.
#[test]
fn the_card_shows_every_diff_of_the_request() {
    let mut chat = beside_a_turn();
    let cwd = chat.nvim.cwd().to_owned();
    let diff = |name: &str, old: Json, new: &str| json!({"type": "diff", "path": cwd.join(name), "oldText": old, "newText": new});
    ask(
        &mut chat,
        json!({
            "toolCallId": "edit", "title": "Edit two files", "kind": "edit",
            "locations": [{"path": cwd.join("one.txt")}, {"path": cwd.join("elsewhere.txt"), "line": 7}],
            "content": [diff("one.txt", json!("a\nb\n"), "a\nB\n"), diff("sub/two.txt", Json::Null, "new\n")],
        }),
    );
    chat.nvim.poll_screen("gd diff");
    for text in ["│ one.txt", "- b", "+ B", "│ sub/two.txt (new file)", "+ new", "elsewhere.txt:7"]
    {
        assert!(chat.nvim.screen().contains(text), "{text}\n{}", chat.nvim.screen().text());
    }
}

/// Holds (Permission requests): `status()` counts the requests, and an autocommand fires for each.
#[test]
fn the_status_counts_the_requests_and_an_autocommand_tells_of_each() {
    let mut chat = beside_a_turn();
    ask(&mut chat, call("one"));
    assert_eq!(chat.nvim.status()["state"], json!("waiting"));
    let event = chat.nvim.poll_events("RatPermission", 1);
    assert_eq!(event["title"], json!("Edit one.txt"));
    ask(&mut chat, call("two"));
    let line = chat.nvim.eval("require('rat').statusline()");
    assert_eq!(line, json!("fake waiting · 2 to answer"));
    chat.nvim.poll_screen("2 requests: :RatPermission");
    assert_eq!(chat.nvim.events("RatPermission").len(), 2);
    chat.nvim.command("RatAllow");
    chat.nvim.poll("one less", |nvim| nvim.waiting() == 1);
    chat.nvim.command("RatAllow");
    chat.nvim.poll_state("running");
}

/// ACP 81, 82.
/// Holds (Permission requests): `:RatAllow` answers the oldest request from any window, and prefers an answer for once.
#[test]
fn allow_takes_once_before_always_and_the_oldest_first_from_any_window() {
    let mut chat = beside_a_turn();
    let first = ask(&mut chat, call("one"));
    let second = ask(&mut chat, call("two"));
    chat.nvim.command("tabnew");
    chat.nvim.command("RatAllow");
    assert_eq!(chat.answer(first), selected("a1"));
    assert!(!chat.agent.is_answered(second));
    chat.nvim.command("RatAllow");
    assert_eq!(chat.answer(second), selected("a1"));
    chat.nvim.command("RatAllow");
    chat.nvim.poll_screen("No permission request is waiting");
}

/// Holds (Permission requests): `:RatDeny` rejects, and its text is the next prompt.
#[test]
fn deny_rejects_and_its_reason_is_the_next_prompt() {
    let mut chat = beside_a_turn();
    let pending = ask(&mut chat, call("one"));
    chat.nvim.command("RatDeny use tabs instead");
    assert_eq!(chat.answer(pending), selected("r1"));
    chat.end_turn("end_turn");
    let next = chat.expect_prompt();
    assert_eq!(next.params["prompt"], json!([{"type": "text", "text": "use tabs instead"}]));
}

#[test]
fn a_key_with_the_options_number_answers_the_card_under_the_cursor() {
    let mut chat = beside_a_turn();
    let first = ask(&mut chat, call("one"));
    let second = ask(&mut chat, call("two"));
    chat.nvim.poll_screen("Edit two.txt");
    chat.go_to("two.txt");
    chat.nvim.lua("vim.fn.search('Yes, always')", json!([]));
    chat.nvim.input("g1");
    assert_eq!(chat.answer(second), selected("r1"));
    assert!(!chat.agent.is_answered(first));
    chat.nvim.poll_screen("✗ No");
    chat.go_to("one.txt");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(first), selected("a1"));
    chat.nvim.poll_screen("✓ Yes");
}

#[test]
fn digits_are_counts_on_a_card_and_in_an_empty_prompt() {
    let mut chat = beside_a_turn();
    let pending = ask(&mut chat, call("one"));
    chat.nvim.poll_screen("[g3] Yes, always");
    let line = "return vim.fn.line('.')";
    chat.go_to("Yes, always");
    let last = chat.nvim.lua(line, json!([])).as_u64().unwrap();
    chat.nvim.input("2k");
    chat.nvim.poll("two lines up", |nvim| nvim.lua(line, json!([])).as_u64() == Some(last - 2));
    chat.nvim.input("3");
    chat.nvim.input("j");
    chat.nvim.enter(PROMPT);
    chat.nvim.input("3k2jione<Esc>");
    chat.poll_draft(&["one"]);
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.input("gr");
    assert_eq!(chat.answer(pending), selected("r1"));
}

#[test]
fn a_lasting_answer_is_never_chosen_by_a_command_but_shown() {
    let lasting = |kind: &str| json!([{"optionId": "x", "name": "From now on", "kind": kind}]);
    let keys = [("allow_always", "RatAllow", "ga"), ("reject_always", "RatDeny", "gr")];
    for (kind, command, key) in keys {
        let mut chat = beside_a_turn();
        let pending = chat.ask_permission(call("one"), lasting(kind));
        chat.nvim.command(command);
        chat.nvim.poll_screen("offers only lasting answers");
        chat.nvim.poll_screen("1  From now on");
        chat.nvim.input("<CR><Esc>");
        chat.go_to("one.txt");
        chat.nvim.input(key);
        chat.nvim.poll_screen("1  From now on");
        assert!(!chat.agent.is_answered(pending));
        chat.nvim.choose(1);
        assert_eq!(chat.answer(pending), selected("x"));
    }
}

/// Holds (Permission requests): If a request changes while it waits, an answer to its earlier version does not count.
#[test]
fn a_request_that_changes_while_it_waits_asks_anew() {
    let mut chat = beside_a_turn();
    let run = |command: &str| json!({"toolCallId": "run", "title": "Run it", "kind": "execute", "rawInput": {"command": command}});
    let pending = ask(&mut chat, run("make test"));
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("$ make test");
    chat.nvim.poll_screen("<CR> choose");
    let stale = chat.nvim.status()["permissions"][0].clone();
    let mut update = run("rm -rf /");
    update["sessionUpdate"] = json!("tool_call_update");
    chat.update(update);
    chat.nvim.poll("the new command", |nvim| {
        nvim.status()["permissions"][0]["command"] == json!("rm -rf /")
    });
    chat.nvim.poll("no chooser with the old one", |nvim| {
        !nvim.screen().contains("make test") || !nvim.screen().contains("<CR> choose")
    });
    // An answer that was on its way when the request changed.
    let late = "require('rat.rpc').notify('permission', {
          chat = 1, id = ...,  revision = select(2, ...), option = 'a1' })";
    chat.nvim.lua(late, json!([stale["id"], stale["revision"]]));
    chat.nvim.poll_screen("The request has changed since you saw it");
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.command("RatDeny");
    assert_eq!(chat.answer(pending), selected("r1"));
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
        let mut chat = beside_a_turn();
        let cwd = chat.nvim.cwd().display().to_string();
        let mut call: Json = serde_json::from_str(&call.to_string().replace("CWD", &cwd)).unwrap();
        call["toolCallId"] = json!("t");
        ask(&mut chat, call.clone());
        chat.nvim.poll_screen("ga allow once");
        let card = chat.transcript().join("\n");
        let prefixes = "return table.concat(vim.tbl_map(function(mark)
              return mark[4].virt_text[1][1]
            end, vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('^rat://fake/1$'),
              vim.api.nvim_create_namespace('rat_margin'), 0, -1, { details = true })))";
        let prefixes = chat.nvim.lua(prefixes, json!([])).as_str().unwrap().to_owned();
        chat.nvim.command("RatPermission");
        chat.nvim.poll_screen("<CR> choose");
        for text in wanted {
            let text = text.replace("CWD", &cwd);
            assert!(card.contains(text.trim_start_matches("$ ")), "{text}: {call}\n{card}");
            assert!(!text.starts_with("$ ") || prefixes.contains("$ "), "{call}");
            let asks = chat.nvim.status()["permissions"][0]["asks"].clone();
            assert!(asks.as_str().unwrap().contains(&text), "{text}: {asks}");
        }
    }
}

#[test]
fn a_command_that_waits_for_permission_is_not_drawn_as_running() {
    let mut chat = beside_a_turn();
    let update = json!({
        "sessionUpdate": "tool_call", "toolCallId": "run", "title": "make test", "kind": "execute",
        "content": [{"type": "terminal", "terminalId": "t"}], "_meta": {"terminal_info": {"terminal_id": "t"}},
    });
    chat.update(update);
    // Of several calls at once an agent asks for one after the other.
    chat.nvim.poll_screen("no output yet · <CR> opens it");
    ask(&mut chat, json!({"toolCallId": "run"}));
    chat.nvim.poll_screen("waiting for permission");
    // What stands there is the request, not an empty terminal.
    chat.go_to("waiting for permission");
    chat.nvim.input("<CR>");
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.input("<Esc>");
    chat.nvim.command("RatAllow");
    chat.nvim.poll_screen("no output yet · <CR> opens it");
    let begun =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "run", "status": "in_progress"});
    chat.update(begun);
    chat.nvim.poll_screen("running · <CR> opens it");
}

/// ACP 78.
/// Holds (Permission requests): A request announces a tool call that the agent has not announced.
#[test]
fn a_call_never_announced_is_announced_by_its_request() {
    let mut chat = beside_a_turn();
    let pending = ask(&mut chat, call("unheard"));
    chat.nvim.poll_screen("? Edit unheard.txt");
    chat.nvim.command("RatTools");
    let tools = chat.nvim.buffer_lines("rat://fake/1/tools");
    assert_eq!(tools, ["Edit unheard.txt"]);
    chat.nvim.command("RatAllow");
    assert_eq!(chat.answer(pending), selected("a1"));
    // The request's fields stay with the call.
    let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "unheard", "status": "completed"});
    chat.update(update);
    chat.nvim.poll_screen("✓ Edit unheard.txt");
}

/// ACP 67, 72.
/// Holds (Permission requests): Cancelling answers every request of the turn with `cancelled`, later ones too.
#[test]
fn cancelling_answers_every_waiting_request_and_every_later_one() {
    let mut chat = beside_a_turn();
    let first = ask(&mut chat, call("one"));
    let second = ask(&mut chat, call("two"));
    chat.nvim.command("RatCancel");
    assert_eq!(chat.answer(first), cancelled());
    assert_eq!(chat.answer(second), cancelled());
    chat.agent.expect_notification("session/cancel");
    let params = json!({"toolCall": call("late"), "options": options()});
    assert_eq!(chat.request("session/request_permission", params), Ok(cancelled()));
    chat.nvim.poll("none that waits", |nvim| nvim.waiting() == 0);
    assert_eq!(chat.nvim.events("RatPermission").len(), 2);
    chat.end_turn("cancelled");
    assert_eq!(chat.nvim.status()["state"], json!("ready"));
}

/// Holds (Permission requests): "Always" settles the waiting requests that ask the same.
#[test]
fn always_settles_the_requests_that_ask_the_same() {
    let mut chat = beside_a_turn();
    let cwd = chat.nvim.cwd().to_owned();
    let edit = |id: &str, path: &str| {
        let mut call = call(id);
        call["name"] = json!("edit_file");
        call["locations"] = json!([{"path": cwd.join(path)}]);
        call
    };
    let run = |id: &str, command: &str| json!({"toolCallId": id, "title": command, "kind": "execute", "name": "bash"});
    let first = ask(&mut chat, edit("one", "one.txt"));
    let same = ask(&mut chat, edit("two", "sub/two.txt"));
    let outside = ask(&mut chat, edit("three", "../three.txt"));
    let other_tool = ask(&mut chat, call("four"));
    let list = ask(&mut chat, run("five", "ls"));
    let remove = ask(&mut chat, run("six", "rm -rf x"));
    let list_again = ask(&mut chat, run("seven", "ls"));
    chat.nvim.poll_screen("rm -rf x");
    chat.go_to("one.txt");
    chat.nvim.input("g3");
    assert_eq!(chat.answer(first), selected("a2"));
    assert_eq!(chat.answer(same), selected("a2"));
    chat.nvim.poll("five that wait", |nvim| nvim.waiting() == 5);
    chat.go_to("ls");
    chat.nvim.input("g3");
    assert_eq!(chat.answer(list), selected("a2"));
    assert_eq!(chat.answer(list_again), selected("a2"));
    chat.nvim.poll("three that wait", |nvim| nvim.waiting() == 3);
    for pending in [outside, other_tool, remove] {
        assert!(!chat.agent.is_answered(pending));
    }
}

#[test]
fn an_answer_that_is_not_always_settles_one_request() {
    let mut chat = beside_a_turn();
    let first = ask(&mut chat, call("one"));
    let second = ask(&mut chat, call("two"));
    chat.nvim.command("RatAllow");
    assert_eq!(chat.answer(first), selected("a1"));
    chat.nvim.poll("one that waits", |nvim| nvim.waiting() == 1);
    assert!(!chat.agent.is_answered(second));
}

/// ACP 73.
#[test]
fn a_request_the_agent_withdraws_is_closed_and_answered() {
    let mut chat = beside_a_turn();
    let pending = ask(&mut chat, call("one"));
    chat.nvim.command("RatTools");
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("<CR> choose");
    chat.agent.notify("$/cancel_request", json!({"requestId": 0}));
    assert_eq!(chat.answer(pending), cancelled());
    chat.nvim.poll_no("<CR> choose");
    chat.nvim.poll_screen("not answered");
    chat.nvim.poll_no("? Edit");
    assert_eq!(chat.nvim.waiting(), 0);
    assert_eq!(chat.nvim.status()["state"], json!("running"));
}

#[test]
fn a_request_without_options_can_be_turned_down_only() {
    let mut chat = beside_a_turn();
    let pending = chat.ask_permission(call("one"), json!([]));
    chat.nvim.poll_screen("└ :RatDeny");
    chat.nvim.poll_screen(" :RatDeny · <C-c> cancel");
    chat.nvim.command("RatAllow");
    chat.nvim.poll_screen("has no option to allow it");
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen(":RatDeny turns it down");
    chat.nvim.command("RatDeny");
    assert_eq!(chat.answer(pending), cancelled());
    chat.nvim.poll_state("running");
}

#[test]
fn an_option_of_an_unknown_kind_can_be_chosen() {
    let mut chat = beside_a_turn();
    let options = json!([{"optionId": "x", "name": "Ask me in an hour", "kind": "allow_later"}]);
    let pending = chat.ask_permission(call("one"), options);
    chat.nvim.poll_screen("[g1] Ask me in an hour");
    chat.go_to("one.txt");
    chat.nvim.input("g1");
    assert_eq!(chat.answer(pending), selected("x"));
}

/// ACP 98.
#[test]
fn a_request_for_an_unknown_session_is_an_error_and_shows_nothing() {
    let mut chat = beside_a_turn();
    let params = json!({"sessionId": "other", "toolCall": call("one"), "options": options()});
    let error = chat.agent.request("session/request_permission", params).unwrap_err();
    assert_eq!(error["code"], json!(-32602));
    assert_eq!(chat.nvim.waiting(), 0);
    assert_eq!(chat.nvim.status()["state"], json!("running"));
}
