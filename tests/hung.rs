//! A file system that does not answer any more: what uses it is told so, and nothing else waits for it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use support::{Agent, Nvim, Options, TempFolder, repository};

/// Builds what makes calls hang. Whoever can build the binary has a C compiler: it links with that.
fn hanging(folder: &TempFolder) -> String {
    let library = folder.path().join("hang.so");
    let source = repository().join("tests/support/hang.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    library.to_str().unwrap().to_owned()
}

fn read(agent: &mut Agent, path: &Path) -> support::Pending {
    agent.ask("fs/read_text_file", json!({"sessionId": "s1", "path": path}))
}

#[test]
fn a_file_that_does_not_answer_keeps_nobody_else_waiting() {
    let scratch = TempFolder::new();
    let flag = scratch.path().join("flag");
    let env = vec![
        ("LD_PRELOAD".to_owned(), hanging(&scratch)),
        ("RAT_TEST_HANG".to_owned(), flag.to_str().unwrap().to_owned()),
    ];
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, env, ..Options::default() });
    let silent = nvim.folder().file("project/hung/a.txt", "silent\n");
    let other = nvim.folder().file("project/b.txt", "answers\n");
    let mut agent = nvim.start_agent();
    agent.handshake();
    nvim.poll_state("ready");
    nvim.send("first");
    let first = agent.expect_request("session/prompt");
    // It has to do with the file before that falls silent.
    let known = read(&mut agent, &silent);
    assert_eq!(agent.expect_answer(known).unwrap(), json!({"content": "silent\n"}));
    std::fs::write(&flag, "").unwrap();
    let began = Instant::now();
    let hangs = read(&mut agent, &silent);
    let write = json!({"sessionId": "s1", "path": silent, "content": "late\n"});
    let writes = agent.ask("fs/write_text_file", write);
    let tool = silent.with_file_name("tool");
    let starts = agent.ask("terminal/create", json!({"sessionId": "s1", "command": tool}));
    // Everything else goes on, a whole turn included.
    for _ in 0..20 {
        let answers = read(&mut agent, &other);
        assert_eq!(agent.expect_answer(answers).unwrap(), json!({"content": "answers\n"}));
    }
    agent.say("s1", "still here");
    nvim.poll_screen("still here");
    assert!(!agent.is_answered(hangs) && !agent.is_answered(writes));
    for pending in [hangs, writes] {
        let error = agent.expect_answer(pending).unwrap_err();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("its file system did not answer within"), "{message}");
    }
    assert!(began.elapsed().as_secs() >= 9, "it was given time");
    agent.reply(&first, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
    // What was given up is not done later.
    assert!(!agent.is_answered(starts));
    std::fs::remove_file(&flag).unwrap();
    let error = agent.expect_answer(starts).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("tool does not exist"), "{error}");
    nvim.send("second");
    agent.expect_request("session/prompt");
    nvim.poll_state("running");
    let again = read(&mut agent, &silent);
    assert_eq!(agent.expect_answer(again).unwrap(), json!({"content": "silent\n"}));
}
