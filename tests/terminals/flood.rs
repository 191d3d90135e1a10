//! A command that writes without end: neither Neovim nor the bridge stall or grow by it. The figures go to stderr.

use crate::support::{Amount, Chat, Work};
use std::io::Write;

/// The most work that a key may have to wait for.
const MOST: Amount = Amount { steps: 60_000, calls: 1_100, bytes: 300_000 };

/// What a command writes, in bytes: a hundred megabytes, or what a build without optimisation reads in as long.
const FLOOD: usize = if cfg!(debug_assertions) { 20_000_000 } else { 100_000_000 };

fn note(figures: &str) {
    // Fails only where nobody reads.
    let _ = writeln!(std::io::stderr(), "{figures}");
}

/// Memory in use, in MiB (`man 5 proc`).
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Has a command write into the card of its call, and into a terminal buffer where there is one. Expects that Neovim does
/// nothing large in one piece.
fn flood(chat: &mut Chat, call: &str, in_buffer: bool) {
    let line = r"\033[32m0123456789 0123456789 0123456789 0123456789\033[0m";
    let terminal = chat.script(&format!(
        "until test -e gate; do sleep 0.02; done; yes \"$(printf '{line}')\" | head -c {FLOOD}; \
         echo; echo the end of {call}"
    ));
    chat.show(call, call, &[&terminal]);
    chat.poll_line("running · <CR> opens it");
    let mut name = String::new();
    if in_buffer {
        super::shown::go_to(chat, "running");
        chat.nvim.input("<CR>");
        // Each has a number of its own.
        name = chat.nvim.poll_for("the terminal", |nvim| {
            let name = nvim.eval("vim.api.nvim_buf_get_name(0)");
            let name = name.as_str().unwrap();
            name.starts_with("rat://fake/1/terminal/").then(|| name.to_owned())
        });
    }
    let wait = chat.ask_terminal("wait_for_exit", &terminal);
    Work::begin(&mut chat.nvim);
    let gate = chat.nvim.file("gate", "");
    // Nothing is asked of Neovim meanwhile.
    chat.answer(wait);
    chat.poll_line(&format!("the end of {call}"));
    let work = Work::stop(&mut chat.nvim);
    note(&format!("a flood in a {call}: {work}"));
    work.expect_pieces_within(call, MOST);
    if in_buffer {
        chat.nvim.poll("the end in the terminal", |nvim| {
            nvim.buffer_lines(&name).iter().any(|line| line == &format!("the end of {call}"))
        });
        chat.nvim.command("bwipeout!");
    }
    std::fs::remove_file(gate).unwrap();
    chat.on_terminal("release", &terminal).unwrap();
}

/// ACP 110.
/// First into a card, and then into a terminal buffer, too.
/// Holds (Terminals): 100 MB of output come to Neovim in small pieces of work, and memory does not grow without bound.
#[test]
fn a_flood_neither_stalls_nor_grows_without_end() {
    let mut chat = Chat::in_turn();
    let (nvim, bridge) = (chat.nvim.pid(), chat.nvim.binary());
    let before = (memory(nvim), memory(bridge));
    Work::prepare(&mut chat.nvim);
    flood(&mut chat, "card", false);
    let after_card = (memory(nvim), memory(bridge));
    flood(&mut chat, "buffer", true);
    let after = (memory(nvim), memory(bridge));
    note(&format!("MiB of Neovim and the bridge: {before:?}, {after_card:?}, {after:?}"));
    assert!(after_card.0 < before.0 + 48, "Neovim grew to {} MiB", after_card.0);
    assert!(after.0 < before.0 + 192, "Neovim grew to {} MiB", after.0);
    assert!(after.1 < before.1 + 32, "the bridge grew to {} MiB", after.1);
}
