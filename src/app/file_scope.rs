//! Checks whether paths lie in the `FileScope` of an agent. Symbolic links are resolved, on file systems that may be slow
//! or may not answer at all; no file is opened.

use super::file_outcome::failure;
use crate::core::messages::agent::INVALID_PARAMS;
use crate::core::messages::file_scope::{FileRules, FileScope};
use crate::core::messages::files::FileOutcome;
use crate::documents::DocumentError;
use crate::documents::disks::Disks;
use crate::host::paths::{self, PathError};
use crate::session::tool_call::ToolKind;
use crate::trust::rule::Decision;
use crate::trust::rules::{self, Call, Restriction};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Mutex as Queue;
use tokio::time::{Instant, timeout_at};

/// How long the paths on one file system may delay those on others.
const FILE_SYSTEM_LIMIT: Duration = Duration::from_secs(1);

/// One queue per path, as the agent spelled it. Resolving a path takes varying time, and requests for one file have to run
/// in the order in which they arrived.
#[derive(Debug, Default)]
pub(super) struct PathQueues(Mutex<HashMap<PathBuf, Weak<Queue<()>>>>);

impl PathQueues {
    /// Returns the queue of a path. Its lock is granted in the order in which it is requested.
    pub(super) fn get(&self, path: &Path) -> Arc<Queue<()>> {
        let mut queues = self.0.lock();
        if let Some(queue) = queues.get(path).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(path.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

/// Returns the real path if the agent may read or edit it, otherwise the outcome that tells it why not. A regular or missing
/// file outside of the scope is `Outside`, so that the user can be asked.
pub(super) async fn resolve_in_scope(
    disks: &Disks,
    scope: &FileScope,
    path: &Path,
    kind: ToolKind,
) -> Result<PathBuf, FileOutcome> {
    let real = match resolve(disks, scope, path).await.map_err(|error| failure(&error))? {
        Ok(path) => return check_rules(disks, scope, path, kind).await,
        Err(PathError::Outside { real, .. }) => {
            match check_rules(disks, scope, real.clone(), kind).await {
                // The user is asked about it anyway.
                Ok(_) | Err(FileOutcome::AskFirst(_)) => real,
                Err(denied) => return Err(denied),
            }
        }
        Err(error) => {
            let message = error.to_string();
            let reason = message.clone();
            return Err(FileOutcome::Failed { code: INVALID_PARAMS, message, reason });
        }
    };
    let (roots, file) = (scope.roots.clone(), real.clone());
    let home = std::env::home_dir();
    let offered = disks.call(&real, move |_| {
        let is_other = file.exists() && !file.is_file();
        (!is_other).then(|| paths::offered_folder(&file, &roots, home.as_deref()))
    });
    match offered.await.map_err(|error| failure(&error))? {
        Some(folder) => Err(FileOutcome::Outside { file: real, folder }),
        None => {
            // The user is asked about regular files only.
            let message = format!("{} is not a regular file", real.display());
            let reason = "it is not a regular file".to_owned();
            Err(FileOutcome::Failed { code: INVALID_PARAMS, message, reason })
        }
    }
}

/// Returns the real path of a file again if no rule denies it or says to ask.
async fn check_rules(
    disks: &Disks,
    scope: &FileScope,
    real: PathBuf,
    kind: ToolKind,
) -> Result<PathBuf, FileOutcome> {
    let FileRules { agent, cwd, rules, asked } = &scope.rules;
    if rules.is_empty() {
        return Ok(real);
    }
    let folder = cwd.clone();
    let root = disks.call(cwd, move |_| paths::real_path(&folder).unwrap_or(folder));
    let root = root.await.map_err(|error| failure(&error))?;
    let call = Call {
        agent,
        kind,
        tool: None,
        files: std::slice::from_ref(&real),
        commands: &[],
        root: &root,
        cwds: &[],
        real_path: &|_| None,
    };
    match rules::restriction(rules, call) {
        Some(Restriction { decision: Decision::Deny, rule, .. }) => {
            let rule = rule.to_string();
            Err(FileOutcome::Denied { file: real, rule })
        }
        Some(_) if !asked.iter().any(|it| *it == (kind, real.clone())) => {
            Err(FileOutcome::AskFirst(real))
        }
        _ => Ok(real),
    }
}

/// Returns the real paths of those files that the agent may access. If the paths lie on several file systems, those on one
/// that does not answer within `FILE_SYSTEM_LIMIT` are left out.
pub(super) async fn filter_in_scope(
    disks: &Arc<Disks>,
    scope: &FileScope,
    paths: Vec<PathBuf>,
) -> Vec<PathBuf> {
    let mut groups = disks.group_by_file_system(paths);
    if groups.len() < 2 {
        return filter_group(disks, scope, groups.pop().unwrap_or_default()).await;
    }
    let until = Instant::now() + FILE_SYSTEM_LIMIT;
    let groups: Vec<_> = groups
        .into_iter()
        .map(|paths| {
            let (disks, scope) = (Arc::clone(disks), scope.clone());
            tokio::spawn(async move { filter_group(&disks, &scope, paths).await })
        })
        .collect();
    let mut all = Vec::new();
    for group in groups {
        match timeout_at(until, group).await {
            Ok(paths) => all.extend(paths.unwrap_or_default()),
            Err(_) => tracing::warn!("files skipped: their file system does not answer in time"),
        }
    }
    all
}

/// Filters paths that lie on one file system.
async fn filter_group(disks: &Disks, scope: &FileScope, paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut inside = Vec::with_capacity(paths.len());
    for path in paths {
        match resolve(disks, scope, &path).await {
            Ok(Ok(path)) => inside.push(path),
            Ok(Err(_)) => {}
            Err(error) => tracing::warn!(%error, "a file was skipped"),
        }
    }
    inside
}

/// Returns the real path if it lies in the scope. Roots on other file systems than that of the path are consulted only if no
/// root on its own file system contains it. The outer error means that the file system did not answer.
async fn resolve(
    disks: &Disks,
    scope: &FileScope,
    path: &Path,
) -> Result<Result<PathBuf, PathError>, DocumentError> {
    let is_near = |root: &PathBuf| disks.is_same_file_system(root, path);
    let (near, far): (Vec<_>, Vec<_>) = scope.roots.iter().cloned().partition(is_near);
    let near = FileScope { roots: near, ..scope.clone() };
    let own = path.to_owned();
    let checked = disks.call(path, move |_| paths::check(&near, &own)).await?;
    let Err(PathError::Outside { real, .. }) = &checked else { return Ok(checked) };
    for root in far {
        let (own, known, real) = (root.clone(), scope.real_roots.clone(), real.clone());
        let held = disks.call(&root, move |_| paths::holds(&own, &known, &real).then_some(real));
        if let Some(real) = held.await? {
            return Ok(Ok(real));
        }
    }
    Ok(checked)
}
