//! The script of the tour: it finds the bug in the sample project, asks for permission, fixes it
//! and runs the tests. The client's responses decide how it continues.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::project::{self, Tests};
use super::signal::Failure;
use super::turn::{Stopped, Turn, text_content};

const PLAN: [&str; 4] = [
    "Look around the project",
    "Read duration.py as you see it",
    "Fix what is wrong",
    "Run the tests",
];

const WELCOME: &str = "\
# Welcome to rat.nvim

I am the **tour**: a real agent that speaks the *Agent Client Protocol*, with a script in place of a model. The \
messages are real, and so are the changes I make. Meanwhile you can:

- scroll up and read: new text will not move you
- type `:RatCancel` (or `<C-c>` in the prompt) to stop me at any time
- press `g?` in this window to list all keys

";

const ELSEWHERE: &str = "\
This is not the sample project, so I will not touch any of your files. Instead I will create a **new file**. I ask \
first, and if you say no, nothing happens.

";

const NOTES: &str = "\
# Notes from the tour

This file was written by the tour of rat.nvim, through the editor. You can delete it.
";

const ENDING: &str = "\
## Your turn

| Type         | To                      |
|--------------|-------------------------|
| `:RatReview` | see what I changed      |
| `:RatUndo`   | undo a whole turn       |
| `:RatSend`   | send a range            |
| `:RatAdd`    | attach a range          |
| `:RatPlan`   | see the plan            |
| `:RatTools`  | see my tool calls       |
| `:RatTrace`  | see all messages        |
| `:RatStart`  | start an agent          |

Well-known agents (`:help rat-presets`) need no configuration: install one, then start it by name, as in \
`:RatStart claude`. For any other agent, add an entry:

```lua
require(\"rat\").setup({
  agents = {
    mine = { command = \"my-agent\" },
  },
})
```

Write me something and I will tell you what arrived. `/tour` starts over, `/stress` sends 5,000 pieces of text.
";

/// Plays the whole tour.
pub(super) fn play(turn: &mut Turn) -> Result<(), Stopped> {
    turn.update(&json!({"sessionUpdate": "session_info_update", "title": "A tour of rat.nvim"}));
    let cwd = turn.session.cwd.clone();
    if project::is_sample(&cwd) {
        play_in_sample(turn, &cwd)?;
    } else {
        play_elsewhere(turn, &cwd)?;
    }
    turn.say(ENDING)?;
    turn.usage();
    turn.session.toured.store(true, Ordering::Relaxed);
    Ok(())
}

/// Plays the tour outside the sample project.
fn play_elsewhere(turn: &mut Turn, cwd: &Path) -> Result<(), Stopped> {
    turn.say(WELCOME)?;
    turn.say(ELSEWHERE)?;
    let path = cwd.join("rat-tour.md");
    if path.exists() {
        return turn.say("`rat-tour.md` already exists, so I will not create it.\n\n");
    }
    change(turn, &path, None, NOTES)?;
    Ok(())
}

fn play_in_sample(turn: &mut Turn, cwd: &Path) -> Result<(), Stopped> {
    turn.plan(&PLAN, 0);
    turn.think(
        "A small project for time sheets. The function that formats durations is easy to get wrong, so I will see \
         where it is used, then read it.\n",
    )?;
    turn.say(WELCOME)?;
    search(turn, cwd)?;
    turn.usage();

    turn.plan(&PLAN, 1);
    let path = cwd.join(project::FILE);
    let Some(text) = read(turn, &path)? else { return Ok(()) };
    turn.usage();

    turn.plan(&PLAN, 2);
    let Some(new) = project::fixed(&text) else {
        turn.say("The bug I know of is already fixed: the comparison uses `>=`.\n\n")?;
        return test(turn, cwd);
    };
    turn.say(
        "There is a bug in it. An hour is formatted as `60m`, because a unit is used only for *more than* one of it:\n\n\
         ```python\nif seconds > size:   # 3600 > 3600 is false\n```\n\n\
         One more character fixes that. You decide:\n\n",
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

/// Searches the project and shows the results as locations, which the user can jump to.
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
        "`{}` is used in {} places. Open the tool call with `za`, jump to a place with `gf`.\n\n",
        project::NAME,
        places.len()
    ))
}

/// Reads the file, through the client if it can. `None` if that failed, which was then already
/// explained to the user.
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
            let line = project::bug_line(&text);
            let locations = json!([{"path": path, "line": line}]);
            turn.update_call(&call, json!({"status": "completed", "locations": locations}));
            turn.say(&what_was_read(turn.session.reads, &project::unsaved_lines(path, &text)))?;
            Ok(Some(text))
        }
        Err(error) => {
            fail_call(turn, &call, &error);
            turn.say(&format!("I could not read the file: {error}. I will stop here.\n\n"))?;
            Ok(None)
        }
    }
}

fn what_was_read(through_client: bool, unsaved: &[String]) -> String {
    match (through_client, unsaved) {
        (false, _) => {
            "Your client does not share its buffers, so I read the file from disk.\n\n".to_owned()
        }
        (true, []) => {
            "I read your buffer. Right now it is the same as the file on disk.\n\n".to_owned()
        }
        (true, [line]) => format!(
            "I read **your buffer**, not the disk: I see the line you have not saved yet,\n\n\
             ```\n{line}\n```\n\nand I will leave it alone.\n\n"
        ),
        (true, [first, ..]) => format!(
            "I read **your buffer**, not the disk: I see {} lines you have not saved yet, such as\n\n\
             ```\n{first}\n```\n\nand I will leave them alone.\n\n",
            unsaved.len()
        ),
    }
}

/// Asks for permission and writes the file. Returns whether it was changed.
fn change(turn: &mut Turn, path: &Path, old: Option<&str>, new: &str) -> Result<bool, Stopped> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let title = if old.is_some() { format!("Edit {name}") } else { format!("Create {name}") };
    let left = if old.is_some() { "stays as it is" } else { "was not created" };
    let diff = json!([{"type": "diff", "path": path, "oldText": old, "newText": new}]);
    let line = old.map_or(1, project::bug_line);
    let locations = json!([{"path": path, "line": line}]);
    let call = turn.open_call(json!({
        "title": title, "kind": "edit", "status": "pending", "locations": locations, "content": diff,
    }));
    if let Err(refusal) = ask(turn, &call, &title, &diff)? {
        fail_call(turn, &call, &refusal);
        turn.say(&format!("{refusal} `{name}` {left}.\n\n"))?;
        return Ok(false);
    }
    turn.update_call(&call, json!({"status": "in_progress"}));
    match write(turn, path, new)? {
        Ok(()) => {
            turn.update_call(&call, json!({"status": "completed", "content": diff}));
            turn.say(&format!(
                "Done: the change is in `{name}`, on disk and in your buffer if it is open. **One** `u` there undoes \
                 it. A sign marks it until you accept or reject it: `:RatReview` shows all such changes, and \
                 `:RatUndo` takes back everything a turn has changed, in every file.\n\n"
            ))?;
            Ok(true)
        }
        Err(error) => {
            fail_call(turn, &call, &error);
            turn.say(&format!("I could not make the change: {error}. `{name}` {left}.\n\n"))?;
            Ok(false)
        }
    }
}

/// Asks for permission unless it was given for the whole session. The inner error is the reason why
/// it was not granted.
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
        Some(_) => Err("You rejected it.".to_owned()),
        None => Err("You did not answer.".to_owned()),
    })
}

fn write(turn: &mut Turn, path: &Path, new: &str) -> Result<Result<(), String>, Stopped> {
    if !turn.session.writes {
        return Ok(std::fs::write(path, new).map_err(|error| error.to_string()));
    }
    let answer = turn.request("fs/write_text_file", json!({"path": path, "content": new}))?;
    Ok(answer.map(drop).map_err(|failure: Failure| failure.text()))
}

/// Runs the tests and streams their output.
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
        "All tests pass now; the full output is in the tool call above.\n\n"
    } else {
        "Some tests fail; see the output in the tool call above.\n\n"
    })
}

fn fail_call(turn: &mut Turn, call: &str, reason: &str) {
    turn.update_call(call, json!({"status": "failed", "content": [text_content(reason)]}));
}
