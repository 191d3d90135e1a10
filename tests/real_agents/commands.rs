//! Commands that Claude runs itself and tells of in `_meta`. It tells what they wrote when they have ended.

use serde_json::json;

use crate::agents::{Chat, Kind};

#[test]
fn what_claudes_commands_write_is_shown_as_a_terminal() {
    let mut chat = Chat::open(Kind::Claude, &[]);
    chat.ask("[[shell printf '\\033[31mfirst\\033[0m\\n'; echo second >&2; exit 3]][[say Done.]]");
    chat.answer("allow_once");
    chat.ends("end_turn");
    let transcript = chat.transcript();
    let lines: Vec<&str> = transcript.lines().collect();
    let card = ["first", "second", "exit 3 · <CR> opens it"];
    assert!(lines.windows(3).any(|it| it == card), "{transcript}");
    assert!(transcript.ends_with("Done."), "{transcript}");
    chat.nvim.input("<Esc>:wincmd k<CR>/opens it<CR><CR>");
    chat.until("the terminal", |chat| {
        let kind = chat.nvim.lua("return vim.bo.buftype", json!([]));
        (kind == json!("terminal")).then_some(())
    });
    let shown = "return vim.api.nvim_buf_get_lines(0, 0, -1, false)";
    chat.until("what it wrote", |chat| {
        let lines = chat.nvim.lua(shown, json!([])).to_string();
        (lines.contains("first") && lines.contains("second")).then_some(())
    });
    chat.finish();
}
