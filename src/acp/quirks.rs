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

/// Puts the parts of a Gemini shell call where they belong: it sends no `rawInput`, but the command as the title, and the
/// folder and what the model says of it as the content, `[current working directory /folder] (description)`.
pub fn take_apart(patch: &mut ToolCallPatch) {
    let Some((input, description)) = shell_call(patch) else { return };
    patch.input = Some(input);
    patch.content = Some(vec![ToolContent::Content(Content::Text(description))]);
}

fn shell_call(patch: &ToolCallPatch) -> Option<(ToolInput, String)> {
    if patch.kind != Some(ToolKind::Execute) || patch.input.is_some() {
        return None;
    }
    let [ToolContent::Content(Content::Text(text))] = patch.content.as_deref()? else {
        return None;
    };
    let (cwd, rest) = text.strip_prefix("[current working directory ")?.split_once(']')?;
    let rest = rest.trim();
    let description =
        rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    let command = Some(patch.title.clone()?);
    let input = ToolInput { command, cwd: Some(cwd.to_owned()), json: String::new() };
    Some((input, description.to_owned()))
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
