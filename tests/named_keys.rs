//! What our words name: the keys as the user has them, and why a turn ended, in real Neovim.

use crate::support::{Chat, Pending, yes_or_no};
use serde_json::{Value as Json, json};

fn asks(chat: &mut Chat, content: Json) -> Pending {
    let call = json!({"toolCallId": "c", "title": "Run it", "kind": "execute",
        "rawInput": {"command": "make"}, "content": content});
    chat.ask_permission(call, yes_or_no())
}

/// Holds (Prompts and keys): Cards, bars, forms and comparisons name the keys that the user has chosen, and commands where they want none.
#[test]
fn keys_are_named_as_the_user_has_them() {
    let keys = json!({"ga": "<leader>y", "gr": false, "gd": "gD", "gA": false, "g1": "<leader>1",
        "<CR>": "<Tab>", "q": "Q", "g?": "<F1>"});
    let mut chat = Chat::builder().setup(json!({"keys": keys})).file("a.txt", "one\n").start();
    chat.prompt("go");
    let pending = asks(&mut chat, json!([]));
    chat.nvim.poll_screen("<leader>y allow once · :RatDeny");
    chat.nvim.poll_screen("[<leader>1]");
    let shown = chat.transcript().join("\n");
    assert!(!["ga allow", "gr reject", "gA rule"].iter().any(|key| shown.contains(key)), "{shown}");
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny");
    chat.answer(pending);
    let path = chat.path("a.txt");
    let diff = json!([{"type": "diff", "path": path, "oldText": "one\n", "newText": "two\n"}]);
    let pending = asks(&mut chat, diff);
    chat.nvim.poll_screen("gD diff");
    chat.nvim.dismiss();
    chat.go_to("Run it");
    chat.nvim.input("GgD");
    chat.nvim.poll_screen("<leader>y allow");
    chat.nvim.poll_screen("<F1> keys");
    assert!(!chat.nvim.screen().text().contains("gr reject"));
    chat.nvim.input("Q");
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny");
    chat.answer(pending);
    let content =
        json!([{"type": "content", "content": {"type": "text", "text": "row\n".repeat(100)}}]);
    chat.tool_call(
        json!({"toolCallId": "d", "title": "List", "status": "completed", "content": content}),
    );
    chat.nvim.poll_screen("100 lines");
    let shown = chat.transcript().join("\n");
    assert!(shown.contains("· <Tab> shows all"), "{shown}");
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}});
    let asks = json!({"mode": "form", "message": "Which one?", "requestedSchema": schema});
    let form = chat.ask("elicitation/create", asks);
    chat.nvim.poll_screen("<Tab> fill in · :RatForm");
    chat.nvim.command("RatForm");
    chat.nvim.poll_screen("<leader>y send");
    assert!(!chat.nvim.screen().text().contains("gr decline"));
    chat.nvim.input("gc");
    chat.answer(form);
}

/// Holds (Turns): Why the last turn ended is in the winbar, the statusline and `status()`, unless the agent was finished.
#[test]
fn why_the_last_turn_ended_is_shown() {
    let mut chat = Chat::start();
    let bar = "return vim.api.nvim_eval_statusline(vim.wo[vim.fn.bufwinid('rat://fake/1')].winbar, { maxwidth = 60 }).str";
    for (reason, words) in [
        ("max_tokens", "ready, token limit"),
        ("end_turn", "ready"),
        ("max_turn_requests", "ready, request limit"),
        ("refusal", "ready, refused"),
        ("tired of\nall this", "ready, tired of all this"),
        ("cancelled", "ready, cancelled"),
    ] {
        chat.prompt("go");
        chat.nvim.poll_state("running");
        assert_eq!(chat.nvim.status()["stop_reason"], Json::Null, "a turn runs");
        chat.say("Well.");
        chat.end_turn(reason);
        chat.nvim.poll("the reason", |nvim| {
            nvim.status()["stop_reason"] == json!(reason.replace('\n', " "))
        });
        let line = chat.nvim.eval("require('rat').statusline()").to_string();
        assert!(line.contains(&format!("fake {words}")), "{line}");
        chat.nvim.poll("the winbar", |nvim| {
            let bar = nvim.lua(bar, json!([])).to_string();
            bar.contains(words) && (words != "ready" || !bar.contains("ready,"))
        });
        if reason == "refusal" {
            chat.nvim.command("RatQueue");
            chat.nvim.command("quit");
        }
    }
    let request = chat.prompt("go");
    chat.agent.reply_error(&request, -32603, "out of order");
    chat.nvim.poll_screen("ready, failed");
    assert_eq!(chat.nvim.status()["stop_reason"], json!("error"));
}

/// Holds (Review): Lines that are new and lines that have changed have different signs, also without colours.
#[test]
fn added_and_changed_lines_have_different_signs() {
    let mut chat = Chat::builder().file("a.txt", "1\n2\n3\n4\n5\n6\n7\n").start();
    chat.nvim.command("edit a.txt");
    chat.prompt("go");
    let write = json!({"path": chat.path("a.txt"), "content": "0\n1\ntwo\n3\n4\n6\n7\n"});
    chat.request("fs/write_text_file", write).unwrap();
    let signs = "return vim.tbl_map(function(mark) return { mark[2], vim.trim(mark[4].sign_text) } end, vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('a.txt'), vim.api.nvim_create_namespace('rat_pending'), 0, -1, { details = true }))";
    chat.nvim.poll("three signs", |nvim| {
        nvim.lua(signs, json!([])) == json!([[0, "┃"], [2, "┇"], [4, "▁"]])
    });
}
