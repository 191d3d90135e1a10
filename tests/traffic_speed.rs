//! What 100 MB of traffic cost: they are saved whole and filtered while Neovim is never kept from other things. The figures go to
//! stderr.

use std::fs;
use std::io::Write as _;

use crate::support::{Amount, Chat, DEADLINE, TempFolder, Work, poll_for};
use serde_json::json;

/// So many messages
const MESSAGES: usize = 400;
/// with so many bytes each,
const SIZE: usize = 256 << 10;
/// after which the agent waits until they are drawn.
const TOGETHER: usize = 20;

/// The most work that a key may have to wait for.
const MOST: Amount = Amount { steps: 50_000, calls: 1_100, bytes: 210_000 };

/// The most messages that are shown at once; one frame may bring a few such pieces.
const MOST_SHOWN: u64 = 60;

/// Counts them.
const COUNT: &str = r#"
    local trace_page = require("rat.view.trace_page")
    local arrived = trace_page.arrived
    MostShown = 0
    trace_page.arrived = function(payload)
      MostShown = math.max(MostShown, #payload.items)
      arrived(payload)
    end"#;

/// A debug build takes several times as long as the one that users have.
const SLOWER: u32 = if cfg!(debug_assertions) { 6 } else { 1 };

fn expect_small_pieces(chat: &mut Chat, what: &str, command: &str, is_done: &str) {
    Work::begin(&mut chat.nvim);
    chat.nvim.command(command);
    let done = poll_for(DEADLINE * SLOWER, || (chat.nvim.eval(is_done) == true).then_some(()));
    assert!(done.is_some(), "{what}: {}", chat.nvim.log());
    let work = Work::stop(&mut chat.nvim);
    // A figure that cannot be shown is no failure.
    let _ = writeln!(std::io::stderr(), "{what}: {work}");
    work.expect_pieces_within(what, MOST);
}

/// Holds (Traffic): 100 MB of traffic are saved whole and filtered in small pieces of work for Neovim.
#[test]
fn a_hundred_megabytes_are_saved_and_filtered_in_small_pieces() {
    let _alone = crate::alone();
    let mut chat = Chat::in_turn();
    chat.nvim.lua(COUNT, json!([]));
    Work::prepare(&mut chat.nvim);
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
    expect_small_pieces(&mut chat, "saving 100 MB", &save, saved);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.len() > MESSAGES * SIZE * 9 / 10 && !text.contains("\"missing\""));
    let updates = text.lines().filter(|line| line.contains("\"title\":\"call ")).count();
    assert_eq!(updates, MESSAGES);
    let shows = |what: &str| {
        format!(
            "(vim.fn.bufnr('rat://fake/1/trace') > 0 and table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('rat://fake/1/trace'), 0, -1, false), '\\n') or ''):find('{what}', 1, true) ~= nil"
        )
    };
    expect_small_pieces(&mut chat, "filtering 100 MB", "RatTrace needle", &shows("· needle"));
    let last = format!("call {}", MESSAGES - 1);
    expect_small_pieces(&mut chat, "showing 100 MB", "RatTrace tool_call", &shows(&last));
    let most = chat.nvim.eval("MostShown").as_u64().unwrap();
    assert!((1..=MOST_SHOWN).contains(&most), "{most} messages at once");
}
