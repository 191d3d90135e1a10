//! What is remembered of a file as a turn found it.

use std::collections::HashMap;

use super::disk_text::DiskText;
use super::facts::DiskFacts;
use crate::session::author::SessionKey;

/// What turns have found in a file, by session.
pub(super) type FoundByTurns = HashMap<SessionKey, FoundByTurn>;

/// What a turn has found in a file.
#[derive(Debug)]
pub(super) struct FoundByTurn {
    pub(super) turn: u64,
    /// The file as it had been followed until then. Once it has been followed further, this is old.
    pub(super) since: Option<DiskFacts>,
    /// `None` if there was no file.
    pub(super) file: Option<DiskText>,
}
