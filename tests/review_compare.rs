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
    chat.nvim.poll("the file itself", |nvim| nvim.eval("vim.bo.buftype") == json!(""));
    assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(false));
    // There is nothing to undo that would empty it.
    chat.nvim.input("u");
    chat.nvim.command("silent wall");
    assert_eq!(tree(chat.nvim.cwd()), before);
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
        chat.nvim.input("do");
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

/// Holds (Review): `dp` on a deleted file accepts the deletion, and leaves neither a window nor a buffer.
#[test]
fn a_deletion_is_accepted_in_a_comparison() {
    let mut chat = in_project();
    let lines: String = (1..=99).map(|number| format!("line {number} of it\n")).collect();
    fs::write(chat.path("old/deep/a.txt"), lines).unwrap();
    turn_with_command(&mut chat, |root: &Path| fs::remove_dir_all(root.join("old")).unwrap());
    compare(&mut chat, "old/deep/a.txt (deleted)");
    chat.nvim.poll_screen("line 1 of it");
    chat.nvim.input("dp");
    chat.nvim.poll_screen("Nothing is pending");
    assert!(chat.nvim.messages().contains("Accepted 1 hunk in old/deep/a.txt"));
    assert_eq!(chat.nvim.eval("vim.fn.bufexists('old/deep/a.txt')"), json!(0));
    assert!(!chat.path("old").exists());
}

/// Holds (Review): `do` on a new file removes it, and `u` in the review brings it back.
#[test]
fn a_new_file_is_rejected_in_a_comparison() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| fs::write(root.join("new.txt"), "new\n").unwrap());
    let new = chat.path("new.txt");
    compare(&mut chat, "new.txt (new file)");
    chat.nvim.input("do");
    chat.nvim.poll_screen("Nothing is pending");
    assert!(!new.exists());
    assert_eq!(chat.nvim.eval("vim.fn.bufexists('new.txt')"), json!(0));
    chat.nvim.input("u");
    chat.nvim.poll_screen("new.txt (new file)");
    assert_eq!(fs::read_to_string(new).unwrap(), "new\n");
}

/// Holds (Review): A file that was moved and changed is compared with the old one, and decided on as a whole.
#[test]
fn a_moved_file_is_compared_with_what_it_was() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::remove_file(root.join("src/3.txt")).unwrap();
        fs::write(root.join("src/moved.txt"), "one\ntwo 3\nTHREE\n").unwrap();
    });
    compare(&mut chat, "src/3.txt → src/moved.txt");
    chat.nvim.poll_screen(" src/3.txt before the changes");
    chat.nvim.poll_screen("three");
    for keys in ["do", "dp", "<C-w>hdo", "dp"] {
        chat.nvim.command("messages clear");
        chat.nvim.input(keys);
        chat.nvim.poll(keys, |nvim| nvim.messages().contains("as a whole"));
    }
    let text = fs::read_to_string(chat.path("src/moved.txt")).unwrap();
    assert_eq!(text, "one\ntwo 3\nTHREE\n");
    chat.nvim.input("q");
    chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
    chat.nvim.input("r");
    chat.nvim.poll_screen("Nothing is pending");
    assert!(chat.path("src/3.txt").exists() && !chat.path("src/moved.txt").exists());
}

/// Holds (Review): Decisions in a comparison are about the hunk at the cursor in either window, however fast they follow each other, and `u` in the review takes them back.
#[test]
fn decisions_in_a_comparison_are_those_of_the_review() {
    let mut chat = in_project();
    let (old, new) = ("one\ntwo 3\nthree\n", "a\nb\none\nc\nd\ntwo 3\ne\nthree\n");
    turn_with_command(&mut chat, |root: &Path| fs::write(root.join("src/3.txt"), new).unwrap());
    compare(&mut chat, "src/3.txt");
    // The second one is rejected before the editor knows what has become of the first one.
    chat.nvim.lua("vim.api.nvim_feedkeys('ggdo]c]cdo', 'x', false)", json!([]));
    let text = |chat: &Chat| fs::read_to_string(chat.path("src/3.txt")).unwrap();
    chat.nvim.poll("both", |nvim| nvim.messages().matches("Rejected 1 hunk").count() == 2);
    assert_eq!(text(&chat), "one\nc\nd\ntwo 3\nthree\n");
    chat.nvim.input("gg]c<C-w>hdo");
    chat.nvim.poll("accepted", |nvim| nvim.messages().contains("Accepted 1 hunk"));
    let base = "return vim.api.nvim_buf_get_lines(0, 0, -1, true)";
    chat.nvim.poll("the base", |nvim| {
        nvim.lua(base, json!([])) == json!(["one", "c", "d", "two 3", "three"])
    });
    // What was accepted by mistake is taken back in the base.
    chat.nvim.input("u");
    chat.nvim.poll("pending again", |nvim| {
        nvim.lua(base, json!([])) == json!(old.lines().collect::<Vec<_>>())
    });
    chat.nvim.input("q");
    chat.nvim.poll_screen("1 file, 1 hunk");
    chat.nvim.input("uuu");
    chat.nvim.poll_screen("1 file, 3 hunks");
    assert_eq!(text(&chat), new);
}

/// Holds (Review): What a range of `:diffput` and `:diffget` does in a comparison counts, too.
#[test]
fn some_lines_are_put_into_the_base_by_a_command() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::write(root.join("src/3.txt"), "ONE\ntwo 3\nTHREE\n").unwrap();
    });
    compare(&mut chat, "src/3.txt");
    chat.nvim.command("1,1diffput");
    chat.nvim.poll("accepted", |nvim| nvim.messages().contains("Accepted 1 hunk in src/3.txt"));
    chat.nvim.command("3,3diffget | write");
    chat.nvim.input("<C-w>hq");
    chat.nvim.poll_screen("Nothing is pending");
    let text = fs::read_to_string(chat.path("src/3.txt")).unwrap();
    assert_eq!(text, "ONE\ntwo 3\nthree\n");
}

/// Holds (Review): A row that is not about lines cannot be compared, and says so.
#[test]
fn what_has_no_lines_is_not_compared() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::set_permissions(root.join("open.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("open.txt");
    chat.nvim.input("<CR>");
    chat.nvim.poll("why not", |nvim| nvim.messages().contains("There are no lines to compare"));
}

/// Holds (Review): After `<C-w>v` and `<C-w>o` a comparison leaves an ordinary window of the file.
#[test]
fn a_split_of_a_comparison_becomes_an_ordinary_window() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::write(root.join("src/3.txt"), "one\n").unwrap();
    });
    compare(&mut chat, "src/3.txt");
    chat.nvim.input("<C-w>v<C-w>o");
    chat.nvim.poll("no bar", |nvim| nvim.eval("vim.wo.winbar") == json!(""));
    assert_eq!(chat.nvim.eval("{vim.wo.diff, vim.fn.bufname()}"), json!([false, "src/3.txt"]));
    // The same in the review: as long as it is shown, nobody leaves it.
    chat.nvim.command("tabclose | tablast");
    chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
    let tab = chat.nvim.eval("vim.fn.tabpagenr()");
    chat.nvim.input("<C-w>s<C-w>W<C-w>c<C-w>s<C-w>c");
    assert_eq!(chat.nvim.eval("vim.fn.tabpagenr()"), tab);
    chat.nvim.input("q");
    chat.nvim.poll("the chat", |nvim| nvim.eval("vim.fn.tabpagenr()") == json!(1));
}

/// Holds (Review): `u` takes back what `dp` has accepted, in either window, and an edit of the base that accepts nothing is discarded.
#[test]
fn an_acceptance_is_taken_back_in_a_comparison() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::write(root.join("src/3.txt"), "one\nTWO\nthree\nfour\n").unwrap();
    });
    let base = "local wins = vim.api.nvim_tabpage_list_wins(0)
        return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(wins[1]), 0, -1, true)";
    let old = json!(["one", "two 3", "three"]);
    compare(&mut chat, "src/3.txt");
    // What the agent has done can be undone in the buffer, too.
    chat.nvim.poll("the undo step", |nvim| nvim.eval("vim.fn.undotree().seq_cur") == json!(1));
    chat.nvim.input("2Gdp");
    chat.nvim.poll("accepted", |nvim| nvim.lua(base, json!([])) == json!(["one", "TWO", "three"]));
    chat.nvim.input("u");
    chat.nvim.poll("taken back", |nvim| nvim.lua(base, json!([])) == old);
    assert_eq!(chat.nvim.eval("vim.fn.getline(2)"), json!("TWO"), "it is still the agent's");
    // In the base, whatever is changed there.
    for keys in ["ggx", "Gdd", "Otyped<Esc>"] {
        chat.nvim.input(&format!("<C-w>h{keys}"));
        chat.nvim.poll(keys, |nvim| nvim.lua(base, json!([])) == old);
        chat.nvim.input("<C-w>l");
    }
    assert!(!chat.nvim.messages().contains("panicked"), "{}", chat.nvim.messages());
    chat.nvim.input("<C-w>hq");
    chat.nvim.poll_screen("1 file, 2 hunks");
}

/// Holds (Review): Once a move is accepted, its comparison no longer says that the file was moved.
#[test]
fn an_accepted_move_is_compared_no_more() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::rename(root.join("src/3.txt"), root.join("src/moved.txt")).unwrap();
    });
    compare(&mut chat, "src/3.txt → src/moved.txt");
    let folds = "vim.fn.foldclosed('.')";
    chat.nvim.poll("what is the same stays folded", |nvim| nvim.eval(folds) == json!(1));
    chat.nvim.poll("a moved file", |nvim| {
        nvim.eval("vim.wo.winbar").as_str().is_some_and(|bar| bar.contains("moved"))
    });
    chat.nvim.command("RatAccept all");
    chat.nvim.poll("a file that was not moved", |nvim| {
        nvim.eval("vim.wo.winbar").as_str().is_some_and(|bar| !bar.contains("moved"))
    });
}

/// Holds (Review): A comparison whose file becomes too large for diff mode is closed, and one line says why.
#[test]
fn a_comparison_that_outgrows_diff_mode_is_closed() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::write(root.join("src/3.txt"), "one\ntwo 3\nTHREE\n").unwrap();
    });
    compare(&mut chat, "src/3.txt");
    chat.nvim.command("call append('$', map(range(20000), {_, n -> 'line ' .. n}))");
    chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
    let told = "src/3.txt is too large for diff mode (20003 lines, 1 hunk)";
    chat.nvim.poll("the reason", |nvim| nvim.messages().contains(told));
    assert_eq!(chat.nvim.messages().matches("too large").count(), 1);
}

/// Holds (Review): A comparison opens at a change: at the changed line that the cursor is on, or else at the first one of the hunk or the file. Elsewhere `do` and `dp` say that nothing is pending there.
#[test]
fn a_comparison_opens_at_a_change() {
    let mut chat = in_project();
    let text = |changed: bool| {
        let change = |at: usize| if changed && (20..22).contains(&at) { "new" } else { "old" };
        (1..40).map(|at| format!("{at} {}\n", change(at))).collect::<String>()
    };
    fs::write(chat.path("src/3.txt"), text(false)).unwrap();
    turn_with_command(&mut chat, |root: &Path| {
        fs::write(root.join("src/3.txt"), text(true)).unwrap();
    });
    compare(&mut chat, "src/3.txt");
    for (row, line) in [
        ("", 20),
        ("@@", 20),
        (" 18 old", 20),
        ("+21 new", 21),
        (" 23 old", 20),
        ("-20 old", 20),
        ("src/3.txt", 20),
    ] {
        if !row.is_empty() {
            chat.nvim.input(":q<CR>");
            chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
            chat.nvim.input(&format!("gg/^\\V{}<CR><CR>", row.replace('/', "\\/")));
        }
        chat.nvim.poll(&format!("{row}: {line}"), |nvim| {
            nvim.eval("{vim.wo.diff, vim.fn.line('.')}") == json!([true, line])
        });
    }
    for keys in ["ggdo", "Gdp", "<C-w>hggdo", "Gdp"] {
        chat.nvim.command("messages clear");
        chat.nvim.input(keys);
        let told = "No pending change here. ]c and [c go to the others.";
        chat.nvim.poll(&format!("{keys}: {told}"), |nvim| nvim.messages().contains(told));
    }
    assert_eq!(fs::read_to_string(chat.path("src/3.txt")).unwrap(), text(true));
}

/// Holds (Review): `o` in the review opens the file where the user came from, not beside the review: also from the chat, and after a comparison.
#[test]
fn the_file_is_opened_where_the_user_came_from() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::write(root.join("src/3.txt"), "one\n").unwrap();
    });
    for (window, is_compared) in [("t", false), ("t", true), ("b", false), ("b", true)] {
        chat.nvim.command(&format!("tabfirst | wincmd t | edit open.txt | wincmd {window}"));
        compare(&mut chat, "src/3.txt");
        chat.nvim.input(":q<CR>");
        chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
        if !is_compared {
            chat.nvim.command("tabfirst | tabnext");
        }
        chat.nvim.input("o");
        chat.nvim.poll(&format!("{window}, {is_compared}: the file"), |nvim| {
            nvim.eval("{vim.fn.expand('%:t'), vim.fn.tabpagenr(), vim.fn.winnr()}")
                == json!(["3.txt", 1, 1])
        });
    }
}
