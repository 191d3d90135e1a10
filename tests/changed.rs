//! From a card to the file it changes: the line, both sides in native diff mode, and its name among the tool calls.

use crate::support::{Chat, Nvim, TRANSCRIPT};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// `line 1` to `line 40`, with a second `same` far from the first.
fn text(fifth: &str) -> String {
    let line = |number: u32| match number {
        5 => format!("{fifth}\n"),
        6 | 30 => "\tsame\n".to_owned(),
        number => format!("line {number}\n"),
    };
    (1..=40).map(line).collect()
}

/// A turn that runs, and a file of the project.
fn beside_a_file() -> (Chat, PathBuf) {
    let chat = Chat::builder().file("a.txt", text("line 5")).in_turn();
    let path = chat.path("a.txt");
    (chat, path)
}

/// Puts the user on the last row of the transcript that holds the text.
fn go_to(nvim: &mut Nvim, text: &str) {
    nvim.poll(text, |nvim| {
        nvim.enter(TRANSCRIPT);
        let code = "vim.cmd('normal! G$') return vim.fn.search('\\\\V' .. ..., 'bcW') > 0";
        nvim.lua(code, json!([text])) == json!(true)
    });
}

/// The name of the file the user is in, and the line.
fn place(nvim: &mut Nvim) -> Json {
    nvim.eval("{ vim.fn.expand('%:t'), vim.fn.line('.') }")
}

fn poll_place(nvim: &mut Nvim, name: &str, line: u32) {
    nvim.poll(&format!("{name}:{line}"), |nvim| place(nvim) == json!([name, line]));
}

/// The lines of both sides of the diff, the old one first.
fn sides(nvim: &mut Nvim) -> Vec<Vec<String>> {
    nvim.poll("the diff", |nvim| nvim.eval("vim.wo.diff") == json!(true));
    let code = "return vim.tbl_map(function(win)
        return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true)
    end, vim.api.nvim_tabpage_list_wins(0))";
    serde_json::from_value(nvim.lua(code, json!([]))).unwrap()
}

/// What Claude sends: the text it looked for and the one it put there, not the file.
fn fragment(path: &std::path::Path, old: &str, new: &str) -> Json {
    json!({"toolCallId": "edit", "title": "Edit", "kind": "edit", "status": "pending",
        "content": [{"type": "diff", "path": path, "oldText": old, "newText": new}],
        "locations": [{"path": path}]})
}

/// Holds (Windows and views): `<CR>` on an edit opens the line it changes.
#[test]
fn return_on_an_edit_leads_to_the_line_it_changes() {
    let (mut chat, path) = beside_a_file();
    chat.tool_call(fragment(&path, "line 5\n\tsame\nline 7\n", "five\n\tsame\nline 7\n"));
    // Not carried out yet: the old line is there.
    go_to(&mut chat.nvim, "Edit");
    chat.nvim.input("<CR>");
    poll_place(&mut chat.nvim, "a.txt", 5);
    std::fs::write(&path, text("five")).unwrap();
    chat.nvim.command("edit");
    for (row, line) in [("Edit", 5), ("five", 5), ("same", 6), ("line 7", 7)] {
        chat.nvim.command("1");
        go_to(&mut chat.nvim, row);
        chat.nvim.input("<CR>");
        poll_place(&mut chat.nvim, "a.txt", line);
    }
    // The user has put lines before it since.
    chat.nvim.command("call append(0, ['new', 'new'])");
    go_to(&mut chat.nvim, "same");
    chat.nvim.input("<CR>");
    poll_place(&mut chat.nvim, "a.txt", 8);
    // Of a line that is not there any more, the place is not made up.
    chat.nvim.command("%delete");
    go_to(&mut chat.nvim, "five");
    chat.nvim.input("<CR>");
    chat.nvim.poll("the file", |nvim| nvim.eval("vim.bo.buftype") == json!(""));
    assert_eq!(place(&mut chat.nvim), json!(["a.txt", 1]));
}

/// Holds (Windows and views): The diff of a fragment shows the file around it.
#[test]
fn a_fragments_diff_shows_the_file_around_it_also_when_it_was_decided() {
    let (mut chat, path) = beside_a_file();
    let options = json!([{"optionId": "y", "name": "Allow", "kind": "allow_once"}]);
    chat.tool_call(fragment(&path, "line 5", "five"));
    let pending = chat.ask_permission(json!({"toolCallId": "edit"}), options);
    let (old, new) = (text("line 5"), text("five"));
    let wanted = vec![
        old.lines().map(str::to_owned).collect::<Vec<_>>(),
        new.lines().map(str::to_owned).collect(),
    ];
    go_to(&mut chat.nvim, "five");
    chat.nvim.input("gd");
    assert_eq!(sides(&mut chat.nvim), wanted);
    assert_eq!(chat.nvim.eval("vim.fn.line('.')"), json!(5));
    chat.nvim.input("ga");
    chat.answer(pending);
    std::fs::write(&path, &new).unwrap();
    chat.tool_call(json!({"toolCallId": "edit", "title": "Edit", "status": "completed"}));
    go_to(&mut chat.nvim, "five");
    chat.nvim.input("gd");
    assert_eq!(sides(&mut chat.nvim), wanted);
    assert!(!chat.nvim.screen().contains("ga allow"), "{}", chat.nvim.screen().text());
    chat.nvim.input("q");
    // Where the file has it twice, what the agent sent is all there is to show.
    std::fs::write(&path, format!("{new}five\n")).unwrap();
    go_to(&mut chat.nvim, "five");
    chat.nvim.input("gd");
    assert_eq!(sides(&mut chat.nvim), [["line 5"], ["five"]]);
}

#[test]
fn the_whole_of_a_fragments_diff_claims_no_line_numbers() {
    let (mut chat, path) = beside_a_file();
    let many = |word: &str| (0..100).map(|number| format!("{word} {number}\n")).collect::<String>();
    chat.tool_call(fragment(&path, &many("old"), &many("new")));
    go_to(&mut chat.nvim, "shows all");
    chat.nvim.input("<CR>");
    chat.nvim.poll_screen("@@");
    let shown = "return vim.api.nvim_buf_get_lines(0, 0, -1, true)";
    let lines: Vec<String> = serde_json::from_value(chat.nvim.lua(shown, json!([]))).unwrap();
    let wanted = [
        format!("--- {}", path.display()),
        format!("+++ {}", path.display()),
        "@@".into(),
        "-old 0".into(),
    ];
    assert!(lines.windows(4).any(|rows| rows == wanted), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("@@ -")), "{lines:#?}");
}

#[test]
fn a_tool_call_without_a_diff_says_so() {
    let (mut chat, _) = beside_a_file();
    chat.tool_call(json!({"toolCallId": "t", "title": "Look around", "kind": "search"}));
    go_to(&mut chat.nvim, "Look around");
    chat.nvim.input("gd");
    chat.nvim.poll_screen("This tool call has no diff");
    go_to(&mut chat.nvim, "go");
    chat.nvim.input("gd");
    chat.nvim.poll_screen("No tool call under the cursor");
    chat.end_turn("end_turn");
}

/// Holds (Windows and views): Tool calls are listed with the files they change.
#[test]
fn tool_calls_are_listed_with_their_files() {
    let (mut chat, path) = beside_a_file();
    let folder = path.parent().unwrap().to_owned();
    let change = |name: &str| json!({"type": "diff", "path": folder.join(name), "oldText": null, "newText": "x\n"});
    chat.tool_call(json!({"toolCallId": "1", "title": "Apply patch", "kind": "edit",
        "content": (["a", "b"].map(change))}));
    chat.tool_call(json!({"toolCallId": "2", "title": "Rename", "kind": "edit",
        "content": (["a", "b", "c", "d", "e", "f"].map(change))}));
    chat.tool_call(
        json!({"toolCallId": "3", "title": "Edit a", "kind": "edit", "content": [change("a")]}),
    );
    chat.nvim.command("RatTools");
    chat.nvim.poll_screen("Apply patch · a, b");
    chat.nvim.poll_screen("Rename · a, b, c, d, 2 more");
    chat.nvim.poll("the third call", |nvim| {
        nvim.buffer_lines("rat://fake/1/tools").get(2).is_some_and(|line| line == "Edit a")
    });
}
