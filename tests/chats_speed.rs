//! Twenty chats in the list, of which eight stream: what that costs somebody who types in a file.

use crate::alone;
use crate::support::{CLOCK, Chat, Nvim};
use serde_json::json;
use std::io::Write as _;

const CHATS: usize = 20;
const STREAMING: usize = 8;
/// Longer than this nothing in Neovim may be held up, in milliseconds.
const GAP_MS: f64 = 16.0;
/// One round may be disturbed by others on the machine.
const ROUNDS: usize = 5;
const CHUNKS: usize = 200;

/// Measures how long nothing else ran. It goes after `CLOCK`.
const SETUP: &str = r"
    Gap = 0
    local last
    Watch = vim.uv.new_timer()
    function Begin()
      Gap, last = 0, clock()
      Watch:start(0, 1, function()
        local now = clock()
        Gap, last = math.max(Gap, (now - last) / 1e6), now
      end)
    end";

/// How many characters were typed in the file.
fn typed(nvim: &mut Nvim) -> usize {
    let count = nvim.eval("#table.concat(vim.fn.getbufline('a.txt', 1, '$'))");
    count.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap()
}

/// Holds (Several chats): With twenty chats in the list, of which eight stream, nothing holds up typing.
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
    chat.nvim.lua(&format!("{CLOCK}{SETUP}"), json!([]));
    let mut gaps = Vec::new();
    for round in 0..ROUNDS {
        let before = typed(&mut chat.nvim);
        chat.nvim.lua("Begin()", json!([]));
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
        gaps.push(chat.nvim.lua("Watch:stop() return Gap", json!([])).as_f64().unwrap());
    }
    let _ = writeln!(std::io::stderr(), "longest gaps: {gaps:?} ms");
    assert!(gaps.iter().any(|gap| *gap <= GAP_MS), "{gaps:?}");
}
