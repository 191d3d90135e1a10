//! Decodes the requests of agents, and refuses those that are invalid or not advertised.

use super::elicitation;
use super::table;
use super::tool;
use crate::acp::dialect::{IncomingRequest, Method, Refusal};
use crate::acp::fields::{Fields, json, texts, whole};
use crate::core::messages::agent::AgentRequest;
use crate::session::ids::TerminalId;
use crate::session::permission::{OptionKind, PermissionOption, PermissionRequest};
use crate::session::terminal::request::{CreateTerminal, TerminalRequest};
use serde_json::Value;
use std::path::PathBuf;

/// The maximum number of options of a permission request: the user has to see all of them.
const MAX_OPTIONS: usize = 100;

/// Returns the method with this name. One that is unknown or not handled according to [`table`], and thus not advertised, is
/// refused with -32601 (ACP extensibility).
pub fn method(name: &str) -> Result<Method, Refusal> {
    let handled = table::handles(table::TO_CLIENT, name);
    let method = Method::ALL.into_iter().find(|method| handled && method.name() == name);
    method.ok_or_else(|| Refusal::unknown_method(name))
}

/// Decodes the params of a request. Paths are not checked; whether they are absolute and allowed is decided elsewhere. Params
/// without a required field are refused with -32602.
pub fn decode(method: Method, params: Option<&str>) -> Result<IncomingRequest, Refusal> {
    let bytes = params.map_or(0, str::len);
    let mut params = params
        .and_then(json)
        .and_then(Fields::of)
        .ok_or_else(|| Refusal::invalid_params("params must be an object"))?;
    let request = match method {
        Method::Elicitation => {
            let (owner, elicitation) = elicitation::create(&mut params, bytes)?;
            return Ok(IncomingRequest::Elicitation(owner, Box::new(elicitation)));
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
    Ok(IncomingRequest::Session(session, request))
}

/// Takes a text that has to be there.
pub fn required(params: &mut Fields, key: &str) -> Result<String, Refusal> {
    params.text(key).ok_or_else(|| Refusal::invalid_params(format!("{key} must be a string")))
}

/// Decodes a number of lines. One that is too large for `u32` becomes `u32::MAX`.
fn count(params: &mut Fields, key: &str) -> Result<Option<u32>, Refusal> {
    let Some(value) = params.any(key) else {
        return Ok(None);
    };
    let number = whole(&value).ok_or_else(|| {
        Refusal::invalid_params(format!("{key} must be a whole number, not {value}"))
    })?;
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
        return Err(Refusal::invalid_params("command must not be empty"));
    }
    let args = match params.any("args") {
        None => Vec::new(),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => texts(items),
        Some(_) => return Err(Refusal::invalid_params("args must be strings")),
    };
    let cwd = params.any("cwd").map(|cwd| match cwd {
        Value::String(cwd) => Ok(PathBuf::from(cwd)),
        _ => Err(Refusal::invalid_params("cwd must be a string")),
    });
    let limit = params.any("outputByteLimit").map(|limit| {
        let huge = limit.as_f64().filter(|limit| *limit >= 9e15).map(|_| u64::MAX);
        whole(&limit).or(huge).ok_or_else(|| {
            Refusal::invalid_params(format!("outputByteLimit must be a whole number, not {limit}"))
        })
    });
    let env = params.pairs("env");
    Ok(CreateTerminal { command, args, env, cwd: cwd.transpose()?, limit: limit.transpose()? })
}

fn permission(params: &mut Fields) -> Result<PermissionRequest, Refusal> {
    let mut call = params
        .object("toolCall")
        .ok_or_else(|| Refusal::invalid_params("toolCall must be an object"))?;
    let tool_call = required(&mut call, "toolCallId")?.into();
    let options = options(params)?;
    let patch = Box::new(tool::patch(&mut call));
    Ok(PermissionRequest { tool_call, patch, question: None, options })
}

/// Decodes the options of a permission request. An empty list may be intended. A missing one is an error that the user cannot
/// correct.
pub fn options(params: &mut Fields) -> Result<Vec<PermissionOption>, Refusal> {
    let options = params
        .objects("options")
        .ok_or_else(|| Refusal::invalid_params("options must be a list"))?;
    let options: Vec<_> = options.filter_map(option).collect();
    if options.len() > MAX_OPTIONS {
        return Err(Refusal::invalid_params(format!("there can be at most {MAX_OPTIONS} options")));
    }
    Ok(options)
}

/// Decodes an option; `None` if it has no id.
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
