//! A text together with its revision. Modules that exchange texts compare revisions to find out whether they mean the same
//! text.

use std::ops::Deref;
use std::sync::Arc;

use super::text::Text;

/// Identifies one text: texts with the same revision are the same text. Texts with different revisions may still have
/// the same content. Assigned by `documents::revisions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Revision(pub u64);

/// A text and its revision. Cloning shares the text. `==` compares the contents; to ask whether two snapshots are the
/// same text, compare their revisions.
#[derive(Debug, Clone, Eq)]
pub struct Snapshot {
    revision: Revision,
    text: Arc<Text>,
}

impl Snapshot {
    /// Pairs a text with its revision.
    pub fn new(revision: Revision, text: impl Into<Arc<Text>>) -> Self {
        Self { revision, text: text.into() }
    }

    /// The number that identifies the text.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Gives up the revision.
    pub fn into_text(self) -> Arc<Text> {
        self.text
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Deref for Snapshot {
    type Target = Text;

    fn deref(&self) -> &Text {
        &self.text
    }
}
