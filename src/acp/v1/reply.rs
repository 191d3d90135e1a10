//! Decodes the agents' answers to our calls.

use crate::acp::dialect::CallKind;
use crate::acp::fields::{Fields, json, texts};
use crate::acp::options;
use crate::acp::quirks;
use crate::core::messages::agent::{CallError, INTERNAL_ERROR, Reply, SessionSetup};
use crate::session::agent::{AgentCapabilities, AgentInfo, AuthKind, AuthMethod, Capability};
use crate::session::label;
use crate::session::prompt::PromptCapabilities;
use crate::session::saved::ListedSession;
use crate::session::turn::StopReason;
use serde_json::Value;

/// Decodes a result. It is `Malformed` only if a field is missing that a session requires.
pub fn decode(kind: CallKind, result: &str) -> Result<Reply, CallError> {
    let mut fields = json(result).and_then(Fields::of).unwrap_or_default();
    match kind {
        CallKind::Initialize => initialized(result).map(|info| Reply::Initialized(Box::new(info))),
        CallKind::NewSession => session(fields),
        CallKind::List => sessions(fields),
        CallKind::SetOption => options::config(&mut { fields })
            .map(Reply::Options)
            .ok_or_else(|| CallError::Malformed("no configOptions".to_owned())),
        CallKind::Restore => Ok(Reply::Restored(setup(fields))),
        CallKind::Prompt => Ok(Reply::Turn(stop_reason(&mut fields))),
        CallKind::Plain => Ok(Reply::Done),
    }
}

/// Decodes an error. A code that is not a number counts as an internal error.
pub fn error(error: &str) -> CallError {
    let Some(value) = json(error) else {
        return CallError::Malformed("an error that is not valid JSON".to_owned());
    };
    if let Value::String(message) = value {
        let message = one_line(&message);
        return CallError::Rpc { code: INTERNAL_ERROR, message, detail: None, data: None };
    }
    let mut fields = Fields::of(value).unwrap_or_default();
    let code = fields.any("code");
    let code = code.as_ref().and_then(|code| match code {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64(),
    });
    let message = one_line(&fields.text("message").unwrap_or_default());
    let data = fields.any("data");
    let reason = data.as_ref().and_then(reason_in);
    let detail = reason.map(|reason| label::short(&one_line(reason), MAX_DETAIL_CHARS));
    let detail = detail.filter(|detail| !message.contains(detail));
    let rest = data.as_ref().filter(|data| !is_only_reason(data, reason)).map(|data| match data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    CallError::Rpc { code: code.unwrap_or(INTERNAL_ERROR), message, detail, data: rest }
}

/// The maximum length of `CallError::Rpc::detail`, in characters.
const MAX_DETAIL_CHARS: usize = 200;

/// Finds the text for people in the data of an error, for which agents use various keys.
fn reason_in(data: &Value) -> Option<&str> {
    match data {
        Value::String(text) => text.lines().map(str::trim).find(|line| !line.is_empty()),
        Value::Object(map) => ["details", "detail", "message", "error", "reason"]
            .iter()
            .find_map(|key| reason_in(map.get(*key)?)),
        _ => None,
    }
}

/// Returns whether the data of an error contain nothing but `reason`, and `detail` shows all of it.
fn is_only_reason(data: &Value, reason: Option<&str>) -> bool {
    match data {
        Value::String(text) => reason.is_some_and(|reason| {
            text.trim() == reason && reason.chars().count() <= MAX_DETAIL_CHARS
        }),
        Value::Object(map) if map.len() == 1 => {
            map.values().all(|value| reason_in(value) == reason && is_only_reason(value, reason))
        }
        _ => false,
    }
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

/// Decodes a page of sessions. Those without an id or a working directory are left out.
fn sessions(mut fields: Fields) -> Result<Reply, CallError> {
    let sessions = fields.objects("sessions");
    let sessions = sessions.ok_or_else(|| CallError::Malformed("no list of sessions".into()))?;
    let sessions = sessions.filter_map(|mut session| {
        Some(ListedSession {
            id: session.text("sessionId")?.into(),
            cwd: session.text("cwd")?.into(),
            title: session.text("title").filter(|title| !title.trim().is_empty()),
            updated_at: session.text("updatedAt"),
        })
    });
    Ok(Reply::Sessions(sessions.collect(), fields.text("nextCursor")))
}

fn setup(mut fields: Fields) -> SessionSetup {
    SessionSetup {
        modes: options::modes(&mut fields),
        models: options::models(&mut fields),
        options: options::config(&mut fields).unwrap_or_default(),
    }
}

/// Takes the reason why a turn has stopped.
pub fn stop_reason(fields: &mut Fields) -> StopReason {
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

/// Decodes what an agent says about itself. Which protocol it speaks is not decided here.
pub fn initialized(result: &str) -> Result<AgentInfo, CallError> {
    let mut fields = json(result).and_then(Fields::of).unwrap_or_default();
    if fields.peek("protocolVersion").is_none() {
        let problem = "initialize was answered without a protocolVersion".to_owned();
        return Err(CallError::Malformed(problem));
    }
    let mut about = fields.object("agentInfo").unwrap_or_default();
    let name = about.text("name");
    Ok(AgentInfo {
        protocol: None,
        quirks: quirks::of_agent(name.as_deref().unwrap_or_default()),
        current_session: None,
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
    })
}

/// Decodes the capabilities of an agent. Missing, `false` and `null` mean unsupported (ACP initialization).
fn capabilities(mut fields: Fields) -> AgentCapabilities {
    let mut prompt = fields.object("promptCapabilities").unwrap_or_default();
    let mut mcp = fields.object("mcpCapabilities").unwrap_or_default();
    let mut session = fields.object("sessionCapabilities").unwrap_or_default();
    let mut auth = fields.object("auth").unwrap_or_default();
    let others = [
        (Capability::Load, fields.flag("loadSession")),
        (Capability::Resume, session.marker("resume")),
        (Capability::List, session.marker("list")),
        (Capability::Close, session.marker("close")),
        (Capability::Delete, session.marker("delete")),
        (Capability::Fork, session.marker("fork")),
        (Capability::Directories, session.marker("additionalDirectories")),
        (Capability::McpStdio, true),
        (Capability::McpHttp, mcp.flag("http")),
        (Capability::McpSse, mcp.flag("sse")),
        (Capability::Logout, auth.marker("logout")),
    ];
    let prompt = PromptCapabilities {
        image: prompt.flag("image"),
        audio: prompt.flag("audio"),
        embedded: prompt.flag("embeddedContext"),
    };
    let all = AgentCapabilities::taking(prompt);
    others.into_iter().fold(all, |all, (capability, can)| all.with(capability, can))
}

/// Decodes a way to authenticate. Its id is called `methodId` in version 2.
pub fn auth_method(mut fields: Fields) -> Option<AuthMethod> {
    let id = fields.text("id").or_else(|| fields.text("methodId"))?;
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
