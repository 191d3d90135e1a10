//! Reads which branch of git a folder is on. Runs no program.

use super::short_file::content;
use std::path::Path;

/// Longest name of a branch that is told, in bytes.
const MAX_NAME: usize = 255;

/// Returns the name of the branch that the repository of `folder` is on; `None` without a repository or a branch.
pub fn branch(folder: &Path) -> Option<String> {
    let dot_git = folder.ancestors().map(|folder| folder.join(".git"));
    let dot_git = dot_git.into_iter().find(|path| path.symlink_metadata().is_ok())?;
    let git = if dot_git.is_dir() {
        dot_git
    } else {
        // A worktree or a submodule.
        let named = content(&dot_git)?;
        dot_git.parent()?.join(named.strip_prefix("gitdir:")?.trim())
    };
    let head = content(&git.join("HEAD"))?;
    let branch = head.strip_prefix("ref:")?.trim().strip_prefix("refs/heads/")?;
    let is_name = branch.len() <= MAX_NAME && !branch.contains(char::is_control);
    is_name.then(|| branch.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_branch_is_that_of_the_folder() {
        let folder = std::env::temp_dir().join(format!("rat-branch-{}", std::process::id()));
        let (inner, other) = (folder.join("main/src"), folder.join("other"));
        let git = folder.join("main/.git");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(git.join("worktrees/other")).unwrap();
        fs::create_dir_all(&other).unwrap();
        assert_eq!(branch(&inner), None, "a repository without a HEAD");
        fs::write(git.join("HEAD"), "ref: refs/heads/feature/new-ui\n").unwrap();
        fs::write(git.join("worktrees/other/HEAD"), "ref: refs/heads/fix\n").unwrap();
        fs::write(other.join(".git"), "gitdir: ../main/.git/worktrees/other\n").unwrap();
        assert_eq!(branch(&inner).as_deref(), Some("feature/new-ui"));
        assert_eq!(branch(&other).as_deref(), Some("fix"));
        fs::write(git.join("HEAD"), "8f2c1e5b1d0a0c8d7f3b3d1d1d2b4c6e7f8a9b0c\n").unwrap();
        assert_eq!(branch(&inner), None, "no branch");
        assert_eq!(branch(Path::new("/")), None, "no repository");
        fs::remove_dir_all(&folder).unwrap();
    }
}
