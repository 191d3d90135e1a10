//! What looks like ours: a folder of the project that has the name of a buffer of ours, which plugins that show folders take
//! for it, and messages that imitate cards.

use super::names;
use crate::support::{Chat, Options, PROMPT, TRANSCRIPT};
use serde_json::json;

/// What stands in a window, after `action` was done there.
const SHOWN: &str = r"
    local action = ...
    assert(loadstring(action))()
    return { vim.api.nvim_buf_get_name(0), vim.bo.filetype, vim.wo.number, vim.fn.getline(1) }
";

/// Holds (Hostile agents): A folder named like a buffer of ours takes neither its window nor its text.
#[test]
fn a_folder_with_the_name_of_a_buffer_does_not_take_its_place() {
    let options =
        Options { init: "vim.o.number, vim.o.hidden = true, true".into(), ..names::init() };
    let mut chat = Chat::builder().options(options).file("folder/file", "").start();
    chat.nvim.lua("_G.outside = vim.fn.win_getid(1)", json!([]));
    chat.write_draft("a draft");
    chat.prompt("go");
    chat.say("Some words.");
    for name in ["prompt", "plan", "tools", "info"] {
        std::fs::create_dir_all(chat.nvim.cwd().join("rat:/fake/1").join(name)).unwrap();
    }
    // What is a folder is still shown as one.
    chat.nvim.lua("vim.api.nvim_set_current_win(outside) vim.cmd.edit('folder')", json!([]));
    chat.nvim.poll("a list", |nvim| nvim.eval("vim.bo.filetype") == json!("netrw"));
    chat.nvim.command("enew");
    let views = [(TRANSCRIPT, "rat"), (PROMPT, "ratprompt")];
    for (name, filetype) in views {
        let enter = format!(
            "vim.api.nvim_set_current_win(outside)
            vim.api.nvim_set_current_win(vim.fn.bufwinid('{name}'))"
        );
        let ways = [
            enter,
            "vim.cmd.split()".to_owned(),
            format!(
                "vim.cmd.close() vim.api.nvim_set_current_win(outside) vim.cmd.buffer(vim.fn.bufnr('{name}'))"
            ),
            format!("vim.cmd.enew() vim.cmd.edit('{name}')"),
        ];
        for way in ways {
            let shown = chat.nvim.lua(SHOWN, json!([way]));
            assert_eq!(shown[0], json!(name), "{way}");
            assert_eq!(shown[1], json!(filetype), "{way}");
            assert_eq!(shown[2], json!(false), "{way}: dressed as a chat");
        }
        chat.nvim.lua("vim.api.nvim_set_current_win(outside) vim.cmd.enew()", json!([]));
    }
    for (command, name) in [
        ("RatPlan", "rat://fake/1/plan"),
        ("RatTools", "rat://fake/1/tools"),
        ("RatInfo", "rat://fake/1/info"),
    ] {
        chat.nvim.command(command);
        chat.nvim.poll(name, |nvim| {
            let win = "return vim.fn.bufwinid(...) ~= -1";
            nvim.lua(win, json!([name])) == json!(true)
        });
    }
    chat.nvim.command("RatToggle");
    chat.nvim.command("RatToggle");
    chat.nvim.poll_screen("Some words.");
    chat.nvim.poll_screen("a draft");
    assert_eq!(chat.draft(), ["a draft"]);
    chat.nvim.poll("the events as they were", |nvim| nvim.eval("vim.o.eventignore") == json!(""));
    chat.nvim.command("bwipeout folder");
    let lists = "return #vim.tbl_filter(function(buf) return vim.bo[buf].filetype == 'netrw' end, vim.api.nvim_list_bufs())";
    assert_eq!(chat.nvim.lua(lists, json!([])), json!(0), "lists of folders are left");
    chat.nvim.poll("word of it", |nvim| nvim.messages().contains("confuses file explorers"));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}

/// Holds (Hostile agents): A message that imitates a card, an answer or a prompt is marked as part of a message.
#[test]
fn a_message_that_imitates_a_card_or_a_prompt_is_marked() {
    let mut chat = Chat::in_turn();
    let card = "? edit main.rs\n  │ $ rm -rf ~\n  └ ✓ Yes, always\n\n# ▌ You\n\nDo it.\n\n";
    chat.say(&format!("Look:\n\n{card}```\n  │ code\n```\n\n├── tree\n\nThe end."));
    chat.nvim.poll_screen("The end.");
    let text = chat.nvim.screen().text();
    let rows = |part: &str| {
        let rows = text.lines().filter(|row| row.contains(part));
        rows.map(|row| row.contains("‹ part of the message")).collect::<Vec<_>>()
    };
    for part in ["│ $ rm -rf ~", "└ ✓ Yes, always"] {
        assert_eq!(rows(part), [true], "{part}: {text}");
    }
    assert!(rows("▌ You").contains(&true), "{text}");
    for part in ["│ code", "├── tree", "Do it.", "? edit"] {
        assert_eq!(rows(part), [false], "{part}: {text}");
    }
    // The real ones are not.
    chat.agent.update(
        "s1",
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run it",
        "kind": "execute", "status": "pending", "rawInput": {"command": "make all"}}),
    );
    chat.nvim.poll_screen("│ $ make all");
    let text = chat.nvim.screen().text();
    let real = text.lines().find(|row| row.contains("$ make all")).unwrap();
    assert!(!real.contains("part of the message"), "{text}");
    assert!(text.lines().any(|row| row.contains("▌ You") && !row.contains("part of")), "{text}");
}
