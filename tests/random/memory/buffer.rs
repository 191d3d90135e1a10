//! A buffer as Neovim keeps it: lines, 'changedtick', 'modified', what can be undone, and what changed of late. It knows no
//! file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use rat_nvim::documents::{DiskFacts, Stamp};
use rat_nvim::edit::{Edit, Hunk, UnresolvedHunk};

type Lines = Arc<Vec<Arc<str>>>;

/// As in `rat.document.track`: more is not kept of one buffer.
const MOST_BYTES: usize = 256 * 1024;

/// A change that can be undone, with the text it made. The first is none: it is the text at the beginning.
#[derive(Debug)]
struct Step {
    /// The one it was made after.
    above: usize,
    lines: Lines,
    /// What 'modified' is on the other side of it: before it while it is done, after it while it is undone.
    modified: bool,
    /// The one that redoing leads to.
    below: Option<usize>,
}

/// What changed since a tick.
#[derive(Debug)]
struct Log {
    from: i64,
    changes: Vec<Change>,
    bytes: usize,
}

#[derive(Debug)]
struct Change {
    tick: i64,
    hunk: Hunk,
    bytes: usize,
    /// An autocommand of a write made it.
    by_write: bool,
}

/// Who changes it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    Anybody,
    /// An autocommand, before it is written for the user.
    Write,
}

/// Lines that the buffer keeps although the file has others.
#[derive(Debug)]
struct Conflict {
    rows: Range<usize>,
    ours: Vec<Arc<str>>,
    theirs: Vec<Arc<str>>,
    is_decided: bool,
}

/// How a text ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// There is not even an empty line.
    pub(super) empty: bool,
    /// The last line has its end.
    pub(super) eol: bool,
}

#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) path: PathBuf,
    pub(super) lines: Lines,
    pub(super) end: End,
    pub(super) tick: i64,
    pub(super) modified: bool,
    /// Whether 'modified' has changed, and nobody was told.
    pub(super) is_news: bool,
    /// The tick at which it was last read or written.
    pub(super) clean_at: i64,
    /// The cursor's line, from 0.
    pub(super) row: usize,
    /// What the file was when it was last read or written, as `rat.document.track` saw it.
    pub(super) stamp: Option<Stamp>,
    /// The same as Neovim knows it, and what it last took note of.
    pub(super) read: Option<Stamp>,
    pub(super) noted: Option<Stamp>,
    /// The file that was adopted since.
    pub(super) adopted: Option<DiskFacts>,
    pub(super) maker: Maker,
    steps: Vec<Step>,
    at: usize,
    /// Whether the next change belongs to the step of the last one.
    is_open: bool,
    log: Option<Log>,
    conflicts: Vec<Conflict>,
}

fn lines_of(text: &str) -> Vec<Arc<str>> {
    text.lines().map(Arc::from).collect()
}

impl Buffer {
    /// A file is read for the first time.
    pub(super) fn new(path: PathBuf, text: &str) -> Self {
        let mut buffer = Self {
            path,
            lines: Lines::default(),
            end: End { empty: true, eol: true },
            tick: 2,
            modified: false,
            is_news: false,
            clean_at: 0,
            row: 0,
            stamp: None,
            read: None,
            noted: None,
            adopted: None,
            maker: Maker::Anybody,
            steps: Vec::new(),
            at: 0,
            is_open: false,
            log: None,
            conflicts: Vec::new(),
        };
        buffer.shows(lines_of(text));
        let lines = Arc::clone(&buffer.lines);
        buffer.steps.push(Step { above: 0, lines, modified: false, below: None });
        buffer
    }

    fn shows(&mut self, lines: Vec<Arc<str>>) {
        self.end.empty = lines.is_empty();
        self.lines = Arc::new(if lines.is_empty() { vec!["".into()] } else { lines });
    }

    /// All lines, as they are looked at.
    pub(super) fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.len() + 1).sum()
    }

    /// The number of the newest step.
    pub(super) fn last_step(&self) -> usize {
        self.steps.len() - 1
    }

    /// Where it is in its undo history.
    pub(super) fn undo_state(&self) -> i64 {
        i64::try_from(self.at).unwrap()
    }

    /// Ends a step: what comes next is one of its own.
    pub(super) fn sync(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.steps[self.at].lines = Arc::clone(&self.lines);
        }
    }

    fn changed(&mut self) {
        self.is_news |= !self.modified;
        self.modified = true;
        self.tick += 1;
    }

    fn unchanged(&mut self) {
        self.is_news |= self.modified;
        self.modified = false;
        self.tick += 1;
    }

    /// Lines give way to others.
    pub(super) fn splice(&mut self, rows: Range<usize>, new: Vec<Arc<str>>) {
        if !self.is_open {
            self.begin_step();
        }
        let hunk = hunk(rows.clone(), &new);
        self.moves_marks(rows.clone(), new.len());
        let lines = Arc::make_mut(&mut self.lines);
        lines.splice(rows, new);
        self.end.empty = lines.is_empty();
        if self.end.empty {
            lines.push("".into());
        }
        self.row = self.row.min(lines.len() - 1);
        self.changed();
        self.record(hunk);
    }

    fn begin_step(&mut self) {
        let (above, lines) = (self.at, Arc::clone(&self.lines));
        self.steps.push(Step { above, lines, modified: self.modified, below: None });
        (self.at, self.is_open) = (self.steps.len() - 1, true);
    }

    /// Makes edits, from the last to the first.
    pub(super) fn make(&mut self, edits: &[Edit]) {
        for edit in edits.iter().rev() {
            match edit {
                Edit::Lines { old, lines } => {
                    self.splice(
                        old.clone(),
                        lines.iter().map(|line| line.as_str().into()).collect(),
                    );
                }
                Edit::Text { start, end, lines } => {
                    let mut new = lines.clone();
                    new[0].insert_str(0, &self.lines[start.0][..start.1]);
                    new.last_mut().unwrap().push_str(&self.lines[end.0][end.1..]);
                    let new = new.into_iter().map(Arc::from).collect();
                    self.splice(start.0..end.0 + 1, new);
                }
            }
        }
    }

    /// Makes edits without a step: the text at the beginning is another.
    pub(super) fn makes_first(&mut self, edits: &[Edit]) {
        self.is_open = true;
        self.make(edits);
        self.sync();
    }

    pub(super) fn undo(&mut self) {
        self.sync();
        if self.at == 0 {
            return;
        }
        let (step, above) = (self.at, self.steps[self.at].above);
        self.steps[above].below = Some(step);
        self.goes(above, step);
    }

    pub(super) fn redo(&mut self) {
        self.sync();
        if let Some(below) = self.steps[self.at].below {
            self.goes(below, below);
        }
    }

    /// To the text of a step, across another or the same one.
    fn goes(&mut self, to: usize, across: usize) {
        let becomes = std::mem::replace(&mut self.steps[across].modified, self.modified);
        let new = Arc::clone(&self.steps[to].lines);
        let old = Arc::clone(&self.lines);
        let shorter = old.len().min(new.len());
        let first = (0..shorter).take_while(|&i| old[i] == new[i]).count();
        let last = (1..=shorter - first).take_while(|i| old[old.len() - i] == new[new.len() - i]);
        let last = last.count();
        let rows = first..old.len() - last;
        let lines = &new[first..new.len() - last];
        self.moves_marks(rows.clone(), lines.len());
        let hunk = hunk(rows, lines);
        self.lines = new;
        self.end.empty = false;
        self.row = first.min(self.lines.len() - 1);
        self.at = to;
        self.changed();
        self.record(hunk);
        if becomes { self.changed() } else { self.unchanged() }
    }

    /// To the text after so many steps were made, back or forth and across branches (`:help undo-branches`).
    fn goes_to(&mut self, step: usize) {
        let mut way = vec![step];
        while let Some(&step) = way.last().filter(|step| **step > 0) {
            way.push(self.steps[step].above);
        }
        while !way.contains(&self.at) {
            self.undo();
        }
        let below: Vec<usize> = way.into_iter().take_while(|&step| step != self.at).collect();
        for step in below.into_iter().rev() {
            self.steps[self.at].below = Some(step);
            self.redo();
        }
    }

    pub(super) fn earlier(&mut self, steps: usize) {
        self.sync();
        self.goes_to(self.at.saturating_sub(steps));
    }

    pub(super) fn later(&mut self, steps: usize) {
        self.sync();
        self.goes_to((self.at + steps).min(self.last_step()));
    }

    /// The text was written: undoing leads to texts that the file has not.
    pub(super) fn is_written(&mut self) {
        self.unchanged();
        self.steps.iter_mut().for_each(|step| step.modified = true);
    }

    /// The file is read again; that can be undone.
    pub(super) fn is_read(&mut self, text: &str) {
        self.sync();
        self.begin_step();
        self.steps.iter_mut().for_each(|step| step.modified = true);
        self.shows(lines_of(text));
        self.sync();
        self.row = self.row.min(self.lines.len() - 1);
        (self.end.eol, self.adopted) = (true, None);
        self.conflicts.clear();
        self.unchanged();
        if self.log.take().is_some() {
            self.attach();
        }
    }

    /// Follows it from now on.
    pub(super) fn attach(&mut self) {
        if self.log.is_none() {
            self.log = Some(Log { from: self.tick, changes: Vec::new(), bytes: 0 });
        }
    }

    fn record(&mut self, hunk: Hunk) {
        let (tick, Some(log)) = (self.tick, &mut self.log) else { return };
        let bytes = hunk.lines.iter().map(|line| line.len() + 1).sum::<usize>() + 64;
        if bytes > MOST_BYTES {
            *log = Log { from: tick, changes: Vec::new(), bytes: 0 };
            return;
        }
        log.changes.push(Change { tick, hunk, bytes, by_write: self.maker == Maker::Write });
        log.bytes += bytes;
        if log.bytes > MOST_BYTES {
            let mut gone = 0;
            while log.bytes > MOST_BYTES / 2 {
                log.bytes -= log.changes[gone].bytes;
                log.from = log.changes[gone].tick;
                gone += 1;
            }
            log.changes.drain(..gone);
        }
    }

    /// What changed after a tick; `None` if that is too long ago to know.
    pub(super) fn since(&self, tick: i64) -> Option<Vec<Hunk>> {
        let log = self.log.as_ref().filter(|log| tick >= log.from)?;
        let after = log.changes.iter().filter(|change| change.tick > tick);
        Some(after.map(|change| change.hunk.clone()).collect())
    }

    /// Which of these an autocommand of a write has made.
    pub(super) fn by_writes(&self, tick: i64) -> Vec<Range<usize>> {
        let changes = self.log.iter().flat_map(|log| &log.changes);
        let after = changes.filter(|change| change.tick > tick).enumerate();
        after.filter(|(_, change)| change.by_write).map(|(at, _)| at..at + 1).collect()
    }

    /// Marks lines before the change that leaves them as they are.
    pub(super) fn mark(&mut self, kept: &[UnresolvedHunk]) {
        for one in kept {
            let rows = one.lines.clone();
            self.conflicts.retain(|conflict| {
                let other = &conflict.rows;
                !(*other == rows || (other.start < rows.end && rows.start < other.end))
            });
            let ours = self.lines[rows.start.min(self.lines.len())..rows.end].to_vec();
            let theirs = one.theirs.iter().map(|line| line.as_str().into()).collect();
            self.conflicts.push(Conflict { rows, ours, theirs, is_decided: false });
        }
    }

    /// The file's lines where nothing is decided yet.
    pub(super) fn conflicts(&mut self) -> String {
        let count = self.lines.len();
        for conflict in &mut self.conflicts {
            let rows = conflict.rows.start.min(count)..conflict.rows.end.min(count);
            let now = &self.lines[rows];
            if now == conflict.theirs {
                conflict.is_decided = true;
            } else if now == conflict.ours {
                conflict.is_decided = false;
            }
        }
        let open = self.conflicts.iter().filter(|conflict| !conflict.is_decided);
        open.flat_map(|conflict| &conflict.theirs).flat_map(|line| [line, "\n"]).collect()
    }

    fn moves_marks(&mut self, rows: Range<usize>, new: usize) {
        let place = |row: usize, is_end: bool| {
            if row < rows.start || (row == rows.start && !is_end) {
                row
            } else if row >= rows.end {
                row - rows.len() + new
            } else {
                row.min(rows.start + new)
            }
        };
        for conflict in &mut self.conflicts {
            let start = place(conflict.rows.start, false);
            conflict.rows = start..place(conflict.rows.end, true).max(start);
        }
        // The cursor's line is moved by one that is put in front of it.
        self.row = if self.row == rows.start && rows.is_empty() {
            self.row + new
        } else {
            place(self.row, false)
        };
    }
}

fn hunk(rows: Range<usize>, lines: &[Arc<str>]) -> Hunk {
    let lines = lines.iter().map(ToString::to_string).collect();
    Hunk { start: rows.start, removed: rows.len(), lines }
}
