//! [`ChangedPaths`]: what agents have changed on disk and nobody has decided on, by path, as the states before and after.
//! Documents know the lines of texts; this knows all the rest, such as binary files, links and modes. It reads and writes
//! nothing.

use crate::core::messages::review::{ChangeAuthor, ChangeScope};
use crate::host::checkpoints::entry::{FileChange, Kind, State};
use crate::host::checkpoints::tree_path::TreePath;
use crate::session::author::Author;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The pending changes of files as a whole.
#[derive(Debug, Default)]
pub(super) struct ChangedPaths {
    by_path: Mutex<BTreeMap<PathBuf, ChangedPath>>,
    /// What we have made of files ourselves, so that it is not taken for a change of an agent when they are looked at next.
    restored: Mutex<HashMap<PathBuf, Option<State>>>,
}

/// What has become of a file since the first change that nobody has decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedPath {
    /// The folder whose checkpoints have the contents: a real path.
    pub(super) root: PathBuf,
    /// Relative to the root.
    pub(super) below: TreePath,
    /// `None` if there was nothing.
    pub(super) before: Option<State>,
    /// As the agents have left it; `None` if there is nothing any more.
    pub(super) after: Option<State>,
    /// Whether its document knows the lines, so that only the mode is decided on here.
    pub(super) is_text: bool,
    /// Who did it, the earliest first.
    pub(super) by: Vec<ChangeAuthor>,
}

impl ChangedPath {
    /// Whether there is anything to decide on that is not a line of a text.
    fn has_row(&self) -> bool {
        let both = self.before.as_ref().zip(self.after.as_ref());
        !self.is_text || both.is_some_and(|(before, after)| before.mode != after.mode)
    }

    /// Whether it was changed by somebody that a scope includes.
    pub(super) fn is_in(&self, scope: &ChangeScope) -> bool {
        self.by.iter().any(|by| scope.includes(by))
    }

    /// What has happened, in a few words.
    pub(super) fn what(&self) -> String {
        match (&self.before, &self.after) {
            (None, Some(after)) => format!("new {}", kind(after)),
            (Some(before), None) => format!("deleted {}", kind(before)),
            (Some(before), Some(after)) if before.kind != after.kind => {
                format!("{} to {}", kind_name(before.kind), kind_name(after.kind))
            }
            (Some(before), Some(after)) => {
                let is_known = before.content.is_some() || after.content.is_some();
                let is_other = before.size != after.size || before.content != after.content;
                let mode = (before.mode != after.mode)
                    .then(|| format!("mode {:o} to {:o}", before.mode, after.mode));
                let content = match after.kind {
                    _ if self.is_text => None,
                    Kind::Symlink => Some("symbolic link".to_owned()),
                    _ if is_other || !is_known => Some(format!(
                        "binary, {} to {} bytes",
                        grouped(before.size),
                        grouped(after.size)
                    )),
                    _ => None,
                };
                let parts: Vec<String> = content.into_iter().chain(mode).collect();
                parts.join(", ")
            }
            (None, None) => String::new(),
        }
    }
}

fn kind(state: &State) -> String {
    match state.kind {
        Kind::File => format!("file, {} bytes", grouped(state.size)),
        _ => kind_name(state.kind).to_owned(),
    }
}

/// What a path of this kind is called.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Symlink => "symbolic link",
        Kind::Folder => "folder",
        Kind::Other => "special file",
    }
}

/// Describes a change that is not one of text.
pub(super) fn describe(change: &FileChange) -> String {
    match (&change.before, &change.after) {
        (None, Some(after)) => format!("new {}", kind_name(after.kind)),
        (Some(before), None) => format!("deleted {}", kind_name(before.kind)),
        (Some(before), Some(after)) if before.content == after.content => {
            format!("mode {:o} to {:o}", before.mode, after.mode)
        }
        (Some(before), Some(after)) => {
            format!("{}, {} to {} bytes", kind_name(after.kind), before.size, after.size)
        }
        (None, None) => "unchanged".to_owned(),
    }
}

/// A number with a comma between each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

impl ChangedPaths {
    /// Records a change of an agent.
    pub(super) fn changed(
        &self,
        root: &Path,
        change: &FileChange,
        is_text: bool,
        by: &ChangeAuthor,
    ) {
        let path = change.path.under(root);
        if self.restored.lock().remove(&path).is_some_and(|state| state == change.after) {
            return;
        }
        if change.is_of_folder() {
            return;
        }
        let mut by_path = self.by_path.lock();
        let changed = by_path.entry(path.clone()).or_insert_with(|| ChangedPath {
            root: root.to_owned(),
            below: change.path.clone(),
            before: change.before.clone(),
            after: None,
            is_text,
            by: Vec::new(),
        });
        changed.after.clone_from(&change.after);
        changed.is_text &= is_text;
        if !changed.by.contains(by) {
            changed.by.push(by.clone());
        }
        if changed.before == changed.after && changed.before.as_ref().is_none_or(has_content) {
            by_path.remove(&path);
        }
    }

    /// Records that a path was put back to a state by us. What `by` did is pending no more.
    pub(super) fn restored(&self, path: &Path, state: Option<State>, by: Option<&Author>) {
        let mut by_path = self.by_path.lock();
        if let Some(changed) = by_path.get_mut(path) {
            changed.after.clone_from(&state);
            let is_of = |ChangeAuthor { by: other, .. }: &ChangeAuthor| {
                by.is_some_and(|by| (&other.session, other.turn) == (&by.session, by.turn))
            };
            changed.by.retain(|other| !is_of(other));
            if changed.by.is_empty() || changed.before == state {
                by_path.remove(path);
            }
        }
        self.restored.lock().insert(path.to_owned(), state);
    }

    /// Forgets what we have restored: no turn is running, and the next one begins with that.
    pub(super) fn forget_restored(&self) {
        self.restored.lock().clear();
    }

    /// Forgets a change: it was decided on.
    pub(super) fn decided(&self, path: &Path) {
        self.by_path.lock().remove(path);
    }

    /// A decision on a change was taken back: it is pending again, together with what has happened since.
    pub(super) fn again(&self, path: &Path, mut changed: ChangedPath) {
        let mut by_path = self.by_path.lock();
        if let Some(since) = by_path.remove(path) {
            changed.after = since.after;
            changed.is_text &= since.is_text;
            let new = since.by.into_iter().filter(|by| !changed.by.contains(by));
            let new: Vec<ChangeAuthor> = new.collect();
            changed.by.extend(new);
        }
        by_path.insert(path.to_owned(), changed);
    }

    /// Returns what is known of a path.
    pub(super) fn get(&self, path: &Path) -> Option<ChangedPath> {
        self.by_path.lock().get(path).cloned()
    }

    /// Returns the paths that have something to decide on beside lines of a text.
    pub(super) fn with_rows(&self) -> Vec<(PathBuf, ChangedPath)> {
        let by_path = self.by_path.lock();
        let all = by_path.iter().filter(|(_, changed)| changed.has_row());
        all.map(|(path, changed)| (path.clone(), changed.clone())).collect()
    }
}

fn has_content(state: &State) -> bool {
    state.content.is_some()
}
