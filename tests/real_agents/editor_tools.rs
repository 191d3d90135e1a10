//! The editor's own tools, called by real agents.

use serde_json::{Value as Json, json};

use crate::agents::{Chat, Kind};
use crate::end::command_line;
use crate::place::are_here;
use crate::support::{Processes, repository};
use crate::{with_agent, with_each_real_agent};

// The tools are offered only to agents that run here.
with_each_real_agent!(
    unsaved_text_is_read,
    an_edit_is_merged_and_answered,
    a_symbol_is_renamed,
    the_tools_survive_a_restart,
    a_fork_has_the_tools,
    no_pipe_outlives_a_killed_agent,
    two_chats_in_one_folder_are_not_mixed,
);

/// How the model of an agent calls a tool of ours.
fn call(kind: Kind, tool: &str, arguments: &Json) -> String {
    let name = match kind {
        Kind::Claude => format!("mcp__rat__{tool}"),
        Kind::Gemini => format!("mcp_rat_{tool}"),
        _ => format!("rat_{tool}"),
    };
    format!("[[tool {name} {arguments}]]")
}

/// Whether the model of the agent was told something in the answer to a call.
fn was_told(chat: &Chat, text: &str) -> bool {
    let text = json!(text).to_string();
    let text = text.trim_matches('"');
    chat.asked_of_model().iter().any(|request| request.contains(text))
}

/// A chat in a project with the language server of the tests.
fn open(kind: Kind, files: &[(&str, &str)]) -> Chat {
    let mut chat = Chat::open(kind, files);
    let options = json!({"root": chat.nvim.cwd(), "pattern": "*.txt"});
    let file = repository().join("tests/support/language_server.lua");
    chat.nvim.lua("local file, options = ... dofile(file).start(options)", json!([file, options]));
    chat
}

/// Waits for a card with this title, and allows it.
fn allow(chat: &mut Chat, title: &str) {
    chat.until(title, |chat| {
        let screen = chat.nvim.screen();
        (screen.contains(title) && screen.contains("<CR> choose")).then_some(())
    });
    chat.nvim.let_time_pass();
    chat.nvim.command("RatAllow");
}

/// Waits for the card of one of several chats, and allows it there and nowhere else.
fn allow_of(chat: &mut Chat, number: u32, name: &str) {
    let title = format!("Edit {name}");
    let waiting = "local chat = require('rat.chat.registry').get(...)
        local request = (chat.status.permissions or {})[1]
        return request and request.title or ''";
    chat.until(&title, |chat| {
        (chat.nvim.lua(waiting, json!([number])) == json!(title)).then_some(())
    });
    let allow = "require('rat.rpc').notify('permission', { chat = ..., allow = true })";
    chat.nvim.lua(allow, json!([number]));
}

/// Holds (Editor tools): Claude, OpenCode and Gemini read unsaved text without a question.
fn unsaved_text_is_read(kind: Kind) {
    if !are_here() {
        return;
    }
    let mut chat = open(kind, &[("a.txt", "one\ntwo\n")]);
    chat.in_buffer("a.txt", "vim.fn.setline(1, 'only in the editor')");
    let read = call(kind, "read_buffer", &json!({"file_path": chat.path("a.txt")}));
    chat.ask(&format!("{read}[[say Done.]]"));
    chat.ends_somehow();
    assert!(was_told(&chat, "with changes that are not saved"), "{}", chat.transcript());
    chat.finish();
}

/// Holds (Editor tools): An edit of Claude, OpenCode and Gemini is allowed on one card, merged, one undo step, and answered with its error.
fn an_edit_is_merged_and_answered(kind: Kind) {
    if !are_here() {
        return;
    }
    let text = "one\ntwo\nthree\nfour\nfive\n";
    let mut chat = open(kind, &[("a.txt", text)]);
    chat.in_buffer("a.txt", "return 1");
    let edits = json!([{"old_string": "four", "new_string": "BAD four"}]);
    let arguments = json!({"file_path": chat.path("a.txt"), "edits": edits});
    chat.ask(&format!("{}[[say Done.]]", call(kind, "edit_buffer", &arguments)));
    chat.until("the card", |chat| chat.nvim.screen().contains("Edit a.txt").then_some(()));
    assert_eq!(chat.file("a.txt").unwrap(), text, "nothing is written before it is allowed");
    chat.in_buffer("a.txt", "vim.fn.setline(1, 'mine')");
    allow(&mut chat, "Edit a.txt");
    chat.ends_somehow();
    assert_eq!(chat.buffer("a.txt"), "mine\ntwo\nthree\nBAD four\nfive\n");
    assert!(was_told(&chat, "a.txt:4: error: BAD four [words]"), "{}", chat.transcript());
    chat.in_buffer("a.txt", "vim.cmd.undo()");
    assert_eq!(chat.buffer("a.txt"), "mine\ntwo\nthree\nfour\nfive\n");
    chat.finish();
}

/// Holds (Editor tools): A rename of Claude, OpenCode and Gemini over three files is one card, saved, and pending in each file.
fn a_symbol_is_renamed(kind: Kind) {
    if !are_here() {
        return;
    }
    let files = [("a.txt", "first greet\n"), ("b.txt", "greet twice\n"), ("c.txt", "no greet\n")];
    let mut chat = open(kind, &files);
    let arguments =
        json!({"file_path": chat.path("a.txt"), "symbol": "greet", "new_name": "salute"});
    chat.ask(&format!("{}[[say Done.]]", call(kind, "rename_symbol", &arguments)));
    allow(&mut chat, "Rename greet to salute");
    chat.ends_somehow();
    for (name, text) in files {
        assert_eq!(chat.file(name).unwrap(), text.replace("greet", "salute"));
        assert!(!chat.is_modified(name));
        chat.until("a pending hunk", |chat| {
            (chat.in_buffer(name, "return vim.b.rat_pending") == json!(1)).then_some(())
        });
        chat.in_buffer(name, "vim.cmd.undo()");
        assert_eq!(chat.buffer(name), text, "one undo step");
    }
    chat.finish();
}

/// Holds (Editor tools): The tools are there again after the agent was restarted and its session loaded or resumed.
fn the_tools_survive_a_restart(kind: Kind) {
    if !are_here() {
        return;
    }
    let mut chat = open(kind, &[("a.txt", "one\n")]);
    chat.ask_and_wait("[[say Hello.]]");
    chat.nvim.command("RatRestart");
    chat.wait_for("ready");
    let read = call(kind, "read_buffer", &json!({"file_path": chat.path("a.txt"), "limit": 1}));
    chat.in_buffer("a.txt", "vim.fn.setline(1, 'after the restart')");
    chat.ask(&format!("{read}[[say Done.]]"));
    chat.ends_somehow();
    assert!(was_told(&chat, "with changes that are not saved"), "{}", chat.transcript());
    chat.finish();
}

/// Holds (Editor tools): A fork of a session has the tools, too. Gemini cannot fork.
fn a_fork_has_the_tools(kind: Kind) {
    if !are_here() || kind == Kind::Gemini {
        return;
    }
    let mut chat = open(kind, &[("a.txt", "one\n")]);
    chat.ask_and_wait("[[say Hello.]]");
    let session = chat.nvim.status()["session_id"].clone();
    chat.nvim.command("RatFork");
    chat.until("the fork", |chat| {
        let status = chat.nvim.status();
        (status["session_id"] != session && status["state"] == json!("ready")).then_some(())
    });
    let read = call(kind, "read_buffer", &json!({"file_path": chat.path("a.txt"), "limit": 1}));
    chat.in_buffer("a.txt", "vim.fn.setline(1, 'after the fork')");
    chat.ask(&format!("{read}[[say Done.]]"));
    chat.ends_somehow();
    assert!(was_told(&chat, "with changes that are not saved"), "{}", chat.transcript());
    chat.finish();
}

/// The processes that agents have started to reach the tools.
fn pipes(chat: &Chat) -> Vec<u32> {
    let mut living = chat.nvim.processes().living();
    living.extend(chat.agent_processes().living());
    living.sort_unstable();
    living.dedup();
    living.retain(|pid| command_line(*pid).ends_with("rat-nvim mcp"));
    living
}

/// Holds (Editor tools): When an agent is killed, its pipe ends, and the card of its call goes; after a restart the tools are there.
fn no_pipe_outlives_a_killed_agent(kind: Kind) {
    if !are_here() {
        return;
    }
    let mut chat = open(kind, &[("a.txt", "one\n")]);
    let edits = json!([{"old_string": "one", "new_string": "1"}]);
    let arguments = json!({"file_path": chat.path("a.txt"), "edits": edits});
    chat.ask(&call(kind, "edit_buffer", &arguments));
    chat.until("the card", |chat| chat.nvim.screen().contains("Edit a.txt").then_some(()));
    assert!(!pipes(&chat).is_empty());
    Processes::signal(chat.agent_pid(), "KILL");
    chat.ends("error");
    chat.until("the end of the pipes", |chat| pipes(chat).is_empty().then_some(()));
    assert_eq!((chat.nvim.waiting(), chat.file("a.txt").as_deref()), (0, Some("one\n")));
    chat.nvim.command("RatRestart");
    chat.wait_for("ready");
    chat.in_buffer("a.txt", "vim.fn.setline(1, 'after the end')");
    let read = call(kind, "read_buffer", &json!({"file_path": chat.path("a.txt")}));
    chat.ask(&format!("{read}[[say Done.]]"));
    chat.until("the answer", |chat| {
        was_told(chat, "with changes that are not saved").then_some(())
    });
}

/// Holds (Editor tools): Of two chats with one agent in one folder, each gets the answers and the cards of its own calls.
fn two_chats_in_one_folder_are_not_mixed(kind: Kind) {
    if !are_here() {
        return;
    }
    let mut chat = open(kind, &[("a.txt", "one\n"), ("b.txt", "two\n")]);
    chat.ask_and_wait("[[say First.]]");
    let edit = |chat: &Chat, name: &str, old: &str| {
        let edits = json!([{"old_string": old, "new_string": old.to_uppercase()}]);
        let arguments = json!({"file_path": chat.path(name), "edits": edits});
        format!("{}[[say Done.]]", call(kind, "edit_buffer", &arguments))
    };
    chat.nvim.command(&format!("RatStart! {}", kind.name()));
    let second = "rat://".to_owned() + kind.name() + "/2";
    chat.until("the second chat", |chat| {
        let chats = "vim.tbl_map(function(chat) return chat.status.state end, require('rat.chat.registry').list())";
        (chat.nvim.eval(chats) == json!(["ready", "ready"])).then_some(())
    });
    // The first one calls, although the second one's server may have taken the place of its own.
    let in_first = edit(&chat, "a.txt", "one");
    let send = "local text, session = ... require('rat').send(text, { session = session })";
    chat.nvim.lua(send, json!([in_first, 1]));
    allow_of(&mut chat, 1, "a.txt");
    chat.until("the first edit", |chat| (chat.file("a.txt").unwrap() == "ONE\n").then_some(()));
    let in_second = edit(&chat, "b.txt", "two");
    chat.nvim.lua(send, json!([in_second, 2]));
    allow_of(&mut chat, 2, "b.txt");
    chat.until("the second edit", |chat| (chat.file("b.txt").unwrap() == "TWO\n").then_some(()));
    let lines = chat.nvim.buffer_lines(&second).join("\n");
    assert!(!lines.contains("a.txt"), "{lines}");
    let first = "rat://".to_owned() + kind.name() + "/1";
    let lines = chat.nvim.buffer_lines(&first).join("\n");
    assert!(!lines.contains("b.txt"), "{lines}");
    chat.until("the end of both turns", |chat| {
        let chats = "vim.tbl_map(function(chat) return chat.status.state end, require('rat.chat.registry').list())";
        (chat.nvim.eval(chats) == json!(["ready", "ready"])).then_some(())
    });
    chat.finish();
}
