//! [`TreePath`], a path below a root as the file system has it: bytes, which need not be UTF-8. Does not access the disk.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path relative to a root, with `/` between names; empty for the root itself. In JSON it is a string, or an array of
/// bytes if it is not UTF-8.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TreePath(Box<[u8]>);

impl TreePath {
    /// Takes the path as it is: [`Self::is_proper`] tells whether it leads to something below a root.
    pub fn new(path: impl AsRef<[u8]>) -> Self {
        Self(path.as_ref().into())
    }

    /// Returns the path of `path` below `root`; `None` if it is not below it.
    pub fn below(root: &Path, path: &Path) -> Option<Self> {
        let path = path.strip_prefix(root).ok()?;
        Some(Self::new(path.as_os_str().as_bytes()))
    }

    /// The bytes of the path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path relative to the root.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The absolute path.
    pub fn under(&self, root: &Path) -> PathBuf {
        if self.0.is_empty() { root.to_owned() } else { root.join(self.as_path()) }
    }

    /// The path of `name` in this folder.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        if self.0.is_empty() {
            return Self::new(name);
        }
        Self([&self.0, b"/".as_slice(), name].concat().into())
    }

    /// The folder it is in, and its name there. `None` for the root itself.
    pub fn split(&self) -> Option<(Self, &[u8])> {
        if self.0.is_empty() {
            return None;
        }
        Some(match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (Self::new(&self.0[..at]), &self.0[at + 1..]),
            None => (Self::default(), &self.0),
        })
    }

    /// Whether it is this folder or below it.
    pub fn is_in(&self, folder: &Self) -> bool {
        let below = self.0.strip_prefix(&*folder.0);
        below.is_some_and(|rest| folder.is_root() || rest.is_empty() || rest[0] == b'/')
    }

    /// Whether it is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it leads to something below the root that may be changed: it has no `..` and the like, and does not
    /// lead into a folder of git's.
    pub fn is_proper(&self) -> bool {
        let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b".." | b".git");
        !self.0.contains(&0) && self.0.split(|byte| *byte == b'/').all(is_name)
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_path(), f)
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_path().display().fmt(f)
    }
}

/// How a path is written in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<T, B> {
    Text(T),
    Bytes(B),
}

impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = str::from_utf8(&self.0).map_or(Written::Bytes(&*self.0), Written::Text);
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TreePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Written::<String, Vec<u8>>::deserialize(deserializer)? {
            Written::Text(text) => Self::new(text),
            Written::Bytes(bytes) => Self::new(bytes),
        })
    }
}
