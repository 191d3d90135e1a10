//! Edits that are rejected, and files that were not there: see `documents` for those of open files.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_agent};

with_each_agent!(a_rejected_edit_changes_nothing, a_new_file_in_a_new_folder,);

/// A picker of the user's own, which allows everything and notes the questions.
const PICKER: &str = r#"
    Asked = {}
    vim.ui.select = function(items, opts, on_choice)
      table.insert(Asked, opts.prompt)
      vim.schedule(function()
        for index, item in ipairs(items) do
          if item.kind == "allow_once" then
            return on_choice(item, index)
          end
        end
      end)
    end"#;

const SIX: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

fn a_rejected_edit_changes_nothing(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", SIX)]);
    chat.ask("[[read a.py]][[edit a.py|two|2]]");
    chat.answer("reject_once");
    chat.ends("end_turn");
    // Gemini says nothing more of a call that was rejected.
    let sign = if kind == Kind::Gemini { "⊘" } else { "✗" };
    chat.until("the settled card", |chat| {
        let is_settled = |row: &String| row.contains(sign) && row.to_lowercase().contains("edit");
        chat.nvim.screen().lines().iter().any(is_settled).then_some(())
    });
    assert_eq!(chat.buffer("a.py"), SIX);
    assert_eq!(chat.file("a.py").unwrap(), SIX);
    assert!(!chat.is_modified("a.py"));
    assert_eq!(chat.in_buffer("a.py", "return vim.fn.undotree().seq_last"), json!(0));
    chat.ask_and_wait("[[say Still here.]]");
    assert!(chat.transcript().ends_with("Still here."), "{}", chat.transcript());
    chat.finish();
}

fn a_new_file_in_a_new_folder(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.nvim.lua(PICKER, json!([]));
    chat.ask_and_wait("[[write new/deep/c.py|c = 1\\n]]");
    let asked = chat.nvim.eval("Asked");
    assert_eq!(asked.as_array().unwrap().len(), 1, "{asked}");
    assert!(asked[0].as_str().unwrap().contains("new/deep/c.py"), "{asked}");
    assert_eq!(chat.file("new/deep/c.py").unwrap(), "c = 1\n");
    chat.nvim.command("wincmd t | edit new/deep/c.py");
    assert_eq!(chat.buffer("new/deep/c.py"), "c = 1\n");
    chat.finish();
}
