//! The first changes of an agent in a file of which nothing was known before, so that its record may begin too late.

use super::change::Origin;
use crate::edit::{Hunk, Version};
use crate::session::author::Author;

/// How many writes of one turn may wait until it is known what the file was before the first of them.
const MAX_UNCERTAIN: usize = 16;

/// The first writes of a turn to a file of which nothing was known: the agent may have changed it on disk before.
#[derive(Debug)]
pub(super) struct UncertainStart {
    pub(super) by: Author,
    /// All that the record holds.
    pub(super) changes: Vec<RecordedChange>,
}

impl UncertainStart {
    pub(super) fn is_of_turn(&self, by: &Author) -> bool {
        (&self.by.session, self.by.turn) == (&by.session, by.turn)
    }

    /// Returns the same with a change more. `None` if it is another's, or one too many.
    pub(super) fn with(
        mut self,
        origin: &Origin,
        (before, after): (&Version, &Version),
        hunks: &[Hunk],
    ) -> Option<Self> {
        let is_wanted = self.is_of_turn(&origin.by) && self.changes.len() < MAX_UNCERTAIN;
        self.changes.push(RecordedChange {
            origin: origin.clone(),
            before: before.clone(),
            after: after.clone(),
            hunks: hunks.to_owned(),
        });
        is_wanted.then_some(self)
    }
}

/// A change as it was recorded.
#[derive(Debug)]
pub(super) struct RecordedChange {
    pub(super) origin: Origin,
    pub(super) before: Version,
    pub(super) after: Version,
    pub(super) hunks: Vec<Hunk>,
}
