//! What the cards of tool calls say of what nobody was asked about, and of requests whose binary has exited, in real Neovim.

use crate::support::{Chat, PROMPT, Processes, TRANSCRIPT};
use serde_json::{Value as Json, json};

/// Waits for a text in the transcript, which may be wrapped on the screen.
fn poll_text(chat: &mut Chat, text: &str) {
    chat.nvim.poll(text, |nvim| nvim.buffer_lines(TRANSCRIPT).join("\n").contains(text));
}

fn question(status: &str) -> Json {
    let options = json!([{"label": "Red", "description": "a warm one"}, {"label": "Blue"}]);
    let questions = json!([{"question": "Which colour?", "header": "Colour", "options": options},
        {"question": "And how much of it?", "options": []}]);
    json!({"toolCallId": "q", "title": "question", "kind": "other", "status": status,
        "rawInput": {"questions": questions}})
}

/// Holds (Windows and views): The questions of a tool call that asks the user are shown with their options, and how to answer.
#[test]
fn a_tool_that_asks_shows_its_questions() {
    let mut chat = Chat::in_turn();
    chat.tool_call(question("in_progress"));
    for row in ["Which colour?", "1. Red: a warm one", "2. Blue", "And how much of it?"] {
        chat.nvim.poll_screen(row);
    }
    chat.nvim.poll_screen("answer in the prompt: g<CR> sends it");
    chat.nvim.enter(PROMPT);
    chat.nvim.input("iBlue, all of it<Esc>g<CR>");
    chat.agent.expect_notification("session/cancel");
    chat.end_turn("cancelled");
    let prompt = chat.expect_prompt();
    assert_eq!(prompt.params["prompt"][0]["text"], "Blue, all of it");
    chat.nvim.poll("the hint is gone", |nvim| !nvim.screen().contains("answer in the prompt"));
    chat.nvim.poll_screen("1. Red: a warm one");
}

/// Holds (Windows and views): Where an agent asks in a form, its card says nothing else of how to answer.
#[test]
fn a_form_is_the_way_to_answer() {
    let mut chat = Chat::in_turn();
    chat.tool_call(question("in_progress"));
    chat.nvim.poll_screen("answer in the prompt");
    chat.ask(
        "elicitation/create",
        json!({"mode": "form", "message": "Which colour?", "requestedSchema": {
        "type": "object", "properties": {"colour": {"type": "string"}}}}),
    );
    chat.nvim.poll("the hint is gone", |nvim| !nvim.screen().contains("answer in the prompt"));
}

fn with_rules(rules: &[&str]) -> Chat {
    let mut chat = Chat::builder().setup(json!({"permission": {"rules": rules}})).start();
    chat.prompt("go");
    chat
}

fn ran(id: &str, command: &str, status: &str) -> Json {
    json!({"toolCallId": id, "title": format!("Call {id}"), "kind": "execute", "status": status,
        "rawInput": {"command": command}})
}

/// Holds (Permission requests): What an agent has done without asking although a rule denies it is marked, and no plain success.
#[test]
fn what_a_rule_denies_and_was_done_unasked_is_marked() {
    let mut chat = with_rules(&["deny execute rm *", "deny read .env"]);
    chat.tool_call(ran("one", "rm -rf build", "in_progress"));
    chat.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "one", "status": "completed"}),
    );
    chat.nvim.poll_screen("! Call one");
    poll_text(&mut chat, "done without asking, against your rule: deny execute rm *");
    chat.tool_call(ran("two", "ls && rm -f x", "failed"));
    chat.nvim.poll_screen("! Call two");
    let env = chat.path(".env");
    chat.tool_call(json!({"toolCallId": "three", "title": "Call three", "kind": "read",
        "status": "completed", "locations": [{"path": env}]}));
    chat.nvim.poll_screen("! Call three");
    chat.tool_call(ran("four", "ls", "completed"));
    chat.nvim.poll_screen("✓ Call four");
}

/// Holds (Permission requests): A command that a rule has refused to an agent is not said to have run.
#[test]
fn what_a_rule_has_refused_was_not_done() {
    let mut chat = with_rules(&["deny execute rm *"]);
    chat.tool_call(ran("one", "rm x", "in_progress"));
    let pending = chat.ask("terminal/create", json!({"command": "rm", "args": ["x"]}));
    chat.agent.expect_answer(pending).unwrap_err();
    chat.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "one", "status": "failed"}),
    );
    chat.nvim.poll_screen("✗ Call one");
    // One that was asked about has its answer on the card.
    let options = json!([{"optionId": "n", "name": "No", "kind": "reject_once"}]);
    let params = json!({"toolCall": ran("two", "rm y", "pending"), "options": options});
    let pending = chat.ask("session/request_permission", params);
    chat.agent.expect_answer(pending).unwrap();
    chat.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "two", "status": "failed"}),
    );
    chat.nvim.poll_screen("✗ Call two");
    let said = chat.transcript().join("\n");
    assert!(!said.contains("without asking"), "{said}");
}

/// Holds (Hostile agents): A request that is refused because nothing here answers it leaves a note, one for each method.
#[test]
fn a_refused_request_leaves_a_note() {
    let mut chat = Chat::start();
    chat.prompt("go");
    let params = json!({"sessionId": chat.session});
    for method in ["session/wish", "session/wish", "_vendor/ask_user"] {
        let error = chat.request(method, params.clone()).unwrap_err();
        assert_eq!(error["code"], json!(-32601), "{method}");
    }
    poll_text(&mut chat, "Refused a request of unknown type \"session/wish\"");
    poll_text(&mut chat, "Refused a request of unknown type \"_vendor/ask_user\"");
    let said = chat.transcript().join("\n");
    assert_eq!(said.matches("session/wish").count(), 1, "{said}");
}

/// Holds (Crashes): Once the binary has exited, no card of a request offers an answer.
#[test]
fn the_card_of_a_dead_binary_offers_nothing() {
    let mut chat = Chat::in_turn();
    let yes = json!([{"optionId": "y", "name": "Yes, do", "kind": "allow_once"},
        {"optionId": "n", "name": "No, never", "kind": "reject_once"}]);
    chat.say("Before.");
    for id in ["one", "two"] {
        let call = json!({"toolCallId": id, "title": format!("Edit {id}"), "kind": "edit", "status": "pending"});
        chat.ask_permission(call, yes.clone());
    }
    chat.ask(
        "elicitation/create",
        json!({"mode": "form", "message": "Fill in.", "requestedSchema": {
        "type": "object", "properties": {"colour": {"type": "string"}}}}),
    );
    chat.nvim.poll("all are asked", |nvim| nvim.screen().contains("Fill in."));
    Processes::signal(chat.nvim.binary(), "KILL");
    chat.nvim.poll_state("failed");
    let said = chat.transcript().join("\n");
    for offer in ["ga allow once", "gr reject", "Yes, do", "No, never", ":RatForm"] {
        assert!(!said.contains(offer), "{offer}: {said}");
    }
    assert_eq!(said.matches("not answered").count(), 2, "{said}");
    assert!(said.contains("cancelled before you answered") && said.contains("Before."), "{said}");
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.input("ggVG<Esc>ga");
    chat.nvim.poll_screen("No permission request");
}
