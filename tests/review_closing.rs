//! `review = "before"`: the page that shows a write is closed, in whatever way, edited or not, in real Neovim.

use crate::support::{Chat, Pending, yes_or_no};
use serde_json::{Value as Json, json};

const OLD: &str = "1\n2\n3\n4\n5\n";
const NEW: &str = "one\n2\n3\n4\nfive\n";

/// What each way of closing leaves: tab pages, windows, the file in the user's window, and buffers of comparisons.
const LEFT: &str =
    "return { vim.fn.tabpagenr('$'), #vim.api.nvim_list_wins(), vim.fn.expand('%:t'),
    #vim.tbl_filter(function(buf)
      return vim.api.nvim_buf_get_name(buf):find('rat://diff', 1, true) ~= nil
    end, vim.api.nvim_list_bufs()), vim.wo.diff }";

fn in_a_turn() -> Chat {
    let settings = json!({"review": "before"});
    let mut chat = Chat::builder().file("a.txt", OLD).file("b.txt", OLD).setup(settings).in_turn();
    chat.nvim.command("wincmd t | edit a.txt");
    chat
}

/// The agent asks to write the file, and the page that shows it is opened.
fn shown(chat: &mut Chat, content: &str) -> Pending {
    let path = chat.path("a.txt");
    let pending = chat.ask("fs/write_text_file", json!({"path": path, "content": content}));
    let count = "return require('rat.ask.question_list').count()";
    chat.nvim.poll("the question", |nvim| nvim.lua(count, json!([])) == json!(1));
    show(chat);
    pending
}

/// Opens the page of the write that waits.
fn show(chat: &mut Chat) {
    chat.nvim.command("messages clear | RatPermission");
    chat.nvim.poll_screen("Show the change");
    chat.nvim.input("gd");
    chat.nvim.poll("the page", |nvim| {
        nvim.eval("vim.wo.diff and vim.bo.modifiable and vim.bo.buftype") == json!("acwrite")
    });
}

const WAITING: &str = "The change to a.txt is still waiting: :RatPermission shows it";

/// Waits until the user is told that what they have closed still waits.
fn poll_waiting(chat: &mut Chat, pending: Pending) {
    chat.nvim.poll(WAITING, |nvim| nvim.messages().contains(WAITING));
    assert!(!chat.agent.is_answered(pending));
}

fn poll_left(chat: &mut Chat, before: &Json) {
    chat.nvim.poll("the windows as they were", |nvim| nvim.lua(LEFT, json!([])) == *before);
}

fn refused(chat: &mut Chat, pending: Pending) {
    let error = chat.agent.expect_answer(pending).unwrap_err();
    let told = error["message"].as_str().unwrap_or_default();
    assert!(told.contains("the user rejected this change"), "{told}");
}

fn errors(chat: &mut Chat) -> Vec<String> {
    let told = chat.nvim.messages();
    told.lines().filter(|line| line.starts_with('E')).map(str::to_owned).collect()
}

/// Holds (Review): An untouched page of a write is closed without an error, in whatever way, and the write keeps waiting.
#[test]
fn an_untouched_page_is_closed_in_every_way() {
    let mut chat = in_a_turn();
    let before = chat.nvim.lua(LEFT, json!([]));
    let pending = shown(&mut chat, NEW);
    for keys in [
        ":q<CR>",
        ":q!<CR>",
        ":close<CR>",
        "<C-w>c",
        "<C-w>q",
        "<C-w>h<C-w>o",
        "<C-w>h:tabclose<CR>",
        ":tabclose<CR>",
        "gT:2tabclose<CR>",
        "gT:tabonly<CR>",
        ":bdelete<CR>",
        ":bwipeout<CR>",
        ":lua vim.api.nvim_win_set_buf(0, vim.fn.bufnr('a.txt'))<CR>:bdelete #<CR>",
        "x:q!<CR>",
        "x:close!<CR>",
        "x:tabclose!<CR>",
        "x:bdelete!<CR>",
        "xu:close<CR>",
    ] {
        chat.nvim.input(keys);
        poll_left(&mut chat, &before);
        poll_waiting(&mut chat, pending);
        assert_eq!(errors(&mut chat), [""; 0], "{keys}");
        show(&mut chat);
    }
    chat.nvim.input("gr");
    refused(&mut chat, pending);
    poll_left(&mut chat, &before);
    assert_eq!(std::fs::read_to_string(chat.path("a.txt")).unwrap(), OLD);
}

/// Holds (Review): A page in which the user has changed the text is not closed without `!`, and stays as it is.
#[test]
fn an_edited_page_is_not_closed_by_accident() {
    let mut chat = in_a_turn();
    let pending = shown(&mut chat, NEW);
    chat.nvim.input("ccmine<Esc>");
    let page = "{ vim.fn.bufname():match('%a+/%a.txt'), #vim.api.nvim_tabpage_list_wins(0),
        vim.wo[vim.fn.win_getid(1)].diff, vim.wo[vim.fn.win_getid(2)].diff, vim.fn.tabpagenr('$'),
        vim.wo[vim.fn.win_getid(1)].winbar ~= '', vim.fn.getline(1) }";
    let before = chat.nvim.eval(page);
    for (keys, error) in [
        (":q<CR>", "E37"),
        (":close<CR>", "E37"),
        ("<C-w>c", "E37"),
        (":tabclose<CR>", "E37"),
        (":bdelete<CR>", "E89"),
        (":edit b.txt<CR>", "E37"),
        ("<C-w>h<C-w>o", "E445"),
        ("q", "You have changed the text. ga writes it, gr rejects it, :q! drops it."),
    ] {
        chat.nvim.command("messages clear");
        chat.nvim.input(keys);
        chat.nvim.poll(&format!("{keys}: {error}"), |nvim| nvim.messages().contains(error));
        chat.nvim.input("<C-w>l");
        chat.nvim.poll(&format!("{keys}: the page as it was"), |nvim| nvim.eval(page) == before);
        assert!(!chat.agent.is_answered(pending), "{keys}");
    }
    chat.nvim.input("ga");
    chat.agent.expect_answer(pending).unwrap_err();
    let written = std::fs::read_to_string(chat.path("a.txt")).unwrap();
    assert_eq!(written, NEW.replace("one", "mine"));
}

/// Holds (Review): The user may look at another file in the window of an untouched page and come back to it.
#[test]
fn another_file_in_the_window_of_a_page() {
    let mut chat = in_a_turn();
    let before = chat.nvim.lua(LEFT, json!([]));
    let pending = shown(&mut chat, NEW);
    chat.nvim.input(":edit b.txt<CR>");
    chat.nvim.poll("the file", |nvim| nvim.eval("vim.fn.expand('%:t')") == json!("b.txt"));
    chat.nvim.input("<C-^>");
    chat.nvim.poll("the text", |nvim| nvim.eval("vim.fn.getline(1)") == json!("one"));
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.input(":edit b.txt<CR>:q<CR>");
    poll_waiting(&mut chat, pending);
    poll_left(&mut chat, &before);
}

/// Holds (Review): The left side of a write's page shows what becomes of the file, in its buffer or on disk.
#[test]
fn the_left_side_follows_the_file() {
    let mut chat = in_a_turn();
    let pending = shown(&mut chat, NEW);
    let sides = "{ vim.fn.join(vim.fn.getbufline(vim.fn.winbufnr(1), 1, '$'), '|'),
        vim.fn.diff_hlID(1, 1) ~= 0, vim.fn.diff_hlID(5, 1) ~= 0, vim.bo.modified }";
    let poll = |chat: &mut Chat, left: &str, first: bool, last: bool| {
        chat.nvim.poll(left, |nvim| nvim.eval(sides) == json!([left, first, last, false]));
    };
    poll(&mut chat, "1|2|3|4|5", true, true);
    let type_into = |chat: &mut Chat, code: &str| {
        chat.nvim.command(&format!("call win_execute(win_getid(1, 1), '{code}')"));
    };
    type_into(&mut chat, "normal! Gccfive");
    poll(&mut chat, "1|2|3|4|five", true, false);
    type_into(&mut chat, "undo");
    poll(&mut chat, "1|2|3|4|5", true, true);
    type_into(&mut chat, "bwipeout");
    std::fs::write(chat.path("a.txt"), "one\n2\n3\n4\n5\n").unwrap();
    chat.nvim.command("doautocmd FocusGained");
    poll(&mut chat, "one|2|3|4|5", false, true);
    chat.nvim.command("call bufload(bufadd('a.txt')) | call setbufline('a.txt', 5, 'five')");
    poll(&mut chat, "one|2|3|4|five", false, false);
    chat.nvim.input("gr");
    refused(&mut chat, pending);
}

/// Holds (Review): The diff of a permission request that can be edited is closed like the page of a write.
#[test]
fn an_editable_diff_is_closed_in_every_way() {
    let mut chat = in_a_turn();
    // An agent that has written through Neovim does so again.
    let path = chat.path("a.txt");
    let pending = shown(&mut chat, "1\n");
    chat.nvim.input("ga");
    chat.agent.expect_answer(pending).unwrap();
    chat.nvim.poll("one tab page", |nvim| nvim.eval("vim.fn.tabpagenr('$')") == json!(1));
    let before = chat.nvim.lua(LEFT, json!([]));
    for keys in ["q", ":close<CR>", "<C-w>c", ":tabclose<CR>", ":bdelete<CR>", "<C-w>h<C-w>o"] {
        let diff = json!({"type": "diff", "path": path, "oldText": "1\n", "newText": NEW});
        let call =
            json!({"toolCallId": keys, "title": "Edit a.txt", "kind": "edit", "content": [diff]});
        let asked = chat.ask_permission(call, yes_or_no());
        chat.nvim.command("messages clear | RatPermission");
        chat.nvim.poll_screen("Show the diff");
        chat.nvim.input("gd");
        chat.nvim.poll("the page", |nvim| {
            nvim.eval("vim.wo.diff and vim.bo.modifiable and vim.bo.buftype") == json!("acwrite")
        });
        chat.nvim.input(keys);
        poll_left(&mut chat, &before);
        poll_waiting(&mut chat, asked);
        chat.nvim.let_time_pass();
        chat.nvim.command("RatDeny");
        let answer = chat.answer(asked);
        assert_eq!(answer["outcome"]["optionId"], json!("no"), "{keys}: {answer}");
        assert_eq!(errors(&mut chat), [""; 0], "{keys}");
    }
}

/// Holds (Review): `:edit!` on the page of a write brings back the text as the agent has sent it, and decides nothing.
#[test]
fn a_text_is_brought_back_as_it_was() {
    let mut chat = in_a_turn();
    for keys in [":edit<CR>", "ccmine<Esc>:edit!<CR>"] {
        let pending = shown(&mut chat, NEW);
        chat.nvim.input(keys);
        let page = "{ vim.fn.join(vim.fn.getline(1, '$'), '|'), vim.bo.buftype, vim.bo.modified, vim.wo.diff }";
        chat.nvim.poll("the text", |nvim| {
            nvim.eval(page) == json!(["one|2|3|4|five", "acwrite", false, true])
        });
        // What is changed now is a change again.
        chat.nvim.input("ccmine<Esc>:close<CR>");
        chat.nvim.poll("E37", |nvim| nvim.messages().contains("E37"));
        chat.nvim.input("u:close<CR>");
        poll_waiting(&mut chat, pending);
        chat.nvim.let_time_pass();
        chat.nvim.command("RatDeny");
        refused(&mut chat, pending);
        chat.nvim.poll("one tab page", |nvim| nvim.eval("vim.fn.tabpagenr('$')") == json!(1));
    }
}
