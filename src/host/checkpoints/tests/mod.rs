//! Checkpoints of real folders: what the tests have in common.

mod begun;
mod crash;
mod kinds;
mod random;
mod restore;
mod scan;
mod store;
mod undo;

use super::Checkpoints;
use super::covered::Covered;
use super::entry::{FileChange, Kind};
use super::limits::{Limits, Watch};
use super::restore::{Restore, Restored};
use super::slot::lock;
use super::tree_path::TreePath;
use super::turns::{Turn, TurnAbout};
use crate::secrets::Secrets;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// A root with its store, in a temporary folder that is removed in the end.
pub(super) struct World {
    folder: PathBuf,
}

impl World {
    pub(super) fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rat-checkpoints-{name}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().canonicalize().unwrap().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("root")).unwrap();
        Self { folder }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(super) fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// The folder of a slot.
    pub(super) fn slot(&self, number: u32) -> PathBuf {
        let root = fs::read_dir(self.store()).unwrap().next().unwrap().unwrap().path();
        root.join(number.to_string())
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn open(&self) -> Checkpoints {
        self.open_with(Limits::default())
    }

    pub(super) fn open_with(&self, limits: Limits) -> Checkpoints {
        Checkpoints::open(Some(self.store()), Secrets::default(), limits)
    }

    /// Ends the program that has the first slot.
    pub(super) fn close(&self, checkpoints: Checkpoints) {
        drop(checkpoints);
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while lock(&self.slot(1)).unwrap().is_none() {
            assert!(std::time::Instant::now() < until, "the slot is still taken");
            std::thread::yield_now();
        }
    }

    /// The root without a thread of its own.
    pub(super) fn covered(&self) -> Covered {
        let (limits, watch) = (Limits::default(), Arc::new(Watch::default()));
        Covered::open(self.root(), self.store(), limits, Secrets::default(), watch).unwrap()
    }

    /// Everything below the root but git's.
    pub(super) fn tree(&self) -> BTreeMap<PathBuf, Node> {
        let mut nodes = BTreeMap::new();
        collect(&self.root(), &mut nodes).unwrap();
        nodes
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What the tests compare of a file: its kind, its permissions and its content.
pub(super) type Node = (Kind, u32, Vec<u8>);

fn collect(folder: &Path, nodes: &mut BTreeMap<PathBuf, Node>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.ends_with(".git") {
            continue;
        }
        let metadata = path.symlink_metadata()?;
        let mode = metadata.permissions().mode() & 0o7777;
        let node = if metadata.is_dir() {
            collect(&path, nodes)?;
            (Kind::Folder, mode, Vec::new())
        } else if metadata.is_symlink() {
            (Kind::Symlink, 0, fs::read_link(&path)?.as_os_str().as_bytes().to_vec())
        } else if metadata.is_file() {
            (Kind::File, mode, fs::read(&path)?)
        } else {
            (Kind::Other, mode, Vec::new())
        };
        nodes.insert(path, node);
    }
    Ok(())
}

/// A path below a root.
pub(super) fn path(path: impl AsRef<[u8]>) -> TreePath {
    TreePath::new(path)
}

/// What leads from the end of a turn back to its beginning.
pub(super) fn back(turn: &Turn) -> Vec<Restore> {
    let back = |change: &FileChange| Restore {
        path: change.path.clone(),
        expected: change.after.clone(),
        target: change.before.clone(),
        bytes: None,
    };
    turn.changes.iter().map(back).collect()
}

/// What leads from the beginning of a turn to its end.
pub(super) fn forth(turn: &Turn) -> Vec<Restore> {
    let mut files = back(turn);
    for file in &mut files {
        std::mem::swap(&mut file.expected, &mut file.target);
    }
    files
}

/// The paths of changes.
pub(super) fn paths(changes: &[FileChange]) -> Vec<String> {
    changes.iter().map(|change| change.path.to_string()).collect()
}

/// Far enough away for everything to be scanned.
pub(super) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Plays a turn that changes files as `edit` does.
pub(super) async fn turn(
    checkpoints: &Checkpoints,
    world: &World,
    edit: impl FnOnce(),
) -> Option<Turn> {
    let start = checkpoints.begin(world.root(), soon()).await.unwrap();
    assert!(!start.is_late());
    edit();
    let about = TurnAbout { agent: "agent".to_owned(), ..TurnAbout::default() };
    checkpoints.end(start, about, Box::new(|_| true)).await.unwrap()
}

/// The same without a thread.
pub(super) fn turn_of(covered: &mut Covered, edit: impl FnOnce()) -> Turn {
    covered.begin(1, &AtomicI64::new(0)).unwrap();
    edit();
    covered.end(1, &TurnAbout::default(), Box::new(|_| true)).unwrap().unwrap()
}

/// A turn that has turned "before" into "after" in the files "one" and "two".
pub(super) fn two_changed(world: &World) -> (Covered, Turn) {
    world.write("one", "before");
    world.write("two", "before");
    let mut covered = world.covered();
    let turn = turn_of(&mut covered, || {
        world.write("one", "after");
        world.write("two", "after");
    });
    (covered, turn)
}

/// Restores files, all of which must succeed.
pub(super) async fn restore(checkpoints: &Checkpoints, world: &World, files: Vec<Restore>) {
    let restored = checkpoints.restore(world.root(), files).await.unwrap();
    assert_eq!(restored.left, []);
}

/// Plays a turn, takes it back and makes it again, and checks the whole tree each time.
pub(super) async fn there_and_back(world: &World, edit: impl FnOnce()) -> Turn {
    let checkpoints = world.open();
    let before = world.tree();
    let turn = turn(&checkpoints, world, edit).await.unwrap();
    let after = world.tree();
    assert_ne!(before, after);
    restore(&checkpoints, world, back(&turn)).await;
    assert_same(&world.tree(), &before);
    restore(&checkpoints, world, forth(&turn)).await;
    assert_same(&world.tree(), &after);
    turn
}

/// Compares trees, and shows only what differs.
pub(super) fn assert_same(now: &BTreeMap<PathBuf, Node>, wanted: &BTreeMap<PathBuf, Node>) {
    let differ = |one: &BTreeMap<PathBuf, Node>, other: &BTreeMap<PathBuf, Node>| {
        let nodes = one.iter().filter(|(path, node)| other.get(*path) != Some(node));
        nodes.map(|(path, node)| format!("{path:?} {node:?}")).collect::<Vec<_>>()
    };
    assert!(now == wanted, "is {:#?}\nand not {:#?}", differ(now, wanted), differ(wanted, now));
}

/// What shows that a file was not touched.
pub(super) fn stamp(path: &Path) -> (u64, i64, i64, i64) {
    let of = path.symlink_metadata().unwrap();
    (of.ino(), of.mtime(), of.mtime_nsec(), of.ctime_nsec())
}

/// The reasons why paths were left.
pub(super) fn left(restored: &Restored) -> Vec<(String, String)> {
    restored.left.iter().map(|left| (left.path.to_string(), left.why.to_string())).collect()
}
