//! Finds out whether a file has names (hard links) outside of folders: what is written to it changes the file there, too.

use ignore::WalkBuilder;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to look for names. What has not been found by then counts as being outside.
const LIMIT: Duration = Duration::from_secs(1);

/// Whether a path leads to a file with several names.
pub fn has_several(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|metadata| has_others(&metadata))
}

/// Whether a file has a name that was not found below `roots`, with links not followed. `progress` is called again and again,
/// and ends the search if it fails.
///
/// # Errors
/// That of `progress`.
pub fn any_outside(
    file: &Path,
    roots: &[PathBuf],
    progress: impl Fn() -> io::Result<()>,
) -> io::Result<bool> {
    let Some(metadata) = file.symlink_metadata().ok().filter(has_others) else { return Ok(false) };
    let (mut missing, until) = (metadata.nlink(), Instant::now() + LIMIT);
    // Roots may lie in each other.
    let is_below_other =
        |root: &PathBuf| roots.iter().any(|other| other != root && root.starts_with(other));
    let mut roots: Vec<&PathBuf> = roots.iter().filter(|root| !is_below_other(root)).collect();
    roots.sort();
    roots.dedup();
    for root in roots {
        let mut walk = WalkBuilder::new(root);
        walk.standard_filters(false).same_file_system(true);
        for entry in walk.build() {
            progress()?;
            if Instant::now() > until {
                return Ok(true);
            }
            let Ok(entry) = entry else { continue };
            // Most entries have another number, which is read with their names.
            let is_candidate = entry.ino() == Some(metadata.ino());
            let is_name = is_candidate
                && entry.path().symlink_metadata().is_ok_and(|it| is_same(&it, &metadata));
            missing -= u64::from(is_name);
            if missing == 0 {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn has_others(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.nlink() > 1
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Holds (Reading files): A file counts as inside if all its names are, however deep, hidden or ignored they are.
    #[test]
    fn names_count_wherever_they_are_inside() {
        let folder = std::env::temp_dir().join(format!("rat-names-{}", std::process::id()));
        let at = |name: &str| folder.join(name);
        fs::create_dir_all(at("project/deep/.hidden")).unwrap();
        fs::create_dir_all(at("second")).unwrap();
        let roots = [at("project"), at("second"), at("project/deep"), at("project")];
        let file = at("project/a.txt");
        let any_outside = |roots: &[PathBuf]| any_outside(&file, roots, || Ok(())).unwrap();
        assert!(!any_outside(&roots), "there is no file");
        fs::write(&file, "a").unwrap();
        fs::write(at("project/.gitignore"), "*").unwrap();
        assert!(!any_outside(&roots), "it has one name");
        fs::hard_link(&file, at("project/deep/.hidden/b")).unwrap();
        assert!(!any_outside(&roots), "of two, both are inside");
        fs::hard_link(&file, at("second/c")).unwrap();
        assert!(!any_outside(&roots), "in another root");
        assert!(any_outside(&roots[..1]), "which is none");
        fs::hard_link(&file, at("outside")).unwrap();
        assert!(any_outside(&roots), "outside");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_search_ends_when_it_is_given_up() {
        let folder = std::env::temp_dir().join(format!("rat-names-end-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a");
        fs::write(&file, "a").unwrap();
        fs::hard_link(&file, folder.join("b")).unwrap();
        let gone = || Err(io::ErrorKind::TimedOut.into());
        assert!(any_outside(&file, std::slice::from_ref(&folder), gone).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
