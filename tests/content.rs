//! Content in real Neovim: images, sound and other files that go with prompts, and what agents send of them.
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

/// What agents send.
impl Talk {
    /// With what the user would be asked or shown replaced by what the test looks at.
    fn hears(takes: Json) -> Self {
        let mut talk = Self::start(takes);
        talk.nvim.command("RatSend");
        talk.nvim.lua(
            r"
            Opened, Asked = {}, {}
            vim.ui.open = function(what) table.insert(Opened, what) end
            vim.ui.input = function(opts, on_confirm)
              table.insert(Asked, opts.default)
              on_confirm(Path)
            end",
            json!([]),
        );
        talk
    }

    fn says(&mut self, content: &Json) {
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
        self.agent.update("s1", update);
    }

    /// Presses `<CR>` on the row of the transcript that holds this text.
    fn enter(&mut self, text: &str) {
        self.nvim.poll_screen(text);
        let code = r#"
            local win = vim.fn.bufwinid("rat://fake/1")
            vim.api.nvim_set_current_win(win)
            for row, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
              if line:find(..., 1, true) then vim.api.nvim_win_set_cursor(win, { row, 0 }) end
            end"#;
        self.nvim.lua(code, json!([text]));
        self.nvim.input("<CR>");
    }

    fn opened(&mut self) -> Vec<Json> {
        self.nvim.lua("return Opened", json!([])).as_array().cloned().unwrap_or_default()
    }

    fn poll_opened(&mut self) -> String {
        let opened = self.nvim.poll_for("something opened", |nvim| {
            nvim.lua("return Opened[1]", json!([])).as_str().map(str::to_owned)
        });
        self.nvim.lua("Opened = {}", json!([]));
        opened
    }

    fn save_as(&mut self, path: &std::path::Path) {
        self.nvim.lua("Path = ...", json!([path]));
    }
}

fn image() -> Json {
    json!({"type": "image", "mimeType": "image/png", "data": PNG64, "uri": "file:///elsewhere/a/cat.jpg"})
}

fn resource(uri: &str, text: &str) -> Json {
    json!({"type": "resource", "resource": {"uri": uri, "text": text}})
}

/// ACP 63.
#[test]
fn an_image_is_opened_with_another_program_when_it_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let mut talk = Talk::hears(json!({}));
    talk.says(&image());
    talk.enter("640×480");
    talk.nvim.poll_screen("1  Open with another program");
    assert!(!talk.nvim.screen().contains("Show the image"), "there is no plugin for it");
    assert!(talk.opened().is_empty(), "not before it is chosen");
    talk.nvim.choose(1);
    let path = PathBuf::from(talk.poll_opened());
    assert!(path.ends_with("cat.png"), "called what it is: {path:?}");
    assert_eq!(std::fs::read(&path).unwrap(), PNG);
    let folder = path.parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let own = talk.nvim.lua("return vim.fs.dirname(vim.fn.tempname())", json!([]));
    assert_eq!(folder.parent().unwrap().to_str(), own.as_str(), "it goes with Neovim");
}

/// ACP 63.
#[test]
fn content_of_a_tool_call_is_saved_and_replaces_nothing_unasked() {
    let mut talk = Talk::hears(json!({}));
    let content = json!([{"type": "content", "content": image()}]);
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "a|b", "title": "Look", "content": content});
    talk.agent.update("s1", call);
    let folder = talk.nvim.folder().folder("project");
    let (new, old) = (folder.join("new.png"), talk.file("old.png", b"mine"));
    talk.save_as(&new);
    talk.enter("640×480");
    talk.nvim.poll_screen("2  Save as");
    talk.nvim.choose(2);
    talk.nvim.poll_screen("saved as ");
    assert_eq!(std::fs::read(&new).unwrap(), PNG);
    assert_eq!(talk.nvim.lua("return Asked[1]", json!([])), "cat.png");

    talk.save_as(&old);
    talk.enter("640×480");
    talk.nvim.poll_screen("2  Save as");
    talk.nvim.input("2<CR>");
    talk.nvim.poll_screen("old.png exists");
    talk.nvim.poll_screen("2  Replace it");
    assert_eq!(std::fs::read(&old).unwrap(), b"mine");
    let other = folder.join("other.png");
    talk.save_as(&other);
    talk.nvim.choose(1);
    talk.nvim.poll("it under another name", |_| other.exists());

    talk.save_as(&old);
    talk.enter("640×480");
    talk.nvim.poll_screen("2  Save as");
    talk.nvim.input("2<CR>");
    talk.nvim.poll_screen("old.png exists");
    talk.nvim.poll_screen("2  Replace it");
    talk.nvim.input("<CR>");
    assert_eq!(std::fs::read(&old).unwrap(), b"mine", "nothing was selected");
    talk.nvim.choose(2);
    talk.nvim.poll("it replaced", |_| std::fs::read(&old).unwrap() == PNG);

    // What stood there is another thing by the time it is chosen.
    talk.enter("640×480");
    talk.nvim.poll_screen("2  Save as");
    let gone = json!({"sessionUpdate": "tool_call_update", "toolCallId": "a|b", "content": []});
    talk.agent.update("s1", gone);
    talk.nvim.poll("the card without it", |nvim| {
        !nvim.buffer_lines("rat://fake/1").concat().contains("640×480")
    });
    talk.nvim.choose(2);
    talk.nvim.poll_screen("it is not there any more");
}

/// ACP 63.
#[test]
fn a_resource_is_shown_whole_and_highlighted_and_runs_nothing() {
    let mut talk = Talk::hears(json!({}));
    let line = "local x = 1 -- 0123456789 0123456789 0123456789\n";
    let long = line.repeat(10_000) + "-- vim: set ft=evil:\nlast = true\n";
    talk.says(&resource("file:///elsewhere/a.lua", &long));
    talk.nvim.poll_screen("… 9994 more lines · <CR> shows all");
    talk.enter("9994 more lines");
    talk.nvim.poll_screen("Show the text");
    talk.nvim.choose(1);
    talk.nvim.poll_for("all of it", |nvim| {
        let lines = nvim.lua("return vim.api.nvim_buf_line_count(0)", json!([]));
        (lines == 10_002).then_some(())
    });
    assert_eq!(talk.nvim.lua("return vim.fn.getline('$')", json!([])), "last = true");
    let highlighted =
        "return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil";
    assert_eq!(talk.nvim.lua(highlighted, json!([])), json!(true));
    assert_eq!(talk.nvim.lua("return vim.bo.filetype", json!([])), "");
    assert_eq!(talk.nvim.lua("return vim.bo.modifiable", json!([])), json!(false));
}

/// ACP 63.
#[test]
fn a_link_leads_to_a_line_of_a_file_or_asks_before_it_leaves() {
    let mut talk = Talk::hears(json!({}));
    let file = talk.file("some words.txt", b"one\ntwo\nthree\n");
    let link = |uri: &str, name: &str| json!({"type": "resource_link", "uri": uri, "name": name});
    talk.says(&link(&format!("{}#L3", uri(&file)), "to a file"));
    talk.says(&link("file:///nowhere/at/all.txt", "to nothing"));
    let address = "https://good.org@evil.example/".to_owned() + &"path/".repeat(60) + "end";
    talk.says(&link(&address, "to a page"));
    talk.says(&link("javascript:alert(1)", "to a script"));

    talk.enter("to a file");
    talk.nvim.poll("the line", |nvim| {
        nvim.lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }", json!([]))
            == json!(["some words.txt", 3])
    });
    talk.enter("to nothing");
    talk.nvim.poll_screen("/nowhere/at/all.txt does not exist");
    talk.enter("to a script");
    talk.nvim.poll_screen("nothing can be done with it here");

    talk.enter("to a page");
    talk.nvim.poll_screen("The host is evil.example");
    let shown = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):gsub('%s', '')";
    let shown = talk.nvim.lua(shown, json!([]));
    assert!(shown.as_str().unwrap().contains(&address), "the whole address: {shown}");
    assert!(talk.opened().is_empty());
    talk.nvim.choose(1);
    talk.enter("to a page");
    talk.nvim.poll_screen("The host is evil.example");
    talk.nvim.choose(3);
    assert_eq!(talk.poll_opened(), address);
}

/// ACP 63.
#[test]
fn images_are_shown_by_the_plugin_the_user_has() {
    let mut talk = Talk::hears(json!({}));
    talk.nvim.lua(
        r#"
        package.loaded["snacks.image"] = { config = {}, supports_terminal = function() return true end }
        package.loaded["snacks.image.buf"] = { attach = function(buf, opts)
          Shown = { vim.api.nvim_buf_get_name(buf), opts.src }
        end }"#,
        json!([]),
    );
    talk.says(&image());
    let show = |talk: &mut Talk| {
        talk.nvim.lua("Shown = nil", json!([]));
        talk.enter("640×480");
        talk.nvim.poll_screen("1  Show the image");
        talk.nvim.choose(1);
        let shown = talk.nvim.poll_for("an image", |nvim| {
            Some(nvim.lua("return Shown", json!([]))).filter(|shown| !shown.is_null())
        });
        let name = shown[0].as_str().unwrap();
        assert!(name.starts_with("rat://image/") && name.ends_with("/cat.png"), "{name}");
        assert_eq!(std::fs::read(shown[1].as_str().unwrap()).unwrap(), PNG);
        talk.nvim.input("q");
    };
    show(&mut talk);
    talk.nvim.lua(
        r#"
        package.loaded["snacks.image"].supports_terminal = function() return false end
        package.loaded["image"] = { hijack_buffer = function(path, _, buf)
          Shown = { vim.api.nvim_buf_get_name(buf), path }
        end }"#,
        json!([]),
    );
    show(&mut talk);
}

/// ACP 63.
#[test]
fn what_an_agent_sends_harms_nobody() {
    let mut talk = Talk::hears(json!({}));
    let name = "\u{1b}]0;x\u{7}\u{202e}gnp.exe\nname";
    talk.says(&json!({"type": "resource_link", "uri": "x:y", "name": name}));
    talk.nvim.poll_screen("link · ");
    let line = "return vim.fn.getbufline('rat://fake/1', 1, '$')";
    let lines = talk.nvim.lua(line, json!([])).to_string();
    assert!(!lines.contains("\\u001b") && !lines.contains('\u{202e}'), "{lines}");
    // A program for the desktop in the dress of an image.
    let blob =
        json!({"uri": "file:///a.png", "mimeType": "image/png", "blob": "W0Rlc2t0b3AgRW50cnld"});
    talk.says(&json!({"type": "resource", "resource": blob}));
    talk.enter("15 B");
    talk.nvim.poll_screen("Save as");
    assert!(!talk.nvim.screen().contains("Open with another program"));
    talk.nvim.input("<Esc>");
    // A line of a megabyte costs a row.
    let call = |text: &str| {
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look", "content": content})
    };
    talk.agent.update("s1", call(&"x".repeat(1 << 20)));
    talk.nvim.poll_screen("… long lines are cut · <CR> shows all");
    assert!(talk.opened().is_empty());
}

/// ACP 63.
#[test]
fn a_thought_stays_folded_with_what_stands_in_it() {
    let mut talk = Talk::hears(json!({}));
    let thinks = |talk: &mut Talk, content: &Json| {
        let update = json!({"sessionUpdate": "agent_thought_chunk", "content": content});
        talk.agent.update("s1", update);
    };
    thinks(&mut talk, &image());
    thinks(&mut talk, &resource("file:///elsewhere/a.lua", "one\ntwo\n"));
    thinks(&mut talk, &text("So that is it.\nYes."));
    talk.says(&text("It is a cat."));
    talk.nvim.poll_screen("It is a cat.");
    let lines = talk.nvim.buffer_lines("rat://fake/1");
    let row = |what: &str| lines.iter().position(|line| line.contains(what)).unwrap() + 1;
    let fold = r#"
        local row = ...
        return vim.api.nvim_win_call(vim.fn.bufwinid("rat://fake/1"), function()
          return { vim.fn.foldclosed(row), vim.fn.foldclosedend(row) }
        end)"#;
    let whole = talk.nvim.lua(fold, json!([row("640×480")]));
    assert_eq!(whole, json!([row("640×480") - 1, row("Yes.") + 1]), "{lines:?}");
    assert_eq!(talk.nvim.lua(fold, json!([row("Yes.")])), whole);
    assert_eq!(talk.nvim.lua(fold, json!([row("It is a cat.")])), json!([-1, -1]));
}
