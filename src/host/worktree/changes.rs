//! What has changed in a worktree since it was created or last merged. Git stores the state of the worktree and checks both
//! sides of each change out into a folder of our own, with the line ends and filters that the repository wants.

use super::git::Git;
use super::{MERGED, START};
use crate::core::messages::worktree::Worktree;
use crate::host::checkpoints::tree_path::TreePath;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::spawn_blocking;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// What has changed.
#[derive(Debug)]
pub struct Changes {
    /// The changes below the folder that stands for the project's, in the order of their paths.
    pub list: Vec<Change>,
    /// How many files have changed outside of it.
    pub outside: usize,
    folder: Scratch,
}

/// What has become of a file.
#[derive(Debug, Clone)]
pub struct Change {
    /// Relative to the folder that stands for the project's.
    pub path: TreePath,
    /// What it was; `None` if there was nothing.
    pub before: Option<Side>,
    /// What it is; `None` if there is nothing any more.
    pub after: Option<Side>,
    /// How git writes down what it is.
    entry: Vec<u8>,
}

/// A file before or after a change.
#[derive(Debug, Clone)]
pub struct Side {
    /// Where it was checked out.
    pub file: PathBuf,
    /// What it is.
    pub kind: SideKind,
}

/// What git can keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideKind {
    /// A regular file.
    File {
        /// Whether it may be executed.
        executable: bool,
    },
    /// A symbolic link.
    Link,
    /// A commit of a repository inside of this one, which is not checked out.
    Repository,
}

/// A folder that is removed when nobody needs it any more.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How many files have changed in a worktree since it was created and are not the same in the project: not merged, or changed
/// there since, or merged and taken back.
///
/// # Errors
/// If that cannot be found out: one line that says why.
pub async fn count_missing(worktree: &Worktree, cwd: &Path) -> Result<usize, String> {
    let found = find(worktree, cwd, true).await?;
    let (list, project, outside) = (found.list.clone(), worktree.project.clone(), found.outside);
    let counted = spawn_blocking(move || {
        let is_missing = |change: &&Change| !change.is_in(&project);
        list.iter().filter(is_missing).count() + outside
    });
    counted.await.map_err(|error| error.to_string())
}

/// Finds out what has changed below `cwd`, a folder in the worktree, since the worktree was created or, unless `all` is
/// wanted, last merged.
///
/// # Errors
/// If that cannot be found out: one line that says why.
pub async fn find(worktree: &Worktree, cwd: &Path, all: bool) -> Result<Changes, String> {
    let folder = scratch(worktree)?;
    let tree = snapshot(worktree, &folder.0).await?;
    let base = if all { START } else { MERGED };
    let git = || Git::in_worktree(&worktree.git_dir, &worktree.top);
    let listed = git()
        .args(&["diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", base, &tree])
        .run()
        .await?;
    let below = cwd.strip_prefix(&worktree.top).unwrap_or(Path::new(""));
    let sides = [folder.0.join("before"), folder.0.join("after")];
    let (list, outside) = parse(&listed, below, &sides)?;
    let before = list.iter().filter_map(|change| change.before.as_ref());
    check_out(git, base, &sides[0], before).await?;
    let after = list.iter().filter_map(|change| change.after.as_ref());
    check_out(git, &tree, &sides[1], after).await?;
    Ok(Changes { list, outside, folder })
}

/// Reads git's list of changes (`git help diff-format`). `sides` are the folders into which both sides are checked out. Returns
/// the changes below a folder, and how many there are elsewhere.
fn parse(
    listed: &[u8],
    below: &Path,
    [before, after]: &[PathBuf; 2],
) -> Result<(Vec<Change>, usize), String> {
    let (mut list, mut outside) = (Vec::new(), 0);
    let mut fields = listed.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    while let Some((facts, name)) = fields.next().zip(fields.next()) {
        let whole = Path::new(OsStr::from_bytes(name));
        let Ok(path) = whole.strip_prefix(below) else {
            outside += 1;
            continue;
        };
        // `:MODE MODE ID ID LETTER`
        let facts = String::from_utf8_lossy(facts).into_owned();
        let words: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
        let [mode_before, mode_after, _, id, _] = words[..] else {
            return Err("git's list of changes makes no sense".to_owned());
        };
        let side = |mode: &str, top: &Path| {
            Some(Side { file: top.join(whole), kind: SideKind::of_mode(mode)? })
        };
        list.push(Change {
            path: TreePath::new(path.as_os_str().as_bytes()),
            before: side(mode_before, before),
            after: side(mode_after, after),
            entry: [format!("{mode_after} {id}\t").as_bytes(), name, b"\0"].concat(),
        });
    }
    Ok((list, outside))
}

/// Checks files of a tree out into a folder.
async fn check_out<'a>(
    git: impl Fn() -> Git,
    tree: &str,
    top: &Path,
    sides: impl Iterator<Item = &'a Side>,
) -> Result<(), String> {
    let mut paths = Vec::new();
    for side in sides.filter(|side| side.kind != SideKind::Repository) {
        let path = side.file.strip_prefix(top).unwrap_or(&side.file);
        paths.extend_from_slice(path.as_os_str().as_bytes());
        paths.push(0);
    }
    if paths.is_empty() {
        return Ok(());
    }
    let index = top.with_extension("index");
    git().index(&index).args(&["read-tree", tree]).run().await?;
    let mut prefix = OsString::from("--prefix=");
    prefix.push(top);
    prefix.push("/");
    let check_out = git().index(&index).args(&["checkout-index", "-q", "-z", "--stdin"]);
    check_out.arg(prefix).read(paths).await.map(drop)
}

impl Changes {
    /// Notes that these changes are merged, so that the next merge begins with them.
    ///
    /// # Errors
    /// If that cannot be noted: one line that says why.
    pub async fn merged(&self, worktree: &Worktree, merged: &[Change]) -> Result<(), String> {
        if merged.is_empty() {
            return Ok(());
        }
        let index = self.folder.0.join("merged.index");
        let git = || Git::in_worktree(&worktree.git_dir, &worktree.top).index(&index);
        git().args(&["read-tree", MERGED]).run().await?;
        let entries = merged.iter().flat_map(|change| change.entry.clone()).collect();
        git().args(&["update-index", "-z", "--index-info"]).read(entries).await?;
        let tree = git().args(&["write-tree"]).line().await?;
        git().args(&["update-ref", MERGED, &tree]).run().await.map(drop)
    }
}

impl Change {
    /// Whether the file is in this folder what it is after the change.
    fn is_in(&self, folder: &Path) -> bool {
        let path = self.path.under(folder);
        match &self.after {
            None => path.symlink_metadata().is_err(),
            Some(side) => side.is_same(&path).unwrap_or(false),
        }
    }
}

impl Side {
    /// Returns the content of a file or the target of a link; `None` if it has more bytes than this.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let metadata = self.file.symlink_metadata()?;
        if metadata.is_symlink() {
            return Ok(Some(fs::read_link(&self.file)?.into_os_string().into_vec()));
        }
        if metadata.len() > limit { Ok(None) } else { fs::read(&self.file).map(Some) }
    }

    /// Whether there is the same at a path.
    fn is_same(&self, path: &Path) -> io::Result<bool> {
        if self.kind == SideKind::Repository {
            return Ok(false);
        }
        let (own, there) = (self.file.symlink_metadata()?, path.symlink_metadata()?);
        if (own.file_type(), own.len()) != (there.file_type(), there.len()) {
            return Ok(false);
        }
        if own.is_symlink() {
            return Ok(fs::read_link(&self.file)? == fs::read_link(path)?);
        }
        Ok(fs::read(&self.file)? == fs::read(path)?)
    }
}

impl SideKind {
    /// From the mode in one of git's trees; `None` if there is nothing.
    fn of_mode(mode: &str) -> Option<Self> {
        match mode {
            "000000" => None,
            "100755" => Some(Self::File { executable: true }),
            "120000" => Some(Self::Link),
            "160000" => Some(Self::Repository),
            _ => Some(Self::File { executable: false }),
        }
    }
}

/// Removes what a program that was killed has left.
pub(super) fn remove_scratch(top: &Path) {
    let (Some(beside), Some(name)) = (top.parent(), top.file_name()) else { return };
    let prefix = format!("{}.merge-", name.to_string_lossy());
    for entry in fs::read_dir(beside).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn scratch(worktree: &Worktree) -> Result<Scratch, String> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = worktree.top.clone().into_os_string();
    name.push(format!(".merge-{}-{number}", std::process::id()));
    let folder = PathBuf::from(name);
    let created = DirBuilder::new().mode(0o700).create(&folder);
    created.map_err(|error: io::Error| format!("{}: {error}", folder.display()))?;
    Ok(Scratch(folder))
}

/// Has git store the state of the worktree, with new files that are not ignored, and returns its tree. The index of the
/// worktree stays as it is.
async fn snapshot(worktree: &Worktree, folder: &Path) -> Result<String, String> {
    let index = folder.join("index");
    match copy_index(&worktree.git_dir.join("index"), &index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(format!("the index of the worktree cannot be read: {error}"));
        }
        _ => {}
    }
    let git = || Git::in_worktree(&worktree.git_dir, &worktree.top).index(&index);
    git().args(&["-c", "advice.addEmbeddedRepo=false", "add", "--all"]).run().await?;
    git().args(&["write-tree"]).line().await
}

/// Copies an index with its time: git reads the files again that may have changed since, and is content with whole seconds.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(modified)
}
