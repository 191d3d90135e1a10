//! What real agents do differently from what one would expect, played by the test: one test for each surprise.

use crate::support::Chat;
use serde_json::{Value as Json, json};

/// A turn of an agent that introduces itself with this name.
fn in_a_turn_with(name: &str) -> Chat {
    let info = json!({"agentInfo": {"name": name, "version": "1"}});
    Chat::builder().initialized(info).in_turn()
}

fn read(chat: &mut Chat, name: &str) -> Result<Json, Json> {
    let path = chat.path(name);
    chat.request("fs/read_text_file", json!({"path": path}))
}

/// Gemini looks whether a file is there by reading it, and does not create it after an error of any kind.
#[test]
fn gemini_reads_a_missing_file_as_empty() {
    let mut chat = in_a_turn_with("gemini-cli");
    assert_eq!(read(&mut chat, "new.txt"), Ok(json!({"content": ""})));
}

#[test]
fn others_are_told_that_a_file_is_missing() {
    let mut chat = in_a_turn_with("other");
    assert_eq!(read(&mut chat, "new.txt").unwrap_err()["code"], json!(-32002));
}

/// Gemini has no field for the command and its folder: both stand in texts for people.
#[test]
fn a_shell_call_of_gemini_shows_its_command_once() {
    let mut chat = in_a_turn_with("gemini-cli");
    let cwd = chat.nvim.cwd().to_string_lossy().into_owned();
    let text = format!("[current working directory {cwd}] (counts the files)");
    let request = json!({
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
    let asked = chat.ask("session/request_permission", request);
    chat.nvim.poll_screen("counts the files");
    let screen = chat.nvim.screen();
    assert!(screen.contains("run ls | wc -l"), "{}", screen.text());
    assert!(!screen.contains("$ ls | wc -l"), "{}", screen.text());
    assert!(!screen.contains("[current working directory"), "{}", screen.text());
    chat.nvim.command("RatAllow");
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "once"}});
    assert_eq!(chat.agent.expect_answer(asked), Ok(outcome));
    chat.end_turn("end_turn");
}

/// OpenCode names the folder a command runs in as a location; others name files as seen from there.
#[test]
fn a_folder_is_no_file_to_follow() {
    let mut chat = in_a_turn_with("OpenCode");
    let cwd = chat.nvim.cwd().to_string_lossy().into_owned();
    let file = chat.nvim.file("a.txt", "one\n");
    chat.nvim.command("wincmd p | edit a.txt | wincmd p");
    std::fs::write(&file, "two\n").unwrap();
    chat.tool_call(json!({
        "toolCallId": "1",
        "title": "date",
        "kind": "execute",
        "status": "completed",
        "locations": [{"path": cwd}, {"path": "a.txt"}, {"path": "missing/b.txt"}],
        "content": [{"type": "content", "content": {"type": "text", "text": "today"}}],
    }));
    // The folder comes first: what there is to say of it has been said by then.
    chat.nvim.poll_events("RatFileChanged", 1);
    chat.nvim.poll_screen("│ today");
    let lines = chat.nvim.screen().lines();
    let title = lines.iter().position(|line| line.contains("run date")).unwrap();
    assert!(lines[title + 1].contains("│ a.txt"), "{}", lines.join("\n"));
    let text = lines.join("\n");
    assert!(!text.contains("could not be read"), "{text}");
    assert!(!chat.nvim.messages().contains("rat"), "{}", chat.nvim.messages());
    chat.end_turn("end_turn");
}

/// OpenCode gives paths relative to the root of the disk where there is no repository, and Claude says on which line a
/// whole file begins.
#[test]
fn paths_are_shown_as_the_user_would_write_them() {
    let mut chat = in_a_turn_with("OpenCode");
    let path = chat.path("src/a.py").to_string_lossy().into_owned();
    for (id, title) in ["src/a.py", &path, &path[1..]].into_iter().enumerate() {
        chat.tool_call(json!({
            "toolCallId": id.to_string(),
            "title": title,
            "kind": "read",
            "status": "completed",
            "locations": [{"path": path, "line": 1}],
        }));
    }
    chat.end_turn("end_turn");
    chat.nvim.poll("three calls of one name", |nvim| {
        let lines = nvim.screen().lines();
        let is_call = |line: &String| line.ends_with("✓ read src/a.py");
        let first = lines.iter().position(is_call);
        first.is_some_and(|first| {
            lines[first..].iter().take_while(|line| is_call(line)).count() == 3
        })
    });
}

/// The title of an edit names the file, and so do its location and its diff: once is enough.
#[test]
fn an_edit_names_its_file_once() {
    let mut chat = in_a_turn_with("gemini-cli");
    let path = chat.path("a.py");
    chat.tool_call(json!({
        "toolCallId": "1",
        "title": "a.py: two => TWO",
        "kind": "edit",
        "status": "completed",
        "locations": [{"path": path}],
        "content": [{"type": "diff", "path": path, "oldText": "two\n", "newText": "TWO\n"}],
    }));
    chat.nvim.poll_screen("+ TWO");
    let text = chat.nvim.screen().text();
    assert_eq!(text.matches("a.py").count(), 1, "{text}");
    chat.end_turn("end_turn");
}

/// Gemini never says what became of a tool call that the user has rejected.
#[test]
fn a_tool_call_does_not_outlast_its_turn() {
    let mut chat = in_a_turn_with("gemini-cli");
    let request = json!({
        "options": [{"optionId": "no", "name": "Reject", "kind": "reject_once"}],
        "toolCall": {"toolCallId": "1", "status": "pending", "title": "a.py", "kind": "edit"},
    });
    let asked = chat.ask("session/request_permission", request);
    chat.nvim.poll_screen("? edit a.py");
    chat.nvim.command("RatDeny");
    chat.answer(asked);
    chat.nvim.poll_screen("○ edit a.py");
    chat.end_turn("end_turn");
    chat.nvim.poll_screen("⊘ edit a.py");
}

/// Gemini reads a file again once the user has allowed to change it, and then writes what it showed.
#[test]
fn what_the_user_typed_while_a_request_waited_is_not_what_was_allowed_to_go() {
    let mut chat = in_a_turn_with("gemini-cli");
    let file = chat.nvim.file("a.txt", "one\ntwo\nthree\n");
    chat.nvim.command("wincmd t | edit a.txt");
    read(&mut chat, "a.txt").unwrap();
    let new = "one\n2\nthree\n";
    let diff =
        json!({"type": "diff", "path": file, "oldText": "one\ntwo\nthree\n", "newText": new});
    let request = json!({
        "options": [{"optionId": "once", "name": "Allow", "kind": "allow_once"}],
        "toolCall": {"toolCallId": "1", "status": "pending", "title": "a.txt", "kind": "edit", "content": [diff]},
    });
    let asked = chat.ask("session/request_permission", request);
    chat.nvim.poll_screen("+ 2");
    chat.nvim.lua("vim.fn.setline(2, 'mine')", json!([]));
    chat.nvim.command("RatAllow");
    chat.answer(asked);

    let read = read(&mut chat, "a.txt").unwrap();
    assert_eq!(read["content"], json!("one\nmine\nthree\n"));
    let write = json!({"path": file, "content": new});
    let refused = chat.request("fs/write_text_file", write).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("line 2"), "{refused}");
    assert_eq!(chat.nvim.buffer_lines(&file.to_string_lossy()), ["one", "mine", "three"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
    chat.end_turn("end_turn");
}

/// Gemini begins a new line with each piece of a thought.
#[test]
fn a_thought_of_many_lines_is_folded_whole() {
    let mut chat = in_a_turn_with("gemini-cli");
    for number in 1..=9 {
        chat.think(&format!("**step {number}**\n\n"));
        // Each one is drawn before the next one comes.
        chat.nvim.poll_screen(&format!("Thinking · {} lines", 2 * number + 1));
    }
    assert!(!chat.nvim.screen().contains("step 9"), "{}", chat.nvim.screen().text());
    chat.end_turn("end_turn");
}

/// Claude shows its edit once more when the file has been written, and only then says that the call is done.
/// Holds (Review): What an agent writes to a file nobody has open is reviewed, also if it names the file again before the call ends.
#[test]
fn claude_names_a_file_again_after_it_has_written_it() {
    let mut chat = Chat::builder()
        .initialized(json!({"agentInfo": {"name": "claude-agent-acp", "version": "1"}}))
        .file("a.txt", "one\ntwo\n")
        .in_turn();
    let path = chat.path("a.txt");
    let diff = json!([{"type": "diff", "path": path, "oldText": "two", "newText": "2"}]);
    chat.tool_call(json!({"toolCallId": "1", "title": "Edit a.txt", "kind": "edit",
        "status": "pending", "locations": [{"path": path}]}));
    // Once that is on the screen, the file has been looked at.
    chat.nvim.poll_screen("Edit a.txt");
    std::fs::write(&path, "one\n2\n").unwrap();
    chat.tool_call_update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
        "content": diff, "locations": [{"path": path, "line": 1}]}));
    chat.nvim.poll_screen("+ 2");
    chat.tool_call_update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
        "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.poll("the change in the review", |nvim| {
        nvim.command("RatReview");
        nvim.screen().contains("@@ -1,2 +1,2 @@ Edit a.txt")
    });
}

/// Holds (Dialects): The calls of a subagent of Claude are shown below the call that has started it.
#[test]
fn calls_of_a_subagent_are_marked() {
    let mut chat = Chat::in_turn();
    chat.tool_call(json!({"toolCallId": "t1", "title": "Task", "kind": "think",
        "status": "in_progress"}));
    let meta = json!({"claudeCode": {"parentToolUseId": "t1", "toolName": "Read"}});
    chat.tool_call(json!({"toolCallId": "r1", "title": "Read a.rs", "kind": "read",
        "status": "in_progress", "_meta": meta}));
    // Not every update says it again.
    chat.tool_call_update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "r1",
        "status": "completed"}));
    chat.nvim.poll_screen("✓ └ Read a.rs");
    let first = chat.nvim.screen();
    assert!(first.contains("● think Task"), "{}", first.text());
}
