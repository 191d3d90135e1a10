//! What an undo leaves alone, and how the plan and the result of an undo say what happens to each file, in real Neovim.

use std::fs;
use std::path::Path;

use crate::support::Chat;
use crate::undo::{answer, in_project, turn_with_command};
use serde_json::json;

/// Asks whether to undo the first turn of the folder.
fn undo_first(chat: &mut Chat) {
    let undo = "require('rat').turns(function(turns) require('rat').undo(turns[#turns]) end)";
    chat.nvim.lua(undo, json!([]));
    chat.nvim.poll_screen("Undo \"change it all\"?");
}

/// What the page says of the undo that is asked about.
fn planned(chat: &mut Chat) -> Vec<String> {
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("You are asked again");
    let lines = chat.nvim.eval("vim.api.nvim_buf_get_lines(0, 0, -1, true)");
    let lines = lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
    let lines = lines.collect();
    chat.nvim.input("q");
    chat.nvim.poll_screen("Show what would change");
    lines
}

fn carry_out(chat: &mut Chat, message: &str) {
    chat.nvim.command("messages clear");
    chat.nvim.input("1<CR>");
    chat.nvim.poll(message, |nvim| nvim.messages().contains(message));
}

/// A project in which a turn has changed files that a later turn and the user have deleted since, one of them open.
fn with_deleted_files() -> Chat {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, |root| {
        for name in ["src/1.txt", "src/2.txt", "src/3.txt", "open.txt"] {
            let text = fs::read_to_string(root.join(name)).unwrap();
            fs::write(root.join(name), text.replace("two", "TWO")).unwrap();
        }
    });
    turn_with_command(&mut chat, |root: &Path| {
        fs::remove_file(root.join("src/1.txt")).unwrap();
        fs::remove_file(root.join("open.txt")).unwrap();
    });
    fs::remove_file(chat.path("src/2.txt")).unwrap();
    chat
}

/// Holds (Review): Undoing a turn leaves files alone that somebody has deleted since, whether or not they are open; the plan says so.
#[test]
fn what_was_deleted_since_stays_deleted() {
    let mut chat = with_deleted_files();
    undo_first(&mut chat);
    let lines = planned(&mut chat);
    let deleted = ["open.txt", "src/1.txt", "src/2.txt"];
    for name in deleted {
        let wanted = format!("{name}: leave alone: deleted since");
        assert!(lines.contains(&wanted), "{wanted}: {lines:#?}");
    }
    carry_out(&mut chat, "Undid the turn in 1 file");
    for name in deleted {
        assert!(!chat.path(name).exists(), "{name}");
    }
    assert_eq!(fs::read_to_string(chat.path("src/3.txt")).unwrap(), "one\ntwo 3\nthree\n");
    // The turn that has deleted them is another matter.
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 2 files", "Undid the turn in 2 files");
    assert_eq!(fs::read_to_string(chat.path("src/1.txt")).unwrap(), "one\nTWO 1\nthree\n");
    assert_eq!(fs::read_to_string(chat.path("open.txt")).unwrap(), "one\nTWO\nthree\n");
    assert!(!chat.path("src/2.txt").exists());
}
