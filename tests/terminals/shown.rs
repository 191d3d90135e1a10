//! What the user sees of commands: in the card of their tool call, in a terminal buffer, and nothing that harms.

use super::Talk;
use serde_json::{Value as Json, json};

/// ACP 110.
#[test]
fn output_is_live_in_its_card_and_stays_when_the_terminal_is_released() {
    let mut talk = Talk::start();
    let terminal =
        talk.script("echo first; until test -e gate; do sleep 0.02; done; echo second; exit 2");
    talk.show("call", "make test", &[&terminal]);
    talk.poll_line("first");
    talk.poll_line("runs · <CR> opens it");
    let wait = talk.ask("wait_for_exit", &terminal);
    std::fs::write(talk.nvim.cwd().join("gate"), "").unwrap();
    talk.agent.expect_answer(wait).unwrap();
    talk.on("release", &terminal).unwrap();
    let end = ["first", "second", "exit 2 · <CR> opens it"];
    talk.nvim.poll("what it wrote", |nvim| {
        let lines = nvim.buffer_lines("rat://fake/1");
        lines.windows(3).any(|it| it == end)
    });
}

/// ACP 110.
/// The terminal may be shown when its command has long ended, and by more than one call.
#[test]
fn a_terminal_is_shown_wherever_it_is_named() {
    let mut talk = Talk::start();
    let terminal = talk.script("echo said");
    talk.wait(&terminal);
    talk.on("release", &terminal).unwrap();
    talk.show("one", "first", &[&terminal]);
    talk.show("two", "second", &[&terminal, "unknown"]);
    talk.nvim.poll("both", |nvim| {
        let lines = nvim.buffer_lines("rat://fake/1");
        lines.iter().filter(|it| *it == "said").count() == 2
    });
}

/// Moves the cursor to the line of the transcript that begins so.
pub(super) fn go_to(talk: &mut Talk, line: &str) {
    let code = "for _, win in ipairs(vim.api.nvim_list_wins()) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.api.nvim_buf_get_name(buf) == 'rat://fake/1' then
            vim.cmd.stopinsert()
            vim.api.nvim_set_current_win(win)
            for row, text in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
              if vim.startswith(text, ...) then
                vim.api.nvim_win_set_cursor(win, { row, 0 })
                return true
              end
            end
          end
        end";
    assert_eq!(talk.nvim.lua(code, json!([line])), json!(true), "no line {line}");
}

fn terminal_lines(talk: &mut Talk) -> Vec<String> {
    talk.nvim.buffer_lines("rat://fake/1/terminal/1")
}

/// ACP 110.
#[test]
fn a_terminal_buffer_is_live_read_only_and_stays() {
    let mut talk = Talk::start();
    let terminal =
        talk.script("printf '\\033[31mfirst\\033[0m\\n10%%\\r'; until test -e gate; do sleep 0.02; done; echo 100%");
    talk.show("call", "make test", &[&terminal]);
    talk.poll_line("runs · <CR> opens it");
    go_to(&mut talk, "runs");
    talk.nvim.input("<CR>");
    let name = "rat://fake/1/terminal/1";
    talk.nvim.poll("the terminal", |nvim| {
        nvim.lua("return vim.api.nvim_buf_get_name(0)", json!([])) == json!(name)
    });
    let buffer = |nvim: &mut crate::support::Nvim| nvim.buffer_lines(name);
    talk.nvim.poll("the first line", |nvim| buffer(nvim).starts_with(&["first".to_owned()]));
    let state = "return { vim.bo.buftype, vim.bo.modifiable, vim.bo.buflisted, vim.bo.modified }";
    assert_eq!(talk.nvim.lua(state, json!([])), json!(["terminal", false, false, false]));
    std::fs::write(talk.nvim.cwd().join("gate"), "").unwrap();
    talk.nvim.poll("the second line", |nvim| buffer(nvim)[..2] == ["first", "100%"]);
    talk.wait(&terminal);
    talk.on("release", &terminal).unwrap();
    talk.nvim.input("q");
    talk.poll_line("exit 0 · <CR> opens it");
    go_to(&mut talk, "exit 0");
    talk.nvim.input("<CR>");
    talk.nvim.poll("the terminal again", |nvim| {
        nvim.lua("return vim.api.nvim_buf_get_name(0)", json!([])) == json!(name)
    });
    assert_eq!(terminal_lines(&mut talk)[..2], ["first", "100%"]);
    // One that is wiped is made anew.
    talk.nvim.command("bwipeout!");
    go_to(&mut talk, "exit 0");
    talk.nvim.input("<CR>");
    talk.nvim.poll("a new one", |nvim| {
        nvim.lua("return vim.api.nvim_buf_get_name(0)", json!([])) == json!(name)
            && nvim.buffer_lines(name).starts_with(&["first".to_owned(), "100%".to_owned()])
    });
    talk.nvim.input(":qall!<CR>");
    let processes = talk.nvim.processes().clone();
    processes.wait_until_gone(crate::support::DEADLINE).expect("Neovim ended");
}

/// ACP 110.
/// All of it is there, also what the card leaves out.
#[test]
fn all_of_the_output_can_be_seen() {
    let mut talk = Talk::start();
    let terminal = talk.script("for i in $(seq 100); do echo line $i; done");
    talk.show("call", "count", &[&terminal]);
    talk.wait(&terminal);
    talk.poll_line("… 60 lines before · <CR> shows all");
    assert!(!talk.transcript().contains(&"line 60".to_owned()));
    assert!(talk.transcript().contains(&"line 61".to_owned()));
    go_to(&mut talk, "… 60");
    talk.nvim.input("zv<CR>");
    let name = "rat://fake/1/output/1";
    talk.nvim.poll("all of it", |nvim| {
        let all = nvim.lua("return vim.fn.bufexists(...)", json!([name])) == json!(1);
        all && nvim.buffer_lines(name).contains(&"line 1".to_owned())
            && nvim.buffer_lines(name).contains(&"[exit 0]".to_owned())
    });
}

/// What Claude and Codex say in `_meta` of commands they run themselves.
#[test]
fn terminals_of_the_agents_own_are_shown_in_the_same_way() {
    let mut talk = Talk::start();
    let call = |fields: Json| {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "own"});
        update.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        update
    };
    let session = talk.session.clone();
    let content = json!([{"type": "terminal", "terminalId": "own"}]);
    talk.agent.update(&session, json!({
        "sessionUpdate": "tool_call", "toolCallId": "own", "kind": "execute", "title": "make",
        "status": "pending", "content": content, "_meta": {"terminal_info": {"terminal_id": "own"}},
    }));
    talk.poll_line("no output yet · <CR> opens it");
    for data in ["one\r\n\u{1b}[3", "1mtw", "o\u{1b}[0m\r\n"] {
        let output = json!({"terminal_id": "own", "data": data});
        talk.agent.update(&session, call(json!({"_meta": {"terminal_output": output}})));
    }
    talk.poll_line("two");
    talk.poll_line("runs · <CR> opens it");
    let exit = json!({"terminal_id": "own", "exit_code": 3, "signal": null});
    talk.agent
        .update(&session, call(json!({"status": "failed", "_meta": {"terminal_exit": exit}})));
    talk.poll_line("exit 3 · <CR> opens it");
    go_to(&mut talk, "exit 3");
    talk.nvim.input("<CR>");
    talk.nvim.poll("the terminal", |nvim| {
        nvim.lua("return vim.bo.buftype", json!([])) == json!("terminal")
            && nvim
                .buffer_lines("rat://fake/1/terminal/1")
                .starts_with(&["one".to_owned(), "two".to_owned()])
    });
}

/// ACP 112.
#[test]
fn escape_sequences_reach_neither_the_screen_nor_the_clipboard_nor_autocommands() {
    let mut talk = Talk::start();
    talk.nvim.lua(
        "_G.requests = 0
         vim.api.nvim_create_autocmd('TermRequest', { callback = function() _G.requests = _G.requests + 1 end })
         vim.o.title = true",
        json!([]),
    );
    let terminal = talk.script(
        "printf '\\033]0;owned\\007\\033]52;c;aGk=\\007\\033]7;file:///\\007\\033[6n\\033[c\\033P+q544e\\033\\\\'; \
         printf '\\033[?1049h\\033[?1000h\\033[9999999bx%%{system(1)}\\n'; until test -e gate; do sleep 0.02; done",
    );
    talk.show("call", "harm", &[&terminal]);
    talk.poll_line("x%{system(1)}");
    go_to(&mut talk, "runs");
    talk.nvim.input("<CR>");
    let name = "rat://fake/1/terminal/1";
    talk.nvim.poll("the terminal", |nvim| {
        nvim.lua("return vim.bo.buftype", json!([])) == json!("terminal")
            && nvim.buffer_lines(name)[0] == "x%{system(1)}"
    });
    assert_eq!(talk.nvim.lua("return _G.requests", json!([])), json!(0));
    assert_eq!(talk.nvim.lua("return vim.b.term_title == 'owned'", json!([])), json!(false));
    std::fs::write(talk.nvim.cwd().join("gate"), "").unwrap();
    talk.wait(&terminal);
}
