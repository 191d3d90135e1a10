//! A chat that is visible after the user has gone to another project, in real Neovim.

use crate::support::{Chat, PROMPT};
use serde_json::json;

fn winbars(chat: &mut Chat) -> String {
    let bars = "vim.tbl_map(function(win) return vim.wo[win].winbar end, vim.api.nvim_list_wins())";
    chat.nvim.eval(bars).to_string()
}

fn go_elsewhere(chat: &mut Chat, name: &str) {
    let other = chat.nvim.folder().folder(name);
    chat.nvim.command("wincmd t");
    chat.nvim.command(&format!("cd {}", other.display()));
}

/// Holds (Windows and views): The bars of a chat name its project while the user is in another one.
#[test]
fn the_bars_name_another_project() {
    let mut chat = Chat::start();
    assert!(!winbars(&mut chat).contains("project"), "{}", winbars(&mut chat));
    go_elsewhere(&mut chat, "other");
    let bars = winbars(&mut chat);
    assert!(bars.contains("project: Fake agent") && bars.contains("in project"), "{bars}");
    // Below the project, or back in it, nothing is said.
    let below = chat.nvim.folder().folder("project/src");
    chat.nvim.command(&format!("cd {}", below.display()));
    assert!(!winbars(&mut chat).contains("project"), "{}", winbars(&mut chat));
    // For one window only.
    let other = chat.nvim.folder().folder("other");
    chat.nvim.command(&format!("lcd {}", other.display()));
    assert!(winbars(&mut chat).contains("project: Fake agent"));
    chat.nvim.command("wincmd w");
    assert!(!winbars(&mut chat).contains("project"), "{}", winbars(&mut chat));
}

/// Holds (Prompts and keys): A prompt to a chat of another project than the one the user has gone to is asked about, once for each folder.
#[test]
fn a_prompt_to_another_project_is_asked_about_once() {
    let mut chat = Chat::start();
    go_elsewhere(&mut chat, "other");
    chat.nvim.input(":RatSend fix it<CR>");
    chat.nvim.poll_screen("send this to the other project?");
    chat.nvim.poll_screen("Do not send it");
    chat.nvim.input("2<CR>");
    chat.nvim.poll("the question is closed", |nvim| !nvim.screen().contains("Do not send it"));
    assert!(chat.agent.unexpected().is_empty());
    chat.nvim.input(":RatSend fix that<CR>");
    chat.nvim.poll_screen("Send it to Fake agent in project");
    chat.nvim.input("1<CR>");
    assert_eq!(chat.expect_prompt().params["prompt"][0]["text"], "fix that");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.prompt("and this");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    // From another folder it is asked about again, also in the prompt, whose text stays.
    go_elsewhere(&mut chat, "third");
    chat.nvim.enter(PROMPT);
    chat.write_draft("typed");
    chat.nvim.input("<CR>");
    chat.nvim.poll_screen("Send it to Fake agent in project");
    assert_eq!(chat.draft(), ["typed"]);
    chat.nvim.input("1<CR>");
    assert_eq!(chat.expect_prompt().params["prompt"], json!([{"type": "text", "text": "typed"}]));
    chat.poll_draft(&[""]);
}

/// Holds (Prompts and keys): A prompt from a file of the chat's project, or to a chat that was opened from here, is not asked about.
#[test]
fn a_prompt_that_is_meant_for_the_project_is_not_asked_about() {
    let mut chat = Chat::builder().file("a.txt", "one\n").start();
    let file = chat.path("a.txt");
    go_elsewhere(&mut chat, "other");
    chat.nvim.command(&format!("edit {}", file.display()));
    chat.nvim.input(":RatSend fix it<CR>");
    assert_eq!(chat.expect_prompt().params["prompt"][0]["text"], "fix it");
}
