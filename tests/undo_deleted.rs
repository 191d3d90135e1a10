//! Files that an agent deletes or moves while they are open, in real Neovim: they are reviewed, undone and redone like others.

use std::fs;
use std::path::Path;

use crate::support::Chat;
use crate::undo::{answer, in_project, tree, turn_with_command};
use serde_json::json;

/// A project with a file in the user's window, after a command of an agent.
fn after(command: impl FnOnce(&Path)) -> Chat {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, command);
    poll_modified(&mut chat, true);
    chat
}

fn poll_modified(chat: &mut Chat, modified: bool) {
    let name = chat.path("open.txt");
    chat.nvim.poll("'modified'", |nvim| {
        let read = "return vim.bo[vim.fn.bufnr('^' .. vim.fn.escape(..., '[]*?') .. '$')].modified";
        nvim.lua(read, json!([name])) == json!(modified)
    });
}

fn lines(chat: &mut Chat) -> Vec<String> {
    let path = chat.path("open.txt");
    chat.nvim.buffer_lines(path.to_str().unwrap())
}

/// Holds (Review): A file that a command deletes or moves while it is open is undone and redone with the turn, and its buffer keeps its text.
#[test]
fn a_file_that_was_open_is_undone() {
    let remove = |root: &Path| fs::remove_file(root.join("open.txt")).unwrap();
    let rename = |root: &Path| fs::rename(root.join("open.txt"), root.join("other.txt")).unwrap();
    for (command, files) in [(remove as fn(&Path), 1), (rename, 2)] {
        let before = tree(in_project().nvim.cwd());
        let mut chat = after(command);
        let deleted = tree(chat.nvim.cwd());
        let count = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        let question = format!("Undo \"change it all\"? {count}");
        answer(&mut chat, "RatUndo", &question, &format!("Undid the turn in {count}"));
        assert_eq!(tree(chat.nvim.cwd()), before);
        poll_modified(&mut chat, false);
        assert_eq!(lines(&mut chat), ["one", "two", "three"]);
        chat.nvim.command("wincmd t | checktime | write");
        let question = format!("Redo \"change it all\"? {count}");
        answer(&mut chat, "RatRedo", &question, &format!("Redid the turn in {count}"));
        assert_eq!(tree(chat.nvim.cwd()), deleted);
        poll_modified(&mut chat, true);
        assert_eq!(lines(&mut chat), ["one", "two", "three"]);
    }
}

/// Holds (Review): A file that a command deletes while it is open has a row in the review, and rejecting that puts it back.
#[test]
fn a_file_that_was_open_is_reviewed() {
    let mut chat = after(|root| fs::remove_file(root.join("open.txt")).unwrap());
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("open.txt  deleted file, 14 bytes");
    chat.nvim.command("RatReject all");
    chat.nvim.poll("rejected", |nvim| nvim.messages().contains("Rejected"));
    assert_eq!(fs::read_to_string(chat.path("open.txt")).unwrap(), "one\ntwo\nthree\n");
    poll_modified(&mut chat, false);
}

/// Holds (Review): What the user has changed in the buffer of a deleted file stays there when the deletion is undone.
#[test]
fn what_was_typed_into_what_is_left_of_a_file_stays() {
    let mut chat = after(|root| fs::remove_file(root.join("open.txt")).unwrap());
    chat.nvim.command("call setline(1, 'mine')");
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    assert_eq!(fs::read_to_string(chat.path("open.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(lines(&mut chat), ["mine", "two", "three"]);
    poll_modified(&mut chat, true);
    chat.nvim.command("wincmd t | write");
    assert_eq!(fs::read_to_string(chat.path("open.txt")).unwrap(), "mine\ntwo\nthree\n");
}

/// Holds (Changes on disk): What a command creates or deletes while nobody has it open is reported as that, without a warning.
#[test]
fn what_nobody_has_open_is_reported() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root| {
        fs::rename(root.join("moved.txt"), root.join("renamed.txt")).unwrap();
    });
    chat.nvim.poll_events("RatFileChanged", 2);
    let mut changes = chat.nvim.events("RatFileChanged");
    changes.sort_by_key(|change| change["path"].to_string());
    for (change, name, created) in
        [(&changes[0], "moved.txt", false), (&changes[1], "renamed.txt", true)]
    {
        assert_eq!(change["path"], json!(chat.path(name)));
        assert_eq!((&change["created"], &change["deleted"]), (&json!(created), &json!(!created)));
    }
    let told = chat.nvim.messages();
    assert!(!told.contains("deleted"), "{told}");
}
