//! A file system that does not answer any more: what uses it is told so, and nothing else waits for it.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::support::{Chat, Options, Pending, TempFolder, repository};
use crate::undo::{poll_kept, turn_with_command};
use crate::undo_later::says;
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

/// Makes Neovim and what it starts wait for what is below a folder `hung` while the flag is there.
fn hanging_options(scratch: &TempFolder, flag: &Path) -> Options {
    let env = vec![
        ("LD_PRELOAD".to_owned(), hanging(scratch)),
        ("RAT_TEST_HANG".to_owned(), flag.to_str().unwrap().to_owned()),
    ];
    Options { env, ..Options::wide() }
}

/// Holds (Files): A file system that does not answer stops only what uses it.
#[test]
fn a_file_that_does_not_answer_keeps_nobody_else_waiting() {
    let scratch = TempFolder::new();
    let flag = scratch.path().join("flag");
    let chat = Chat::builder().options(hanging_options(&scratch, &flag));
    let chat = chat.file("hung/a.txt", "silent\n").file("b.txt", "answers\n");
    let mut chat = chat.in_turn();
    let (silent, other) = (chat.path("hung/a.txt"), chat.path("b.txt"));
    // It has to do with the file before that falls silent.
    let known = read(&mut chat, &silent);
    assert_eq!(chat.answer(known), json!({"content": "silent\n"}));
    fs::write(&flag, "").unwrap();
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
    fs::remove_file(&flag).unwrap();
    let error = chat.agent.expect_answer(starts).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("tool does not exist"), "{error}");
    chat.prompt("second");
    chat.nvim.poll_state("running");
    let again = read(&mut chat, &silent);
    assert_eq!(chat.answer(again), json!({"content": "silent\n"}));
}

/// Holds (Review): A prompt is sent while the look at its folders has no end, and the undo of its turn leaves what that did not cover alone and names it.
#[test]
fn a_prompt_does_not_wait_for_a_folder_that_does_not_answer() {
    let scratch = TempFolder::new();
    let flag = scratch.path().join("flag");
    let chat = Chat::builder().options(hanging_options(&scratch, &flag));
    let mut chat = chat.file("hung/deep/early.txt", "one\n").start();
    turn_with_command(&mut chat, |root| fs::write(root.join("first.txt"), "one\n").unwrap());
    prompt_in_silence(&mut chat, &flag);
    let call = json!({"toolCallId": "c2", "title": "sed", "kind": "execute", "status": "pending"});
    chat.tool_call(call);
    // It is not read before it has changed. Whether the tool call has changed it depends on when it is read.
    fs::write(chat.path("hung/deep/early.txt"), "two\n").unwrap();
    fs::remove_file(&flag).unwrap();
    chat.tool_call_update(json!({"toolCallId": "c2", "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(&mut chat);
    says(&mut chat, "RatUndo", "Nothing of \"go on\" to undo: hung/deep/early.txt: ");
}

/// Holds (Review): Also where the whole project does not answer, a prompt is sent.
#[test]
fn a_prompt_does_not_wait_for_a_project_that_does_not_answer() {
    let scratch = TempFolder::new();
    let flag = scratch.path().join("flag");
    let cwd = Some(scratch.folder("hung/project"));
    let options = Options { cwd, ..hanging_options(&scratch, &flag) };
    let mut chat = Chat::builder().options(options).file("a.txt", "one\n").start();
    turn_with_command(&mut chat, |root| fs::write(root.join("first.txt"), "one\n").unwrap());
    prompt_in_silence(&mut chat, &flag);
    fs::remove_file(&flag).unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(&mut chat);
}

/// Prompts while the file system is silent: the agent hears of it although nothing has answered by then. At first it is given
/// time.
fn prompt_in_silence(chat: &mut Chat, flag: &Path) {
    fs::write(flag, "").unwrap();
    let began = Instant::now();
    chat.prompt("go on");
    assert!(flag.exists() && began.elapsed().as_secs() >= 2, "it was given time");
}
