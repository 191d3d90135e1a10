//! Pending changes that are not of lines: lists them and carries decisions on them out, through the checkpoints.

use super::changed_paths::{ChangedPath, ChangedPaths};
use super::file_scope::filter_in_scope;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::review::{ChangeScope, ChangedState, ReviewAction};
use crate::documents::Documents;
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::entry::{Kind, State};
use crate::host::checkpoints::restore::Restore;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The pending changes of files as a whole.
#[derive(Debug, Clone)]
pub(super) struct ReviewStates {
    pub(super) checkpoints: Arc<Checkpoints>,
    pub(super) documents: Arc<Documents>,
    pub(super) changed: Arc<ChangedPaths>,
}

impl ReviewStates {
    /// Returns what is pending, in the order of the paths. What somebody has put back is pending no more.
    pub(super) async fn list(&self, scope: &FileScope) -> Vec<ChangedState> {
        let mut by_root: HashMap<PathBuf, Vec<(PathBuf, ChangedPath)>> = HashMap::new();
        for (path, changed) in self.changed.with_rows() {
            by_root.entry(changed.root.clone()).or_default().push((path, changed));
        }
        let roots = by_root.keys().cloned().collect();
        let allowed = filter_in_scope(self.documents.disks(), scope, roots).await;
        by_root.retain(|root, _| allowed.contains(root));
        let mut found = Vec::new();
        for (root, all) in by_root {
            let paths = all.iter().map(|(_, changed)| changed.below.clone()).collect();
            let now = self.checkpoints.states(root, paths).await.unwrap_or_default();
            for (index, (path, changed)) in all.into_iter().enumerate() {
                if now.get(index).is_some_and(|now| *now == changed.before) {
                    self.changed.decided(&path);
                } else {
                    found.push((path, changed));
                }
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let mut listed = Vec::new();
        for (path, changed) in join_renames(found) {
            listed.push(self.listed(path, changed).await);
        }
        listed
    }

    async fn listed(&self, path: PathBuf, found: Found) -> ChangedState {
        let Found { changed, from } = found;
        let mut what = if from.is_some() { "renamed".to_owned() } else { changed.what() };
        let links = [&changed.before, &changed.after].map(|state| {
            state.as_ref().filter(|state| state.kind == Kind::Symlink && from.is_none())
        });
        if let [Some(_), _] | [_, Some(_)] = links {
            let link = links[1].or(links[0]);
            what = format!("{what} → {}", self.target(&changed.root, link).await);
            if let [Some(before), Some(_)] = links {
                what = format!("{what}, was {}", self.target(&changed.root, Some(before)).await);
            }
        }
        ChangedState { path, from, what, by: changed.by }
    }

    /// Where a link leads.
    async fn target(&self, root: &Path, link: Option<&State>) -> String {
        let Some(id) = link.and_then(|link| link.content) else { return "?".to_owned() };
        let target = self.checkpoints.content(root.to_owned(), id).await.unwrap_or_default();
        String::from_utf8_lossy(&target).into_owned()
    }

    /// Carries a decision on a file out. `None` if there is nothing to decide on; otherwise why it could not be.
    pub(super) async fn decide(
        &self,
        path: &Path,
        action: ReviewAction,
        scope: &ChangeScope,
    ) -> Option<Result<(), String>> {
        let changed = self.changed.get(path).filter(|changed| changed.is_in(scope))?;
        if action == ReviewAction::Keep {
            self.changed.decided(path);
            return Some(Ok(()));
        }
        let (before, after) = (changed.before.clone(), changed.after.clone());
        let (expected, target) = match (&before, &after) {
            (Some(before), Some(after)) if changed.is_text => {
                let now = self.state(&changed).await;
                let Some(now) = now.filter(|now| now.mode == after.mode) else {
                    return Some(Err("its mode has changed since".to_owned()));
                };
                (Some(now.clone()), Some(State { mode: before.mode, ..now }))
            }
            _ => (after, before),
        };
        Some(self.restore(path, &changed, expected, target).await)
    }

    /// Puts a text file back that was created or deleted, byte for byte and with its mode, if that is exactly what rejecting
    /// these changes means. Returns whether it was.
    pub(super) async fn put_back(&self, path: &Path, scope: &ChangeScope) -> bool {
        let Some(changed) = self.changed.get(path).filter(|changed| changed.is_text) else {
            return false;
        };
        let is_whole = scope.lines.is_none()
            && changed.before.is_some() != changed.after.is_some()
            && changed.by.iter().all(|by| scope.includes(by));
        if !is_whole || !matches!(self.documents.loaded_state(path).await, Ok(None)) {
            return false;
        }
        let without = self.documents.without(path, scope.clone()).await.ok().flatten();
        let Some(without) = without.filter(|without| without.conflicts == 0) else { return false };
        let is_exact = match changed.before.as_ref().map(|before| before.content) {
            None => !without.exists,
            Some(None) => false,
            Some(Some(id)) => match self.checkpoints.content(changed.root.clone(), id).await {
                Ok(bytes) => {
                    let is_text = self.documents.is_text_of(path, &without.text, bytes).await;
                    without.exists && is_text.unwrap_or_default()
                }
                Err(_) => false,
            },
        };
        let (expected, target) = (changed.after.clone(), changed.before.clone());
        is_exact && self.restore(path, &changed, expected, target).await.is_ok()
    }

    async fn state(&self, changed: &ChangedPath) -> Option<State> {
        let paths = vec![changed.below.clone()];
        let states = self.checkpoints.states(changed.root.clone(), paths).await.ok()?;
        states.into_iter().next().flatten()
    }

    async fn restore(
        &self,
        path: &Path,
        changed: &ChangedPath,
        expected: Option<State>,
        target: Option<State>,
    ) -> Result<(), String> {
        let file =
            Restore { path: changed.below.clone(), expected, target: target.clone(), bytes: None };
        let restored = self.checkpoints.restore(changed.root.clone(), vec![file]).await;
        let restored = restored.map_err(|error| error.to_string())?;
        if let Some(left) = restored.left.first() {
            return Err(left.why.to_string());
        }
        self.changed.decided(path);
        self.changed.restored(path, target, None);
        if let Err(error) = self.documents.was_restored(path, None, None).await {
            tracing::debug!(path = %path.display(), %error, "a restored file was not followed");
        }
        Ok(())
    }
}

/// A change, and where the file was before if it was only moved.
struct Found {
    changed: ChangedPath,
    from: Option<PathBuf>,
}

/// Joins a deleted file and a new one with the same content that was made in the same turn.
fn join_renames(mut all: Vec<(PathBuf, ChangedPath)>) -> Vec<(PathBuf, Found)> {
    let is_new = |changed: &ChangedPath| changed.before.is_none() && !changed.is_text;
    let (new, mut others): (Vec<_>, Vec<_>) = all.drain(..).partition(|(_, it)| is_new(it));
    let mut found = Vec::new();
    for (path, changed) in new {
        let is_source = |(_, other): &(PathBuf, ChangedPath)| {
            let content = other.before.as_ref().and_then(|before| before.content);
            let same_turn =
                other.by.iter().any(|by| changed.by.iter().any(|it| it.is_same_turn(by)));
            other.after.is_none()
                && content.is_some()
                && content == changed.after.as_ref().and_then(|after| after.content)
                && same_turn
        };
        let from = others.iter().position(is_source).map(|at| others.remove(at).0);
        found.push((path, Found { changed, from }));
    }
    found.extend(others.into_iter().map(|(path, changed)| (path, Found { changed, from: None })));
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}
