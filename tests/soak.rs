//! Eight sessions at once, turn after turn. Twenty times each chat is closed and its agent gets a new one, so that what the
//! binary and Neovim need does not grow after the first tenth. In the environment, `RAT_TURNS` sets how many turns there are and
//! `RAT_SOAK_SECONDS` how long they are to take (`make soak`); figures go to stderr.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::support::{Held, Nvim, poll_for};
use serde_json::json;

const SESSIONS: u64 = 8;
const NAMES: [&str; 2] = ["the binary", "Neovim"];
const TURNS: u64 = 480;

/// A turn takes some milliseconds, on a busy machine and in a debug build a hundred.
const MOST_PER_TURN: Duration = Duration::from_millis(500);

/// How much more memory each may have after all turns than after a tenth of them, in bytes.
const MORE_MEMORY: u64 = 12 << 20;

/// Threads come and go with what is done at the same time.
const MORE_THREADS: u64 = 16;

/// Sends the next prompt when a turn has ended: at once, or when its time has come.
const DRIVE: &str = r#"
    local command, total, sessions, seconds = ...
    Soak = { turns = 0, of_chat = {} }
    local turns_of, renew_after = Soak.of_chat, total / sessions / 20
    local began = vim.uv.now()
    local agents = {}
    for number = 1, sessions do
      agents["soak" .. number] = { command = "python3", args = { command } }
    end
    require("rat").setup({ agents = agents, notify = { when = "never" } })
    vim.api.nvim_create_autocmd("User", {
      pattern = "RatTurnEnd",
      callback = function(event)
        Soak.turns = Soak.turns + 1
        _G.recorded = {} -- what tests keep of events
        if Soak.turns + sessions > total then
          return
        end
        local number, id = Soak.turns, event.data.chat
        local due = began + 1000 * seconds * number / total
        turns_of[id] = (turns_of[id] or 0) + 1
        vim.defer_fn(function()
          if turns_of[id] < renew_after then
            return require("rat").send("prompt " .. number, { session = id })
          end
          local chat = require("rat.chat.registry").get(id)
          require("rat.rpc").notify("close", { chat = id })
          require("rat").start({ agent = chat.agent, new = true })
        end, math.max(0, math.floor(due - vim.uv.now())))
      end,
    })
    -- A chat that takes the place of another one begins by itself.
    vim.api.nvim_create_autocmd("User", {
      pattern = "RatState",
      callback = function(event)
        if next(turns_of) and event.data.state == "ready" and not turns_of[event.data.chat] then
          turns_of[event.data.chat] = 0
          require("rat").send("begin", { session = event.data.chat })
        end
      end,
    })"#;

/// A session opens its files once there is something to write to them.
const MORE_DESCRIPTORS: u64 = 4 * SESSIONS;

/// Tells what grew between two moments.
fn has_not_grown(what: &str, (before, after): (Held, Held)) {
    tell(&format!("{what}: at first {before}, at last {after}"));
    assert!(after.memory <= before.memory + MORE_MEMORY, "{what} takes more and more memory");
    assert!(after.threads <= before.threads + MORE_THREADS, "{what} has more and more threads");
    assert!(
        after.descriptors <= before.descriptors + MORE_DESCRIPTORS,
        "{what} keeps descriptors open"
    );
}

/// Fails only where nobody reads.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |number| number.parse().unwrap())
}

/// Neovim with a session of each agent, ready for the first prompts.
fn start(turns: u64, seconds: u64) -> Nvim {
    let mut nvim = Nvim::plain();
    nvim.file("project/a.txt", "one\n");
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/soak_agent.py");
    nvim.lua(DRIVE, json!([agent, turns, SESSIONS, seconds]));
    let ready = "#vim.tbl_filter(function(chat) return chat.status.state == 'ready' end,
        require('rat.chat.registry').list())";
    for session in 1..=SESSIONS {
        nvim.command(&format!("RatStart soak{session}"));
        nvim.poll("the session", |nvim| nvim.eval(ready).as_u64() == Some(session));
    }
    nvim
}

/// Holds (Traffic): In many turns of several sessions at once, of chats that are closed in the end, memory, threads and open files do not grow.
#[test]
fn turn_after_turn_nothing_grows() {
    let _alone = crate::alone();
    let (turns, seconds) = (number("RAT_TURNS", TURNS), number("RAT_SOAK_SECONDS", 0));
    let mut nvim = start(turns, seconds);
    let (began, pids) = (Instant::now(), [nvim.binary(), nvim.pid()]);
    nvim.lua(
        "for _, chat in ipairs(require('rat.chat.registry').list()) do
            Soak.of_chat[chat.id] = 0
        end
        for id in pairs(Soak.of_chat) do
            require('rat').send('begin', { session = id })
        end",
        json!([]),
    );
    let limit = MOST_PER_TURN * u32::try_from(turns).unwrap() + 2 * Duration::from_secs(seconds);
    let mut reach = |tenth: u64| {
        let wanted = turns * tenth / 10;
        let reached = || (nvim.eval("Soak.turns").as_u64().unwrap() >= wanted).then_some(());
        assert!(poll_for(limit, reached).is_some(), "{wanted} turns in {limit:?}");
        let held = pids.map(Held::by);
        tell(&format!("{wanted} turns in {:.1?}", began.elapsed()));
        for (name, held) in NAMES.into_iter().zip(held) {
            tell(&held.map_or_else(String::new, |held| format!("  {name}: {held}")));
        }
        held
    };
    let after_each: Vec<_> = (1..=10).map(&mut reach).collect();
    let growth = |process: usize| after_each[0][process].zip(after_each[9][process]);
    let (Some(binary), Some(neovim)) = (growth(0), growth(1)) else {
        return tell("left out: there is no /proc to read memory from");
    };
    has_not_grown(NAMES[0], binary);
    has_not_grown(NAMES[1], neovim);
}
