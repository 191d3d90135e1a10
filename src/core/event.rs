//! All that happens. Edges make these; only `State` reads them.

pub mod agent;

use super::command::FromTerminal;
use super::content::{ContentAct, Export, Exported};
use super::effect::View;
use super::elicitation::Choice;
use super::policy::{Policy, Unsaved};
use crate::edit::Text;
use crate::edit::unified::FileDiff;
use crate::session::agent::AgentConfig;
pub use crate::session::author::ChatId;
use crate::session::content::ContentId;
use crate::session::ids::{AgentName, OptionId, SessionId, TerminalId, ToolCallId};
use crate::session::prompt::{FilesRead, Prompt};
use crate::session::remembered::{Kept, Past, Remembered, StoreKey};
use agent::FromAgent;
use std::path::PathBuf;
use std::sync::Arc;

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An agent said something, or is gone.
    Agent(AgentId, FromAgent),
    /// The user did something.
    User(UserAction),
    /// A read or a write of a file for an agent is done.
    File {
        /// The request it was for.
        token: Token,
        /// What came of it.
        outcome: FileOutcome,
    },
    /// Buffers have followed what an agent did to their files itself, or could not.
    Adopted {
        /// In which chat's turn.
        chat: ChatId,
        /// What changed.
        changes: Vec<FileChange>,
        /// Whose buffer stays as it is, and why.
        failed: Vec<(PathBuf, String)>,
    },
    /// What an agent cannot see, for a prompt that waits for it.
    Gathered {
        /// In which chat.
        chat: ChatId,
        /// For which turn.
        turn: u64,
        /// What was to become of unsaved text.
        unsaved: Unsaved,
        /// What there is.
        gathered: Gathered,
    },
    /// Something has happened in a terminal of ours.
    Terminal(TerminalId, FromTerminal),
    /// Content was to be written to a file.
    Exported(ChatId, ContentId, Export, Exported),
    /// Something has happened to the buffer of this file, as the buffer names it.
    Buffer(PathBuf, BufferFact),
    /// Watched files changed on disk; their real paths.
    DiskChanged(Vec<PathBuf>),
    /// The session of a chat's agent that was used last in its folder.
    Recalled(ChatId, Option<Remembered>),
    /// The sessions of a folder, for the user to choose from.
    Remembered(PathBuf, Vec<Remembered>),
    /// What was said in the session a chat goes on with.
    Reread(ChatId, Past),
    /// What was to be written down of a session was, or was not.
    Kept(StoreKey, Kept),
    /// A timer that was set has run out.
    Timer(Timer),
    /// It is not known how much of a frame the editor has taken.
    FrameLost,
    /// A handler breaks, for the test of what becomes of that.
    #[cfg(test)]
    Break(AgentId, Token),
    /// The traffic that was asked for.
    Trace {
        /// For which chat.
        chat: ChatId,
        /// JSON Lines.
        text: String,
    },
}

/// What an agent cannot see.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gathered {
    /// Files whose buffers have unsaved changes.
    pub unsaved: Vec<UnsavedFile>,
    /// Files the agent wrote that others have changed since.
    pub changed: Vec<ChangedFile>,
    /// What was to be saved and could not be, one line each.
    pub problems: Vec<String>,
    /// Files that go with the prompt as they are.
    pub files: FilesRead,
}

/// A file whose buffer has unsaved changes.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsavedFile {
    /// From the disk to the buffer.
    pub diff: FileDiff,
    /// `file://` address.
    pub uri: String,
    /// The text of the buffer.
    pub text: Arc<Text>,
}

/// A file an agent wrote that is another one now.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFile {
    /// From what the agent knows to what is there.
    pub diff: FileDiff,
    /// What it knows once it has read that.
    pub told: Told,
}

/// What an agent knows of a file by a note; `None` is no file.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Which, its real path.
    pub path: PathBuf,
    /// What it knew before.
    pub was: Option<Arc<Text>>,
    /// What it was told.
    pub now: Option<Arc<Text>>,
}

/// What has happened to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferFact {
    /// Neovim has read the file into it.
    Read,
    /// The user has saved it.
    Saved,
    /// It is unmodified in another way: the user has undone what was not saved.
    Clean,
}

/// A file has changed by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its real path.
    pub path: PathBuf,
    /// How many places.
    pub hunks: usize,
    /// In how many places the user's text stays against the file's.
    pub conflicts: usize,
    /// Whether the file is gone.
    pub deleted: bool,
    /// `protocol` or `disk`.
    pub via: &'static str,
}

/// What came of a read or a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    /// The text that was asked for.
    Text(String),
    /// The file is written.
    Written {
        /// What changed by it; nothing if the text was there already.
        changes: Vec<FileChange>,
        /// What the user should know, one line.
        notice: Option<String>,
    },
    /// Nothing is written: the user's unsaved changes would have to be saved with it, and the user asked first.
    Unsaved(PathBuf),
    /// The path lies outside what the agent may touch: the user would have to allow it.
    Outside {
        /// The file, by its real path.
        file: PathBuf,
        /// Its folder, unless that holds more than anybody means to allow with a file.
        folder: Option<PathBuf>,
    },
    /// It failed.
    Failed {
        /// JSON-RPC or ACP code.
        code: i64,
        /// One line.
        message: String,
    },
}

/// What the user can do, as it comes from the editor.
#[derive(Debug, Clone, PartialEq)]
pub enum UserAction {
    /// `:RatStart`.
    Start {
        /// Which agent, and how.
        config: Box<AgentConfig>,
        /// Where.
        cwd: PathBuf,
        /// Further roots.
        directories: Vec<PathBuf>,
        /// What the user has chosen about files.
        policy: Policy,
        /// Which session.
        wish: Wish,
        /// Put the user into the prompt.
        focus: bool,
    },
    /// `:RatSessions`: choose from the sessions of a folder.
    ListSessions {
        /// What is to be done with the chosen one.
        act: SessionAct,
        /// Where.
        cwd: PathBuf,
    },
    /// The user wants to see more of them.
    MoreSessions,
    /// Closes a session.
    CloseSession(AgentName, SessionId),
    /// Deletes a session.
    DeleteSession {
        /// Whose.
        agent: AgentName,
        /// Which.
        session: SessionId,
        /// Where it works.
        cwd: PathBuf,
    },
    /// A prompt.
    Prompt {
        /// In which chat; `None` is the one used last.
        chat: Option<ChatId>,
        /// What.
        prompt: Prompt,
    },
    /// `:RatCancel`.
    Cancel(Option<ChatId>),
    /// `:RatStop`.
    Stop(Option<ChatId>),
    /// `:RatRestart`.
    Restart(Option<ChatId>),
    /// Sets an option of the session, or its mode.
    SetOption {
        /// In which chat.
        chat: Option<ChatId>,
        /// Its id, category or name.
        option: String,
        /// A choice's value or name; `on` or `off`.
        value: String,
    },
    /// `:RatLogin`.
    Login {
        /// In which chat.
        chat: Option<ChatId>,
        /// How; the id of a method.
        method: Option<String>,
    },
    /// The program of a login in a terminal has ended.
    LoginEnded {
        /// For which chat.
        chat: ChatId,
        /// With which exit status; `None` if it was not started.
        status: Option<i32>,
    },
    /// `:RatLogout`.
    Logout(Option<ChatId>),
    /// A queued prompt is taken back for editing.
    TakeQueued {
        /// In which chat.
        chat: Option<ChatId>,
        /// Which, counted from 0.
        index: usize,
    },
    /// A paused queue goes on.
    ResumeQueue(Option<ChatId>),
    /// An answer to a request for permission.
    Permission {
        /// In which chat; `None` is the one whose request is the oldest.
        chat: Option<ChatId>,
        /// Which request; `None` is the oldest.
        id: Option<u64>,
        /// Which revision of it the user has seen; `None` is whichever there is.
        revision: Option<u64>,
        /// What.
        choice: PermissionChoice,
    },
    /// What the user does with a form or an address.
    Elicitation {
        /// In which chat.
        chat: ChatId,
        /// Which one.
        id: u64,
        /// What.
        choice: Choice,
    },
    /// Wants the changes of a waiting request in native diff mode.
    ShowDiff {
        /// In which chat.
        chat: Option<ChatId>,
        /// Which request; `None` is the oldest.
        id: Option<u64>,
    },
    /// Wants all a tool call produced.
    ShowOutput {
        /// In which chat.
        chat: Option<ChatId>,
        /// Which call.
        tool_call: ToolCallId,
    },
    /// Wants a terminal in a buffer of its own, live; or has closed that buffer.
    ShowTerminal {
        /// In which chat.
        chat: Option<ChatId>,
        /// Which.
        terminal: TerminalId,
        /// Whether there is such a buffer from now on.
        show: bool,
    },
    /// Something with content that is no text.
    Content {
        /// In which chat.
        chat: Option<ChatId>,
        /// Which.
        id: ContentId,
        /// What.
        act: ContentAct,
    },
    /// `:RatInfo`.
    ShowInfo(Option<ChatId>),
    /// `:RatTrace`.
    ShowTrace(Option<ChatId>),
    /// An answer to one of our own questions; `None` when the user closed it.
    Answer {
        /// Which question.
        id: u64,
        /// The chosen item, counted from 0.
        index: Option<usize>,
    },
    /// A view buffer was made anew: draw all of it again.
    Redraw(ChatId, View),
}

/// Which session the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// The one that is open, else the project's last one if the agent can go on with it, else a new one.
    Last,
    /// The one that is open, else a new one.
    Open,
    /// A new one.
    New,
    /// This one.
    Session(SessionId),
    /// A new one that begins as this one is now.
    Fork(SessionId),
}

/// What is done with a session that the user chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionAct {
    /// Show it, or go on with it.
    Open,
    /// Begin another one from it.
    Fork,
    /// Close it.
    Close,
    /// Delete it.
    Delete,
}

/// What the user answers to a request for permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionChoice {
    /// This option.
    Option(OptionId),
    /// Allow it once.
    Allow,
    /// Reject it once, and say why.
    Deny(Option<String>),
}

/// What a timer was set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The agent has not ended its turn since it was cancelled; the number is the turn's.
    CancelGrace(ChatId, u64),
}

/// One started agent process; a restart gets a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u32);

/// A request of an agent that waits for its answer: spent by answering, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// A call of ours that waits for the agent's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);
