//! The status of a chat. It is always sent completely.

use super::Chat;
use crate::core::messages::status::{self, ChatStatus};
use crate::nvim::text::{FilePath, Handle, Label, Prose, Word, each};
use crate::session::permission;
use crate::session::tool_call;
use crate::session::update;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// The status of a chat.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Status {
    /// The chat.
    chat: Chat,
    /// The agent's name in the configuration.
    agent: Handle,
    /// The agent's display name.
    title: Label,
    /// The session's id; missing before it is open.
    session_id: Option<Handle>,
    /// The session's title, else the beginning of the first prompt.
    session_title: Option<Label>,
    /// The state.
    state: State,
    /// What the agent is doing or why it failed, in one line.
    detail: Option<Label>,
    /// Why the last turn ended, in the protocol's word or `error`; missing before the first and while one is running.
    stop_reason: Option<Label>,
    /// Whether no turn is running: what is open came after the end of one, and a prompt is sent at once.
    is_between_turns: bool,
    /// The prompt that the agent is working on, unless it is very long or cancelled.
    prompt: Option<Prose>,
    /// Queued prompts, in the order they will be sent.
    queued: Vec<Prose>,
    /// Their numbers, in the same order.
    queue_numbers: Vec<u64>,
    /// Whether the queue waits for the user to resume it.
    queue_paused: bool,
    /// Unanswered permission requests, oldest first.
    permissions: Vec<WaitingPermission>,
    /// Unanswered elicitations, oldest first.
    elicitations: Vec<WaitingElicitation>,
    /// Context window usage.
    usage: Option<Usage>,
    /// The name of the session's mode.
    mode: Option<Label>,
    /// Progress of the plan.
    plan: Option<Plan>,
}

/// The state of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum State {
    /// No agent is running.
    Stopped,
    /// The agent is starting.
    Starting,
    /// The agent waits for a prompt.
    Ready,
    /// A turn is running, or a tool call after the end of one.
    Running,
    /// The same, and a request waits for the user.
    Waiting,
    /// A turn was cancelled and has not ended yet.
    Cancelling,
    /// The agent could not be started, or has died.
    Failed,
}

/// Context window usage.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Usage {
    /// Number of tokens used.
    used: u64,
    /// Number of tokens that fit.
    size: u64,
    /// The cost of the session.
    cost: Option<f64>,
    /// The currency of the cost.
    unit: Option<Label>,
}

/// Progress of the plan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Plan {
    /// Number of completed entries.
    done: usize,
    /// Number of entries.
    total: usize,
}

/// An unanswered permission request.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct WaitingPermission {
    /// Our number of the request.
    id: u64,
    /// The tool call's id.
    tool_call: Handle,
    /// The tool call's title.
    title: Label,
    /// The kind of tool, in one word.
    kind: Word,
    /// What the tool does, in the protocol's word.
    tool: ToolKind,
    /// The absolute paths of the files that the tool call names, as the agent wrote them: with `..` and links.
    paths: Vec<FilePath>,
    /// The complete command, if it runs one.
    command: Option<Prose>,
    /// Everything the user has to decide about, in several lines.
    asks: Prose,
    /// Incremented whenever what the user has to decide about changes.
    revision: u64,
    /// The options to choose from.
    options: Vec<PermissionOption>,
    /// Number of diffs in the tool call.
    diffs: usize,
    /// Whether a rule wants the user to decide, not their permission provider.
    for_user: bool,
}

/// What a tool does, in the protocol's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

/// An option to answer a permission request with.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct PermissionOption {
    /// The id to return.
    id: Handle,
    /// What the user sees.
    name: Label,
    /// What it means.
    kind: OptionKind,
}

/// What choosing an option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum OptionKind {
    /// Allow this once.
    AllowOnce,
    /// Allow this from now on.
    AllowAlways,
    /// Reject this once.
    RejectOnce,
    /// Reject this from now on.
    RejectAlways,
    /// A kind we do not know. It is shown, but never chosen by a command.
    Unknown,
}

/// An unanswered elicitation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct WaitingElicitation {
    /// Our number of the elicitation.
    id: u64,
    /// `form` or `url`.
    mode: Word,
    /// Why the agent asks.
    message: Label,
}

impl From<ChatStatus> for Status {
    fn from(it: ChatStatus) -> Self {
        Self {
            chat: it.chat.0,
            agent: Handle::new(it.agent),
            title: Label::new(it.title),
            session_id: it.session.map(Handle::new),
            session_title: it.session_title.map(Label::new),
            state: it.state.into(),
            detail: it.detail.map(Label::new),
            stop_reason: it.stop_reason.map(Label::new),
            is_between_turns: it.is_between_turns,
            prompt: it.prompt.map(Prose::new),
            queued: each(it.queued, Prose::new),
            queue_numbers: it.queue_numbers,
            queue_paused: it.queue_paused,
            permissions: each(it.permissions, Into::into),
            elicitations: each(it.elicitations, Into::into),
            usage: it.usage.map(Into::into),
            mode: it.mode.map(Label::new),
            plan: it.plan.map(|(done, total)| Plan { done, total }),
        }
    }
}

impl From<status::ChatState> for State {
    fn from(state: status::ChatState) -> Self {
        match state {
            status::ChatState::Stopped => Self::Stopped,
            status::ChatState::Starting => Self::Starting,
            status::ChatState::Ready => Self::Ready,
            status::ChatState::Running => Self::Running,
            status::ChatState::Waiting => Self::Waiting,
            status::ChatState::Cancelling => Self::Cancelling,
            status::ChatState::Failed => Self::Failed,
        }
    }
}

impl From<update::Usage> for Usage {
    fn from(usage: update::Usage) -> Self {
        let (cost, unit) = usage.cost.unzip();
        let unit = unit.map(Label::new);
        Self { used: usage.used, size: usage.size, cost, unit }
    }
}

impl From<status::WaitingPermission> for WaitingPermission {
    fn from(it: status::WaitingPermission) -> Self {
        Self {
            id: it.id,
            tool_call: Handle::new(it.tool_call),
            title: Label::new(it.title),
            kind: Word::new(it.kind),
            tool: it.tool_kind.into(),
            paths: each(it.files, |path| FilePath::new(&path)),
            command: it.commands.into_iter().next().map(Prose::new),
            asks: Prose::new(it.asks),
            revision: it.revision,
            options: each(it.options, Into::into),
            diffs: it.diffs,
            for_user: it.for_user,
        }
    }
}

impl From<tool_call::ToolKind> for ToolKind {
    fn from(kind: tool_call::ToolKind) -> Self {
        match kind {
            tool_call::ToolKind::Read => Self::Read,
            tool_call::ToolKind::Edit => Self::Edit,
            tool_call::ToolKind::Delete => Self::Delete,
            tool_call::ToolKind::Move => Self::Move,
            tool_call::ToolKind::Search => Self::Search,
            tool_call::ToolKind::Execute => Self::Execute,
            tool_call::ToolKind::Think => Self::Think,
            tool_call::ToolKind::Fetch => Self::Fetch,
            tool_call::ToolKind::SwitchMode => Self::SwitchMode,
            tool_call::ToolKind::Other => Self::Other,
        }
    }
}

impl From<permission::PermissionOption> for PermissionOption {
    fn from(option: permission::PermissionOption) -> Self {
        let kind = match option.kind {
            permission::OptionKind::AllowOnce => OptionKind::AllowOnce,
            permission::OptionKind::AllowAlways => OptionKind::AllowAlways,
            permission::OptionKind::RejectOnce => OptionKind::RejectOnce,
            permission::OptionKind::RejectAlways => OptionKind::RejectAlways,
            permission::OptionKind::Unknown => OptionKind::Unknown,
        };
        Self { id: Handle::new(option.id), name: Label::new(option.name), kind }
    }
}

impl From<status::WaitingElicitation> for WaitingElicitation {
    fn from(it: status::WaitingElicitation) -> Self {
        Self { id: it.id, mode: Word::new(it.mode), message: Label::new(it.message) }
    }
}
