//! Tools that read: on files that are open, not open, and not saved.

use std::fs;

use serde_json::json;

use crate::servers::{Project, Server};
use crate::support::{Amount, DEADLINE, Work, poll_for};
use crate::with_each_server;

with_each_server!(
    files_that_are_not_open_are_read,
    unsaved_text_is_seen,
    what_an_agent_changes_on_disk_is_seen,
    a_file_is_as_usual_once_the_user_opens_it,
    nothing_blocks_the_editor,
);

/// Holds (Editor tools): References, definition, symbols and diagnostics are right for files that nobody has opened.
fn files_that_are_not_open_are_read(server: Server) {
    let mut project = Project::open(server);
    let told = project.call("references", "lib", json!({"symbol": "greet"}));
    assert!(!told.is_error, "{told:?}");
    assert!(told.text.ends_with("5 references in 3 files\n"), "{told:?}");
    for line in ["lib", "one", "two"].map(|stem| format!("{}:1: ", server.file(stem))) {
        assert!(told.text.contains(&line), "{told:?}");
    }
    let told = project.call("definition", "one", json!({"symbol": "greet", "line": 3}));
    assert!(told.text.starts_with(&format!("{}:1: ", server.file("lib"))), "{told:?}");
    assert!(told.text.contains("1 definition\n"), "{told:?}");
    assert!(told.text.contains("greet(name: str"), "what it is: {told:?}");
    let told = project.call("symbols", "lib", json!({}));
    assert!(told.text.contains(&format!("{}:1: function greet", server.file("lib"))), "{told:?}");
    let told = project.mcp.call("symbols", json!({"query": "greet"}));
    assert!(told.text.contains("function greet"), "{told:?}");
    let told = project.call("diagnostics", "one", json!({}));
    assert_eq!((told.text.as_str(), told.is_error), ("no diagnostics\n", false));
    assert_eq!(project.mcp.call("open_buffers", json!({})).text, "no files\n");
}

/// Holds (Editor tools): Language servers are asked about the text in the editor, not about that on disk.
fn unsaved_text_is_seen(server: Server) {
    let mut project = Project::open(server);
    project.edit("one");
    project.chat.nvim.eval("vim.api.nvim_buf_set_lines(0, 2, 3, false, { '', 'greet(1)' })");
    let told = project.call("diagnostics", "one", json!({}));
    let line = format!("{}:4: error: ", server.file("one"));
    assert!(told.text.starts_with(&line), "{told:?}");
    assert!(told.text.contains("1 diagnostic"), "{told:?}");
    let told = project.call("references", "one", json!({"symbol": "greet"}));
    assert!(told.text.contains(&format!("{}:4: greet(1)", server.file("one"))), "{told:?}");
    let told = project.mcp.call("open_buffers", json!({}));
    let line = format!("{}:1: current, unsaved changes, 1 error\n", server.file("one"));
    assert!(told.text.starts_with(&line), "{told:?}");
    let told = project.call("definition", "one", json!({"symbol": "name", "line": 4}));
    assert!(told.is_error && told.text.contains("name is not in line 4"), "{told:?}");
}

/// Holds (Editor tools): Language servers learn of what an agent changes in files that nobody has opened, by writes of its own, too.
fn what_an_agent_changes_on_disk_is_seen(server: Server) {
    let mut project = Project::open(server);
    uses_are(&mut project, "5 references in 3 files\n");
    for (stem, content, uses) in [
        ("one", project.disk("one") + "greet(\"three\")\n", "6 references in 3 files\n"),
        ("three", project.disk("two"), "8 references in 4 files\n"),
    ] {
        let params = json!({"path": project.path(stem), "content": content});
        project.chat.request("fs/write_text_file", params).unwrap();
        uses_are(&mut project, uses);
    }
    let (old, path) = (project.disk("two"), project.path("two"));
    let new = old.clone() + "greet(\"four\")\n";
    let diff = json!({"type": "diff", "path": path, "oldText": old, "newText": new});
    let call = json!({"toolCallId": "write", "title": "Write", "kind": "edit", "content": [diff]});
    project.chat.tool_call(call);
    fs::write(path, new).unwrap();
    project.chat.tool_call_update(json!({"toolCallId": "write", "status": "completed"}));
    uses_are(&mut project, "9 references in 4 files\n");
    project.chat.tool_call(json!({"toolCallId": "rm", "title": "rm", "kind": "execute"}));
    fs::remove_file(project.path("one")).unwrap();
    project.chat.tool_call_update(json!({"toolCallId": "rm", "status": "completed"}));
    uses_are(&mut project, "6 references in 3 files\n");
}

/// Waits until the uses of `greet` are found. Servers take a while to notice files, and so do we.
fn uses_are(project: &mut Project, uses: &str) {
    let mut last = None;
    let found = poll_for(DEADLINE, || {
        let told = project.call("references", "lib", json!({"symbol": "greet"}));
        let is_found = told.text.ends_with(uses);
        last = Some(told);
        is_found.then_some(())
    });
    assert!(found.is_some(), "{uses}: {last:?}");
}

/// Holds (Editor tools): A file that was loaded for a language server is as usual once the user opens it.
fn a_file_is_as_usual_once_the_user_opens_it(server: Server) {
    let mut project = Project::open(server);
    project.call("symbols", "lib", json!({}));
    let hidden = "#vim.fn.getbufinfo({ bufloaded = 1 }) - #vim.fn.getbufinfo({ bufloaded = 1, buflisted = 1 })";
    assert!(project.chat.nvim.eval(hidden).as_u64() > Some(0));
    project.edit("lib");
    project.chat.nvim.poll("the usual settings", |nvim| {
        nvim.eval("vim.b.undo_ftplugin ~= nil and vim.bo.swapfile and vim.bo.buflisted")
            == json!(true)
    });
    assert_eq!(project.chat.nvim.eval("vim.fn.bufname()"), json!(server.file("lib")));
    let syntax = "vim.bo.syntax ~= '' or vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil";
    assert_eq!(project.chat.nvim.eval(syntax), json!(true));
    let told = project.call("references", "lib", json!({"symbol": "greet"}));
    assert!(told.text.ends_with("5 references in 3 files\n"), "{told:?}");
}

/// The most work that a key may have to wait for.
const MOST: Amount = Amount { steps: 100_000, calls: 1_500, bytes: 64 << 10 };

/// Holds (Editor tools): No question to a language server is a large piece of work for the editor.
fn nothing_blocks_the_editor(server: Server) {
    let mut project = Project::open(server);
    // The server starts, which is not ours.
    project.edit("one");
    project.call("symbols", "one", json!({}));
    Work::prepare(&mut project.chat.nvim);
    Work::begin(&mut project.chat.nvim);
    for (tool, stem, arguments) in [
        ("references", "lib", json!({"symbol": "greet"})),
        ("definition", "two", json!({"symbol": "greet", "line": 3})),
        ("symbols", "two", json!({})),
        ("diagnostics", "two", json!({})),
        ("read_buffer", "two", json!({})),
    ] {
        let told = project.call(tool, stem, arguments);
        assert!(!told.is_error, "{told:?}");
    }
    let work = Work::stop(&mut project.chat.nvim);
    work.expect_pieces_within("a question to a language server", MOST);
}
