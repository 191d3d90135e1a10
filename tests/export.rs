//! `:RatExport` in real Neovim.

use std::fs;

use crate::support::Chat;
use serde_json::json;

const EXPORTED: &str = r"# Fake agent

> Fake agent 1.0.0 in project

## You

change it

## Thought

> Hm.
> Where is it?

## Fake agent

I will **change** it:

```
code
```

**Edit a.txt** (done)

```diff
--- a/a.txt
+++ b/a.txt
@@ @@
-one
+two ``` three
```

- [x] Find it
- [ ] Change it

Done.

## You

thanks

> Cancelled
";

/// Holds (Sessions): A conversation is written to a file as Markdown; an existing file only with `!`.
#[test]
fn a_conversation_becomes_markdown() {
    let mut chat = Chat::builder().file("a.txt", "one\n").start();
    chat.prompt("change it");
    chat.think("Hm.\nWhere is it?");
    chat.say("I will **change** it:\n\n```\ncode\n```\n");
    let path = chat.path("a.txt");
    let diff =
        json!({"type": "diff", "path": path, "oldText": "one\n", "newText": "two ``` three\n"});
    chat.tool_call(json!({"toolCallId": "c", "title": "Edit a.txt", "kind": "edit",
        "status": "completed", "content": [diff]}));
    chat.update(json!({"sessionUpdate": "plan", "entries": [
        {"content": "Find it", "priority": "medium", "status": "completed"},
        {"content": "Change it", "priority": "medium", "status": "pending"},
    ]}));
    chat.say("Done.");
    chat.end_turn("end_turn");
    chat.prompt("thanks");
    chat.end_turn("cancelled");
    chat.nvim.poll_state("ready");
    let out = chat.path("out.md");
    chat.nvim.command("RatExport out.md");
    chat.nvim.poll_screen("Exported the chat to");
    let wanted = EXPORTED.replace("```diff", "````diff").replace("three\n```", "three\n````");
    assert_eq!(fs::read_to_string(&out).unwrap(), wanted);
    fs::write(&out, "mine").unwrap();
    chat.nvim.command("RatExport out.md");
    chat.nvim.poll_screen(":RatExport! replaces it");
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
    chat.nvim.command("RatExport! out.md");
    chat.nvim.poll("the file", |_| fs::read_to_string(&out).unwrap() == wanted);
    chat.nvim.command("RatExport no/such/folder.md");
    chat.nvim.poll_screen("Could not write");
}

const OF_TOOLS: &str = r"## You

go

## Fake agent

**run make check** (done)

**read a.txt** (done)

**Edit a.txt** (done)

```diff
--- a/a.txt
+++ b/a.txt
@@ -40,2 +40,2 @@
 x
-one
+two
```

**Edit whole.txt** (done)

```diff
--- a/whole.txt
+++ b/whole.txt
@@ -1,2 +1,2 @@
 x
-one
+two
```

Done.

## You

again

> Cancelled

## Fake agent

- [ ] Think
";

/// Holds (Sessions): What is exported says who ran the tools of a turn that begins with them, what each did, and in which lines.
#[test]
fn a_turn_that_begins_with_tools_is_the_agents() {
    let mut chat = Chat::start();
    chat.prompt("go");
    let call = |chat: &mut Chat, kind: &str, title: &str, more: serde_json::Value| {
        let mut call =
            json!({"toolCallId": title, "title": title, "kind": kind, "status": "completed"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        chat.tool_call(call);
    };
    call(&mut chat, "execute", "make check", json!({}));
    let path = chat.path("a.txt");
    call(&mut chat, "read", "a.txt", json!({"locations": [{"path": path}]}));
    for (name, line) in [("a.txt", 40), ("whole.txt", 2)] {
        let path = chat.path(name);
        let diff =
            json!({"type": "diff", "path": path, "oldText": "x\none\n", "newText": "x\ntwo\n"});
        let more = json!({"content": [diff], "locations": [{"path": path, "line": line}]});
        call(&mut chat, "edit", &format!("Edit {name}"), more);
    }
    chat.say("Done.");
    chat.end_turn("end_turn");
    chat.prompt("again");
    chat.end_turn("cancelled");
    chat.nvim.poll_state("ready");
    chat.update(json!({"sessionUpdate": "plan", "entries": [
        {"content": "Think", "priority": "medium", "status": "pending"},
    ]}));
    chat.nvim.poll_screen("Think");
    let out = chat.path("out.md");
    chat.nvim.command("RatExport out.md");
    chat.nvim.poll_screen("Exported the chat to");
    let text = fs::read_to_string(&out).unwrap();
    let from = text.find("## You").unwrap();
    assert_eq!(&text[from..], OF_TOOLS);
}

/// Holds (Sessions): What is exported has no secret that is known.
#[test]
fn secrets_are_not_exported() {
    let fields = json!({"env": {"SOME_API_KEY": "sk-1234567890abcdef"}});
    let mut chat = Chat::builder().agent(fields).start();
    chat.prompt("go");
    chat.say("The key is sk-1234567890abcdef.");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.command("RatExport");
    chat.nvim.poll_screen("Exported the chat to");
    let mut files = fs::read_dir(chat.nvim.cwd()).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|it| it == "md")).unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("The key is ") && !text.contains("sk-1234567890abcdef"), "{text}");
}
