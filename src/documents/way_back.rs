//! [`WayBack`]: what it takes to take a decision on a document back, for whoever may want to. It does nothing.

use std::sync::Arc;

use super::encoding::Encoding;
use crate::edit::{Kept, Place};

/// What it takes to take a decision on a file back. The file's record lasts as long as this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayBack {
    pub(super) of: Of,
    _keeper: Arc<()>,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Of {
    Kept(Kept),
    Rejected {
        before: Place,
        after: Place,
        /// How the file was encoded that the rejection has deleted, and its mode.
        deleted: Option<(Encoding, u32)>,
    },
}

impl WayBack {
    pub(super) fn new(of: Of, keeper: Arc<()>) -> Self {
        Self { of, _keeper: keeper }
    }

    /// `None` if nothing was kept.
    pub(super) fn of_kept(kept: Kept, keeper: Arc<()>) -> Option<Self> {
        (!kept.is_empty()).then(|| Self::new(Of::Kept(kept), keeper))
    }
}
