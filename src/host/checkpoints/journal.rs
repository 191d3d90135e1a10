//! The journal of a restore: what is to become what, written before the first file is changed and removed after the
//! last, so that a restore that was interrupted can be finished. It is replaced as a whole, so it is never half there.

use super::entry::{FileChange, State};
use super::private;
use super::tree_path::TreePath;
use super::turns::TurnSummary;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// Version of the file format.
const VERSION: u32 = 1;

/// The file in the folder of a slot.
const FILE: &str = "journal";

/// One path of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) path: TreePath,
    /// What must be there for it to be changed; `None` for nothing.
    pub(super) expected: Option<State>,
    /// What is to be there; `None` for nothing.
    pub(super) target: Option<State>,
}

/// The turn that a restore is logged as once its files are changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingTurn {
    /// Without the numbers of files and lines.
    pub(super) summary: TurnSummary,
    /// What it has changed before, in the order of the paths.
    pub(super) changes: Vec<FileChange>,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) files: Vec<Planned>,
    pub(super) turn: Option<PendingTurn>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    files: Vec<Planned>,
    /// Missing in journals of restores that are no turns. Those who do not know it change the files all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<PendingTurn>,
}

/// Writes the journal, and returns when it is on the disk.
pub(super) fn write(slot: &Path, journal: &Journal) -> io::Result<()> {
    let Journal { files, turn } = journal.clone();
    let json = serde_json::to_vec(&Stored { version: VERSION, files, turn })?;
    let checksum = blake3::hash(&json).to_hex();
    let bytes = [checksum.as_bytes(), b"\n", &json].concat();
    private::replace_file(&slot.join(FILE), &bytes)
}

/// Reads the journal of a restore that was not finished; `None` if there is none. One that is damaged was never
/// followed.
pub(super) fn read(slot: &Path) -> Option<Journal> {
    let bytes = fs::read(slot.join(FILE)).ok()?;
    let journal = decode(&bytes);
    if journal.is_none() {
        tracing::error!(slot = %slot.display(), "the journal of a restore is damaged");
    }
    journal
}

fn decode(bytes: &[u8]) -> Option<Journal> {
    let (checksum, json) = bytes.split_at_checked(64)?;
    let json = json.strip_prefix(b"\n")?;
    if blake3::hash(json).to_hex().as_bytes() != checksum {
        return None;
    }
    let Stored { version, files, turn } = serde_json::from_slice(json).ok()?;
    (version == VERSION).then_some(Journal { files, turn })
}

/// Removes the journal.
pub(super) fn remove(slot: &Path) -> io::Result<()> {
    match fs::remove_file(slot.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
