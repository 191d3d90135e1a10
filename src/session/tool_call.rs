//! Tool calls: what an agent does with its tools (ACP tool calls).

use super::content::Content;
use super::ids::{TerminalId, ToolCallId};
use super::terminal::TerminalNews;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a tool does (ACP `ToolKind`); an unknown kind is `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Changes a file.
    Edit,
    /// Removes something.
    Delete,
    /// Moves or renames.
    Move,
    /// Looks for something.
    Search,
    /// Runs a command.
    Execute,
    /// Plans or reasons.
    Think,
    /// Fetches from elsewhere.
    Fetch,
    /// Switches the session's mode.
    SwitchMode,
    /// Anything else.
    #[default]
    Other,
}

/// Where a tool call stands. `Cancelled` and `Rejected` are ours: version 1 of the protocol has no such status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ToolStatus {
    /// Announced, or waiting for the user.
    #[default]
    Pending,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// The turn was cancelled before it ended.
    Cancelled,
}

impl ToolStatus {
    /// Whether the call may still go on.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

/// A place the call is about, to jump to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Absolute path.
    pub path: PathBuf,
    /// Line, counted from 1.
    pub line: Option<u32>,
}

/// A change to one file, to be shown; showing it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// Absolute path.
    pub path: PathBuf,
    /// The old text: the whole file or a fragment; `None` for a new file.
    pub old: Option<String>,
    /// The new text: the whole file or a fragment.
    pub new: String,
}

/// One item of what a tool call produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToolContent {
    /// A content block.
    Content(Content),
    /// A change to a file.
    Diff(Diff),
    /// What a terminal shows, ours or one of the agent's own.
    Terminal(TerminalId),
    /// A kind of item we do not know.
    Unknown {
        /// Its `type`.
        kind: String,
    },
}

/// What the agent passed to the tool, as far as we understand it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolInput {
    /// The shell command, where the input has one.
    pub command: Option<String>,
    /// The folder it runs in.
    pub cwd: Option<String>,
    /// What else it has, by name, as text; an input that is no object has no name.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    /// The whole input as pretty-printed JSON.
    pub json: String,
}

/// A change to a tool call: only what is `Some` changes (ACP `tool_call`, `tool_call_update`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCallPatch {
    /// What the user reads.
    pub title: Option<String>,
    /// The tool's own name.
    pub name: Option<String>,
    /// What it does.
    pub kind: Option<ToolKind>,
    /// Where it stands.
    pub status: Option<ToolStatus>,
    /// Replaces all content.
    pub content: Option<Vec<ToolContent>>,
    /// Replaces all locations.
    pub locations: Option<Vec<Location>>,
    /// What went into the tool.
    pub input: Option<ToolInput>,
    /// What came out, as text; shown where there is no content.
    pub output: Option<String>,
    /// What happened in terminals of the agent's own, oldest first.
    pub terminals: Vec<(TerminalId, TerminalNews)>,
}

/// A tool call as known now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: ToolCallId,
    /// What the user reads; the tool's name where the agent gave no title.
    pub title: String,
    /// The tool's own name.
    pub name: Option<String>,
    /// What it does.
    pub kind: ToolKind,
    /// Where it stands.
    pub status: ToolStatus,
    /// What it produced.
    pub content: Vec<ToolContent>,
    /// Where it works.
    pub locations: Vec<Location>,
    /// What went into the tool.
    pub input: Option<ToolInput>,
    /// What came out, as text.
    pub output: Option<String>,
    /// What the agent added last to what the protocol says, as JSON text.
    #[serde(default)]
    pub meta: Option<String>,
}

impl ToolCall {
    /// A call of which nothing but the id is known yet.
    pub fn new(id: ToolCallId) -> Self {
        Self {
            id,
            title: String::new(),
            name: None,
            kind: ToolKind::Other,
            status: ToolStatus::Pending,
            content: Vec::new(),
            locations: Vec::new(),
            input: None,
            output: None,
            meta: None,
        }
    }

    /// Takes over what the patch has, leaves the rest.
    pub fn apply(&mut self, patch: ToolCallPatch) {
        let ToolCallPatch {
            title,
            name,
            kind,
            status,
            content,
            locations,
            input,
            output,
            terminals: _,
        } = patch;
        if let Some(title) = title {
            self.title = title;
        }
        if let Some(kind) = kind {
            self.kind = kind;
        }
        if let Some(status) = status {
            self.status = status;
        }
        if let Some(content) = content {
            self.content = content;
        }
        if let Some(locations) = locations {
            self.locations = locations;
        }
        self.name = name.or_else(|| self.name.take());
        self.input = match (input, self.input.take()) {
            // Agents repeat the input in part: what it said before of the folder still holds.
            (Some(new), Some(old)) => Some(ToolInput {
                command: new.command.or(old.command),
                cwd: new.cwd.or(old.cwd),
                fields: new.fields,
                json: new.json,
            }),
            (new, old) => new.or(old),
        };
        self.output = output.or_else(|| self.output.take());
    }

    /// The terminals among the content, in order.
    pub fn terminals(&self) -> impl Iterator<Item = &TerminalId> {
        self.content.iter().filter_map(|item| match item {
            ToolContent::Terminal(id) => Some(id),
            _ => None,
        })
    }

    /// The files it names: its locations, and those it shows changes of.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let locations = self.locations.iter().map(|location| location.path.as_path());
        locations.chain(self.diffs().map(|diff| diff.path.as_path()))
    }

    /// The diffs among the content, in order.
    pub fn diffs(&self) -> impl Iterator<Item = &Diff> {
        self.content.iter().filter_map(|item| match item {
            ToolContent::Diff(diff) => Some(diff),
            _ => None,
        })
    }
}
