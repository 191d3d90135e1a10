//! How real agents deviate from the protocol. This file holds facts and conversions only; what follows from a fact is
//! decided in `core`.

use crate::session::agent::{McpServersFor, Quirks};
use crate::session::content::Content;
use crate::session::signs::{CANCELLED, DONE, PENDING, RUNNING};
use crate::session::tool_call::{ToolCallPatch, ToolContent, ToolInput, ToolKind};

/// How long agents wait for the answer to a call of an MCP server's tool, in seconds, where that is more than a minute. The names
/// are parts of those in `agentInfo.name`.
const TOOL_SECONDS: [(&str, u16); 4] =
    [("claude", 300), ("gemini", 120), ("qwen", 120), ("codex", 110)];

/// Returns the known quirks of an agent by its `agentInfo.name` (the answer to ACP `initialize`).
pub fn of_agent(name: &str) -> Quirks {
    let name = name.to_ascii_lowercase();
    // Qwen Code is a fork of Gemini CLI with the same ACP implementation.
    let is_gemini = name.starts_with("gemini") || name.starts_with("qwen");
    Quirks {
        missing_file_reads_empty: is_gemini,
        model_reads_disk: is_gemini,
        writes_files_itself_too: name == "opencode",
        mcp_servers: match name.as_str() {
            "opencode" => McpServersFor::Folder,
            _ => McpServersFor::Session,
        },
        tool_seconds: TOOL_SECONDS.iter().find(|(agent, _)| name.contains(agent)).map(|it| it.1),
    }
}

/// Moves data that some agents send as text content of a tool call into the fields of the protocol.
pub fn normalize_tool_call(patch: &mut ToolCallPatch) {
    if let Some((input, description)) = shell_call(patch) {
        patch.input = Some(input);
        patch.content = Some(vec![ToolContent::Content(Content::Text(description))]);
    } else if let Some(steps) = steps(patch) {
        patch.content = Some(vec![ToolContent::Content(Content::Text(steps))]);
    }
    if patch.name.is_none() {
        patch.name = patch.title.as_deref().and_then(tool_name);
    }
}

/// Returns the name of a tool from a title that is no more than that. Tools of MCP servers are named as Claude names them,
/// so that a rule is about the same tool whatever agent uses it: Gemini writes `add (notes MCP Server)`.
fn tool_name(title: &str) -> Option<String> {
    let is_name = |text: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !text.is_empty() && text.chars().all(is_plain)
    };
    let of_server = title.strip_suffix(" MCP Server)").and_then(|rest| rest.rsplit_once(" ("));
    match of_server {
        Some((tool, server)) if is_name(tool) && is_name(server) => {
            Some(format!("mcp__{server}__{tool}"))
        }
        _ => (is_name(title) && title.contains('_')).then(|| title.to_owned()),
    }
}

/// Returns the content of a tool call if it is a single text.
fn only_text(patch: &ToolCallPatch) -> Option<&str> {
    match patch.content.as_deref()? {
        [ToolContent::Content(Content::Text(text))] => Some(text),
        _ => None,
    }
}

/// Formats the todo list of OpenCode, which is a tool call whose content is the list as JSON. One line per item.
fn steps(patch: &ToolCallPatch) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Step {
        content: String,
        status: String,
        #[serde(rename = "priority")]
        _priority: String,
    }
    let text = only_text(patch).filter(|text| text.starts_with('['))?;
    let steps: Vec<Step> = serde_json::from_str(text).ok()?;
    let line = |step: &Step| {
        let symbol = match step.status.as_str() {
            "completed" => DONE,
            "in_progress" => RUNNING,
            "cancelled" => CANCELLED,
            _ => PENDING,
        };
        format!("{symbol} {}", step.content)
    };
    Some(steps.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Returns the input and the description of a Gemini shell call. Gemini sends no `rawInput`, but the command as the title, and
/// as the content `[current working directory /folder] (description)`.
fn shell_call(patch: &ToolCallPatch) -> Option<(ToolInput, String)> {
    if patch.kind != Some(ToolKind::Execute) || patch.input.is_some() {
        return None;
    }
    let text = only_text(patch)?;
    let (cwd, rest) = text.strip_prefix("[current working directory ")?.split_once(']')?;
    let rest = rest.trim();
    let description =
        rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    let command = Some(patch.title.clone()?);
    let input = ToolInput { command, cwd: Some(cwd.to_owned()), ..ToolInput::default() };
    Some((input, description.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_recognized_by_their_names() {
        let gemini = of_agent("gemini-cli");
        assert!(gemini.missing_file_reads_empty);
        assert!(gemini.model_reads_disk && of_agent("qwen-code").model_reads_disk);
        assert!(of_agent("OpenCode").writes_files_itself_too);
        assert_eq!(of_agent("opencode").mcp_servers, McpServersFor::Folder);
        let claude = of_agent("@agentclientprotocol/claude-agent-acp");
        assert_eq!(claude, Quirks { tool_seconds: Some(300), ..Quirks::default() });
        assert_eq!(of_agent(""), Quirks::default());
    }

    #[test]
    fn the_todo_list_of_opencode_is_formatted() {
        let content = |text: &str| Some(vec![ToolContent::Content(Content::Text(text.to_owned()))]);
        let normalized = |text: &str| {
            let mut patch = ToolCallPatch { content: content(text), ..ToolCallPatch::default() };
            normalize_tool_call(&mut patch);
            patch.content
        };
        let json = r#"[{"content": "look", "status": "completed", "priority": "high"},
            {"content": "tell", "status": "pending", "priority": "low"}]"#;
        assert_eq!(normalized(json), content("✓ look\n○ tell"));
        for other in ["", "[1, 2]", r#"[{"content": "x"}]"#, "[x] done"] {
            assert_eq!(normalized(other), content(other));
        }
    }

    #[test]
    fn the_name_of_a_tool_is_taken_from_its_title() {
        let named = |title: &str| {
            let title = Some(title.to_owned());
            let mut patch = ToolCallPatch { title, ..ToolCallPatch::default() };
            normalize_tool_call(&mut patch);
            patch.name
        };
        for (title, name) in [
            ("mcp__notes__add", Some("mcp__notes__add")),
            ("notes_add", Some("notes_add")),
            ("add (notes MCP Server)", Some("mcp__notes__add")),
            ("add (notes MCP Server) (evil MCP Server)", None),
            ("mcp__notes__add (evil MCP Server)", Some("mcp__evil__mcp__notes__add")),
            ("Edit a_b.rs", None),
            ("make", None),
            ("add ( MCP Server)", None),
            ("", None),
        ] {
            assert_eq!(named(title).as_deref(), name, "{title}");
        }
        let own = ToolCallPatch {
            title: Some("a_b".to_owned()),
            name: Some("c".to_owned()),
            ..ToolCallPatch::default()
        };
        let mut patch = own.clone();
        normalize_tool_call(&mut patch);
        assert_eq!(patch, own);
    }

    #[test]
    fn the_input_of_a_gemini_shell_call_is_extracted() {
        let text = "[current working directory /ws] (run echo hi)".to_owned();
        let sent = ToolCallPatch {
            title: Some("echo hi".to_owned()),
            kind: Some(ToolKind::Execute),
            content: Some(vec![ToolContent::Content(Content::Text(text))]),
            ..ToolCallPatch::default()
        };
        let mut patch = sent.clone();
        normalize_tool_call(&mut patch);
        let input = patch.input.unwrap();
        assert_eq!(input.command.as_deref(), Some("echo hi"));
        assert_eq!(input.cwd.as_deref(), Some("/ws"));
        let description = Content::Text("run echo hi".to_owned());
        assert_eq!(patch.content, Some(vec![ToolContent::Content(description)]));
        let read = ToolCallPatch { kind: Some(ToolKind::Read), ..sent };
        let mut patch = read.clone();
        normalize_tool_call(&mut patch);
        assert_eq!(patch, read);
    }
}
