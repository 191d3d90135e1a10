//! Documents in Neovim: the port of `files::editor` on the connection to Neovim, with `rat.buffers`
//! on the other side. It translates and decides nothing.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use async_trait::async_trait;
use rmpv::Value;

use crate::edit::{Collector, Edit, Hunk, Kept, LineEnding, Shape, Text};
use crate::files::DiskFacts;
use crate::files::editor::{
    Buffer, BufferId, Editor, EditorError, Encoded, Encoding, FileTime, Found, Lines, Outcome,
    Stamp, Then,
};
use crate::nvim::client::{Client, NvimError};

/// A slice of a snapshot has about so many bytes: Neovim is busy with it for about a millisecond.
const SLICE_BYTES: u64 = 256 * 1024;
/// So many slices are asked for ahead, so that Neovim need not wait for us.
const AHEAD: usize = 3;
/// So often a snapshot is begun again because the buffer was changed too much to follow.
const MOST_TRIES: usize = 5;

/// Documents loaded in the Neovim at the other end.
#[derive(Debug, Clone)]
pub struct NvimEditor {
    client: Client,
}

impl NvimEditor {
    /// Speaks through `client`; `lua/` of this project has to be on its 'runtimepath'.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    async fn call(&self, function: &'static str, args: Vec<Value>) -> Result<Value, EditorError> {
        self.call_in("rat.buffers", function, args).await
    }

    async fn call_in(
        &self,
        module: &'static str,
        function: &'static str,
        args: Vec<Value>,
    ) -> Result<Value, EditorError> {
        self.client.lua(module, function, args).await.map_err(|error| match error {
            NvimError::Lua(message) => EditorError::Failed(message),
            NvimError::Gone => EditorError::Failed(NvimError::Gone.to_string()),
        })
    }

    /// One try at a snapshot; `None` if the buffer was changed too much meanwhile.
    async fn collect(&self, id: BufferId) -> Result<Option<(Buffer, Text)>, EditorError> {
        let (begin, ends) = self.slices(id, 0).await?;
        let (mut text, mut ends) = (Collector::with_capacity(begin.bytes), VecDeque::from(ends));
        let mut asked = VecDeque::new();
        let mut next = 0;
        loop {
            while asked.len() < AHEAD
                && let Some(end) = ends.pop_front()
            {
                asked
                    .push_back((next, tokio::spawn(self.clone().slice(id, next..end, begin.tick))));
                next = end;
            }
            let Some((from, slice)) = asked.pop_front() else {
                // Lines came to the end meanwhile, or a change left a gap.
                next = text.len();
                ends = self.slices(id, next).await?.1.into();
                if ends.is_empty() {
                    // Lines went from the end meanwhile.
                    ends.push_back(next);
                }
                continue;
            };
            let slice = slice.await.map_err(|error| EditorError::Failed(error.to_string()))??;
            let Some(changes) = slice.changes else { return Ok(None) };
            text.add(from, &slice.lines.text, slice.lines.count, &changes);
            if let Some(buffer) = slice.end.filter(|buffer| buffer.lines == text.len()) {
                let text = Text::from_body(text.into_body(), buffer.shape, buffer.empty);
                return Ok(Some((buffer, text)));
            }
        }
    }

    async fn slices(&self, id: BufferId, from: usize) -> Result<(Buffer, Vec<usize>), EditorError> {
        let args = vec![id.0.into(), from.into(), SLICE_BYTES.into()];
        let mut fields = Fields::new(self.call("slices", args).await?)?;
        let ends = list(fields.take("ends").unwrap_or(Value::Nil))?;
        let ends = ends.into_iter().map(|end| number(Some(end))).collect::<Result<_, _>>()?;
        let facts = fields.take("facts").ok_or_else(|| unexpected("no facts"))?;
        Ok((found(facts)?.buffer, ends))
    }

    async fn slice(
        self,
        id: BufferId,
        lines: Range<usize>,
        since: i64,
    ) -> Result<Slice, EditorError> {
        let args = vec![id.0.into(), lines.start.into(), lines.end.into(), since.into()];
        Slice::new(self.call("lines", args).await?)
    }
}

struct Slice {
    lines: Lines,
    changes: Option<Vec<Hunk>>,
    /// Of the buffer, where the slice reaches its end.
    end: Option<Buffer>,
}

impl Slice {
    fn new(value: Value) -> Result<Self, EditorError> {
        let mut fields = Fields::new(value)?;
        let lines = Lines {
            text: text(fields.take("text"))?,
            count: number(fields.take("count"))?,
            tick: number(fields.take("tick"))?,
            is_end: false,
        };
        let changes = fields.take("changes").map(changes).transpose()?;
        let end = fields.take("facts").map(found).transpose()?.map(|found| found.buffer);
        Ok(Self { lines: Lines { is_end: end.is_some(), ..lines }, changes, end })
    }
}

/// How a buffer is asked for: by its path, and by what it was before and its tick then. `None` for a path that is not
/// UTF-8: it has no name an agent could have sent.
fn known_as(path: &Path, known: Option<(BufferId, i64)>) -> Option<Vec<Value>> {
    let (id, tick) =
        known.map_or((Value::Nil, Value::Nil), |(id, tick)| (id.0.into(), tick.into()));
    Some(vec![path.to_str()?.into(), id, tick])
}

#[async_trait]
impl Editor for NvimEditor {
    async fn find(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
    ) -> Result<Option<Found>, EditorError> {
        let Some(args) = known_as(path, known) else { return Ok(None) };
        match self.call("find", args).await? {
            Value::Nil => Ok(None),
            value => found(value).map(Some),
        }
    }

    async fn glance(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
        lines: Range<usize>,
    ) -> Result<Option<(Found, Option<Lines>)>, EditorError> {
        let Some(mut args) = known_as(path, known) else { return Ok(None) };
        args.extend([lines.start.into(), lines.end.into()]);
        let value = self.call("glance", args).await?;
        if value.is_nil() {
            return Ok(None);
        }
        let mut fields = Fields::new(value)?;
        let part = fields.take("part").map(|part| Slice::new(part).map(|slice| slice.lines));
        let facts = fields.take("facts").ok_or_else(|| unexpected("no facts"))?;
        Ok(Some((found(facts)?, part.transpose()?)))
    }

    async fn snapshot(&self, id: BufferId) -> Result<(Buffer, Text), EditorError> {
        for _ in 0..MOST_TRIES {
            if let Some(snapshot) = self.collect(id).await? {
                return Ok(snapshot);
            }
        }
        Err(EditorError::Restless)
    }

    async fn change(
        &self,
        id: BufferId,
        tick: i64,
        edits: &[Edit],
        then: &Then,
    ) -> Result<Outcome, EditorError> {
        let edits = Value::Array(edits.iter().map(edit).collect());
        let mut args = vec![id.0.into(), tick.into(), edits];
        let function = match then {
            Then::Leave => {
                args.push(false.into());
                "apply"
            }
            Then::Unmodified => {
                args.push(true.into());
                "apply"
            }
            Then::Save { eol } => {
                args.push((*eol).into());
                "write"
            }
            Then::Adopt { facts, shape, encoding, modified, kept: stay } => {
                let stay = stay.iter().map(kept).collect();
                args.extend([
                    file(*facts),
                    look(*shape, encoding),
                    (*modified).into(),
                    Value::Array(stay),
                ]);
                "adopt"
            }
        };
        outcome(self.call(function, args).await?)
    }

    async fn mark_modified(&self, id: BufferId, tick: i64) -> Result<(), EditorError> {
        self.call("mark_modified", vec![id.0.into(), tick.into()]).await.map(drop)
    }

    async fn as_step(
        &self,
        id: BufferId,
        tick: i64,
        back: &[Edit],
        forth: &[Edit],
    ) -> Result<(), EditorError> {
        let edits = |edits: &[Edit]| Value::Array(edits.iter().map(edit).collect());
        let args = vec![id.0.into(), tick.into(), edits(back), edits(forth)];
        self.call("as_step", args).await.map(drop)
    }

    async fn file_gone(&self, id: BufferId) -> Result<(), EditorError> {
        self.call("file_gone", vec![id.0.into()]).await.map(drop)
    }

    async fn decode(&self, bytes: &[u8], encoding: &str) -> Result<Option<String>, EditorError> {
        let args = vec![Value::Binary(bytes.to_vec()), encoding.into()];
        match self.call_in("rat.encoding", "decode", args).await? {
            Value::Nil => Ok(None),
            value => text(Some(value)).map(Some),
        }
    }

    async fn encode(&self, content: &str, encoding: &str) -> Result<Encoded, EditorError> {
        let args = vec![content.into(), encoding.into()];
        let mut fields = Fields::new(self.call_in("rat.encoding", "encode", args).await?)?;
        match fields.take("bytes") {
            Some(Value::String(bytes)) => Ok(Encoded::Bytes(bytes.into_bytes())),
            Some(Value::Binary(bytes)) => Ok(Encoded::Bytes(bytes)),
            _ => Ok(Encoded::Lacks(text(fields.take("lacks"))?)),
        }
    }
}

fn edit(edit: &Edit) -> Value {
    let (numbers, lines) = match edit {
        Edit::Lines { old, lines } => ([Some(old.start), None, Some(old.end), None], lines),
        Edit::Text { start, end, lines } => {
            ([Some(start.0), Some(start.1), Some(end.0), Some(end.1)], lines)
        }
    };
    let mut values: Vec<Value> =
        numbers.into_iter().map(|n| n.map_or(Value::from(-1), Value::from)).collect();
    values.push(Value::Array(lines.iter().map(|line| Value::from(line.as_str())).collect()));
    Value::Array(values)
}

fn kept(kept: &Kept) -> Value {
    let lines = kept.theirs.iter().map(|line| Value::from(line.as_str())).collect();
    Value::Array(vec![kept.lines.start.into(), kept.lines.end.into(), Value::Array(lines)])
}

fn file(facts: DiskFacts) -> Value {
    Value::Map(vec![
        ("sec".into(), facts.time.seconds.into()),
        ("nsec".into(), facts.time.nanoseconds.into()),
        ("size".into(), facts.size.into()),
        ("inode".into(), facts.inode.into()),
    ])
}

fn look(shape: Shape, encoding: &Encoding) -> Value {
    let format = match shape.ending {
        LineEnding::Lf => "unix",
        LineEnding::CrLf => "dos",
        LineEnding::Cr => "mac",
    };
    Value::Map(vec![
        ("format".into(), format.into()),
        ("eol".into(), shape.final_newline.into()),
        ("bom".into(), shape.bom.into()),
        ("encoding".into(), encoding.name().into()),
    ])
}

fn outcome(value: Value) -> Result<Outcome, EditorError> {
    let mut fields = Fields::new(value)?;
    if fields.flag("gone") {
        return Ok(Outcome::Gone);
    }
    if fields.flag("busy") {
        return Ok(Outcome::Busy);
    }
    let facts = fields.take("facts").ok_or_else(|| unexpected("no facts"))?;
    let found = found(facts)?;
    if fields.flag("stale") {
        return Ok(Outcome::Stale(found));
    }
    Ok(match fields.take("failed") {
        Some(reason) => Outcome::Failed { reason: text(Some(reason))?, found },
        None => {
            let saved = fields.take("saved").map(|saved| number(Some(saved))).transpose()?;
            Outcome::Done { found, saved }
        }
    })
}

fn found(value: Value) -> Result<Found, EditorError> {
    let mut fields = Fields::new(value)?;
    let changes = fields.take("changes").map(changes).transpose()?;
    let stamp = fields.take("stamp").map(Fields::new).transpose()?.map(|mut stamp| {
        let seconds = number(stamp.take("sec"))?;
        let time = FileTime { seconds, nanoseconds: number(stamp.take("nsec"))? };
        Ok(Stamp { time, size: number(stamp.take("size"))? })
    });
    let encoding = Encoding::named(&text(fields.take("encoding"))?);
    let formats = text(fields.take("formats"))?;
    let buffer = Buffer {
        id: BufferId(number(fields.take("buf"))?),
        tick: number(fields.take("tick"))?,
        lines: number(fields.take("lines"))?,
        bytes: number(fields.take("bytes"))?,
        empty: fields.flag("empty"),
        modified: fields.flag("modified"),
        locked: fields.take("locked").map(|reason| text(Some(reason))).transpose()?,
        shape: Shape {
            ending: ending(&text(fields.take("format"))?)?,
            final_newline: fields.flag("eol"),
            bom: fields.flag("bom") && encoding.may_have_mark(),
        },
        finds_encoding: fields.flag("finds_encoding"),
        formats: formats.split(',').filter_map(|format| ending(format).ok()).collect(),
        encoding,
        stamp: stamp.transpose()?,
    };
    Ok(Found { buffer, changes })
}

fn ending(format: &str) -> Result<LineEnding, EditorError> {
    match format {
        "unix" => Ok(LineEnding::Lf),
        "dos" => Ok(LineEnding::CrLf),
        "mac" => Ok(LineEnding::Cr),
        other => Err(unexpected(other)),
    }
}

/// `[[first, last, [line..]]..]`
fn changes(value: Value) -> Result<Vec<Hunk>, EditorError> {
    list(value)?
        .into_iter()
        .map(|change| {
            let mut parts = list(change)?.into_iter();
            let (start, end): (usize, usize) = (number(parts.next())?, number(parts.next())?);
            let lines = list(parts.next().unwrap_or(Value::Nil))?;
            let lines = lines.into_iter().map(|line| text(Some(line))).collect::<Result<_, _>>()?;
            Ok(Hunk { start, removed: end.saturating_sub(start), lines })
        })
        .collect()
}

/// The fields of a table, each to be taken once; what is nil in Lua is not there.
struct Fields(Vec<(Value, Value)>);

impl Fields {
    fn new(value: Value) -> Result<Self, EditorError> {
        match value {
            Value::Map(fields) => Ok(Self(fields)),
            other => Err(unexpected(&other)),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let (_, value) = self.0.iter_mut().find(|(key, _)| key.as_str() == Some(name))?;
        Some(std::mem::replace(value, Value::Nil)).filter(|value| !value.is_nil())
    }

    fn flag(&mut self, name: &str) -> bool {
        self.take(name).is_some_and(|value| value.as_bool() == Some(true))
    }
}

#[allow(clippy::needless_pass_by_value)] // Taken as it comes out of `Fields`.
fn number<T: TryFrom<i64>>(value: Option<Value>) -> Result<T, EditorError> {
    let number = value.as_ref().and_then(Value::as_i64).and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| unexpected(&format!("{value:?}")))
}

fn text(value: Option<Value>) -> Result<String, EditorError> {
    match value {
        Some(Value::String(text)) => text.into_str().ok_or(EditorError::NotText),
        other => Err(unexpected(&format!("{other:?}"))),
    }
}

/// An empty Lua table is an empty list, also where it arrives as a map.
fn list(value: Value) -> Result<Vec<Value>, EditorError> {
    match value {
        Value::Array(values) => Ok(values),
        Value::Map(fields) if fields.is_empty() => Ok(Vec::new()),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(what: &(impl std::fmt::Display + ?Sized)) -> EditorError {
    EditorError::Failed(format!("unexpected answer from rat.buffers: {what}"))
}
