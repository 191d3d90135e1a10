//! A disk that takes no more changes nothing and is told in one line, in real Neovim.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Chat, ChatBuilder, Dice, Options, TempFolder, binary};
use crate::undo::{answer, tree, turn_with_command};
use crate::undo_later::{restarted, says};

/// A text that a file which rat-nvim writes cannot have, but a compressed one can.
fn long_text(word: &str) -> String {
    format!("{word}\n").repeat(200_000)
}

/// Bytes that cannot be compressed.
fn noise() -> Vec<u8> {
    let mut dice = Dice::new(1);
    (0..1 << 20).map(|_| u8::try_from(dice.within(0..256)).unwrap()).collect()
}

/// A chat whose rat-nvim can write no file of more than 400 KiB.
fn with_limit(scratch: &TempFolder) -> ChatBuilder {
    let script = scratch.path().join("limited");
    let limit = "trap '' XFSZ\nulimit -f 400";
    fs::write(&script, format!("#!/bin/sh\n{limit}\nexec {} \"$@\"\n", binary().display()))
        .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let init = format!("vim.g.rat_binary = '{}'", script.display());
    Chat::builder().options(Options { init, ..Options::wide() })
}

/// How often the user was told.
fn told(chat: &mut Chat, message: &str) -> usize {
    chat.nvim.messages().replace('\n', " ").matches(message).count()
}

/// Holds (Review): Where a turn cannot be kept, its prompt is sent, one line says so once, and the turn before is not undone instead.
#[test]
fn a_turn_that_cannot_be_kept_is_told_once() {
    let scratch = TempFolder::new();
    let mut chat = with_limit(&scratch).file("a.txt", "one\n").file("b.txt", "one\n").start();
    let write = |name: &'static str, text: &'static str| {
        move |root: &std::path::Path| fs::write(root.join(name), text).unwrap()
    };
    turn_with_command(&mut chat, write("a.txt", "two\n"));
    turn_with_command(&mut chat, |root| fs::write(root.join("large"), noise()).unwrap());
    let line = "This turn cannot be undone: checkpoints of";
    chat.nvim.poll(line, |nvim| nvim.messages().contains(line));
    let why = "cannot be kept: File too large. Make room on the disk";
    assert_eq!((told(&mut chat, "[rat]"), told(&mut chat, why)), (1, 1));
    // It is no news in the next turn, which begins without a checkpoint.
    turn_with_command(&mut chat, write("b.txt", "two\n"));
    assert_eq!(told(&mut chat, "[rat]"), 1);
    says(&mut chat, "RatUndo", "The last turn is not kept and cannot be undone: checkpoints of");
    fs::remove_file(chat.path("large")).unwrap();
    turn_with_command(&mut chat, write("b.txt", "three\n"));
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    let text = |name| fs::read_to_string(chat.path(name)).unwrap();
    assert_eq!((text("a.txt"), text("b.txt")), ("two\n".into(), "two\n".into()));
}

/// Holds (Review): An undo for which there is no room on the disk changes no file and no buffer, and one line says so.
#[test]
fn an_undo_that_cannot_be_written_changes_nothing() {
    let scratch = TempFolder::new();
    let builder = with_limit(&scratch).file("large.txt", long_text("one"));
    let mut chat = builder.file("a.txt", "one\n").file("z.txt", "one\n").start();
    chat.nvim.command("wincmd t | edit a.txt");
    turn_with_command(&mut chat, |root| {
        for name in ["a.txt", "large.txt"] {
            fs::write(root.join(name), "two\n").unwrap();
        }
        fs::remove_file(root.join("z.txt")).unwrap();
        fs::write(root.join("new.txt"), "two\n").unwrap();
    });
    let after = tree(chat.nvim.cwd());
    chat.nvim.command("messages clear");
    let line = "No file in";
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 4 files", line);
    assert_eq!(tree(chat.nvim.cwd()), after);
    let open = chat.path("a.txt");
    assert_eq!(chat.nvim.buffer_lines(open.to_str().unwrap()), ["two"]);
    let why = "was changed: File too large. Make room on the disk";
    assert_eq!((told(&mut chat, "[rat]"), told(&mut chat, why)), (1, 1));
    // It can be undone all the same once there is room.
    says(&mut chat, "RatRedo", "Nothing to redo");
    let mut chat = restarted(chat);
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 4 files", "Undid the turn in 4 files");
    let text = |name| fs::read_to_string(chat.path(name)).unwrap();
    assert_eq!((text("a.txt"), text("large.txt")), ("one\n".into(), long_text("one")));
}
