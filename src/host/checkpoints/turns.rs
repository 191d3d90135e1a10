//! The log of turns of a slot, as JSON lines: only appended to, or replaced as a whole when old turns are forgotten. A
//! last line that is not whole is ignored.

use super::entry::{FileChange, Skipped};
use super::ids::{ContentId, TurnId};
use super::manifest::Manifest;
use super::private;
use super::tree_path::TreePath;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Version of the file format.
const VERSION: u32 = 1;

/// The file in the folder of a slot.
const FILE: &str = "turns.jsonl";

/// What a turn is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// Identifies it among the turns of its root.
    pub id: TurnId,
    /// When it ended, in seconds since 1970.
    pub time: u64,
    /// The agent's name.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The beginning of the prompt.
    pub prompt: String,
    /// The turn it took back, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<TurnId>,
    /// How many paths could not be restored, if it takes a turn back: another try may do that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: usize,
    /// What was not covered.
    pub coverage: Coverage,
    /// How many paths it changed that are no folders.
    pub files: usize,
    /// How many lines it added.
    #[serde(default)]
    pub added: usize,
    /// How many lines it removed.
    #[serde(default)]
    pub removed: usize,
}

/// A turn with everything it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What it is known by.
    pub summary: TurnSummary,
    /// The changes, in the order of their paths.
    pub changes: Vec<FileChange>,
}

/// What is logged of a turn besides its changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnAbout {
    /// The agent's name.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The prompt, of which the first line is kept.
    pub prompt: String,
    /// The turn it takes back, if it does.
    pub undoes: Option<TurnId>,
    /// How many paths could not be changed in their buffers, if it does.
    pub failed: usize,
    /// What is better known than the disk tells.
    pub corrections: Vec<Correction>,
}

/// What a turn has changed in a path, where that is not the difference between two looks at the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// Relative to the root.
    pub path: TreePath,
    /// Without the turn.
    pub before: Side,
    /// With it. If neither is as found, the path may be one that the disk shows no change of.
    pub after: Side,
}

/// What there is at a path before or after a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// What was found on disk.
    AsFound,
    /// Nothing.
    Nothing,
    /// A file with these bytes.
    File(Vec<u8>),
}

/// Says of a change which tool call did it, and returns whether it belongs to the turn at all.
pub type Attribute = Box<dyn FnMut(&mut FileChange) -> bool + Send>;

/// What a turn did not cover. Ignored folders are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The turn began before the first scan was over.
    pub is_late: bool,
    /// Files whose contents are not kept, as they are too large or there are too many.
    pub not_kept: usize,
    /// Files and folders that could not be read.
    pub unreadable: usize,
}

/// The header, which is the first line.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    /// The number of the next turn when the file was last replaced.
    next: u32,
}

#[derive(Serialize)]
struct NewLine<'a> {
    turn: &'a TurnSummary,
    changes: &'a [FileChange],
}

/// A line of which the changes are not decoded.
#[derive(Deserialize)]
struct Line<'a> {
    turn: TurnSummary,
    #[serde(borrow)]
    changes: &'a RawValue,
}

/// The log of a slot.
#[derive(Debug)]
pub(super) struct TurnLog {
    path: PathBuf,
    file: File,
    turns: Vec<Logged>,
    next: u32,
    length: u64,
}

/// A turn and where its line is in the file.
#[derive(Clone, Debug)]
struct Logged {
    summary: TurnSummary,
    start: u64,
    length: usize,
}

impl TurnLog {
    /// Opens the log in the folder of a slot, or creates it.
    ///
    /// # Errors
    /// If it cannot be read or written, or is of another version.
    pub(super) fn open(slot: &Path) -> io::Result<Self> {
        let path = slot.join(FILE);
        let file = private::open_file(&path)?;
        let mut log = Self::of_file(path, file)?;
        let length = log.file.metadata()?.len();
        if log.length < length {
            log.file.set_len(log.length)?;
        }
        if log.length == 0 {
            log.replace(&[])?;
        }
        Ok(log)
    }

    /// Opens the log of another slot, which another program may be writing.
    ///
    /// # Errors
    /// If it cannot be read, or is of another version.
    pub(super) fn open_read_only(slot: &Path) -> io::Result<Self> {
        let path = slot.join(FILE);
        let file = File::open(&path)?;
        Self::of_file(path, file)
    }

    fn of_file(path: PathBuf, file: File) -> io::Result<Self> {
        let bytes = fs::read(&path)?;
        let mut log = Self { path, file, turns: Vec::new(), next: 1, length: 0 };
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(json) = line.strip_suffix(b"\n") else { break };
            if log.length == 0 {
                let header: Header =
                    serde_json::from_slice(json).map_err(|_| damaged(&log.path))?;
                if header.version != VERSION {
                    return Err(io::Error::other("they are of another version of rat.nvim"));
                }
                log.next = header.next;
            } else if let Ok(Line { turn, .. }) = serde_json::from_slice(json) {
                log.next = log.next.max(turn.id.number.saturating_add(1));
                log.turns.push(Logged { summary: turn, start: log.length, length: json.len() });
            }
            log.length += line.len() as u64;
        }
        Ok(log)
    }

    /// All turns, the newest last.
    pub(super) fn summaries(&self) -> impl DoubleEndedIterator<Item = &TurnSummary> {
        self.turns.iter().map(|logged| &logged.summary)
    }

    /// How many turns there are.
    pub(super) fn count(&self) -> usize {
        self.turns.len()
    }

    /// The number of the next turn.
    pub(super) fn next_number(&self) -> u32 {
        self.next
    }

    /// Reads a turn; `None` if there is none with the number.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn turn(&self, number: u32) -> io::Result<Option<Turn>> {
        let logged = self.turns.iter().find(|logged| logged.summary.id.number == number);
        logged.map(|logged| self.load(logged)).transpose()
    }

    fn load(&self, logged: &Logged) -> io::Result<Turn> {
        let json = self.line(logged)?;
        let line: Line<'_> = serde_json::from_slice(&json)?;
        Ok(Turn { summary: line.turn, changes: serde_json::from_str(line.changes.get())? })
    }

    fn line(&self, logged: &Logged) -> io::Result<Vec<u8>> {
        let mut json = vec![0; logged.length];
        self.file.read_exact_at(&mut json, logged.start)?;
        Ok(json)
    }

    /// Appends a turn, and returns when it is on the disk.
    ///
    /// # Errors
    /// If it could not be written; the log is as before.
    pub(super) fn append(&mut self, turn: &Turn) -> io::Result<()> {
        let mut json =
            serde_json::to_vec(&NewLine { turn: &turn.summary, changes: &turn.changes })?;
        let length = json.len();
        json.push(b'\n');
        let written = self.file.write_all_at(&json, self.length);
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.turns.push(Logged { summary: turn.summary.clone(), start: self.length, length });
        self.length += json.len() as u64;
        self.next = self.next.max(turn.summary.id.number.saturating_add(1));
        Ok(())
    }

    /// Forgets the turns before the newest `count`, and those that ended before `time`. Returns whether there were any.
    ///
    /// # Errors
    /// If the file could not be replaced; the log is as before.
    pub(super) fn forget(&mut self, count: usize, time: u64) -> io::Result<bool> {
        let mut kept = self.turns.clone();
        kept.drain(..kept.len().saturating_sub(count));
        kept.retain(|logged| logged.summary.time >= time);
        if kept.len() == self.turns.len() {
            return Ok(false);
        }
        self.replace(&kept)?;
        Ok(true)
    }

    /// All contents that turns refer to.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn contents(&self) -> io::Result<HashSet<ContentId>> {
        let mut contents = HashSet::new();
        for logged in &self.turns {
            for change in self.load(logged)?.changes {
                let states = [change.before, change.after].into_iter().flatten();
                contents.extend(states.filter_map(|state| state.content));
            }
        }
        Ok(contents)
    }

    fn replace(&mut self, kept: &[Logged]) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(&Header { version: VERSION, next: self.next })?;
        bytes.push(b'\n');
        for logged in kept {
            bytes.extend(self.line(logged)?);
            bytes.push(b'\n');
        }
        private::replace_file(&self.path, &bytes)?;
        let file = private::open_file(&self.path)?;
        *self = Self::of_file(self.path.clone(), file)?;
        Ok(())
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn damaged(path: &Path) -> io::Error {
    let folder = path.parent().unwrap_or(path).display();
    io::Error::other(format!("the log of turns is damaged; without {folder}, a new one is begun"))
}

impl Coverage {
    /// What a manifest does not cover.
    pub(super) fn of(manifest: &Manifest, is_late: bool) -> Self {
        let mut coverage = Self { is_late, ..Self::default() };
        for skipped in manifest.entries().filter_map(|entry| entry.skipped) {
            match skipped {
                Skipped::TooLarge | Skipped::TooMuch => coverage.not_kept += 1,
                Skipped::Unreadable => coverage.unreadable += 1,
                Skipped::Ignored | Skipped::OtherDevice | Skipped::Special | Skipped::Late => {}
            }
        }
        coverage
    }
}
