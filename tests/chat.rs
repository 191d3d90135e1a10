//! The transcript in real Neovim: every kind of update is drawn or deliberately quiet, a reader is followed or left
//! alone, long things fold, and nothing an agent says is ever evaluated.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options};

struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

impl Talk {
    fn start() -> Self {
        Self::start_as("Fake agent")
    }

    fn start_as(title: &str) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        nvim.record(&["RatTurnEnd"]);
        let mut agent = nvim.start_agent();
        let info = json!({"name": "fake", "title": title, "version": "1.0.0"});
        let session = agent.handshake_with(json!({"agentInfo": info}), json!({}));
        nvim.poll_state("ready");
        nvim.send("go");
        agent.expect_request("session/prompt");
        nvim.poll_state("running");
        Self { nvim, agent, session }
    }

    fn update(&mut self, update: Json) {
        self.agent.update(&self.session, update);
    }

    fn say(&mut self, text: &str) {
        self.agent.say(&self.session, text);
    }

    fn think(&mut self, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.update(json!({"sessionUpdate": "agent_thought_chunk", "content": content}));
    }

    fn lines(&mut self) -> Vec<String> {
        self.nvim.buffer_lines("rat://fake/1")
    }

    fn enter(&mut self, name: &str) {
        self.nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([name]));
    }

    /// The last row and the first shown row of the transcript's window.
    fn place(&mut self) -> (u64, u64) {
        let code = "local win = vim.fn.bufwinid('rat://fake/1')
            return { vim.fn.line('.', win), vim.fn.line('w0', win) }";
        let place = self.nvim.lua(code, json!([]));
        (place[0].as_u64().unwrap(), place[1].as_u64().unwrap())
    }

    fn go_to(&mut self, text: &str) {
        self.enter("rat://fake/1");
        let found = self.nvim.lua("return vim.fn.search('\\\\V' .. ..., 'w')", json!([text]));
        assert_ne!(found, json!(0), "{text} is not in the transcript");
    }
}

fn numbered(count: usize) -> String {
    let lines: Vec<_> = (1..=count).map(|n| format!("line {n}\n\n")).collect();
    lines.concat()
}

/// ACP 63, 65, 122.
#[test]
fn every_kind_of_update_is_drawn_or_deliberately_quiet() {
    let mut talk = Talk::start();
    let content = |text: &str| json!({"type": "text", "text": text});
    let chunk = |kind: &str, content: Json| json!({"sessionUpdate": kind, "content": content});
    talk.update(chunk("user_message_chunk", content("go")));
    talk.update(chunk("agent_thought_chunk", content("A thought.")));
    talk.update(chunk("agent_message_chunk", content("A **message**.")));
    let image = json!({"type": "image", "mimeType": "image/png", "data": "aGVsbG8="});
    talk.update(chunk("agent_message_chunk", image));
    talk.update(chunk("agent_message_chunk", json!({"type": "hologram", "data": 1})));
    let step = json!({"content": "A step", "status": "pending", "priority": "low"});
    talk.update(json!({"sessionUpdate": "plan", "entries": [step]}));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "A call", "kind": "search"});
    talk.update(call);
    let done =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"});
    talk.update(done);
    talk.update(json!({"sessionUpdate": "brand_new", "anything": [1]}));
    talk.update(json!({"sessionUpdate": "brand_new", "anything": [2]}));
    for text in [
        "◦ Thinking",
        "A message.",
        "image · image/png · 5 B",
        "hologram",
        "○ A step",
        "✓ search A call",
        "an update of the unknown kind \"brand_new\"",
    ] {
        talk.nvim.poll_screen(text);
    }
    let lines = talk.lines();
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
        talk.update(update);
    }
    talk.nvim.poll("the usage", |nvim| nvim.status()["usage"]["used"] == json!(30));
    talk.nvim.poll_screen("15%");
    assert_eq!(talk.lines(), lines);
}

#[test]
fn a_reader_at_the_end_follows_also_while_typing_in_the_prompt() {
    let mut talk = Talk::start();
    talk.enter("rat://fake/1/prompt");
    talk.nvim.input("ityping");
    talk.nvim.poll_screen("typing");
    for round in 1..=3 {
        talk.say(&numbered(60));
        talk.say(&format!("End of round {round}.\n\n"));
        talk.nvim.poll_screen(&format!("End of round {round}."));
    }
    talk.nvim.poll("insert mode still", |nvim| nvim.screen().mode() == "insert");
    assert_eq!(talk.nvim.buffer_lines("rat://fake/1/prompt"), ["typing"]);
}

#[test]
fn a_reader_who_scrolled_up_is_not_moved() {
    let mut talk = Talk::start();
    talk.say(&numbered(100));
    talk.nvim.poll_screen("line 100");
    talk.go_to("line 50");
    talk.nvim.input("zt");
    talk.nvim.poll("line 50 at the top", |nvim| nvim.screen().lines()[1].ends_with("line 50"));
    let before = talk.place();
    talk.say(&numbered(100));
    talk.say("The end.");
    talk.nvim.poll("the end", |nvim| {
        nvim.buffer_lines("rat://fake/1").last().is_some_and(|line| line == "The end.")
    });
    assert_eq!(talk.place(), before);
    // Nor from another window.
    talk.enter("rat://fake/1/prompt");
    talk.say(" Really.");
    talk.nvim.poll("more", |nvim| {
        nvim.buffer_lines("rat://fake/1").last().is_some_and(|line| line == "The end. Really.")
    });
    assert_eq!(talk.place(), before);
    talk.enter("rat://fake/1");
    talk.nvim.input("G");
    talk.say(&numbered(50));
    talk.nvim.poll_screen("line 50");
}

#[test]
fn thoughts_are_folded_also_when_they_come_while_the_user_types() {
    let mut talk = Talk::start();
    talk.enter("rat://fake/1/prompt");
    talk.nvim.input("i");
    talk.nvim.poll("insert mode", |nvim| nvim.screen().mode() == "insert");
    talk.think("First.\nSecond.\n");
    talk.think("Third.\nFourth.");
    talk.say("I know.");
    talk.nvim.poll_screen("I know.");
    talk.nvim.poll_screen("◦ Thinking · 4 lines  First.");
    assert!(!talk.nvim.screen().contains("Third."));
    talk.nvim.input("<Esc>");
    talk.go_to("Third.");
    talk.nvim.input("<CR>");
    talk.nvim.poll_screen("Third.");
}

#[test]
fn long_output_is_folded_and_truncated_and_enter_shows_all_of_it() {
    let mut talk = Talk::start();
    let output: Vec<_> = (1..=200).map(|n| format!("row {n}")).collect();
    let output = output.join("\n");
    let content = json!([{"type": "content", "content": {"type": "text", "text": output}}]);
    talk.update(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "List", "status": "completed",
        "content": content,
    }));
    talk.nvim.poll_screen("▸ 41 lines");
    let lines = talk.lines();
    assert!(lines.iter().any(|line| line == "… 160 more lines · <CR> shows all"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line == "row 41"));
    talk.go_to("160 more lines");
    talk.nvim.input("zv<CR>");
    talk.nvim.poll("all of it", |nvim| {
        let code = "return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
              return vim.api.nvim_buf_get_name(buf) == 'rat://fake/1/output/1'
            end)";
        nvim.lua(code, json!([])) == json!(true)
    });
    let all = talk.nvim.buffer_lines("rat://fake/1/output/1");
    assert!(all.contains(&"row 41".to_owned()) && all.contains(&"row 200".to_owned()));
}

/// ACP 86.
#[test]
fn a_location_opens_in_a_window_of_the_users() {
    for key in ["<CR>", "gf"] {
        let mut talk = Talk::start();
        let file = talk.nvim.folder().file("project/[a].txt", "one\ntwo\nthree\n");
        talk.nvim.folder().file("project/a.txt", "the wrong one\n");
        let place = json!([{"path": file, "line": 3}]);
        talk.update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look", "locations": place,
        }));
        talk.nvim.poll_screen("[a].txt:3");
        talk.go_to("[a].txt:3");
        talk.nvim.input(key);
        let here = "return { vim.api.nvim_buf_get_name(0), vim.fn.line('.'), vim.fn.winnr() }";
        let wanted = json!([file, 3, 1]);
        talk.nvim.poll("the file", |nvim| nvim.lua(here, json!([])) == wanted);
    }
}

#[test]
fn nothing_an_agent_says_is_evaluated() {
    let evil = "%{execute('let g:owned = 1')}%#Error# %@x@";
    let mut talk = Talk::start_as(&format!("Evil {evil}"));
    talk.say("\u{1b}]0;owned\u{7}\u{1b}[2J# vim: set shiftwidth=3 :\n\nvim: set shiftwidth=3 :");
    talk.update(json!({"sessionUpdate": "session_info_update", "title": evil}));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": evil, "status": "in_progress"});
    talk.update(call);
    talk.nvim.lua("vim.o.statusline = \"%{%v:lua.require'rat'.statusline()%}\"", json!([]));
    talk.nvim.poll("the call", |nvim| {
        nvim.status()["detail"].as_str().is_some_and(|detail| detail.contains("%{execute"))
    });
    talk.nvim.command("redraw! | redrawstatus!");
    talk.nvim.poll_screen("Evil %{execute(");
    let owned = "return { vim.g.owned or 0, vim.bo[vim.fn.bufnr('rat://fake/1')].shiftwidth }";
    assert_eq!(talk.nvim.lua(owned, json!([])), json!([0, 8]));
    let told = talk.nvim.screen().text();
    assert!(!told.contains('\u{1b}') && !told.contains('\u{7}'));
}

#[test]
fn a_yanked_code_block_is_the_code() {
    let mut talk = Talk::start();
    let code = "def f(x):\n\treturn {  \"a\": x }\n\n    # four spaces ";
    talk.say(&format!("Try this:\n\n```python\n{code}\n```\n\nand tell me."));
    talk.nvim.poll_screen("and tell me.");
    talk.go_to("```python");
    talk.nvim.input("jV/^```$/-1<CR>y");
    let wanted = format!("{code}\n");
    talk.nvim.poll("the code", |nvim| {
        nvim.lua("return vim.fn.getreg('\"')", json!([])) == json!(wanted)
    });
}

#[test]
fn a_draft_is_no_unsaved_file() {
    for command in ["wa", "wqa", "qa"] {
        let mut talk = Talk::start();
        let file = talk.nvim.folder().file("project/file.txt", "one\n");
        talk.nvim.command(&format!("wincmd t | edit {}", file.display()));
        talk.enter("rat://fake/1/prompt");
        talk.nvim.input("ia draft<Esc>");
        talk.nvim.poll_screen("a draft");
        talk.nvim.command("wincmd t");
        if command == "wa" {
            talk.nvim.lua("vim.fn.setline(1, 'two')", json!([]));
            talk.nvim.command("wa");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
            assert_eq!(talk.nvim.buffer_lines("rat://fake/1/prompt"), ["a draft"]);
            continue;
        }
        talk.nvim.command("RatStop");
        talk.nvim.poll_state("stopped");
        let pid = talk.nvim.pid();
        let _ = talk.nvim.try_call("nvim_command", json!([command]));
        assert!(support::Processes::is_gone(pid), ":{command} did not leave Neovim");
    }
}

#[test]
fn a_chat_survives_edit_and_a_session_file() {
    let mut talk = Talk::start();
    talk.say("What was **said**.");
    talk.nvim.poll_screen("What was said.");
    let before = talk.lines();
    talk.enter("rat://fake/1");
    talk.nvim.command("setlocal nowinfixbuf | edit");
    talk.nvim.poll("the transcript again", |nvim| nvim.buffer_lines("rat://fake/1") == before);
    talk.nvim.poll_screen("What was said.");
    talk.say(" And more.");
    talk.nvim.poll_screen("What was said. And more.");

    let session = talk.nvim.folder().path().join("Session.vim");
    talk.nvim.command(&format!("mksession {}", session.display()));
    let mut later = Nvim::start(Options {
        columns: 120,
        lines: 40,
        args: vec!["-S".to_owned(), session.display().to_string()],
        ..Options::default()
    });
    // What Neovim says of each buffer of a session may need a key.
    later.poll("the chat of before", |nvim| {
        if nvim.mode_is_blocked() {
            nvim.input("<CR>");
        }
        nvim.screen().contains("This chat ended.")
    });
    let options = "local buf = vim.fn.bufnr('rat://fake/1')
        return { vim.bo[buf].buftype, vim.bo[buf].modifiable, vim.bo[buf].filetype }";
    assert_eq!(later.lua(options, json!([])), json!(["nofile", false, "rat"]));
}
