//! Words that an undo has left in the text although the turn had brought them, since another turn has put another line with
//! them in place of that turn's line. They are there by that other turn alone from then on: when it is undone as well, its
//! line goes, and what it replaced does not come back, since that was the first one's. A redo of the first turn brings back
//! only what its undo has changed in the text, and that line was not in it.

use std::collections::{HashMap, HashSet};

use rat_nvim::edit::PendingHunk;

use super::model::{Checked, Look};
use super::nvim::within;
use super::words::{each, gone, lines, words};
use super::world::World;

/// By turn and file.
#[derive(Debug, Default)]
pub(crate) struct Left {
    words: HashMap<(u64, usize), HashSet<String>>,
    /// The lines of a file on disk as a turn began.
    found: HashMap<(u64, usize), HashSet<String>>,
}

impl Left {
    pub(crate) fn begins(&mut self, of: (u64, usize), now: &Look) {
        self.found.insert(of, now.disk.lines().map(str::to_owned).collect());
    }

    /// Whether another turn than this one had brought a word of a file and has left it there.
    pub(crate) fn by_others(&self, (turn, index): (u64, usize), word: &str) -> bool {
        let mut others = self.words.iter().filter(|((of, at), _)| *of != turn && *at == index);
        others.any(|(_, words)| words.contains(word))
    }

    /// A turn was redone: what is in the lines that came back is there by it again.
    pub(crate) fn comes_back(&mut self, of: (u64, usize), (was, now): (&Look, &Look)) {
        let Some(left) = self.words.get_mut(&of) else { return };
        let (was, now) = (lines(was.kept()), lines(now.kept()));
        for word in gone(&now, &was).into_iter().flat_map(each) {
            left.remove(word);
        }
    }
}

impl World {
    /// Nothing that a turn has done is pending, but for what is not certain, and where the file was when the turn began as it is
    /// now: another turn has changed that and this one has put it back.
    pub(crate) async fn has_nothing_of(&self, index: usize, turn: u64, force: bool) -> Checked {
        let path = &self.files[index].path;
        let record = within(self.desk.documents().record(path)).await.map_err(|e| e.to_string())?;
        let Some(record) = record else { return Ok(()) };
        let base = record.base();
        let found = self.turns.as_ref().and_then(|turns| turns.left.found.get(&(turn, index)));
        let is_found = |hunk: &PendingHunk| {
            let is_there = |line: &str| found.is_some_and(|found| found.contains(line));
            let text = || hunk.text.clone().map(|row| record.current().line(row));
            let old = || hunk.base.clone().map(|row| base.line(row));
            text().all(is_there) && !old().any(is_there)
        };
        let pending = record.pending().into_iter().filter(|hunk| !is_found(hunk));
        let steps = pending.flat_map(|hunk| hunk.steps);
        let is_of = |step| {
            let origin = record.origin(step);
            origin.is_some_and(|it| it.by.turn == turn && (force || it.is_certain))
        };
        match steps.into_iter().find(|step| is_of(*step)) {
            Some(step) => {
                let (origin, base) = (record.origin(step), record.base().content());
                let pending = record.pending();
                Err(format!("{step:?}, {origin:?}, is pending still: {pending:?} in\n{base}"))
            }
            None => Ok(()),
        }
    }

    /// A turn was undone in a file, and nothing of it stayed because others have changed it since.
    pub(crate) async fn has_left(&mut self, (turn, index): (u64, usize), force: bool, now: &Look) {
        let path = &self.files[index].path;
        let record = within(self.desk.documents().record(path)).await.ok().flatten();
        // What is not certain stays the turn's unless it is undone by force.
        let is_undone = record.is_some_and(|record| {
            let mut of_turn = record.origins().filter(|origin| origin.by.turn == turn);
            of_turn.all(|origin| force || origin.is_certain)
        });
        let Some(turns) = self.turns.as_mut().filter(|_| is_undone) else { return };
        let (now, brought) = (words(now.kept()), turns.brought.get(&(turn, index)));
        let left = brought.into_iter().flatten().filter(|word| now.contains_key(*word));
        turns.left.words.insert((turn, index), left.cloned().collect());
    }
}
