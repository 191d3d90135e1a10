//! What buffers are called: whatever ids, names and paths an agent chooses, it finds and names no buffer but its own.

use crate::support::{Chat, Nvim, Options, TRANSCRIPT};
use serde_json::{Value as Json, json};

/// Ids that were buffers' names, or are no names at all.
fn ids() -> Vec<String> {
    let mut ids: Vec<_> =
        ["prompt", "plan", "tools", "info", "trace", "output/1", "terminal/1", ""]
            .map(str::to_owned)
            .into();
    ids.extend(
        ["../prompt", "..", "a\nb", "a\0b", "%", "# <cfile>", "*", "[a-z]", "a b", "~", "`ls`"]
            .map(str::to_owned),
    );
    ids.push("x".repeat(10 * 1024));
    ids
}

/// A turn that runs, with a draft in the prompt.
fn with_a_draft() -> Chat {
    let mut chat = Chat::in_turn();
    chat.write_draft("a draft");
    chat
}

fn names(nvim: &mut Nvim) -> Vec<String> {
    let code = "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())";
    let names = nvim.lua(code, json!([]));
    let text = |name: &Json| name.as_str().unwrap().to_owned();
    names.as_array().unwrap().iter().map(text).collect()
}

/// Presses <CR> on the line of the transcript that holds this text, and waits for another buffer; gives its name.
fn open(nvim: &mut Nvim, text: &str) -> String {
    let go = "vim.api.nvim_set_current_win(vim.fn.bufwinid('rat://fake/1'))
        return vim.fn.search('\\\\V' .. ..., 'w')";
    nvim.poll(text, |nvim| nvim.lua(go, json!([text])) != json!(0));
    nvim.input("zv<CR>");
    nvim.poll_for("its buffer", |nvim| {
        let name = nvim.eval("vim.api.nvim_buf_get_name(0)");
        (name != json!("rat://fake/1")).then(|| name.as_str().unwrap().to_owned())
    })
}

/// Holds (Content): No id of a tool call names another buffer.
#[test]
fn ids_of_tool_calls_name_no_other_buffer() {
    let mut chat = with_a_draft();
    let output = (1..=200).map(|n| format!("row {n}\n")).collect::<String>();
    for (number, id) in ids().into_iter().enumerate() {
        let mark = format!("call number {number}");
        let text = json!({"type": "text", "text": format!("{mark} says\n{output}")});
        chat.tool_call(json!({
            "toolCallId": id, "title": mark, "status": "completed",
            "content": [{"type": "content", "content": text}],
        }));
        chat.nvim.poll(&mark, |nvim| {
            nvim.buffer_lines(TRANSCRIPT).iter().any(|line| line.ends_with(&mark))
        });
        let open = "require('rat.rpc').notify('output', { chat = 1, tool_call = ... })";
        chat.nvim.lua(open, json!([id]));
        let wanted = format!("rat://fake/1/output/{}", number + 1);
        chat.nvim.poll(&format!("{wanted} for {id:?}"), |nvim| {
            nvim.eval("vim.api.nvim_buf_get_name(0)") == json!(wanted)
        });
        let shown = chat.nvim.buffer_lines(&wanted);
        assert!(shown.contains(&format!("{mark} says")) && shown.contains(&"row 200".to_owned()));
        chat.nvim.command("close");
        assert_eq!(chat.draft(), ["a draft"], "{id:?}");
    }
    chat.nvim.command("RatInfo");
    chat.nvim.poll("the info", |nvim| names(nvim).contains(&"rat://fake/1/info".to_owned()));
    let shape = |name: &String| {
        name.is_empty()
            || (name.starts_with("rat://fake/1") && !name.contains(['\n', '%', '*', '[']))
    };
    let names = names(&mut chat.nvim);
    assert!(names.iter().all(shape), "{names:#?}");
}

/// Holds (Content): No id of a terminal names another buffer.
#[test]
fn ids_of_terminals_name_no_other_buffer() {
    let mut chat = with_a_draft();
    for (number, id) in ids().into_iter().filter(|id| !id.is_empty()).enumerate() {
        let (call, title) = (format!("c{number}"), format!("call {number}"));
        let terminal = json!([{"type": "terminal", "terminalId": id}]);
        let info = json!({"terminal_info": {"terminal_id": id}});
        let output =
            json!({"terminal_output": {"terminal_id": id, "data": format!("words {number}\r\n")}});
        let exit =
            json!({"terminal_exit": {"terminal_id": id, "exit_code": number + 1, "signal": null}});
        chat.tool_call_update(
            json!({"toolCallId": call, "title": title, "content": terminal, "_meta": info}),
        );
        chat.tool_call_update(json!({"toolCallId": call, "_meta": output}));
        chat.tool_call_update(json!({"toolCallId": call, "status": "completed", "_meta": exit}));
        let name = open(&mut chat.nvim, &format!("exit {} · <CR> opens it", number + 1));
        assert_eq!(name, format!("rat://fake/1/terminal/{}", number + 1), "{id:?}");
        chat.nvim
            .poll("its words", |nvim| nvim.buffer_lines(&name)[0] == format!("words {number}"));
        chat.nvim.command("close");
        assert_eq!(chat.draft(), ["a draft"], "{id:?}");
    }
}

/// Holds (Content): Agents of any name have buffers of their own.
#[test]
fn agents_of_any_name_have_buffers_of_their_own() {
    for name in ["a/b", "a b", "1/prompt", "%", "..", "[x]", "é", "a=b", "diff", "image"] {
        let (mut nvim, mut agent) = Chat::builder().named(name).configure();
        nvim.lua("require('rat').start({ agent = ... })", json!([name]));
        agent.expect_start();
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("go");
        agent.expect_request("session/prompt");
        agent.say(&session, "What was said.");
        nvim.poll_screen("What was said.");
        let found = names(&mut nvim);
        let transcript = found.iter().find(|found| found.ends_with("/1")).unwrap().clone();
        let part = transcript.strip_prefix("rat://").unwrap().strip_suffix("/1").unwrap();
        assert!(!part.contains(['/', '%', ' ', '[']), "{part}");
        nvim.command("RatPlan");
        nvim.poll("the plan", |nvim| names(nvim).contains(&format!("{transcript}/plan")));
        // Opened by its name in another Neovim, it is known by its agent.
        let mut later = nvim.beside(Options::default());
        later.lua(
            "vim.cmd.edit({ ..., magic = { file = false, bar = false } })",
            json!([transcript]),
        );
        let line = later.buffer_lines(&transcript).concat();
        assert_eq!(line, "Not connected. Send a prompt to resume.");
    }
}

/// Holds (Content): Diffs of files of any name can be opened.
#[test]
fn names_of_files_harm_no_comparison() {
    let mut chat = with_a_draft();
    for (number, name) in ["a\nb.lua", "a\0b.lua", "%", "*", "[x].tsx", &"x".repeat(10 * 1024)]
        .into_iter()
        .enumerate()
    {
        let path = chat.path(name).to_str().unwrap().to_owned();
        let diff = json!([{"type": "diff", "path": path, "oldText": "one\n", "newText": "two\n"}]);
        let call = json!({"toolCallId": format!("t{number}"), "title": "Edit", "content": diff});
        let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
        let pending = chat.ask_permission(call, options);
        let id = chat.nvim.status()["permissions"][0]["id"].clone();
        chat.nvim.lua(
            "require('rat.diff.request').open(require('rat.chat.registry').get(1), ...)",
            json!([id]),
        );
        chat.nvim.poll(&format!("the comparison of {name:?}"), |nvim| {
            nvim.eval("vim.wo.diff") == json!(true)
        });
        chat.nvim.let_time_pass();
        chat.nvim.command("RatAllow");
        chat.answer(pending);
        chat.nvim.poll("no comparison", |nvim| nvim.eval("vim.wo.diff") == json!(false));
        assert_eq!(chat.draft(), ["a draft"], "{name:?}");
    }
}
