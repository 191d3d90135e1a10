//! Messages about what agents have changed and nobody has decided on.

use super::Chat;
use crate::core::messages::checkpoint::KeptTurn;
use crate::core::messages::files::ProposedWrite;
use crate::core::messages::review::{
    self, ChangedHunk, ComparedFile, Comparison, ListPurpose, ListedChange, PendingFile,
    ReviewScope,
};
use crate::core::messages::review_page::{HeadKind, ReviewPage};
use crate::edit::Text;
use crate::nvim::text::{BufferText, FilePath, Handle, Label, Word, each};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// What is pending in a loaded file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Pending {
    /// The real path.
    path: FilePath,
    /// 'changedtick' of the buffer that the lines refer to.
    tick: i64,
    /// The hunks in the order of the text, four numbers for each: its first row, or the row after removed ones, from 0; how
    /// many rows it has; how many lines it replaces; and which one it is.
    hunks: Vec<usize>,
}

impl From<PendingFile> for Pending {
    fn from(file: PendingFile) -> Self {
        let hunks = file.hunks.into_iter();
        let hunks =
            hunks.flat_map(|hunk| [hunk.start, hunk.count, hunk.removed, hunk.id.0 as usize]);
        Self { path: FilePath::new(&file.path), tick: file.tick, hunks: hunks.collect() }
    }
}

/// What is pending in all files, as a unified diff. It comes in pieces, one after the other.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Review {
    /// The chat it was asked for in; missing for the one used last.
    chat: Option<u32>,
    /// Which changes it shows.
    scope: Word,
    /// The title above the lines.
    title: Label,
    /// The row of the first line, from 0.
    row: usize,
    /// How many rows from there on the lines replace; missing for all rows there are.
    replaces: Option<usize>,
    /// Whether this only updates a review that is open.
    update: bool,
    /// The number of the page, which is the same in all pieces of it.
    page: u64,
    /// Whether this is the last piece.
    last: bool,
    /// The lines.
    lines: Vec<BufferText>,
    /// The lines among them that name a file.
    heads: Vec<ReviewHead>,
    /// The hunks among them, five numbers for each: the row in the whole review, from 0; the first row in the file, from
    /// 0; how many rows it has there; which one it is; and a number that is the same as that of the hunk before it in the
    /// file if the same tool calls made both.
    hunks: Vec<usize>,
}

/// A line of a review that names a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct ReviewHead {
    /// Its row in the whole review, from 0.
    row: usize,
    /// The path of the file.
    path: FilePath,
    /// The path that it had before, if it was moved: both are decided on together.
    from: Option<FilePath>,
    /// What it is about: `file` for lines of a file, `state` for a file as a whole, `group` for everything after it.
    kind: Word,
    /// Whether it is not known that an agent made these changes.
    unknown: bool,
}

impl From<ReviewPage> for Review {
    fn from(page: ReviewPage) -> Self {
        let heads = page.heads.into_iter();
        let heads = heads.map(|head| ReviewHead {
            row: head.row,
            path: FilePath::new(&head.path),
            from: head.from.as_deref().map(FilePath::new),
            kind: Word::new(match head.kind {
                HeadKind::File => "file",
                HeadKind::State => "state",
                HeadKind::Group => "group",
            }),
            unknown: head.is_unknown,
        });
        let hunks = page.hunks.into_iter();
        let hunks = hunks.flat_map(|hunk| {
            [hunk.row, hunk.lines.start, hunk.lines.len(), hunk.id.0 as usize, hunk.calls]
        });
        Self {
            chat: page.list.chat.map(|chat| chat.0),
            scope: Word::new(match page.list.scope {
                ReviewScope::All => "all",
                ReviewScope::Session => "session",
                ReviewScope::Turn => "turn",
                ReviewScope::ToolCall => "tool",
            }),
            title: Label::new(&page.title),
            row: page.row,
            replaces: page.replaces,
            update: page.list.purpose == ListPurpose::Update,
            page: page.page,
            last: page.is_last,
            lines: each(page.lines, BufferText::new),
            heads: heads.collect(),
            hunks: hunks.collect(),
        }
    }
}

/// A file and its base, to be compared in diff mode.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Compare {
    /// The real path.
    path: FilePath,
    /// Whether a comparison that is shown is only to be updated.
    update: bool,
    /// The path that it had before, if it was moved.
    from: Option<FilePath>,
    /// The name of the base, as the review shows it.
    name: Label,
    /// The lines without what is pending; missing if nothing is.
    base: Option<Vec<BufferText>>,
    /// The hunks, five numbers for each: the first row, from 0, and how many rows there are, in the base and then in the file;
    /// and which one it is.
    hunks: Vec<usize>,
    /// Whether it has become too large for diff mode, so that its lines and hunks are missing.
    too_large: bool,
}

impl From<ComparedFile> for Compare {
    fn from(file: ComparedFile) -> Self {
        let Comparison { path, from, is_update } = file.comparison;
        let hunks = file.hunks.into_iter().flat_map(|ChangedHunk { base, text, id, .. }| {
            [base.start, base.len(), text.start, text.len(), id.0 as usize]
        });
        Self {
            path: FilePath::new(&path),
            update: is_update,
            from: from.as_deref().map(FilePath::new),
            name: Label::new(&file.name),
            base: file.base.map(|base| each(base.lines(), BufferText::new)),
            hunks: hunks.collect(),
            too_large: file.is_too_large,
        }
    }
}

/// A write that waits for the user's consent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Proposal {
    /// The number of the question about it.
    id: u64,
    /// The chat.
    chat: Chat,
    /// The real path.
    path: FilePath,
    /// The present lines.
    before: Vec<BufferText>,
    /// The lines it would have.
    after: Vec<BufferText>,
}

impl Proposal {
    pub(super) fn new(id: u64, chat: Chat, write: &ProposedWrite) -> Self {
        let lines = |text: &Text| each(text.lines(), BufferText::new);
        let (before, after) = (lines(&write.before), lines(&write.after));
        Self { id, chat, path: FilePath::new(&write.path), before, after }
    }
}

/// Turns whose changes are kept, the newest first.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Turns {
    /// The chat it was asked for in.
    chat: Chat,
    /// The number of the call of `require("rat").turns()` that wants them; missing to let the user choose.
    request: Option<u64>,
    /// Whether they are those of one prompt.
    prompt: bool,
    /// The turns.
    items: Vec<ListedTurn>,
}

/// A turn whose changes are kept.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct ListedTurn {
    /// The folder whose files it changed.
    root: FilePath,
    /// Its id among the turns of that folder.
    id: Handle,
    /// The chat whose turn it was, if that was opened in this Neovim.
    chat: Option<Chat>,
    /// The turn of that chat, from 1, as the pending hunks have it.
    turn: Option<u64>,
    /// When it ended, in seconds since 1970.
    time: u64,
    /// The agent's name in the configuration.
    agent: Label,
    /// The beginning of the prompt.
    prompt: Label,
    /// Whether it has been undone.
    undone: bool,
    /// How many files it changed.
    files: usize,
    /// How many lines it added.
    added: usize,
    /// How many lines it removed.
    removed: usize,
}

impl Turns {
    pub(super) fn new(
        chat: Chat,
        turns: Vec<KeptTurn>,
        request: Option<u64>,
        prompt: bool,
    ) -> Self {
        let items = turns.into_iter().map(|turn| ListedTurn {
            root: FilePath::new(&turn.turn.root),
            id: Handle::new(turn.turn.id),
            chat: turn.by.as_ref().map(|by| by.session.chat.0),
            turn: turn.by.as_ref().map(|by| by.turn),
            time: turn.time,
            agent: Label::new(turn.agent),
            prompt: Label::new(turn.prompt),
            undone: turn.is_undone,
            files: turn.files,
            added: turn.added,
            removed: turn.removed,
        });
        Self { chat, request, prompt, items: items.collect() }
    }
}

/// The pending hunks of all files.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Changes {
    /// The number of the call that wants them.
    request: u64,
    /// The hunks.
    items: Vec<Change>,
}

/// Files that may have changed on disk.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Rewritten {
    /// Their real paths.
    paths: Vec<FilePath>,
}

impl Rewritten {
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        Self { paths: each(paths, |path| FilePath::new(path)) }
    }
}

/// How many lines are pending, by chat. Chats without any are missing.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct PendingCounts {
    /// The counts.
    items: Vec<PendingCount>,
}

/// How many lines are pending that the agent of a chat has changed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct PendingCount {
    /// The chat.
    chat: Chat,
    /// How many lines were added.
    added: usize,
    /// How many were removed.
    removed: usize,
}

impl From<Vec<review::PendingCount>> for PendingCounts {
    fn from(counts: Vec<review::PendingCount>) -> Self {
        let items = counts.into_iter().map(|review::PendingCount { chat, added, removed }| {
            PendingCount { chat: chat.0, added, removed }
        });
        Self { items: items.collect() }
    }
}

/// A pending hunk.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Change {
    /// The real path of the file.
    path: FilePath,
    /// Its first line in the file, from 1, or the line after removed ones.
    lnum: usize,
    /// The lines it has removed.
    removed: Vec<BufferText>,
    /// The lines it has added.
    added: Vec<BufferText>,
    /// The chat whose agent made it.
    chat: Option<Chat>,
    /// The turn of that chat, from 1.
    turn: Option<u64>,
    /// The tool call that made it, if that is known.
    tool: Option<Handle>,
    /// The title of the tool call.
    title: Label,
}

impl Changes {
    pub(super) fn new(request: u64, changes: Vec<ListedChange>) -> Self {
        let items = changes.into_iter().map(|change| Change {
            path: FilePath::new(&change.path),
            lnum: change.row + 1,
            removed: each(change.removed, BufferText::new),
            added: each(change.added, BufferText::new),
            chat: change.by.as_ref().map(|by| by.session.chat.0),
            turn: change.by.as_ref().map(|by| by.turn),
            tool: change.by.and_then(|by| by.tool_call).map(Handle::new),
            title: Label::new(change.title),
        });
        Self { request, items: items.collect() }
    }
}
