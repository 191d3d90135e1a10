//! What is asked one after the other: a prompt that waits for the turn before it finds what that has left, and requests for
//! one file are carried out in order.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::json;
use support::{Nvim, Options};

/// Buffers follow one by one: until then, what the agent wrote to disk looks as if the user had taken it back.
#[test]
fn a_queued_prompt_waits_until_buffers_have_followed_the_turn_before() {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let paths = ["held.txt", "a.txt"].map(|name| {
        let path = nvim.folder().file(&format!("project/{name}"), "1\n2\n3\n");
        let path = path.canonicalize().unwrap();
        let code = "
            local buf = vim.fn.bufadd(...)
            vim.fn.bufload(buf)
            vim.api.nvim_buf_set_lines(buf, 2, 3, false, { 'mine' })";
        nvim.lua(code, json!([path]));
        path
    });
    let mut agent = nvim.start_agent();
    agent.handshake();
    nvim.poll_state("ready");
    nvim.send("first");
    let first = agent.expect_request("session/prompt");
    nvim.send("second");
    // The one before it in the list cannot be changed just now.
    let code = "
        local buffers = require('rat.buffers')
        local adopt, held = buffers.adopt, ...
        _G.tries = 0
        buffers.adopt = function(buf, ...)
          if _G.tries < 15 and vim.api.nvim_buf_get_name(buf) == held then
            _G.tries = _G.tries + 1
            return { busy = true }
          end
          return adopt(buf, ...)
        end";
    nvim.lua(code, json!([paths[0]]));
    for path in paths {
        std::fs::write(path, "agent\n2\n3\n").unwrap();
    }
    agent.reply(&first, json!({"stopReason": "end_turn"}));
    let second = agent.expect_request("session/prompt");
    let said = second.params["prompt"].to_string();
    assert!(said.contains("+mine"), "{said}");
    assert!(!said.contains("-agent"), "what the agent wrote is not taken back: {said}");
    assert_eq!(nvim.lua("return _G.tries", json!([])), json!(15));
}

#[test]
fn requests_for_one_file_are_carried_out_in_the_order_sent() {
    let mut nvim = Nvim::plain();
    let path = nvim.folder().file("project/a.txt", "0\n");
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("go");
    agent.expect_request("session/prompt");
    let mut sent = Vec::new();
    for number in 1..=40 {
        let mut params = json!({"sessionId": session, "path": path});
        let read = agent.ask("fs/read_text_file", params.clone());
        params["content"] = json!(format!("{number}\n"));
        sent.push((number - 1, read, agent.ask("fs/write_text_file", params)));
    }
    for (before, read, write) in sent {
        let text = json!({"content": format!("{before}\n")});
        assert_eq!(agent.expect_answer(read).unwrap(), text);
        agent.expect_answer(write).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "40\n");
}
