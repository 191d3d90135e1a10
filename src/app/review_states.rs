//! Pending changes that are not of lines: lists them and carries decisions on them out, through the checkpoints.

use super::changed_paths::{ChangedPath, ChangedPaths};
use super::file_scope::filter_in_scope;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::review::{ChangeScope, ChangedState, ReviewAction};
use crate::documents::{DocumentError, Documents, WayBack};
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::entry::{Kind, State};
use crate::host::checkpoints::restore::Restore;
use crate::host::checkpoints::tree_path::TreePath;
use crate::host::other_names;
use crate::session::author::{Author, SessionKey};
use crate::session::signs::ARROW;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What it takes to take a decision on a file as a whole back.
#[derive(Debug)]
pub(super) struct StateWayBack {
    /// What was known of it.
    changed: ChangedPath,
    /// What the file was, and what a rejection has made of it.
    restored: Option<(Option<State>, Option<State>)>,
    /// The folders that were created for the file.
    folders: Vec<TreePath>,
    /// The way back for the lines of a text.
    lines: Option<WayBack>,
}

impl StateWayBack {
    /// From a decision that has changed no file.
    fn without_a_file(changed: ChangedPath) -> Self {
        Self { changed, restored: None, folders: Vec::new(), lines: None }
    }

    /// Whether it was about an empty file that was created or deleted.
    pub(super) fn is_empty_file(&self) -> bool {
        let states = [&self.changed.before, &self.changed.after];
        states.into_iter().flatten().all(|state| state.size == 0)
    }

    /// Whose changes it was about.
    pub(super) fn sessions(&self) -> Vec<SessionKey> {
        sessions(&self.changed)
    }
}

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
            what = format!("{what} {ARROW} {}", self.target(&changed.root, link).await);
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
    ) -> Option<Result<StateWayBack, String>> {
        let changed = self.changed.get(path).filter(|changed| changed.is_in(scope))?;
        if action == ReviewAction::Keep {
            self.changed.decided(path);
            return Some(Ok(StateWayBack::without_a_file(changed)));
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
        Some(self.restore(path, changed, expected, target).await)
    }

    /// Puts a text file back that was created or deleted, byte for byte and with its mode, if that is exactly what rejecting
    /// these changes means. Returns the way back if it was.
    pub(super) async fn put_back(&self, path: &Path, scope: &ChangeScope) -> Option<StateWayBack> {
        let changed = self.changed.get(path).filter(|changed| changed.is_text)?;
        // Its only hunk is all of it.
        let is_whole = changed.before.is_some() != changed.after.is_some()
            && changed.by.iter().all(|by| scope.includes(by));
        if !is_whole || !matches!(self.documents.loaded_state(path).await, Ok(None)) {
            return None;
        }
        let without = self.documents.without(path, scope.clone()).await.ok().flatten();
        let without = without.filter(|without| without.conflicts == 0)?;
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
        if !is_exact {
            return None;
        }
        let place = self.documents.place(path).await;
        let way_back = self.restore(path, changed, expected, target).await.ok()?;
        let lines = match place {
            Some(place) => self.documents.way_back(path, place).await,
            None => None,
        };
        Some(StateWayBack { lines, ..way_back })
    }

    /// Gives a path a file of its own if an agent has made it a name of a file that is elsewhere, too.
    pub(super) async fn separate(&self, path: &Path) -> Result<(), DocumentError> {
        let Some(changed) = self.changed.get(path) else { return Ok(()) };
        // The checkpoints may be busy for a while.
        let file = path.to_owned();
        let names = self.documents.disks().call(path, move |_| other_names::has_several(&file));
        if !names.await? {
            return Ok(());
        }
        let now = self.state(&changed).await;
        if now.is_some_and(|now| now.is_name_of_another(changed.before.as_ref())) {
            self.documents.separate(path).await?;
        }
        Ok(())
    }

    /// Gives a file that had been deleted and was saved from its buffer the bytes and the mode it had.
    pub(super) async fn complete(&self, path: &Path) {
        let Some(changed) = self.changed.get(path) else { return };
        let (Some(before), None) = (&changed.before, &changed.after) else { return };
        let Some(now) = self.state(&changed).await else { return };
        let before = before.clone();
        let content = before.content.map(|id| self.checkpoints.content(changed.root.clone(), id));
        let content = match content {
            Some(content) => content.await.ok(),
            None => None,
        };
        let Some(content) = content else { return };
        if !self.documents.has_lines_of(path, content).await.unwrap_or_default() {
            return;
        }
        if let Err(why) = self.restore(path, changed, Some(now), Some(before)).await {
            tracing::debug!(path = %path.display(), why, "a file that is back is not as it was");
        }
    }

    /// Takes a decision on a file back; otherwise says why it is left alone.
    pub(super) async fn take_back(
        &self,
        path: &Path,
        StateWayBack { changed, restored, folders, lines }: StateWayBack,
    ) -> Result<(), String> {
        let Some((mut was, mut is)) = restored else {
            self.changed.again(path, changed);
            return Ok(());
        };
        if let (Some(was), Some(is)) = (&mut was, &mut is)
            && changed.is_text
        {
            // Only the mode is decided on here, whatever has become of the lines.
            let now = self.state(&changed).await.filter(|now| now.mode == is.mode);
            let now = now.ok_or("its mode has changed since")?;
            (*was, *is) = (State { mode: was.mode, ..now.clone() }, now);
        }
        let is_open = matches!(self.documents.loaded_state(path).await, Ok(Some(_)));
        self.write(&changed, is, was.clone(), folders).await?;
        // A buffer follows what an agent has made of its file.
        let by = changed.by.last().map(|by| by.by.clone()).filter(|_| is_open);
        self.follow(path, by.as_ref()).await;
        let is_text = changed.is_text && !self.documents.is_deleted_under_buffer(path).await;
        self.changed.again(path, ChangedPath { is_text, ..changed });
        self.changed.restored(path, was, None);
        if let Some(way_back) = lines {
            let returned = self.documents.return_by(path, &way_back).await;
            returned.map_err(|error| error.message_for_user())?;
        }
        Ok(())
    }

    async fn state(&self, changed: &ChangedPath) -> Option<State> {
        let paths = vec![changed.below.clone()];
        let states = self.checkpoints.states(changed.root.clone(), paths).await.ok()?;
        states.into_iter().next().flatten()
    }

    async fn restore(
        &self,
        path: &Path,
        changed: ChangedPath,
        expected: Option<State>,
        target: Option<State>,
    ) -> Result<StateWayBack, String> {
        let folders = self.missing_folders(&changed).await;
        self.write(&changed, expected.clone(), target.clone(), Vec::new()).await?;
        self.changed.decided(path);
        self.changed.restored(path, target.clone(), None);
        self.follow(path, None).await;
        Ok(StateWayBack { changed, restored: Some((expected, target)), folders, lines: None })
    }

    /// Returns the folders of a file that do not exist.
    async fn missing_folders(&self, changed: &ChangedPath) -> Vec<TreePath> {
        let mut folders = Vec::new();
        let mut path = changed.below.clone();
        while let Some((folder, _)) = path.split().filter(|(folder, _)| !folder.is_root()) {
            path = folder;
            folders.push(path.clone());
        }
        let states = self.checkpoints.states(changed.root.clone(), folders.clone()).await;
        let missing = folders.into_iter().zip(states.unwrap_or_default());
        missing.filter(|(_, state)| state.is_none()).map(|(folder, _)| folder).collect()
    }

    /// Makes of a file what it is to become, if it is as expected, and removes empty folders; otherwise says why the file was
    /// left alone.
    async fn write(
        &self,
        changed: &ChangedPath,
        expected: Option<State>,
        target: Option<State>,
        folders: Vec<TreePath>,
    ) -> Result<(), String> {
        let file = Restore { path: changed.below.clone(), expected, target, bytes: None };
        let (kind, content, link) = (Kind::Folder, None, None);
        let folder = Some(State { kind, mode: 0, size: 0, content, link });
        let folders = folders.into_iter().map(|path| {
            let expected = folder.clone();
            Restore { path, expected, target: None, bytes: None }
        });
        let all = std::iter::once(file).chain(folders).collect();
        let restored = self.checkpoints.restore(changed.root.clone(), all).await;
        let restored = restored.map_err(|error| error.to_string())?;
        let left = restored.left.iter().find(|left| left.path == changed.below);
        left.map_or(Ok(()), |left| Err(left.why.to_string()))
    }

    async fn follow(&self, path: &Path, by: Option<&Author>) {
        if let Err(error) = self.documents.was_restored(path, by, None).await {
            tracing::debug!(path = %path.display(), %error, "a restored file was not followed");
        }
    }
}

fn sessions(changed: &ChangedPath) -> Vec<SessionKey> {
    let mut sessions: Vec<SessionKey> = Vec::new();
    for by in &changed.by {
        if !sessions.contains(&by.by.session) {
            sessions.push(by.by.session.clone());
        }
    }
    sessions
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
