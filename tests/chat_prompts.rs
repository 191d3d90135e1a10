//! Prompts in real Neovim: from the prompt buffer, from commands, from Lua and from the visual selection, with exactly
//! the text the user sees.

use crate::support::{Chat, Nvim, PROMPT, text};
use serde_json::{Value as Json, json};

const FILE: &str = "some words.lua";

/// The user is in a file with an unsaved change, beside a chat with an agent that takes embedded context.
fn in_a_changed_file() -> Chat {
    with_an_agent_that_takes(json!({"embeddedContext": true}))
}

/// The same with an agent that takes this in prompts.
fn with_an_agent_that_takes(capabilities: Json) -> Chat {
    let mut nvim = Nvim::wide();
    let file = nvim.file(FILE, "one two\nthree four\nfive six\n");
    nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", json!([file]));
    nvim.lua("vim.fn.setline(2, 'dreißig vierzig')", json!([]));
    nvim.command("xmap gs <Plug>(rat-send)");
    nvim.command("xmap ga <Plug>(rat-add)");
    let chat = Chat::builder().neovim(nvim).takes(capabilities);
    let mut chat = chat.setup(json!({"unsaved": "ignore"})).start();
    chat.nvim.command("wincmd t");
    chat
}

fn uri(chat: &Chat) -> String {
    format!("file://{}", chat.path(FILE).display()).replace(' ', "%20")
}

fn resource(chat: &Chat, lines: &str, text: &str) -> Json {
    let uri = format!("{}{lines}", uri(chat));
    let resource = json!({"uri": uri, "mimeType": "text/x-lua", "text": text});
    json!({"type": "resource", "resource": resource})
}

fn filetype(nvim: &mut Nvim) -> Json {
    nvim.eval("vim.bo.filetype")
}

#[test]
fn the_prompt_buffer_sends_its_text_and_is_empty_again() {
    let mut chat = in_a_changed_file();
    chat.nvim.command("RatSend");
    assert_eq!(filetype(&mut chat.nvim), json!("ratprompt"));
    chat.nvim.input("ifirst line<CR><CR>third *line*<Esc><CR>");
    assert_eq!(chat.sent(), [text("first line\n\nthird *line*")]);
    let prompt = chat.draft();
    assert_eq!(prompt, [""]);
    chat.nvim.poll_screen("third line");
    chat.nvim.input("iagain<C-s>");
    assert_eq!(chat.sent(), [text("again")]);
    chat.nvim.poll("the user to be in Insert mode still", |nvim| nvim.screen().mode() == "insert");
}

#[test]
fn an_empty_prompt_is_not_sent() {
    let mut chat = in_a_changed_file();
    chat.nvim.command("RatSend");
    chat.nvim.input("i  <CR><Esc><CR>icontent<Esc><CR>");
    assert_eq!(chat.sent(), [text("content")]);
}

/// ACP 56.
#[test]
fn the_command_sends_text_and_the_lines_of_its_range_unsaved() {
    let mut chat = in_a_changed_file();
    chat.nvim.command("RatSend what is | this?");
    assert_eq!(chat.sent(), [text("what is | this?")]);
    chat.nvim.command("2,3RatSend and this?");
    let lines = resource(&chat, "#L2-3", "dreißig vierzig\nfive six\n");
    assert_eq!(chat.sent(), [text("and this?"), lines]);
    assert_eq!(filetype(&mut chat.nvim), json!("lua"), "the user was moved");
}

/// Holds (Prompts and keys): A visual selection goes with a prompt exactly, as an embedded resource.
#[test]
fn a_characterwise_selection_goes_as_it_is() {
    let mut chat = in_a_changed_file();
    chat.nvim.input("gg0wvj0gs");
    chat.nvim.poll_screen("some words.lua:1-2");
    assert_eq!(filetype(&mut chat.nvim), json!("ratprompt"));
    chat.nvim.input("iwhy?<C-s>");
    assert_eq!(chat.sent(), [text("why?"), resource(&chat, "#L1-2", "two\nd")]);
    // It stands in the transcript, and above the prompt no longer.
    chat.nvim
        .poll("it once", |nvim| nvim.screen().text().matches("some words.lua:1-2").count() == 1);
}

/// Holds (Prompts and keys): A visual selection goes with a prompt exactly, as an embedded resource.
#[test]
fn a_linewise_selection_goes_as_whole_lines() {
    let mut chat = in_a_changed_file();
    chat.nvim.input("ggjVjgs");
    chat.nvim.poll_screen("some words.lua:2-3");
    chat.nvim.input("iwhy?<C-s>");
    let lines = resource(&chat, "#L2-3", "dreißig vierzig\nfive six\n");
    assert_eq!(chat.sent(), [text("why?"), lines]);
}

/// Holds (Prompts and keys): A visual selection goes with a prompt exactly, as an embedded resource.
#[test]
fn a_blockwise_selection_goes_as_the_block() {
    let mut chat = in_a_changed_file();
    chat.nvim.input("gg0l<C-v>jjlgs");
    chat.nvim.poll_screen("some words.lua:1-3");
    chat.nvim.input("iwhy?<C-s>");
    assert_eq!(chat.sent(), [text("why?"), resource(&chat, "#L1-3", "ne\nre\niv")]);
}

/// ACP 55.
#[test]
fn without_embedded_context_a_link_and_the_text_go() {
    let mut chat = with_an_agent_that_takes(json!({}));
    chat.nvim.command("2RatSend why?");
    let sent = chat.sent();
    let link = json!({
        "type": "resource_link", "uri": format!("{}#L2", uri(&chat)), "name": "some words.lua:2",
        "mimeType": "text/x-lua",
    });
    assert_eq!(sent[..2], [text("why?"), link]);
    assert_eq!(sent[2], text("some words.lua:2:\n```\ndreißig vierzig\n```"));
}

#[test]
fn several_attachments_go_with_one_prompt_and_can_be_removed() {
    let mut chat = in_a_changed_file();
    chat.nvim.command("1RatAdd");
    chat.nvim.command("3RatAdd");
    chat.nvim.input("gg0wvega");
    chat.nvim.command("RatAdd");
    assert_eq!(filetype(&mut chat.nvim), json!("lua"), "the user was moved");
    chat.nvim.poll_screen("+ some words.lua:3");
    chat.nvim.poll_screen("g- remove");
    chat.nvim.command("RatSend");
    chat.nvim.input("g-");
    chat.nvim.poll_screen("Remove which?");
    chat.nvim.choose(1);
    chat.nvim.poll("three left", |nvim| {
        nvim.eval("#require('rat.chat.current').get().attachments") == 3
            && !nvim.screen().contains("Remove which")
    });
    chat.nvim.input("ithese<C-s>");
    let whole = "one two\ndreißig vierzig\nfive six\n";
    let blocks = [("#L3", "five six\n"), ("#L1", "two"), ("", whole)];
    let blocks = blocks.map(|(lines, text)| resource(&chat, lines, text));
    let sent = chat.sent();
    assert_eq!(sent[0], text("these"));
    assert_eq!(sent[1..], blocks);
    chat.nvim.command("RatSend alone");
    assert_eq!(chat.sent(), [text("alone")]);
}

#[test]
fn the_lua_function_takes_context_and_a_session() {
    let mut chat = in_a_changed_file();
    let code = "require('rat').send('look', { session = 's1', context = { { first = 3 }, ... } })";
    let other = chat.nvim.file("other.md", "# On disk\n");
    chat.nvim.lua(code, json!([other]));
    let sent = chat.sent();
    assert_eq!(sent[..2], [text("look"), resource(&chat, "#L3", "five six\n")]);
    assert_eq!(sent[2]["resource"]["text"], json!("# On disk\n"));
    assert_eq!(sent[2]["resource"]["mimeType"], json!("text/markdown"));
    let refused = chat
        .nvim
        .try_call("nvim_exec_lua", json!(["require('rat').send('x', { session = 'nobody' })", []]));
    assert!(refused.unwrap_err().contains("no such session: nobody"));
}

#[test]
fn a_file_named_in_the_prompt_goes_with_it() {
    let mut chat = in_a_changed_file();
    chat.nvim.file("sub/note.md", "a note\n");
    chat.nvim.send("see @sub/note.md, and mail me@example.org");
    let sent = chat.sent();
    assert_eq!(sent[0], text("see @sub/note.md, and mail me@example.org"));
    assert_eq!(sent[1]["resource"]["text"], json!("a note\n"));
    assert_eq!(sent.len(), 2);
}

#[test]
fn a_prompt_without_an_agent_starts_one_first() {
    let (mut nvim, mut agent) = Chat::builder().configure();
    nvim.command("RatSend hello");
    agent.expect_start();
    agent.handshake();
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"], json!([text("hello")]));
}

/// Holds (Prompts and keys): What is attached is shown again when the prompt's buffer comes back after `:bdelete`.
#[test]
fn attachments_are_shown_again_after_the_prompt_was_deleted() {
    let mut chat = Chat::builder().file("a.txt", "one\n").file("b.txt", "two\n").start();
    chat.nvim.command("RatAdd a.txt | RatAdd b.txt");
    chat.nvim.poll_screen("+ a.txt");
    chat.nvim.enter(PROMPT);
    chat.nvim.input("ione<CR>two<CR>three<CR>four<Esc>:bdelete<CR>");
    chat.nvim.poll_no("+ a.txt");
    chat.nvim.command("RatToggle");
    chat.nvim.command("RatToggle");
    chat.nvim.poll_screen("+ a.txt");
    chat.nvim.input("Ggg");
    chat.nvim.poll_screen("+ b.txt");
}
