//! What agents send us and how their processes end. `core` decides what follows from it.

use crate::core::messages::elicitation::Scope;
use crate::core::messages::ids::{CallId, RequestToken};
use crate::session::agent::AgentInfo;
use crate::session::elicitation::Elicitation;
use crate::session::ids::{ElicitationId, MessageId, SessionId};
use crate::session::permission::PermissionRequest;
use crate::session::saved::ListedSession;
use crate::session::terminal::request::TerminalRequest;
use crate::session::turn::StopReason;
use crate::session::update::{ConfigOption, Meta, Selection, Update};
use std::path::PathBuf;
use std::time::Duration;

/// What an agent sends us, in the order it was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// `session/update`.
    Update {
        /// The session it is about.
        session: SessionId,
        /// The update.
        update: Update,
    },
    /// A request that `State` has to see answered.
    Request {
        /// Identifies the request; used up by the answer.
        token: RequestToken,
        /// The session it is about.
        session: SessionId,
        /// The request.
        request: AgentRequest,
    },
    /// A request about a session was refused, since nothing here answers it.
    MethodRefused {
        /// The session it was about.
        session: SessionId,
        /// Its method.
        method: String,
        /// Whether it is known, but switched off for the agent.
        is_switched_off: bool,
    },
    /// `elicitation/create`; the user has to answer it.
    Elicitation {
        /// Identifies the request; used up by the answer.
        token: RequestToken,
        /// The session or call it belongs to.
        scope: Scope,
        /// The form to fill in or the URL to open.
        elicitation: Box<Elicitation>,
    },
    /// `elicitation/complete`: the user has finished what the opened URL was for.
    ElicitationComplete(ElicitationId),
    /// `$/cancel_request`: the agent no longer needs the answer, but still gets one.
    Withdrawn(RequestToken),
    /// The reply to one of our calls.
    Answer {
        /// The call.
        call: CallId,
        /// The reply, or why there is none.
        result: Result<Reply, CallError>,
    },
    /// `_meta` of a reply that is about no session.
    Meta(Meta),
    /// It has printed a line that is no message, while a start or a login waits for it. Without escape sequences; a line that
    /// begins like the one before is that line, with more text.
    Printed(String),
    /// The process has ended or closed its stdout. Always the last event of an agent.
    Exited(Exit),
}

/// A request of an agent that `State` handles; the edge handles the rest.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentRequest {
    /// `fs/read_text_file`.
    Read {
        /// As sent. A relative path is an error.
        path: PathBuf,
        /// First line, counted from 1; `None` starts at the beginning.
        line: Option<u32>,
        /// Maximum number of lines; `None` reads to the end.
        limit: Option<u32>,
    },
    /// `fs/write_text_file`.
    Write {
        /// As sent. A relative path is an error.
        path: PathBuf,
        /// The complete new text.
        content: String,
    },
    /// `session/request_permission`.
    Permission(PermissionRequest),
    /// `terminal/*`.
    Terminal(TerminalRequest),
}

/// A successful reply to one of our calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To `initialize`.
    Initialized(Box<AgentInfo>),
    /// To `session/new` and `session/fork`.
    Session {
        /// The new session.
        id: SessionId,
        /// Its modes, models and options.
        setup: SessionSetup,
    },
    /// To `session/load` and `session/resume`.
    Restored(SessionSetup),
    /// To `session/list`: a page, and the cursor of the next page if there is one.
    Sessions(Vec<ListedSession>, Option<String>),
    /// To `session/set_config_option`: all options with their new values.
    Options(Vec<ConfigOption>),
    /// To `session/prompt` at the end of the turn (ACP version 1).
    Turn(StopReason),
    /// To `session/prompt` as soon as the agent has received it (ACP version 2); `Update::Activity` reports the end of
    /// the turn.
    PromptReceived {
        /// The id of the prompt as a message of the session.
        message: Option<MessageId>,
    },
    /// To calls whose reply has no content.
    Done,
}

/// Modes, models and options of a session that has just been opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSetup {
    /// Modes; ignored if there are options.
    pub modes: Option<Selection>,
    /// Models; ignored if there are options.
    pub models: Option<Selection>,
    /// ACP session config options.
    pub options: Vec<ConfigOption>,
}

/// Why a call got no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The agent replied with an error.
    Rpc {
        /// A JSON-RPC or ACP error code.
        code: i64,
        /// One line.
        message: String,
        /// What the error's `data` says in words beyond the message; one line.
        detail: Option<String>,
        /// The rest of the error's `data`, as JSON text.
        data: Option<String>,
    },
    /// There was no reply within this time.
    Timeout(Duration),
    /// The agent ended before it replied, or the pipe is broken.
    Closed,
    /// The reply could not be decoded; holds the reason.
    Malformed(String),
    /// The call could not be sent; holds the reason.
    NotSent(String),
    /// The agent answered `initialize` with a protocol that is not spoken here, described in a few words.
    UnknownProtocol(String),
}

/// ACP `auth_required`.
pub const AUTH_REQUIRED: i64 = -32000;
/// ACP `resource_not_found`.
pub const NOT_FOUND: i64 = -32002;
/// JSON-RPC `invalid request`.
pub const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC `method not found`.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC `invalid params`.
pub const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC `internal error`.
pub const INTERNAL_ERROR: i64 = -32603;
/// ACP `request_cancelled`.
pub const REQUEST_CANCELLED: i64 = -32800;
/// ACP `unsupported_protocol_version` (version 2).
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Why it ended.
    pub cause: ExitCause,
    /// The last lines of stderr, oldest first, without escape sequences.
    pub stderr: Vec<String>,
    /// Total number of lines written to stderr.
    pub stderr_lines: usize,
    /// Short descriptions of the last messages, oldest first.
    pub messages: Vec<String>,
}

/// Why a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitCause {
    /// It could not be started.
    NotStarted {
        /// Whether the program does not exist.
        not_found: bool,
        /// The error of the operating system.
        error: String,
    },
    /// It exited with this status.
    Status(i32),
    /// It was killed by this signal.
    Signal(String),
    /// It closed its stdout without exiting, so we stopped it.
    ClosedPipe,
    /// It did not read what it was sent until that was too much, so we stopped it.
    ReadsNothing,
    /// Nothing answers at its URL, or not as it should.
    Unreachable {
        /// What is in the way.
        obstacle: Obstacle,
        /// Details for people, without secrets; one line.
        detail: String,
    },
    /// The connection broke; holds the details, without secrets, in one line.
    Lost(String),
    /// It closed the connection in good order; holds its reason, which may be empty.
    HungUp(String),
}

/// What stands between us and an agent that runs elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing answers, or not now.
    NoAnswer,
    /// Its certificate comes from an authority that is not known here.
    UnknownAuthority,
    /// Its certificate has expired, is for another address, or is not valid for another reason.
    Certificate,
    /// It wants other credentials (HTTP 401, 403).
    Credentials,
    /// There is no agent at this path (HTTP 404).
    NotFound,
    /// It refers to another server, which must not get our headers.
    Redirect,
    /// It answers, but not as an agent does.
    NoAgent,
    /// What is configured for it cannot be used.
    Configuration,
}

impl Obstacle {
    /// Whether it may be gone after a while by itself.
    pub fn may_pass(self) -> bool {
        self == Self::NoAnswer
    }
}
