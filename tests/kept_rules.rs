//! Rules that the user makes of a request with `gA` and edits in `:RatRules`, in real Neovim.

use crate::support::{Chat, PROMPT, Pending, TRANSCRIPT};
use serde_json::{Value as Json, json};

fn in_a_turn() -> Chat {
    let mut chat = Chat::builder().setup(json!({"permission": {"open": "never"}})).start();
    chat.prompt("go");
    chat.nvim.enter(TRANSCRIPT);
    chat
}

fn ask(chat: &mut Chat, id: &str, command: &str) -> Pending {
    let call = json!({"toolCallId": id, "title": format!("Run {command}"), "kind": "execute",
        "status": "pending", "rawInput": {"command": command}});
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    chat.ask("session/request_permission", json!({"toolCall": call, "options": options}))
}

fn selected(option: &str) -> Json {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// Makes a rule of the only request that waits; `keys` edit the suggestion.
fn make_rule(chat: &mut Chat, keys: &str, extent: &str) {
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    chat.nvim.input("gA");
    chat.nvim.poll("the rule", |nvim| nvim.eval("vim.bo.filetype") == json!("ratinput"));
    chat.nvim.input(&format!("{keys}<C-s>"));
    chat.nvim.poll_screen("For all projects");
    chat.nvim.input(extent);
    chat.nvim.input("<CR>");
}

fn open_rules(chat: &mut Chat) -> Vec<String> {
    chat.nvim.command("RatRules");
    chat.nvim.poll("the page", |nvim| nvim.eval("vim.bo.filetype") == json!("ratrules"));
    chat.nvim.buffer_lines("rat://rules")
}

/// Holds (Permission requests): A rule made of a request decides it and the ones like it, here or everywhere, also after a restart.
#[test]
fn a_rule_is_made_of_a_request_and_kept() {
    let mut chat = in_a_turn();
    let first = ask(&mut chat, "one", "cargo test --lib");
    // The wider rule, which stands below the exact one as a comment.
    make_rule(&mut chat, "<Esc>dd0xx", "2");
    assert_eq!(chat.answer(first), selected("yes"));
    chat.nvim.poll_screen("rule: allow execute cargo test *");
    let like_it = ask(&mut chat, "two", "cargo test --doc");
    assert_eq!(chat.answer(like_it), selected("yes"));
    let other = ask(&mut chat, "three", "cargo publish");
    make_rule(&mut chat, "<Esc>0cwdeny", "1");
    assert_eq!(chat.answer(other), selected("no"));
    let lines = open_rules(&mut chat);
    let at = |text: &str| lines.iter().position(|line| line == text);
    assert_eq!(lines[0], "# For all projects");
    let (project, session) = (at("allow execute cargo test *"), at("deny execute cargo publish"));
    assert!(project.is_some() && project < session, "{lines:?}");
    let note = chat.nvim.lua(
        "local ns = vim.api.nvim_get_namespaces().rat_rules
        local row = ... - 1
        local mark = vim.api.nvim_buf_get_extmarks(0, ns, { row, 0 }, { row, -1 }, { details = true })[1]
        return mark[4].virt_text[1][1]",
        json!([project.unwrap() + 1]),
    );
    let note = note.as_str().unwrap();
    assert!(note.starts_with("  decided 2 requests · 20"), "{note}");
    assert!(note.ends_with(r#" · from "Run cargo test --lib""#), "{note}");
    // The rule of the session ends with it; that of the project holds in the next one.
    chat.nvim.input("q");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatStart! fake");
    chat.agent.open("s2");
    chat.nvim.poll_state("ready");
    let lines = open_rules(&mut chat);
    assert!(lines.iter().any(|line| line == "allow execute cargo test *"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("deny")), "{lines:?}");
}

/// Holds (Permission requests): `gA` makes a rule also in the chooser that covers the card.
#[test]
fn a_rule_is_made_in_the_chooser() {
    let mut chat = Chat::builder().in_turn();
    let pending = ask(&mut chat, "one", "make all");
    chat.nvim.poll_screen("<CR> choose");
    make_rule(&mut chat, "", "1");
    assert_eq!(chat.answer(pending), selected("yes"));
}

/// Holds (Permission requests): `:w` in `:RatRules` applies all rules there or none, marks what is wrong, and revokes what was deleted.
#[test]
fn rules_are_edited_as_a_buffer() {
    let mut chat = in_a_turn();
    open_rules(&mut chat);
    chat.nvim.lua("vim.fn.append(1, { 'allow execute make *', 'alow read' })", json!([]));
    chat.nvim.command("write");
    chat.nvim.poll_screen("Line 3: a rule begins with one of allow, ask, deny");
    let wrong = "vim.tbl_map(function(it) return it.lnum end, vim.diagnostic.get(0))";
    assert_eq!(chat.nvim.eval(wrong), json!([2]));
    assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(true));
    let before = ask(&mut chat, "one", "make all");
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    chat.nvim.command("3delete | write");
    assert_eq!(chat.answer(before), selected("yes"));
    chat.nvim.poll("written", |nvim| nvim.eval("vim.bo.modified") == json!(false));
    assert_eq!(chat.nvim.eval("#vim.diagnostic.get(0)"), json!(0));
    chat.nvim.command("2delete | write");
    chat.nvim.poll("written", |nvim| nvim.eval("vim.bo.modified") == json!(false));
    let after = ask(&mut chat, "two", "make all");
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    chat.nvim.command("RatDeny");
    assert_eq!(chat.answer(after), selected("no"));
}

/// Holds (Permission requests): What cannot be decided by a rule says so, and nothing is kept before the user has said where.
#[test]
fn nothing_is_kept_by_accident() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "one", "for x in a; do make; done");
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    chat.nvim.input("gA");
    chat.nvim.poll_screen("No rule can be made of this request");
    chat.nvim.let_time_pass();
    chat.nvim.input("gr");
    assert_eq!(chat.answer(pending), selected("no"));
    let pending = ask(&mut chat, "two", "make");
    chat.nvim.poll_screen("? Run make");
    for keys in ["<C-c>", "<C-s>", "<Esc>ggdG<C-s>", "<Esc><C-w>p", "<Esc>:q<CR>"] {
        chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
        chat.nvim.input("gA");
        chat.nvim.poll("the rule", |nvim| nvim.eval("vim.bo.filetype") == json!("ratinput"));
        chat.nvim.poll_screen("<C-s> continue · <C-c> cancel");
        chat.nvim.input(keys);
        if keys == "<C-s>" {
            chat.nvim.poll_screen("For all projects");
            chat.nvim.input("<Esc>");
        }
        chat.nvim.poll("the chat", |nvim| {
            nvim.eval("{ vim.bo.filetype, vim.fn.mode() }") == json!(["rat", "n"])
        });
    }
    assert!(!chat.agent.is_answered(pending));
    let lines = open_rules(&mut chat);
    assert!(lines.iter().all(|line| line.is_empty() || line.starts_with('#')), "{lines:?}");
}

/// Holds (Permission requests): A second <C-c>, after the one that has closed a window, does not cancel the turn below it.
#[test]
fn keys_that_close_a_window_do_nothing_below_it() {
    let mut chat = in_a_turn();
    chat.nvim.enter(PROMPT);
    let pending = ask(&mut chat, "one", "make");
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    chat.nvim.input("gA");
    chat.nvim.poll("the rule", |nvim| nvim.eval("vim.bo.filetype") == json!("ratinput"));
    chat.nvim.input("<C-c><C-c>");
    chat.nvim.poll("the prompt", |nvim| nvim.eval("vim.bo.filetype") == json!("ratprompt"));
    chat.say("said after the keys");
    chat.nvim.poll_screen("said after the keys");
    assert_eq!((chat.nvim.waiting(), chat.nvim.status()["state"].clone()), (1, json!("waiting")));
    assert!(!chat.agent.is_answered(pending));
}
