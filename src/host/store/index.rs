//! The index of sessions: one small file for each folder agents work in.

use super::locked::{self, Damaged};
use super::names::escaped;
use crate::session::saved::SavedSession;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many sessions are listed for a folder; older ones are dropped.
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

/// Updates the sessions of `cwd` and returns those that were dropped because there were more than [`MAX_SESSIONS`]. A
/// damaged index is renamed and replaced.
pub(super) fn update(
    folder: &Path,
    cwd: &Path,
    change: impl FnOnce(&mut Vec<SavedSession>),
) -> io::Result<Vec<SavedSession>> {
    locked::update(&file_of(folder, cwd), Damaged::Replaced, |Index { sessions }| {
        change(sessions);
        sessions.split_off(sessions.len().min(MAX_SESSIONS))
    })
}

/// Returns the sessions of all folders, most recently used first. An index that cannot be read is left out.
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
    sessions.sort_by_key(|session| std::cmp::Reverse(session.used_at));
    sessions
}

fn folder_in(folder: &Path) -> PathBuf {
    folder.join("projects")
}

fn file_of(folder: &Path, cwd: &Path) -> PathBuf {
    let name = escaped(&cwd.to_string_lossy());
    folder_in(folder).join(name + ".json")
}
