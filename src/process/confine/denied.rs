//! Which writes a confinement has denied: those outside of it that this process itself could do.

use super::writable::SYSTEM;
use crate::session::confinement::{Confinement, DeniedPath};
use nix::unistd::{AccessFlags, access};
use std::path::{Path, PathBuf};

/// Returns those of `paths` that only the confinement keeps a process from writing. It blocks.
pub fn denied(confinement: &Confinement, paths: &[PathBuf]) -> Vec<DeniedPath> {
    let real = |path: &Path| path.canonicalize().ok();
    let writable = confinement.writable().chain(SYSTEM.iter().map(Path::new));
    let covered: Vec<PathBuf> =
        writable.chain(confinement.hide.iter().map(AsRef::as_ref)).filter_map(real).collect();
    let check = |path: &PathBuf| {
        // Of what does not exist, the folder is asked about, and allowed.
        let allow = real(path).or_else(|| real(path.parent()?))?;
        let is_denied = !covered.iter().any(|folder| allow.starts_with(folder));
        let could_write = || access(&allow, AccessFlags::W_OK).is_ok();
        (is_denied && could_write()).then(|| DeniedPath { path: path.clone(), allow })
    };
    paths.iter().filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_we_could_write_and_the_confinement_does_not_cover_was_denied_by_it() {
        let folder = std::env::temp_dir().join(format!("rat-denied-{}", std::process::id()));
        fs::create_dir_all(folder.join("in")).unwrap();
        fs::create_dir_all(folder.join("hidden")).unwrap();
        fs::create_dir_all(folder.join("out")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let [inside, hidden, outside] = ["in", "hidden", "out"].map(|name| folder.join(name));
        fs::write(outside.join("file"), "").unwrap();
        let confinement = Confinement {
            roots: vec![inside.clone()],
            hide: vec![hidden.clone()],
            ..Confinement::default()
        };
        let paths = [
            outside.join("new"),
            outside.join("file"),
            inside.join("new"),
            hidden.join("new"),
            folder.join("no/such/new"),
            "/proc/version".into(),
        ];
        let found = denied(&confinement, &paths);
        fs::remove_dir_all(&folder).unwrap();
        let expected = [
            DeniedPath { path: outside.join("new"), allow: outside.clone() },
            DeniedPath { path: outside.join("file"), allow: outside.join("file") },
        ];
        assert_eq!(found[..2], expected);
        // Root may write to any file by its mode.
        assert!(found[2..].iter().all(|it| it.path == Path::new("/proc/version")), "{found:?}");
    }
}
