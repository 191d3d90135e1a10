//! Git worktrees that sessions work in: creates and removes them, and finds out what has changed in one (`changes`). Beside
//! each lies a file that says what it is of, which the editor reads.

pub mod changes;

use crate::core::messages::worktree::{NewWorktree, Worktree};
use crate::host::git::repository::{Place, Repository, allow_worktrees};
use serde::Serialize;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What the worktree was like when it was created.
const START: &str = "refs/worktree/rat/start";
/// The same with what has been merged since.
const MERGED: &str = "refs/worktree/rat/merged";

/// How many worktrees of one project there may be.
const MAX_OF_PROJECT: usize = 1000;

/// What is known of a worktree (`rat.config.worktrees` reads it).
#[derive(Serialize)]
struct Record<'a> {
    project: &'a Path,
    cwd: &'a Path,
    top: &'a Path,
    git_dir: &'a Path,
    agent: &'a str,
}

/// Creates a worktree of the repository that a folder is in, at its last commit and on no branch.
///
/// # Errors
/// If it was not created: one line that says why.
pub async fn create(cwd: &Path, below: &Path, agent: &str) -> Result<NewWorktree, String> {
    let project = Repository::of(cwd, below).await?;
    let commit = project.git().args(&["log", "-1", "--format=%h %s"]).line().await;
    let commit = commit.map_err(|_| "the repository has no commit yet".to_owned())?;
    // For what has changed in a repository inside of this one, git would run in there, with its configuration.
    let status = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"];
    let changed = project.git().args(&status).run().await?;
    let uncommitted = changed.split(|byte| *byte == 0).filter(|it| !it.is_empty()).count();

    let real = cwd.canonicalize().map_err(|error| error.to_string())?;
    let prefix = real.strip_prefix(project.top()).unwrap_or(Path::new(""));
    let file = reserve(below, project.top())
        .map_err(|error| format!("{} cannot be written: {error}", below.display()))?;
    let top = file.with_extension("");
    let finished = async {
        let git_dir = check_out(&project, &top, below).await?;
        let cwd_there: PathBuf = top.join(prefix).components().collect();
        let record = Record { project: cwd, cwd: &cwd_there, top: &top, git_dir: &git_dir, agent };
        let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
        // The folder may be one of which nothing is committed.
        let written = fs::create_dir_all(&cwd_there).and_then(|()| fs::write(&file, text));
        written.map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(cwd_there)
    };
    match finished.await {
        Ok(cwd) => Ok(NewWorktree { cwd, commit, uncommitted }),
        Err(why) => {
            take_away(&project, &top).await;
            let _ = fs::remove_file(&file);
            Err(why)
        }
    }
}

/// Reserves the name of a worktree by the file beside it.
fn reserve(below: &Path, project_top: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(below)?;
    let name = project_top.file_name().unwrap_or("root".as_ref()).to_string_lossy();
    for number in 1..=MAX_OF_PROJECT {
        let file = below.join(format!("{name}-{number}.json"));
        if file.with_extension("").exists() {
            continue;
        }
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|_| file),
        }
    }
    Err(io::Error::other("there are too many worktrees"))
}

/// Returns git's folder for the new worktree.
async fn check_out(project: &Repository, top: &Path, below: &Path) -> Result<PathBuf, String> {
    allow_worktrees(project)?;
    let add = ["worktree", "add", "--quiet", "--detach", "--no-checkout"];
    project.git().args(&add).arg(top).arg("HEAD").run().await?;
    let place = Place::of(top)?;
    let git_dir = place.git_dir.clone();
    // Git has written the path that it was given, which is gone once this is done.
    let mut link = b"gitdir: ".to_vec();
    link.extend_from_slice(git_dir.as_os_str().as_bytes());
    link.push(b'\n');
    let written = fs::write(top.join(".git"), link);
    written.map_err(|error| format!("{}: {error}", top.display()))?;
    let worktree = Repository::at(place, below).await?;
    let git = |args: &[&str]| worktree.git().attributes_of("HEAD").args(args);
    git(&["read-tree", "--reset", "-u", "HEAD"]).run().await?;
    for name in [START, MERGED] {
        git(&["update-ref", name, "HEAD"]).run().await?;
    }
    Ok(git_dir)
}

/// Removes a worktree with everything in it.
///
/// # Errors
/// If something of it is left: one line that says why.
pub async fn remove(worktree: &Worktree) -> Result<(), String> {
    match Repository::of(&worktree.project, folder(worktree)).await {
        Ok(project) => take_away(&project, &worktree.top).await,
        Err(why) => tracing::info!(top = %worktree.top.display(), why, "git forgets no worktree"),
    }
    let name = worktree.top.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = worktree.top.with_file_name(format!("{name}.json"));
    let removed = match fs::remove_dir_all(&worktree.top) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_file(&file),
    };
    removed.map_err(|error| format!("{}: {error}", worktree.top.display()))
}

/// Has git forget a worktree, if the repository is still there, and remove it.
async fn take_away(project: &Repository, top: &Path) {
    let remove = project.git().args(&["worktree", "remove", "--force"]).arg(top);
    if let Err(why) = remove.run().await {
        tracing::info!(top = %top.display(), why, "git has not removed a worktree");
    }
}

/// The repository of a worktree, whatever the `.git` in there says.
async fn repository(worktree: &Worktree) -> Result<Repository, String> {
    let place = Place { top: worktree.top.clone(), git_dir: worktree.git_dir.clone() };
    Repository::at(place, folder(worktree)).await
}

/// The folder that worktrees are in, which is ours.
fn folder(worktree: &Worktree) -> &Path {
    worktree.top.parent().unwrap_or(Path::new("/"))
}
