//! What real agents do differently from what one would expect, played by the test: one test for each surprise.

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim};

/// A chat with an agent that introduces itself with this name, in the middle of a turn.
struct Turn {
    nvim: Nvim,
    agent: Agent,
    session: String,
    prompt: support::Request,
}

impl Turn {
    fn of(name: &str) -> Self {
        let mut nvim = Nvim::plain();
        nvim.record(&["RatTurnEnd", "RatFileChanged"]);
        let mut agent = nvim.start_agent();
        let info = json!({"agentInfo": {"name": name, "version": "1"}});
        let session = agent.handshake_with(info, json!({}));
        nvim.poll_state("ready");
        nvim.send("go");
        let prompt = agent.expect_request("session/prompt");
        Self { nvim, agent, session, prompt }
    }

    fn path(&self, name: &str) -> String {
        self.nvim.cwd().join(name).to_string_lossy().into_owned()
    }

    fn ask_to_read(&mut self, name: &str) -> Result<Json, Json> {
        let params = json!({"sessionId": self.session, "path": self.path(name)});
        self.agent.request("fs/read_text_file", params)
    }

    fn tool_call(&mut self, mut fields: Json) {
        fields["sessionUpdate"] = json!("tool_call");
        self.agent.update(&self.session, fields);
    }

    fn end(&mut self) {
        self.agent.reply(&self.prompt, json!({"stopReason": "end_turn"}));
        self.nvim.poll_events("RatTurnEnd", 1);
    }
}

/// Gemini looks whether a file is there by reading it, and does not create it after an error of any kind.
#[test]
fn gemini_reads_a_missing_file_as_empty() {
    let mut turn = Turn::of("gemini-cli");
    assert_eq!(turn.ask_to_read("new.txt"), Ok(json!({"content": ""})));
}

#[test]
fn others_are_told_that_a_file_is_missing() {
    let mut turn = Turn::of("other");
    assert_eq!(turn.ask_to_read("new.txt").unwrap_err()["code"], json!(-32002));
}

/// Gemini has no field for the command and its folder: both stand in texts for people.
#[test]
fn a_shell_call_of_gemini_shows_its_command_once() {
    let mut turn = Turn::of("gemini-cli");
    let cwd = turn.nvim.cwd().to_string_lossy().into_owned();
    let text = format!("[current working directory {cwd}] (counts the files)");
    let request = json!({
        "sessionId": turn.session,
        "options": [{"optionId": "once", "name": "Allow", "kind": "allow_once"}],
        "toolCall": {
            "toolCallId": "never announced",
            "status": "pending",
            "title": "ls | wc -l",
            "kind": "execute",
            "content": [{"type": "content", "content": {"type": "text", "text": text}}],
            "locations": [],
        },
    });
    let asked = turn.agent.ask("session/request_permission", request);
    turn.nvim.poll_screen("counts the files");
    let screen = turn.nvim.screen();
    assert!(screen.contains("run ls | wc -l"), "{}", screen.text());
    assert!(!screen.contains("$ ls | wc -l"), "{}", screen.text());
    assert!(!screen.contains("[current working directory"), "{}", screen.text());
    turn.nvim.command("RatAllow");
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "once"}});
    assert_eq!(turn.agent.expect_answer(asked), Ok(outcome));
    turn.end();
}

/// OpenCode names the folder a command runs in as a location; others name files as seen from there.
#[test]
fn a_folder_is_no_file_to_follow() {
    let mut turn = Turn::of("OpenCode");
    let cwd = turn.nvim.cwd().to_string_lossy().into_owned();
    let file = turn.nvim.folder().file("project/a.txt", "one\n");
    turn.nvim.command("wincmd p | edit a.txt | wincmd p");
    std::fs::write(&file, "two\n").unwrap();
    turn.tool_call(json!({
        "toolCallId": "1",
        "title": "date",
        "kind": "execute",
        "status": "completed",
        "locations": [{"path": cwd}, {"path": "a.txt"}, {"path": "missing/b.txt"}],
        "content": [{"type": "content", "content": {"type": "text", "text": "today"}}],
    }));
    // The folder comes first: what there is to say of it has been said by then.
    turn.nvim.poll_events("RatFileChanged", 1);
    turn.nvim.poll_screen("│ today");
    let lines = turn.nvim.screen().lines();
    let title = lines.iter().position(|line| line.contains("run date")).unwrap();
    assert!(lines[title + 1].contains("│ a.txt"), "{}", lines.join("\n"));
    let text = lines.join("\n");
    assert!(!text.contains("could not be read"), "{text}");
    assert!(!turn.nvim.messages().contains("rat"), "{}", turn.nvim.messages());
    turn.end();
}

/// OpenCode gives paths relative to the root of the disk where there is no repository, and Claude says on which line a
/// whole file begins.
#[test]
fn paths_are_shown_as_the_user_would_write_them() {
    let mut turn = Turn::of("OpenCode");
    let path = turn.path("src/a.py");
    for (id, title) in ["src/a.py", &path, &path[1..]].into_iter().enumerate() {
        turn.tool_call(json!({
            "toolCallId": id.to_string(),
            "title": title,
            "kind": "read",
            "status": "completed",
            "locations": [{"path": path, "line": 1}],
        }));
    }
    turn.end();
    let read = |nvim: &mut Nvim| {
        let lines = nvim.screen().lines();
        let first = lines.iter().position(|line| line.ends_with("✓ read src/a.py"))?;
        lines.get(first..first + 3).map(<[String]>::to_vec)
    };
    let lines = turn.nvim.poll_for("the calls", read);
    assert!(lines.iter().all(|line| line.ends_with("✓ read src/a.py")), "{lines:?}");
}

/// The title of an edit names the file, and so do its location and its diff: once is enough.
#[test]
fn an_edit_names_its_file_once() {
    let mut turn = Turn::of("gemini-cli");
    let path = turn.path("a.py");
    turn.tool_call(json!({
        "toolCallId": "1",
        "title": "a.py: two => TWO",
        "kind": "edit",
        "status": "completed",
        "locations": [{"path": path}],
        "content": [{"type": "diff", "path": path, "oldText": "two\n", "newText": "TWO\n"}],
    }));
    turn.nvim.poll_screen("+ TWO");
    let text = turn.nvim.screen().text();
    assert_eq!(text.matches("a.py").count(), 1, "{text}");
    turn.end();
}

/// Gemini never says what became of a tool call that the user has rejected.
#[test]
fn a_tool_call_does_not_outlast_its_turn() {
    let mut turn = Turn::of("gemini-cli");
    let request = json!({
        "sessionId": turn.session,
        "options": [{"optionId": "no", "name": "Reject", "kind": "reject_once"}],
        "toolCall": {"toolCallId": "1", "status": "pending", "title": "a.py", "kind": "edit"},
    });
    let asked = turn.agent.ask("session/request_permission", request);
    turn.nvim.poll_screen("? edit a.py");
    turn.nvim.command("RatDeny");
    turn.agent.expect_answer(asked).unwrap();
    turn.nvim.poll_screen("○ edit a.py");
    turn.end();
    turn.nvim.poll_screen("⊘ edit a.py");
}

/// Gemini reads a file again once the user has allowed to change it, and then writes what it showed.
#[test]
fn what_the_user_typed_while_a_request_waited_is_not_what_was_allowed_to_go() {
    let mut turn = Turn::of("gemini-cli");
    let file = turn.nvim.folder().file("project/a.txt", "one\ntwo\nthree\n");
    turn.nvim.command("wincmd t | edit a.txt");
    turn.ask_to_read("a.txt").unwrap();
    let new = "one\n2\nthree\n";
    let diff =
        json!({"type": "diff", "path": file, "oldText": "one\ntwo\nthree\n", "newText": new});
    let request = json!({
        "sessionId": turn.session,
        "options": [{"optionId": "once", "name": "Allow", "kind": "allow_once"}],
        "toolCall": {"toolCallId": "1", "status": "pending", "title": "a.txt", "kind": "edit", "content": [diff]},
    });
    let asked = turn.agent.ask("session/request_permission", request);
    turn.nvim.poll_screen("+ 2");
    turn.nvim.lua("vim.fn.setline(2, 'mine')", json!([]));
    turn.nvim.command("RatAllow");
    turn.agent.expect_answer(asked).unwrap();

    let read = turn.ask_to_read("a.txt").unwrap();
    assert_eq!(read["content"], json!("one\nmine\nthree\n"));
    let write = json!({"sessionId": turn.session, "path": file, "content": new});
    let refused = turn.agent.request("fs/write_text_file", write).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("line 2"), "{refused}");
    assert_eq!(turn.nvim.buffer_lines(&file.to_string_lossy()), ["one", "mine", "three"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
    turn.end();
}

/// Gemini begins a new line with each piece of a thought.
#[test]
fn a_thought_of_many_lines_is_folded_whole() {
    let mut turn = Turn::of("gemini-cli");
    for number in 1..=9 {
        let content = json!({"type": "text", "text": format!("**step {number}**\n\n")});
        let chunk = json!({"sessionUpdate": "agent_thought_chunk", "content": content});
        turn.agent.update(&turn.session, chunk);
        // Each one is drawn before the next one comes.
        turn.nvim.poll_screen(&format!("Thinking · {} lines", 2 * number + 1));
    }
    assert!(!turn.nvim.screen().contains("step 9"), "{}", turn.nvim.screen().text());
    turn.end();
}
