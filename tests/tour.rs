//! The tour agent over pipes, with a client that the test plays: what it says, asks and does, and how it stops.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use agent_client_protocol_schema::v1::SessionNotification;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::support::{TempFolder, repository};

const NOTE: &str = "# A note nobody has saved.\n";

/// The client: answers like an editor whose buffers stand in `buffers`, and keeps what the agent showed.
struct Client {
    to_agent: Option<PipeWriter>,
    from_agent: BufReader<PipeReader>,
    thread: Option<JoinHandle<()>>,
    project: TempFolder,
    buffers: HashMap<PathBuf, String>,
    /// What the user answers to permission requests: an option id, or nothing, which is a cancel.
    verdict: Option<&'static str>,
    writes: Result<(), &'static str>,
    session: String,
    message: String,
    calls: HashMap<String, Json>,
    plan: Json,
    updates: usize,
    asked: Vec<String>,
}

impl Client {
    /// Starts the agent on a copy of the sample project whose file has an unsaved line in its buffer.
    fn start(pace: f64) -> Self {
        let mut client = Self::bare(pace, sample());
        let path = client.project.path().join("duration.py");
        let text = std::fs::read_to_string(&path).unwrap();
        client.buffers.insert(path, format!("{NOTE}{text}"));
        client.open(json!({"fs": {"readTextFile": true, "writeTextFile": true}}));
        client
    }

    fn bare(pace: f64, project: TempFolder) -> Self {
        let (input, to_agent) = std::io::pipe().unwrap();
        let (from_agent, output) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || rat_nvim::tour::serve(input, output, pace));
        Self {
            to_agent: Some(to_agent),
            from_agent: BufReader::new(from_agent),
            thread: Some(thread),
            project,
            buffers: HashMap::new(),
            verdict: Some("once"),
            writes: Ok(()),
            session: String::new(),
            message: String::new(),
            calls: HashMap::new(),
            plan: Json::Null,
            updates: 0,
            asked: Vec::new(),
        }
    }

    fn open(&mut self, capabilities: Json) {
        self.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}))
            .unwrap();
        let cwd = self.project.path();
        let opened = self.call("session/new", json!({"cwd": cwd, "mcpServers": []})).unwrap();
        opened["sessionId"].as_str().unwrap().clone_into(&mut self.session);
    }

    fn call(&mut self, method: &str, params: Json) -> Result<Json, Json> {
        self.send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        self.play_until(|message| message["id"] == json!(method)).map(outcome).unwrap()
    }

    fn prompt(&mut self, text: &str) -> String {
        self.send_prompt(text);
        self.end_of_turn()
    }

    fn send_prompt(&mut self, text: &str) {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        self.send(
            &json!({"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": params}),
        );
    }

    fn end_of_turn(&mut self) -> String {
        let answer = self.play_until(|message| message["id"] == json!(7)).map(outcome).unwrap();
        answer.unwrap()["stopReason"].as_str().unwrap().to_owned()
    }

    fn cancel(&mut self) {
        let params = json!({"sessionId": self.session});
        self.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
    }

    /// Answers and shows until an answer fits; `None` at the end of the agent's output.
    fn play_until(&mut self, fits: impl Fn(&Json) -> bool) -> Option<Json> {
        loop {
            let message = self.next()?;
            if message.get("method").is_none() && fits(&message) {
                return Some(message);
            }
            self.play(&message);
        }
    }

    fn next(&mut self) -> Option<Json> {
        let mut line = String::new();
        (self.from_agent.read_line(&mut line).unwrap() > 0)
            .then(|| serde_json::from_str(&line).unwrap())
    }

    fn play(&mut self, message: &Json) {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        if method == "session/update" {
            return self.show(params);
        }
        self.asked.push(method.to_owned());
        let Some(result) = self.result(method, params) else { return };
        let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
        match result {
            Ok(result) => answer["result"] = result,
            Err(text) => answer["error"] = json!({"code": -32603, "message": text}),
        }
        self.send(&answer);
    }

    /// What to answer to a request; nothing to one the user leaves open.
    fn result(&mut self, method: &str, params: &Json) -> Option<Result<Json, String>> {
        let path = PathBuf::from(params["path"].as_str().unwrap_or_default());
        Some(match method {
            "fs/read_text_file" => Ok(json!({"content": self.buffers[&path]})),
            "fs/write_text_file" => self.writes.map_err(str::to_owned).map(|()| {
                let text = params["content"].as_str().unwrap().to_owned();
                std::fs::write(&path, text.replace(NOTE, "")).unwrap();
                self.buffers.insert(path, text);
                json!({})
            }),
            "session/request_permission" => {
                let option = self.verdict?;
                Ok(json!({"outcome": {"outcome": "selected", "optionId": option}}))
            }
            _ => Err(format!("unexpected request {method}")),
        })
    }

    fn show(&mut self, params: &Json) {
        expect_valid(params);
        self.updates += 1;
        let update = &params["update"];
        match update["sessionUpdate"].as_str().unwrap() {
            "agent_message_chunk" => {
                self.message.push_str(update["content"]["text"].as_str().unwrap());
            }
            "plan" => self.plan = update["entries"].clone(),
            "tool_call" | "tool_call_update" => {
                let id = update["toolCallId"].as_str().unwrap().to_owned();
                let call = self.calls.entry(id).or_insert_with(|| json!({}));
                call.as_object_mut().unwrap().extend(update.as_object().unwrap().clone());
            }
            _ => {}
        }
    }

    fn send(&mut self, message: &Json) {
        writeln!(self.to_agent.as_mut().unwrap(), "{message}").unwrap();
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.project.path().join("duration.py")).unwrap()
    }

    fn call_of_kind(&self, kind: &str) -> &Json {
        self.calls.values().find(|call| call["kind"] == json!(kind)).unwrap()
    }

    fn open_calls(&self) -> usize {
        self.calls
            .values()
            .filter(|call| !["completed", "failed"].contains(&call["status"].as_str().unwrap()))
            .count()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.to_agent.take());
        while self.next().is_some() {}
        let played = self.thread.take().unwrap().join();
        assert!(played.is_ok() || std::thread::panicking());
    }
}

/// Fails on an update that a strict client would not understand.
fn expect_valid(params: &Json) {
    let decoded: SessionNotification = serde_json::from_value(params.clone()).unwrap();
    let again = serde_json::to_value(decoded).unwrap();
    assert_eq!(again["update"]["sessionUpdate"], params["update"]["sessionUpdate"]);
}

fn outcome(answer: Json) -> Result<Json, Json> {
    answer.get("error").map_or_else(|| Ok(answer["result"].clone()), |error| Err(error.clone()))
}

fn sample() -> TempFolder {
    let folder = TempFolder::new();
    for entry in std::fs::read_dir(repository().join("tests/sample")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            folder.file(path.file_name().unwrap().to_str().unwrap(), std::fs::read(&path).unwrap());
        }
    }
    folder
}

fn tests_pass(folder: &Path) -> bool {
    let mut command = Command::new("python3");
    command.args(["-B", "-m", "unittest"]).current_dir(folder).output().unwrap().status.success()
}

#[test]
fn the_sample_has_the_flaw_that_its_tests_find() {
    assert!(!tests_pass(sample().path()));
}

#[test]
fn the_tour_repairs_the_flaw_and_keeps_what_is_unsaved() {
    let mut client = Client::start(0.0);
    let before = client.file();
    assert_eq!(client.prompt("hello"), "end_turn");
    assert_eq!(client.file(), before.replace("seconds > size", "seconds >= size"));
    let buffer = &client.buffers[&client.project.path().join("duration.py")];
    assert_eq!(*buffer, format!("{NOTE}{}", client.file()));
    assert!(tests_pass(client.project.path()));

    assert!(client.message.contains(NOTE.trim()), "{}", client.message);
    assert_eq!(
        client.asked,
        ["fs/read_text_file", "session/request_permission", "fs/write_text_file"]
    );
    assert!(
        client.plan.as_array().unwrap().iter().all(|entry| entry["status"] == json!("completed"))
    );
    let edit = client.call_of_kind("edit");
    assert_eq!(edit["content"][0]["newText"], json!(buffer));
    assert_eq!(client.call_of_kind("search")["locations"][0]["line"], json!(9));
    let run = client.call_of_kind("execute");
    assert_eq!(run["status"], json!("completed"));
    assert!(run["content"][0]["content"]["text"].as_str().unwrap().contains("Ran 15 tests"));
    assert_eq!(client.open_calls(), 0);
}

#[test]
fn a_no_changes_nothing() {
    let mut client = Client::start(0.0);
    client.verdict = Some("no");
    let before = client.file();
    assert_eq!(client.prompt("hello"), "end_turn");
    assert_eq!(client.file(), before);
    assert!(!client.asked.contains(&"fs/write_text_file".to_owned()));
    assert!(client.message.contains("You rejected it."), "{}", client.message);
    assert_eq!(client.call_of_kind("edit")["status"], json!("failed"));
}

#[test]
fn a_no_to_a_new_file_says_that_it_was_not_created() {
    let mut client = Client::bare(0.0, TempFolder::new());
    client.open(json!({"fs": {"readTextFile": true, "writeTextFile": true}}));
    client.verdict = Some("no");
    assert_eq!(client.prompt("hello"), "end_turn");
    assert!(client.message.contains("`rat-tour.md` was not created."), "{}", client.message);
    assert!(!client.message.contains("stays as it is"), "{}", client.message);
}

#[test]
fn always_is_not_asked_again_in_the_session() {
    let mut client = Client::start(0.0);
    client.verdict = Some("always");
    client.prompt("hello");
    let path = client.project.path().join("duration.py");
    let flawed = client.buffers[&path].replace(">= size", "> size");
    client.buffers.insert(path, flawed);
    client.asked.clear();
    assert_eq!(client.prompt("/tour"), "end_turn");
    assert_eq!(client.asked, ["fs/read_text_file", "fs/write_text_file"]);
}

#[test]
fn an_error_of_the_client_is_explained() {
    let mut client = Client::start(0.0);
    client.writes = Err("line 3 was changed since you read it");
    assert_eq!(client.prompt("hello"), "end_turn");
    assert!(client.message.contains("line 3 was changed since you read it"), "{}", client.message);
    assert_eq!(client.call_of_kind("edit")["status"], json!("failed"));
    assert!(!client.calls.values().any(|call| call["kind"] == json!("execute")));
}

#[test]
fn without_the_clients_files_it_works_on_the_disk() {
    let mut client = Client::bare(0.0, sample());
    client.open(json!({}));
    assert_eq!(client.prompt("hello"), "end_turn");
    assert_eq!(client.asked, ["session/request_permission"]);
    assert!(client.file().contains("seconds >= size"));
}

#[test]
fn elsewhere_it_asks_for_a_new_file_only() {
    let mut client = Client::bare(0.0, TempFolder::new());
    client.open(json!({"fs": {"writeTextFile": true}}));
    client.prompt("hello");
    let notes = client.project.path().join("rat-tour.md");
    assert_eq!(client.buffers[&notes], std::fs::read_to_string(&notes).unwrap());
    assert_eq!(client.call_of_kind("edit")["content"][0]["oldText"], Json::Null);
}

#[test]
fn a_cancel_is_heard_in_the_middle_of_a_text() {
    let mut client = Client::start(1.0);
    client.send_prompt("hello");
    while !client.message.contains("Welcome") {
        let message = client.next().unwrap();
        client.play(&message);
    }
    client.cancel();
    assert_eq!(client.end_of_turn(), "cancelled");
    assert!(!client.message.contains("to list all keys"), "all of it was said: {}", client.message);
    assert_eq!(client.open_calls(), 0);
}

#[test]
fn a_cancel_ends_a_question_and_the_next_prompt_works() {
    let mut client = Client::start(0.0);
    client.verdict = None;
    client.send_prompt("hello");
    while client.asked.last().is_none_or(|method| method != "session/request_permission") {
        let message = client.next().unwrap();
        client.play(&message);
    }
    client.cancel();
    assert_eq!(client.end_of_turn(), "cancelled");
    assert_eq!(client.open_calls(), 0);
    client.verdict = Some("once");
    assert_eq!(client.prompt("hello again"), "end_turn");
    assert!(client.file().contains("seconds >= size"));
}

#[test]
fn a_second_prompt_is_told_what_arrived() {
    let mut client = Client::start(0.0);
    client.prompt("hello");
    client.message.clear();
    let resource = json!({"uri": "file:///a.lua", "text": "one\ntwo\n"});
    let prompt =
        json!([{"type": "text", "text": "look\nhere"}, {"type": "resource", "resource": resource}]);
    client.call("session/prompt", json!({"sessionId": client.session, "prompt": prompt})).unwrap();
    assert!(client.message.contains("a text of 2 lines: look"), "{}", client.message);
    assert!(client.message.contains("2 lines of `file:///a.lua`"), "{}", client.message);
}

#[test]
fn commands_do_what_they_say() {
    let mut client = Client::start(0.0);
    client.prompt("/stress");
    assert_eq!(client.message.matches(" of *5000*").count(), 5000);
    assert!(client.message.ends_with("`5000` of *5000*\n"));
    client.prompt("/plan tea, biscuits");
    let contents: Vec<&Json> =
        client.plan.as_array().unwrap().iter().map(|entry| &entry["content"]).collect();
    assert_eq!(contents, ["tea", "biscuits"]);
}

#[test]
fn wrong_requests_get_errors_and_wrong_lines_do_no_harm() {
    let mut client = Client::bare(0.0, TempFolder::new());
    let code = |result: Result<Json, Json>| result.unwrap_err()["code"].as_i64().unwrap();
    assert_eq!(code(client.call("session/new", json!({"cwd": "/", "mcpServers": []}))), -32600);
    client.call("initialize", json!({"protocolVersion": 1})).unwrap();
    assert_eq!(code(client.call("session/new", json!({"cwd": "here", "mcpServers": []}))), -32602);
    assert_eq!(code(client.call("session/load", json!({"sessionId": "x"}))), -32601);
    assert_eq!(
        code(client.call("session/prompt", json!({"sessionId": "x", "prompt": []}))),
        -32002
    );
    client
        .to_agent
        .as_mut()
        .unwrap()
        .write_all(b"no json\n\n{\"method\": \"unknown\"}\n\xff\n")
        .unwrap();
    let refused = client.play_until(|message| message["id"].is_null()).unwrap();
    assert_eq!(refused["error"]["code"], json!(-32700));
    client.call("session/new", json!({"cwd": "/", "mcpServers": []})).unwrap();
}

#[test]
fn a_second_turn_at_the_same_time_is_refused() {
    let mut client = Client::start(0.0);
    client.verdict = None;
    client.send_prompt("hello");
    let params = json!({"sessionId": client.session, "prompt": []});
    let refused = client.call("session/prompt", params);
    assert_eq!(refused.unwrap_err()["code"], json!(-32600));
    client.cancel();
    assert_eq!(client.end_of_turn(), "cancelled");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whenever it comes, a cancel ends the turn with one answer and leaves no tool call open.
    #[test]
    fn a_cancel_at_any_time_ends_everything(after in 0usize..450) {
        let mut client = Client::start(0.0);
        let start = client.updates;
        client.send_prompt("hello");
        let mut ended = None;
        while ended.is_none() && client.updates - start < after {
            let message = client.next().unwrap();
            ended = message["result"]["stopReason"].as_str().map(str::to_owned);
            client.play(&message);
        }
        if ended.is_none() {
            client.cancel();
            ended = Some(client.end_of_turn());
        }
        prop_assert!(["cancelled", "end_turn"].contains(&ended.unwrap().as_str()));
        prop_assert_eq!(client.open_calls(), 0);
        prop_assert_eq!(client.prompt("/plan one"), "end_turn");
    }
}
