//! What the user does in that editor, with keys and with commands. Whatever they do to a text is meant.

use super::desk::{Act, Formatter};
use super::model::Checked;
use super::nvim::within;
use super::world::World;

/// So many lines at the top are within reach of the formatter that sorts.
pub(crate) const SORTED: usize = 5;

impl World {
    pub(crate) async fn user(&mut self) -> Checked {
        if self.typing {
            self.goes_on_typing().await;
            return Ok(());
        }
        let at = self.at;
        let lines = self.desk.lines().await;
        let line = self.dice.within(0..lines) + 1;
        match self.dice.within(0..24) {
            0..6 => self.types(line).await,
            6..8 => self.changes(line).await,
            8..10 if lines > 6 => {
                let last = (line + self.dice.within(0..3)).min(lines);
                self.acts(Act::Delete { first: line, last }).await;
            }
            10 if self.moves => self.acts(Act::Copy { line }).await,
            11 if self.moves => {
                let to = self.dice.within(0..lines + 1);
                self.acts(Act::Move { line, to }).await;
            }
            12..14 => return self.saves().await,
            14..17 => self.acts(Act::Undo).await,
            17 => self.acts(Act::Redo).await,
            18 => {
                let (back, steps) = (self.dice.once_in(2), 1 + self.dice.within(0..4));
                self.acts(if back { Act::Earlier(steps) } else { Act::Later(steps) }).await;
            }
            19 if self.dice.once_in(3) => self.acts(Act::Reload).await,
            20 => self.begins_to_type(line).await,
            21 => {
                let windows = ["split", "wincmd w", "only", "vsplit", "wincmd p"];
                let command = *self.dice.pick(&windows);
                self.acts(Act::Window(command)).await;
                let path = self.desk.current().await;
                let shown = self.files.iter().position(|file| file.path == path);
                let shown = shown.ok_or_else(|| format!("the window shows {}", path.display()));
                self.at = shown?;
            }
            22 => self.formats().await,
            _ => return self.goes_to_a_file().await,
        }
        self.user_did(at).await;
        Ok(())
    }

    /// With keys or by a command. There may be nothing to do.
    async fn acts(&mut self, act: Act) {
        let with_keys = self.dice.once_in(2);
        self.trail.note(format!("user, {}: {}", self.file_name(), act.shown(with_keys)));
        self.desk.does(&act, with_keys).await;
    }

    async fn types(&mut self, line: usize) {
        let (word, above) = (self.word("user"), self.dice.once_in(2));
        let blanks = if self.dice.once_in(5) { "  " } else { "" };
        self.acts(Act::Insert { line, above, text: word + blanks }).await;
    }

    async fn changes(&mut self, line: usize) {
        let word = self.word("user");
        let act = if self.dice.once_in(2) {
            Act::Append { line, text: format!(" {word}") }
        } else {
            Act::Change { line, text: word }
        };
        self.acts(act).await;
    }

    /// Neovim asks, as always, where the file was changed and nobody has told us yet: the user insists.
    async fn saves(&mut self) -> Checked {
        let (at, insists) = (self.at, self.files[self.at].pending.is_some());
        self.acts(Act::Write { insists }).await;
        let is_modified = self.look(at).await.modified;
        self.user_did(at).await;
        if is_modified { Err("it is modified after being saved".to_owned()) } else { Ok(()) }
    }

    async fn begins_to_type(&mut self, line: usize) {
        let text = self.word("user");
        self.typing = true;
        self.acts(Act::Begin { line, text }).await;
    }

    async fn goes_on_typing(&mut self) {
        let act = if self.dice.once_in(4) {
            self.typing = false;
            Act::Escape
        } else {
            let (word, below) = (self.word("user"), self.dice.once_in(2));
            Act::Type { below, text: if below { word } else { format!(" {word}") } }
        };
        self.acts(act).await;
        self.user_did(self.at).await;
    }

    async fn formats(&mut self) {
        let formatters: &[Formatter] = if self.moves {
            &[Formatter::None, Formatter::Strip, Formatter::Commas, Formatter::Sort]
        } else {
            &[Formatter::None, Formatter::Strip, Formatter::Commas]
        };
        let formatter = *self.dice.pick(formatters);
        self.sorts = formatter == Formatter::Sort;
        self.trail.note(format!("user: {}", formatter.command()));
        self.desk.does(&Act::Format(formatter), false).await;
    }

    /// Neovim asks, as always, on coming to a file that was changed and nobody has told us yet: that is told before.
    async fn goes_to_a_file(&mut self) -> Checked {
        let index = self.dice.within(0..self.files.len());
        self.follows(index).await?;
        self.open(index).await;
        let path = self.files[index].path.clone();
        within(self.desk.documents().record_baseline(&path))
            .await
            .map_err(|error| error.to_string())
    }

    fn file_name(&self) -> &str {
        &self.files[self.at].name
    }
}
