//! What a Neovim with some files does: windows, buffers, commands and their autocommands. It knows no documents of ours but
//! for what `lua/rat` does in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rat_nvim::documents::editor::{Buffer as Facts, BufferId, Found, Outcome, Then};
use rat_nvim::documents::{DiskFacts, Encoding, FileTime, Stamp};
use rat_nvim::edit::{Edit, LineEnding, Shape};

use super::super::desk::{Act, Formatter};
use super::super::dice::Dice;
use super::super::disk;
use super::super::user::SORTED;
use super::buffer::{Buffer, Maker};

/// So seldom, once in so many, text cannot be changed for a moment.
const BUSY: usize = 500;
const MOST_WINDOWS: usize = 6;

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) folder: PathBuf,
    pub(super) buffers: Vec<Buffer>,
    windows: Vec<usize>,
    window: usize,
    last_window: usize,
    autoread: bool,
    formatter: Formatter,
    pub(super) is_inserting: bool,
    /// What is typed after so many more calls.
    pub(super) typed: Option<(usize, Act)>,
    busy: usize,
    pub(super) told: Vec<String>,
    /// What the user is asked.
    pub(super) asks: Option<String>,
    pub(super) dice: Dice,
}

fn facts(path: &Path) -> Option<DiskFacts> {
    fs::metadata(path).ok().map(|file| DiskFacts::from(&file))
}

fn stamp(path: &Path) -> Option<Stamp> {
    facts(path).map(|facts| Stamp { time: facts.time, size: facts.size })
}

fn time(stamp: Option<Stamp>) -> Option<FileTime> {
    stamp.map(|stamp| stamp.time)
}

impl Inner {
    pub(super) fn new(folder: PathBuf, autoread: bool, seed: u64) -> Self {
        Self {
            folder,
            buffers: Vec::new(),
            windows: vec![0],
            window: 0,
            last_window: 0,
            autoread,
            formatter: Formatter::None,
            is_inserting: false,
            typed: None,
            busy: 0,
            told: Vec::new(),
            asks: None,
            dice: Dice::new(seed),
        }
    }

    pub(super) fn current(&mut self) -> &mut Buffer {
        let at = self.windows[self.window];
        &mut self.buffers[at]
    }

    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        self.buffers.iter().position(|buffer| buffer.path == path)
    }

    fn tell(&mut self, kind: &str, buffer: usize) {
        self.told.push(format!("{kind} {}", self.buffers[buffer].path.display()));
    }

    /// What happens whenever Neovim comes to wait for more: `BufModifiedSet`, of the current buffer.
    pub(super) fn idles(&mut self) {
        let Some(&at) = self.windows.get(self.window).filter(|_| !self.buffers.is_empty()) else {
            return;
        };
        let buffer = &mut self.buffers[at];
        if std::mem::take(&mut buffer.is_news) {
            if buffer.modified {
                buffer.attach();
            } else if buffer.clean_at != buffer.tick {
                self.tell("clean", at);
            }
        }
    }

    /// A call comes in: what is typed may come before it.
    pub(super) fn is_called(&mut self) {
        match self.typed.take() {
            Some((0, act)) => self.does(&act),
            Some((calls, act)) => self.typed = Some((calls - 1, act)),
            None => {}
        }
        self.idles();
    }

    pub(super) fn does(&mut self, act: &Act) {
        let at = self.windows[self.window];
        if !self.is_inserting && !self.buffers.is_empty() {
            self.buffers[at].sync();
        }
        match act {
            Act::Open(name) => self.opens(name),
            Act::GoTo { name, quietly } => self.goes_to(name, *quietly),
            Act::Reread(name) => match self.find(&self.folder.join(name)) {
                Some(found) => {
                    self.windows[self.window] = found;
                    self.rereads(found);
                }
                None => self.opens(name),
            },
            Act::Reload => self.rereads(at),
            Act::Write { insists } => self.writes(at, *insists),
            Act::Window(command) => self.arranges(command),
            Act::Format(formatter) => self.formatter = *formatter,
            _ => self.edits(act),
        }
        if !self.is_inserting {
            self.current().sync();
        }
        self.idles();
    }

    fn edits(&mut self, act: &Act) {
        let buffer = self.current();
        let line = |line: usize| Arc::clone(&buffer.lines[line - 1]);
        match act {
            Act::Insert { line, above, text } => {
                let at = line - usize::from(*above);
                buffer.splice(at..at, vec![text.as_str().into()]);
            }
            Act::Append { line: number, text } => {
                let new = format!("{}{text}", line(*number));
                buffer.splice(number - 1..*number, vec![new.into()]);
            }
            Act::Change { line, text } => {
                buffer.splice(line - 1..*line, vec![text.as_str().into()]);
            }
            Act::Delete { first, last } => buffer.splice(first - 1..*last, Vec::new()),
            Act::Copy { line: number } => {
                let copy = line(*number);
                buffer.splice(*number..*number, vec![copy]);
            }
            Act::Move { line: number, to } if to != number && *to != number - 1 => {
                let moved = line(*number);
                buffer.splice(*to..*to, vec![moved]);
                let old = if to < number { *number } else { number - 1 };
                buffer.splice(old..old + 1, Vec::new());
            }
            Act::Undo => buffer.undo(),
            Act::Redo => buffer.redo(),
            Act::Earlier(steps) => buffer.earlier(*steps),
            Act::Later(steps) => buffer.later(*steps),
            Act::Begin { line, text } => {
                buffer.splice(*line..*line, vec![text.as_str().into()]);
                buffer.row = *line;
                self.is_inserting = true;
            }
            Act::Type { below: true, text } => {
                let at = buffer.row + 1;
                buffer.splice(at..at, vec![text.as_str().into()]);
                buffer.row = at;
            }
            Act::Type { below: false, text } => {
                let at = buffer.row;
                let new = format!("{}{text}", buffer.lines[at]);
                buffer.splice(at..at + 1, vec![new.into()]);
            }
            Act::Escape => self.is_inserting = false,
            _ => {}
        }
    }

    fn opens(&mut self, name: &str) {
        let path = self.folder.join(name);
        let text = fs::read_to_string(&path).unwrap();
        self.buffers.push(Buffer::new(path, &text));
        let at = self.buffers.len() - 1;
        self.windows[self.window] = at;
        self.has_read(at);
    }

    fn rereads(&mut self, at: usize) {
        let text = fs::read_to_string(&self.buffers[at].path).unwrap();
        self.buffers[at].is_read(&text);
        self.has_read(at);
    }

    fn has_read(&mut self, at: usize) {
        let buffer = &mut self.buffers[at];
        let stamp = stamp(&buffer.path);
        (buffer.stamp, buffer.read, buffer.noted) = (stamp, stamp, stamp);
        buffer.clean_at = buffer.tick;
        self.tell("read", at);
    }

    /// Going to a buffer, Neovim looks at the time of its file.
    fn goes_to(&mut self, name: &str, quietly: bool) {
        let at = self.find(&self.folder.join(name)).unwrap();
        self.windows[self.window] = at;
        let buffer = &mut self.buffers[at];
        let stamp = stamp(&buffer.path);
        if time(stamp) == time(buffer.noted) {
            return;
        }
        if self.autoread && !buffer.modified {
            self.rereads(at);
            return;
        }
        buffer.noted = stamp;
        if !quietly {
            self.asks = Some(format!("{name} has changed since editing started"));
        }
    }

    fn arranges(&mut self, command: &str) {
        let shown = self.windows[self.window];
        match command {
            "split" | "vsplit" if self.windows.len() < MOST_WINDOWS => {
                self.windows.insert(self.window, shown);
                self.last_window = self.window + 1;
            }
            "wincmd w" => {
                self.last_window = self.window;
                self.window = (self.window + 1) % self.windows.len();
            }
            "wincmd p" => std::mem::swap(&mut self.window, &mut self.last_window),
            "only" => {
                self.windows = vec![shown];
                (self.window, self.last_window) = (0, 0);
            }
            _ => {}
        }
    }

    /// The user's `:write`.
    fn writes(&mut self, at: usize, insists: bool) {
        let buffer = &self.buffers[at];
        let now = facts(&buffer.path);
        // As `rat.document.external_change` has it: a file that was adopted is no surprise.
        let is_known = now.map(|facts| facts.time) == time(buffer.read)
            || now.is_some_and(|now| buffer.adopted.is_some_and(|file| is_file(now, file)));
        if !insists && !is_known {
            self.asks = Some("the file has been changed since reading it".to_owned());
            return;
        }
        self.buffers[at].maker = Maker::Write;
        self.formats(at);
        self.buffers[at].maker = Maker::Anybody;
        self.buffers[at].end.eol = true;
        self.saves(at);
        self.tell("saved", at);
    }

    fn formats(&mut self, at: usize) {
        let buffer = &mut self.buffers[at];
        match self.formatter {
            Formatter::Strip => {
                let lines = buffer.lines.iter().map(|line| line.trim_end_matches(' ').into());
                let lines: Vec<Arc<str>> = lines.collect();
                // A line without blanks counts as changed, too.
                buffer.splice(0..lines.len(), lines);
            }
            Formatter::Commas => {
                let with_comma = |line: &Arc<str>| {
                    if line.ends_with(|it: char| it.is_ascii_digit()) {
                        format!("{line},").into()
                    } else {
                        Arc::clone(line)
                    }
                };
                let lines: Vec<Arc<str>> = buffer.lines.iter().map(with_comma).collect();
                buffer.splice(0..lines.len(), lines);
            }
            Formatter::Sort if buffer.lines.len() >= SORTED => {
                let mut lines = buffer.lines[1..SORTED].to_vec();
                lines.sort();
                buffer.splice(1..SORTED, lines);
            }
            Formatter::Sort | Formatter::None => {}
        }
    }

    /// Writes the text to the file.
    fn saves(&mut self, at: usize) {
        let buffer = &mut self.buffers[at];
        let mut text = if buffer.end.empty { String::new() } else { buffer.text() };
        if !buffer.end.eol {
            text.pop();
        }
        // Depends on 'backupcopy', too.
        if self.dice.once_in(2) {
            disk::overwrite(&buffer.path, &text);
        } else {
            disk::replace(&buffer.path, &text);
        }
        buffer.is_written();
        let stamp = stamp(&buffer.path);
        (buffer.stamp, buffer.read, buffer.noted) = (stamp, stamp, stamp);
        (buffer.clean_at, buffer.adopted) = (buffer.tick, None);
    }

    /// What `rat.document.buffers` says of a buffer.
    pub(super) fn facts(&self, at: usize, since: Option<i64>) -> Found {
        let buffer = &self.buffers[at];
        let shape = Shape {
            ending: LineEnding::Lf,
            final_newline: buffer.end.eol || buffer.modified,
            bom: false,
        };
        Found {
            buffer: Facts {
                id: BufferId(i64::try_from(at).unwrap() + 1),
                tick: buffer.tick,
                undo: buffer.undo_state(),
                lines: buffer.lines.len(),
                bytes: buffer.bytes(),
                empty: buffer.end.empty,
                modified: buffer.modified,
                locked: None,
                shape,
                formats: vec![LineEnding::Lf, LineEnding::CrLf],
                finds_encoding: true,
                encoding: Encoding::Utf8,
                stamp: buffer.stamp,
            },
            changes: since.and_then(|tick| buffer.since(tick)),
            by_writes: since.map(|tick| buffer.by_writes(tick)).unwrap_or_default(),
        }
    }

    /// Follows a buffer that is asked about.
    pub(super) fn attach(&mut self, at: usize) {
        let buffer = &mut self.buffers[at];
        buffer.attach();
        if buffer.stamp.is_none() {
            buffer.stamp = stamp(&buffer.path);
        }
    }

    /// Makes a change as `rat.document.buffers` does.
    pub(super) fn changes(&mut self, at: usize, tick: i64, edits: &[Edit], then: &Then) -> Outcome {
        if self.busy > 0 {
            self.busy -= 1;
            return Outcome::Busy;
        } else if self.dice.once_in(BUSY) {
            self.busy = 1;
            return Outcome::Busy;
        }
        if self.buffers[at].since(tick).is_none_or(|changes| !changes.is_empty()) {
            return Outcome::Stale(self.facts(at, Some(tick)));
        }
        self.buffers[at].sync();
        let mut saved = None;
        match then {
            Then::Nothing => self.buffers[at].make(edits),
            Then::Unmodified => {
                self.buffers[at].make(edits);
                self.buffers[at].modified = false;
            }
            Then::Save { eol } => {
                self.buffers[at].make(edits);
                let is_typed_in = self.is_inserting && self.windows[self.window] == at;
                self.buffers[at].end.eol = *eol;
                self.buffers[at].modified = true;
                if !is_typed_in {
                    self.formats(at);
                }
                saved = self.buffers[at].since(tick).map(|changes| changes.len());
                self.saves(at);
            }
            Then::FollowDisk { facts, shape, modified, unresolved, .. } => {
                let buffer = &mut self.buffers[at];
                buffer.mark(unresolved);
                if !edits.is_empty() {
                    // Neovim notes at each change whether undoing it leads back to what the file says: not here.
                    buffer.modified = true;
                }
                buffer.make(edits);
                let has_end =
                    if *modified { buffer.end.eol || buffer.modified } else { buffer.end.eol };
                if has_end != shape.final_newline {
                    buffer.end.eol = shape.final_newline;
                }
                buffer.modified = *modified;
                self.acknowledges(at, *facts);
            }
        }
        self.buffers[at].sync();
        let outcome = Outcome::Done { found: self.facts(at, Some(tick)), saved };
        self.idles();
        outcome
    }

    /// Neovim takes note of the file as it is.
    fn acknowledges(&mut self, at: usize, file: DiskFacts) {
        let buffer = &mut self.buffers[at];
        let Some(now) = facts(&buffer.path).filter(|now| is_file(*now, file)) else { return };
        buffer.noted = Some(Stamp { time: now.time, size: now.size });
        buffer.adopted = buffer.stamp.and(Some(now));
    }

    /// What an agent did to a file before it was opened becomes a step.
    pub(super) fn makes_a_step(&mut self, at: usize, tick: i64, back: &[Edit], forth: &[Edit]) {
        let buffer = &mut self.buffers[at];
        let is_stale = buffer.since(tick).is_none_or(|changes| !changes.is_empty());
        if is_stale || buffer.last_step() > 0 || buffer.modified {
            return;
        }
        buffer.makes_first(back);
        // Undone, the buffer has a text that the file has not.
        buffer.modified = true;
        buffer.make(forth);
        buffer.modified = false;
        buffer.sync();
        self.idles();
    }
}

fn is_file(now: DiskFacts, file: DiskFacts) -> bool {
    (now.time, now.size, now.inode) == (file.time, file.size, file.inode)
}
