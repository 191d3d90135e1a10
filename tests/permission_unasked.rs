//! What agents do through Neovim without asking, where a rule or the option `permission.mode` says to ask, in real Neovim.

use crate::support::{Chat, Pending, TRANSCRIPT};
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn with_permission(options: Json) -> Chat {
    let mut chat = Chat::builder()
        .setup(json!({"permission": options}))
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "one\n")
        .start();
    chat.prompt("go");
    chat.nvim.enter(TRANSCRIPT);
    chat
}

fn create(chat: &mut Chat, command: &str) -> Pending {
    chat.ask("terminal/create", json!({"command": command}))
}

fn read(chat: &mut Chat, name: &str) -> Pending {
    let path = chat.path(name);
    chat.ask("fs/read_text_file", json!({"path": path}))
}

fn write(chat: &mut Chat, name: &str, content: &str) -> Pending {
    let path = chat.path(name);
    chat.ask("fs/write_text_file", json!({"path": path, "content": content}))
}

fn error(chat: &mut Chat, pending: Pending) -> String {
    let answer = chat.agent.expect_answer(pending).unwrap_err();
    answer["message"].as_str().unwrap().to_owned()
}

/// Waits for a question, and until its chooser takes keys.
fn poll_question(chat: &mut Chat, title: &str) {
    let titles = "vim.tbl_map(function(question) return question.title end,
        require('rat.ask.question_list').list())";
    chat.nvim
        .poll(title, |nvim| nvim.eval(titles)[0].as_str().is_some_and(|it| it.contains(title)));
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.let_time_pass();
}

/// Holds (Permission requests): Where a rule says `ask`, the user is asked about commands that an agent runs through Neovim without asking.
#[test]
fn a_rule_asks_about_commands_that_nobody_asked_about() {
    let mut chat = with_permission(json!({"rules": ["ask execute touch *", "allow execute ls *"]}));
    let pending = create(&mut chat, "ls");
    assert!(chat.answer(pending)["terminalId"].is_string(), "nothing is said about this one");
    let pending = create(&mut chat, "touch made");
    poll_question(&mut chat, "Fake agent wants to run touch made");
    chat.nvim.input("<Esc>");
    chat.nvim.poll_screen("ga run · gr reject");
    assert!(!chat.agent.is_answered(pending));
    assert!(!chat.path("made").exists());
    chat.nvim.command("RatAllow");
    let terminal = chat.answer(pending)["terminalId"].clone();
    let pending = chat.ask("terminal/wait_for_exit", json!({"terminalId": terminal}));
    chat.answer(pending);
    assert!(chat.path("made").exists());
    chat.nvim.poll_screen("You allowed it to run touch made");
    // With the key for a rejection, and one that is not clear.
    let line = "for x in 1; do touch never; done";
    let pending = create(&mut chat, line);
    poll_question(&mut chat, "wants to run for x in 1");
    chat.nvim.input("gr");
    assert!(error(&mut chat, pending).contains("the user does not want this command to run"));
    assert!(!chat.path("never").exists());
    chat.nvim.poll_screen("Did not run for x in 1");
}

/// Holds (Permission requests): The whole command of such a question can be read before it is answered.
#[test]
fn the_whole_command_can_be_read() {
    let mut chat = with_permission(json!({"mode": "ask"}));
    let line = format!("echo {} ; touch hidden", "x".repeat(300));
    let pending = create(&mut chat, &line);
    poll_question(&mut chat, "wants to run echo xxx");
    chat.nvim.input("gd");
    chat.nvim.poll_screen("What would run");
    let shown = chat.nvim.eval("vim.api.nvim_buf_get_lines(0, 0, -1, true)");
    assert_eq!(shown[1], json!(line));
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.command("RatDeny not_like_this");
    error(&mut chat, pending);
    assert!(!chat.path("hidden").exists());
}

/// Holds (Permission requests): Where a rule says `ask`, the user is asked about files that an agent uses through Neovim without asking.
#[test]
fn a_rule_asks_about_files_that_nobody_asked_about() {
    let mut chat = with_permission(json!({"rules": ["ask edit a.txt", "ask read a.txt"]}));
    let pending = read(&mut chat, "b.txt");
    assert_eq!(chat.answer(pending)["content"], "one\n");
    let pending = read(&mut chat, "a.txt");
    poll_question(&mut chat, "Fake agent wants to read a.txt");
    let again = read(&mut chat, "a.txt");
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.input("1<CR>");
    assert_eq!(chat.answer(pending)["content"], "one\ntwo\n");
    assert_eq!(chat.answer(again)["content"], "one\ntwo\n");
    let pending = read(&mut chat, "a.txt");
    assert_eq!(chat.answer(pending)["content"], "one\ntwo\n", "it was allowed for the session");
    let pending = write(&mut chat, "a.txt", "one\nTWO\n");
    poll_question(&mut chat, "wants to change a.txt (+1 -1)");
    assert_eq!(fs::read_to_string(chat.path("a.txt")).unwrap(), "one\ntwo\n");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({}));
    assert_eq!(fs::read_to_string(chat.path("a.txt")).unwrap(), "one\nTWO\n");
    let pending = write(&mut chat, "a.txt", "three\n");
    poll_question(&mut chat, "wants to change a.txt (+1 -2)");
    chat.nvim.input("gr");
    assert!(error(&mut chat, pending).contains("the user rejected this change"));
}

/// Holds (Permission requests): A file that the user does not want to be read is refused without asking again.
#[test]
fn a_refused_file_stays_refused() {
    let mut chat = with_permission(json!({"rules": ["ask read a.txt"]}));
    let pending = read(&mut chat, "a.txt");
    poll_question(&mut chat, "wants to read a.txt");
    chat.nvim.input("2<CR>");
    assert!(error(&mut chat, pending).contains("the user does not want"));
    let pending = read(&mut chat, "a.txt");
    assert!(error(&mut chat, pending).contains("the user does not want"));
}

/// Holds (Permission requests): A file outside the project is asked about once, also where a rule says to ask about every file.
#[test]
fn a_file_outside_is_asked_about_once() {
    let mut chat = with_permission(json!({"mode": "ask"}));
    chat.nvim.folder().file("outside.txt", "far\n");
    let pending = read(&mut chat, "../outside.txt");
    poll_question(&mut chat, "outside the project");
    chat.nvim.input("1<CR>");
    assert_eq!(chat.answer(pending)["content"], "far\n");
    let pending = read(&mut chat, "../outside.txt");
    assert_eq!(chat.answer(pending)["content"], "far\n");
}

fn call(id: &str, kind: &str, more: Json) -> Json {
    let mut call = json!({"toolCallId": id, "title": id, "kind": kind, "status": "pending"});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn options() -> Json {
    json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ])
}

fn ask(chat: &mut Chat, call: &Json) -> Pending {
    let params = json!({"toolCall": call, "options": options()});
    chat.ask("session/request_permission", params)
}

/// Asks for permission, and answers as the user.
fn asks(chat: &mut Chat, call: &Json, command: &str) {
    let pending = ask(chat, call);
    chat.nvim.poll_screen(call["title"].as_str().unwrap());
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    // Once the rules have left it to the user.
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.let_time_pass();
    chat.nvim.command(command);
    chat.answer(pending);
    chat.nvim.poll("no request", |nvim| nvim.waiting() == 0);
}

/// Holds (Permission requests): What the user has allowed as a tool call is not asked about again when it is done through Neovim.
#[test]
fn what_was_allowed_is_not_asked_about_again() {
    let mut chat = with_permission(json!({"mode": "ask"}));
    let path = chat.path("a.txt");
    let edit = call("edit it", "edit", json!({"locations": [{"path": path}]}));
    let run = call("run it", "execute", json!({"rawInput": {"command": "touch made"}}));
    for call in [&edit, &run] {
        asks(&mut chat, call, "RatAllow");
    }
    let pending = write(&mut chat, "a.txt", "1\n");
    assert_eq!(chat.answer(pending), json!({}));
    let pending = create(&mut chat, "touch made");
    assert!(chat.answer(pending)["terminalId"].is_string());
    // Neither another file, nor the same command in another way.
    let pending = write(&mut chat, "b.txt", "1\n");
    poll_question(&mut chat, "wants to change b.txt");
    chat.nvim.command("RatDeny");
    error(&mut chat, pending);
    let env = json!([{"name": "PATH", "value": "/elsewhere"}]);
    let pending = chat.ask("terminal/create", json!({"command": "touch made", "env": env}));
    poll_question(&mut chat, "wants to run touch made");
    chat.nvim.command("RatDeny");
    error(&mut chat, pending);
    let pending = create(&mut chat, "touch made; touch more");
    poll_question(&mut chat, "wants to run touch made; touch more");
    chat.nvim.command("RatDeny");
    error(&mut chat, pending);
}

/// Holds (Permission requests): With the option `permission.mode` "read-only", what changes files or runs commands is denied, but for what a rule allows.
#[test]
fn read_only_denies_what_changes_anything() {
    let mut chat = with_permission(json!({"mode": "read-only", "rules": ["allow execute ls *"]}));
    let pending = write(&mut chat, "a.txt", "1\n");
    let told = error(&mut chat, pending);
    assert!(told.contains("by the rule \"permission.default: deny edit\""), "{told}");
    let pending = create(&mut chat, "touch made");
    assert!(error(&mut chat, pending).contains("deny execute"));
    let pending = create(&mut chat, "ls");
    assert!(chat.answer(pending)["terminalId"].is_string());
    let pending = read(&mut chat, "a.txt");
    assert_eq!(chat.answer(pending)["content"], "one\ntwo\n");
    for (id, kind) in [("e", "edit"), ("d", "delete"), ("m", "move"), ("x", "execute")] {
        let pending = ask(&mut chat, &call(id, kind, json!({})));
        let selected = json!({"outcome": {"outcome": "selected", "optionId": "no"}});
        assert_eq!(chat.answer(pending), selected, "{kind}");
    }
    asks(&mut chat, &call("an unknown one", "other", json!({})), "RatDeny");
    chat.nvim.poll_screen("rule: permission.default: deny execute");
}

/// Holds (Permission requests): The option `permission.default` decides on kinds of tool calls that no rule decides on, and a wrong one is told.
#[test]
fn defaults_are_for_single_kinds() {
    let options = json!({"mode": "ask", "default": {"fetch": "allow", "execute": "deny"}});
    let mut chat = with_permission(options);
    let pending = ask(&mut chat, &call("f", "fetch", json!({})));
    assert_eq!(chat.answer(pending)["outcome"]["optionId"], "yes");
    let pending = ask(&mut chat, &call("x", "execute", json!({"rawInput": {"command": "ls"}})));
    assert_eq!(chat.answer(pending)["outcome"]["optionId"], "no");
    asks(&mut chat, &call("an edit", "edit", json!({})), "RatDeny");
    let mut wrong = with_permission(json!({"default": {"exec": "deny"}}));
    let told = "permission.default.exec: there is no kind \"exec\"";
    wrong.nvim.poll(told, |nvim| nvim.messages().contains(told));
}

/// Holds (Permission requests): What was allowed is not exchanged afterwards: a command, a file, a text or where a path leads that is no longer what the card showed is asked about again.
#[test]
fn what_is_exchanged_after_the_answer_is_asked_about_again() {
    let mut chat = with_permission(json!({"mode": "ask"}));
    for name in ["b.txt", "secret.txt"] {
        fs::write(chat.path(name), "one\n").unwrap();
    }
    symlink("b.txt", chat.path("link")).unwrap();
    let (b, secret) = (chat.path("b.txt"), chat.path("secret.txt"));
    let rejected = |chat: &mut Chat, pending: Pending, title: &str| {
        poll_question(chat, title);
        chat.nvim.command("RatDeny");
        error(chat, pending);
    };
    let run = call("the list", "execute", json!({"rawInput": {"command": "ls"}}));
    asks(&mut chat, &run, "RatAllow");
    chat.tool_call_update(json!({"toolCallId": "the list", "rawInput": {"command": "touch X"}}));
    let pending = create(&mut chat, "touch X");
    rejected(&mut chat, pending, "wants to run touch X");
    let look = call("the text", "read", json!({"locations": [{"path": b}]}));
    asks(&mut chat, &look, "RatAllow");
    chat.tool_call_update(json!({"toolCallId": "the text", "locations": [{"path": secret}]}));
    let pending = read(&mut chat, "secret.txt");
    poll_question(&mut chat, "wants to read secret.txt");
    chat.nvim.input("2<CR>");
    error(&mut chat, pending);
    let diff = |text: &str, path: &Path| json!([{"type": "diff", "path": path, "oldText": "one\n", "newText": text}]);
    for (id, shown) in [
        ("edit it", b.clone()),
        ("by its parent", chat.path("src/../b.txt")),
        ("by a link", chat.path("link")),
    ] {
        let fields = json!({"locations": [{"path": b}], "content": diff("two\n", &shown)});
        asks(&mut chat, &call(id, "edit", fields), "RatAllow");
        chat.tool_call_update(json!({"toolCallId": id, "content": diff("evil\n", &b)}));
        let pending = write(&mut chat, "b.txt", "evil\n");
        rejected(&mut chat, pending, "wants to change b.txt");
        chat.tool_call_update(json!({"toolCallId": id, "status": "completed"}));
    }
    assert_eq!(fs::read_to_string(&b).unwrap(), "one\n");
    // A link that leads elsewhere since then is another file.
    let fields = json!({"locations": [{"path": chat.path("link")}]});
    asks(&mut chat, &call("where it led", "read", fields), "RatAllow");
    fs::remove_file(chat.path("link")).unwrap();
    symlink("secret.txt", chat.path("link")).unwrap();
    let pending = read(&mut chat, "link");
    assert!(error(&mut chat, pending).contains("secret.txt"), "it is the file that was refused");
}

/// Holds (Permission requests): Where rules restrict commands, one for which the agent sets what its words mean is asked about.
#[test]
fn a_command_with_variables_that_change_programs_is_asked_about() {
    let mut chat = with_permission(json!({"rules": ["deny execute rm *"]}));
    let with =
        |name: &str| json!({"command": "true", "env": [{"name": name, "value": "/elsewhere"}]});
    let plain = chat.ask("terminal/create", with("COLOUR"));
    assert!(chat.answer(plain)["terminalId"].is_string());
    let pending = chat.ask("terminal/create", with("PATH"));
    poll_question(&mut chat, "wants to run true");
    chat.nvim.command("RatDeny");
    error(&mut chat, pending);
}
