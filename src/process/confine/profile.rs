//! What a confined process may do, as a profile for macOS' `sandbox-exec`. The last rule that matches decides.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What every program writes to: terminals and its own descriptors.
const DEVICES: &str = concat!(
    r#"(allow file-write* (subpath "/dev/fd") (literal "/dev/null") (literal "/dev/ptmx") "#,
    r#"(literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))"#,
);

/// Returns the profile that lets these paths be written, hides those and allows these ports; `None` allows all of them. The error
/// is one line for the user.
pub(super) fn profile(
    write: &[PathBuf],
    hide: &[PathBuf],
    ports: Option<&[u16]>,
) -> Result<String, String> {
    let write: Vec<PathBuf> = write.iter().map(|path| real(path)).collect();
    let mut out = format!("(version 1)\n(allow default)\n(deny file-write*)\n{DEVICES}\n");
    for path in &write {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "(allow file-write* (subpath {}))", quoted(path)?);
    }
    for path in hide {
        let hidden = real(path);
        if let Some(folder) = write.iter().find(|folder| hidden.starts_with(folder)) {
            let (path, folder) = (path.display(), folder.display());
            return Err(format!("{path} cannot be hidden, because {folder} can be written"));
        }
        let _ = writeln!(out, "(deny file-read-data (subpath {}))", quoted(&hidden)?);
    }
    if let Some(ports) = ports {
        out.push_str("(deny network-outbound (remote tcp \"*:*\"))\n");
        out.push_str("(deny network-bind (local tcp \"*:*\"))\n");
        for port in ports {
            let _ = writeln!(out, "(allow network-outbound (remote tcp \"*:{port}\"))");
            let _ = writeln!(out, "(allow network-bind (local tcp \"*:{port}\"))");
        }
    }
    Ok(out)
}

/// The path as the system sees it: `/tmp` is a link there. Of what does not exist yet, the folder is resolved.
fn real(path: &Path) -> PathBuf {
    let created_later = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(created_later).unwrap_or_else(|| path.to_owned())
}

/// The path as a string of a profile.
fn quoted(path: &Path) -> Result<String, String> {
    let plain = path.to_str().filter(|path| !path.contains(char::is_control));
    let Some(plain) = plain else {
        return Err(format!("{} is no name that a profile can have", path.display()));
    };
    Ok(format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    fn of(write: &[&str], hide: &[&str], ports: Option<&[u16]>) -> Result<String, String> {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        profile(&paths(write), &paths(hide), ports)
    }

    #[test]
    fn a_profile_allows_what_is_listed_and_denies_the_rest() {
        let profile = of(&["/no/project"], &["/no/secrets"], Some(&[443])).unwrap();
        let lines: Vec<_> = profile.lines().filter(|line| *line != DEVICES).collect();
        assert_eq!(
            lines,
            [
                "(version 1)",
                "(allow default)",
                "(deny file-write*)",
                r#"(allow file-write* (subpath "/no/project"))"#,
                r#"(deny file-read-data (subpath "/no/secrets"))"#,
                r#"(deny network-outbound (remote tcp "*:*"))"#,
                r#"(deny network-bind (local tcp "*:*"))"#,
                r#"(allow network-outbound (remote tcp "*:443"))"#,
                r#"(allow network-bind (local tcp "*:443"))"#,
            ]
        );
        assert!(!of(&["/no/project"], &[], None).unwrap().contains("network"));
    }

    /// Holds (Confinement): No name of a folder adds a rule to the profile that macOS enforces.
    #[test]
    fn a_name_is_a_string_and_no_rule() {
        let profile = of(&[r#"/no/a")) (allow file-write*) (x "\"#], &[], None).unwrap();
        let line = r#"(allow file-write* (subpath "/no/a\")) (allow file-write*) (x \"\\"))"#;
        assert!(profile.lines().any(|it| it == line), "{profile}");
        assert!(of(&["/no/a\n(allow file-write*)"], &[], None).is_err());
        let bytes = Path::new(OsStr::from_bytes(b"/no/\xff"));
        assert!(super::profile(&[bytes.to_owned()], &[], None).is_err());
    }

    #[test]
    fn what_can_be_written_cannot_be_hidden() {
        let why = of(&["/no/home"], &["/no/home/.ssh"], None).unwrap_err();
        assert_eq!(why, "/no/home/.ssh cannot be hidden, because /no/home can be written");
    }

    #[test]
    fn links_are_resolved() {
        let folder = std::env::temp_dir().join(format!("rat-profile-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real")).unwrap();
        let _ = std::fs::remove_file(folder.join("link"));
        std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
        let wanted = folder.canonicalize().unwrap().join("real/new");
        let profile = profile(&[folder.join("link/new")], &[], None).unwrap();
        assert!(profile.contains(&format!("(subpath \"{}\")", wanted.display())), "{profile}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
