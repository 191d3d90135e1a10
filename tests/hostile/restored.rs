//! The same names and texts in a session that is gone on with after a restart: what was written down is as hostile.

use super::names;
use super::poison::text;
use super::shown::{self, say_everything};
use crate::support::{Agent, Chat, Nvim};
use serde_json::{Value as Json, json};

/// Answers as an agent that goes on with the session this Neovim was left with.
fn resume(nvim: &mut Nvim, agent: &mut Agent, initialized: Json, resumed: Json) {
    agent.initialize(initialized);
    let request = agent.expect_request("session/resume");
    agent.reply(&request, resumed);
    nvim.poll_state("ready");
}

/// Holds (Hostile agents): A resumed transcript is as harmless as a live one.
#[test]
fn no_name_in_a_restored_transcript_opens_anything_but_a_real_file() {
    let mut chat = names::in_turn();
    chat.poll_said();
    chat.write_draft("a draft");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.quit();
    chat.agent.expect_gone();
    let later = chat.nvim.beside(names::init());
    let (nvim, agent) = Chat::builder().neovim(later).launch();
    (chat.nvim, chat.agent) = (nvim, agent);
    resume(&mut chat.nvim, &mut chat.agent, names::initialized(), json!({}));
    chat.poll_said();
    chat.press_in_all_views();
}

/// Holds (Hostile agents): A resumed transcript is as harmless as a live one.
#[test]
fn no_window_of_a_restored_session_lets_a_sequence_through() {
    let mut talk = shown::Talk::start("");
    say_everything(&mut talk);
    talk.settle("All was said.");
    talk.agent.reply(&talk.turn, json!({"stopReason": "end_turn"}));
    talk.viewer.nvim.poll_state("ready");
    talk.viewer.nvim.quit();
    talk.agent.expect_gone();
    let viewer = &mut talk.viewer.restart();
    let resumed = json!({"configOptions": shown::options()});
    talk.agent = Chat::builder().launch_in(&mut viewer.nvim);
    resume(&mut viewer.nvim, &mut talk.agent, shown::initialized(), resumed);
    viewer.go_to("All was said.");
    viewer.look_through();
    for (command, word) in
        [("RatPlan", "p-step"), ("RatTools", "p-title"), ("RatInfo", "p-version")]
    {
        viewer.open(command, word);
        viewer.nvim.command("normal q");
    }
    viewer.go_to("p-run");
    viewer.nvim.input("zv<CR>");
    let enter = "local win = vim.fn.bufwinid('rat://fake/1/output/1')
        return win ~= -1 and vim.api.nvim_set_current_win(win) == nil";
    viewer.nvim.poll("all it gave", |nvim| nvim.lua(enter, json!([])) == json!(true));
    viewer.look_through();
    viewer.nvim.command("close");
    for (row, word) in [("p-embedded", "p-resource"), ("p-image", "p-mime")] {
        viewer.go_to(row);
        viewer.nvim.input("zv<CR>");
        viewer.poll(word);
        viewer.nvim.input("<Esc>");
    }
    viewer.nvim.command("RatSessions");
    let request = talk.agent.expect_request("session/list");
    talk.agent.reply(&request, json!({"sessions": [], "nextCursor": text("p-cursor")}));
    viewer.poll("p-info");
    viewer.nvim.input("<Esc>");
    viewer.finish(&[
        "p-message",
        "p-thought",
        "p-user",
        "p-heading",
        "p-table",
        "p-code",
        "p-title",
        "p-place",
        "p-edit",
        "p-old",
        "p-new",
        "p-run",
        "p-command",
        "p-row",
        "p-signal",
        "p-step",
        "p-done",
        "p-summary",
        "p-titled",
        "p-resource",
        "p-info",
    ]);
}
