//! An undo of a turn whose writes met unsaved changes of the user, in real Neovim.

use std::fs;

use crate::support::Chat;
use crate::undo::{answer, in_project, turn_with_command};
use serde_json::json;

fn poll_conflicts(chat: &mut Chat, wanted: usize) {
    chat.nvim.poll(&format!("{wanted} conflicts"), |nvim| {
        nvim.eval("require('rat.document.conflict').count()") == json!(wanted)
    });
}

/// A turn whose command writes this text to a file, of which the user has changed the second line without saving.
fn turn_in_conflict(text: &str) -> Chat {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    chat.nvim.input("2Gccmine<Esc>");
    let path = chat.path("open.txt");
    turn_with_command(&mut chat, |_| fs::write(&path, text).unwrap());
    poll_conflicts(&mut chat, 1);
    chat
}

/// Holds (Review): Where a turn cannot be undone, one line says why and nothing changes.
#[test]
fn a_turn_whose_changes_were_all_in_conflict_is_left_alone() {
    let mut chat = turn_in_conflict("one\nTWO\nthree\n");
    let path = chat.path("open.txt");
    chat.nvim.command("RatUndo");
    let told = "its buffer has unsaved changes: save or reload it first";
    chat.nvim.poll(told, |nvim| nvim.messages().contains(told));
    assert_eq!(chat.nvim.buffer_lines(path.to_str().unwrap()), ["one", "mine", "three"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\nTWO\nthree\n");
    chat.nvim.command("edit!");
    chat.nvim.command("RatUndo");
    let told = "nothing of what changed there is certainly the agent's";
    chat.nvim.poll(told, |nvim| nvim.messages().contains(told));
}

/// Holds (Review): The conflicts that a turn has caused end with its undo, and come back with its redo.
#[test]
fn the_conflicts_of_a_turn_end_with_its_undo() {
    let mut chat = turn_in_conflict("one\nTWO\nthree\nfour\n");
    let path = chat.path("open.txt");
    chat.nvim.poll_screen("on disk: TWO");
    let message = "Undid the turn in 1 file; open.txt is not saved";
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", message);
    let lines = |chat: &mut Chat| chat.nvim.buffer_lines(path.to_str().unwrap());
    assert_eq!(lines(&mut chat), ["one", "mine", "three"]);
    poll_conflicts(&mut chat, 0);
    chat.nvim.poll_no("on disk: TWO");
    answer(&mut chat, "RatRedo", "Redo \"change it all\"? 1 file", "Redid the turn in 1 file");
    assert_eq!(lines(&mut chat), ["one", "mine", "three", "four"]);
    poll_conflicts(&mut chat, 1);
    chat.nvim.poll_screen("on disk: TWO");
}

/// Holds (Review): A turn whose lines a later turn has changed is undone only after that; until then they stay, and the undo says so.
#[test]
fn the_first_of_three_turns_on_one_line_is_left_alone() {
    for is_open in [false, true] {
        let mut chat = in_project();
        let path = chat.path("open.txt");
        if is_open {
            chat.nvim.command("wincmd t | edit open.txt");
        }
        for turn in 1..=3 {
            turn_with_command(&mut chat, |root| {
                fs::write(root.join("open.txt"), format!("one\nTURN{turn}\nthree\n")).unwrap();
            });
            if is_open {
                crate::undo::poll_open(&mut chat, &format!("TURN{turn}"));
            }
        }
        let text = || fs::read_to_string(&path).unwrap();
        let root = chat.nvim.cwd().display().to_string();
        let first = format!("lua require('rat').undo({{ root = '{root}', id = '1-1' }})");
        chat.nvim.command(&first);
        let told = "open.txt: the same lines have changed since";
        chat.nvim.poll(told, |nvim| nvim.messages().replace('\n', " ").contains(told));
        assert_eq!(text(), "one\nTURN3\nthree\n", "open: {is_open}");
        for line in ["TURN2", "TURN1", "two"] {
            chat.nvim.command("messages clear");
            answer(
                &mut chat,
                "RatUndo",
                "Undo \"change it all\"? 1 file",
                "Undid the turn in 1 file",
            );
            assert_eq!(text(), format!("one\n{line}\nthree\n"), "open: {is_open}");
        }
        for line in ["TURN1", "TURN2", "TURN3"] {
            chat.nvim.command("messages clear");
            answer(
                &mut chat,
                "RatRedo",
                "Redo \"change it all\"? 1 file",
                "Redid the turn in 1 file",
            );
            assert_eq!(text(), format!("one\n{line}\nthree\n"), "redo, open: {is_open}");
        }
    }
}
