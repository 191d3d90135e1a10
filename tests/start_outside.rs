//! Documents outside the project: the user is asked about each, may allow its folder with it, and the agent gets an answer
//! whatever they do.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::support::{Chat, Nvim, Pending};
use serde_json::{Value as Json, json};

/// A turn that runs in a project, beside a folder with two files.
fn beside_a_folder() -> Chat {
    let nvim = Nvim::wide();
    for (name, text) in [("one.txt", "one\n"), ("two.txt", "two\n")] {
        nvim.folder().file(&format!("outside/{name}"), text);
    }
    Chat::builder().neovim(nvim).in_turn()
}

fn outside(nvim: &Nvim) -> PathBuf {
    nvim.folder().path().join("outside")
}

/// Asks for a file of the folder outside.
fn read(chat: &mut Chat, name: &str) -> Pending {
    let path = outside(&chat.nvim).join(name);
    chat.ask("fs/read_text_file", json!({"path": path}))
}

fn expect_question(nvim: &mut Nvim) {
    nvim.poll_screen("1  Allow this file for the session");
    nvim.poll_screen("outside");
    assert_eq!(nvim.status()["state"], json!("waiting"));
}

fn expect_refusal(chat: &mut Chat, pending: Pending) {
    let error = chat.agent.expect_answer(pending).unwrap_err();
    assert_eq!(error["code"], json!(-32602));
    assert!(error["message"].as_str().unwrap().contains("outside the project"), "{error}");
}

fn content(text: &str) -> Json {
    json!({"content": text})
}

/// ACP 97.
/// Holds (Reading files): A file outside the project needs the user's consent, for that file or for its folder.
#[test]
fn a_folder_is_allowed_once_for_all_its_files() {
    let mut chat = beside_a_folder();
    let (one, two) = (read(&mut chat, "one.txt"), read(&mut chat, "two.txt"));
    expect_question(&mut chat.nvim);
    assert!(!chat.agent.is_answered(one));
    chat.nvim.poll_screen("2  Allow its folder");
    chat.nvim.choose(2);
    assert_eq!(chat.answer(one), content("one\n"));
    assert_eq!(chat.answer(two), content("two\n"));
    chat.nvim.poll_no("Allow this file");
    chat.nvim.poll_state("running");
    let path = outside(&chat.nvim).join("three.txt");
    let write = json!({"path": path, "content": "three\n"});
    chat.request("fs/write_text_file", write).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
    let three = read(&mut chat, "three.txt");
    assert_eq!(chat.answer(three), content("three\n"));
}

/// ACP 97.
/// Holds (Reading files): A file outside the project needs the user's consent, for that file or for its folder.
#[test]
fn a_file_is_allowed_by_itself() {
    let mut chat = beside_a_folder();
    let one = read(&mut chat, "one.txt");
    expect_question(&mut chat.nvim);
    let whole = outside(&chat.nvim).canonicalize().unwrap().join("one.txt").display().to_string();
    chat.nvim.poll("the whole path", |nvim| unwrapped(nvim).contains(&unspaced(&whole)));
    chat.nvim.choose(1);
    assert_eq!(chat.answer(one), content("one\n"));
    chat.nvim.poll_state("running");
    let again = read(&mut chat, "one.txt");
    assert_eq!(chat.answer(again), content("one\n"));
    // Nothing else, and nothing that takes its place.
    let two = read(&mut chat, "two.txt");
    expect_question(&mut chat.nvim);
    chat.nvim.choose(3);
    expect_refusal(&mut chat, two);
    chat.nvim.poll_state("running");
    std::fs::remove_file(outside(&chat.nvim).join("one.txt")).unwrap();
    symlink(outside(&chat.nvim).join("two.txt"), outside(&chat.nvim).join("one.txt")).unwrap();
    let swapped = read(&mut chat, "one.txt");
    expect_refusal(&mut chat, swapped);
}

/// What stands on the screen, without the ends of its lines.
fn unwrapped(nvim: &mut Nvim) -> String {
    unspaced(&nvim.screen().text())
}

fn unspaced(text: &str) -> String {
    text.chars().filter(|it| !it.is_whitespace() && *it != '│').collect()
}

/// One file of a home, or beside the project, brings nothing else with it.
/// Holds (Reading files): Folders that hold more than the user means are never offered: a home, the root of a disk, a parent of the project.
#[test]
fn a_folder_that_holds_more_than_is_meant_is_not_offered() {
    let mut chat = beside_a_folder();
    let home = chat.nvim.eval("vim.env.HOME").as_str().unwrap().to_owned();
    std::fs::write(PathBuf::from(&home).join(".netrc"), "secret\n").unwrap();
    let beside = chat.nvim.folder().file("beside.txt", "beside\n");
    for (path, text) in [(PathBuf::from(home).join(".netrc"), "secret\n"), (beside, "beside\n")] {
        let pending = chat.ask("fs/read_text_file", json!({"path": path}));
        chat.nvim.poll_screen("1  Allow this file for the session");
        chat.nvim.poll_screen("2  Refuse");
        assert!(!chat.nvim.screen().contains("Allow its folder"));
        chat.nvim.choose(1);
        assert_eq!(chat.answer(pending), content(text));
        chat.nvim.poll_no("Allow this file");
    }
}

#[test]
fn a_refused_folder_is_refused_without_asking_again() {
    let mut chat = beside_a_folder();
    let one = read(&mut chat, "one.txt");
    expect_question(&mut chat.nvim);
    chat.nvim.choose(3);
    expect_refusal(&mut chat, one);
    chat.nvim.poll_state("running");
    let two = read(&mut chat, "two.txt");
    expect_refusal(&mut chat, two);
}

#[test]
fn a_dismissed_question_keeps_waiting_and_can_be_answered_later() {
    let mut chat = beside_a_folder();
    let one = read(&mut chat, "one.txt");
    expect_question(&mut chat.nvim);
    chat.nvim.dismiss();
    assert!(!chat.agent.is_answered(one));
    assert_eq!(chat.nvim.status()["state"], json!("waiting"));
    chat.nvim.poll_screen(" :RatPermission answer");
    chat.nvim.command("RatPermission");
    chat.nvim.choose(1);
    assert_eq!(chat.answer(one), content("one\n"));
}

/// Keys typed into a file neither answer a question nor leave the file.
#[test]
fn a_question_takes_neither_the_focus_nor_a_key_from_a_file() {
    let mut chat = beside_a_folder();
    chat.nvim.command("wincmd t | call setline(1, range(1, 40))");
    let mut asked = Vec::new();
    for number in 0..10 {
        let name = format!("{number}.txt");
        chat.nvim.folder().file(&format!("outside/{name}"), "text\n");
        asked.push(read(&mut chat, &name));
        chat.nvim.poll_idle();
        chat.nvim.input("gg10j<CR>1k<CR>");
        let place = "return { vim.bo.filetype, vim.fn.line('.'), vim.fn.line('$') }";
        let wanted = json!(["", 12, 40]);
        chat.nvim.poll("the motions in the file", |nvim| nvim.lua(place, json!([])) == wanted);
    }
    chat.nvim.poll_screen(":RatPermission");
    assert!(asked.into_iter().all(|pending| !chat.agent.is_answered(pending)));
}

/// ACP 97.
/// Holds (Reading files): No path leaves the project unasked: not by `..`, a symlink, a symlinked folder or a dangling symlink.
#[test]
fn every_way_out_of_the_project_is_asked_about() {
    let mut chat = beside_a_folder();
    let project = chat.nvim.cwd().to_owned();
    symlink(outside(&chat.nvim).join("one.txt"), project.join("link.txt")).unwrap();
    symlink(outside(&chat.nvim), project.join("folder")).unwrap();
    symlink(outside(&chat.nvim).join("new.txt"), project.join("dangling.txt")).unwrap();
    let first = read(&mut chat, "../project/folder/one.txt");
    expect_question(&mut chat.nvim);
    chat.nvim.choose(3);
    expect_refusal(&mut chat, first);
    let ways =
        ["../outside/one.txt", "link.txt", "folder/one.txt", "folder/new.txt", "dangling.txt"];
    for path in ways.map(|way| project.join(way)) {
        let read = json!({"path": path});
        let write = json!({"path": path, "content": "agent\n"});
        for (method, params) in [("fs/read_text_file", read), ("fs/write_text_file", write)] {
            let pending = chat.ask(method, params);
            expect_refusal(&mut chat, pending);
        }
    }
    assert_eq!(std::fs::read_to_string(outside(&chat.nvim).join("one.txt")).unwrap(), "one\n");
    assert_eq!(std::fs::read_dir(outside(&chat.nvim)).unwrap().count(), 2);
    assert_eq!(chat.nvim.status()["state"], json!("running"));
}

/// Holds (Reading files): A file that also has a name outside of the project is read as one of the project, and written only with the user's consent.
#[test]
fn what_has_a_name_outside_is_written_only_with_consent() {
    let mut chat = beside_a_folder();
    let cwd = chat.nvim.cwd().to_owned();
    let (out, path, inside) =
        (outside(&chat.nvim).join("one.txt"), cwd.join("one.txt"), cwd.join("other.txt"));
    std::fs::hard_link(&out, &path).unwrap();
    let read = chat.request("fs/read_text_file", json!({"path": path}));
    assert_eq!(read.unwrap(), content("one\n"));
    let write = |text: &str| json!({"path": path, "content": text});
    let pending = chat.ask("fs/write_text_file", write("agent\n"));
    chat.nvim.poll_screen("also a file outside the project");
    chat.nvim.poll_screen("2  Allow all such files in");
    assert!(!chat.agent.is_answered(pending));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "one\n");
    chat.nvim.choose(1);
    chat.answer(pending);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "agent\n", "it is still one file");
    chat.nvim.poll_state("running");
    chat.request("fs/write_text_file", write("again\n")).unwrap();
    // All names of another are inside.
    std::fs::write(&inside, "inside\n").unwrap();
    std::fs::hard_link(&inside, cwd.join("same.txt")).unwrap();
    chat.request("fs/write_text_file", json!({"path": inside, "content": "both\n"})).unwrap();
    assert_eq!(std::fs::read_to_string(cwd.join("same.txt")).unwrap(), "both\n");
    std::fs::hard_link(outside(&chat.nvim).join("two.txt"), cwd.join("two.txt")).unwrap();
    let two = json!({"path": cwd.join("two.txt"), "content": "agent\n"});
    let pending = chat.ask("fs/write_text_file", two);
    expect_question(&mut chat.nvim);
    chat.nvim.choose(3);
    expect_refusal(&mut chat, pending);
    assert_eq!(std::fs::read_to_string(cwd.join("two.txt")).unwrap(), "two\n");
}

/// Holds (Reading files): A folder, a pipe or a device is an error and never a question, inside the project or outside.
#[test]
fn what_is_no_file_is_an_error_and_no_question() {
    let mut chat = beside_a_folder();
    let project = chat.nvim.cwd().to_owned();
    std::fs::create_dir(project.join("folder")).unwrap();
    symlink("/dev/zero", project.join("device")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(project.join("pipe")).status().unwrap();
    assert!(pipe.success());
    let paths = [project.join("folder"), project.join("device"), project.join("pipe")];
    for path in paths.into_iter().chain(["/dev/null".into(), outside(&chat.nvim)]) {
        for method in ["fs/read_text_file", "fs/write_text_file"] {
            let params = json!({"path": path, "content": "agent\n"});
            let error = chat.request(method, params).unwrap_err();
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("not a regular file"), "{}: {error}", path.display());
        }
    }
    assert_eq!(chat.nvim.status()["state"], json!("running"));
    assert_eq!(chat.nvim.messages().lines().filter(|line| line.contains("rat")).count(), 0);
    assert_eq!(std::fs::read_dir(&project).unwrap().count(), 3, "nothing was made");
}

#[test]
fn a_cancelled_turn_leaves_no_question_and_no_request_unanswered() {
    let mut chat = beside_a_folder();
    let one = read(&mut chat, "one.txt");
    expect_question(&mut chat.nvim);
    chat.nvim.command("RatCancel");
    chat.agent.expect_notification("session/cancel");
    chat.nvim.poll_no("Allow this file");
    assert_eq!(chat.agent.expect_answer(one).unwrap_err()["code"], json!(-32800));
    let late = read(&mut chat, "two.txt");
    assert_eq!(chat.agent.expect_answer(late).unwrap_err()["code"], json!(-32800));
}

/// ACP 73.
#[test]
fn a_request_the_agent_withdraws_takes_its_question_with_it() {
    let mut chat = beside_a_folder();
    let one = read(&mut chat, "one.txt");
    expect_question(&mut chat.nvim);
    chat.agent.notify("$/cancel_request", json!({"requestId": 0}));
    let error = chat.agent.expect_answer(one).unwrap_err();
    assert_eq!(error["code"], json!(-32800));
    chat.nvim.poll_no("Allow this file");
    chat.nvim.poll_state("running");
}

/// Holds (Hostile agents): A folder of a session that is exchanged for a link gives no access to where the link leads.
#[test]
fn a_project_that_is_exchanged_for_a_link_does_not_lead_outside_unasked() {
    let mut chat = beside_a_folder();
    let project = chat.nvim.cwd().to_owned();
    std::fs::rename(&project, project.with_extension("moved")).unwrap();
    symlink(outside(&chat.nvim), &project).unwrap();
    let pending = chat.ask("fs/read_text_file", json!({"path": project.join("one.txt")}));
    expect_question(&mut chat.nvim);
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.choose(2);
    expect_refusal(&mut chat, pending);
    let write = json!({"path": project.join("one.txt"), "content": "changed"});
    let pending = chat.ask("fs/write_text_file", write);
    expect_refusal(&mut chat, pending);
    assert_eq!(std::fs::read_to_string(outside(&chat.nvim).join("one.txt")).unwrap(), "one\n");
}
