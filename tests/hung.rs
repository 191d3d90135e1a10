//! A file system that does not answer any more: what uses it is told so, and nothing else waits for it.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::support::{Chat, Options, Pending, TempFolder, repository};
use serde_json::json;

/// Builds what makes calls hang. Whoever can build the binary has a C compiler: it links with that.
fn hanging(folder: &TempFolder) -> String {
    let library = folder.path().join("hang.so");
    let source = repository().join("tests/support/hang.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    library.to_str().unwrap().to_owned()
}

fn read(chat: &mut Chat, path: &Path) -> Pending {
    chat.ask("fs/read_text_file", json!({"path": path}))
}

/// Holds (Files): A file system that does not answer stops only what uses it.
#[test]
fn a_file_that_does_not_answer_keeps_nobody_else_waiting() {
    let scratch = TempFolder::new();
    let flag = scratch.path().join("flag");
    let env = vec![
        ("LD_PRELOAD".to_owned(), hanging(&scratch)),
        ("RAT_TEST_HANG".to_owned(), flag.to_str().unwrap().to_owned()),
    ];
    let chat = Chat::builder().options(Options { env, ..Options::wide() });
    let chat = chat.file("hung/a.txt", "silent\n").file("b.txt", "answers\n");
    let mut chat = chat.in_turn();
    let (silent, other) = (chat.path("hung/a.txt"), chat.path("b.txt"));
    // It has to do with the file before that falls silent.
    let known = read(&mut chat, &silent);
    assert_eq!(chat.answer(known), json!({"content": "silent\n"}));
    std::fs::write(&flag, "").unwrap();
    let began = Instant::now();
    let hangs = read(&mut chat, &silent);
    let writes = chat.ask("fs/write_text_file", json!({"path": silent, "content": "late\n"}));
    let tool = silent.with_file_name("tool");
    let starts = chat.ask("terminal/create", json!({"command": tool}));
    // Everything else goes on, a whole turn included.
    for _ in 0..20 {
        let answers = read(&mut chat, &other);
        assert_eq!(chat.answer(answers), json!({"content": "answers\n"}));
    }
    chat.say("still here");
    chat.nvim.poll_screen("still here");
    assert!(!chat.agent.is_answered(hangs) && !chat.agent.is_answered(writes));
    for pending in [hangs, writes] {
        let error = chat.agent.expect_answer(pending).unwrap_err();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("its file system did not answer within"), "{message}");
    }
    assert!(began.elapsed().as_secs() >= 9, "it was given time");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    // What was given up is not done later.
    assert!(!chat.agent.is_answered(starts));
    std::fs::remove_file(&flag).unwrap();
    let error = chat.agent.expect_answer(starts).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("tool does not exist"), "{error}");
    chat.prompt("second");
    chat.nvim.poll_state("running");
    let again = read(&mut chat, &silent);
    assert_eq!(chat.answer(again), json!({"content": "silent\n"}));
}
