//! What changes something is allowed on a card.

use serde_json::{Value as Json, json};

use super::{answer_card, chat_with_tools, disk, edit};
use crate::support::{Chat, Mcp};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

/// Holds (Editor tools): An edit is shown on a card, merged with what the user types meanwhile, and one undo step.
#[test]
fn an_edit_waits_for_the_user() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    chat.nvim.command("edit a.txt");
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    chat.nvim.poll_screen("Edit a.txt");
    assert!(!mcp.is_answered(call));
    assert_eq!(disk(&chat, "a.txt"), TEXT);
    chat.nvim.eval("vim.fn.setline(1, 'mine')");
    answer_card(&mut chat, "RatAllow");
    let told = mcp.expect_told(call);
    assert!(!told.is_error, "{told:?}");
    let said =
        "changed and saved: a.txt\nthe user has other changes that are not saved in: a.txt\n";
    assert!(told.text.starts_with(said), "{told:?}");
    assert_eq!(disk(&chat, "a.txt"), TEXT.replace("four", "FOUR"));
    let lines = "vim.api.nvim_buf_get_lines(0, 0, -1, true)";
    assert_eq!(chat.nvim.eval(lines), json!(["mine", "two", "three", "FOUR", "five"]));
    chat.nvim.command("undo");
    assert_eq!(chat.nvim.eval(lines), json!(["mine", "two", "three", "four", "five"]));
}

/// Holds (Editor tools): What the user rejects is not done, and the agent is told so.
#[test]
fn a_rejected_edit_changes_nothing() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    answer_card(&mut chat, "RatDeny");
    let told = mcp.expect_told(call);
    assert!(told.is_error && told.text.contains("rejected"), "{told:?}");
    chat.nvim.poll("no card", |nvim| nvim.waiting() == 0);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    answer_card(&mut chat, "RatDeny not that one");
    let told = mcp.expect_told(call);
    assert!(told.is_error && told.text.ends_with("They say: not that one"), "{told:?}");
    assert_eq!(chat.nvim.status()["queued"], json!([]), "it is not sent as a prompt, too");
    assert_eq!(disk(&chat, "a.txt"), TEXT);
}

/// Holds (Editor tools): A tool that is allowed for the session is not asked about again in it.
#[test]
fn a_tool_is_allowed_for_the_session() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    chat.nvim.poll_screen("Allow edit_buffer for this session");
    chat.nvim.let_time_pass();
    chat.nvim.choose(2);
    assert!(!mcp.expect_told(call).is_error);
    let told = mcp.call("edit_buffer", edit(&chat, "a.txt", "one", "ONE"));
    assert!(!told.is_error, "{told:?}");
    assert!(disk(&chat, "a.txt").starts_with("ONE\n"));
    chat.nvim.poll_screen("✓ Allow · rule: allow tool");
    // Another tool is.
    let call = mcp.begin_call("quickfix", json!({"items": []}));
    answer_card(&mut chat, "RatDeny");
    assert!(mcp.expect_told(call).is_error);
    // The user can take it back.
    chat.nvim.command("RatRules");
    chat.nvim.poll("the rules", |nvim| nvim.eval("vim.bo.filetype") == json!("ratrules"));
    chat.nvim.command("g/^allow tool/d");
    chat.nvim.command("write");
    chat.nvim.poll("the rules are in force", |nvim| nvim.eval("vim.bo.modified") == json!(false));
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "two", "TWO"));
    answer_card(&mut chat, "RatDeny");
    assert!(mcp.expect_told(call).is_error);
}

/// Holds (Editor tools): Rules decide on what the tools change as on any edit.
#[test]
fn rules_allow_edits() {
    let settings = json!({"permission": {"rules": ["allow edit src/"]}});
    let mut chat = Chat::builder().file("src/a.txt", TEXT).setup(settings).in_turn();
    let mut mcp = Mcp::start(&chat.agent.mcp_servers);
    let told = mcp.call("edit_buffer", edit(&chat, "src/a.txt", "four", "FOUR"));
    assert!(!told.is_error, "{told:?}");
    chat.nvim.poll_screen("rule: allow edit src/");
    assert!(disk(&chat, "src/a.txt").contains("FOUR"));
}

fn announced(name: &str, arguments: &Json) -> Json {
    json!({
        "toolCallId": "t1", "title": name, "kind": "other", "status": "pending", "rawInput": arguments,
    })
}

/// Holds (Editor tools): A card is on the tool call that the agent has announced, and what the agent asks about it is answered by us.
#[test]
fn the_card_is_on_the_agents_tool_call() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let arguments = edit(&chat, "a.txt", "four", "FOUR");
    let call = announced("mcp__rat__edit_buffer", &arguments);
    chat.tool_call(call.clone());
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    let params = json!({"toolCall": {"toolCallId": "t1"}, "options": options});
    let asked = chat.request("session/request_permission", params);
    assert_eq!(asked.unwrap()["outcome"]["optionId"], json!("yes"));
    let call = mcp.begin_call("edit_buffer", arguments);
    chat.nvim.poll_screen("Edit a.txt");
    assert_eq!(disk(&chat, "a.txt"), TEXT, "our own answer does not count as that of the user");
    answer_card(&mut chat, "RatAllow");
    assert!(!mcp.expect_told(call).is_error);
    let cards = chat.transcript().iter().filter(|line| line.contains("Edit a.txt")).count();
    assert_eq!(cards, 1);
}

/// Holds (Editor tools): A call that is answered before its agent reports it is described all the same.
#[test]
fn a_call_that_is_reported_late_is_described() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let arguments = json!({"file_path": "a.txt"});
    assert_eq!(mcp.call("read_buffer", arguments.clone()).text, TEXT);
    chat.tool_call(json!({"toolCallId": "t1", "title": "rat_read_buffer", "status": "pending"}));
    chat.nvim.poll_screen("rat_read_buffer");
    let update = json!({"toolCallId": "t1", "title": "rat_read_buffer", "rawInput": arguments});
    chat.tool_call_update(update);
    chat.nvim.poll_screen("Read a.txt");
    chat.tool_call_update(json!({"toolCallId": "t1", "title": "tool", "status": "completed"}));
    chat.nvim.poll_screen("✓ Read a.txt");
}

/// Holds (Editor tools): A request for permission that is not about one of the editor's tools is the user's to answer.
#[test]
fn other_requests_are_for_the_user() {
    let (mut chat, _mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let call = json!({"toolCallId": "t1", "title": "mcp__rats__edit_buffer", "kind": "other"});
    check_user_is_asked(&mut chat, call);
}

/// Has the agent ask about a tool call, which is not to be answered before the user does.
fn check_user_is_asked(chat: &mut Chat, call: Json) {
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
    let pending = chat.ask_permission(call, options);
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.command("RatCancel");
    chat.answer(pending);
}

/// Holds (Editor tools): With a cancelled turn its cards are gone, and its calls are answered.
#[test]
fn a_cancelled_turn_ends_its_calls() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    chat.nvim.poll("a card", |nvim| nvim.waiting() > 0);
    chat.nvim.command("RatCancel");
    let told = mcp.expect_told(call);
    assert!(told.is_error && told.text.contains("cancelled"), "{told:?}");
    assert_eq!(disk(&chat, "a.txt"), TEXT);
    let told = mcp.call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    assert!(told.is_error && told.text.contains("cancelled"), "{told:?}");
}

/// Holds (Editor tools): A call that its agent withdraws takes its card with it.
#[test]
fn a_withdrawn_call_takes_its_card_with_it() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    chat.nvim.poll("a card", |nvim| nvim.waiting() > 0);
    let params = json!({"requestId": call});
    mcp.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    chat.nvim.poll("no card", |nvim| nvim.waiting() == 0);
    assert_eq!(mcp.request("ping", json!({}))["result"], json!({}));
    assert!(!mcp.is_answered(call));
    assert_eq!(disk(&chat, "a.txt"), TEXT);
}

/// Holds (Editor tools): With `review = "before"` an edit is asked about once, on its card.
#[test]
fn review_before_asks_once() {
    let settings = json!({"review": "before"});
    let mut chat = Chat::builder().file("a.txt", TEXT).setup(settings).in_turn();
    let mut mcp = Mcp::start(&chat.agent.mcp_servers);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    answer_card(&mut chat, "RatAllow");
    let told = mcp.expect_told(call);
    assert!(!told.is_error, "{told:?}");
    assert!(disk(&chat, "a.txt").contains("FOUR"));
}

/// Holds (Editor tools): A command is not taken for a call of one of the tools, whatever its title.
#[test]
fn a_command_of_such_a_name_is_asked_about() {
    let (mut chat, _mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let command = json!({"command": "rat_symbols"});
    let call = json!({
        "toolCallId": "t1", "title": "rat_symbols", "kind": "execute", "rawInput": command,
    });
    check_user_is_asked(&mut chat, call);
}

/// Holds (Editor tools): What an agent says of its tool call does not change the card that is on it.
#[test]
fn an_agent_cannot_change_the_card() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let arguments = edit(&chat, "a.txt", "four", "FOUR");
    chat.tool_call(announced("mcp__rat__edit_buffer", &arguments));
    let call = mcp.begin_call("edit_buffer", arguments);
    chat.nvim.poll_screen("+ FOUR");
    let path = chat.path("a.txt");
    let diff = json!({"type": "diff", "path": path, "oldText": "one\n", "newText": "harmless\n"});
    chat.tool_call_update(json!({
        "toolCallId": "t1", "title": "harmless", "kind": "read", "content": [diff],
    }));
    chat.say("said after it");
    chat.nvim.poll_screen("said after it");
    let lines = chat.transcript().join("\n");
    assert!(lines.contains("FOUR") && !lines.contains("harmless"), "{lines}");
    answer_card(&mut chat, "RatDeny");
    assert!(mcp.expect_told(call).is_error);
}

/// Holds (Editor tools): Rules about a tool hold by its one name, for those that read, too, and whatever was allowed for the session.
#[test]
fn rules_about_tools_hold() {
    let rules = json!([
        "deny tool mcp__rat__open_buffers",
        "ask tool mcp__rat__read_buffer",
        "ask edit secret/"
    ]);
    let settings = json!({"permission": {"rules": rules}});
    let mut chat =
        Chat::builder().file("a.txt", TEXT).file("secret/b.txt", TEXT).setup(settings).in_turn();
    let mut mcp = Mcp::start(&chat.agent.mcp_servers);
    let told = mcp.call("open_buffers", json!({}));
    assert!(told.is_error && told.text.contains("deny tool mcp__rat__open_buffers"), "{told:?}");
    let call = mcp.begin_call("read_buffer", json!({"file_path": "a.txt"}));
    answer_card(&mut chat, "RatAllow");
    assert_eq!(mcp.expect_told(call).text, TEXT);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "four", "FOUR"));
    chat.nvim.poll_screen("Allow edit_buffer for this session");
    chat.nvim.let_time_pass();
    chat.nvim.choose(2);
    assert!(!mcp.expect_told(call).is_error);
    let call = mcp.begin_call("edit_buffer", edit(&chat, "secret/b.txt", "four", "FOUR"));
    answer_card(&mut chat, "RatDeny");
    assert!(mcp.expect_told(call).is_error);
    assert_eq!(disk(&chat, "secret/b.txt"), TEXT);
}

/// Holds (Editor tools): A request is taken for one of a tool of the editor's only if nothing about it is something else.
#[test]
fn a_request_that_is_only_named_like_a_tool_is_asked_about() {
    let (mut chat, _mcp) = chat_with_tools(&[("a.txt", TEXT)]);
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    let title = "rat_read_buffer";
    let plain = json!({"toolCallId": "plain", "title": title, "kind": "other", "rawInput": {"file_path": "a.txt"}});
    let pending =
        chat.ask("session/request_permission", json!({"toolCall": plain, "options": options}));
    assert_eq!(
        chat.answer(pending)["outcome"]["optionId"],
        "yes",
        "ours is asked about when it is called"
    );
    let diff = json!([{"type": "diff", "path": chat.path("a.txt"), "newText": "x"}]);
    for (id, more) in [
        ("diff", json!({"kind": "other", "content": diff})),
        ("edit", json!({"kind": "edit"})),
        ("fetch", json!({"kind": "fetch"})),
        ("command", json!({"kind": "other", "rawInput": {"cmd": "./evil"}})),
        (
            "arguments",
            json!({"kind": "think", "rawInput": {"prompt": "delete all", "subagent": "x"}}),
        ),
    ] {
        let mut call = json!({"toolCallId": id, "title": title});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let pending =
            chat.ask("session/request_permission", json!({"toolCall": call, "options": options}));
        chat.nvim.poll(id, |nvim| nvim.waiting() == 1);
        assert!(!chat.agent.is_answered(pending), "{id}");
        answer_card(&mut chat, "RatDeny");
        assert_eq!(chat.answer(pending)["outcome"]["optionId"], "no", "{id}");
        chat.nvim.poll("no card", |nvim| nvim.waiting() == 0);
    }
}
