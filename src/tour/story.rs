//! The guided conversation: it finds the flaw of the sample project, asks, repairs it and runs the tests. What the
//! client answers decides how it goes on.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Failure;
use super::project::{self, Tests};
use super::turn::{Stopped, Turn, text_content};

const PLAN: [&str; 4] = [
    "Look around the project",
    "Read duration.py as you see it",
    "Repair what is wrong",
    "Run the tests",
];

const WELCOME: &str = "\
# Welcome to rat.nvim

I am the **tour**: a real agent that speaks the *Agent Client Protocol*, with a script in place of a model. What \
you see is real traffic, and what I change is really changed. Meanwhile you can:

- scroll up and read, the text will not pull you down
- type `:RatCancel` (or `<C-c>` in the prompt) to stop me at any moment
- press `g?` in this window for all keys

";

const ELSEWHERE: &str = "\
This is not the sample project, so I will not touch any of your files. I can show you how a **new file** arrives: I \
ask first, and if you say no, nothing happens.

";

const NOTES: &str = "\
# Notes from the tour

This file was written by the tour of rat.nvim, through the editor. Delete it when you have seen it.
";

const ENDING: &str = "\
## Your turn

| Type        | To                |
|-------------|-------------------|
| `:RatSend`  | send a range      |
| `:RatAdd`   | attach a range    |
| `:RatPlan`  | see the plan      |
| `:RatTools` | see my tool calls |
| `:RatTrace` | see all messages  |
| `:RatStart` | start an agent    |

An agent needs one entry in your configuration:

```lua
require(\"rat\").setup({
  agents = {
    mine = { command = \"my-agent\" },
  },
})
```

Write me something and I will tell you what arrived; `/tour` starts over, `/stress` sends 5,000 pieces of text.
";

/// Plays the whole tour.
pub(super) fn play(turn: &mut Turn) -> Result<(), Stopped> {
    turn.update(&json!({"sessionUpdate": "session_info_update", "title": "A tour of rat.nvim"}));
    let cwd = turn.session.cwd.clone();
    if project::is_sample(&cwd) {
        sample(turn, &cwd)?;
    } else {
        elsewhere(turn, &cwd)?;
    }
    turn.say(ENDING)?;
    turn.usage();
    turn.session.toured.store(true, Ordering::Relaxed);
    Ok(())
}

/// In a project of the user's own.
fn elsewhere(turn: &mut Turn, cwd: &Path) -> Result<(), Stopped> {
    turn.say(WELCOME)?;
    turn.say(ELSEWHERE)?;
    let path = cwd.join("rat-tour.md");
    if path.exists() {
        return turn.say("`rat-tour.md` is there already, so I leave it at that.\n\n");
    }
    change(turn, &path, None, NOTES)?;
    Ok(())
}

fn sample(turn: &mut Turn, cwd: &Path) -> Result<(), Stopped> {
    turn.plan(&PLAN, 0);
    turn.think(
        "A small project for time sheets. The function that writes durations looks easy to get wrong, so I will see \
         who uses it first, then read it.\n",
    )?;
    turn.say(WELCOME)?;
    search(turn, cwd)?;
    turn.usage();

    turn.plan(&PLAN, 1);
    let path = cwd.join(project::FILE);
    let Some(text) = read(turn, &path)? else { return Ok(()) };
    turn.usage();

    turn.plan(&PLAN, 2);
    let Some(new) = project::repaired(&text) else {
        turn.say("The flaw I know of is not there any more: `>=` stands where it should.\n\n")?;
        return test(turn, cwd);
    };
    turn.say(
        "There is a flaw in it. An hour is written as `60m`, because a unit counts only from *more than* one:\n\n\
         ```python\nif seconds > size:   # 3600 > 3600 is false\n```\n\n\
         One character repairs that. You decide:\n\n",
    )?;
    if !change(turn, &path, Some(&text), &new)? {
        turn.say("Without the change there is nothing to test.\n\n")?;
        return Ok(());
    }
    turn.plan(&PLAN, 3);
    test(turn, cwd)?;
    turn.plan(&PLAN, 4);
    Ok(())
}

/// A search whose results the user can jump to.
fn search(turn: &mut Turn, cwd: &Path) -> Result<(), Stopped> {
    let title = format!("Search for {}", project::NAME);
    let call = turn.open_call(json!({"title": title, "kind": "search", "status": "in_progress"}));
    turn.pause(Duration::from_millis(600))?;
    let places = project::mentions(cwd);
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lines: Vec<String> =
        places.iter().map(|(path, line)| format!("{}:{line}", name(path))).collect();
    let content = json!([text_content(&lines.join("\n"))]);
    let locations = project::locations(&places);
    turn.update_call(
        &call,
        json!({"status": "completed", "content": content, "locations": locations}),
    );
    turn.say(&format!(
        "`{}` is named in {} places. Open the tool call with `za`, jump to a place with `gf`.\n\n",
        project::NAME,
        places.len()
    ))
}

/// Reads the file as the user sees it. `None` where that failed, which has been explained by then.
fn read(turn: &mut Turn, path: &Path) -> Result<Option<String>, Stopped> {
    let call = turn.open_call(json!({
        "title": format!("Read {}", project::FILE), "kind": "read", "status": "in_progress",
        "locations": [{"path": path, "line": 1}],
    }));
    let read = if turn.session.reads {
        let answer = turn.request("fs/read_text_file", json!({"path": path}))?;
        answer
            .map(|result| result["content"].as_str().unwrap_or_default().to_owned())
            .map_err(|e| e.text())
    } else {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    };
    match read {
        Ok(text) => {
            let line = project::flaw_line(&text);
            let locations = json!([{"path": path, "line": line}]);
            turn.update_call(&call, json!({"status": "completed", "locations": locations}));
            turn.say(&what_was_read(turn.session.reads, &project::unsaved_lines(path, &text)))?;
            Ok(Some(text))
        }
        Err(error) => {
            fail_call(turn, &call, &error);
            turn.say(&format!("I could not read the file: {error}. So I stop here.\n\n"))?;
            Ok(None)
        }
    }
}

fn what_was_read(through_client: bool, unsaved: &[String]) -> String {
    match (through_client, unsaved) {
        (false, _) => {
            "Your client does not offer its buffers, so I have read the file from the disk.\n\n"
                .to_owned()
        }
        (true, []) => {
            "I have read your buffer. Just now it is the same as the file on disk.\n\n".to_owned()
        }
        (true, [line]) => format!(
            "I have read **your buffer**, not the disk: I see the line you have not saved yet,\n\n\
             ```\n{line}\n```\n\nand I will leave it alone.\n\n"
        ),
        (true, [first, ..]) => format!(
            "I have read **your buffer**, not the disk: I see {} lines you have not saved yet, such as\n\n\
             ```\n{first}\n```\n\nand I will leave them alone.\n\n",
            unsaved.len()
        ),
    }
}

/// Asks, writes, and says what came of it. Gives whether the file is changed.
fn change(turn: &mut Turn, path: &Path, old: Option<&str>, new: &str) -> Result<bool, Stopped> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let title = if old.is_some() { format!("Edit {name}") } else { format!("Create {name}") };
    let diff = json!([{"type": "diff", "path": path, "oldText": old, "newText": new}]);
    let line = old.map_or(1, project::flaw_line);
    let locations = json!([{"path": path, "line": line}]);
    let call = turn.open_call(json!({
        "title": title, "kind": "edit", "status": "pending", "locations": locations, "content": diff,
    }));
    if let Err(refusal) = ask(turn, &call, &title, &diff)? {
        fail_call(turn, &call, &refusal);
        turn.say(&format!("{refusal} So `{name}` stays exactly as it is.\n\n"))?;
        return Ok(false);
    }
    turn.update_call(&call, json!({"status": "in_progress"}));
    match write(turn, path, new)? {
        Ok(()) => {
            turn.update_call(&call, json!({"status": "completed", "content": diff}));
            turn.say(&format!(
                "Done: the change is in `{name}`, on disk and in your buffer if it is open. **One** `u` there takes \
                 it back.\n\n"
            ))?;
            Ok(true)
        }
        Err(error) => {
            fail_call(turn, &call, &error);
            turn.say(&format!(
                "The change was not made: {error}. Nothing is lost, and `{name}` is yours.\n\n"
            ))?;
            Ok(false)
        }
    }
}

/// Asks for permission, unless it was given for the whole session. Where it is not granted, gives the reason.
fn ask(
    turn: &mut Turn,
    call: &str,
    title: &str,
    diff: &Value,
) -> Result<Result<(), String>, Stopped> {
    if turn.session.edits_allowed.load(Ordering::Relaxed) {
        return Ok(Ok(()));
    }
    let options = json!([
        {"optionId": "once", "name": "Allow", "kind": "allow_once"},
        {"optionId": "always", "name": "Always allow in this session", "kind": "allow_always"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]);
    let tool_call = json!({"toolCallId": call, "title": title, "kind": "edit", "status": "pending", "content": diff});
    let answer = turn.request(
        "session/request_permission",
        json!({"toolCall": tool_call, "options": options}),
    )?;
    let outcome = match answer {
        Ok(result) => result["outcome"].clone(),
        Err(failure) => {
            return Ok(Err(format!("Your client could not ask you: {}.", failure.text())));
        }
    };
    Ok(match outcome["optionId"].as_str() {
        Some("once") => Ok(()),
        Some("always") => {
            turn.session.edits_allowed.store(true, Ordering::Relaxed);
            Ok(())
        }
        Some(_) => Err("You said no.".to_owned()),
        None => Err("You did not decide.".to_owned()),
    })
}

fn write(turn: &mut Turn, path: &Path, new: &str) -> Result<Result<(), String>, Stopped> {
    if !turn.session.writes {
        return Ok(std::fs::write(path, new).map_err(|error| error.to_string()));
    }
    let answer = turn.request("fs/write_text_file", json!({"path": path, "content": new}))?;
    Ok(answer.map(drop).map_err(|failure: Failure| failure.text()))
}

/// Runs the tests and shows their output while it grows.
fn test(turn: &mut Turn, cwd: &Path) -> Result<(), Stopped> {
    let call = turn.open_call(json!({
        "title": project::TESTS, "kind": "execute", "status": "in_progress",
        "rawInput": {"command": project::TESTS, "cwd": cwd},
    }));
    let tests = match Tests::start(cwd, turn.listener()) {
        Ok(tests) => tests,
        Err(error) => {
            fail_call(turn, &call, &error.to_string());
            return turn.say(&format!("I could not run the tests: {error}.\n\n"));
        }
    };
    let mut output = String::new();
    while let Some(line) = turn.next_line()? {
        output.push_str(&line);
        output.push('\n');
        turn.update_call(&call, json!({"content": [text_content(&format!("```\n{output}```"))]}));
    }
    let passed = tests.passed();
    turn.update_call(&call, json!({"status": if passed { "completed" } else { "failed" }}));
    turn.say(if passed {
        "All tests pass now; the whole output is in the tool call above.\n\n"
    } else {
        "Some tests fail; the output in the tool call above says which.\n\n"
    })
}

fn fail_call(turn: &mut Turn, call: &str, reason: &str) {
    turn.update_call(call, json!({"status": "failed", "content": [text_content(reason)]}));
}
