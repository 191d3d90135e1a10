//! What a turn has changed is reviewed, undone, redone and rejected in the same way, however the agent writes: to the disk,
//! through us, both, or by a command.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::agents::{Chat, Kind};
use crate::support::files_below;
use crate::{with_agent, with_each_agent};

with_each_agent!(edits_are_reviewed_and_undone, a_command_is_reviewed_and_undone);

const OPEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
const EDITED: &str = "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nNINE\nten\n";

/// The first is in the user's window; nobody has opened the others.
const FILES: [(&str, &str); 3] =
    [("open.txt", OPEN), ("closed.txt", "1\r\n2\r\n3\r\nlast"), ("old.txt", "old\nolder\n")];

/// By the agent's own tools; only a shell deletes.
const EDITS: &str = concat!(
    "[[read open.txt]][[edit open.txt|two|TWO]][[edit open.txt|nine|NINE]]",
    "[[read closed.txt]][[edit closed.txt|2|TWO]]",
    r"[[write new.txt|new\nnewer\n]][[shell rm old.txt]]",
);

const COMMAND: &str = concat!(
    "[[shell sed -i 's/two/TWO/; s/nine/NINE/' open.txt && sed -i s/2/TWO/ closed.txt ",
    "&& (echo new; echo newer) > new.txt && rm old.txt]]",
);

const REVIEW: &str = "\
closed.txt  +1 -1
@@ -1,4 +1,4 @@
 1
-2
+TWO
 3
 last

new.txt (new file)  +2 -0
@@ -0,0 +1,2 @@
+new
+newer

old.txt (deleted)  +0 -2
@@ -1,2 +0,0 @@
-old
-older

open.txt  +2 -2
@@ -1,5 +1,5 @@
 one
-two
+TWO
 three
 four
 five
@@ -6,5 +6,5 @@
 six
 seven
 eight
-nine
+NINE
 ten";

/// Every file of the project: its mode and its bytes.
type Tree = BTreeMap<String, (u32, Vec<u8>)>;

fn tree(chat: &Chat) -> Tree {
    let root = chat.nvim.cwd();
    let files = files_below(root).into_iter().map(|path| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let mode = path.metadata().unwrap().permissions().mode();
        (name, (mode, fs::read(path).unwrap()))
    });
    files.collect()
}

/// Opens the review: its text without the titles of tool calls, and these titles.
fn review(chat: &mut Chat) -> (String, Vec<String>) {
    chat.nvim.command("RatReview");
    chat.until("the review", |chat| {
        chat.nvim.screen().contains("Review · 4 files, 5 hunks").then_some(())
    });
    let mut titles = Vec::new();
    let lines = chat.nvim.buffer_lines("rat://review").into_iter().map(|line| {
        if !line.starts_with("@@ ") {
            return line;
        }
        let (place, title) = line.rsplit_once(" @@").unwrap();
        titles.push(title.trim().to_owned());
        format!("{place} @@")
    });
    (lines.collect::<Vec<_>>().join("\n"), titles)
}

/// Checks the review, where each hunk has a title in which these words are.
fn is_reviewed(chat: &mut Chat, words: [&str; 5]) {
    let (text, titles) = review(chat);
    assert_eq!(text, REVIEW);
    assert_eq!(titles.len(), words.len(), "{titles:?}");
    for (title, word) in titles.iter().zip(words) {
        assert!(title.contains(word), "{word} in {titles:?}");
    }
}

fn answer(chat: &mut Chat, command: &str, question: &str, done: &str) {
    chat.nvim.command(command);
    chat.until(question, |chat| chat.nvim.screen().contains(question).then_some(()));
    chat.nvim.input("1<CR>");
    chat.until(done, |chat| chat.nvim.messages().contains(done).then_some(()));
}

/// Holds (Review): What Claude, Gemini, OpenCode and agents on SDKs edit gives the same review, and undo, redo and rejection of the turn are exact.
fn edits_are_reviewed_and_undone(kind: Kind) {
    let words = ["closed.txt", "new.txt", "rm old.txt", "open.txt", "open.txt"];
    reviewed_and_undone(kind, EDITS, words);
}

/// Holds (Review): What a command of Claude, Gemini, OpenCode or an agent on an SDK changes gives the same review as edits, and undo, redo and rejection of the turn are exact.
fn a_command_is_reviewed_and_undone(kind: Kind) {
    reviewed_and_undone(kind, COMMAND, ["sed -i"; 5]);
}

fn reviewed_and_undone(kind: Kind, prompt: &str, words: [&str; 5]) {
    let mut chat = Chat::open(kind, &FILES);
    let before = tree(&chat);
    chat.ask(prompt);
    chat.ends_allowing("end_turn");
    let after = tree(&chat);
    let bytes: Vec<_> = after.iter().map(|(name, (_, bytes))| (&name[..], &bytes[..])).collect();
    let closed: &[u8] = b"1\r\nTWO\r\n3\r\nlast";
    let wanted =
        [("closed.txt", closed), ("new.txt", b"new\nnewer\n"), ("open.txt", EDITED.as_bytes())];
    assert_eq!(bytes, wanted);
    is_reviewed(&mut chat, words);
    chat.wait_for_buffer("open.txt", EDITED);
    answer(&mut chat, "RatUndo", "? 4 files", "Undid the turn in 4 files");
    assert_eq!(tree(&chat), before);
    chat.wait_for_buffer("open.txt", OPEN);
    nothing_is_pending(&mut chat);
    answer(&mut chat, "RatRedo", "? 4 files", "Redid the turn in 4 files");
    assert_eq!(tree(&chat), after);
    chat.wait_for_buffer("open.txt", EDITED);
    is_reviewed(&mut chat, words);
    chat.nvim.command("RatReject turn");
    let rejected = "Rejected 5 hunks in 4 files";
    chat.until(rejected, |chat| chat.nvim.messages().contains(rejected).then_some(()));
    assert_eq!(tree(&chat), before);
    chat.wait_for_buffer("open.txt", OPEN);
    nothing_is_pending(&mut chat);
    assert!(!chat.is_modified("open.txt"));
    chat.finish();
}

/// The open review shows that.
fn nothing_is_pending(chat: &mut Chat) {
    chat.until("an empty review", |chat| {
        (chat.nvim.buffer_lines("rat://review") == ["Nothing is pending. q closes."]).then_some(())
    });
}
