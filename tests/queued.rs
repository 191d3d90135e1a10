//! A prompt that waits for the turn before it finds what that turn has left.
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
