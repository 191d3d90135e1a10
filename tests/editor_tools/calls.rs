//! Calls that read, and calls that make no sense.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value as Json, json};

use super::{chat_with_tools, disk, edit};
use crate::support::TempFolder;

/// Holds (Editor tools): A file is read as it is in its buffer, with unsaved changes.
#[test]
fn unsaved_text_is_read() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", "one\ntwo\n")]);
    chat.nvim.command("edit a.txt");
    chat.nvim.eval("vim.fn.setline(1, 'ONE')");
    let told = mcp.call("read_buffer", json!({"file_path": chat.path("a.txt")}));
    assert!(!told.is_error, "{told:?}");
    assert!(told.text.starts_with("ONE\ntwo\n"), "{told:?}");
    assert!(told.text.contains("not saved"), "{told:?}");
    let part = json!({"file_path": chat.path("a.txt"), "offset": 2, "limit": 1});
    assert_eq!(mcp.call("read_buffer", part).text.lines().next(), Some("two"));
}

/// Holds (Editor tools): A long file is read in parts, each of which says where it goes on.
#[test]
fn a_long_file_is_read_in_parts() {
    let lines: Vec<String> = (1..=3000).map(|number| format!("line {number}")).collect();
    let (chat, mut mcp) = chat_with_tools(&[("a.txt", &(lines.join("\n") + "\n"))]);
    let told = mcp.call("read_buffer", json!({"file_path": chat.path("a.txt")}));
    assert!(told.text.contains("line 2000\n") && !told.text.contains("line 2001"), "{told:?}");
    assert!(told.text.contains("read on with offset 2001"), "{told:?}");
    let rest = json!({"file_path": chat.path("a.txt"), "offset": 2001});
    let told = mcp.call("read_buffer", rest);
    assert!(told.text.starts_with("line 2001\n") && told.text.ends_with("line 3000\n"), "{told:?}");
    let beyond = json!({"file_path": chat.path("a.txt"), "offset": 9999});
    assert!(mcp.call("read_buffer", beyond).text.contains("nothing is there"));
}

/// Holds (Editor tools): A relative path is one in the folder of the session.
#[test]
fn a_relative_path_is_taken() {
    let (_chat, mut mcp) = chat_with_tools(&[("src/a.txt", "one\n")]);
    assert_eq!(mcp.call("read_buffer", json!({"file_path": "src/a.txt"})).text, "one\n");
}

/// Holds (Editor tools): A tool that does not exist, and arguments that make no sense, are answered by what is wrong with them.
#[test]
fn what_makes_no_sense_is_said() {
    let (chat, mut mcp) = chat_with_tools(&[("a.txt", "one\none\n")]);
    let path = chat.path("a.txt");
    for (tool, arguments, problem) in [
        ("grep", json!({}), "there is no tool \"grep\""),
        ("read_buffer", json!({"file_path": 5}), "file_path must be a string"),
        ("read_buffer", json!("text"), "the arguments must be an object"),
        ("read_buffer", json!({"file_path": chat.path("none.txt")}), "does not exist"),
        ("read_buffer", json!({"file_path": chat.nvim.cwd()}), "not a regular file"),
        ("edit_buffer", edit(&chat, "a.txt", "two", "2"), "edits[0].old_string is not in"),
        (
            "edit_buffer",
            edit(&chat, "none.txt", "one", "1"),
            "none.txt does not exist: to create it",
        ),
        ("edit_buffer", edit(&chat, "a.txt", "one", "1"), "several times, in lines 1, 2"),
        ("references", json!({"file_path": path, "symbol": "x"}), "no language server is running"),
        ("diagnostics", json!({"file_path": path}), "no language server is running"),
        ("symbols", json!({"query": "x"}), "no language server is running"),
        ("code_action", json!({"file_path": path, "line": 1}), "no language server is running"),
    ] {
        let told = mcp.call(tool, arguments.clone());
        assert!(told.is_error, "{tool} {arguments}: {told:?}");
        assert!(told.text.contains(problem), "{tool} {arguments}: {told:?}");
    }
    assert_eq!(disk(&chat, "a.txt"), "one\none\n");
    let unknown = mcp.request("resources/list", json!({}));
    assert_eq!(unknown["error"]["code"], json!(-32601));
    let nameless = mcp.request("tools/call", json!({"arguments": {}}));
    assert_eq!(nameless["error"]["code"], json!(-32602));
    assert_eq!(mcp.request("ping", json!({}))["result"], json!({}));
}

/// Holds (Editor tools): Arguments of more than 1 MiB are refused, and the next call works.
#[test]
fn arguments_that_are_too_long_are_refused() {
    let (chat, mut mcp) = chat_with_tools(&[("a.txt", "one\n")]);
    let told = mcp.call("edit_buffer", edit(&chat, "a.txt", "one", &"x".repeat(10 << 20)));
    assert!(told.is_error && told.text.contains("1048576 is the limit"), "{}", told.text);
    assert_eq!(disk(&chat, "a.txt"), "one\n");
    assert_eq!(mcp.call("read_buffer", json!({"file_path": "a.txt"})).text, "one\n");
    mcp.send_raw(b"no JSON\n\n{\"jsonrpc\": 5}\n");
    assert_eq!(mcp.call("read_buffer", json!({"file_path": "a.txt"})).text, "one\n");
}

/// Holds (Editor tools): Of files outside the project nothing is read or changed without a question, by whatever path.
#[test]
fn files_outside_are_asked_about() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", "one\n")]);
    let elsewhere = TempFolder::new();
    let secret = elsewhere.path().join("secret.txt");
    fs::write(&secret, "secret\n").unwrap();
    symlink(&secret, chat.path("link.txt")).unwrap();
    let edits = json!([{"old_string": "secret", "new_string": "public"}]);
    let call = mcp.begin_call("read_buffer", json!({"file_path": chat.path("link.txt")}));
    chat.nvim.poll_screen("outside the project");
    assert!(!mcp.is_answered(call));
    chat.nvim.let_time_pass();
    chat.nvim.choose(3);
    let told = mcp.expect_told(call);
    assert!(told.is_error && told.text.contains("outside the project"), "{told:?}");
    // What is refused is not asked about again.
    for (tool, arguments) in [
        ("read_buffer", json!({"file_path": secret})),
        ("diagnostics", json!({"file_path": chat.path("link.txt")})),
        ("edit_buffer", json!({"file_path": chat.path("link.txt"), "edits": edits})),
    ] {
        let told = mcp.call(tool, arguments);
        assert!(told.is_error && told.text.contains("outside the project"), "{tool}: {told:?}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret\n");
}

/// Holds (Editor tools): Rules that deny a file deny it to the editor's tools, too.
#[test]
fn rules_hold_for_the_tools() {
    let settings = json!({"permission": {"rules": ["deny read *.env", "deny edit *.env"]}});
    let mut chat =
        crate::support::Chat::builder().file("a.env", "KEY=1\n").setup(settings).in_turn();
    let mut mcp = crate::support::Mcp::start(&chat.agent.mcp_servers);
    for (tool, arguments) in [
        ("read_buffer", json!({"file_path": "a.env"})),
        ("edit_buffer", edit(&chat, "a.env", "1", "2")),
        ("diagnostics", json!({"file_path": "a.env"})),
    ] {
        let told = mcp.call(tool, arguments);
        assert!(told.is_error && told.text.contains("*.env"), "{tool}: {told:?}");
    }
    assert_eq!(disk(&chat, "a.env"), "KEY=1\n");
    assert_eq!(chat.nvim.waiting(), 0);
}

/// Holds (Editor tools): What the user has open, looks at and has selected is told, and not what nobody has opened.
#[test]
fn open_buffers_are_listed() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n")]);
    chat.nvim.command("edit b.txt | edit a.txt");
    chat.nvim.input("jvip<Esc>");
    chat.nvim.eval("vim.fn.setline(1, 'ONE')");
    let told = mcp.call("open_buffers", json!({}));
    let lines: Vec<_> = told.text.lines().collect();
    assert_eq!(lines[..2], ["a.txt:2: current, unsaved changes", "b.txt"], "{told:?}");
    assert!(told.text.contains("2 files\n"), "{told:?}");
    assert!(
        told.text.contains("selected last, lines 1 to 2 of the current file:\nONE\ntwo"),
        "{told:?}"
    );
}

/// Holds (Editor tools): `:RatInfo` tells whether an agent has the tools, and which it has called.
#[test]
fn info_tells_of_the_tools() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", "one\n")]);
    mcp.call("read_buffer", json!({"file_path": "a.txt"}));
    chat.nvim.command("RatInfo");
    chat.nvim.poll_screen("editor tools  by the MCP server rat; read_buffer 1");
}

/// Holds (Editor tools): The quickfix list is read, and a new one is shown once it is allowed, with the old one behind it.
#[test]
fn the_quickfix_list_is_read_and_set() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", "one\ntwo\n")]);
    chat.nvim.eval("vim.fn.setqflist({{ filename = 'a.txt', lnum = 1, text = 'mine' }})");
    let told = mcp.call("quickfix", json!({}));
    assert!(told.text.starts_with("a.txt:1: mine\n1 entry\n"), "{told:?}");
    let items: Json = json!([{"file_path": chat.path("a.txt"), "line": 2, "text": "look"}]);
    let call = mcp.begin_call("quickfix", json!({"items": items}));
    super::answer_card(&mut chat, "RatAllow");
    let told = mcp.expect_told(call);
    assert!(!told.is_error && told.text.contains("1 entry now"), "{told:?}");
    let list = "vim.fn.getqflist()[1].text";
    assert_eq!(chat.nvim.eval(list), json!("look"));
    chat.nvim.command("colder");
    assert_eq!(chat.nvim.eval(list), json!("mine"));
}

/// Holds (Editor tools): What is selected in a file that the agent may not read is not told.
#[test]
fn a_selection_elsewhere_is_not_told() {
    let (mut chat, mut mcp) = chat_with_tools(&[]);
    let elsewhere = TempFolder::new();
    let secret = elsewhere.path().join("secret.txt");
    fs::write(&secret, "password\n").unwrap();
    chat.nvim.command(&format!("edit {}", secret.display()));
    chat.nvim.input("V<Esc>");
    let told = mcp.call("open_buffers", json!({}));
    assert!(!told.text.contains("password"), "{told:?}");
    assert!(told.text.contains("(not shown: you have no access to this file)"), "{told:?}");
}
