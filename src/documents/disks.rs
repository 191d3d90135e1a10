//! Blocking calls to file systems: beside the loop, a bounded number on each file system, and none is waited for
//! without end. So one that does not answer any more, such as a network share, stops only what uses it. What is called
//! is decided elsewhere.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::error::FileError;

/// So long a call may go without progress.
const PATIENCE: Duration = Duration::from_secs(10);

/// So long where a call to the same file system has been given up and has not come back.
const LITTLE_PATIENCE: Duration = Duration::from_secs(1);

/// So many calls to one file system run at once, those counted that were given up: each holds a thread.
const MOST_CALLS: usize = 8;

/// So long the list of file systems is taken to be right.
const FRESH: Duration = Duration::from_secs(2);

/// Finds the file system of a path without asking that.
type Finder = Box<dyn Fn(&Path) -> PathBuf + Send + Sync>;

/// All file systems, by where they are mounted.
pub struct Disks {
    finder: Finder,
    patience: [Duration; 2],
    gates: Mutex<HashMap<PathBuf, Arc<Gate>>>,
}

/// What goes on on one file system.
#[derive(Debug)]
struct Gate {
    free: Arc<Semaphore>,
    given_up: AtomicUsize,
}

/// A call that runs, as seen by itself.
#[derive(Debug, Default)]
pub struct Call {
    beats: AtomicU64,
    stage: AtomicU8,
}

/// Stages of a call: it leaves the first one once, for one of the others.
const RUNS: u8 = 0;
const IS_DONE: u8 = 1;
const IS_GIVEN_UP: u8 = 2;

impl Call {
    /// Says that there is progress. An error if nobody waits any more: what was not done yet must not be done then.
    pub fn goes_on(&self) -> io::Result<()> {
        self.beats.fetch_add(1, Ordering::Relaxed);
        if self.stage.load(Ordering::SeqCst) == IS_GIVEN_UP {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody waits for it any more"));
        }
        Ok(())
    }

    fn ends_as(&self, stage: u8) -> bool {
        let ended = self.stage.compare_exchange(RUNS, stage, Ordering::SeqCst, Ordering::SeqCst);
        ended.is_ok()
    }
}

/// Held by a call until it comes back, however it does.
struct Running {
    call: Arc<Call>,
    gate: Arc<Gate>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.call.ends_as(IS_DONE) {
            self.gate.given_up.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Default for Disks {
    fn default() -> Self {
        let table = Mutex::new(Table::default());
        let finder = move |path: &Path| table.lock().mount_of(path);
        Self::new(finder, [PATIENCE, LITTLE_PATIENCE])
    }
}

impl fmt::Debug for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disks").field("gates", &self.gates).finish_non_exhaustive()
    }
}

impl Disks {
    /// File systems as `finder` tells them apart. The second patience is for those of which a call was given up.
    pub fn new(
        finder: impl Fn(&Path) -> PathBuf + Send + Sync + 'static,
        patience: [Duration; 2],
    ) -> Self {
        Self { finder: Box::new(finder), patience, gates: Mutex::default() }
    }

    /// Runs what may block on the file system of `path`. An error once it has gone without progress for too long; then it
    /// is told so, and nobody waits for it.
    pub async fn call<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce(&Call) -> T + Send + 'static,
    ) -> Result<T, FileError> {
        let gate = self.gate(path);
        let is_silent = gate.given_up.load(Ordering::SeqCst) > 0;
        let patience = self.patience[usize::from(is_silent)];
        let silent =
            || FileError::Silent { path: path.to_owned(), seconds: patience.as_secs().max(1) };
        let free = timeout(patience, Arc::clone(&gate.free).acquire_owned()).await;
        let Ok(Ok(permit)) = free else { return Err(silent()) };
        let call = Arc::new(Call::default());
        let running = Running { call: Arc::clone(&call), gate: Arc::clone(&gate), _permit: permit };
        let mut done = tokio::task::spawn_blocking(move || work(&running.call));
        let mut beats = 0;
        loop {
            if let Ok(done) = timeout(patience, &mut done).await {
                return done.map_err(|error| FileError::Editor(error.to_string()));
            }
            let last = std::mem::replace(&mut beats, call.beats.load(Ordering::Relaxed));
            if last != beats {
                continue;
            }
            gate.given_up.fetch_add(1, Ordering::SeqCst);
            if call.ends_as(IS_GIVEN_UP) {
                tracing::warn!(path = %path.display(), "the file system does not answer");
                return Err(silent());
            }
            // It has come back just now.
            gate.given_up.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// These paths, those of each file system by themselves.
    pub fn apart(&self, paths: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        let mut groups: HashMap<PathBuf, Vec<PathBuf>> = HashMap::new();
        for path in paths {
            groups.entry((self.finder)(&path)).or_default().push(path);
        }
        groups.into_values().collect()
    }

    /// Whether both lie on one file system.
    pub fn are_one(&self, one: &Path, other: &Path) -> bool {
        (self.finder)(one) == (self.finder)(other)
    }

    fn gate(&self, path: &Path) -> Arc<Gate> {
        let place = (self.finder)(path);
        let gate = || Gate { free: Arc::new(Semaphore::new(MOST_CALLS)), given_up: 0.into() };
        Arc::clone(self.gates.lock().entry(place).or_insert_with(|| Arc::new(gate())))
    }
}

/// Where file systems are mounted.
#[derive(Debug, Default)]
struct Table {
    read: Option<Instant>,
    mounts: Vec<PathBuf>,
}

impl Table {
    /// The longest of them that holds the path. The kernel is asked, not the file system.
    fn mount_of(&mut self, path: &Path) -> PathBuf {
        if self.read.is_none_or(|read| read.elapsed() > FRESH) {
            let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            self.mounts = mounts(&table);
            self.read = Some(Instant::now());
        }
        let holds = self.mounts.iter().filter(|mount| path.starts_with(mount));
        let longest = holds.max_by_key(|mount| mount.as_os_str().len());
        longest.cloned().unwrap_or_else(|| usual(path))
    }
}

/// The mounts in a table as Linux has it; the fifth field of a line, with signs such as spaces as octal numbers.
fn mounts(table: &[u8]) -> Vec<PathBuf> {
    let fifth = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4).map(unescaped);
    table.split(|byte| *byte == b'\n').filter_map(fifth).collect()
}

fn unescaped(field: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((&byte, more)) = rest.split_first() {
        let digits = more.get(..3).filter(|_| byte == b'\\').and_then(|it| str::from_utf8(it).ok());
        let (one, left) = match digits.and_then(|it| u8::from_str_radix(it, 8).ok()) {
            Some(one) => (one, &more[3..]),
            None => (byte, more),
        };
        bytes.push(one);
        rest = left;
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Where there is no such table: what lies below these is mounted by its name, as on macOS.
fn usual(path: &Path) -> PathBuf {
    let is_mount =
        |parent: &Path| ["/Volumes", "/mnt", "/net"].iter().any(|it| parent == Path::new(it));
    let mount = path.ancestors().find(|at| at.parent().is_some_and(is_mount));
    mount.unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const SHORT: Duration = Duration::from_millis(50);

    /// The file system of a path is its first folder.
    fn disks() -> Disks {
        let first = |path: &Path| path.components().take(2).collect();
        Disks::new(first, [SHORT, SHORT])
    }

    /// Starts a call that hangs until the sender is dropped, and waits until it is given up.
    async fn hang(disks: &Disks, path: &str) -> mpsc::Sender<()> {
        let (sender, hangs) = mpsc::channel();
        let hung = disks.call(Path::new(path), move |_| hangs.recv().is_ok()).await;
        assert!(matches!(hung, Err(FileError::Silent { .. })), "{hung:?}");
        sender
    }

    #[tokio::test]
    async fn a_file_system_that_does_not_answer_stops_only_what_uses_it() {
        let disks = disks();
        let mut hung = Vec::new();
        for _ in 0..MOST_CALLS {
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
        // It answers again.
        let again = async { while disks.call(Path::new("/share/file"), |_| ()).await.is_err() {} };
        timeout(Duration::from_secs(20), again).await.unwrap();
    }

    #[tokio::test]
    async fn a_call_that_was_given_up_learns_of_it_and_one_that_goes_on_is_waited_for() {
        let disks = disks();
        let (go, goes) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let late = disks.call(Path::new("/share/file"), move |call| {
            let _ = goes.recv();
            let _ = tell.send(call.goes_on().is_err());
        });
        assert!(late.await.is_err());
        drop(go);
        assert!(
            told.recv_timeout(Duration::from_secs(20)).unwrap(),
            "it must not be done any more"
        );
        let until = std::time::Instant::now() + 6 * SHORT;
        let slow = disks.call(Path::new("/home/file"), move |call| {
            while std::time::Instant::now() < until {
                call.goes_on().unwrap();
                std::thread::yield_now();
            }
            7
        });
        assert_eq!(slow.await, Ok(7));
    }

    #[test]
    fn mounts_are_found_by_the_longest_name() {
        let table = b"22 1 8:1 / / rw - ext4 /dev/a rw\n\
            23 22 0:5 / /mnt/my\\040share rw - nfs host:/ rw\n24 22 0:6 / /mnt rw - tmpfs x rw\n";
        let mut table = Table { read: Some(Instant::now()), mounts: mounts(table) };
        let mut of = |path: &str| table.mount_of(Path::new(path)).to_string_lossy().into_owned();
        assert_eq!(of("/mnt/my share/a/b"), "/mnt/my share");
        assert_eq!(of("/mnt/my sharex"), "/mnt");
        assert_eq!(of("/mntx"), "/");
        assert_eq!(usual(Path::new("/Volumes/share/a/b")), Path::new("/Volumes/share"));
        assert_eq!(usual(Path::new("/Users/me")), Path::new("/"));
    }
}
