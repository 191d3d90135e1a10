//! Paths as text: the folders that an agent knows by other paths than we do, because it runs in a container or on another
//! machine, and what a path leads to if there are no links.

use std::path::{Component, Path, PathBuf};

/// Returns an absolute path without `.` and `..`. Links are not resolved.
pub fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the part of an absolute path that an agent may read otherwise than as a file in the folder before it, from its first
/// component on: a home (`~/x`), and right below `cwd` also that of somebody, a variable or an address. Agents resolve what the
/// model gives them before they ask, and some expand it afterwards.
pub fn other_reading<'a>(path: &'a Path, cwd: &Path) -> Option<&'a Path> {
    if let Ok(below) = path.strip_prefix(cwd) {
        let first = below.components().next()?.as_os_str().to_string_lossy();
        let is_name =
            |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_-+{}%".contains(c));
        let is_computed = first.starts_with('$') && first[1..].contains(['{', '(', ':', '$']);
        let is_named = first.starts_with(['~', '$', '%']) && is_name(&first[1..]);
        if is_named || is_computed || first.ends_with(':') {
            return Some(below);
        }
    }
    let home = path.ancestors().find(|part| part.file_name().is_some_and(|name| name == "~"))?;
    path.strip_prefix(home.parent()?).ok()
}

/// Pairs of folders: ours, and the same one as the agent names it. Without pairs, both use the same paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathMap(Vec<Pair>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pair {
    ours: PathBuf,
    theirs: PathBuf,
}

impl PathMap {
    /// Creates a map of pairs of ours and theirs. The error says in a few words what is wrong with which folder: a path that is
    /// not absolute or contains `..`, or one that stands for two folders.
    pub fn new(pairs: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Result<Self, String> {
        let mut all: Vec<Pair> = Vec::new();
        for (ours, theirs) in pairs {
            let pair = Pair { ours: checked(&ours)?, theirs: checked(&theirs)? };
            if let Some(other) = all.iter().find(|other| other.theirs == pair.theirs) {
                let (first, second) = (other.ours.display(), pair.ours.display());
                return Err(format!(
                    "{} would be both {first} and {second}",
                    pair.theirs.display()
                ));
            }
            if all.iter().any(|other| other.ours == pair.ours) {
                return Err(format!("{} is there twice", pair.ours.display()));
            }
            all.push(pair);
        }
        Ok(Self(all))
    }

    /// Whether both use the same paths.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how the agent names one of our paths; `None` if it is in no folder of the map, or if the agent knows that path as
    /// another file.
    pub fn to_theirs(&self, ours: &Path) -> Option<PathBuf> {
        let theirs = self.theirs(ours)?;
        (self.ours(&theirs).as_deref() == Some(ours)).then_some(theirs)
    }

    /// Returns the path of ours that the agent names; `None` if it is in no folder of the map.
    pub fn to_ours(&self, theirs: &Path) -> Option<PathBuf> {
        // A path such as `/workspace/../etc` is not where it seems to be.
        is_plain(theirs).then(|| self.ours(theirs)).flatten()
    }

    fn theirs(&self, ours: &Path) -> Option<PathBuf> {
        let pairs = self.0.iter().filter(|pair| ours.starts_with(&pair.ours));
        let pair = pairs.max_by_key(|pair| pair.ours.components().count())?;
        Some(joined(&pair.theirs, ours.strip_prefix(&pair.ours).ok()?))
    }

    fn ours(&self, theirs: &Path) -> Option<PathBuf> {
        let pairs = self.0.iter().filter(|pair| theirs.starts_with(&pair.theirs));
        let pair = pairs.max_by_key(|pair| pair.theirs.components().count())?;
        Some(joined(&pair.ours, theirs.strip_prefix(&pair.theirs).ok()?))
    }
}

/// Joins without a slash at the end.
fn joined(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_owned() } else { folder.join(rest) }
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// Returns a path without a slash at its end.
fn checked(path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    if !path.is_absolute() {
        return Err(format!("\"{shown}\" is not an absolute path"));
    }
    if !is_plain(path) {
        return Err(format!("{shown} contains \"..\""));
    }
    Ok(path.components().collect())
}

/// The files of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentDisk {
    /// The folders that it knows by other paths.
    pub paths: PathMap,
    /// Whether it has none of our files: what it sees of them goes through us.
    pub is_separate: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(pairs: &[(&str, &str)]) -> Result<PathMap, String> {
        PathMap::new(pairs.iter().map(|(ours, theirs)| (ours.into(), theirs.into())))
    }

    fn path(text: &str) -> PathBuf {
        text.into()
    }

    #[test]
    fn paths_are_mapped_in_both_directions_by_whole_parts() {
        let map = map(&[("/home/me/proj/", "/workspace"), ("/home/me/lib", "/opt/lib")]).unwrap();
        let theirs = |ours: &str| map.to_theirs(Path::new(ours));
        let ours = |theirs: &str| map.to_ours(Path::new(theirs));
        assert_eq!(theirs("/home/me/proj"), Some(path("/workspace")));
        assert_eq!(theirs("/home/me/proj/a/b.rs"), Some(path("/workspace/a/b.rs")));
        assert_eq!(theirs("/home/me/project/a"), None);
        assert_eq!(ours("/opt/lib/x"), Some(path("/home/me/lib/x")));
        assert_eq!(ours("/workspaces"), None);
        assert_eq!(ours("/workspace/../etc/passwd"), None, "it leads out of the folder");
        assert_eq!(ours("workspace/a"), None);
    }

    #[test]
    fn the_longest_folder_counts_and_what_it_hides_has_no_name() {
        let map = map(&[("/a", "/w"), ("/b", "/w/x")]).unwrap();
        assert_eq!(map.to_ours(Path::new("/w/x/f")), Some(path("/b/f")));
        assert_eq!(map.to_theirs(Path::new("/b/f")), Some(path("/w/x/f")));
        assert_eq!(map.to_theirs(Path::new("/a/x/f")), None, "the agent would find /b/f there");
    }

    #[test]
    fn an_ambiguous_map_is_refused_with_the_reason() {
        let problem = |pairs| map(pairs).unwrap_err();
        assert_eq!(problem(&[("/a", "/w"), ("/b", "/w/")]), "/w would be both /a and /b");
        assert_eq!(problem(&[("/a", "/w"), ("/a/", "/v")]), "/a is there twice");
        assert_eq!(problem(&[("a", "/w")]), "\"a\" is not an absolute path");
        assert_eq!(problem(&[("/a", "/w/../v")]), "/w/../v contains \"..\"");
    }

    proptest! {
        /// Whatever is mapped, the way back leads to the same file.
        #[test]
        fn the_way_back_leads_to_the_same_file(
            pairs in prop::collection::vec(("(/[ab]){1,3}", "(/[ab]){1,3}"), 1..4),
            file in "(/[ab]){1,5}",
        ) {
            let pairs = pairs.into_iter().map(|(ours, theirs)| (ours.into(), theirs.into()));
            if let Ok(map) = PathMap::new(pairs) {
                let file = PathBuf::from(file);
                if let Some(theirs) = map.to_theirs(&file) {
                    prop_assert_eq!(map.to_ours(&theirs), Some(file));
                }
            }
        }
    }

    #[test]
    fn a_path_may_be_read_as_one_elsewhere() {
        let other = |path: &str| {
            let path = Path::new("/p").join(path);
            other_reading(&path, Path::new("/p")).map(|it| it.to_string_lossy().into_owned())
        };
        for path in [
            "~/x",
            "~",
            "~root/x",
            "$HOME/x",
            "${HOME}/x",
            "%HOME%/x",
            "file:///etc/x",
            "${A:-b}/x",
            "$(pwd)/x",
            "~+/x",
        ] {
            assert!(other(path).is_some(), "{path}");
        }
        assert_eq!(other("a/~/x").as_deref(), Some("~/x"));
        assert_eq!(other("/q/~/x").as_deref(), Some("~/x"));
        for path in ["a", "a~b/$c", "src/$slug/x", "~$a.doc", "$types.ts", "/q/$HOME/x", "src/~x"] {
            assert_eq!(other(path), None, "{path}");
        }
    }
}
