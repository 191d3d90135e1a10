//! Twenty chats in the list, of which eight stream: how much somebody who types in a file has to wait for.

use crate::alone;
use crate::support::{Amount, Chat, Nvim, Work};
use serde_json::json;
use std::io::Write as _;

const CHATS: usize = 20;
const STREAMING: usize = 8;
/// The most work that a key may have to wait for.
const MOST: Amount = Amount { steps: 300_000, calls: 2_500, bytes: 300_000 };
const ROUNDS: usize = 3;
const CHUNKS: usize = 200;

/// How many characters were typed in the file.
fn typed(nvim: &mut Nvim) -> usize {
    let count = nvim.eval("#table.concat(vim.fn.getbufline('a.txt', 1, '$'))");
    count.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap()
}

/// Holds (Several chats): With twenty chats in the list, of which eight stream, a key waits for a small piece of work at most.
#[test]
fn a_list_of_twenty_chats_does_not_hold_up_typing() {
    let _alone = alone();
    let mut chat = Chat::builder().file("a.txt", "").start();
    let mut sessions = vec![chat.session.clone()];
    for at in 1..CHATS {
        chat.nvim.command("RatStart! fake");
        let session = format!("another {at}");
        chat.agent.open(&session);
        sessions.push(session);
        let ready = "vim.iter(require('rat.chat.registry').all()):filter(function(chat)
            return chat.status.state == 'ready'
        end):fold(0, function(count) return count + 1 end)";
        chat.nvim.poll("the chat", |nvim| nvim.eval(ready) == json!(at + 1));
    }
    for session in &sessions[..STREAMING] {
        let send = "require('rat').send('go', { session = ... })";
        chat.nvim.lua(send, json!([session]));
        chat.agent.expect_request("session/prompt");
    }
    chat.nvim.command("RatToggle | edit a.txt | RatChats | wincmd p");
    chat.nvim.poll_screen("Chats: 8 running");
    chat.nvim.input("i");
    Work::prepare(&mut chat.nvim);
    for round in 0..ROUNDS {
        let before = typed(&mut chat.nvim);
        Work::begin(&mut chat.nvim);
        for chunk in 0..CHUNKS {
            for session in &sessions[..STREAMING] {
                chat.agent.say(session, "some more words\n");
            }
            let title = format!("round {round}, chunk {chunk}");
            let news = json!({"sessionUpdate": "session_info_update", "title": title});
            chat.agent.update(&sessions[chunk % STREAMING], news);
            if chunk % 4 == 0 {
                chat.nvim.input("x");
            }
        }
        chat.nvim.poll_screen(&format!("round {round}, chunk {}", CHUNKS - 1));
        let all = before + CHUNKS / 4;
        chat.nvim.poll("what was typed", |nvim| typed(nvim) == all);
        let work = Work::stop(&mut chat.nvim);
        let _ = writeln!(std::io::stderr(), "{STREAMING} of {CHATS} chats stream: {work}");
        work.expect_pieces_within("a list of chats", MOST);
    }
}
