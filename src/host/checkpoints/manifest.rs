//! The manifest: what a scan has found below a root, folder by folder. Folders that did not change are shared between
//! manifests, so that to keep one or to compare two costs little. On disk it is only a cache: one that is damaged, or
//! of another version, counts as absent, and everything is read again.

use super::codec::{Reader, Writer};
use super::entry::{Entry, FileChange, Kind, Skipped};
use super::ids::ContentId;
use super::tree_path::TreePath;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Begins each file; the last byte is the version of the format.
const MAGIC: [u8; 8] = *b"ratmani\x01";

/// The entries of one folder, by name.
pub(super) type Entries = Vec<(Box<[u8]>, Entry)>;

/// What is below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    folders: BTreeMap<TreePath, Arc<Entries>>,
}

impl Manifest {
    /// `folders` have their entries sorted by name.
    pub(super) fn new(folders: BTreeMap<TreePath, Arc<Entries>>) -> Self {
        Self { folders }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    pub(super) fn folder(&self, path: &TreePath) -> Option<&Arc<Entries>> {
        self.folders.get(path)
    }

    pub(super) fn get(&self, path: &TreePath) -> Option<&Entry> {
        let (folder, name) = path.split()?;
        find(self.folders.get(&folder)?, name)
    }

    /// All entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.folders.values().flat_map(|entries| entries.iter().map(|(_, entry)| entry))
    }

    /// The same with entries replaced by what `change` returns for them.
    #[must_use]
    pub(super) fn map(&self, change: impl Fn(&Entry) -> Option<Entry>) -> Self {
        let mut folders = self.folders.clone();
        for entries in folders.values_mut() {
            for at in 0..entries.len() {
                if let Some(entry) = change(&entries[at].1) {
                    Arc::make_mut(entries)[at].1 = entry;
                }
            }
        }
        Self { folders }
    }

    /// What has changed from this manifest to `after`, in the order of the paths. What one of the two does not cover
    /// has neither appeared nor gone.
    pub(super) fn changes(&self, after: &Self) -> Vec<FileChange> {
        let mut changes = Vec::new();
        for (folder, entries) in &self.folders {
            match after.folders.get(folder) {
                Some(others) if Arc::ptr_eq(entries, others) => {}
                Some(others) => compare(folder, entries, others, &mut changes),
                None if after.hides(folder) => {}
                None => compare(folder, entries, &Entries::new(), &mut changes),
            }
        }
        for (folder, entries) in &after.folders {
            if !self.folders.contains_key(folder) && !self.hides(folder) {
                compare(folder, &Entries::new(), entries, &mut changes);
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }

    /// The same for a turn, with what it has hidden.
    pub(super) fn changes_of_turn(&self, after: &Self) -> Vec<FileChange> {
        let mut changes = self.changes(after);
        changes.extend(self.hidden_since(after));
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }

    /// What is new since this manifest and ignored by patterns that have changed since as well.
    pub(super) fn hidden_since(&self, after: &Self) -> Vec<FileChange> {
        // Whether it was read anew says nothing of its patterns.
        let patterns = |entries: &Entries| find(entries, b".gitignore").map(Entry::state);
        let has_changed = |(folder, entries): &(&TreePath, &Arc<Entries>)| {
            let before = self.folders.get(folder);
            let is_shared = before.is_some_and(|before| Arc::ptr_eq(before, entries));
            !is_shared && before.and_then(|before| patterns(before)) != patterns(entries)
        };
        let changed: Vec<_> = after.folders.iter().filter(has_changed).collect();
        let is_below = |folder: &TreePath| changed.iter().any(|(above, _)| folder.is_in(above));
        let mut hidden = Vec::new();
        if changed.is_empty() {
            return hidden;
        }
        for (folder, entries) in after.folders.iter().filter(|(folder, _)| is_below(folder)) {
            let is_hidden = |entry: &Entry| entry.skipped == Some(Skipped::Ignored);
            for (name, entry) in entries.iter().filter(|(_, entry)| is_hidden(entry)) {
                let path = folder.join(name);
                if self.get(&path).is_none() && !self.hides(folder) {
                    hidden.push(FileChange::new(path, None, Some(entry.state())));
                }
            }
        }
        hidden
    }

    /// Whether a folder is in one that is not covered, or is one.
    pub(super) fn hides(&self, folder: &TreePath) -> bool {
        let Some((above, name)) = folder.split() else { return self.is_empty() };
        match self.folders.get(&above) {
            Some(entries) => find(entries, name)
                .is_some_and(|entry| entry.kind == Kind::Folder && entry.skipped.is_some()),
            None => self.hides(&above),
        }
    }

    /// Encodes it for the disk. Contents for which `is_kept` is false count as unread.
    pub(super) fn encode(&self, is_kept: impl Fn(&ContentId) -> bool) -> Vec<u8> {
        let mut out = Writer::default();
        out.array(MAGIC);
        out.number(self.folders.len() as u64);
        for (folder, entries) in &self.folders {
            out.bytes(folder.as_bytes());
            out.number(entries.len() as u64);
            for (name, entry) in &**entries {
                out.bytes(name);
                let content = entry.content.filter(&is_kept);
                let is_racy = entry.is_racy || content != entry.content;
                let flags = kind_code(entry.kind)
                    | u8::from(content.is_some()) << 2
                    | u8::from(is_racy) << 3
                    | entry.skipped.map_or(0, skipped_code) << 4
                    | u8::from(entry.is_linked) << 7;
                out.array([flags]);
                out.number(entry.mode.into());
                out.number(entry.size);
                out.array(entry.mtime.to_le_bytes());
                out.array(entry.ctime.to_le_bytes());
                out.number(entry.inode);
                if let Some(content) = content {
                    out.array(*content.as_bytes());
                }
            }
        }
        out.finish()
    }

    /// Decodes what [`Self::encode`] has returned; `None` if it is damaged or of another version.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Reader::checked(bytes)?;
        if bytes.array()? != MAGIC {
            return None;
        }
        let mut folders = Vec::new();
        for _ in 0..bytes.number()? {
            let folder = TreePath::new(bytes.bytes()?);
            let count = usize::try_from(bytes.number()?).ok()?;
            let mut entries = Vec::with_capacity(count);
            for _ in 0..count {
                entries.push((bytes.bytes()?.into(), decode_entry(&mut bytes)?));
            }
            folders.push((folder, Arc::new(entries)));
        }
        bytes.is_at_end().then(|| Self { folders: folders.into_iter().collect() })
    }
}

fn decode_entry(bytes: &mut Reader<'_>) -> Option<Entry> {
    let [flags] = bytes.array()?;
    Some(Entry {
        kind: KINDS[usize::from(flags & 3)],
        is_racy: flags & 8 != 0,
        is_linked: flags & 0x80 != 0,
        skipped: match flags >> 4 & 7 {
            0 => None,
            code => Some(*SKIPPED.get(usize::from(code - 1))?),
        },
        mode: u32::try_from(bytes.number()?).ok()?,
        size: bytes.number()?,
        mtime: i64::from_le_bytes(bytes.array()?),
        ctime: i64::from_le_bytes(bytes.array()?),
        inode: bytes.number()?,
        content: match flags & 4 {
            0 => None,
            _ => Some(ContentId::from_bytes(bytes.array()?)),
        },
    })
}

const KINDS: [Kind; 4] = [Kind::File, Kind::Symlink, Kind::Folder, Kind::Other];

const SKIPPED: [Skipped; 7] = [
    Skipped::Ignored,
    Skipped::TooLarge,
    Skipped::TooMuch,
    Skipped::Unreadable,
    Skipped::OtherDevice,
    Skipped::Special,
    Skipped::Late,
];

fn kind_code(kind: Kind) -> u8 {
    match kind {
        Kind::File => 0,
        Kind::Symlink => 1,
        Kind::Folder => 2,
        Kind::Other => 3,
    }
}

/// Its place in [`SKIPPED`], from 1.
fn skipped_code(skipped: Skipped) -> u8 {
    match skipped {
        Skipped::Ignored => 1,
        Skipped::TooLarge => 2,
        Skipped::TooMuch => 3,
        Skipped::Unreadable => 4,
        Skipped::OtherDevice => 5,
        Skipped::Special => 6,
        Skipped::Late => 7,
    }
}

/// Finds an entry among those of a folder.
pub(super) fn find<'a>(entries: &'a Entries, name: &[u8]) -> Option<&'a Entry> {
    let at = entries.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
    Some(&entries[at].1)
}

fn compare(folder: &TreePath, before: &Entries, after: &Entries, changes: &mut Vec<FileChange>) {
    let mut add = |name: &[u8], before: Option<&Entry>, after: Option<&Entry>| {
        let is_same = match (before, after) {
            (Some(before), Some(after)) => before.is_same(after),
            _ => false,
        };
        if !is_same && ![before, after].into_iter().flatten().any(Entry::is_ignored) {
            let (before, after) = (before.map(Entry::state), after.map(Entry::state));
            let path = folder.join(name);
            changes.push(FileChange::new(path, before, after));
        }
    };
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (Some((one, _)), Some((other, _))) => one.cmp(other),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return,
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        if let Some((name, _)) = before.or(after) {
            add(name, before.map(|(_, entry)| entry), after.map(|(_, entry)| entry));
        }
    }
}
