//! The page of `:RatReview`: colours of the code, folds, and what the keys there do.

use std::path::{Path, PathBuf};

use crate::support::Chat;
use crate::undo::{in_project_builder, turn_with_command};
use serde_json::json;

const LUA: &str = "local one = 1\nlocal two = 2\n-- three\nlocal four = 4\nlocal five = 5\n\n\n\n\n\n\nlocal six = 6\n";

/// A turn with two tool calls that change a file, and its review.
fn reviewed() -> Chat {
    reviewed_calls(["Name it", "Count"])
}

/// The same, with these titles of the calls.
fn reviewed_calls(titles: [&str; 2]) -> Chat {
    let mut chat = Chat::builder().file("a.lua", LUA).file("b.txt", "1\n2\n").in_turn();
    let path = chat.path("a.lua");
    let mut content = LUA.to_owned();
    for (id, title, old, new) in [
        ("t1", titles[0], "local two = 2", "local second = { 2 }"),
        ("t2", titles[1], "local six = 6", "return 6"),
    ] {
        chat.tool_call(json!({"toolCallId": id, "title": title, "kind": "edit",
            "status": "in_progress", "locations": [{"path": path}]}));
        // Once that is on the screen, the file has been looked at.
        let calls = if id == "t2" && titles[0] == titles[1] { 2 } else { 1 };
        chat.nvim.poll(title, |nvim| {
            let lines = nvim.buffer_lines("rat://fake/1");
            lines.iter().filter(|line| line.contains(title)).count() == calls
        });
        content = content.replace(old, new);
        std::fs::write(&path, &content).unwrap();
        chat.tool_call_update(json!({"toolCallId": id, "status": "completed"}));
        chat.nvim.poll(title, |nvim| {
            let count = "require('rat').changes({}, function(c) vim.g.pending = #c end)";
            nvim.lua(count, json!([]));
            nvim.eval("vim.g.pending") == json!(if id == "t1" { 1 } else { 2 })
        });
    }
    let other = chat.path("b.txt");
    chat.request("fs/write_text_file", json!({"path": other, "content": "1\ntwo\nthird\n"}))
        .unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 2 files, 3 hunks");
    chat.nvim.poll_screen("@@ -1,5 +1,5 @@ Name it");
    chat
}

fn folds(chat: &mut Chat) -> Vec<u64> {
    let levels = chat.nvim.eval("vim.tbl_map(vim.fn.foldlevel, vim.fn.range(1, vim.fn.line('$')))");
    levels.as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).collect()
}

/// Holds (Review): Code in a review is coloured by its language, if there is a parser.
#[test]
fn code_is_coloured_under_the_colours_of_the_diff() {
    let mut chat = reviewed();
    for text in ["local second", "local two", "local one"] {
        chat.nvim.poll(text, |nvim| {
            let screen = nvim.screen();
            let group = screen.highlight_of(text).unwrap_or_default();
            group.contains("Statement") || group.contains("keyword")
        });
    }
    let screen = chat.nvim.screen();
    assert!(screen.highlight_of("local second").unwrap().contains("DiffAdd"));
    assert!(screen.highlight_of("local two").unwrap().contains("DiffDelete"));
    assert_eq!(screen.highlight_of("third"), Some("DiffAdd"), "there is no parser for text");
}

/// Holds (Review): A review on another tab page follows what becomes of the files, so that it is up to date when the user comes back.
#[test]
fn a_review_is_up_to_date_when_the_user_comes_back() {
    let mut chat = reviewed();
    chat.nvim.command("call bufload(bufadd('b.txt'))");
    let last = chat.nvim.buffer_lines("rat://review").iter().position(|it| it == "+two").unwrap();
    chat.nvim.command(&format!("{}", last + 1));
    chat.nvim.input("r");
    chat.nvim.poll_screen("1 file, 2 hunks");
    chat.nvim.command("tabprevious | wincmd t | edit b.txt");
    chat.nvim.input("u");
    let has_it = |lines: &[String]| lines.iter().any(|line| line == "+two");
    chat.nvim.poll("the hunk again", |nvim| has_it(&nvim.buffer_lines("rat://review")));
    chat.nvim.command("tabnext");
    chat.nvim.poll_screen("Review · 2 files, 3 hunks");
}

/// Holds (Review): Files are folded, and in them what each tool call has changed; what is closed stays so after a decision.
#[test]
fn files_and_tool_calls_are_folded() {
    let mut chat = reviewed();
    let of_first = |levels: &[u64]| (levels[0], levels[1], levels[8]);
    let levels = folds(&mut chat);
    assert_eq!(of_first(&levels), (1, 2, 2), "{levels:?}");
    chat.nvim.input("ggjzc");
    let closed = |chat: &mut Chat, line: u64| chat.nvim.eval(&format!("vim.fn.foldclosed({line})"));
    assert_eq!(closed(&mut chat, 2), json!(2));
    chat.nvim.input("zRggzc");
    assert_eq!(closed(&mut chat, 2), json!(1));
    let last = chat.nvim.buffer_lines("rat://review").iter().position(|it| it == "+two").unwrap();
    chat.nvim.command(&format!("{}", last + 1));
    chat.nvim.input("a");
    chat.nvim.poll_screen("1 file, 2 hunks");
    assert_eq!(closed(&mut chat, 2), json!(1), "an update keeps it closed");
}

/// Holds (Review): Calls of the same title are folded one by one.
#[test]
fn each_of_two_calls_of_one_title_is_folded() {
    let mut chat = reviewed_calls(["Name it", "Name it"]);
    chat.nvim.input("ggjzc");
    let closed = "{ vim.fn.foldclosed(2), vim.fn.foldclosedend(2) < vim.fn.line('$') - 5 }";
    assert_eq!(chat.nvim.eval(closed), json!([2, true]));
    let levels = folds(&mut chat);
    assert_eq!((levels[0], levels[1], levels[8]), (1, 2, 2), "{levels:?}");
}

/// Holds (Review): What changed while no tool call ran is a group of its own, which a decision on the turn leaves alone.
#[test]
fn what_nobody_can_attribute_is_a_group_of_its_own() {
    let mut chat = Chat::builder()
        .file("a.txt", "1\n2\n")
        .file("b.txt", "1\n2\n")
        .file("c.png", b"\0one".to_vec())
        .in_turn();
    let (path, other) = (chat.path("a.txt"), chat.path("b.txt"));
    chat.request("fs/write_text_file", json!({"path": path, "content": "1\ntwo\n"})).unwrap();
    std::fs::write(&other, "one\n2\n").unwrap();
    std::fs::write(chat.path("c.png"), b"\0two!").unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatTurns");
    chat.nvim.poll_screen("Turns that changed files");
    chat.nvim.input("<Esc>");
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 3 files, 2 hunks");
    let heading = "Changed while no tool call ran: by the agent, or by somebody else";
    let page = chat.nvim.buffer_lines("rat://review");
    assert_eq!(page[0], "a.txt  +1 -1");
    let at = page.iter().position(|line| line == heading).unwrap();
    assert_eq!(page[at + 1..at + 4], ["c.png  binary, 4 to 5 bytes", "", "b.txt  +1 -1"]);
    chat.nvim.command("RatReject turn");
    chat.nvim.poll_screen("Review · 2 files, 1 hunk");
    let text = |chat: &Chat, name: &str| std::fs::read_to_string(chat.path(name)).unwrap();
    assert_eq!((text(&chat, "a.txt"), text(&chat, "b.txt")), ("1\n2\n".into(), "one\n2\n".into()));
    assert_eq!(chat.nvim.buffer_lines("rat://review")[0], heading);
    chat.nvim.input("ggr");
    chat.nvim.poll_screen("Nothing is pending");
    assert_eq!(text(&chat, "b.txt"), "1\n2\n");
    assert_eq!(std::fs::read(chat.path("c.png")).unwrap(), b"\0one");
}

/// Holds (Review): A selection within a hunk is decided on alone, and `u` takes the last decision back.
#[test]
fn a_part_of_a_hunk_is_decided_on_and_a_decision_taken_back() {
    let mut chat = Chat::builder().file("a.txt", "1\n2\n3\n4\n").in_turn();
    chat.nvim.command("wincmd t | edit a.txt");
    let path = chat.path("a.txt");
    let content = "1\ntwo\nthree\n4\n";
    chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("+three");
    let name = path.to_str().unwrap();
    let poll_page = |chat: &mut Chat, wanted: &[&str]| {
        chat.nvim
            .poll(&format!("{wanted:?}"), |nvim| nvim.buffer_lines("rat://review")[1..] == *wanted);
    };
    let whole = ["@@ -1,4 +1,4 @@", " 1", "-2", "-3", "+two", "+three", " 4"];
    poll_page(&mut chat, &whole);
    // The second of the added lines.
    chat.nvim.input("7GVr");
    poll_page(&mut chat, &["@@ -1,4 +1,3 @@", " 1", "-2", "-3", "+two", " 4"]);
    assert_eq!(chat.nvim.buffer_lines(name), ["1", "two", "4"]);
    chat.nvim.input("u");
    poll_page(&mut chat, &whole);
    // The first of the removed ones.
    chat.nvim.input("4GVa");
    poll_page(&mut chat, &["@@ -1,3 +1,4 @@", " 1", "-3", "+two", "+three", " 4"]);
    chat.nvim.input("u");
    poll_page(&mut chat, &whole);
    assert_eq!(chat.nvim.buffer_lines(name), ["1", "two", "three", "4"]);
    chat.nvim.input("uu");
    chat.nvim.poll("told", |nvim| nvim.messages().contains("Nothing to take back"));
}

/// Holds (Review): After the last hunk of a review, the same key decides on nothing until the user moves: what is before it was passed over.
#[test]
fn a_key_that_is_held_decides_on_nothing_that_was_passed_over() {
    let mut chat = reviewed();
    chat.nvim.input("G[c");
    chat.nvim.input("r");
    chat.nvim.poll_screen("1 file, 2 hunks");
    for _ in 0..3 {
        chat.nvim.command("messages clear");
        chat.nvim.input("r");
        chat.nvim.poll("nothing to decide", |nvim| nvim.messages().contains("That was the last"));
    }
    assert!(chat.nvim.screen().contains("1 file, 2 hunks"));
    chat.nvim.input("[cr");
    chat.nvim.poll_screen("1 file, 1 hunk");
}

/// Holds (Review): A decision on many files is told in one line.
#[test]
fn a_decision_on_many_files_is_told_once() {
    let mut builder = Chat::builder();
    for number in 0..20 {
        builder = builder.file(&format!("{number}.txt"), "1\n");
    }
    let mut chat = builder.in_turn();
    for number in 0..20 {
        let path = chat.path(&format!("{number}.txt"));
        chat.request("fs/write_text_file", json!({"path": path, "content": "one\n"})).unwrap();
    }
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("20 files, 20 hunks");
    chat.nvim.input("ggVGr");
    chat.nvim.poll_screen("Nothing is pending");
    let messages = chat.nvim.messages();
    assert_eq!(messages.matches("Rejected").count(), 1, "{messages}");
    assert!(messages.contains("Rejected 20 hunks in 20 files"), "{messages}");
    chat.nvim.input("u");
    chat.nvim.poll_screen("20 files, 20 hunks");
}

/// Ten hunks in one file, in the review.
fn ten_hunks() -> (Chat, PathBuf) {
    let old: String = (1..=30).map(|n| format!("{n}\n")).collect();
    // After every third line two more: each rejection moves all hunks after it.
    let new: String = (1..=30)
        .map(|n| if n % 3 == 0 { format!("{n}\nnew {n}\nmore {n}\n") } else { format!("{n}\n") })
        .collect();
    let mut chat = Chat::builder().file("a.txt", old).in_turn();
    let path = chat.path("a.txt");
    chat.request("fs/write_text_file", json!({"path": path, "content": new})).unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("1 file, 10 hunks");
    (chat, path)
}

/// Waits until these of the ten hunks are left in the file, counted from 1.
fn poll_left(chat: &mut Chat, path: &Path, expected: &[u32]) {
    chat.nvim.poll(&format!("{expected:?}"), |nvim| {
        let text = nvim.lua("return vim.fn.join(vim.fn.readfile(...), ' ')", json!([path]));
        let text = text.as_str().unwrap_or_default().to_owned();
        let left: Vec<u32> =
            (1..=10).filter(|n| text.contains(&format!("new {} ", 3 * n))).collect();
        left == expected
    });
}

/// Holds (Review): With a count, a decision is about that many hunks, from the one at the cursor on.
#[test]
fn a_count_decides_on_that_many_hunks() {
    let (mut chat, path) = ten_hunks();
    chat.nvim.input("gg]c]c3r");
    poll_left(&mut chat, &path, &[1, 5, 6, 7, 8, 9, 10]);
    chat.nvim.poll("the count", |nvim| nvim.messages().contains("Rejected 3 hunks in a.txt"));
    chat.nvim.poll_screen("1 file, 7 hunks");
    chat.nvim.input("u");
    chat.nvim.poll_screen("1 file, 10 hunks");
    // From the line with the name on, and more than there are.
    chat.nvim.input("gg2r");
    poll_left(&mut chat, &path, &[3, 4, 5, 6, 7, 8, 9, 10]);
    chat.nvim.poll_screen("1 file, 8 hunks");
    chat.nvim.input("gg99r");
    poll_left(&mut chat, &path, &[]);
    chat.nvim.poll_screen("Nothing is pending");
}

/// Holds (Review): A decision is about the hunk that the user sees, also if they are faster than the review is updated.
#[test]
fn fast_decisions_are_about_what_is_shown() {
    let (mut chat, path) = ten_hunks();
    // The first, third, fifth and seventh hunk, and each of them twice, before anything can be drawn.
    let keys = "vim.api.nvim_feedkeys('gg]crr]c]crr]c]crr]c]crr', 'x', false)";
    chat.nvim.lua(keys, json!([]));
    poll_left(&mut chat, &path, &[2, 4, 6, 8, 9, 10]);
    chat.nvim.poll_screen("1 file, 6 hunks");
}

/// Holds (Review): A closed fold is decided on as a whole, as `dd` deletes it: the message says how many hunks that were, and `u` takes all of it back.
#[test]
fn a_closed_fold_is_decided_on_as_a_whole() {
    let mut chat = reviewed();
    let before = chat.nvim.buffer_lines("rat://review");
    for (keys, told) in [
        ("zcr", "Rejected 1 hunk in a.lua"),
        ("zczca", "Accepted 2 hunks in a.lua"),
        ("zczcr", "Rejected 2 hunks in a.lua"),
        ("zczc2r", "Rejected 2 hunks in a.lua"),
        ("zczcV/@@<CR>r", "Rejected 3 hunks in 2 files"),
    ] {
        chat.nvim.command("messages clear");
        chat.nvim.input(&format!("zRgg/+local second<CR>{keys}"));
        chat.nvim.poll(&format!("{keys}: {told}"), |nvim| nvim.messages().contains(told));
        chat.nvim.input("u");
        let again = told.split_once(' ').map(|(_, what)| format!("Pending again: {what}"));
        let again = again.unwrap_or_default();
        chat.nvim.poll(&again, |nvim| nvim.messages().contains(&again));
        chat.nvim.poll("the page", |nvim| nvim.buffer_lines("rat://review") == before);
    }
    // A comment and a comparison are about what is to be seen, too.
    chat.nvim.input("zRgg/+local second<CR>zczcc");
    chat.nvim.poll_screen("Comment on a.lua:1");
}

/// Holds (Review): A hunk keeps the title of the tool call that made it, though the agent uses its id again after a restart; the last tool call is the later one.
#[test]
fn a_hunk_keeps_its_title_after_a_restart() {
    let mut chat = Chat::builder().file("a.txt", "1\n").file("b.txt", "1\n").in_turn();
    for (name, title) in [("a.txt", "Begin"), ("b.txt", "Go on")] {
        if name == "b.txt" {
            chat.nvim.command("RatRestart");
            chat.agent.expect_start();
            chat.agent.handshake();
            chat.nvim.poll_state("ready");
            chat.prompt("again");
        }
        let path = chat.path(name);
        chat.tool_call(json!({"toolCallId": "t1", "title": title, "kind": "edit",
            "status": "in_progress", "locations": [{"path": path}]}));
        chat.nvim.poll_screen(title);
        chat.request("fs/write_text_file", json!({"path": path, "content": "one\n"})).unwrap();
        chat.tool_call_update(json!({"toolCallId": "t1", "status": "completed"}));
        chat.end_turn("end_turn");
        chat.nvim.poll_state("ready");
    }
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 2 files, 2 hunks");
    let page = chat.nvim.buffer_lines("rat://review");
    assert_eq!((&*page[1], &*page[6]), ("@@ -1 +1 @@ Begin", "@@ -1 +1 @@ Go on"), "{page:#?}");
    chat.nvim.command("RatReview tool");
    chat.nvim.poll_screen("Review · last tool call: 1 file, 1 hunk");
    assert_eq!(chat.nvim.buffer_lines("rat://review")[0], "b.txt  +1 -1");
}

/// Holds (Review): `o` goes to the line of the hunk, also in a file that was moved and is not loaded, and from the row that names it to its first change.
#[test]
fn the_line_of_a_hunk_is_gone_to() {
    let text = |last: &str| (1..40).map(|at| format!("{at}\n")).collect::<String>() + last;
    let builder = in_project_builder().file("long.txt", text("40\n")).file("b.txt", text("40\n"));
    let mut chat = builder.start();
    turn_with_command(&mut chat, |root: &Path| {
        std::fs::remove_file(root.join("long.txt")).unwrap();
        std::fs::write(root.join("short.txt"), text("forty\n")).unwrap();
        std::fs::write(root.join("b.txt"), text("FORTY\n")).unwrap();
        std::fs::write(root.join("zz.txt"), text("").replace('\n', " new\n")).unwrap();
    });
    for (row, name, line) in [
        ("+forty", "short.txt", 40),
        ("+FORTY", "b.txt", 40),
        ("long.txt →", "short.txt", 40),
        ("b.txt", "b.txt", 40),
        ("+7 new", "zz.txt", 7),
        ("zz.txt", "zz.txt", 1),
    ] {
        chat.nvim.command("tabfirst | wincmd t | enew | silent! bwipeout b.txt short.txt zz.txt");
        chat.nvim.command("RatReview");
        chat.nvim.poll_screen("Review · 3 files");
        chat.nvim.input(&format!("gg/^\\V{row}<CR>o"));
        // Once the signs are there, nothing more happens to the text.
        chat.nvim.poll(&format!("{row}: {name}, {line}"), |nvim| {
            nvim.eval("{vim.fn.expand('%:t'), vim.fn.line('.'), vim.b.rat_pending}")
                == json!([name, line, 1])
        });
    }
}
