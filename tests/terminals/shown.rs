//! What the user sees of commands: in the card of their tool call, in a terminal buffer, and nothing that harms.

use crate::support::{Chat, TRANSCRIPT};
use serde_json::json;

/// ACP 110.
/// Holds (Terminals): Output is live in its card and stays after the release.
#[test]
fn output_is_live_in_its_card_and_stays_when_the_terminal_is_released() {
    let mut chat = Chat::in_turn();
    let terminal =
        chat.script("echo first; until test -e gate; do sleep 0.02; done; echo second; exit 2");
    chat.show("call", "make test", &[&terminal]);
    chat.poll_line("first");
    chat.poll_line("running · <CR> opens it");
    let wait = chat.ask_terminal("wait_for_exit", &terminal);
    chat.nvim.file("gate", "");
    chat.answer(wait);
    chat.on_terminal("release", &terminal).unwrap();
    let end = ["    first", "    second", "    exit 2 · <CR> opens it"];
    chat.nvim.poll("what it wrote", |nvim| {
        let lines = nvim.buffer_lines(TRANSCRIPT);
        lines.windows(3).any(|it| it == end)
    });
}

/// Holds (Terminals): A command that no tool call shows or names is named when the turn ends.
#[test]
fn a_command_that_no_call_shows_is_named_at_the_end_of_the_turn() {
    let mut chat = Chat::in_turn();
    let shown = chat.script("echo shown");
    chat.wait_for_exit(&shown);
    chat.show("one", "first", &[&shown]);
    let hidden = chat.script("echo hidden");
    chat.wait_for_exit(&hidden);
    chat.on_terminal("release", &hidden).unwrap();
    chat.end_turn("end_turn");
    chat.poll_line("Ran echo hidden, which no tool call shows");
    chat.nvim.poll_state("ready");
    chat.prompt("again");
    for number in 0..30 {
        let terminal = chat.script(&format!("echo number {number}"));
        chat.on_terminal("release", &terminal).unwrap();
    }
    chat.tool_call(json!({"toolCallId": "two", "title": "Second", "kind": "execute",
        "rawInput": {"command": "echo number 0"}}));
    chat.end_turn("end_turn");
    chat.poll_line("Ran 29 commands that no tool call shows");
    chat.poll_line("… 9 more");
    let lines = chat.nvim.buffer_lines(TRANSCRIPT);
    let named = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert_eq!(named("echo number 1"), 11, "{lines:?}");
    assert_eq!(named(", which no tool call shows"), 1, "{lines:?}");
}

/// ACP 110.
/// The terminal may be shown when its command has long ended, and by more than one call.
#[test]
fn a_terminal_is_shown_wherever_it_is_named() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script("echo said");
    chat.wait_for_exit(&terminal);
    chat.on_terminal("release", &terminal).unwrap();
    chat.show("one", "first", &[&terminal]);
    chat.show("two", "second", &[&terminal, "unknown"]);
    chat.nvim.poll("both", |nvim| {
        let lines = nvim.buffer_lines(TRANSCRIPT);
        lines.iter().filter(|it| *it == "    said").count() == 2
    });
}

/// Moves the cursor to the line of the transcript that begins so.
pub(super) fn go_to(chat: &mut Chat, line: &str) {
    let code = "for _, win in ipairs(vim.api.nvim_list_wins()) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.api.nvim_buf_get_name(buf) == 'rat://fake/1' then
            vim.cmd.stopinsert()
            vim.api.nvim_set_current_win(win)
            for row, text in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
              if vim.startswith(vim.trim(text), ...) then
                vim.api.nvim_win_set_cursor(win, { row, 0 })
                return true
              end
            end
          end
        end";
    assert_eq!(chat.nvim.lua(code, json!([line])), json!(true), "no line {line}");
}

fn terminal_lines(chat: &mut Chat) -> Vec<String> {
    chat.nvim.buffer_lines("rat://fake/1/terminal/1")
}

/// ACP 110.
/// Holds (Terminals): A terminal buffer is live and read only.
#[test]
fn a_terminal_buffer_is_live_read_only_and_stays() {
    let mut chat = Chat::in_turn();
    let terminal =
        chat.script("printf '\\033[31mfirst\\033[0m\\n10%%\\r'; until test -e gate; do sleep 0.02; done; echo 100%");
    chat.show("call", "make test", &[&terminal]);
    chat.poll_line("running · <CR> opens it");
    go_to(&mut chat, "running");
    chat.nvim.input("<CR>");
    let name = "rat://fake/1/terminal/1";
    chat.nvim.poll("the terminal", |nvim| nvim.eval("vim.api.nvim_buf_get_name(0)") == json!(name));
    let buffer = |nvim: &mut crate::support::Nvim| nvim.buffer_lines(name);
    chat.nvim.poll("the first line", |nvim| buffer(nvim).starts_with(&["first".to_owned()]));
    let state = "return { vim.bo.buftype, vim.bo.modifiable, vim.bo.buflisted, vim.bo.modified }";
    assert_eq!(chat.nvim.lua(state, json!([])), json!(["terminal", false, false, false]));
    chat.nvim.file("gate", "");
    chat.nvim.poll("the second line", |nvim| buffer(nvim)[..2] == ["first", "100%"]);
    chat.wait_for_exit(&terminal);
    chat.on_terminal("release", &terminal).unwrap();
    chat.nvim.input("q");
    chat.poll_line("exit 0 · <CR> opens it");
    go_to(&mut chat, "exit 0");
    chat.nvim.input("<CR>");
    chat.nvim.poll("the terminal again", |nvim| {
        nvim.eval("vim.api.nvim_buf_get_name(0)") == json!(name)
    });
    assert_eq!(terminal_lines(&mut chat)[..2], ["first", "100%"]);
    // One that is wiped is made anew.
    chat.nvim.command("bwipeout!");
    go_to(&mut chat, "exit 0");
    chat.nvim.input("<CR>");
    chat.nvim.poll("a new one", |nvim| {
        nvim.eval("vim.api.nvim_buf_get_name(0)") == json!(name)
            && nvim.buffer_lines(name).starts_with(&["first".to_owned(), "100%".to_owned()])
    });
    chat.nvim.input(":qall!<CR>");
    let processes = chat.nvim.processes().clone();
    processes.wait_until_gone(crate::support::DEADLINE).expect("Neovim ended");
}

/// ACP 110.
/// All of it is there, also what the card leaves out.
/// Holds (Terminals): All of the output can be shown on request.
#[test]
fn all_of_the_output_can_be_seen() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script("for i in $(seq 100); do echo line $i; done");
    chat.show("call", "count", &[&terminal]);
    chat.wait_for_exit(&terminal);
    chat.poll_line("… 60 earlier lines · <CR> shows all");
    assert!(!chat.transcript().contains(&"    line 60".to_owned()));
    assert!(chat.transcript().contains(&"    line 61".to_owned()));
    go_to(&mut chat, "… 60");
    chat.nvim.input("zv<CR>");
    let name = "rat://fake/1/output/1";
    chat.nvim.poll("all of it", |nvim| {
        let all = nvim.lua("return vim.fn.bufexists(...)", json!([name])) == json!(1);
        all && nvim.buffer_lines(name).contains(&"line 1".to_owned())
            && nvim.buffer_lines(name).contains(&"[exit 0]".to_owned())
    });
}

/// What Claude and Codex say in `_meta` of commands they run themselves.
/// Holds (Terminals): Terminals that agents describe in `_meta` are shown like ours.
#[test]
fn terminals_of_the_agents_own_are_shown_in_the_same_way() {
    let mut chat = Chat::in_turn();
    let content = json!([{"type": "terminal", "terminalId": "own"}]);
    chat.tool_call(json!({
        "toolCallId": "own", "kind": "execute", "title": "make",
        "status": "pending", "content": content, "_meta": {"terminal_info": {"terminal_id": "own"}},
    }));
    chat.poll_line("no output yet · <CR> opens it");
    for data in ["one\r\n\u{1b}[3", "1mtw", "o\u{1b}[0m\r\n"] {
        let output = json!({"terminal_id": "own", "data": data});
        let meta = json!({"terminal_output": output});
        chat.tool_call_update(json!({"toolCallId": "own", "_meta": meta}));
    }
    chat.poll_line("two");
    chat.poll_line("running · <CR> opens it");
    let exit = json!({"terminal_exit": {"terminal_id": "own", "exit_code": 3, "signal": null}});
    chat.tool_call_update(json!({"toolCallId": "own", "status": "failed", "_meta": exit}));
    chat.poll_line("exit 3 · <CR> opens it");
    go_to(&mut chat, "exit 3");
    chat.nvim.input("<CR>");
    chat.nvim.poll("the terminal", |nvim| {
        nvim.eval("vim.bo.buftype") == json!("terminal")
            && nvim
                .buffer_lines("rat://fake/1/terminal/1")
                .starts_with(&["one".to_owned(), "two".to_owned()])
    });
}

/// ACP 112.
/// Holds (Terminals): Escape sequences in output reach neither the screen, the clipboard nor autocommands.
#[test]
fn escape_sequences_reach_neither_the_screen_nor_the_clipboard_nor_autocommands() {
    let mut chat = Chat::in_turn();
    chat.nvim.lua(
        "_G.requests = 0
         vim.api.nvim_create_autocmd('TermRequest', { callback = function() _G.requests = _G.requests + 1 end })
         vim.o.title = true",
        json!([]),
    );
    let terminal = chat.script(
        "printf '\\033]0;owned\\007\\033]52;c;aGk=\\007\\033]7;file:///\\007\\033[6n\\033[c\\033P+q544e\\033\\\\'; \
         printf '\\033[?1049h\\033[?1000h\\033[9999999bx%%{system(1)}\\n'; until test -e gate; do sleep 0.02; done",
    );
    chat.show("call", "harm", &[&terminal]);
    chat.poll_line("x%{system(1)}");
    go_to(&mut chat, "running");
    chat.nvim.input("<CR>");
    let name = "rat://fake/1/terminal/1";
    chat.nvim.poll("the terminal", |nvim| {
        nvim.eval("vim.bo.buftype") == json!("terminal")
            && nvim.buffer_lines(name)[0] == "x%{system(1)}"
    });
    assert_eq!(chat.nvim.eval("_G.requests"), json!(0));
    assert_eq!(chat.nvim.eval("vim.b.term_title == 'owned'"), json!(false));
    chat.nvim.file("gate", "");
    chat.wait_for_exit(&terminal);
}
