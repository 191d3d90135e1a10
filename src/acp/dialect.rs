//! The interface between the peer and what an agent speaks: converts between the messages of `core` and JSON. The peer uses
//! the dialect that the agent's answer to `initialize` chose (`handshake`) and does not depend on any.

use super::fields::{Fields, json};
use crate::core::messages::agent::{
    AgentEvent, AgentRequest, CallError, INVALID_PARAMS, METHOD_NOT_FOUND, Reply,
};
use crate::core::messages::call::Call;
use crate::core::messages::effect::Answer;
use crate::session::elicitation::Elicitation;
use crate::session::ids::SessionId;
use crate::session::update::Update;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// The reason why a message cannot be sent.
#[derive(Debug, Error)]
pub enum EncodeError {
    /// It is not JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A path is not UTF-8.
    #[error("the path is not UTF-8")]
    NotUtf8,
    /// The agent could not read so long a line.
    #[error("the message has {bytes} bytes, and this agent reads at most {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The length the agent can read.
        limit: usize,
    },
    /// The agent has no path for a file.
    #[error("{} is in no folder of {setting}", path.display())]
    NotMapped {
        /// Our path.
        path: PathBuf,
        /// The setting that has the folders.
        setting: String,
    },
    /// The agent's protocol has no such method.
    #[error("this agent's protocol has no {0}")]
    NoMethod(&'static str),
}

/// One way of talking to agents: encodes our messages strictly and decodes the agent's messages leniently.
pub trait Dialect: fmt::Debug + Send {
    /// Encodes a call with the id `id`. Parts for which the agent lacks the capability are left out.
    fn call(&mut self, id: i64, call: &Call) -> Result<String, EncodeError>;

    /// Encodes the cancellation of a turn. `id` is a fresh one, for dialects in which that is a request.
    fn cancel(&self, id: i64, session: &SessionId) -> Result<String, EncodeError>;

    /// Encodes that the answer to our call with the id `id` is no longer wanted; `None` if the protocol cannot say that.
    fn withdraw(&self, _id: i64) -> Result<Option<String>, EncodeError> {
        Ok(None)
    }

    /// Encodes the answer to the agent's request with the id `id`. The default is for protocols without requests of agents.
    fn answer(&self, _id: &RawValue, _answer: &Answer) -> Result<String, EncodeError> {
        Err(EncodeError::NoMethod("requests of agents"))
    }

    /// Decodes a request of the agent, or returns the error to answer it with. The default is for protocols without any.
    fn request(
        &mut self,
        method: &str,
        _params: Option<&str>,
    ) -> Result<(Method, IncomingRequest), Refusal> {
        Err(Refusal::unknown_method(method))
    }

    /// Decodes a notification and appends its events to `events`.
    fn notification(&mut self, method: &str, params: &str, events: &mut Vec<AgentEvent>);

    /// Decodes the result of a call that was about `session`.
    fn result(
        &mut self,
        call: CallKind,
        session: Option<&SessionId>,
        result: &str,
    ) -> Result<Reply, CallError>;

    /// Decodes the error that answers a call.
    fn error(&self, error: &str) -> CallError;

    /// Returns what the result of `method` tells besides its reply, with the session that the result names, if any.
    fn after_result(&self, _method: &str, _result: &str) -> (Option<SessionId>, Vec<Update>) {
        (None, Vec::new())
    }

    /// Encodes that the connection is going to be closed; `None` if the protocol has no word for that.
    fn goodbye(&self, _id: i64) -> Option<String> {
        None
    }

    /// Returns after how long a silence of the agent `fell_silent` is to be called, if at all.
    fn silence(&self) -> Option<Duration> {
        None
    }

    /// The agent has sent nothing for that long.
    fn fell_silent(&mut self, _events: &mut Vec<AgentEvent>) {}
}

/// Returns what tells the user of a notification that the dialect does not know; `None` for extensions (ACP extensibility)
/// and for what is about no session.
pub fn unknown_notification(method: &str, params: &str) -> Option<AgentEvent> {
    tracing::debug!(target: "acp", method, "ignored");
    if method.starts_with(['_', '$']) {
        return None;
    }
    let session = session_of(params)?;
    let update = Update::Unknown { tag: method.to_owned(), problem: None };
    Some(AgentEvent::Update { session, update })
}

/// Returns what tells the user of a request that was refused because of its method; `None` for what is about no session.
pub fn refused_method(method: &str, params: &str, is_switched_off: bool) -> Option<AgentEvent> {
    let session = session_of(params)?;
    Some(AgentEvent::MethodRefused { session, method: method.to_owned(), is_switched_off })
}

fn session_of(params: &str) -> Option<SessionId> {
    let mut params = json(params).and_then(Fields::of)?;
    params.text("sessionId").or_else(|| params.text("session_id")).map(SessionId::from)
}

/// The kinds of calls that differ in how their results are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// `initialize`.
    Initialize,
    /// `session/new` and `session/fork`.
    NewSession,
    /// `session/list`.
    List,
    /// `session/set_config_option`.
    SetOption,
    /// `session/load` and `session/resume`.
    Restore,
    /// `session/prompt`.
    Prompt,
    /// Any call whose result is empty.
    Plain,
}

impl CallKind {
    /// Returns the kind of `call`.
    pub fn of(call: &Call) -> Self {
        match call {
            Call::Initialize => Self::Initialize,
            Call::NewSession(_) | Call::Fork(..) => Self::NewSession,
            Call::Load(..) | Call::Resume(..) => Self::Restore,
            Call::Prompt { .. } => Self::Prompt,
            Call::List(..) => Self::List,
            Call::SetOption { .. } => Self::SetOption,
            Call::Authenticate(_)
            | Call::Logout
            | Call::Close(_)
            | Call::Delete(_)
            | Call::SetMode { .. }
            | Call::SetModel { .. } => Self::Plain,
        }
    }
}

/// A method that agents can call. Others are refused, and their capabilities are not advertised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `fs/read_text_file`.
    Read,
    /// `fs/write_text_file`.
    Write,
    /// `session/request_permission`.
    Permission,
    /// `terminal/create`.
    CreateTerminal,
    /// `terminal/output`.
    TerminalOutput,
    /// `terminal/wait_for_exit`.
    WaitForExit,
    /// `terminal/kill`.
    KillTerminal,
    /// `terminal/release`.
    ReleaseTerminal,
    /// `elicitation/create`.
    Elicitation,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Write,
        Self::Permission,
        Self::CreateTerminal,
        Self::TerminalOutput,
        Self::WaitForExit,
        Self::KillTerminal,
        Self::ReleaseTerminal,
        Self::Elicitation,
    ];

    /// Returns the name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "fs/read_text_file",
            Self::Write => "fs/write_text_file",
            Self::Permission => "session/request_permission",
            Self::CreateTerminal => "terminal/create",
            Self::TerminalOutput => "terminal/output",
            Self::WaitForExit => "terminal/wait_for_exit",
            Self::KillTerminal => "terminal/kill",
            Self::ReleaseTerminal => "terminal/release",
            Self::Elicitation => "elicitation/create",
        }
    }

    /// Returns whether the user has to answer it.
    pub fn asks_user(self) -> bool {
        matches!(self, Self::Permission | Self::Elicitation)
    }

    /// Returns whether `answer` has the type of this method's result. Every method can be answered with an error.
    pub fn allows(self, answer: &Answer) -> bool {
        match answer {
            Answer::Text(_) => self == Self::Read,
            Answer::Written => self == Self::Write,
            Answer::Permission(_) => self == Self::Permission,
            Answer::Terminal(_) => self == Self::CreateTerminal,
            Answer::Output { .. } => self == Self::TerminalOutput,
            Answer::Exited(_) => self == Self::WaitForExit,
            Answer::Done => matches!(self, Self::KillTerminal | Self::ReleaseTerminal),
            Answer::Elicitation(_) => self == Self::Elicitation,
            Answer::Error { .. } => true,
        }
    }
}

/// A decoded request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum IncomingRequest {
    /// A request about a session.
    Session(SessionId, AgentRequest),
    /// A request for input of the user (ACP elicitation).
    Elicitation(ElicitationOwner, Box<Elicitation>),
}

/// The session or call that an elicitation belongs to.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationOwner {
    /// A session.
    Session(SessionId),
    /// A call of ours, by its JSON-RPC id as the agent sent it.
    Call(Value),
}

/// The error that a request is answered with at once, without involving `State`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The error message, one line.
    pub message: String,
}

impl Refusal {
    /// Creates the error for a method that is unknown or not advertised (ACP extensibility).
    pub(super) fn unknown_method(name: &str) -> Self {
        Self { code: METHOD_NOT_FOUND, message: format!("Method not found: {name}") }
    }

    /// Creates the error for params that do not fit the method.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into() }
    }
}
