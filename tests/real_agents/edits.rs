//! What agents change reaches buffer and file, and nothing of the user's is lost on the way.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::with_each_agent;

with_each_agent!(
    an_allowed_edit_is_one_undo_step,
    a_rejected_edit_changes_nothing,
    a_new_file_in_a_new_folder,
    unsaved_changes_elsewhere_stay_unsaved,
    unsaved_changes_of_the_same_line_win,
);

const SIX: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

fn an_allowed_edit_is_one_undo_step(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", SIX)]);
    chat.in_buffer("a.py", "vim.api.nvim_buf_set_mark(0, 'a', 5, 2, {})");
    chat.ask("[[read a.py]][[edit a.py|two|2\\nzwei]]");
    chat.answer("allow_once");
    chat.ends("end_turn");
    let edited = SIX.replace("two", "2\nzwei");
    chat.wait_for_buffer("a.py", &edited);
    assert_eq!(chat.file("a.py").unwrap(), edited);
    assert!(!chat.is_modified("a.py"));
    let mark = chat.in_buffer("a.py", "return vim.api.nvim_buf_get_mark(0, 'a')");
    assert_eq!(mark, json!([6, 2]));
    let steps = chat.in_buffer("a.py", "return #vim.fn.undotree().entries");
    assert_eq!(steps, json!(1));

    chat.write("a.py");
    chat.in_buffer("a.py", "vim.cmd('normal! u')");
    assert_eq!(chat.buffer("a.py"), SIX);
    chat.in_buffer("a.py", "vim.cmd.redo()");
    assert_eq!(chat.buffer("a.py"), edited);
    chat.in_buffer("a.py", "vim.api.nvim_buf_set_lines(0, -1, -1, true, { 'seven' })");
    chat.write("a.py");
    assert_eq!(chat.file("a.py").unwrap(), format!("{edited}seven\n"));
    assert_eq!(chat.nvim.events("RatFileChanged").len(), 1);
    chat.finish();
}

fn a_rejected_edit_changes_nothing(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", SIX)]);
    chat.ask("[[read a.py]][[edit a.py|two|2]]");
    chat.answer("reject_once");
    chat.ends("end_turn");
    // Gemini says nothing more of a call that was rejected.
    let sign = if kind == Kind::Gemini { "⊘" } else { "✗" };
    chat.until("the settled card", |chat| {
        let is_settled = |row: &String| row.contains(sign) && row.to_lowercase().contains("edit");
        chat.nvim.screen().lines().iter().any(is_settled).then_some(())
    });
    assert_eq!(chat.buffer("a.py"), SIX);
    assert_eq!(chat.file("a.py").unwrap(), SIX);
    assert!(!chat.is_modified("a.py"));
    assert_eq!(chat.in_buffer("a.py", "return vim.fn.undotree().seq_last"), json!(0));
    chat.ask_and_wait("[[say Still here.]]");
    assert!(chat.transcript().ends_with("Still here."), "{}", chat.transcript());
    chat.finish();
}

fn a_new_file_in_a_new_folder(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask("[[write new/deep/c.py|c = 1\\n]]");
    let waiting = chat.permission();
    assert_eq!(waiting["diffs"], json!(1));
    chat.answer("allow_once");
    chat.ends("end_turn");
    assert_eq!(chat.file("new/deep/c.py").unwrap(), "c = 1\n");
    chat.nvim.command("wincmd t | edit new/deep/c.py");
    assert_eq!(chat.buffer("new/deep/c.py"), "c = 1\n");
    chat.finish();
}

fn unsaved_changes_elsewhere_stay_unsaved(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", SIX)]);
    chat.in_buffer("a.py", "vim.fn.setline(6, 'six, unsaved')");
    chat.ask("[[read a.py]][[edit a.py|two|2]]");
    chat.answer("allow_once");
    chat.ends("end_turn");
    if kind == Kind::Gemini {
        // It reads through us.
        let seen = chat.asked_of_model();
        assert!(seen.iter().any(|body| body.contains("six, unsaved")), "{seen:#?}");
    }
    let edited = SIX.replace("two", "2");
    assert_eq!(chat.file("a.py").unwrap(), edited);
    let both = edited.replace("six", "six, unsaved");
    chat.wait_for_buffer("a.py", &both);
    assert!(chat.is_modified("a.py"));
    chat.in_buffer("a.py", "vim.cmd('normal! u')");
    assert_eq!(chat.buffer("a.py"), SIX.replace("six", "six, unsaved"));
    chat.in_buffer("a.py", "vim.cmd.redo()");
    chat.write("a.py");
    assert_eq!(chat.file("a.py").unwrap(), both);
    chat.finish();
}

/// The user types while the request for permission waits, so that the agent knows nothing of it.
fn unsaved_changes_of_the_same_line_win(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", SIX)]);
    let edited = SIX.replace("two", "2");
    chat.ask(&match kind {
        // Its edits read the file again at the last moment.
        Kind::Gemini => format!("[[read a.py]][[write a.py|{}]]", edited.replace('\n', "\\n")),
        _ => "[[read a.py]][[edit a.py|two|2]]".to_owned(),
    });
    chat.permission();
    chat.in_buffer("a.py", "vim.fn.setline(2, 'mine')");
    chat.answer("allow_once");
    chat.ends("end_turn");
    assert_eq!(chat.buffer("a.py"), SIX.replace("two", "mine"));
    assert!(chat.is_modified("a.py"));
    if kind == Kind::Gemini {
        assert_eq!(chat.file("a.py").unwrap(), SIX);
        let told = chat.asked_of_model().pop().unwrap();
        assert!(told.contains("line 2 changed in the editor"), "{told}");
    } else {
        // The agent's own tool has written the file; the user is told.
        assert_eq!(chat.file("a.py").unwrap(), edited);
        chat.nvim.poll_screen("a.py where you have changed it");
    }
    chat.finish();
}
