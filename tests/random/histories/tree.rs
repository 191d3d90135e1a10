//! A folder at one moment, and what agents and users do in it with shells. It decides nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;

use crate::dice::Dice;

/// Files with more bytes are not kept.
pub(crate) const LIMIT: u64 = 2_000;
/// Ignored files with more bytes are not.
pub(crate) const IGNORED_LIMIT: u64 = 200;

/// What there is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File(Vec<u8>, u32),
    Link(PathBuf),
    Folder(u32),
    Other(u32),
}

/// All that is below a folder but git's, by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: BTreeMap<PathBuf, Node>,
    /// Files that are one have one inode.
    pub(crate) inodes: HashMap<PathBuf, u64>,
}

impl Tree {
    pub(crate) fn of(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.collect(root, root);
        tree
    }

    fn collect(&mut self, root: &Path, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(root).unwrap().to_owned();
            if below == Path::new(".git") {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let node = if metadata.is_dir() {
                self.collect(root, &path);
                Node::Folder(mode)
            } else if metadata.is_symlink() {
                Node::Link(fs::read_link(&path).unwrap())
            } else if metadata.is_file() {
                self.inodes.insert(below.clone(), metadata.ino());
                Node::File(fs::read(&path).unwrap(), mode)
            } else {
                Node::Other(mode)
            };
            self.nodes.insert(below, node);
        }
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&Node> {
        self.nodes.get(path)
    }

    /// The paths that differ.
    pub(crate) fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a PathBuf> {
        let all = self.nodes.keys();
        let new = other.nodes.keys().filter(|path| !self.nodes.contains_key(*path));
        all.chain(new).filter(|path| self.get(path) != other.get(path))
    }

    /// The same, but with files as they were in another tree if they had several names and a condition does not hold.
    pub(crate) fn but_other_names(mut self, was: &Self, holds: impl Fn(&Path) -> bool) -> Self {
        let mut names: HashMap<u64, usize> = HashMap::new();
        was.inodes.values().for_each(|inode| *names.entry(*inode).or_default() += 1);
        let is_one = |inode: &u64| names.get(inode).is_some_and(|names| *names > 1);
        let linked = was.inodes.iter().filter(|(_, inode)| is_one(inode)).map(|(path, _)| path);
        for path in linked.filter(|path| !holds(path)) {
            self.nodes.extend(was.get(path).map(|node| (path.clone(), node.clone())));
        }
        self
    }

    /// The words of all texts.
    pub(crate) fn words(&self) -> HashSet<String> {
        self.nodes.values().flat_map(|node| words(Some(node))).collect()
    }

    /// Whether patterns at the top ignore a path.
    pub(crate) fn ignores(&self, path: &Path) -> bool {
        let Some(Node::File(patterns, _)) = self.get(Path::new(".gitignore")) else { return false };
        let patterns = String::from_utf8_lossy(patterns);
        path.components().any(|name| {
            let name = name.as_os_str().to_string_lossy();
            patterns.lines().any(|pattern| match pattern.strip_prefix('*') {
                Some(end) => name.ends_with(end),
                None => name == pattern,
            })
        })
    }

    /// What is in a folder, however deep.
    pub(crate) fn below(&self, folder: &Path) -> impl Iterator<Item = &Node> {
        let nodes = self.nodes.iter();
        nodes.filter(move |(path, _)| path.starts_with(folder)).map(|(_, node)| node)
    }

    pub(crate) fn has_patterns(&self) -> bool {
        let file = self.get(Path::new(".gitignore"));
        matches!(file, Some(Node::File(bytes, _)) if !bytes.is_empty())
    }
}

/// The words of a text. What is no text has none.
pub(crate) fn words(node: Option<&Node>) -> Vec<String> {
    let Some(Node::File(bytes, _)) = node else { return Vec::new() };
    let text = String::from_utf8_lossy(bytes);
    let is_word = |word: &&str| word.contains('-') && !word.contains('\0');
    text.split_whitespace().filter(is_word).map(str::to_owned).collect()
}

const NAMES: &[&str] = &["a", "b", "d", "e", "x.log", ".rat-restore-1"];
const PATTERNS: &[&str] = &["", "d\n", "*.log\n", "e\n*.log\n", "a\n"];

fn path(dice: &mut Dice) -> PathBuf {
    let depth = 1 + dice.within(0..3).min(dice.within(0..3));
    (0..depth).map(|_| *dice.pick(NAMES)).collect()
}

/// Somebody does something that need not succeed. Returns what, in words. `word` is in what is written.
pub(crate) fn edit(root: &Path, outside: &Path, dice: &mut Dice, word: &str) -> String {
    let below = match dice.within(0..3) {
        // What is there is changed most often.
        0 => path(dice),
        _ => {
            let tree = Tree::of(root);
            let all: Vec<PathBuf> = tree.nodes.into_keys().collect();
            if all.is_empty() { path(dice) } else { dice.pick(&all).clone() }
        }
    };
    let at = root.join(&below);
    let is_file = at.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    // Opening a FIFO would wait for somebody.
    let read = || if is_file { fs::read_to_string(&at).unwrap_or_default() } else { String::new() };
    let lines = || read().lines().map(str::to_owned).collect::<Vec<_>>();
    let write = |text: String| if is_file { fs::write(&at, text) } else { Ok(()) };
    let done = match dice.within(0..23) {
        0..3 if !at.is_dir() => {
            let _ = fs::create_dir_all(at.parent().unwrap());
            let count = dice.within(1..6);
            let text: String = (0..count).map(|line| format!("{word}-{line}\n")).collect();
            if at.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
                let _ = fs::remove_file(&at);
            }
            ("writes", fs::write(&at, text))
        }
        3..6 => ("appends", write(format!("{}{word}\n", read()))),
        6..9 => {
            let mut lines = lines();
            if !lines.is_empty() {
                let line = dice.within(0..lines.len());
                word.clone_into(&mut lines[line]);
            }
            ("changes a line of", write(lines.iter().map(|line| format!("{line}\n")).collect()))
        }
        9 => {
            let mut lines = lines();
            if !lines.is_empty() {
                lines.remove(dice.within(0..lines.len()));
            }
            ("deletes a line of", write(lines.iter().map(|line| format!("{line}\n")).collect()))
        }
        10 => ("writes binary", write(format!("\0{word}\0"))),
        11 => {
            let size = usize::try_from(*dice.pick(&[IGNORED_LIMIT, LIMIT])).unwrap();
            ("fills", write(format!("{word}\n{}\n", "x".repeat(size))))
        }
        12 => ("removes", remove(&at)),
        13 => {
            let _ = remove(&at);
            let text = format!("{word}\n");
            ("puts a file in the place of", fs::write(&at, text))
        }
        14 => {
            let _ = remove(&at);
            let inner = at.join(dice.pick(NAMES));
            let made = fs::create_dir_all(&at).and_then(|()| fs::write(inner, format!("{word}\n")));
            ("puts a folder in the place of", made)
        }
        15 => {
            let _ = remove(&at);
            let made = nix::unistd::mkfifo(&at, Mode::S_IRWXU).map_err(Into::into);
            ("puts a FIFO in the place of", made)
        }
        16 => {
            let _ = remove(&at);
            ("puts a link in the place of", symlink(dice.pick(NAMES), &at))
        }
        17 => {
            let mode = *dice.pick(&[0o644, 0o755, 0o600, 0o700]);
            let is_link = at.is_symlink();
            let set = || fs::set_permissions(&at, Permissions::from_mode(mode));
            ("sets the mode of", if is_link { Ok(()) } else { set() })
        }
        18 => ("renames", fs::rename(&at, root.join(path(dice)))),
        19 => {
            let other = if dice.once_in(3) { outside.join(word) } else { root.join(path(dice)) };
            ("gives another name to", fs::hard_link(&at, other))
        }
        20 => {
            let _ = remove(&at);
            let other = outside.join(word);
            let made = fs::write(&other, format!("{word}\n"));
            ("gives a file outside the name", made.and_then(|()| fs::hard_link(other, &at)))
        }
        21 => {
            let _ = remove(&root.join(".gitignore"));
            ("ignores with", fs::write(root.join(".gitignore"), dice.pick(PATTERNS)))
        }
        _ => ("makes the folder", fs::create_dir_all(&at)),
    };
    let (what, done) = done;
    format!("{what} {}{}", below.display(), if done.is_ok() { "" } else { ", in vain" })
}

fn remove(at: &Path) -> std::io::Result<()> {
    match at.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(at),
        _ => fs::remove_file(at),
    }
}

/// A path as it is shown.
pub(crate) fn shown(node: Option<&Node>) -> String {
    match node {
        None => "nothing".to_owned(),
        Some(Node::File(bytes, mode)) => {
            let text: String = String::from_utf8_lossy(bytes).chars().take(100).collect();
            let end: String = String::from_utf8_lossy(bytes).chars().rev().take(30).collect();
            format!("{mode:o} {} bytes {text:?} .. {end:?}", bytes.len())
        }
        Some(Node::Link(to)) => format!("-> {}", to.display()),
        Some(Node::Folder(mode)) => format!("folder {mode:o}"),
        Some(Node::Other(mode)) => format!("FIFO {mode:o}"),
    }
}
