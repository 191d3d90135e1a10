//! `icons = "ascii"`: nothing of ours on the screen or in our buffers is anything else, in real Neovim.

use std::fs;

use crate::support::{Chat, Options};
use serde_json::{Value as Json, json};

/// What Neovim itself draws between windows and in folds.
const NEOVIM: &str = "vim.opt.fillchars = { vert = '|', horiz = '-', horizup = '+', horizdown = '+', vertleft = '+', vertright = '+', verthoriz = '+', fold = '-', diff = '-', foldopen = '-', foldclose = '+', foldsep = '|' }";

/// The texts that stand beside buffers: virtual ones, signs and the bars of windows.
const DRAWN: &str = r#"
local found = {}
local function note(place, text)
  if type(text) == "string" and text:find("[\128-\255]") then
    found[#found + 1] = place .. ": " .. text
  end
end
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_is_loaded(buf) then
    local name = vim.api.nvim_buf_get_name(buf)
    for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
      note(name, line)
    end
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
      note(name, mark[4].sign_text)
      for _, piece in ipairs(mark[4].virt_text or {}) do
        note(name, piece[1])
      end
      for _, line in ipairs(mark[4].virt_lines or {}) do
        for _, piece in ipairs(line) do
          note(name, piece[1])
        end
      end
    end
  end
end
for _, win in ipairs(vim.api.nvim_list_wins()) do
  note("winbar", vim.wo[win].winbar)
  local config = vim.api.nvim_win_get_config(win)
  for _, part in ipairs({ config.title or {}, config.footer or {} }) do
    for _, piece in ipairs(type(part) == "table" and part or { part }) do
      note("title", type(piece) == "table" and piece[1] or piece)
    end
  end
end
note("statusline", require("rat").statusline())
note("messages", vim.fn.execute("messages"))
return found
"#;

/// Every cell of the screen and everything that is drawn is ASCII.
fn expect_ascii(chat: &mut Chat, what: &str) {
    let found = chat.nvim.lua(DRAWN, json!([]));
    let is_empty = |found: &Json| {
        found
            .as_array()
            .map_or_else(|| found.as_object().is_some_and(serde_json::Map::is_empty), Vec::is_empty)
    };
    assert!(is_empty(&found), "{what}: {found:#}");
    let screen = chat.nvim.screen().text();
    let other: String = screen.chars().filter(|character| !character.is_ascii()).collect();
    assert!(other.is_empty(), "{what}: {other}\n{screen}");
}

fn start() -> Chat {
    let options = Options { init: NEOVIM.to_owned(), ..Options::wide() };
    Chat::builder()
        .options(options)
        .setup(json!({"icons": "ascii"}))
        .file("a.txt", "one\ntwo\nthree\nfour\n")
        .start()
}

fn text(words: &str) -> Json {
    json!({"type": "content", "content": {"type": "text", "text": words}})
}

/// Holds (Windows and views): With `icons = "ascii"` nothing of ours is drawn in other characters: chat, cards, choosers, forms, pages, signs.
#[test]
fn a_whole_conversation_is_ascii() {
    let mut chat = start();
    chat.nvim.command("edit a.txt");
    chat.prompt("go");
    chat.think("Hm.\nLet me see.");
    chat.say("# Plan\n\n- first\n  - within\n\n> quoted\n\n```lua\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n");
    let entry = |content, status| json!({"content": content, "priority": "high", "status": status});
    let entries = [entry("A", "completed"), entry("B", "in_progress"), entry("C", "pending")];
    chat.update(json!({"sessionUpdate": "plan", "entries": entries}));
    let path = chat.path("a.txt");
    let long = "row\n".repeat(60);
    for (number, status) in ["pending", "in_progress", "completed", "failed"].iter().enumerate() {
        let diff = json!({"type": "diff", "path": path, "oldText": "one\ntwo\nthree\nfour\n", "newText": "1\ntwo\nthree\n4\n"});
        chat.tool_call(json!({"toolCallId": format!("c{number}"), "title": "Work", "kind": "edit", "status": status,
            "rawInput": {"command": "make all"}, "locations": [{"path": path, "line": 1}], "content": [text(&long), diff]}));
    }
    let link = json!({"type": "resource_link", "uri": "https://example.com/a", "name": "a", "size": 3000,
        "annotations": {"audience": ["user"], "priority": 0.5}});
    chat.update(json!({"sessionUpdate": "agent_message_chunk", "content": link}));
    chat.update(json!({"sessionUpdate": "usage_update", "used": 5, "size": 10, "cost": {"amount": 1.5, "currency": "EUR"}}));
    chat.nvim.poll_screen("50%");
    expect_ascii(&mut chat, "a turn");
    chat.nvim.send("a prompt for later");
    chat.nvim.poll_queue(&["a prompt for later"]);
    expect_ascii(&mut chat, "a queue");
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"}]);
    let call = json!({"toolCallId": "p", "title": "Run it", "kind": "execute",
        "rawInput": {"command": "line\n".repeat(80)}, "content": [text(&long)]});
    let pending = chat.ask_permission(call, options);
    chat.nvim.poll_screen("ga allow once");
    expect_ascii(&mut chat, "a card that asks");
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("<CR> choose");
    expect_ascii(&mut chat, "a chooser");
    chat.nvim.dismiss();
    chat.nvim.command("RatDeny");
    chat.answer(pending);
    chat.nvim.poll_screen("x No");
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "description": "Of it."},
        "kind": {"type": "string", "title": "Kind", "oneOf": [{"const": "lib", "title": "A library"}]}}});
    let asks = json!({"mode": "form", "message": "Which one?", "requestedSchema": schema});
    let form = chat.ask("elicitation/create", asks);
    chat.nvim.poll_screen(":RatForm");
    expect_ascii(&mut chat, "a card with a form");
    chat.nvim.command("RatForm");
    chat.nvim.poll_screen("ga send");
    chat.nvim.input("ga");
    expect_ascii(&mut chat, "a form");
    chat.nvim.input("gc");
    chat.answer(form);
    let write = json!({"path": path, "content": "zero\none\n2\nthree\n"});
    chat.request("fs/write_text_file", write).unwrap();
    chat.nvim.lua("require('rat').send('', {})", json!([]));
    chat.nvim.command("RatCancel");
    chat.end_turn("cancelled");
    chat.nvim.poll_screen("ready, cancelled");
    chat.nvim.enter(path.to_str().unwrap());
    chat.nvim.poll("the signs", |nvim| {
        let marks = "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('rat_pending'), 0, -1, {})";
        nvim.lua(marks, json!([])).as_u64().is_some_and(|count| count > 0)
    });
    expect_ascii(&mut chat, "pending lines");
    for (command, shown) in [
        ("RatReview", "1 file"),
        ("RatChats", "ready"),
        ("RatInfo", "protocol"),
        ("RatTrace", "- trace"),
        ("RatRules", "rule"),
        ("RatPlan", "Plan"),
        ("RatTools", "Tool calls"),
        ("RatQueue", "Queue of"),
    ] {
        chat.nvim.command(command);
        chat.nvim.poll_screen(shown);
        expect_ascii(&mut chat, command);
        chat.nvim.command("silent! quit");
    }
    chat.nvim.command("RatUndo");
    chat.nvim.poll_screen("<CR> choose");
    expect_ascii(&mut chat, "the plan of an undo");
    chat.nvim.dismiss();
    chat.nvim.lua(
        "vim.notify_once = nil require('rat.util.notify').warn(...)",
        json!(["long ".repeat(200)]),
    );
    chat.nvim.poll_screen("long long");
    expect_ascii(&mut chat, "a long message");
    assert_eq!(fs::read_to_string(path).unwrap(), "zero\none\n2\nthree\n");
}
