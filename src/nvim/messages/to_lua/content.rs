//! Messages about what the user has asked to see: pages, terminals, content and changes.

use super::Chat;
use crate::core::messages::content::{ContentAction, ContentOffer};
use crate::core::messages::page::{PageId, ScratchPage};
use crate::nvim::text::{BufferText, FilePath, Handle, Label, TerminalBytes, Word, each};
use crate::session::address::{self, Address};
use crate::session::content::ContentId;
use crate::session::ids::{TerminalId, ToolCallId};
use crate::session::tool_call;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// A text for a scratch buffer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Scratch {
    /// The chat.
    chat: Chat,
    /// What the text is.
    kind: PageKind,
    /// For `output` and `content`: the tool call or the content.
    id: Option<Handle>,
    /// The title above the text.
    title: Label,
    /// 'filetype'; empty if `like` decides.
    filetype: Word,
    /// A file name to detect 'filetype' from.
    like: Option<Label>,
    /// Whether to append the lines to the text shown already.
    more: bool,
    /// Whether to put the cursor at the end.
    at_end: bool,
    /// The lines.
    lines: Vec<BufferText>,
    /// Whether to focus the window.
    focus: bool,
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum PageKind {
    /// Facts about the agent.
    Info,
    /// The output of a tool call.
    Output,
    /// A piece of content.
    Content,
    /// What a turn has changed.
    Turn,
    /// What undoing a turn would change.
    Preview,
}

/// Output for a terminal buffer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct TerminalOutput {
    /// The chat.
    chat: Chat,
    /// The terminal.
    terminal: Handle,
    /// The command and its state.
    title: Label,
    /// Whether to show the buffer, creating it if necessary.
    open: bool,
    /// The bytes to send to the terminal.
    bytes: TerminalBytes,
    /// Whether the command has ended and this is the last of its output.
    over: bool,
}

/// What can be done with a piece of content.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Offer {
    /// The chat.
    chat: Chat,
    /// The content.
    id: Handle,
    /// A description in one line.
    title: Label,
    /// A suggested file name, without a folder.
    name: Label,
    /// What can be done with the content itself.
    can: Vec<Can>,
    /// The file that its URI points to, if it is one.
    path: Option<FilePath>,
    /// The line in that file, from 1.
    line: Option<u32>,
    /// The web page that its URI points to, if it is one.
    url: Option<Label>,
    /// The host of that page.
    host: Option<Label>,
    /// Warnings about that page, one line each.
    warnings: Vec<Label>,
}

/// Something that can be done with the content itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Can {
    /// Show its text.
    Show,
    /// Show it as an image, if the editor can.
    Picture,
    /// Open it with another program.
    Open,
    /// Save it to a file.
    Save,
}

/// Content that was written to a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Exported {
    /// The chat.
    chat: Chat,
    /// The content.
    id: Handle,
    /// The file.
    path: FilePath,
    /// Whether nothing was written because the file exists.
    exists: bool,
    /// What Lua will do with the file, as it said in `content`.
    r#use: Option<Handle>,
}

/// Changes to show in diff mode.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Diff {
    /// The chat.
    chat: Chat,
    /// The number of the permission request, if one is waiting.
    id: Option<u64>,
    /// The tool call that makes the changes.
    tool_call: Handle,
    /// The tool call's title.
    title: Label,
    /// The changed files.
    files: Vec<File>,
    /// Whether the user may edit the change before allowing it.
    editable: bool,
}

/// A file before and after a change.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct File {
    /// The path for display.
    path: Label,
    /// The text before the change; empty for a new file.
    old: BufferText,
    /// The text after the change.
    new: BufferText,
}

impl From<ScratchPage> for Scratch {
    fn from(it: ScratchPage) -> Self {
        let (kind, id) = match it.page {
            PageId::Info => (PageKind::Info, None),
            PageId::Turn => (PageKind::Turn, None),
            PageId::Preview => (PageKind::Preview, None),
            PageId::Output(tool_call) => (PageKind::Output, Some(Handle::new(tool_call))),
            PageId::Content(content) => (PageKind::Content, Some(Handle::new(content.encode()))),
        };
        Self {
            chat: it.chat.0,
            kind,
            id,
            title: Label::new(it.title),
            filetype: Word::new(it.filetype),
            like: it.like.map(Label::new),
            more: it.more,
            at_end: it.at_end,
            lines: each(it.text.lines(), BufferText::new),
            focus: true,
        }
    }
}

impl TerminalOutput {
    pub(super) fn new(
        chat: Chat,
        terminal: TerminalId,
        title: &str,
        open: bool,
        bytes: Vec<u8>,
        over: bool,
    ) -> Self {
        let (terminal, title) = (Handle::new(terminal), Label::new(title));
        Self { chat, terminal, title, open, bytes: TerminalBytes(bytes), over }
    }
}

impl From<ContentOffer> for Offer {
    fn from(offer: ContentOffer) -> Self {
        let (path, line, page) = match offer.address {
            Some(Address::File { path, line }) => (Some(path), line, None),
            Some(Address::Web(page)) => (None, None, Some(page)),
            None => (None, None, None),
        };
        let (url, host, warnings) = match page {
            Some(address::Page { url, host, warnings }) => (Some(url), Some(host), warnings),
            None => (None, None, Vec::new()),
        };
        let can = |can| match can {
            ContentAction::Show => Can::Show,
            ContentAction::Picture => Can::Picture,
            ContentAction::Open => Can::Open,
            ContentAction::Save => Can::Save,
        };
        Self {
            chat: offer.chat.0,
            id: Handle::new(offer.id.encode()),
            title: Label::new(offer.title),
            name: Label::new(offer.name),
            can: each(offer.can, can),
            path: path.map(|path| FilePath::new(&path)),
            line,
            url: url.map(Label::new),
            host: host.map(Label::new),
            warnings: each(warnings, Label::new),
        }
    }
}

impl Exported {
    pub(super) fn new(
        chat: Chat,
        id: &ContentId,
        path: &Path,
        exists: bool,
        then: Option<String>,
    ) -> Self {
        let (id, path) = (Handle::new(id.encode()), FilePath::new(path));
        Self { chat, id, path, exists, r#use: then.map(Handle::new) }
    }
}

impl Diff {
    pub(super) fn new(
        chat: Chat,
        id: Option<u64>,
        tool_call: ToolCallId,
        title: &str,
        files: Vec<tool_call::Diff>,
        editable: bool,
    ) -> Self {
        let file = |file: tool_call::Diff| File {
            path: Label::of_path(&file.path),
            old: BufferText::new(file.old.unwrap_or_default()),
            new: BufferText::new(file.new),
        };
        let (tool_call, title) = (Handle::new(tool_call), Label::new(title));
        Self { chat, id, tool_call, title, files: each(files, file), editable }
    }
}
