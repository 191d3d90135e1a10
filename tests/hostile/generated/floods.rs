//! Bursts of messages of any kind: each request gets one answer, the user's words and screen stay theirs, and the next turn
//! works.

use crate::support::{Chat, Dice, Inputs, Pending, text, yes_or_no};
use serde_json::json;

/// So many bursts come in one turn.
const BATCH: u64 = 50;
/// A burst has so many messages at most.
const LONGEST: usize = 40;
/// So many lines the user may be told of all bursts in a turn.
const TOLD: usize = 20;

/// Sends a burst of one kind or of all. Gives the requests in it.
fn burst(chat: &mut Chat, dice: &mut Dice, number: u64) -> Vec<Pending> {
    let kind = dice.within(0..13);
    let mut asked = Vec::new();
    for at in 0..dice.within(1..LONGEST) {
        let kind = if kind == 12 { dice.within(0..12) } else { kind };
        let id = format!("{number}-{at}");
        match kind {
            0 => chat.say(&format!("words {id}\n")),
            1 => chat.think(&format!("thoughts {id}")),
            2 => chat.tool_call(json!({"toolCallId": id, "title": "Look", "kind": "read"})),
            3 => chat.tool_call_update(json!({"toolCallId": number.to_string(), "title": id})),
            4 => chat.update(json!({"sessionUpdate": format!("odd {id}"), "x": [id]})),
            5 => {
                let update = json!({"sessionUpdate": "agent_message_chunk", "content": text(&id)});
                chat.agent.update(&format!("nobody's {id}"), update);
            }
            6 => chat.agent.notify(&format!("_odd/{id}"), json!({"x": id})),
            7 => chat.agent.stderr(&format!("error: {id}")),
            8 => chat.agent.send_raw(format!("no JSON {id}\n").as_bytes()),
            9 => asked.push(chat.ask("_odd/request", json!({"x": id}))),
            10 => {
                let call = json!({"toolCallId": id, "title": id, "kind": "execute"});
                let params = json!({"toolCall": call, "options": yes_or_no()});
                let pending = chat.ask("session/request_permission", params);
                if dice.once_in(3) {
                    chat.agent.withdraw(pending);
                }
                asked.push(pending);
            }
            _ => {
                let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
                let form = json!({"mode": "form", "message": id, "requestedSchema": schema});
                asked.push(chat.ask("elicitation/create", form));
            }
        }
    }
    asked
}

/// Holds (Hostile agents): Whatever bursts of messages come, each request gets one answer, the draft and the keys stay the user's, and the next turn works.
#[test]
fn generated_floods_leave_the_editor_to_the_user() {
    let mut chat = Chat::builder().setup(json!({"permission": {"open": "never"}})).start();
    let mine = chat.nvim.file("mine.txt", "mine\n");
    chat.write_draft("a draft");
    let inputs = Inputs::of("floods");
    inputs.in_batches(BATCH, |numbers| {
        chat.nvim.command("messages clear");
        chat.prompt("go");
        let mut asked = Vec::new();
        for number in numbers.clone() {
            asked.extend(burst(&mut chat, &mut inputs.dice(number), number));
        }
        let end = format!("The end of {}.", numbers.end);
        chat.say(&format!("\n\n{end}\n"));
        chat.nvim.poll(&end, |nvim| {
            nvim.buffer_lines("rat://fake/1").iter().any(|line| line.contains(&end))
        });
        assert!(!chat.nvim.mode_is_blocked(), "Neovim waits for a key");
        chat.nvim.command("RatCancel");
        chat.agent.expect_notification("session/cancel");
        for pending in asked {
            let _ = chat.agent.expect_answer(pending);
            assert!(!chat.agent.is_answered(pending), "two answers to {pending:?}");
        }
        chat.end_turn("cancelled");
        chat.nvim.poll_state("ready");
        assert_eq!(chat.draft(), ["a draft"]);
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine\n");
        let messages = chat.nvim.messages();
        assert!(messages.lines().count() <= TOLD, "{messages}");
    });
    chat.prompt("and now?");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}
