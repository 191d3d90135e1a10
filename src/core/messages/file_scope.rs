//! Which files an agent may use without asking the user. Paths are compared as text; no disk is accessed.

use crate::session::tool_call::ToolKind;
use crate::trust::rule::Rule;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files an agent may use without asking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileScope {
    /// The configured folders of the session.
    pub roots: Vec<PathBuf>,
    /// The real paths that the roots had at the start of the session. A root that leads elsewhere now counts as none: it may
    /// have been exchanged for a link. Empty if they are not known.
    pub real_roots: Vec<PathBuf>,
    /// What the user has allowed in addition.
    pub allowed: Vec<AllowedPath>,
    /// The user's rules, which may deny some of that.
    pub rules: FileRules,
}

/// The user's rules, and what their patterns are about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileRules {
    /// The agent's name in the configuration.
    pub agent: String,
    /// The working directory of the session, which patterns are relative to.
    pub cwd: PathBuf,
    /// The rules.
    pub rules: Arc<[Rule]>,
    /// What the user has been asked about: reading or editing a file, given by its real path.
    pub asked: Vec<(ToolKind, PathBuf)>,
}

/// A path the user has allowed. It is a real path, so it does not cover whatever a symbolic link in its place points to
/// later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedPath {
    /// One file.
    File(PathBuf),
    /// A folder and everything below it.
    Folder(PathBuf),
}

impl AllowedPath {
    /// Returns the path of the file or folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Folder(path) => path,
        }
    }

    /// Whether this real path is covered.
    pub fn holds(&self, real: &Path) -> bool {
        match self {
            Self::File(path) => real == path,
            Self::Folder(path) => real.starts_with(path),
        }
    }
}

impl FileScope {
    /// Whether the user has allowed this real path in addition to the roots.
    pub fn allows(&self, real: &Path) -> bool {
        self.allowed.iter().any(|it| it.holds(real))
    }

    /// Whether it covers no file at all.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.allowed.is_empty()
    }
}

impl FromIterator<Self> for FileScope {
    fn from_iter<T: IntoIterator<Item = Self>>(all: T) -> Self {
        all.into_iter().fold(Self::default(), |mut sum, one| {
            sum.roots.extend(one.roots);
            sum.real_roots.extend(one.real_roots);
            sum.allowed.extend(one.allowed);
            sum
        })
    }
}
