//! What is known of a file: an `Entry` of the manifest, the [`State`] that a turn is about, and a [`FileChange`] from one
//! state to another. Reads and writes nothing.

use super::ids::ContentId;
use super::tree_path::TreePath;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

/// The permission bits of a mode.
pub(super) const PERMISSIONS: u32 = 0o7777;

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A symbolic link; its content is its target.
    Symlink,
    /// A folder.
    Folder,
    /// A FIFO, socket or device: never opened, and never restored.
    Other,
}

/// Why the content of a file, or a whole folder, is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// Git ignores it, and it is a folder or too large to be held in memory.
    Ignored,
    /// It is larger than a file may be.
    TooLarge,
    /// The root has more content than is kept.
    TooMuch,
    /// It cannot be read.
    Unreadable,
    /// Another file system is mounted there.
    OtherDevice,
    /// It is neither a regular file nor a symbolic link nor a folder.
    Special,
    /// It was changed after the turn had begun and before it was first read.
    Late,
}

/// A file, symbolic link or folder in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// The permission bits.
    pub(super) mode: u32,
    /// In bytes; 0 for folders.
    pub(super) size: u64,
    /// Nanoseconds since 1970; 0 for folders, whose times change with what is in them.
    pub(super) mtime: i64,
    /// Like `mtime`.
    pub(super) ctime: i64,
    pub(super) inode: u64,
    pub(super) content: Option<ContentId>,
    pub(super) skipped: Option<Skipped>,
    /// It is a file that has other names, too.
    pub(super) is_linked: bool,
    /// It was changed so shortly before it was read that a further change may not show in its times.
    pub(super) is_racy: bool,
}

/// The state of a file before or after a turn. States are equal whatever their `link` is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// What kind of file it is.
    pub kind: Kind,
    /// The permission bits.
    pub mode: u32,
    /// In bytes; 0 for folders.
    pub size: u64,
    /// The content of a file or the target of a symbolic link. `None` if it is not kept, and for folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentId>,
    /// The inode of a file that had other names, too: it was changed under all of them if it is the same afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<u64>,
}

impl State {
    /// Whether the path was given another file since that has other names, too: what is written to it would change what is
    /// there under those names, which it had nothing to do with.
    pub fn is_name_of_another(&self, before: Option<&Self>) -> bool {
        self.link.is_some() && before.and_then(|before| before.link) != self.link
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.mode, self.size, self.content)
            == (other.kind, other.mode, other.size, other.content)
    }
}

impl Eq for State {}

/// A change of one path. If both states are equal and have no content, the file has changed, but its contents are not
/// kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the root.
    pub path: TreePath,
    /// `None` if there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<State>,
    /// `None` if there is nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<State>,
    /// The tool call that did it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Another session, or the user, may have done it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// What was found on disk before, where `before` is what there would be without the turn instead, since others have
    /// changed the file during it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<State>,
}

impl FileChange {
    /// A change that nobody is known to have made.
    pub fn new(path: TreePath, before: Option<State>, after: Option<State>) -> Self {
        Self { path, before, after, by: None, shared: false, found: None }
    }

    /// Whether it is one of the permissions alone.
    pub fn is_of_mode(&self) -> bool {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return false };
        let has_content = before.content.is_some() || before.kind == Kind::Folder;
        has_content
            && before.mode != after.mode
            && *before == State { mode: before.mode, ..after.clone() }
    }

    /// Whether it is one of a folder.
    pub fn is_of_folder(&self) -> bool {
        self.before.iter().chain(&self.after).all(|state| state.kind == Kind::Folder)
    }
}

impl Entry {
    /// An entry from what `lstat` or `fstat` says, without content.
    pub(super) fn of(metadata: &Metadata) -> Self {
        let file_type = metadata.file_type();
        let kind = if file_type.is_file() {
            Kind::File
        } else if file_type.is_symlink() {
            Kind::Symlink
        } else if file_type.is_dir() {
            Kind::Folder
        } else {
            debug_assert!(
                file_type.is_fifo()
                    || file_type.is_socket()
                    || file_type.is_block_device()
                    || file_type.is_char_device()
            );
            Kind::Other
        };
        let has_times = kind != Kind::Folder;
        let time = |seconds: i64, nanoseconds: i64| {
            if has_times {
                seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
            } else {
                0
            }
        };
        Self {
            kind,
            // A link's permissions mean nothing.
            mode: if kind == Kind::Symlink { 0 } else { metadata.mode() & PERMISSIONS },
            size: if has_times { metadata.size() } else { 0 },
            mtime: time(metadata.mtime(), metadata.mtime_nsec()),
            ctime: time(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            content: None,
            skipped: (kind == Kind::Other).then_some(Skipped::Special),
            is_linked: kind == Kind::File && metadata.nlink() > 1,
            is_racy: false,
        }
    }

    /// Whether the file system says the same of both.
    pub(super) fn has_same_stamps(&self, other: &Self) -> bool {
        (self.kind, self.mode, self.size, self.inode, self.mtime, self.ctime)
            == (other.kind, other.mode, other.size, other.inode, other.mtime, other.ctime)
    }

    pub(super) fn state(&self) -> State {
        let Self { kind, mode, size, content, .. } = *self;
        State { kind, mode, size, content, link: self.is_linked.then_some(self.inode) }
    }

    /// Whether this is the same state as another. Where no content is known, the times decide.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.state() == other.state()
            && self.skipped != Some(Skipped::Late)
            && (self.kind != Kind::File
                || self.content.is_some()
                || (self.inode, self.mtime, self.ctime) == (other.inode, other.mtime, other.ctime))
    }

    /// It is recorded only so that what is below, or was covered before, does not count as deleted.
    pub(super) fn is_ignored(&self) -> bool {
        matches!(self.skipped, Some(Skipped::Ignored | Skipped::OtherDevice))
    }
}
