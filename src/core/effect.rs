//! All we do. `State` makes these; the bridge has edges carry them out.

use super::event::{AgentId, CallId, Token};
use crate::session::agent::{AgentConfig, McpServer};
use crate::session::content::Content;
use crate::session::ids::{AuthMethodId, SessionId};
use crate::session::permission::Outcome;
use std::path::PathBuf;
use std::time::Duration;

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

/// A call of ours.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// `initialize`; the edge fills in who we are and what we can do.
    Initialize,
    /// `authenticate`.
    Authenticate(AuthMethodId),
    /// `session/new`.
    NewSession(Place),
    /// `session/load`.
    Load(SessionId, Place),
    /// `session/resume`.
    Resume(SessionId, Place),
    /// `session/close`.
    Close(SessionId),
    /// `session/prompt`.
    Prompt {
        /// Where.
        session: SessionId,
        /// What.
        blocks: Vec<Content>,
    },
    /// `session/set_mode`.
    SetMode {
        /// Where.
        session: SessionId,
        /// Which mode.
        mode: String,
    },
}

impl Call {
    /// The method as it stands on the wire.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Authenticate(_) => "authenticate",
            Self::NewSession(_) => "session/new",
            Self::Load(..) => "session/load",
            Self::Resume(..) => "session/resume",
            Self::Close(_) => "session/close",
            Self::Prompt { .. } => "session/prompt",
            Self::SetMode { .. } => "session/set_mode",
        }
    }
}

/// Where a session works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Absolute.
    pub cwd: PathBuf,
    /// Further roots, sent only to agents that take them.
    pub directories: Vec<PathBuf>,
    /// MCP servers the agent can reach.
    pub mcp_servers: Vec<McpServer>,
}

/// An answer to a request of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To `fs/read_text_file`.
    Text(String),
    /// To `fs/write_text_file`.
    Written,
    /// To `session/request_permission`.
    Permission(Outcome),
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
