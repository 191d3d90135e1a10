//! Messages of an agent that are far too large: Neovim is not held up by what they show, and memory not filled by what is kept
//! of them. The figures go to stderr.

use crate::support::{CLOCK, Chat};
use serde_json::{Value as Json, json};
use std::io::Write as _;
use std::time::Instant;

/// Longest that Neovim may be kept from a key, in milliseconds.
const LIMIT_MS: f64 = 16.0;

/// So often each is sent, as another call: the best counts, since one may be disturbed by others on the machine.
const ROUNDS: usize = 4;

/// Notes how long nothing else ran, after `CLOCK`.
const WATCH: &str = r"
    local last = clock()
    _G.gap = 0
    _G.watch = _G.watch or vim.uv.new_timer()
    _G.watch:start(0, 1, function()
      local now = clock()
      _G.gap, last = math.max(_G.gap, now - last), now
    end)
";

/// Has an agent send something, and gives how long Neovim was held up at most until the last row was drawn, in milliseconds.
pub(crate) fn gap(chat: &mut Chat, then: &str, send: impl FnOnce(&mut Chat)) -> f64 {
    chat.nvim.lua(&format!("{CLOCK}{WATCH}"), json!([]));
    let since = Instant::now();
    send(chat);
    let pending = chat.ask("_unknown", json!({}));
    // Nothing is asked of Neovim meanwhile.
    chat.agent.expect_answer(pending).unwrap_err();
    let answered = since.elapsed().as_millis();
    chat.say(&format!("\n\n{then}\n\n"));
    chat.nvim.poll_screen(then);
    let gap = chat.nvim.lua("_G.watch:stop() return _G.gap / 1e6", json!([])).as_f64().unwrap();
    // Fails only where nobody reads.
    let _ = writeln!(std::io::stderr(), "{then}: Neovim {gap:.1} ms, answered after {answered} ms");
    gap
}

/// Sends what `make` gives for the number of a round, and expects that Neovim is hardly held up.
fn expect_short(name: &str, make: impl Fn(usize) -> Json) {
    let _alone = super::alone();
    let mut chat = Chat::in_turn();
    let empty = json!({"sessionUpdate": "plan", "entries": []});
    gap(&mut chat, "warmed up", |chat| chat.update(empty));
    let mut round = |round: usize| {
        let update = make(round);
        gap(&mut chat, &format!("{name} {round}"), |chat| chat.update(update))
    };
    let gaps: Vec<_> = (0..ROUNDS).map(&mut round).collect();
    let best = gaps.iter().copied().fold(f64::MAX, f64::min);
    assert!(best < LIMIT_MS, "{name}: {gaps:?}");
}

fn call(round: usize, fields: Json) -> Json {
    let mut call = json!({
        "sessionUpdate": "tool_call", "toolCallId": format!("c{round}"), "title": "Look", "kind": "read",
    });
    call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    call
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, Neovim is not held up for more than 16 ms.
#[test]
fn a_title_of_10_mb_does_not_hold_up_neovim() {
    let title = "word ".repeat(2 << 20);
    expect_short("a title", |round| call(round, json!({"title": title})));
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, Neovim is not held up for more than 16 ms.
#[test]
fn a_command_of_100_000_lines_does_not_hold_up_neovim() {
    let command = "true\n".repeat(100_000);
    let fields = json!({"kind": "execute", "title": "Tidy up", "rawInput": {"command": command}});
    expect_short("a command", |round| call(round, fields.clone()));
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, Neovim is not held up for more than 16 ms.
#[test]
fn a_call_with_100_000_locations_does_not_hold_up_neovim() {
    let locations: Vec<_> =
        (0..100_000).map(|number| json!({"path": format!("/tmp/{number}")})).collect();
    expect_short("locations", |round| call(round, json!({"locations": locations})));
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, Neovim is not held up for more than 16 ms.
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

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, Neovim is not held up for more than 16 ms.
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

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, Neovim is not held up for more than 16 ms.
#[test]
fn a_plan_with_an_entry_of_10_mb_does_not_hold_up_neovim() {
    let content = "word ".repeat(2 << 20);
    expect_short("an entry", |round| {
        let entry = json!({"content": format!("{round} {content}"), "status": "pending"});
        json!({"sessionUpdate": "plan", "entries": [entry]})
    });
}

/// Holds (Hostile agents): However large a title, a command or a list of an agent is, Neovim is not held up for more than 16 ms.
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
    let _alone = super::alone();
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
