//! What the user does in that Neovim, with keys and with commands. Whatever they do to a text is meant.

use super::model::Checked;
use super::nvim::within;
use super::world::World;

const STRIP: &str = "autocmd BufWritePre * silent! keepjumps %s/ *$//e";
const SORT: &str = "autocmd BufWritePre * silent! 2,5sort";
/// So many lines at the top are within its reach.
pub(crate) const SORTED: usize = 5;

impl World {
    pub(crate) async fn user(&mut self) -> Checked {
        if self.typing {
            self.goes_on_typing().await;
            return Ok(());
        }
        let at = self.at;
        let lines: usize = self.nvim.eval("vim.fn.line('$')").await.parse().unwrap();
        let line = self.dice.within(0..lines) + 1;
        match self.dice.within(0..24) {
            0..6 => self.types(line).await,
            6..8 => self.changes(line).await,
            8..10 if lines > 6 => {
                let last = (line + self.dice.within(0..3)).min(lines);
                self.runs(&format!("{line},{last}delete")).await;
            }
            10 if self.moves => self.runs(&format!("{line}copy {line}")).await,
            11 if self.moves => {
                let to = self.dice.within(0..lines + 1);
                self.runs(&format!("{line}move {to}")).await;
            }
            12..14 => return self.saves().await,
            14..17 => self.runs("undo").await,
            17 => self.runs("redo").await,
            18 => {
                let (to, count) =
                    (*self.dice.pick(&["earlier", "later"]), 1 + self.dice.within(0..4));
                self.runs(&format!("{to} {count}")).await;
            }
            19 if self.dice.once_in(3) => self.runs("edit!").await,
            20 => self.begins_to_type(line).await,
            21 => {
                let windows = ["split", "wincmd w", "only", "vsplit", "wincmd p"];
                let command = *self.dice.pick(&windows);
                self.runs(command).await;
                let name = self.nvim.eval("vim.api.nvim_buf_get_name(0)").await;
                let shown = self.files.iter().position(|file| file.path.to_str() == Some(&name));
                self.at = shown.ok_or_else(|| format!("the window shows {name}"))?;
            }
            22 => self.formats().await,
            _ => return self.goes_to_a_file().await,
        }
        self.user_did(at).await;
        Ok(())
    }

    /// Commands that may have nothing to do.
    async fn runs(&mut self, command: &str) {
        let with_keys = self.dice.once_in(2);
        self.trail.note(format!("user, {}: {command}{}", self.file_name(), shown(with_keys)));
        if with_keys {
            self.presses(&format!(":silent! {command}<CR>")).await;
        } else {
            self.nvim.command(&format!("silent! {command}")).await;
        }
    }

    async fn types(&mut self, line: usize) {
        let (word, with_keys) = (self.word("user"), self.dice.once_in(2));
        let key = *self.dice.pick(&["o", "O"]);
        let blanks = if self.dice.once_in(5) { "  " } else { "" };
        self.trail.note(format!(
            "user, {}: {line}G{key}{word}{blanks}{}",
            self.file_name(),
            shown(with_keys)
        ));
        if with_keys {
            self.presses(&format!("{line}G{key}{word}{blanks}<Esc>")).await;
        } else {
            self.nvim.command(&format!("normal! {line}G{key}{word}{blanks}")).await;
        }
    }

    async fn changes(&mut self, line: usize) {
        let word = self.word("user");
        let keys = if self.dice.once_in(2) { format!("A {word}") } else { format!("cc{word}") };
        self.trail.note(format!("user, {}: {line}G{keys}", self.file_name()));
        self.presses(&format!("{line}G{keys}<Esc>")).await;
    }

    /// Types keys in Normal mode, and waits until they are through.
    async fn presses(&mut self, keys: &str) {
        let number = self.word("keys");
        let keys = format!("{keys}:let g:done='{number}'<CR>");
        self.nvim.type_until(&keys, "vim.g.done", &number).await;
    }

    /// Neovim asks, as always, where the file was changed and nobody has told us yet: the user insists.
    async fn saves(&mut self) -> Checked {
        let (at, with_keys) = (self.at, self.dice.once_in(2));
        let command = if self.files[at].pending.is_some() { "write!" } else { "write" };
        self.trail.note(format!("user, {}: {command}{}", self.file_name(), shown(with_keys)));
        if with_keys {
            self.presses(&format!(":silent {command}<CR>")).await;
        } else {
            self.nvim.command(&format!("silent {command}")).await;
        }
        let is_modified = self.look(at).await.modified;
        self.user_did(at).await;
        if is_modified { Err("it is modified after being saved".to_owned()) } else { Ok(()) }
    }

    async fn begins_to_type(&mut self, line: usize) {
        let word = self.word("user");
        self.trail.note(format!("user, {}: {line}Go{word}, and stays there", self.file_name()));
        self.typing = true;
        self.nvim.keys(&format!("{line}Go{word}")).await;
        self.has_typed(&word).await;
    }

    async fn goes_on_typing(&mut self) {
        if self.dice.once_in(4) {
            self.trail.note(format!("user, {}: <Esc>", self.file_name()));
            self.nvim.type_until("<Esc>", "vim.fn.mode()", "n").await;
            self.typing = false;
        } else {
            let word = self.word("user");
            let key = *self.dice.pick(&[" ", "<CR>"]);
            self.trail.note(format!("user, {}: {key}{word}", self.file_name()));
            self.nvim.keys(&format!("<End>{key}{word}")).await;
            self.has_typed(&word).await;
        }
        self.user_did(self.at).await;
    }

    /// Waits until a word the user has typed is there.
    pub(crate) async fn has_typed(&self, word: &str) {
        let there = format!("tostring(text():find({word:?}, 1, true) ~= nil)");
        self.nvim.wait_for(&there, "true").await;
    }

    async fn formats(&mut self) {
        let formatters: &[&str] = if self.moves {
            &["autocmd! BufWritePre *", STRIP, SORT]
        } else {
            &["autocmd! BufWritePre *", STRIP]
        };
        let formatter = *self.dice.pick(formatters);
        self.trail.note(format!("user: {formatter}"));
        self.sorts = formatter == SORT;
        // Those of the plugin are not the user's to remove.
        let own =
            formatter.replace("autocmd! ", "autocmd! own ").replace("autocmd ", "autocmd own ");
        self.nvim.command(&format!("augroup own | augroup END | autocmd! own | {own}")).await;
    }

    /// Neovim asks, as always, on coming to a file that was changed and nobody has told us yet: that is told before.
    async fn goes_to_a_file(&mut self) -> Checked {
        let index = self.dice.within(0..self.files.len());
        self.follows(index).await?;
        self.open(index).await;
        let path = self.files[index].path.clone();
        within(self.nvim.files.note(&path)).await.map_err(|error| error.to_string())
    }

    fn file_name(&self) -> &str {
        &self.files[self.at].name
    }
}

fn shown(with_keys: bool) -> &'static str {
    if with_keys { " (keys)" } else { "" }
}
