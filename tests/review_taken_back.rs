//! `u` in a review takes the decisions made there back, in buffers and on disk, in real Neovim.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::Chat;
use crate::undo::{Tree, answer, in_project_builder, ravage, tree, turn_with_command};
use serde_json::json;

const FIVE: &str = "1\n2\n3\n4\n5\n";
const CHANGED: &str = "1\ntwo\n3\n4\nfive\n";

/// The review of a turn that has changed two files, one of them in the user's window.
fn reviewed() -> Chat {
    let mut chat = Chat::builder().file("a.txt", FIVE).file("b.txt", FIVE).in_turn();
    chat.nvim.command("wincmd t | edit a.txt");
    for name in ["a.txt", "b.txt"] {
        let path = chat.path(name);
        chat.request("fs/write_text_file", json!({"path": path, "content": CHANGED})).unwrap();
    }
    open_review(&mut chat, "Review · 2 files, 4 hunks");
    chat
}

fn open_review(chat: &mut Chat, title: &str) {
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen(title);
}

fn page(chat: &mut Chat) -> Vec<String> {
    chat.nvim.buffer_lines("rat://review")
}

fn disk(chat: &Chat, name: &str) -> String {
    fs::read_to_string(chat.path(name)).unwrap_or_default()
}

fn lines(chat: &mut Chat, name: &str) -> String {
    let path = chat.path(name);
    chat.nvim.buffer_lines(path.to_str().unwrap()).join(" ")
}

fn is_modified(chat: &mut Chat, name: &str) -> bool {
    let path = chat.path(name);
    let read = "return vim.bo[vim.fn.bufnr('^' .. vim.fn.escape(..., '[]*?') .. '$')].modified";
    chat.nvim.lua(read, json!([path])) == json!(true)
}

/// Types keys where a line of the review begins so, and waits for the message about it.
fn type_at(chat: &mut Chat, row: &str, keys: &str, message: &str) {
    let found = page(chat).iter().position(|line| line.starts_with(row));
    let found = found.unwrap_or_else(|| panic!("no {row} in {:#?}", page(chat)));
    chat.nvim.command(&format!("{} | normal! zv", found + 1));
    type_keys(chat, keys, message);
}

fn type_keys(chat: &mut Chat, keys: &str, message: &str) {
    chat.nvim.command("messages clear");
    chat.nvim.input(keys);
    chat.nvim.poll(message, |nvim| nvim.messages().contains(message));
}

fn poll_page(chat: &mut Chat, wanted: &[String]) {
    chat.nvim.poll("the page as before", |nvim| nvim.buffer_lines("rat://review") == wanted);
}

/// Holds (Review): `u` in a review takes a rejection back, in the buffer and on disk, whether or not the file is open.
#[test]
fn a_rejection_is_taken_back_in_the_buffer_and_on_disk() {
    for name in ["a.txt", "b.txt"] {
        let mut chat = reviewed();
        let before = page(&mut chat);
        type_at(&mut chat, name, "r", &format!("Rejected 2 hunks in {name}"));
        assert_eq!(disk(&chat, name), FIVE);
        chat.nvim.poll_screen("Review · 1 file, 2 hunks");
        type_keys(&mut chat, "u", &format!("Pending again: 2 hunks in {name}"));
        poll_page(&mut chat, &before);
        assert_eq!(disk(&chat, name), CHANGED);
        assert_eq!(lines(&mut chat, "a.txt"), "1 two 3 4 five");
        assert!(!is_modified(&mut chat, "a.txt"));
        // What the user does next still finds the file as they know it.
        chat.nvim.command("tabprevious | wincmd t | checktime | silent write");
        assert_eq!(disk(&chat, "a.txt"), CHANGED);
    }
}

/// Holds (Review): The decisions of a review are taken back one after the other, and the agent is told only what is left of them.
#[test]
fn decisions_are_taken_back_one_after_the_other() {
    let mut chat = reviewed();
    let before = page(&mut chat);
    type_at(&mut chat, "b.txt", "r", "Rejected 2 hunks in b.txt");
    chat.nvim.poll_screen("Review · 1 file, 2 hunks");
    type_at(&mut chat, "a.txt", "a", "Accepted 2 hunks in a.txt");
    chat.nvim.poll_screen("Nothing is pending");
    type_keys(&mut chat, "u", "Pending again: 2 hunks in a.txt");
    type_keys(&mut chat, "u", "Pending again: 2 hunks in b.txt");
    poll_page(&mut chat, &before);
    type_keys(&mut chat, "u", "Nothing to take back");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("tabprevious");
    chat.nvim.send("next");
    assert_eq!(chat.sent().len(), 1, "{:?}", chat.sent());
}

/// Holds (Review): Where unsaved changes kept a rejection from being saved, taking it back changes the buffer alone.
#[test]
fn unsaved_changes_stay_unsaved() {
    let mut chat = reviewed();
    chat.nvim.command("tabprevious | wincmd t | call append(3, 'mine') | tabnext");
    chat.nvim.poll_screen("+two");
    type_at(&mut chat, "a.txt", "r", "Rejected 2 hunks in a.txt");
    assert_eq!(
        (lines(&mut chat, "a.txt"), disk(&chat, "a.txt")),
        ("1 2 3 mine 4 5".into(), CHANGED.into())
    );
    type_keys(&mut chat, "u", "Pending again: 2 hunks in a.txt");
    assert_eq!(
        (lines(&mut chat, "a.txt"), disk(&chat, "a.txt")),
        ("1 two 3 mine 4 five".into(), CHANGED.into())
    );
    assert!(is_modified(&mut chat, "a.txt"));
}

/// Holds (Review): Taking a rejection back leaves a file alone that has changed since, and says which and why.
#[test]
fn what_has_changed_since_is_left_alone() {
    let mut chat = reviewed();
    type_at(&mut chat, "b.txt", "r", "Rejected 2 hunks in b.txt");
    chat.nvim.poll_screen("Review · 1 file, 2 hunks");
    type_at(&mut chat, "a.txt", "r", "Rejected 2 hunks in a.txt");
    chat.nvim.command("tabprevious | wincmd t | call append(3, 'mine') | tabnext");
    fs::write(chat.path("b.txt"), "1\n2\n3\n4\nmine\n").unwrap();
    type_keys(&mut chat, "u", "Left a.txt as it is: it has changed since");
    type_keys(&mut chat, "u", "Left b.txt as it is: it has changed since");
    assert_eq!(lines(&mut chat, "a.txt"), "1 2 3 mine 4 5");
    assert_eq!(disk(&chat, "b.txt"), "1\n2\n3\n4\nmine\n");
}

/// Whatever becomes of files: the whole page is rejected or accepted, and that taken back.
fn all_taken_back(keys: &str, verb: &str) -> (Tree, Tree) {
    let mut chat = in_project_builder().start();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, |root: &Path| {
        ravage(root);
        fs::set_permissions(root.join("new/b.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    let after = tree(chat.nvim.cwd());
    open_review(&mut chat, "Review · 27 files");
    let before = page(&mut chat);
    type_keys(&mut chat, keys, verb);
    chat.nvim.poll_screen("Nothing is pending");
    type_keys(&mut chat, "u", "Pending again");
    poll_page(&mut chat, &before);
    (after, tree(chat.nvim.cwd()))
}

/// Holds (Review): A decision on all files is taken back byte for byte: new, deleted, moved and binary files, links and modes.
#[test]
fn a_decision_on_everything_is_taken_back_exactly() {
    for (keys, verb) in [("ggVGr", "Rejected"), ("ggVGa", "Accepted")] {
        let (left_by_agent, taken_back) = all_taken_back(keys, verb);
        assert_eq!(left_by_agent, taken_back, "{keys}");
    }
}

/// Holds (Review): A file that was created or deleted while it was open is so again when its rejection is taken back.
#[test]
fn the_rejection_of_a_file_is_taken_back_where_it_is_open() {
    let mut chat = in_project_builder().start();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, |root: &Path| {
        fs::remove_file(root.join("open.txt")).unwrap();
        fs::write(root.join("new.txt"), CHANGED).unwrap();
        fs::set_permissions(root.join("new.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    open_review(&mut chat, "Review · 2 files, 1 hunk");
    chat.nvim.command("tabprevious | wincmd t | split new.txt | tabnext");
    let (before, after) = (page(&mut chat), tree(chat.nvim.cwd()));
    type_keys(&mut chat, "ggVGr", "Rejected");
    chat.nvim.poll_screen("Nothing is pending");
    assert_eq!(
        (disk(&chat, "open.txt"), chat.path("new.txt").exists()),
        ("one\ntwo\nthree\n".into(), false)
    );
    type_keys(&mut chat, "u", "Pending again");
    poll_page(&mut chat, &before);
    assert_eq!(tree(chat.nvim.cwd()), after);
    assert_eq!(lines(&mut chat, "new.txt"), "1 two 3 4 five");
    assert!(!is_modified(&mut chat, "new.txt"));
    let name = chat.path("open.txt");
    chat.nvim.poll("'modified'", |nvim| {
        let read = "return vim.bo[vim.fn.bufnr('^' .. vim.fn.escape(..., '[]*?') .. '$')].modified";
        nvim.lua(read, json!([name])) == json!(true)
    });
}

/// Holds (Review): The rejection of a new empty file is taken back, on disk and in the review.
#[test]
fn the_rejection_of_an_empty_file_is_taken_back() {
    let mut chat = in_project_builder().start();
    turn_with_command(&mut chat, |root: &Path| fs::write(root.join("empty.txt"), "").unwrap());
    open_review(&mut chat, "Review · 1 file");
    let before = page(&mut chat);
    for _ in 0..2 {
        type_at(&mut chat, "empty.txt (new file)", "r", "Rejected");
        chat.nvim.poll_screen("Nothing is pending");
        assert!(!chat.path("empty.txt").exists());
        type_keys(&mut chat, "u", "Pending again");
        poll_page(&mut chat, &before);
        assert_eq!(fs::read_to_string(chat.path("empty.txt")).unwrap(), "");
    }
    type_at(&mut chat, "empty.txt (new file)", "a", "Accepted");
    chat.nvim.poll_screen("Nothing is pending");
    assert!(chat.path("empty.txt").exists());
}

/// Holds (Review): A decision counts hunks as the review does, which has none for an empty file.
#[test]
fn an_empty_file_is_no_hunk_in_the_review_nor_in_what_is_said_of_a_decision() {
    for (command, done) in [("RatAccept all", "Accepted"), ("RatReject all", "Rejected")] {
        let mut chat = in_project_builder().start();
        turn_with_command(&mut chat, |root: &Path| {
            fs::write(root.join("empty.txt"), "").unwrap();
            fs::write(root.join("void.txt"), "").unwrap();
            fs::write(root.join("new.txt"), "new\n").unwrap();
            fs::write(root.join("open.txt"), "ONE\ntwo\nTHREE\n").unwrap();
        });
        open_review(&mut chat, "Review · 4 files, 3 hunks");
        chat.nvim.command("messages clear");
        chat.nvim.command(command);
        let told = format!("{done} 3 hunks in 4 files");
        chat.nvim.poll(&told, |nvim| nvim.messages().contains(&told));
        type_keys(&mut chat, "u", "Pending again: 3 hunks in 4 files");
    }
}

/// Holds (Review): `u` in a review takes back the last decision, wherever it was made: there, by `:RatReject` in the file, or from Lua.
#[test]
fn a_decision_made_in_the_file_is_taken_back_in_the_review() {
    let mut chat = reviewed();
    let before = page(&mut chat);
    type_at(&mut chat, "b.txt", "r", "Rejected 2 hunks in b.txt");
    chat.nvim.poll_screen("Review · 1 file, 2 hunks");
    chat.nvim.command("tabprevious | wincmd t | 2");
    type_keys(&mut chat, ":RatReject<CR>", "Rejected 1 hunk in a.txt");
    chat.nvim.command("messages clear");
    let path = chat.path("a.txt");
    chat.nvim.lua("require('rat').accept({ path = ... })", json!([path]));
    chat.nvim.poll("accepted", |nvim| nvim.messages().contains("Accepted 1 hunk in a.txt"));
    chat.nvim.command("tabnext");
    chat.nvim.poll_screen("Nothing is pending");
    type_keys(&mut chat, "u", "Pending again: 1 hunk in a.txt");
    type_keys(&mut chat, "u", "Pending again: 1 hunk in a.txt");
    type_keys(&mut chat, "u", "Pending again: 2 hunks in b.txt");
    poll_page(&mut chat, &before);
    assert_eq!(lines(&mut chat, "a.txt"), "1 two 3 4 five");
    // What was undone in the file itself is there only once.
    chat.nvim.command("tabprevious | wincmd t | 2");
    type_keys(&mut chat, ":RatReject<CR>", "Rejected 1 hunk in a.txt");
    chat.nvim.input("u");
    poll_page(&mut chat, &before);
    chat.nvim.command("tabnext");
    type_keys(&mut chat, "u", "Pending again: 1 hunk in a.txt");
    assert_eq!(lines(&mut chat, "a.txt"), "1 two 3 4 five");
}

/// Holds (Review): With a count, `u` in a review takes that many decisions back, or as many as there are.
#[test]
fn a_count_takes_that_many_decisions_back() {
    let mut chat = reviewed();
    let before = page(&mut chat);
    for keys in ["2u", "9u"] {
        type_at(&mut chat, "b.txt", "r", "Rejected 2 hunks in b.txt");
        chat.nvim.poll_screen("Review · 1 file, 2 hunks");
        type_at(&mut chat, "a.txt", "a", "Accepted 2 hunks in a.txt");
        chat.nvim.poll_screen("Nothing is pending");
        type_keys(&mut chat, keys, "Pending again: 2 hunks in b.txt");
        poll_page(&mut chat, &before);
        assert!(!chat.nvim.messages().contains("Nothing to take back"), "{keys}");
    }
}

/// Holds (Review): Once a turn is undone, `u` in a review takes no decision on it back any more.
#[test]
fn decisions_on_an_undone_turn_are_over() {
    let mut chat = in_project_builder().start();
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("text.txt"), "by a command\n").unwrap();
        fs::write(root.join("new.txt"), "new\n").unwrap();
    });
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 2 files");
    type_at(&mut chat, "text.txt", "r", "Rejected");
    let before = disk(&chat, "text.txt");
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    chat.nvim.command("RatReview");
    type_keys(&mut chat, "u", "Nothing to take back");
    assert_eq!(disk(&chat, "text.txt"), before);
    assert!(!chat.path("new.txt").exists());
}

/// Holds (Review): A decision that was about nothing does not count for `u`.
#[test]
fn a_decision_about_nothing_is_not_taken_back() {
    let mut chat = reviewed();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    type_at(&mut chat, "b.txt", "r", "Rejected 2 hunks in b.txt");
    type_at(&mut chat, "a.txt", "a", "Accepted 2 hunks in a.txt");
    chat.nvim.poll_screen("Nothing is pending");
    type_keys(&mut chat, ":RatAccept turn<CR>", "No pending changes to accept");
    type_keys(&mut chat, "u", "Pending again: 2 hunks in a.txt");
}
