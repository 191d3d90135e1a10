//! Lines that are changed in place, in a session of its own beside the chat.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_real_agent};

with_each_real_agent!(lines_are_changed_while_the_user_types, lines_are_changed_by_a_tool,);

const SIX: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

/// A picker of the user's own, which allows everything once.
const PICKER: &str = r#"
    vim.ui.select = function(items, _, on_choice)
      vim.schedule(function()
        for index, item in ipairs(items) do
          if item.kind == "allow_once" then
            return on_choice(item, index)
          end
        end
      end)
    end"#;

/// What is shown beside lines.
fn words(chat: &mut Chat) -> String {
    let code = "
        local namespace = vim.api.nvim_create_namespace('rat_in_place')
        local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
        return vim.iter(marks):map(function(mark)
            return mark[4].virt_text and mark[4].virt_text[1][1]
        end):join('')";
    chat.in_buffer("a.py", code).as_str().unwrap_or_default().to_owned()
}

fn lines_are_changed_while_the_user_types(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", SIX)]);
    chat.nvim.command("wincmd t | edit a.py");
    chat.in_buffer("a.py", "vim.fn.setline(6, 'mine')");
    chat.nvim.command(r"2,3RatEdit [[hang 1]][[say Sure.\n\n```python\n2\n3\n```]]");
    chat.until("words beside the lines", |chat| (!words(chat).is_empty()).then_some(()));
    chat.nvim.input("ggOzero<Esc>6Gcc5<Esc>");
    chat.wait_for_buffer("a.py", "zero\none\n2\n3\nfour\n5\nmine\n");
    chat.until("nothing beside the lines", |chat| words(chat).is_empty().then_some(()));
    assert!(chat.is_modified("a.py"));
    assert_eq!(chat.file("a.py").unwrap(), SIX.replace("two\nthree", "2\n3"));
    let pending = "return vim.b.rat_pending";
    chat.until("one pending hunk", |chat| {
        (chat.in_buffer("a.py", pending) == json!(1)).then_some(())
    });
    let asked = chat.asked_of_model().into_iter().find(|body| body.contains("a.py:2-3"));
    let asked = asked.expect("the lines among what the model was asked");
    assert!(asked.contains("mine"), "it sees the text as it is in the editor");
    chat.nvim.command("3RatReject");
    chat.wait_for_buffer("a.py", "zero\none\ntwo\nthree\nfour\n5\nmine\n");
    chat.finish();
}

fn lines_are_changed_by_a_tool(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", SIX)]);
    chat.nvim.command("wincmd t | edit a.py");
    chat.nvim.lua(PICKER, json!([]));
    chat.nvim.command(r"2RatEdit [[read a.py]][[edit a.py|two|2]][[say ```\nanother\n```]]");
    chat.until("a question", |chat| words(chat).contains("waiting for you").then_some(()));
    chat.nvim.command("RatPermission");
    chat.until("nothing beside the lines", |chat| words(chat).is_empty().then_some(()));
    chat.wait_for_buffer("a.py", &SIX.replace("two", "2"));
    chat.finish();
}
