//! Commands that agents run themselves. OpenCode tells what they write while they run, Claude when they have ended, in
//! `_meta`.

use serde_json::json;

use crate::agents::{Chat, Kind};

/// Holds (Terminals): Terminals that agents describe in `_meta` are shown like ours.
#[test]
fn what_claudes_commands_write_is_shown_as_a_terminal() {
    let mut chat = Chat::open(Kind::Claude, &[]);
    chat.ask("[[shell printf '\\033[31mfirst\\033[0m\\n'; echo second >&2; exit 3]][[say Done.]]");
    chat.answer("allow_once");
    chat.ends("end_turn");
    let transcript = chat.transcript();
    let lines: Vec<&str> = transcript.lines().collect();
    let card = ["    first", "    second", "    exit 3 · <CR> opens it"];
    assert!(lines.windows(3).any(|it| it == card), "{transcript}");
    assert!(transcript.ends_with("Done."), "{transcript}");
    chat.nvim.input("<Esc>:wincmd k<CR>/opens it<CR><CR>");
    chat.until("the terminal", |chat| {
        let kind = chat.nvim.eval("vim.bo.buftype");
        (kind == json!("terminal")).then_some(())
    });
    let shown = "return vim.api.nvim_buf_get_lines(0, 0, -1, false)";
    chat.until("what it wrote", |chat| {
        let lines = chat.nvim.lua(shown, json!([])).to_string();
        (lines.contains("first") && lines.contains("second")).then_some(())
    });
    chat.finish();
}

#[test]
fn what_opencodes_commands_write_is_shown_while_they_run() {
    let mut chat = Chat::open(Kind::OpenCode, &[]);
    // Not as the prompt and the card have it, which repeat the command.
    chat.ask("[[shell echo $((40 + 2)) steps; until [ -f go ]; do sleep 0.05; done; echo over]]");
    chat.answer("allow_once");
    chat.wait_for_text("42 steps");
    assert_eq!(chat.nvim.status()["state"], json!("running"));
    assert!(!chat.transcript().contains("\n    over"), "{}", chat.transcript());
    std::fs::write(chat.path("go"), "").unwrap();
    chat.ends("end_turn");
    let transcript = chat.transcript();
    assert!(transcript.contains("    42 steps\n    over"), "{transcript}");
    chat.finish();
}
