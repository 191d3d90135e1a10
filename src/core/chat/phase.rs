//! The lifecycle of a chat. Each phase holds the data that only exists in that phase.

use super::decisions::Decisions;
use crate::core::messages::files::ReportedChange;
use crate::core::messages::ids::CallId;
use crate::session::ids::TerminalId;
use crate::session::prompt::Prompt;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The lifecycle phase of a chat.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::core) enum Phase {
    /// There is no agent: the user has stopped it, or none was started yet.
    Stopped,
    /// The agent is starting, or its session is being opened.
    Starting(StartupStep),
    /// The session is open and the agent waits for a prompt.
    Ready,
    /// A turn is running.
    Running(Box<Turn>),
    /// There is no agent because it could not be started or has died; holds the reason.
    Failed(String),
}

/// What a chat is waiting for before it is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::core) enum StartupStep {
    /// The time until the agent, which was lost, is tried again.
    Reconnecting,
    /// The reply to `initialize`.
    Initializing,
    /// The store, which looks up what is known about the session.
    FindingSession,
    /// The server of the editor's own tools, which lets the agent call them.
    GrantingTools,
    /// The reply to `session/new`, `session/load`, `session/resume` or `session/fork`.
    OpeningSession,
    /// The replies to this many configured options; the session is already open.
    SettingOptions(usize),
    /// A login.
    LoggingIn {
        /// What the login waits for.
        login: LoginStage,
        /// Whether the session is already open.
        in_session: bool,
    },
}

/// What a login is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::core) enum LoginStage {
    /// A login that another chat on the same agent has started.
    OtherChat,
    /// The user, who has to choose a method.
    Method,
    /// The program that the user logs in with, in a terminal.
    Terminal,
    /// The reply to `authenticate`.
    Agent,
}

impl Phase {
    /// Whether the agent has the chat's session open.
    pub(in crate::core) fn has_session(&self) -> bool {
        match self {
            Self::Ready | Self::Running(_) | Self::Starting(StartupStep::SettingOptions(_)) => true,
            Self::Starting(StartupStep::LoggingIn { in_session, .. }) => *in_session,
            Self::Stopped | Self::Starting(_) | Self::Failed(_) => false,
        }
    }

    /// Whether the chat waits for a login.
    pub(in crate::core) fn needs_login(&self) -> bool {
        matches!(self, Self::Starting(StartupStep::LoggingIn { .. }))
    }
}

impl StartupStep {
    /// Describes the step to the user.
    pub(in crate::core) fn words(self) -> &'static str {
        match self {
            Self::Reconnecting => "waiting to connect again",
            Self::Initializing => "initializing",
            Self::FindingSession => "looking for the session",
            Self::GrantingTools => "preparing the editor's tools",
            Self::OpeningSession => "opening a session",
            Self::SettingOptions(_) => "setting options",
            Self::LoggingIn { login, .. } => match login {
                LoginStage::OtherChat => "waiting for the login in another chat",
                LoginStage::Method => "login required: choose a method",
                LoginStage::Terminal => "logging in: see the terminal, or :RatLogin",
                LoginStage::Agent => "logging in",
            },
        }
    }
}

/// A running turn.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::core) struct Turn {
    /// The `session/prompt` call. `None` while the prompt's context is being collected, and in a turn that the agent
    /// started.
    pub call: Option<CallId>,
    /// Whether the agent reports the end of the turn by an update (ACP version 2) instead of by the reply to the
    /// prompt. Also set for a turn the agent started by itself.
    pub ends_by_update: bool,
    /// The prompt; sent again if the agent requires a login first.
    pub prompt: Prompt,
    /// Index of the prompt's entry in the transcript.
    pub entry: usize,
    /// Counted from 1 within the chat.
    pub number: u64,
    /// Whether the user has cancelled it.
    pub cancelled: bool,
    /// The file changes that the prompt reported to the agent.
    pub reported: Vec<ReportedChange>,
    /// The decisions of the user that the prompt told the agent.
    pub decisions: Decisions,
    /// What the agent is doing, in one word.
    pub activity: Option<&'static str>,
    /// The files of whose conflicts the user has been told.
    pub conflicts: BTreeSet<PathBuf>,
    /// The commands that the agent has run in our terminals, as shown, except those that the user was asked about.
    pub commands: Vec<(TerminalId, String)>,
    /// What becomes of the code of an answer that is to replace lines.
    pub placing: Placing,
}

/// What becomes of the code of an answer that is to replace lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::core) enum Placing {
    /// It is awaited.
    Awaited,
    /// The agent has written the file itself, so it is not needed.
    NotNeeded,
    /// The agent is done, and the code is being put in place.
    Running,
}

impl Turn {
    /// Creates a turn whose prompt has not been sent.
    pub(in crate::core) fn new(number: u64, prompt: Prompt, entry: usize) -> Self {
        Self {
            call: None,
            ends_by_update: false,
            prompt,
            entry,
            number,
            cancelled: false,
            reported: Vec::new(),
            decisions: Decisions::default(),
            activity: None,
            conflicts: BTreeSet::new(),
            commands: Vec::new(),
            placing: Placing::Awaited,
        }
    }

    /// Whether the agent is done, and the code of its answer is being put in place.
    pub(in crate::core) fn is_placing(&self) -> bool {
        self.placing == Placing::Running
    }

    /// Whether the prompt has not been sent to the agent.
    pub(in crate::core) fn is_unsent(&self) -> bool {
        self.call.is_none() && !self.ends_by_update
    }
}
