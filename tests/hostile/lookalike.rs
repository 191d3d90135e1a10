//! A folder of the project that has the name of a buffer of ours, which plugins that show folders take for it.

use crate::names;
use crate::support::{Nvim, Options};
use serde_json::json;

/// What stands in a window, after `action` was done there.
const SHOWN: &str = r"
    local action = ...
    assert(loadstring(action))()
    return { vim.api.nvim_buf_get_name(0), vim.bo.filetype, vim.wo.number, vim.fn.getline(1) }
";

#[test]
fn a_folder_with_the_name_of_a_buffer_does_not_take_its_place() {
    let options =
        Options { init: "vim.o.number, vim.o.hidden = true, true".into(), ..names::init() };
    let mut nvim = Nvim::start(options);
    nvim.folder().file("project/folder/file", "");
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.lua("_G.outside = vim.fn.win_getid(1)", json!([]));
    let draft = "vim.api.nvim_buf_set_lines(vim.fn.bufnr('rat://fake/1/prompt'), 0, -1, true, { 'a draft' })";
    nvim.lua(draft, json!([]));
    nvim.send("go");
    let turn = agent.expect_request("session/prompt");
    agent.say(&session, "Some words.");
    for name in ["prompt", "plan", "tools", "info"] {
        std::fs::create_dir_all(nvim.cwd().join("rat:/fake/1").join(name)).unwrap();
    }
    // What is a folder is still shown as one.
    nvim.lua("vim.api.nvim_set_current_win(outside) vim.cmd.edit('folder')", json!([]));
    nvim.poll("a list", |nvim| nvim.lua("return vim.bo.filetype", json!([])) == json!("netrw"));
    nvim.command("enew");
    let views = [("rat://fake/1", "rat"), ("rat://fake/1/prompt", "ratprompt")];
    for (name, filetype) in views {
        let enter = format!(
            "vim.api.nvim_set_current_win(outside)
            vim.api.nvim_set_current_win(vim.fn.bufwinid('{name}'))"
        );
        let ways = [
            enter,
            "vim.cmd.split()".to_owned(),
            format!(
                "vim.cmd.close() vim.api.nvim_set_current_win(outside) vim.cmd.buffer(vim.fn.bufnr('{name}'))"
            ),
            format!("vim.cmd.enew() vim.cmd.edit('{name}')"),
        ];
        for way in ways {
            let shown = nvim.lua(SHOWN, json!([way]));
            assert_eq!(shown[0], json!(name), "{way}");
            assert_eq!(shown[1], json!(filetype), "{way}");
            assert_eq!(shown[2], json!(false), "{way}: dressed as a chat");
        }
        nvim.lua("vim.api.nvim_set_current_win(outside) vim.cmd.enew()", json!([]));
    }
    for (command, name) in [
        ("RatPlan", "rat://fake/1/plan"),
        ("RatTools", "rat://fake/1/tools"),
        ("RatInfo", "rat://fake/1/info"),
    ] {
        nvim.command(command);
        nvim.poll(name, |nvim| {
            let win = "return vim.fn.bufwinid(...) ~= -1";
            nvim.lua(win, json!([name])) == json!(true)
        });
    }
    nvim.command("RatToggle");
    nvim.command("RatToggle");
    nvim.poll_screen("Some words.");
    nvim.poll_screen("a draft");
    assert_eq!(nvim.buffer_lines("rat://fake/1/prompt"), ["a draft"]);
    nvim.poll("the events as they were", |nvim| {
        nvim.lua("return vim.o.eventignore", json!([])) == json!("")
    });
    nvim.command("bwipeout folder");
    let lists = "return #vim.tbl_filter(function(buf) return vim.bo[buf].filetype == 'netrw' end, vim.api.nvim_list_bufs())";
    assert_eq!(nvim.lua(lists, json!([])), json!(0), "lists of folders are left");
    nvim.poll("word of it", |nvim| nvim.messages().contains("chats have the names"));
    agent.reply(&turn, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
}
