//! Changes of files that nobody has open, where what was there before is known only to a turn whose look comes later.

use rat_nvim::documents::Touched;
use rat_nvim::session::author::Author;

use super::model::{Checked, Look};
use super::nvim::within;
use super::turns::Turns;
use super::words::{gone, words};
use super::world::World;

impl World {
    async fn is_taken_for(&self, index: usize, by: &Author) -> Checked<bool> {
        let touched = within(self.desk.documents().touched(&self.files[index].path, by)).await;
        touched
            .map(|touched| matches!(touched, Touched::Yes { .. }))
            .map_err(|error| error.to_string())
    }

    /// Remembers what was followed in a file that nobody has open, unless it was taken for the doing of who followed.
    pub(crate) async fn is_nobodys(&mut self, index: usize, by: &Author, now: &Look) -> Checked {
        if now.text.is_some() || self.is_taken_for(index, by).await? {
            return Ok(());
        }
        let Some(turns) = &mut self.turns else { return Ok(()) };
        let now = words(&now.disk);
        let came = gone(&now, self.files[index].expected.synced()).into_iter();
        turns.nobodys.entry(index).or_default().extend(came.map(str::to_owned));
        Ok(())
    }

    /// What was nobody's is the doing of a session once a look of its turn has found it there.
    pub(crate) async fn is_found_late(
        &mut self,
        index: usize,
        session: usize,
        by: &Author,
    ) -> Checked {
        let is_known = |turns: &Turns| turns.nobodys.contains_key(&index);
        if !self.turns.as_ref().is_some_and(is_known) || !self.is_taken_for(index, by).await? {
            return Ok(());
        }
        let Some(turns) = &mut self.turns else { return Ok(()) };
        let found = turns.nobodys.remove(&index).unwrap_or_default();
        let Some(meanwhile) = turns.meanwhile.get(&(by.turn, index)) else { return Ok(()) };
        let found = found.intersection(meanwhile);
        self.files[index].knows[session].brings(found.clone().map(String::as_str));
        turns.brought.entry((by.turn, index)).or_default().extend(found.cloned());
        Ok(())
    }

    /// What was changed on disk before a write is taken for the doing of whoever writes, also what the write has taken out
    /// again: an undo in the buffer brings it back.
    pub(crate) fn is_followed(&mut self, index: usize, turn: u64, was: &Look) {
        let (Some(turns), Some(text)) = (&mut self.turns, &was.text) else { return };
        let (disk, text) = (words(&was.disk), words(text));
        let new = gone(&disk, &text).into_iter().map(str::to_owned);
        turns.brought.entry((turn, index)).or_default().extend(new);
    }

    /// What a write has put back into a file that is not open belongs to its turn.
    pub(crate) fn is_put_back(&mut self, index: usize, turn: u64, (was, now): (&Look, &Look)) {
        let Some(turns) = &mut self.turns else { return };
        let (before, after) = (words(&was.disk), words(&now.disk));
        let new = gone(&after, &before).into_iter().map(str::to_owned);
        turns.brought.entry((turn, index)).or_default().extend(new);
    }
}
