//! What 100 MB of traffic cost: they are saved whole and filtered while Neovim is never kept from other things. Bounds are wide,
//! for debug builds and busy machines; the figures go to stderr.

use std::fs;
use std::io::Write as _;
use std::time::Instant;

use crate::support::{CLOCK, Chat, DEADLINE, TempFolder, poll_for};
use serde_json::json;

/// So many messages
const MESSAGES: usize = 400;
/// with so many bytes each,
const SIZE: usize = 256 << 10;
/// after which the agent waits until they are drawn.
const TOGETHER: usize = 20;

/// Neovim must not be kept from other things for longer, in milliseconds.
const STALL: f64 = if cfg!(debug_assertions) { 24.0 } else { 16.0 };

/// A debug build takes several times as long as the one that users have.
const SLOWER: u32 = if cfg!(debug_assertions) { 6 } else { 1 };

/// Notes the longest time in which nothing else ran. It goes after `CLOCK`.
const WATCH: &str = r"
    Watch = { gap = 0 }
    local timer = vim.uv.new_timer()
    function Watch.start()
      local last = clock()
      Watch.gap = 0
      timer:start(0, 1, function()
        local now = clock()
        Watch.gap, last = math.max(Watch.gap, now - last), now
      end)
    end
    function Watch.stop()
      timer:stop()
      return Watch.gap / 1e6
    end";

fn measured(chat: &mut Chat, what: &str, command: &str, is_done: &str) {
    chat.nvim.lua("Watch.start()", json!([]));
    let began = Instant::now();
    chat.nvim.command(command);
    let done = poll_for(DEADLINE * SLOWER, || (chat.nvim.eval(is_done) == true).then_some(()));
    assert!(done.is_some(), "{what}: {}", chat.nvim.log());
    let gap = chat.nvim.lua("return Watch.stop()", json!([])).as_f64().unwrap();
    // A figure that cannot be shown is no failure.
    let _ = writeln!(std::io::stderr(), "{what}: {:?}, longest stall {gap:.1} ms", began.elapsed());
    assert!(gap <= STALL, "{what} kept Neovim from other things for {gap:.1} ms");
}

/// Holds (Traffic): 100 MB of traffic are saved whole and filtered without holding up Neovim.
#[test]
fn a_hundred_megabytes_are_saved_and_filtered_without_a_stall() {
    let _alone = crate::alone();
    let mut chat = Chat::in_turn();
    chat.nvim.lua(&format!("{CLOCK}{WATCH}"), json!([]));
    for number in 0..MESSAGES {
        let output = format!("number {number}. ").repeat(SIZE / format!("number {number}. ").len());
        chat.tool_call(json!({"toolCallId": "c1", "title": format!("call {number}"),
            "kind": "execute", "status": "in_progress", "rawOutput": output}));
        if number % TOGETHER == TOGETHER - 1 {
            chat.nvim.poll_screen(&format!("call {number}"));
        }
    }
    chat.say("needle");
    chat.end_turn("end_turn");
    let folder = TempFolder::new();
    let file = folder.path().join("session.jsonl");
    let save = format!("RatTrace save {}", file.display());
    let saved = "vim.fn.execute('messages'):find('Saved the traffic as') ~= nil";
    measured(&mut chat, "saving 100 MB", &save, saved);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.len() > MESSAGES * SIZE * 9 / 10 && !text.contains("\"missing\""));
    let updates = text.lines().filter(|line| line.contains("\"title\":\"call ")).count();
    assert_eq!(updates, MESSAGES);
    let shows = |what: &str| {
        format!(
            "(vim.fn.bufnr('rat://fake/1/trace') > 0 and table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('rat://fake/1/trace'), 0, -1, false), '\\n') or ''):find('{what}', 1, true) ~= nil"
        )
    };
    measured(&mut chat, "filtering 100 MB", "RatTrace needle", &shows("· needle"));
    let last = format!("call {}", MESSAGES - 1);
    measured(&mut chat, "showing 100 MB", "RatTrace tool_call", &shows(&last));
}
