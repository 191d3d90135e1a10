//! Agents that send far more than anyone reads: what the binary and Neovim need at most for it, which the help states
//! (`:help rat-memory`). `RAT_FLOOD` in the environment sets how many updates a flood has; figures go to stderr.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use crate::support::{Held, Nvim, TRANSCRIPT, poll_for, repository};
use serde_json::json;

/// How many updates there are in a flood of them.
const UPDATES: u64 = 100_000;

/// How long an update may take in a debug build on a busy machine.
const MOST_PER_UPDATE: Duration = Duration::from_millis(2);

const MIB: u64 = 1 << 20;

/// How many bytes the binary and Neovim may take for anything beside transcripts.
const MOST: [u64; 2] = [256 * MIB, 64 * MIB];

/// How many of these for up to [`UPDATES`] messages, where no command writes: little traffic waits for the disk.
const MOST_IN_QUIET: [u64; 2] = [24 * MIB; 2];

/// How many bytes each of the two may take for a byte of text in a transcript, and for a message or a tool call.
const PER_BYTE: u64 = 4;
const PER_ENTRY: u64 = 2 << 10;

const NAMES: [&str; 2] = ["the binary", "Neovim"];

/// Neovim and an agent that floods it when it is asked to.
struct Flooded {
    nvim: Nvim,
    pids: [u32; 2],
    /// What the two held before the flood; `None` where that cannot be read.
    before: [Option<Held>; 2],
}

/// What transcripts have after a flood.
#[derive(Debug, Clone, Copy)]
struct Shown {
    bytes: u64,
    entries: u64,
}

impl Flooded {
    fn start() -> Self {
        let mut nvim = Nvim::wide();
        let agent = repository().join("tests/support/flood_agent.py");
        let config = json!({"command": "python3", "args": [agent]});
        nvim.setup(json!({"agents": {"fake": config}, "notify": {"when": "never"}}));
        nvim.command("RatStart fake");
        nvim.poll_state("ready");
        let pids = [nvim.binary(), nvim.pid()];
        let mut flooded = Self { nvim, pids, before: [None; 2] };
        // What is loaded when it is first used is not counted.
        flooded.send("chunks", 100);
        flooded.expect_done("chunks", 100);
        flooded.before = pids.map(|pid| {
            Held::forget_peak(pid)?;
            Held::by(pid)
        });
        flooded
    }

    fn send(&mut self, load: &str, count: u64) {
        self.nvim.send(&format!("{load} {count}"));
    }

    /// Waits until what the agent says at its end is drawn. Gives how many of its requests were refused.
    fn expect_done(&mut self, load: &str, count: u64) -> u64 {
        let last = "local name, load, count = ...
            local lines = vim.api.nvim_buf_get_lines(vim.fn.bufnr(name), -40, -1, false)
            local done = ('Done with %s %d, (%%d+) refused'):format(load, count)
            return table.concat(lines, ' '):match(done)";
        let limit = Duration::from_secs(60) + MOST_PER_UPDATE * u32::try_from(count).unwrap();
        let nvim = &mut self.nvim;
        let refused = poll_for(limit, || {
            let refused = nvim.lua(last, json!([TRANSCRIPT, load, count]));
            refused.as_str().and_then(|refused| refused.parse().ok())
        });
        refused.unwrap_or_else(|| nvim.fail("the flood has no end"))
    }

    /// Expects that no more was needed at any time than what is shown now and `most` allow.
    fn expect_bounded(&self, what: &str, shown: Shown, most: [u64; 2]) {
        let after = self.pids.map(Held::by);
        for (index, name) in NAMES.into_iter().enumerate() {
            let Some((before, after)) = self.before[index].zip(after[index]) else {
                return tell("left out: there is no /proc to read memory from");
            };
            let grown = after.peak.saturating_sub(before.memory);
            let stays = after.memory.saturating_sub(before.memory);
            let limit = most[index] + PER_BYTE * shown.bytes + PER_ENTRY * shown.entries;
            let [grown, stays, limit] = [grown, stays, limit].map(|bytes| bytes / MIB);
            tell(&format!("{what}: {name} {grown} MiB at most, {stays} MiB at the end"));
            assert!(grown <= limit, "{what}: {name} took {grown} MiB, allowed are {limit}");
        }
    }
}

fn tell(line: &str) {
    // Fails only where nobody reads.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn updates() -> u64 {
    std::env::var("RAT_FLOOD").map_or(UPDATES, |count| count.parse().unwrap())
}

/// Has the agent send a load, and expects that the memory for it is bounded.
fn flood(load: &str, count: u64, shown: Shown) {
    let _alone = crate::alone();
    let most = if count <= UPDATES { MOST_IN_QUIET } else { MOST };
    let mut flooded = Flooded::start();
    flooded.send(load, count);
    flooded.expect_done(load, count);
    flooded.expect_bounded(&format!("{count} {load}"), shown, most);
}

/// Holds (Hostile agents): A million updates take no more memory than the help says, of one message, of many, of one call or for unknown sessions.
#[test]
fn a_message_in_a_million_pieces_takes_bounded_memory() {
    flood("chunks", updates(), Shown { bytes: 10 * updates(), entries: 1 });
}

/// Holds (Hostile agents): A million updates take no more memory than the help says, of one message, of many, of one call or for unknown sessions.
#[test]
fn a_million_messages_take_bounded_memory() {
    flood("messages", updates(), Shown { bytes: 10 * updates(), entries: updates() });
}

/// Holds (Hostile agents): A million updates take no more memory than the help says, of one message, of many, of one call or for unknown sessions.
#[test]
fn a_million_changes_of_a_call_take_bounded_memory() {
    flood("changes", updates(), Shown { bytes: 0, entries: 1 });
}

/// Holds (Hostile agents): A million updates take no more memory than the help says, of one message, of many, of one call or for unknown sessions.
#[test]
fn a_million_updates_of_unknown_sessions_take_bounded_memory() {
    flood("strangers", updates(), Shown { bytes: 0, entries: 0 });
}

/// Holds (Hostile agents): Ten thousand tool calls, a thousand permission requests or 500 commands at once take no more memory than the help says.
#[test]
fn ten_thousand_calls_take_bounded_memory() {
    flood("calls", 10_000, Shown { bytes: 15 * 10_000, entries: 10_000 });
}

/// Holds (Hostile agents): Ten thousand tool calls, a thousand permission requests or 500 commands at once take no more memory than the help says.
#[test]
fn a_thousand_permission_requests_take_bounded_memory() {
    let _alone = crate::alone();
    let mut flooded = Flooded::start();
    flooded.send("permissions", 1000);
    flooded.nvim.poll("the requests", |nvim| nvim.waiting() == 1000);
    flooded.nvim.command("RatCancel");
    assert_eq!(flooded.expect_done("permissions", 1000), 0, "each is answered");
    let shown = Shown { bytes: 15 * 1000, entries: 1000 };
    flooded.expect_bounded("1000 permissions", shown, MOST_IN_QUIET);
}

/// Holds (Hostile agents): Ten thousand tool calls, a thousand permission requests or 500 commands at once take no more memory than the help says.
#[test]
fn five_hundred_commands_take_bounded_memory() {
    let _alone = crate::alone();
    let mut flooded = Flooded::start();
    flooded.send("terminals", 500);
    let refused = flooded.expect_done("terminals", 500);
    assert_eq!(refused, 400, "100 may run at once");
    // Each of them makes a file once it has written all.
    let folder = flooded.nvim.cwd().to_owned();
    let written = || fs::read_dir(&folder).unwrap().count() == 100;
    let all = poll_for(Duration::from_secs(120), || written().then_some(()));
    assert!(all.is_some(), "the commands go on writing");
    flooded.expect_bounded("500 commands", Shown { bytes: 0, entries: 0 }, MOST);
}

#[test]
fn the_help_states_these_figures() {
    let help = fs::read_to_string(repository().join("doc/rat.txt")).unwrap();
    let (_, paragraph) = help.split_once("*rat-memory*").expect("a paragraph");
    let paragraph = paragraph.split_once("\n\n").map_or(paragraph, |(first, _)| first);
    let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let [binary, neovim] = MOST.map(|bytes| bytes / MIB);
    let entry = PER_ENTRY >> 10;
    for figure in [
        format!("{binary} MiB in rat-nvim and {neovim} MiB in Neovim"),
        format!("{PER_BYTE} bytes in each for a byte of text"),
        format!("{entry} KiB for a message or a tool call"),
    ] {
        assert!(paragraph.contains(&figure), "{figure:?} is not in {paragraph}");
    }
}
