//! What an undo leaves alone, and how the plan and the result of an undo say what happens to each file, in real Neovim.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::Chat;
use crate::undo::{answer, in_project, poll_kept, poll_open, turn_with_command};
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
    chat.nvim.poll_screen("Press q to return");
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
    // A long message has several lines.
    chat.nvim.poll(message, |nvim| nvim.messages().replace('\n', " ").contains(message));
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
        let wanted = format!("{name}: leave as it is: deleted since");
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

/// Holds (Review): The result of an undo names what it has left alone, and why.
#[test]
fn the_result_names_what_was_left_alone() {
    let mut chat = with_deleted_files();
    undo_first(&mut chat);
    let told = "Undid the turn in 1 file; left open.txt and 2 others as they are: deleted since.";
    carry_out(&mut chat, told);
}

/// Holds (Review): The result of an undo names what it has left alone, and why.
#[test]
fn what_is_as_it_was_is_named_last() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        for name in ["src/1.txt", "src/2.txt", "src/3.txt"] {
            fs::write(root.join(name), "one\n").unwrap();
        }
    });
    fs::write(chat.path("src/1.txt"), "one\ntwo 1\nthree\n").unwrap();
    fs::remove_file(chat.path("src/2.txt")).unwrap();
    undo_first(&mut chat);
    let told = "left src/2.txt as it is: deleted since; left src/1.txt as it is: already as before the turn.";
    carry_out(&mut chat, told);
}

/// A turn that has changed files in each way, one of them only in its mode, and made folders.
fn turn_of_each_kind() -> Chat {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root: &Path| {
        fs::set_permissions(root.join("src/0.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join("src/1.txt"), "one\n").unwrap();
        fs::remove_file(root.join("src/2.txt")).unwrap();
        fs::create_dir_all(root.join("new/empty")).unwrap();
        fs::write(root.join("new/b.txt"), "new\n").unwrap();
    });
    chat
}

/// Holds (Review): An undo counts folders apart from files, and says of a change of a mode alone that it is one.
#[test]
fn folders_and_modes_are_named_as_what_they_are() {
    let mut chat = turn_of_each_kind();
    chat.nvim.command("RatTurns");
    chat.nvim.poll_screen("change it all · 4 files");
    chat.nvim.input("<Esc>");
    chat.nvim.poll_no("Turns that changed files");
    chat.nvim.command("RatUndo");
    chat.nvim.poll_screen("Undo \"change it all\"? 4 files and 2 folders");
    let lines = planned(&mut chat);
    let wanted = [
        "new/: delete",
        "new/b.txt: delete",
        "new/empty/: delete",
        "src/0.txt: mode 755 to 644",
        "src/1.txt: restore",
        "src/2.txt: create",
    ];
    assert_eq!(lines[2..8], wanted);
    carry_out(&mut chat, "Undid the turn in 4 files and 2 folders. :RatRedo redoes it.");
}

/// Holds (Review): The plan of an undo says that a folder with something else in it stays, and what takes the place of what.
#[test]
fn a_plan_says_what_will_be_done() {
    let mut chat = in_project();
    symlink("binary", chat.path("link")).unwrap();
    turn_with_command(&mut chat, |root: &Path| {
        fs::create_dir_all(root.join("gen/deep")).unwrap();
        fs::create_dir_all(root.join("out/deep")).unwrap();
        fs::write(root.join("gen/a.txt"), "new\n").unwrap();
        fs::write(root.join("gen/deep/b.txt"), "new\n").unwrap();
        fs::remove_file(root.join("link")).unwrap();
        fs::write(root.join("link"), "a file\n").unwrap();
        for name in ["src/1.txt", "src/2.txt"] {
            fs::remove_file(root.join(name)).unwrap();
        }
        symlink("3.txt", root.join("src/1.txt")).unwrap();
        fs::create_dir(root.join("src/2.txt")).unwrap();
    });
    fs::write(chat.path("gen/deep/mine.txt"), "mine\n").unwrap();
    chat.nvim.command("RatUndo");
    chat.nvim.poll_screen("Undo \"change it all\"?");
    let lines = planned(&mut chat);
    let stays = "leave as it is: it is a folder with something else in it";
    let wanted = [
        &format!("gen/: {stays}"),
        "gen/a.txt: delete",
        &format!("gen/deep/: {stays}"),
        "gen/deep/b.txt: delete",
        "link: delete the file, restore the symbolic link",
        "out/: delete",
        "out/deep/: delete",
        "src/1.txt: delete the symbolic link, restore the file",
        "src/2.txt: delete the folder, restore the file",
    ];
    assert_eq!(lines[2..11], wanted);
    carry_out(&mut chat, "Undid the turn in 5 files and 2 folders; left gen");
    assert!(chat.path("gen/deep/mine.txt").exists() && !chat.path("gen/a.txt").exists());
    assert_eq!(fs::read_link(chat.path("link")).unwrap(), Path::new("binary"));
    assert_eq!(fs::read_to_string(chat.path("src/2.txt")).unwrap(), "one\ntwo 2\nthree\n");
}

/// Holds (Review): At 80 columns, the titles of a review and of the plan of an undo are whole, whatever the prompt.
#[test]
fn titles_fit_into_80_columns() {
    let mut chat = Chat::builder().screen(80, 24).file("a.txt", "1\n").file("b.txt", "1\n").start();
    let prompt = "please change every file that there is in this project, and do not ask me again";
    chat.prompt(prompt);
    chat.nvim.poll_state("running");
    chat.tool_call(json!({"toolCallId": "c1", "title": "sed", "kind": "execute",
        "status": "in_progress"}));
    for name in ["a.txt", "b.txt"] {
        fs::write(chat.path(name), "2\n").unwrap();
    }
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(&mut chat);
    chat.nvim.command("RatReview tool");
    chat.nvim.poll_screen("Review · last tool call: 2 files, 2 hunks");
    chat.nvim.poll_screen("a accept  r reject  u undo");
    chat.nvim.command("tabclose");
    fs::remove_file(chat.path("b.txt")).unwrap();
    chat.nvim.command("RatUndo");
    chat.nvim.poll_screen("1 file; 1 left alone");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("Undo 1 file; 1 left alone ");
}

/// Holds (Review): A decision on some lines of a hunk says how many lines.
#[test]
fn a_decision_on_lines_counts_lines() {
    let mut chat = Chat::builder().file("a.txt", "1\n2\n3\n").in_turn();
    let path = chat.path("a.txt");
    let content = "one\ntwo\nthree\n";
    chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("+three");
    for (keys, message) in [
        ("6GVjr", "Rejected 2 lines in a.txt"),
        ("u", "Pending again: 2 lines in a.txt"),
        ("3GVa", "Accepted 1 line in a.txt"),
    ] {
        chat.nvim.command("messages clear");
        chat.nvim.input(keys);
        chat.nvim.poll(message, |nvim| nvim.messages().contains(message));
    }
}

/// Holds (Review): A turn that was cut off, since its agent was stopped, restarted or crashed, can be undone like any other.
#[test]
fn a_turn_that_was_cut_off_is_undone() {
    for end in ["RatStop", "RatRestart", "crash"] {
        let mut chat = in_project();
        turn_with_command(&mut chat, |root| fs::write(root.join("src/1.txt"), "first\n").unwrap());
        chat.prompt("cut off");
        chat.nvim.poll_state("running");
        chat.tool_call(json!({"toolCallId": "c2", "title": "slowly", "kind": "execute",
            "status": "in_progress"}));
        chat.nvim.poll_screen("slowly");
        fs::write(chat.path("src/2.txt"), "second\n").unwrap();
        if end == "crash" {
            chat.agent.exit(1, "");
            chat.nvim.poll_state("failed");
        } else {
            chat.nvim.command(end);
            chat.nvim.poll_screen("Cancelled");
        }
        let undo = "require('rat').turns(function(turns) require('rat').undo(turns[1]) end)";
        chat.nvim.lua(undo, json!([]));
        chat.nvim.poll_screen("Undo \"cut off\"?");
        carry_out(&mut chat, "Undid");
        let text = |name: &str| fs::read_to_string(chat.path(name)).unwrap();
        assert_eq!(text("src/2.txt"), "one\ntwo 2\nthree\n", "{end}");
        assert_eq!(text("src/1.txt"), "first\n");
    }
}

/// Holds (Review): `<CR>` alone undoes nothing: the question says that an answer has to be selected first.
#[test]
fn an_undo_takes_a_selected_answer() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root| fs::write(root.join("src/1.txt"), "first\n").unwrap());
    chat.nvim.command("RatUndo");
    chat.nvim.poll_screen("1-3 · <CR> choose");
    chat.nvim.input("<CR>");
    chat.nvim.poll_screen("select an answer first: j, k or 1-3");
    chat.nvim.input("j<CR>");
    chat.nvim.poll("the undo", |nvim| nvim.messages().contains("Undid the turn"));
}

/// Holds (Review): What the user has undone in a buffer and not saved is left to them, and they are told.
#[test]
fn what_was_undone_in_the_buffer_only_is_told() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
        fs::write(root.join("src/1.txt"), "first\n").unwrap();
    });
    poll_open(&mut chat, "TWO");
    chat.nvim.command("wincmd t");
    chat.nvim.input("u");
    poll_open(&mut chat, "two");
    let told = "left open.txt as it is: undone in its buffer already, which is not saved";
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", told);
    chat.nvim.command("write");
    let text = fs::read_to_string(chat.path("open.txt")).unwrap();
    assert_eq!(text, "one\ntwo\nthree\n");
}
