//! What an agent sends after the end of its turn, in real Neovim: the state, the keys and the cards are those of what is open.

use crate::support::{Chat, Nvim, PROMPT, Processes, TRANSCRIPT};
use serde_json::{Value as Json, json};

fn options(name: &str) -> Json {
    json!([
        {"optionId": "yes", "name": format!("Yes {name}"), "kind": "allow_once"},
        {"optionId": "no", "name": format!("No {name}"), "kind": "reject_once"},
    ])
}

fn call(id: &str, title: &str) -> Json {
    json!({"toolCallId": id, "title": title, "kind": "execute", "status": "pending"})
}

fn after_a_turn() -> Chat {
    let mut chat = Chat::in_turn();
    chat.say("Done.");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat
}

fn statusline(nvim: &mut Nvim) -> String {
    nvim.eval("require('rat').statusline()").as_str().unwrap_or_default().to_owned()
}

/// The winbar of the prompt as it is drawn.
fn bar(nvim: &mut Nvim) -> String {
    let code = "local win = vim.fn.bufwinid('rat://fake/1/prompt')
        return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win }).str";
    nvim.lua(code, json!([])).as_str().unwrap_or_default().to_owned()
}

/// Holds (Permission requests): A request that comes after the end of its turn waits like any other: its chat says so, and `<C-c>` cancels it.
#[test]
fn a_request_after_the_end_of_its_turn_waits_in_its_chat() {
    let mut chat = after_a_turn();
    let first = chat.ask_permission(call("t", "Clean up"), options("one"));
    chat.nvim.poll_state("waiting");
    chat.nvim.poll_screen("needs approval");
    let line = statusline(&mut chat.nvim);
    assert!(line.contains("1 to answer") && !line.contains("elsewhere"), "{line}");
    assert!(bar(&mut chat.nvim).contains("<C-c> cancel"), "{}", bar(&mut chat.nvim));
    chat.nvim.enter(PROMPT);
    chat.nvim.input("<C-c>");
    assert_eq!(chat.answer(first), json!({"outcome": {"outcome": "cancelled"}}));
    chat.nvim.poll_state("ready");
    // Another one is answered, and a prompt is sent meanwhile.
    let second = chat.ask_permission(call("t2", "Clean up more"), options("two"));
    chat.nvim.poll_state("waiting");
    chat.prompt("go on");
    chat.nvim.poll_state("waiting");
    chat.nvim.command("RatAllow");
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
    assert_eq!(chat.answer(second), yes);
    chat.nvim.poll_state("running");
    chat.say("Going on.");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}

/// Holds (Turns): While a tool call goes on after its turn, the chat is running; a prompt is sent at once, and no key cancels nothing.
#[test]
fn a_tool_call_after_the_end_of_its_turn_is_running() {
    let mut chat = after_a_turn();
    let mut late = call("t", "Watch the files");
    late["status"] = json!("in_progress");
    chat.tool_call(late);
    chat.nvim.poll_state("running");
    chat.nvim.poll("its title", |nvim| {
        nvim.status()["detail"].as_str().is_some_and(|detail| detail.contains("Watch the files"))
    });
    let bar_now = bar(&mut chat.nvim);
    assert!(bar_now.contains("<CR> send") && !bar_now.contains("cancel"), "{bar_now}");
    chat.tool_call_update(json!({"toolCallId": "t", "status": "completed"}));
    chat.nvim.poll_state("ready");
    chat.tool_call(json!({"toolCallId": "u", "title": "Watch more", "status": "in_progress"}));
    chat.nvim.poll_state("running");
    chat.prompt("and now?");
    chat.say("Now this.");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}

/// Holds (Permission requests): A request that uses the id of an answered one has a card of its own at the end, and what was decided stays.
#[test]
fn a_request_with_the_id_of_an_answered_one_is_a_card_of_its_own() {
    let mut chat = Chat::builder().screen(80, 24).in_turn();
    let first = chat.ask_permission(call("call", "rm -r one"), options("one"));
    chat.nvim.command("RatAllow");
    chat.answer(first);
    chat.tool_call_update(json!({"toolCallId": "call", "status": "completed"}));
    let lines: Vec<_> = (1..=40).map(|number| format!("line {number}\n\n")).collect();
    chat.say(&lines.concat());
    chat.nvim.poll_screen("line 40");
    let second = chat.ask_permission(call("call", "rm -r two"), options("two"));
    chat.nvim.poll_screen("rm -r two");
    chat.nvim.poll_screen("[g1] Yes two");
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny");
    chat.answer(second);
    chat.tool_call_update(json!({"toolCallId": "call", "status": "failed"}));
    let record = |nvim: &mut Nvim| {
        let lines = nvim.buffer_lines(TRANSCRIPT);
        let wanted = ["rm -r one", "Yes one", "rm -r two", "No two"];
        let found = lines.iter().filter_map(|line| wanted.iter().find(|it| line.contains(**it)));
        found.copied().collect::<Vec<_>>()
    };
    chat.nvim
        .poll("both cards", |nvim| record(nvim) == ["rm -r one", "Yes one", "rm -r two", "No two"]);
    chat.nvim.command("RatTools");
    chat.nvim.poll("both in the list", |nvim| {
        let lines = nvim.buffer_lines("rat://fake/1/tools").join("\n");
        lines.contains("rm -r one") && lines.contains("rm -r two")
    });
    chat.end_turn("end_turn");
}

/// Holds (Turns): A turn that ends without a word says so.
#[test]
fn a_turn_without_a_word_says_so() {
    let mut chat = Chat::in_turn();
    chat.end_turn("end_turn");
    chat.nvim.poll_screen("Fake agent ended the turn without an answer");
    chat.prompt("again");
    chat.say("Yes.");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let notes = chat.transcript();
    let count = notes.iter().filter(|line| line.contains("without an answer")).count();
    assert_eq!(count, 1, "{notes:#?}");
}

fn replay_user(chat: &mut Chat, text: &str) {
    let content = json!({"type": "text", "text": text});
    chat.update(json!({"sessionUpdate": "user_message_chunk", "content": content}));
}

/// Holds (Turns): What is replayed after the next prompt was sent is not shown twice, and not after that prompt.
#[test]
fn a_session_that_is_replayed_late_after_a_crash_is_shown_once_and_in_order() {
    for answers_like_before in [false, true] {
        let loads = json!({"agentCapabilities": {"loadSession": true}});
        let mut chat = Chat::builder().initialized(loads.clone()).start();
        let read = json!({"toolCallId": "t", "title": "Read it", "status": "completed"});
        for (prompt, answer) in [("One?", "First."), ("Two?", "Second, in two pieces.")] {
            chat.prompt(prompt);
            chat.tool_call(read.clone());
            chat.say(answer);
            chat.end_turn("end_turn");
            chat.nvim.poll_state("ready");
        }
        chat.prompt("Three?");
        chat.nvim.poll_state("running");
        Processes::signal(chat.agent.pid(), "KILL");
        chat.nvim.poll_state("failed");
        // The prompt that was lost is back; it is sent again while the agent starts.
        chat.poll_draft(&["Three?"]);
        chat.nvim.enter(PROMPT);
        chat.nvim.input("<CR>");
        chat.agent.expect_start();
        chat.agent.initialize(loads);
        let load = chat.agent.expect_request("session/load");
        chat.agent.reply(&load, json!({}));
        chat.expect_prompt();
        replay_user(&mut chat, "One?");
        chat.tool_call(read.clone());
        chat.say("First.");
        replay_user(&mut chat, "Two?");
        chat.tool_call(read.clone());
        chat.say("Second, ");
        chat.say("in two pieces.");
        replay_user(&mut chat, "Three?");
        let answer = if answers_like_before { "First." } else { "Third." };
        chat.say(answer);
        chat.end_turn("end_turn");
        chat.nvim.poll_state("ready");
        let lines = chat.transcript();
        let said = ["One?", "First.", "Two?", "Second, in two pieces.", "Three?", "Third."];
        let found: Vec<&str> =
            lines.iter().map(String::as_str).filter(|line| said.contains(line)).collect();
        let wanted = [&said[..5], &["Three?", answer]].concat();
        assert_eq!(found, wanted, "{lines:#?}");
        let calls = lines.iter().filter(|line| line.contains("Read it")).count();
        assert_eq!(calls, 2, "{lines:#?}");
    }
}
