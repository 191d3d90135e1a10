//! What buffers are called: whatever ids, names and paths an agent chooses, it finds and names no buffer but its own.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options};

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

struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

fn start() -> Talk {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("go");
    agent.expect_request("session/prompt");
    nvim.poll_state("running");
    nvim.lua(
        "vim.api.nvim_buf_set_lines(vim.fn.bufnr('rat://fake/1/prompt'), 0, -1, true, { 'a draft' })",
        json!([]),
    );
    Talk { nvim, agent, session }
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
        let name = nvim.lua("return vim.api.nvim_buf_get_name(0)", json!([]));
        (name != json!("rat://fake/1")).then(|| name.as_str().unwrap().to_owned())
    })
}

#[test]
fn ids_of_tool_calls_name_no_other_buffer() {
    let Talk { mut nvim, mut agent, session } = start();
    let output = (1..=200).map(|n| format!("row {n}\n")).collect::<String>();
    for (number, id) in ids().into_iter().enumerate() {
        let mark = format!("call number {number}");
        let text = json!({"type": "text", "text": format!("{mark} says\n{output}")});
        agent.update(&session, json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": mark, "status": "completed",
            "content": [{"type": "content", "content": text}],
        }));
        nvim.poll(&mark, |nvim| {
            nvim.buffer_lines("rat://fake/1").iter().any(|line| line.ends_with(&mark))
        });
        let open = "require('rat.rpc').notify('output', { chat = 1, tool_call = ... })";
        nvim.lua(open, json!([id]));
        let wanted = format!("rat://fake/1/output/{}", number + 1);
        nvim.poll(&format!("{wanted} for {id:?}"), |nvim| {
            nvim.lua("return vim.api.nvim_buf_get_name(0)", json!([])) == json!(wanted)
        });
        let shown = nvim.buffer_lines(&wanted);
        assert!(shown.contains(&format!("{mark} says")) && shown.contains(&"row 200".to_owned()));
        nvim.command("close");
        assert_eq!(nvim.buffer_lines("rat://fake/1/prompt"), ["a draft"], "{id:?}");
    }
    nvim.command("RatInfo");
    nvim.poll("the info", |nvim| names(nvim).contains(&"rat://fake/1/info".to_owned()));
    let shape = |name: &String| {
        name.is_empty()
            || (name.starts_with("rat://fake/1") && !name.contains(['\n', '%', '*', '[']))
    };
    let names = names(&mut nvim);
    assert!(names.iter().all(shape), "{names:#?}");
}

#[test]
fn ids_of_terminals_name_no_other_buffer() {
    let Talk { mut nvim, mut agent, session } = start();
    for (number, id) in ids().into_iter().filter(|id| !id.is_empty()).enumerate() {
        let call = |more: Json| {
            let mut call = json!({"sessionUpdate": "tool_call_update", "toolCallId": format!("c{number}"),
                "title": format!("call {number}")});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            call
        };
        let terminal = json!([{"type": "terminal", "terminalId": id}]);
        let info = json!({"terminal_info": {"terminal_id": id}});
        let output =
            json!({"terminal_output": {"terminal_id": id, "data": format!("words {number}\r\n")}});
        let exit =
            json!({"terminal_exit": {"terminal_id": id, "exit_code": number + 1, "signal": null}});
        agent.update(&session, call(json!({"content": terminal, "_meta": info})));
        agent.update(&session, call(json!({"_meta": output})));
        agent.update(&session, call(json!({"status": "completed", "_meta": exit})));
        let name = open(&mut nvim, &format!("exit {} · <CR> opens it", number + 1));
        assert_eq!(name, format!("rat://fake/1/terminal/{}", number + 1), "{id:?}");
        nvim.poll("its words", |nvim| nvim.buffer_lines(&name)[0] == format!("words {number}"));
        nvim.command("close");
        assert_eq!(nvim.buffer_lines("rat://fake/1/prompt"), ["a draft"], "{id:?}");
    }
}

#[test]
fn agents_of_any_name_have_buffers_of_their_own() {
    for name in ["a/b", "a b", "1/prompt", "%", "..", "[x]", "é", "a=b", "diff", "image"] {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let mut agent = nvim.listen();
        nvim.setup(json!({"agents": {name: agent.config()}}));
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
        assert_eq!(line, format!("This chat ended. `:RatStart {name}` starts a new one."));
    }
}

#[test]
fn names_of_files_harm_no_comparison() {
    let Talk { mut nvim, mut agent, session } = start();
    for (number, name) in ["a\nb.lua", "a\0b.lua", "%", "*", "[x].tsx", &"x".repeat(10 * 1024)]
        .into_iter()
        .enumerate()
    {
        let path = nvim.cwd().join(name).to_str().unwrap().to_owned();
        let diff = json!([{"type": "diff", "path": path, "oldText": "one\n", "newText": "two\n"}]);
        let call = json!({"toolCallId": format!("t{number}"), "title": "Edit", "content": diff});
        let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        let pending = agent.ask("session/request_permission", params);
        nvim.poll("the request", |nvim| nvim.status()["permissions"][0] != Json::Null);
        let id = nvim.status()["permissions"][0]["id"].clone();
        nvim.lua("require('rat.diff').request(require('rat.chat').get(1), ...)", json!([id]));
        nvim.poll(&format!("the comparison of {name:?}"), |nvim| {
            nvim.lua("return vim.wo.diff", json!([])) == json!(true)
        });
        nvim.command("RatAllow");
        agent.expect_answer(pending).unwrap();
        nvim.poll("no comparison", |nvim| {
            nvim.lua("return vim.wo.diff", json!([])) == json!(false)
        });
        assert_eq!(nvim.buffer_lines("rat://fake/1/prompt"), ["a draft"], "{name:?}");
    }
}
