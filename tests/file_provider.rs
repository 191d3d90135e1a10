//! The options `files.read_provider` and `files.write_provider` in real Neovim: functions of the user's that read and write
//! files for agents. Whatever they do, each request gets one answer, and in doubt the file is used as usual.

use crate::support::Chat;
use serde_json::{Value as Json, json};

/// A turn with providers that have these bodies. They have `request` and `answer`.
fn with_providers(read: &str, write: &str) -> Chat {
    let mut chat = Chat::builder().file("a.txt", "one\ntwo\n").in_turn();
    let code = format!(
        "Asked = {{}}
        local files = {{
            read_provider = function(request, answer) table.insert(Asked, request) {read} end,
            write_provider = function(request, answer) table.insert(Asked, request) {write} end,
        }}
        local options = vim.tbl_extend('force', require('rat.config').get(), {{ files = files }})
        require('rat.document.provider').limit = 200
        require('rat').setup(options)"
    );
    chat.nvim.lua(&code, json!([]));
    chat
}

fn read(chat: &mut Chat, fields: Json) -> Json {
    let mut params = json!({"path": chat.path("a.txt")});
    params.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    chat.request("fs/read_text_file", params).unwrap()["content"].clone()
}

fn write(chat: &mut Chat, content: &str) -> String {
    let path = chat.path("a.txt");
    let params = json!({"path": path, "content": content});
    chat.request("fs/write_text_file", params).unwrap();
    std::fs::read_to_string(path).unwrap()
}

/// Holds (Scripts in Lua): A file provider reads and writes files for agents, at once or later, and is told which lines are wanted.
#[test]
fn it_reads_and_writes() {
    let later = "vim.defer_fn(function() answer('tüx\\n') answer('twice') end, 1)";
    let kept = "Kept = request.content answer(true) answer(nil)";
    let mut chat = with_providers(later, kept);
    let path = chat.path("a.txt");
    let lines = json!({"line": 2, "limit": 3});
    chat.nvim.lua("require('rat.document.provider').limit = 10000", json!([]));
    assert_eq!(read(&mut chat, lines), "tüx\n");
    let asked = chat.nvim.lua("return Asked[1]", json!([]));
    assert_eq!(asked, json!({"path": path, "line": 2, "limit": 3}));
    assert_eq!(write(&mut chat, "new\n"), "one\ntwo\n");
    assert_eq!(chat.nvim.lua("return Kept", json!([])), "new\n");
    assert!(!chat.nvim.messages().contains("provider"), "{}", chat.nvim.messages());
}

/// Holds (Scripts in Lua): A file provider that answers nil, throws, hangs, returns a value or answers nonsense leaves the file as usual, and one line says so.
#[test]
fn the_file_is_used_as_usual_where_it_does_not_answer() {
    for (body, told) in [
        ("answer(nil)", ""),
        ("error('boom')", "failed, so the file is used as usual"),
        ("", "did not answer within 200 ms, so a.txt is used as usual"),
        ("return 'x'", "returned a value and has to call answer(), so a.txt is used as usual"),
        ("answer({})", "gave an answer that makes no sense, so a.txt is used as usual"),
        ("answer('\\255')", "gave an answer that makes no sense, so a.txt is used as usual"),
    ] {
        let mut chat = with_providers(body, body);
        assert_eq!(read(&mut chat, json!({})), "one\ntwo\n", "{body}");
        assert_eq!(write(&mut chat, "new\n"), "new\n", "{body}");
        for option in ["files.read_provider", "files.write_provider"] {
            let line = format!("{option} {told}");
            let count = usize::from(!told.is_empty());
            chat.nvim.poll(&line, |nvim| {
                let messages = nvim.messages();
                messages.matches(option).count() == count
                    && messages.matches(&line).count() == count
            });
        }
    }
}

/// Holds (Scripts in Lua): A file outside the project is not given to a file provider before the user allows it.
#[test]
fn it_is_asked_only_about_what_the_agent_may_use() {
    let mut chat = with_providers("answer('secret')", "");
    let outside = json!({"path": "/etc/hostname"});
    let pending = chat.ask("fs/read_text_file", outside);
    chat.nvim.poll_screen("outside");
    assert_eq!(chat.nvim.lua("return #Asked", json!([])), 0);
    assert!(!chat.agent.is_answered(pending));
}
