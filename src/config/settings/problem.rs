//! What is wrong in a settings file, and what cannot be used because of it.

use super::place::{Place, Step};

/// What a problem is in: as much cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// The file: what it was to say of any agent is not known.
    File,
    /// The entry of an agent, by its name.
    Agent(String),
    /// The entry of an MCP server for all agents, by its name, which is empty for all of them.
    Server(String),
}

/// Something that is wrong in a settings file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    place: Place,
    /// The keys that lead to it, as in `agent_servers.mine.args[1]`; empty if none do.
    keys: String,
    what: String,
    pub(super) owner: Owner,
}

impl Problem {
    pub(super) fn new(owner: Owner, place: Place, path: &[Step], what: impl Into<String>) -> Self {
        Self { place, keys: joined(path), what: what.into(), owner }
    }

    /// Whether it is about the same keys as another problem.
    pub(super) fn is_about_same(&self, other: &Self) -> bool {
        self.keys == other.keys
    }

    /// Describes it for a text that begins with the name of the file.
    pub fn after_file(&self) -> String {
        let Self { place, keys, what, .. } = self;
        if keys.is_empty() {
            format!("{place}: {what}")
        } else {
            format!("{place}: {keys}: {what}")
        }
    }

    /// Describes it by the keys, with the file of this name.
    pub fn in_file(&self, file: &str) -> String {
        let Self { place, keys, what, .. } = self;
        let comma = if file.is_empty() { "" } else { ", " };
        if keys.is_empty() {
            format!("{file}{comma}{place}: {what}")
        } else {
            format!("{keys} ({file}{comma}{place}): {what}")
        }
    }
}

fn joined(path: &[Step]) -> String {
    let mut keys = String::new();
    for step in path {
        match step {
            Step::Key(key) if keys.is_empty() => keys.push_str(key),
            Step::Key(key) => keys.extend([".", key]),
            Step::Index(index) => keys.extend(["[", &index.to_string(), "]"]),
        }
    }
    keys
}
