//! A turn of a real agent that is undone: a command over many files, of which the user has some open.

use std::fs;

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_real_agent};

with_each_real_agent!(
    a_command_over_many_files_is_undone_whole,
    a_command_changes_what_was_undone_or_saved_before,
);

const FILES: usize = 40;
/// How often; `RAT_ROUNDS` chooses another number.
const ROUNDS: usize = 2;

/// A line for each round, and one that is the user's.
fn text(number: usize) -> String {
    let lines: String = (0..100).map(|round| format!("line {round} of {number}\n")).collect();
    lines + "last\n"
}

fn name(number: usize) -> String {
    format!("f{number}.txt")
}

/// Holds (Review): A command of Claude, OpenCode and Gemini over forty files, one of them open and one with unsaved lines, is undone in all of them.
fn a_command_over_many_files_is_undone_whole(kind: Kind) {
    let rounds = std::env::var("RAT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let files: Vec<(String, String)> = (0..FILES).map(|at| (name(at), text(at))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut chat = Chat::open(kind, &files);
    chat.nvim.command("wincmd t | edit f1.txt | edit f0.txt");
    for round in 0..rounds.unwrap_or(ROUNDS) {
        let mine = text(1).replace("last", &format!("mine {round}"));
        chat.in_buffer("f1.txt", &format!("vim.fn.setline(101, 'mine {round}')"));
        let (old, new) = (format!("line {round} "), format!("LINE {round} "));
        // The next prompt tells the agent of the undo by the first line.
        chat.ask(&format!("round {round}\n[[shell sed -i 's/{old}/{new}/' f*.txt]][[say ok]]"));
        chat.ends_allowing("end_turn");
        chat.wait_for_buffer("f0.txt", &text(0).replace(&old, &new));
        chat.wait_for_buffer("f1.txt", &mine.replace(&old, &new));
        chat.nvim.command("messages clear | RatUndo");
        chat.until("the question", |chat| chat.nvim.screen().contains("1  Undo").then_some(()));
        chat.nvim.input("1<CR>");
        chat.until("the undo", |chat| {
            chat.nvim.messages().contains("Undid the turn in 40 files").then_some(())
        });
        assert!(!chat.nvim.messages().contains("left"), "{round}: {}", chat.nvim.messages());
        chat.wait_for_buffer("f0.txt", &text(0));
        chat.wait_for_buffer("f1.txt", &mine);
        chat.in_buffer("f1.txt", "vim.cmd('silent write')");
        for number in (0..FILES).filter(|number| *number != 1) {
            let now = fs::read_to_string(chat.path(&name(number))).unwrap();
            assert_eq!(now, text(number), "{round}: {}", name(number));
        }
        assert_eq!(chat.file("f1.txt").unwrap(), mine);
        assert_eq!(chat.in_buffer("f0.txt", "return vim.bo.modified"), json!(false));
    }
    chat.finish();
}

/// Holds (Review): What a command of Claude, OpenCode and Gemini changes on a line that the user has undone, rejected or saved before is no conflict.
fn a_command_changes_what_was_undone_or_saved_before(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.txt", "one\ntwo\nthree\nfour\n")]);
    chat.nvim.command("wincmd t | edit a.txt");
    let runs = |chat: &mut Chat, number: usize, edit: &str, text: &str| {
        // The next prompt tells the agent of what has changed by the first line.
        chat.ask(&format!("step {number}\n[[shell sed -i '{edit}' a.txt]][[say ok]]"));
        chat.ends_allowing("end_turn");
        chat.wait_for_buffer("a.txt", text);
        assert_eq!(chat.in_buffer("a.txt", "return vim.bo.modified"), json!(false), "{edit}");
        assert!(!chat.nvim.messages().contains("same lines"), "{}", chat.nvim.messages());
    };
    runs(&mut chat, 1, "s/two/TWO/", "one\nTWO\nthree\nfour\n");
    chat.nvim.command("RatUndo");
    chat.until("the question", |chat| chat.nvim.screen().contains("1  Undo").then_some(()));
    chat.nvim.input("1<CR>");
    chat.wait_for_buffer("a.txt", "one\ntwo\nthree\nfour\n");
    runs(&mut chat, 2, "s/two/TWO/", "one\nTWO\nthree\nfour\n");
    chat.nvim.command("RatReject all");
    chat.wait_for_buffer("a.txt", "one\ntwo\nthree\nfour\n");
    runs(&mut chat, 3, "s/two/zwei/", "one\nzwei\nthree\nfour\n");
    chat.in_buffer("a.txt", "vim.cmd('silent 4s/four/mine/ | silent write')");
    runs(&mut chat, 4, "s/mine/vier/", "one\nzwei\nthree\nvier\n");
    chat.finish();
}
