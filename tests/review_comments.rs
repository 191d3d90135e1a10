//! Comments in `:RatReview`: written, changed, removed and sent, and never lost by accident.

use crate::support::{Chat, DEADLINE, Nvim, PROMPT, poll_for};
use serde_json::json;

/// A review of two files with a hunk each. The cursor is on the first of them.
fn reviewed() -> Chat {
    let mut chat = Chat::builder().file("a.txt", "1\n2\n3\n").file("b.txt", "1\n2\n3\n").in_turn();
    for (name, content) in [("a.txt", "1\ntwo\nthree\n"), ("b.txt", "1\nTWO\n3\n")] {
        let path = chat.path(name);
        chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
    }
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 2 files, 2 hunks");
    chat.nvim.poll_screen("+TWO");
    chat
}

/// Goes to the first line of the review that begins like this.
fn go_to(chat: &mut Chat, line: &str) {
    let code = r"vim.fn.cursor(1, 1) return vim.fn.search('^\\V' .. ..., 'cW')";
    let found = chat.nvim.lua(code, json!([line]));
    assert_ne!(found, json!(0), "there is no {line}");
}

/// The comments as they are shown: the text of the row they are below, and theirs.
fn comments(chat: &mut Chat) -> Vec<String> {
    let code = r#"
        local namespace = vim.api.nvim_get_namespaces().rat_comments
        local shown = {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
          local row = vim.api.nvim_buf_get_lines(0, mark[2], mark[2] + 1, true)[1]
          for _, line in ipairs(mark[4].virt_lines) do
            row = row .. "|" .. vim.trim((line[1][1]:gsub("▏", "")))
          end
          shown[#shown + 1] = row
        end
        return shown"#;
    let found = chat.nvim.lua(code, json!([]));
    let all = found.as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

fn poll_comments(chat: &mut Chat, wanted: &[&str]) {
    let in_review = |chat: &mut Chat| chat.nvim.eval("vim.bo.filetype") == json!("ratreview");
    let found = poll_for(DEADLINE, || {
        (in_review(chat) && comments(chat) == wanted && !chat.nvim.mode_is_blocked()).then_some(())
    });
    if found.is_none() {
        let shown = comments(chat);
        chat.nvim.fail(&format!("the comments are {shown:?}, not {wanted:?}"));
    }
}

fn poll_message(chat: &mut Chat, text: &str) {
    chat.nvim.poll(text, |nvim| nvim.messages().contains(text));
}

/// Opens the comment at the cursor, which begins with this text.
fn open(chat: &mut Chat, keys: &str, text: &str) {
    chat.nvim.input(keys);
    chat.nvim.poll("the comment", |nvim| {
        nvim.eval("{ vim.bo.filetype, vim.fn.mode(), vim.fn.join(vim.fn.getline(1, '$'), '|') }")
            == json!(["ratinput", "i", text])
    });
}

fn write(chat: &mut Chat, line: &str, text: &str) {
    go_to(chat, line);
    open(chat, "c", "");
    chat.nvim.input(&format!("{text}<C-s>"));
}

/// Holds (Review): A comment is opened again where it is shown, an emptied one is removed, and all go into the prompt.
#[test]
fn a_comment_is_changed_and_removed() {
    let mut chat = reviewed();
    write(&mut chat, "+two", "shorter");
    poll_comments(&mut chat, &["+two|shorter"]);
    // The hunk is another place, though its last row has the comment below it that is about itself.
    go_to(&mut chat, "@@");
    open(&mut chat, "c", "");
    chat.nvim.input("why<C-s>");
    poll_comments(&mut chat, &["+two|shorter", "+three|why"]);
    go_to(&mut chat, "+three");
    open(&mut chat, "c", "why");
    chat.nvim.input(" not<C-s>");
    poll_comments(&mut chat, &["+two|shorter", "+three|why not"]);
    // Just these rows.
    open(&mut chat, "Vc", "");
    chat.nvim.input("see above<C-s>");
    poll_comments(&mut chat, &["+two|shorter", "+three|why not", "+three|see above"]);
    go_to(&mut chat, "+two");
    open(&mut chat, "c", "shorter");
    chat.nvim.input("<C-u><C-s>");
    poll_comments(&mut chat, &["+three|why not", "+three|see above"]);
    poll_message(&mut chat, "Removed the comment on a.txt:2");
    chat.nvim.input("C");
    let prompt = "a.txt:1-3\n```diff\n 1\n-2\n-3\n+two\n+three\n```\nwhy not\n\n\
                  a.txt:3\n```diff\n+three\n```\nsee above";
    chat.nvim.poll("the prompt", |nvim| nvim.buffer_lines(PROMPT).join("\n") == prompt);
}

/// Holds (Review): The comments are put into the prompt beside the user's files, also where the chat was hidden.
#[test]
fn comments_are_sent_from_a_hidden_chat() {
    let mut chat = reviewed();
    chat.nvim.command("tabprevious | RatToggle | tabnext");
    chat.nvim.poll("a hidden chat", |nvim| {
        nvim.eval("#vim.fn.win_findbuf(vim.fn.bufnr('prompt'))") == json!(0)
    });
    write(&mut chat, "+two", "why");
    poll_comments(&mut chat, &["+two|why"]);
    chat.nvim.input("C");
    chat.nvim.poll("the prompt in the first tab page", |nvim| {
        nvim.eval("{ vim.bo.filetype, vim.fn.tabpagenr(), vim.fn.winnr('$') }")
            == json!(["ratprompt", 1, 3])
    });
}

/// Holds (Review): A comment wider than the window is wrapped, and wrapped again when that changes.
#[test]
fn a_wide_comment_is_wrapped() {
    let mut chat = reviewed();
    let text = "word ".repeat(40);
    let wrapped = |width: usize| {
        let words = vec!["word"; width / 5];
        let full = 40 / words.len();
        let mut rows = vec![words.join(" "); full];
        rows.extend((40 % words.len() > 0).then(|| vec!["word"; 40 % words.len()].join(" ")));
        format!("+two|{}", rows.join("|"))
    };
    write(&mut chat, "+two", &text);
    let columns = chat.nvim.eval("vim.o.columns").as_u64().unwrap();
    let width = usize::try_from(columns).unwrap() - 4;
    poll_comments(&mut chat, &[&wrapped(width + 1)]);
    chat.nvim.command("vsplit");
    let narrow = chat.nvim.eval(
        "vim.fn.winwidth(0) < vim.fn.winwidth(2) and vim.fn.winwidth(0) or vim.fn.winwidth(2)",
    );
    let width = usize::try_from(narrow.as_u64().unwrap()).unwrap() - 4;
    poll_comments(&mut chat, &[&wrapped(width + 1)]);
}

/// Holds (Review): What was typed as a comment is never lost: left with `<C-c>`, it is a draft, which is shown, opened again and not sent.
#[test]
fn what_was_typed_as_a_comment_stays() {
    let mut chat = reviewed();
    for keys in ["<C-c>", "<Esc><C-c>", "<Esc><Esc>", "<Esc>q"] {
        go_to(&mut chat, "+two");
        open(&mut chat, "c", "");
        chat.nvim.input(&format!("half{keys}"));
        poll_comments(&mut chat, &["+two|draft: half"]);
        chat.nvim.input("C");
        poll_message(&mut chat, "Only drafts so far");
        open(&mut chat, "c", "half");
        chat.nvim.input("<C-u><C-c>");
        poll_comments(&mut chat, &[]);
        chat.nvim.command("messages clear");
    }
    for keys in
        ["<C-s>", "<Esc><CR>", "<Esc>:q<CR>", "<Esc><C-w>c", "<Esc><C-w>p", "<Esc>:bdelete<CR>"]
    {
        go_to(&mut chat, "+two");
        open(&mut chat, "c", "");
        chat.nvim.input(&format!("whole{keys}"));
        poll_comments(&mut chat, &["+two|whole"]);
        open(&mut chat, "c", "whole");
        chat.nvim.input("<C-u><C-s>");
        poll_comments(&mut chat, &[]);
    }
    write(&mut chat, "+two", "first");
    poll_comments(&mut chat, &["+two|first"]);
    open(&mut chat, "c", "first");
    chat.nvim.input(" and more<C-c>");
    poll_comments(&mut chat, &["+two|first|draft: first and more"]);
    chat.nvim.input("C");
    poll_message(&mut chat, "1 draft stays in the review");
    let sent = |nvim: &mut Nvim| nvim.buffer_lines(PROMPT).join("|").ends_with("```|first");
    chat.nvim.poll("the prompt", sent);
    chat.nvim.input("<Esc>");
    chat.nvim.command("RatReview");
    poll_comments(&mut chat, &["+two|draft: first and more"]);
    go_to(&mut chat, "+two");
    open(&mut chat, "c", "first and more");
}

/// Holds (Review): A comment follows its lines when others are typed above them, and is sent with the lines as they are then.
#[test]
fn a_comment_follows_its_lines() {
    let mut chat = reviewed();
    write(&mut chat, "+two", "why");
    poll_comments(&mut chat, &["+two|why"]);
    chat.nvim.command("tabnew a.txt");
    chat.nvim.input("ggO0<CR>00<CR>000<Esc>");
    chat.nvim.command("tabclose");
    let moved = |nvim: &mut Nvim| {
        nvim.buffer_lines("rat://review").iter().any(|line| line.starts_with("@@ -2,5"))
    };
    chat.nvim.command("RatReview");
    chat.nvim.poll("the update", moved);
    poll_comments(&mut chat, &["+two|why"]);
    chat.nvim.input("C");
    chat.nvim.poll("the prompt", |nvim| nvim.buffer_lines(PROMPT).iter().any(|it| it == "a.txt:5"));
}

/// Holds (Review): A comment stays below its lines, and a selection in more than one file is refused in one line.
#[test]
fn a_comment_is_where_it_was_written() {
    let mut chat = reviewed();
    write(&mut chat, "-2", "gone");
    poll_comments(&mut chat, &["-2|gone"]);
    write(&mut chat, "b.txt", "all of it");
    poll_comments(&mut chat, &["-2|gone", "b.txt  +1 -1|all of it"]);
    // An update of the page.
    go_to(&mut chat, "+TWO");
    chat.nvim.input("Va");
    chat.nvim
        .poll("the update", |nvim| !nvim.buffer_lines("rat://review").contains(&"+TWO".to_owned()));
    poll_comments(&mut chat, &["-2|gone", "b.txt  +0 -1|all of it"]);
    chat.nvim.input("u");
    poll_comments(&mut chat, &["-2|gone", "b.txt  +1 -1|all of it"]);
    go_to(&mut chat, "+two");
    chat.nvim.input("VGc");
    poll_message(&mut chat, "You have selected more than one file");
    poll_comments(&mut chat, &["-2|gone", "b.txt  +1 -1|all of it"]);
    // The row that names the file is not a line of it.
    chat.nvim.input("gg");
    go_to(&mut chat, "-3");
    open(&mut chat, "Vggc", "");
    chat.nvim.input("both<C-s>");
    poll_comments(&mut chat, &["-2|gone", "-3|both", "b.txt  +1 -1|all of it"]);
    chat.nvim.input("C");
    let both = "a.txt:1-2|```diff| 1|-2|-3|```|both";
    chat.nvim.poll("the prompt", |nvim| nvim.buffer_lines(PROMPT).join("|").ends_with(both));
}

/// Holds (Review): `<CR>` in a comment is a new line, typed or pasted: nothing of the text is taken for keys of the review.
#[test]
fn a_comment_has_several_lines() {
    let mut chat = reviewed();
    let page = chat.nvim.buffer_lines("rat://review");
    go_to(&mut chat, "+two");
    open(&mut chat, "c", "");
    chat.nvim.input("why<CR>really<CR>all");
    let typed =
        "{ vim.fn.join(vim.fn.getline(1, '$'), '|'), vim.fn.line('w0'), vim.fn.winheight(0) }";
    chat.nvim.poll("the lines", |nvim| nvim.eval(typed) == json!(["why|really|all", 1, 3]));
    chat.nvim.call("nvim_paste", json!(["\nrr\naa\n", true, -1]));
    chat.nvim.input("q<C-s>");
    poll_comments(&mut chat, &["+two|why|really|all|rr|aa|q"]);
    assert_eq!(chat.nvim.buffer_lines("rat://review"), page);
    open(&mut chat, "c", "why|really|all|rr|aa|q");
    chat.nvim.input("<Esc>ggdG");
    chat.nvim.call("nvim_paste", json!(["a\nr\n", true, -1]));
    chat.nvim.input("<CR>");
    poll_comments(&mut chat, &["+two|a|r"]);
    assert_eq!(chat.nvim.buffer_lines("rat://review"), page);
}

/// Holds (Drafts and leaving Neovim): Comments that were not sent are not lost by `:qa` without a warning.
#[test]
fn quitting_with_comments_that_were_not_sent_is_warned_of_once() {
    let mut chat = reviewed();
    go_to(&mut chat, "+two");
    chat.nvim.input("cWhy two?<C-s>");
    poll_comments(&mut chat, &["+two|Why two?"]);
    chat.nvim.input(":qa<CR>");
    poll_message(&mut chat, "Comments in the review were not sent. :qa again quits");
    poll_comments(&mut chat, &["+two|Why two?"]);
    chat.nvim.input("C");
    chat.nvim.poll("the prompt", |nvim| nvim.buffer_lines(PROMPT).join(" ").contains("Why two?"));
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 2 files, 2 hunks");
    go_to(&mut chat, "+two");
    chat.nvim.input("cAgain?<C-s>");
    poll_comments(&mut chat, &["+two|Again?"]);
    chat.nvim.input(":qa<CR>");
    chat.nvim
        .poll("the second warning", |nvim| nvim.messages().matches(":qa again quits").count() == 2);
    chat.nvim.quit();
}
