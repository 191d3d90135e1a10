//! The comparison of a file with what it was before the changes of an agent, in real Neovim.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::Chat;
use crate::undo::{in_project, tree, turn_with_command};
use serde_json::json;

/// Goes to the comparison of a file that the review shows.
fn compare(chat: &mut Chat, row: &str) {
    chat.nvim.command("RatReview");
    chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
    let page = chat.nvim.buffer_lines("rat://review");
    let found = page.iter().position(|line| line.starts_with(row)).unwrap();
    chat.nvim.command(&format!("{}", found + 1));
    chat.nvim.input("<CR>");
    chat.nvim.poll("the comparison", |nvim| nvim.eval("vim.wo.diff") == json!(true));
}

/// Holds (Review): `do` on a file that an agent has deleted puts the file back, with its folder and its mode.
#[test]
fn a_deleted_file_is_put_back_from_the_comparison() {
    let mut chat = in_project();
    let script = chat.path("old/deep/a.txt");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let before = tree(chat.nvim.cwd());
    turn_with_command(&mut chat, |root: &Path| fs::remove_dir_all(root.join("old")).unwrap());
    compare(&mut chat, "old/deep/a.txt (deleted)");
    chat.nvim.input("do");
    chat.nvim
        .poll("put back", |nvim| nvim.messages().contains("Rejected 1 hunk in old/deep/a.txt"));
    assert_eq!(tree(chat.nvim.cwd()), before);
    assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(false));
    // It is an ordinary file again.
    chat.nvim.command("call setline(1, 'mine') | checktime | silent write");
    assert_eq!(fs::read_to_string(&script).unwrap(), "mine\n");
    chat.nvim.input(":q<CR>");
    chat.nvim.poll_screen("Nothing is pending");
}

/// Holds (Review): While a deleted file is compared, rejecting its deletion puts it back all the same.
#[test]
fn a_deletion_is_rejected_while_it_is_compared() {
    let mut chat = in_project();
    let script = fs::Permissions::from_mode(0o755);
    fs::set_permissions(chat.path("old/deep/a.txt"), script).unwrap();
    let before = tree(chat.nvim.cwd());
    turn_with_command(&mut chat, |root: &Path| fs::remove_dir_all(root.join("old")).unwrap());
    compare(&mut chat, "old/deep/a.txt (deleted)");
    chat.nvim.command("RatReject file");
    chat.nvim
        .poll("put back", |nvim| nvim.messages().contains("Rejected 1 hunk in old/deep/a.txt"));
    assert_eq!(tree(chat.nvim.cwd()), before);
    assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(false));
}

/// Holds (Review): A comparison names the file as the review does, wherever Neovim is.
#[test]
fn a_comparison_names_the_file_relative_to_the_project() {
    for folder in [".", "/"] {
        let mut chat = in_project();
        turn_with_command(&mut chat, |root: &Path| {
            fs::write(root.join("src/3.txt"), "one\n").unwrap();
        });
        chat.nvim.command(&format!("cd {folder}"));
        compare(&mut chat, "src/3.txt");
        chat.nvim.poll_screen(" src/3.txt before the changes");
        let name = chat.nvim.eval("vim.fn.bufname()");
        assert!(folder == "/" || name == json!("src/3.txt"), "{name}");
    }
}

/// Holds (Review): `do` in a comparison saves a file that had no unsaved changes, and keeps unsaved ones unsaved.
#[test]
fn a_hunk_rejected_in_a_comparison_is_saved() {
    for edits in [false, true] {
        let mut chat = in_project();
        turn_with_command(&mut chat, |root: &Path| {
            fs::write(root.join("src/3.txt"), "one\nTWO\nthree\n").unwrap();
        });
        compare(&mut chat, "src/3.txt");
        if edits {
            chat.nvim.command("call append('$', 'mine')");
        }
        chat.nvim.input("]cdo");
        chat.nvim.poll("the old line", |nvim| nvim.eval("vim.fn.getline(2)") == json!("two 3"));
        assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(edits));
        let saved = if edits { "TWO" } else { "two 3" };
        let text = fs::read_to_string(chat.path("src/3.txt")).unwrap();
        assert_eq!(text, format!("one\n{saved}\nthree\n"));
        chat.nvim.input(":q<CR>");
        chat.nvim.poll_screen("Nothing is pending");
        chat.nvim.command("edit src/3.txt");
        assert_eq!(chat.nvim.eval("vim.fn.maparg('do', 'n')"), json!(""));
    }
}
