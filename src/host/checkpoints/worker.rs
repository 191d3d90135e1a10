//! The thread of a root. It opens the root when the first job needs it, and refuses roots that are not to be covered.

use super::covered::Covered;
use super::error::{CheckpointError, Refusal};
use super::limits::{Limits, Watch};
use crate::secrets::Secrets;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

/// What the thread is to do.
pub(super) type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// What a root is opened with.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The folder of all checkpoints.
    pub(super) store: PathBuf,
    pub(super) limits: Limits,
    pub(super) secrets: Secrets,
    /// The user's home folder.
    pub(super) home: Option<PathBuf>,
}

/// The state of the thread.
pub(super) struct Worker {
    root: PathBuf,
    settings: Settings,
    watch: Arc<Watch>,
    covered: Option<Box<Covered>>,
    /// The root is not to be covered, and will not be looked at again.
    refused: Option<CheckpointError>,
}

/// Starts the thread of a root. It ends when all senders are gone, after the jobs they have sent.
///
/// # Errors
/// If the system gives no thread.
pub(super) fn start(
    root: PathBuf,
    settings: Settings,
    watch: Arc<Watch>,
) -> io::Result<mpsc::Sender<Job>> {
    let (jobs, queue) = mpsc::channel::<Job>();
    thread::Builder::new().name("checkpoints".to_owned()).spawn(move || {
        let mut worker = Worker { root, settings, watch, covered: None, refused: None };
        for job in queue {
            job(&mut worker);
            if let Some(covered) = &mut worker.covered {
                covered.tidy();
            }
        }
        worker.save();
    })?;
    Ok(jobs)
}

impl Worker {
    /// Returns the root, opened and scanned once.
    ///
    /// # Errors
    /// If it cannot be covered.
    pub(super) fn scanned(&mut self) -> Result<&mut Covered, CheckpointError> {
        self.scan_with(Covered::prepare)?;
        self.open()
    }

    /// Does something that scans the root, perhaps for the first time.
    ///
    /// # Errors
    /// If it cannot be covered.
    pub(super) fn scan_with<T>(
        &mut self,
        scan: impl FnOnce(&mut Covered) -> Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        let result = self.open().and_then(scan);
        self.watch.end();
        if let Err(error @ CheckpointError::Refused { why, .. }) = &result
            && self.refused.is_none()
            && !matches!(why, Refusal::Unreadable(_))
        {
            tracing::warn!(%error, "a folder is not covered");
            self.refused = Some(error.clone());
        }
        result
    }

    /// Returns the root, opened.
    ///
    /// # Errors
    /// If it cannot be covered.
    pub(super) fn open(&mut self) -> Result<&mut Covered, CheckpointError> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        if self.covered.is_none() {
            let refused = |why| CheckpointError::Refused { root: self.root.clone(), why };
            let unreadable = |error: io::Error| refused(Refusal::Unreadable(error.to_string()));
            let root = self.root.canonicalize().map_err(unreadable)?;
            root.read_dir().map_err(unreadable)?;
            check(&root, self.settings.home.as_deref()).map_err(refused)?;
            let Settings { store, limits, secrets, .. } = self.settings.clone();
            let covered = Covered::open(root, store, limits, secrets, self.watch.clone())?;
            self.covered = Some(Box::new(covered));
        }
        self.covered.as_deref_mut().ok_or(CheckpointError::Ended)
    }

    /// Returns the root if it has been opened.
    pub(super) fn opened(&mut self) -> Option<&mut Covered> {
        self.covered.as_deref_mut()
    }

    /// The program is about to end.
    pub(super) fn ends(&mut self) {
        if let Some(covered) = &mut self.covered {
            covered.ends();
        }
    }

    /// Saves what makes the next start cheap.
    pub(super) fn save(&mut self) {
        if let Some(covered) = &mut self.covered {
            covered.save();
        }
    }
}

/// Whether a root, which is a real path, may be covered.
pub(super) fn check(root: &Path, home: Option<&Path>) -> Result<(), Refusal> {
    if root.parent().is_none() {
        return Err(Refusal::Everything);
    }
    let home = home.and_then(|home| home.canonicalize().ok());
    match home {
        Some(home) if home == root => Err(Refusal::Home),
        Some(home) if home.starts_with(root) => Err(Refusal::AboveHome),
        _ => Ok(()),
    }
}
