//! The user's rules with real agents: what they say of an edit or a command is what the rules decide on.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_real_agent};

with_each_real_agent!(
    rules_decide_on_edits,
    rules_decide_on_commands,
    rules_decide_on_tools_of_mcp_servers
);

fn open(kind: Kind) -> Chat {
    let rules = [
        "allow edit src/",
        "deny edit other/",
        "allow execute echo *",
        "allow execute cat *",
        "deny execute touch *",
    ];
    let settings = json!({"permission": {"rules": rules}});
    Chat::open_with(kind, &[("src/a.py", "one\n"), ("other/b.py", "one\n")], settings)
}

/// Asks, and waits for the end of the turn, however it ends.
fn ask(chat: &mut Chat, prompt: &str) {
    chat.ask(prompt);
    chat.ends_somehow();
    assert!(!chat.nvim.screen().contains("<CR> choose"), "the user was asked");
}

/// Holds (Permission requests): Rules decide on what Claude, Gemini and OpenCode do: edits, commands and tools of MCP servers.
fn rules_decide_on_edits(kind: Kind) {
    let mut chat = open(kind);
    ask(&mut chat, "[[read src/a.py]][[edit src/a.py|one|1]][[say Done.]]");
    assert_eq!(chat.file("src/a.py").unwrap(), "1\n");
    assert!(chat.transcript().contains("rule: allow edit src/"), "{}", chat.transcript());
    ask(&mut chat, "[[read other/b.py]][[edit other/b.py|one|1]][[say Done.]]");
    assert_eq!(chat.file("other/b.py").unwrap(), "one\n");
    assert!(chat.transcript().contains("rule: deny edit other/"), "{}", chat.transcript());
    chat.finish();
}

/// Holds (Permission requests): Rules decide on what Claude, Gemini and OpenCode do: edits, commands and tools of MCP servers.
fn rules_decide_on_commands(kind: Kind) {
    let mut chat = open(kind);
    ask(&mut chat, "[[shell echo one > /dev/null && echo \"$(cat src/a.py)\"]][[say Done.]]");
    let transcript = chat.transcript();
    assert!(
        transcript.contains("rules: allow execute echo *; allow execute cat *"),
        "{transcript}"
    );
    ask(&mut chat, "[[shell echo two; touch made]][[say Done.]]");
    assert!(!chat.path("made").exists());
    assert!(chat.transcript().contains("rule: deny execute touch *"), "{}", chat.transcript());
    chat.ask("[[shell echo three; printf made > made]][[say Done.]]");
    chat.answer("reject_once");
    chat.ends_somehow();
    assert!(!chat.path("made").exists());
    chat.finish();
}

/// A chat whose agent has an MCP server with a tool that adds to a file.
fn with_mcp_server(kind: Kind, rules: &[&str]) -> Chat {
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_agents/mcp/notes.py");
    let settings = json!({
        "permission": {"rules": rules},
        "mcp_servers": {"notes": {"command": "python3", "args": [server, "notes.txt"]}},
    });
    // OpenCode asks only about what it is told to.
    let asks = [("OPENCODE_PERMISSION", r#"{"notes_*": "ask"}"#)];
    Chat::open_in(Chat::options(), kind, &[("src/a.py", "one\n")], settings, &asks)
}

/// The name by which the model calls that tool, and the one that rules use.
fn tool_names(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Gemini => ("mcp_notes_add", "mcp__notes__add"),
        Kind::OpenCode => ("notes_add", "notes_add"),
        _ => ("mcp__notes__add", "mcp__notes__add"),
    }
}

/// Holds (Permission requests): Rules decide on what Claude, Gemini and OpenCode do: edits, commands and tools of MCP servers.
fn rules_decide_on_tools_of_mcp_servers(kind: Kind) {
    let (name, in_rules) = tool_names(kind);
    let add = |text: &str| format!("[[tool {name} {{\"text\": \"{text}\"}}]][[say Done.]]");
    let allow = format!("allow tool {in_rules}");
    let mut chat = with_mcp_server(kind, &[&allow]);
    ask(&mut chat, &add("one"));
    assert_eq!(chat.file("notes.txt").as_deref(), Some("one\n"));
    assert!(chat.transcript().contains(&format!("rule: {allow}")), "{}", chat.transcript());
    chat.finish();
    let deny = format!("deny tool {}*", in_rules.trim_end_matches("add"));
    let mut chat = with_mcp_server(kind, &[&allow, &deny]);
    ask(&mut chat, &add("two"));
    assert_eq!(chat.file("notes.txt"), None);
    assert!(chat.transcript().contains(&format!("rule: {deny}")), "{}", chat.transcript());
    chat.finish();
}
