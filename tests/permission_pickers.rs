//! Pickers of plugins that a request is asked in: closed when it is decided elsewhere, and no others. Stand-ins have the
//! functions and the windows that those of the plugins have.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Pending};

/// What all of them do: `open` shows a picker with these filetypes in its windows, the first one the current one, and
/// gives it; `asked` has what `vim.ui.select` was asked; `own()` opens a picker for something else.
const COMMON: &str = r#"
    _G.pickers, _G.asked = {}, {}
    function _G.open(...)
      local picker = { wins = {}, bufs = {} }
      for row, filetype in ipairs({ ... }) do
        local buf = vim.api.nvim_create_buf(false, true)
        picker.bufs[row], vim.bo[buf].bufhidden = buf, "wipe"
        picker.wins[row] = vim.api.nvim_open_win(buf, row == 1, { relative = "editor", row = 4 * row, col = 9,
          width = 40, height = 2, border = "single" })
        vim.bo[buf].filetype = filetype
      end
      function picker.close()
        for _, win in ipairs(picker.wins) do
          pcall(vim.api.nvim_win_close, win, true)
        end
        pickers = vim.tbl_filter(function(other) return other ~= picker end, pickers)
      end
      table.insert(pickers, picker)
      return picker
    end
    vim.ui.select = function(items, opts, on_choice)
      table.insert(asked, function(index) on_choice(items[index], index) end)
      show()
    end
    vim.keymap.set("n", "<F5>", function() own() end)
    function _G.own() show() end
    function _G.dismiss() pickers[1].close() end
"#;

/// A plugin: its name, and its stand-in.
const PLUGINS: &[(&str, &str)] = &[
    (
        "telescope",
        r#"
        function _G.show() open("TelescopePrompt", "TelescopeResults", "") end
        package.loaded["telescope.actions"] = { close = function(buf)
          for _, picker in ipairs(pickers) do
            if picker.bufs[1] == buf then picker.close() end
          end
        end }"#,
    ),
    (
        "snacks",
        r#"
        -- It opens a moment later.
        function _G.show()
          local ask = asked[#asked]
          vim.schedule(function()
            local picker = open("snacks_picker_input", "snacks_picker_list", "snacks_layout_box")
            local close = picker.close
            picker.close = function() close() vim.schedule(ask) end
            picker.input, picker.list = { win = { buf = picker.bufs[1] } }, { win = { buf = picker.bufs[2] } }
          end)
        end
        package.loaded.snacks = { picker = { get = function() return vim.list_slice(pickers) end } }"#,
    ),
    (
        "fzf-lua",
        r#"
        -- A terminal, of which there is one at most.
        function _G.show()
          local ignored = vim.o.eventignore
          vim.o.eventignore = "all"
          local picker = open("fzf")
          vim.o.eventignore = ignored
          vim.api.nvim_open_term(picker.bufs[1], {})
          vim.bo[picker.bufs[1]].filetype = "fzf"
        end
        package.loaded["fzf-lua"] = { win = { close = function() pickers[#pickers].close() end } }"#,
    ),
    (
        "mini.pick",
        r#"
        -- It reads keys by itself until it is stopped: `vim.ui.select` returns when it is answered.
        local stopped = false
        function _G.show()
          local picker = open("minipick")
          local aborted
          stopped = false
          while not stopped do
            local ok, key = pcall(vim.fn.getcharstr)
            aborted = key == "\27"
            stopped = stopped or not ok or key == "\3" or aborted
          end
          picker.close()
          if aborted then asked[#asked]() end
        end
        package.loaded["mini.pick"] = { stop = function()
          if #pickers > 0 then
            stopped = true
            vim.api.nvim_feedkeys("\3", "t", true)
          end
        end }
        _G.dismiss = package.loaded["mini.pick"].stop"#,
    ),
];

/// A turn in which a request waits.
struct Turn {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

impl Turn {
    fn start(plugin: &str) -> Self {
        Self::start_with(plugin, "never")
    }

    fn start_with(plugin: &str, open: &str) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        nvim.record(&["RatPermission"]);
        nvim.lua(COMMON, json!([]));
        nvim.lua(plugin, json!([]));
        let mut agent = nvim.start_agent_with(json!({"permission": {"open": open}}));
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("go");
        agent.expect_request("session/prompt");
        Self { nvim, agent, session }
    }

    fn ask(&mut self) -> Pending {
        let params = json!({
            "sessionId": self.session,
            "toolCall": {"toolCallId": "run", "title": "Run", "kind": "execute"},
            "options": [
                {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"},
            ],
        });
        let before = self.nvim.events("RatPermission").len();
        let pending = self.agent.ask("session/request_permission", params);
        self.nvim.poll_events("RatPermission", before + 1);
        pending
    }

    /// As a user does: what reads keys by itself lets no command end.
    fn open(&mut self, keys: &str) {
        self.nvim.input(keys);
        self.poll_pickers(1);
    }

    fn poll_pickers(&mut self, count: usize) {
        let open = "return #pickers";
        self.nvim
            .poll(&format!("{count} pickers"), |nvim| nvim.lua(open, json!([])) == json!(count));
    }

    fn answer(&mut self, pending: Pending) -> Json {
        self.agent.expect_answer(pending).unwrap()["outcome"]["optionId"].clone()
    }

    fn windows(&mut self) -> Json {
        self.nvim.lua("return #vim.api.nvim_list_wins()", json!([]))
    }
}

#[test]
fn a_picker_closes_when_its_request_is_decided_elsewhere_and_answers_nothing_then() {
    for (name, plugin) in PLUGINS {
        let mut turn = Turn::start(plugin);
        let before = turn.windows();
        let first = turn.ask();
        turn.open(":RatPermission<CR>");
        turn.nvim.command("RatAllow");
        assert_eq!(turn.answer(first), json!("yes"), "{name}");
        turn.poll_pickers(0);
        turn.nvim.poll(&format!("no window of {name}"), |nvim| {
            nvim.lua("return #vim.api.nvim_list_wins()", json!([])) == before
        });
        let second = turn.ask();
        turn.nvim.lua("asked[1](1)", json!([]));
        turn.nvim.command("RatDeny");
        assert_eq!(turn.answer(second), json!("no"), "{name}");
        assert!(!turn.nvim.messages().contains("answers nothing"), "{name}");
    }
}

#[test]
fn a_picker_that_the_user_has_opened_for_something_else_stays() {
    for (name, plugin) in PLUGINS {
        let mut turn = Turn::start(plugin);
        let pending = turn.ask();
        turn.open(":RatPermission<CR>");
        // Gone without a word, as some of them go.
        turn.nvim.lua("dismiss()", json!([]));
        turn.poll_pickers(0);
        turn.open("<F5>");
        turn.nvim.command("RatAllow");
        assert_eq!(turn.answer(pending), json!("yes"), "{name}");
        turn.nvim.poll_state("running");
        assert_eq!(turn.nvim.lua("return #pickers", json!([])), json!(1), "{name} closed it");
        assert!(!turn.nvim.messages().contains("answers nothing"), "{name}");
        turn.nvim.input("<Esc>");
    }
}

#[test]
fn beside_a_picker_that_nobody_knows_the_ones_of_the_user_stay() {
    for (name, plugin) in PLUGINS {
        let mut turn = Turn::start(plugin);
        turn.nvim.lua("_G.own = show _G.show = function() open('odd') end", json!([]));
        let pending = turn.ask();
        turn.open(":RatPermission<CR>");
        turn.nvim.lua("pickers[1].close()", json!([]));
        turn.open("<F5>");
        turn.nvim.command("RatAllow");
        assert_eq!(turn.answer(pending), json!("yes"), "{name}");
        turn.nvim.poll_state("running");
        assert_eq!(turn.nvim.lua("return #pickers", json!([])), json!(1), "{name} closed it");
        turn.nvim.input("<Esc>");
    }
}

#[test]
fn a_picker_that_nobody_knows_is_said_to_answer_nothing_any_more() {
    let mut turn = Turn::start("function _G.show() open('odd') end");
    let pending = turn.ask();
    turn.open(":RatPermission<CR>");
    turn.nvim.command("RatAllow");
    assert_eq!(turn.answer(pending), json!("yes"));
    turn.nvim.poll("word of it", |nvim| nvim.messages().contains("answers nothing any more"));
}

#[test]
fn a_question_that_one_has_answered_is_not_asked_again() {
    let mut turn = Turn::start_with(PLUGINS[3].1, "always");
    let pending = turn.ask();
    turn.poll_pickers(1);
    turn.nvim.input("<Esc>");
    turn.poll_pickers(0);
    turn.open(":RatPermission<CR>");
    turn.nvim.input("<Esc>");
    turn.poll_pickers(0);
    let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "run", "title": "Run more",
        "rawInput": {"command": "more"}});
    turn.agent.update(&turn.session, update);
    turn.nvim.poll("its new title", |nvim| {
        nvim.status()["permissions"][0]["title"] == json!("Run more")
    });
    let idle = "_G.idle = false
        require('rat.idle').when(function() return true end, function() idle = true end)";
    turn.nvim.lua(idle, json!([]));
    turn.nvim.poll("an idle user", |nvim| nvim.lua("return idle", json!([])) == json!(true));
    assert_eq!(turn.nvim.lua("return #asked", json!([])), json!(2));
    turn.nvim.command("RatDeny");
    assert_eq!(turn.answer(pending), json!("no"));
}
