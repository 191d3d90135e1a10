//! Listeners of `require("rat").on` in real Neovim: each event arrives with the fields of its class, in order, and what a
//! listener does harms nothing.

use crate::support::{Chat, Nvim, Processes, repository, text, yes_or_no};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The fields of each event by the annotations that users have, and whether each may be missing.
fn classes() -> BTreeMap<String, BTreeMap<String, bool>> {
    let file = repository().join("lua/rat/rpc/messages/events.lua");
    let file = std::fs::read_to_string(file).unwrap();
    let mut classes: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    let (mut class, mut events) = (String::new(), Vec::new());
    for line in file.lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("---@class"), Some("(exact)"), Some(name)) => name.clone_into(&mut class),
            (Some("---@field"), Some(name), Some(its)) if class == "rat.event.Payloads" => {
                events.push((name.to_owned(), its.to_owned()));
            }
            (Some("---@field"), Some(name), Some(_)) => {
                let field = name.trim_end_matches('?').to_owned();
                classes.entry(class.clone()).or_default().insert(field, name.ends_with('?'));
            }
            _ => {}
        }
    }
    events.into_iter().map(|(name, class)| (name, classes[&class].clone())).collect()
}

/// Listens to an event, and keeps what it is told.
fn listen(nvim: &mut Nvim, event: &str) {
    let code = r#"
        Told = {}
        Remove = require("rat").on(..., function(...) table.insert(Told, { ... }) end)"#;
    nvim.lua(code, json!([event]));
}

/// What the listener to all events was told, as pairs of name and data.
fn told(nvim: &mut Nvim) -> Vec<(String, Json)> {
    let told = nvim.lua("return Told", json!([]));
    let pair = |it: &Json| (it[0].as_str().unwrap_or_default().to_owned(), it[1].clone());
    told.as_array().into_iter().flatten().map(pair).collect()
}

/// The pieces of text that a listener to chunks was told.
fn chunks(nvim: &mut Nvim) -> Vec<String> {
    let told = nvim.lua("return vim.tbl_map(function(it) return it[1].text end, Told)", json!([]));
    told.as_array().into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// One update of each kind, with the name of the event it becomes.
fn updates(path: &Path) -> Vec<(&'static str, Json)> {
    let chunk =
        |kind: &str| json!({"sessionUpdate": kind, "content": text("a\u{1b}b"), "messageId": "m"});
    let image = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
    let option = json!({"id": "model", "name": "Model", "type": "select", "currentValue": "x",
        "options": [{"value": "x", "name": "X"}]});
    vec![
        ("chunk", chunk("user_message_chunk")),
        ("chunk", chunk("agent_message_chunk")),
        ("chunk", chunk("agent_thought_chunk")),
        ("chunk", json!({"sessionUpdate": "agent_message_chunk", "content": image})),
        (
            "tool_call",
            json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look", "kind": "read",
            "locations": [{"path": path, "line": 3}], "rawInput": {"command": "ls"}}),
        ),
        (
            "tool_call",
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
            "content": [{"type": "diff", "path": path, "oldText": null, "newText": "x"},
                {"type": "content", "content": text("done")}]}),
        ),
        (
            "plan",
            json!({"sessionUpdate": "plan", "entries":
            [{"content": "one", "priority": "high", "status": "in_progress"}]}),
        ),
        (
            "commands",
            json!({"sessionUpdate": "available_commands_update", "availableCommands":
            [{"name": "plan", "description": "Plans", "input": {"hint": "what"}}]}),
        ),
        ("mode", json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"})),
        ("options", json!({"sessionUpdate": "config_option_update", "configOptions": [option]})),
        ("session_info", json!({"sessionUpdate": "session_info_update", "title": "T"})),
        (
            "usage",
            json!({"sessionUpdate": "usage_update", "used": 1, "size": 2,
            "cost": {"amount": 0.5, "currency": "USD"}}),
        ),
        ("notice", json!({"sessionUpdate": "notice", "severity": "warning", "title": "Careful"})),
        (
            "compaction",
            json!({"sessionUpdate": "compaction_update", "compactionId": "c",
            "status": "in_progress"}),
        ),
        (
            "compaction_chunk",
            json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c",
            "content": text("short")}),
        ),
        ("unknown", json!({"sessionUpdate": "fresh"})),
    ]
}

/// Holds (Scripts in Lua): Each update of an agent reaches listeners, in order, with the fields of its class.
#[test]
fn each_update_arrives_with_the_fields_of_its_class() {
    let mut chat = Chat::start();
    listen(&mut chat.nvim, "*");
    chat.prompt("go");
    let updates = updates(&chat.path("a.txt"));
    for (_, update) in &updates {
        chat.update(update.clone());
    }
    chat.update(json!({"sessionUpdate": "session_info_update", "title": "T", "_meta": {"a": 1}}));
    let asked = chat.ask_permission(
        json!({"toolCallId": "u", "title": "Run", "kind": "execute",
        "rawInput": {"command": "make"}}),
        yes_or_no(),
    );
    chat.nvim.command("RatAllow");
    chat.answer(asked);
    chat.end_turn("end_turn");

    let mut names = vec!["turn_start"];
    names.extend(updates.iter().map(|(name, _)| *name));
    names.extend(["session_info", "meta", "permission", "permission", "turn_end"]);
    chat.nvim.poll("the last event", |nvim| told(nvim).len() >= names.len());
    let told = told(&mut chat.nvim);
    let found: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(found, names);
    let classes = classes();
    for (name, data) in &told {
        let fields = data.as_object().unwrap();
        let class = &classes[name];
        for field in fields.keys() {
            assert!(class.contains_key(field), "{name}.{field} is not in its class");
        }
        for (field, _) in class.iter().filter(|(_, is_optional)| !**is_optional) {
            assert!(fields.contains_key(field), "{name}.{field} is missing");
        }
        assert_eq!(data["chat"], 1);
    }
    let data = |index: usize| &told[index].1;
    assert_eq!(data(0)["prompt"], "go");
    let roles: Vec<_> = (1..5).map(|index| data(index)["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "agent", "thought", "agent"]);
    assert_eq!((&data(2)["text"], &data(2)["message"]), (&json!("a\u{1b}b"), &json!("m")));
    assert_eq!(data(4)["content"], json!({"type": "image", "mime": "image/png", "data": "AAAA"}));
    assert_eq!((&data(5)["new"], &data(5)["kind"]), (&json!(true), &json!("read")));
    assert_eq!((&data(5)["command"], &data(5)["locations"][0]["line"]), (&json!("ls"), &json!(3)));
    assert_eq!((&data(6)["new"], &data(6)["title"]), (&json!(false), &json!("Look")));
    assert_eq!(data(6)["status"], "completed");
    assert_eq!(data(6)["locations"], Json::Null, "they have not changed");
    assert_eq!(data(6)["content"][0]["new"], "x");
    let last = told.len();
    assert_eq!(
        (&data(last - 3)["state"], &data(last - 3)["command"]),
        (&json!("asked"), &json!("make"))
    );
    assert_eq!(data(last - 2)["chosen"]["kind"], "allow_once");
    assert_eq!(data(last - 2)["automatic"], false);
    assert_eq!(data(last - 1)["stop_reason"], "end_turn");
}

/// Holds (Scripts in Lua): A flood of chunks reaches a listener joined, in order and complete.
#[test]
fn a_flood_arrives_joined_in_order_and_complete() {
    let mut chat = Chat::in_turn();
    listen(&mut chat.nvim, "chunk");
    // The binary has read what was sent before.
    chat.nvim.command("RatInfo");
    chat.nvim.poll_screen("Fake agent · info");
    let words: Vec<String> = (0..3000).map(|number| format!("word {number}\n")).collect();
    for word in &words {
        chat.say(word);
    }
    chat.say(&"x".repeat(200_000));
    let all = words.concat() + &"x".repeat(200_000);
    chat.nvim.poll("the whole text", |nvim| chunks(nvim).concat().len() >= all.len());
    let pieces = chunks(&mut chat.nvim);
    assert_eq!(pieces.concat(), all);
    assert!(pieces.len() < 1500, "{} pieces", pieces.len());
    assert!(pieces.iter().all(|piece| piece.len() <= 64 * 1024));
}

/// Holds (Scripts in Lua): Nothing is sent of events that nobody listens to, and a listener can be removed.
#[test]
fn nothing_is_sent_that_nobody_listens_to() {
    let mut chat = Chat::in_turn();
    let code = r#"
        Sent = {}
        local inbox = require("rat.rpc.inbox")
        local apply = inbox.apply
        inbox.apply = function(frame)
            for _, message in ipairs(frame or {}) do
                if message[1] == "update" then table.insert(Sent, message[2].name) end
            end
            return apply(frame)
        end"#;
    chat.nvim.lua(code, json!([]));
    let sent = |nvim: &mut Nvim| nvim.lua("return Sent", json!([]));
    chat.say("one\n");
    chat.nvim.poll_screen("one");
    assert_eq!(sent(&mut chat.nvim), json!([]));
    listen(&mut chat.nvim, "plan");
    chat.say("two\n");
    let plan = json!({"sessionUpdate": "plan", "entries":
        [{"content": "step", "priority": "high", "status": "pending"}]});
    chat.update(plan.clone());
    chat.nvim.poll("the plan", |nvim| sent(nvim) == json!(["plan"]));
    chat.nvim.lua("Remove() Remove()", json!([]));
    chat.update(plan);
    chat.say("three\n");
    chat.nvim.poll_screen("three");
    assert_eq!(sent(&mut chat.nvim), json!(["plan"]));
}

/// Holds (Scripts in Lua): A listener that fails is reported once, removed after three errors in a row, and harms nothing.
#[test]
fn a_listener_that_fails_is_reported_once_and_removed() {
    let mut chat = Chat::in_turn();
    let code = r#"
        Calls, Others, Loud = 0, {}, {}
        local notify = vim.notify
        vim.notify = function(text, ...) table.insert(Loud, text) return notify(text, ...) end
        require("rat").on("session_info", function(data)
            Calls = Calls + 1
            data.title = nil
            if data.chat ~= 1 or Calls ~= 2 then error("boom\nand more") end
        end)
        require("rat").on("session_info", function(data) table.insert(Others, data.title) end)"#;
    chat.nvim.lua(code, json!([]));
    let titles: Vec<String> = (1..=7).map(|number| format!("title {number}")).collect();
    for title in &titles {
        chat.update(json!({"sessionUpdate": "session_info_update", "title": title}));
    }
    chat.say("still drawn");
    chat.nvim.poll_screen("still drawn");
    chat.nvim.poll("the other listener", |nvim| nvim.eval("Others") == json!(titles));
    // The first failed, the second did not, and then three in a row.
    assert_eq!(chat.nvim.eval("Calls"), json!(5));
    let said = chat.nvim.lua("return Loud", json!([]));
    let said: Vec<&str> = said.as_array().unwrap().iter().filter_map(Json::as_str).collect();
    let [line] = said[..] else { panic!("{said:?}") };
    assert!(line.contains("A listener of \"session_info\" failed"), "{line}");
    assert!(line.ends_with("boom"), "{line}");
}

/// Holds (Scripts in Lua): A listener may be added before the binary runs, and still listens to the next one.
#[test]
fn a_listener_outlives_the_binary() {
    let (mut nvim, mut agent) = Chat::builder().configure();
    listen(&mut nvim, "chunk");
    nvim.command("RatStart fake");
    agent.expect_start();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("go");
    agent.expect_request("session/prompt");
    agent.say(&session, "hello");
    nvim.poll("the chunk", |nvim| chunks(nvim) == ["hello"]);

    Processes::signal(nvim.binary(), "KILL");
    nvim.poll_state("failed");
    let mut agent = Chat::builder().launch_in(&mut nvim);
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("again");
    agent.expect_request("session/prompt");
    agent.say(&session, "back");
    nvim.poll("the next chunk", |nvim| chunks(nvim) == ["hello", "back"]);
}

/// Holds (Scripts in Lua): An unknown event is refused with the nearest name.
#[test]
fn an_unknown_event_is_refused_with_the_nearest_name() {
    let mut nvim = Nvim::plain();
    let refused = |nvim: &mut Nvim, name: Json, call: &str| {
        let code = format!("return select(2, pcall(require('rat').on, ..., {call}))");
        nvim.lua(&code, json!([name])).as_str().unwrap().to_owned()
    };
    let nothing = "function() end";
    let near = refused(&mut nvim, json!("tool_cal"), nothing);
    assert_eq!(near, "rat.on: unknown event \"tool_cal\", did you mean \"tool_call\"?");
    let far = refused(&mut nvim, json!("everything"), nothing);
    assert!(far.contains("known events: *, chunk, message"), "{far}");
    refused(&mut nvim, json!(5), nothing);
    let no_function = refused(&mut nvim, json!("plan"), "5");
    assert_eq!(no_function, "rat.on: expected a function for plan, got number");
}
