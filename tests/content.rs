//! Content in real Neovim: images, sound and other files that go with prompts, and what agents send of them.

use crate::support::{Chat, Nvim, TRANSCRIPT, text};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A PNG of 640 by 480 pixels, as far as its head says.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0";
const PNG64: &str = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA=";

/// A chat with an agent that takes this in prompts.
fn that_takes(capabilities: Json) -> Chat {
    Chat::builder().takes(capabilities).start()
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display()).replace(' ', "%20")
}

/// ACP 55.
/// Holds (Content): Images go to agents that take them, however they are attached.
#[test]
fn images_go_as_images_however_they_are_named() {
    let mut chat = that_takes(json!({"image": true, "embeddedContext": true}));
    let path = chat.nvim.file("a cat.png", PNG);
    let image = json!({"type": "image", "mimeType": "image/png", "data": PNG64, "uri": uri(&path)});
    chat.nvim.command("RatAdd a\\ cat.png");
    chat.nvim.poll_screen("+ a cat.png");
    chat.nvim.command("RatSend what is this?");
    assert_eq!(chat.sent(), [text("what is this?"), image.clone()]);

    chat.nvim.lua("require('rat').send('look', {context = {'a cat.png'}})", json!([]));
    assert_eq!(chat.sent(), [text("look"), image.clone()]);

    let pasted = format!("look at '{}'", path.display());
    chat.nvim.lua("require('rat').send(...)", json!([pasted]));
    assert_eq!(chat.sent(), [text(&pasted), image]);

    let path = chat.nvim.file("cat.jpg", PNG);
    chat.nvim.send("and @cat.jpg?");
    let sent = chat.sent();
    assert_eq!(sent[1]["mimeType"], "image/png", "as it begins, not as it is called");
    assert_eq!(sent[1]["uri"], json!(uri(&path)));
    chat.nvim.poll_screen("+ cat.jpg");
}

/// ACP 55.
/// Holds (Content): Content the agent does not take goes as a link, and the user is told.
#[test]
fn what_the_agent_does_not_take_goes_as_a_link_and_is_told() {
    let mut chat = that_takes(json!({}));
    let image = chat.nvim.file("cat.png", PNG);
    let sound = chat.nvim.file("cat.ogg", b"OggS\0\x02");
    let binary = chat.nvim.file("cat.bin", b"\0\x01");
    let link = |name: &str, path: &Path, mime: Json| {
        let day = Duration::from_secs(951_782_400);
        fs::File::open(path).unwrap().set_modified(UNIX_EPOCH + day).unwrap();
        let notes = json!({"lastModified": "2000-02-29T00:00:00Z"});
        let mut link =
            json!({"type": "resource_link", "name": name, "uri": uri(path), "annotations": notes});
        if !mime.is_null() {
            link["mimeType"] = mime;
        }
        link
    };
    let image = link("cat.png", &image, json!("image/png"));
    let sound = link("cat.ogg", &sound, json!("audio/ogg"));
    let binary = link("cat.bin", &binary, Json::Null);
    chat.nvim.send("@cat.png");
    assert_eq!(chat.sent(), [text("@cat.png"), image]);
    chat.nvim.poll_screen("cat.png was sent as a link: the agent does not accept images");
    chat.nvim.send("@cat.ogg");
    assert_eq!(chat.sent(), [text("@cat.ogg"), sound]);
    chat.nvim.poll_screen("cat.ogg was sent as a link: the agent does not accept audio");
    chat.nvim.send("@cat.bin");
    assert_eq!(chat.sent(), [text("@cat.bin"), binary]);
}

/// ACP 55.
/// Holds (Content): Audio and binary files go to agents that take them.
#[test]
fn sound_and_binary_files_go_where_they_are_taken() {
    let mut chat = that_takes(json!({"audio": true, "embeddedContext": true}));
    chat.nvim.file("cat.ogg", b"OggS\0\x02");
    let binary = chat.nvim.file("cat.bin", b"\0\x01");
    chat.nvim.send("@cat.ogg @cat.bin");
    let audio = json!({"type": "audio", "mimeType": "audio/ogg", "data": "T2dnUwAC"});
    let blob = json!({"type": "resource", "resource": {"uri": uri(&binary), "blob": "AAE="}});
    assert_eq!(chat.sent(), [text("@cat.ogg @cat.bin"), audio, blob]);
}

/// Holds (Content): An attachment that is too large, or gone when the prompt is sent, is reported and holds nothing up.
#[test]
fn what_is_too_large_or_not_there_is_told_and_the_conversation_goes_on() {
    let mut chat = that_takes(json!({"image": true, "embeddedContext": true}));
    let mut large = PNG.to_vec();
    large.resize(6 << 20, 0);
    chat.nvim.file("large.png", &large);
    chat.nvim.file("large.txt", vec![b'a'; 2 << 20]);
    chat.nvim.send("@large.png");
    assert_eq!(chat.sent()[1]["type"], "resource_link");
    chat.nvim.poll_screen("it has 6 MiB, the limit is 5 MiB");
    chat.nvim.send("@large.txt");
    assert_eq!(chat.sent()[1]["type"], "resource_link");
    chat.nvim.poll_screen("it has 2 MiB, the limit is 1 MiB");

    chat.nvim.command("RatAdd gone.png");
    chat.nvim.poll_screen("Could not attach gone.png: no such file");
    let gone = chat.nvim.file("gone.png", PNG);
    chat.nvim.command("RatAdd gone.png");
    fs::remove_file(gone).unwrap();
    chat.nvim.command("RatSend look");
    assert_eq!(chat.sent(), [text("look")]);
    chat.nvim.poll_screen("Could not attach gone.png: No such file");
}

/// Holds (Content): Files are completed, attached once and removed again.
#[test]
fn files_can_be_completed_attached_and_taken_off_again() {
    let mut chat = that_takes(json!({"image": true}));
    chat.nvim.file("cat.png", PNG);
    let found = chat.nvim.eval("vim.fn.getcompletion('RatAdd c', 'cmdline')");
    assert_eq!(found, json!(["cat.png"]));
    chat.nvim.command("RatAdd cat.png");
    chat.nvim.command("RatAdd cat.png");
    chat.nvim.command("RatSend");
    chat.nvim.poll_screen("+ cat.png");
    let count = "return #require('rat.chat.current').get().attachments";
    assert_eq!(chat.nvim.lua(count, json!([])), json!(1), "the same file once");
    chat.nvim.input("g-");
    chat.nvim.poll_no("+ cat.png");
    chat.nvim.command("1RatAdd cat.png");
    chat.nvim.poll_screen(":RatAdd takes a range or a file, not both");
}

/// Holds (Content): A prompt that comes back has its attachments.
#[test]
fn a_prompt_that_comes_back_has_its_files() {
    let mut chat = that_takes(json!({"image": true}));
    chat.nvim.file("cat.png", PNG);
    chat.prompt("first");
    chat.nvim.send("second @cat.png");
    chat.nvim.poll_queue(&["second @cat.png"]);
    chat.nvim.command("RatSend");
    chat.nvim.input("g<lt>");
    chat.nvim.poll_screen("+ cat.png");
    chat.end_turn("end_turn");
    chat.nvim.input("<CR>");
    let sent = chat.sent();
    assert_eq!(sent[1]["data"], PNG64);
    assert_eq!(sent.len(), 2, "once, though it is attached and named");
}

/// A chat in which what the user would be asked or shown is replaced by what the test looks at.
fn with_stand_ins() -> Chat {
    let mut chat = that_takes(json!({}));
    chat.nvim.command("RatSend");
    chat.nvim.lua(
        r"
        Opened, Asked = {}, {}
        vim.ui.open = function(what) table.insert(Opened, what) end
        vim.ui.input = function(opts, on_confirm)
          table.insert(Asked, opts.default)
          on_confirm(Path)
        end",
        json!([]),
    );
    chat
}

fn says(chat: &mut Chat, content: &Json) {
    chat.update(json!({"sessionUpdate": "agent_message_chunk", "content": content}));
}

/// Presses `<CR>` on the last row of the transcript that holds this text.
fn press_return_on(chat: &mut Chat, text: &str) {
    chat.nvim.poll_screen(text);
    chat.nvim.enter(TRANSCRIPT);
    let code = "
        for row, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
          if line:find(..., 1, true) then vim.api.nvim_win_set_cursor(0, { row, 0 }) end
        end";
    chat.nvim.lua(code, json!([text]));
    chat.nvim.input("<CR>");
}

fn opened(nvim: &mut Nvim) -> Vec<Json> {
    nvim.eval("Opened").as_array().cloned().unwrap_or_default()
}

fn poll_opened(nvim: &mut Nvim) -> String {
    let opened = nvim
        .poll_for("something opened", |nvim| nvim.eval("Opened[1]").as_str().map(str::to_owned));
    nvim.lua("Opened = {}", json!([]));
    opened
}

/// What the user answers when asked for a name to save as.
fn save_as(nvim: &mut Nvim, path: &Path) {
    nvim.lua("Path = ...", json!([path]));
}

fn image() -> Json {
    json!({"type": "image", "mimeType": "image/png", "data": PNG64, "uri": "file:///elsewhere/a/cat.jpg"})
}

fn resource(uri: &str, text: &str) -> Json {
    json!({"type": "resource", "resource": {"uri": uri, "text": text}})
}

/// ACP 63.
/// Holds (Content): An image of an agent is opened with another program on request only.
#[test]
fn an_image_is_opened_with_another_program_when_it_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let mut chat = with_stand_ins();
    says(&mut chat, &image());
    press_return_on(&mut chat, "640×480");
    chat.nvim.poll_screen("1  Open with another program");
    assert!(!chat.nvim.screen().contains("Show the image"), "there is no plugin for it");
    assert!(opened(&mut chat.nvim).is_empty(), "not before it is chosen");
    chat.nvim.choose(1);
    let path = PathBuf::from(poll_opened(&mut chat.nvim));
    assert!(path.ends_with("cat.png"), "called what it is: {path:?}");
    assert_eq!(fs::read(&path).unwrap(), PNG);
    let folder = path.parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let own = chat.nvim.eval("vim.fs.dirname(vim.fn.tempname())");
    assert_eq!(folder.parent().unwrap().to_str(), own.as_str(), "it goes with Neovim");
}

/// ACP 63.
/// Holds (Content): Saving content of a tool call replaces no file unasked.
#[test]
fn content_of_a_tool_call_is_saved_and_replaces_nothing_unasked() {
    let mut chat = with_stand_ins();
    let content = json!([{"type": "content", "content": image()}]);
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "a|b", "title": "Look", "content": content});
    chat.update(call);
    let folder = chat.nvim.cwd().to_owned();
    let (new, old) = (folder.join("new.png"), chat.nvim.file("old.png", b"mine"));
    save_as(&mut chat.nvim, &new);
    press_return_on(&mut chat, "640×480");
    chat.nvim.poll_screen("2  Save as");
    chat.nvim.choose(2);
    chat.nvim.poll_screen("Saved as ");
    assert_eq!(fs::read(&new).unwrap(), PNG);
    assert_eq!(chat.nvim.eval("Asked[1]"), "cat.png");

    save_as(&mut chat.nvim, &old);
    press_return_on(&mut chat, "640×480");
    chat.nvim.poll_screen("2  Save as");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("old.png already");
    chat.nvim.poll_screen("2  Replace it");
    assert_eq!(fs::read(&old).unwrap(), b"mine");
    let other = folder.join("other.png");
    save_as(&mut chat.nvim, &other);
    chat.nvim.choose(1);
    chat.nvim.poll("it under another name", |_| other.exists());

    save_as(&mut chat.nvim, &old);
    press_return_on(&mut chat, "640×480");
    chat.nvim.poll_screen("2  Save as");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("old.png already");
    chat.nvim.poll_screen("2  Replace it");
    chat.nvim.input("<CR>");
    assert_eq!(fs::read(&old).unwrap(), b"mine", "nothing was selected");
    chat.nvim.choose(2);
    chat.nvim.poll("it replaced", |_| fs::read(&old).unwrap() == PNG);

    // What stood there is another thing by the time it is chosen.
    press_return_on(&mut chat, "640×480");
    chat.nvim.poll_screen("2  Save as");
    let gone = json!({"sessionUpdate": "tool_call_update", "toolCallId": "a|b", "content": []});
    chat.update(gone);
    chat.nvim.poll("the card without it", |nvim| {
        !nvim.buffer_lines(TRANSCRIPT).concat().contains("640×480")
    });
    chat.nvim.choose(2);
    chat.nvim.poll_screen("This content is no longer available");
}

/// ACP 63.
/// Holds (Content): A resource is shown whole and highlighted, and runs nothing.
#[test]
fn a_resource_is_shown_whole_and_highlighted_and_runs_nothing() {
    let mut chat = with_stand_ins();
    let line = "local x = 1 -- 0123456789 0123456789 0123456789\n";
    let long = line.repeat(10_000) + "-- vim: set ft=evil:\nlast = true\n";
    says(&mut chat, &resource("file:///elsewhere/a.lua", &long));
    chat.nvim.poll_screen("… 9994 more lines · <CR> shows all");
    press_return_on(&mut chat, "9994 more lines");
    chat.nvim.poll_screen("Show the text");
    chat.nvim.choose(1);
    chat.nvim.poll_for("all of it", |nvim| {
        let lines = nvim.eval("vim.api.nvim_buf_line_count(0)");
        (lines == 10_002).then_some(())
    });
    assert_eq!(chat.nvim.eval("vim.fn.getline('$')"), "last = true");
    let highlighted =
        "return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil";
    assert_eq!(chat.nvim.lua(highlighted, json!([])), json!(true));
    assert_eq!(chat.nvim.eval("vim.bo.filetype"), "");
    assert_eq!(chat.nvim.eval("vim.bo.modifiable"), json!(false));
}

/// ACP 63.
/// Holds (Content): A link to a file opens at its line; any other link is confirmed first.
#[test]
fn a_link_leads_to_a_line_of_a_file_or_asks_before_it_leaves() {
    let mut chat = with_stand_ins();
    let file = chat.nvim.file("some words.txt", b"one\ntwo\nthree\n");
    let link = |uri: &str, name: &str| json!({"type": "resource_link", "uri": uri, "name": name});
    says(&mut chat, &link(&format!("{}#L3", uri(&file)), "to a file"));
    says(&mut chat, &link("file:///nowhere/at/all.txt", "to nothing"));
    let address = "https://good.org@evil.example/".to_owned() + &"path/".repeat(60) + "end";
    says(&mut chat, &link(&address, "to a page"));
    says(&mut chat, &link("javascript:alert(1)", "to a script"));

    // What still comes in takes the cursor with it.
    chat.nvim.poll_screen("to a script");
    press_return_on(&mut chat, "to a file");
    chat.nvim.poll("the line", |nvim| {
        nvim.eval("{ vim.fn.expand('%:t'), vim.fn.line('.') }") == json!(["some words.txt", 3])
    });
    press_return_on(&mut chat, "to nothing");
    chat.nvim.poll_screen("/nowhere/at/all.txt does not exist");
    press_return_on(&mut chat, "to a script");
    chat.nvim.poll_screen("Cannot open this content");

    press_return_on(&mut chat, "to a page");
    chat.nvim.poll_screen("Host: evil.example");
    let shown = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):gsub('%s', '')";
    let shown = chat.nvim.lua(shown, json!([]));
    assert!(shown.as_str().unwrap().contains(&address), "the whole URL: {shown}");
    assert!(opened(&mut chat.nvim).is_empty());
    chat.nvim.choose(1);
    press_return_on(&mut chat, "to a page");
    chat.nvim.poll_screen("Host: evil.example");
    chat.nvim.choose(3);
    assert_eq!(poll_opened(&mut chat.nvim), address);
}

/// ACP 63.
/// Holds (Content): Images are shown by the image plugin the user has.
#[test]
fn images_are_shown_by_the_plugin_the_user_has() {
    let mut chat = with_stand_ins();
    chat.nvim.lua(
        r#"
        package.loaded["snacks.image"] = { config = {}, supports_terminal = function() return true end }
        package.loaded["snacks.image.buf"] = { attach = function(buf, opts)
          Shown = { vim.api.nvim_buf_get_name(buf), opts.src }
        end }"#,
        json!([]),
    );
    says(&mut chat, &image());
    let show = |chat: &mut Chat| {
        chat.nvim.lua("Shown = nil", json!([]));
        press_return_on(chat, "640×480");
        chat.nvim.poll_screen("1  Show the image");
        chat.nvim.choose(1);
        let shown = chat
            .nvim
            .poll_for("an image", |nvim| Some(nvim.eval("Shown")).filter(|shown| !shown.is_null()));
        let name = shown[0].as_str().unwrap();
        assert!(name.starts_with("rat://image/") && name.ends_with("/cat.png"), "{name}");
        assert_eq!(fs::read(shown[1].as_str().unwrap()).unwrap(), PNG);
        chat.nvim.input("q");
    };
    show(&mut chat);
    chat.nvim.lua(
        r#"
        package.loaded["snacks.image"].supports_terminal = function() return false end
        package.loaded["image"] = { hijack_buffer = function(path, _, buf)
          Shown = { vim.api.nvim_buf_get_name(buf), path }
        end }"#,
        json!([]),
    );
    show(&mut chat);
}

/// ACP 63.
/// Holds (Content): Hostile names, types and sizes of content harm nothing.
#[test]
fn what_an_agent_sends_harms_nobody() {
    let mut chat = with_stand_ins();
    let name = "\u{1b}]0;x\u{7}\u{202e}gnp.exe\nname";
    says(&mut chat, &json!({"type": "resource_link", "uri": "x:y", "name": name}));
    chat.nvim.poll_screen("link · ");
    let line = "return vim.fn.getbufline('rat://fake/1', 1, '$')";
    let lines = chat.nvim.lua(line, json!([])).to_string();
    assert!(!lines.contains("\\u001b") && !lines.contains('\u{202e}'), "{lines}");
    // A program for the desktop in the dress of an image.
    let blob =
        json!({"uri": "file:///a.png", "mimeType": "image/png", "blob": "W0Rlc2t0b3AgRW50cnld"});
    says(&mut chat, &json!({"type": "resource", "resource": blob}));
    press_return_on(&mut chat, "15 B");
    chat.nvim.poll_screen("Save as");
    assert!(!chat.nvim.screen().contains("Open with another program"));
    chat.nvim.input("<Esc>");
    // A line of a megabyte costs a row.
    let call = |text: &str| {
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look", "content": content})
    };
    chat.update(call(&"x".repeat(1 << 20)));
    chat.nvim.poll_screen("… long lines are cut · <CR> shows all");
    assert!(opened(&mut chat.nvim).is_empty());
}

/// ACP 63.
#[test]
fn a_thought_stays_folded_with_what_stands_in_it() {
    let mut chat = with_stand_ins();
    let thinks = |chat: &mut Chat, content: &Json| {
        let update = json!({"sessionUpdate": "agent_thought_chunk", "content": content});
        chat.update(update);
    };
    thinks(&mut chat, &image());
    thinks(&mut chat, &resource("file:///elsewhere/a.lua", "one\ntwo\n"));
    thinks(&mut chat, &text("So that is it.\nYes."));
    says(&mut chat, &text("It is a cat."));
    chat.nvim.poll_screen("It is a cat.");
    let lines = chat.transcript();
    let row = |what: &str| lines.iter().position(|line| line.contains(what)).unwrap() + 1;
    let fold = r#"
        local row = ...
        return vim.api.nvim_win_call(vim.fn.bufwinid("rat://fake/1"), function()
          return { vim.fn.foldclosed(row), vim.fn.foldclosedend(row) }
        end)"#;
    let whole = chat.nvim.lua(fold, json!([row("640×480")]));
    assert_eq!(whole, json!([row("640×480") - 1, row("Yes.") + 1]), "{lines:?}");
    assert_eq!(chat.nvim.lua(fold, json!([row("Yes.")])), whole);
    assert_eq!(chat.nvim.lua(fold, json!([row("It is a cat.")])), json!([-1, -1]));
}

/// Holds (Content): Text that an agent marks as for the model is folded away and kept, also in the saved session; other marks of a text are shown.
#[test]
fn text_for_the_model_is_folded_and_kept() {
    let mut chat = Chat::start();
    chat.nvim.lua(
        "_G.told = {} require('rat').on('chunk', function(it) told[#told + 1] = it end)",
        json!([]),
    );
    chat.prompt("go");
    for (words, notes) in [
        ("Said to you.", Json::Null),
        ("Said to itself.", json!({"audience": ["assistant"], "priority": 0.2})),
        (" And more.", json!({"audience": ["assistant"], "priority": 0.2})),
        ("Said to both.", json!({"audience": ["assistant", "user"]})),
        ("Said of a file.", json!({"lastModified": "2026-11-27T10:00:00Z"})),
    ] {
        let content = json!({"type": "text", "text": words, "annotations": notes});
        chat.update(json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    }
    chat.end_turn("end_turn");
    for shown in
        ["For the model", "Said to both.", "changed 2026-11-27T10:00:00Z", "Said of a file."]
    {
        chat.nvim.poll_screen(shown);
    }
    assert!(!chat.nvim.screen().text().contains("itself"), "it is in a closed fold");
    let lines = chat.transcript().join("\n");
    assert!(lines.contains("for the model · priority 0.2\nSaid to itself. And more."), "{lines}");
    let marks = "return vim.iter(told):filter(function(it) return it.content end):map(function(it) return { it.text, it.content.audience, it.content.priority, it.content.last_modified } end):totable()";
    let told = chat.nvim.lua(marks, json!([])).to_string();
    assert!(told.contains(r#"["Said to itself.","assistant",0.2]"#), "{told}");
    chat.nvim.command("RatExport chat.md");
    let file = chat.path("chat.md");
    chat.nvim.poll("the export", |_| file.exists());
    let exported = fs::read_to_string(&file).unwrap();
    assert!(exported.contains("> Said to itself. And more."), "{exported}");
    chat.nvim.command("RatRestart");
    chat.agent.expect_start();
    chat.agent.handshake();
    let lines = chat.transcript().join("\n");
    assert!(lines.contains("Said to itself. And more."), "{lines}");
}
