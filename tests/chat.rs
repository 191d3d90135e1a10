//! The transcript in real Neovim: every kind of update is drawn or deliberately quiet, a reader is followed or left
//! alone, long things fold, and nothing an agent says is ever evaluated.

use crate::support::{Chat, Nvim, Options, PROMPT, Processes, TRANSCRIPT};
use serde_json::{Value as Json, json};

/// The row of the cursor and the first shown row of the transcript's window.
fn place(nvim: &mut Nvim) -> (u64, u64) {
    let code = "local win = vim.fn.bufwinid('rat://fake/1')
        return { vim.fn.line('.', win), vim.fn.line('w0', win) }";
    let place = nvim.lua(code, json!([]));
    (place[0].as_u64().unwrap(), place[1].as_u64().unwrap())
}

fn numbered(count: usize) -> String {
    let lines: Vec<_> = (1..=count).map(|n| format!("line {n}\n\n")).collect();
    lines.concat()
}

/// ACP 63, 65, 122.
/// Holds (Windows and views): Every kind of update is drawn or deliberately not.
#[test]
fn every_kind_of_update_is_drawn_or_deliberately_quiet() {
    let mut chat = Chat::in_turn();
    let content = |text: &str| json!({"type": "text", "text": text});
    let chunk = |kind: &str, content: Json| json!({"sessionUpdate": kind, "content": content});
    chat.update(chunk("user_message_chunk", content("go")));
    chat.update(chunk("agent_thought_chunk", content("A thought.")));
    chat.update(chunk("agent_message_chunk", content("A **message**.")));
    let image = json!({"type": "image", "mimeType": "image/png", "data": "aGVsbG8="});
    chat.update(chunk("agent_message_chunk", image));
    chat.update(chunk("agent_message_chunk", json!({"type": "hologram", "data": 1})));
    let step = json!({"content": "A step", "status": "pending", "priority": "low"});
    chat.update(json!({"sessionUpdate": "plan", "entries": [step]}));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "A call", "kind": "search"});
    chat.update(call);
    let done =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"});
    chat.update(done);
    chat.update(json!({"sessionUpdate": "brand_new", "anything": [1]}));
    chat.update(json!({"sessionUpdate": "brand_new", "anything": [2]}));
    for text in [
        "◦ Thinking",
        "A message.",
        "image · image/png · 5 B",
        "hologram",
        "○ A step",
        "✓ search A call",
        "Ignored an update of unknown type \"brand_new\"",
    ] {
        chat.nvim.poll_screen(text);
    }
    let lines = chat.transcript();
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!((count("go"), count("brand_new")), (1, 1), "{lines:#?}");

    let quiet = [
        json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "x", "description": ""}]}),
        json!({"sessionUpdate": "current_mode_update", "currentModeId": "code"}),
        json!({"sessionUpdate": "session_info_update", "title": "A title"}),
        json!({"sessionUpdate": "usage_update", "used": 30, "size": 200}),
        json!({"sessionUpdate": "config_option_update", "configOptions": []}),
    ];
    for update in quiet {
        chat.update(update);
    }
    chat.nvim.poll("the usage", |nvim| nvim.status()["usage"]["used"] == json!(30));
    chat.nvim.poll_screen("15%");
    assert_eq!(chat.transcript(), lines);
}

/// Holds (Windows and views): A reader at the end of the transcript follows it.
#[test]
fn a_reader_at_the_end_follows_also_while_typing_in_the_prompt() {
    let mut chat = Chat::in_turn();
    chat.nvim.enter(PROMPT);
    chat.nvim.input("ityping");
    chat.nvim.poll_screen("typing");
    for round in 1..=3 {
        chat.say(&numbered(60));
        chat.say(&format!("End of round {round}.\n\n"));
        chat.nvim.poll_screen(&format!("End of round {round}."));
    }
    chat.nvim.poll("insert mode still", |nvim| nvim.screen().mode() == "insert");
    assert_eq!(chat.draft(), ["typing"]);
}

/// Holds (Windows and views): A reader who has scrolled up is not moved.
#[test]
fn a_reader_who_scrolled_up_is_not_moved() {
    let mut chat = Chat::in_turn();
    chat.say(&numbered(100));
    chat.nvim.poll_screen("line 100");
    chat.go_to("line 50");
    chat.nvim.input("zt");
    chat.nvim.poll("line 50 at the top", |nvim| nvim.screen().lines()[1].ends_with("line 50"));
    let before = place(&mut chat.nvim);
    chat.say(&numbered(100));
    chat.say("The end.");
    chat.nvim.poll("the end", |nvim| {
        nvim.buffer_lines(TRANSCRIPT).last().is_some_and(|line| line == "The end.")
    });
    assert_eq!(place(&mut chat.nvim), before);
    // Nor from another window.
    chat.nvim.enter(PROMPT);
    chat.say(" Really.");
    chat.nvim.poll("more", |nvim| {
        nvim.buffer_lines(TRANSCRIPT).last().is_some_and(|line| line == "The end. Really.")
    });
    assert_eq!(place(&mut chat.nvim), before);
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.input("G");
    chat.say(&numbered(50));
    chat.nvim.poll_screen("line 50");
}

#[test]
fn thoughts_are_folded_also_when_they_come_while_the_user_types() {
    let mut chat = Chat::in_turn();
    chat.nvim.enter(PROMPT);
    chat.nvim.input("i");
    chat.nvim.poll("insert mode", |nvim| nvim.screen().mode() == "insert");
    chat.think("First.\nSecond.\n");
    chat.think("Third.\nFourth.");
    chat.say("I know.");
    chat.nvim.poll_screen("I know.");
    chat.nvim.poll_screen("◦ Thinking · 4 lines  First.");
    assert!(!chat.nvim.screen().contains("Third."));
    chat.nvim.input("<Esc>");
    chat.go_to("Third.");
    chat.nvim.input("<CR>");
    chat.nvim.poll_screen("Third.");
}

#[test]
fn long_output_is_folded_and_truncated_and_enter_shows_all_of_it() {
    let mut chat = Chat::in_turn();
    let output: Vec<_> = (1..=200).map(|n| format!("row {n}")).collect();
    let output = output.join("\n");
    let content = json!([{"type": "content", "content": {"type": "text", "text": output}}]);
    chat.update(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "List", "status": "completed",
        "content": content,
    }));
    chat.nvim.poll_screen("▸ 200 lines");
    let lines = chat.transcript();
    assert!(lines.iter().any(|line| line == "    … 160 more lines · <CR> shows all"), "{lines:#?}");
    assert!(lines.contains(&"    row 40".to_owned()));
    assert!(!lines.contains(&"    row 41".to_owned()));
    chat.go_to("160 more lines");
    chat.nvim.input("zv<CR>");
    chat.nvim.poll("all of it", |nvim| {
        let code = "return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
              return vim.api.nvim_buf_get_name(buf) == 'rat://fake/1/output/1'
            end)";
        nvim.lua(code, json!([])) == json!(true)
    });
    let all = chat.nvim.buffer_lines("rat://fake/1/output/1");
    assert!(all.contains(&"row 41".to_owned()) && all.contains(&"row 200".to_owned()));
}

/// ACP 86.
#[test]
fn a_location_opens_in_a_window_of_the_users() {
    for key in ["<CR>", "gf"] {
        let mut chat = Chat::in_turn();
        let file = chat.nvim.file("[a].txt", "one\ntwo\nthree\n");
        chat.nvim.file("a.txt", "the wrong one\n");
        let place = json!([{"path": file, "line": 3}]);
        chat.update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look", "locations": place,
        }));
        chat.nvim.poll_screen("[a].txt:3");
        chat.go_to("[a].txt:3");
        chat.nvim.input(key);
        let here = "return { vim.api.nvim_buf_get_name(0), vim.fn.line('.'), vim.fn.winnr() }";
        let wanted = json!([file, 3, 1]);
        chat.nvim.poll("the file", |nvim| nvim.lua(here, json!([])) == wanted);
    }
}

/// Holds (Hostile agents): Nothing an agent says is evaluated.
#[test]
fn nothing_an_agent_says_is_evaluated() {
    let evil = "%{execute('let g:owned = 1')}%#Error# %@x@";
    let info = json!({"name": "fake", "title": format!("Evil {evil}"), "version": "1.0.0"});
    let mut chat = Chat::builder().initialized(json!({"agentInfo": info})).in_turn();
    chat.say("\u{1b}]0;owned\u{7}\u{1b}[2J# vim: set shiftwidth=3 :\n\nvim: set shiftwidth=3 :");
    chat.update(json!({"sessionUpdate": "session_info_update", "title": evil}));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": evil, "status": "in_progress"});
    chat.update(call);
    chat.nvim.lua("vim.o.statusline = \"%{%v:lua.require'rat'.statusline()%}\"", json!([]));
    chat.nvim.poll("the call", |nvim| {
        nvim.status()["detail"].as_str().is_some_and(|detail| detail.contains("%{execute"))
    });
    chat.nvim.command("redraw! | redrawstatus!");
    chat.nvim.poll_screen("Evil %{execute(");
    let owned = "return { vim.g.owned or 0, vim.bo[vim.fn.bufnr('rat://fake/1')].shiftwidth }";
    assert_eq!(chat.nvim.lua(owned, json!([])), json!([0, 8]));
    let told = chat.nvim.screen().text();
    assert!(!told.contains('\u{1b}') && !told.contains('\u{7}'));
}

#[test]
fn a_yanked_code_block_is_the_code() {
    let mut chat = Chat::in_turn();
    let code = "def f(x):\n\treturn {  \"a\": x }\n\n    # four spaces ";
    chat.say(&format!("Try this:\n\n```python\n{code}\n```\n\nand tell me."));
    chat.nvim.poll_screen("and tell me.");
    chat.go_to("```python");
    chat.nvim.input("jV/^```$/-1<CR>y");
    let wanted = format!("{code}\n");
    chat.nvim.poll("the code", |nvim| {
        nvim.lua("return vim.fn.getreg('\"')", json!([])) == json!(wanted)
    });
}

#[test]
fn a_draft_is_no_unsaved_file() {
    for command in ["wa", "wqa", "qa"] {
        let mut chat = Chat::in_turn();
        let file = chat.nvim.file("file.txt", "one\n");
        chat.nvim.command(&format!("wincmd t | edit {}", file.display()));
        chat.nvim.enter(PROMPT);
        chat.nvim.input("ia draft<Esc>");
        chat.nvim.poll_screen("a draft");
        chat.nvim.command("wincmd t");
        if command == "wa" {
            chat.nvim.lua("vim.fn.setline(1, 'two')", json!([]));
            chat.nvim.command("wa");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
            assert_eq!(chat.draft(), ["a draft"]);
            continue;
        }
        chat.nvim.command("RatStop");
        chat.nvim.poll_state("stopped");
        let pid = chat.nvim.pid();
        let _ = chat.nvim.try_call("nvim_command", json!([command]));
        assert!(Processes::is_gone(pid), ":{command} did not leave Neovim");
    }
}

#[test]
fn a_chat_survives_edit_and_a_session_file() {
    let mut chat = Chat::in_turn();
    chat.say("What was **said**.");
    chat.nvim.poll_screen("What was said.");
    let before = chat.transcript();
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.command("setlocal nowinfixbuf | edit");
    chat.nvim.poll("the transcript again", |nvim| nvim.buffer_lines(TRANSCRIPT) == before);
    chat.nvim.poll_screen("What was said.");
    chat.say(" And more.");
    chat.nvim.poll_screen("What was said. And more.");

    let session = chat.nvim.folder().path().join("Session.vim");
    chat.nvim.command(&format!("mksession {}", session.display()));
    let args = vec!["-S".to_owned(), session.display().to_string()];
    let mut later = Nvim::start(Options { args, ..Options::wide() });
    // What Neovim says of each buffer of a session may need a key.
    later.poll("the chat of before", |nvim| {
        if nvim.mode_is_blocked() {
            nvim.input("<CR>");
        }
        nvim.screen().contains("Not connected.")
    });
    let options = "local buf = vim.fn.bufnr('rat://fake/1')
        return { vim.bo[buf].buftype, vim.bo[buf].modifiable, vim.bo[buf].filetype }";
    assert_eq!(later.lua(options, json!([])), json!(["nofile", false, "rat"]));
}
