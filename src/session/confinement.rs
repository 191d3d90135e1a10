//! [`Confinement`], what a confined agent and everything it starts may do. It is enforced by `process::confine`.

use std::path::{Component, Path, PathBuf};

/// What a confined agent may do. Everything else about files stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confinement {
    /// The folders of its sessions, which it may change.
    pub roots: Vec<PathBuf>,
    /// What it keeps between sessions, which it may change. Missing ones are created.
    pub state: Vec<StatePath>,
    /// Other files and folders it may change: temporary ones, and those the user lists.
    pub write: Vec<PathBuf>,
    /// Folders whose files it may not read.
    pub hide: Vec<PathBuf>,
    /// The TCP ports it may use; `None` if any.
    pub ports: Option<Vec<u16>>,
}

/// A file or folder in which an agent keeps its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePath {
    /// The path; absolute.
    pub path: PathBuf,
    /// What a missing file is created with; `None` for a folder.
    pub content: Option<&'static str>,
}

/// A path that the agent was kept from writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedPath {
    /// The path, as the agent names it.
    pub path: PathBuf,
    /// What to add to the option `write` to allow that.
    pub allow: PathBuf,
}

impl Confinement {
    /// Returns the files and folders that it may change, without those of the system.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        let state = self.state.iter().map(|state| &state.path);
        self.roots.iter().chain(state).chain(&self.write).map(PathBuf::as_path)
    }

    /// Whether it may change the file or folder at this path, by its text.
    pub fn covers(&self, path: &Path) -> bool {
        let path = normalized(path);
        self.writable().any(|allowed| path.starts_with(normalized(allowed)))
    }
}

/// Resolves `.` and `..` in a path as text.
pub fn normalized(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                all.pop();
            }
            other => all.push(other),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_writable_folder_is_covered() {
        let state = StatePath { path: "/home/me/.agent.json".into(), content: Some("{}") };
        let confinement = Confinement {
            roots: vec!["/project/a".into()],
            state: vec![state],
            write: vec!["/tmp/".into()],
            ..Confinement::default()
        };
        for path in
            ["/project/a", "/project/a/b/c", "/tmp/x", "/home/me/.agent.json", "/x/../project/a/y"]
        {
            assert!(confinement.covers(Path::new(path)), "{path}");
        }
        for path in
            ["/project/ab", "/project", "/project/a/../b", "/home/me/.agent.json2", "project/a"]
        {
            assert!(!confinement.covers(Path::new(path)), "{path}");
        }
    }
}
