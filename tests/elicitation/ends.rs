//! The ends of a request beside its answer, requests that belong to no session, and what is kept of them.

use crate::Talk;
use crate::support::{Nvim, Options};
use serde_json::json;

fn a_field() -> serde_json::Value {
    json!({"a": {"type": "string", "title": "Name"}})
}

/// ACP 68, 73, 76.
#[test]
fn whoever_does_not_need_it_any_more_it_is_closed_and_cancelled() {
    let ends: [fn(&mut Talk); 3] = [
        |talk| talk.nvim.command("RatCancel"),
        |talk| talk.agent.notify("$/cancel_request", json!({"requestId": 0})),
        |talk| talk.nvim.command("RatStop"),
    ];
    for end in ends {
        let mut talk = Talk::start();
        let pending = talk.form(a_field(), json!([]));
        end(&mut talk);
        assert_eq!(talk.answer(pending), json!({"action": "cancel"}));
        talk.poll_gone("ga send");
        talk.poll_transcript("not answered: cancelled");
    }
    let mut talk = Talk::start();
    let pending = talk.form(a_field(), json!([]));
    talk.nvim.quit();
    assert_eq!(talk.answer(pending), json!({"action": "cancel"}));
}

#[test]
fn the_end_of_the_agent_closes_its_forms_and_what_is_open_over_them() {
    let mut talk = Talk::start();
    talk.form(a_field(), json!([]));
    talk.on("Name:", "<CR>");
    talk.nvim.poll_screen("<CR> done");
    talk.agent.exit(3, "out of memory");
    talk.nvim.poll_state("failed");
    talk.poll_gone("ga send");
    talk.poll_gone("<CR> done");
    talk.poll_transcript("not answered: cancelled");
    assert_eq!(talk.nvim.status()["elicitations"], json!([]));
}

#[test]
fn a_form_lives_through_the_end_of_its_turn() {
    let mut talk = Talk::start();
    let pending = talk.form(a_field(), json!([]));
    let Talk { agent, turn, .. } = &mut talk;
    agent.reply(turn, json!({"stopReason": "end_turn"}));
    talk.nvim.poll_state("ready");
    talk.write("Name:", "late");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": {"a": "late"}}));
}

/// ACP 28, 130.
#[test]
fn a_login_may_ask_before_there_is_a_session() {
    let mut nvim = Nvim::start(Options { columns: 100, lines: 30, ..Options::default() });
    nvim.lua(crate::BROWSER, json!([]));
    let mut agent = nvim.start_agent();
    let request = agent.expect_request("initialize");
    let elicitation = &request.params["clientCapabilities"]["elicitation"];
    assert_eq!(*elicitation, json!({"form": {}, "url": {}}));
    let methods = json!([{"id": "key", "name": "Key"}]);
    agent.reply(
        &request,
        json!({"protocolVersion": 1, "authMethods": methods,
        "agentInfo": {"name": "fake", "title": "Fake agent", "version": "1"}}),
    );
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
    nvim.poll_screen("Team: nothing yet");
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
    let opening = agent.expect_request("session/new");
    agent.reply(&opening, json!({"sessionId": "s1"}));
    nvim.poll_state("ready");
}

/// ACP 136.
#[test]
fn nothing_of_what_is_entered_is_kept() {
    let mut talk = Talk::start_at(100, 40, json!({"log_level": "trace"}));
    let properties = json!({"name": {"type": "string", "title": "Name", "minLength": 8}});
    let pending = talk.form(properties, json!([]));
    talk.write("Name:", "private");
    talk.nvim.poll_screen("✗ at least 8");
    talk.write("Name:", "private-too");
    talk.poll_gone("✗");
    talk.nvim.input("ga");
    let content = json!({"name": "private-too"});
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": content}));
    let url = "https://example.com/?token=opens-a-door";
    let pending = talk.address("e", url);
    talk.nvim.poll_screen("ga open");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept"}));
    talk.nvim.command("RatTrace");
    talk.nvim.poll("the traffic", |nvim| {
        nvim.lua("return vim.api.nvim_buf_get_name(0)", json!([])).to_string().contains("trace")
    });
    let shown = talk.nvim.lua("return table.concat(vim.fn.getline(1, '$'), '\\n')", json!([]));
    let shown = shown.as_str().unwrap().to_owned();
    assert!(shown.contains("[redacted]") && shown.contains("elicitation/create"), "{shown}");
    assert!(!shown.contains("private"), "{shown}");
    let Talk { agent, turn, .. } = &mut talk;
    agent.reply(turn, json!({"stopReason": "end_turn"}));
    talk.nvim.poll_state("ready");
    talk.nvim.quit();
    let mut kept = 0;
    for folder in ["state", "cache", "data"] {
        for (path, text) in texts_below(&talk.nvim.folder().folder(folder)) {
            kept += 1;
            let found = ["private", "opens-a-door"].iter().any(|secret| text.contains(secret));
            assert!(!found, "{}: {text}", path.display());
        }
    }
    assert!(kept >= 2, "the log and a transcript");
}

/// Every file below a folder.
fn texts_below(folder: &std::path::Path) -> Vec<(std::path::PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(texts_below(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}
