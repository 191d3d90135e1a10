//! Tools that change something.

use std::fs;

use serde_json::json;

use crate::servers::{Project, Server};
use crate::with_each_server;

with_each_server!(
    an_edit_is_answered_with_the_error_it_causes,
    a_symbol_is_renamed_in_all_files,
    a_code_action_is_listed_and_applied,
);

/// Holds (Editor tools): An edit is answered with the errors that it has caused, and not with those that were there before.
fn an_edit_is_answered_with_the_error_it_causes(server: Server) {
    let mut project = Project::open(server);
    let old = project.disk("two");
    fs::write(project.path("two"), old.replace("\"two\"", "missing")).unwrap();
    let edits = json!([{"old_string": "missing", "new_string": "missing, 2"}]);
    let told = project.change("edit_buffer", "two", json!({"edits": edits}));
    assert!(!told.is_error, "{told:?}");
    let saved = format!("changed and saved: {}\n", server.file("two"));
    assert!(told.text.starts_with(&saved), "{told:?}");
    assert!(told.text.contains("1 new diagnostic\n"), "{told:?}");
    assert!(!told.text.contains("missing\""), "the error that was there before: {told:?}");
    let since = project.call("diagnostics", "two", json!({"since": "last_edit"}));
    assert!(since.text.contains("1 new diagnostic\n"), "{since:?}");
    let all = project.call("diagnostics", "two", json!({}));
    assert!(all.text.contains("2 diagnostics\n"), "{all:?}");
}

/// Holds (Editor tools): A symbol is renamed where it is defined and in all files that use it, which are saved, each in one undo step.
fn a_symbol_is_renamed_in_all_files(server: Server) {
    let mut project = Project::open(server);
    project.edit("one");
    let before = project.disk("one");
    // At an import, a server might only rename what the symbol is called in this file.
    let place = json!({"symbol": "greet", "line": 1, "new_name": "salute"});
    let told = project.change("rename_symbol", "two", place);
    assert!(!told.is_error, "{told:?}");
    assert!(told.text.starts_with("changed and saved: "), "{told:?}");
    for stem in ["lib", "one", "two"] {
        let text = project.disk(stem);
        assert!(text.contains("salute") && !text.contains("greet"), "{stem}: {text}");
        assert!(told.text.contains(&server.file(stem)), "{told:?}");
    }
    project.chat.nvim.poll("what is pending", |nvim| nvim.eval("vim.b.rat_pending") == json!(2));
    // In a file that nobody had opened, too.
    project.edit("two");
    project.chat.nvim.poll("the usual settings", |nvim| {
        nvim.eval("vim.b.undo_ftplugin ~= nil and vim.bo.swapfile") == json!(true)
    });
    project.chat.nvim.command("undo");
    assert!(project.chat.nvim.eval("vim.fn.getline(1)").to_string().contains("greet"));
    project.chat.nvim.command("quit!");
    project.chat.nvim.command("undo");
    let undone =
        project.chat.nvim.eval("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')");
    assert_eq!(undone.as_str().map(|text| text.to_owned() + "\n"), Some(before));
}

/// Holds (Editor tools): What a language server offers for a line is listed, and one of it is applied like an edit.
fn a_code_action_is_listed_and_applied(server: Server) {
    let mut project = Project::open(server);
    let (text, line, title) = match server {
        Server::Pyright => ("import os\nfrom lib import greet\n\ngreet(1)\n", 1, ""),
        Server::TypeScript => {
            ("import { greet } from \"./lib\";\n\nconst unused = 1;\ngreet(\"x\");\n", 3, "Remove")
        }
    };
    fs::write(project.path("two"), text).unwrap();
    let told = project.call("code_action", "two", json!({"line": line}));
    assert!(!told.is_error, "{told:?}");
    let offered = told.text.lines().filter_map(|line| line.strip_prefix("- "));
    let Some(found) =
        offered.map(str::to_owned).find(|offered| !title.is_empty() && offered.starts_with(title))
    else {
        // pyright offers nothing without an import to add.
        assert!(
            told.text.starts_with("nothing is offered") || server == Server::TypeScript,
            "{told:?}"
        );
        return;
    };
    let told = project.change("code_action", "two", json!({"line": line, "title": found}));
    assert!(!told.is_error, "{told:?}");
    assert!(!project.disk("two").contains("unused"), "{}", project.disk("two"));
}
