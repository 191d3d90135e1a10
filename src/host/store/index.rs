//! The index of sessions: one small file for each folder agents work in. It lists the newest; the archive has the others.

use super::locked::{self, Damaged};
use super::names::escaped;
use crate::session::saved::SavedSession;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many conversations are listed for a folder, and how many sessions with changes in place only. Older ones are archived.
const MAX_SESSIONS: usize = 100;

#[derive(Default, Serialize, Deserialize)]
struct Index {
    #[serde(default)]
    sessions: Vec<SavedSession>,
}

/// Returns the sessions of `cwd`; empty if it has no index. `folder` is that of the store.
pub(super) fn read(folder: &Path, cwd: &Path) -> io::Result<Vec<SavedSession>> {
    locked::read::<Index>(&file_of(folder, cwd)).map(|index| index.sessions)
}

/// Updates the sessions of `cwd`. Those that are not among the newest [`MAX_SESSIONS`] are passed to `archive`, and stay listed
/// if it returns `false`. A damaged index is renamed and replaced.
pub(super) fn update(
    folder: &Path,
    cwd: &Path,
    change: impl FnOnce(&mut Vec<SavedSession>),
    mut archive: impl FnMut(&SavedSession) -> bool,
) -> io::Result<()> {
    locked::update(&file_of(folder, cwd), Damaged::Replaced, |Index { sessions }| {
        change(sessions);
        for session in beyond_newest(sessions) {
            if archive(&session) {
                sessions.retain(|other| other.key() != session.key());
            }
        }
    })
}

/// Returns the sessions that are not among the newest.
fn beyond_newest(sessions: &[SavedSession]) -> Vec<SavedSession> {
    if sessions.len() <= MAX_SESSIONS {
        return Vec::new();
    }
    let mut by_use: Vec<&SavedSession> = sessions.iter().collect();
    by_use.sort_by_key(|session| std::cmp::Reverse(session.used_at));
    let (in_place, talks): (Vec<_>, Vec<_>) =
        by_use.into_iter().partition(|session| session.in_place);
    let beyond = |sessions: Vec<&SavedSession>| {
        sessions.into_iter().skip(MAX_SESSIONS).cloned().collect::<Vec<_>>()
    };
    [beyond(talks), beyond(in_place)].concat()
}

/// Returns the sessions that all indexes list, in no order. An index that cannot be read is left out.
pub(super) fn read_all(folder: &Path) -> Vec<SavedSession> {
    let files = fs::read_dir(folder_in(folder)).into_iter().flatten().flatten();
    let files =
        files.map(|file| file.path()).filter(|file| file.extension() == Some("json".as_ref()));
    let mut sessions: Vec<SavedSession> = Vec::new();
    for file in files {
        match locked::read::<Index>(&file) {
            Ok(index) => sessions.extend(index.sessions),
            Err(error) => tracing::error!(path = %file.display(), %error, "not searched"),
        }
    }
    sessions
}

fn folder_in(folder: &Path) -> PathBuf {
    folder.join("projects")
}

fn file_of(folder: &Path, cwd: &Path) -> PathBuf {
    let name = escaped(&cwd.to_string_lossy());
    folder_in(folder).join(name + ".json")
}
