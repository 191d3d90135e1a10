//! Tool calls (ACP tool calls): their state, and the updates that change it.

use super::content::Content;
use super::ids::{TerminalId, ToolCallId};
use super::terminal::TerminalUpdate;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How many items of content, and how many locations, are kept of a tool call.
pub const MAX_ITEMS: usize = 500;

/// What a tool does (ACP `ToolKind`). A kind we do not know is `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Changes a file.
    Edit,
    /// Deletes a file.
    Delete,
    /// Moves or renames a file.
    Move,
    /// Searches.
    Search,
    /// Runs a command.
    Execute,
    /// Plans or reasons.
    Think,
    /// Fetches external data.
    Fetch,
    /// Switches the session's mode.
    SwitchMode,
    /// Anything else.
    #[default]
    Other,
}

/// The status of a tool call (ACP `ToolCallStatus`). `Cancelled` is ours: version 1 of the protocol
/// does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ToolStatus {
    /// Not started: the input is incomplete, or the user has to give permission.
    #[default]
    Pending,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// The turn was cancelled before the call ended.
    Cancelled,
}

impl ToolStatus {
    /// Whether the call has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }

    /// Returns a word for the user.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "waiting",
            Self::InProgress => "running",
            Self::Completed => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A location that a tool call works on, which the user can jump to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Absolute path.
    pub path: PathBuf,
    /// Line, counted from 1.
    pub line: Option<u32>,
}

/// A change to one file, for display only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// Absolute path.
    pub path: PathBuf,
    /// The old text: the whole file or a fragment; `None` for a new file.
    pub old: Option<String>,
    /// The new text: the whole file or a fragment.
    pub new: String,
}

/// A change to a file or folder of which the text is not known or does not matter, such as a rename.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// What was done, in one word, such as `deleted`.
    pub done: String,
    /// Absolute path, after the change.
    pub path: PathBuf,
    /// Absolute path before the change, if it was another.
    pub from: Option<PathBuf>,
}

/// An item of a tool call's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToolContent {
    /// A content block.
    Content(Content),
    /// A change to a file.
    Diff(Diff),
    /// A change to a file without its text.
    Change(FileChange),
    /// The output of a terminal, ours or one of the agent's own.
    Terminal(TerminalId),
    /// A type of item we do not know.
    Unknown {
        /// Its `type`.
        kind: String,
    },
}

/// A question that a tool asks the user, as its input says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolQuestion {
    /// The question.
    pub text: String,
    /// The answers to choose from, each with its description.
    pub options: Vec<String>,
}

/// The input of a tool (ACP `rawInput`), as far as we understand it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolInput {
    /// The shell command, if the input has one.
    pub command: Option<String>,
    /// The directory in which the command runs.
    pub cwd: Option<String>,
    /// Command lines in other fields: which of them runs is the agent's to choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_commands: Vec<String>,
    /// Directories in other fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_cwds: Vec<String>,
    /// The other fields with their values as text. An input that is not an object is one field with
    /// an empty name.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    /// What it asks the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<ToolQuestion>,
    /// The whole input as pretty-printed JSON.
    pub json: String,
}

impl ToolInput {
    /// Returns every command line that it may stand for.
    pub fn commands(&self) -> impl Iterator<Item = &String> {
        self.command.iter().chain(&self.other_commands)
    }

    /// Returns every directory in which that may run; none if it names none.
    pub fn cwds(&self) -> impl Iterator<Item = &String> {
        self.cwd.iter().chain(&self.other_cwds)
    }
}

/// How many items of a tool call are not kept, because there are more than [`MAX_ITEMS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Omitted {
    /// Items of content.
    pub content: usize,
    /// Locations.
    pub locations: usize,
}

/// An update of a tool call (ACP `tool_call`, `tool_call_update`). `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCallPatch {
    /// The title.
    pub title: Option<String>,
    /// The programmatic name of the tool.
    pub name: Option<String>,
    /// What the tool does.
    pub kind: Option<ToolKind>,
    /// The status.
    pub status: Option<ToolStatus>,
    /// Replaces all content.
    pub content: Option<Vec<ToolContent>>,
    /// Replaces all locations.
    pub locations: Option<Vec<Location>>,
    /// What was left out of the two.
    pub omitted: Omitted,
    /// The input.
    pub input: Option<ToolInput>,
    /// The output as text (ACP `rawOutput`); shown if there is no content.
    pub output: Option<String>,
    /// Whether a subagent makes it.
    pub by_subagent: bool,
    /// Whether the agent announces a call, and does not just update one (ACP version 1).
    pub announces: bool,
    /// Updates of terminals of the agent's own, oldest first.
    pub terminals: Vec<(TerminalId, TerminalUpdate)>,
}

/// The current state of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: ToolCallId,
    /// The title; the tool's name if the agent gave no title.
    pub title: String,
    /// The programmatic name of the tool.
    pub name: Option<String>,
    /// What the tool does.
    pub kind: ToolKind,
    /// The status.
    pub status: ToolStatus,
    /// The content it produced.
    pub content: Vec<ToolContent>,
    /// The locations it works on.
    pub locations: Vec<Location>,
    /// What was left out of the two.
    #[serde(default)]
    pub omitted: Omitted,
    /// The input.
    pub input: Option<ToolInput>,
    /// The output as text.
    pub output: Option<String>,
    /// Whether a subagent of the agent makes it.
    #[serde(default)]
    pub by_subagent: bool,
    /// The latest `_meta` object as JSON text.
    #[serde(default)]
    pub meta: Option<String>,
}

impl ToolCall {
    /// Creates a call of which only the id is known.
    pub fn new(id: ToolCallId) -> Self {
        Self {
            id,
            title: String::new(),
            name: None,
            kind: ToolKind::Other,
            status: ToolStatus::Pending,
            content: Vec::new(),
            locations: Vec::new(),
            omitted: Omitted::default(),
            input: None,
            output: None,
            by_subagent: false,
            meta: None,
        }
    }

    /// Adds an item to the content, or counts it.
    pub fn add_content(&mut self, item: ToolContent) {
        if self.content.len() < MAX_ITEMS {
            self.content.push(item);
        } else {
            self.omitted.content += 1;
        }
    }

    /// Applies an update.
    pub fn apply(&mut self, patch: ToolCallPatch) {
        let ToolCallPatch {
            title,
            name,
            kind,
            status,
            content,
            locations,
            omitted,
            input,
            output,
            by_subagent,
            announces: _,
            terminals: _,
        } = patch;
        self.by_subagent |= by_subagent;
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
            (self.content, self.omitted.content) = (content, omitted.content);
        }
        if let Some(locations) = locations {
            (self.locations, self.omitted.locations) = (locations, omitted.locations);
        }
        self.name = name.or_else(|| self.name.take()).filter(|name| !name.is_empty());
        self.input = match (input, self.input.take()) {
            // Agents repeat the input in part, so an earlier command and directory are still valid.
            (Some(new), Some(old)) => Some(ToolInput {
                command: new.command.or(old.command),
                cwd: new.cwd.or(old.cwd),
                other_commands: new.other_commands,
                other_cwds: new.other_cwds,
                fields: new.fields,
                questions: new.questions,
                json: new.json,
            }),
            (new, old) => new.or(old),
        };
        self.output = output.or_else(|| self.output.take());
    }

    /// Returns the terminals in the content, in order.
    pub fn terminals(&self) -> impl Iterator<Item = &TerminalId> {
        self.content.iter().filter_map(|item| match item {
            ToolContent::Terminal(id) => Some(id),
            _ => None,
        })
    }

    /// Returns what it asks the user in its input.
    pub fn questions(&self) -> &[ToolQuestion] {
        self.input.as_ref().map_or(&[], |input| &input.questions)
    }

    /// Returns every command line that its input may stand for.
    pub fn commands(&self) -> impl Iterator<Item = &String> {
        self.input.iter().flat_map(ToolInput::commands)
    }

    /// Whether it has more items or locations than are kept.
    pub fn is_cut(&self) -> bool {
        self.omitted != Omitted::default()
    }

    /// Returns the files it names: those of its locations, of its diffs and of other changes. Where some are not kept, `/`
    /// stands for them, so that they are in no folder that is checked.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let locations = self.locations.iter().map(|location| location.path.as_path());
        let diffs = self.diffs().map(|diff| diff.path.as_path());
        let others = self.content.iter().filter_map(|item| match item {
            ToolContent::Change(change) => Some(change),
            _ => None,
        });
        let others = others.flat_map(|change| {
            std::iter::once(change.path.as_path()).chain(change.from.as_deref())
        });
        locations.chain(diffs).chain(others).chain(self.is_cut().then_some(Path::new("/")))
    }

    /// Returns the diffs in the content, in order.
    pub fn diffs(&self) -> impl Iterator<Item = &Diff> {
        self.content.iter().filter_map(|item| match item {
            ToolContent::Diff(diff) => Some(diff),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds (Hostile agents): Of lists that are too long, the beginning is kept, and how much is missing is shown.
    #[test]
    fn content_is_bounded_and_a_call_that_is_cut_is_in_no_folder() {
        let mut call = ToolCall::new("c".into());
        let location = Location { path: "/project/a".into(), line: None };
        call.apply(ToolCallPatch { locations: Some(vec![location]), ..ToolCallPatch::default() });
        assert!(!call.is_cut() && call.paths().eq([Path::new("/project/a")]));
        for _ in 0..MAX_ITEMS + 7 {
            call.add_content(ToolContent::Unknown { kind: String::new() });
        }
        assert_eq!((call.content.len(), call.omitted.content), (MAX_ITEMS, 7));
        assert!(call.paths().eq(["/project/a", "/"].map(Path::new)));
        call.apply(ToolCallPatch { content: Some(Vec::new()), ..ToolCallPatch::default() });
        assert!(!call.is_cut());
    }
}
