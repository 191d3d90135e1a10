//! What shows, follows or saves: statuslines, messages, maps, signs, formatters, sessions, rendered Markdown.

use std::process::Command;

use super::{beside, checkouts};
use crate::support::{Options, PROMPT, TRANSCRIPT};
use serde_json::json;

/// Holds (Other plugins): lualine shows the status.
#[test]
fn lualine_shows_the_status() {
    let setup = "require('lualine').setup({ options = { icons_enabled = false },
        sections = { lualine_x = { function() return require('rat').statusline() end } } })";
    let Some(mut chat) = beside(&["lualine.nvim"], setup) else { return };
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.poll_screen("fake ready");
    chat.ask_in_a_turn();
    chat.nvim.poll_screen("1 to answer");
}

/// Holds (Other plugins): noice shows our messages.
#[test]
fn noice_shows_what_we_say() {
    let setup = "require('noice').setup({})";
    let Some(mut chat) = beside(&["noice.nvim", "nui.nvim"], setup) else { return };
    chat.nvim.command("RatMode");
    chat.nvim.poll_screen("has no options");
}

/// Holds (Other plugins): which-key describes our maps.
#[test]
fn which_key_describes_our_maps() {
    let setup = "require('which-key').setup({ delay = 0, icons = { mappings = false } })";
    let Some(mut chat) = beside(&["which-key.nvim"], setup) else { return };
    chat.nvim.enter(TRANSCRIPT);
    let pending = chat.ask_in_a_turn();
    chat.nvim.input("g");
    chat.nvim.poll_screen("rat: allow the request once");
    chat.nvim.input("a");
    assert_eq!(chat.answer(pending)["outcome"]["optionId"], json!("yes"));
}

/// Holds (Other plugins): gitsigns follows an agent's write.
#[test]
fn gitsigns_follows_an_agents_write() {
    let setup = "require('gitsigns').setup({})";
    let Some(mut chat) = beside(&["gitsigns.nvim"], setup) else {
        return;
    };
    for args in ["init -q", "add -A", "-c user.name=a -c user.email=a@b commit -q -m x"] {
        let git = Command::new("git").args(args.split(' ')).current_dir(chat.nvim.cwd()).status();
        assert!(git.unwrap().success(), "git {args}");
    }
    let path = chat.path("report.txt");
    chat.nvim.lua_in(&path.to_string_lossy(), "vim.cmd.edit()", json!([]));
    let status = "(vim.b[vim.fn.bufnr('report.txt')].gitsigns_status_dict or {})";
    chat.poll_lua("gitsigns", &format!("{status}.changed == 0"));
    chat.write("report.txt", "one\n2\nthree\n");
    chat.poll_lua("a changed line", &format!("{status}.changed == 1"));
}

/// Holds (Other plugins): conform's formatting and the agent's write are one undo step.
#[test]
fn conform_formats_what_an_agent_writes_in_one_step() {
    let setup = "require('conform').setup({
          formatters_by_ft = { text = { 'up' } },
          formatters = { up = { command = 'sed', args = { 's/2/second/' }, stdin = true } },
          format_on_save = { timeout_ms = 10000 },
        })";
    let Some(mut chat) = beside(&["conform.nvim"], setup) else { return };
    let path = chat.path("report.txt");
    chat.write("report.txt", "one\n2\nthree\n");
    let name = path.to_string_lossy();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\nsecond\nthree\n");
    assert_eq!(chat.nvim.buffer_lines(&name), ["one", "second", "three"]);
    assert_eq!(chat.nvim.lua_in(&name, "return vim.bo.modified", json!([])), json!(false));
    chat.nvim.lua_in(&name, "vim.cmd.undo()", json!([]));
    assert_eq!(chat.nvim.buffer_lines(&name), ["one", "two", "three"]);
}

/// Holds (Other plugins): Session managers restore the user's windows and those of a chat.
#[test]
fn persistence_brings_the_chats_windows_back() {
    let setup = "require('persistence').setup({})";
    let Some(mut chat) = beside(&["persistence.nvim"], setup) else { return };
    let windows = ["report.txt", TRANSCRIPT, PROMPT];
    chat.poll_windows(&windows);
    chat.nvim.lua("require('persistence').save()", json!([]));
    chat.nvim.quit();
    let folders = checkouts(&["persistence.nvim"]).unwrap();
    let path = json!(folders[0]);
    let init = format!("vim.opt.runtimepath:append({path})\n{setup}");
    let options = Options { columns: 120, lines: 36, init, ..Options::default() };
    let mut next = chat.nvim.beside(options);
    next.setup(json!({"agents": {"fake": {"command": "/nowhere"}}}));
    next.lua("require('persistence').load()", json!([]));
    next.poll_screen("Not connected. Send a prompt to resume.");
    assert_eq!(next.eval("#vim.api.nvim_list_wins()"), json!(3));
    assert_eq!(next.eval("vim.v.errmsg"), json!(""));
}

/// Holds (Other plugins): Session managers restore the user's windows and those of a chat.
#[test]
fn auto_session_saves_the_users_windows_alone() {
    let setup = "vim.o.sessionoptions = 'blank,buffers,curdir,folds,help,tabpages,winsize,winpos,terminal,localoptions'
        require('auto-session').setup({ auto_restore = false })";
    let Some(mut chat) = beside(&["auto-session"], setup) else { return };
    chat.poll_windows(&["report.txt", TRANSCRIPT, PROMPT]);
    chat.nvim.lua("require('auto-session').auto_save_session()", json!([]));
    chat.poll_windows(&["report.txt"]);
    assert_eq!(chat.nvim.eval("vim.v.errmsg"), json!(""));
    chat.nvim.command("RatToggle");
    chat.poll_windows(&["report.txt", TRANSCRIPT, PROMPT]);
}

/// Holds (Other plugins): render-markdown draws in the prompt.
#[test]
fn render_markdown_draws_in_the_prompt() {
    let setup = "vim.treesitter.language.register('markdown', 'ratprompt')
        require('render-markdown').setup({ file_types = { 'markdown', 'ratprompt' } })";
    let Some(mut chat) = beside(&["render-markdown.nvim"], setup) else { return };
    chat.nvim.enter(PROMPT);
    chat.nvim.input("i# Head<CR>text<Esc>");
    chat.poll_lua(
        "marks of render-markdown",
        "(function()
        local id = vim.api.nvim_get_namespaces()['render-markdown.nvim']
        return id ~= nil and #vim.api.nvim_buf_get_extmarks(0, id, 0, -1, {}) > 0
      end)()",
    );
    chat.nvim.input("<CR>");
    let request = chat.expect_prompt();
    assert_eq!(request.params["prompt"][0]["text"], json!("# Head\ntext"));
    chat.say("## An answer");
    chat.nvim.poll_screen("An answer");
}
