//! Random Normal-mode keys, counts and window commands in and around a chat in real Neovim, with requests coming in: no
//! error, no answer that a person did not mean, no key taken from a file. `RAT_SEED` and `RAT_KEYS` choose others.

// Helpers of tests are tests; the lint knows only functions marked so.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

#[path = "../random/dice.rs"]
mod dice;
#[path = "../support/mod.rs"]
mod support;

use std::collections::VecDeque;
use std::io::Write as _;

use dice::Dice;
use serde_json::json;
use support::{Agent, Nvim, Options, Pending};

const SEED: u64 = 20_261_122;
const KEYS: usize = 10_000;
/// After so many keys everything begins anew.
const KEYS_OF_A_CHAT: usize = 1_000;
/// So many chats at once.
const ABREAST: usize = 2;
/// So many requests wait at once.
const WAITING: usize = 6;
/// So many steps are told of when one fails.
const TOLD: usize = 40;

/// Keys that a person presses without meaning an answer. What answers on purpose is not among them: `ga`, `gr`, `g` with a
/// digit, `:RatAllow`. `<CR>` is, and counts as meant in the chooser directly after a key that selects.
const ANYWHERE: &[&str] = &[
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "0",
    "10",
    "12",
    "h",
    "j",
    "k",
    "l",
    "w",
    "b",
    "e",
    "$",
    "^",
    "G",
    "gg",
    "gj",
    "H",
    "M",
    "L",
    "{",
    "}",
    "%",
    "n",
    "N",
    "*",
    "<CR>",
    "<CR>",
    "<CR>",
    "<Esc>",
    "<Esc>",
    "<Space>",
    "<BS>",
    "<Tab>",
    "<C-d>",
    "<C-u>",
    "<C-e>",
    "<C-y>",
    "<C-f>",
    "<C-b>",
    "<C-o>",
    "<C-i>",
    "<C-l>",
    "x",
    "dd",
    "yy",
    "p",
    "P",
    "u",
    "<C-r>",
    "J",
    "~",
    ".",
    "r1",
    "f1",
    "t2",
    ";",
    ",",
    "za",
    "zo",
    "zc",
    "zz",
    "]]",
    "[[",
    "iword<Esc>",
    "a one two<Esc>",
    "o<Esc>",
    "v",
    "V",
    "<C-v>",
    "y",
    "d",
    "c",
    "ma",
    "'a",
    "<C-w>h",
    "<C-w>j",
    "<C-w>k",
    "<C-w>l",
    "<C-w>w",
    "<C-w>p",
    "<C-w>o",
    "<C-w>+",
    "<C-w>-",
    "<C-w><lt>",
    "<C-w>>",
    "<C-w>=",
    "<C-w>_",
    "<C-w>|",
    "<C-w>s",
    "<C-w>v",
    "<C-w>c",
    "<C-w>t",
    "<C-w>b",
    "<C-s>",
    "g?",
    "g/",
    "gf",
    "gF",
    "<C-w>f",
];

/// Counts what may be meant: `<CR>` in the chooser directly after a key that selects there, and something is selected.
const COUNT: &str = r#"
    _G.meant, _G.typed, _G.last = 0, {}, {}
    local before
    vim.on_key(function(_, key)
      if key and key ~= "" then
        local here = vim.bo.filetype == "ratselect"
        if here and key == vim.keycode("<CR>") and before and vim.wo.cursorline then
          meant = meant + 1
        end
        before = here and key:match("^[0-9jkG]$") ~= nil
      end
      typed[#typed + 1] = vim.fn.keytrans(key or "") .. "@" .. vim.bo.filetype .. vim.fn.mode()
      typed = vim.list_slice(typed, #typed - 30)
    end)
    local rpc = require("rat.rpc")
    local notify = rpc.notify
    rpc.notify = function(name, payload)
      if name == "permission" or name == "answer" then
        last = { name, payload, vim.list_slice(typed), debug.traceback() }
      end
      return notify(name, payload)
    end
"#;

struct Play {
    nvim: Nvim,
    agent: Agent,
    session: String,
    dice: Dice,
    waiting: Vec<Pending>,
    answered: u64,
    denied: u64,
    asked: usize,
    trail: VecDeque<String>,
}

impl Play {
    fn start(seed: u64) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let lines: String = (1..=200).map(|line| format!("line {line} of the file\n")).collect();
        let file = nvim.folder().file("project/file.txt", &lines);
        nvim.command(&format!("edit {}", file.display()));
        nvim.lua(COUNT, json!([]));
        let mut agent = nvim.start_agent();
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("go");
        agent.expect_request("session/prompt");
        let (dice, trail) = (Dice::new(seed), VecDeque::new());
        let (waiting, answered, denied, asked) = (Vec::new(), 0, 0, 0);
        Self { nvim, agent, session, dice, waiting, answered, denied, asked, trail }
    }

    fn note(&mut self, step: String) {
        if self.trail.len() == TOLD {
            self.trail.pop_front();
        }
        self.trail.push_back(step);
    }

    /// Plays a step, gives how many keys it took.
    fn step(&mut self) -> usize {
        match self.dice.within(0..20) {
            0 | 1 if self.waiting.len() < WAITING => self.ask(),
            2 if self.waiting.len() < WAITING => self.read_outside(),
            3 => self.agent.say(&self.session.clone(), "More of the answer.\n\n"),
            4 => return self.probe(),
            5 => self.show(),
            6 if self.waiting.len() == WAITING => self.deny(),
            _ => return self.press(),
        }
        0
    }

    fn ask(&mut self) {
        self.asked += 1;
        let number = self.asked;
        let mut options = vec![
            json!({"optionId": "always", "name": "Always", "kind": "allow_always"}),
            json!({"optionId": "once", "name": "Once", "kind": "allow_once"}),
            json!({"optionId": "no", "name": "No", "kind": "reject_once"}),
        ];
        let at = self.dice.within(0..3);
        options.rotate_left(at);
        let call = json!({
            "toolCallId": format!("t{number}"), "title": format!("rm -rf {number}"), "kind": "execute",
            "rawInput": {"command": format!("rm -rf {number}\necho done")},
        });
        let params = json!({"sessionId": self.session, "toolCall": call, "options": options});
        self.note(format!("asks to run rm -rf {number}"));
        self.waiting.push(self.agent.ask("session/request_permission", params));
    }

    fn read_outside(&mut self) {
        // Each in a folder of its own: an answer is one for all of a folder.
        self.asked += 1;
        let path = self.nvim.folder().file(&format!("outside-{}/a.txt", self.asked), "outside\n");
        self.note("reads a file outside".to_owned());
        let params = json!({"sessionId": self.session, "path": path});
        self.waiting.push(self.agent.ask("fs/read_text_file", params));
    }

    /// The windows are as a person would want them again.
    fn show(&mut self) {
        self.note("opens the chat".to_owned());
        self.nvim.input("<C-Bslash><C-n><Esc>");
        self.nvim.lua("pcall(vim.cmd, 'stopinsert') pcall(vim.cmd, 'RatStart fake')", json!([]));
    }

    fn deny(&mut self) {
        self.note(":RatDeny".to_owned());
        self.nvim.input("<C-Bslash><C-n>");
        let oldest = self.nvim.status()["permissions"][0]["id"].clone();
        if !oldest.is_null() {
            self.nvim.lua("vim.cmd('RatDeny')", json!([]));
            self.denied += 1;
            self.nvim.poll("the oldest request to be gone", |nvim| {
                nvim.status()["permissions"][0]["id"] != oldest
            });
        }
    }

    /// Keys in a file are the file's, whatever comes in.
    fn probe(&mut self) -> usize {
        self.nvim.input("<C-Bslash><C-n><Esc>");
        let code = r#"
            local wins = vim.tbl_filter(function(win)
              return vim.api.nvim_win_get_config(win).relative == ""
                and vim.bo[vim.api.nvim_win_get_buf(win)].buftype == ""
            end, vim.api.nvim_tabpage_list_wins(0))
            if not wins[1] then return false end
            vim.api.nvim_set_current_win(wins[1])
            vim.cmd("silent! edit! file.txt")
            return vim.fn.line("$") > 20
        "#;
        if self.nvim.lua(code, json!([])) != json!(true) {
            return 0;
        }
        if self.waiting.len() < WAITING {
            self.ask();
        }
        let lines = self.dice.within(2..10);
        if self.dice.once_in(2) {
            let idle = "_G.idle = false
                require('rat.idle').when(function() return true end, function() idle = true end)";
            self.nvim.lua(idle, json!([]));
            self.nvim.poll("an idle user", |nvim| nvim.lua("return idle", json!([])) == true);
        }
        self.note(format!("in the file: gg{lines}j"));
        self.nvim.input(&format!("gg{lines}j"));
        let place = "return { vim.fn.expand('%:t'), vim.fn.line('.') }";
        let wanted = json!(["file.txt", lines + 1]);
        self.nvim.poll(&format!("line {}", lines + 1), |nvim| nvim.lua(place, json!([])) == wanted);
        4
    }

    fn press(&mut self) -> usize {
        let keys: Vec<&str> =
            (0..self.dice.within(1..9)).map(|_| *self.dice.pick(ANYWHERE)).collect();
        self.note(keys.concat());
        for key in &keys {
            self.nvim.input(key);
        }
        keys.len()
    }

    fn check(&mut self) -> Result<(), String> {
        let (mut still, mut answered) = (Vec::new(), 0);
        for pending in std::mem::take(&mut self.waiting) {
            if self.agent.is_answered(pending) {
                answered += 1;
            } else {
                still.push(pending);
            }
        }
        self.waiting = still;
        self.answered += answered;
        let code = r#"
            local errors = {}
            local all = vim.v.errmsg .. "\n" .. vim.api.nvim_exec2("messages", { output = true }).output
            for line in all:gmatch("[^\n]+") do
              local ours = line:find("rat/", 1, true) or line:find("traceback", 1, true)
              if ours or line:find("Lua", 1, true) then
                errors[#errors + 1] = line
              end
            end
            vim.cmd("messages clear")
            vim.v.errmsg = ""
            return { errors, meant }
        "#;
        if self.nvim.mode_is_blocked() {
            // A command of Vim's that waits for one more key.
            self.nvim.input("<Esc>");
            if self.nvim.mode_is_blocked() {
                return Err("Neovim waits for a key".to_owned());
            }
        }
        let found = self.nvim.lua(code, json!([]));
        if found[0].as_array().is_some_and(|errors| !errors.is_empty()) {
            return Err(format!("errors: {}", found[0]));
        }
        let meant = found[1].as_u64().unwrap() + self.denied;
        if self.answered > meant {
            let last = self.nvim.lua("return last", json!([]));
            return Err(format!(
                "{} answers, {meant} of them meant; the last: {last:#}",
                self.answered
            ));
        }
        Ok(())
    }
}

#[test]
fn random_keys_answer_nothing_by_accident_and_break_nothing() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = number("RAT_SEED").unwrap_or(SEED);
    let keys = number("RAT_KEYS").map_or(KEYS, |keys| usize::try_from(keys).unwrap());
    // Not captured, so that it can be read while the test runs and when it hangs.
    writeln!(std::io::stderr(), "RAT_SEED={seed} RAT_KEYS={keys}").unwrap();
    let mut dice = Dice::new(seed);
    // The first is the seed itself, so that a chat can be played alone.
    let chats = std::iter::once(seed).chain(std::iter::repeat_with(|| dice.next()));
    let chats: Vec<u64> = chats.take(keys.div_ceil(KEYS_OF_A_CHAT)).collect();
    for abreast in chats.chunks(ABREAST) {
        std::thread::scope(|scope| {
            for &seed in abreast {
                scope.spawn(move || play(seed, keys.min(KEYS_OF_A_CHAT)));
            }
        });
    }
}

/// Plays one chat.
fn play(seed: u64, keys: usize) {
    let mut play = Play::start(seed);
    let mut pressed = 0;
    while pressed < keys {
        pressed += play.step();
        if let Err(why) = play.check() {
            let trail: Vec<_> = play.trail.iter().map(String::as_str).collect();
            let again = format!("RAT_SEED={seed} RAT_KEYS={keys} plays it again");
            play.nvim.fail(&format!("{why}\n{}\n{again}", trail.join("\n")));
        }
    }
}
