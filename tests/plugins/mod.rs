//! rat.nvim beside plugins of others, with the plugins themselves: `RAT_PLUGINS` names a folder that has a checkout of each
//! by its name. What is not there is left out and said so.

mod completion;
mod others;
mod pickers;

use std::io::Write;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::support::{Chat, Nvim, Options, Pending, yes_or_no};
use serde_json::json;

/// The folders of the plugins, or why there are none.
fn checkouts(names: &[&str]) -> Result<Vec<PathBuf>, String> {
    let Some(folder) = std::env::var_os("RAT_PLUGINS") else {
        return Err("RAT_PLUGINS names no folder".to_owned());
    };
    let path = |name: &&str| {
        let path = Path::new(&folder).join(name).canonicalize();
        path.map_err(|_| format!("RAT_PLUGINS has no {name}"))
    };
    names.iter().map(path).collect()
}

/// Plugins that do not even load in an older Neovim than this.
const NEWER: &[(&str, &str)] = &[("telescope.nvim", "0.11"), ("gitsigns.nvim", "0.11")];

/// The version a plugin is for, where `$NVIM_BIN` is older.
fn too_old(plugin: &str) -> Option<&'static str> {
    let (_, version) = NEWER.iter().find(|(name, _)| *name == plugin)?;
    let has = Nvim::plain().lua("return vim.fn.has('nvim-' .. ...)", json!([version]));
    (has == json!(0)).then_some(version)
}

/// A chat in a Neovim with these plugins, which this Lua sets up. What cannot be tried is said.
fn beside(plugins: &[&str], setup: &str) -> Option<Chat> {
    let folders = match checkouts(plugins) {
        Ok(folders) => folders,
        Err(why) => return left_out(plugins, &why),
    };
    if let Some(version) = too_old(plugins[0]) {
        return left_out(plugins, &format!("it is for Neovim {version} and newer"));
    }
    let mut nvim = start(&folders, setup);
    for name in ["report.txt", "sub/straße.txt"] {
        nvim.file(name, "one\ntwo\nthree\n");
    }
    nvim.command("edit report.txt");
    let chat = Chat::builder().neovim(nvim).setup(json!({"permission": {"open": "never"}}));
    Some(chat.start())
}

/// What tests beside plugins do with a chat.
impl Chat {
    fn poll_lua(&mut self, what: &str, expression: &str) {
        let code = format!("return {expression}");
        self.nvim.poll(what, |nvim| nvim.lua(&code, json!([])) == json!(true));
    }

    /// Waits until the tab page shows these buffers, by the ends of their names, in this order, and no float.
    fn poll_windows(&mut self, wanted: &[&str]) {
        let shown = "
            local names = {}
            for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
              local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
              names[#names + 1] = name:match('^rat://') and name or vim.fs.basename(name)
            end
            return names";
        let what = format!("windows {wanted:?}");
        self.nvim.poll(&what, |nvim| nvim.lua(shown, json!([])) == json!(wanted));
    }

    /// Sends a prompt, in whose turn the agent asks for a permission.
    fn ask_in_a_turn(&mut self) -> Pending {
        self.prompt("go");
        self.ask_again()
    }

    fn ask_again(&mut self) -> Pending {
        let call = json!({"toolCallId": "run", "title": "Run it", "kind": "execute"});
        self.ask_permission(call, yes_or_no())
    }

    /// Has the agent write a file of the project.
    fn write(&mut self, name: &str, text: &str) {
        let params = json!({"path": self.path(name), "content": text});
        self.request("fs/write_text_file", params).unwrap();
    }
}

/// Says what was not tried and why, also where the output of tests that pass is not shown; each sentence once.
fn left_out(plugins: &[&str], why: &str) -> Option<Chat> {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let what = if std::env::var_os("RAT_PLUGINS").is_some() {
        plugins[0]
    } else {
        "tests beside other plugins"
    };
    let text = format!("left out: {what}, {why}");
    let mut said = SAID.lock();
    if !said.contains(&text) {
        let _ = writeln!(std::io::stderr(), "{text}");
        said.push(text);
    }
    None
}

fn start(folders: &[PathBuf], setup: &str) -> Nvim {
    let paths = json!(folders).to_string();
    let mut init = format!("vim.opt.runtimepath:append(vim.json.decode([==[{paths}]==]))\n");
    init += "vim.o.swapfile, vim.g.mapleader = false, ' '\n";
    init += "for _, kind in ipairs({ 'data', 'state', 'cache' }) do vim.fn.mkdir(vim.fn.stdpath(kind), 'p') end\n";
    init += setup;
    Nvim::start(Options { columns: 120, lines: 36, init, ..Options::default() })
}
