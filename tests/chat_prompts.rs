//! Prompts in real Neovim: from the prompt buffer, from commands, from Lua and from the visual selection, with exactly
//! the text the user sees.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options};

/// A file with an unsaved change in a window beside the chat, the user in the file.
struct Talk {
    nvim: Nvim,
    agent: Agent,
    uri: String,
}

impl Talk {
    fn start() -> Self {
        Self::start_with(json!({"embeddedContext": true}))
    }

    fn start_with(prompt_capabilities: Json) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let file = nvim.folder().file("project/some words.lua", "one two\nthree four\nfive six\n");
        nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", json!([file]));
        nvim.lua("vim.fn.setline(2, 'dreißig vierzig')", json!([]));
        nvim.command("xmap gs <Plug>(rat-send)");
        nvim.command("xmap ga <Plug>(rat-add)");
        let uri = format!("file://{}", file.display()).replace(' ', "%20");
        let mut agent = nvim.start_agent_with(json!({"unsaved": "ignore"}));
        let capabilities = json!({"promptCapabilities": prompt_capabilities});
        agent.handshake_with(json!({"agentCapabilities": capabilities}), json!({}));
        nvim.poll_state("ready");
        nvim.command("wincmd t");
        Self { nvim, agent, uri }
    }

    /// The content of the next prompt.
    fn sent(&mut self) -> Vec<Json> {
        let prompt = self.agent.expect_request("session/prompt");
        self.agent.reply(&prompt, json!({"stopReason": "end_turn"}));
        prompt.params["prompt"].as_array().unwrap().clone()
    }

    fn resource(&self, lines: &str, text: &str) -> Json {
        let uri = format!("{}{lines}", self.uri);
        let resource = json!({"uri": uri, "mimeType": "text/x-lua", "text": text});
        json!({"type": "resource", "resource": resource})
    }

    fn filetype(&mut self) -> Json {
        self.nvim.lua("return vim.bo.filetype", json!([]))
    }
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

#[test]
fn the_prompt_buffer_sends_its_text_and_is_empty_again() {
    let mut talk = Talk::start();
    talk.nvim.command("RatSend");
    assert_eq!(talk.filetype(), json!("ratprompt"));
    talk.nvim.input("ifirst line<CR><CR>third *line*<Esc><CR>");
    assert_eq!(talk.sent(), [text("first line\n\nthird *line*")]);
    let prompt = talk.nvim.buffer_lines("rat://fake/1/prompt");
    assert_eq!(prompt, [""]);
    talk.nvim.poll_screen("third line");
    talk.nvim.input("iagain<C-s>");
    assert_eq!(talk.sent(), [text("again")]);
    talk.nvim.poll("the user to be in Insert mode still", |nvim| nvim.screen().mode() == "insert");
}

#[test]
fn an_empty_prompt_is_not_sent() {
    let mut talk = Talk::start();
    talk.nvim.command("RatSend");
    talk.nvim.input("i  <CR><Esc><CR>icontent<Esc><CR>");
    assert_eq!(talk.sent(), [text("content")]);
}

/// ACP 56.
#[test]
fn the_command_sends_text_and_the_lines_of_its_range_unsaved() {
    let mut talk = Talk::start();
    talk.nvim.command("RatSend what is | this?");
    assert_eq!(talk.sent(), [text("what is | this?")]);
    talk.nvim.command("2,3RatSend and this?");
    let lines = talk.resource("#L2-3", "dreißig vierzig\nfive six\n");
    assert_eq!(talk.sent(), [text("and this?"), lines]);
    assert_eq!(talk.filetype(), json!("lua"), "the user was moved");
}

#[test]
fn a_characterwise_selection_goes_as_it_is() {
    let mut talk = Talk::start();
    talk.nvim.input("gg0wvj0gs");
    talk.nvim.poll_screen("some words.lua:1-2");
    assert_eq!(talk.filetype(), json!("ratprompt"));
    talk.nvim.input("iwhy?<C-s>");
    assert_eq!(talk.sent(), [text("why?"), talk.resource("#L1-2", "two\nd")]);
    talk.nvim.poll("no attachment", |nvim| !nvim.screen().contains("some words.lua:1-2\u{20}"));
}

#[test]
fn a_linewise_selection_goes_as_whole_lines() {
    let mut talk = Talk::start();
    talk.nvim.input("ggjVjgs");
    talk.nvim.poll_screen("some words.lua:2-3");
    talk.nvim.input("iwhy?<C-s>");
    let lines = talk.resource("#L2-3", "dreißig vierzig\nfive six\n");
    assert_eq!(talk.sent(), [text("why?"), lines]);
}

#[test]
fn a_blockwise_selection_goes_as_the_block() {
    let mut talk = Talk::start();
    talk.nvim.input("gg0l<C-v>jjlgs");
    talk.nvim.poll_screen("some words.lua:1-3");
    talk.nvim.input("iwhy?<C-s>");
    assert_eq!(talk.sent(), [text("why?"), talk.resource("#L1-3", "ne\nre\niv")]);
}

/// ACP 55.
#[test]
fn without_embedded_context_a_link_and_the_text_go() {
    let mut talk = Talk::start_with(json!({}));
    talk.nvim.command("2RatSend why?");
    let sent = talk.sent();
    let link = json!({
        "type": "resource_link", "uri": format!("{}#L2", talk.uri), "name": "some words.lua:2",
        "mimeType": "text/x-lua",
    });
    assert_eq!(sent[..2], [text("why?"), link]);
    assert_eq!(sent[2], text("some words.lua:2:\n```\ndreißig vierzig\n```"));
}

#[test]
fn several_attachments_go_with_one_prompt_and_can_be_removed() {
    let mut talk = Talk::start();
    talk.nvim.command("1RatAdd");
    talk.nvim.command("3RatAdd");
    talk.nvim.input("gg0wvega");
    talk.nvim.command("RatAdd");
    assert_eq!(talk.filetype(), json!("lua"), "the user was moved");
    talk.nvim.poll_screen("+ some words.lua:3");
    talk.nvim.poll_screen("g- removes");
    talk.nvim.command("RatSend");
    talk.nvim.input("g-");
    talk.nvim.poll_screen("Remove which attachment?");
    talk.nvim.choose(1);
    talk.nvim.poll("three left", |nvim| {
        nvim.lua("return #require('rat.chat').current().attachments", json!([])) == 3
            && !nvim.screen().contains("Remove which")
    });
    talk.nvim.input("ithese<C-s>");
    let whole = "one two\ndreißig vierzig\nfive six\n";
    let blocks = [("#L3", "five six\n"), ("#L1", "two"), ("", whole)];
    let blocks = blocks.map(|(lines, text)| talk.resource(lines, text));
    let sent = talk.sent();
    assert_eq!(sent[0], text("these"));
    assert_eq!(sent[1..], blocks);
    talk.nvim.command("RatSend alone");
    assert_eq!(talk.sent(), [text("alone")]);
}

#[test]
fn the_lua_function_takes_context_and_a_session() {
    let mut talk = Talk::start();
    let code = "require('rat').send('look', { session = 's1', context = { { first = 3 }, ... } })";
    let other = talk.nvim.folder().file("project/other.md", "# On disk\n");
    talk.nvim.lua(code, json!([other]));
    let sent = talk.sent();
    assert_eq!(sent[..2], [text("look"), talk.resource("#L3", "five six\n")]);
    assert_eq!(sent[2]["resource"]["text"], json!("# On disk\n"));
    assert_eq!(sent[2]["resource"]["mimeType"], json!("text/markdown"));
    let refused = talk
        .nvim
        .try_call("nvim_exec_lua", json!(["require('rat').send('x', { session = 'nobody' })", []]));
    assert!(refused.unwrap_err().contains("there is no session nobody"));
}

#[test]
fn a_file_named_in_the_prompt_goes_with_it() {
    let mut talk = Talk::start();
    talk.nvim.folder().file("project/sub/note.md", "a note\n");
    talk.nvim.send("see @sub/note.md, and mail me@example.org");
    let sent = talk.sent();
    assert_eq!(sent[0], text("see @sub/note.md, and mail me@example.org"));
    assert_eq!(sent[1]["resource"]["text"], json!("a note\n"));
    assert_eq!(sent.len(), 2);
}

#[test]
fn a_prompt_without_an_agent_starts_one_first() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.listen();
    nvim.setup(json!({"agents": {"fake": agent.config()}}));
    nvim.command("RatSend hello");
    agent.expect_start();
    agent.handshake();
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"], json!([text("hello")]));
}
