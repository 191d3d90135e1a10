//! The queue of prompts as a buffer, and prompts that are sent now.

use crate::support::Chat;
use serde_json::json;

/// A chat whose turn runs, with prompts that wait.
fn queued(prompts: &[&str]) -> Chat {
    let mut chat = Chat::start();
    chat.prompt("one");
    for prompt in prompts {
        chat.nvim.send(prompt);
    }
    chat.nvim.poll_queue(prompts);
    chat
}

fn page(chat: &mut Chat) -> Vec<String> {
    chat.nvim.buffer_lines("rat://queue")
}

fn poll_page(chat: &mut Chat, lines: &[&str]) {
    chat.nvim.poll("the page", |nvim| nvim.buffer_lines("rat://queue") == lines);
}

fn running(chat: &mut Chat) -> String {
    let prompt = chat.expect_prompt();
    prompt.params["prompt"][0]["text"].as_str().unwrap().to_owned()
}

/// Holds (Turns): The queue is a buffer: prompts are changed, moved, added and removed there, and `:w` applies it.
#[test]
fn the_queue_is_edited_as_a_buffer() {
    let mut chat = queued(&["two", "three", "four"]);
    chat.nvim.input("g>");
    poll_page(&mut chat, &["--- 1 ---", "two", "--- 2 ---", "three", "--- 3 ---", "four"]);
    // The last one to the top, the second one changed, the first one removed, and a new one.
    chat.nvim.input("5Gdj1GPGkAdown<Esc>");
    chat.nvim.input("Go--- new ---<CR>more<CR>lines<Esc>");
    chat.nvim.command("g/^--- 1/normal! dj");
    assert_eq!(
        page(&mut chat),
        ["--- 3 ---", "four", "--- 2 ---down", "three", "--- new ---", "more", "lines"]
    );
    chat.nvim.command("%s/---down/---/");
    chat.nvim.command("%s/^three$/three, too/");
    chat.nvim.command("write");
    chat.nvim.poll_queue(&["four", "three, too", "more\nlines"]);
    assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(false));
    chat.end_turn("end_turn");
    assert_eq!(running(&mut chat), "four");
    poll_page(&mut chat, &["--- 2 ---", "three, too", "--- 4 ---", "more", "lines"]);
    chat.nvim.command("%delete _");
    chat.nvim.command("write");
    chat.nvim.poll_queue(&[]);
    chat.nvim.poll_screen("No prompt is queued");
}

/// Holds (Turns): A prompt keeps its attachments in an edited queue.
#[test]
fn an_edited_prompt_keeps_what_is_attached() {
    let mut chat = queued(&[]);
    chat.nvim
        .lua("require('rat').send('two', { context = { { buf = 1, first = 1 } } })", json!([]));
    chat.nvim.poll_queue(&["two"]);
    chat.nvim.input("g>");
    chat.nvim.poll_screen("--- 1 --- 1 attachment");
    chat.nvim.input("jA, changed<Esc>");
    chat.nvim.command("write");
    chat.nvim.poll_queue(&["two, changed"]);
    chat.nvim.poll_screen("--- 1 --- 1 attachment");
    chat.end_turn("end_turn");
    let sent = chat.expect_prompt();
    assert_eq!(sent.params["prompt"][0]["text"], json!("two, changed"));
    assert_eq!(sent.params["prompt"][1]["type"], json!("resource"));
}

/// Holds (Turns): What the user writes in the queue about a prompt that has been sent meanwhile is in the prompt afterwards.
#[test]
fn a_change_of_a_prompt_that_was_sent_meanwhile_is_kept() {
    let mut chat = queued(&["two", "three"]);
    chat.nvim.input("g>");
    poll_page(&mut chat, &["--- 1 ---", "two", "--- 2 ---", "three"]);
    chat.nvim.input("jA, better<Esc>");
    chat.end_turn("end_turn");
    assert_eq!(running(&mut chat), "two");
    chat.nvim.poll_queue(&["three"]);
    assert_eq!(page(&mut chat)[1], "two, better", "what the user edits is left alone");
    chat.nvim.command("write");
    chat.nvim.poll_screen("A prompt was sent before you changed it");
    chat.poll_draft(&["two, better"]);
    poll_page(&mut chat, &["--- 2 ---", "three"]);
    // What is brought back by undo is a prompt of its own.
    chat.nvim.command("undo");
    chat.nvim.poll("the old lines", |nvim| nvim.buffer_lines("rat://queue").len() == 4);
    chat.nvim.command("write");
    chat.nvim.poll_queue(&["two, better", "three"]);
}

/// Holds (Turns): A prompt that is sent now, from the prompt or the queue, cancels the turn, and the rest of the queue follows.
#[test]
fn a_prompt_is_sent_now() {
    let mut chat = queued(&["two", "three"]);
    chat.nvim.input("inow<Esc>g<CR>");
    chat.agent.expect_notification("session/cancel");
    chat.end_turn("cancelled");
    assert_eq!(running(&mut chat), "now");
    chat.nvim.poll_queue(&["two", "three"]);
    chat.nvim.input("g>");
    poll_page(&mut chat, &["--- 1 ---", "two", "--- 2 ---", "three"]);
    chat.nvim.input("GA!<Esc>g<CR>");
    chat.agent.expect_notification("session/cancel");
    chat.end_turn("cancelled");
    assert_eq!(running(&mut chat), "three!");
    chat.end_turn("end_turn");
    assert_eq!(running(&mut chat), "two");
}

/// Holds (Turns): With `during_turn = "interrupt"` each prompt that is sent cancels the turn.
#[test]
fn a_prompt_interrupts_where_that_is_chosen() {
    let mut chat = Chat::builder().setup(json!({"during_turn": "interrupt"})).start();
    chat.prompt("one");
    chat.nvim.input("itwo<Esc><CR>");
    chat.agent.expect_notification("session/cancel");
    chat.end_turn("cancelled");
    assert_eq!(running(&mut chat), "two");
    chat.nvim.command("RatSend! three");
    chat.agent.expect_notification("session/cancel");
    chat.end_turn("cancelled");
    assert_eq!(running(&mut chat), "three");
}

/// Holds (Turns): What cannot be applied to the queue costs one line and changes nothing.
#[test]
fn bad_edits_of_the_queue_are_told() {
    let mut chat = Chat::start();
    chat.nvim.command("RatQueue");
    chat.nvim.poll_screen("No prompt is queued");
    chat.prompt("one");
    chat.nvim.send("--- 7 ---\ntwo");
    chat.nvim.poll_queue(&["--- 7 ---\ntwo"]);
    chat.nvim.command("RatQueue");
    poll_page(&mut chat, &["---- 1 ----", "--- 7 ---", "two"]);
    chat.nvim.input("ggOabove<Esc>");
    chat.nvim.command("write");
    chat.nvim.poll_screen("Line 1 is above the first heading");
    assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(true));
    chat.nvim.input("q");
    chat.nvim.poll_screen("Your changes are not applied: :w applies them, :e! drops them");
    assert_eq!(chat.nvim.eval("vim.bo.filetype"), json!("ratqueue"));
    chat.nvim.command("edit!");
    poll_page(&mut chat, &["---- 1 ----", "--- 7 ---", "two"]);
    chat.nvim.input("Go---- new ----<CR>three<Esc>g<CR>");
    chat.nvim.poll_screen("Apply the new prompt with :w first");
    assert_eq!(chat.nvim.status()["queued"], json!(["--- 7 ---\ntwo"]));
}
