//! Which files lie within an agent's reach: asked of their file systems, each of which may be silent. It asks nobody
//! else and touches no file.

use super::run::failed;
use crate::core::event::FileOutcome;
use crate::core::event::agent::INVALID_PARAMS;
use crate::core::reach::Reach;
use crate::files::FileError;
use crate::files::disks::Disks;
use crate::host::paths::{self, PathError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Mutex as Queue;
use tokio::time::{Instant, timeout_at};

/// So long the paths of one file system keep those of others waiting.
const LIMIT: Duration = Duration::from_secs(1);

/// Where requests for one path, as agents name it, wait for each other: finding out where it leads takes one more time than
/// another, and what is asked of one file happens in the order asked.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<HashMap<PathBuf, Weak<Queue<()>>>>);

impl Lines {
    /// The line for a path; who locks it first is first.
    pub(super) fn of(&self, path: &Path) -> Arc<Queue<()>> {
        let mut lines = self.0.lock();
        if let Some(line) = lines.get(path).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::default();
        lines.insert(path.to_owned(), Arc::downgrade(&line));
        line
    }
}

/// The real path, if the agent may touch it.
pub(super) async fn check(
    disks: &Disks,
    reach: &Reach,
    path: &Path,
) -> Result<PathBuf, FileOutcome> {
    let real = match follow(disks, reach, path).await.map_err(|error| failed(&error))? {
        Ok(path) => return Ok(path),
        Err(PathError::Outside { real, .. }) => real,
        Err(error) => {
            let message = error.to_string();
            return Err(FileOutcome::Failed { code: INVALID_PARAMS, message });
        }
    };
    let (roots, file) = (reach.roots.clone(), real.clone());
    let home = std::env::home_dir();
    let offered = disks.call(&real, move |_| {
        let is_other = file.exists() && !file.is_file();
        (!is_other).then(|| paths::offered_folder(&file, &roots, home.as_deref()))
    });
    match offered.await.map_err(|error| failed(&error))? {
        Some(folder) => Err(FileOutcome::Outside { file: real, folder }),
        None => {
            // There is nothing to ask the user about.
            let message = format!("{} is not a regular file", real.display());
            Err(FileOutcome::Failed { code: INVALID_PARAMS, message })
        }
    }
}

/// The real paths of those that lie within reach. Where they lie on several file systems, those of one that takes its
/// time are passed over.
pub(super) async fn real(disks: &Arc<Disks>, reach: &Reach, paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut groups = disks.apart(paths);
    if groups.len() < 2 {
        return inside(disks, reach, groups.pop().unwrap_or_default()).await;
    }
    let until = Instant::now() + LIMIT;
    let groups: Vec<_> = groups
        .into_iter()
        .map(|paths| {
            let (disks, reach) = (Arc::clone(disks), reach.clone());
            tokio::spawn(async move { inside(&disks, &reach, paths).await })
        })
        .collect();
    let mut all = Vec::new();
    for group in groups {
        match timeout_at(until, group).await {
            Ok(paths) => all.extend(paths.unwrap_or_default()),
            Err(_) => tracing::warn!("files are passed over: their file system takes its time"),
        }
    }
    all
}

async fn inside(disks: &Disks, reach: &Reach, paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut inside = Vec::with_capacity(paths.len());
    for path in paths {
        match follow(disks, reach, &path).await {
            Ok(Ok(path)) => inside.push(path),
            Ok(Err(_)) => {}
            Err(error) => tracing::warn!(%error, "a file is passed over"),
        }
    }
    inside
}

/// The real path, if it lies within reach. Roots on other file systems than the path's are asked about only where no
/// root on its own holds it.
async fn follow(
    disks: &Disks,
    reach: &Reach,
    path: &Path,
) -> Result<Result<PathBuf, PathError>, FileError> {
    let is_near = |root: &PathBuf| disks.are_one(root, path);
    let (near, far): (Vec<_>, Vec<_>) = reach.roots.iter().cloned().partition(is_near);
    let near = Reach { roots: near, allowed: reach.allowed.clone() };
    let own = path.to_owned();
    let checked = disks.call(path, move |_| paths::check(&near, &own)).await?;
    let Err(PathError::Outside { real, .. }) = &checked else { return Ok(checked) };
    for root in far {
        let (own, real) = (root.clone(), real.clone());
        let held =
            disks.call(&root, move |_| paths::holds(&own, &real).map(|held| held.then_some(real)));
        if let Ok(Some(real)) = held.await? {
            return Ok(Ok(real));
        }
    }
    Ok(checked)
}
