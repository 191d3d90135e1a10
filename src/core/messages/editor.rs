//! What the core tells the editor.

use crate::core::messages::checkpoint::KeptTurn;
use crate::core::messages::content::ContentOffer;
use crate::core::messages::conversation::ConversationEvent;
use crate::core::messages::elicitation::ElicitationUpdate;
use crate::core::messages::failure::Failure;
use crate::core::messages::files::{FileChange, ProposedWrite};
use crate::core::messages::notice::Notice;
use crate::core::messages::page::{ScratchPage, View};
use crate::core::messages::review::{ComparedFile, ListedChange, PendingCount, PendingFile};
use crate::core::messages::review_page::ReviewPage;
use crate::core::messages::rules::{RuleProblem, RuleSuggestion, RulesPage};
use crate::core::messages::status::ChatStatus;
use crate::core::messages::trace::TracePiece;
use crate::core::messages::user::SessionAction;
use crate::core::messages::worktree::NewWorktree;
use crate::session::author::ChatId;
use crate::session::content::ContentId;
use crate::session::ids::{AgentName, SessionId, TerminalId, ToolCallId};
use crate::session::prompt::Prompt;
use crate::session::search::SearchResult;
use crate::session::tool_call::Diff;
use crate::session::update::{Command, ConfigOption, Meta};
use crate::view::patch::Patch;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One of our own questions to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Identifies the question in `UserAction::Answer`.
    pub id: u64,
    /// The chat it is about.
    pub chat: ChatId,
    /// The question.
    pub title: String,
    /// The possible answers.
    pub items: Vec<String>,
    /// Whether it is a direct consequence of something the user did.
    pub by_user: bool,
    /// Whether it still waits for an answer after the user has closed its window.
    pub lasting: bool,
    /// The item that answers nothing but shows what the question is about, counted from 0.
    pub peek: Option<usize>,
    /// Whether it is about a write, whose change may be shown in place of the question.
    pub is_write: bool,
}

/// What the core tells the editor, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum EditorMessage {
    /// A chat exists, or is to be shown.
    Chat {
        /// The chat.
        chat: ChatId,
        /// The agent's name in the configuration.
        agent: String,
        /// The agent's display name.
        title: String,
        /// The session's working directory.
        cwd: PathBuf,
        /// Whether to open its windows.
        show: bool,
        /// Whether to put the cursor into the prompt.
        focus: bool,
        /// The number of the change in place that it was opened for.
        edit: Option<u64>,
    },
    /// The status of a chat has changed.
    Status(Box<ChatStatus>),
    /// The content of a view has changed.
    Draw {
        /// The chat.
        chat: ChatId,
        /// The view.
        view: View,
        /// Whether to empty the buffer first.
        reset: bool,
        /// The changes.
        patch: Patch,
    },
    /// A change in place is over.
    Edited {
        /// The chat that was asked for it.
        chat: ChatId,
        /// The number of the change.
        edit: u64,
        /// What has become of it.
        outcome: EditOutcome,
    },
    /// One line for the user.
    Notify(Level, Notice),
    /// Trigger a `User` autocommand.
    Autocommand(UserAutocmd),
    /// Something that scripts listen to.
    Conversation(ChatId, Box<ConversationEvent>),
    /// A change to the elicitation with this number.
    Elicitation(ChatId, u64, ElicitationUpdate),
    /// Ask the user one of our own questions.
    Ask(Asked),
    /// Show a write that waits for the user's consent, so that they can edit it; again if it could not be made then.
    Proposal {
        /// Identifies the question about it.
        id: u64,
        /// The chat.
        chat: ChatId,
        /// The change.
        write: Box<ProposedWrite>,
    },
    /// Sessions to choose from.
    Sessions {
        /// What to do with the chosen one.
        act: SessionAction,
        /// Their working directory.
        cwd: PathBuf,
        /// Most recently used first.
        items: Vec<SessionItem>,
        /// Whether agents have further pages.
        more: bool,
    },
    /// Show the rules.
    Rules(Box<RulesPage>),
    /// Let the user edit rules made of a request.
    RuleSuggestion(RuleSuggestion),
    /// What is wrong with the lists of rules that the user has written; nothing if they hold now.
    RuleProblems(Vec<RuleProblem>),
    /// Withdraw a question.
    Unask(u64),
    /// Remove a chat that was closed.
    Closed(ChatId),
    /// Show a piece of the traffic with an agent: its title, and what to show.
    Trace(String, TracePiece),
    /// What the search with this number has found.
    Found(u64, SearchResult),
    /// The worktree of the request with this number; otherwise why it was not created.
    Worktree(u64, Result<NewWorktree, String>),
    /// Show a text in a scratch buffer.
    Scratch(ScratchPage),
    /// Output for a terminal buffer.
    Terminal {
        /// The chat.
        chat: ChatId,
        /// The terminal.
        terminal: TerminalId,
        /// The command and its state.
        title: String,
        /// Whether to show the buffer, creating it if necessary.
        open: bool,
        /// Bytes to send to the terminal.
        bytes: Vec<u8>,
        /// Whether the command has ended and this is the last of its output.
        over: bool,
    },
    /// Return a prompt to the user.
    Draft {
        /// The chat.
        chat: ChatId,
        /// The prompt with its attachments.
        prompt: Prompt,
        /// Whether the user took it out of the queue in order to edit it.
        taken: bool,
    },
    /// Log in with a program that runs in a terminal of the editor (ACP terminal authentication).
    Login {
        /// The chat.
        chat: ChatId,
        /// The name of the authentication method.
        title: String,
        /// The program and its arguments.
        command: Vec<String>,
        /// Its complete environment.
        env: BTreeMap<String, String>,
        /// Its working directory.
        cwd: PathBuf,
        /// Whether the user has just asked for it, so that its window may open at once.
        by_user: bool,
    },
    /// Data that an agent sent in `_meta`.
    Meta {
        /// The chat.
        chat: ChatId,
        /// The session it is about, if any.
        session: Option<SessionId>,
        /// The data.
        meta: Meta,
    },
    /// What can be done with a piece of content.
    Offer(Box<ContentOffer>),
    /// Content was written to a file, or the file exists already.
    Exported {
        /// The chat.
        chat: ChatId,
        /// The content.
        id: ContentId,
        /// The file.
        path: PathBuf,
        /// Whether nothing was written because the file exists.
        exists: bool,
        /// What the editor will do with the file, in its own words; as given in `ExportTarget`.
        then: Option<String>,
    },
    /// The options of a session have changed.
    Options(ChatId, Vec<ConfigOption>),
    /// The agent's slash commands have changed.
    Commands(ChatId, Vec<Command>),
    /// What is pending in a loaded file.
    Pending(PendingFile),
    /// Turns whose changes are kept, to choose from.
    Turns {
        /// The chat.
        chat: ChatId,
        /// The newest first.
        turns: Vec<KeptTurn>,
        /// The call from Lua that wants them, in place of the user.
        request: Option<u64>,
        /// Whether they are those of one prompt.
        is_of_prompt: bool,
    },
    /// What is pending in all files, for this call from Lua.
    Changes(u64, Vec<ListedChange>),
    /// How many lines are pending in all files, by the chats whose agents changed them.
    PendingCounts(Vec<PendingCount>),
    /// Files that the user has put back or merged may have changed on disk, of which language servers are to be told.
    Rewritten(Vec<PathBuf>),
    /// Show what is pending in all files.
    Review(ReviewPage),
    /// Compare a file with its base.
    Compare(ComparedFile),
    /// Show changes in diff mode.
    Diff {
        /// The chat.
        chat: ChatId,
        /// The number of the permission request that is about them; `None` if none is waiting.
        request: Option<u64>,
        /// The tool call that makes the changes.
        tool_call: ToolCallId,
        /// The tool call's title.
        title: String,
        /// The changed files.
        files: Vec<Diff>,
        /// Whether the user may edit the change before allowing it.
        is_editable: bool,
    },
}

/// A session to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionItem {
    /// The agent's name in the configuration.
    pub agent: AgentName,
    /// The id the agent gave it.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// When it was last used here, in seconds since 1970; `None` if it was not.
    pub used_at: Option<u64>,
    /// When it last changed, as reported by the agent (ISO 8601).
    pub updated_at: Option<String>,
    /// The chat that has it open.
    pub chat: Option<ChatId>,
    /// Whether another Neovim has it open.
    pub open_elsewhere: bool,
}

/// What has become of a change in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOutcome {
    /// The file was changed: by its answer, or by the agent itself.
    Changed,
    /// The agent wants nothing changed.
    Unchanged,
    /// The user has cancelled it.
    Cancelled,
    /// It was not made, and the user was told why.
    Failed,
}

/// The urgency of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For information only.
    Info,
    /// Something needs attention.
    Warn,
    /// Something failed.
    Error,
}

/// A `User` autocommand (`:help rat-events`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAutocmd {
    /// A turn has started.
    TurnStart(ChatId),
    /// A turn has ended: the stop reason, and whether a queued prompt starts another turn at once.
    TurnEnd(ChatId, String, bool),
    /// An agent requests permission: our number of the request, and the tool call's title.
    Permission(ChatId, u64, String),
    /// An agent elicits input: our number of the elicitation, and its mode, `form` or `url`.
    Elicitation(ChatId, u64, &'static str),
    /// A file was changed by an agent.
    FileChanged(ChatId, FileChange),
    /// Other changes may be pending than before.
    ReviewChanged,
    /// Something failed.
    Error(ChatId, Failure),
}
