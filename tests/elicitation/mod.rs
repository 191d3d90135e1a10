//! What agents ask the user to fill in or to open, in real Neovim: on the screen, answered, and taken back.

mod addresses;
mod ends;
mod forms;
mod screens;

use crate::support::{Chat, Nvim, Options, Pending, TRANSCRIPT};
use serde_json::{Value as Json, json};

/// Keeps what is opened in the browser.
const BROWSER: &str = "_G.browsed = {}
    vim.ui.open = function(url) table.insert(_G.browsed, url) return {} end";

/// A turn that runs; the user is in the chat.
fn in_turn() -> Chat {
    start_at(100, 40, json!({}))
}

/// The same on a screen of this size, with these options of the plugin.
fn start_at(columns: u16, lines: u16, settings: Json) -> Chat {
    let mut nvim = Nvim::start(Options { columns, lines, ..Options::default() });
    nvim.lua(BROWSER, json!([]));
    Chat::builder().neovim(nvim).setup(settings).in_turn()
}

/// What tests of forms and URLs do with a chat.
impl Chat {
    /// The agent asks, and the state tells of it.
    fn elicit(&mut self, params: Json) -> Pending {
        let before = self.nvim.events("RatElicitation").len();
        let pending = self.ask("elicitation/create", params);
        self.nvim.poll_events("RatElicitation", before + 1);
        pending
    }

    /// A form with these properties is open.
    fn form(&mut self, properties: Json, required: Json) -> Pending {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let pending = self
            .elicit(json!({"mode": "form", "message": "Which one?", "requestedSchema": schema}));
        self.nvim.poll_screen("ga send");
        pending
    }

    fn address(&mut self, id: &str, url: &str) -> Pending {
        self.elicit(
            json!({"mode": "url", "message": "Log in there.", "elicitationId": id, "url": url}),
        )
    }

    /// Goes to the row with this text and presses a key.
    fn press_on(&mut self, text: &str, keys: &str) {
        let code = "vim.fn.search('\\\\V' .. ..., 'cw')";
        self.nvim.lua(code, json!([text]));
        self.nvim.input(keys);
    }

    /// Writes a text into the field with this title.
    fn fill_in(&mut self, title: &str, text: &str) {
        self.press_on(title, "<CR>");
        self.nvim.poll_screen("<CR> done");
        self.nvim.input(&format!("<C-u>{text}<CR>"));
        self.nvim.poll_no("<CR> done");
    }

    fn poll_transcript(&mut self, text: &str) {
        self.nvim.poll(&format!("{text} in the transcript"), |nvim| {
            nvim.buffer_lines(TRANSCRIPT).join("\n").contains(text)
        });
    }

    fn browsed(&mut self) -> Json {
        self.nvim.eval("_G.browsed")
    }
}
