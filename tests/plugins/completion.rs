//! Commands and files in the menus of blink.cmp and nvim-cmp: offered, accepted in place, and in no second menu.

use super::beside;
use crate::support::PROMPT;
use serde_json::json;

const BLINK: &str = r#"
    require("blink.cmp").setup({
      fuzzy = { implementation = "lua" },
      completion = { list = { selection = { preselect = false } } },
      sources = {
        per_filetype = { ratprompt = { "rat" } },
        providers = { rat = { name = "Rat", module = "rat.blink" } },
      },
    })
    function _G.offered()
      local shown = require("blink.cmp").is_menu_visible() and require("blink.cmp.completion.list").items or {}
      return vim.tbl_map(function(item) return item.label end, shown)
    end"#;

const CMP: &str = r#"
    local cmp = require("cmp")
    cmp.setup({ mapping = cmp.mapping.preset.insert({}), sources = {} })
    cmp.setup.filetype("ratprompt", { sources = { { name = "rat" } } })
    function _G.offered()
      return vim.tbl_map(function(entry) return entry.completion_item.label end, cmp.visible() and cmp.get_entries() or {})
    end"#;

fn completes(plugin: &str, setup: &str) {
    let Some(mut chat) = beside(&[plugin], setup) else { return };
    let commands = json!([{"name": "review", "description": "Looks"}, {"name": "rest", "description": "Stops"}]);
    chat.offer(&commands);
    chat.poll_lua("the commands", "#require('rat.chat.current').get().commands == 2");
    chat.nvim.enter(PROMPT);
    chat.nvim.input("i");
    chat.poll_lua("Insert mode", "vim.api.nvim_get_mode().mode == 'i'");
    chat.nvim.input("/rev");
    chat.poll_lua("the command", "vim.deep_equal(offered(), { '/review' })");
    chat.poll_lua("no menu of ours", "vim.fn.pumvisible() == 0");
    chat.nvim.input("<C-n><C-y>");
    chat.poll_lua("it in the prompt", "vim.fn.getline('.') == '/review'");
    // A plugin looks away for a moment after it has completed something.
    for (typed, line) in [(" größer (", "/review größer ("), ("@stra", "/review größer (@stra")]
    {
        chat.nvim.input(typed);
        chat.poll_lua(line, &format!("vim.fn.getline('.') == '{line}'"));
    }
    chat.poll_lua("the file", "vim.list_contains(offered(), '@sub/straße.txt')");
    chat.poll_lua("no menu of ours", "vim.fn.pumvisible() == 0");
    chat.nvim.input("<C-n><C-y>");
    chat.poll_lua("it in place", "vim.fn.getline('.') == '/review größer (@sub/straße.txt'");
    chat.nvim.input("<C-s>");
    chat.sent();
    // A key of ours that the plugin maps, too.
    chat.poll_lua("an empty prompt", "vim.fn.getline('.') == ''");
    chat.nvim.input("<Up>");
    chat.poll_lua("the prompt before", "vim.startswith(vim.fn.getline('.'), '/review')");
}

/// Holds (Other plugins): Commands and files are offered through blink.cmp and nvim-cmp, in their menu alone.
#[test]
fn blink_cmp_completes_the_prompt() {
    completes("blink.cmp", BLINK);
}

/// Holds (Other plugins): Commands and files are offered through blink.cmp and nvim-cmp, in their menu alone.
#[test]
fn nvim_cmp_completes_the_prompt() {
    completes("nvim-cmp", CMP);
}
