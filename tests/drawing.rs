//! What is drawn comes whole and once, whatever Neovim or the user's configuration does meanwhile.

use crate::support::{Chat, Nvim, PROMPT, TRANSCRIPT};
use serde_json::{Value as Json, json};
use std::ops::Range;

/// An <expr> mapping that waits for a key locks all text (`:help textlock`).
const LOCK: &str =
    "vim.keymap.set('n', 'zz', function() vim.fn.getcharstr() return '' end, { expr = true })";

const IS_LOCKED: &str = "return require('rat.document.busy').is_text_locked()";

fn lock(nvim: &mut Nvim) {
    nvim.lua(LOCK, json!([]));
    nvim.input("zz");
    nvim.poll("a text lock", |nvim| nvim.lua(IS_LOCKED, json!([])) == json!(true));
}

/// Streams numbered lines in several pieces.
fn stream(chat: &mut Chat, numbers: Range<usize>) {
    for number in numbers {
        chat.say(&format!("line {number}\n\n"));
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

/// Holds (Windows and views): What arrives while text is locked is drawn afterwards, in order and once.
#[test]
fn what_comes_while_text_is_locked_is_drawn_afterwards() {
    let mut chat = Chat::in_turn();
    stream(&mut chat, 0..50);
    poll_lines(&mut chat.nvim, 50);
    lock(&mut chat.nvim);
    let before = chat.transcript();
    stream(&mut chat, 50..600);
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
    let call = json!({"toolCallId": "t", "title": "A call"});
    let params = json!({"toolCall": call, "options": options});
    let pending = chat.ask("session/request_permission", params);
    chat.nvim.poll("a frame that has to wait", |nvim| {
        nvim.eval("require('rat.rpc.inbox').is_waiting()") == json!(true)
    });
    assert_eq!(chat.transcript(), before);
    assert_eq!(chat.nvim.lua(IS_LOCKED, json!([])), json!(true));
    chat.nvim.input("x");
    poll_lines(&mut chat.nvim, 600);
    chat.nvim.poll_events("RatPermission", 1);
    chat.nvim.command("RatAllow");
    chat.answer(pending);
    assert_eq!(chat.nvim.events("RatPermission").len(), 1);
}

/// Holds (Windows and views): Windows open as soon as text is no longer locked.
#[test]
fn windows_open_once_nothing_is_locked_any_more() {
    let (mut nvim, mut agent) = Chat::builder().configure();
    lock(&mut nvim);
    nvim.lua("require('rat').start({ agent = 'fake' })", json!([]));
    agent.expect_start();
    agent.handshake();
    nvim.poll("a frame that has to wait", |nvim| {
        nvim.eval("require('rat.rpc.inbox').is_waiting()") == json!(true)
    });
    nvim.input("x");
    nvim.poll_state("ready");
    for buffer in [TRANSCRIPT, PROMPT] {
        nvim.poll(buffer, |nvim| window_of(nvim, buffer));
    }
    lock(&mut nvim);
    nvim.lua("require('rat.rpc').notify('show', { chat = 1 })", json!([]));
    nvim.poll("a frame that has to wait", |nvim| {
        nvim.eval("require('rat.rpc.inbox').is_waiting()") == json!(true)
    });
    nvim.input("x");
    nvim.poll_screen("capabilities  ");
}

/// Holds (Windows and views): Nothing is lost that arrives during the command-line window, a prompt or a pending operator.
#[test]
fn the_command_line_window_a_prompt_and_an_operator_lose_nothing() {
    let mut chat = Chat::in_turn();
    chat.nvim.lua("vim.fn.histadd(':', 'echo')", json!([]));
    chat.nvim.input("q:");
    chat.nvim.poll("its window", |nvim| nvim.eval("vim.fn.getcmdwintype()") == json!(":"));
    stream(&mut chat, 0..100);
    chat.nvim.lua("require('rat.rpc').notify('show', { chat = 1 })", json!([]));
    poll_lines(&mut chat.nvim, 100);
    assert!(!chat.nvim.screen().contains("capabilities  "));
    chat.nvim.input(":quit<CR>");
    chat.nvim.poll_screen("capabilities  ");
    chat.nvim.input("q");

    chat.nvim.input(":echo \"a\\nb\"<CR>");
    chat.nvim.poll("a prompt", Nvim::mode_is_blocked);
    stream(&mut chat, 100..200);
    chat.nvim.input("<CR>");
    poll_lines(&mut chat.nvim, 200);

    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.input("y");
    chat.nvim
        .poll("an operator", |nvim| nvim.call("nvim_get_mode", json!([]))["mode"] == json!("no"));
    stream(&mut chat, 200..300);
    poll_lines(&mut chat.nvim, 300);
    chat.nvim.input("y");

    // What a mapping runs with `:normal` within an autocommand may process what comes, too.
    let code = "vim.keymap.set('n', 'zw', function() vim.wait(200) return '' end, { expr = true })
        vim.api.nvim_create_autocmd('User', { pattern = 'Again', command = 'normal zw' })";
    chat.nvim.lua(code, json!([]));
    chat.nvim.input(":doautocmd User Again<CR>");
    stream(&mut chat, 300..400);
    poll_lines(&mut chat.nvim, 400);
}

/// Holds (Windows and views): Autocommands that fail keep nothing from the screen.
#[test]
fn autocommands_that_fail_keep_nothing_from_the_screen() {
    // Of the others Neovim shows the message and goes on.
    for event in ["BufEnter", "WinEnter", "BufWinEnter"] {
        let mut nvim = Nvim::wide();
        let fail =
            "vim.api.nvim_create_autocmd(..., { callback = function() error('theirs') end })";
        nvim.lua(fail, json!([event]));
        let mut chat = Chat::builder().neovim(nvim).in_turn();
        stream(&mut chat, 0..100);
        chat.think("A thought.");
        poll_lines(&mut chat.nvim, 100);
        for buffer in [TRANSCRIPT, PROMPT] {
            assert!(window_of(&mut chat.nvim, buffer), "{event}: no window for {buffer}");
        }
        let shown = "return require('rat.view.window').visible() ~= nil";
        assert_eq!(chat.nvim.lua(shown, json!([])), json!(true), "{event}");
        let modifiable = "return vim.bo[vim.fn.bufnr('rat://fake/1')].modifiable";
        assert_eq!(chat.nvim.lua(modifiable, json!([])), json!(false), "{event}");
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

/// Holds (Windows and views): A view that could not be drawn is drawn whole.
#[test]
fn a_view_that_could_not_be_drawn_is_drawn_whole() {
    for name in ["nvim_buf_set_lines", "nvim_buf_set_text"] {
        let mut chat = Chat::in_turn();
        stream(&mut chat, 0..200);
        poll_lines(&mut chat.nvim, 200);
        chat.nvim.lua(FAIL_ONCE, json!([name, 3]));
        stream(&mut chat, 200..300);
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "A call",
            "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "done"}}]});
        chat.update(call);
        chat.say("The end.");
        chat.nvim.poll("all of it", |nvim| {
            nvim.buffer_lines(TRANSCRIPT).last() == Some(&"The end.".to_owned())
        });
        poll_lines(&mut chat.nvim, 300);
        let cards = chat.transcript();
        assert_eq!(cards.iter().filter(|line| line.contains("A call")).count(), 1, "{name}");
    }
}

/// Holds (Windows and views): A reader stays in place while the transcript is drawn again.
#[test]
fn a_reader_stays_in_place_while_the_transcript_is_drawn_again() {
    let mut chat = Chat::in_turn();
    stream(&mut chat, 0..300);
    poll_lines(&mut chat.nvim, 300);
    let place = "local win = vim.fn.bufwinid('rat://fake/1')
        return { vim.fn.line('.', win), vim.fn.line('w0', win) }";
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.input("100Gzt");
    chat.nvim.poll("line 100", |nvim| nvim.lua(place, json!([]))[0] == json!(100));
    let before = chat.nvim.lua(place, json!([]));
    chat.nvim.lua(FAIL_ONCE, json!(["nvim_buf_set_text", 1]));
    stream(&mut chat, 300..400);
    poll_lines(&mut chat.nvim, 400);
    assert_eq!(chat.nvim.lua(place, json!([])), before);
}

fn values(json: &Json) -> Vec<String> {
    json.as_array().into_iter().flatten().map(ToString::to_string).collect()
}

/// Holds (Windows and views): A view that was wiped out, deleted or unloaded is drawn again.
#[test]
fn a_view_whose_buffer_was_wiped_out_is_drawn_again() {
    for command in ["bwipeout!", "bdelete!", "bunload!"] {
        let mut chat = Chat::in_turn();
        let step = json!({"content": "A step", "status": "pending", "priority": "low"});
        chat.update(json!({"sessionUpdate": "plan", "entries": [step]}));
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "A call"});
        chat.update(call);
        stream(&mut chat, 0..20);
        poll_lines(&mut chat.nvim, 20);
        chat.nvim.command("RatPlan");
        chat.nvim.command("RatTools");
        chat.write_draft("a draft");
        let names = [TRANSCRIPT, PROMPT, "rat://fake/1/plan", "rat://fake/1/tools"];
        chat.nvim
            .poll("all views", |nvim| names.iter().all(|name| !nvim.buffer_lines(name).is_empty()));
        let before = names.map(|name| chat.nvim.buffer_lines(name));
        assert!(before[2].concat().contains("A step") && before[3].concat().contains("A call"));
        for name in names {
            chat.nvim.command(&format!("execute '{command}' bufnr('^{name}$')"));
        }
        stream(&mut chat, 20..40);
        chat.nvim.poll("no window", |nvim| !window_of(nvim, TRANSCRIPT));
        for shown in ["RatToggle", "RatPlan", "RatTools"] {
            chat.nvim.command(shown);
        }
        poll_lines(&mut chat.nvim, 40);
        for (name, before) in names.iter().zip(&before).skip(1) {
            chat.nvim.poll(name, |nvim| nvim.buffer_lines(name) == *before);
        }
        let keys = "local names = ... return vim.iter(names):map(function(name)
            return #vim.api.nvim_buf_get_keymap(vim.fn.bufnr('^' .. name .. '$'), 'n') > 3
        end):totable()";
        assert_eq!(values(&chat.nvim.lua(keys, json!([names]))), ["true"; 4], "{command}");
        // What comes now is drawn once.
        stream(&mut chat, 40..60);
        poll_lines(&mut chat.nvim, 60);
    }
}

/// Holds (Windows and views): `:%bwipeout`, `:%bdelete` and `:edit` lose nothing of a chat.
#[test]
fn wiping_out_all_buffers_loses_nothing() {
    for command in ["%bwipeout!", "%bdelete!", "edit", "edit!"] {
        let mut chat = Chat::in_turn();
        stream(&mut chat, 0..20);
        poll_lines(&mut chat.nvim, 20);
        chat.write_draft("a draft");
        for name in [TRANSCRIPT, PROMPT] {
            if command.starts_with("edit") {
                chat.nvim.enter(name);
                chat.nvim.command("setlocal nowinfixbuf");
            }
            chat.nvim.command(command);
        }
        if !command.starts_with("edit") {
            chat.nvim.command("RatToggle");
        }
        poll_lines(&mut chat.nvim, 20);
        assert_eq!(chat.draft(), ["a draft"], "{command}");
        stream(&mut chat, 20..40);
        poll_lines(&mut chat.nvim, 40);
    }
}
