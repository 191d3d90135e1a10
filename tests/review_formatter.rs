//! A formatter that runs when a file is saved, as with conform.nvim, and the review of what an agent has changed there.

use std::fs;

use crate::support::Chat;
use crate::undo::{answer, poll_kept};
use serde_json::json;

const BASE: &str = "a = 1\nb = 2\nc = 3\nd = 4\n";
/// What the agent makes of it: it does not format.
const SENT: &str = "a = 1\nb=20\nnew=1\nc = 3\nd = 4\nlast=5\n";
const FORMATTED: &str = "a = 1\nb = 20\nnew = 1\nc = 3\nd = 4\nlast = 5\n";

/// Puts blanks around each `=` before a file is written.
const FORMATTER: &str = r#"
vim.api.nvim_create_autocmd("BufWritePre", {
  pattern = "*.py",
  callback = function(args)
    local view = vim.fn.winsaveview()
    for row, line in ipairs(vim.api.nvim_buf_get_lines(args.buf, 0, -1, true)) do
      local new = line:gsub("%s*=%s*", " = ")
      if new ~= line then
        vim.api.nvim_buf_set_lines(args.buf, row - 1, row, true, { new })
      end
    end
    vim.fn.winrestview(view)
  end,
})
"#;

/// A turn in which a command has changed an open file on disk, which the user has saved since.
fn saved() -> Chat {
    let mut chat = Chat::builder().file("a.py", BASE).start();
    chat.nvim.lua(FORMATTER, json!([]));
    chat.nvim.command("wincmd t | edit a.py");
    chat.prompt("change it");
    chat.tool_call(json!({"toolCallId": "c1", "title": "sed", "kind": "execute",
        "status": "in_progress"}));
    fs::write(chat.path("a.py"), SENT).unwrap();
    chat.tool_call_update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(&mut chat);
    poll(&mut chat, SENT);
    chat.nvim.command("wincmd t | silent write");
    assert_eq!(disk(&chat), FORMATTED);
    chat
}

fn disk(chat: &Chat) -> String {
    fs::read_to_string(chat.path("a.py")).unwrap()
}

fn poll(chat: &mut Chat, text: &str) {
    let path = chat.path("a.py").to_str().unwrap().to_owned();
    chat.nvim.poll(text, |nvim| nvim.buffer_lines(&path).join("\n") + "\n" == text);
}

fn page(chat: &mut Chat) -> Vec<String> {
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 1 file, 2 hunks");
    chat.nvim.buffer_lines("rat://review")
}

/// Holds (Review): What a formatter makes of an agent's lines when the user saves stays the agent's: it is pending, and rejected with the rest.
#[test]
fn formatted_lines_stay_the_agents() {
    let mut chat = saved();
    let pending = page(&mut chat);
    for line in ["+b = 20", "+new = 1", "-b = 2", "+last = 5"] {
        assert!(pending.iter().any(|it| it == line), "{line} is not in {pending:#?}");
    }
    let file = pending.iter().position(|line| line.starts_with("a.py")).unwrap();
    chat.nvim.command(&format!("{}", file + 1));
    chat.nvim.input("r");
    poll(&mut chat, BASE);
    chat.nvim.poll("rejected", |nvim| nvim.messages().contains("Rejected 2 hunks in a.py"));
    assert_eq!(disk(&chat), BASE);
    // Taken back, it is pending as before, although saving it formats it again.
    chat.nvim.input("u");
    poll(&mut chat, FORMATTED);
    chat.nvim.poll("the page as before", |nvim| nvim.buffer_lines("rat://review") == pending);
    assert_eq!(disk(&chat), FORMATTED);
}

/// Holds (Review): A rejection that is taken back is pending again, also where a formatter has run since.
#[test]
fn a_rejection_is_taken_back_although_a_formatter_runs() {
    let mut chat = Chat::builder().file("a.py", BASE).in_turn();
    chat.nvim.command("wincmd t | edit a.py");
    let path = chat.path("a.py");
    chat.request("fs/write_text_file", json!({"path": path, "content": SENT})).unwrap();
    let before = page(&mut chat);
    chat.nvim.lua(FORMATTER, json!([]));
    chat.nvim.input("gg/^a.py<CR>r");
    poll(&mut chat, BASE);
    chat.nvim.poll("rejected", |nvim| nvim.messages().contains("Rejected 2 hunks in a.py"));
    chat.nvim.input("u");
    poll(&mut chat, FORMATTED);
    let formatted: Vec<String> = before
        .iter()
        .map(|line| if line.starts_with('+') { line.replace('=', " = ") } else { line.clone() })
        .collect();
    chat.nvim.poll("the page, formatted", |nvim| nvim.buffer_lines("rat://review") == formatted);
}

/// Holds (Review): A turn is undone although a formatter has run over it.
#[test]
fn a_formatted_turn_is_undone() {
    let mut chat = saved();
    answer(&mut chat, "RatUndo", "Undo \"change it\"?", "Undid the turn in 1 file");
    poll(&mut chat, BASE);
    assert_eq!(disk(&chat), BASE);
    answer(&mut chat, "RatRedo", "Redo \"change it\"?", "Redid the turn in 1 file");
    poll(&mut chat, FORMATTED);
}
