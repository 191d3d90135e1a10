//! Changes that are not of lines in a review: binary files, links, modes and renames have rows, and are decided on there.

use crate::support::Chat;
use crate::undo::{answer, in_project, turn_with_command};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A project with a file of each kind.
fn project() -> Chat {
    let chat = Chat::builder()
        .file("logo.png", b"\x89PNG\0one".to_vec())
        .file("old.png", b"\x89PNG\0two".to_vec())
        .file("run.sh", "echo\n")
        .file("moved.txt", "1\n2\n3\n4\n")
        .file("target.txt", "t\n")
        .start();
    symlink("target.txt", chat.path("link")).unwrap();
    chmod(&chat.path("moved.txt"), 0o755);
    chat
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(chat: &Chat, name: &str) -> u32 {
    fs::metadata(chat.path(name)).unwrap().permissions().mode() & 0o777
}

/// A turn whose command changes all of it, and the review of that.
fn changed() -> Chat {
    let mut chat = project();
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    chat.tool_call(json!({"toolCallId": "c1", "title": "make", "kind": "execute",
        "status": "in_progress"}));
    fs::write(chat.path("logo.png"), b"\x89PNG\0longer").unwrap();
    fs::rename(chat.path("old.png"), chat.path("new.png")).unwrap();
    chmod(&chat.path("run.sh"), 0o755);
    fs::rename(chat.path("moved.txt"), chat.path("here.txt")).unwrap();
    fs::write(chat.path("here.txt"), "1\n2\nthree\n4\n").unwrap();
    fs::remove_file(chat.path("link")).unwrap();
    symlink("run.sh", chat.path("link")).unwrap();
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatTurns");
    chat.nvim.poll_screen("Turns that changed files");
    chat.nvim.input("<Esc>");
    chat.nvim.command("RatReview turn");
    chat.nvim.poll_screen("Review · last turn: 5 files, 1 hunk");
    chat
}

fn page(chat: &mut Chat) -> Vec<String> {
    chat.nvim.buffer_lines("rat://review")
}

/// Puts the cursor on the row that begins so, and types a key.
fn decide(chat: &mut Chat, row: &str, key: &str) {
    let found = page(chat).iter().position(|line| line.starts_with(row));
    let found = found.unwrap_or_else(|| panic!("no {row} in {:#?}", page(chat)));
    chat.nvim.command(&format!("{}", found + 1));
    chat.nvim.input(key);
    chat.nvim.poll(row, |nvim| {
        !nvim.buffer_lines("rat://review").iter().any(|line| line.starts_with(row))
    });
}

/// Holds (Review): Binary files, links, modes and renames have a row that says what happened, with the title of the call.
#[test]
fn what_is_no_change_of_lines_has_a_row() {
    let mut chat = changed();
    assert_eq!(
        page(&mut chat),
        [
            "link  symbolic link → run.sh, was target.txt · make",
            "logo.png  binary, 8 to 11 bytes · make",
            "old.png → new.png  renamed · make",
            "run.sh  mode 644 to 755 · make",
            "",
            "moved.txt → here.txt  +1 -1",
            "@@ -1,4 +1,4 @@ make",
            " 1",
            " 2",
            "-3",
            "+three",
            " 4",
        ]
    );
}

/// Holds (Review): Rejecting the row of a binary file, a link, a mode or a rename puts back exactly that; the others stay.
#[test]
fn such_a_row_is_rejected_exactly() {
    let mut chat = changed();
    decide(&mut chat, "logo.png", "r");
    assert_eq!(fs::read(chat.path("logo.png")).unwrap(), b"\x89PNG\0one");
    assert_eq!(mode(&chat, "run.sh"), 0o755);
    decide(&mut chat, "run.sh", "r");
    assert_eq!(mode(&chat, "run.sh"), 0o644);
    decide(&mut chat, "link", "r");
    assert_eq!(fs::read_link(chat.path("link")).unwrap(), Path::new("target.txt"));
    decide(&mut chat, "old.png", "r");
    assert_eq!(fs::read(chat.path("old.png")).unwrap(), b"\x89PNG\0two");
    assert!(!chat.path("new.png").exists());
    decide(&mut chat, "moved.txt", "r");
    assert_eq!(fs::read_to_string(chat.path("moved.txt")).unwrap(), "1\n2\n3\n4\n");
    assert_eq!(mode(&chat, "moved.txt"), 0o755);
    assert!(!chat.path("here.txt").exists());
    chat.nvim.poll_screen("Nothing is pending");
}

/// Holds (Review): A decision on a rename says so, whether or not lines have changed with it.
#[test]
fn a_decision_on_a_rename_says_so() {
    for (key, verb) in [("r", "Rejected"), ("a", "Accepted")] {
        let mut chat = changed();
        for name in ["old.png", "moved.txt"] {
            decide(&mut chat, name, key);
            let message = format!("{verb} the rename of {name}");
            chat.nvim.poll(&message, |nvim| nvim.messages().contains(&message));
        }
        let messages = chat.nvim.messages();
        assert_eq!(messages.matches(verb).count(), 2, "{messages}");
    }
}

/// Holds (Review): An accepted row is gone and its file stays as it is; a file that somebody has changed since is not put back.
#[test]
fn such_a_row_is_accepted_and_never_overwrites_others() {
    let mut chat = changed();
    decide(&mut chat, "run.sh", "a");
    assert_eq!(mode(&chat, "run.sh"), 0o755);
    fs::write(chat.path("logo.png"), b"\x89PNG\0mine").unwrap();
    let row = page(&mut chat).iter().position(|line| line.starts_with("logo.png")).unwrap();
    chat.nvim.command(&format!("{}", row + 1));
    chat.nvim.input("r");
    chat.nvim.poll("told", |nvim| nvim.messages().contains("logo.png: it has changed since"));
    assert_eq!(fs::read(chat.path("logo.png")).unwrap(), b"\x89PNG\0mine");
    chat.nvim.command("RatAccept turn");
    chat.nvim.poll_screen("Nothing is pending");
    assert_eq!(fs::read_to_string(chat.path("here.txt")).unwrap(), "1\n2\nthree\n4\n");
}

/// Holds (Review): A change of the mode alone is listed, put back and undone also where the file is open.
#[test]
fn the_mode_of_an_open_file_is_listed() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, |root: &Path| {
        fs::set_permissions(root.join("open.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    assert_eq!(mode(&chat, "open.txt"), 0o755);
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("open.txt  mode 644 to 755");
    chat.nvim.input("r");
    chat.nvim.poll_screen("Nothing is pending");
    assert_eq!(mode(&chat, "open.txt"), 0o644);
    chat.nvim.input("u");
    chat.nvim.poll_screen("open.txt  mode 644 to 755");
    assert_eq!(mode(&chat, "open.txt"), 0o755);
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    assert_eq!(mode(&chat, "open.txt"), 0o644);
    chat.nvim.command("tabfirst | wincmd t | checktime | silent write");
    assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(false));
}
