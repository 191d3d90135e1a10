//! One root that is covered: scans it, keeps the states that turns began with, logs turns and restores files. Runs on the
//! thread of the root and may block.

use super::begun::{self, Begun};
use super::entry::{Entry, FileChange, Kind, Skipped, State};
use super::error::{CheckpointError, Refusal};
use super::ids::{ContentId, TurnId};
use super::journal::{Journal, PendingTurn, Planned};
use super::limits::{Limits, Watch};
use super::manifest::Manifest;
use super::private;
use super::read::RACY;
use super::restore::{Left, Restore, Restored, Restorer, WhyLeft};
use super::scan::{Scan, ScanError, now};
use super::stored::Stored;
use super::tree::Tree;
use super::tree_path::TreePath;
use super::turns::{Attribute, Correction, Coverage, Side, Turn, TurnAbout, TurnSummary};
use super::undo::{self, Undone};
use crate::host::ignored::RuleFiles;
use crate::secrets::Secrets;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;
use std::{fs, io};

/// How many characters of a prompt are logged.
const PROMPT_LEN: usize = 200;

/// A root and what is needed to cover it.
#[derive(Debug)]
pub(super) struct Covered {
    /// The real path.
    pub(super) root: PathBuf,
    /// The folder of all checkpoints.
    pub(super) store: PathBuf,
    pub(super) limits: Limits,
    pub(super) secrets: Secrets,
    pub(super) watch: Arc<Watch>,
    pub(super) files: RuleFiles,
    pub(super) stored: Stored,
    /// `None` before the first scan.
    pub(super) manifest: Option<Manifest>,
    /// The manifest as it was last saved.
    pub(super) saved: Manifest,
    pub(super) running: HashMap<u64, Running>,
    /// Turns that were running when a program was killed, and are to be logged.
    pub(super) begun: Vec<Begun>,
    /// What restores that were interrupted have come to.
    pub(super) recovered: Vec<Restored>,
    pub(super) is_ending: bool,
    /// Something has been logged or restored since everything was saved.
    pub(super) is_stale: bool,
}

/// A turn that has begun.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) before: Manifest,
    /// As of the last look.
    pub(super) last: Manifest,
    pub(super) is_late: bool,
    /// What is on disk of it, once it is.
    pub(super) noted: Option<PathBuf>,
}

impl Running {
    /// It is logged, or nothing is to be known of it.
    fn is_over(&self) {
        if let Some(noted) = &self.noted {
            let _ = fs::remove_file(noted);
        }
    }
}

impl Covered {
    /// Opens the store of a root, and finishes restores that were interrupted.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub(super) fn open(
        root: PathBuf,
        store: PathBuf,
        limits: Limits,
        secrets: Secrets,
        watch: Arc<Watch>,
    ) -> Result<Self, CheckpointError> {
        let failed = |error: io::Error| CheckpointError::store(&root, &error);
        private::create_folder(&store).map_err(failed)?;
        let store = store.canonicalize().map_err(failed)?;
        let stored = Stored::open(&store, &root).map_err(failed)?;
        let saved = stored.load_manifest();
        let mut covered = Self {
            root,
            store,
            limits,
            secrets,
            watch,
            files: RuleFiles::default(),
            stored,
            manifest: None,
            saved,
            running: HashMap::new(),
            begun: Vec::new(),
            recovered: Vec::new(),
            is_ending: false,
            is_stale: false,
        };
        covered.begun = begun::read(&covered.stored.slot.folder);
        covered.recovered = undo::recover(&mut covered.stored, &covered.root);
        Ok(covered)
    }

    /// Makes the first scan, unless it was made.
    ///
    /// # Errors
    /// If the root cannot be covered.
    pub(super) fn prepare(&mut self) -> Result<(), CheckpointError> {
        if self.manifest.is_none() { self.scan().map(|_| ()) } else { Ok(()) }
    }

    /// Scans the root and returns it as it is now.
    fn scan(&mut self) -> Result<Manifest, CheckpointError> {
        let since = Instant::now();
        // What turns have found covered stays covered, also those that were cut off.
        let cut_off = self.begun.iter().map(|begun| begun.before.clone());
        let running = self.running.values().map(|running| running.before.clone());
        let begun: Vec<Manifest> = running.chain(cut_off).collect();
        let scan = Scan {
            root: &self.root,
            own: &self.store,
            limits: &self.limits,
            files: &self.files,
            memory: &self.stored.memory,
            pack: &self.stored.pack,
            watch: &self.watch,
            begun: &begun,
        };
        let old = self.manifest.as_ref().unwrap_or(&self.saved);
        let manifest = scan.run(old).map_err(|error| self.scan_error(error))?;
        self.watch.took(since.elapsed());
        if self.manifest.is_none() {
            self.is_stale = true;
        }
        self.manifest = Some(manifest.clone());
        let begun = std::mem::take(&mut self.begun);
        self.log_begun(begun, &manifest);
        Ok(manifest)
    }

    fn scan_error(&self, error: ScanError) -> CheckpointError {
        let refused = |why| CheckpointError::Refused { root: self.root.clone(), why };
        match error {
            ScanError::TooManyFiles => refused(Refusal::TooManyFiles(self.limits.files)),
            ScanError::Unreadable(error) => refused(Refusal::Unreadable(error.to_string())),
            ScanError::Store(error) => CheckpointError::store(&self.root, &error),
            ScanError::Cancelled => CheckpointError::Ended,
        }
    }

    /// Fixes the state before a turn. `late` is 0 as long as the caller waits for that; otherwise it is when the turn
    /// began without waiting, in nanoseconds since 1970. Sets it to -1 if it did not come to that.
    ///
    /// # Errors
    /// If the root cannot be scanned.
    pub(super) fn begin(&mut self, turn: u64, late: &AtomicI64) -> Result<(), CheckpointError> {
        let known = self.manifest.clone().filter(|_| late.load(Ordering::Acquire) > 0);
        let manifest = known.map_or_else(|| self.scan(), Ok)?;
        let waited = late.compare_exchange(0, -1, Ordering::AcqRel, Ordering::Acquire);
        let before = match waited {
            Ok(_) => manifest,
            // Nobody knows the states of what has changed since then.
            Err(began) => manifest.map(|entry| {
                let is_late = entry.kind != Kind::Folder && entry.ctime >= began - RACY;
                let (content, skipped) = (None, Some(Skipped::Late));
                is_late.then(|| Entry { content, skipped, ..entry.clone() })
            }),
        };
        let is_late = waited.is_err();
        let running = Running { last: before.clone(), before, is_late, noted: None };
        self.running.insert(turn, running);
        Ok(())
    }

    /// Returns what has changed since the last look at a turn, or since it began.
    ///
    /// # Errors
    /// If the root cannot be scanned, or the turn has not begun.
    pub(super) fn look(&mut self, turn: u64) -> Result<Vec<FileChange>, CheckpointError> {
        let manifest = self.scan()?;
        let running = self.running.get_mut(&turn).ok_or(CheckpointError::Ended)?;
        let mut changes = running.last.changes(&manifest);
        let known = running.before.hidden_since(&running.last);
        let hidden = running.before.hidden_since(&manifest).into_iter();
        changes.extend(hidden.filter(|it| !known.iter().any(|known| known.path == it.path)));
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        running.last = manifest;
        if let Some(Err(error)) = running.noted.as_deref().map(begun::looked) {
            tracing::warn!(%error, "a look at a folder is not noted");
        }
        Ok(changes)
    }

    /// Ends a turn, and logs what has changed since it began. `None` if nothing has.
    ///
    /// # Errors
    /// If the root cannot be scanned, the turn has not begun, or it cannot be logged. It has ended all the same.
    pub(super) fn end(
        &mut self,
        turn: u64,
        about: &TurnAbout,
        attribute: Attribute,
    ) -> Result<Option<Turn>, CheckpointError> {
        let noted = self.running.get(&turn).and_then(|running| running.noted.clone());
        let pending = self.pending(turn, about, attribute)?;
        let logged = undo::log(&mut self.stored, pending);
        if let Some(noted) = noted {
            let _ = fs::remove_file(noted);
        }
        let turn = logged.map_err(|error| CheckpointError::store(&self.root, &error))?;
        self.is_stale |= turn.is_some();
        Ok(turn)
    }

    /// Ends a turn without logging it.
    fn pending(
        &mut self,
        turn: u64,
        about: &TurnAbout,
        mut attribute: Attribute,
    ) -> Result<PendingTurn, CheckpointError> {
        let scanned = self.scan();
        let running = self.running.remove(&turn).ok_or(CheckpointError::Ended)?;
        let manifest = scanned?;
        let mut changes = running.before.changes_of_turn(&manifest);
        changes.retain_mut(|change| attribute(change));
        for correction in &about.corrections {
            let corrected = self.correct(&mut changes, correction, &manifest);
            corrected.map_err(|error| CheckpointError::store(&self.root, &error))?;
        }
        let hidden = |text: &str| self.secrets.hide(text).into_owned();
        let prompt = hidden(about.prompt.trim_start());
        let summary = TurnSummary {
            id: self.next_turn(),
            time: seconds(now()),
            agent: hidden(&about.agent),
            session: hidden(&about.session),
            prompt: prompt.lines().next().unwrap_or_default().chars().take(PROMPT_LEN).collect(),
            undoes: about.undoes,
            failed: about.failed,
            coverage: Coverage::of(&running.before, running.is_late),
            files: 0,
            added: 0,
            removed: 0,
        };
        Ok(PendingTurn { summary, changes })
    }

    /// The id of the next turn that is logged.
    pub(super) fn next_turn(&self) -> TurnId {
        TurnId { slot: self.stored.slot.number, number: self.stored.log.next_number() }
    }

    /// Changes what is logged of a path.
    fn correct(
        &mut self,
        changes: &mut Vec<FileChange>,
        correction: &Correction,
        manifest: &Manifest,
    ) -> io::Result<()> {
        let Correction { path, before, after } = correction;
        let at = match changes.binary_search_by(|change| change.path.cmp(path)) {
            Ok(at) => at,
            Err(at) => {
                let is_known = !matches!((before, after), (Side::AsFound, _) | (_, Side::AsFound));
                let state = manifest.get(path).map(Entry::state).filter(|_| is_known);
                let Some(state) = state else { return Ok(()) };
                let (before, after) = (Some(state.clone()), Some(state));
                let path = path.clone();
                changes.insert(at, FileChange::new(path, before, after));
                at
            }
        };
        let (was, is) = (changes[at].before.take(), changes[at].after.take());
        let template = is.clone().or_else(|| was.clone());
        changes[at].found = was.clone().filter(|_| *before != Side::AsFound);
        changes[at].before = self.corrected(path, was, before, (template.as_ref(), true))?;
        changes[at].after = self.corrected(path, is, after, (template.as_ref(), false))?;
        Ok(())
    }

    fn corrected(
        &mut self,
        path: &TreePath,
        found: Option<State>,
        side: &Side,
        (template, is_before): (Option<&State>, bool),
    ) -> io::Result<Option<State>> {
        let is_unknown = |state: &State| state.kind == Kind::File && state.content.is_none();
        let bytes = match side {
            Side::AsFound => return Ok(found),
            // Whoever corrects that has not known it either.
            _ if is_before && found.as_ref().is_some_and(is_unknown) => return Ok(found),
            Side::Nothing => return Ok(None),
            // Nobody else has put anything into a file that was created.
            Side::File(bytes) if bytes.is_empty() && found.is_none() => return Ok(None),
            Side::File(bytes) => bytes,
        };
        let is_file = |state: &State| state.kind == Kind::File;
        let Some(state) = found.clone().or_else(|| template.cloned()).filter(is_file) else {
            return Ok(found);
        };
        let content = self.stored.keep(bytes, self.is_private(path))?;
        Ok(Some(State { content, size: bytes.len() as u64, ..state }))
    }

    /// Returns the content of a file when a turn began; `None` if there was none, or it is not kept.
    pub(super) fn content_before(&mut self, turn: u64, path: &TreePath) -> Option<Vec<u8>> {
        let id = self.running.get(&turn)?.before.get(path)?.content?;
        self.stored.content(&id)
    }

    /// Forgets a turn that will not be ended.
    pub(super) fn abandon(&mut self, turn: u64) {
        let running = self.running.remove(&turn);
        // What runs as the program ends was cut off.
        if let Some(running) = running.filter(|_| !self.is_ending) {
            running.is_over();
        }
    }

    /// The program is about to end.
    pub(super) fn ends(&mut self) {
        self.is_ending = true;
        self.save();
    }

    /// Logs turns that were cut off, if that has not been done.
    pub(super) fn complete(&mut self) {
        if !self.begun.is_empty()
            && let Err(error) = self.prepare()
        {
            tracing::warn!(%error, "a turn that was cut off is not known");
        }
    }

    /// The turns that are remembered, the newest first.
    pub(super) fn turns(&self) -> Vec<TurnSummary> {
        self.stored.turns()
    }

    /// # Errors
    /// If the turn is not remembered.
    pub(super) fn turn(&self, id: TurnId) -> Result<Turn, CheckpointError> {
        self.stored.turn(id).ok_or(CheckpointError::NoTurn(id))
    }

    /// # Errors
    /// If the content is not kept.
    pub(super) fn content(&mut self, id: ContentId) -> Result<Vec<u8>, CheckpointError> {
        self.stored.content(&id).ok_or(CheckpointError::NoContent(id))
    }

    /// Restores files. A journal is kept meanwhile, so that this is finished later should it be interrupted.
    ///
    /// # Errors
    /// If nothing was changed, since the root cannot be read or the journal not be written.
    pub(super) fn restore(&mut self, files: Vec<Restore>) -> Result<Restored, CheckpointError> {
        let tree = Tree::open(&self.root);
        let tree = tree.map_err(|error| CheckpointError::nothing_restored(&self.root, &error))?;
        let restored = self.restore_in(&tree, files);
        restored.map_err(|error| CheckpointError::nothing_restored(&self.root, &error))
    }

    /// The same in a tree that may be stopped.
    pub(super) fn restore_in(&mut self, tree: &Tree, files: Vec<Restore>) -> io::Result<Restored> {
        let (files, mut left) = self.plan(files)?;
        let undone = undo::carry_out(&mut self.stored, tree, Journal { files, turn: None })?;
        let mut restored = undone.restored;
        restored.left.append(&mut left);
        Ok(restored)
    }

    /// Finds out whether there is room for files that are to be restored.
    ///
    /// # Errors
    /// If there is not, or the root cannot be read.
    pub(super) fn room_for(&mut self, files: Vec<Restore>) -> Result<(), CheckpointError> {
        let tried = self.plan(files).and_then(|(files, _)| {
            let (tree, tag) =
                (Tree::open(&self.root)?, self.stored.slot.tag(self.stored.slot.number));
            Restorer::new(&tree, &mut self.stored, &tag, false).try_out(&files)
        });
        tried.map_err(|error| CheckpointError::nothing_restored(&self.root, &error))
    }

    /// Restores files, and ends a turn that has changed these and what has changed since it began. The turn is logged
    /// even if this is interrupted.
    ///
    /// # Errors
    /// If no file was changed. The turn has ended all the same, and what has changed since it began is logged.
    pub(super) fn undo(
        &mut self,
        turn: u64,
        files: Vec<Restore>,
        about: &TurnAbout,
        attribute: Attribute,
    ) -> Result<Undone, CheckpointError> {
        let tree = Tree::open(&self.root);
        let tree = tree.map_err(|error| CheckpointError::nothing_restored(&self.root, &error))?;
        self.undo_in(&tree, turn, files, about, attribute)
    }

    /// The same in a tree that may be stopped.
    pub(super) fn undo_in(
        &mut self,
        tree: &Tree,
        turn: u64,
        files: Vec<Restore>,
        about: &TurnAbout,
        attribute: Attribute,
    ) -> Result<Undone, CheckpointError> {
        // It is in the journal from now on.
        self.running.get(&turn).iter().for_each(|running| running.is_over());
        let pending = self.pending(turn, about, attribute)?;
        self.is_stale = true;
        let undone = self.plan(files).and_then(|(files, mut left)| {
            let journal = Journal { files, turn: Some(pending.clone()) };
            let mut undone = undo::carry_out(&mut self.stored, tree, journal)?;
            undone.restored.left.append(&mut left);
            Ok(undone)
        });
        undone.map_err(|error| {
            if !tree.is_stopped()
                && let Err(error) = undo::log(&mut self.stored, pending)
            {
                tracing::warn!(%error, "what an undo has changed in buffers is not kept");
            }
            CheckpointError::nothing_restored(&self.root, &error)
        })
    }

    /// Keeps given contents. Returns what can be restored, and the rest.
    fn plan(&mut self, files: Vec<Restore>) -> io::Result<(Vec<Planned>, Vec<Left>)> {
        let (mut plan, mut left) = (Vec::new(), Vec::new());
        for Restore { path, expected, mut target, bytes } in files {
            if let (Some(target), Some(bytes)) = (&mut target, bytes) {
                let is_private = self.is_private(&path);
                target.content = self.stored.keep(&bytes, is_private)?;
                target.size = bytes.len() as u64;
            }
            if path.is_proper() {
                plan.push(Planned { path, expected, target });
            } else {
                left.push(Left { path, why: WhyLeft::Improper });
            }
        }
        Ok((plan, left))
    }

    /// Returns, once, what has become of restores that were interrupted.
    pub(super) fn take_recovered(&mut self) -> Vec<Restored> {
        std::mem::take(&mut self.recovered)
    }
}

/// Seconds of a time in nanoseconds.
pub(super) fn seconds(nanoseconds: i64) -> u64 {
    u64::try_from(nanoseconds / 1_000_000_000).unwrap_or_default()
}
