//! Where the cursor goes in a review and from hunk to hunk, and what the window then shows.

use crate::support::{Chat, Nvim};
use serde_json::json;
use std::fmt::Write;

/// So many hunks in a file, each of one line that has become another.
fn text(hunks: usize, word: &str) -> String {
    (1..=hunks).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "{word}{at}\n.\n.\n.\n.\n.\n.\n.");
        text
    })
}

/// A file with five hunks, another one with one, both written by an agent whose turn has ended.
fn written() -> Chat {
    let mut chat = Chat::builder().file("a.txt", text(5, "")).file("b.txt", "1\n").in_turn();
    chat.nvim.command("wincmd t | edit a.txt | call bufload(bufadd('b.txt'))");
    for (name, content) in [("a.txt", text(5, "new")), ("b.txt", "new6\n".to_owned())] {
        let path = chat.path(name);
        chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    }
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat
}

fn reviewed() -> Chat {
    let mut chat = written();
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 2 files, 6 hunks");
    poll_page(&mut chat, 6);
    chat
}

fn poll_page(chat: &mut Chat, hunks: usize) {
    chat.nvim.poll(&format!("{hunks} hunks"), |nvim| {
        let page = nvim.eval("vim.fn.getbufline('rat://review', 1, '$')");
        let lines = page.as_array().into_iter().flatten().filter_map(|line| line.as_str());
        lines.filter(|line| line.starts_with("@@")).count() == hunks
    });
}

/// The line of the cursor.
fn line(chat: &mut Chat) -> String {
    let line = chat.nvim.eval("vim.fn.getline('.')");
    line.as_str().unwrap_or_default().to_owned()
}

fn poll_line(chat: &mut Chat, wanted: &str) {
    chat.nvim.poll(&format!("the cursor at {wanted}"), |nvim| {
        nvim.eval("vim.fn.getline('.')") == json!(wanted)
    });
}

/// Holds (Review): After a decision the cursor is at what follows: the next hunk, that of the next file, or the last one.
#[test]
fn the_cursor_goes_on_to_the_next_hunk() {
    let mut chat = reviewed();
    for (search, next, left) in [
        ("+new3", "+new4", 5),
        ("+new5", "@@ -1 +1 @@", 4),
        ("+new6", "@@ -22,7 +22,7 @@", 3),
        ("+new4", "@@ -6,7 +6,7 @@", 2),
    ] {
        chat.nvim.input(&format!("gg/{search}<CR>"));
        poll_line(&mut chat, search);
        chat.nvim.input("a");
        poll_page(&mut chat, left);
        poll_line(&mut chat, next);
    }
    chat.nvim.input("ggu");
    poll_page(&mut chat, 3);
    chat.nvim.input("uu");
    poll_page(&mut chat, 5);
    chat.nvim.input("gga");
    poll_page(&mut chat, 1);
    poll_line(&mut chat, "b.txt  +1 -1");
    chat.nvim.input("a");
    poll_line(&mut chat, "Nothing is pending. q closes.");
}

/// Holds (Review): After a decision was taken back, the cursor is where it was when it was made.
#[test]
fn the_cursor_returns_with_a_hunk() {
    let mut chat = reviewed();
    for key in ["a", "r"] {
        // In the middle, and the last of its file, after which the file is gone.
        for (search, next) in [("+new3", "+new4"), ("+new6", "")] {
            chat.nvim.input(&format!("gg/{search}<CR>"));
            poll_line(&mut chat, search);
            chat.nvim.input(key);
            poll_page(&mut chat, 5);
            if !next.is_empty() {
                poll_line(&mut chat, next);
            }
            chat.nvim.input("u");
            poll_page(&mut chat, 6);
            poll_line(&mut chat, search);
        }
    }
    // A selection in two files and a file as a whole.
    chat.nvim.input("gg/+new4<CR>VGa");
    poll_page(&mut chat, 3);
    chat.nvim.input("u");
    poll_page(&mut chat, 6);
    poll_line(&mut chat, "+new4");
    chat.nvim.input("gga");
    poll_page(&mut chat, 1);
    chat.nvim.input("u");
    poll_page(&mut chat, 6);
    poll_line(&mut chat, "a.txt  +5 -5");
    // Somebody who has gone elsewhere meanwhile stays there.
    chat.nvim.input("/+new2<CR>a");
    poll_page(&mut chat, 5);
    chat.nvim.feed("uG");
    poll_page(&mut chat, 6);
    chat.nvim.poll("the last line", |nvim| {
        nvim.eval("vim.fn.line('.') == vim.fn.line('$')") == json!(true)
    });
}

/// Holds (Review): Moves from hunk to hunk take a count, and one that is too large leads to the last hunk.
#[test]
fn moves_take_a_count() {
    let mut chat = written();
    chat.nvim.lua(
        "vim.keymap.set('n', ']h', '<Plug>(rat-hunk-next)')
        vim.keymap.set('n', '[h', '<Plug>(rat-hunk-previous)')",
        json!([]),
    );
    chat.nvim.poll("the signs", |nvim| nvim.eval("vim.b.rat_pending") == json!(5));
    for (keys, wanted) in [
        ("gg3]h", "new4"),
        ("gg9]h", "new5"),
        ("9]h", "new5"),
        ("]h", "new1"),
        ("G2[h", "new4"),
        ("9[h", "new1"),
        ("9[h", "new1"),
        ("[h", "new5"),
    ] {
        chat.nvim.feed(keys);
        assert_eq!(line(&mut chat), wanted, "{keys}");
    }
    chat.nvim.command("RatReview");
    poll_page(&mut chat, 6);
    for (keys, wanted) in [
        ("gg3]cjjjjj", "+new3"),
        ("gg9]cjj", "+new6"),
        ("2[cjjjjj", "+new5"),
        ("gg9]f", "b.txt  +1 -1"),
        ("9[f", "a.txt  +5 -5"),
    ] {
        chat.nvim.feed(keys);
        let found = line(&mut chat);
        assert!(found == wanted, "{keys}: {found}");
    }
}

/// Holds (Review): A review that gets shorter fills its window as long as it has the lines.
#[test]
fn a_review_that_gets_shorter_fills_its_window() {
    let mut chat = Chat::builder().file("a.txt", text(12, "")).file("b.txt", "1\n").in_turn();
    for (name, content) in [("a.txt", text(12, "new")), ("b.txt", text(9, "end"))] {
        let path = chat.path(name);
        chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    }
    chat.nvim.command("RatReview");
    poll_page(&mut chat, 13);
    chat.nvim.input("Gzt");
    let top = "{ vim.fn.line('w0'), vim.fn.line('$') }";
    chat.nvim.poll("the last line at the top", |nvim| {
        let found = nvim.eval(top);
        found[0] == found[1]
    });
    chat.nvim.input("r");
    poll_page(&mut chat, 12);
    // The last line of the review is the last one of its window.
    let gap = "vim.fn.line('$') - vim.fn.line('w0') + 1 - vim.fn.getwininfo(vim.fn.win_getid())[1].height";
    chat.nvim.poll("a full window", |nvim| nvim.eval(gap) == json!(0));
}

/// Holds (Review): An update leaves a review where its reader has scrolled to.
#[test]
fn an_update_leaves_the_window_where_the_reader_has_scrolled_to() {
    let mut chat = Chat::builder().file("a.txt", text(12, "")).in_turn();
    let path = chat.path("a.txt");
    let write = |chat: &mut Chat, content: String| {
        chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    };
    write(&mut chat, text(12, "new"));
    chat.nvim.command("RatReview");
    poll_page(&mut chat, 12);
    chat.nvim.input("Gzt");
    let places = "{ vim.fn.line('w0'), vim.fn.line('$') }";
    let is_at_top = |nvim: &mut Nvim| {
        let found = nvim.eval(places);
        found[0] == found[1]
    };
    chat.nvim.poll("the last line at the top", is_at_top);
    write(&mut chat, text(12, "newer"));
    let page = "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true))";
    chat.nvim.poll("the update", |nvim| nvim.eval(page).to_string().contains("newer"));
    assert!(is_at_top(&mut chat.nvim), "{}", chat.nvim.eval(places));
}
