//! All we do. `State` makes these; the bridge has edges carry them out.

mod call;
mod page;

pub use call::{Call, Place};
pub use page::{Page, Scratch};

use super::command::ToTerminal;
use super::content::{Bytes, Export, Offer};
use super::elicitation::News;
use super::event::{
    AgentId, BufferFact, CallId, ChatId, FileChange, SessionAct, Timer, Token, Told,
};
use super::policy::{Unsaved, WriteDirty};
use super::reach::Reach;
use super::status::Status;
use crate::session::agent::AgentConfig;
use crate::session::author::{Author, SessionKey};
use crate::session::content::ContentId;
use crate::session::elicitation::Action;
use crate::session::ids::{AgentName, SessionId, TerminalId};
use crate::session::permission::Outcome;
use crate::session::prompt::Prompt;
use crate::session::remembered::{Remembered, StoreKey};
use crate::session::terminal::TerminalExit;
use crate::session::tool_call::Diff;
use crate::session::transcript::Entry;
use crate::session::update::{Command, ConfigOption, Meta};
use crate::view::patch::Patch;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// With an agent.
    Agent(AgentEffect),
    /// Read a file for an agent.
    Read {
        /// The request that waits for it.
        token: Token,
        /// Who reads.
        session: SessionKey,
        /// As sent.
        path: PathBuf,
        /// First line, counted from 1.
        line: Option<u32>,
        /// How many lines.
        limit: Option<u32>,
        /// Where files may lie.
        reach: Reach,
    },
    /// Write a file for an agent.
    Write {
        /// The request that waits for it.
        token: Token,
        /// Who writes.
        by: Author,
        /// As sent.
        path: PathBuf,
        /// The whole new text.
        content: String,
        /// What it replaces, where the user has allowed exactly this change; else what the agent knows counts.
        base: Option<String>,
        /// What becomes of unsaved changes in its buffer.
        dirty: WriteDirty,
        /// Whether the agent goes on to write the same text to the disk itself.
        repeats: bool,
        /// Where files may lie.
        reach: Reach,
    },
    /// See whether an agent changed these files on disk, and have open buffers follow.
    Adopt {
        /// In which chat's turn.
        chat: ChatId,
        /// Whose.
        by: Author,
        /// Which; none means every open file.
        paths: Vec<PathBuf>,
        /// Where files may lie.
        reach: Reach,
    },
    /// An agent is about to change these files: have their texts at hand.
    Prepare {
        /// Which.
        paths: Vec<PathBuf>,
        /// Where files may lie.
        reach: Reach,
    },
    /// An agent has read these files from the disk itself.
    Seen {
        /// Who.
        session: SessionKey,
        /// Which.
        paths: Vec<PathBuf>,
        /// Where files may lie.
        reach: Reach,
        /// Whether only its tools read through us, without telling its model.
        by_model: bool,
    },
    /// Find out what an agent cannot see, for a prompt that waits. `Event::Gathered` follows, always.
    Gather(Gather),
    /// A turn is over: from now on others change the files the agent wrote.
    TurnOver {
        /// Whose.
        session: SessionKey,
        /// What came with the prompt.
        told: Vec<Told>,
        /// Whether the agent has taken that in.
        taken: bool,
        /// The agent reads buffers through us, not the disk.
        reads_buffers: bool,
    },
    /// Forget what a session that is over knows of files.
    Forget(SessionKey),
    /// With a command in a terminal of ours.
    Terminal(TerminalId, ToTerminal),
    /// Take note of what has happened to the buffer of a file.
    Buffer {
        /// Which file, as the buffer names it.
        path: PathBuf,
        /// What.
        fact: BufferFact,
        /// Where files may lie.
        reach: Reach,
    },
    /// Write content to a file. `Event::Exported` follows, always.
    Export {
        /// Of which chat.
        chat: ChatId,
        /// Which.
        id: ContentId,
        /// Where to, and what for.
        export: Export,
        /// What.
        bytes: Bytes,
    },
    /// Write down or bring back what outlives Neovim.
    Keep(Keeping),
    /// Watch the loaded files there, and no others, for changes on disk.
    Watch(Reach),
    /// Come back after a while.
    Timer {
        /// With this.
        timer: Timer,
        /// When.
        after: Duration,
    },
    /// Show the traffic with an agent.
    Trace {
        /// Which.
        agent: AgentId,
        /// For which chat.
        chat: ChatId,
    },
}

/// What is done with what outlives Neovim.
#[derive(Debug, Clone, PartialEq)]
pub enum Keeping {
    /// A session was used; with what has changed in its transcript, or all of it from now on. `Event::Kept` follows.
    Note(Box<Remembered>, bool, Vec<(usize, Entry)>),
    /// Forget a session.
    Forget(StoreKey),
    /// The session of this agent that was used last in this folder, for a chat that goes on with it. `Event::Recalled`
    /// follows, always.
    Recall(ChatId, AgentName, PathBuf),
    /// The sessions of this folder, for the user to choose from. `Event::Remembered` follows, always.
    List(PathBuf),
    /// What was said in a session, for a chat that goes on with it; `true` if it is to be the only one from now on.
    /// `Event::Reread` follows, always.
    Reread(ChatId, StoreKey, bool),
    /// Nobody here uses a session any more: others may.
    Release(StoreKey),
}

/// What is to be found out before a prompt goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gather {
    /// In which chat.
    pub chat: ChatId,
    /// For which turn.
    pub turn: u64,
    /// Whose.
    pub session: SessionKey,
    /// Where paths are shown from.
    pub cwd: PathBuf,
    /// Where files may lie.
    pub reach: Reach,
    /// What becomes of unsaved text: with `Save` it is saved first, with `Ignore` not looked at.
    pub unsaved: Unsaved,
    /// The agent reads buffers through us, not the disk.
    pub reads_buffers: bool,
    /// Files that go with the prompt, to be read.
    pub files: Vec<PathBuf>,
}

/// What the editor is told, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum ToEditor {
    /// A chat is there.
    Chat {
        /// Which.
        chat: ChatId,
        /// The agent's name in the configuration.
        agent: String,
        /// The agent's name for people.
        title: String,
        /// Where it works.
        cwd: PathBuf,
        /// Open its windows.
        show: bool,
        /// Put the user into the prompt.
        focus: bool,
    },
    /// How a chat stands.
    Status(Box<Status>),
    /// Draw.
    Draw {
        /// Which chat.
        chat: ChatId,
        /// Which of its buffers.
        view: View,
        /// Whether the buffer is emptied first.
        reset: bool,
        /// What.
        patch: Patch,
    },
    /// One line for the user.
    Notify(Level, String),
    /// A `User` autocommand.
    Autocommand(Happened),
    /// News of a form or an address that an agent wants the user to see to.
    Elicitation(ChatId, u64, News),
    /// A question of ours.
    Ask {
        /// To find the answer by.
        id: u64,
        /// The chat it is about.
        chat: ChatId,
        /// The question.
        title: String,
        /// The answers.
        items: Vec<String>,
        /// It follows from what the user has just done.
        by_user: bool,
        /// Closing it is no answer: it keeps waiting.
        lasting: bool,
    },
    /// Sessions to choose from.
    Sessions {
        /// What is to be done with the chosen one.
        act: SessionAct,
        /// Where they work.
        cwd: PathBuf,
        /// Those used last first.
        items: Vec<SessionItem>,
        /// Whether agents know of more.
        more: bool,
    },
    /// A question of ours that needs no answer any more.
    Unask(u64),
    /// Text in a buffer of its own.
    Scratch(Scratch),
    /// More of what a command wrote, for a terminal buffer.
    Terminal {
        /// The chat.
        chat: ChatId,
        /// Which terminal.
        terminal: TerminalId,
        /// The command line.
        title: String,
        /// Whether the buffer is to be opened, empty, before.
        open: bool,
        /// What a terminal is told.
        bytes: Vec<u8>,
    },
    /// A prompt goes back to the user.
    Draft(ChatId, Prompt),
    /// A login in a terminal of the editor's (ACP terminal authentication).
    Login {
        /// For which chat.
        chat: ChatId,
        /// What the user reads.
        title: String,
        /// The program with its arguments.
        command: Vec<String>,
        /// Its whole environment.
        env: BTreeMap<String, String>,
        /// Where.
        cwd: PathBuf,
        /// Whether the user has just asked for it: it need not wait for them.
        by_user: bool,
    },
    /// What an agent adds to what the protocol says.
    Meta {
        /// In which chat.
        chat: ChatId,
        /// The session, where it is about one.
        session: Option<SessionId>,
        /// What.
        meta: Meta,
    },
    /// What can be done with content.
    Offer(Box<Offer>),
    /// Content is in a file now, or there was one before.
    Exported {
        /// Of which chat.
        chat: ChatId,
        /// Which.
        id: ContentId,
        /// Where.
        path: PathBuf,
        /// Nothing is written: there is a file of that name.
        exists: bool,
        /// What is done with the file, in the editor's own word.
        then: Option<String>,
    },
    /// What can be set in a session.
    Options(ChatId, Vec<ConfigOption>),
    /// What the agent offers as `/command`.
    Commands(ChatId, Vec<Command>),
    /// Changes to be seen in native diff mode.
    Diff {
        /// Which chat.
        chat: ChatId,
        /// The request that waits, if one does.
        request: Option<u64>,
        /// What it is about.
        title: String,
        /// The files.
        files: Vec<Diff>,
    },
}

/// A session that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionItem {
    /// The agent's name in the configuration.
    pub agent: AgentName,
    /// As the agent named it.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// When it was used here last, in seconds since 1970.
    pub used_at: Option<u64>,
    /// When it changed last, as the agent wrote it (ISO 8601).
    pub updated_at: Option<String>,
    /// The chat that has it open.
    pub chat: Option<ChatId>,
    /// Another Neovim has it open.
    pub open_elsewhere: bool,
}

/// The buffers of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// The transcript.
    Chat,
    /// The plan.
    Plan,
    /// The tool calls.
    Tools,
}

impl View {
    /// Every one of them.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Plan, Self::Tools];
}

/// How urgent a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Worth a look.
    Warn,
    /// Something failed.
    Error,
}

/// What the user's autocommands are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// A turn begins.
    TurnStart(ChatId),
    /// A turn ended.
    TurnEnd(ChatId, String),
    /// An agent waits for permission.
    Permission(ChatId, u64, String),
    /// An agent asks the user for something; its mode.
    Elicitation(ChatId, u64, &'static str),
    /// A file changed.
    FileChanged(ChatId, FileChange),
    /// Something failed.
    Error(ChatId, String),
}

/// What is done with an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum ToAgent {
    /// Start the process in `cwd`.
    Start {
        /// How.
        config: Box<AgentConfig>,
        /// Where.
        cwd: PathBuf,
    },
    /// Call it; an answer, an error or the timeout comes back as `FromAgent::Answer`, once.
    Call {
        /// Ours, to find the answer by.
        call: CallId,
        /// What.
        request: Call,
        /// How long to wait; `None` is for ever.
        timeout: Option<Duration>,
    },
    /// `session/cancel`.
    Cancel(SessionId),
    /// `$/cancel_request` for a call of ours.
    Withdraw(CallId),
    /// Answer a request of the agent; spends the token.
    Answer {
        /// Which request.
        token: Token,
        /// With what.
        answer: Answer,
    },
    /// End the process: close stdin, SIGTERM, SIGKILL, for its whole group.
    Stop,
}

/// An answer to a request of an agent.
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
        /// The end of what the command wrote, as plain text.
        text: String,
        /// Whether there was more.
        truncated: bool,
        /// How it ended, if it has.
        exit: Option<TerminalExit>,
    },
    /// To `terminal/wait_for_exit`.
    Exited(TerminalExit),
    /// To `terminal/kill` and `terminal/release`.
    Done,
    /// To `elicitation/create`.
    Elicitation(Action),
    /// An error to any of them.
    Error {
        /// JSON-RPC or ACP code.
        code: i64,
        /// One line, for the agent's model to read.
        message: String,
    },
}

/// An effect on an agent, with the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEffect {
    /// Which agent.
    pub agent: AgentId,
    /// What is done.
    pub action: ToAgent,
}
