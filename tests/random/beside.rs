//! A second Neovim that has the files open, too, as a user's second editor. What it writes counts as somebody else's.

use super::agents::later_than;
use super::model::Checked;
use super::world::World;

impl World {
    pub(crate) async fn editor_beside(&mut self) -> Checked {
        let index = self.dice.within(0..self.files.len());
        let name = self.files[index].name.clone();
        if !self.files[index].is_open_there || self.dice.once_in(6) {
            self.trail.note(format!("beside: edit! {name}"));
            self.other.command(&format!("silent edit! {name}")).await;
            self.files[index].is_open_there = true;
        } else {
            // Neovim looks at the time of a file when its buffer is gone to, and may ask.
            self.other.command(&format!("silent noautocmd buffer {name}")).await;
        }
        let lines: usize = self.other.eval("vim.fn.line('$')").await.parse().unwrap();
        let line = self.dice.within(0..lines) + 1;
        let word = self.word("other");
        let change = match self.dice.within(0..4) {
            0 => format!("call append({line}, '{word}')"),
            1 => format!("call setline({line}, getline({line}) .. ' {word}')"),
            2 if lines > 8 => format!("{line}delete"),
            _ => format!("call setline({line}, '{word}')"),
        };
        self.trail.note(format!("beside: {change}, {name}"));
        self.other.command(&format!("silent {change}")).await;
        if self.dice.once_in(3) {
            return Ok(());
        }
        self.trail.note(format!("beside: write! {name}"));
        let size =
            self.other.eval("vim.fn.line2byte(vim.fn.line('$') + 1) - 1").await.parse().unwrap();
        later_than(&self.files[index].path, size);
        self.other.command("silent write!").await;
        let session = self.dice.within(0..2);
        (self.files[index].pending, self.files[index].is_stale) = (Some(session), true);
        if self.dice.once_in(2) { self.follows(index).await } else { Ok(()) }
    }
}
