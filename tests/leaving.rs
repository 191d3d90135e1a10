//! Leaving Neovim: what the user has written outlives it, and a turn that runs is not ended unasked.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use support::{Agent, Nvim, Options, Processes};

const PROMPT: &str = "rat://fake/1/prompt";

fn wide() -> Options {
    Options { columns: 120, lines: 40, ..Options::default() }
}

fn ready(nvim: &mut Nvim) -> Agent {
    let mut agent = nvim.start_agent();
    agent.handshake();
    nvim.poll_state("ready");
    agent
}

fn in_turn(nvim: &mut Nvim) -> Agent {
    let mut agent = ready(nvim);
    nvim.send("go");
    agent.expect_request("session/prompt");
    nvim.poll_state("running");
    agent
}

fn write(nvim: &mut Nvim, text: &str) {
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([PROMPT]));
    nvim.input(&format!("ggVGc{text}<Esc>"));
    nvim.poll(text, |nvim| nvim.buffer_lines(PROMPT).join("<CR>") == text);
}

/// Two prompts are sent and answered.
fn send_two(nvim: &mut Nvim, agent: &mut Agent) {
    for text in ["sent one", "sent two"] {
        write(nvim, text);
        nvim.input("<CR>");
        let request = agent.expect_request("session/prompt");
        agent.reply(&request, json!({"stopReason": "end_turn"}));
        nvim.poll_state("ready");
    }
}

/// The files below a folder of the state, with what they say.
fn kept(nvim: &Nvim, kind: &str) -> Vec<(std::path::PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(std::path::PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                walk(&entry.path(), found);
            } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
                found.push((entry.path(), text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&nvim.folder().path().join("state/nvim/rat").join(kind), &mut found);
    // One that is being written is not there yet.
    found.retain(|(path, _)| path.extension().is_none_or(|end| end != "new"));
    found
}

fn poll_kept(nvim: &mut Nvim, kind: &'static str, text: &str) {
    nvim.poll(text, |nvim| kept(nvim, kind).iter().any(|(_, said)| said.contains(text)));
}

#[test]
fn a_draft_with_its_attachments_outlives_neovim_however_it_ends() {
    for killed in [false, true] {
        let mut nvim = Nvim::start(wide());
        let file = nvim.folder().file("project/file.txt", "one\ntwo\n");
        let _agent = ready(&mut nvim);
        write(&mut nvim, "first line<CR>second line");
        nvim.command(&format!("RatAdd {}", file.display()));
        nvim.poll_screen("file.txt");
        if killed {
            poll_kept(&mut nvim, "drafts", "second line");
            poll_kept(&mut nvim, "drafts", "file.txt");
            for (path, _) in kept(&nvim, "drafts") {
                let mode = std::fs::metadata(path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
            nvim.kill();
        } else {
            // At once, before anything was written by itself.
            nvim.quit();
        }
        let mut later = nvim.beside(wide());
        let mut agent = ready(&mut later);
        assert_eq!(later.buffer_lines(PROMPT), ["first line", "second line"]);
        later.poll_screen("file.txt");
        // Sent, it is nowhere any more.
        later.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([PROMPT]));
        later.input("<CR>");
        let sent = agent.expect_request("session/prompt").params["prompt"].to_string();
        assert!(sent.contains("second line") && sent.contains("file.txt"), "{sent}");
        later.poll("nothing kept", |nvim| kept(nvim, "drafts").is_empty());
    }
}

#[test]
fn the_queue_comes_back_in_the_prompt() {
    let mut nvim = Nvim::start(wide());
    let _agent = in_turn(&mut nvim);
    for text in ["queued one", "queued two"] {
        nvim.send(text);
    }
    nvim.poll("the queue", |nvim| nvim.status()["queued"].as_array().map(Vec::len) == Some(2));
    write(&mut nvim, "the draft");
    poll_kept(&mut nvim, "drafts", "queued two");
    poll_kept(&mut nvim, "drafts", "the draft");
    nvim.kill();
    let mut later = nvim.beside(wide());
    let _agent = ready(&mut later);
    let wanted = ["queued one", "", "queued two", "", "the draft"];
    assert_eq!(later.buffer_lines(PROMPT), wanted);
    // What came back is kept again.
    later.kill();
    let mut last = later.beside(wide());
    let _agent = ready(&mut last);
    assert_eq!(last.buffer_lines(PROMPT), wanted);
}

#[test]
fn two_neovims_keep_their_drafts_apart() {
    let mut one = Nvim::start(wide());
    let _agent = ready(&mut one);
    write(&mut one, "of the first");
    poll_kept(&mut one, "drafts", "of the first");
    let mut other = one.beside(wide());
    let _other_agent = ready(&mut other);
    assert_eq!(other.buffer_lines(PROMPT), [""]);
    write(&mut other, "of the second");
    poll_kept(&mut other, "drafts", "of the second");
    one.kill();
    other.kill();
    let mut later = one.beside(wide());
    let _agent = ready(&mut later);
    let lines = later.buffer_lines(PROMPT).join("\n");
    assert!(lines.contains("of the first") && lines.contains("of the second"), "{lines}");
}

#[test]
fn prompts_sent_before_are_walked_after_a_restart() {
    let mut nvim = Nvim::start(wide());
    let mut agent = ready(&mut nvim);
    send_two(&mut nvim, &mut agent);
    poll_kept(&mut nvim, "prompts", "sent two");
    nvim.kill();
    let mut later = nvim.beside(wide());
    let _agent = ready(&mut later);
    later.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([PROMPT]));
    for wanted in ["sent two", "sent one"] {
        later.input("<Up>");
        later.poll(wanted, |nvim| nvim.buffer_lines(PROMPT) == [wanted]);
    }
}

#[test]
fn a_draft_is_kept_while_another_prompt_is_shown() {
    let mut nvim = Nvim::start(wide());
    let mut agent = ready(&mut nvim);
    send_two(&mut nvim, &mut agent);
    write(&mut nvim, "the draft");
    nvim.input("<Up>A, edited<Esc><Up>");
    nvim.poll("an old prompt", |nvim| nvim.buffer_lines(PROMPT) == ["sent one"]);
    // Sent, the old prompt leaves the draft as it was.
    nvim.input("<CR>");
    let request = agent.expect_request("session/prompt");
    assert_eq!(request.params["prompt"][0]["text"], json!("sent one"));
    agent.reply(&request, json!({"stopReason": "end_turn"}));
    nvim.poll("the draft", |nvim| nvim.buffer_lines(PROMPT) == ["the draft"]);
    nvim.input("<Up><Up>A, edited<Esc><Up>");
    nvim.poll("the oldest", |nvim| nvim.buffer_lines(PROMPT) == ["sent one"]);
    nvim.quit();
    let mut later = nvim.beside(wide());
    let _agent = ready(&mut later);
    assert_eq!(later.buffer_lines(PROMPT), ["sent two, edited", "", "the draft"]);
}

/// Waits until the user is told; Neovim's own words may need a key.
fn poll_told(nvim: &mut Nvim) {
    nvim.poll("a word about the turn", |nvim| {
        if nvim.mode_is_blocked() {
            nvim.input("<CR>");
        }
        nvim.screen().contains("Fake agent is still working")
    });
}

#[test]
fn leaving_during_a_turn_is_stopped_once() {
    for command in ["qa", "wqa", "xa", "q"] {
        for in_prompt in [false, true] {
            let mut nvim = Nvim::start(wide());
            let file = nvim.folder().file("project/file.txt", "one\n");
            nvim.command(&format!("edit {}", file.display()));
            let _agent = in_turn(&mut nvim);
            let there = if in_prompt { PROMPT.to_owned() } else { file.display().to_string() };
            nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([there]));
            if command == "q" {
                nvim.command("RatToggle");
                nvim.command(&format!("edit {}", file.display()));
            }
            let place = "return { vim.api.nvim_buf_get_name(0), vim.fn.winnr(), vim.fn.winnr('$'), #vim.api.nvim_list_bufs() }";
            let before = nvim.lua(place, json!([]));
            nvim.input(&format!(":{command}<CR>"));
            poll_told(&mut nvim);
            assert!(!nvim.mode_is_blocked());
            assert_eq!(nvim.lua(place, json!([])), before, "{command}");
            let pid = nvim.pid();
            nvim.input(&format!(":{command}<CR>"));
            nvim.poll(command, |_| Processes::is_gone(pid));
        }
    }
}

#[test]
fn leaving_by_force_or_while_nothing_runs_is_not_stopped() {
    for command in ["qa!", "wqa!"] {
        let mut nvim = Nvim::start(wide());
        let _agent = in_turn(&mut nvim);
        let pid = nvim.pid();
        nvim.input(&format!(":{command}<CR>"));
        nvim.poll(command, |_| Processes::is_gone(pid));
    }
    for command in ["qa", "wqa"] {
        let mut nvim = Nvim::start(wide());
        let _agent = ready(&mut nvim);
        write(&mut nvim, "a draft");
        let pid = nvim.pid();
        nvim.input(&format!(":{command}<CR>"));
        nvim.poll(command, |_| Processes::is_gone(pid));
    }
}

#[test]
fn each_turn_is_told_of_and_closing_a_window_is_no_leaving() {
    let mut nvim = Nvim::start(wide());
    let mut agent = ready(&mut nvim);
    for turn in 1..=2 {
        nvim.send("go");
        let request = agent.expect_request("session/prompt");
        nvim.poll_state("running");
        nvim.command("wincmd t | split | quit");
        nvim.command("wa");
        assert!(!nvim.screen().contains("still working"), "turn {turn}");
        nvim.input(":qa<CR>");
        poll_told(&mut nvim);
        nvim.command("echo '' | redraw");
        agent.reply(&request, json!({"stopReason": "end_turn"}));
        nvim.poll_state("ready");
    }
    assert_ne!(nvim.status(), Json::Null);
}
