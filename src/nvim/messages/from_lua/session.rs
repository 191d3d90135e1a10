//! Listing, closing and deleting sessions, setting their options, and logins.

use super::Chat;
use crate::core::messages::user::{self, UserAction};
use crate::session::author::ChatId;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Lists sessions to choose from.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Sessions {
    /// What to do with the chosen session.
    act: SessionAct,
    /// The folder of the sessions.
    cwd: String,
}

/// What to do with a session that the user chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum SessionAct {
    /// Show it, or resume it.
    Open,
    /// Fork it.
    Fork,
    /// Close it.
    Close,
    /// Delete it.
    Delete,
}

/// Gets the next pages of the session list.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SessionsMore {}

/// Closes a session.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SessionClose {
    /// The agent's name in the configuration.
    agent: String,
    /// The id that the agent gave the session.
    session: String,
}

/// Deletes a session.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SessionDelete {
    /// The agent's name in the configuration.
    agent: String,
    /// The id that the agent gave the session.
    session: String,
    /// The session's working directory.
    cwd: String,
}

/// Sets an option of the session.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SetOption {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The option's id, category or name.
    option: String,
    /// The value or name of a choice; for a boolean, `on` or `off`.
    value: String,
}

/// Logs in.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Login {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The id of the authentication method; without it, the configured or only one, or else the user chooses.
    method: Option<String>,
}

/// The login program that ran in a terminal has ended.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct LoginEnded {
    /// The chat.
    chat: Chat,
    /// The exit status; missing if the program could not be started.
    status: Option<i32>,
}

impl From<Sessions> for UserAction {
    fn from(Sessions { act, cwd }: Sessions) -> Self {
        Self::ListSessions { act: act.into(), cwd: cwd.into() }
    }
}

impl From<SessionAct> for user::SessionAction {
    fn from(act: SessionAct) -> Self {
        match act {
            SessionAct::Open => Self::Open,
            SessionAct::Fork => Self::Fork,
            SessionAct::Close => Self::Close,
            SessionAct::Delete => Self::Delete,
        }
    }
}

impl From<SessionClose> for UserAction {
    fn from(SessionClose { agent, session }: SessionClose) -> Self {
        Self::CloseSession(agent.into(), session.into())
    }
}

impl From<SessionDelete> for UserAction {
    fn from(SessionDelete { agent, session, cwd }: SessionDelete) -> Self {
        Self::DeleteSession { agent: agent.into(), session: session.into(), cwd: cwd.into() }
    }
}

impl From<SetOption> for UserAction {
    fn from(SetOption { chat, option, value }: SetOption) -> Self {
        Self::SetOption { chat: chat.map(ChatId), option, value }
    }
}

impl From<Login> for UserAction {
    fn from(Login { chat, method }: Login) -> Self {
        Self::Login { chat: chat.map(ChatId), method }
    }
}

impl From<LoginEnded> for UserAction {
    fn from(LoginEnded { chat, status }: LoginEnded) -> Self {
        Self::LoginEnded { chat: ChatId(chat), status }
    }
}
