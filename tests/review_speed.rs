//! What a review costs with 20,000 pending hunks: opening it, and deciding on one of them. Bounds are wide, for debug builds
//! and busy machines; the figures go to stderr. `make bench` runs this with the release build.

use std::fs;
use std::io::Write as _;

use crate::support::{CLOCK, Chat, DEADLINE, poll_for};
use serde_json::{Value as Json, json};

/// A review of so many files
const FILES: usize = 500;
/// with so many hunks in each,
const HUNKS: usize = 40;
/// one in so many lines.
const EVERY: usize = 10;
/// How often each time is taken; the median counts.
const ROUNDS: usize = 5;

/// A debug build takes several times as long as the one that users have.
const SLOWER: f64 = if cfg!(debug_assertions) { 4.0 } else { 1.0 };
/// Neovim must not be kept from other things for longer, in milliseconds.
const STALL: f64 = if cfg!(debug_assertions) { 24.0 } else { 16.0 };

/// Notes when the first and the last piece of a review is there, and the longest time in which nothing else ran. It goes
/// after `CLOCK`.
const SETUP: &str = r#"
    vim.o.updatecount = 0
    local list = require("rat.review.list")
    local arrived = list.arrived
    Watch = {}
    list.arrived = function(payload)
      arrived(payload)
      Watch.first = Watch.first or clock()
      if payload.last then
        Watch.last = clock()
      end
    end
    local notify = require("rat.util.notify")
    local info = notify.info
    notify.info = function(text)
      if text:find("^Accepted") or text:find("^Rejected") then
        Watch.decided = Watch.decided or clock()
      end
      info(text)
    end
    local timer = vim.uv.new_timer()
    function Watch.run(command)
      local last = clock()
      Watch.gap, Watch.first, Watch.last, Watch.decided, Watch.changed = 0, nil, nil, nil, nil
      timer:start(0, 1, function()
        local now = clock()
        Watch.gap, last = math.max(Watch.gap, now - last), now
      end)
      Watch.began = clock()
      vim.cmd(command)
    end
    function Watch.figures()
      timer:stop()
      local ms = vim.tbl_map(function(time)
        return time and (time - Watch.began) / 1e6 or -1
      end, { Watch.first or false, Watch.last or false, Watch.decided or false, Watch.changed or false })
      ms[#ms + 1] = Watch.gap / 1e6
      return ms
    end
    function Watch.buffer()
      vim.api.nvim_buf_attach(0, false, {
        on_lines = function()
          Watch.changed = Watch.changed or clock()
        end,
      })
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

fn numbers(figures: &Json) -> Vec<f64> {
    figures.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
}

fn median(rounds: &[Vec<f64>], column: usize) -> f64 {
    let mut all: Vec<f64> = rounds.iter().map(|round| round[column]).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Runs a command and waits until this is noted.
fn run(chat: &mut Chat, command: &str, noted: &str) -> Vec<f64> {
    chat.nvim.lua("Watch.run(...)", json!([command]));
    let is_there = format!("Watch.{noted} ~= nil");
    let there = poll_for(DEADLINE, || (chat.nvim.eval(&is_there) == true).then_some(()));
    assert!(there.is_some(), "{command}: {}", chat.nvim.log());
    numbers(&chat.nvim.lua("return Watch.figures()", json!([])))
}

/// Holds (Review): A review of 500 files with 20,000 hunks opens at once and never holds up typing.
#[test]
fn twenty_thousand_hunks_in_five_hundred_files_are_shown_at_once() {
    let _alone = crate::alone();
    let mut builder = Chat::builder();
    for number in 0..FILES {
        builder = builder.file(&format!("src/{number}.rs"), text(HUNKS * EVERY, false));
    }
    let mut chat = builder.start();
    chat.nvim.lua(&format!("{CLOCK}{SETUP}"), json!([]));
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
    run(&mut chat, "RatReview", "last");
    chat.nvim.poll_screen(&title);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        chat.nvim.command("bwipeout! rat://review");
        rounds.push(run(&mut chat, "RatReview", "last"));
    }
    // Opened again, where all lines of before have to go.
    chat.nvim.command("tabclose");
    let again = run(&mut chat, "RatReview", "last");
    note(&format!("opened again: all after {:.0} ms, longest stall {:.1} ms", again[1], again[4]));
    let rows = chat.nvim.eval("vim.api.nvim_buf_line_count(vim.fn.bufnr('rat://review'))");
    let [first, whole, stall] = [0, 1, 4].map(|column| median(&rounds, column));
    note(&format!(
        "{title}, {rows} rows: first lines after {first:.0} ms, all after {whole:.0} ms, longest stall {stall:.1} ms"
    ));
    assert!(stall < STALL, "Neovim did nothing else for {stall} ms");
    assert!(whole < 400.0 * SLOWER, "the review was there after {whole} ms");
}

/// Holds (Review): A decision on one of 20,000 hunks in a file is made at once.
#[test]
fn one_of_twenty_thousand_hunks_is_decided_on_at_once() {
    let _alone = crate::alone();
    let lines = FILES * HUNKS * EVERY;
    let mut chat = Chat::builder().file("large.rs", text(lines, false)).in_turn();
    chat.nvim.command("wincmd t | edit large.rs");
    chat.nvim.lua(&format!("{CLOCK}{SETUP} Watch.buffer()"), json!([]));
    let path = chat.path("large.rs");
    let content = text(lines, true);
    chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let signs = "#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces().rat_pending or -1, 0, -1, {})";
    chat.nvim.poll("all signs", |nvim| nvim.eval(signs) == json!(FILES * HUNKS));
    let (mut kept, mut rejected) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let line = round * 10_000 + 5;
        kept.push(run(&mut chat, &format!("{line}RatAccept"), "decided"));
        let left = FILES * HUNKS + 1 - 2 * round;
        chat.nvim.poll("one sign less", |nvim| nvim.eval(signs) == json!(left));
        rejected.push(run(&mut chat, &format!("{}RatReject", line + 2_000), "decided"));
        chat.nvim.poll("one sign less", |nvim| nvim.eval(signs) == json!(left - 1));
    }
    let accept = median(&kept, 2);
    let [applied, reject] = [3, 2].map(|column| median(&rejected, column));
    let stall = median(&kept, 4).max(median(&rejected, 4));
    note(&format!(
        "a file with {} hunks: accepted after {accept:.1} ms; rejected: text {applied:.1} ms, saved and told {reject:.1} ms; \
         longest stall {stall:.1} ms",
        FILES * HUNKS
    ));
    assert!(accept < 60.0 * SLOWER, "accepted after {accept} ms");
    assert!(applied < 30.0 * SLOWER, "rejected after {applied} ms");
    assert!(stall < STALL, "Neovim did nothing else for {stall} ms");
}
