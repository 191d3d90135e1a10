//! Turns that are undone from elsewhere than the command line: from Lua and from the transcript; and the screens of an undo, in
//! real Neovim.

use crate::support::Chat;
use crate::undo::{in_project, ravage, tree, turn_with_command};
use serde_json::json;
use std::fs;

/// Holds (Review): Lua gets the turns and the pending hunks, and decides on them.
#[test]
fn lua_reviews_and_undoes() {
    let mut chat = in_project();
    turn_with_command(&mut chat, ravage);
    let call = |chat: &mut Chat, code: &str| {
        chat.nvim.lua(&format!("vim.g.found = nil; {code}"), json!([]));
        chat.nvim.poll_for(code, |nvim| {
            let found = nvim.lua("return vim.g.found", json!([]));
            (!found.is_null()).then_some(found)
        })
    };
    let turns = call(&mut chat, "require('rat').turns(function(t) vim.g.found = t end)");
    assert_eq!(
        (&turns[0]["prompt"], &turns[0]["files"], &turns[0]["undone"]),
        (&json!("change it all"), &json!(28), &json!(false))
    );
    let changes = "require('rat').changes({path = 'crlf.txt'}, function(c) vim.g.found = c end)";
    let found = call(&mut chat, changes);
    let [hunk] = &found.as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!(
        (&hunk["lnum"], &hunk["removed"], &hunk["added"], &hunk["tool"], &hunk["title"]),
        (&json!(2), &json!(["two"]), &json!(["TWO"]), &json!("c1"), &json!("sed -i s/two/TWO/"))
    );
    let of = |it: &serde_json::Value| (it["chat"].clone(), it["turn"].clone());
    assert_eq!((of(&turns[0]), of(hunk)), ((json!(1), json!(1)), (json!(1), json!(1))));
    chat.nvim.lua("require('rat').reject({path = 'crlf.txt'})", json!([]));
    chat.nvim.poll("rejected", |nvim| nvim.messages().contains("Rejected 1 hunk in crlf.txt"));
    assert_eq!(fs::read_to_string(chat.path("crlf.txt")).unwrap(), "one\r\ntwo\r\n");
    assert_eq!(call(&mut chat, changes), json!([]));
    chat.nvim.lua("require('rat').accept()", json!([]));
    chat.nvim.poll("accepted", |nvim| nvim.messages().contains("Accepted 25 hunks in 27 files"));
    chat.nvim.lua("require('rat').undo()", json!([]));
    chat.nvim.poll_screen("Undo \"change it all\"?");
}

fn turn_on_screen(columns: u16, lines: u16) -> Chat {
    let mut chat = Chat::builder()
        .screen(columns, lines)
        .file("src/main.rs", "fn main() {\n    println!(\"one\");\n    println!(\"two\");\n}\n")
        .file("old.txt", "gone\n")
        .start();
    turn_with_command(&mut chat, |root| {
        let text = "fn main() {\n    println!(\"ONE\");\n    println!(\"two\");\n}\n\n// The end\n";
        fs::write(root.join("src/main.rs"), text).unwrap();
        fs::remove_file(root.join("old.txt")).unwrap();
        fs::write(root.join("new.txt"), "a\nb\n").unwrap();
    });
    chat
}

/// Holds (Review): The screens of a review and of the question before an undo at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn the_screens_of_review_and_undo() {
    for (columns, lines) in [(80, 24), (120, 40)] {
        let mut chat = turn_on_screen(columns, lines);
        chat.nvim.command("RatUndo");
        chat.nvim.poll_screen("Undo \"change it all\"? 3 files");
        chat.nvim.expect_screen("undo");
        chat.nvim.input("<Esc>");
        chat.nvim.poll_no("Undo \"change");
        chat.nvim.command("RatReview");
        chat.nvim.poll_screen("Review · 3 files, 4 hunks");
        // What the question has left in the command line goes.
        chat.nvim.command("mode");
        chat.nvim.expect_screen("review");
    }
}

/// Holds (Review): `<CR>` on the heading of a prompt offers to see and undo what its turn has changed.
#[test]
fn a_prompt_in_the_transcript_leads_to_its_turn() {
    let mut chat = in_project();
    let before = tree(chat.nvim.cwd());
    turn_with_command(&mut chat, ravage);
    chat.prompt("nothing to do");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.go_to("nothing to do");
    chat.nvim.input("k<CR>");
    chat.nvim.poll_screen("The turn of this prompt has changed no files");
    chat.go_to("change it all");
    chat.nvim.input("k<CR>");
    chat.nvim.poll_screen("Undo it");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("Show what would change");
    chat.nvim.input("1<CR>");
    chat.nvim.poll("undone", |nvim| nvim.messages().contains("Undid the turn"));
    assert_eq!(tree(chat.nvim.cwd()), before);
}
