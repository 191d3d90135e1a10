//! Documents as others than the editor write them, each with a later time than the file had: two writes within one tick of the
//! disk's clock have one time, and nobody could tell texts of one size apart by it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// Where worlds have their files: in memory where the system offers that, since they write thousands of times.
pub(crate) fn above() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// Writes into the file.
pub(crate) fn overwrite(path: &Path, text: &str) {
    let before = time(path);
    fs::write(path, text).unwrap();
    is_later(path, before);
}

/// Puts another file in its place.
pub(crate) fn replace(path: &Path, text: &str) {
    let (before, beside) = (time(path), path.with_extension("new"));
    fs::write(&beside, text).unwrap();
    is_later(&beside, before);
    fs::rename(&beside, path).unwrap();
}

fn time(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok().and_then(|file| file.modified().ok())
}

fn is_later(path: &Path, before: Option<SystemTime>) {
    let Some(before) = before else { return };
    if time(path).is_some_and(|time| time <= before) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(before + Duration::from_nanos(1)).unwrap();
    }
}

/// Waits until what is written has a later time than this one, on a file system whose clock ticks seldom.
pub(crate) async fn lets_clock_reach(time: SystemTime) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let clock = above().join(format!("rat-clock-{}-{number}", std::process::id()));
    loop {
        fs::write(&clock, "").unwrap();
        if fs::metadata(&clock).unwrap().modified().unwrap() > time {
            break;
        }
        tokio::task::yield_now().await;
    }
    fs::remove_file(&clock).unwrap();
}
