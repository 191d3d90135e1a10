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
            hunks: hunks.iter().map(Replaced::of).collect(),
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
    hunks: Vec<Replaced>,
}

/// A hunk without its lines, which are in the text after it.
#[derive(Debug)]
struct Replaced {
    start: usize,
    removed: usize,
    added: usize,
}

impl Replaced {
    fn of(hunk: &Hunk) -> Self {
        Self { start: hunk.start, removed: hunk.removed, added: hunk.lines.len() }
    }
}

impl RecordedChange {
    /// Returns its hunks with their lines.
    pub(super) fn hunks(&self) -> Vec<Hunk> {
        let (mut before, mut after) = (0, 0);
        let with_lines = self.hunks.iter().map(|&Replaced { start, removed, added }| {
            after += start - before;
            let lines = (after..after + added).map(|row| self.after.text.line(row).to_owned());
            let hunk = Hunk { start, removed, lines: lines.collect() };
            (before, after) = (start + removed, after + added);
            hunk
        });
        with_lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::documents::change::Via;
    use crate::documents::revisions::Revisions;
    use crate::edit::{Text, diff};
    use crate::session::author::{ChatId, SessionKey};

    proptest! {
        #[test]
        fn hunks_come_back_with_their_lines(before in "([ab]\n){0,12}", after in "([abc]\n){0,12}") {
            let revisions = Revisions::default();
            let version = |text: &str| Version::of_file(revisions.snapshot(Text::parse(text)));
            let (before, after) = (version(&before), version(&after));
            let hunks = diff(&before.text, &after.text);
            let by = Author { session: SessionKey { chat: ChatId(1), session: "s".into() }, turn: 1, tool_call: None };
            let origin = Origin { by: by.clone(), via: Via::Protocol, is_certain: true };
            let start = UncertainStart { by, changes: Vec::new() };
            let start = start.with(&origin, (&before, &after), &hunks).unwrap();
            prop_assert_eq!(start.changes[0].hunks(), hunks);
        }
    }
}
