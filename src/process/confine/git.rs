//! Finds the folder of a git repository that commits are written to, if it lies outside of the working folder. Reads files
//! only.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder with the objects and branches of the repository that `root` is in (`git rev-parse
/// --git-common-dir`), for a worktree, a submodule or a folder inside of a repository.
///
/// Whoever may write to a working folder can make its `.git` name any other repository. So that repository has to name the
/// working folder, too.
pub(super) fn common_folder(root: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let dot_git = root.ancestors().map(|folder| folder.join(".git"));
    let dot_git = dot_git.into_iter().find(|path| path.symlink_metadata().is_ok())?;
    let kind = dot_git.symlink_metadata().ok()?;
    if kind.is_dir() {
        return Some(dot_git);
    }
    let working_folder = dot_git.parent()?;
    let named = content(&dot_git)?;
    let git = working_folder.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    match content(&git.join("commondir")) {
        Some(common) => {
            let common = git.join(common).canonicalize().ok()?;
            let back = git.join(content(&git.join("gitdir"))?).canonicalize().ok()?;
            (git.parent()? == common.join("worktrees") && back == dot_git).then_some(common)
        }
        None => {
            let config = fs::read_to_string(git.join("config")).ok()?;
            let mut lines = config.lines().filter_map(|line| line.split_once('='));
            let (_, back) = lines.find(|(key, _)| key.trim() == "worktree")?;
            let back = git.join(back.trim().trim_matches('"')).canonicalize().ok()?;
            (back == working_folder).then_some(git)
        }
    }
}

/// The text of a short file.
fn content(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
