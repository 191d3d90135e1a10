//! `:RatStop!` closes a chat: nothing of it is left but its session, what it has changed and what the user has not sent.

use crate::support::{Chat, Nvim, PROMPT};
use serde_json::{Value as Json, json};

/// The names of all buffers of ours.
fn own_buffers(nvim: &mut Nvim) -> Json {
    nvim.eval("vim.fn.getcompletion('rat://', 'buffer')")
}

fn close(nvim: &mut Nvim) {
    nvim.command("RatStop!");
    let chats = "#require('rat.chat.registry').all()";
    nvim.poll("no chat", |nvim| nvim.eval(chats) == json!(0));
}

/// Holds (Sessions): `:RatStop!` closes a chat in every tab page: its windows, its buffers and its agent.
#[test]
fn nothing_of_a_closed_chat_is_left() {
    let mut chat = Chat::builder().file("a.txt", "1\n").in_turn();
    chat.say("What was said.");
    chat.nvim.poll_screen("What was said.");
    let windows = "vim.fn.map(vim.fn.getwininfo(), 'bufname(v:val.bufnr)')";
    chat.nvim.command("wincmd t | edit a.txt | tabnew | RatToggle");
    chat.nvim.command("wincmd t | edit b.txt");
    close(&mut chat.nvim);
    chat.agent.expect_gone();
    assert_eq!(own_buffers(&mut chat.nvim), json!([]));
    assert_eq!(chat.nvim.eval(windows), json!(["a.txt", "b.txt"]));
    assert_eq!(chat.nvim.eval("require('rat').status().state"), json!("stopped"));
    assert_eq!(chat.nvim.events("RatState").last().unwrap()["state"], json!("stopped"));
}

/// Holds (Sessions): The last window of Neovim stays when its chat is closed.
#[test]
fn a_chat_in_the_last_window_can_be_closed() {
    let mut chat = Chat::start();
    chat.nvim.enter(PROMPT);
    chat.nvim.command("only");
    close(&mut chat.nvim);
    assert_eq!(own_buffers(&mut chat.nvim), json!([]));
    assert_eq!(chat.nvim.eval("vim.fn.bufname() .. vim.fn.winnr('$')"), json!("1"));
}

/// Holds (Drafts and leaving Neovim): What the user has not sent in a chat that is closed is in the prompt of the next one: the queue, then the draft.
#[test]
fn what_was_not_sent_in_a_closed_chat_is_in_the_next_one() {
    let mut chat = Chat::in_turn();
    chat.nvim.send("for later");
    chat.nvim.poll_screen("1 queued");
    chat.write_draft("half a thought");
    close(&mut chat.nvim);
    chat.nvim.poll_screen("kept for the next chat");
    let _next = Chat::builder().start_in(&mut chat.nvim);
    chat.poll_draft(&["for later", "", "half a thought"]);
}

/// Holds (Review): What the agent of a closed chat has changed can be rejected from the next chat in its folder.
#[test]
fn changes_of_a_closed_chat_can_be_rejected() {
    let mut chat = Chat::builder().file("a.txt", "1\n2\n").in_turn();
    chat.nvim.command("wincmd t | edit a.txt");
    let write = json!({"path": chat.path("a.txt"), "content": "1\ntwo\n"});
    chat.request("fs/write_text_file", write).unwrap();
    close(&mut chat.nvim);
    let _next = Chat::builder().start_in(&mut chat.nvim);
    let lines = |nvim: &mut Nvim| nvim.eval("vim.fn.getbufline('a.txt', 1, '$')");
    chat.nvim.poll("the change", |nvim| lines(nvim) == json!(["1", "two"]));
    chat.nvim.command("RatReject all");
    chat.nvim.poll("the old text", |nvim| lines(nvim) == json!(["1", "2"]));
}

/// Holds (Drafts and leaving Neovim): A prompt that waits for what it mentions is not sent once its chat is closed: it is in the next one.
#[test]
fn a_prompt_that_waits_in_a_closed_chat_is_in_the_next_one() {
    let mut chat = Chat::start();
    let slow = "require('rat').context({ name = 'slow', resolve = function(_, answer)
        Answer = answer
    end })";
    chat.nvim.lua(slow, json!([]));
    chat.nvim.send("look at @slow");
    chat.nvim.poll("the provider", |nvim| nvim.eval("Answer ~= nil") == json!(true));
    close(&mut chat.nvim);
    let (mut agent, _) = Chat::builder().start_in(&mut chat.nvim);
    chat.poll_draft(&["look at @slow"]);
    chat.nvim.lua("Answer({ text = 'too late' })", json!([]));
    chat.nvim.send("another");
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"][0]["text"], json!("another"));
}
