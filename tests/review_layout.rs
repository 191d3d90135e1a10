//! What review shows leaves the user's windows, diffs and focus alone, in real Neovim: what users of other clients suffer from.

use crate::support::{Chat, Pending};
use serde_json::{Value as Json, json};

const OLD: &str = "1\n2\n3\n4\n5\n";
const NEW: &str = "one\n2\n3\n4\nfive\n";

/// A user with a tree, a terminal and a file side by side, and a diff of their own on another tab page.
const USERS_WINDOWS: &str = r#"
    vim.cmd("silent! tabonly | silent! only | edit a.txt | vsplit | enew")
    vim.bo.buftype = "nofile"
    vim.cmd("vertical resize 20 | set winfixwidth | wincmd l | belowright split")
    vim.cmd("terminal cat")
    vim.cmd("resize 5 | stopinsert | wincmd k")
    vim.cmd("tabnew b.txt | diffthis | vsplit c.txt | diffthis | tabfirst")"#;

/// Everything about windows that a user would notice.
const LOOK: &str = r#"
    local out = { tab = vim.fn.tabpagenr(), win = vim.fn.winnr(), tabs = {} }
    for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
      local windows = {}
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
        local buf = vim.api.nvim_win_get_buf(win)
        windows[#windows + 1] = {
          vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":t"), vim.wo[win].diff, vim.wo[win].winbar,
          vim.wo[win].foldmethod, vim.wo[win].wrap, vim.api.nvim_win_get_width(win),
          vim.api.nvim_win_get_height(win),
        }
      end
      out.tabs[#out.tabs + 1] = windows
    end
    return out"#;

fn look(chat: &mut Chat) -> Json {
    chat.nvim.lua(LOOK, json!([]))
}

/// The plugin's own buffers of comparisons and reviews that are still there.
fn leftovers(chat: &mut Chat) -> Json {
    let code = "return vim.tbl_filter(function(name)
          return name:find('rat://diff', 1, true) ~= nil
        end, vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs()))";
    chat.nvim.lua(code, json!([]))
}

fn in_a_turn(review: &str) -> Chat {
    let builder = Chat::builder().setup(json!({"review": review}));
    let mut chat = builder.file("a.txt", OLD).file("b.txt", OLD).file("c.txt", NEW).in_turn();
    chat.nvim.command("wincmd t");
    chat.nvim.lua(USERS_WINDOWS, json!([]));
    chat
}

fn write(chat: &mut Chat, content: &str) -> Pending {
    let path = chat.path("a.txt");
    chat.ask("fs/write_text_file", json!({"path": path, "content": content}))
}

fn poll_look(chat: &mut Chat, wanted: &Json) {
    chat.nvim.poll("the windows as they were", |nvim| nvim.lua(LOOK, json!([])) == *wanted);
    assert_eq!(leftovers(chat), json!([]));
}

/// Opens the comparison of the write that waits.
fn show(chat: &mut Chat) {
    let asked = "return #require('rat.ask.question_list').list()";
    chat.nvim.poll("the question", |nvim| nvim.lua(asked, json!([])) == json!(1));
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("Show the change");
    chat.nvim.input("2<CR>");
    chat.nvim.poll("the comparison", |nvim| {
        nvim.eval("vim.wo.diff and vim.bo.modifiable and vim.fn.tabpagenr() ~= 1") == json!(true)
    });
}

/// Holds (Review): Whoever closes the review beside a file of theirs stays in that file.
#[test]
fn closing_the_review_leaves_a_file_beside_it_alone() {
    let mut chat = in_a_turn("after");
    let path = chat.path("a.txt");
    chat.request("fs/write_text_file", json!({"path": path, "content": "one\n2\n"})).unwrap();
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 1 file");
    chat.nvim.lua("vim.cmd('split ' .. ...)", json!([path]));
    chat.nvim.input("<C-w>o");
    chat.nvim.poll("the file alone", |nvim| {
        nvim.eval("{ vim.fn.tabpagenr(), vim.fn.winnr('$'), vim.fn.expand('%:t') }")
            == json!([2, 1, "a.txt"])
    });
    // What has yet to be done for the closed window is done.
    chat.nvim.lua(
        "require('rat.util.idle').when(function() return true end, function() vim.g.idle = 1 end)",
        json!([]),
    );
    chat.nvim.poll("a pause", |nvim| nvim.eval("vim.g.idle") == json!(1));
    assert_eq!(chat.nvim.eval("vim.fn.tabpagenr()"), json!(2));
}

/// Holds (Review): A comparison leaves windows, tab pages, options and the user's own diffs as they were, however it is used and closed.
#[test]
fn a_write_to_be_decided_leaves_the_windows_alone() {
    let mut chat = in_a_turn("before");
    let before = look(&mut chat);
    for keys in [
        "ga",
        "gr",
        "<C-w>=ga",
        "<C-w>oga",
        "<C-w>o:q<CR>",
        "<C-w>h:q<CR>ga",
        "<C-w>sga",
        "<C-w>s:q<CR>:q<CR>",
        "<C-w>v<C-w>cga",
        ":tabclose!<CR>",
    ] {
        let pending = write(&mut chat, &format!("{keys}\n2\n3\n4\n5\n"));
        show(&mut chat);
        chat.nvim.input(keys);
        let is_decided = keys.ends_with("ga") || keys.ends_with("gr");
        if !is_decided {
            poll_look(&mut chat, &before);
            assert!(!chat.agent.is_answered(pending), "{keys}");
            chat.nvim.let_time_pass();
            chat.nvim.command("RatDeny");
        }
        let accepted = chat.agent.expect_answer(pending).is_ok();
        assert_eq!(accepted, keys.ends_with("ga"), "{keys}");
        poll_look(&mut chat, &before);
    }
}

/// Holds (Review): A change that waits takes neither focus nor keys from a user who is typing.
#[test]
fn a_write_to_be_decided_does_not_disturb_typing() {
    let mut chat = in_a_turn("before");
    chat.nvim.command("wincmd t | wincmd l");
    chat.nvim.input("Oab");
    let before = look(&mut chat);
    let pending = write(&mut chat, NEW);
    chat.nvim.poll_state("waiting");
    chat.nvim.input("cd<CR>1<CR>q");
    chat.nvim.poll("the typed text", |nvim| {
        nvim.eval("table.concat(vim.api.nvim_buf_get_lines(0, 0, 3, true), '|')")
            == json!("abcd|1|q")
    });
    assert_eq!(look(&mut chat), before);
    assert!(!chat.agent.is_answered(pending));
}

/// Holds (Review): A review and the comparison it leads to leave windows, tab pages, options and the user's own diffs as they were.
#[test]
fn a_review_leaves_the_windows_alone() {
    let mut chat = in_a_turn("after");
    let before = look(&mut chat);
    let pending = write(&mut chat, NEW);
    chat.answer(pending);
    let open = |chat: &mut Chat| {
        chat.nvim.command("RatReview");
        chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
        chat.nvim.poll_screen("Review · 1 file, 2 hunks");
    };
    for keys in ["q", ":q<CR>", "<C-w>=q", ":tabclose<CR>"] {
        open(&mut chat);
        chat.nvim.input(keys);
        poll_look(&mut chat, &before);
    }
    for keys in [":q<CR>", "<C-w>h:q<CR>", "<C-w>o", ":tabclose<CR>"] {
        open(&mut chat);
        chat.nvim.input("]c<CR>");
        chat.nvim.poll("the comparison", |nvim| nvim.eval("vim.wo.diff") == json!(true));
        assert_eq!(chat.nvim.eval("vim.fn.expand('%:t')"), json!("a.txt"));
        chat.nvim.input(keys);
        chat.nvim
            .poll("the review again", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
        chat.nvim.input("q");
        poll_look(&mut chat, &before);
    }
    // The file is opened in a window of the user's for files, not in the tree or the terminal.
    chat.nvim.command("RatReview");
    chat.nvim.poll("the review", |nvim| nvim.eval("vim.bo.filetype") == json!("ratreview"));
    chat.nvim.input("]co");
    chat.nvim.poll("the file", |nvim| nvim.eval("vim.fn.expand('%:t')") == json!("a.txt"));
    let types = chat.nvim.eval("vim.bo.buftype");
    assert_eq!(types, json!(""));
}
