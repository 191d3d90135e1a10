//! The user accepts and rejects what an agent has changed, in real Neovim: signs, hunks, whole turns, undo.

use crate::support::{Chat, Nvim};
use serde_json::{Value as Json, json};

const FIVE: &str = "1\n2\n3\n4\n5\n";

/// A turn in a project with two files, one of them in the user's window.
fn in_a_turn() -> Chat {
    let mut chat = Chat::builder().file("a.txt", FIVE).file("b.txt", FIVE).in_turn();
    chat.nvim.command("wincmd t | edit a.txt");
    chat
}

fn write(chat: &mut Chat, name: &str, content: &str) {
    let path = chat.path(name);
    chat.request("fs/write_text_file", json!({"path": path, "content": content})).unwrap();
}

/// The signs in the user's window: line from 1, and what is there.
fn signs(nvim: &mut Nvim) -> Vec<String> {
    let code = r#"
        local namespace = vim.api.nvim_get_namespaces().rat_pending
        if not namespace then
          return {}
        end
        local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
        return vim.tbl_map(function(mark)
          local group = mark[4].sign_hl_group:match("RatPending(.*)")
          return ("%d-%d %s"):format(mark[2] + 1, mark[4].end_row + 1, group)
        end, marks)"#;
    let found = nvim.lua(code, json!([]));
    let all = found.as_array().cloned().unwrap_or_default();
    all.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}

fn poll_signs(chat: &mut Chat, wanted: &[&str]) {
    chat.nvim.poll(&format!("the signs {wanted:?}"), |nvim| signs(nvim) == wanted);
}

fn lines(chat: &mut Chat) -> String {
    let path = chat.path("a.txt");
    chat.nvim.buffer_lines(path.to_str().unwrap()).join(" ")
}

fn disk(chat: &Chat, name: &str) -> String {
    std::fs::read_to_string(chat.path(name)).unwrap()
}

fn statusline(chat: &mut Chat) -> String {
    let text = chat.nvim.eval("require('rat').statusline()");
    text.as_str().unwrap_or_default().to_owned()
}

fn poll_message(chat: &mut Chat, text: &str) {
    chat.nvim.poll(text, |nvim| nvim.messages().contains(text));
}

fn poll_lines(chat: &mut Chat, wanted: &str) {
    let path = chat.path("a.txt");
    chat.nvim.poll(wanted, |nvim| nvim.buffer_lines(path.to_str().unwrap()).join(" ") == wanted);
}

/// Holds (Review): What an agent changes is marked until it is accepted or rejected, and undo takes the mark away.
#[test]
fn what_an_agent_changes_is_marked_until_it_is_decided_on() {
    let mut chat = in_a_turn();
    write(&mut chat, "a.txt", "0\n1\ntwo\n3\n5\n");
    poll_signs(&mut chat, &["1-1 Add", "3-3 Change", "4-4 Delete"]);
    assert!(statusline(&mut chat).contains("3 pending"));
    chat.nvim.input("u");
    poll_signs(&mut chat, &[]);
    chat.nvim.input("<C-r>");
    poll_signs(&mut chat, &["1-1 Add", "3-3 Change", "4-4 Delete"]);
    chat.nvim.command("3RatAccept");
    poll_signs(&mut chat, &["1-1 Add", "4-4 Delete"]);
    assert_eq!(lines(&mut chat), "0 1 two 3 5");
    chat.nvim.command("4RatReject");
    poll_signs(&mut chat, &["1-1 Add"]);
    assert_eq!(lines(&mut chat), "0 1 two 3 4 5");
    assert_eq!(disk(&chat, "a.txt"), "0\n1\ntwo\n3\n4\n5\n");
    chat.nvim.input("u");
    poll_signs(&mut chat, &["1-1 Add", "4-4 Delete"]);
    chat.nvim.command("RatAccept all");
    poll_signs(&mut chat, &[]);
    assert!(!statusline(&mut chat).contains("pending"));
    assert_eq!(lines(&mut chat), "0 1 two 3 5");
}

/// Holds (Review): Rejecting a turn puts back what was there in every file it changed, open or not.
#[test]
fn a_turn_is_rejected_in_every_file() {
    let mut chat = in_a_turn();
    write(&mut chat, "a.txt", "1\n2\n3\n4\nfive\n");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.prompt("more");
    write(&mut chat, "a.txt", "one\n2\n3\n4\nfive\n");
    write(&mut chat, "b.txt", "1\n2\n");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_signs(&mut chat, &["1-1 Change", "5-5 Change"]);
    chat.nvim.command("RatReject turn");
    poll_message(&mut chat, "Rejected 2 hunks in 2 files");
    poll_signs(&mut chat, &["5-5 Change"]);
    assert_eq!(
        (disk(&chat, "a.txt"), disk(&chat, "b.txt")),
        ("1\n2\n3\n4\nfive\n".into(), FIVE.into())
    );
}

/// Holds (Review): Rejecting takes no text of the user's away: a hunk they have changed stays, and that is said.
#[test]
fn what_the_user_has_changed_is_not_rejected() {
    let mut chat = in_a_turn();
    write(&mut chat, "a.txt", "1\ntwo\n3\n4\nfive\n");
    poll_signs(&mut chat, &["2-2 Change", "5-5 Change"]);
    chat.nvim.command("call setline(2, 'mine')");
    chat.nvim.command("RatReject file");
    poll_lines(&mut chat, "1 mine 3 4 5");
    poll_message(&mut chat, "1 hunk in a.txt stayed, because you edited the same lines");
    assert_eq!(disk(&chat, "a.txt"), "1\ntwo\n3\n4\nfive\n", "it has unsaved changes");
}

/// Holds (Review): Rejecting takes no text of the user's away: a hunk they have changed stays, and that is said.
#[test]
fn hunks_that_stay_in_several_files_are_counted_with_their_files() {
    let mut chat = in_a_turn();
    for name in ["a.txt", "b.txt"] {
        write(&mut chat, name, "1\ntwo\n3\n4\nfive\n");
        chat.nvim.command(&format!("edit {name}"));
        poll_signs(&mut chat, &["2-2 Change", "5-5 Change"]);
        chat.nvim.command("call setline(2, 'mine') | set hidden");
    }
    chat.nvim.command("RatReject all");
    poll_message(&mut chat, "2 hunks in 2 files stayed, because you edited the same lines");
}

/// Holds (Review): Where nothing is pending, nothing happens, and one line says so.
#[test]
fn where_nothing_is_pending_nothing_happens() {
    let mut chat = in_a_turn();
    chat.nvim.command("RatReject");
    poll_message(&mut chat, "No pending changes to reject here");
    chat.nvim.command("RatAccept nonsense");
    poll_message(&mut chat, "takes hunk, file, turn or all, not \"nonsense\"");
    chat.nvim.command("RatStop");
    chat.nvim.poll_state("stopped");
    assert_eq!(lines(&mut chat), "1 2 3 4 5");
}

/// Holds (Review): Maps lead from hunk to hunk, show and select one.
#[test]
fn maps_lead_from_hunk_to_hunk() {
    let mut chat = in_a_turn();
    write(&mut chat, "a.txt", "1\ntwo\nthree\n4\n5\n6\n");
    poll_signs(&mut chat, &["2-3 Change", "6-6 Add"]);
    let line = |chat: &mut Chat| chat.nvim.eval("vim.fn.line('.')");
    chat.nvim.command("execute \"normal gg\\<Plug>(rat-hunk-next)\"");
    assert_eq!(line(&mut chat), json!(2));
    chat.nvim.command("execute \"normal \\<Plug>(rat-hunk-next)\"");
    assert_eq!(line(&mut chat), json!(6));
    chat.nvim.command("execute \"normal \\<Plug>(rat-hunk-next)\"");
    assert_eq!(line(&mut chat), json!(2), "'wrapscan'");
    chat.nvim.command("execute \"normal \\<Plug>(rat-hunk-show)\"");
    chat.nvim.poll_screen("-2");
    for text in ["-3", "+two", "+three"] {
        assert!(chat.nvim.screen().contains(text), "{text} is not shown");
    }
    assert_eq!(chat.nvim.eval("vim.fn.expand('%:t')"), json!("a.txt"), "it is not entered");
    chat.nvim.input("j");
    chat.nvim.poll_no("+three");
    chat.nvim.command("execute \"normal d\\<Plug>(rat-hunk)\"");
    assert_eq!(lines(&mut chat), "1 4 5 6");
}

/// Holds (Review): The next prompt, and only that, tells the agent what of its changes the user has accepted, rejected and undone.
#[test]
fn the_agent_is_told_what_the_user_has_decided() {
    let mut chat = in_a_turn();
    write(&mut chat, "a.txt", "0\n1\ntwo\n3\n4\n5\n");
    write(&mut chat, "b.txt", "1\n2\n3\n4\nfive\n");
    poll_signs(&mut chat, &["1-1 Add", "3-3 Change"]);
    chat.nvim.command("1RatAccept | 3RatReject");
    poll_signs(&mut chat, &[]);
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatUndo");
    chat.nvim.poll_screen("Show what would change");
    chat.nvim.input("1<CR>");
    poll_message(&mut chat, "Undid the turn");
    chat.nvim.send("next");
    let told = chat.sent()[1]["text"].as_str().unwrap_or_default().to_owned();
    let undone = "- undid everything you changed for the prompt \"go\"\n";
    let decided = "- a.txt: accepted 1 hunk, rejected 1 hunk\n";
    assert!(told.contains(undone) && told.contains(decided), "{told}");
    assert!(chat.transcript().join("\n").contains("what you accepted and rejected"));
    chat.nvim.send("again");
    assert_eq!(chat.sent().len(), 1);
}

/// Holds (Review): After a rejection beside a line of the user's, signs are where something is pending and nowhere else.
#[test]
fn no_sign_stays_behind_a_rejection() {
    for is_saved in [false, true] {
        let mut chat = in_a_turn();
        write(&mut chat, "a.txt", "1\nB\nC\nD\n5\n");
        poll_signs(&mut chat, &["2-4 Change"]);
        chat.nvim.input("3GA mine<Esc>");
        chat.nvim.poll("two hunks", |nvim| signs(nvim).len() == 2);
        if is_saved {
            chat.nvim.command("write");
        }
        chat.nvim.input("2G");
        chat.nvim.command("RatReject");
        chat.nvim.poll("rejected", |nvim| nvim.eval("vim.fn.getline(2)") == json!("2"));
        poll_signs(&mut chat, &["6-6 Add"]);
        assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(!is_saved));
    }
}
