//! Random Normal-mode keys, counts and window commands in and around a chat in real Neovim, with requests coming in: no
//! error, no answer that a person did not mean, no key taken from a file, no window option left behind. `RAT_KEYS_SEED` and
//! `RAT_KEYS` choose others.

// Helpers of tests are tests; the lint knows only functions marked so.

use std::collections::VecDeque;
use std::io::Write as _;

use crate::support::{Chat, Dice, Nvim, Pending};
use serde_json::json;

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

/// What the options of a window with a file are. No key that is pressed here changes one of them.
const WINDOWS: &str = r#"
    local names = {
      "breakindent", "breakindentopt", "colorcolumn", "concealcursor", "conceallevel", "cursorline", "diff",
      "fillchars", "foldcolumn", "foldenable", "foldmethod", "foldtext", "linebreak", "list", "number",
      "relativenumber", "scrollbind", "signcolumn", "smoothscroll", "spell", "statuscolumn", "winbar", "winfixbuf",
      "winfixheight", "winfixwidth", "winhighlight", "wrap",
    }
    local before = {}
    for _, name in ipairs(names) do before[name] = vim.wo[name] end
    function _G.left_behind()
      local found = {}
      for _, win in ipairs(vim.api.nvim_list_wins()) do
        local buf = vim.api.nvim_win_get_buf(win)
        local is_users = vim.bo[buf].buftype == "" and vim.api.nvim_win_get_config(win).relative == ""
        for _, name in ipairs(is_users and names or {}) do
          if vim.wo[win][name] ~= before[name] then
            found[#found + 1] = ("%s=%s in %s"):format(
              name, tostring(vim.wo[win][name]), vim.api.nvim_buf_get_name(buf))
          end
        end
      end
      return found
    end
"#;

struct Play {
    chat: Chat,
    dice: Dice,
    waiting: Vec<Pending>,
    answered: u64,
    denied: u64,
    asked: usize,
    trail: VecDeque<String>,
}

impl Play {
    fn start(seed: u64) -> Self {
        let mut nvim = Nvim::wide();
        let lines: String = (1..=200).map(|line| format!("line {line} of the file\n")).collect();
        let file = nvim.file("file.txt", &lines);
        nvim.command(&format!("edit {}", file.display()));
        nvim.lua(COUNT, json!([]));
        nvim.lua(WINDOWS, json!([]));
        let chat = Chat::builder().neovim(nvim).in_turn();
        let (dice, trail) = (Dice::new(seed), VecDeque::new());
        let (waiting, answered, denied, asked) = (Vec::new(), 0, 0, 0);
        Self { chat, dice, waiting, answered, denied, asked, trail }
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
            3 => self.chat.say("More of the answer.\n\n"),
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
        self.note(format!("asks to run rm -rf {number}"));
        let params = json!({"toolCall": call, "options": options});
        self.waiting.push(self.chat.ask("session/request_permission", params));
    }

    fn read_outside(&mut self) {
        // Each in a folder of its own: an answer is one for all of a folder.
        self.asked += 1;
        let path =
            self.chat.nvim.folder().file(&format!("outside-{}/a.txt", self.asked), "outside\n");
        self.note("reads a file outside".to_owned());
        self.waiting.push(self.chat.ask("fs/read_text_file", json!({"path": path})));
    }

    /// The windows are as a person would want them again.
    fn show(&mut self) {
        self.note("opens the chat".to_owned());
        self.chat.nvim.input("<C-Bslash><C-n><Esc>");
        self.chat
            .nvim
            .lua("pcall(vim.cmd, 'stopinsert') pcall(vim.cmd, 'RatStart fake')", json!([]));
    }

    fn deny(&mut self) {
        self.note(":RatDeny".to_owned());
        self.chat.nvim.input("<C-Bslash><C-n>");
        let oldest = self.chat.nvim.status()["permissions"][0]["id"].clone();
        if !oldest.is_null() {
            self.chat.nvim.let_time_pass();
            self.chat.nvim.lua("vim.cmd('RatDeny')", json!([]));
            self.denied += 1;
            self.chat.nvim.poll("the oldest request to be gone", |nvim| {
                nvim.status()["permissions"][0]["id"] != oldest
            });
        }
    }

    /// Keys in a file are the file's, whatever comes in.
    fn probe(&mut self) -> usize {
        self.chat.nvim.input("<C-Bslash><C-n><Esc>");
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
        if self.chat.nvim.lua(code, json!([])) != json!(true) {
            return 0;
        }
        if self.waiting.len() < WAITING {
            self.ask();
        }
        let lines = self.dice.within(2..10);
        if self.dice.once_in(2) {
            self.chat.nvim.poll_idle();
        }
        self.note(format!("in the file: gg{lines}j"));
        self.chat.nvim.input(&format!("gg{lines}j"));
        let place = "return { vim.fn.expand('%:t'), vim.fn.line('.') }";
        let wanted = json!(["file.txt", lines + 1]);
        self.chat
            .nvim
            .poll(&format!("line {}", lines + 1), |nvim| nvim.lua(place, json!([])) == wanted);
        4
    }

    fn press(&mut self) -> usize {
        let keys: Vec<&str> =
            (0..self.dice.within(1..9)).map(|_| *self.dice.pick(ANYWHERE)).collect();
        self.note(keys.concat());
        for key in &keys {
            self.chat.nvim.input(key);
        }
        keys.len()
    }

    fn check(&mut self) -> Result<(), String> {
        let (mut still, mut answered) = (Vec::new(), 0);
        for pending in std::mem::take(&mut self.waiting) {
            if self.chat.agent.is_answered(pending) {
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
              -- A map of Neovim's own may fail: `*` in Visual mode does if text has gone meanwhile.
              local of_neovim = line:find("vim/_", 1, true)
              local ours = line:find("rat/", 1, true) or line:find("Lua", 1, true)
              if ours and not of_neovim then
                errors[#errors + 1] = line
              end
            end
            errors = #errors > 0 and vim.split(all, "\n") or errors
            vim.cmd("messages clear")
            vim.v.errmsg = ""
            return { errors, meant, left_behind() }
        "#;
        // A command of Vim's may wait for one more key.
        let found = self.chat.nvim.lua_past_keys(code, json!([]));
        if found[0].as_array().is_some_and(|errors| !errors.is_empty()) {
            return Err(format!("errors: {}", found[0]));
        }
        if found[2] != json!([]) && found[2] != json!({}) {
            // A buffer that was opened in a window of the chat is moved out of it a moment later.
            self.chat.nvim.poll(&format!("these to be gone: {}", found[2]), |nvim| {
                let left = nvim.lua_past_keys("return left_behind()", json!([]));
                left == json!([]) || left == json!({})
            });
        }
        let meant = found[1].as_u64().unwrap() + self.denied;
        if self.answered > meant {
            let last = self.chat.nvim.eval("last");
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
    let seed = number("RAT_KEYS_SEED").unwrap_or(SEED);
    let keys = number("RAT_KEYS").map_or(KEYS, |keys| usize::try_from(keys).unwrap());
    // Not captured, so that it can be read while the test runs and when it hangs.
    writeln!(std::io::stderr(), "RAT_KEYS_SEED={seed} RAT_KEYS={keys}").unwrap();
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
            let again = format!("RAT_KEYS_SEED={seed} RAT_KEYS={keys} plays it again");
            play.chat.nvim.fail(&format!("{why}\n{}\n{again}", trail.join("\n")));
        }
    }
}
