//! A repository of the user's, without what an agent may have put into it. Git is given another folder for what all worktrees
//! share: references and objects lead to those of the repository, the configuration has only what [`settings`] lets count, and
//! there are no hooks. So nothing in `.git` that names a program is read, whatever writes there meanwhile.

use super::scratch::Scratch;
use super::{Git, settings};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tokio::task::spawn_blocking;

/// What leads to the repository's own.
const SHARED: &[&str] = &["refs", "packed-refs", "reftable", "shallow", "worktrees"];

/// Files of words that are copied: patterns and attributes. These name filters only, and only the user's own configuration says
/// which program a filter is.
const COPIED: &[&str] = &["info/exclude", "info/attributes"];

/// Where a `.git` was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::host) struct Place {
    /// The folder with the files.
    pub(in crate::host) top: PathBuf,
    /// Git's folder for it.
    pub(in crate::host) git_dir: PathBuf,
}

/// A repository in which git can be run.
#[derive(Debug)]
pub(in crate::host) struct Repository {
    place: Place,
    objects: PathBuf,
    scratch: Scratch,
}

impl Place {
    /// Finds the repository that a folder is in, as git does, by reading.
    pub(in crate::host) fn of(folder: &Path) -> Result<Self, String> {
        let none = || "not a git repository (or any of the folders above it)".to_owned();
        let real = folder.canonicalize().map_err(|error| error.to_string())?;
        for top in real.ancestors() {
            let dot_git = top.join(".git");
            let Ok(kind) = dot_git.metadata() else { continue };
            let git_dir = if kind.is_dir() { Some(dot_git) } else { named(&dot_git, "gitdir:") };
            let git_dir = git_dir.and_then(|path| path.canonicalize().ok());
            match git_dir.filter(|git_dir| is_repository(git_dir)) {
                Some(git_dir) => return Ok(Self { top: top.to_owned(), git_dir }),
                None if kind.is_dir() => {}
                None => return Err(none()),
            }
        }
        Err(none())
    }
}

/// The path in a file that names one, relative to the folder of the file.
fn named(file: &Path, prefix: &str) -> Option<PathBuf> {
    let content = settings::read(file).ok()??;
    let line = content.strip_prefix(prefix.as_bytes())?.trim_ascii();
    Some(file.parent()?.join(std::ffi::OsStr::from_bytes(line)))
}

/// The folder with what all worktrees share.
fn common(git_dir: &Path) -> Option<PathBuf> {
    let file = git_dir.join("commondir");
    if file.symlink_metadata().is_err() {
        return Some(git_dir.to_owned());
    }
    named(&file, "")?.canonicalize().ok()
}

fn is_repository(git_dir: &Path) -> bool {
    let common = common(git_dir);
    git_dir.join("HEAD").symlink_metadata().is_ok()
        && common.is_some_and(|common| common.join("objects").is_dir())
}

impl Repository {
    /// Prepares the repository that a folder is in. What git needs meanwhile is kept `below` a folder that no agent writes to.
    pub(in crate::host) async fn of(folder: &Path, below: &Path) -> Result<Self, String> {
        let folder = folder.to_owned();
        let place = spawn_blocking(move || Place::of(&folder)).await;
        Self::at(place.map_err(|error| error.to_string())??, below).await
    }

    /// Prepares the repository that this worktree belongs to, whatever its `.git` says.
    pub(in crate::host) async fn at(place: Place, below: &Path) -> Result<Self, String> {
        let below = below.to_owned();
        let prepared = spawn_blocking(move || prepare(place, &below));
        let (repository, common) = prepared.await.map_err(|error| error.to_string())??;
        let mut found = Vec::new();
        for copy in ["config.shared", "config.worktree"] {
            let copy = repository.scratch.join(copy);
            if copy.exists() {
                found.extend(settings::of(repository.git(), &copy).await?);
            }
        }
        let text = settings::written(&found, &common.join("lfs"));
        let written = fs::write(repository.scratch.join("common/config"), text);
        written.map_err(|error| error.to_string())?;
        Ok(repository)
    }

    /// The folder with the files.
    pub(in crate::host) fn top(&self) -> &Path {
        &self.place.top
    }

    /// A path for a file of ours that is removed with the repository's.
    pub(in crate::host) fn scratch(&self, name: impl AsRef<Path>) -> PathBuf {
        self.scratch.join(name)
    }

    /// Git in its top folder.
    pub(in crate::host) fn git(&self) -> Git {
        self.git_in(&self.place.top)
    }

    /// Git in one of its folders.
    pub(in crate::host) fn git_in(&self, folder: &Path) -> Git {
        Git::new(folder)
            .env("GIT_DIR", &self.place.git_dir)
            .env("GIT_WORK_TREE", &self.place.top)
            .env("GIT_COMMON_DIR", self.scratch.join("common"))
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
    }

    /// Copies the index to a file of ours, with its time: git reads the files again that may have changed since, and is content
    /// with whole seconds.
    pub(in crate::host) async fn copy_index(&self, name: &str) -> Result<PathBuf, String> {
        let (from, to) = (self.place.git_dir.join("index"), self.scratch.join(name));
        let copied = spawn_blocking(move || {
            if let Some(mut from) = settings::open(&from)? {
                let mut file = fs::File::create(&to)?;
                io::copy(&mut from, &mut file)?;
                file.set_modified(from.metadata()?.modified()?)?;
            }
            Ok::<_, io::Error>(to)
        });
        let copied = copied.await.map_err(|error| error.to_string())?;
        copied.map_err(|error| format!("the index of git cannot be read: {error}"))
    }
}

/// Creates the folder that takes the place of the one that worktrees share. Returns that one, too.
fn prepare(place: Place, below: &Path) -> Result<(Repository, PathBuf), String> {
    let common = common(&place.git_dir).ok_or("git's folder for it is gone")?;
    let told = |error: io::Error| format!("{}: {error}", below.display());
    let scratch = Scratch::below(below).map_err(told)?;
    let fill = || {
        let own = scratch.join("common");
        fs::create_dir_all(own.join("info"))?;
        fs::write(own.join("config"), settings::NONE)?;
        for name in SHARED.iter().filter(|name| common.join(name).symlink_metadata().is_ok()) {
            symlink(common.join(name), own.join(name))?;
        }
        for name in COPIED {
            if let Some(content) = settings::read(&common.join(name))? {
                fs::write(own.join(name), content)?;
            }
        }
        let copies = [
            (common.join("config"), "config.shared"),
            (place.git_dir.join("config.worktree"), "config.worktree"),
        ];
        for (from, to) in copies {
            if let Some(content) = settings::read(&from)? {
                fs::write(scratch.join(to), content)?;
            }
        }
        Ok(())
    };
    fill().map_err(told)?;
    let objects = common.join("objects");
    Ok((Repository { place, objects, scratch }, common))
}

/// Lets a worktree be added: git's folder for those is only there once there is one, and is not to lead elsewhere.
pub(in crate::host) fn allow_worktrees(repository: &Repository) -> Result<(), String> {
    let Some(common) = common(&repository.place.git_dir) else { return Ok(()) };
    let (folder, own) = (common.join("worktrees"), repository.scratch.join("common/worktrees"));
    let made = fs::create_dir(&folder).or_else(|error| match folder.symlink_metadata() {
        Ok(there) if there.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::other("it is no folder")),
        Err(_) => Err(error),
    });
    let linked = made.and_then(|()| match symlink(&folder, &own) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    linked.map_err(|error| format!("{}: {error}", folder.display()))
}
