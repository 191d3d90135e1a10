//! The user's rules with real agents: what they say of an edit or a command is what the rules decide on.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_real_agent};

with_each_real_agent!(
    rules_decide_on_edits,
    rules_decide_on_commands,
    rules_allow_nothing_elsewhere,
    a_command_is_asked_about_whatever_kind_is_allowed,
    rules_decide_on_tools_of_mcp_servers
);

fn open(kind: Kind) -> Chat {
    let rules = [
        "allow edit src/",
        "deny edit other/",
        "allow execute echo *",
        "allow execute mkdir *",
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
    ask(&mut chat, "[[shell mkdir -p sub && cat src/a.py]][[say Done.]]");
    let transcript = chat.transcript();
    assert!(
        transcript.contains("rules: allow execute mkdir *; allow execute cat *"),
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

/// The tool by which a model runs a command in another folder, with its arguments; `None` if an agent has none.
fn in_folder(kind: Kind, command: &str, folder: &str) -> Option<String> {
    let call = |name: &str, arguments: serde_json::Value| format!("[[tool {name} {arguments}]]");
    match kind {
        Kind::OpenCode => {
            let more = json!({"command": command, "workdir": folder, "description": "look"});
            Some(call("bash", more))
        }
        Kind::Gemini => {
            Some(call("run_shell_command", json!({"command": command, "dir_path": folder})))
        }
        _ => None,
    }
}

/// Rejects whatever the agent asks about in a turn, and checks that no rule has allowed anything.
fn ask_rejecting(chat: &mut Chat, prompt: &str) {
    chat.ask(&format!("{prompt}[[say Done.]]"));
    let turn = chat.nvim.events("RatTurnEnd").len();
    chat.until("the end of the turn", |chat| {
        if !chat.nvim.status()["permissions"][0].is_null() {
            chat.nvim.let_time_pass();
            chat.nvim.command("silent! RatDeny");
        }
        chat.nvim.events("RatTurnEnd").get(turn).cloned()
    });
    assert!(!chat.transcript().contains("rule: allow"), "{prompt}: {}", chat.transcript());
}

/// Holds (Permission requests): Rules about files and commands of a project allow a real agent nothing in the home folder or in another one.
fn rules_allow_nothing_elsewhere(kind: Kind) {
    let settings =
        json!({"permission": {"rules": ["allow read", "allow edit", "allow execute touch *"]}});
    let mut chat = Chat::open_with(kind, &[("a.py", "one\n")], settings);
    ask_rejecting(&mut chat, "[[write ~/rat-made.txt|one]]");
    ask_rejecting(&mut chat, "[[read ~/.profile]]");
    let elsewhere = chat.path("..").canonicalize().unwrap();
    if let Some(call) = in_folder(kind, "touch made", elsewhere.to_str().unwrap()) {
        ask_rejecting(&mut chat, &call);
        assert!(!elsewhere.join("made").exists());
    }
    chat.finish();
}

/// Holds (Permission requests): A real agent's command is not allowed by rules for what else it might call itself.
fn a_command_is_asked_about_whatever_kind_is_allowed(kind: Kind) {
    let kinds = ["read", "search", "edit", "delete", "move", "fetch", "think", "other"];
    let rules: Vec<_> = kinds.iter().map(|kind| format!("allow {kind}")).collect();
    let settings = json!({"permission": {"rules": rules}});
    let mut chat = Chat::open_with(kind, &[("a.py", "one\n")], settings);
    for command in [
        "find . -name a.py -exec touch made {} +",
        "grep -rn one . && touch made",
        "cat a.py > made",
    ] {
        ask_rejecting(&mut chat, &format!("[[shell {command}]]"));
        assert!(!chat.path("made").exists(), "{command}");
    }
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
