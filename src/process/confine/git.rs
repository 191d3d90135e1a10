//! Finds the folder of a git repository that commits are written to, if it lies outside of the working folder. Reads files
//! only.

use crate::process::short_file::content;
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
            let config = content(&git.join("config"))?;
            let mut lines = config.lines().filter_map(|line| line.split_once('='));
            let (_, back) = lines.find(|(key, _)| key.trim() == "worktree")?;
            let back = git.join(back.trim().trim_matches('"')).canonicalize().ok()?;
            (back == working_folder).then_some(git)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Holds (Confinement): Whatever an agent puts in the place of a repository's `.git`, the next one is started.
    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = std::env::temp_dir().join(format!("rat-confine-git-{}", std::process::id()));
        let dot_git = folder.join(".git");
        fs::create_dir_all(&folder).unwrap();
        mkfifo(&dot_git, Mode::S_IRWXU).unwrap();
        assert_eq!(common_folder(&folder), None);
        fs::remove_file(&dot_git).unwrap();
        symlink("/dev/zero", &dot_git).unwrap();
        assert_eq!(common_folder(&folder), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
