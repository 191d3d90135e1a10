//! Which files the agent of a conversation may touch without a question. It looks at no disk.

use std::path::{Path, PathBuf};

/// Where files may lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// The folders of the session, as they are configured.
    pub roots: Vec<PathBuf>,
    /// What the user has allowed beside them.
    pub allowed: Vec<Allowed>,
}

/// What the user has allowed, by its real path: what has taken its place since, such as a symbolic link, is not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// One file.
    File(PathBuf),
    /// A folder with all that is below it.
    Folder(PathBuf),
}

impl Allowed {
    /// Its path.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Folder(path) => path,
        }
    }

    /// Whether a file of this real path was meant.
    pub fn holds(&self, real: &Path) -> bool {
        match self {
            Self::File(path) => real == path,
            Self::Folder(path) => real.starts_with(path),
        }
    }
}

impl Reach {
    /// Whether the user has allowed this real path.
    pub fn allows(&self, real: &Path) -> bool {
        self.allowed.iter().any(|it| it.holds(real))
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.allowed.is_empty()
    }
}

impl FromIterator<Self> for Reach {
    fn from_iter<T: IntoIterator<Item = Self>>(all: T) -> Self {
        all.into_iter().fold(Self::default(), |mut sum, one| {
            sum.roots.extend(one.roots);
            sum.allowed.extend(one.allowed);
            sum
        })
    }
}
