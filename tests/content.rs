//! Content in real Neovim: images, sound and other files that go with prompts.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use std::path::PathBuf;
use support::{Agent, Nvim, Options};

/// A PNG of 640 by 480 pixels, as far as its head says.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0";
const PNG64: &str = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA=";

struct Talk {
    nvim: Nvim,
    agent: Agent,
}

impl Talk {
    /// With an agent that takes this in prompts.
    fn start(takes: Json) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let mut agent = nvim.start_agent();
        let capabilities = json!({"promptCapabilities": takes});
        agent.handshake_with(json!({"agentCapabilities": capabilities}), json!({}));
        nvim.poll_state("ready");
        Self { nvim, agent }
    }

    fn file(&mut self, name: &str, bytes: &[u8]) -> PathBuf {
        self.nvim.folder().file(&format!("project/{name}"), bytes)
    }

    /// The content of the next prompt.
    fn sent(&mut self) -> Vec<Json> {
        let prompt = self.agent.expect_request("session/prompt");
        self.agent.reply(&prompt, json!({"stopReason": "end_turn"}));
        self.nvim.poll_state("ready");
        prompt.params["prompt"].as_array().unwrap().clone()
    }
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn uri(path: &std::path::Path) -> String {
    format!("file://{}", path.display()).replace(' ', "%20")
}

/// ACP 55.
#[test]
fn images_go_as_images_however_they_are_named() {
    let mut talk = Talk::start(json!({"image": true, "embeddedContext": true}));
    let path = talk.file("a cat.png", PNG);
    let image = json!({"type": "image", "mimeType": "image/png", "data": PNG64, "uri": uri(&path)});
    talk.nvim.command("RatAdd a\\ cat.png");
    talk.nvim.poll_screen("+ a cat.png");
    talk.nvim.command("RatSend what is this?");
    assert_eq!(talk.sent(), [text("what is this?"), image.clone()]);

    talk.nvim.lua("require('rat').send('look', {context = {'a cat.png'}})", json!([]));
    assert_eq!(talk.sent(), [text("look"), image.clone()]);

    let pasted = format!("look at '{}'", path.display());
    talk.nvim.lua("require('rat').send(...)", json!([pasted]));
    assert_eq!(talk.sent(), [text(&pasted), image]);

    let path = talk.file("cat.jpg", PNG);
    talk.nvim.send("and @cat.jpg?");
    let sent = talk.sent();
    assert_eq!(sent[1]["mimeType"], "image/png", "as it begins, not as it is called");
    assert_eq!(sent[1]["uri"], json!(uri(&path)));
    talk.nvim.poll_screen("+ cat.jpg");
}

/// ACP 55.
#[test]
fn what_the_agent_does_not_take_goes_as_a_link_and_is_told() {
    let mut talk = Talk::start(json!({}));
    let image = talk.file("cat.png", PNG);
    let sound = talk.file("cat.ogg", b"OggS\0\x02");
    let binary = talk.file("cat.bin", b"\0\x01");
    let link = |name: &str, path, mime: Json| {
        let mut link = json!({"type": "resource_link", "name": name, "uri": uri(path)});
        if !mime.is_null() {
            link["mimeType"] = mime;
        }
        link
    };
    talk.nvim.send("@cat.png");
    assert_eq!(talk.sent(), [text("@cat.png"), link("cat.png", &image, json!("image/png"))]);
    talk.nvim.poll_screen("cat.png goes as a link: the agent takes no images");
    talk.nvim.send("@cat.ogg");
    assert_eq!(talk.sent(), [text("@cat.ogg"), link("cat.ogg", &sound, json!("audio/ogg"))]);
    talk.nvim.poll_screen("cat.ogg goes as a link: the agent takes no sound");
    talk.nvim.send("@cat.bin");
    assert_eq!(talk.sent(), [text("@cat.bin"), link("cat.bin", &binary, Json::Null)]);
}

/// ACP 55.
#[test]
fn sound_and_binary_files_go_where_they_are_taken() {
    let mut talk = Talk::start(json!({"audio": true, "embeddedContext": true}));
    talk.file("cat.ogg", b"OggS\0\x02");
    let binary = talk.file("cat.bin", b"\0\x01");
    talk.nvim.send("@cat.ogg @cat.bin");
    let audio = json!({"type": "audio", "mimeType": "audio/ogg", "data": "T2dnUwAC"});
    let blob = json!({"type": "resource", "resource": {"uri": uri(&binary), "blob": "AAE="}});
    assert_eq!(talk.sent(), [text("@cat.ogg @cat.bin"), audio, blob]);
}

#[test]
fn what_is_too_large_or_not_there_is_told_and_the_conversation_goes_on() {
    let mut talk = Talk::start(json!({"image": true, "embeddedContext": true}));
    let mut large = PNG.to_vec();
    large.resize(6 << 20, 0);
    talk.file("large.png", &large);
    talk.file("large.txt", &vec![b'a'; 2 << 20]);
    talk.nvim.send("@large.png");
    assert_eq!(talk.sent()[1]["type"], "resource_link");
    talk.nvim.poll_screen("it has 6 MiB, and 5 MiB is the most that is sent");
    talk.nvim.send("@large.txt");
    assert_eq!(talk.sent()[1]["type"], "resource_link");
    talk.nvim.poll_screen("it has 2 MiB, and 1 MiB is the most that is sent");

    talk.nvim.command("RatAdd gone.png");
    talk.nvim.poll_screen("gone.png cannot be attached: ENOENT");
    let gone = talk.file("gone.png", PNG);
    talk.nvim.command("RatAdd gone.png");
    std::fs::remove_file(gone).unwrap();
    talk.nvim.command("RatSend look");
    assert_eq!(talk.sent(), [text("look")]);
    talk.nvim.poll_screen("gone.png is left out: No such file");
}

#[test]
fn files_can_be_completed_attached_and_taken_off_again() {
    let mut talk = Talk::start(json!({"image": true}));
    talk.file("cat.png", PNG);
    let found = talk.nvim.lua("return vim.fn.getcompletion('RatAdd c', 'cmdline')", json!([]));
    assert_eq!(found, json!(["cat.png"]));
    talk.nvim.command("RatAdd cat.png");
    talk.nvim.command("RatAdd cat.png");
    talk.nvim.command("RatSend");
    talk.nvim.poll_screen("+ cat.png");
    let count = "return #require('rat.chat').current().attachments";
    assert_eq!(talk.nvim.lua(count, json!([])), json!(1), "the same file once");
    talk.nvim.input("g-");
    talk.nvim.poll("nothing attached", |nvim| !nvim.screen().contains("+ cat.png"));
    talk.nvim.command("1RatAdd cat.png");
    talk.nvim.poll_screen(":RatAdd takes a range or a file, not both");
}

#[test]
fn a_prompt_that_comes_back_has_its_files() {
    let mut talk = Talk::start(json!({"image": true}));
    talk.file("cat.png", PNG);
    talk.nvim.send("first");
    let first = talk.agent.expect_request("session/prompt");
    talk.nvim.send("second @cat.png");
    talk.nvim.poll("it waits", |nvim| nvim.status()["queued"] == json!(["second @cat.png"]));
    talk.nvim.command("RatSend");
    talk.nvim.input("g<lt>");
    talk.nvim.poll_screen("+ cat.png");
    talk.agent.reply(&first, json!({"stopReason": "end_turn"}));
    talk.nvim.poll_state("ready");
    talk.nvim.input("<CR>");
    let sent = talk.sent();
    assert_eq!(sent[1]["data"], PNG64);
    assert_eq!(sent.len(), 2, "once, though it is attached and named");
}
