//! The commands an agent offers, in real Neovim: completed, chosen, hinted at, sent as text.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options};

fn start() -> (Nvim, Agent) {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.start_agent();
    agent.handshake();
    nvim.poll_state("ready");
    (nvim, agent)
}

fn offer(nvim: &mut Nvim, agent: &mut Agent, commands: Json) {
    let update =
        json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
    agent.update("s1", update);
    let count = commands.as_array().unwrap().len();
    let code = "return #require('rat.chat').current().commands";
    nvim.poll("the commands", |nvim| nvim.lua(code, json!([])) == json!(count));
}

fn prompt(nvim: &mut Nvim) -> Vec<String> {
    nvim.buffer_lines("rat://fake/1/prompt")
}

fn commands() -> Json {
    json!([
        {"name": "review", "description": "Looks at changes\nand more", "input": {"hint": "which ones"}},
        {"name": "memory add", "description": "Remembers", "input": {"hint": "what"}},
        {"name": "memory show", "description": "Shows"},
        {"name": "$cost", "description": "Tells the price"},
        {"description": "has no name"},
    ])
}

/// ACP 120.
#[test]
fn names_with_spaces_and_signs_complete_and_go_out_as_text() {
    let (mut nvim, mut agent) = start();
    let mut valid = commands();
    offer(&mut nvim, &mut agent, json!(valid.as_array_mut().unwrap()[..4].to_vec()));
    for (typed, wanted) in [("/re", "/review"), ("/memory a", "/memory add"), ("/$", "/$cost")] {
        nvim.input(&format!("<Esc>ggdGi{typed}<C-x><C-u><C-y>"));
        nvim.poll(wanted, |nvim| prompt(nvim) == [wanted]);
    }
    nvim.input(" now<Esc><CR>");
    let request = agent.expect_request("session/prompt");
    let block = &request.params["prompt"][0];
    assert_eq!(block, &json!({"type": "text", "text": "/$cost now"}));
    agent.reply(&request, json!({"stopReason": "end_turn"}));
    // A new list replaces the old one.
    offer(&mut nvim, &mut agent, json!([{"name": "other", "description": ""}]));
    nvim.input("i/re<C-x><C-u>");
    nvim.poll("nothing to complete", |nvim| prompt(nvim) == ["/re"]);
}

#[test]
fn a_command_that_makes_no_sense_costs_only_itself() {
    let (mut nvim, mut agent) = start();
    let update =
        json!({"sessionUpdate": "available_commands_update", "availableCommands": commands()});
    agent.update("s1", update);
    let code = "return #require('rat.chat').current().commands";
    nvim.poll("those with names", |nvim| nvim.lua(code, json!([])) == json!(4));
}

#[test]
fn what_a_command_takes_is_hinted_at_until_something_is_written() {
    let (mut nvim, mut agent) = start();
    offer(&mut nvim, &mut agent, json!([commands()[0].clone()]));
    nvim.input("i/review");
    nvim.poll_screen("/review which ones");
    nvim.input(" a");
    nvim.poll("no hint", |nvim| !nvim.screen().text().contains("which ones"));
    nvim.input("<BS>");
    nvim.poll_screen("/review which ones");
    nvim.input("<Esc>");
    assert_eq!(prompt(&mut nvim), ["/review "]);
}

#[test]
fn a_chosen_command_goes_before_what_is_written() {
    let (mut nvim, mut agent) = start();
    nvim.input("g/");
    nvim.poll_screen("offers no commands");
    offer(&mut nvim, &mut agent, json!([commands()[0].clone(), commands()[1].clone()]));
    nvim.input("ithe last one<Esc>g/");
    nvim.poll_screen("/review <which ones> · Looks at changes");
    nvim.choose(2);
    nvim.poll("the command", |nvim| prompt(nvim) == ["/memory add the last one"]);
}
