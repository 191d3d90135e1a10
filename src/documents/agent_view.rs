//! What a session knows of one file: the text its next write is based on, and the text its last change left. Pure
//! data; accesses neither files nor Neovim.

use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use super::disk_text::DiskText;
use super::editor::BufferId;
use super::facts::DiskFacts;
use crate::edit::{Revision, Snapshot, Text};
use crate::session::author::{Author, SessionKey};

/// What a session knows of a file.
#[derive(Debug, Clone)]
pub(super) struct AgentView {
    /// The text it last read or sent, which is the base for merging its next write. `None` if it has since read a file
    /// that is too large to be held for that; then `Document::excerpt_facts` has the version its next write is based
    /// on.
    pub(super) merge_base: Option<Snapshot>,
    /// The text its last change left, after formatters: later changes are not its own. The text it last read, if it has
    /// changed nothing since.
    pub(super) last_written: Snapshot,
    /// Set if it has read a text on disk that was not in the buffer yet.
    pub(super) read_ahead: Option<ReadAhead>,
}

/// Records that a session has read the file on disk before the buffer followed it. Reads may be reported late, so the
/// text may be one the session wrote itself right after reading.
#[derive(Debug, Clone)]
pub(super) struct ReadAhead {
    /// The file that Neovim had last read or written at that time.
    pub(super) baseline: DiskFacts,
    /// What the session knew of the file before.
    pub(super) previous: Option<Snapshot>,
}

/// A text that an agent has sent and will also write to the disk itself, as OpenCode does without waiting for our
/// answer.
#[derive(Debug)]
pub(super) struct SentText {
    pub(super) text: Snapshot,
    /// The turn in which it was sent.
    pub(super) turn: u64,
    /// Modification times that the file may have if this write produced it.
    pub(super) within: Range<SystemTime>,
}

/// A text that a session sent once it was on disk already. Until somebody knows what the file was before, that is no change.
#[derive(Debug)]
pub(super) struct SentLate {
    pub(super) by: Author,
    /// The text that it was made from; `None` if the session knew of none.
    pub(super) base: Option<Arc<Text>>,
    /// The file with the text.
    pub(super) file: DiskText,
}

impl SentLate {
    /// Whether it was made from what is known now to have been there before.
    pub(super) fn is_made_from(&self, before: Option<&DiskText>) -> bool {
        match (&self.base, before) {
            (Some(base), Some(before)) => base.same_lines(&before.text),
            (base, before) => base.is_none() && before.is_none(),
        }
    }
}

impl AgentView {
    pub(super) fn new(text: Snapshot) -> Self {
        Self { merge_base: Some(text.clone()), last_written: text, read_ahead: None }
    }

    /// Returns what the session knew of the file when the file was as in `baseline`. `None` if it knew nothing of it.
    pub(super) fn known_at(&self, baseline: Option<&DiskText>) -> Option<Snapshot> {
        match &self.read_ahead {
            Some(ahead) if baseline.is_some_and(|file| file.facts == ahead.baseline) => {
                ahead.previous.clone()
            }
            _ => Some(self.last_written.clone()),
        }
    }
}

/// What a session knows of a file it wrote, if that is newer than [`AgentView::merge_base`].
///
/// The merge base stays what the session last read or sent. An agent that was told of a change, or made one with a
/// shell command, may still send a text made from what it read before; with the newer text as the merge base, that
/// would silently revert the change.
#[derive(Debug)]
pub(super) struct Acknowledged {
    /// The revision of [`AgentView::merge_base`] at that time. Once the session has read or sent another text, this
    /// record is obsolete.
    pub(super) merge_base: Option<Revision>,
    /// The text it knows; `None` if it knows that there is no file.
    pub(super) text: Option<Snapshot>,
}

/// A read of a few lines that was answered before the whole text was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartialRead {
    pub(super) id: BufferId,
    pub(super) tick: i64,
    /// The sessions that have read lines of it.
    pub(super) sessions: Vec<SessionKey>,
}

impl PartialRead {
    /// Removes a session.
    pub(super) fn forget(&mut self, session: &SessionKey) {
        self.sessions.retain(|reader| reader != session);
    }
}
