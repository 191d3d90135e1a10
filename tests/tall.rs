//! Paragraphs that are taller than the window they are in: their end is visible while they stream in, and after.

use crate::support::{Chat, PROMPT, TRANSCRIPT};
use serde_json::{Value as Json, json};
use std::ops::Range;

/// Streams words of one paragraph. The last one is followed by a mark, so that it is not the beginning of another.
fn stream(chat: &mut Chat, words: Range<usize>) {
    for number in words {
        chat.say(&format!("word{number}; "));
    }
}

/// Waits until the word is on the screen.
fn poll_word(chat: &mut Chat, number: usize) {
    chat.nvim.poll_screen(&format!("word{number};"));
}

/// The rows of the transcript's window that have text below its last line.
fn rows_below_end(chat: &mut Chat) -> u64 {
    let code = "local win = vim.fn.bufwinid('rat://fake/1')
        vim.cmd.redraw()
        local pos = vim.fn.screenpos(win, vim.fn.line('$', win), 2 ^ 30)
        return vim.fn.win_screenpos(win)[1] + vim.api.nvim_win_get_height(win) - 1 - pos.row";
    chat.nvim.lua(code, json!([])).as_u64().unwrap()
}

const SIZES: [(u16, u16); 3] = [(80, 24), (60, 24), (120, 16)];

/// Holds (Windows and views): The end of a paragraph that is taller than its window is visible while it streams in, and after.
#[test]
fn the_end_of_a_tall_paragraph_is_visible() {
    for (columns, lines) in SIZES {
        let mut chat = Chat::builder().screen(columns, lines).in_turn();
        assert_eq!(chat.nvim.eval("vim.go.smoothscroll"), json!(false), "the user's default");
        stream(&mut chat, 0..20);
        for (keys, until) in [("", 100), ("ityping", 200), ("<Esc>", 300)] {
            chat.nvim.enter(PROMPT);
            chat.nvim.input(keys);
            for next in (until - 80..=until).step_by(20) {
                stream(&mut chat, next - 20..next);
                poll_word(&mut chat, next - 1);
            }
        }
        chat.nvim.enter(TRANSCRIPT);
        stream(&mut chat, 300..340);
        poll_word(&mut chat, 339);
        // What comes below it leaves its end in sight.
        chat.say("\n\nShort.\n\n");
        chat.nvim.poll_screen("Short.");
        poll_word(&mut chat, 339);
        chat.end_turn("end_turn");
        chat.nvim.poll_state("ready");
        poll_word(&mut chat, 339);
    }
}

/// Holds (Windows and views): The end of a tall paragraph stays visible, whatever becomes of its windows.
#[test]
fn the_end_of_a_tall_paragraph_stays_visible_in_other_windows() {
    let mut chat = Chat::builder().screen(80, 24).in_turn();
    stream(&mut chat, 0..200);
    poll_word(&mut chat, 199);
    for (columns, lines) in [(60, 24), (140, 20), (80, 40), (100, 14), (80, 24)] {
        chat.nvim.resize(columns, lines);
        poll_word(&mut chat, 199);
    }
    for command in ["RatPlan", "RatTools", "RatPlan", "RatTools", "RatToggle | RatToggle"] {
        chat.nvim.command(command);
        poll_word(&mut chat, 199);
        assert_eq!(rows_below_end(&mut chat), 0, "{command}");
    }
    chat.nvim.enter(PROMPT);
    chat.nvim.input("ione<CR>two<CR>three<CR>four<Esc>");
    poll_word(&mut chat, 199);
    chat.nvim.input("ggdG");
    poll_word(&mut chat, 199);
    assert_eq!(rows_below_end(&mut chat), 0);
    // Split again: both follow.
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.command("split");
    stream(&mut chat, 200..230);
    chat.nvim.poll("the end in both windows", |nvim| {
        nvim.screen().text().matches("word229;").count() == 2
    });
    chat.nvim.command("close");
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.command("tab split");
    poll_word(&mut chat, 229);
    stream(&mut chat, 230..260);
    poll_word(&mut chat, 259);
    chat.nvim.command("tabclose");
    poll_word(&mut chat, 259);
}

/// Holds (Windows and views): The end of a tall paragraph is visible also with 'nosmoothscroll' in the transcript.
#[test]
fn the_end_of_a_tall_paragraph_is_visible_without_smoothscroll() {
    let mut chat = Chat::builder().screen(80, 24).start();
    chat.nvim.lua("vim.wo[vim.fn.bufwinid('rat://fake/1')][0].smoothscroll = false", json!([]));
    chat.prompt("go");
    stream(&mut chat, 0..200);
    poll_word(&mut chat, 199);
    chat.nvim.enter(PROMPT);
    chat.nvim.input("i");
    stream(&mut chat, 200..260);
    poll_word(&mut chat, 259);
    chat.nvim.resize(60, 24);
    poll_word(&mut chat, 259);
}

/// Where a reader is: the cursor, the line at the top and how much of it is hidden.
fn view(chat: &mut Chat) -> Json {
    let code = "return vim.api.nvim_win_call(vim.fn.bufwinid('rat://fake/1'), function()
        local view = vim.fn.winsaveview()
        return { view.lnum, view.col, view.topline, view.skipcol }
    end)";
    chat.nvim.lua(code, json!([]))
}

/// Holds (Windows and views): A reader who has scrolled up within a paragraph is not moved.
#[test]
fn a_reader_within_a_tall_paragraph_is_not_moved() {
    let mut chat = Chat::builder().screen(80, 24).in_turn();
    stream(&mut chat, 0..200);
    poll_word(&mut chat, 199);
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.input("40<C-y>");
    chat.nvim.poll_no("word199;");
    let before = view(&mut chat);
    chat.nvim.enter(PROMPT);
    stream(&mut chat, 200..240);
    chat.nvim.poll("all of it", |nvim| {
        nvim.buffer_lines(TRANSCRIPT).last().is_some_and(|line| line.contains("word239;"))
    });
    assert_eq!(view(&mut chat), before);
    // `G$` follows again, and so does sending a prompt.
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.input("G$");
    poll_word(&mut chat, 239);
    stream(&mut chat, 240..300);
    poll_word(&mut chat, 299);
    chat.nvim.input("gg");
    chat.nvim.poll_no("word299;");
    chat.nvim.command("RatSend more");
    poll_word(&mut chat, 299);
}

/// Holds (Windows and views): The end of a page is visible also if its last line is taller than the window.
#[test]
fn the_end_of_a_page_with_a_tall_line_is_visible() {
    let mut chat = Chat::builder().screen(80, 24).in_turn();
    let words: String = (0..300).map(|number| format!("word{number}; ")).collect();
    let show = "local text = ...
        require('rat.view.text_page').show({ chat = 1, kind = 'info', title = 'A page', filetype = '',
            lines = { 'first', text }, focus = true, at_end = true })";
    chat.nvim.lua(show, json!([words]));
    chat.nvim.poll_screen("word299;");
}
