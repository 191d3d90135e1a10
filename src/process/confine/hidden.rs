//! What a confined process may read if folders are hidden from it. Landlock can only allow, so everything beside each hidden
//! folder and its parents is allowed, and the folder is not.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the paths that may be read so that `hidden` cannot; `None` if nothing is hidden. What is created beside them later
/// cannot be read either. The error is one line for the user.
pub(super) fn readable(
    hidden: &[PathBuf],
    write: &[PathBuf],
) -> Result<Option<Vec<PathBuf>>, String> {
    let hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| real(path)).collect();
    let write: Vec<PathBuf> = write.iter().filter_map(|path| path.canonicalize().ok()).collect();
    for path in &hidden {
        if let Some(folder) = write.iter().find(|folder| path.starts_with(folder)) {
            let (path, folder) = (path.display(), folder.display());
            return Err(format!("{path} cannot be hidden, because {folder} can be written"));
        }
    }
    if hidden.is_empty() {
        return Ok(None);
    }
    let mut found = write;
    add_beside(Path::new("/"), &hidden, &mut found)?;
    Ok(Some(found))
}

/// The real path, also of what may be created later.
fn real(path: &Path) -> Option<PathBuf> {
    let created_later = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(created_later)
}

/// Adds everything in `folder` except for the hidden folders.
fn add_beside(folder: &Path, hidden: &[PathBuf], found: &mut Vec<PathBuf>) -> Result<(), String> {
    let problem = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(problem)? {
        let entry = entry.map_err(problem)?;
        let path = entry.path();
        // A link may lead to what is hidden; anything else that it leads to has a rule of its own.
        if entry.file_type().map_err(problem)?.is_symlink() || hidden.contains(&path) {
            continue;
        }
        if hidden.iter().any(|inside| inside.starts_with(&path)) {
            add_beside(&path, hidden, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_created_later_is_hidden_too() {
        let later = std::env::temp_dir().canonicalize().unwrap().join("rat-no-such-folder");
        let found = readable(std::slice::from_ref(&later), &[]).unwrap().unwrap();
        assert!(found.contains(&PathBuf::from("/usr")));
        assert!(found.iter().all(|path| !later.starts_with(path)), "{found:?}");
        assert_eq!(readable(&["/no/such/folder".into()], &[]), Ok(None));
    }
}
