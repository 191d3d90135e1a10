//! What git ignores below a folder: `.gitignore` files, `info/exclude` of a repository and the user's own file, also of a
//! repository that the root lies in. What is tracked all the same counts as not ignored. Runs no git.

use super::git::settings;
use super::git_index::TrackedPaths;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of patterns with more bytes is not read.
const MAX_PATTERNS: u64 = 1 << 20;

/// The rules for the files of one folder.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Rules {
    level: Option<Arc<Level>>,
    repository: Option<Arc<Repository>>,
    /// The folder is ignored, and is only entered because something below it is tracked.
    only_tracked: bool,
}

/// The patterns of one file, and those that count where none of them matches.
#[derive(Debug)]
struct Level {
    patterns: Arc<Gitignore>,
    above: Option<Arc<Level>>,
}

#[derive(Debug)]
struct Repository {
    top: PathBuf,
    tracked: Arc<TrackedPaths>,
}

/// Whether a path is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Verdict {
    Covered,
    Ignored,
    /// It is a folder that is ignored, but for tracked files below it.
    OnlyTracked,
}

/// What tells whether a file is still the same: times, size and inode.
type Stamp = (i64, i64, i64, i64, u64, u64);

/// Files of patterns and indexes, as last read.
#[derive(Debug, Default)]
pub(in crate::host) struct RuleFiles {
    patterns: Mutex<HashMap<PathBuf, (Stamp, Arc<Gitignore>)>>,
    indexes: Mutex<HashMap<PathBuf, (Stamp, Arc<TrackedPaths>)>>,
}

impl Rules {
    /// The rules for a root, without those that lie in the root itself.
    pub(in crate::host) fn above(root: &Path, files: &RuleFiles) -> Self {
        let is_top = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let Some(top) = root.ancestors().skip(1).find(is_top) else { return Self::default() };
        // If the root is a repository, the one around it has no say.
        if is_top(&root) {
            return Self::default();
        }
        let mut rules = Self::default().in_repository(top, files);
        let mut folders: Vec<&Path> =
            root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
        folders.reverse();
        for folder in folders {
            rules = rules.with_patterns_in(folder, files);
        }
        rules
    }

    /// The rules in a folder that may have a `.git` and a `.gitignore` of its own.
    pub(in crate::host) fn enter(
        self,
        folder: &Path,
        has_git: bool,
        has_patterns: bool,
        files: &RuleFiles,
    ) -> Self {
        let mut rules = self;
        if has_git {
            rules = rules.in_repository(folder, files);
        }
        if has_patterns {
            rules = rules.with_patterns_in(folder, files);
        }
        rules
    }

    /// The rules in a folder for which [`Self::verdict`] is [`Verdict::OnlyTracked`].
    #[must_use]
    pub(in crate::host) fn only_tracked(&self) -> Self {
        Self { only_tracked: true, ..self.clone() }
    }

    /// Whether the folder is entered for tracked files alone.
    pub(in crate::host) fn are_only_tracked(&self) -> bool {
        self.only_tracked
    }

    /// Judges an absolute path in the folder of the rules.
    pub(in crate::host) fn verdict(&self, path: &Path, is_folder: bool) -> Verdict {
        if !self.only_tracked && !self.matches(path, is_folder) {
            return Verdict::Covered;
        }
        let Some(repository) = &self.repository else { return Verdict::Ignored };
        let Ok(below) = path.strip_prefix(&repository.top) else { return Verdict::Ignored };
        let below = below.as_os_str().as_bytes();
        match is_folder {
            true if repository.tracked.has_below(below) => Verdict::OnlyTracked,
            false if repository.tracked.has(below) => Verdict::Covered,
            _ => Verdict::Ignored,
        }
    }

    fn matches(&self, path: &Path, is_folder: bool) -> bool {
        let mut level = self.level.as_ref();
        while let Some(Level { patterns, above }) = level.map(|level| &**level) {
            match patterns.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = above.as_ref(),
            }
        }
        false
    }

    /// Begins anew in a repository: what is around it does not count.
    fn in_repository(self, top: &Path, files: &RuleFiles) -> Self {
        let Some((folder, common)) = git_folders(&top.join(".git")) else { return self };
        let tracked = files.tracked(&folder.join("index"));
        let repository = Repository { top: top.to_owned(), tracked };
        let mut rules = Self {
            level: None,
            repository: Some(Arc::new(repository)),
            only_tracked: self.only_tracked,
        };
        if let Some(global) = gitconfig_excludes_path() {
            rules = rules.with_patterns(&global, top, files);
        }
        rules.with_patterns(&common.join("info/exclude"), top, files)
    }

    /// As git does, this follows no link in a working tree (`gitignore(5)`).
    fn with_patterns_in(self, folder: &Path, files: &RuleFiles) -> Self {
        let file = folder.join(".gitignore");
        if file.is_symlink() { self } else { self.with_patterns(&file, folder, files) }
    }

    fn with_patterns(mut self, file: &Path, folder: &Path, files: &RuleFiles) -> Self {
        if let Some(patterns) = files.patterns(file, folder) {
            self.level = Some(Arc::new(Level { patterns, above: self.level.take() }));
        }
        self
    }
}

impl RuleFiles {
    /// The patterns of a file for a folder; `None` if there are none.
    fn patterns(&self, file: &Path, folder: &Path) -> Option<Arc<Gitignore>> {
        let stamp = stamp(file, MAX_PATTERNS)?;
        let key = if file.parent() == Some(folder) { file.to_owned() } else { folder.join(file) };
        if let Some((of, patterns)) = self.patterns.lock().get(&key)
            && *of == stamp
        {
            return Some(patterns.clone());
        }
        let mut builder = GitignoreBuilder::new(folder);
        let bytes = fs::read(file).ok()?;
        for line in bytes.split(|byte| *byte == b'\n') {
            // What is no pattern is skipped, as git does.
            let _ = builder.add_line(None, &String::from_utf8_lossy(line));
        }
        let patterns = Arc::new(builder.build().ok()?);
        self.patterns.lock().insert(key, (stamp, patterns.clone()));
        Some(patterns)
    }

    fn tracked(&self, index: &Path) -> Arc<TrackedPaths> {
        let Some(stamp) = stamp(index, u64::MAX) else { return Arc::default() };
        if let Some((of, tracked)) = self.indexes.lock().get(index)
            && *of == stamp
        {
            return tracked.clone();
        }
        let tracked = Arc::new(TrackedPaths::read(index));
        self.indexes.lock().insert(index.to_owned(), (stamp, tracked.clone()));
        tracked
    }
}

/// `None` for what is no regular file, or too large.
fn stamp(file: &Path, max: u64) -> Option<Stamp> {
    let of = fs::metadata(file).ok().filter(|of| of.is_file() && of.len() <= max)?;
    Some((of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec(), of.len(), of.ino()))
}

/// The folder of a working tree's own files, and that of the repository's: they differ in other working trees of one
/// repository and in submodules.
fn git_folders(git: &Path) -> Option<(PathBuf, PathBuf)> {
    let of = git.symlink_metadata().ok()?;
    if of.is_dir() {
        return Some((git.to_owned(), git.to_owned()));
    }
    let resolve = |from: &Path, text: &str| from.parent().map(|folder| folder.join(text.trim()));
    let read = |file: &Path| {
        let content = settings::read(file).ok().flatten()?;
        String::from_utf8(content).ok()
    };
    let text = of.is_file().then(|| read(git)).flatten()?;
    let folder = resolve(git, text.strip_prefix("gitdir:")?)?;
    let common = folder.join("commondir");
    let common = match read(&common) {
        Some(text) => resolve(&common, &text)?,
        None => folder.clone(),
    };
    Some((folder, common))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_has_no_patterns() {
        let folder = std::env::temp_dir().join(format!("rat-ignored-link-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("patterns"), "a\n").unwrap();
        let verdict = || {
            let rules = Rules::default().enter(&folder, false, true, &RuleFiles::default());
            rules.verdict(&folder.join("a"), false)
        };
        symlink("patterns", folder.join(".gitignore")).unwrap();
        assert_eq!(verdict(), Verdict::Covered);
        fs::rename(folder.join("patterns"), folder.join(".gitignore")).unwrap();
        assert_eq!(verdict(), Verdict::Ignored);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn no_fifo_is_read_in_the_place_of_a_file_of_git() {
        let folder = std::env::temp_dir().join(format!("rat-ignored-{}", std::process::id()));
        let git = folder.join("git");
        fs::create_dir_all(&git).unwrap();
        fs::write(folder.join(".git"), "gitdir: git\n").unwrap();
        mkfifo(&git.join("commondir"), Mode::S_IRWXU).unwrap();
        assert_eq!(git_folders(&folder.join(".git")), Some((git.clone(), git)));
        fs::remove_dir_all(&folder).unwrap();
    }
}
