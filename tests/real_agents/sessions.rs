//! Sessions that go on after a restart of Neovim, their modes, models and commands.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_agent};

with_each_agent!(
    goes_on_after_a_restart_of_neovim,
    is_loaded_where_our_transcript_is_gone,
    two_sessions_share_the_agent;
    later has_its_mode_set,
    has_its_commands_completed_and_sent,
);

/// Gemini loses a session that is loaded in the minute it was begun in: then the user is told.
fn goes_on_after_a_restart_of_neovim(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask_and_wait("[[say Before.]]");
    chat.restart_neovim();
    chat.focus();
    chat.wait_for("ready");
    chat.wait_for_text("Before.");
    chat.ask_and_wait("[[say After.]]");
    let transcript = chat.transcript();
    assert!(transcript.ends_with("After."), "{transcript}");
    if transcript.contains("Started a new one") {
        assert_eq!(kind, Kind::Gemini, "{transcript}");
        return;
    }
    assert_eq!(transcript.matches("[[say Before.]]").count(), 1, "{transcript}");
    let remembered = chat.conversation_with("[[say After.]]");
    assert!(remembered.contains("Before."), "{remembered}");
    chat.finish();
}

fn is_loaded_where_our_transcript_is_gone(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask_and_wait("[[say Before.]]");
    let transcripts = chat.nvim.folder().folder("state").join("nvim/rat/transcripts");
    chat.restart_neovim();
    std::fs::remove_dir_all(transcripts).unwrap();
    chat.focus();
    chat.wait_for("ready");
    chat.ask_and_wait("[[say After.]]");
    let transcript = chat.transcript();
    assert!(transcript.ends_with("After."), "{transcript}");
    if kind != Kind::Gemini {
        assert!(transcript.contains("Before."), "{transcript}");
        assert_eq!(transcript.matches("[[say Before.]]").count(), 1, "{transcript}");
        chat.finish();
    }
}

fn has_its_mode_set(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    let (mode, shown) = match kind {
        Kind::OpenCode => ("plan", "plan"),
        Kind::Claude => ("acceptEdits", "Accept edits"),
        Kind::Gemini => ("autoEdit", "Auto Edit"),
        _ => ("plan", "Plan"),
    };
    chat.nvim.command(&format!("RatMode {mode}"));
    chat.until("the mode", |chat| (chat.nvim.status()["mode"] == json!(shown)).then_some(()));
    let model = match kind {
        Kind::OpenCode => Some("mock/mock-small"),
        Kind::Gemini => Some("gemini-2.5-pro"),
        _ => None,
    };
    if let Some(model) = model {
        chat.nvim.command(&format!("RatOption model {model}"));
        let code = "return vim.iter(require('rat.chat.current').get().options):find(function(one)
            return one.id == 'model' end).current";
        chat.until("the model", |chat| {
            (chat.nvim.lua(code, json!([])) == json!(model)).then_some(())
        });
    }
    chat.ask_and_wait("[[say Next.]]");
    assert_eq!(chat.nvim.status()["mode"], json!(shown));
    chat.finish();
}

fn has_its_commands_completed_and_sent(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", "one\n")]);
    chat.ask_and_wait("[[say First.]]");
    let (typed, command) = match kind {
        Kind::Claude => ("/cont", "/context"),
        Kind::Gemini => ("/memory sh", "/memory show"),
        _ => ("/ini", "/init"),
    };
    chat.focus();
    let code = "return vim.tbl_map(function(one) return '/' .. one.name end,
        require('rat.chat.current').get().commands)";
    chat.until("its commands", |chat| {
        let offered = chat.nvim.lua(code, json!([]));
        offered.as_array()?.contains(&json!(command)).then_some(())
    });
    chat.nvim.input(&format!("<Esc>i{typed}<C-x><C-u><C-y>"));
    chat.until("the command", |chat| {
        let line = chat.nvim.eval("vim.api.nvim_get_current_line()");
        (line == json!(command)).then_some(())
    });
    chat.nvim.input("<Esc><CR>");
    chat.turned();
    chat.ends("end_turn");
    chat.ask_and_wait("[[say Next.]]");
    assert!(chat.transcript().ends_with("Next."), "{}", chat.transcript());
    chat.finish();
}

fn two_sessions_share_the_agent(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask_and_wait("[[say One.]]");
    let first = chat.nvim.status()["session_id"].clone();
    chat.nvim.command(&format!("RatStart! {}", kind.name()));
    chat.until("another session", |chat| {
        let status = chat.nvim.status();
        (status["session_id"] != first && status["state"] == json!("ready")).then_some(())
    });
    chat.ask_and_wait("[[say Two.]]");
    let transcript = chat.transcript();
    assert!(transcript.ends_with("Two.") && !transcript.contains("One."), "{transcript}");
    assert_eq!(chat.agent_pids().len(), 1, "one process");
    chat.nvim.command("RatSessions");
    chat.until("the sessions", |chat| (chat.filetype() == "ratselect").then_some(()));
    chat.nvim.input("<Esc>");
    chat.finish();
}
