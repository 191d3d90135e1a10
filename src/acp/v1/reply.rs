//! Answers of agents to our calls, in our words.

use super::fields::{Fields, texts, whole};
use super::options;
use super::update::json;
use crate::acp::quirks;
use crate::core::effect::Call;
use crate::core::event::agent::{CallError, INTERNAL_ERROR, Reply, SessionSetup};
use crate::session::agent::{AgentCapabilities, AgentInfo, AuthKind, AuthMethod};
use crate::session::prompt::PromptCapabilities;
use crate::session::remembered::Listed;
use crate::session::turn::StopReason;
use serde_json::Value;

/// What the answer to a call looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To `initialize`.
    Initialize,
    /// To `session/new` and `session/fork`.
    NewSession,
    /// To `session/list`.
    List,
    /// To `session/set_config_option`.
    Options,
    /// To `session/load` and `session/resume`.
    Restore,
    /// To `session/prompt`.
    Prompt,
    /// An answer that says nothing.
    Plain,
}

impl Kind {
    /// The kind of answer `call` gets.
    pub fn of(call: &Call) -> Self {
        match call {
            Call::Initialize => Self::Initialize,
            Call::NewSession(_) | Call::Fork(..) => Self::NewSession,
            Call::Load(..) | Call::Resume(..) => Self::Restore,
            Call::Prompt { .. } => Self::Prompt,
            Call::List(..) => Self::List,
            Call::SetOption { .. } => Self::Options,
            Call::Authenticate(_)
            | Call::Logout
            | Call::Close(_)
            | Call::Delete(_)
            | Call::SetMode { .. } => Self::Plain,
        }
    }
}

/// Reads a result. Only what a session cannot do without makes it `Malformed`.
pub fn decode(kind: Kind, result: &str) -> Result<Reply, CallError> {
    let fields = json(result).and_then(Fields::of).unwrap_or_default();
    match kind {
        Kind::Initialize => initialized(fields),
        Kind::NewSession => session(fields),
        Kind::List => sessions(fields),
        Kind::Options => options::config(&mut { fields })
            .map(Reply::Options)
            .ok_or_else(|| CallError::Malformed("no configOptions".to_owned())),
        Kind::Restore => Ok(Reply::Restored(setup(fields))),
        Kind::Prompt => Ok(Reply::Turn(stop_reason(fields))),
        Kind::Plain => Ok(Reply::Done),
    }
}

/// Reads an error. A code that is no number counts as an internal error.
pub fn error(error: &str) -> CallError {
    let Some(value) = json(error) else {
        return CallError::Malformed("an error that is not readable JSON".to_owned());
    };
    if let Value::String(message) = value {
        return CallError::Rpc { code: INTERNAL_ERROR, message: one_line(&message), data: None };
    }
    let mut fields = Fields::of(value).unwrap_or_default();
    let code = fields.any("code");
    let code = code.as_ref().and_then(|code| match code {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64(),
    });
    let message = fields.text("message").unwrap_or_default();
    let data = fields.any("data").map(|data| match data {
        Value::String(text) => text,
        other => other.to_string(),
    });
    CallError::Rpc { code: code.unwrap_or(INTERNAL_ERROR), message: one_line(&message), data }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn session(mut fields: Fields) -> Result<Reply, CallError> {
    let id = fields
        .text("sessionId")
        .ok_or_else(|| CallError::Malformed("a new session without a sessionId".into()))?;
    Ok(Reply::Session { id: id.into(), setup: setup(fields) })
}

/// A page of sessions; those without an id or a folder are left out.
fn sessions(mut fields: Fields) -> Result<Reply, CallError> {
    let sessions = fields.objects("sessions");
    let sessions = sessions.ok_or_else(|| CallError::Malformed("no list of sessions".into()))?;
    let sessions = sessions.filter_map(|mut one| {
        Some(Listed {
            id: one.text("sessionId")?.into(),
            cwd: one.text("cwd")?.into(),
            title: one.text("title").filter(|title| !title.trim().is_empty()),
            updated_at: one.text("updatedAt"),
        })
    });
    Ok(Reply::Sessions(sessions.collect(), fields.text("nextCursor")))
}

fn setup(mut fields: Fields) -> SessionSetup {
    SessionSetup {
        modes: options::modes(&mut fields),
        options: options::config(&mut fields).unwrap_or_default(),
    }
}

fn stop_reason(mut fields: Fields) -> StopReason {
    let reason = fields.text("stopReason").unwrap_or_default();
    match reason.as_str() {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "max_turn_requests" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" | "canceled" => StopReason::Cancelled,
        _ => StopReason::Unknown(reason),
    }
}

fn initialized(mut fields: Fields) -> Result<Reply, CallError> {
    let version = fields.any("protocolVersion");
    let version = version.as_ref().and_then(whole).and_then(|version| u16::try_from(version).ok());
    let protocol_version = version.ok_or_else(|| {
        CallError::Malformed("initialize was answered without a protocolVersion".to_owned())
    })?;
    let mut about = fields.object("agentInfo").unwrap_or_default();
    let name = about.text("name");
    Ok(Reply::Initialized(Box::new(AgentInfo {
        protocol_version,
        quirks: quirks::of(name.as_deref().unwrap_or_default()),
        name,
        title: about.text("title"),
        version: about.text("version"),
        capabilities: capabilities(fields.object("agentCapabilities").unwrap_or_default()),
        auth_methods: fields
            .objects("authMethods")
            .into_iter()
            .flatten()
            .filter_map(auth_method)
            .collect(),
    })))
}

/// What is left out, `false` or `null` the agent cannot do (ACP initialization).
fn capabilities(mut fields: Fields) -> AgentCapabilities {
    let mut prompt = fields.object("promptCapabilities").unwrap_or_default();
    let mut mcp = fields.object("mcpCapabilities").unwrap_or_default();
    let mut session = fields.object("sessionCapabilities").unwrap_or_default();
    let mut auth = fields.object("auth").unwrap_or_default();
    AgentCapabilities {
        prompt: PromptCapabilities {
            image: prompt.flag("image"),
            audio: prompt.flag("audio"),
            embedded: prompt.flag("embeddedContext"),
        },
        load: fields.flag("loadSession"),
        resume: session.marker("resume"),
        list: session.marker("list"),
        close: session.marker("close"),
        delete: session.marker("delete"),
        fork: session.marker("fork"),
        directories: session.marker("additionalDirectories"),
        mcp_http: mcp.flag("http"),
        mcp_sse: mcp.flag("sse"),
        logout: auth.marker("logout"),
    }
}

fn auth_method(mut fields: Fields) -> Option<AuthMethod> {
    let id = fields.text("id")?;
    let kind = match fields.text("type").as_deref() {
        None | Some("agent") => AuthKind::Agent,
        Some("terminal") => AuthKind::Terminal {
            args: texts(fields.list("args").unwrap_or_default()),
            env: fields.pairs("env"),
        },
        Some(other) => AuthKind::Unknown(other.to_owned()),
    };
    let name = fields.text("name").unwrap_or_else(|| id.clone());
    Some(AuthMethod { id: id.into(), name, description: fields.text("description"), kind })
}
