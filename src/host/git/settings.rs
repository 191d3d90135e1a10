//! What counts of the configuration of a repository, which an agent may have written: how files are stored, and nothing that is
//! a program or a path.

use super::Git;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// What counts, as git writes the names.
const COUNTS: &[&str] = &[
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkroundtripencoding",
    "core.checkstat",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.safecrlf",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "extensions.compatobjectformat",
    "extensions.objectformat",
    "extensions.refstorage",
];

/// Larger files are not read.
const MAX_BYTES: u64 = 1 << 20;

/// The configuration of a folder of ours, as long as it has nothing of the repository.
pub(super) const NONE: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

/// Reads a regular file that somebody else may have written. `None` if it is missing, something else or too large.
pub(in crate::host) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    Ok(Some(content).filter(|content| content.len() as u64 <= MAX_BYTES))
}

/// Opens a regular file; `None` if there is none. Opening a FIFO would wait for somebody to write to it.
pub(super) fn open(path: &Path) -> io::Result<Option<File>> {
    let opened = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
    match opened {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads what counts of a copy of such a file. Nothing that it includes is read.
pub(super) async fn of(git: Git, copy: &Path) -> Result<Vec<(String, String)>, String> {
    let list = git.args(&["config", "--no-includes", "-z", "--list", "--file"]).arg(copy);
    let listed = String::from_utf8_lossy(&list.run().await?).into_owned();
    Ok(listed.split('\0').filter_map(counting).collect())
}

fn counting(entry: &str) -> Option<(String, String)> {
    // A name without a value means that it is true.
    let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
    let is_word = value.chars().all(|it| it.is_ascii_alphanumeric() || "-,.".contains(it));
    (COUNTS.contains(&name) && is_word).then(|| (name.to_owned(), value.to_owned()))
}

/// Writes the configuration of a folder of ours. `lfs` is where the repository keeps the files of Git LFS.
pub(super) fn written(settings: &[(String, String)], lfs: &Path) -> String {
    let mut text = NONE.to_owned();
    // With an extension the version has to be 1.
    if settings.iter().any(|(name, _)| name.starts_with("extensions.")) {
        text = text.replace("version = 0", "version = 1");
    }
    for (name, value) in settings {
        if let Some((section, key)) = name.split_once('.') {
            let _ = writeln!(text, "[{section}]\n\t{key} = {value}");
        }
    }
    if let Some(lfs) = lfs.to_str().filter(|lfs| !lfs.contains(char::is_control)) {
        let quoted = lfs.replace('\\', r"\\").replace('"', "\\\"");
        let _ = writeln!(text, "[lfs]\n\tstorage = \"{quoted}\"");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_how_files_are_stored_counts() {
        let counts = |entry| counting(entry).map(|(_, value)| value);
        assert_eq!(counts("core.autocrlf\ninput").as_deref(), Some("input"));
        assert_eq!(counts("core.symlinks").as_deref(), Some("true"));
        for entry in [
            "core.hookspath\n/x",
            "filter.x.clean\nevil",
            "include.path\nx",
            "core.eol\nlf\n[core]\nfsmonitor = evil",
            "core.eol\n$(evil)",
            "",
        ] {
            assert_eq!(counts(entry), None, "{entry}");
        }
    }

    #[test]
    fn an_extension_needs_the_version_that_has_them() {
        let settings = [("extensions.objectformat".to_owned(), "sha256".to_owned())];
        let text = written(&settings, Path::new("/a \"b\"\\c"));
        assert!(text.contains("version = 1"), "{text}");
        assert!(text.contains("[extensions]\n\tobjectformat = sha256\n"), "{text}");
        assert!(text.contains(r#"storage = "/a \"b\"\\c""#), "{text}");
        assert!(!written(&[], Path::new("/a\nb")).contains("lfs"));
    }
}
