//! What is drawn comes whole and once, whatever Neovim or the user's configuration does meanwhile.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options};

const TRANSCRIPT: &str = "rat://fake/1";

/// An <expr> mapping that waits for a key locks all text (`:help textlock`).
const LOCK: &str =
    "vim.keymap.set('n', 'zz', function() vim.fn.getcharstr() return '' end, { expr = true })";

const IS_LOCKED: &str = "return require('rat.busy').is_text_locked()";

fn neovim() -> Nvim {
    Nvim::start(Options { columns: 120, lines: 40, ..Options::default() })
}

fn in_turn(nvim: &mut Nvim) -> (Agent, String) {
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("go");
    agent.expect_request("session/prompt");
    nvim.poll_state("running");
    (agent, session)
}

fn lock(nvim: &mut Nvim) {
    nvim.lua(LOCK, json!([]));
    nvim.input("zz");
    nvim.poll("a text lock", |nvim| nvim.lua(IS_LOCKED, json!([])) == json!(true));
}

/// Streams numbered lines in several pieces.
fn stream(agent: &mut Agent, session: &str, numbers: std::ops::Range<usize>) {
    for number in numbers {
        agent.say(session, &format!("line {number}\n\n"));
    }
}

/// Waits until the transcript ends with all lines up to `count`, and each is there once, in order.
fn poll_lines(nvim: &mut Nvim, count: usize) {
    let wanted: Vec<_> = (0..count).map(|number| format!("line {number}")).collect();
    let mut seen = Vec::new();
    nvim.poll("every line once", |nvim| {
        seen = nvim.buffer_lines(TRANSCRIPT);
        seen.retain(|line| line.starts_with("line "));
        seen.len() >= wanted.len()
    });
    assert_eq!(seen, wanted);
}

fn window_of(nvim: &mut Nvim, buffer: &str) -> bool {
    nvim.lua("return vim.fn.bufwinid(...) > 0", json!([buffer])) == json!(true)
}

#[test]
fn what_comes_while_text_is_locked_is_drawn_afterwards() {
    let mut nvim = neovim();
    nvim.record(&["RatPermission"]);
    let (mut agent, session) = in_turn(&mut nvim);
    stream(&mut agent, &session, 0..50);
    poll_lines(&mut nvim, 50);
    lock(&mut nvim);
    let before = nvim.buffer_lines(TRANSCRIPT);
    stream(&mut agent, &session, 50..600);
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
    let call = json!({"toolCallId": "t", "title": "A call"});
    let params = json!({"sessionId": session, "toolCall": call, "options": options});
    let pending = agent.ask("session/request_permission", params);
    nvim.poll("a frame that has to wait", |nvim| {
        nvim.lua("return require('rat.ui').is_waiting()", json!([])) == json!(true)
    });
    assert_eq!(nvim.buffer_lines(TRANSCRIPT), before);
    assert_eq!(nvim.lua(IS_LOCKED, json!([])), json!(true));
    nvim.input("x");
    poll_lines(&mut nvim, 600);
    nvim.poll_events("RatPermission", 1);
    nvim.command("RatAllow");
    agent.expect_answer(pending).unwrap();
    assert_eq!(nvim.events("RatPermission").len(), 1);
}

#[test]
fn windows_open_once_nothing_is_locked_any_more() {
    let mut nvim = neovim();
    let mut agent = nvim.listen();
    nvim.setup(json!({"agents": {"fake": agent.config()}, "default_agent": "fake"}));
    lock(&mut nvim);
    nvim.lua("require('rat').start({ agent = 'fake' })", json!([]));
    agent.expect_start();
    agent.handshake();
    nvim.poll("a frame that has to wait", |nvim| {
        nvim.lua("return require('rat.ui').is_waiting()", json!([])) == json!(true)
    });
    nvim.input("x");
    nvim.poll_state("ready");
    for buffer in [TRANSCRIPT, "rat://fake/1/prompt"] {
        nvim.poll(buffer, |nvim| window_of(nvim, buffer));
    }
    lock(&mut nvim);
    nvim.lua("require('rat.rpc').notify('show', { what = 'info', chat = 1 })", json!([]));
    nvim.poll("a frame that has to wait", |nvim| {
        nvim.lua("return require('rat.ui').is_waiting()", json!([])) == json!(true)
    });
    nvim.input("x");
    nvim.poll_screen("can do  ");
}

#[test]
fn the_command_line_window_a_prompt_and_an_operator_lose_nothing() {
    let mut nvim = neovim();
    let (mut agent, session) = in_turn(&mut nvim);
    nvim.lua("vim.fn.histadd(':', 'echo')", json!([]));
    nvim.input("q:");
    nvim.poll("its window", |nvim| {
        nvim.lua("return vim.fn.getcmdwintype()", json!([])) == json!(":")
    });
    stream(&mut agent, &session, 0..100);
    nvim.lua("require('rat.rpc').notify('show', { what = 'info', chat = 1 })", json!([]));
    poll_lines(&mut nvim, 100);
    assert!(!nvim.screen().contains("can do  "));
    nvim.input(":quit<CR>");
    nvim.poll_screen("can do  ");
    nvim.input("q");

    nvim.input(":echo \"a\\nb\"<CR>");
    nvim.poll("a prompt", Nvim::mode_is_blocked);
    stream(&mut agent, &session, 100..200);
    nvim.input("<CR>");
    poll_lines(&mut nvim, 200);

    nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([TRANSCRIPT]));
    nvim.input("y");
    nvim.poll("an operator", |nvim| nvim.call("nvim_get_mode", json!([]))["mode"] == json!("no"));
    stream(&mut agent, &session, 200..300);
    poll_lines(&mut nvim, 300);
    nvim.input("y");

    // What a mapping runs with `:normal` within an autocommand may process what comes, too.
    let code = "vim.keymap.set('n', 'zw', function() vim.wait(200) return '' end, { expr = true })
        vim.api.nvim_create_autocmd('User', { pattern = 'Again', command = 'normal zw' })";
    nvim.lua(code, json!([]));
    nvim.input(":doautocmd User Again<CR>");
    stream(&mut agent, &session, 300..400);
    poll_lines(&mut nvim, 400);
}

#[test]
fn autocommands_that_fail_keep_nothing_from_the_screen() {
    // Of the others Neovim shows the message and goes on.
    for event in ["BufEnter", "WinEnter", "BufWinEnter"] {
        let mut nvim = neovim();
        let fail =
            "vim.api.nvim_create_autocmd(..., { callback = function() error('theirs') end })";
        nvim.lua(fail, json!([event]));
        let (mut agent, session) = in_turn(&mut nvim);
        stream(&mut agent, &session, 0..100);
        let think = json!({"type": "text", "text": "A thought."});
        agent.update(&session, json!({"sessionUpdate": "agent_thought_chunk", "content": think}));
        poll_lines(&mut nvim, 100);
        for buffer in [TRANSCRIPT, "rat://fake/1/prompt"] {
            assert!(window_of(&mut nvim, buffer), "{event}: no window for {buffer}");
        }
        let shown = "return require('rat.window').visible() ~= nil";
        assert_eq!(nvim.lua(shown, json!([])), json!(true), "{event}");
        let modifiable = "return vim.bo[vim.fn.bufnr('rat://fake/1')].modifiable";
        assert_eq!(nvim.lua(modifiable, json!([])), json!(false), "{event}");
    }
}

/// Lets one call of an API function that draws fail once it has done its work.
const FAIL_ONCE: &str = "
    local name, count = ...
    local original = vim.api[name]
    vim.api[name] = function(buf, ...)
      local results = { original(buf, ...) }
      if vim.bo[buf].filetype:match('^rat') and count > 0 then
        count = count - 1
        error('theirs')
      end
      return unpack(results)
    end";

#[test]
fn a_view_that_could_not_be_drawn_is_drawn_whole() {
    for name in ["nvim_buf_set_lines", "nvim_buf_set_text"] {
        let mut nvim = neovim();
        let (mut agent, session) = in_turn(&mut nvim);
        stream(&mut agent, &session, 0..200);
        poll_lines(&mut nvim, 200);
        nvim.lua(FAIL_ONCE, json!([name, 3]));
        stream(&mut agent, &session, 200..300);
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "A call",
            "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "done"}}]});
        agent.update(&session, call);
        agent.say(&session, "The end.");
        nvim.poll("all of it", |nvim| {
            nvim.buffer_lines(TRANSCRIPT).last() == Some(&"The end.".to_owned())
        });
        poll_lines(&mut nvim, 300);
        let cards = nvim.buffer_lines(TRANSCRIPT);
        assert_eq!(cards.iter().filter(|line| line.contains("A call")).count(), 1, "{name}");
    }
}

#[test]
fn a_reader_stays_in_place_while_the_transcript_is_drawn_again() {
    let mut nvim = neovim();
    let (mut agent, session) = in_turn(&mut nvim);
    stream(&mut agent, &session, 0..300);
    poll_lines(&mut nvim, 300);
    let place = "local win = vim.fn.bufwinid('rat://fake/1')
        return { vim.fn.line('.', win), vim.fn.line('w0', win) }";
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([TRANSCRIPT]));
    nvim.input("100Gzt");
    nvim.poll("line 100", |nvim| nvim.lua(place, json!([]))[0] == json!(100));
    let before = nvim.lua(place, json!([]));
    nvim.lua(FAIL_ONCE, json!(["nvim_buf_set_text", 1]));
    stream(&mut agent, &session, 300..400);
    poll_lines(&mut nvim, 400);
    assert_eq!(nvim.lua(place, json!([])), before);
}

fn values(json: &Json) -> Vec<String> {
    json.as_array().into_iter().flatten().map(ToString::to_string).collect()
}

#[test]
fn a_view_whose_buffer_was_wiped_out_is_drawn_again() {
    for command in ["bwipeout!", "bdelete!", "bunload!"] {
        let mut nvim = neovim();
        let (mut agent, session) = in_turn(&mut nvim);
        let step = json!({"content": "A step", "status": "pending", "priority": "low"});
        agent.update(&session, json!({"sessionUpdate": "plan", "entries": [step]}));
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "A call"});
        agent.update(&session, call);
        stream(&mut agent, &session, 0..20);
        poll_lines(&mut nvim, 20);
        nvim.command("RatPlan");
        nvim.command("RatTools");
        nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('rat://fake/1/prompt'), 0, -1, true, { 'a draft' })", json!([]));
        let names =
            ["rat://fake/1", "rat://fake/1/prompt", "rat://fake/1/plan", "rat://fake/1/tools"];
        nvim.poll("all views", |nvim| names.iter().all(|name| !nvim.buffer_lines(name).is_empty()));
        let before = names.map(|name| nvim.buffer_lines(name));
        assert!(before[2].concat().contains("A step") && before[3].concat().contains("A call"));
        for name in names {
            nvim.command(&format!("execute '{command}' bufnr('^{name}$')"));
        }
        stream(&mut agent, &session, 20..40);
        nvim.poll("no window", |nvim| !window_of(nvim, TRANSCRIPT));
        for shown in ["RatToggle", "RatPlan", "RatTools"] {
            nvim.command(shown);
        }
        poll_lines(&mut nvim, 40);
        for (name, before) in names.iter().zip(&before).skip(1) {
            nvim.poll(name, |nvim| nvim.buffer_lines(name) == *before);
        }
        let keys = "local names = ... return vim.iter(names):map(function(name)
            return #vim.api.nvim_buf_get_keymap(vim.fn.bufnr('^' .. name .. '$'), 'n') > 3
        end):totable()";
        assert_eq!(values(&nvim.lua(keys, json!([names]))), ["true"; 4], "{command}");
        // What comes now is drawn once.
        stream(&mut agent, &session, 40..60);
        poll_lines(&mut nvim, 60);
    }
}

#[test]
fn wiping_out_all_buffers_loses_nothing() {
    for command in ["%bwipeout!", "%bdelete!", "edit", "edit!"] {
        let mut nvim = neovim();
        let (mut agent, session) = in_turn(&mut nvim);
        stream(&mut agent, &session, 0..20);
        poll_lines(&mut nvim, 20);
        nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('rat://fake/1/prompt'), 0, -1, true, { 'a draft' })", json!([]));
        for name in [TRANSCRIPT, "rat://fake/1/prompt"] {
            if command.starts_with("edit") {
                nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([name]));
                nvim.command("setlocal nowinfixbuf");
            }
            nvim.command(command);
        }
        if !command.starts_with("edit") {
            nvim.command("RatToggle");
        }
        poll_lines(&mut nvim, 20);
        assert_eq!(nvim.buffer_lines("rat://fake/1/prompt"), ["a draft"], "{command}");
        stream(&mut agent, &session, 20..40);
        poll_lines(&mut nvim, 40);
    }
}
