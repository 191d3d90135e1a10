//! Merges what has changed in a worktree into the user's folder: as changes of the agent, which are pending there, and as a
//! turn of its own, which can be undone.

use super::reversal::{AS_BEFORE, CHANGED, CONTESTED, DELETED, NotReversed, Reversal, Reversals};
use crate::core::messages::checkpoint::{PlannedAction, PlannedFile, TurnRef};
use crate::core::messages::review::ChangeScope;
use crate::core::messages::worktree::{MergeOutcome, MergePlan, MergeRequest};
use crate::host::checkpoints::entry::{FileChange, Kind, State};
use crate::host::checkpoints::tree_path::TreePath;
use crate::host::checkpoints::turns::TurnAbout;
use crate::host::paths;
use crate::host::worktree::changes::{self, Change, Changes, Side, SideKind};
use crate::session::author::Author;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tokio::task::spawn_blocking;

/// The permission bits that git keeps: whether a file may be executed.
const EXECUTABLE: u32 = 0o111;

/// Larger files are not read: no checkpoint keeps them.
const MAX_FILE: u64 = 64 << 20;

/// Why a path is left alone that is in another repository.
const REPOSITORY: &str = "it is a repository of its own";
/// Why a file is left alone whose content cannot be kept.
const TOO_LARGE: &str = "it is too large to be merged";

/// What is to be merged.
struct Merge {
    /// The changes to the project: what is to be there is what was "before".
    what: Reversal,
    /// The paths that cannot be merged, each with the reason.
    left: Vec<(TreePath, &'static str)>,
    changes: Changes,
}

impl Merge {
    /// Says why a path is left alone in words that fit a merge.
    fn explain(&self, path: &Path, why: &mut String) {
        let root = &self.what.turn.root;
        let change = self.what.changes.iter().find(|change| change.path.under(root) == path);
        let is_deleted = change.is_some_and(|change| change.before.is_none());
        let words = match why.as_str() {
            CONTESTED => "the same lines have changed here",
            DELETED => "it was deleted here",
            CHANGED if is_deleted => "it has changed here, and the agent has deleted it",
            CHANGED => "it has changed here, too",
            _ => return,
        };
        words.clone_into(why);
    }

    /// A plan of the changes as the user sees it.
    fn shown(&self, mut files: Vec<PlannedFile>) -> Vec<PlannedFile> {
        files.retain(|file| file.action != PlannedAction::Leave(AS_BEFORE.to_owned()));
        for file in &mut files {
            if let PlannedAction::Leave(why) = &mut file.action {
                self.explain(&file.path, why);
            }
        }
        let root = &self.what.turn.root;
        files.extend(self.left.iter().map(|(path, why)| {
            let action = PlannedAction::Leave((*why).to_owned());
            PlannedFile { path: path.under(root), is_folder: false, action, becomes: 0 }
        }));
        files
    }
}

impl Reversals {
    /// Plans a merge; otherwise says why it is not possible.
    pub(super) async fn plan_merge(&self, request: MergeRequest) -> Result<MergePlan, String> {
        let merge = self.prepare_merge(&request).await?;
        let root = merge.what.turn.root.clone();
        let files = merge.shown(self.planned(&merge.what).await);
        let outside = merge.changes.outside;
        Ok(MergePlan { request, root, files, outside, is_again: false })
    }

    /// Merges as planned, if that is still what would be done.
    pub(super) async fn merge(&self, plan: &MergePlan) -> Result<MergeOutcome, NotReversed> {
        let request = &plan.request;
        let merge = self.prepare_merge(request).await?;
        let Merge { what, left, changes, .. } = &merge;
        let about = TurnAbout {
            agent: request.agent.clone(),
            // The agent sees nothing of it, so it is not told either if this is undone.
            session: String::new(),
            prompt: format!("Merge of {}", request.name()),
            undoes: None,
            failed: 0,
            corrections: Vec::new(),
        };
        let is_planned = |now: &[PlannedFile]| merge.shown(now.to_vec()) == plan.files;
        let reversed = self.reverse(what, about, is_planned).await;
        let mut project = reversed.map_err(|error| match error {
            NotReversed::Changed(files) => NotReversed::Changed(merge.shown(files)),
            NotReversed::Failed(why) => NotReversed::Failed(why),
        })?;
        let root = &what.turn.root;
        project.left.extend(left.iter().map(|(path, why)| (path.under(root), (*why).to_owned())));
        project.left.retain(|(_, why)| why != AS_BEFORE);
        for (path, why) in &mut project.left {
            merge.explain(path, why);
        }
        let is_left: HashSet<&PathBuf> = project.left.iter().map(|(path, _)| path).collect();
        let is_merged = |change: &&Change| !is_left.contains(&change.path.under(root));
        let merged: Vec<Change> = changes.list.iter().filter(is_merged).cloned().collect();
        if let Err(why) = changes.merged(&merged).await {
            tracing::warn!(why, "what is merged will be found again by the next merge");
        }
        let accepted = self.accept(&request.cwd, &merged).await;
        Ok(MergeOutcome { project, accepted })
    }

    async fn real_path(&self, folder: &Path) -> Result<PathBuf, String> {
        let named = folder.to_owned();
        let real = self.documents.disks().call(folder, move |_| paths::real_path(&named)).await;
        let real = real.map_err(|error| error.to_string())?;
        real.map_err(|error| error.to_string())
    }

    /// What is merged is pending in the project, and so no more in the worktree. Returns its files there.
    async fn accept(&self, cwd: &Path, merged: &[Change]) -> Vec<PathBuf> {
        let Ok(cwd) = self.real_path(cwd).await else { return Vec::new() };
        let paths: Vec<PathBuf> = merged.iter().map(|change| change.path.under(&cwd)).collect();
        for path in &paths {
            self.changed.decided(path);
            if let Err(error) = self.documents.keep(path, ChangeScope::default()).await {
                tracing::debug!(path = %path.display(), %error, "a merged file is still pending");
            }
        }
        paths
    }

    /// Finds out what has changed, and keeps the contents for the project's folder.
    async fn prepare_merge(&self, request: &MergeRequest) -> Result<Merge, String> {
        let MergeRequest { worktree, cwd, all, .. } = request;
        let (root, there) = (self.real_path(&worktree.project).await?, self.real_path(cwd).await?);
        let found = changes::find(worktree, cwd, *all).await?;
        let below: Vec<TreePath> = found.list.iter().map(|change| change.path.clone()).collect();
        let now = self.checkpoints.states(root.clone(), below).await;
        let now = now.map_err(|error| error.to_string())?;
        let (mut wanted, mut left, mut authors) = (Vec::new(), Vec::new(), HashMap::new());
        for (change, now) in found.list.iter().zip(now) {
            let is_repository = |side: &Option<Side>| {
                side.as_ref().is_some_and(|side| side.kind == SideKind::Repository)
            };
            if is_repository(&change.before) || is_repository(&change.after) {
                left.push((change.path.clone(), REPOSITORY));
                continue;
            }
            let base =
                self.state_of(&root, &change.path, change.before.as_ref(), now.as_ref()).await?;
            let like = base.as_ref().or(now.as_ref());
            let target = self.state_of(&root, &change.path, change.after.as_ref(), like).await?;
            if base.iter().chain(&target).any(|state| state.content.is_none()) {
                left.push((change.path.clone(), TOO_LARGE));
                continue;
            }
            let (path, shared) = (change.path.clone(), false);
            let by = self.author_there(&path.under(&there), request).await;
            authors.insert(path.clone(), by);
            wanted.push(FileChange {
                path,
                before: target,
                after: base,
                by: None,
                shared,
                found: None,
            });
        }
        wanted.extend(self.folders(&root, cwd, &wanted).await);
        let turn = TurnRef { root, id: String::new() };
        let what = Reversal { turn, changes: wanted, brought_in: Some(authors), force: false };
        Ok(Merge { what, left, changes: found })
    }

    /// Returns who changed a file of the worktree: the last tool call that is known to have.
    async fn author_there(&self, path: &Path, request: &MergeRequest) -> Author {
        let pending = self.documents.changes(path).await.ok().flatten();
        let of_lines = pending.map(|file| file.authors).unwrap_or_default();
        let of_states = self.changed.get(path).map(|changed| changed.by).unwrap_or_default();
        let calls = of_lines.into_iter().chain(of_states).map(|author| author.by);
        let is_ours = |by: &Author| by.session == request.by.session && by.tool_call.is_some();
        let call = calls.filter(is_ours).last().and_then(|by| by.tool_call);
        // Only what a tool call has done is certainly the agent's, which this is whoever did it.
        let call = call.unwrap_or_else(|| format!("merge of {}", request.name()).as_str().into());
        Author { tool_call: Some(call), ..request.by.clone() }
    }

    /// Returns what one side of a change is in the project's folder, where a file has other permissions than git knows of.
    async fn state_of(
        &self,
        root: &Path,
        path: &TreePath,
        side: Option<&Side>,
        like: Option<&State>,
    ) -> Result<Option<State>, String> {
        let Some(side) = side.cloned() else { return Ok(None) };
        let (kind, file) = (side.kind, side.file.clone());
        let read = spawn_blocking(move || {
            let mode = side.file.symlink_metadata()?.permissions().mode() & 0o7777;
            Ok::<_, std::io::Error>((side.read(MAX_FILE)?, mode))
        });
        let read = read.await.map_err(|error| error.to_string())?;
        let (content, own) = read.map_err(|error| format!("{}: {error}", file.display()))?;
        let length = content.as_ref().map_or(0, |content| content.len() as u64);
        let like = like.filter(|like| like.kind == Kind::File).map(|like| like.mode);
        let (kind, mode) = match kind {
            SideKind::File { executable } => (Kind::File, mode_like(like, own, executable)),
            SideKind::Link | SideKind::Repository => (Kind::Symlink, 0),
        };
        let content = match content {
            Some(content) => {
                let kept = self.checkpoints.keep(root.to_owned(), path.clone(), content).await;
                kept.map_err(|error| error.to_string())?
            }
            None => None,
        };
        Ok(Some(State { kind, mode, size: length, content, link: None }))
    }

    /// Returns the changes of folders, of which git knows nothing: those that new files need, and those that are not in the
    /// worktree any more.
    async fn folders(&self, root: &Path, cwd: &Path, changes: &[FileChange]) -> Vec<FileChange> {
        let mut folders: HashSet<TreePath> = HashSet::new();
        for change in changes.iter().filter(|it| it.before.is_none() || it.after.is_none()) {
            let mut path = change.path.clone();
            while let Some((folder, _)) = path.split().filter(|(folder, _)| !folder.is_root()) {
                folders.insert(folder.clone());
                path = folder;
            }
        }
        let mut folders: Vec<TreePath> = folders.into_iter().collect();
        folders.sort_unstable();
        let states = self.checkpoints.states(root.to_owned(), folders.clone()).await;
        let mut found = Vec::new();
        for (path, after) in folders.into_iter().zip(states.unwrap_or_default()) {
            let there = path.under(cwd);
            let there = self.documents.disks().call(cwd, move |_| there.symlink_metadata().ok());
            let there = there.await.ok().flatten().filter(fs::Metadata::is_dir);
            let before = there.map(|metadata| {
                let (kind, mode) = (Kind::Folder, metadata.permissions().mode() & 0o7777);
                State { kind, mode, size: 0, content: None, link: None }
            });
            let is_folder = after.as_ref().is_none_or(|state| state.kind == Kind::Folder);
            if is_folder && before.is_some() != after.is_some() {
                found.push(FileChange {
                    path,
                    before,
                    after,
                    by: None,
                    shared: false,
                    found: None,
                });
            }
        }
        found
    }
}

/// Returns the permissions of a file that git knows only to be executable or not: those that a file there has, if they agree
/// with that.
fn mode_like(like: Option<u32>, own: u32, executable: bool) -> u32 {
    let Some(like) = like else { return own };
    match (like & 0o100 != 0, executable) {
        (false, true) => like | ((like & 0o444) >> 2),
        (true, false) => like & !EXECUTABLE,
        _ => like,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_permissions_unless_it_becomes_executable() {
        assert_eq!(mode_like(None, 0o644, false), 0o644);
        assert_eq!(mode_like(Some(0o600), 0o644, false), 0o600);
        assert_eq!(mode_like(Some(0o640), 0o755, true), 0o750);
        assert_eq!(mode_like(Some(0o775), 0o644, false), 0o664);
    }
}
