//! Numbers the texts of all documents, in the order they are read or made. It keeps none of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::edit::{Revision, Snapshot, Text};

/// The next free revision. All documents share one counter, so that a revision stays unique when a document is dropped
/// and opened again.
#[derive(Debug, Default)]
pub(super) struct Revisions(AtomicU64);

impl Revisions {
    /// Gives a text a revision of its own.
    pub(super) fn snapshot(&self, text: impl Into<Arc<Text>>) -> Snapshot {
        Snapshot::new(Revision(self.0.fetch_add(1, Ordering::Relaxed)), text)
    }
}
