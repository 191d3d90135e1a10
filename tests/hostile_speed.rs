//! Messages of an agent that are far too large: Neovim is not held up by what they show, and memory not filled by what is kept
//! of them. The figures go to stderr.

use crate::support::{CLOCK, Chat};
use serde_json::{Value as Json, json};
use std::io::Write as _;
use std::time::Instant;

/// Most of what one frame may carry to Neovim, which takes no key until it is drawn: bytes of texts for each update that it may
/// show, and values in lists.
const MOST_BYTES: u64 = 160 << 10;
const MOST_VALUES: u64 = 100_000;
/// The longest line that may be drawn, in bytes: Neovim wraps each as a whole.
const LONGEST_LINE: u64 = 66 << 10;

/// So often each is sent, as another call.
const ROUNDS: usize = 2;

/// Counts what each frame carries, and notes for the figures how long nothing else ran, after `CLOCK`.
const WATCH: &str = r#"
    local last = clock()
    _G.gap = 0
    _G.watch = _G.watch or vim.uv.new_timer()
    _G.watch:start(0, 1, function()
      local now = clock()
      _G.gap, last = math.max(_G.gap, now - last), now
    end)
    local function count(value)
      if type(value) == "string" then
        return #value, 1
      elseif type(value) ~= "table" then
        return 0, 1
      end
      local bytes, values = 0, 0
      for _, item in pairs(value) do
        local more, inner = count(item)
        bytes, values = bytes + more, values + inner
      end
      return bytes, values
    end
    _G.most = { 0, 0 }
    if not _G.apply then
      local inbox = require("rat.rpc.inbox")
      _G.apply = inbox.apply
      inbox.apply = function(frame)
        local bytes, values = count(frame)
        if bytes > _G.most[1] then
          _G.largest = {}
          for _, message in ipairs(frame) do
            local of = count(message)
            if of > bytes / 20 then
              table.insert(_G.largest, ("%s %d"):format(tostring(message[1]), of))
            end
          end
        end
        _G.most = { math.max(_G.most[1], bytes), math.max(_G.most[2], values) }
        return _G.apply(frame)
      end
    end
"#;

/// Returns the figures: milliseconds, bytes, values, the longest line.
const FIGURES: &str = r#"
    _G.watch:stop()
    local longest, which = 0, ""
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.startswith(vim.api.nvim_buf_get_name(buf), "rat://") then
        for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
          if #line > longest then
            longest, which = #line, vim.api.nvim_buf_get_name(buf) .. ": " .. vim.fn.strcharpart(line:sub(1, 200), 0, 40)
          end
        end
      end
    end
    return { _G.gap / 1e6, _G.most[1], _G.most[2], longest, which, table.concat(_G.largest or {}, ", ") }
"#;

/// Has an agent send so many updates, and expects that each piece of work it makes for Neovim is a small one: how long that takes is
/// a matter of the machine, and of the bench.
pub(crate) fn expect_small_frames(chat: &mut Chat, then: &str, updates: Vec<Json>) {
    chat.nvim.lua(&format!("{CLOCK}{WATCH}"), json!([]));
    // Rows carry the ids of their calls in full, a few for each view.
    let ids = updates.iter().filter_map(|update| update["toolCallId"].as_str()).map(str::len);
    let most_bytes = MOST_BYTES * updates.len() as u64 + 8 * ids.sum::<usize>() as u64;
    let since = Instant::now();
    for update in updates {
        chat.update(update);
    }
    let pending = chat.ask("_unknown", json!({}));
    // Nothing is asked of Neovim meanwhile.
    chat.agent.expect_answer(pending).unwrap_err();
    let answered = since.elapsed().as_millis();
    chat.say(&format!("\n\n{then}\n\n"));
    chat.nvim.poll_screen(then);
    let figures = chat.nvim.lua(FIGURES, json!([]));
    let [bytes, values, longest] = [1, 2, 3].map(|at| figures[at].as_u64().unwrap());
    let gap = figures[0].as_f64().unwrap();
    // Fails only where nobody reads.
    let _ = writeln!(
        std::io::stderr(),
        "{then}: Neovim {gap:.1} ms, a frame {bytes} bytes and {values} values, a line {longest} bytes, \
         answered after {answered} ms"
    );
    assert!(bytes <= most_bytes, "{then}: a frame of {bytes} bytes: {}", figures[5]);
    assert!(values <= MOST_VALUES, "{then}: a frame of {values} values");
    assert!(longest <= LONGEST_LINE, "{then}: a line of {longest} bytes: {}", figures[4]);
}

/// Sends what `make` gives for the number of a round, and expects that Neovim is hardly held up.
fn expect_short(name: &str, make: impl Fn(usize) -> Json) {
    let mut chat = Chat::in_turn();
    for round in 0..ROUNDS {
        expect_small_frames(&mut chat, &format!("{name} {round}"), vec![make(round)]);
    }
}

fn call(round: usize, fields: Json) -> Json {
    let mut call = json!({
        "sessionUpdate": "tool_call", "toolCallId": format!("c{round}"), "title": "Look", "kind": "read",
    });
    call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    call
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, what it makes for Neovim comes in small frames and short lines.
#[test]
fn a_title_of_10_mb_does_not_hold_up_neovim() {
    let title = "word ".repeat(2 << 20);
    expect_short("a title", |round| call(round, json!({"title": title})));
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, what it makes for Neovim comes in small frames and short lines.
#[test]
fn a_command_of_100_000_lines_does_not_hold_up_neovim() {
    let command = "true\n".repeat(100_000);
    let fields = json!({"kind": "execute", "title": "Tidy up", "rawInput": {"command": command}});
    expect_short("a command", |round| call(round, fields.clone()));
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, what it makes for Neovim comes in small frames and short lines.
#[test]
fn a_call_with_100_000_locations_does_not_hold_up_neovim() {
    let locations: Vec<_> =
        (0..100_000).map(|number| json!({"path": format!("/tmp/{number}")})).collect();
    expect_short("locations", |round| call(round, json!({"locations": locations})));
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, what it makes for Neovim comes in small frames and short lines.
#[test]
fn a_call_with_100_000_items_of_content_does_not_hold_up_neovim() {
    let item = |number| match number % 3 {
        0 => {
            json!({"type": "diff", "path": format!("/tmp/{number}"), "oldText": "a", "newText": "b"})
        }
        1 => json!({"type": "content", "content": {"type": "text", "text": "words"}}),
        _ => json!({"type": "terminal", "terminalId": format!("t{number}")}),
    };
    let content: Vec<_> = (0..100_000).map(item).collect();
    expect_short("content", |round| call(round, json!({"content": content})));
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, what it makes for Neovim comes in small frames and short lines.
#[test]
fn a_plan_of_100_000_entries_does_not_hold_up_neovim() {
    expect_short("a plan", |round| {
        let entry = |number| {
            let content = format!("step {number} of {round}");
            json!({"content": content, "priority": "medium", "status": "pending"})
        };
        json!({"sessionUpdate": "plan", "entries": (0..100_000).map(entry).collect::<Vec<_>>()})
    });
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, what it makes for Neovim comes in small frames and short lines.
#[test]
fn a_plan_with_an_entry_of_10_mb_does_not_hold_up_neovim() {
    let content = "word ".repeat(2 << 20);
    expect_short("an entry", |round| {
        let entry = json!({"content": format!("{round} {content}"), "status": "pending"});
        json!({"sessionUpdate": "plan", "entries": [entry]})
    });
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, what it makes for Neovim comes in small frames and short lines.
#[test]
fn a_hundred_thousand_commands_do_not_hold_up_neovim() {
    expect_short("commands", |round| {
        let command =
            |number| json!({"name": format!("c{number}"), "description": format!("{round}")});
        let all: Vec<_> = (0..100_000).map(command).collect();
        json!({"sessionUpdate": "available_commands_update", "availableCommands": all})
    });
}

/// Holds (Hostile agents): A permission request with more options than can be shown is refused.
#[test]
fn a_request_with_too_many_options_is_refused() {
    let mut chat = Chat::in_turn();
    let option =
        |number| json!({"optionId": format!("{number}"), "name": "Yes", "kind": "allow_once"});
    let options: Vec<_> = (0..10_000).map(option).collect();
    let asked = json!({"toolCall": call(0, json!({})), "options": options});
    let pending = chat.ask("session/request_permission", asked);
    let error = chat.agent.expect_answer(pending).unwrap_err();
    assert_eq!(error["message"], "there can be at most 100 options");
    assert_eq!(chat.nvim.waiting(), 0);
}
