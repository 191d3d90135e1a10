//! Titles and escape sequences made by chance, in every text that an agent has for people: what Neovim's TUI writes holds
//! none of them, nothing is evaluated, and what hides or reorders is shown.

use super::super::shown::Talk;
use super::grammar;
use crate::support::{Dice, Inputs, TRANSCRIPT, text};
use serde_json::{Value as Json, json};

/// So many inputs are played in one Neovim.
const BATCH: u64 = 125;

/// What no label shows as it is.
const HIDING: [char; 9] = [
    '\u{200b}', '\u{2060}', '\u{feff}', '\u{ad}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}',
    '\u{9b}',
];

/// Says one text in a place that chance decides.
fn say(talk: &mut Talk, dice: &mut Dice, number: u64, word: &str) {
    let name = format!("n{number}. {word}");
    let kinds = ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"];
    match dice.within(0..9) {
        0 => {
            let content = text(&format!("\n\n{name}\n\n"));
            let kind = *dice.pick(&kinds);
            talk.update(kind, json!({"messageId": name, "content": content}));
        }
        1 => {
            let call = json!({"toolCallId": name, "title": format!("n{number}."), "kind": "execute", "status": "failed",
                "rawInput": {"command": word, "cwd": word}, "rawOutput": word});
            talk.update("tool_call", call);
        }
        2 => {
            let content = json!([{"type": "content", "content": {"type": "resource_link", "uri": word, "name": name,
                "title": name, "description": word, "mimeType": word}}]);
            talk.update(
                "tool_call",
                json!({"toolCallId": name, "title": name, "kind": word, "content": content}),
            );
        }
        3 => {
            let entry = json!({"content": name, "priority": word, "status": "pending"});
            talk.update("tool_call", title_of(number, &name));
            talk.update("plan", json!({"entries": [entry]}));
        }
        4 => {
            let command = json!({"name": name, "description": word, "input": {"hint": word}});
            talk.update("tool_call", title_of(number, &name));
            talk.update("available_commands_update", json!({"availableCommands": [command]}));
        }
        5 => {
            let notice = json!({"severity": "info", "title": name, "description": word});
            talk.update("notice", notice);
            talk.update("tool_call", title_of(number, &name));
        }
        6 => {
            talk.update("session_info_update", json!({"title": name}));
            talk.update("tool_call", title_of(number, &name));
        }
        7 => {
            talk.agent.stderr(&name.replace('\n', " "));
            talk.update("tool_call", title_of(number, &name));
        }
        _ => talk.update("tool_call", title_of(number, &name)),
    }
}

fn title_of(number: u64, title: &str) -> Json {
    json!({"toolCallId": format!("c{number}"), "title": title, "name": title, "kind": "read", "status": "completed",
        "locations": [{"path": format!("/{title}")}]})
}

/// Plays the texts that `make` makes, and looks at all of each.
fn play(class: &'static str, make: fn(&mut Dice) -> String) {
    let inputs = Inputs::of(class);
    inputs.in_batches(BATCH, |numbers| {
        let mut talk = Talk::start("");
        let processes = talk.viewer.nvim.processes().living();
        for number in numbers.clone() {
            let mut dice = inputs.dice(number);
            let word = make(&mut dice);
            say(&mut talk, &mut dice, number, &word);
        }
        talk.settle("All was said.");
        let viewer = &mut talk.viewer;
        viewer.nvim.command("RatStart");
        viewer.go_to("All was said.");
        viewer.look_through();
        for (command, name) in [("RatTools", "tools"), ("RatInfo", "info")] {
            viewer.nvim.command(command);
            let shown = format!("vim.fn.bufwinid('rat://fake/1/{name}') ~= -1");
            viewer.nvim.poll(name, |nvim| nvim.eval(&shown) == json!(true));
            viewer.look_through();
            viewer.nvim.command("normal q");
        }
        let places: Vec<_> = numbers.map(|number| format!("n{number}.")).collect();
        viewer.finish(&places.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!viewer.nvim.mode_is_blocked());
        expect_plain_titles(&viewer.nvim.buffer_lines("rat://fake/1/tools"));
        assert_eq!(viewer.nvim.processes().living(), processes, "a process was started or ended");
        assert!(!viewer.nvim.cwd().join("FLAG").exists(), "something was evaluated");
        talk.agent.reply(&talk.turn, json!({"stopReason": "end_turn"}));
        viewer.nvim.poll_state("ready");
        viewer.nvim.send("and now?");
        let next = talk.agent.expect_request("session/prompt");
        talk.agent.reply(&next, json!({"stopReason": "end_turn"}));
        viewer.nvim.poll_state("ready");
        assert!(!viewer.nvim.buffer_lines(TRANSCRIPT).is_empty());
    });
}

/// No title hides anything in a list of titles.
fn expect_plain_titles(lines: &[String]) {
    for line in lines {
        assert!(!line.contains(HIDING), "{line:?}");
        assert!(!line.contains(|it: char| it.is_control()), "{line:?}");
    }
}

/// Holds (Hostile agents): No generated control sequence reaches the terminal, whatever text it is in.
#[test]
fn no_generated_sequence_commands_the_terminal() {
    play("escape sequences", grammar::escapes);
}

/// Holds (Hostile agents): No generated title is evaluated, commands the terminal, or hides anything in a list.
#[test]
fn no_generated_title_is_more_than_text() {
    play("titles", grammar::title);
}
