//! What is remembered of a file as a turn found it.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::disk_text::DiskText;
use super::facts::DiskFacts;
use crate::session::author::{Author, SessionKey};

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

/// The files that were not looked at in time before a prompt was sent, by session, with its turn: what changes there may have
/// changed before the turn.
#[derive(Debug, Default)]
pub(super) struct Unseen(Mutex<HashMap<SessionKey, (u64, BTreeSet<PathBuf>)>>);

impl Unseen {
    /// A turn begins, and nothing has been looked at.
    pub(super) fn begin(&self, session: &SessionKey, turn: u64, paths: BTreeSet<PathBuf>) {
        self.0.lock().insert(session.clone(), (turn, paths));
    }

    /// A file has been looked at.
    pub(super) fn saw(&self, session: &SessionKey, turn: u64, path: &Path) {
        if let Some((_, paths)) = self.0.lock().get_mut(session).filter(|(of, _)| *of == turn) {
            paths.remove(path);
        }
    }

    pub(super) fn holds(&self, by: &Author, path: &Path) -> bool {
        let turns = self.0.lock();
        let turn = turns.get(&by.session).filter(|(turn, _)| *turn == by.turn);
        turn.is_some_and(|(_, paths)| paths.contains(path))
    }

    pub(super) fn forget(&self, session: &SessionKey) {
        self.0.lock().remove(session);
    }
}
