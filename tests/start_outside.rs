//! Files outside the project: the user is asked about each, may allow its folder with it, and the agent gets an answer
//! whatever they do.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Pending};

struct Turn {
    nvim: Nvim,
    agent: Agent,
    session: String,
    outside: PathBuf,
}

impl Turn {
    fn start() -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let outside = nvim.folder().file("outside/one.txt", "one\n").parent().unwrap().to_owned();
        nvim.folder().file("outside/two.txt", "two\n");
        let mut agent = nvim.start_agent();
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("go");
        agent.expect_request("session/prompt");
        Self { nvim, agent, session, outside }
    }

    fn read(&mut self, name: &str) -> Pending {
        let path = self.outside.join(name);
        self.agent.ask("fs/read_text_file", json!({"sessionId": self.session, "path": path}))
    }

    fn expect_question(&mut self) {
        self.nvim.poll_screen("1  Allow this file for the session");
        self.nvim.poll_screen("outside");
        assert_eq!(self.nvim.status()["state"], json!("waiting"));
    }

    fn expect_refusal(&mut self, pending: Pending) {
        let error = self.agent.expect_answer(pending).unwrap_err();
        assert_eq!(error["code"], json!(-32602));
        assert!(error["message"].as_str().unwrap().contains("outside the project"), "{error}");
    }
}

fn content(text: &str) -> Json {
    json!({"content": text})
}

/// ACP 97.
#[test]
fn a_folder_is_allowed_once_for_all_its_files() {
    let mut turn = Turn::start();
    let (one, two) = (turn.read("one.txt"), turn.read("two.txt"));
    turn.expect_question();
    assert!(!turn.agent.is_answered(one));
    turn.nvim.poll_screen("2  Allow its folder");
    turn.nvim.choose(2);
    assert_eq!(turn.agent.expect_answer(one).unwrap(), content("one\n"));
    assert_eq!(turn.agent.expect_answer(two).unwrap(), content("two\n"));
    turn.nvim.poll("no question", |nvim| !nvim.screen().contains("Allow this file"));
    turn.nvim.poll_state("running");
    let path = turn.outside.join("three.txt");
    let write = json!({"sessionId": turn.session, "path": path, "content": "three\n"});
    turn.agent.request("fs/write_text_file", write).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
    let three = turn.read("three.txt");
    assert_eq!(turn.agent.expect_answer(three).unwrap(), content("three\n"));
}

/// ACP 97.
#[test]
fn a_file_is_allowed_by_itself() {
    let mut turn = Turn::start();
    let one = turn.read("one.txt");
    turn.expect_question();
    let whole = turn.outside.canonicalize().unwrap().join("one.txt").display().to_string();
    turn.nvim.poll("the whole path", |nvim| unwrapped(nvim).contains(&unspaced(&whole)));
    turn.nvim.choose(1);
    assert_eq!(turn.agent.expect_answer(one).unwrap(), content("one\n"));
    turn.nvim.poll_state("running");
    let again = turn.read("one.txt");
    assert_eq!(turn.agent.expect_answer(again).unwrap(), content("one\n"));
    // Nothing else, and nothing that takes its place.
    let two = turn.read("two.txt");
    turn.expect_question();
    turn.nvim.choose(3);
    turn.expect_refusal(two);
    turn.nvim.poll_state("running");
    std::fs::remove_file(turn.outside.join("one.txt")).unwrap();
    symlink(turn.outside.join("two.txt"), turn.outside.join("one.txt")).unwrap();
    let swapped = turn.read("one.txt");
    turn.expect_refusal(swapped);
}

/// What stands on the screen, without the ends of its lines.
fn unwrapped(nvim: &mut Nvim) -> String {
    unspaced(&nvim.screen().text())
}

fn unspaced(text: &str) -> String {
    text.chars().filter(|it| !it.is_whitespace() && *it != '│').collect()
}

/// One file of a home, or beside the project, brings nothing else with it.
#[test]
fn a_folder_that_holds_more_than_is_meant_is_not_offered() {
    let mut turn = Turn::start();
    let home = turn.nvim.lua("return vim.env.HOME", json!([])).as_str().unwrap().to_owned();
    std::fs::write(PathBuf::from(&home).join(".netrc"), "secret\n").unwrap();
    let beside = turn.nvim.folder().file("beside.txt", "beside\n");
    for (path, text) in [(PathBuf::from(home).join(".netrc"), "secret\n"), (beside, "beside\n")] {
        let params = json!({"sessionId": turn.session, "path": path});
        let pending = turn.agent.ask("fs/read_text_file", params);
        turn.nvim.poll_screen("1  Allow this file for the session");
        turn.nvim.poll_screen("2  Refuse");
        assert!(!turn.nvim.screen().contains("Allow its folder"));
        turn.nvim.choose(1);
        assert_eq!(turn.agent.expect_answer(pending).unwrap(), content(text));
        turn.nvim.poll("no question", |nvim| !nvim.screen().contains("Allow this file"));
    }
}

#[test]
fn a_refused_folder_is_refused_without_asking_again() {
    let mut turn = Turn::start();
    let one = turn.read("one.txt");
    turn.expect_question();
    turn.nvim.choose(3);
    turn.expect_refusal(one);
    turn.nvim.poll_state("running");
    let two = turn.read("two.txt");
    turn.expect_refusal(two);
}

#[test]
fn a_dismissed_question_keeps_waiting_and_can_be_answered_later() {
    let mut turn = Turn::start();
    let one = turn.read("one.txt");
    turn.expect_question();
    turn.nvim.dismiss();
    assert!(!turn.agent.is_answered(one));
    assert_eq!(turn.nvim.status()["state"], json!("waiting"));
    turn.nvim.poll_screen(" :RatPermission answer");
    turn.nvim.command("RatPermission");
    turn.nvim.choose(1);
    assert_eq!(turn.agent.expect_answer(one).unwrap(), content("one\n"));
}

/// Keys typed into a file neither answer a question nor leave the file.
#[test]
fn a_question_takes_neither_the_focus_nor_a_key_from_a_file() {
    let mut turn = Turn::start();
    turn.nvim.command("wincmd t | call setline(1, range(1, 40))");
    let mut asked = Vec::new();
    for number in 0..10 {
        let name = format!("{number}.txt");
        turn.nvim.folder().file(&format!("outside/{name}"), "text\n");
        asked.push(turn.read(&name));
        let idle = "_G.idle = false
            require('rat.idle').when(function() return true end, function() idle = true end)";
        turn.nvim.lua(idle, json!([]));
        turn.nvim.poll("an idle user", |nvim| nvim.lua("return idle", json!([])) == json!(true));
        turn.nvim.input("gg10j<CR>1k<CR>");
        let place = "return { vim.bo.filetype, vim.fn.line('.'), vim.fn.line('$') }";
        let wanted = json!(["", 12, 40]);
        turn.nvim.poll("the motions in the file", |nvim| nvim.lua(place, json!([])) == wanted);
    }
    turn.nvim.poll_screen(":RatPermission");
    assert!(asked.into_iter().all(|pending| !turn.agent.is_answered(pending)));
}

/// ACP 97.
#[test]
fn every_way_out_of_the_project_is_asked_about() {
    let mut turn = Turn::start();
    let project = turn.nvim.cwd().to_owned();
    symlink(turn.outside.join("one.txt"), project.join("link.txt")).unwrap();
    symlink(&turn.outside, project.join("folder")).unwrap();
    symlink(turn.outside.join("new.txt"), project.join("dangling.txt")).unwrap();
    let first = turn.read("../project/folder/one.txt");
    turn.expect_question();
    turn.nvim.choose(3);
    turn.expect_refusal(first);
    let ways =
        ["../outside/one.txt", "link.txt", "folder/one.txt", "folder/new.txt", "dangling.txt"];
    for path in ways.map(|way| project.join(way)) {
        for (method, more) in [("read", json!({})), ("write", json!({"content": "agent\n"}))] {
            let mut params = json!({"sessionId": turn.session, "path": path});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let pending = turn.agent.ask(&format!("fs/{method}_text_file"), params);
            turn.expect_refusal(pending);
        }
    }
    assert_eq!(std::fs::read_to_string(turn.outside.join("one.txt")).unwrap(), "one\n");
    assert_eq!(std::fs::read_dir(&turn.outside).unwrap().count(), 2);
    assert_eq!(turn.nvim.status()["state"], json!("running"));
}

/// A hard link is a name like any other: which one was there first nobody can tell.
#[test]
fn a_name_inside_is_inside_whatever_other_names_the_file_has() {
    let mut turn = Turn::start();
    let path = turn.nvim.cwd().join("one.txt");
    std::fs::hard_link(turn.outside.join("one.txt"), &path).unwrap();
    let params = json!({"sessionId": turn.session, "path": path});
    assert_eq!(turn.agent.request("fs/read_text_file", params).unwrap(), content("one\n"));
    let write = json!({"sessionId": turn.session, "path": path, "content": "agent\n"});
    turn.agent.request("fs/write_text_file", write).unwrap();
    assert_eq!(std::fs::read_to_string(turn.outside.join("one.txt")).unwrap(), "agent\n");
    assert_eq!(turn.nvim.status()["state"], json!("running"));
}

#[test]
fn what_is_no_file_is_an_error_and_no_question() {
    let mut turn = Turn::start();
    let project = turn.nvim.cwd().to_owned();
    std::fs::create_dir(project.join("folder")).unwrap();
    symlink("/dev/zero", project.join("device")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(project.join("pipe")).status().unwrap();
    assert!(pipe.success());
    let paths = [project.join("folder"), project.join("device"), project.join("pipe")];
    for path in paths.into_iter().chain(["/dev/null".into(), turn.outside.clone()]) {
        for method in ["fs/read_text_file", "fs/write_text_file"] {
            let params = json!({"sessionId": turn.session, "path": path, "content": "agent\n"});
            let error = turn.agent.request(method, params).unwrap_err();
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("not a regular file"), "{}: {error}", path.display());
        }
    }
    assert_eq!(turn.nvim.status()["state"], json!("running"));
    assert_eq!(turn.nvim.messages().lines().filter(|line| line.contains("rat")).count(), 0);
    assert_eq!(std::fs::read_dir(&project).unwrap().count(), 3, "nothing was made");
}

#[test]
fn a_cancelled_turn_leaves_no_question_and_no_request_unanswered() {
    let mut turn = Turn::start();
    let one = turn.read("one.txt");
    turn.expect_question();
    turn.nvim.command("RatCancel");
    turn.agent.expect_notification("session/cancel");
    turn.nvim.poll("no question", |nvim| !nvim.screen().contains("Allow this file"));
    assert_eq!(turn.agent.expect_answer(one).unwrap_err()["code"], json!(-32800));
    let late = turn.read("two.txt");
    assert_eq!(turn.agent.expect_answer(late).unwrap_err()["code"], json!(-32800));
}

/// ACP 73.
#[test]
fn a_request_the_agent_withdraws_takes_its_question_with_it() {
    let mut turn = Turn::start();
    let one = turn.read("one.txt");
    turn.expect_question();
    turn.agent.notify("$/cancel_request", json!({"requestId": 0}));
    let error = turn.agent.expect_answer(one).unwrap_err();
    assert_eq!(error["code"], json!(-32800));
    turn.nvim.poll("no question", |nvim| !nvim.screen().contains("Allow this file"));
    turn.nvim.poll_state("running");
}
