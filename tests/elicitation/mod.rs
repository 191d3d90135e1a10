//! What agents ask the user to fill in or to open, in real Neovim: on the screen, answered, and taken back.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

#[path = "../support/mod.rs"]
mod support;

mod addresses;
mod ends;
mod forms;
mod screens;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Pending, Request};

/// Keeps what is opened in the browser.
const BROWSER: &str = "_G.browsed = {}
    vim.ui.open = function(url) table.insert(_G.browsed, url) return {} end";

/// A turn that runs; the user is in the chat.
struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
    turn: Request,
}

impl Talk {
    fn start() -> Self {
        Self::start_at(100, 40, json!({}))
    }

    fn start_at(columns: u16, lines: u16, options: Json) -> Self {
        let mut nvim = Nvim::start(Options { columns, lines, ..Options::default() });
        nvim.record(&["RatElicitation"]);
        nvim.lua(BROWSER, json!([]));
        let mut agent = nvim.start_agent_with(options);
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("go");
        let turn = agent.expect_request("session/prompt");
        nvim.poll_state("running");
        Self { nvim, agent, session, turn }
    }

    /// The agent asks, and the state tells of it.
    fn ask(&mut self, more: Json) -> Pending {
        let mut params = json!({"sessionId": self.session});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let before = self.nvim.events("RatElicitation").len();
        let pending = self.agent.ask("elicitation/create", params);
        self.nvim.poll_events("RatElicitation", before + 1);
        pending
    }

    /// A form with these properties is open.
    fn form(&mut self, properties: Json, required: Json) -> Pending {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let pending =
            self.ask(json!({"mode": "form", "message": "Which one?", "requestedSchema": schema}));
        self.nvim.poll_screen("ga send");
        pending
    }

    fn address(&mut self, id: &str, url: &str) -> Pending {
        self.ask(
            json!({"mode": "url", "message": "Log in there.", "elicitationId": id, "url": url}),
        )
    }

    fn answer(&mut self, pending: Pending) -> Json {
        self.agent.expect_answer(pending).unwrap()
    }

    /// Goes to the row with this text and presses a key.
    fn on(&mut self, text: &str, keys: &str) {
        let code = "vim.fn.search('\\\\V' .. ..., 'cw')";
        self.nvim.lua(code, json!([text]));
        self.nvim.input(keys);
    }

    /// Writes a text into the field with this title.
    fn write(&mut self, title: &str, text: &str) {
        self.on(title, "<CR>");
        self.nvim.poll_screen("<CR> done");
        self.nvim.input(&format!("<C-u>{text}<CR>"));
        self.poll_gone("<CR> done");
    }

    fn poll_gone(&mut self, text: &str) {
        self.nvim.poll(&format!("no {text}"), |nvim| !nvim.screen().contains(text));
    }

    fn transcript(&mut self) -> String {
        self.nvim.buffer_lines("rat://fake/1").join("\n")
    }

    fn poll_transcript(&mut self, text: &str) {
        self.nvim.poll(&format!("{text} in the transcript"), |nvim| {
            nvim.buffer_lines("rat://fake/1").join("\n").contains(text)
        });
    }

    fn browsed(&mut self) -> Json {
        self.nvim.lua("return _G.browsed", json!([]))
    }

    /// Waits until the user counts as idle and everything that waited for it was asked whether it may open.
    fn poll_idle(&mut self) {
        let code = "_G.idle = false
            require('rat.idle').when(function() return true end, function() idle = true end)";
        self.nvim.lua(code, json!([]));
        self.nvim.poll("an idle user", |nvim| nvim.lua("return idle", json!([])) == json!(true));
    }

    /// The windows, their sizes and the current one.
    fn layout(&mut self) -> Json {
        let code = "return { vim.fn.winlayout(), vim.fn.winrestcmd(), vim.fn.win_getid() }";
        self.nvim.lua(code, json!([]))
    }
}
