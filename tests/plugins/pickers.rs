//! Pickers and explorers: what is chosen in one that was opened in the chat goes to the user's window, and what is asked in
//! one is answered, closed, or withdrawn.

use super::beside;
use crate::support::{Chat, PROMPT, TRANSCRIPT};
use serde_json::json;

/// A picker: the checkouts it needs, how it is set up, the key that selects the next answer, Lua for the
/// file that `<CR>` would choose.
struct Picker {
    plugins: &'static [&'static str],
    setup: &'static str,
    next: &'static str,
    chosen: &'static str,
}

/// `_G.files()` lets the user choose a file. `_G.floats()` counts the windows of pickers.
const COMMON: &str = "
    function _G.floats()
      return #vim.tbl_filter(function(win)
        return vim.api.nvim_win_get_config(win).relative ~= ''
      end, vim.api.nvim_list_wins())
    end
    vim.keymap.set('n', '<F5>', function() files() end)
";

const TELESCOPE: Picker = Picker {
    plugins: &["telescope.nvim", "telescope-ui-select.nvim", "plenary.nvim"],
    setup: "require('telescope').setup({})
        require('telescope').load_extension('ui-select')
        function _G.files() require('telescope.builtin').find_files({ hidden = false }) end",
    next: "<Up>",
    chosen: "(require('telescope.actions.state').get_selected_entry() or {})[1]",
};
const SNACKS: Picker = Picker {
    plugins: &["snacks.nvim"],
    setup: "require('snacks').setup({ picker = { enabled = true, ui_select = true } })
        function _G.files() Snacks.picker.files() end",
    next: "<Down>",
    chosen: "(Snacks.picker.get()[1]:current() or {}).file",
};
const FZF: Picker = Picker {
    plugins: &["fzf-lua"],
    setup: "require('fzf-lua').setup({ winopts = { preview = { hidden = true } } })
        require('fzf-lua').register_ui_select()
        function _G.files() require('fzf-lua').files() end
        function _G.left()
          local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), ' ')
          return text:find('1/2', 1, true) and text or ''
        end",
    next: "<Down>",
    chosen: "left()",
};
const MINI: Picker = Picker {
    plugins: &["mini.nvim"],
    setup: "require('mini.pick').setup()
        vim.ui.select = MiniPick.ui_select
        function _G.files() MiniPick.builtin.files({ tool = 'fallback' }) end",
    next: "<Down>",
    chosen: "(MiniPick.get_picker_matches() or {}).current",
};

fn start(picker: &Picker) -> Option<Chat> {
    beside(picker.plugins, &format!("{COMMON}{}", picker.setup))
}

/// Opens the picker with keys and waits until the screen shows what it lets choose from.
fn open(chat: &mut Chat, keys: &str, shown: &str) {
    chat.nvim.input(keys);
    chat.poll_lua("a picker", "floats() > 0");
    chat.nvim.poll_screen(shown);
}

fn poll_closed(chat: &mut Chat) {
    chat.poll_lua("no picker", "floats() == 0 and vim.api.nvim_get_mode().mode == 'n'");
}

fn opens_files(picker: &Picker) {
    let Some(mut chat) = start(picker) else { return };
    for (view, name, path) in
        [(TRANSCRIPT, "straße", "straße.txt"), (PROMPT, "report", "report.txt")]
    {
        chat.nvim.enter(view);
        open(&mut chat, "<F5>", path);
        chat.nvim.input(name);
        let chosen = format!("(({}) or ''):find('{name}', 1, true) ~= nil", picker.chosen);
        chat.poll_lua(name, &chosen);
        chat.nvim.input("<CR>");
        chat.poll_windows(&[path, TRANSCRIPT, PROMPT]);
        poll_closed(&mut chat);
    }
}

fn answers(picker: &Picker) {
    let Some(mut chat) = start(picker) else { return };
    chat.nvim.enter(PROMPT);
    let first = chat.ask_in_a_turn();
    open(&mut chat, ":RatPermission<CR>", "[g1] Yes");
    // Some leave Insert mode first.
    chat.nvim.input("<Esc><Esc>");
    poll_closed(&mut chat);
    open(&mut chat, ":RatPermission<CR>", "[g1] Yes");
    chat.nvim.command("RatAllow");
    assert_eq!(chat.answer(first)["outcome"]["optionId"], json!("yes"));
    poll_closed(&mut chat);
    let second = chat.ask_again();
    open(&mut chat, ":RatPermission<CR>", "[g2] No");
    chat.nvim.input(picker.next);
    chat.nvim.input("<CR>");
    assert_eq!(chat.answer(second)["outcome"]["optionId"], json!("no"));
    poll_closed(&mut chat);
    ask_again_and_cancel(&mut chat);
}

/// What is no request: the session's mode, and its sessions.
fn chooses(picker: &Picker) {
    let Some(mut chat) = start(picker) else { return };
    let update = json!({"sessionUpdate": "config_option_update", "configOptions": [{"id": "mode", "name": "Mode",
        "category": "mode", "type": "select", "currentValue": "plan", "options": [
            {"value": "plan", "name": "Only plans"}, {"value": "act", "name": "Acts at once"}]}]});
    chat.update(update);
    chat.poll_lua("the modes", "#(require('rat.chat.current').get().options or {}) == 1");
    chat.nvim.enter(TRANSCRIPT);
    open(&mut chat, ":RatMode<CR>", "Acts at once");
    chat.nvim.input(picker.next);
    chat.nvim.input("<CR>");
    let request = chat.agent.expect_request("session/set_config_option");
    assert_eq!(request.params["value"], json!("act"));
    poll_closed(&mut chat);
    chat.prompt("Plan it");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    open(&mut chat, ":RatSessions<CR>", "current");
    chat.nvim.input("<Esc><Esc>");
    poll_closed(&mut chat);
}

/// A request that goes with its turn takes its picker along.
fn ask_again_and_cancel(chat: &mut Chat) {
    let pending = chat.ask_again();
    open(chat, ":RatPermission<CR>", "[g1] Yes");
    chat.nvim.command("RatCancel");
    assert_eq!(chat.answer(pending)["outcome"]["outcome"], json!("cancelled"));
    poll_closed(chat);
    chat.poll_windows(&["report.txt", TRANSCRIPT, PROMPT]);
}

/// Holds (Other plugins): Pickers open files in the user's window and answer requests.
#[test]
fn telescope_opens_files_and_asks() {
    opens_files(&TELESCOPE);
    answers(&TELESCOPE);
    chooses(&TELESCOPE);
}

/// Holds (Other plugins): Pickers open files in the user's window and answer requests.
#[test]
fn snacks_opens_files_and_asks() {
    opens_files(&SNACKS);
    answers(&SNACKS);
    chooses(&SNACKS);
}

/// Holds (Other plugins): Pickers open files in the user's window and answer requests.
#[test]
fn fzf_lua_opens_files_and_asks() {
    opens_files(&FZF);
    answers(&FZF);
    chooses(&FZF);
}

/// Holds (Other plugins): Pickers open files in the user's window and answer requests.
#[test]
fn mini_pick_opens_files_and_asks() {
    opens_files(&MINI);
    answers(&MINI);
    chooses(&MINI);
}

/// Opens an explorer in both views, chooses a file, and looks where that is.
fn explores(plugins: &[&str], setup: &str, command: &str) {
    let Some(mut chat) = beside(plugins, setup) else { return };
    for view in [TRANSCRIPT, PROMPT] {
        chat.nvim.command("edit! report.txt");
        chat.nvim.enter(view);
        chat.nvim.command(command);
        chat.nvim.poll_screen("sub");
        chat.poll_lua(
            "the explorer",
            "vim.bo.filetype ~= 'rat' and vim.bo.filetype ~= 'ratprompt'",
        );
        chat.poll_lua("its row", "vim.fn.search('report') > 0");
        chat.nvim.input("<CR>");
        chat.poll_windows(&["report.txt", TRANSCRIPT, PROMPT]);
        chat.poll_lua("the user in it", "vim.fn.expand('%:t') == 'report.txt'");
        chat.nvim.command("bwipeout!");
        chat.nvim.command("stopinsert");
    }
}

/// Holds (Other plugins): Explorers move to the user's window.
#[test]
fn oil_moves_to_the_users_window() {
    explores(&["oil.nvim"], "require('oil').setup()", "Oil");
}

/// Holds (Other plugins): Explorers move to the user's window.
#[test]
fn neo_tree_moves_to_the_users_window() {
    let plugins = ["neo-tree.nvim", "nui.nvim", "plenary.nvim"];
    explores(&plugins, "require('neo-tree').setup({})", "Neotree position=current");
}
