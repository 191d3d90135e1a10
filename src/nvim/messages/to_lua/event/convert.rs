//! Makes the events for listeners from what the core tells of a conversation.

use super::{
    Activity, ActivityState, Audience, BufferText, Chat, Chunk, Commands, Compaction,
    CompactionChunk, Content, ContentType, FilePath, Handle, Label, Location, Message, Meta, Mode,
    Notice, Options, Permission, PermissionState, Plan, PlanEntry, PlanStatus, Priority, Prose,
    Role, SessionEvent, SessionInfo, Severity, Terminal, TerminalChange, ToolCall, ToolContent,
    ToolItem, ToolItemType, ToolStatus, TurnEnd, TurnStart, Unknown, Usage,
};
use crate::core::messages::conversation::{ConversationEvent, ToolCallEvent};
use crate::core::messages::status::WaitingPermission;
use crate::nvim::text::each;
use crate::session::content;
use crate::session::label;
use crate::session::terminal::TerminalUpdate;
use crate::session::tool_call::{self, ToolCallPatch};
use crate::session::turn::{self, StopReason};
use crate::session::update::{self, Patch, Update};

impl SessionEvent {
    pub(in crate::nvim::messages) fn new(chat: Chat, event: ConversationEvent) -> Self {
        match event {
            ConversationEvent::Update { update, is_replayed } => {
                Self::of_update(chat, update, is_replayed)
            }
            ConversationEvent::ToolCall(call) => Self::of_tool_call(chat, *call),
            ConversationEvent::PermissionAsked(asked) => {
                Self::Permission(Box::new(Permission::asked(chat, *asked)))
            }
            ConversationEvent::PermissionDecided { id, tool_call, title, option, is_automatic } => {
                Self::Permission(Box::new(Permission {
                    chat,
                    id,
                    state: PermissionState::Decided,
                    tool_call: Handle::new(tool_call),
                    title: Label::new(title),
                    kind: None,
                    command: None,
                    paths: None,
                    options: None,
                    chosen: option.map(Into::into),
                    automatic: Some(is_automatic),
                }))
            }
            ConversationEvent::TurnStart { prompt } => {
                Self::TurnStart(Box::new(TurnStart { chat, prompt: prompt.map(BufferText::new) }))
            }
            ConversationEvent::TurnEnd { stop_reason, next } => {
                let stop_reason = Label::new(stop_reason);
                Self::TurnEnd(Box::new(TurnEnd { chat, stop_reason, next }))
            }
        }
    }

    fn of_update(chat: Chat, update: Update, replayed: bool) -> Self {
        match update {
            Update::Chunk { role, message, content } => {
                let (text, content) = match content {
                    content::Content::Text(text) => (Some(BufferText::new(text)), None),
                    content::Content::Marked { text, about } => {
                        let content = content::Content::Marked { text: text.clone(), about };
                        (Some(BufferText::new(text)), Some(content.into()))
                    }
                    other => (None, Some(other.into())),
                };
                let message = message.map(Handle::new);
                let role = role.into();
                Self::Chunk(Box::new(Chunk { chat, role, message, text, content, replayed }))
            }
            Update::Message { role, message, content } => Self::Message(Box::new(Message {
                chat,
                role: role.into(),
                message: Handle::new(message),
                content: each(content, Into::into),
                replayed,
            })),
            // The core tells of it with what it knows of the call.
            Update::ToolCall { id, patch } => {
                let title = patch.title.clone().unwrap_or_default();
                let (kind, status) =
                    (patch.kind.unwrap_or_default(), patch.status.unwrap_or_default());
                let (patch, is_new, is_replayed) = (*patch, false, replayed);
                let call = ToolCallEvent { id, patch, is_new, title, kind, status, is_replayed };
                Self::of_tool_call(chat, call)
            }
            Update::ToolContent { id, content } => {
                let (id, item) = (Handle::new(id), content.into());
                Self::ToolContent(Box::new(ToolContent { chat, id, item, replayed }))
            }
            Update::Terminal { id, update } => {
                Self::Terminal(Box::new(Terminal::new(chat, Handle::new(id), update)))
            }
            Update::Plan(entries) => {
                let entries = each(entries, Into::into);
                Self::Plan(Box::new(Plan { chat, entries, replayed }))
            }
            other => Self::of_state(chat, other),
        }
    }

    /// For updates that are about the session rather than the conversation.
    fn of_state(chat: Chat, update: Update) -> Self {
        match update {
            Update::Commands(commands) => {
                let commands = commands.into_iter().filter(|one| label::is_plain(&one.name));
                let commands = each(commands, Into::into);
                Self::Commands(Box::new(Commands { chat, commands }))
            }
            Update::Mode(mode) => Self::Mode(Box::new(Mode { chat, mode: Handle::new(mode) })),
            Update::Options(options) => {
                Self::Options(Box::new(Options { chat, options: each(options, Into::into) }))
            }
            Update::Info { title, updated_at } => {
                let (title, updated_at) = (changed(title), changed(updated_at));
                let (title, updated_at) = (title.map(Label::new), updated_at.map(Label::new));
                Self::SessionInfo(Box::new(SessionInfo { chat, title, updated_at }))
            }
            Update::Usage(update::Usage { used, size, cost }) => {
                let (cost, unit) = cost.unzip();
                let unit = unit.map(Label::new);
                Self::Usage(Box::new(Usage { chat, used, size, cost, unit }))
            }
            Update::Notice { severity, title, description } => Self::Notice(Box::new(Notice {
                chat,
                severity: severity.into(),
                title: Label::new(title),
                description: description.map(Prose::new),
            })),
            Update::Compaction { id, status, summary, error } => {
                let summary = changed(summary).map(|all| each(all, Into::into));
                Self::Compaction(Box::new(Compaction {
                    chat,
                    id: Handle::new(id),
                    status: Some(status).filter(|status| !status.is_empty()).map(Label::new),
                    summary,
                    error: changed(error).map(Prose::new),
                }))
            }
            Update::CompactionChunk { id, content } => {
                let (id, content) = (Handle::new(id), content.into());
                Self::CompactionChunk(Box::new(CompactionChunk { chat, id, content }))
            }
            Update::Meta(update::Meta { kind, id, json, size }) => {
                let (kind, id, json) =
                    (Handle::new(kind), id.map(Handle::new), json.map(Handle::new));
                Self::Meta(Box::new(Meta { chat, kind, id, json, size }))
            }
            Update::Activity(activity) => Self::Activity(Box::new(Activity::new(chat, activity))),
            Update::Unknown { tag, problem } => {
                let (kind, problem) = (Label::new(tag), problem.map(Label::new));
                Self::Unknown(Box::new(Unknown { chat, kind, problem }))
            }
            other => Self::of_update(chat, other, false),
        }
    }

    fn of_tool_call(chat: Chat, call: ToolCallEvent) -> Self {
        let ToolCallEvent { id, patch, is_new, title, kind, status, is_replayed } = call;
        // Title, kind and status are those that hold, and terminals are told of by themselves.
        let ToolCallPatch { name, content, locations, input, output, .. } = patch;
        let (command, input) = input.map_or((None, None), |it| (it.command, Some(it.json)));
        Self::ToolCall(Box::new(ToolCall {
            chat,
            id: Handle::new(id),
            new: is_new,
            title: Label::new(title),
            kind: kind.into(),
            status: status.into(),
            tool: name.map(Label::new),
            command: command.map(Prose::new),
            input: input.map(Handle::new),
            output: output.map(BufferText::new),
            content: content.map(|all| each(all, Into::into)),
            locations: locations.map(|all| each(all, Into::into)),
            replayed: is_replayed,
        }))
    }
}

/// The new value of a field; `None` if it has not changed.
fn changed<T: Default>(patch: Patch<T>) -> Option<T> {
    match patch {
        Patch::Unchanged => None,
        Patch::Clear => Some(T::default()),
        Patch::Set(value) => Some(value),
    }
}

impl Permission {
    fn asked(chat: Chat, asked: WaitingPermission) -> Self {
        Self {
            chat,
            id: asked.id,
            state: PermissionState::Asked,
            tool_call: Handle::new(asked.tool_call),
            title: Label::new(asked.title),
            kind: Some(asked.tool_kind.into()),
            command: asked.commands.into_iter().next().map(Prose::new),
            paths: Some(each(asked.files, |path| FilePath::new(&path))),
            options: Some(each(asked.options, Into::into)),
            chosen: None,
            automatic: None,
        }
    }
}

impl Terminal {
    fn new(chat: Chat, id: Handle, update: TerminalUpdate) -> Self {
        let text = |bytes: Vec<u8>| Some(BufferText::new(String::from_utf8_lossy(&bytes)));
        let change = TerminalChange::Started;
        let (command, output, code, signal) = (None, None, None, None);
        let started = Self { chat, id, change, command, output, code, signal };
        match update {
            TerminalUpdate::Started => started,
            TerminalUpdate::Command(command) => {
                let (change, command) = (TerminalChange::Command, Some(Prose::new(command)));
                Self { change, command, ..started }
            }
            TerminalUpdate::Output(bytes) => {
                Self { change: TerminalChange::Output, output: text(bytes), ..started }
            }
            TerminalUpdate::Whole(bytes) => {
                Self { change: TerminalChange::Whole, output: text(bytes), ..started }
            }
            TerminalUpdate::Exited(exit) => {
                let (change, signal) = (TerminalChange::Exited, exit.signal.map(Label::new));
                Self { change, code: exit.code, signal, ..started }
            }
        }
    }
}

impl Activity {
    fn new(chat: Chat, activity: turn::Activity) -> Self {
        let (state, stop_reason, message) = match activity {
            turn::Activity::Busy => (ActivityState::Busy, None, None),
            turn::Activity::Idle(stop) => (ActivityState::Idle, Some(stop_reason(&stop)), None),
            turn::Activity::Failed(why) => (ActivityState::Failed, None, Some(Label::new(why))),
        };
        Self { chat, state, stop_reason, message }
    }
}

fn stop_reason(stop: &StopReason) -> Label {
    Label::new(stop.word())
}

impl From<content::Content> for Content {
    fn from(content: content::Content) -> Self {
        let (uri, mime) = (content.uri().map(Handle::new), content.mime().map(Handle::new));
        let about = content.about().cloned().unwrap_or_default();
        let (mut text, mut data, mut name) = (None, None, None);
        let r#type = match content {
            content::Content::Text(its) | content::Content::Marked { text: its, .. } => {
                text = Some(BufferText::new(its));
                ContentType::Text
            }
            content::Content::Image { data: its, .. } => {
                data = Some(its);
                ContentType::Image
            }
            content::Content::Audio { data: its, .. } => {
                data = Some(its);
                ContentType::Audio
            }
            content::Content::ResourceLink { name: its, .. } => {
                name = Some(Label::new(its));
                ContentType::ResourceLink
            }
            content::Content::Resource { text: its, .. } => {
                text = Some(BufferText::new(its));
                ContentType::Resource
            }
            content::Content::Blob { data: its, .. } => {
                data = Some(its);
                ContentType::Resource
            }
            content::Content::Unknown { kind } => {
                name = Some(Label::new(kind));
                ContentType::Unknown
            }
        };
        Self {
            r#type,
            text,
            data: data.map(Handle::new),
            mime,
            uri,
            name,
            audience: about.audience.map(Into::into),
            priority: about.priority,
            last_modified: about.last_modified.map(Label::new),
        }
    }
}

impl From<tool_call::ToolContent> for ToolItem {
    fn from(item: tool_call::ToolContent) -> Self {
        let empty = Self {
            r#type: ToolItemType::Unknown,
            content: None,
            path: None,
            from: None,
            old: None,
            new: None,
            what: None,
            terminal: None,
        };
        match item {
            tool_call::ToolContent::Content(content) => {
                Self { r#type: ToolItemType::Content, content: Some(content.into()), ..empty }
            }
            tool_call::ToolContent::Diff(tool_call::Diff { path, old, new }) => Self {
                r#type: ToolItemType::Diff,
                path: Some(FilePath::new(&path)),
                old: old.map(BufferText::new),
                new: Some(BufferText::new(new)),
                ..empty
            },
            tool_call::ToolContent::Change(tool_call::FileChange { done, path, from }) => Self {
                r#type: ToolItemType::Change,
                path: Some(FilePath::new(&path)),
                from: from.map(|path| FilePath::new(&path)),
                what: Some(Label::new(done)),
                ..empty
            },
            tool_call::ToolContent::Terminal(id) => {
                Self { r#type: ToolItemType::Terminal, terminal: Some(Handle::new(id)), ..empty }
            }
            tool_call::ToolContent::Unknown { kind } => {
                Self { what: Some(Label::new(kind)), ..empty }
            }
        }
    }
}

impl From<tool_call::Location> for Location {
    fn from(tool_call::Location { path, line }: tool_call::Location) -> Self {
        Self { path: FilePath::new(&path), line }
    }
}

impl From<update::PlanEntry> for PlanEntry {
    fn from(entry: update::PlanEntry) -> Self {
        let update::PlanEntry { content, priority, status } = entry;
        Self { content: Prose::new(content), priority: priority.into(), status: status.into() }
    }
}

/// Words of the session that have the same names here.
macro_rules! same_words {
    ($($from:path as $to:ident { $($word:ident,)* })*) => {$(
        impl From<$from> for $to {
            fn from(word: $from) -> Self {
                use $from as Theirs;
                match word {
                    $(Theirs::$word => Self::$word,)*
                }
            }
        }
    )*};
}

same_words! {
    update::Role as Role { User, Agent, Thought, }
    content::Audience as Audience { User, Assistant, }
    tool_call::ToolStatus as ToolStatus { Pending, InProgress, Completed, Failed, Cancelled, }
    update::PlanPriority as Priority { High, Medium, Low, }
    update::PlanStatus as PlanStatus { Pending, InProgress, Completed, Cancelled, }
    update::Severity as Severity { Info, Warning, Error, }
}
