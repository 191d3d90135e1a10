//! Pages that show what a command writes: where they stand, what is above them, and how one leaves them.

use super::shown::go_to;
use crate::support::Chat;
use serde_json::json;

const TERMINAL: &str = "rat://fake/1/terminal/1";
const OUTPUT: &str = "rat://fake/1/output/1";

fn poll_buffer(chat: &mut Chat, name: &str) {
    chat.nvim.poll(name, |nvim| nvim.eval("vim.api.nvim_buf_get_name(0)") == json!(name));
}

fn here(chat: &mut Chat, code: &str) -> serde_json::Value {
    chat.nvim.lua(&format!("return {code}"), json!([]))
}

/// What stands above the current window, as it is shown.
fn poll_bar(chat: &mut Chat, wanted: &str) {
    chat.nvim.poll(&format!("{wanted:?} in the winbar"), |nvim| {
        let code = "return vim.api.nvim_eval_statusline(vim.wo.winbar, { winid = 0, use_winbar = true }).str";
        nvim.lua(code, json!([])).as_str().is_some_and(|bar| bar.contains(wanted))
    });
}

/// Holds (Terminals): A terminal buffer says how its command stands, and can be deleted once that has ended.
#[test]
fn a_terminal_buffer_tells_how_its_command_stands_and_can_be_deleted_once_it_has_ended() {
    let mut chat = Chat::in_turn();
    let terminal =
        chat.script(": make; echo one; until test -e gate; do sleep 0.02; done; exit 101");
    chat.show("call", "make test", &[&terminal]);
    chat.poll_line("running · <CR> opens it");
    go_to(&mut chat, "running");
    chat.nvim.input("<CR>");
    poll_buffer(&mut chat, TERMINAL);
    poll_bar(&mut chat, "$ : make; echo one; ");
    poll_bar(&mut chat, " · running");
    chat.nvim.file("gate", "");
    poll_bar(&mut chat, " · exit 101");
    // Nothing is typed there.
    chat.nvim.input("i");
    chat.nvim.poll("Normal mode", |nvim| {
        nvim.call("nvim_get_mode", json!([]))["mode"]
            .as_str()
            .is_some_and(|mode| mode.starts_with('n'))
    });
    let lines = chat.nvim.buffer_lines(TERMINAL);
    assert_eq!(lines[0], "one");
    assert!(lines[1..].iter().all(String::is_empty), "{lines:?}");
    let shown = "vim.api.nvim_buf_get_name(0) == 'rat://fake/1/terminal/1'";
    assert_eq!(here(&mut chat, shown), json!(true));
    chat.nvim.command("wincmd t | edit other.txt");
    chat.nvim.command("%bdelete | edit #");
    let left = "#vim.tbl_filter(function(buf) return vim.bo[buf].buftype == 'terminal' end, vim.api.nvim_list_bufs())";
    assert_eq!(here(&mut chat, left), json!(0));
}

/// Holds (Terminals): The page of an ended command opens at its end and leads back to the chat.
#[test]
fn the_page_of_a_command_that_has_ended_opens_at_its_end_and_leads_back() {
    let mut chat = Chat::in_turn();
    chat.nvim.command("edit file.txt");
    let terminal = chat.script("for i in $(seq 100); do echo line $i; done; exit 3");
    chat.show("call", "count", &[&terminal]);
    chat.wait_for_exit(&terminal);
    chat.poll_line("… 60 earlier lines · <CR> shows all");
    for leave in ["q", ":q<CR>", "<C-w>c", ":bd<CR>"] {
        go_to(&mut chat, "… 60");
        chat.nvim.input("zv<CR>");
        poll_buffer(&mut chat, OUTPUT);
        poll_bar(&mut chat, " · exit 3");
        chat.nvim.poll("the end", |nvim| {
            nvim.eval(
                "vim.fn.line('.') == vim.fn.line('$') and vim.fn.line('w$') == vim.fn.line('$')",
            ) == json!(true)
        });
        assert_eq!(here(&mut chat, "vim.api.nvim_get_current_line()"), json!("[exit 3]"));
        chat.nvim.input(leave);
        poll_buffer(&mut chat, "rat://fake/1");
        let pages = "#vim.fn.win_findbuf(vim.fn.bufnr('rat://fake/1/output/1'))";
        assert_eq!(here(&mut chat, pages), json!(0), "{leave}");
    }
}

/// Holds (Terminals): A page whose text fits opens at its beginning.
#[test]
fn a_page_whose_text_fits_opens_at_its_beginning() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script("echo one");
    chat.show("call", "count", &[&terminal]);
    chat.wait_for_exit(&terminal);
    chat.poll_line("exit 0 · <CR> opens it");
    go_to(&mut chat, "count");
    chat.nvim.input("<CR>");
    poll_buffer(&mut chat, OUTPUT);
    poll_bar(&mut chat, " · exit 0");
    assert_eq!(here(&mut chat, "vim.fn.line('.')"), json!(1));
}

/// Holds (Terminals): All output of a running command can be shown as it comes.
#[test]
fn all_of_a_running_command_is_shown_as_it_comes() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(
        "for i in $(seq 100); do echo line $i; done; until test -e gate; do sleep 0.02; done; echo last",
    );
    chat.show("call", "count", &[&terminal]);
    chat.poll_line("… 92 earlier lines · <CR> shows all");
    for _ in 0..2 {
        go_to(&mut chat, "… 92");
        chat.nvim.input("<CR>");
        poll_buffer(&mut chat, TERMINAL);
        chat.nvim.poll("all of it, once", |nvim| {
            let lines = nvim.buffer_lines(TERMINAL);
            let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
            count("line 1") == 1 && count("line 100") == 1
        });
    }
    chat.nvim.file("gate", "");
    poll_bar(&mut chat, " · exit 0");
    chat.nvim.poll("its end in sight", |nvim| nvim.screen().contains("last"));
}

/// Neovim does not wrap anew what a terminal buffer holds.
/// Holds (Windows and views): The page of an ended command is as wide as the screen is now.
#[test]
fn the_page_of_a_command_that_has_ended_is_as_wide_as_the_screen_is_now() {
    let mut chat = Chat::in_turn();
    chat.nvim.resize(60, 24);
    let long = "word ".repeat(20);
    let terminal = chat.script(&format!("echo {long}"));
    chat.show("call", "make test", &[&terminal]);
    chat.wait_for_exit(&terminal);
    chat.poll_line("exit 0 · <CR> opens it");
    go_to(&mut chat, "exit 0");
    chat.nvim.input("<CR>");
    poll_buffer(&mut chat, TERMINAL);
    chat.nvim.poll("it wrapped", |nvim| {
        let lines = nvim.buffer_lines(TERMINAL);
        lines.iter().filter(|line| line.contains("word")).count() > 1
    });
    chat.nvim.input("q");
    chat.nvim.resize(200, 24);
    chat.nvim.poll("the wide screen", |nvim| nvim.eval("vim.o.columns") == 200);
    go_to(&mut chat, "exit 0");
    chat.nvim.input("<CR>");
    poll_buffer(&mut chat, TERMINAL);
    chat.nvim.poll("it anew", |nvim| {
        let lines = nvim.buffer_lines(TERMINAL);
        lines.iter().filter(|line| line.contains("word")).count() == 1
    });
}
