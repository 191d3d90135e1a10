//! The example plugins of the help, as users copy them: taken from `doc/rat.txt` and run in real Neovim.

use crate::support::{Chat, repository, text, yes_or_no};
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt as _;

/// The code below a tag of the help.
fn example(name: &str) -> String {
    let help = std::fs::read_to_string(repository().join("doc/rat.txt")).unwrap();
    let (_, rest) = help.split_once(&format!("*rat-example-{name}*")).expect(name);
    let (_, code) = rest.split_once(">lua\n").expect(name);
    let (code, _) = code.split_once("\n<").expect(name);
    assert!(code.lines().count() <= 30, "{name} is long");
    code.to_owned()
}

/// Holds (Scripts in Lua): The help's picker of turns undoes the chosen one.
#[test]
fn the_picker_of_turns_undoes_the_chosen_one() {
    let mut chat = Chat::builder().file("a.txt", "old\n").in_turn();
    let path = chat.path("a.txt");
    chat.request("fs/write_text_file", json!({"path": path, "content": "new\n"})).unwrap();
    chat.end_turn("end_turn");
    chat.nvim.lua("vim.g.mapleader = ','", json!([]));
    chat.nvim.lua(&example("turns"), json!([]));
    let code = "
        vim.ui.select = function(items, opts, choose)
            if opts.prompt == 'Undo which turn?' then
                Offered = vim.tbl_map(opts.format_item, items)
                choose(items[1])
            else
                Asked = items
                choose(items[1], 1)
            end
        end";
    chat.nvim.lua(code, json!([]));
    chat.nvim.poll("the turn", |nvim| {
        nvim.feed("<Esc>,u");
        nvim.eval("Offered ~= nil and #Offered == 1") == json!(true)
    });
    let offered = chat.nvim.lua("return Offered[1]", json!([]));
    assert!(offered.as_str().unwrap().ends_with("  go"), "{offered}");
    chat.nvim.poll("the old text", |_| std::fs::read_to_string(&path).unwrap() == "old\n");
}

/// Holds (Scripts in Lua): The help's notification comes at the end of a turn.
#[test]
fn the_notification_comes_at_the_end_of_a_turn() {
    let mut chat = Chat::in_turn();
    let code = "
        Notified = {}
        local notify = vim.notify
        vim.notify = function(text, ...) table.insert(Notified, text) return notify(text, ...) end
        vim.fn.executable = function() return 1 end
        vim.system = function(command) Played = command end";
    chat.nvim.lua(code, json!([]));
    chat.nvim.lua(&example("turn-end"), json!([]));
    chat.end_turn("max_tokens");
    chat.nvim.poll("the notification", |nvim| {
        let all = nvim.lua("return Notified", json!([]));
        all.as_array().unwrap().contains(&json!("Chat 1: max_tokens"))
    });
    assert_eq!(chat.nvim.lua("return Played[1]", json!([])), json!("paplay"));
}

/// Holds (Scripts in Lua): The help's permission provider allows, rejects and asks.
#[test]
fn the_permission_provider_allows_rejects_and_asks() {
    let mut chat = Chat::in_turn();
    chat.nvim.lua(&example("provider"), json!([]));
    let (inside, outside) = (chat.path("a.txt"), "/etc/passwd");
    let call = |id: &str, kind: &str, fields: Json| {
        let mut call = json!({"toolCallId": id, "title": id, "kind": kind, "status": "pending"});
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"toolCall": call, "options": yes_or_no()})
    };
    let outcome = |chat: &mut Chat, params: Json| {
        let pending = chat.ask("session/request_permission", params);
        let answer = chat.answer(pending);
        let options = yes_or_no();
        let chosen = options
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["optionId"] == answer["outcome"]["optionId"]);
        chosen.unwrap()["kind"].clone()
    };
    let read = call("read", "read", json!({"locations": [{"path": inside}]}));
    assert_eq!(outcome(&mut chat, read), "allow_once");
    let push = call("push", "execute", json!({"rawInput": {"command": "git push -f"}}));
    assert_eq!(outcome(&mut chat, push), "reject_once");
    chat.nvim.poll_queue(&["I push myself."]);
    let both = json!({"locations": [{"path": inside}, {"path": outside}]});
    let pending = chat.ask("session/request_permission", call("both", "read", both));
    chat.nvim.poll("the request", |nvim| nvim.waiting() == 1);
    assert!(!chat.agent.is_answered(pending));
}

/// What stands in for the command of GitHub.
const GH: &str = r#"#!/bin/sh
case "$*" in
  "issue view 7") printf 'Crash on start\n' ;;
  "issue view"*) printf 'no such issue\n' >&2; exit 1 ;;
  *) printf '[{"number": 7, "title": "Crash"}]' ;;
esac
"#;

/// Holds (Scripts in Lua): The help's context provider offers issues and attaches the one that a prompt mentions.
#[test]
fn the_context_provider_offers_and_attaches_an_issue() {
    let mut chat = Chat::builder().takes(json!({"embeddedContext": true})).start();
    let gh = chat.nvim.folder().file("bin/gh", GH);
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = "vim.env.PATH = ... .. ':' .. vim.env.PATH";
    chat.nvim.lua(path, json!([gh.parent().unwrap()]));
    chat.nvim.lua(&example("context"), json!([]));
    chat.nvim.command("RatSend");
    chat.nvim.input("isee @issue:");
    chat.nvim.poll_screen("@issue:7");
    chat.nvim.input("<C-n><C-y><C-s>");
    let resource =
        json!({"uri": "context:issue:7", "mimeType": "text/markdown", "text": "Crash on start\n"});
    let sent = chat.sent();
    assert_eq!(sent, [text("see @issue:7"), json!({"type": "resource", "resource": resource})]);
    chat.nvim.send("and @issue:8");
    chat.nvim.poll_screen("@issue:8: no such issue");
}

/// What stands in for gpg: moves letters by thirteen places.
const GPG: &str = r#"#!/bin/sh
for file; do :; done
case "$*" in
  *--decrypt*) tr a-z n-za-m <"$file" ;;
  *) tr a-z n-za-m >"$file" ;;
esac
"#;

/// Holds (Scripts in Lua): The help's file providers read and write what is encrypted, and leave other files alone.
#[test]
fn the_file_providers_read_and_write_what_is_encrypted() {
    let mut chat =
        Chat::builder().file("a.gpg", "bar\ngjb\nguerr\n").file("b.txt", "plain\n").in_turn();
    let gpg = chat.nvim.folder().file("bin/gpg", GPG);
    std::fs::set_permissions(&gpg, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = "vim.env.PATH = ... .. ':' .. vim.env.PATH";
    chat.nvim.lua(path, json!([gpg.parent().unwrap()]));
    chat.nvim.lua(&example("file-provider"), json!([]));
    let read = |chat: &mut Chat, params: Json| {
        chat.request("fs/read_text_file", params).unwrap()["content"].clone()
    };
    let (secret, plain) = (chat.path("a.gpg"), chat.path("b.txt"));
    assert_eq!(read(&mut chat, json!({"path": secret})), "one\ntwo\nthree\n");
    assert_eq!(read(&mut chat, json!({"path": secret, "line": 2, "limit": 1})), "two");
    assert_eq!(read(&mut chat, json!({"path": plain})), "plain\n");
    let new = json!({"path": secret, "content": "four\n"});
    chat.request("fs/write_text_file", new).unwrap();
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "sbhe\n");
    let new = json!({"path": plain, "content": "plainer\n"});
    chat.request("fs/write_text_file", new).unwrap();
    assert_eq!(std::fs::read_to_string(&plain).unwrap(), "plainer\n");
}
