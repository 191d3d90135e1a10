//! Hears when files of loaded buffers change on disk. Watches their folders only, never
//! recursively, and reads nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A file is told of when it was quiet for so long: writers that empty it first are not caught in
/// between.
const QUIET: Duration = Duration::from_millis(40);

type Files = Arc<Mutex<HashSet<PathBuf>>>;

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    inner: RecommendedWatcher,
    files: Files,
    folders: HashSet<PathBuf>,
}

impl Watcher {
    /// Sends the real paths of watched files that changed. To be called within a tokio runtime.
    pub fn new(changed: mpsc::UnboundedSender<Vec<PathBuf>>) -> notify::Result<Self> {
        let files = Files::default();
        let (raw, events) = mpsc::unbounded_channel();
        let wanted = Arc::clone(&files);
        let inner = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if !is_change(event.kind) {
                return;
            }
            let wanted = wanted.lock();
            for path in event.paths.into_iter().filter(|path| wanted.contains(path)) {
                // Nobody listens any more: the watcher is about to be dropped.
                let _ = raw.send(path);
            }
        })?;
        tokio::spawn(settle(events, changed));
        Ok(Self { inner, files, folders: HashSet::new() })
    }

    /// Watches these files, by their real paths, and no others. Folders that cannot be watched are
    /// returned with the reason.
    pub fn watch(&mut self, files: HashSet<PathBuf>) -> Vec<(PathBuf, notify::Error)> {
        let wanted: HashSet<PathBuf> =
            files.iter().filter_map(|file| file.parent().map(Path::to_owned)).collect();
        *self.files.lock() = files;
        for gone in self.folders.difference(&wanted) {
            // Fails if the folder is gone, and with it the watch.
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

/// Passes each path on once it has been quiet.
async fn settle(
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
                    due.insert(path, Instant::now() + QUIET);
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
    async fn a_watched_file_is_told_once_and_its_neighbour_never() {
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
        let told = tokio::time::timeout(deadline, changed.recv()).await.unwrap();
        assert_eq!(told, Some(vec![wanted.clone()]));
        // Replaced by another file of that name, as editors and agents do; told once more, and
        // nothing else between.
        fs::write(&other, "new").unwrap();
        fs::rename(&other, &wanted).unwrap();
        let told = tokio::time::timeout(deadline, changed.recv()).await.unwrap();
        assert_eq!(told, Some(vec![wanted]));
        let missing = watcher.watch(HashSet::from([folder.join("none/c")]));
        assert_eq!(missing.len(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
