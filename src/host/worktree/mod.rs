//! Git worktrees that sessions work in: creates and removes them, and finds out what has changed in one (`changes`). Beside
//! each lies a file that says what it is of, which the editor reads.

pub mod changes;
mod git;

use crate::core::messages::worktree::{NewWorktree, Worktree};
use git::Git;
use serde::Serialize;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
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
    let of = |args: &[&str]| Git::in_folder(cwd).args(args);
    let project_top = PathBuf::from(of(&["rev-parse", "--show-toplevel"]).line().await?);
    let prefix = of(&["rev-parse", "--show-prefix"]).line().await?;
    let commit = of(&["log", "-1", "--format=%h %s"]).line().await;
    let commit = commit.map_err(|_| "the repository has no commit yet".to_owned())?;
    let status = ["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames"];
    let changed = Git::in_folder(&project_top).args(&status).run().await?;
    let uncommitted = changed.split(|byte| *byte == 0).filter(|it| !it.is_empty()).count();

    let file = reserve(below, &project_top)
        .map_err(|error| format!("{} cannot be written: {error}", below.display()))?;
    let top = file.with_extension("");
    let finished = async {
        let git_dir = check_out(&project_top, &top).await?;
        let cwd_there: PathBuf = top.join(&prefix).components().collect();
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
            take_away(&project_top, &top).await;
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
async fn check_out(project_top: &Path, top: &Path) -> Result<PathBuf, String> {
    let add = Git::in_folder(project_top).args(&["worktree", "add", "--quiet", "--detach"]);
    add.arg(top).arg("HEAD").run().await?;
    let git_dir = Git::in_folder(top).args(&["rev-parse", "--absolute-git-dir"]).line().await?;
    for name in [START, MERGED] {
        Git::in_folder(top).args(&["update-ref", name, "HEAD"]).run().await?;
    }
    Ok(git_dir.into())
}

/// Removes a worktree with everything in it.
///
/// # Errors
/// If something of it is left: one line that says why.
pub async fn remove(worktree: &Worktree) -> Result<(), String> {
    take_away(&worktree.project, &worktree.top).await;
    let name = worktree.top.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = worktree.top.with_file_name(format!("{name}.json"));
    changes::remove_scratch(&worktree.top);
    let removed = match fs::remove_dir_all(&worktree.top) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_file(&file),
    };
    removed.map_err(|error| format!("{}: {error}", worktree.top.display()))
}

/// Has git forget a worktree, if the repository is still there, and remove it.
async fn take_away(project: &Path, top: &Path) {
    let remove = Git::in_folder(project).args(&["worktree", "remove", "--force"]).arg(top);
    if let Err(why) = remove.run().await {
        tracing::info!(top = %top.display(), why, "git has not removed a worktree");
    }
}
