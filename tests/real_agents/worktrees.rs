//! A session in a git worktree of its own, from its start to the merge.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::place::is_in_container;
use crate::{with_agent, with_each_real_agent};

with_each_real_agent!(a_worktree_is_merged_while_the_user_types,);

const TEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

fn git(chat: &Chat, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
    let output = command.current_dir(chat.nvim.cwd()).output().expect("git");
    assert!(output.status.success(), "git {args:?}: {output:?}");
}

/// Sends a prompt in the window that the user is in, and waits for the end of its turn.
fn ask_here(chat: &mut Chat, prompt: &str) {
    chat.until("the prompt", |chat| (chat.filetype() == "ratprompt").then_some(()));
    chat.nvim.input(&format!("<Esc>gg\"_dGi{prompt}<Esc><CR>"));
    chat.turned();
    chat.ends_allowing("end_turn");
}

fn merge(chat: &mut Chat, files: &str) {
    chat.nvim.command("RatWorktree merge");
    chat.until("the question", |chat| {
        chat.nvim.screen().contains("Merge project-1?").then_some(())
    });
    chat.nvim.input("1<CR>");
    let merged = format!("Merged {files} into project");
    chat.until(&merged, |chat| chat.transcript().contains(&merged).then_some(()));
}

fn a_worktree_is_merged_while_the_user_types(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.txt", TEN), ("b.txt", TEN), ("gone.txt", "gone\n")]);
    git(&chat, &["init", "-q", "."]);
    git(&chat, &["add", "--all"]);
    git(&chat, &["commit", "-q", "-m", "first"]);
    chat.nvim.command(&format!("RatStart! {} worktree", kind.name()));
    if is_in_container() {
        chat.until("that it cannot see a worktree", |chat| {
            chat.nvim.messages().contains("cannot see a worktree").then_some(())
        });
        return;
    }
    chat.until("the chat in the worktree", |chat| {
        chat.nvim.screen().contains("Started in the worktree project-1").then_some(())
    });
    chat.wait_for("ready");
    ask_here(
        &mut chat,
        "[[read a.txt]][[edit a.txt|nine|NINE]][[shell rm gone.txt; echo new > new.txt]][[say ok]]",
    );
    assert_eq!(chat.file("a.txt").unwrap(), TEN, "the user's files are not touched");
    assert_eq!(chat.file("new.txt"), None);
    // The user has typed in the same file meanwhile, and saved another.
    chat.in_buffer("a.txt", "vim.fn.setline(1, 'mine')");
    fs::write(chat.path("b.txt"), TEN.replace("one", "saved")).unwrap();
    merge(&mut chat, "3 files");
    chat.wait_for_buffer("a.txt", &TEN.replace("one", "mine").replace("nine", "NINE"));
    assert!(chat.is_modified("a.txt"));
    assert_eq!(chat.file("new.txt").unwrap(), "new\n");
    assert_eq!(chat.file("gone.txt"), None);
    chat.until("one pending hunk", |chat| {
        (chat.in_buffer("a.txt", "return vim.b.rat_pending") == json!(1)).then_some(())
    });
    // The next merge brings only what is new, into a file that the user has changed, too.
    ask_here(&mut chat, "[[read b.txt]][[edit b.txt|nine|NINE]][[say ok]]");
    merge(&mut chat, "1 file");
    let merged = TEN.replace("one", "saved").replace("nine", "NINE");
    assert_eq!(chat.file("b.txt").unwrap(), merged);
    let code = "return require('rat.config.worktrees').list(vim.fn.getcwd())[1].cwd";
    let worktree = chat.nvim.lua(code, json!([]));
    let worktree = PathBuf::from(worktree.as_str().expect("a worktree"));
    assert!(worktree.join("a.txt").exists());
    // What is not saved is not in the user's folder yet, nor is the line of theirs in the worktree.
    chat.nvim.command("RatWorktree remove");
    chat.until("the question", |chat| {
        chat.nvim.screen().contains("Remove project-1? 2 changed files differ").then_some(())
    });
    chat.nvim.input("1<CR>");
    chat.until("the end of the worktree", |_| (!worktree.exists()).then_some(()));
    chat.finish();
}
