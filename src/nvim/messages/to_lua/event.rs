//! What listeners of `require("rat").on` are told, a type for each event. The annotations `rat.event.*` follow from them.

mod convert;
#[cfg(test)]
mod tests;

use super::Chat;
use super::session::{Command, ConfigOption};
use super::status::{PermissionOption, ToolKind};
use crate::nvim::text::{BufferText, FilePath, Handle, Label, Prose};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Defines the events: each is a table with the number of its chat and the given fields.
macro_rules! events {
    ($(#[doc = $doc:literal] $name:ident { $($(#[$meta:meta])* $field:ident: $ty:ty,)* })*) => {
        /// All events, by the name to listen to.
        #[derive(Debug, Serialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(tag = "name", content = "data", rename_all = "snake_case")]
        pub(in crate::nvim) enum SessionEvent {
            $(#[doc = $doc] $name(Box<$name>),)*
        }

        $(
            #[doc = $doc]
            #[derive(Debug, Serialize)]
            #[cfg_attr(test, derive(JsonSchema))]
            #[allow(clippy::struct_field_names, reason = "a message has the id of a message, a mode the id of a mode")]
            pub(in crate::nvim) struct $name {
                /// The chat.
                chat: Chat,
                $($(#[$meta])* $field: $ty,)*
            }
        )*
    };
}

events! {
    /// A piece of a message; of text, all that has arrived since the last one.
    Chunk {
        /// The author of the message.
        role: Role,
        /// The id of the message, if the agent gives one.
        message: Option<Handle>,
        /// The text, as the agent sent it.
        text: Option<BufferText>,
        /// In place of a text: other content. With annotations, the text as content.
        content: Option<Content>,
        /// Whether it is from earlier, and the agent repeats it because the session is loaded.
        replayed: bool,
    }
    /// A whole message, which is new or replaces an earlier one.
    Message {
        /// The author of the message.
        role: Role,
        /// The id of the message.
        message: Handle,
        /// Its content.
        content: Vec<Content>,
        /// Whether it is from earlier, and the agent repeats it because the session is loaded.
        replayed: bool,
    }
    /// A tool call is new, or some of it has changed. What may be missing is there if it has changed.
    ToolCall {
        /// The id of the tool call.
        id: Handle,
        /// Whether the call is new.
        new: bool,
        /// The title.
        title: Label,
        /// What the tool does.
        kind: ToolKind,
        /// The status.
        status: ToolStatus,
        /// The name of the tool.
        tool: Option<Label>,
        /// The command, if it runs one.
        command: Option<Prose>,
        /// The input as JSON.
        input: Option<Handle>,
        /// The output as text.
        output: Option<BufferText>,
        /// All of its content.
        content: Option<Vec<ToolItem>>,
        /// All places it works on.
        locations: Option<Vec<Location>>,
        /// Whether it is from earlier, and the agent repeats it because the session is loaded.
        replayed: bool,
    }
    /// A tool call has produced another item of content.
    ToolContent {
        /// The id of the tool call.
        id: Handle,
        /// The item.
        item: ToolItem,
        /// Whether it is from earlier, and the agent repeats it because the session is loaded.
        replayed: bool,
    }
    /// A terminal that the agent runs itself has changed.
    Terminal {
        /// The id of the terminal.
        id: Handle,
        /// What has changed.
        change: TerminalChange,
        /// The command line.
        command: Option<Prose>,
        /// The output.
        output: Option<BufferText>,
        /// The exit code.
        code: Option<u32>,
        /// The signal that ended it.
        signal: Option<Label>,
    }
    /// The whole plan; an empty one clears it.
    Plan {
        /// The entries, in order.
        entries: Vec<PlanEntry>,
        /// Whether it is from earlier, and the agent repeats it because the session is loaded.
        replayed: bool,
    }
    /// All slash commands of the agent that can be typed.
    Commands {
        /// The commands.
        commands: Vec<Command>,
    }
    /// The agent has switched to another mode.
    Mode {
        /// The id of the mode.
        mode: Handle,
    }
    /// All options of the session.
    Options {
        /// The options, in the agent's order.
        options: Vec<ConfigOption>,
    }
    /// What describes the session has changed. A field is missing if it is as before.
    SessionInfo {
        /// The title; empty if it has none any more.
        title: Option<Label>,
        /// When it last changed (ISO 8601); empty if that is not known any more.
        updated_at: Option<Label>,
    }
    /// How much of the context is used, and what the session has cost.
    Usage {
        /// Number of tokens used.
        used: u64,
        /// Number of tokens that fit.
        size: u64,
        /// The cost of the session.
        cost: Option<f64>,
        /// The currency of the cost.
        unit: Option<Label>,
    }
    /// A notice that is not part of the conversation.
    Notice {
        /// How severe it is.
        severity: Severity,
        /// The notice, in one line.
        title: Label,
        /// More about it.
        description: Option<Prose>,
    }
    /// The agent compacts its context. A field is missing if it is as before.
    Compaction {
        /// The id of the compaction.
        id: Handle,
        /// The status, in the agent's word.
        status: Option<Label>,
        /// The summary so far.
        summary: Option<Vec<Content>>,
        /// Why it failed.
        error: Option<Prose>,
    }
    /// A piece of a compaction's summary.
    CompactionChunk {
        /// The id of the compaction.
        id: Handle,
        /// The content.
        content: Content,
    }
    /// Data of the agent's own, which came with an update or an answer (`_meta`).
    Meta {
        /// The kind of message it came with.
        kind: Handle,
        /// The id of the tool call, if the message was about one.
        id: Option<Handle>,
        /// The data as JSON; missing if it is too large.
        json: Option<Handle>,
        /// The size of the JSON in bytes.
        size: usize,
    }
    /// The agent says whether it is working. Only some do, see `turn_start` and `turn_end`.
    Activity {
        /// Whether it works.
        state: ActivityState,
        /// Why it has stopped.
        stop_reason: Option<Label>,
        /// What has failed.
        message: Option<Label>,
    }
    /// An update that is not known or makes no sense.
    Unknown {
        /// The kind of the update, in the agent's word.
        kind: Label,
        /// What is wrong with it; missing if the kind is not known.
        problem: Option<Label>,
    }
    /// An agent asks for permission, or a request was answered.
    Permission {
        /// Our number of the request.
        id: u64,
        /// Whether it waits or was answered.
        state: PermissionState,
        /// The tool call's id.
        tool_call: Handle,
        /// The tool call's title.
        title: Label,
        /// If it waits: what the tool does.
        kind: Option<ToolKind>,
        /// If it waits: the complete command, if it runs one.
        command: Option<Prose>,
        /// If it waits: the files it names.
        paths: Option<Vec<FilePath>>,
        /// If it waits: the options to choose from.
        options: Option<Vec<PermissionOption>>,
        /// If it was answered: the chosen option; missing if the request was cancelled.
        chosen: Option<PermissionOption>,
        /// If it was answered: whether the permission provider has chosen.
        automatic: Option<bool>,
    }
    /// A prompt was sent to the agent, or it has started a turn by itself.
    TurnStart {
        /// The text of the prompt.
        prompt: Option<BufferText>,
    }
    /// The agent's turn has ended.
    TurnEnd {
        /// Why, as `User RatTurnEnd` says it.
        stop_reason: Label,
        /// Whether a queued prompt starts another turn at once.
        next: bool,
    }
}

/// How an event stands in a message.
#[cfg(test)]
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct Happened {
    /// The name of the event.
    name: crate::nvim::text::Word,
    /// The event, with the fields that its class `rat.event` has.
    data: AnyTable,
}

/// A table whose fields are described elsewhere.
#[cfg(test)]
pub(super) struct AnyTable;

#[cfg(test)]
impl JsonSchema for AnyTable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyTable".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object"})
    }
}

/// Content of a message or a tool call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Content {
    /// What it is.
    r#type: ContentType,
    /// The text.
    text: Option<BufferText>,
    /// Its data in base64.
    data: Option<Handle>,
    /// The MIME type, if known.
    mime: Option<Handle>,
    /// The URL.
    uri: Option<Handle>,
    /// The name of a link; for an unknown type, that type.
    name: Option<Label>,
    /// Whom it is for; missing if it is for both.
    audience: Option<Audience>,
    /// How important it is, from 0 to 1.
    priority: Option<f64>,
    /// When it was changed last, as the agent wrote the time.
    last_modified: Option<Label>,
}

/// An item of a tool call's content.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct ToolItem {
    /// What it is.
    r#type: ToolItemType,
    /// For `content`: the content.
    content: Option<Content>,
    /// For `diff` and `change`: the file.
    path: Option<FilePath>,
    /// For `change`: the file before, if it was another.
    from: Option<FilePath>,
    /// For `diff`: the old text; missing for a new file.
    old: Option<BufferText>,
    /// For `diff`: the new text.
    new: Option<BufferText>,
    /// For `change`: what was done, such as `deleted`. For `unknown`: the type.
    what: Option<Label>,
    /// For `terminal`: the id of the terminal.
    terminal: Option<Handle>,
}

/// A place that a tool call works on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Location {
    /// The file.
    path: FilePath,
    /// The line, from 1.
    line: Option<u32>,
}

/// An entry of a plan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct PlanEntry {
    /// The task.
    content: Prose,
    /// Its priority.
    priority: Priority,
    /// Its status.
    status: PlanStatus,
}

/// Defines words that stand for those of the session.
macro_rules! words {
    ($(#[doc = $doc:literal] $name:ident { $($word:ident,)* })*) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub(in crate::nvim) enum $name {
            $($word,)*
        }
    )*};
}

words! {
    /// The author of a message; `thought` is the agent's reasoning.
    Role { User, Agent, Thought, }
    /// What content is.
    ContentType { Text, Image, Audio, ResourceLink, Resource, Unknown, }
    /// Whom content is for.
    Audience { User, Assistant, }
    /// What an item of a tool call's content is.
    ToolItemType { Content, Diff, Change, Terminal, Unknown, }
    /// The status of a tool call.
    ToolStatus { Pending, InProgress, Completed, Failed, Cancelled, }
    /// What has changed in a terminal: `output` adds to what is there, `whole` replaces it.
    TerminalChange { Started, Command, Output, Whole, Exited, }
    /// The priority of a plan's entry.
    Priority { High, Medium, Low, }
    /// The status of a plan's entry.
    PlanStatus { Pending, InProgress, Completed, Cancelled, }
    /// How severe a notice is.
    Severity { Info, Warning, Error, }
    /// Whether an agent works.
    ActivityState { Busy, Idle, Failed, }
    /// Whether a permission request waits or was answered.
    PermissionState { Asked, Decided, }
}
