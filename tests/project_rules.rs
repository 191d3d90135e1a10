//! The rules of a project, in `.rat/rules`: they hold while the user trusts the file as it is.

use crate::support::{Chat, TRANSCRIPT};
use serde_json::{Value as Json, json};

const UNTRUSTED: &str = "You have not trusted the current .rat/rules";

fn chat(rules: &str) -> Chat {
    Chat::builder().file(".rat/rules", rules).start()
}

/// `:trust` in the buffer of the file.
fn trust(chat: &mut Chat, action: &str) {
    chat.nvim.command(&format!("tabnew .rat/rules | {action} | tabclose"));
}

/// Starts the agent again, after which the chat has the options as they are now.
fn start_again(chat: &mut Chat) {
    chat.nvim.command("messages clear | RatStart");
    chat.nvim.let_time_pass();
    chat.nvim.enter(TRANSCRIPT);
}

/// What an agent that asks for a command is told; `None` if it waits for the user, who then rejects it.
fn decided(chat: &mut Chat, id: &str, command: &str) -> Option<String> {
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    let call = json!({"toolCallId": id, "title": command, "kind": "execute", "status": "pending",
        "rawInput": {"command": command}});
    let pending =
        chat.ask("session/request_permission", json!({"toolCall": call, "options": options}));
    chat.nvim.poll("a decision or the request", |nvim| {
        nvim.waiting() == 1 || nvim.screen().contains(" · rule: ")
    });
    let is_asked = chat.nvim.waiting() == 1;
    if is_asked {
        chat.nvim.let_time_pass();
        chat.nvim.command("RatDeny");
    }
    let answer: Json = chat.answer(pending);
    let option = answer["outcome"]["optionId"].as_str().unwrap().to_owned();
    (!is_asked).then_some(option)
}

/// Holds (Permission requests): The rules of a project's file hold once the user trusts it, and no more when it has changed.
#[test]
fn the_rules_of_a_project_hold_while_the_user_trusts_its_file() {
    let mut chat = chat("# Tests may be run.\nallow execute make *\n\n");
    assert!(chat.nvim.messages().contains(UNTRUSTED), "{}", chat.nvim.messages());
    chat.prompt("go");
    chat.nvim.enter(TRANSCRIPT);
    assert_eq!(decided(&mut chat, "one", "make check"), None);
    start_again(&mut chat);
    assert!(!chat.nvim.messages().contains(UNTRUSTED), "that is told once");
    trust(&mut chat, "trust");
    start_again(&mut chat);
    assert_eq!(decided(&mut chat, "two", "make check").as_deref(), Some("yes"));
    chat.nvim.command("RatRules");
    chat.nvim.poll_screen("# From setup() and .rat/rules: edit them there");
    chat.nvim.poll_screen("#   allow execute make *");
    chat.nvim.command("close");
    std::fs::write(chat.path(".rat/rules"), "allow execute *\n").unwrap();
    start_again(&mut chat);
    let nvim = &mut chat.nvim;
    nvim.poll("that it has changed", |nvim| nvim.messages().contains(UNTRUSTED));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}

/// Holds (Permission requests): If a line of a project's rules is wrong, no rule allows anything, and the message names the line.
#[test]
fn a_wrong_rule_of_a_project_is_named_by_its_line() {
    let mut chat = chat("allow execute make *\nalow read\n");
    trust(&mut chat, "trust");
    start_again(&mut chat);
    let wrong = |nvim: &mut crate::support::Nvim| nvim.messages().contains(".rat/rules:2: ");
    chat.nvim.poll("what is wrong", wrong);
    chat.prompt("go");
    chat.nvim.enter(TRANSCRIPT);
    assert_eq!(decided(&mut chat, "one", "make check"), None);
}

/// Holds (Permission requests): A comment behind a rule does not change what the rule is about: it is an error.
#[test]
fn a_comment_behind_a_rule_is_an_error() {
    let mut chat = chat("deny execute rm *   # keep my files\n");
    trust(&mut chat, "trust");
    start_again(&mut chat);
    chat.nvim.poll("what is wrong", |nvim| {
        let told = nvim.messages().replace('\n', " ");
        told.contains(".rat/rules:1: a comment needs a line of its own")
    });
}

/// Holds (Permission requests): Nothing is said of a project's rules that the user has turned down.
#[test]
fn a_file_that_was_turned_down_is_not_mentioned() {
    let mut chat = chat("allow execute make *\n");
    trust(&mut chat, "trust ++deny");
    std::fs::write(chat.path(".rat/rules"), "allow execute *\n").unwrap();
    start_again(&mut chat);
    assert_eq!(chat.nvim.messages(), "");
}

/// Holds (Permission requests): What is no readable file of rules is told once.
#[test]
fn a_folder_in_place_of_the_rules_is_told() {
    let mut chat = Chat::builder().file(".rat/rules/x", "").start();
    let told = ".rat/rules is not a regular file. Its rules do not hold.";
    assert!(chat.nvim.messages().contains(told), "{}", chat.nvim.messages());
    start_again(&mut chat);
    assert_eq!(chat.nvim.messages(), "");
}

/// Holds (Permission requests): What is no readable file of rules is told once.
#[test]
fn bytes_in_place_of_the_rules_are_told() {
    let mut chat = Chat::builder().file(".rat/rules", b"allow read\0\xff\n".to_vec()).start();
    let told = ".rat/rules is not a text file. Its rules do not hold.";
    assert!(chat.nvim.messages().contains(told), "{}", chat.nvim.messages());
    trust(&mut chat, "silent! trust");
    start_again(&mut chat);
    assert_eq!(chat.nvim.messages(), "");
}
