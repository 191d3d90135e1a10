//! A second editor that has the files open, too, as a user has it. What it writes counts as somebody else's.

use std::fs;

use super::desk::Act;
use super::model::Checked;
use super::world::World;

impl World {
    pub(crate) async fn editor_beside(&mut self) -> Checked {
        let index = self.dice.within(0..self.files.len());
        let name = self.files[index].name.clone();
        let act = if !self.files[index].is_open_there || self.dice.once_in(6) {
            self.files[index].is_open_there = true;
            Act::Reread(name.clone())
        } else {
            // Neovim looks at the time of a file when its buffer is gone to, and may ask.
            Act::GoTo { name: name.clone(), quietly: true }
        };
        self.there(&act, &name).await;
        let lines = self.other.lines().await;
        let line = self.dice.within(0..lines) + 1;
        let word = self.word("other");
        let act = match self.dice.within(0..4) {
            0 => Act::Insert { line, above: false, text: word },
            1 => Act::Append { line, text: format!(" {word}") },
            2 if lines > 8 => Act::Delete { first: line, last: line },
            _ => Act::Change { line, text: word },
        };
        self.there(&act, &name).await;
        if self.dice.once_in(3) {
            return Ok(());
        }
        let path = self.files[index].path.clone();
        let size = self.other.look(&path).await.text.map_or(0, |text| text.len());
        self.other.lets_time_pass(&path, size).await;
        let was = fs::read_to_string(&path).unwrap();
        self.there(&Act::Write { insists: true }, &name).await;
        let session = self.dice.within(0..2);
        (self.files[index].pending, self.files[index].is_stale) = (Some(session), true);
        self.came_on_disk(index, &was);
        if self.dice.once_in(2) { self.follows(index).await } else { Ok(()) }
    }

    async fn there(&self, act: &Act, name: &str) {
        self.trail.note(format!("beside, {name}: {}", act.shown(false)));
        self.other.does(act, false).await;
    }
}
