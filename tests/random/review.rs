//! The user keeps or rejects what is pending in a file: none of their own text goes, and a file all of whose changes are
//! rejected is what it was, unless that is reported.

use rat_nvim::core::messages::review::{ChangeScope, SelectedHunks};
use rat_nvim::edit::{HunkId, PendingHunk};

use super::model::{Checked, Look, shown};
use super::nvim::within;
use super::words::{all_unformatted, each, words};
use super::world::{World, key};

impl World {
    pub(crate) async fn decides(&mut self) -> Checked {
        if self.typing {
            return Ok(());
        }
        let index =
            if self.dice.once_in(2) { self.at } else { self.dice.within(0..self.files.len()) };
        self.follows(index).await?;
        let was = self.look(index).await;
        let path = self.files[index].path.clone();
        let pending = within(self.desk.documents().pending(&path)).await;
        let scope = self.scope(&was, &pending.map_err(|error| error.to_string())?);
        let is_rejected = self.dice.once_in(2);
        let verb = if is_rejected { "rejects" } else { "keeps" };
        self.trail.note(format!("user: {verb} in {} {scope:?}", self.files[index].name));
        if is_rejected {
            self.rejects(index, scope, &was).await
        } else {
            let is_all = scope == ChangeScope::default();
            let before = self.base(index).await?;
            within(self.desk.documents().keep(&path, scope)).await.map_err(|e| e.to_string())?;
            let left = within(self.desk.documents().pending(&path)).await;
            let left = left.map_err(|error| error.to_string())?;
            if is_all && !left.is_empty() {
                return Err(format!("all is kept, and still pending: {left:?}"));
            }
            let after = self.base(index).await?;
            self.files[index].expected.is_given_up(&before, &after);
            let now = self.look(index).await;
            if now.kept() == was.kept() {
                Ok(())
            } else {
                Err("keeping changed the text".to_owned())
            }
        }
    }

    /// A file without what is pending.
    async fn base(&self, index: usize) -> Checked<String> {
        let record = within(self.desk.documents().record(&self.files[index].path)).await;
        let record = record.map_err(|error| error.to_string())?;
        Ok(record.map(|record| record.base().content()).unwrap_or_default())
    }

    fn scope(&mut self, was: &Look, pending: &[PendingHunk]) -> ChangeScope {
        let lines = was.kept().lines().count();
        match self.dice.within(0..4) {
            0 => ChangeScope::default(),
            1 => {
                let session = key(self.dice.within(0..2));
                ChangeScope { session: Some(session), ..ChangeScope::default() }
            }
            2 => {
                // Some of those that were pending earlier, too.
                self.shown_hunks.extend(pending.iter().map(|hunk| hunk.id));
                let shown: Vec<HunkId> = self.shown_hunks.iter().copied().collect();
                let some = shown.into_iter().filter(|_| self.dice.once_in(3));
                let hunks = SelectedHunks::These(some.collect());
                ChangeScope { hunks, ..ChangeScope::default() }
            }
            _ => {
                let first = self.dice.within(0..lines + 1);
                let last = first + self.dice.within(0..4);
                let hunks = SelectedHunks::At(first..last);
                ChangeScope { hunks, ..ChangeScope::default() }
            }
        }
    }

    async fn rejects(&mut self, index: usize, scope: ChangeScope, was: &Look) -> Checked {
        let (path, is_all) = (self.files[index].path.clone(), scope == ChangeScope::default());
        let record = within(self.desk.documents().record(&path)).await;
        let before = record.map_err(|error| error.to_string())?;
        let rejected = within(self.desk.documents().reject(&path, scope)).await;
        let rejected = rejected.map_err(|error| error.to_string())?;
        self.trail.note(format!("        {rejected:?}"));
        self.user_did(index).await;
        let now = self.look(index).await;
        if now.text.is_none() {
            self.files[index].expected.comes_together(&now.disk);
        }
        let record = within(self.desk.documents().record(&path)).await;
        let after = record.map_err(|error| error.to_string())?;
        let failed = |why: String| Err(format!("{why}\n{}", shown(was, &now)));
        let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
        // An agent may have brought back words that the user has undone.
        let pending = before.pending();
        let is_theirs = |row: &usize| !pending.iter().any(|hunk| hunk.text.contains(row));
        let (rows, text) = (0..before.current().len(), words(now.kept()));
        let theirs = rows.filter(is_theirs).flat_map(|row| each(before.current().line(row)));
        // In a place that stays, or where another change took it away before, it may be pending still.
        let base = words(&after.base().content());
        let lost = |word: &&str| !text.contains_key(*word) && !base.contains_key(*word);
        if let Some(word) = theirs.into_iter().find(lost) {
            return failed(format!("{word} is gone, and it was not pending"));
        }
        let expected = &self.files[index].expected;
        let content = before.current().content();
        // Where lines change places, one may go from where an agent has put it, and not be where it was.
        let is_users = |word: &&str| !self.moves && expected.is_users(word);
        let mut users = each(&content).filter(is_users);
        if let Some(word) = users.find(lost) {
            let (base, pending) = (before.base().content(), before.pending());
            let why = format!("{word} is gone, and only the user has put it there");
            return failed(format!("{why}; pending: {pending:?} in\n{base}"));
        }
        let lost = |word: &&String| !text.contains_key(*word) && !base.contains_key(*word);
        if let Some(word) = words(&before.base().content()).keys().find(lost) {
            return failed(format!("{word} was in the base, and is nowhere"));
        }
        // A formatter may have changed the text when it was saved.
        let base = before.base().content();
        let is_base = all_unformatted(&base) == all_unformatted(now.kept());
        if is_all && rejected.conflicts.is_empty() && !self.sorts && !is_base {
            return failed(format!("all is rejected, and it is not\n{base}"));
        }
        if !was.modified && now.modified {
            return failed("it is modified after a rejection".to_owned());
        }
        Ok(())
    }
}
