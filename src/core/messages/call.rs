//! Our calls of agents. How they stand on the wire is not known here.

use crate::session::agent::McpServer;
use crate::session::content::Content;
use crate::session::ids::{AuthMethodId, SessionId};
use crate::session::update::OptionValue;
use std::path::PathBuf;

/// A call of ours.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// `initialize`; the edge fills in who we are and what we can do.
    Initialize,
    /// `authenticate`.
    Authenticate(AuthMethodId),
    /// `logout`.
    Logout,
    /// `session/new`.
    NewSession(Place),
    /// `session/load`.
    Load(SessionId, Place),
    /// `session/resume`.
    Resume(SessionId, Place),
    /// `session/list` of a folder, from this page on.
    List(PathBuf, Option<String>),
    /// `session/fork`.
    Fork(SessionId, Place),
    /// `session/close`.
    Close(SessionId),
    /// `session/delete`.
    Delete(SessionId),
    /// `session/prompt`.
    Prompt {
        /// Where.
        session: SessionId,
        /// What.
        blocks: Vec<Content>,
    },
    /// `session/set_config_option`.
    SetOption {
        /// Where.
        session: SessionId,
        /// Which option.
        option: String,
        /// To what; of a select only what is chosen counts.
        value: OptionValue,
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
        }
    }

    /// The session it is about; of one that is yet to begin only the answer says.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Load(session, _)
            | Self::Resume(session, _)
            | Self::Close(session)
            | Self::Delete(session)
            | Self::Prompt { session, .. }
            | Self::SetOption { session, .. }
            | Self::SetMode { session, .. } => Some(session),
            Self::Initialize
            | Self::Authenticate(_)
            | Self::Logout
            | Self::NewSession(_)
            | Self::List(..)
            | Self::Fork(..) => None,
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
