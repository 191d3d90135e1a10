//! What tests do with the plugin, by its public commands, Lua functions and events alone.

use serde_json::{Value as Json, json};

use super::{Agent, Nvim};

impl Nvim {
    /// Runs `require("rat").setup` with options given as JSON.
    pub fn setup(&mut self, options: Json) {
        self.lua(r#"require("rat").setup(...)"#, json!([options]));
    }

    /// Configures an agent named `fake` that this test plays, and starts it with `:RatStart`.
    pub fn start_agent(&mut self) -> Agent {
        self.start_agent_with(json!({}))
    }

    /// Like [`Nvim::start_agent`], with more options for `setup`.
    pub fn start_agent_with(&mut self, mut options: Json) -> Agent {
        let mut agent = self.listen();
        options["agents"]["fake"] = agent.config();
        options["default_agent"] = json!("fake");
        self.setup(options);
        self.command("RatStart fake");
        agent.expect_start();
        agent
    }

    /// Sends a prompt with `require("rat").send`.
    pub fn send(&mut self, text: &str) {
        self.lua(r#"require("rat").send(...)"#, json!([text]));
    }

    /// What `require("rat").status()` gives.
    pub fn status(&mut self) -> Json {
        self.lua(r#"return require("rat").status()"#, json!([]))
    }

    /// Waits until the status has the state: `ready`, `running`, `waiting` ..
    pub fn poll_state(&mut self, state: &str) {
        self.poll(&format!("the state {state}"), |nvim| nvim.status()["state"] == json!(state));
    }

    /// Chooses the answer with this number in a chooser that opens by itself, once it takes keys.
    pub fn choose(&mut self, number: usize) {
        self.poll_screen("<CR> choose");
        self.input(&format!("{number}<CR>"));
        self.poll("no chooser", |nvim| !nvim.screen().contains("<CR> choose"));
    }

    /// Closes a chooser that opens by itself, once it takes keys.
    pub fn dismiss(&mut self) {
        self.poll_screen("<CR> choose");
        self.input("<Esc>");
        self.poll("no chooser", |nvim| !nvim.screen().contains("<CR> choose"));
    }

    /// From now on keeps the data of the `User` autocommands of these names for [`Nvim::events`].
    pub fn record(&mut self, names: &[&str]) {
        let code = r#"
            _G.recorded = _G.recorded or {}
            vim.api.nvim_create_autocmd("User", {
              pattern = ...,
              callback = function(args)
                table.insert(_G.recorded, { args.match, args.data or vim.NIL })
              end,
            })"#;
        self.lua(code, json!([names]));
    }

    /// The data of the events of that name that were recorded so far, in order.
    pub fn events(&mut self, name: &str) -> Vec<Json> {
        let recorded = self.lua("return _G.recorded or {}", json!([]));
        let events =
            recorded.as_array().into_iter().flatten().filter(|event| event[0] == json!(name));
        events.map(|event| event[1].clone()).collect()
    }

    /// Waits until `count` events of that name have been recorded and gives the last one's data.
    pub fn poll_events(&mut self, name: &str, count: usize) -> Json {
        let what = format!("{count} of the event {name}");
        self.poll_for(&what, |nvim| nvim.events(name).get(count - 1).cloned())
    }
}
