//! Everything we do. Only `State` creates effects; the bridge has the edges carry them out.

use crate::core::messages::call::Call;
use crate::core::messages::checkpoint::CheckpointCommand;
use crate::core::messages::content::{ContentBytes, ExportTarget};
use crate::core::messages::event::Timer;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::files::{BufferEvent, CallState, Consent, ReportedChange};
use crate::core::messages::ids::{AgentId, CallId, RequestToken};
use crate::core::messages::judgement::Case;
use crate::core::messages::policy::{Unsaved, WriteDirty};
use crate::core::messages::review::{Comparison, Review, ReviewList};
use crate::core::messages::review_page::ReviewDraft;
use crate::core::messages::rules::ThenTell;
use crate::core::messages::terminal::TerminalCommand;
use crate::core::messages::tools::{Query, ToolsCommand};
use crate::core::messages::trace::TraceTask;
use crate::core::messages::worktree::WorktreeCommand;
use crate::session::agent::AgentConfig;
use crate::session::author::{Author, ChatId, SessionKey};
use crate::session::confinement::Confinement;
use crate::session::content::ContentId;
use crate::session::elicitation::Action;
use crate::session::entry::Entry;
use crate::session::ids::{AgentName, SessionId, TerminalId};
use crate::session::permission::Outcome;
use crate::session::saved::{SavedSession, StoreKey, TranscriptPart};
use crate::session::search::SearchQuery;
use crate::session::terminal::TerminalExit;
use crate::trust::kept::RulesChange;
use std::path::PathBuf;
use std::time::Duration;

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a command to an agent.
    Agent(AgentEffect),
    /// Read a file for an agent. `Event::File` follows.
    Read {
        /// The request that waits for it.
        token: RequestToken,
        /// The session that reads.
        session: SessionKey,
        /// As sent.
        path: PathBuf,
        /// First line, counted from 1; `None` starts at the beginning.
        line: Option<u32>,
        /// Maximum number of lines; `None` reads to the end.
        limit: Option<u32>,
        /// The files the agent may use.
        scope: FileScope,
    },
    /// Write a file for an agent. `Event::File` follows.
    Write {
        /// The request that waits for it.
        token: RequestToken,
        /// The session, turn and tool call that write.
        by: Author,
        /// As sent.
        path: PathBuf,
        /// The complete new text.
        content: String,
        /// The text it replaces, if the user has allowed exactly this change. `None` means the text the agent knows.
        base: Option<String>,
        /// What to do about unsaved changes in the buffer.
        dirty: WriteDirty,
        /// Whether the agent will also write the same text to disk by itself.
        repeats: bool,
        /// What the user has said to it.
        consent: Consent,
        /// The files the agent may use.
        scope: FileScope,
    },
    /// Ask the editor for what a call of one of its own tools needs. `Event::File` follows.
    Query {
        /// The request that waits for it.
        token: RequestToken,
        /// The session that calls.
        session: SessionKey,
        /// What to ask for.
        query: Query,
        /// The files the agent may use.
        scope: FileScope,
    },
    /// Check whether an agent has changed files on disk, and update open buffers. `Event::DiskFollowed` follows.
    FollowDisk {
        /// The chat whose turn it is.
        chat: ChatId,
        /// The session, turn and tool call that made the changes.
        by: Author,
        /// The files; empty means every open file.
        paths: Vec<PathBuf>,
        /// Whether to look for changes of files that are not open, too.
        unopened: bool,
        /// The files the agent may use.
        scope: FileScope,
    },
    /// A tool call of a turn runs from now on, or no more.
    CallIs {
        /// The tool call.
        by: Author,
        /// Whether it runs.
        state: CallState,
        /// Whether it is a command, which reads what it changes from the disk.
        is_command: bool,
    },
    /// Load these files, because an agent is about to change them.
    Preload {
        /// The chat of the agent.
        chat: ChatId,
        /// The files.
        paths: Vec<PathBuf>,
        /// The files the agent may use.
        scope: FileScope,
    },
    /// Record that an agent has read these files from disk by itself.
    AgentReadDisk {
        /// The session that has read them.
        session: SessionKey,
        /// The files.
        paths: Vec<PathBuf>,
        /// The files the agent may use.
        scope: FileScope,
        /// Whether the agent's model has read them, which knows nothing of what the agent's tools read through us.
        by_model: bool,
    },
    /// Find out what an agent cannot see, for a prompt that is waiting to be sent. `Event::PromptContextCollected`
    /// always follows.
    CollectPromptContext(CollectPromptContext),
    /// A turn has ended: from now on, changes to files the agent wrote are made by others.
    TurnEnded {
        /// The session.
        session: SessionKey,
        /// The file changes that were reported with the prompt.
        reported: Vec<ReportedChange>,
        /// Whether the agent has taken the prompt into account.
        taken: bool,
        /// Whether the agent reads files through us and not from disk.
        reads_buffers: bool,
    },
    /// Forget what a session that has ended knows about files.
    Forget(SessionKey),
    /// The same for a session whose chat is closed. Files in which nothing is pending are forgotten altogether.
    Close(SessionKey),
    /// Act on a terminal.
    Terminal(TerminalId, TerminalCommand),
    /// Record what has happened to a file's buffer.
    Buffer {
        /// The file, by the buffer's name.
        path: PathBuf,
        /// What has happened.
        event: BufferEvent,
        /// The files that any agent may use.
        scope: FileScope,
    },
    /// Keep or reject pending changes. `Event::Reviewed` follows.
    Review {
        /// The decision.
        review: Review,
        /// The files that any agent may use.
        scope: FileScope,
    },
    /// Take the last decision back. `Event::TakenBack` follows.
    TakeBack,
    /// Forget the decisions that could be taken back.
    ForgetDecisions,
    /// Find out what is pending in files that are loaded. `Event::PendingFound` follows.
    FindPending {
        /// The files.
        paths: Vec<PathBuf>,
        /// The files that any agent may use.
        scope: FileScope,
    },
    /// Find out what is pending in all files, for a review. `Event::ChangesFound` follows.
    FindChanges {
        /// What it is for.
        list: ReviewList,
        /// The files that any agent may use.
        scope: FileScope,
    },
    /// Compose the page of a review. `Event::ReviewComposed` follows, once for each piece of it.
    ComposeReview(Box<ReviewDraft>),
    /// Find out what is pending in a file, to compare it with its base. `Event::ChangeFound` follows.
    FindChange {
        /// What the user wants to compare.
        comparison: Comparison,
        /// The files that any agent may use.
        scope: FileScope,
    },
    /// Keep what is pending in a file where its base is as the user wants it. `Event::Reviewed` follows.
    KeepAsBase {
        /// The file.
        path: PathBuf,
        /// The lines that the user wants as the base.
        base: Vec<String>,
        /// The files that any agent may use.
        scope: FileScope,
    },
    /// Write content to a file. `Event::Exported` always follows.
    Export {
        /// The chat.
        chat: ChatId,
        /// The content.
        id: ContentId,
        /// The file.
        export: ExportTarget,
        /// The data.
        bytes: ContentBytes,
    },
    /// Let the user's rules decide on a permission request. `Event::Judged` always follows.
    Judge(Box<Case>),
    /// Find out which of these paths only its confinement keeps the agent of a chat from writing. `Event::Denied` always
    /// follows.
    FindDenied(ChatId, Box<Confinement>, Vec<PathBuf>),
    /// Read or write saved sessions.
    Store(StoreCommand),
    /// Do something with checkpoints.
    Checkpoint(CheckpointCommand),
    /// Do something with a worktree.
    Worktree(WorktreeCommand),
    /// Do something with the server of the editor's own tools.
    Tools(ToolsCommand),
    /// Watch loaded files in this scope, and no others, for changes on disk.
    Watch(FileScope),
    /// Set a timer. `Event::Timer` follows.
    Timer {
        /// Returned when the timer fires.
        timer: Timer,
        /// The delay.
        after: Duration,
    },
    /// Write a conversation to a file, without secrets. `Event::ChatExported` follows.
    ExportChat {
        /// The chat.
        chat: ChatId,
        /// Where to.
        export: ExportTarget,
        /// The conversation as Markdown.
        text: String,
    },
    /// Do something with the recorded traffic of an agent.
    Trace {
        /// The agent.
        agent: AgentId,
        /// The chat it is for.
        chat: ChatId,
        /// What to do.
        task: TraceTask,
    },
    /// Send the next piece of a chat's page of traffic once there is one.
    TraceMore(ChatId),
    /// Send no more of a chat's page of traffic.
    TraceClose(ChatId),
}

/// A command for the store of saved sessions.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreCommand {
    /// Save a session with the changed entries of its transcript, each with its index. If the flag is set, they replace
    /// everything saved before. `Event::Saved` follows.
    Save(Box<SavedSession>, bool, Vec<(usize, Entry)>),
    /// Save what the agent has said so far in a running turn. `Event::Saved` follows.
    SavePart(Box<SavedSession>, TranscriptPart),
    /// Delete a session.
    Forget(StoreKey),
    /// Find this agent's most recent session in this folder. `Event::LastSession` always follows.
    FindLast(ChatId, AgentName, PathBuf),
    /// List the sessions of this folder. `Event::SavedSessions` always follows.
    List(PathBuf),
    /// Search all sessions, and stop an earlier search. `Event::Searched` with this number follows, unless another search
    /// comes first.
    Search(u64, SearchQuery),
    /// Load the transcript of a session. If the flag is set, also claim the session, so that no other Neovim can open
    /// it. `Event::TranscriptLoaded` always follows.
    LoadTranscript(ChatId, StoreKey, bool),
    /// Give up the claim on a session, so that another Neovim can open it.
    Release(StoreKey),
    /// Change the saved rules, or only read them. `Event::RulesSaved` always follows, with what to tell the user then.
    Rules(RulesChange, ThenTell),
}

/// A request for the context of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectPromptContext {
    /// The chat.
    pub chat: ChatId,
    /// The turn of the prompt.
    pub turn: u64,
    /// The session.
    pub session: SessionKey,
    /// The directory that paths are shown relative to.
    pub cwd: PathBuf,
    /// The files the agent may use.
    pub scope: FileScope,
    /// What to do about unsaved text. `Save` saves it first; `Ignore` does not look for any.
    pub unsaved: Unsaved,
    /// Whether the agent reads files through us and not from disk.
    pub reads_buffers: bool,
    /// Whether to fix the state of the folders, so that what the turn changes can be undone.
    pub is_reviewed: bool,
    /// Attached files that have to be read.
    pub files: Vec<PathBuf>,
}

/// A command for an agent's connection.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentCommand {
    /// Start the process.
    Start {
        /// How to start it.
        config: Box<AgentConfig>,
        /// The working directory.
        cwd: PathBuf,
    },
    /// Make a call. The reply, an error or the timeout comes back as `AgentEvent::Answer`, exactly once.
    Call {
        /// Identifies the call.
        call: CallId,
        /// The call.
        request: Call,
        /// How long to wait; `None` waits forever.
        timeout: Option<Duration>,
    },
    /// Send `session/cancel`.
    Cancel(SessionId),
    /// Send `$/cancel_request` for one of our calls.
    Withdraw(CallId),
    /// Answer a request of the agent, which uses up the token.
    Answer {
        /// The request.
        token: RequestToken,
        /// The answer.
        answer: Answer,
    },
    /// End the process and its whole group: close stdin, then SIGTERM, then SIGKILL.
    Stop,
}

/// An answer to an agent's request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To `fs/read_text_file`.
    Text(String),
    /// To `fs/write_text_file`.
    Written,
    /// To `session/request_permission`.
    Permission(Outcome),
    /// To `terminal/create`.
    Terminal(TerminalId),
    /// To `terminal/output`.
    Output {
        /// The end of the output, as plain text.
        text: String,
        /// Whether earlier output was left out.
        truncated: bool,
        /// How the command has ended; `None` while it runs.
        exit: Option<TerminalExit>,
    },
    /// To `terminal/wait_for_exit`.
    Exited(TerminalExit),
    /// To `terminal/kill` and `terminal/release`.
    Done,
    /// To `elicitation/create`.
    Elicitation(Action),
    /// An error, to any request.
    Error {
        /// A JSON-RPC or ACP error code.
        code: i64,
        /// One line, written for the agent's model.
        message: String,
    },
}

/// A command together with the agent it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEffect {
    /// The agent.
    pub agent: AgentId,
    /// The command.
    pub action: AgentCommand,
}
