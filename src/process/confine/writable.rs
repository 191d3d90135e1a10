//! Which of the paths that a confined process may write to get a rule of their own.

use crate::session::confinement::normalized;
use std::path::{Path, PathBuf};

/// What every confined process may write to: what shells, pseudo terminals and shared memory need.
pub(super) const SYSTEM: [&str; 4] = ["/dev/null", "/dev/shm", "/dev/ptmx", "/dev/pts"];

/// Returns the paths that get a rule, with those of the system. Leaves out paths inside of others: the process may replace
/// those by a link to anywhere, and a rule for such a path would be one for the link's target when the process is started again.
pub(super) fn with_rules(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let mut all: Vec<PathBuf> = paths.chain(system).map(|path| normalized(&path)).collect();
    all.sort();
    all.dedup();
    let places: Vec<(PathBuf, PathBuf)> =
        all.iter().map(|path| (path.clone(), place(path))).collect();
    let is_nested = |path: &PathBuf| {
        let own = place(path);
        places.iter().any(|(other, other_place)| {
            other != path
                && (path.starts_with(other)
                    || (own.starts_with(other_place) && own != *other_place))
        })
    };
    all.iter().filter(|path| !is_nested(path)).cloned().collect()
}

/// The path with the links in its folder resolved.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match folder.zip(path.file_name()) {
        Some((folder, name)) => folder.join(name),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_of_others_have_no_rule_of_their_own() {
        let kept = |paths: &[&str]| {
            let all = with_rules(paths.iter().map(PathBuf::from)).into_iter();
            all.filter(|path| !path.starts_with("/dev")).collect::<Vec<_>>()
        };
        assert_eq!(kept(&["/tmp/x/../y", "/tmp", "/tmp/"]), [PathBuf::from("/tmp")]);
        let apart = ["/no/ab", "/no/such/a", "/no/such/ab"].map(PathBuf::from);
        assert_eq!(kept(&["/no/such/ab", "/no/ab", "/no/such/a"]), apart);
    }
}
