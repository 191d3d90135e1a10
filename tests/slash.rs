//! The commands an agent offers, in real Neovim: completed, chosen, hinted at, sent as text.

use crate::support::Chat;
use serde_json::{Value as Json, json};

fn poll_commands(chat: &mut Chat, count: usize) {
    let code = "return #require('rat.chat.current').get().commands";
    chat.nvim.poll("the commands", |nvim| nvim.lua(code, json!([])) == json!(count));
}

fn offer(chat: &mut Chat, commands: Json) {
    chat.offer(&commands);
    poll_commands(chat, commands.as_array().unwrap().len());
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
/// Holds (Options and logins): An agent's commands are completed, whatever their names, and sent as text.
#[test]
fn names_with_spaces_and_signs_complete_and_go_out_as_text() {
    let mut chat = Chat::start();
    let mut valid = commands();
    offer(&mut chat, json!(valid.as_array_mut().unwrap()[..4].to_vec()));
    for (typed, wanted) in [("/re", "/review"), ("/memory a", "/memory add"), ("/$", "/$cost")] {
        chat.nvim.input(&format!("<Esc>ggdGi{typed}<C-x><C-u><C-y>"));
        chat.poll_draft(&[wanted]);
    }
    chat.nvim.input(" now<Esc><CR>");
    let request = chat.expect_prompt();
    let block = &request.params["prompt"][0];
    assert_eq!(block, &json!({"type": "text", "text": "/$cost now"}));
    chat.end_turn("end_turn");
    // A new list replaces the old one.
    offer(&mut chat, json!([{"name": "other", "description": ""}]));
    chat.nvim.input("i/re<C-x><C-u>");
    chat.poll_draft(&["/re"]);
}

#[test]
fn a_command_that_makes_no_sense_costs_only_itself() {
    let mut chat = Chat::start();
    chat.offer(&commands());
    poll_commands(&mut chat, 4);
}

/// Holds (Options and logins): The hint of a command shows until something is written.
#[test]
fn what_a_command_takes_is_hinted_at_until_something_is_written() {
    let mut chat = Chat::start();
    offer(&mut chat, json!([commands()[0].clone()]));
    chat.nvim.input("i/review");
    chat.nvim.poll_screen("/review which ones");
    chat.nvim.input(" a");
    chat.nvim.poll_no("which ones");
    chat.nvim.input("<BS>");
    chat.nvim.poll_screen("/review which ones");
    chat.nvim.input("<Esc>");
    assert_eq!(chat.draft(), ["/review "]);
}

#[test]
fn a_chosen_command_goes_before_what_is_written() {
    let mut chat = Chat::start();
    chat.nvim.input("g/");
    chat.nvim.poll_screen("has no commands");
    offer(&mut chat, json!([commands()[0].clone(), commands()[1].clone()]));
    chat.nvim.input("ithe last one<Esc>g/");
    chat.nvim.poll_screen("/review <which ones> · Looks at changes");
    chat.nvim.choose(2);
    chat.poll_draft(&["/memory add the last one"]);
}
