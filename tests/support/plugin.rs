//! What tests do with the plugin: by its public commands, Lua functions and events, and by its log.

use serde_json::{Value as Json, json};

use super::Nvim;

impl Nvim {
    /// Runs `require("rat").setup` with options given as JSON.
    pub fn setup(&mut self, options: Json) {
        self.lua(r#"require("rat").setup(...)"#, json!([options]));
    }

    /// Sends a prompt with `require("rat").send`.
    pub fn send(&mut self, text: &str) {
        self.lua(r#"require("rat").send(...)"#, json!([text]));
    }

    /// What `require("rat").status()` gives.
    pub fn status(&mut self) -> Json {
        self.lua(r#"return require("rat").status()"#, json!([]))
    }

    /// Makes the next key one that follows a pause: one that may be held down answers nothing that has just arrived.
    pub fn let_time_pass(&mut self) {
        let code = "local now = vim.uv.now; vim.uv.now = function() return now() + 1000 end";
        self.lua(code, json!([]));
    }

    /// Waits until the status has the state: `ready`, `running`, `waiting` ..
    pub fn poll_state(&mut self, state: &str) {
        self.poll(&format!("the state {state}"), |nvim| nvim.status()["state"] == json!(state));
    }

    /// How many permission requests wait for an answer.
    pub fn waiting(&mut self) -> usize {
        self.status()["permissions"].as_array().map_or(0, Vec::len)
    }

    /// What the status says beside its state.
    pub fn detail(&mut self) -> String {
        self.status()["detail"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until exactly these prompts are queued.
    pub fn poll_queue(&mut self, prompts: &[&str]) {
        self.poll(&format!("the queue {prompts:?}"), |nvim| {
            nvim.status()["queued"] == json!(prompts)
        });
    }

    /// All that the log file of the binary has.
    pub fn log(&mut self) -> String {
        let path = self.lua(r#"return require("rat.rpc").log_file()"#, json!([]));
        std::fs::read_to_string(path.as_str().unwrap_or_default()).unwrap_or_default()
    }

    /// The pid of the binary that Neovim has started.
    pub fn binary(&mut self) -> u32 {
        let code = "
            for _, channel in ipairs(vim.api.nvim_list_chans()) do
              if channel.argv and channel.argv[1] == vim.g.rat_binary then return vim.fn.jobpid(channel.id) end
            end";
        let pid = self.lua(code, json!([])).as_u64().expect("the binary runs");
        u32::try_from(pid).expect("a pid")
    }

    /// Waits until the user counts as idle and everything that waited for that was asked whether it may open.
    pub fn poll_idle(&mut self) {
        let code = "
            _G.idle = false
            require('rat.util.idle').when(function() return true end, function() idle = true end)";
        self.lua(code, json!([]));
        self.poll("an idle user", |nvim| nvim.eval("idle") == json!(true));
    }

    /// Chooses the answer with this number in a chooser that opens by itself, once it takes keys.
    pub fn choose(&mut self, number: usize) {
        self.poll_screen("<CR> choose");
        self.input(&format!("{number}<CR>"));
        self.poll_no("<CR> choose");
    }

    /// Closes a chooser that opens by itself, once it takes keys.
    pub fn dismiss(&mut self) {
        self.poll_screen("<CR> choose");
        self.input("<Esc>");
        self.poll_no("<CR> choose");
    }

    /// The data of the `User` autocommands of that name so far, in order. Neovim keeps them from its start.
    pub fn events(&mut self, name: &str) -> Vec<Json> {
        let code = "
            local name = ...
            return vim.tbl_filter(function(event) return event[1] == name end, _G.recorded)";
        let recorded = self.lua(code, json!([name]));
        recorded.as_array().into_iter().flatten().map(|event| event[1].clone()).collect()
    }

    /// Waits for that many autocommands of that name and gives the data of the last one.
    pub fn poll_events(&mut self, name: &str, count: usize) -> Json {
        let what = format!("{count} of the event {name}");
        self.poll_for(&what, |nvim| nvim.events(name).get(count - 1).cloned())
    }
}
