//! Eight sessions at once, turn after turn: what the binary and Neovim need does not grow, but for the text that is in the
//! transcripts. `RAT_TURNS` in the environment sets how many turns there are (`make soak`); figures go to stderr.

use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::support::{Nvim, poll_for};
use serde_json::json;

const SESSIONS: u64 = 8;
const TURNS: u64 = 480;

/// A turn takes some milliseconds, on a busy machine and in a debug build a hundred.
const MOST_PER_TURN: Duration = Duration::from_millis(500);

/// How much memory a turn may take for good, in bytes. The agent sends 2 KB in each, of which 1 KB is shown.
const MOST_IN_BINARY: u64 = 24 << 10;
const MOST_IN_NEOVIM: u64 = 12 << 10;

/// Threads come and go with what is done at the same time.
const MORE_THREADS: u64 = 16;

/// Sends the next prompt as soon as a turn has ended.
const DRIVE: &str = r#"
    local command, total, sessions = ...
    Soak = { turns = 0 }
    local agents = {}
    for number = 1, sessions do
      agents["soak" .. number] = { command = "python3", args = { command } }
    end
    require("rat").setup({ agents = agents, notify = { when = "never" } })
    vim.api.nvim_create_autocmd("User", {
      pattern = "RatTurnEnd",
      callback = function(event)
        Soak.turns = Soak.turns + 1
        if Soak.turns + sessions <= total then
          vim.schedule(function()
            require("rat").send("prompt " .. Soak.turns, { session = event.data.chat })
          end)
        end
      end,
    })"#;

/// A session opens its files once there is something to write to them.
const MORE_DESCRIPTORS: u64 = 4 * SESSIONS;

/// What a process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    memory: u64,
    threads: u64,
    descriptors: u64,
}

impl Held {
    /// `None` where that cannot be read.
    fn by(pid: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        Some(Self {
            memory: number("VmRSS:")? << 10,
            threads: number("Threads:")?,
            descriptors: u64::try_from(descriptors).ok()?,
        })
    }
}

fn has_not_grown(what: &str, turns: u64, most: u64, (before, after): (Held, Held)) {
    let grown = after.memory.saturating_sub(before.memory) / turns;
    let _ = writeln!(
        std::io::stderr(),
        "{what}: {} to {} MB, {grown} bytes a turn; {} to {} threads, {} to {} descriptors",
        before.memory >> 20,
        after.memory >> 20,
        before.threads,
        after.threads,
        before.descriptors,
        after.descriptors,
    );
    assert!(grown <= most, "{what} keeps {grown} bytes of each turn");
    assert!(after.threads <= before.threads + MORE_THREADS, "{what} has more and more threads");
    assert!(
        after.descriptors <= before.descriptors + MORE_DESCRIPTORS,
        "{what} keeps descriptors open"
    );
}

/// Holds (Traffic): In many turns of several sessions at once, memory grows with the transcripts alone, and threads and open files do not.
#[test]
fn turn_after_turn_nothing_grows_but_the_transcripts() {
    let _alone = crate::alone();
    let turns = std::env::var("RAT_TURNS").map_or(TURNS, |turns| turns.parse().unwrap());
    let mut nvim = Nvim::plain();
    nvim.file("project/a.txt", "one\n");
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/soak_agent.py");
    nvim.lua(DRIVE, json!([agent, turns, SESSIONS]));
    let ready = "#vim.tbl_filter(function(chat) return chat.status.state == 'ready' end,
        require('rat.chat.registry').list())";
    for session in 1..=SESSIONS {
        nvim.command(&format!("RatStart soak{session}"));
        nvim.poll("the session", |nvim| nvim.eval(ready).as_u64() == Some(session));
    }
    let (began, pids) = (Instant::now(), [nvim.binary(), nvim.pid()]);
    nvim.lua(
        "for _, chat in ipairs(require('rat.chat.registry').list()) do
            require('rat').send('begin', { session = chat.id })
        end",
        json!([]),
    );
    let limit = MOST_PER_TURN * u32::try_from(turns).unwrap();
    let mut reach = |wanted: u64| {
        let reached = || (nvim.eval("Soak.turns").as_u64().unwrap() >= wanted).then_some(());
        assert!(poll_for(limit, reached).is_some(), "{wanted} turns in {limit:?}");
        pids.map(Held::by)
    };
    let (before, after) = (reach(turns / 10), reach(turns));
    let _ = writeln!(std::io::stderr(), "{turns} turns in {:.1?}", began.elapsed());
    let [Some(binary), Some(neovim)] = [0, 1].map(|index| before[index].zip(after[index])) else {
        let _ = writeln!(std::io::stderr(), "left out: there is no /proc to read memory from");
        return;
    };
    has_not_grown("the binary", turns * 9 / 10, MOST_IN_BINARY, binary);
    has_not_grown("Neovim", turns * 9 / 10, MOST_IN_NEOVIM, neovim);
}
