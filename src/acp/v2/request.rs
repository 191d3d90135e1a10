//! Decodes the requests of agents, and refuses those that are invalid or not advertised.

use super::table;
use super::tool;
use crate::acp::dialect::{IncomingRequest, Method, Refusal};
use crate::acp::fields::{Fields, cut, json};
use crate::acp::v1::elicitation;
use crate::acp::v1::request::{options, required};
use crate::acp::v1::table::handles;
use crate::acp::v1::tool::MAX_TITLE_BYTES;
use crate::core::messages::agent::AgentRequest;
use crate::session::content::Content;
use crate::session::ids::ToolCallId;
use crate::session::permission::PermissionRequest;
use crate::session::tool_call::{ToolCallPatch, ToolContent, ToolInput, ToolKind};

/// Returns the method with this name. One that is unknown or not handled according to [`table`] is refused with -32601 (ACP
/// extensibility).
pub fn method(name: &str) -> Result<Method, Refusal> {
    let handled = handles(table::TO_CLIENT, name);
    let method = Method::ALL.into_iter().find(|method| handled && method.name() == name);
    method.ok_or_else(|| Refusal::unknown_method(name))
}

/// Decodes the params of a request. `general` counts the permission requests that are about no tool call. Params without a
/// required field are refused with -32602.
pub fn decode(
    method: Method,
    params: Option<&str>,
    general: &mut u64,
) -> Result<IncomingRequest, Refusal> {
    let bytes = params.map_or(0, str::len);
    let mut params = params
        .and_then(json)
        .and_then(Fields::of)
        .ok_or_else(|| Refusal::invalid_params("params must be an object"))?;
    if method == Method::Elicitation {
        let (owner, elicitation) = elicitation::create(&mut params, bytes)?;
        return Ok(IncomingRequest::Elicitation(owner, Box::new(elicitation)));
    }
    let session = required(&mut params, "sessionId")?.into();
    let request = AgentRequest::Permission(permission(&mut params, general)?);
    Ok(IncomingRequest::Session(session, request))
}

/// Decodes a permission request. One that is about no tool call gets one of its own, which shows what is asked.
fn permission(params: &mut Fields, general: &mut u64) -> Result<PermissionRequest, Refusal> {
    let title = cut(required(params, "title")?, MAX_TITLE_BYTES);
    let description = params.text("description").map(|text| cut(text, MAX_TITLE_BYTES));
    let description = description.filter(|text| !text.trim().is_empty());
    let options = options(params)?;
    let mut subject = params.object("subject").unwrap_or_default();
    let kind = subject.text("type").unwrap_or_default();
    if kind == "tool_call" {
        let mut call = subject
            .object("toolCall")
            .ok_or_else(|| Refusal::invalid_params("toolCall must be an object"))?;
        let tool_call = required(&mut call, "toolCallId")?.into();
        let patch = Box::new(tool::patch(&mut call));
        let question = Some(question(title, description));
        return Ok(PermissionRequest { tool_call, patch, question, options });
    }
    let mut patch = ToolCallPatch { title: Some(title.clone()), ..ToolCallPatch::default() };
    if kind == "command" {
        let command = required(&mut subject, "command")?;
        let cwd = subject.text("cwd");
        patch.kind = Some(ToolKind::Execute);
        patch.input = Some(ToolInput {
            json: serde_json::json!({"command": command, "cwd": cwd}).to_string(),
            command: Some(command),
            cwd,
            ..ToolInput::default()
        });
        if let Some(terminal) = subject.text("terminalId") {
            patch.content = Some(vec![ToolContent::Terminal(terminal.into())]);
        }
        if let Some(id) = subject.text("toolCallId") {
            // The call has a title of its own, and its content stays.
            let (tool_call, question) = (id.into(), Some(question(title, description)));
            (patch.title, patch.content) = (None, None);
            return Ok(PermissionRequest { tool_call, patch: Box::new(patch), question, options });
        }
    }
    if let Some(description) = description {
        let text = ToolContent::Content(Content::Text(description));
        patch.content.get_or_insert_default().push(text);
    }
    *general += 1;
    let tool_call = ToolCallId::from(format!("permission {general}"));
    Ok(PermissionRequest { tool_call, patch: Box::new(patch), question: None, options })
}

fn question(title: String, description: Option<String>) -> String {
    match description {
        Some(description) => format!("{title}\n{description}"),
        None => title,
    }
}
