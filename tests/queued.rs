//! What is asked one after the other: a prompt that waits for the turn before it finds what that has left, and requests for
//! one file are carried out in order.

use crate::support::{Chat, Nvim};
use serde_json::json;

/// Buffers follow one by one: until then, what the agent wrote to disk looks as if the user had taken it back.
/// Holds (Prompt context): A queued prompt waits until buffers have followed the turn before it.
#[test]
fn a_queued_prompt_waits_until_buffers_have_followed_the_turn_before() {
    let mut nvim = Nvim::wide();
    let paths = ["held.txt", "a.txt"].map(|name| {
        let path = nvim.file(name, "1\n2\n3\n");
        let code = "
            local buf = vim.fn.bufadd(...)
            vim.fn.bufload(buf)
            vim.api.nvim_buf_set_lines(buf, 2, 3, false, { 'mine' })";
        nvim.lua(code, json!([path]));
        path
    });
    let mut chat = Chat::builder().neovim(nvim).start();
    chat.prompt("first");
    chat.nvim.send("second");
    // The one before it in the list cannot be changed just now.
    let code = "
        local buffers = require('rat.document.buffers')
        local follow_disk, held = buffers.follow_disk, ...
        _G.tries = 0
        buffers.follow_disk = function(buf, ...)
          if _G.tries < 15 and vim.api.nvim_buf_get_name(buf) == held then
            _G.tries = _G.tries + 1
            return { busy = true }
          end
          return follow_disk(buf, ...)
        end";
    chat.nvim.lua(code, json!([paths[0]]));
    for path in paths {
        std::fs::write(path, "agent\n2\n3\n").unwrap();
    }
    chat.end_turn("end_turn");
    let second = chat.expect_prompt();
    let said = second.params["prompt"].to_string();
    assert!(said.contains("+mine"), "{said}");
    assert!(!said.contains("-agent"), "what the agent wrote is not taken back: {said}");
    assert_eq!(chat.nvim.eval("_G.tries"), json!(15));
}

/// Holds (Writing files): Requests for one file are carried out in the order sent.
#[test]
fn requests_for_one_file_are_carried_out_in_the_order_sent() {
    let mut chat = Chat::builder().file("a.txt", "0\n").in_turn();
    let path = chat.path("a.txt");
    let mut sent = Vec::new();
    for number in 1..=40 {
        let read = chat.ask("fs/read_text_file", json!({"path": path}));
        let text = format!("{number}\n");
        let write = chat.ask("fs/write_text_file", json!({"path": path, "content": text}));
        sent.push((number - 1, read, write));
    }
    for (before, read, write) in sent {
        let text = json!({"content": format!("{before}\n")});
        assert_eq!(chat.answer(read), text);
        chat.answer(write);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "40\n");
}
