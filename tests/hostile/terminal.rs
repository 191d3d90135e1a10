//! A Neovim in a terminal of its own, and everything in it looked at: what its TUI wrote is the proof.

use super::poison;
use crate::support::{Nvim, Options};
use serde_json::json;

/// The text of the screen as Neovim has it at this moment, floats included.
const SCREEN: &str = r#"
    vim.cmd.redraw()
    local rows = {}
    for row = 1, vim.o.lines do
      local cells = {}
      for column = 1, vim.o.columns do
        cells[column] = vim.fn.screenstring(row, column)
      end
      rows[row] = table.concat(cells)
    end
    return table.concat(rows, "\n")
"#;

/// The window's title is the statusline's text, behind the words by which it is known for Neovim's own.
fn options(init: &str) -> Options {
    let title = r#"
            vim.o.title = true
            vim.o.titlestring = "the user's title: %{%v:lua.require('rat').statusline()%}"
            vim.o.statusline = "%f %{%v:lua.require('rat').statusline()%}"
            vim.o.tabline = "%!v:lua.require('rat').statusline()""#;
    Options {
        columns: 160,
        lines: 50,
        terminal: true,
        init: format!("{title}\n{init}"),
        ..Options::default()
    }
}

/// A Neovim in a terminal, and the text of all screens looked at.
pub(crate) struct Viewer {
    pub(crate) nvim: Nvim,
    seen: String,
    looks: usize,
}

impl Viewer {
    pub(crate) fn start(init: &str) -> Self {
        Self::with(Nvim::start(options(init)))
    }

    /// Another one after this one's end, with the same home and state.
    pub(crate) fn restart(&self) -> Self {
        Self::with(self.nvim.beside(options("")))
    }

    fn with(nvim: Nvim) -> Self {
        Self { nvim, seen: String::new(), looks: 0 }
    }

    /// Looks at the screen as it is.
    pub(crate) fn look(&mut self) {
        let text = self.nvim.lua(SCREEN, json!([]));
        self.seen.push_str(text.as_str().unwrap());
    }

    /// Looks at all of the current window, folds opened and closed.
    pub(crate) fn look_through(&mut self) {
        self.look();
        self.nvim.lua("pcall(vim.cmd.normal, { 'zR', bang = true })", json!([]));
        self.nvim.command("normal! gg");
        let page = "local last = vim.fn.line('w$')
            if last >= vim.fn.line('$') then return true end
            vim.fn.cursor(last, 1)
            vim.cmd('normal! zt')
            return vim.fn.line('w$') == last and vim.fn.cursor(last + 1, 1) ~= 0";
        loop {
            self.look();
            if self.nvim.lua(page, json!([])) == json!(true) {
                break;
            }
        }
    }

    /// Waits until a text is on the screen, and looks.
    pub(crate) fn poll(&mut self, text: &str) {
        self.nvim.poll(&format!("{text:?} on the screen"), |nvim| {
            nvim.lua(SCREEN, json!([])).as_str().unwrap().contains(text)
        });
        self.look();
    }

    /// Runs a command and looks at all of the window that it opens.
    pub(crate) fn open(&mut self, command: &str, text: &str) {
        self.nvim.command(command);
        self.poll(text);
        self.look_through();
    }

    /// Goes to the line of the transcript that holds this text.
    pub(crate) fn go_to(&mut self, text: &str) {
        let go = "vim.api.nvim_set_current_win(vim.fn.bufwinid('rat://fake/1'))
            return vim.fn.search('\\\\V' .. ..., 'w')";
        self.nvim.poll(text, |nvim| nvim.lua(go, json!([text])) != json!(0));
        self.nvim.command("normal! zvzt");
        self.look();
    }

    /// Has the TUI write what it has to, and fails the test where an agent's sequences are in it, or where one of these
    /// words was never on the screen: what was not looked at proves nothing.
    pub(crate) fn finish(&mut self, places: &[&str]) {
        self.looks += 1;
        let end = format!("looked {}", self.looks);
        self.nvim.lua("vim.o.titlestring = ... vim.cmd.redraw()", json!([end]));
        self.nvim.poll("the end of the TUI's writing", |nvim| {
            memchr::memmem::find(&nvim.terminal_bytes(), end.as_bytes()).is_some()
        });
        let problems = poison::problems(&self.nvim.terminal_bytes());
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        let missing: Vec<_> = places.iter().filter(|place| !self.seen.contains(**place)).collect();
        assert!(missing.is_empty(), "never on the screen: {missing:?}");
    }
}

/// Holds (Hostile agents): No text of an agent commands the terminal, in any window: checked in the bytes that Neovim's TUI writes.
#[test]
fn what_the_tui_writes_is_kept() {
    let mut viewer = Viewer::start("");
    viewer.nvim.lua("vim.o.titlestring = 'zqrat'", json!([]));
    viewer.nvim.poll("the title in the terminal", |nvim| {
        !poison::problems(&nvim.terminal_bytes()).is_empty()
    });
}
