//! Converts between the types of `documents::editor` and those of `nvim::messages::calls::document`.

use crate::documents::editor::{Buffer, BufferId, EditorError, Found, Lines, Outcome};
use crate::documents::{DiskFacts, Encoding, FileTime, Stamp};
use crate::edit::{self, Hunk, LineEnding, Shape, UnresolvedHunk};
use crate::nvim::messages::calls::{LuaText, document};
use crate::session::author::Author;

/// Some lines of a buffer, as a part of a snapshot.
pub(super) struct Slice {
    pub(super) lines: Lines,
    /// The changes of the buffer since the snapshot began; `None` if they are not known.
    pub(super) changes: Option<Vec<Hunk>>,
    /// The buffer, if the slice reaches its end.
    pub(super) end: Option<Buffer>,
}

pub(super) fn slice(slice: document::Slice) -> Result<Slice, EditorError> {
    let end = slice.facts.map(found).transpose()?.map(|found| found.buffer);
    let lines = Lines {
        text: text(slice.text)?,
        count: slice.count,
        tick: slice.tick,
        is_end: end.is_some(),
    };
    Ok(Slice { lines, changes: slice.changes.map(changes).transpose()?, end })
}

pub(super) fn edit(edit: &edit::Edit) -> document::Edit<'_> {
    // No buffer has so many lines or columns that the conversion fails.
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    match edit {
        edit::Edit::Lines { old, lines } => {
            document::Edit(number(old.start), -1, number(old.end), -1, lines)
        }
        edit::Edit::Text { start, end, lines } => {
            document::Edit(number(start.0), number(start.1), number(end.0), number(end.1), lines)
        }
    }
}

pub(super) fn unresolved_hunk(hunk: &UnresolvedHunk) -> document::Unresolved<'_> {
    document::Unresolved(hunk.lines.start, hunk.lines.end, &hunk.theirs)
}

/// Tells the turns of all chats apart.
pub(super) fn turn_name(author: &Author) -> String {
    format!("{}:{}", author.session.chat.0, author.turn)
}

pub(super) fn file(facts: DiskFacts) -> document::File {
    document::File {
        sec: facts.time.seconds,
        nsec: facts.time.nanoseconds,
        size: facts.size,
        inode: facts.inode,
    }
}

pub(super) fn shape_of(shape: Shape, encoding: &Encoding) -> document::Shape {
    document::Shape {
        format: match shape.ending {
            LineEnding::Lf => document::Format::Unix,
            LineEnding::CrLf => document::Format::Dos,
            LineEnding::Cr => document::Format::Mac,
        },
        eol: shape.final_newline,
        bom: shape.bom,
        encoding: encoding.name().to_owned(),
    }
}

pub(super) fn outcome(outcome: document::Outcome) -> Result<Outcome, EditorError> {
    if outcome.gone {
        return Ok(Outcome::Gone);
    } else if outcome.busy {
        return Ok(Outcome::Busy);
    }
    let facts = outcome.facts.ok_or_else(|| unexpected("a change", "facts: missing"))?;
    let found = found(facts)?;
    if outcome.stale {
        return Ok(Outcome::Stale(found));
    }
    Ok(match outcome.failed {
        Some(reason) => Outcome::Failed { reason: text(reason)?, found },
        None => Outcome::Done { found, saved: outcome.saved },
    })
}

pub(super) fn found(facts: document::Facts) -> Result<Found, EditorError> {
    let document::Shape { format, eol, bom, encoding } = facts.shape;
    let encoding = Encoding::from_name(&encoding);
    let stamp = facts.stamp.map(|stamp| Stamp {
        time: FileTime { seconds: stamp.sec, nanoseconds: stamp.nsec },
        size: stamp.size,
    });
    let buffer = Buffer {
        id: BufferId(facts.buf),
        tick: facts.tick,
        undo: facts.undo,
        lines: facts.lines,
        bytes: facts.bytes,
        empty: facts.empty,
        modified: facts.modified,
        locked: facts.locked.map(text).transpose()?,
        shape: Shape {
            ending: ending(format),
            final_newline: eol,
            bom: bom && encoding.may_have_bom(),
        },
        formats: facts.formats.split(',').filter_map(named_ending).collect(),
        finds_encoding: facts.finds_encoding,
        encoding,
        stamp,
    };
    let by_writes = facts.by_writes.into_iter().flatten().map(|(first, end)| first..end).collect();
    Ok(Found { buffer, changes: facts.changes.map(changes).transpose()?, by_writes })
}

fn ending(format: document::Format) -> LineEnding {
    match format {
        document::Format::Unix => LineEnding::Lf,
        document::Format::Dos => LineEnding::CrLf,
        document::Format::Mac => LineEnding::Cr,
    }
}

fn named_ending(format: &str) -> Option<LineEnding> {
    match format {
        "unix" => Some(LineEnding::Lf),
        "dos" => Some(LineEnding::CrLf),
        "mac" => Some(LineEnding::Cr),
        _ => None,
    }
}

fn changes(changes: Vec<document::Change>) -> Result<Vec<Hunk>, EditorError> {
    let hunk = |document::Change(start, end, lines): document::Change| {
        let lines = lines.into_iter().map(text).collect::<Result<_, _>>()?;
        Ok(Hunk { start, removed: end.saturating_sub(start), lines })
    };
    changes.into_iter().map(hunk).collect()
}

pub(super) fn text(text: LuaText) -> Result<String, EditorError> {
    text.into_string().ok_or(EditorError::NotText)
}

pub(super) fn unexpected(call: &str, problem: &str) -> EditorError {
    EditorError::Failed(format!("unexpected answer to {call}: {problem}"))
}
