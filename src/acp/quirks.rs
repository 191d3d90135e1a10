//! What real agents do differently from what the protocol says. Only facts and translations: what follows from
//! a fact is decided elsewhere.

use crate::session::agent::Quirks;
use crate::session::content::Content;
use crate::session::tool_call::{ToolCallPatch, ToolContent, ToolInput, ToolKind};

/// What is known of the agent that calls itself `name` (`agentInfo.name` of ACP `initialize`).
pub fn of(name: &str) -> Quirks {
    let name = name.to_ascii_lowercase();
    // Qwen Code grew out of Gemini CLI and kept its client.
    let gemini = name.starts_with("gemini") || name.starts_with("qwen");
    Quirks {
        missing_file_reads_empty: gemini,
        model_reads_disk: gemini,
        replays_after_load: gemini,
        writes_files_itself_too: name == "opencode",
    }
}

/// Puts the parts of a tool call where they belong that an agent gives as a text for people or machines.
pub fn take_apart(patch: &mut ToolCallPatch) {
    if let Some((input, description)) = shell_call(patch) {
        patch.input = Some(input);
        patch.content = Some(vec![ToolContent::Content(Content::Text(description))]);
    } else if let Some(steps) = steps(patch) {
        patch.content = Some(vec![ToolContent::Content(Content::Text(steps))]);
    }
}

/// The only content of a call, where that is a text.
fn only_text(patch: &ToolCallPatch) -> Option<&str> {
    match patch.content.as_deref()? {
        [ToolContent::Content(Content::Text(text))] => Some(text),
        _ => None,
    }
}

/// OpenCode's list of steps is a tool call whose output is the list as JSON.
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
        let sign = match step.status.as_str() {
            "completed" => '✓',
            "in_progress" => '●',
            "cancelled" => '⊘',
            _ => '○',
        };
        format!("{sign} {}", step.content)
    };
    Some(steps.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// A Gemini shell call sends no `rawInput`, but the command as the title, and the folder and what the model says of it
/// as the content, `[current working directory /folder] (description)`.
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
    fn agents_are_known_by_the_names_they_give() {
        let gemini = of("gemini-cli");
        assert!(gemini.missing_file_reads_empty && gemini.replays_after_load);
        assert!(gemini.model_reads_disk && of("qwen-code").model_reads_disk);
        assert!(of("OpenCode").writes_files_itself_too);
        assert_eq!(of("@agentclientprotocol/claude-agent-acp"), Quirks::default());
        assert_eq!(of(""), Quirks::default());
    }

    #[test]
    fn the_steps_of_opencode_are_a_list() {
        let said = |text: &str| Some(vec![ToolContent::Content(Content::Text(text.to_owned()))]);
        let shown = |text: &str| {
            let mut patch = ToolCallPatch { content: said(text), ..ToolCallPatch::default() };
            take_apart(&mut patch);
            patch.content
        };
        let json = r#"[{"content": "look", "status": "completed", "priority": "high"},
            {"content": "tell", "status": "pending", "priority": "low"}]"#;
        assert_eq!(shown(json), said("✓ look\n○ tell"));
        for other in ["", "[1, 2]", r#"[{"content": "x"}]"#, "[x] done"] {
            assert_eq!(shown(other), said(other));
        }
    }

    #[test]
    fn a_gemini_shell_call_has_its_command() {
        let text = "[current working directory /ws] (run echo hi)".to_owned();
        let sent = ToolCallPatch {
            title: Some("echo hi".to_owned()),
            kind: Some(ToolKind::Execute),
            content: Some(vec![ToolContent::Content(Content::Text(text))]),
            ..ToolCallPatch::default()
        };
        let mut patch = sent.clone();
        take_apart(&mut patch);
        let input = patch.input.unwrap();
        assert_eq!(input.command.as_deref(), Some("echo hi"));
        assert_eq!(input.cwd.as_deref(), Some("/ws"));
        let said = Content::Text("run echo hi".to_owned());
        assert_eq!(patch.content, Some(vec![ToolContent::Content(said)]));
        let read = ToolCallPatch { kind: Some(ToolKind::Read), ..sent };
        let mut patch = read.clone();
        take_apart(&mut patch);
        assert_eq!(patch, read);
    }
}
