//! `:RatSearch` with sessions that agents have had.

use crate::support::{Chat, TRANSCRIPT};
use rat_nvim::host::store::Store;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::entry::{Entry, Message};
use rat_nvim::session::saved::SavedSession;
use rat_nvim::session::update::Role;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Holds (Searching): A session of another folder is found after a restart, and opened there.
#[test]
fn a_session_of_another_folder_is_found_and_resumed_there() {
    let loads = json!({"agentCapabilities": {"loadSession": true}});
    let mut chat = Chat::builder().initialized(loads.clone()).start();
    let session = chat.session.clone();
    chat.prompt("where does the xylophone come from?");
    chat.say("From the orchestra.\nThe Xylophone is in bar 7.");
    chat.end_turn("end_turn");
    chat.nvim.command("RatStop!");
    chat.agent.expect_gone();
    let folder = chat.path("");
    let other = chat.nvim.folder().folder("elsewhere");
    chat.nvim.command(&format!("cd {}", other.display()));
    chat.nvim.command("RatSearch xylophone bar");
    chat.nvim.poll_screen("The Xylophone is in bar 7.");
    chat.nvim.poll_screen("(1 of 1 session)");
    chat.nvim.input("<CR>");
    chat.agent.expect_start();
    chat.agent.initialize(loads);
    let load = chat.agent.expect_request("session/load");
    assert_eq!(load.params["sessionId"], json!(session));
    let real = std::fs::canonicalize(folder).unwrap();
    assert_eq!(load.params["cwd"], json!(real));
    chat.agent.reply(&load, json!({}));
    chat.nvim.poll_state("ready");
    chat.nvim.poll_screen("From the orchestra.");
}

/// Holds (Searching): A session that was found opens at the line that was found, with the cursor on the first word.
#[test]
fn a_session_that_was_found_opens_at_the_line() {
    let loads = json!({"agentCapabilities": {"loadSession": true}});
    let mut chat = Chat::builder().initialized(loads.clone()).start();
    chat.prompt("list them");
    let mut lines: Vec<String> = (1..=3000).map(|at| format!("- instrument number {at}")).collect();
    lines[700] = format!("- {} the Xylophone {}", "long ".repeat(30), "tail ".repeat(60));
    chat.say(&lines.join("\n"));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let here = "{vim.fn.bufname(), vim.fn.expand('<cword>'), vim.fn.mode()}";
    // It is open: its window is at the end.
    chat.nvim.command("RatSearch xylophone");
    chat.nvim.poll_screen("(1 of 1 session)");
    chat.nvim.input("<CR>");
    let there = json!([TRANSCRIPT, "Xylophone", "n"]);
    chat.nvim.poll("the line", |nvim| nvim.eval(here) == there);
    chat.nvim.command("RatStop!");
    chat.agent.expect_gone();
    chat.nvim.command("RatSearch xylophone");
    chat.nvim.poll_screen("(1 of 1 session)");
    chat.nvim.input("<CR>");
    chat.agent.expect_start();
    chat.agent.initialize(loads);
    let load = chat.agent.expect_request("session/load");
    chat.agent.reply(&load, json!({}));
    let word = "vim.fn.expand('<cword>')";
    chat.nvim.poll("the line", |nvim| nvim.eval(word) == json!("Xylophone"));
    assert!(chat.nvim.screen().contains("the Xylophone"));
}

/// Holds (Searching): What is said in a turn that is going on is found.
#[test]
fn what_is_being_said_is_found() {
    let mut chat = Chat::in_turn();
    chat.say("A bassoon.\n");
    chat.nvim.poll("the bassoon", |nvim| {
        nvim.command("RatSearch bassoon");
        nvim.buffer_lines("rat://search").iter().any(|line| line.contains("A bassoon."))
    });
    chat.nvim.command("RatSearch Bassoon");
    chat.nvim.poll_screen("No session has all these words.");
}

fn said(text: &str) -> Entry {
    let (text, attachments) = (text.to_owned(), Vec::new());
    Entry::Message(Message {
        role: Role::User,
        id: None,
        text,
        attachments,
        said_anew: 0,
        about: None,
    })
}

/// Fills a store with closed sessions. Only the first one has a xylophone.
async fn fill(store: &Store, cwd: &Path, sessions: usize) {
    for number in 0..sessions {
        let session = SavedSession {
            agent: "fake".into(),
            id: format!("session{number}").into(),
            cwd: cwd.to_owned(),
            title: Some(format!("title {number}")),
            used_at: 0,
            in_place: false,
            open: false,
        };
        let words = if number == 0 { "where is the xylophone?" } else { "hello" };
        let key = session.key();
        let _ = store.save(session, false, vec![(0, said(words))]).await;
        store.release(key);
    }
    // It is answered after everything is saved.
    store.list(cwd.to_owned()).await;
}

/// Holds (Searching): A session is found and opened however many there have been since.
#[test]
fn a_session_before_hundreds_of_others_is_found_and_resumed() {
    let (mut nvim, mut agent) = Chat::builder().configure();
    let root = nvim.lua("return require('rat.util.private_file').root()", json!([]));
    let cwd = nvim.lua("return vim.uv.fs_realpath(vim.fn.getcwd())", json!([]));
    let [root, cwd] = [root, cwd].map(|path| PathBuf::from(path.as_str().unwrap()));
    let store = Store::open(Some(root.clone()), Secrets::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fill(&store, &cwd, 205));
    drop(store);
    nvim.command("RatSearch xylophone");
    nvim.poll_screen("where is the xylophone?");
    nvim.poll_screen("(1 of 205 sessions)");
    nvim.input("<CR>");
    agent.expect_start();
    agent.initialize(json!({"agentCapabilities": {"loadSession": true}}));
    let load = agent.expect_request("session/load");
    assert_eq!(load.params["sessionId"], json!("session0"));
    agent.reply(&load, json!({}));
    nvim.poll_state("ready");
    nvim.poll_screen("where is the xylophone?");
    nvim.command("RatSend and the vibraphone?");
    let prompt = agent.expect_request("session/prompt");
    agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
    nvim.command("RatSearch xylophone vibraphone");
    nvim.poll_screen("(1 of 205 sessions)");
}
