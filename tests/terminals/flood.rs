//! A command that writes without end: neither Neovim nor the bridge stall or grow by it. The figures go to stderr.

use crate::support::{CLOCK, Chat};
use serde_json::json;
use std::io::Write;
use std::time::{Duration, Instant};

/// Longest that Neovim may be kept from a key, in milliseconds, beyond what the machine itself does to it.
const LIMIT_MS: f64 = 16.0;

/// So often all of it happens: one run may be disturbed by others on the machine.
const ROUNDS: usize = 5;

/// What a command writes, in bytes: a hundred megabytes, or what a build without optimisation reads in as long.
const FLOOD: usize = if cfg!(debug_assertions) { 20_000_000 } else { 100_000_000 };

/// Notes how long nothing else ran, after `CLOCK`.
const WATCH: &str = r"
    local last = clock()
    _G.gap = 0
    _G.watch = _G.watch or vim.uv.new_timer()
    _G.watch:start(0, 1, function()
      local now = clock()
      _G.gap, last = math.max(_G.gap, now - last), now
    end)
";

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

/// Has a command write into the card of its call, and into a terminal buffer where there is one. Gives how long
/// Neovim was held up at most, in milliseconds.
fn flood(chat: &mut Chat, call: &str, in_buffer: bool) -> f64 {
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
    chat.nvim.lua(&format!("{CLOCK}{WATCH}"), json!([]));
    let gate = chat.nvim.file("gate", "");
    // Nothing is asked of Neovim meanwhile.
    chat.answer(wait);
    chat.poll_line(&format!("the end of {call}"));
    let gap = chat.nvim.lua("_G.watch:stop() return _G.gap / 1e6", json!([])).as_f64().unwrap();
    if in_buffer {
        chat.nvim.poll("the end in the terminal", |nvim| {
            nvim.buffer_lines(&name).iter().any(|line| line == &format!("the end of {call}"))
        });
        chat.nvim.command("bwipeout!");
    }
    std::fs::remove_file(gate).unwrap();
    chat.on_terminal("release", &terminal).unwrap();
    gap
}

/// How long a Neovim that has nothing to do is held up at most while another program is busy, in milliseconds.
fn machine(chat: &mut Chat, busy: Duration) -> f64 {
    chat.nvim.lua(&format!("{CLOCK}{WATCH}"), json!([]));
    let end = Instant::now() + busy;
    while Instant::now() < end {
        std::hint::black_box(());
    }
    chat.nvim.lua("_G.watch:stop() return _G.gap / 1e6", json!([])).as_f64().unwrap()
}

/// The shortest of the longest times Neovim was held up by it, over some floods.
fn best(chat: &mut Chat, what: &str, in_buffer: bool) -> f64 {
    let mut best = f64::INFINITY;
    for round in 0..ROUNDS {
        let begun = Instant::now();
        let gap = flood(chat, &format!("{what} {round}"), in_buffer);
        let machine = machine(chat, begun.elapsed());
        note(&format!("{what}: Neovim was held for {gap:.1} ms, idle for {machine:.1} ms"));
        best = best.min((gap - machine).max(0.0));
        if best <= LIMIT_MS {
            break;
        }
    }
    best
}

/// ACP 110.
/// First into a card, and then into a terminal buffer, too.
/// Holds (Terminals): 100 MB of output neither hold Neovim for 16 ms nor grow memory without bound.
#[test]
fn a_flood_neither_stalls_nor_grows_without_end() {
    let mut chat = Chat::in_turn();
    let (nvim, bridge) = (chat.nvim.pid(), chat.nvim.binary());
    let before = (memory(nvim), memory(bridge));
    let card = best(&mut chat, "card", false);
    let after_card = (memory(nvim), memory(bridge));
    let buffer = best(&mut chat, "buffer", true);
    let after = (memory(nvim), memory(bridge));
    note(&format!("MiB of Neovim and the bridge: {before:?}, {after_card:?}, {after:?}"));
    assert!(card <= LIMIT_MS, "a card held Neovim for {card} ms");
    assert!(buffer <= LIMIT_MS, "a terminal buffer held Neovim for {buffer} ms");
    assert!(after_card.0 < before.0 + 48, "Neovim grew to {} MiB", after_card.0);
    assert!(after.0 < before.0 + 192, "Neovim grew to {} MiB", after.0);
    assert!(after.1 < before.1 + 32, "the bridge grew to {} MiB", after.1);
}
