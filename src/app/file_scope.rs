//! Checks whether paths lie in the `FileScope` of an agent. Symbolic links are resolved, on file systems that may be slow
//! or may not answer at all; no file is opened.

use super::file_outcome::failure;
use crate::core::messages::agent::INVALID_PARAMS;
use crate::core::messages::file_scope::{FileRules, FileScope};
use crate::core::messages::files::FileOutcome;
use crate::documents::DocumentError;
use crate::documents::disks::Disks;
use crate::host::other_names;
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
        Ok((path, has_names)) => {
            let path = check_rules(disks, scope, path, kind).await?;
            let is_harmless = kind == ToolKind::Read || !has_names;
            return if is_harmless { Ok(path) } else { check_names(disks, scope, path).await };
        }
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
        Some(folder) => Err(FileOutcome::Outside { file: real, folder, has_other_name: false }),
        None => {
            // The user is asked about regular files only.
            let message = format!("{} is not a regular file", real.display());
            let reason = "it is not a regular file".to_owned();
            Err(FileOutcome::Failed { code: INVALID_PARAMS, message, reason })
        }
    }
}

/// Returns the real path of a file again if writing to it changes nothing outside of the roots, by another name of the file.
async fn check_names(
    disks: &Disks,
    scope: &FileScope,
    real: PathBuf,
) -> Result<PathBuf, FileOutcome> {
    if scope.allows(&real) {
        return Ok(real);
    }
    let (file, roots, known) = (real.clone(), scope.roots.clone(), scope.real_roots.clone());
    let found = disks.call(&real, move |call| {
        let roots = roots.iter().filter_map(|root| paths::real_path(root).ok());
        let roots = roots.filter(|root| known.is_empty() || known.contains(root)).collect();
        let roots: Vec<PathBuf> = roots;
        let any = other_names::any_outside(&file, &roots, || call.report_progress());
        let is_outside = any.unwrap_or(true);
        is_outside.then(|| roots.into_iter().find(|root| file.starts_with(root)))
    });
    match found.await.map_err(|error| failure(&error))? {
        None => Ok(real),
        Some(folder) => Err(FileOutcome::Outside { file: real, folder, has_other_name: true }),
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
            Ok(Ok((path, _))) => inside.push(path),
            Ok(Err(_)) => {}
            Err(error) => tracing::warn!(%error, "a file was skipped"),
        }
    }
    inside
}

/// Returns the real path if it lies in the scope, and whether its file has several names. Roots on other file systems than that
/// of the path are consulted only if no root on its own file system contains it. The outer error means that the file system did
/// not answer.
async fn resolve(
    disks: &Disks,
    scope: &FileScope,
    path: &Path,
) -> Result<Result<(PathBuf, bool), PathError>, DocumentError> {
    let is_near = |root: &PathBuf| disks.is_same_file_system(root, path);
    let (near, far): (Vec<_>, Vec<_>) = scope.roots.iter().cloned().partition(is_near);
    let near = FileScope { roots: near, ..scope.clone() };
    let own = path.to_owned();
    let checked = disks.call(path, move |_| paths::check(&near, &own).map(with_names)).await?;
    let Err(PathError::Outside { real, .. }) = &checked else { return Ok(checked) };
    for root in far {
        let (own, known, real) = (root.clone(), scope.real_roots.clone(), real.clone());
        let held =
            disks.call(&root, move |_| paths::holds(&own, &known, &real).then(|| with_names(real)));
        if let Some(real) = held.await? {
            return Ok(Ok(real));
        }
    }
    Ok(checked)
}

fn with_names(real: PathBuf) -> (PathBuf, bool) {
    let has_names = other_names::has_several(&real);
    (real, has_names)
}
