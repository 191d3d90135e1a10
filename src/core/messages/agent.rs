//! What comes from an agent, and how it ends. What is made of it is decided in `core`.

use super::{CallId, Token};
use crate::core::elicitation::Scope;
use crate::session::agent::AgentInfo;
use crate::session::elicitation::Elicitation;
use crate::session::ids::{ElicitationId, SessionId};
use crate::session::permission::PermissionRequest;
use crate::session::remembered::Listed;
use crate::session::terminal::request::TerminalRequest;
use crate::session::turn::StopReason;
use crate::session::update::{ConfigOption, Meta, Modes, Update};
use std::path::PathBuf;
use std::time::Duration;

/// What comes from an agent, in the order it was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum FromAgent {
    /// `session/update`.
    Update {
        /// Whose.
        session: SessionId,
        /// What.
        update: Update,
    },
    /// A request that `State` has to see answered.
    Request {
        /// To answer with.
        token: Token,
        /// The session it is about.
        session: SessionId,
        /// What is asked.
        request: AgentRequest,
    },
    /// `elicitation/create`: the user has to answer it.
    Elicitation {
        /// To answer with.
        token: Token,
        /// What it belongs to.
        scope: Scope,
        /// What is asked.
        elicitation: Box<Elicitation>,
    },
    /// `elicitation/complete`: what the user opened is done.
    ElicitationComplete(ElicitationId),
    /// `$/cancel_request`: the agent does not want the answer any more (it still gets one).
    Withdrawn(Token),
    /// The answer to a call of ours.
    Answer {
        /// Which call.
        call: CallId,
        /// What came, or why nothing did.
        result: Result<Reply, CallError>,
    },
    /// What came with an answer that is about no session.
    Meta(Meta),
    /// The process is gone, or its stdout is closed; nothing comes after this.
    Exited(Exit),
}

/// What an agent may ask of us, beyond what the edge answers by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentRequest {
    /// `fs/read_text_file`.
    Read {
        /// As sent; may be relative, which is an error.
        path: PathBuf,
        /// First line, counted from 1.
        line: Option<u32>,
        /// How many lines.
        limit: Option<u32>,
    },
    /// `fs/write_text_file`.
    Write {
        /// As sent; may be relative, which is an error.
        path: PathBuf,
        /// The whole new text.
        content: String,
    },
    /// `session/request_permission`.
    Permission(PermissionRequest),
    /// `terminal/*`.
    Terminal(TerminalRequest),
}

/// An answer to a call of ours.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To `initialize`.
    Initialized(Box<AgentInfo>),
    /// To `session/new` and `session/fork`.
    Session {
        /// The new session.
        id: SessionId,
        /// Its modes and options.
        setup: SessionSetup,
    },
    /// To `session/load` and `session/resume`.
    Restored(SessionSetup),
    /// To `session/list`: a page, and where the next one begins.
    Sessions(Vec<Listed>, Option<String>),
    /// To `session/set_config_option`: all options as they are now.
    Options(Vec<ConfigOption>),
    /// To `session/prompt`, when the turn is over (ACP version 1).
    Turn(StopReason),
    /// To `session/prompt`, when it is taken in (ACP version 2): `Update::Activity` tells of the turn.
    Accepted,
    /// To calls whose answer says nothing.
    Done,
}

/// What a session starts with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSetup {
    /// Modes, ignored where there are options.
    pub modes: Option<Modes>,
    /// Options.
    pub options: Vec<ConfigOption>,
}

/// Why a call of ours got no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The agent answered with an error.
    Rpc {
        /// JSON-RPC or ACP code.
        code: i64,
        /// One line.
        message: String,
        /// More, as JSON text.
        data: Option<String>,
    },
    /// No answer in time.
    Timeout(Duration),
    /// The agent ended first, or the pipe is broken.
    Closed,
    /// An answer that makes no sense.
    Malformed(String),
}

/// ACP `auth_required`.
pub const AUTH_REQUIRED: i64 = -32000;
/// ACP `resource_not_found`.
pub const NOT_FOUND: i64 = -32002;
/// JSON-RPC `invalid params`.
pub const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC `internal error`.
pub const INTERNAL_ERROR: i64 = -32603;
/// ACP `request_cancelled`.
pub const REQUEST_CANCELLED: i64 = -32800;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// What happened.
    pub cause: ExitCause,
    /// The last lines of stderr, oldest first, without escape sequences.
    pub stderr: Vec<String>,
    /// The last messages in a few words each, oldest first.
    pub messages: Vec<String>,
}

/// What ended a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitCause {
    /// It could not be started.
    NotStarted {
        /// No such program on PATH or at that path.
        not_found: bool,
        /// What the system said.
        error: String,
    },
    /// It ended with a status.
    Status(i32),
    /// A signal ended it.
    Signal(String),
    /// It closed its stdout and went on living; we ended it.
    ClosedPipe,
}
