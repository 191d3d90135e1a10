//! Pickers of plugins that a request is asked in: closed when it is decided elsewhere, and no others. Stand-ins have the
//! functions and the windows that those of the plugins have.

use crate::support::{Chat, Nvim, Pending, yes_or_no};
use serde_json::{Value as Json, json};

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

const WINDOWS: &str = "return #vim.api.nvim_list_wins()";

/// A turn that runs, beside a plugin.
fn beside(plugin: &str) -> Chat {
    that_opens(plugin, "never")
}

/// The same with this value of the option `permission.open`.
fn that_opens(plugin: &str, open: &str) -> Chat {
    let mut nvim = Nvim::wide();
    nvim.lua(COMMON, json!([]));
    nvim.lua(plugin, json!([]));
    Chat::builder().neovim(nvim).setup(json!({"permission": {"open": open}})).in_turn()
}

fn ask(chat: &mut Chat) -> Pending {
    let call = json!({"toolCallId": "run", "title": "Run", "kind": "execute"});
    chat.ask_permission(call, yes_or_no())
}

/// As a user does: what reads keys by itself lets no command end.
fn open(chat: &mut Chat, keys: &str) {
    chat.nvim.input(keys);
    poll_pickers(&mut chat.nvim, 1);
}

fn poll_pickers(nvim: &mut Nvim, count: usize) {
    nvim.poll(&format!("{count} pickers"), |nvim| nvim.eval("#pickers") == json!(count));
}

fn answer(chat: &mut Chat, pending: Pending) -> Json {
    chat.answer(pending)["outcome"]["optionId"].clone()
}

/// Holds (Permission requests): A plugin's picker closes when its request is decided elsewhere, even one that blocks.
#[test]
fn a_picker_closes_when_its_request_is_decided_elsewhere_and_answers_nothing_then() {
    for (name, plugin) in PLUGINS {
        let mut chat = beside(plugin);
        let before = chat.nvim.lua(WINDOWS, json!([]));
        let first = ask(&mut chat);
        open(&mut chat, ":RatPermission<CR>");
        chat.nvim.command("RatAllow");
        assert_eq!(answer(&mut chat, first), json!("yes"), "{name}");
        poll_pickers(&mut chat.nvim, 0);
        chat.nvim
            .poll(&format!("no window of {name}"), |nvim| nvim.lua(WINDOWS, json!([])) == before);
        let second = ask(&mut chat);
        chat.nvim.lua("asked[1](1)", json!([]));
        chat.nvim.let_time_pass();
        chat.nvim.command("RatDeny");
        assert_eq!(answer(&mut chat, second), json!("no"), "{name}");
        assert!(!chat.nvim.messages().contains("answers nothing"), "{name}");
    }
}

/// Holds (Permission requests): A picker the user has opened for something else stays open.
#[test]
fn a_picker_that_the_user_has_opened_for_something_else_stays() {
    for (name, plugin) in PLUGINS {
        let mut chat = beside(plugin);
        let pending = ask(&mut chat);
        open(&mut chat, ":RatPermission<CR>");
        // Gone without a word, as some of them go.
        chat.nvim.lua("dismiss()", json!([]));
        poll_pickers(&mut chat.nvim, 0);
        open(&mut chat, "<F5>");
        chat.nvim.command("RatAllow");
        assert_eq!(answer(&mut chat, pending), json!("yes"), "{name}");
        chat.nvim.poll_state("running");
        assert_eq!(chat.nvim.eval("#pickers"), json!(1), "{name} closed it");
        assert!(!chat.nvim.messages().contains("answers nothing"), "{name}");
        chat.nvim.input("<Esc>");
    }
}

/// Holds (Permission requests): A picker the user has opened for something else stays open.
#[test]
fn beside_a_picker_that_nobody_knows_the_ones_of_the_user_stay() {
    for (name, plugin) in PLUGINS {
        let mut chat = beside(plugin);
        chat.nvim.lua("_G.own = show _G.show = function() open('odd') end", json!([]));
        let pending = ask(&mut chat);
        open(&mut chat, ":RatPermission<CR>");
        chat.nvim.lua("pickers[1].close()", json!([]));
        open(&mut chat, "<F5>");
        chat.nvim.command("RatAllow");
        assert_eq!(answer(&mut chat, pending), json!("yes"), "{name}");
        chat.nvim.poll_state("running");
        assert_eq!(chat.nvim.eval("#pickers"), json!(1), "{name} closed it");
        chat.nvim.input("<Esc>");
    }
}

/// Holds (Permission requests): The user is told that an unknown picker has lost its request.
#[test]
fn a_picker_that_nobody_knows_is_said_to_answer_nothing_any_more() {
    let mut chat = beside("function _G.show() open('odd') end");
    let pending = ask(&mut chat);
    open(&mut chat, ":RatPermission<CR>");
    chat.nvim.command("RatAllow");
    assert_eq!(answer(&mut chat, pending), json!("yes"));
    chat.nvim.poll("word of it", |nvim| nvim.messages().contains("The open picker has no effect"));
}

/// Holds (Permission requests): A picker the user has dismissed does not open again by itself.
#[test]
fn a_question_that_one_has_answered_is_not_asked_again() {
    let mut chat = that_opens(PLUGINS[3].1, "always");
    let pending = ask(&mut chat);
    poll_pickers(&mut chat.nvim, 1);
    chat.nvim.input("<Esc>");
    poll_pickers(&mut chat.nvim, 0);
    open(&mut chat, ":RatPermission<CR>");
    chat.nvim.input("<Esc>");
    poll_pickers(&mut chat.nvim, 0);
    let more = json!({"toolCallId": "run", "title": "Run more", "rawInput": {"command": "more"}});
    chat.tool_call_update(more);
    chat.nvim.poll("its new title", |nvim| {
        nvim.status()["permissions"][0]["title"] == json!("Run more")
    });
    chat.nvim.poll_idle();
    assert_eq!(chat.nvim.eval("#asked"), json!(2));
    chat.nvim.command("RatDeny");
    assert_eq!(answer(&mut chat, pending), json!("no"));
}
