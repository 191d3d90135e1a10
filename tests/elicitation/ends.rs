//! The ends of a request beside its answer, requests that belong to no session, and what is kept of them.

use super::{BROWSER, in_turn, start_at};
use crate::support::{Chat, Nvim, files_below};
use serde_json::json;

fn a_field() -> serde_json::Value {
    json!({"a": {"type": "string", "title": "Name"}})
}

/// ACP 68, 73, 76.
/// Holds (Forms and URLs): A form closes and answers `cancel` on `:RatCancel`, `$/cancel_request`, `:RatStop` and the end of Neovim.
#[test]
fn whoever_does_not_need_it_any_more_it_is_closed_and_cancelled() {
    let ends: [fn(&mut Chat); 3] = [
        |chat| chat.nvim.command("RatCancel"),
        |chat| chat.agent.notify("$/cancel_request", json!({"requestId": 0})),
        |chat| chat.nvim.command("RatStop"),
    ];
    for end in ends {
        let mut chat = in_turn();
        let pending = chat.form(a_field(), json!([]));
        end(&mut chat);
        assert_eq!(chat.answer(pending), json!({"action": "cancel"}));
        chat.nvim.poll_no("ga send");
        chat.poll_transcript("cancelled before you answered");
    }
    let mut chat = in_turn();
    let pending = chat.form(a_field(), json!([]));
    chat.nvim.quit();
    assert_eq!(chat.answer(pending), json!({"action": "cancel"}));
}

/// Holds (Forms and URLs): The death of the agent closes its forms.
#[test]
fn the_end_of_the_agent_closes_its_forms_and_what_is_open_over_them() {
    let mut chat = in_turn();
    chat.form(a_field(), json!([]));
    chat.press_on("Name:", "<CR>");
    chat.nvim.poll_screen("<CR> done");
    chat.agent.exit(3, "out of memory");
    chat.nvim.poll_state("failed");
    chat.nvim.poll_no("ga send");
    chat.nvim.poll_no("<CR> done");
    chat.poll_transcript("cancelled before you answered");
    assert_eq!(chat.nvim.status()["elicitations"], json!([]));
}

#[test]
fn a_form_lives_through_the_end_of_its_turn() {
    let mut chat = in_turn();
    let pending = chat.form(a_field(), json!([]));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.fill_in("Name:", "late");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": {"a": "late"}}));
}

/// ACP 28, 130.
/// Holds (Forms and URLs): A login may send a form before there is a session.
#[test]
fn a_login_may_ask_before_there_is_a_session() {
    let mut nvim = Nvim::wide();
    nvim.lua(BROWSER, json!([]));
    let (mut nvim, mut agent) = Chat::builder().neovim(nvim).launch();
    let request = agent.initialize(json!({
        "authMethods": [{"id": "key", "name": "Key"}],
        "agentInfo": {"name": "fake", "title": "Fake agent", "version": "1"},
    }));
    let elicitation = &request.params["clientCapabilities"]["elicitation"];
    assert_eq!(*elicitation, json!({"form": {}, "url": {}}));
    let opening = agent.expect_request("session/new");
    agent.reply_error(&opening, -32000, "log in first");
    let login = agent.expect_request("authenticate");
    let schema =
        json!({"properties": {"team": {"type": "string", "title": "Team"}}, "required": ["team"]});
    let form = agent.ask(
        "elicitation/create",
        json!({"requestId": login.id, "mode": "form",
        "message": "Which team?", "requestedSchema": schema}),
    );
    let left = agent.ask(
        "elicitation/create",
        json!({"requestId": login.id, "mode": "url",
        "message": "Or there.", "elicitationId": "e", "url": "https://example.com/"}),
    );
    nvim.poll_screen("Team: (empty)");
    nvim.poll_screen("<CR> edit");
    nvim.input("<CR>");
    nvim.poll_screen("<CR> done");
    nvim.input("rats<CR>");
    nvim.poll_screen("Team: rats");
    nvim.input("ga");
    let content = json!({"team": "rats"});
    assert_eq!(agent.expect_answer(form), Ok(json!({"action": "accept", "content": content})));
    assert!(!agent.is_answered(left));
    // What the login wanted to know nobody needs once it is over.
    agent.reply(&login, json!({}));
    assert_eq!(agent.expect_answer(left), Ok(json!({"action": "cancel"})));
    agent.open("s1");
    nvim.poll_state("ready");
}

/// ACP 136.
/// Holds (Forms and URLs): Nothing entered into a form is kept.
#[test]
fn nothing_of_what_is_entered_is_kept() {
    let mut chat = start_at(100, 40, json!({"log_level": "trace"}));
    let properties = json!({"name": {"type": "string", "title": "Name", "minLength": 8}});
    let pending = chat.form(properties, json!([]));
    chat.fill_in("Name:", "private");
    chat.nvim.poll_screen("✗ at least 8");
    chat.fill_in("Name:", "private-too");
    chat.nvim.poll_no("✗");
    chat.nvim.input("ga");
    let content = json!({"name": "private-too"});
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": content}));
    let url = "https://example.com/?token=opens-a-door";
    let pending = chat.address("e", url);
    chat.nvim.poll_screen("ga open");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept"}));
    chat.nvim.command("RatTrace");
    chat.nvim.poll("the traffic", |nvim| {
        nvim.eval("vim.api.nvim_buf_get_name(0)").to_string().contains("trace")
    });
    let shown = chat.nvim.eval("table.concat(vim.fn.getline(1, '$'), '\\n')");
    let shown = shown.as_str().unwrap().to_owned();
    assert!(shown.contains("[redacted]") && shown.contains("elicitation/create"), "{shown}");
    assert!(!shown.contains("private"), "{shown}");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.quit();
    let mut kept = 0;
    for folder in ["state", "cache", "data"] {
        for path in files_below(&chat.nvim.folder().folder(folder)) {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            kept += 1;
            let found = ["private", "opens-a-door"].iter().any(|secret| text.contains(secret));
            assert!(!found, "{}: {text}", path.display());
        }
    }
    assert!(kept >= 2, "the log and a transcript");
}
