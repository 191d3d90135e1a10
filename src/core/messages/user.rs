//! What the user does, as reported by the editor.

use crate::core::messages::checkpoint::{TurnRef, UndoTarget};
use crate::core::messages::content::{ContentCommand, ExportTarget};
use crate::core::messages::conversation::EventKind;
use crate::core::messages::elicitation::ElicitationChoice;
use crate::core::messages::page::View;
use crate::core::messages::policy::ChatPolicy;
use crate::core::messages::review::{Comparison, EditedDiff, ReviewList, ReviewRequest};
use crate::core::messages::trace::TraceCommand;
use crate::session::agent::AgentConfig;
use crate::session::author::ChatId;
use crate::session::content::ContentId;
use crate::session::fork::ForkPoint;
use crate::session::ids::{AgentName, OptionId, SessionId, TerminalId, ToolCallId};
use crate::session::prompt::Prompt;
use crate::session::search::SearchQuery;
use crate::trust::kept::Extent;
use std::path::PathBuf;

/// Something the user does. `None` as the chat stands for the one used most recently.
#[derive(Debug, Clone, PartialEq)]
pub enum UserAction {
    /// `:RatStart`.
    Start {
        /// The agent and how to start it.
        config: Box<AgentConfig>,
        /// The problems of the settings file, one line each.
        problems: Vec<String>,
        /// The session's working directory.
        cwd: PathBuf,
        /// Additional roots.
        directories: Vec<PathBuf>,
        /// The options for unsaved text.
        policy: ChatPolicy,
        /// The session to open.
        target: SessionTarget,
        /// Whether to put the cursor into the prompt.
        focus: bool,
    },
    /// What starts the agent of a chat again follows, and this is how the agent is started now.
    Renew {
        /// The chat.
        chat: ChatId,
        /// How to start its agent.
        config: Box<AgentConfig>,
        /// The problems of the settings file, one line each.
        problems: Vec<String>,
    },
    /// `:RatEdit`: have an agent change lines in place.
    Edit(Box<NewEdit>),
    /// The same, in the session of this chat.
    EditAgain(ChatId, Box<Prompt>),
    /// `:RatSessions`: list the sessions of a folder.
    ListSessions {
        /// What to do with the chosen session.
        act: SessionAction,
        /// The folder.
        cwd: PathBuf,
    },
    /// Get the next pages of the list.
    MoreSessions,
    /// `:RatSearch`: search all saved sessions. The number comes back with what is found.
    Search(u64, SearchQuery),
    /// Close a session.
    CloseSession(AgentName, SessionId),
    /// Delete a session.
    DeleteSession {
        /// Its agent.
        agent: AgentName,
        /// The session.
        session: SessionId,
        /// Its working directory.
        cwd: PathBuf,
    },
    /// Send a prompt.
    Prompt {
        /// The chat.
        chat: Option<ChatId>,
        /// The prompt.
        prompt: Prompt,
        /// Whether to cancel the running turn instead of waiting for its end.
        now: bool,
    },
    /// `:RatCancel`.
    Cancel(Option<ChatId>),
    /// `:RatStop`.
    Stop(Option<ChatId>),
    /// `:RatStop!`: end a chat and free what it takes.
    Close(Option<ChatId>),
    /// `:RatRestart`.
    Restart {
        /// The chat.
        chat: Option<ChatId>,
        /// Whether turns that the same agent runs in other chats may be ended.
        force: bool,
    },
    /// Let a confined agent write a path that it was kept from writing.
    Widen(ChatId, PathBuf),
    /// `:RatRules`.
    ShowRules(Option<ChatId>),
    /// Offer rules that would decide the request with this number.
    SuggestRule(ChatId, u64),
    /// Keep rules that were made of a request.
    KeepRules {
        /// The chat.
        chat: ChatId,
        /// Our number of the request.
        request: u64,
        /// Where they hold.
        extent: Extent,
        /// The rules.
        lines: Vec<String>,
    },
    /// Replace lists of rules, which were shown for a chat in this folder.
    SetRules(ChatId, PathBuf, Vec<(Extent, Vec<String>)>),
    /// `:RatFork`.
    Fork(Option<ChatId>),
    /// Set an option of the session, its mode or its model.
    SetOption {
        /// The chat.
        chat: Option<ChatId>,
        /// The option's id, category or name.
        option: String,
        /// The value or name of a choice; for a boolean, `on` or `off`.
        value: String,
    },
    /// `:RatLogin`.
    Login {
        /// The chat.
        chat: Option<ChatId>,
        /// The id of the authentication method; `None` lets the user choose.
        method: Option<String>,
    },
    /// The login program that ran in a terminal has ended.
    LoginEnded {
        /// The chat.
        chat: ChatId,
        /// Its exit status; `None` if it could not be started.
        status: Option<i32>,
    },
    /// `:RatLogout`.
    Logout(Option<ChatId>),
    /// Change the queue of prompts.
    Queue(Option<ChatId>, QueueAction),
    /// Write the conversation to a file.
    ExportChat(Option<ChatId>, ExportTarget),
    /// Answer a permission request.
    Permission {
        /// The chat; `None` for any chat.
        chat: Option<ChatId>,
        /// The number of the request; `None` for the oldest.
        id: Option<u64>,
        /// The revision the user has seen; `None` if it does not matter.
        revision: Option<u64>,
        /// The answer.
        choice: PermissionChoice,
    },
    /// The user's permission provider answers a request.
    PermissionProvided {
        /// The chat.
        chat: ChatId,
        /// The number of the request.
        id: u64,
        /// The revision the provider has seen.
        revision: u64,
        /// The answer.
        choice: PermissionChoice,
    },
    /// Listen to events of these kinds from now on, and to no others.
    Listen(Vec<EventKind>),
    /// Answer an elicitation, or validate its form.
    Elicitation {
        /// The chat.
        chat: ChatId,
        /// The number of the elicitation.
        id: u64,
        /// What the user does with it.
        choice: ElicitationChoice,
    },
    /// Show the changes of a permission request or of a tool call in diff mode.
    ShowDiff {
        /// The chat.
        chat: Option<ChatId>,
        /// The number of the request; `None` for the oldest.
        id: Option<u64>,
        /// The tool call; takes precedence over `id`.
        tool_call: Option<ToolCallId>,
    },
    /// Show the complete output of a tool call.
    ShowOutput {
        /// The chat.
        chat: Option<ChatId>,
        /// The tool call.
        tool_call: ToolCallId,
    },
    /// Show a terminal's output in a terminal buffer; or the user has closed that buffer.
    ShowTerminal {
        /// The chat.
        chat: Option<ChatId>,
        /// The terminal.
        terminal: TerminalId,
        /// Whether it has a buffer from now on.
        show: bool,
    },
    /// Do something with a piece of content.
    Content {
        /// The chat.
        chat: Option<ChatId>,
        /// The content.
        id: ContentId,
        /// What to do.
        act: ContentCommand,
    },
    /// `:RatAccept`, `:RatReject`.
    Review(ReviewRequest),
    /// List the turns whose changes are kept.
    ListTurns {
        /// The chat.
        chat: Option<ChatId>,
        /// The number of the call from Lua that wants them; `None` lets the user choose.
        request: Option<u64>,
        /// Only those of the prompt at this index of the transcript.
        entry: Option<usize>,
    },
    /// See what a turn has changed.
    ShowTurn(Option<ChatId>, TurnRef),
    /// `:RatStart! AGENT worktree`, `:RatWorktree`: do something with a worktree.
    Worktree(WorktreeAction),
    /// Undo or redo a turn; with the flag also what somebody else may have changed.
    Undo(Option<ChatId>, UndoTarget, bool),
    /// Take the last decision on pending changes back.
    TakeBack,
    /// See what is pending.
    ListChanges(ReviewList),
    /// Compare a file with its base.
    Compare(Comparison),
    /// Keep what is pending in a file where it agrees with these lines, the base as the user has changed it.
    KeepAsBase(PathBuf, Vec<String>),
    /// `:RatInfo`.
    ShowInfo(Option<ChatId>),
    /// `:RatTrace`.
    Trace(Option<ChatId>, TraceCommand),
    /// Answer one of our own questions.
    Answer {
        /// The question.
        id: u64,
        /// The chosen item, counted from 0; `None` if the user closed the question.
        index: Option<usize>,
    },
    /// See the write that this question is about.
    ShowWrite(u64),
    /// Have the write that this question is about leave these lines in the file, or reject it, perhaps with a reason.
    DecideWrite(u64, Result<Vec<String>, Option<String>>),
    /// The user has edited a change that they are about to allow.
    DiffEdited(ChatId, EditedDiff),
    /// Redraw a view completely, because its buffer was created again.
    Redraw(ChatId, View),
}

/// A change of lines in place to ask for in a new session, whose chat is not shown.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEdit {
    /// The agent and how to start it.
    pub config: AgentConfig,
    /// The problems of the settings file, one line each.
    pub problems: Vec<String>,
    /// The session's working directory.
    pub cwd: PathBuf,
    /// Additional roots.
    pub directories: Vec<PathBuf>,
    /// The options for files.
    pub policy: ChatPolicy,
    /// What to ask.
    pub prompt: Prompt,
}

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionTarget {
    /// The one that is open; else the most recent one of the folder, if the agent can resume it; else a new one.
    Last,
    /// The one that is open; else a new one.
    Current,
    /// A new one.
    New,
    /// This one, or a new one if it cannot be resumed.
    Existing(SessionId),
    /// This one and no other.
    Only(SessionId),
    /// A fork.
    Fork(ForkPoint),
}

/// What to do with a session the user chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionAction {
    /// Show it, or resume it.
    Open,
    /// Fork it.
    Fork,
    /// Close it.
    Close,
    /// Delete it.
    Delete,
}

/// The user's answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionChoice {
    /// Choose this option.
    Option(OptionId),
    /// Allow it once.
    Allow,
    /// Reject it once, with a reason for the agent if one is given.
    Deny(Option<String>),
}

/// What the user does with the queue of prompts. Prompts are meant by their numbers in
/// [`ChatStatus`](super::status::ChatStatus), since others may have been sent meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueAction {
    /// Take a prompt out in order to edit it.
    Take(u64),
    /// Remove a prompt.
    Drop(u64),
    /// Send a prompt before all others. A running turn is cancelled for it.
    Send(u64),
    /// Give the queue this order and these texts.
    Arrange {
        /// The prompts.
        prompts: Vec<ArrangedPrompt>,
        /// The numbers of those that the user has seen: the ones that are not among `prompts` are removed.
        known: Vec<u64>,
    },
    /// Resume the paused queue.
    Resume,
}

/// A prompt of an edited queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrangedPrompt {
    /// Its number; `None` if it is new.
    pub number: Option<u64>,
    /// Its text.
    pub text: String,
    /// Whether the user has changed the text.
    pub is_changed: bool,
}

/// What the user does with a worktree. `None` as the chat stands for the one used most recently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeAction {
    /// Create one of the repository that a folder is in.
    Create {
        /// A number, which comes back with the worktree.
        request: u64,
        /// The folder.
        cwd: PathBuf,
        /// Where worktrees are.
        below: PathBuf,
        /// The agent it is for.
        agent: String,
    },
    /// Merge the one that a chat works in; with the flag everything since it was created.
    Merge(Option<ChatId>, bool),
    /// Remove the one that a chat works in.
    Remove(Option<ChatId>),
}
