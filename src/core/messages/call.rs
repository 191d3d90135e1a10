//! The calls we make to agents, independent of their encoding.

use crate::session::agent::McpServer;
use crate::session::content::Content;
use crate::session::fork::ForkPoint;
use crate::session::ids::{AuthMethodId, SessionId};
use crate::session::update::OptionValue;
use std::path::PathBuf;

/// A call to an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// `initialize`; the edge adds our name and capabilities.
    Initialize,
    /// `authenticate`.
    Authenticate(AuthMethodId),
    /// `logout`.
    Logout,
    /// `session/new`.
    NewSession(SessionParams),
    /// `session/load`.
    Load(SessionId, SessionParams),
    /// `session/resume`.
    Resume(SessionId, SessionParams),
    /// `session/list` for a working directory, starting at this cursor; `None` is the first page.
    List(PathBuf, Option<String>),
    /// `session/fork`. Only for agents that can do it is it after an earlier turn.
    Fork(ForkPoint, SessionParams),
    /// `session/close`.
    Close(SessionId),
    /// `session/delete`.
    Delete(SessionId),
    /// `session/prompt`.
    Prompt {
        /// The session.
        session: SessionId,
        /// The content of the prompt.
        blocks: Vec<Content>,
    },
    /// `session/set_config_option`.
    SetOption {
        /// The session.
        session: SessionId,
        /// The option's id.
        option: String,
        /// The new value. Of [`OptionValue::Select`] only `current` is used.
        value: OptionValue,
    },
    /// `session/set_mode`.
    SetMode {
        /// The session.
        session: SessionId,
        /// The mode's id.
        mode: String,
    },
    /// `session/set_model`; only for agents that advertise models.
    SetModel {
        /// The session.
        session: SessionId,
        /// The model's id.
        model: String,
    },
}

impl Call {
    /// Returns the name of the ACP method.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Authenticate(_) => "authenticate",
            Self::Logout => "logout",
            Self::NewSession(_) => "session/new",
            Self::Load(..) => "session/load",
            Self::Resume(..) => "session/resume",
            Self::List(..) => "session/list",
            Self::Fork(..) => "session/fork",
            Self::Close(_) => "session/close",
            Self::Delete(_) => "session/delete",
            Self::Prompt { .. } => "session/prompt",
            Self::SetOption { .. } => "session/set_config_option",
            Self::SetMode { .. } => "session/set_mode",
            Self::SetModel { .. } => "session/set_model",
        }
    }

    /// Returns the session it is about; `None` if the reply will name the session, or if it is about none.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Load(session, _)
            | Self::Resume(session, _)
            | Self::Close(session)
            | Self::Delete(session)
            | Self::Prompt { session, .. }
            | Self::SetOption { session, .. }
            | Self::SetMode { session, .. }
            | Self::SetModel { session, .. } => Some(session),
            Self::Initialize
            | Self::Authenticate(_)
            | Self::Logout
            | Self::NewSession(_)
            | Self::List(..)
            | Self::Fork(..) => None,
        }
    }
}

/// The parameters that every method which opens a session takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionParams {
    /// The working directory; absolute.
    pub cwd: PathBuf,
    /// Additional roots; empty if the agent does not support them.
    pub directories: Vec<PathBuf>,
    /// The MCP servers that the agent can connect to.
    pub mcp_servers: Vec<McpServer>,
}
