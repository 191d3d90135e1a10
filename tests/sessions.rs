//! Sessions in real Neovim: gone on with after a restart, chosen, forked, closed and deleted; several on one agent.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Request};

fn wide() -> Options {
    Options { columns: 120, lines: 40, ..Options::default() }
}

/// What an agent can do: `load`, and these session capabilities.
fn can(load: bool, session: &[&str]) -> Json {
    let session: serde_json::Map<String, Json> =
        session.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    json!({"agentCapabilities": {"loadSession": load, "sessionCapabilities": session}})
}

fn start(nvim: &mut Nvim, agent: &mut Agent, can: &Json) {
    nvim.setup(json!({"agents": {"fake": agent.config()}, "default_agent": "fake"}));
    nvim.record(&["RatTurnEnd"]);
    nvim.command("RatStart");
    agent.expect_start();
    initialize(agent, can);
}

fn initialize(agent: &mut Agent, can: &Json) {
    let request = agent.expect_request("initialize");
    let mut result = json!({"protocolVersion": 1});
    result.as_object_mut().unwrap().extend(can.as_object().unwrap().clone());
    agent.reply(&request, result);
}

fn open(agent: &mut Agent, session: &str) -> Request {
    let request = agent.expect_request("session/new");
    agent.reply(&request, json!({"sessionId": session}));
    request
}

/// A whole turn.
fn converse(nvim: &mut Nvim, agent: &mut Agent, session: &str, prompt: &str, answer: &str) {
    let ended = nvim.events("RatTurnEnd").len();
    nvim.send(prompt);
    let request = agent.expect_request("session/prompt");
    assert_eq!(request.params["sessionId"], json!(session));
    agent.say(session, answer);
    agent.reply(&request, json!({"stopReason": "end_turn"}));
    nvim.poll("the end of the turn", |nvim| nvim.events("RatTurnEnd").len() > ended);
    nvim.poll_state("ready");
}

/// A Neovim in which a session `s1` was used, with an agent that can do this.
fn used(can: &Json) -> (Nvim, Agent) {
    let mut nvim = Nvim::start(wide());
    let mut agent = nvim.listen();
    start(&mut nvim, &mut agent, can);
    open(&mut agent, "s1");
    converse(&mut nvim, &mut agent, "s1", "what I asked", "what it answered");
    (nvim, agent)
}

/// The same, ended; and the Neovim after it.
fn after_a_restart(can: &Json) -> (Nvim, Agent) {
    let (mut nvim, mut agent) = used(can);
    nvim.quit();
    agent.expect_gone();
    let mut nvim = nvim.beside(wide());
    start(&mut nvim, &mut agent, can);
    (nvim, agent)
}

/// Chooses the item that holds this text, in the chooser with this question.
fn choose(nvim: &mut Nvim, question: &str, item: &str) {
    nvim.poll_screen(question);
    let code = "return vim.fn.search(..., 'w')";
    assert_ne!(nvim.lua(code, json!([item])), json!(0), "no such item:\n{}", nvim.screen().text());
    nvim.input("<CR>");
}

fn transcript(nvim: &mut Nvim, chat: usize) -> String {
    nvim.buffer_lines(&format!("rat://fake/{chat}")).join("\n")
}

/// ACP 44.
#[test]
fn a_session_is_resumed_after_a_restart_with_what_was_said() {
    let (mut nvim, mut agent) = after_a_restart(&can(true, &["resume"]));
    let request = agent.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s1"));
    assert_eq!(request.params["cwd"], json!(nvim.cwd()));
    agent.reply(&request, json!({}));
    nvim.poll_state("ready");
    nvim.poll_screen("what it answered");
    nvim.poll_screen("the session goes on");
    converse(&mut nvim, &mut agent, "s1", "and then", "the rest");
    let text = transcript(&mut nvim, 1);
    assert_eq!(text.matches("what I asked").count(), 1, "{text}");
}

/// ACP 41, 42, 43.
#[test]
fn a_session_that_can_only_be_loaded_shows_what_the_agent_says_of_it() {
    let (mut nvim, mut agent) = after_a_restart(&can(true, &[]));
    nvim.record(&["RatFileChanged", "RatTurnStart", "RatPermission"]);
    let request = agent.expect_request("session/load");
    assert_eq!(request.params["mcpServers"], json!([]));
    let user = json!({"type": "text", "text": "what I asked, replayed"});
    agent.update("s1", json!({"sessionUpdate": "user_message_chunk", "content": user}));
    let file = nvim.folder().file("project/replayed.txt", "as it is");
    agent.update(
        "s1",
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit", "kind": "edit",
            "status": "completed", "locations": [{"path": file}],
            "content": [{"type": "diff", "path": file, "oldText": "old", "newText": "new"}]}),
    );
    agent.say("s1", "its answer, replayed");
    agent.reply(&request, Json::Null);
    nvim.poll_state("ready");
    nvim.poll_screen("its answer, replayed");
    let text = transcript(&mut nvim, 1);
    assert_eq!(text.matches("what I asked").count(), 1, "{text}");
    assert!(!text.contains("what it answered"), "{text}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "as it is");
    for event in ["RatFileChanged", "RatTurnStart", "RatPermission"] {
        assert_eq!(nvim.events(event), [] as [Json; 0]);
    }
    // What was replayed is what is there the next time.
    nvim.quit();
    agent.expect_gone();
    let mut nvim = nvim.beside(wide());
    start(&mut nvim, &mut agent, &can(false, &["resume"]));
    let request = agent.expect_request("session/resume");
    agent.reply(&request, json!({}));
    nvim.poll_screen("its answer, replayed");
}

/// ACP 49.
#[test]
fn a_session_the_agent_does_not_know_any_more_is_told_and_a_new_one_begins() {
    let resume = can(false, &["resume"]);
    let (mut nvim, mut agent) = after_a_restart(&resume);
    let request = agent.expect_request("session/resume");
    agent.reply_error(&request, -32002, "no such session");
    open(&mut agent, "s2");
    nvim.poll_state("ready");
    nvim.poll_screen("a new one begins");
    nvim.poll_screen("what it answered");
    converse(&mut nvim, &mut agent, "s2", "anew", "from the start");
    nvim.quit();
    agent.expect_gone();
    let mut nvim = nvim.beside(wide());
    start(&mut nvim, &mut agent, &resume);
    let request = agent.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s2"), "the lost one is forgotten");
    agent.reply(&request, json!({}));
    nvim.poll_screen("from the start");
}

#[test]
fn an_agent_that_cannot_go_on_begins_anew_without_a_word() {
    let (mut nvim, mut agent) = after_a_restart(&json!({}));
    open(&mut agent, "s2");
    nvim.poll_state("ready");
    let text = transcript(&mut nvim, 1);
    assert!(!text.contains("what it answered") && !text.contains("cannot"), "{text}");
}

#[test]
fn a_new_session_is_a_matter_of_a_bang_or_of_an_option() {
    let resume = can(false, &["resume"]);
    let (mut nvim, mut agent) = after_a_restart(&resume);
    let request = agent.expect_request("session/resume");
    agent.reply(&request, json!({}));
    nvim.poll_state("ready");
    nvim.command("RatStart!");
    open(&mut agent, "s2");
    nvim.poll("the new session", |nvim| nvim.status()["session_id"] == json!("s2"));
    assert!(!transcript(&mut nvim, 2).contains("what I asked"));
    nvim.quit();
    agent.expect_gone();
    let mut nvim = nvim.beside(wide());
    let fake = agent.config();
    nvim.setup(json!({"agents": {"fake": fake}, "resume": "never"}));
    nvim.command("RatStart");
    agent.expect_start();
    initialize(&mut agent, &resume);
    open(&mut agent, "s3");
}

#[test]
fn what_was_said_survives_the_sudden_end_of_neovim() {
    let resume = can(false, &["resume"]);
    let (mut nvim, mut agent) = used(&resume);
    nvim.send("and a prompt");
    agent.expect_request("session/prompt");
    nvim.poll_state("running");
    nvim.kill();
    agent.expect_gone();
    let mut nvim = nvim.beside(wide());
    start(&mut nvim, &mut agent, &resume);
    let request = agent.expect_request("session/resume");
    agent.reply(&request, json!({}));
    nvim.poll_screen("what it answered");
    nvim.poll_screen("and a prompt");
}

#[test]
fn a_session_that_another_neovim_has_open_is_left_to_it() {
    let resume = can(false, &["resume"]);
    let mut first = Nvim::start(wide());
    let mut agent = first.listen();
    start(&mut first, &mut agent, &resume);
    open(&mut agent, "s1");
    converse(&mut first, &mut agent, "s1", "what I asked", "what it answered");
    let mut second = first.beside(wide());
    let mut other = second.listen();
    start(&mut second, &mut other, &resume);
    open(&mut other, "s2");
    converse(&mut second, &mut other, "s2", "mine", "yours");
    second.command("RatSessions");
    second.poll_screen("what I asked · fake · now · open in another");
    second.poll_screen("mine · fake · now · this one");
}

#[test]
fn of_two_neovims_that_start_at_once_one_goes_on_with_the_session() {
    let resume = can(false, &["resume"]);
    let (mut before, _agent) = used(&resume);
    before.quit();
    let mut both = [before.beside(wide()), before.beside(wide())];
    let mut agents = both.each_ref().map(Nvim::listen);
    for (nvim, agent) in both.iter_mut().zip(&agents) {
        nvim.setup(json!({"agents": {"fake": agent.config()}, "default_agent": "fake"}));
    }
    for nvim in &mut both {
        nvim.command("RatStart");
    }
    for agent in &mut agents {
        agent.expect_start();
        initialize(agent, &resume);
    }
    let mut resumed = 0;
    for (nvim, agent) in both.iter_mut().zip(&mut agents) {
        let mut wanted = String::new();
        nvim.poll("a session that is asked for", |_| {
            wanted = agent
                .unexpected()
                .into_iter()
                .find(|it| it.starts_with("session/"))
                .unwrap_or_default();
            !wanted.is_empty()
        });
        if wanted == "session/resume" {
            resumed += 1;
            let request = agent.expect_request("session/resume");
            agent.reply(&request, json!({}));
        } else {
            open(agent, "s2");
            nvim.poll_screen("another Neovim has your last session open");
        }
        nvim.poll_state("ready");
    }
    assert_eq!(resumed, 1);
}

#[test]
fn a_session_that_was_stopped_is_free_for_another_neovim() {
    let resume = can(false, &["resume"]);
    let (mut first, _agent) = used(&resume);
    first.command("RatStop");
    first.poll_state("stopped");
    let mut second = first.beside(wide());
    let mut other = second.listen();
    start(&mut second, &mut other, &resume);
    let request = other.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s1"));
    other.reply(&request, json!({}));
    second.poll_screen("what it answered");
}

/// ACP 50, 51.
#[test]
fn sessions_are_listed_page_by_page_and_the_chosen_one_is_loaded() {
    let (mut nvim, mut agent) = used(&can(true, &["list"]));
    nvim.command("RatSessions");
    let request = agent.expect_request("session/list");
    let cwd = json!(nvim.cwd());
    assert_eq!(request.params, json!({"cwd": cwd}));
    let page = json!({"nextCursor": "opaque\n1", "sessions": [
        {"sessionId": "s1", "cwd": cwd, "title": "The first", "updatedAt": "2026-01-01T00:00:00Z"},
        {"sessionId": "old", "cwd": cwd, "title": null, "updatedAt": "not a time"},
        {"sessionId": "elsewhere", "cwd": "/elsewhere"},
        {"nonsense": true},
    ]});
    agent.reply(&request, page);
    nvim.poll_screen("The first · fake · now · this one");
    nvim.poll_screen("old · fake");
    choose(&mut nvim, "Open which session?", "more");
    let request = agent.expect_request("session/list");
    assert_eq!(request.params, json!({"cwd": cwd, "cursor": "opaque\n1"}));
    let older = json!({"sessionId": "older", "cwd": cwd, "title": "From 2020",
        "updatedAt": "2020-05-01T12:00:00+02:00"});
    agent.reply(&request, json!({"sessions": [older]}));
    nvim.poll_screen("From 2020 · fake · 2020-05-01");
    assert!(!nvim.screen().text().contains("more …"));
    choose(&mut nvim, "Open which session?", "From 2020");
    let request = agent.expect_request("session/load");
    assert_eq!(request.params["sessionId"], json!("older"));
    agent.say("older", "long ago");
    agent.reply(&request, json!({}));
    nvim.poll_screen("long ago");
    // The one before is as it was; choosing it shows it again.
    nvim.command("RatSessions");
    let request = agent.expect_request("session/list");
    agent.reply(&request, json!({"sessions": []}));
    choose(&mut nvim, "Open which session?", "what I asked");
    nvim.poll("its chat", |nvim| nvim.status()["session_id"] == json!("s1"));
    nvim.poll_screen("what it answered");
    assert_eq!(agent.unexpected(), [""; 0]);
}

#[test]
fn a_list_that_fails_or_is_out_of_date_is_told_and_what_is_known_is_shown() {
    let (mut nvim, mut agent) = used(&can(true, &["list"]));
    nvim.command("RatSessions");
    let request = agent.expect_request("session/list");
    agent.reply_error(&request, -32603, "the database is locked");
    nvim.poll_screen("fake does not list its sessions (error -32603: the database is locked)");
    choose(&mut nvim, "Open which session?", "what I asked");
    nvim.command("RatSessions");
    let request = agent.expect_request("session/list");
    let one = json!({"sessionId": "s9", "cwd": nvim.cwd(), "title": "The ninth"});
    agent.reply(&request, json!({"sessions": [one], "nextCursor": "2"}));
    choose(&mut nvim, "Open which session?", "more");
    let request = agent.expect_request("session/list");
    agent.reply_error(&request, -32602, "cursor expired");
    nvim.poll_screen(":RatSessions begins it anew");
    nvim.poll_screen("The ninth");
    nvim.input("<Esc>");
    converse(&mut nvim, &mut agent, "s1", "and then", "the rest");
}

#[test]
fn a_fork_begins_with_what_was_said() {
    let (mut nvim, mut agent) = used(&can(true, &["fork"]));
    nvim.command("RatSessions fork");
    choose(&mut nvim, "Begin a session from which one?", "what I asked");
    let request = agent.expect_request("session/fork");
    assert_eq!(request.params["sessionId"], json!("s1"));
    agent.reply(&request, json!({"sessionId": "s2"}));
    nvim.poll("the fork", |nvim| nvim.status()["session_id"] == json!("s2"));
    nvim.poll_screen("what it answered");
    converse(&mut nvim, &mut agent, "s2", "another way", "to the same end");
    assert!(!transcript(&mut nvim, 1).contains("another way"));
}

/// ACP 48, 52.
#[test]
fn a_deleted_session_is_closed_and_gone_and_its_chat_begins_anew() {
    let (mut nvim, mut agent) = used(&can(false, &["close", "delete", "resume"]));
    nvim.command("RatSessions delete");
    nvim.poll_screen("Delete which session?");
    // A number and `<CR>` in one go choose the session, and answer nothing else.
    nvim.input("1<CR>2<CR>");
    nvim.poll_screen("for good?");
    nvim.poll_screen("<CR> choose");
    nvim.input("<CR>");
    choose(&mut nvim, "for good?", "Delete it");
    let close = agent.expect_request("session/close");
    agent.reply(&close, json!({}));
    let delete = agent.expect_request("session/delete");
    assert_eq!(delete.params, json!({"sessionId": "s1"}));
    agent.reply(&delete, json!({}));
    open(&mut agent, "s2");
    nvim.poll("a new session", |nvim| nvim.status()["session_id"] == json!("s2"));
    assert!(!transcript(&mut nvim, 1).contains("what I asked"));
    nvim.command("RatSessions");
    nvim.poll_screen("there is no session yet");
    converse(&mut nvim, &mut agent, "s2", "anew", "from the start");
}

/// ACP 47, 48.
#[test]
fn a_closed_session_leaves_the_others_alone() {
    let mut nvim = Nvim::start(wide());
    let mut agent = nvim.listen();
    start(&mut nvim, &mut agent, &can(false, &["close", "resume"]));
    open(&mut agent, "s1");
    converse(&mut nvim, &mut agent, "s1", "first", "one");
    nvim.command("RatStart!");
    open(&mut agent, "s2");
    nvim.poll("the second", |nvim| nvim.status()["session_id"] == json!("s2"));
    converse(&mut nvim, &mut agent, "s2", "second", "two");
    nvim.command("RatSessions close");
    choose(&mut nvim, "Close which session?", "first");
    let close = agent.expect_request("session/close");
    assert_eq!(close.params, json!({"sessionId": "s1"}));
    agent.reply(&close, json!({}));
    converse(&mut nvim, &mut agent, "s2", "third", "three");
    // It can be opened again.
    nvim.command("RatSessions");
    choose(&mut nvim, "Open which session?", "first");
    let request = agent.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s1"));
    agent.reply(&request, json!({}));
    nvim.poll_screen("one");
    converse(&mut nvim, &mut agent, "s1", "fourth", "four");
}

/// ACP 53.
#[test]
fn a_title_is_taken_and_cleared_and_remembered() {
    let resume = can(false, &["resume"]);
    let (mut nvim, mut agent) = used(&resume);
    let info = |fields: Json| {
        let mut update = json!({"sessionUpdate": "session_info_update"});
        update.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        update
    };
    agent.update("s1", info(json!({"title": "The title"})));
    nvim.poll_screen("The title");
    agent.update("s1", info(json!({"updatedAt": "2026-11-21T12:00:00Z"})));
    nvim.command("RatSessions");
    nvim.poll_screen("The title · fake");
    nvim.input("<Esc>");
    agent.update("s1", info(json!({"title": null})));
    nvim.poll("no title", |nvim| !nvim.screen().text().contains("The title"));
    nvim.command("RatSessions");
    nvim.poll_screen("what I asked · fake");
}

#[test]
fn an_unknown_word_after_ratsessions_is_told() {
    let mut nvim = Nvim::start(wide());
    nvim.command("RatSessions destroy");
    nvim.poll_screen(":RatSessions does not know \"destroy\"");
    let complete = "return vim.fn.getcompletion('RatSessions ', 'cmdline')";
    assert_eq!(nvim.lua(complete, json!([])), json!(["open", "fork", "close", "delete"]));
}
