//! What a review asks of Neovim with 20,000 pending hunks: opening it, and deciding on one of them. The figures go to stderr; how
//! long it takes is measured by `make bench-pauses`.

use std::fs;
use std::io::Write as _;

use crate::support::{Amount, Chat, DEADLINE, Work, poll_for};
use serde_json::json;

/// A review of so many files
const FILES: usize = 500;
/// with so many hunks in each,
const HUNKS: usize = 40;
/// one in so many lines.
const EVERY: usize = 10;
/// How often a page is opened, and a hunk decided on.
const ROUNDS: usize = 3;

/// The most work that a key may have to wait for: of one piece of a page,
const PIECE: Amount = Amount { steps: 270_000, calls: 1_200, bytes: 600_000 };
/// and where every hunk that is left moves by a decision, which is a number for each.
const DECISION: Amount = Amount { steps: 3_000_000, calls: 600, bytes: 500_000 };
/// A decision is followed by a few more pieces of work, not by one for each hunk.
const DECISION_CALLS: u64 = 2_000;
/// Each line of a page goes through three of the functions that are counted: as a part of a frame, of a message, and as a line.
const TIMES_EACH_LINE: u64 = 3;

/// Notes that the last piece of a review is there, and that a decision is told. `Signs` counts without being counted.
const SETUP: &str = r#"
    local list = require("rat.review.list")
    local arrived = list.arrived
    Done = {}
    list.arrived = function(payload)
      arrived(payload)
      Done.review = Done.review or payload.last
    end
    local notify = require("rat.util.notify")
    local info = notify.info
    notify.info = function(text)
      Done.decision = Done.decision or text:find("^Accepted") or text:find("^Rejected")
      info(text)
    end
    local marks = vim.api.nvim_buf_get_extmarks
    function Signs()
      return #marks(0, vim.api.nvim_get_namespaces().rat_pending or -1, 0, -1, {})
    end"#;

/// A text whose every tenth line an agent changes.
fn text(lines: usize, changed: bool) -> String {
    let line = |number: usize| match number % EVERY {
        4 if changed => format!("let changed_{number} = compute(\"{number}\");\n"),
        _ => format!("let value_{number} = compute({number});\n"),
    };
    (0..lines).map(line).collect()
}

fn note(figures: &str) {
    // A figure that cannot be shown is no failure.
    let _ = writeln!(std::io::stderr(), "{figures}");
}

/// Runs a command and waits until this is done and the expression says so.
fn work_of(chat: &mut Chat, command: &str, done: &str, also: &str, most: Amount) -> Work {
    chat.nvim.lua("Done = {}", json!([]));
    Work::begin(&mut chat.nvim);
    chat.nvim.command(command);
    let is_done = format!("not not (Done.{done} and {also})");
    let there = poll_for(DEADLINE, || (chat.nvim.eval(&is_done) == true).then_some(()));
    assert!(there.is_some(), "{command}: {}", chat.nvim.log());
    let work = Work::stop(&mut chat.nvim);
    note(&format!("{command}: {work}"));
    work.expect_pieces_within(command, most);
    work
}

/// Holds (Review): A review of 500 files with 20,000 hunks opens in small pieces of work for Neovim, and each of its lines is set once.
#[test]
fn twenty_thousand_hunks_in_five_hundred_files_are_shown_in_small_pieces() {
    let _alone = crate::alone();
    let mut builder = Chat::builder();
    for number in 0..FILES {
        builder = builder.file(&format!("src/{number}.rs"), text(HUNKS * EVERY, false));
    }
    let mut chat = builder.start();
    chat.nvim.lua(SETUP, json!([]));
    chat.prompt("change them all");
    chat.nvim.poll_state("running");
    chat.tool_call(json!({"toolCallId": "c1", "title": "sed", "kind": "execute",
        "status": "in_progress"}));
    for number in 0..FILES {
        fs::write(chat.path(&format!("src/{number}.rs")), text(HUNKS * EVERY, true)).unwrap();
    }
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    // They are listed once the turn is kept.
    chat.nvim.command("RatTurns");
    chat.nvim.poll_screen("Turns that changed files");
    chat.nvim.input("<Esc>");
    let title = format!("{FILES} files, {} hunks", FILES * HUNKS);
    Work::prepare(&mut chat.nvim);
    let mut works = vec![work_of(&mut chat, "RatReview", "review", "true", PIECE)];
    chat.nvim.poll_screen(&title);
    for _ in 0..ROUNDS {
        chat.nvim.command("bwipeout! rat://review");
        works.push(work_of(&mut chat, "RatReview", "review", "true", PIECE));
    }
    // Opened again, where all lines of before have to go.
    chat.nvim.command("tabclose");
    works.push(work_of(&mut chat, "RatReview", "review", "true", PIECE));
    let page = chat.nvim.buffer_lines("rat://review");
    let bytes: u64 = page.iter().map(|line| line.len() as u64).sum();
    note(&format!("{title}, {} rows, {bytes} bytes", page.len()));
    for work in works {
        // A little more is to open the page.
        let most = bytes * TIMES_EACH_LINE + bytes / 4;
        assert!(work.all.bytes <= most, "of a page of {bytes} bytes: {work}");
    }
}

/// Holds (Review): A decision on one of 20,000 hunks in a file is a few small pieces of work for Neovim.
#[test]
fn one_of_twenty_thousand_hunks_is_decided_on_in_small_pieces() {
    let _alone = crate::alone();
    let lines = FILES * HUNKS * EVERY;
    let mut chat = Chat::builder().file("large.rs", text(lines, false)).in_turn();
    chat.nvim.command("wincmd t | edit large.rs");
    chat.nvim.lua(SETUP, json!([]));
    let path = chat.path("large.rs");
    let content = text(lines, true);
    chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.poll("all signs", |nvim| nvim.eval("Signs()") == json!(FILES * HUNKS));
    Work::prepare(&mut chat.nvim);
    for round in 1..=ROUNDS {
        let (line, left) = (round * 10_000 + 5, FILES * HUNKS + 1 - 2 * round);
        for (line, verb, left) in [(line, "Accept", left), (line + 2_000, "Reject", left - 1)] {
            let signs = format!("Signs() == {left}");
            let command = format!("{line}Rat{verb}");
            let work = work_of(&mut chat, &command, "decision", &signs, DECISION);
            assert!(work.all.calls <= DECISION_CALLS, "{verb}: {work}");
        }
    }
}
