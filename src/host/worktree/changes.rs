//! What has changed in a worktree since it was created or last merged. Git stores the state of the worktree and checks both
//! sides of each change out into a folder of our own, with the line ends and filters that the repository wants.

use super::{MERGED, START, repository};
use crate::core::messages::worktree::Worktree;
use crate::host::checkpoints::tree_path::TreePath;
use crate::host::git::repository::Repository;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use tokio::task::spawn_blocking;

/// What has changed.
#[derive(Debug)]
pub struct Changes {
    /// The changes below the folder that stands for the project's, in the order of their paths.
    pub list: Vec<Change>,
    /// How many files have changed outside of it.
    pub outside: usize,
    /// It keeps both sides.
    repository: Repository,
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
    let repository = repository(worktree).await?;
    let tree = snapshot(&repository).await?;
    let base = if all { START } else { MERGED };
    let listed = repository
        .git()
        .args(&["diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", base, &tree])
        .run()
        .await?;
    let below = cwd.strip_prefix(&worktree.top).unwrap_or(Path::new(""));
    let sides = [repository.scratch("before"), repository.scratch("after")];
    let (list, outside) = parse(&listed, below, &sides)?;
    let before = list.iter().filter_map(|change| change.before.as_ref());
    check_out(&repository, base, &sides[0], before).await?;
    let after = list.iter().filter_map(|change| change.after.as_ref());
    check_out(&repository, &tree, &sides[1], after).await?;
    Ok(Changes { list, outside, repository })
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
    repository: &Repository,
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
    let git = || repository.git().attributes_of(START).index(&index);
    git().args(&["read-tree", tree]).run().await?;
    let mut prefix = OsString::from("--prefix=");
    prefix.push(top);
    prefix.push("/");
    let check_out = git().args(&["checkout-index", "-q", "-z", "--stdin"]);
    check_out.arg(prefix).read(paths).await.map(drop)
}

impl Changes {
    /// Notes that these changes are merged, so that the next merge begins with them.
    ///
    /// # Errors
    /// If that cannot be noted: one line that says why.
    pub async fn merged(&self, merged: &[Change]) -> Result<(), String> {
        if merged.is_empty() {
            return Ok(());
        }
        let index = self.repository.scratch("merged.index");
        let git = || self.repository.git().index(&index);
        git().args(&["read-tree", MERGED]).run().await?;
        let entries = merged.iter().flat_map(|change| change.entry.clone()).collect();
        git().args(&["update-index", "-z", "--index-info"]).read(entries).await?;
        let tree = git().args(&["write-tree", "--missing-ok"]).line().await?;
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

/// Has git store the state of the worktree, with new files that are not ignored, and returns its tree. The index of the
/// worktree stays as it is. `git add` would run git in each repository inside of this one, with its configuration.
async fn snapshot(repository: &Repository) -> Result<String, String> {
    let index = repository.copy_index("index").await?;
    let git = || repository.git().attributes_of(START).index(&index);
    let list = |args: &[&str]| git().args(args).run();
    let mut paths = list(&["diff-files", "-z", "--name-only", "--ignore-submodules=dirty"]).await?;
    let new = list(&["ls-files", "-z", "--others", "--exclude-standard"]).await?;
    for path in new.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        // A repository inside of this one ends with a slash.
        paths.extend_from_slice(path.strip_suffix(b"/").unwrap_or(path));
        paths.push(0);
    }
    if !paths.is_empty() {
        let update =
            git().args(&["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]);
        update.read(paths).await?;
    }
    git().args(&["write-tree", "--missing-ok"]).line().await
}
