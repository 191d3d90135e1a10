//! Checkpoints: what is in a folder before and after each turn of an agent, however the agent changed it, so that it can be
//! shown and taken back. Uses no git, and changes nothing but what it is told to restore.
//!
//! Each root has a thread of its own (`worker`), which does all reading and writing. `scan` compares the root with a
//! `manifest`, `pack` holds contents, `turns` logs what turns changed, `restore` changes files, and `undo` does both as one.

mod begun;
mod codec;
mod covered;
mod covered_paths;
mod covered_store;
pub mod entry;
pub mod error;
pub mod ids;
mod journal;
mod keep;
pub mod limits;
mod manifest;
mod memory;
mod pack;
mod pack_index;
mod private;
mod queue;
mod read;
pub mod restore;
mod scan;
mod slot;
mod stored;
#[cfg(test)]
mod tests;
mod tree;
pub mod tree_path;
pub mod turns;
pub mod undo;
mod walk;
mod worker;

use crate::secrets::Secrets;
use covered::Covered;
use entry::{FileChange, State};
use error::CheckpointError;
use ids::{ContentId, TurnId};
use limits::{Limits, Progress, Watch};
use parking_lot::Mutex;
use restore::{Restore, Restored};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tree_path::TreePath;
use turns::{Attribute, Turn, TurnAbout, TurnSummary};
use undo::Undone;
use worker::{Job, Settings, Worker};

/// How long the program, when it exits, waits for pending writes.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The checkpoints of all roots. When it is dropped, its threads finish their jobs and end.
#[derive(Debug)]
pub struct Checkpoints {
    /// `None` if nothing is kept.
    settings: Option<Settings>,
    roots: Mutex<HashMap<PathBuf, RootThread>>,
    /// The number of the next turn that begins.
    next: AtomicU64,
}

/// A root and its thread.
#[derive(Clone, Debug)]
struct RootThread {
    jobs: mpsc::Sender<Job>,
    watch: Arc<Watch>,
}

/// A turn that has begun. If it is dropped without being ended, it is forgotten.
#[derive(Debug)]
pub struct TurnStart {
    root: PathBuf,
    number: u64,
    is_late: bool,
    jobs: mpsc::Sender<Job>,
}

impl TurnStart {
    /// The root it is about.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it began before the first scan was over, so that not everything is covered.
    pub fn is_late(&self) -> bool {
        self.is_late
    }
}

impl Drop for TurnStart {
    fn drop(&mut self) {
        let number = self.number;
        let abandon = move |worker: &mut Worker| {
            if let Some(covered) = worker.opened() {
                covered.abandon(number);
            }
        };
        let _ = self.jobs.send(Box::new(abandon));
    }
}

impl Checkpoints {
    /// Keeps checkpoints below `folder`, which is created when it is first needed. With `None` nothing is kept.
    /// `secrets` are redacted from what is logged of prompts; the contents of files are stored as they are.
    pub fn open(folder: Option<PathBuf>, secrets: Secrets, limits: Limits) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let settings = folder.map(|store| Settings { store, limits, secrets, home });
        if settings.is_none() {
            tracing::warn!("no checkpoints are kept: there is no folder for them");
        }
        Self { settings, roots: Mutex::default(), next: AtomicU64::new(1) }
    }

    /// Starts the first scan of a root, unless it was made.
    pub fn prepare(&self, root: PathBuf) {
        // What is wrong is told to those who need the scan.
        if let Ok(thread) = self.thread(root.clone()) {
            thread.watch.begin();
            let _ = self.ask(root, |worker| drop(worker.scanned()));
        }
    }

    /// How far the first scan of a root is. `None` if it is over or was not asked for.
    pub fn progress(&self, root: &Path) -> Option<Progress> {
        self.roots.lock().get(root)?.watch.progress()
    }

    /// How long the last scan of a root took. `None` if there was none.
    pub fn scan_time(&self, root: &Path) -> Option<Duration> {
        self.roots.lock().get(root)?.watch.scan_time()
    }

    /// Scans a root and fixes its state before a turn. If that is not done by `deadline`, the turn begins all the same:
    /// the state before it of a file that changes before it is first read is not known.
    ///
    /// # Errors
    /// If the root cannot be covered.
    pub async fn begin(
        &self,
        root: PathBuf,
        deadline: Instant,
    ) -> Result<TurnStart, CheckpointError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let RootThread { jobs, watch } = self.thread(root.clone())?;
        watch.begin();
        let late = Arc::new(AtomicI64::new(0));
        let begun = late.clone();
        let mut begun = self.ask(root.clone(), move |worker| {
            worker.scan_with(|covered| covered.begin(number, &begun))
        })?;
        let start = |is_late| TurnStart { root, number, is_late, jobs };
        if let Ok(begun) = tokio::time::timeout_at(deadline, &mut begun).await {
            begun.map_err(|_| CheckpointError::Ended)??;
            return Ok(start(false));
        }
        match late.compare_exchange(0, scan::now(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(start(true)),
            // It was done at the last moment.
            Err(_) => {
                begun.await.map_err(|_| CheckpointError::Ended)??;
                Ok(start(false))
            }
        }
    }

    /// Scans again. Returns what has changed since the last look at this turn, or since it began, in the order of the
    /// paths.
    ///
    /// # Errors
    /// If the root cannot be scanned.
    pub async fn look(&self, turn: &TurnStart) -> Result<Vec<FileChange>, CheckpointError> {
        let number = turn.number;
        self.run(turn.root.clone(), move |covered| covered.look(number)).await
    }

    /// Returns the content of a file when a turn began; `None` if there was none, or it is not kept.
    ///
    /// # Errors
    /// If the root is not covered any more.
    pub async fn content_before(
        &self,
        turn: &TurnStart,
        path: TreePath,
    ) -> Result<Option<Vec<u8>>, CheckpointError> {
        let number = turn.number;
        self.run_open(turn.root.clone(), move |covered| Ok(covered.content_before(number, &path)))
            .await
    }

    /// Ends a turn: scans again, and logs what has changed since it began. `attribute` is called for each change. `None`
    /// if nothing has changed.
    ///
    /// # Errors
    /// If the root cannot be scanned or the turn not be logged.
    pub async fn end(
        &self,
        turn: TurnStart,
        about: TurnAbout,
        attribute: Attribute,
    ) -> Result<Option<Turn>, CheckpointError> {
        let number = turn.number;
        self.run(turn.root.clone(), move |covered| covered.end(number, &about, attribute)).await
    }

    /// Returns the turns of a root that are remembered, the newest first. Empty if the root is not covered.
    pub async fn turns(&self, root: PathBuf) -> Vec<TurnSummary> {
        let turns = |covered: &mut Covered| {
            covered.complete();
            Ok(covered.turns())
        };
        self.run_open(root, turns).await.unwrap_or_default()
    }

    /// Returns a turn with its changes.
    ///
    /// # Errors
    /// If it is not remembered, or the root is not covered.
    pub async fn turn(&self, root: PathBuf, id: TurnId) -> Result<Turn, CheckpointError> {
        self.run_open(root, move |covered| covered.turn(id)).await
    }

    /// Returns the content of a file, or the target of a link.
    ///
    /// # Errors
    /// If it is not kept, or the root is not covered.
    pub async fn content(&self, root: PathBuf, id: ContentId) -> Result<Vec<u8>, CheckpointError> {
        self.run_open(root, move |covered| covered.content(id)).await
    }

    /// Keeps what is to become the content of a path. `None` if it must not reach the disk and there is no room in memory, or if
    /// it is larger than a file may be.
    ///
    /// # Errors
    /// If it cannot be kept, or the root is not covered.
    pub async fn keep(
        &self,
        root: PathBuf,
        path: TreePath,
        content: Vec<u8>,
    ) -> Result<Option<ContentId>, CheckpointError> {
        self.run(root, move |covered| covered.keep(&path, &content)).await
    }

    /// Returns files as they are on disk now, and keeps their contents. `None` for what is not there or cannot be read.
    ///
    /// # Errors
    /// If a content cannot be kept, or the root is not covered.
    pub async fn states(
        &self,
        root: PathBuf,
        paths: Vec<TreePath>,
    ) -> Result<Vec<Option<State>>, CheckpointError> {
        self.run(root, move |covered| covered.states(&paths)).await
    }

    /// Returns what a path is on disk now, and which of two states that is; see [`Self::states`].
    ///
    /// # Errors
    /// If its content cannot be kept, or the root is not covered.
    pub async fn compare(
        &self,
        root: PathBuf,
        path: TreePath,
        states: [Option<State>; 2],
    ) -> Result<(Option<State>, [bool; 2]), CheckpointError> {
        self.run(root, move |covered| covered.compare(&path, &states)).await
    }

    /// Returns what is in a folder.
    ///
    /// # Errors
    /// If it cannot be read, or the root is not covered.
    pub async fn names_in(
        &self,
        root: PathBuf,
        folder: TreePath,
    ) -> Result<Vec<TreePath>, CheckpointError> {
        self.run(root, move |covered| covered.names_in(&folder)).await
    }

    /// Restores files: each as a whole or not at all, and only if it is as expected. If the program is killed meanwhile,
    /// this is finished when the root is opened again.
    ///
    /// # Errors
    /// If nothing was changed.
    pub async fn restore(
        &self,
        root: PathBuf,
        files: Vec<Restore>,
    ) -> Result<Restored, CheckpointError> {
        self.run(root, move |covered| covered.restore(files)).await
    }

    /// Finds out whether the disk has room for files that are to be restored.
    ///
    /// # Errors
    /// If it has not, or the root is not covered.
    pub async fn room_for(
        &self,
        root: PathBuf,
        files: Vec<Restore>,
    ) -> Result<(), CheckpointError> {
        self.run(root, move |covered| covered.room_for(files)).await
    }

    /// Restores files like [`Self::restore`], and ends a turn that has changed these and what has changed since it began.
    /// `attribute` is called for each of the latter. If the program is killed meanwhile, the turn is logged, too, when the
    /// root is opened again.
    ///
    /// # Errors
    /// If no file was changed.
    pub async fn undo(
        &self,
        turn: TurnStart,
        files: Vec<Restore>,
        about: TurnAbout,
        attribute: Attribute,
    ) -> Result<Undone, CheckpointError> {
        let number = turn.number;
        self.run(turn.root.clone(), move |covered| covered.undo(number, files, &about, attribute))
            .await
    }

    /// Returns, once, what has become of restores of a root that were interrupted.
    ///
    /// # Errors
    /// If the root cannot be covered.
    pub async fn recovered(&self, root: PathBuf) -> Result<Vec<Restored>, CheckpointError> {
        self.run_open(root, |covered| Ok(covered.take_recovered())).await
    }

    /// Ends first scans that run, and blocks until pending writes are done, for two seconds at most. Meant for the exit
    /// of the program.
    pub fn flush(&self) {
        let until = std::time::Instant::now() + FLUSH_TIMEOUT;
        let (done, is_done) = mpsc::channel();
        let threads: Vec<RootThread> = self.roots.lock().values().cloned().collect();
        let mut count = 0;
        for RootThread { jobs, watch } in threads {
            if watch.progress().is_some() {
                watch.cancel.store(true, Ordering::Relaxed);
            }
            let done = done.clone();
            let save = move |worker: &mut Worker| {
                worker.ends();
                let _ = done.send(());
            };
            count += usize::from(jobs.send(Box::new(save)).is_ok());
        }
        for _ in 0..count {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if is_done.recv_timeout(left).is_err() {
                return;
            }
        }
    }

    /// Has the thread of a root do something with it, after its first scan.
    async fn run<T: Send + 'static>(
        &self,
        root: PathBuf,
        job: impl FnOnce(&mut Covered) -> Result<T, CheckpointError> + Send + 'static,
    ) -> Result<T, CheckpointError> {
        let result = self.ask(root, |worker| worker.scanned().and_then(job))?;
        result.await.map_err(|_| CheckpointError::Ended)?
    }

    /// The same without a scan.
    async fn run_open<T: Send + 'static>(
        &self,
        root: PathBuf,
        job: impl FnOnce(&mut Covered) -> Result<T, CheckpointError> + Send + 'static,
    ) -> Result<T, CheckpointError> {
        let result = self.ask(root, |worker| worker.open().and_then(job))?;
        result.await.map_err(|_| CheckpointError::Ended)?
    }

    fn ask<T: Send + 'static>(
        &self,
        root: PathBuf,
        job: impl FnOnce(&mut Worker) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, CheckpointError> {
        let (reply, result) = oneshot::channel();
        let job = Box::new(move |worker: &mut Worker| {
            let _ = reply.send(job(worker));
        });
        if let Err(mpsc::SendError(job)) = self.thread(root.clone())?.jobs.send(job) {
            // The thread has panicked, which has been logged: what is on disk is whole, so another one goes on.
            self.roots.lock().remove(&root);
            let _ = self.thread(root)?.jobs.send(job);
        }
        Ok(result)
    }

    /// Returns the thread of a root, and starts it if there is none.
    fn thread(&self, root: PathBuf) -> Result<RootThread, CheckpointError> {
        let settings = self.settings.as_ref().ok_or(CheckpointError::Off)?;
        let mut roots = self.roots.lock();
        if let Some(thread) = roots.get(&root) {
            return Ok(thread.clone());
        }
        let watch = Arc::new(Watch::default());
        let started = worker::start(root.clone(), settings.clone(), watch.clone());
        let jobs = started.map_err(|error| {
            let reason = error.to_string();
            CheckpointError::Store { root: root.clone(), reason }
        })?;
        let thread = RootThread { jobs, watch };
        roots.insert(root, thread.clone());
        Ok(thread)
    }
}
