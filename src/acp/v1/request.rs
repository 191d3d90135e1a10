//! What agents may ask of us, in our words, and why some of it is refused at once.

use super::elicitation::{self, Named};
use super::fields::{Fields, texts, whole};
use super::tool;
use super::update::json;
use crate::acp::table;
use crate::core::event::agent::{AgentRequest, INVALID_PARAMS};
use crate::session::elicitation::Elicitation;
use crate::session::ids::{SessionId, TerminalId};
use crate::session::permission::{OptionKind, PermissionOption, PermissionRequest};
use crate::session::terminal::request::{CreateTerminal, TerminalRequest};
use serde_json::Value;
use std::path::PathBuf;

/// JSON-RPC `method not found`.
pub const METHOD_NOT_FOUND: i64 = -32601;

/// A request that is answered with an error without asking anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// JSON-RPC code.
    pub code: i64,
    /// One line.
    pub message: String,
}

impl Refusal {
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into() }
    }
}

/// A method we answer. What is not in here we have not advertised (`outgoing::capabilities`).
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
    /// Every method there is.
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

    /// The name on the wire.
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
}

/// The method of this name; an unknown one, and one the table does not have as handled, so that we did not
/// advertise its capability, is refused with -32601 (ACP extensibility).
pub fn method(name: &str) -> Result<Method, Refusal> {
    let handled = table::handles(table::TO_CLIENT, name);
    let method = Method::ALL.into_iter().find(|method| handled && method.name() == name);
    method.ok_or_else(|| Refusal {
        code: METHOD_NOT_FOUND,
        message: format!("Method not found: {name}"),
    })
}

/// A request that somebody has to see answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Of a session.
    Session(SessionId, AgentRequest),
    /// The user is to fill in or to open something.
    User(Named, Box<Elicitation>),
}

/// Reads the params of a request. Paths are taken as they are: whether they are absolute and allowed is decided
/// elsewhere. Params that lack what the method needs are refused with -32602.
pub fn decode(method: Method, params: Option<&str>) -> Result<Asked, Refusal> {
    let bytes = params.map_or(0, str::len);
    let mut params = params
        .and_then(json)
        .and_then(Fields::of)
        .ok_or_else(|| Refusal::params("params must be an object"))?;
    let request = match method {
        Method::Elicitation => {
            let (scope, elicitation) = elicitation::create(&mut params, bytes)?;
            return Ok(Asked::User(scope, Box::new(elicitation)));
        }
        Method::Read => AgentRequest::Read {
            path: PathBuf::from(required(&mut params, "path")?),
            line: count(&mut params, "line")?,
            limit: count(&mut params, "limit")?,
        },
        Method::Write => AgentRequest::Write {
            path: PathBuf::from(required(&mut params, "path")?),
            content: required(&mut params, "content")?,
        },
        Method::Permission => AgentRequest::Permission(permission(&mut params)?),
        Method::CreateTerminal => {
            AgentRequest::Terminal(TerminalRequest::Create(create_terminal(&mut params)?))
        }
        Method::TerminalOutput => on_terminal(&mut params, TerminalRequest::Output)?,
        Method::WaitForExit => on_terminal(&mut params, TerminalRequest::WaitForExit)?,
        Method::KillTerminal => on_terminal(&mut params, TerminalRequest::Kill)?,
        Method::ReleaseTerminal => on_terminal(&mut params, TerminalRequest::Release)?,
    };
    let session = required(&mut params, "sessionId")?.into();
    Ok(Asked::Session(session, request))
}

fn required(params: &mut Fields, key: &str) -> Result<String, Refusal> {
    params.text(key).ok_or_else(|| Refusal::params(format!("{key} must be a string")))
}

/// A number of lines; one too large to count means all there are.
fn count(params: &mut Fields, key: &str) -> Result<Option<u32>, Refusal> {
    let Some(value) = params.any(key) else {
        return Ok(None);
    };
    let number = whole(&value)
        .ok_or_else(|| Refusal::params(format!("{key} must be a whole number, not {value}")))?;
    Ok(Some(u32::try_from(number).unwrap_or(u32::MAX)))
}

fn on_terminal(
    params: &mut Fields,
    request: fn(TerminalId) -> TerminalRequest,
) -> Result<AgentRequest, Refusal> {
    let terminal = required(params, "terminalId")?.into();
    Ok(AgentRequest::Terminal(request(terminal)))
}

fn create_terminal(params: &mut Fields) -> Result<CreateTerminal, Refusal> {
    let command = required(params, "command")?;
    if command.trim().is_empty() {
        return Err(Refusal::params("command must not be empty"));
    }
    let args = match params.any("args") {
        None => Vec::new(),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => texts(items),
        Some(_) => return Err(Refusal::params("args must be strings")),
    };
    let cwd = params.any("cwd").map(|cwd| match cwd {
        Value::String(cwd) => Ok(PathBuf::from(cwd)),
        _ => Err(Refusal::params("cwd must be a string")),
    });
    let limit = params.any("outputByteLimit").map(|limit| {
        let huge = limit.as_f64().filter(|limit| *limit >= 9e15).map(|_| u64::MAX);
        whole(&limit).or(huge).ok_or_else(|| {
            Refusal::params(format!("outputByteLimit must be a whole number, not {limit}"))
        })
    });
    let env = params.pairs("env");
    Ok(CreateTerminal { command, args, env, cwd: cwd.transpose()?, limit: limit.transpose()? })
}

fn permission(params: &mut Fields) -> Result<PermissionRequest, Refusal> {
    let mut call =
        params.object("toolCall").ok_or_else(|| Refusal::params("toolCall must be an object"))?;
    let tool_call = required(&mut call, "toolCallId")?.into();
    // Nothing to choose from may be meant; no list at all is a mistake that the user cannot put right.
    let options =
        params.objects("options").ok_or_else(|| Refusal::params("options must be a list"))?;
    let options = options.filter_map(option).collect();
    Ok(PermissionRequest { tool_call, patch: Box::new(tool::patch(&mut call)), options })
}

fn option(mut fields: Fields) -> Option<PermissionOption> {
    let id = fields.text("optionId")?;
    let name = fields.text("name").unwrap_or_else(|| id.clone());
    let kind = match fields.text("kind").as_deref() {
        Some("allow_once") => OptionKind::AllowOnce,
        Some("allow_always") => OptionKind::AllowAlways,
        Some("reject_once") => OptionKind::RejectOnce,
        Some("reject_always") => OptionKind::RejectAlways,
        _ => OptionKind::Unknown,
    };
    Some(PermissionOption { id: id.into(), name, kind })
}
