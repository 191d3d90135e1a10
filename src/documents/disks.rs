//! Runs blocking calls to file systems on blocking threads, with a limit for each file system and a timeout for each
//! call. A file system that stops responding, such as a network share, therefore only affects the files on it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::error::DocumentError;

/// How long a call may make no progress before it is given up.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The same for a file system with a call that was given up and has not returned.
const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

/// How many calls to one file system run at once. Calls that were given up count too, since each still occupies a
/// thread.
const MAX_CALLS: usize = 8;

/// A file that has changed more recently may still be written. Many programs write a file in place, in several steps,
/// which take a few milliseconds.
const SETTLING_TIME: Duration = Duration::from_millis(25);

/// How long the list of mounts is cached.
const MOUNTS_MAX_AGE: Duration = Duration::from_secs(2);

/// Returns the mount point of a path's file system, without a call to that file system.
type MountFinder = Box<dyn Fn(&Path) -> PathBuf + Send + Sync>;

/// All file systems, by mount point.
pub struct Disks {
    mount_of: MountFinder,
    /// Normal and short timeout.
    timeouts: [Duration; 2],
    settling_time: Duration,
    by_mount: Mutex<HashMap<PathBuf, Arc<FileSystem>>>,
}

/// The calls to one file system.
#[derive(Debug)]
struct FileSystem {
    slots: Arc<Semaphore>,
    /// How many calls were given up and have not returned.
    given_up: AtomicUsize,
}

/// A running call, shared by the work and the task that waits for it.
#[derive(Debug, Default)]
pub struct Call {
    /// Counts reports of progress.
    progress: AtomicU64,
    stage: AtomicU8,
}

/// Values of [`Call::stage`], which changes once, from `RUNNING` to one of the others.
const RUNNING: u8 = 0;
const DONE: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Call {
    /// Reports progress. Fails if the call has been given up; then it must not change anything any more.
    pub fn report_progress(&self) -> io::Result<()> {
        self.progress.fetch_add(1, Ordering::Relaxed);
        if self.stage.load(Ordering::SeqCst) == GIVEN_UP {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody waits for it any more"));
        }
        Ok(())
    }

    /// Leaves the stage `RUNNING`. Returns `false` if that has happened before.
    fn end(&self, stage: u8) -> bool {
        self.stage.compare_exchange(RUNNING, stage, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Held by the work until it returns or panics.
struct Running {
    call: Arc<Call>,
    file_system: Arc<FileSystem>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.call.end(DONE) {
            self.file_system.given_up.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Default for Disks {
    fn default() -> Self {
        let table = Mutex::new(MountTable::default());
        Self::new(move |path| table.lock().mount_of(path), [TIMEOUT, SHORT_TIMEOUT])
    }
}

impl fmt::Debug for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disks").field("by_mount", &self.by_mount).finish_non_exhaustive()
    }
}

impl Disks {
    /// Creates a set of file systems. `mount_of` returns the mount point of a path. The second timeout is for file
    /// systems with a call that was given up and has not returned.
    pub fn new(
        mount_of: impl Fn(&Path) -> PathBuf + Send + Sync + 'static,
        timeouts: [Duration; 2],
    ) -> Self {
        let (settling_time, by_mount) = (SETTLING_TIME, Mutex::default());
        Self { mount_of: Box::new(mount_of), timeouts, settling_time, by_mount }
    }

    /// Never waits for the rest of a file, where files are known to be written in one step.
    #[must_use]
    pub fn without_settling(self) -> Self {
        Self { settling_time: Duration::ZERO, ..self }
    }

    /// Returns how long a file has to stay unchanged until it is read, if it was changed at `modified`. `None` if it can be
    /// read at once, also if its time is in the future.
    pub(super) fn time_to_settle(&self, modified: SystemTime, now: SystemTime) -> Option<Duration> {
        let age = now.duration_since(modified).ok()?;
        self.settling_time.checked_sub(age).filter(|left| !left.is_zero())
    }

    /// Runs `work`, which may block on the file system of `path`. Gives it up and returns an error once it has reported
    /// no progress for too long; its next [`Call::report_progress`] fails then.
    pub async fn call<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce(&Call) -> T + Send + 'static,
    ) -> Result<T, DocumentError> {
        let file_system = self.file_system(path);
        let is_unresponsive = file_system.given_up.load(Ordering::SeqCst) > 0;
        let limit = self.timeouts[usize::from(is_unresponsive)];
        let unresponsive = || DocumentError::Unresponsive {
            path: path.to_owned(),
            seconds: limit.as_secs().max(1),
        };
        let slot = timeout(limit, Arc::clone(&file_system.slots).acquire_owned()).await;
        let Ok(Ok(permit)) = slot else { return Err(unresponsive()) };
        let call = Arc::new(Call::default());
        let running = Running {
            call: Arc::clone(&call),
            file_system: Arc::clone(&file_system),
            _permit: permit,
        };
        let mut done = tokio::task::spawn_blocking(move || work(&running.call));
        let mut progress = 0;
        loop {
            if let Ok(done) = timeout(limit, &mut done).await {
                return done.map_err(|error| DocumentError::Editor(error.to_string()));
            }
            let last = std::mem::replace(&mut progress, call.progress.load(Ordering::Relaxed));
            if last != progress {
                continue;
            }
            // Counted before the stage changes, so that the work cannot return in between and uncount itself first.
            file_system.given_up.fetch_add(1, Ordering::SeqCst);
            if call.end(GIVEN_UP) {
                tracing::warn!(path = %path.display(), "the file system does not answer");
                return Err(unresponsive());
            }
            // The work has returned just now.
            file_system.given_up.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Groups paths by file system.
    pub fn group_by_file_system(&self, paths: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        let mut groups: HashMap<PathBuf, Vec<PathBuf>> = HashMap::new();
        for path in paths {
            groups.entry((self.mount_of)(&path)).or_default().push(path);
        }
        groups.into_values().collect()
    }

    /// Whether two paths are on the same file system.
    pub fn is_same_file_system(&self, one: &Path, other: &Path) -> bool {
        (self.mount_of)(one) == (self.mount_of)(other)
    }

    fn file_system(&self, path: &Path) -> Arc<FileSystem> {
        let mount = (self.mount_of)(path);
        let new = || FileSystem { slots: Arc::new(Semaphore::new(MAX_CALLS)), given_up: 0.into() };
        Arc::clone(self.by_mount.lock().entry(mount).or_insert_with(|| Arc::new(new())))
    }
}

/// The mount points of this machine.
#[derive(Debug, Default)]
struct MountTable {
    /// When the mounts were last read.
    read_at: Option<Instant>,
    mounts: Vec<PathBuf>,
}

impl MountTable {
    /// Returns the longest mount point that contains the path. This asks the kernel, not the file system.
    fn mount_of(&mut self, path: &Path) -> PathBuf {
        if self.read_at.is_none_or(|read_at| read_at.elapsed() > MOUNTS_MAX_AGE) {
            let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            self.mounts = parse_mounts(&table);
            self.read_at = Some(Instant::now());
        }
        let containing = self.mounts.iter().filter(|mount| path.starts_with(mount));
        let longest = containing.max_by_key(|mount| mount.as_os_str().len());
        longest.cloned().unwrap_or_else(|| guess_mount(path))
    }
}

/// Parses `/proc/self/mountinfo` (`man 5 proc_pid_mountinfo`): the mount point is the fifth field of a line.
fn parse_mounts(table: &[u8]) -> Vec<PathBuf> {
    let mount_point = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4).map(unescape);
    table.split(|byte| *byte == b'\n').filter_map(mount_point).collect()
}

/// Decodes spaces and other characters that are written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((&byte, more)) = rest.split_first() {
        let digits =
            more.get(..3).filter(|_| byte == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        let (byte, after) = match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => (escaped, &more[3..]),
            None => (byte, more),
        };
        bytes.push(byte);
        rest = after;
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Guesses the mount point where the kernel has no such table, as on macOS: each folder directly below one of the usual
/// places counts as a mount point.
fn guess_mount(path: &Path) -> PathBuf {
    let has_mounts =
        |parent: &Path| ["/Volumes", "/mnt", "/net"].iter().any(|place| parent == Path::new(place));
    let mount = path.ancestors().find(|at| at.parent().is_some_and(has_mounts));
    mount.unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const SHORT: Duration = Duration::from_millis(50);

    /// Each folder in the root folder is a file system.
    fn disks() -> Disks {
        let first = |path: &Path| path.components().take(2).collect();
        Disks::new(first, [SHORT, SHORT])
    }

    #[test]
    fn a_file_settles_once_it_has_not_changed_for_a_moment() {
        let (disks, now) = (disks(), SystemTime::now());
        let left = |age| disks.time_to_settle(now - age, now);
        assert_eq!(left(Duration::ZERO), Some(SETTLING_TIME));
        assert_eq!(left(Duration::from_millis(5)), Some(Duration::from_millis(20)));
        assert_eq!(left(SETTLING_TIME), None);
        assert_eq!(left(Duration::from_secs(1000)), None);
        assert_eq!(disks.time_to_settle(now + SETTLING_TIME, now), None, "in the future");
        let at_once = Disks::default().without_settling();
        assert_eq!(at_once.time_to_settle(now, now), None);
    }

    /// Starts a call that hangs until the returned sender is dropped, and waits until it is given up.
    async fn hang(disks: &Disks, path: &str) -> mpsc::Sender<()> {
        let (sender, hangs) = mpsc::channel();
        let hung = disks.call(Path::new(path), move |_| hangs.recv().is_ok()).await;
        assert!(matches!(hung, Err(DocumentError::Unresponsive { .. })), "{hung:?}");
        sender
    }

    /// Holds (Files): A file system that does not answer stops only what uses it.
    #[tokio::test]
    async fn a_file_system_that_does_not_respond_affects_only_its_own_files() {
        let disks = disks();
        let mut hung = Vec::new();
        for _ in 0..MAX_CALLS {
            hung.push(hang(&disks, "/share/file").await);
        }
        let more =
            disks.call(Path::new("/share/other"), |_| panic!("no thread is left to it")).await;
        assert_eq!(
            more.unwrap_err().to_string(),
            "/share/other: its file system did not answer \
            within 1 s: try again later, or ask the user"
        );
        assert_eq!(disks.call(Path::new("/home/file"), |_| 7).await, Ok(7));
        drop(hung);
        // The file system responds again.
        let again = async { while disks.call(Path::new("/share/file"), |_| ()).await.is_err() {} };
        timeout(Duration::from_secs(20), again).await.unwrap();
    }

    /// Holds (Files): A file operation that was given up is not done later.
    #[tokio::test]
    async fn a_call_without_progress_is_given_up_and_one_with_progress_is_not() {
        let disks = disks();
        let (go, goes) = mpsc::channel::<()>();
        let (report, reported) = mpsc::channel();
        let late = disks.call(Path::new("/share/file"), move |call| {
            let _ = goes.recv();
            let _ = report.send(call.report_progress().is_err());
        });
        assert!(late.await.is_err());
        drop(go);
        assert!(
            reported.recv_timeout(Duration::from_secs(20)).unwrap(),
            "the call is told that it was given up"
        );
        let until = std::time::Instant::now() + 6 * SHORT;
        let slow = disks.call(Path::new("/home/file"), move |call| {
            while std::time::Instant::now() < until {
                call.report_progress().unwrap();
                std::thread::yield_now();
            }
            7
        });
        assert_eq!(slow.await, Ok(7));
    }

    #[test]
    fn the_longest_mount_point_that_contains_a_path_counts() {
        let table = b"22 1 8:1 / / rw - ext4 /dev/a rw\n\
            23 22 0:5 / /mnt/my\\040share rw - nfs host:/ rw\n24 22 0:6 / /mnt rw - tmpfs x rw\n";
        let mut table = MountTable { read_at: Some(Instant::now()), mounts: parse_mounts(table) };
        let mut of = |path: &str| table.mount_of(Path::new(path)).to_string_lossy().into_owned();
        assert_eq!(of("/mnt/my share/a/b"), "/mnt/my share");
        assert_eq!(of("/mnt/my sharex"), "/mnt");
        assert_eq!(of("/mntx"), "/");
        assert_eq!(guess_mount(Path::new("/Volumes/share/a/b")), Path::new("/Volumes/share"));
        assert_eq!(guess_mount(Path::new("/Users/me")), Path::new("/"));
    }
}
