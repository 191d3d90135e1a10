//! What is kept for a root: the manifest and the pack in its slot, contents in memory, and the slots of other programs,
//! which are only read. Runs on the thread of the root.

use super::entry::{Entry, FileChange, Kind, State};
use super::ids::{ContentId, TurnId};
use super::manifest::Manifest;
use super::memory::Memory;
use super::pack::{Pack, Record};
use super::private;
use super::restore::Contents;
use super::slot::Slot;
use super::tree_path::TreePath;
use super::turns::{Turn, TurnLog, TurnSummary};
use crate::edit::{Text, diff};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The manifest in the folder of a slot.
const MANIFEST: &str = "manifest";

/// A pack is compacted when less than half of it is needed, but not if it has fewer bytes than this.
const SMALL_PACK: u64 = 8 << 20;

/// How many bytes of changed files are compared to count lines.
const MAX_COUNTED: u64 = 32 << 20;

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) slot: Slot,
    pub(super) pack: Mutex<Pack>,
    pub(super) memory: Memory,
    pub(super) log: TurnLog,
    /// The packs of other slots, as far as they have been needed.
    others: HashMap<u32, Pack>,
    /// The length of the pack when it was last looked at for what is not needed.
    reviewed: u64,
}

impl Stored {
    /// Takes a slot for a root.
    ///
    /// # Errors
    /// If it cannot be created or read, or is of another version.
    pub(super) fn open(store: &Path, root: &Path) -> io::Result<Self> {
        let slot = Slot::take(store, root)?;
        Ok(Self {
            pack: Mutex::new(Pack::open(&slot.folder)?),
            log: TurnLog::open(&slot.folder)?,
            memory: Memory::new()?,
            others: HashMap::new(),
            reviewed: 0,
            slot,
        })
    }

    /// The manifest as it was last saved; empty if there is none that can be used.
    pub(super) fn load_manifest(&self) -> Manifest {
        let Ok(bytes) = fs::read(self.slot.folder.join(MANIFEST)) else {
            return Manifest::default();
        };
        let manifest = Manifest::decode(&bytes);
        if manifest.is_none() {
            let slot = self.slot.folder.display();
            tracing::warn!(%slot, "a manifest is damaged or of another version: all is read again");
        }
        // A pack may have lost what a manifest names.
        let pack = self.pack.lock();
        let is_lost = |id: &ContentId| !pack.has(id);
        manifest.unwrap_or_default().map(|entry| {
            let content = entry.content.as_ref().filter(|id| is_lost(id));
            content.map(|_| Entry { content: None, is_racy: true, ..entry.clone() })
        })
    }

    /// Where the manifest is saved.
    pub(super) fn manifest_file(&self) -> PathBuf {
        self.slot.folder.join(MANIFEST)
    }

    /// Saves everything that makes the next start cheap.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn save(&mut self, manifest: &Manifest) -> io::Result<()> {
        let pack = self.pack.get_mut();
        pack.sync()?;
        pack.save_index()?;
        let memory = &self.memory;
        let bytes = manifest.encode(|id| !memory.has(id));
        private::replace_file(&self.slot.folder.join(MANIFEST), &bytes)
    }

    /// Returns a content; `None` if no slot of the root has it.
    pub(super) fn content(&mut self, id: &ContentId) -> Option<Vec<u8>> {
        if let Some(content) = self.memory.get(id) {
            return Some(content.to_vec());
        }
        let found = self.pack.get_mut().read(id);
        if let Some(content) = logged(found) {
            return Some(content);
        }
        for (number, folder) in self.slot.others() {
            let known = self.others.remove(&number).filter(|pack| pack.has(id));
            let pack = known.map_or_else(|| Pack::open_read_only(&folder), Ok);
            let Ok(mut pack) = pack else { continue };
            let found = logged(pack.read(id));
            self.others.insert(number, pack);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Keeps a content; `None` if it is private, which means that it must not reach the disk, and there is no room for
    /// it in memory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn keep(
        &mut self,
        content: &[u8],
        is_private: bool,
    ) -> io::Result<Option<ContentId>> {
        if is_private {
            return Ok(self.memory.put(content));
        }
        let id = ContentId::of(content);
        let pack = self.pack.get_mut();
        if !pack.has(&id) {
            pack.append(&Record::new(id, content)?)?;
        }
        Ok(Some(id))
    }

    /// The turns of all slots, the newest first.
    pub(super) fn turns(&self) -> Vec<TurnSummary> {
        let mut turns: Vec<TurnSummary> = self.log.summaries().cloned().collect();
        for (_, folder) in self.slot.others() {
            if let Ok(log) = TurnLog::open_read_only(&folder) {
                turns.extend(log.summaries().cloned());
            }
        }
        turns.sort_by_key(|turn| std::cmp::Reverse((turn.time, turn.id.number)));
        turns
    }

    /// Reads a turn of any slot; `None` if there is none with the id.
    pub(super) fn turn(&self, id: TurnId) -> Option<Turn> {
        let slot = &self.slot;
        if id.slot == slot.number {
            return logged(self.log.turn(id.number));
        }
        let (_, folder) = slot.others().into_iter().find(|(number, _)| *number == id.slot)?;
        logged(TurnLog::open_read_only(&folder).and_then(|log| log.turn(id.number)))
    }

    /// Forgets the turns that are too many or ended before `time`, and contents that neither a turn nor a manifest
    /// refers to. The contents of a root take about `most` bytes then.
    ///
    /// # Errors
    /// If a file cannot be written; what it holds stays.
    pub(super) fn forget(
        &mut self,
        manifest: &Manifest,
        turns: usize,
        time: u64,
        most: u64,
    ) -> io::Result<()> {
        let has_forgotten = self.log.forget(turns, time)?;
        let length = self.pack.get_mut().length();
        if length < SMALL_PACK.min(most) || !has_forgotten && length < self.reviewed / 4 * 5 {
            return Ok(());
        }
        let contents = manifest.entries().filter_map(|entry| entry.content);
        let contents: HashSet<ContentId> = contents.collect();
        let (live, needed) = loop {
            let mut live = self.log.contents()?;
            live.extend(&contents);
            let needed = self.pack.get_mut().live_length(&live);
            let count = self.log.count();
            if needed <= most || count == 0 {
                break (live, needed);
            }
            self.log.forget(count / 4 * 3, 0)?;
        };
        self.memory.retain(|id| live.contains(id));
        let pack = self.pack.get_mut();
        if needed < length / 2 || length > most {
            pack.compact(&live)?;
        }
        self.reviewed = pack.length();
        Ok(())
    }

    /// Counts the lines that changes have added and removed, in files that are text and as far as that is quick.
    pub(super) fn count_lines(&mut self, changes: &[FileChange]) -> (usize, usize) {
        let (mut added, mut removed, mut room) = (0, 0, MAX_COUNTED);
        for change in changes {
            let mut texts = [Text::default(), Text::default()];
            let mut is_text = true;
            for (text, state) in texts.iter_mut().zip([&change.before, &change.after]) {
                let Some(state) = state else { continue };
                is_text &= state.kind == Kind::File && state.size <= room;
                let id = state.content.filter(|_| is_text);
                let content = id.and_then(|id| self.content(&id));
                match content.and_then(|content| String::from_utf8(content).ok()) {
                    Some(content) => *text = Text::parse(&content),
                    None => is_text = false,
                }
                room -= if is_text { state.size } else { 0 };
            }
            if is_text {
                for hunk in diff(&texts[0], &texts[1]) {
                    added += hunk.lines.len();
                    removed += hunk.removed;
                }
            }
        }
        (added, removed)
    }

    /// Makes sure that the contents of some states are in this slot's own pack.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn adopt<'a>(&mut self, states: impl Iterator<Item = &'a State>) -> io::Result<()> {
        for id in states.filter_map(|state| state.content) {
            if !self.memory.has(&id)
                && !self.pack.get_mut().has(&id)
                && let Some(content) = self.content(&id)
            {
                self.keep(&content, false)?;
            }
        }
        self.pack.get_mut().sync()
    }
}

impl Contents for Stored {
    fn get(&mut self, state: &State) -> Option<Vec<u8>> {
        self.content(state.content.as_ref()?)
    }

    fn is_of(&self, state: &State, content: &[u8]) -> bool {
        state.content.as_ref().is_some_and(|id| self.memory.is_of(id, content))
    }

    fn folder_mode(&self, path: &TreePath) -> Option<u32> {
        self.log.summaries().rev().find_map(|turn| {
            let turn = logged(self.log.turn(turn.id.number))?;
            let change = turn.changes.into_iter().find(|change| change.path == *path)?;
            let folder = change.before.filter(|state| state.kind == Kind::Folder);
            Some(folder?.mode)
        })
    }
}

/// Logs an error, which counts as nothing found.
fn logged<T>(found: io::Result<Option<T>>) -> Option<T> {
    found.unwrap_or_else(|error| {
        tracing::error!(%error, "checkpoints cannot be read");
        None
    })
}
