//! The editor's own tools, which agents call through the MCP server `rat`.

mod calls;
mod gate;
mod own;
mod pipe;
mod servers;
mod sessions;

use std::fs;

use serde_json::{Value as Json, json};

use crate::support::{Chat, Mcp};

/// A chat in a turn whose agent has started the server.
fn chat_with_tools(files: &[(&str, &str)]) -> (Chat, Mcp) {
    let mut builder = Chat::builder();
    for (name, text) in files {
        builder = builder.file(name, *text);
    }
    let chat = builder.in_turn();
    let mcp = Mcp::start(&chat.agent.mcp_servers);
    (chat, mcp)
}

fn disk(chat: &Chat, name: &str) -> String {
    fs::read_to_string(chat.path(name)).expect("the file")
}

/// The arguments of `edit_buffer` for one replacement.
fn edit(chat: &Chat, name: &str, old: &str, new: &str) -> Json {
    json!({
        "file_path": chat.path(name),
        "edits": [{"old_string": old, "new_string": new}],
    })
}

/// Waits for a card, and runs a command that answers it.
fn answer_card(chat: &mut Chat, command: &str) {
    chat.nvim.poll("a card", |nvim| nvim.waiting() > 0);
    chat.nvim.let_time_pass();
    chat.nvim.command(command);
}
