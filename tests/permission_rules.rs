//! The option `permission.rules` in real Neovim: rules that decide on permission requests before the user is asked.

use crate::support::{Chat, Pending, TRANSCRIPT};
use serde_json::{Value as Json, json};
use std::os::unix::fs::symlink;

/// A turn with rules.
fn with_rules(rules: &[&str]) -> Chat {
    let mut chat = Chat::builder().setup(json!({"permission": {"rules": rules}})).start();
    chat.prompt("go");
    chat.nvim.enter(TRANSCRIPT);
    chat
}

fn ask(chat: &mut Chat, call: Json) -> Pending {
    let options = json!([
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    chat.ask("session/request_permission", json!({"toolCall": call, "options": options}))
}

fn run(id: &str, command: &str) -> Json {
    json!({"toolCallId": id, "title": command, "kind": "execute", "status": "pending",
        "rawInput": {"command": command}})
}

fn edit(id: &str, path: impl Into<Json>) -> Json {
    json!({"toolCallId": id, "title": "Edit a file", "kind": "edit", "status": "pending",
        "locations": [{"path": path.into()}]})
}

fn selected(option: &str) -> Json {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// Checks that the user is asked, and rejects the request.
fn is_asked(chat: &mut Chat, call: Json) {
    let pending = ask(chat, call.clone());
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    assert!(!chat.agent.is_answered(pending), "{call}");
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny");
    assert_eq!(chat.answer(pending), selected("no"), "{call}");
    chat.nvim.poll("no request", |nvim| nvim.waiting() == 0);
}

/// Holds (Permission requests): A rule decides before the user is asked, once, and the transcript shows the rule.
#[test]
fn a_rule_decides_before_the_user_is_asked_and_the_transcript_shows_it() {
    let mut chat = with_rules(&["allow execute cargo test *", "deny execute git push *"]);
    let pending = ask(&mut chat, run("one", "cargo test --lib && cargo test"));
    assert_eq!(chat.answer(pending), selected("yes"));
    chat.nvim.poll_screen("✓ Yes · rule: allow execute cargo");
    let pending = ask(&mut chat, run("two", "cargo test && git push"));
    assert_eq!(chat.answer(pending), selected("no"));
    chat.nvim.poll_screen("rule: deny execute git push *");
    assert!(!chat.nvim.screen().contains("<CR> choose"), "the user was asked");
    is_asked(&mut chat, run("three", "cargo test; make"));
    is_asked(&mut chat, run("four", "for x in a; do cargo test; done"));
    chat.nvim.command("RatInfo");
    chat.nvim.poll_screen("rule          allow execute cargo test *");
}

/// Holds (Permission requests): Where there are rules about commands and it is not clear what one runs, its card says why.
#[test]
fn a_card_says_why_no_rule_decides() {
    let mut chat = with_rules(&["allow execute cargo test *"]);
    let pending = ask(&mut chat, run("loop", "for x in a; do cargo test; done"));
    chat.nvim.poll_screen("it is not clear what would");
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny");
    assert_eq!(chat.answer(pending), selected("no"));
    chat.nvim.poll("the card is smaller", |nvim| !nvim.screen().contains("No rule decides"));
    let pending = ask(&mut chat, run("other", "make"));
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    chat.nvim.poll_screen("? run make");
    assert!(!chat.nvim.screen().contains("No rule decides"));
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny");
    assert_eq!(chat.answer(pending), selected("no"));
}

/// Holds (Permission requests): Rules for files follow links, and have to allow all files of a call.
#[test]
fn rules_for_files_are_about_where_a_path_leads() {
    let mut chat = with_rules(&["allow edit src/", "deny edit src/secret/"]);
    std::fs::create_dir_all(chat.path("src/secret")).unwrap();
    symlink("/etc", chat.path("src/out")).unwrap();
    symlink("secret", chat.path("src/inner")).unwrap();
    for path in [json!(chat.path("src/new/a.rs")), json!("src/a.rs"), json!("src/x/../a.rs")] {
        let pending = ask(&mut chat, edit(&format!("ok {path}"), path.clone()));
        assert_eq!(chat.answer(pending), selected("yes"), "{path}");
    }
    for path in ["src/secret/a", "src/inner/a"] {
        let pending = ask(&mut chat, edit(path, path));
        assert_eq!(chat.answer(pending), selected("no"), "{path}");
    }
    for path in ["src/out/hosts", "src/../a.rs", "/etc/hosts"] {
        is_asked(&mut chat, edit(path, path));
    }
    let both = json!({"toolCallId": "both", "title": "Edit", "kind": "edit", "status": "pending",
        "locations": [{"path": "src/a.rs"}, {"path": "b.rs"}]});
    is_asked(&mut chat, both);
    is_asked(
        &mut chat,
        json!({"toolCallId": "none", "title": "Edit", "kind": "edit", "status": "pending"}),
    );
}

/// Holds (Hostile agents): A rule allows no call of which some files are not kept: the user is asked.
#[test]
fn a_rule_does_not_allow_what_is_beyond_the_files_that_are_kept() {
    let mut chat = with_rules(&["allow edit", "deny edit src/secret/"]);
    let places = |count: usize, last: &str| {
        let path = |number| json!({"path": format!("src/{number}")});
        let mut places: Vec<_> = (1..count).map(path).collect();
        places.push(json!({"path": last}));
        json!({"toolCallId": format!("{count} {last}"), "title": "Edit", "kind": "edit",
            "status": "pending", "locations": places})
    };
    let pending = ask(&mut chat, places(500, "src/a"));
    assert_eq!(chat.answer(pending), selected("yes"));
    is_asked(&mut chat, places(501, "src/secret/a"));
    chat.nvim.poll_screen("… 1 more locations were left out");
}

/// Holds (Permission requests): Where a rule says `ask`, the user is asked and not the provider.
#[test]
fn a_rule_that_asks_goes_past_the_provider() {
    let mut chat = with_rules(&["allow execute", "ask execute make *"]);
    let provider = "require('rat.config').get().permission.provider = function(_, answer)
        answer('allow_once')
    end";
    chat.nvim.lua(provider, json!([]));
    is_asked(&mut chat, run("one", "make all"));
    let pending = ask(&mut chat, edit("two", "a.rs"));
    assert_eq!(chat.answer(pending), selected("yes"));
    chat.nvim.poll_screen("answered by your permission provider");
}

/// Holds (Permission requests): A rule may be for one agent, or for tools by name.
#[test]
fn rules_are_for_an_agent_or_a_tool() {
    let mut chat = with_rules(&["allow other:execute", "allow fake:tool mcp__files__*"]);
    is_asked(&mut chat, run("one", "ls"));
    let call = json!({"toolCallId": "two", "title": "Read", "kind": "other", "status": "pending",
        "name": "mcp__files__read"});
    let pending = ask(&mut chat, call);
    assert_eq!(chat.answer(pending), selected("yes"));
}

/// Holds (Permission requests): A rule that cannot be read is reported in one line, and then no rule allows anything.
#[test]
fn with_a_rule_that_cannot_be_read_no_rule_allows() {
    let mut chat = with_rules(&["allow execute", "dny execute rm *", "deny execute make *"]);
    let told = "permission.rules[2]: a rule begins with one of allow, ask, deny";
    chat.nvim.poll(told, |nvim| nvim.messages().contains(told));
    chat.nvim.command("RatRules");
    chat.nvim.poll_screen(told);
    chat.nvim.input("q");
    is_asked(&mut chat, run("one", "ls"));
    let pending = ask(&mut chat, run("two", "make"));
    assert_eq!(chat.answer(pending), selected("no"));
}

/// Holds (Permission requests): Without an option that allows once, a rule that allows leaves it to the user.
#[test]
fn a_rule_takes_no_lasting_answer() {
    let mut chat = with_rules(&["allow execute"]);
    let options = json!([
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    let asked = json!({"toolCall": run("one", "ls"), "options": options});
    let pending = chat.ask("session/request_permission", asked);
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    chat.nvim.command("RatDeny");
    assert_eq!(chat.answer(pending), selected("no"));
}

/// Holds (Permission requests): What a rule denies is denied to agents that use files and commands through Neovim without asking.
#[test]
fn what_is_denied_holds_for_files_and_commands_through_neovim() {
    let mut chat = with_rules(&["deny read .env*", "deny edit .env*", "deny execute rm *"]);
    for name in [".env", "a.txt"] {
        std::fs::write(chat.path(name), "one\n").unwrap();
    }
    symlink(".env", chat.path("link")).unwrap();
    let use_file = |chat: &mut Chat, method: &str, name: &str| {
        let params =
            json!({"sessionId": chat.session, "path": chat.path(name), "content": "two\n"});
        chat.agent.request(method, params)
    };
    for name in [".env", "link", "sub/../.env"] {
        for method in ["fs/read_text_file", "fs/write_text_file"] {
            let error = use_file(&mut chat, method, name).unwrap_err();
            assert!(error["message"].as_str().unwrap().contains("by the rule \"deny"), "{error}");
        }
    }
    assert_eq!(std::fs::read_to_string(chat.path(".env")).unwrap(), "one\n");
    assert_eq!(use_file(&mut chat, "fs/read_text_file", "a.txt").unwrap()["content"], "one\n");
    use_file(&mut chat, "fs/write_text_file", "a.txt").unwrap();
    for (command, args) in [
        ("rm", json!(["a.txt"])),
        ("sh", json!(["-c", "true; rm a.txt"])),
        ("sh", json!(["-c", "for x in a.txt; do rm $x; done"])),
    ] {
        let params = json!({"sessionId": chat.session, "command": command, "args": args});
        let error = chat.agent.request("terminal/create", params).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains("\"deny execute rm *\""), "{error}");
    }
    for shown in ["Did not let it read .env", "Did not let it write .env", "Did not run for x"] {
        chat.nvim.poll_screen(shown);
    }
    let denied: Vec<_> =
        chat.transcript().into_iter().filter(|line| line.contains("Did not")).collect();
    assert_eq!(denied.len(), 5, "each once: {denied:?}");
    assert_eq!(std::fs::read_to_string(chat.path("a.txt")).unwrap(), "two\n");
}

/// Checks that the rules decide so.
fn is_decided(chat: &mut Chat, call: Json, option: &str) {
    let pending = ask(chat, call.clone());
    assert_eq!(chat.answer(pending), selected(option), "{call}");
}

/// Holds (Permission requests): A request that has a command is judged by that, whatever kind it calls itself, and by each field that may be the command or its folder.
#[test]
fn a_command_is_judged_as_one_whatever_it_calls_itself() {
    let mut chat = with_rules(&[
        "allow search",
        "allow read",
        "allow think",
        "allow edit",
        "allow execute ls *",
        "deny execute find *",
    ]);
    let call = |id: &str, kind: &str, input: Json| {
        json!({"toolCallId": id, "title": id, "kind": kind, "status": "pending", "rawInput": input,
            "locations": [{"path": "a.txt"}]})
    };
    for kind in ["search", "read", "think", "edit", "other"] {
        let find = json!({"command": "find . -name a.txt -exec ./evil x {} +"});
        is_decided(&mut chat, call(&format!("find as {kind}"), kind, find), "no");
        let evil = call(&format!("evil as {kind}"), kind, json!({"command": "./evil"}));
        is_asked(&mut chat, evil);
    }
    is_decided(&mut chat, call("ls", "search", json!({"command": "ls -la"})), "yes");
    for (id, input) in [
        ("two fields", json!({"command": "ls", "cmd": "./evil"})),
        ("the other way", json!({"cmd": "ls", "command": "./evil"})),
        ("a list", json!({"command": "ls", "commands": ["./evil now"]})),
        ("directory", json!({"command": "ls", "directory": "/"})),
        ("dir_path", json!({"command": "ls", "dir_path": "/tmp"})),
        ("two folders", json!({"command": "ls", "cwd": ".", "workdir": "/"})),
        ("home", json!({"command": "ls", "cwd": "~"})),
    ] {
        is_asked(&mut chat, call(id, "execute", input));
    }
}

/// Holds (Permission requests): A command that the agent does not tell is not allowed where rules tell commands apart.
#[test]
fn a_command_that_is_not_told_is_asked_about() {
    let mut chat = with_rules(&["allow execute", "deny execute rm *"]);
    is_asked(
        &mut chat,
        json!({"toolCallId": "x", "title": "ls", "kind": "execute", "status": "pending"}),
    );
    is_decided(&mut chat, run("y", "ls"), "yes");
}

/// Holds (Permission requests): A path that an agent may take for one elsewhere, such as `~/x`, is not allowed as one of the project.
#[test]
fn a_path_that_has_two_meanings_is_asked_about() {
    let mut chat = with_rules(&["allow edit", "allow read"]);
    is_decided(&mut chat, edit("plain", "a.txt"), "yes");
    is_decided(&mut chat, edit("within", "a~b/$c"), "yes");
    for path in ["~/x.txt", "~", "~root/x", "$HOME/x", "file:///etc/hosts", "%USERPROFILE%/x"] {
        is_asked(&mut chat, edit(path, path));
    }
    let diff = json!({"toolCallId": "d", "title": "Edit", "kind": "edit", "status": "pending",
        "content": [{"type": "diff", "path": "~/x.txt", "newText": "x"}]});
    is_asked(&mut chat, diff);
}
