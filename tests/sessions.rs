//! Sessions in real Neovim: gone on with after a restart, chosen, forked, closed and deleted; several on one agent.

use crate::support::{Agent, Chat, Nvim, Options};
use serde_json::{Value as Json, json};

/// What an agent can do: `load`, and these session capabilities.
fn can(load: bool, session: &[&str]) -> Json {
    let session: serde_json::Map<String, Json> =
        session.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    json!({"agentCapabilities": {"loadSession": load, "sessionCapabilities": session}})
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
    let Chat { mut nvim, mut agent, .. } = Chat::builder().initialized(can.clone()).start();
    converse(&mut nvim, &mut agent, "s1", "what I asked", "what it answered");
    (nvim, agent)
}

/// Starts the agent in the Neovim that follows this one, which has ended or goes on beside it.
fn next(nvim: &Nvim, can: &Json) -> (Nvim, Agent) {
    let (nvim, mut agent) = Chat::builder().neovim(nvim.beside(Options::wide())).launch();
    agent.initialize(can.clone());
    (nvim, agent)
}

fn end(nvim: &mut Nvim, agent: &mut Agent) {
    nvim.quit();
    agent.expect_gone();
}

/// A Neovim after one in which a session `s1` was used, with an agent that can do this.
fn after_a_restart(can: &Json) -> (Nvim, Agent) {
    let (mut nvim, mut agent) = used(can);
    end(&mut nvim, &mut agent);
    next(&nvim, can)
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
/// Holds (Sessions): After a restart a session is resumed with our transcript.
#[test]
fn a_session_is_resumed_after_a_restart_with_what_was_said() {
    let (mut nvim, mut agent) = after_a_restart(&can(true, &["resume"]));
    let request = agent.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s1"));
    assert_eq!(request.params["cwd"], json!(nvim.cwd()));
    agent.reply(&request, json!({}));
    nvim.poll_state("ready");
    nvim.poll_screen("what it answered");
    nvim.poll_screen("Resumed your last session");
    converse(&mut nvim, &mut agent, "s1", "and then", "the rest");
    let text = transcript(&mut nvim, 1);
    assert_eq!(text.matches("what I asked").count(), 1, "{text}");
}

/// ACP 41, 42, 43.
/// Holds (Sessions): After a restart a session that cannot be resumed is loaded, and the agent's replay is shown.
#[test]
fn a_session_that_can_only_be_loaded_shows_what_the_agent_says_of_it() {
    let (mut nvim, mut agent) = after_a_restart(&can(true, &[]));
    let request = agent.expect_request("session/load");
    assert_eq!(request.params["mcpServers"][0]["name"], json!("rat"));
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
    end(&mut nvim, &mut agent);
    let (mut nvim, mut agent) = next(&nvim, &can(false, &["resume"]));
    let request = agent.expect_request("session/resume");
    agent.reply(&request, json!({}));
    nvim.poll_screen("its answer, replayed");
    nvim.poll_screen("Resumed your last session");
    // Nothing was said in between: one note of it is enough.
    let text = transcript(&mut nvim, 1);
    assert_eq!(text.matches("your last session").count(), 1, "{text}");
}

/// ACP 49.
/// Holds (Sessions): A session that cannot be resumed is reported, and a new one is opened.
#[test]
fn a_session_the_agent_does_not_know_any_more_is_told_and_a_new_one_begins() {
    let resume = can(false, &["resume"]);
    let (mut nvim, mut agent) = after_a_restart(&resume);
    let request = agent.expect_request("session/resume");
    agent.reply_error(&request, -32002, "no such session");
    agent.open("s2");
    nvim.poll_state("ready");
    nvim.poll_screen("Started a new one");
    nvim.poll_screen("what it answered");
    converse(&mut nvim, &mut agent, "s2", "anew", "from the start");
    end(&mut nvim, &mut agent);
    let (mut nvim, mut agent) = next(&nvim, &resume);
    let request = agent.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s2"), "the lost one is forgotten");
    agent.reply(&request, json!({}));
    nvim.poll_screen("from the start");
}

#[test]
fn an_agent_that_cannot_go_on_begins_anew_without_a_word() {
    let (mut nvim, mut agent) = after_a_restart(&json!({}));
    agent.open("s2");
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
    agent.open("s2");
    nvim.poll("the new session", |nvim| nvim.status()["session_id"] == json!("s2"));
    assert!(!transcript(&mut nvim, 2).contains("what I asked"));
    end(&mut nvim, &mut agent);
    let later = Chat::builder().neovim(nvim.beside(Options::wide()));
    let (_nvim, mut agent) = later.setup(json!({"resume": "never"})).launch();
    agent.initialize(resume);
    agent.open("s3");
}

/// Holds (Sessions): The transcript survives a killed Neovim.
#[test]
fn what_was_said_survives_the_sudden_end_of_neovim() {
    let resume = can(false, &["resume"]);
    let (mut nvim, mut agent) = used(&resume);
    nvim.send("and a prompt");
    agent.expect_request("session/prompt");
    nvim.poll_state("running");
    nvim.kill();
    agent.expect_gone();
    let (mut nvim, mut agent) = next(&nvim, &resume);
    let request = agent.expect_request("session/resume");
    agent.reply(&request, json!({}));
    nvim.poll_screen("what it answered");
    nvim.poll_screen("and a prompt");
}

/// Holds (Sessions): A session open in another Neovim is left to it.
#[test]
fn a_session_that_another_neovim_has_open_is_left_to_it() {
    let resume = can(false, &["resume"]);
    let (first, _agent) = used(&resume);
    let (mut second, mut other) = next(&first, &resume);
    other.open("s2");
    converse(&mut second, &mut other, "s2", "mine", "yours");
    second.command("RatSessions");
    second.poll_screen("what I asked · fake · now · open in another");
    second.poll_screen("mine · fake · now · current");
}

/// Holds (Sessions): Of two Neovims started at once, one resumes the session.
#[test]
fn of_two_neovims_that_start_at_once_one_goes_on_with_the_session() {
    let resume = can(false, &["resume"]);
    let (mut before, _agent) = used(&resume);
    before.quit();
    let mut both =
        [(); 2].map(|()| Chat::builder().neovim(before.beside(Options::wide())).configure());
    for (nvim, _) in &mut both {
        nvim.command("RatStart");
    }
    for (_, agent) in &mut both {
        agent.expect_start();
        agent.initialize(resume.clone());
    }
    let mut resumed = 0;
    for (nvim, agent) in &mut both {
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
            agent.open("s2");
            nvim.poll_screen("Your last session is open in another Neovim");
        }
        nvim.poll_state("ready");
    }
    assert_eq!(resumed, 1);
}

/// Holds (Sessions): A session that was stopped can be resumed by another Neovim.
#[test]
fn a_session_that_was_stopped_is_free_for_another_neovim() {
    let resume = can(false, &["resume"]);
    let (mut first, _agent) = used(&resume);
    first.command("RatStop");
    first.poll_state("stopped");
    let (mut second, mut other) = next(&first, &resume);
    let request = other.expect_request("session/resume");
    assert_eq!(request.params["sessionId"], json!("s1"));
    other.reply(&request, json!({}));
    second.poll_screen("what it answered");
}

/// ACP 50, 51.
/// Holds (Sessions): Sessions are listed page by page, and the chosen one is loaded.
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
    nvim.poll_screen("The first · fake · now · current");
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

/// Holds (Sessions): A list that fails or has expired is reported, and the known sessions are shown.
#[test]
fn a_list_that_fails_or_is_out_of_date_is_told_and_what_is_known_is_shown() {
    let (mut nvim, mut agent) = used(&can(true, &["list"]));
    nvim.command("RatSessions");
    let request = agent.expect_request("session/list");
    agent.reply_error(&request, -32603, "the database is locked");
    nvim.poll_screen("fake could not list its sessions: the database is locked (error -32603)");
    choose(&mut nvim, "Open which session?", "what I asked");
    nvim.command("RatSessions");
    let request = agent.expect_request("session/list");
    let one = json!({"sessionId": "s9", "cwd": nvim.cwd(), "title": "The ninth"});
    agent.reply(&request, json!({"sessions": [one], "nextCursor": "2"}));
    choose(&mut nvim, "Open which session?", "more");
    let request = agent.expect_request("session/list");
    agent.reply_error(&request, -32602, "cursor expired");
    nvim.poll_screen("the session list is out of date");
    nvim.poll_screen("The ninth");
    nvim.input("<Esc>");
    converse(&mut nvim, &mut agent, "s1", "and then", "the rest");
}

/// Holds (Sessions): A fork begins with the transcript of its session.
#[test]
fn a_fork_begins_with_what_was_said() {
    let (mut nvim, mut agent) = used(&can(true, &["fork"]));
    nvim.command("RatSessions fork");
    choose(&mut nvim, "Fork which session?", "what I asked");
    let request = agent.expect_request("session/fork");
    assert_eq!(request.params["sessionId"], json!("s1"));
    agent.reply(&request, json!({"sessionId": "s2"}));
    nvim.poll("the fork", |nvim| nvim.status()["session_id"] == json!("s2"));
    nvim.poll_screen("what it answered");
    converse(&mut nvim, &mut agent, "s2", "another way", "to the same end");
    assert!(!transcript(&mut nvim, 1).contains("another way"));
}

/// Holds (Sessions): `:RatFork` says where an agent forks whole sessions only, or none at all.
#[test]
fn a_fork_at_an_earlier_turn_is_not_pretended() {
    let (mut nvim, mut agent) = used(&can(true, &["fork"]));
    converse(&mut nvim, &mut agent, "s1", "and then", "the rest");
    nvim.command("RatFork");
    let request = agent.expect_request("session/fork");
    assert_eq!(request.params["sessionId"], json!("s1"));
    nvim.poll_screen("Forking the whole session as it is now");
    assert!(!nvim.screen().contains("earlier turn"), "nobody has asked for one");
    agent.reply(&request, json!({"sessionId": "s2"}));
    nvim.poll("the fork", |nvim| nvim.status()["session_id"] == json!("s2"));
    assert!(transcript(&mut nvim, 2).contains("the rest"));
    let (mut nvim, mut agent) = used(&can(true, &[]));
    nvim.command("RatFork");
    nvim.poll_screen("cannot fork sessions");
    assert_eq!(agent.unexpected(), [""; 0]);
}

/// ACP 48, 52.
/// Holds (Sessions): A deleted session is closed first, and its chat opens a new one.
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
    agent.open("s2");
    nvim.poll("a new session", |nvim| nvim.status()["session_id"] == json!("s2"));
    assert!(!transcript(&mut nvim, 1).contains("what I asked"));
    nvim.command("RatSessions");
    nvim.poll_screen("There are no sessions yet");
    converse(&mut nvim, &mut agent, "s2", "anew", "from the start");
}

/// ACP 47, 48.
/// Holds (Sessions): Closing a session leaves the others alone.
#[test]
fn a_closed_session_leaves_the_others_alone() {
    let can = can(false, &["close", "resume"]);
    let Chat { mut nvim, mut agent, .. } = Chat::builder().initialized(can).start();
    converse(&mut nvim, &mut agent, "s1", "first", "one");
    nvim.command("RatStart!");
    agent.open("s2");
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
    let mut nvim = Nvim::wide();
    nvim.command("RatSessions destroy");
    nvim.poll_screen(":RatSessions takes open, fork, close or delete, not \"destroy\"");
    let complete = "return vim.fn.getcompletion('RatSessions ', 'cmdline')";
    assert_eq!(nvim.lua(complete, json!([])), json!(["open", "fork", "close", "delete"]));
}
