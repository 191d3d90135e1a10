//! Watches the files of loaded buffers for changes on disk. Watches only their folders, never recursively, and reads no
//! file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long a file has to stay unchanged before it is reported, so that a program that truncates it first is not caught
/// in between.
const QUIET_PERIOD: Duration = Duration::from_millis(40);

type WatchedFiles = Arc<Mutex<HashSet<PathBuf>>>;

/// Watches a set of files until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    inner: RecommendedWatcher,
    files: WatchedFiles,
    folders: HashSet<PathBuf>,
}

impl Watcher {
    /// Creates a watcher that sends the real paths of files that have changed. Must be called within a tokio runtime.
    pub fn new(changed: mpsc::UnboundedSender<Vec<PathBuf>>) -> notify::Result<Self> {
        let files = WatchedFiles::default();
        let (raw, events) = mpsc::unbounded_channel();
        let wanted = Arc::clone(&files);
        let inner = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if !is_change(event.kind) {
                return;
            }
            let wanted = wanted.lock();
            for path in event.paths.into_iter().filter(|path| wanted.contains(path)) {
                // Fails only if the watcher is about to be dropped.
                let _ = raw.send(path);
            }
        })?;
        tokio::spawn(debounce(events, changed));
        Ok(Self { inner, files, folders: HashSet::new() })
    }

    /// Replaces the set of files to watch, given by real path. Returns the folders that cannot be watched, with the
    /// error.
    pub fn watch(&mut self, files: HashSet<PathBuf>) -> Vec<(PathBuf, notify::Error)> {
        let wanted: HashSet<PathBuf> =
            files.iter().filter_map(|file| file.parent().map(Path::to_owned)).collect();
        *self.files.lock() = files;
        for gone in self.folders.difference(&wanted) {
            // Fails if the folder has been deleted, which has ended the watch.
            let _ = self.inner.unwatch(gone);
        }
        let mut failed = Vec::new();
        self.folders.retain(|folder| wanted.contains(folder));
        for folder in wanted {
            if self.folders.contains(&folder) {
                continue;
            }
            match self.inner.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.folders.insert(folder);
                }
                Err(error) => failed.push((folder, error)),
            }
        }
        failed
    }
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

/// Passes each path on once it has not changed for [`QUIET_PERIOD`].
async fn debounce(
    mut events: mpsc::UnboundedReceiver<PathBuf>,
    changed: mpsc::UnboundedSender<Vec<PathBuf>>,
) {
    let mut due: HashMap<PathBuf, Instant> = HashMap::new();
    loop {
        let next = due.values().min().copied();
        let timer = async {
            match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = events.recv() => match event {
                Some(path) => {
                    due.insert(path, Instant::now() + QUIET_PERIOD);
                }
                None => return,
            },
            () = timer => {
                let now = Instant::now();
                let ready: Vec<PathBuf> = due
                    .extract_if(|_, at| *at <= now)
                    .map(|(path, _)| path)
                    .collect();
                if changed.send(ready).is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_change_of_a_watched_file_is_reported_once_and_of_others_never() {
        let folder = std::env::temp_dir().canonicalize().unwrap();
        let folder = folder.join(format!("rat-watch-{}", std::process::id()));
        fs::create_dir_all(folder.join("below")).unwrap();
        let (wanted, other) = (folder.join("a"), folder.join("b"));
        let (sender, mut changed) = mpsc::unbounded_channel();
        let mut watcher = Watcher::new(sender).unwrap();
        assert!(watcher.watch(HashSet::from([wanted.clone()])).is_empty());
        fs::write(&other, "x").unwrap();
        fs::write(folder.join("below/a"), "x").unwrap();
        fs::write(&wanted, "").unwrap();
        fs::write(&wanted, "all of it").unwrap();
        let deadline = Duration::from_secs(10);
        let reported = tokio::time::timeout(deadline, changed.recv()).await.unwrap();
        assert_eq!(reported, Some(vec![wanted.clone()]));
        // Replacing the file, as editors and agents do, is reported once, with nothing before it.
        fs::write(&other, "new").unwrap();
        fs::rename(&other, &wanted).unwrap();
        let reported = tokio::time::timeout(deadline, changed.recv()).await.unwrap();
        assert_eq!(reported, Some(vec![wanted]));
        let missing = watcher.watch(HashSet::from([folder.join("none/c")]));
        assert_eq!(missing.len(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
