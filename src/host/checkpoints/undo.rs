//! Follows the journal of a restore: changes the files, logs the turn that this is, then removes the journal. Each step can
//! be repeated, so that one that was interrupted is finished when the root is opened again.

use super::entry::{FileChange, State};
use super::error::reason;
use super::journal::{self, Journal, PendingTurn};
use super::restore::{Left, Restored, Restorer, WhyLeft};
use super::slot;
use super::stored::Stored;
use super::tree::Tree;
use super::turns::{Turn, TurnLog, TurnSummary};
use std::collections::HashSet;
use std::io;
use std::path::Path;

/// What has become of a restore that is a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// What has become of its files.
    pub restored: Restored,
    /// Why it could not be logged, if that has failed: it cannot be taken back.
    pub not_logged: Option<String>,
}

/// Writes a journal and follows it.
///
/// # Errors
/// If no file was changed, since there is no room for a content or the journal, or if the tree was stopped.
pub(super) fn carry_out(stored: &mut Stored, tree: &Tree, journal: Journal) -> io::Result<Undone> {
    let states = journal.files.iter().flat_map(|file| [&file.expected, &file.target]).flatten();
    stored.adopt(states)?;
    let (slot, number) = (stored.slot.folder.clone(), stored.slot.number);
    journal::write(&slot, &journal)?;
    let tag = stored.slot.tag(number);
    let restored = match Restorer::new(tree, stored, &tag, false).run(journal.files.clone()) {
        Err(error) if !tree.is_stopped() => {
            journal::remove(&slot)?;
            return Err(error);
        }
        restored => restored?,
    };
    let mut undone = Undone { restored, not_logged: None };
    if let Some(turn) = journal.turn.clone() {
        let turn = with_restored(turn, &journal, &undone.restored);
        let logged = interruptible(tree, || log(stored, turn))?;
        undone.not_logged = logged.err().map(|error| reason(&error));
    }
    if let Err(error) = interruptible(tree, || journal::remove(&slot))? {
        tracing::error!(%error, "the journal of a restore was not removed");
    }
    Ok(undone)
}

/// Does something in a step of its own. The outer error is that the tree was stopped.
fn interruptible<T>(
    tree: &Tree,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<io::Result<T>> {
    match tree.step() {
        Err(error) if tree.is_stopped() => Err(error),
        step => Ok(step.and_then(|()| work())),
    }
}

/// Finishes what the slot, or others that nobody has any more, were restoring when they were interrupted.
pub(super) fn recover(stored: &mut Stored, root: &Path) -> Vec<Restored> {
    let own = (stored.slot.number, stored.slot.folder.clone());
    let mut recovered = Vec::new();
    for (number, folder) in [vec![own], stored.slot.others()].concat() {
        let is_own = number == stored.slot.number;
        let lock = if is_own { None } else { slot::lock(&folder).ok().flatten() };
        if !is_own && lock.is_none() {
            continue;
        }
        if let Some(journal) = journal::read(&folder) {
            let finished = finish(stored, root, &journal, (number, &folder));
            match finished {
                Ok(restored) => recovered.push(restored),
                Err(error) => {
                    tracing::error!(%error, "a restore that was interrupted cannot be finished");
                    continue;
                }
            }
        }
        if let Err(error) = journal::remove(&folder) {
            tracing::error!(%error, "the journal of a restore was not removed");
        }
        drop(lock);
    }
    recovered
}

/// Follows the journal of a slot that nobody else has.
fn finish(
    stored: &mut Stored,
    root: &Path,
    journal: &Journal,
    (number, folder): (u32, &Path),
) -> io::Result<Restored> {
    let tree = Tree::open(root)?;
    let tag = stored.slot.tag(number);
    let restored = Restorer::new(&tree, stored, &tag, true).run(journal.files.clone())?;
    if let Some(turn) = journal.turn.clone() {
        let turn = with_restored(turn, journal, &restored);
        let logged = if number == stored.slot.number {
            log(stored, turn)
        } else {
            // It is logged where its contents are, since these are kept as long as a turn there needs them.
            TurnLog::open(folder).and_then(|mut log| append(&mut log, counted(stored, turn)))
        };
        if let Err(error) = logged {
            tracing::error!(%error, "an undo that was interrupted is finished, but not kept");
        }
    }
    Ok(restored)
}

/// Adds the files that were restored to what a turn has changed.
fn with_restored(mut turn: PendingTurn, journal: &Journal, restored: &Restored) -> PendingTurn {
    let done: HashSet<_> = restored.done.iter().collect();
    for file in journal.files.iter().filter(|file| done.contains(&file.path)) {
        let (path, before, after) = (file.path.clone(), file.expected.clone(), file.target.clone());
        let restored = FileChange::new(path, before, after);
        let earlier = turn.changes.iter().position(|change| change.path == file.path);
        let earlier = earlier.map(|at| turn.changes.remove(at));
        turn.changes.push(match (earlier, &restored.after) {
            // Its text was changed before, in a buffer.
            (Some(FileChange { before, after: Some(after), .. }), Some(target))
                if restored.is_of_mode() =>
            {
                let after = Some(State { mode: target.mode, ..after });
                FileChange { before, after, ..restored }
            }
            _ => restored,
        });
    }
    turn.changes.sort_by(|one, other| one.path.cmp(&other.path));
    let is_failed = |left: &&Left| matches!(left.why, WhyLeft::Failed(_));
    turn.summary.failed += restored.left.iter().filter(is_failed).count();
    turn
}

/// Logs a turn, unless it was logged. `None` if it has changed nothing.
///
/// # Errors
/// If it could not be written; the log is as before.
pub(super) fn log(stored: &mut Stored, turn: PendingTurn) -> io::Result<Option<Turn>> {
    stored.pack.get_mut().sync()?;
    let turn = counted(stored, turn);
    append(&mut stored.log, turn)
}

/// Counts what a turn has changed.
fn counted(stored: &mut Stored, turn: PendingTurn) -> Turn {
    let PendingTurn { mut summary, changes } = turn;
    summary.files = changes.iter().filter(|change| !change.is_of_folder()).count();
    (summary.added, summary.removed) = stored.count_lines(&changes);
    Turn { summary, changes }
}

fn append(log: &mut TurnLog, mut turn: Turn) -> io::Result<Option<Turn>> {
    let of = |it: &TurnSummary| (it.id, it.time, it.undoes);
    if turn.changes.is_empty() || log.summaries().any(|it| of(it) == of(&turn.summary)) {
        return Ok(None);
    }
    // Others may have been logged since an undo was interrupted, if it could not be finished at once.
    turn.summary.id.number = turn.summary.id.number.max(log.next_number());
    log.append(&turn)?;
    Ok(Some(turn))
}
