//! Language servers that do not do what they should.

use serde_json::{Value as Json, json};

use super::{answer_card, chat_with_tools, edit};
use crate::support::{Chat, Mcp, repository};

const FILES: [(&str, &str); 3] =
    [("a.txt", "first greet\n"), ("b.txt", "greet twice\n"), ("c.txt", "no greet\n")];

/// Starts the language server of the tests.
fn start_server(chat: &mut Chat, mut options: Json) {
    options["root"] = json!(chat.nvim.cwd());
    options["pattern"] = json!("*.txt");
    let file = repository().join("tests/support/language_server.lua");
    let code = "local file, options = ... dofile(file).start(options)";
    chat.nvim.lua(code, json!([file, options]));
}

fn with_server(options: Json) -> (Chat, Mcp) {
    let (mut chat, mcp) = chat_with_tools(&FILES);
    start_server(&mut chat, options);
    // What is usual takes longer than a test should.
    chat.nvim.eval("(function() require('rat.tools').limit = 2000 end)()");
    (chat, mcp)
}

/// Holds (Editor tools): A language server that does not answer, or ends, makes a call end in an answer that says so.
#[test]
fn a_server_that_hangs_or_ends_is_said_to() {
    let method = "textDocument/references";
    for (options, problem) in [
        (json!({"silent": [method]}), "has not answered within 2 s"),
        (json!({"dies_at": method}), "has ended"),
    ] {
        let (chat, mut mcp) = with_server(options.clone());
        let arguments = json!({"file_path": chat.path("a.txt"), "symbol": "greet"});
        let told = mcp.call("references", arguments);
        assert!(told.is_error && told.text.contains(problem), "{options}: {told:?}");
    }
}

/// Holds (Editor tools): Diagnostics of a language server that says nothing are said not to be confirmed.
#[test]
fn a_server_that_says_nothing_is_not_confirmed() {
    let (mut chat, mut mcp) = with_server(json!({"says_nothing": true}));
    chat.nvim.eval("(function() require('rat.tools').limit = 20000 end)()");
    let told = mcp.call("diagnostics", json!({"file_path": chat.path("a.txt")}));
    assert!(!told.is_error, "{told:?}");
    assert!(told.text.contains("not confirmed: words may not have seen"), "{told:?}");
}

/// Holds (Editor tools): A rename is one card with all files, saved, pending, and one undo step in each.
#[test]
fn a_rename_is_one_card() {
    let (mut chat, mut mcp) = with_server(json!({}));
    chat.nvim.command("edit b.txt");
    let arguments = json!({"file_path": "a.txt", "symbol": "greet", "new_name": "salute"});
    let call = mcp.begin_call("rename_symbol", arguments);
    chat.nvim.poll_screen("Rename greet to salute in 3 files");
    answer_card(&mut chat, "RatAllow");
    let told = mcp.expect_told(call);
    assert!(!told.is_error, "{told:?}");
    assert!(told.text.starts_with("changed and saved: a.txt, b.txt, c.txt\n"), "{told:?}");
    for (name, text) in FILES {
        assert_eq!(super::disk(&chat, name), text.replace("greet", "salute"));
    }
    chat.nvim.poll("a pending hunk", |nvim| nvim.eval("vim.b.rat_pending") == json!(1));
    chat.nvim.command("undo");
    assert_eq!(chat.nvim.eval("vim.fn.getline(1)"), json!("greet twice"));
}

/// Holds (Editor tools): An edit is answered with the errors that it has caused, and not with those that were there before.
#[test]
fn new_errors_are_told() {
    let (mut chat, mut mcp) = with_server(json!({}));
    chat.nvim.command("edit a.txt | call setline(2, 'BAD before') | write");
    let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", "first", "BAD first"));
    answer_card(&mut chat, "RatAllow");
    let told = mcp.expect_told(call);
    let expected =
        "changed and saved: a.txt\na.txt:1: error: BAD first greet [words]\n1 new diagnostic\n";
    assert_eq!((told.text.as_str(), told.is_error), (expected, false));
}

/// Holds (Editor tools): What a server says only when asked, of a file that is not open, is told only if an edit has caused it.
#[test]
fn new_errors_of_a_server_that_is_asked_are_told() {
    let files = [("a.txt", "first\nBAD before\n")];
    let (mut chat, mut mcp) = chat_with_tools(&files);
    start_server(&mut chat, json!({"pulls": true}));
    for (old, new) in [("first", "BAD first\nlast"), ("last", "BAD last")] {
        let call = mcp.begin_call("edit_buffer", edit(&chat, "a.txt", old, new));
        answer_card(&mut chat, "RatAllow");
        let told = mcp.expect_told(call);
        let error = format!("error: BAD {old} [words]");
        assert!(
            told.text.contains(&error) && told.text.ends_with("1 new diagnostic\n"),
            "{told:?}"
        );
    }
}

/// Holds (Editor tools): With `diagnostics = "note"` the next prompt tells the errors that a turn has brought, once.
#[test]
fn the_next_prompt_tells_new_errors() {
    let mut builder = Chat::builder().setup(json!({"diagnostics": "note"}));
    for (name, text) in FILES {
        builder = builder.file(name, text);
    }
    let mut chat = builder.start();
    start_server(&mut chat, json!({}));
    chat.nvim.command("edit a.txt | call setline(2, 'BAD before') | write");
    chat.nvim.poll("the error", |nvim| nvim.eval("#vim.diagnostic.get(0)") == json!(1));
    chat.prompt("go");
    chat.nvim.poll_state("running");
    let content = "BAD first greet\nBAD before\n";
    let params = json!({"path": chat.path("a.txt"), "content": content});
    chat.request("fs/write_text_file", params).unwrap();
    chat.end_turn("end_turn");
    chat.nvim.send("again");
    let prompt = json!(chat.sent()).to_string();
    assert!(prompt.contains("a.txt:1: error: BAD first greet [words]"), "{prompt}");
    assert!(!prompt.contains("BAD before [words]"), "{prompt}");
    chat.nvim.send("and again");
    let prompt = json!(chat.sent()).to_string();
    assert!(!prompt.contains("BAD"), "{prompt}");
}
