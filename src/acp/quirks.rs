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
        reads_through_client: gemini,
        replays_after_load: gemini,
        writes_files_itself_too: name == "opencode",
    }
}

/// The command of a Gemini shell call: it sends no `rawInput`, but the command as the title and the folder in
/// the content, as `[current working directory /folder] (description)`.
pub fn command_in_content(patch: &ToolCallPatch) -> Option<ToolInput> {
    if patch.kind != Some(ToolKind::Execute) {
        return None;
    }
    let [ToolContent::Content(Content::Text(text))] = patch.content.as_deref()? else {
        return None;
    };
    let cwd = text.strip_prefix("[current working directory ")?.split_once(']')?.0;
    Some(ToolInput {
        command: Some(patch.title.clone()?),
        cwd: Some(cwd.to_owned()),
        json: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_known_by_the_names_they_give() {
        let gemini = of("gemini-cli");
        assert!(gemini.missing_file_reads_empty && gemini.replays_after_load);
        assert!(gemini.reads_through_client && of("qwen-code").reads_through_client);
        assert!(of("OpenCode").writes_files_itself_too);
        assert_eq!(of("@agentclientprotocol/claude-agent-acp"), Quirks::default());
        assert_eq!(of(""), Quirks::default());
    }

    #[test]
    fn a_gemini_shell_call_has_its_command() {
        let text = "[current working directory /ws] (run echo hi)".to_owned();
        let patch = ToolCallPatch {
            title: Some("echo hi".to_owned()),
            kind: Some(ToolKind::Execute),
            content: Some(vec![ToolContent::Content(Content::Text(text))]),
            ..ToolCallPatch::default()
        };
        let input = command_in_content(&patch).unwrap();
        assert_eq!(input.command.as_deref(), Some("echo hi"));
        assert_eq!(input.cwd.as_deref(), Some("/ws"));
        let read = ToolCallPatch { kind: Some(ToolKind::Read), ..patch };
        assert_eq!(command_in_content(&read), None);
    }
}
