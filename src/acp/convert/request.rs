//! What agents may ask of us, in our words, and why some of it is refused at once.

use super::fields::{Fields, whole};
use super::tool;
use super::update::json;
use crate::acp::table;
use crate::core::event::{AgentRequest, INVALID_PARAMS};
use crate::session::ids::SessionId;
use crate::session::permission::{OptionKind, PermissionOption, PermissionRequest};
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
    fn params(message: impl Into<String>) -> Self {
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
}

impl Method {
    /// Every method there is.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Permission];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "fs/read_text_file",
            Self::Write => "fs/write_text_file",
            Self::Permission => "session/request_permission",
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

/// Reads the params of a request. Paths are taken as they are: whether they are absolute and allowed is decided
/// elsewhere. Params that lack what the method needs are refused with -32602.
pub fn decode(method: Method, params: Option<&str>) -> Result<(SessionId, AgentRequest), Refusal> {
    let mut params = params
        .and_then(json)
        .and_then(Fields::of)
        .ok_or_else(|| Refusal::params("params must be an object"))?;
    let session = required(&mut params, "sessionId")?.into();
    let request = match method {
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
    };
    Ok((session, request))
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
