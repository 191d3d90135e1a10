//! Leaving Neovim: what the user has written outlives it, and a turn that runs is not ended unasked.

use crate::support::{Chat, Nvim, Options, PROMPT, Processes, files_below, text};
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A chat in a Neovim that has the home and the project of this one, after it or beside it.
fn after(chat: &Chat) -> Chat {
    Chat::builder().neovim(chat.nvim.beside(Options::wide())).start()
}

fn write(nvim: &mut Nvim, text: &str) {
    nvim.enter(PROMPT);
    nvim.input(&format!("ggVGc{text}<Esc>"));
    nvim.poll(text, |nvim| nvim.buffer_lines(PROMPT).join("<CR>") == text);
}

/// Two prompts are written, sent and answered.
fn send_two(chat: &mut Chat) {
    for text in ["sent one", "sent two"] {
        write(&mut chat.nvim, text);
        chat.nvim.input("<CR>");
        chat.sent();
    }
}

/// The files below a folder of the state, with what they say.
fn kept(nvim: &Nvim, kind: &str) -> Vec<(PathBuf, String)> {
    let mut files = files_below(&nvim.folder().path().join("state/nvim/rat").join(kind));
    // One that is being written is not there yet.
    files.retain(|path| path.extension().is_none_or(|end| end != "new"));
    let said = |path: PathBuf| Some((path.clone(), std::fs::read_to_string(path).ok()?));
    files.into_iter().filter_map(said).collect()
}

fn poll_kept(nvim: &mut Nvim, kind: &'static str, text: &str) {
    nvim.poll(text, |nvim| kept(nvim, kind).iter().any(|(_, said)| said.contains(text)));
}

/// Holds (Drafts and leaving Neovim): A draft and its attachments survive the end of Neovim, even when it is killed.
#[test]
fn a_draft_with_its_attachments_outlives_neovim_however_it_ends() {
    for killed in [false, true] {
        let mut chat = Chat::start();
        let file = chat.nvim.file("file.txt", "one\ntwo\n");
        write(&mut chat.nvim, "first line<CR>second line");
        chat.nvim.command(&format!("RatAdd {}", file.display()));
        chat.nvim.poll_screen("file.txt");
        if killed {
            poll_kept(&mut chat.nvim, "drafts", "second line");
            poll_kept(&mut chat.nvim, "drafts", "file.txt");
            for (path, _) in kept(&chat.nvim, "drafts") {
                let mode = std::fs::metadata(path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
            chat.nvim.kill();
        } else {
            // At once, before anything was written by itself.
            chat.nvim.quit();
        }
        let mut later = after(&chat);
        assert_eq!(later.draft(), ["first line", "second line"]);
        let row = "vim.fn.getbufinfo('rat://fake/1/prompt')[1].lnum";
        assert_eq!(later.nvim.eval(row), json!(2), "the cursor is behind the draft");
        later.nvim.poll_screen("file.txt");
        // Sent, it is nowhere any more.
        later.nvim.enter(PROMPT);
        later.nvim.input("<CR>");
        let sent = later.expect_prompt().params["prompt"].to_string();
        assert!(sent.contains("second line") && sent.contains("file.txt"), "{sent}");
        later.nvim.poll("nothing kept", |nvim| kept(nvim, "drafts").is_empty());
    }
}

/// Holds (Drafts and leaving Neovim): The queue comes back in the prompt buffer.
#[test]
fn the_queue_comes_back_in_the_prompt() {
    let mut chat = Chat::in_turn();
    for text in ["queued one", "queued two"] {
        chat.nvim.send(text);
    }
    chat.nvim.poll_queue(&["queued one", "queued two"]);
    write(&mut chat.nvim, "the draft");
    poll_kept(&mut chat.nvim, "drafts", "queued two");
    poll_kept(&mut chat.nvim, "drafts", "the draft");
    chat.nvim.kill();
    let mut later = after(&chat);
    let wanted = ["queued one", "", "queued two", "", "the draft"];
    assert_eq!(later.draft(), wanted);
    // What came back is kept again.
    later.nvim.kill();
    let mut last = after(&later);
    assert_eq!(last.draft(), wanted);
}

/// Holds (Drafts and leaving Neovim): Two Neovims keep their drafts apart.
#[test]
fn two_neovims_keep_their_drafts_apart() {
    let mut one = Chat::start();
    write(&mut one.nvim, "of the first");
    poll_kept(&mut one.nvim, "drafts", "of the first");
    let mut other = after(&one);
    assert_eq!(other.draft(), [""]);
    write(&mut other.nvim, "of the second");
    poll_kept(&mut other.nvim, "drafts", "of the second");
    one.nvim.kill();
    other.nvim.kill();
    let mut later = after(&one);
    let lines = later.draft().join("\n");
    assert!(lines.contains("of the first") && lines.contains("of the second"), "{lines}");
}

/// Holds (Drafts and leaving Neovim): The history of prompts survives a restart.
#[test]
fn prompts_sent_before_are_walked_after_a_restart() {
    let mut chat = Chat::start();
    send_two(&mut chat);
    poll_kept(&mut chat.nvim, "prompts", "sent two");
    chat.nvim.kill();
    let mut later = after(&chat);
    later.nvim.enter(PROMPT);
    for wanted in ["sent two", "sent one"] {
        later.nvim.input("<Up>");
        later.poll_draft(&[wanted]);
    }
}

#[test]
fn a_draft_is_kept_while_another_prompt_is_shown() {
    let mut chat = Chat::start();
    send_two(&mut chat);
    write(&mut chat.nvim, "the draft");
    chat.nvim.input("<Up>A, edited<Esc><Up>");
    chat.poll_draft(&["sent one"]);
    // Sent, the old prompt leaves the draft as it was.
    chat.nvim.input("<CR>");
    assert_eq!(chat.sent(), [text("sent one")]);
    chat.poll_draft(&["the draft"]);
    chat.nvim.input("<Up><Up>A, edited<Esc><Up>");
    chat.poll_draft(&["sent one"]);
    chat.nvim.quit();
    let mut later = after(&chat);
    assert_eq!(later.draft(), ["the draft"]);
    later.nvim.enter(PROMPT);
    later.nvim.input("gg<Up>");
    later.poll_draft(&["sent two, edited"]);
}

/// Holds (Drafts and leaving Neovim): The prompt comes back as it was on the screen: an earlier prompt that was edited is a step away.
#[test]
fn an_earlier_prompt_that_was_edited_is_not_joined_to_the_draft() {
    for command in ["RatStart fake", "RatStart! fake"] {
        let mut chat = Chat::start();
        send_two(&mut chat);
        write(&mut chat.nvim, "the draft");
        chat.nvim.input("<Up>A, edited<Esc><Down>");
        chat.poll_draft(&["the draft"]);
        chat.nvim.quit();
        let beside = chat.nvim.beside(Options::wide());
        let mut later = Chat::builder().neovim(beside).start_by(command, |_| ());
        assert_eq!(later.draft(), ["the draft"], "{command}");
        // The other way round: what is on the screen is the earlier prompt.
        later.nvim.enter(PROMPT);
        later.nvim.input("gg<Up>");
        later.poll_draft(&["sent two, edited"]);
        later.nvim.input("A again<Esc>");
        later.poll_draft(&["sent two, edited again"]);
        later.nvim.quit();
        let mut last = after(&later);
        assert_eq!(last.draft(), ["sent two, edited again"], "{command}");
        last.nvim.enter(PROMPT);
        last.nvim.input("G<Down>");
        last.poll_draft(&["the draft"]);
    }
}

/// Waits until the user is told; a key of the user's is not needed for that.
fn poll_told(nvim: &mut Nvim) {
    nvim.poll("a word about the turn", |nvim| {
        assert!(!nvim.mode_is_blocked(), "{}", nvim.screen().text());
        nvim.screen().contains("Fake agent is still working. :qa again quits and ends its turn.")
    });
}

/// Waits until Neovim itself says that there is something unsaved.
fn poll_hit_enter(nvim: &mut Nvim) {
    nvim.poll("the hit-enter prompt", Nvim::mode_is_blocked);
}

/// Holds (Drafts and leaving Neovim): `:qa`, `:wqa`, `:xa` and `:q` in the last window are stopped once during a turn.
#[test]
fn leaving_during_a_turn_is_stopped_once() {
    for command in ["qa", "wqa", "xa", "q"] {
        for in_prompt in [false, true] {
            let mut nvim = Nvim::wide();
            let file = nvim.file("file.txt", "one\n");
            nvim.command(&format!("edit {}", file.display()));
            let mut chat = Chat::builder().neovim(nvim).in_turn();
            let there = if in_prompt { PROMPT.to_owned() } else { file.display().to_string() };
            chat.nvim.enter(&there);
            if command == "q" {
                chat.nvim.command("RatToggle");
                chat.nvim.command(&format!("edit {}", file.display()));
            }
            let place = "return { vim.api.nvim_buf_get_name(0), vim.fn.winnr(), vim.fn.winrestcmd(), #vim.api.nvim_list_bufs(),
                vim.fn.winsaveview(), vim.fn.tabpagenr('$'), vim.o.eventignore }";
            let before = chat.nvim.lua(place, json!([]));
            chat.nvim.input(&format!(":{command}<CR>"));
            poll_told(&mut chat.nvim);
            assert_eq!(chat.nvim.lua(place, json!([])), before, "{command}");
            assert!(!chat.nvim.messages().contains("E37"), "{}", chat.nvim.messages());
            let pid = chat.nvim.pid();
            chat.nvim.input(&format!(":{command}<CR>"));
            chat.nvim.poll(command, |_| Processes::is_gone(pid));
        }
    }
}

/// Holds (Drafts and leaving Neovim): Leaving by force, or while no turn runs, is not stopped.
#[test]
fn leaving_by_force_or_while_nothing_runs_is_not_stopped() {
    for command in ["qa!", "wqa!"] {
        let mut chat = Chat::in_turn();
        let pid = chat.nvim.pid();
        chat.nvim.input(&format!(":{command}<CR>"));
        chat.nvim.poll(command, |_| Processes::is_gone(pid));
    }
    for command in ["qa", "wqa"] {
        let mut chat = Chat::start();
        write(&mut chat.nvim, "a draft");
        let pid = chat.nvim.pid();
        chat.nvim.input(&format!(":{command}<CR>"));
        chat.nvim.poll(command, |_| Processes::is_gone(pid));
    }
}

/// Holds (Drafts and leaving Neovim): Closing a window or writing all files is not leaving.
#[test]
fn each_turn_is_told_of_and_closing_a_window_is_no_leaving() {
    let mut chat = Chat::start();
    for turn in 1..=2 {
        chat.prompt("go");
        chat.nvim.poll_state("running");
        chat.nvim.command("wincmd t | split | quit");
        chat.nvim.command("wa");
        assert!(!chat.nvim.screen().contains("still working"), "turn {turn}");
        chat.nvim.input(":qa<CR>");
        poll_told(&mut chat.nvim);
        chat.nvim.command("echo '' | redraw");
        chat.end_turn("end_turn");
        chat.nvim.poll_state("ready");
    }
    assert_ne!(chat.nvim.status(), Json::Null);
}

/// Both are typed before anything that is to come later has come.
/// Holds (Drafts and leaving Neovim): Leaving twice at once quits.
#[test]
fn leaving_twice_at_once_quits() {
    for keys in [":qa<CR>:qa<CR>", ":wqa<CR>:qa<CR>", ":silent qa|echo 1<CR>:qa!<CR>"] {
        let mut chat = Chat::in_turn();
        let pid = chat.nvim.pid();
        chat.nvim.input(keys);
        chat.nvim.poll(keys, |_| Processes::is_gone(pid));
    }
}

/// A command of a mapping may be one with "!": Neovim's own words stop at the hit-enter prompt, where all can be typed.
/// Holds (Drafts and leaving Neovim): A mapping that quits is stopped once, and leaves no trace in session files.
#[test]
fn a_mapping_that_quits_is_stopped_once_and_leaves_no_trace() {
    let session = "session.vim";
    for next in [":qa<CR>", "<F6>", ":qa!<CR>", ":mksession session.vim<CR>:qa!<CR>"] {
        let mut nvim = Nvim::wide();
        let file = nvim.file("file.txt", "one\n");
        nvim.command(&format!("edit {}", file.display()));
        nvim.command("nnoremap <F5> <Cmd>qa<CR>");
        nvim.command("nnoremap <F6> <Cmd>qa<CR>");
        nvim.command(&format!("autocmd VimLeavePre * mksession! {session}"));
        let mut chat = Chat::builder().neovim(nvim).in_turn();
        chat.nvim.input("<F5>");
        poll_hit_enter(&mut chat.nvim);
        let pid = chat.nvim.pid();
        chat.nvim.input(next);
        chat.nvim.poll(next, |_| Processes::is_gone(pid));
        let session = std::fs::read_to_string(chat.path(session)).unwrap();
        assert!(session.contains("file.txt"), "{session}");
        assert!(!session.contains("running turn"), "{session}");
    }
}

/// One that quits by force does, and so does a plugin.
/// Holds (Drafts and leaving Neovim): A mapping that quits by force is not stopped, whatever was typed before it.
#[test]
fn what_was_typed_before_does_not_count_for_a_mapping() {
    let mut chat = Chat::in_turn();
    chat.nvim.command("nnoremap <F5> <Cmd>qa!<CR>");
    chat.nvim.command("split");
    let pid = chat.nvim.pid();
    chat.nvim.input(":q<CR><F5>");
    chat.nvim.poll("its end", |_| Processes::is_gone(pid));
}
