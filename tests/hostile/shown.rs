//! What an agent says in a conversation, in all windows that show it.

use super::poison::{short, text};
use super::terminal::Viewer;
use crate::support::{Agent, Chat, Request, TRANSCRIPT};
use serde_json::{Value as Json, json};

/// An agent whose names are poison, and a turn of it that runs.
pub(crate) struct Talk {
    pub(crate) viewer: Viewer,
    pub(crate) agent: Agent,
    pub(crate) session: String,
    pub(crate) turn: Request,
}

impl Talk {
    pub(crate) fn start(init: &str) -> Self {
        let mut viewer = Viewer::start(init);
        let opened = json!({"sessionId": text("p-session"), "configOptions": options()});
        let chat = Chat::builder().initialized(initialized()).opened(opened);
        let (mut agent, session) = chat.start_in(&mut viewer.nvim);
        viewer.nvim.send("go");
        let turn = agent.expect_request("session/prompt");
        viewer.nvim.poll_state("running");
        Self { viewer, agent, session, turn }
    }

    pub(crate) fn update(&mut self, kind: &str, more: Json) {
        let mut update = json!({"sessionUpdate": kind});
        update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.agent.update(&self.session, update);
    }

    /// A message that ends what came before: once it is drawn, all of that is.
    pub(crate) fn settle(&mut self, word: &str) {
        let content = json!({"type": "text", "text": format!("\n\n{word}")});
        self.update("agent_message_chunk", json!({"content": content}));
        self.viewer.nvim.poll(word, |nvim| {
            nvim.buffer_lines(TRANSCRIPT).iter().any(|line| line.contains(word))
        });
    }
}

pub(crate) fn initialized() -> Json {
    let info =
        json!({"name": text("p-name"), "title": short("p-agent"), "version": text("p-version")});
    let method =
        json!({"id": text("p-method"), "name": text("p-login"), "description": text("p-how")});
    let other = json!({"id": "other", "name": text("p-other-login")});
    let sessions = json!({"list": {}, "close": {}, "delete": {}, "fork": {}, "resume": {}});
    let can = json!({"loadSession": true, "sessionCapabilities": sessions,
        "auth": {"logout": {}}});
    json!({"agentInfo": info, "authMethods": [method, other], "agentCapabilities": can})
}

pub(crate) fn options() -> Json {
    let choice = |place: &str| json!({"value": text(place), "name": text(place), "description": text("p-chosen")});
    json!([
        {"id": text("p-option"), "name": text("p-option"), "description": text("p-about"), "category": text("p-kind"),
            "type": "select", "currentValue": text("p-choice"), "options": [choice("p-choice"), choice("p-other")]},
        {"id": "m", "name": text("p-model"), "category": "model", "type": "select", "currentValue": text("p-nothing"),
            "options": [{"group": "g", "name": text("p-group"), "options": [choice("p-grouped")]}]},
        {"id": "mode", "name": text("p-mode"), "category": "mode", "type": "select", "currentValue": "a",
            "options": [{"value": "a", "name": text("p-in-mode")}]},
    ])
}

fn block(place: &str) -> Json {
    json!({"type": "content", "content": {"type": "text", "text": text(place)}})
}

/// Content of every kind, with a name in each field.
fn contents() -> Json {
    json!([
        block("p-content"),
        {"type": "content", "content": {"type": "image", "mimeType": text("p-mime"), "data": "AAAA", "uri": text("p-image")}},
        {"type": "content", "content": {"type": "audio", "mimeType": text("p-audio"), "data": "AAAA"}},
        {"type": "content", "content": {"type": "resource_link", "uri": text("p-uri"), "name": text("p-link"),
            "title": text("p-titled"), "description": text("p-described"), "mimeType": text("p-mime2")}},
        {"type": "content", "content": {"type": "resource", "resource": {"uri": text("p-embedded"), "text": text("p-resource")}}},
        {"type": "content", "content": {"type": "resource", "resource": {"uri": text("p-blob"), "blob": "AAAA", "mimeType": text("p-mime3")}}},
        {"type": text("p-odd"), "text": text("p-odd")},
        {"type": "content", "content": {"type": text("p-strange")}},
    ])
}

pub(crate) fn say_everything(talk: &mut Talk) {
    for (kind, place) in [
        ("agent_message_chunk", "p-message"),
        ("agent_thought_chunk", "p-thought"),
        ("user_message_chunk", "p-user"),
        ("agent_message_chunk", "# p-heading"),
        ("agent_thought_chunk", "p-again"),
        ("agent_message_chunk", "| p-table |\n|---|\n| x"),
        ("agent_message_chunk", "\n\n```lua\np-code"),
        ("agent_message_chunk", "\n```\n\n[p-words](http://a.test"),
    ] {
        let content = json!({"type": "text", "text": text(place)});
        talk.update(kind, json!({"messageId": text(place), "content": content}));
    }
    for content in contents().as_array().unwrap() {
        talk.update("agent_message_chunk", json!({"content": content["content"]}));
    }
    let long = (0..60).map(|row| format!("row {row} {}\n", text("p-row"))).collect::<String>();
    let terminal = text("p-terminal");
    talk.update("tool_call", json!({"toolCallId": text("p-call"), "title": text("p-title"), "name": text("p-tool"),
        "kind": "read", "status": "in_progress", "locations": [{"path": text("/p-place"), "line": 7}, {"path": text("p-near")}],
        "rawInput": {"p-field": text("p-value"), text("p-key"): [text("p-list")]}, "content": contents()}));
    talk.update("tool_call", json!({"toolCallId": "edit", "title": text("p-edit"), "kind": "edit", "status": "completed",
        "content": [{"type": "diff", "path": text("/p-path"), "oldText": text("p-old\n"), "newText": text("p-new\n")}]}));
    talk.update("tool_call", json!({"toolCallId": "run", "title": text("p-run"), "kind": "execute", "status": "failed",
        "rawInput": {"command": text("p-command"), "cwd": text("/p-folder")}, "rawOutput": text("p-output"),
        "content": [{"type": "content", "content": {"type": "text", "text": long}}]}));
    talk.update(
        "tool_call",
        json!({"toolCallId": "kind", "title": text("p-kinds"), "kind": text("p-kind"),
        "status": text("p-status"), "rawOutput": {"p-out": text("p-json")}}),
    );
    talk.update("tool_call", json!({"toolCallId": "term", "title": "Build", "kind": "execute", "status": "in_progress",
        "content": [{"type": "terminal", "terminalId": terminal}], "_meta": {"terminal_info": {"terminal_id": terminal}}}));
    let data = format!("{}\r\n", text("p-written"));
    talk.update("tool_call_update", json!({"toolCallId": "term",
        "_meta": {"terminal_output": {"terminal_id": terminal, "data": data}, text("p-meta"): text("p-meta")}}));
    talk.update(
        "tool_call_update",
        json!({"toolCallId": "term", "status": "completed", "_meta": {"terminal_exit":
        {"terminal_id": terminal, "exit_code": null, "signal": text("p-signal")}}}),
    );
    let entry = |place: &str, status: &str| json!({"content": text(place), "priority": "high", "status": status});
    talk.update("plan", json!({"entries": [entry("p-step", "pending"), entry("p-doing", "in_progress"), entry("p-done", "completed")]}));
    let command = |name: String| json!({"name": name, "description": text("p-does"), "input": {"hint": text("p-hint")}});
    talk.update(
        "available_commands_update",
        json!({"availableCommands": [command("plain".into()), command(text("p-slash"))]}),
    );
    talk.update(
        "session_info_update",
        json!({"title": text("p-info"), "updatedAt": text("p-when")}),
    );
    talk.update(
        "usage_update",
        json!({"used": 1, "size": 2, "cost": {"amount": 1.5, "currency": text("p-unit")}}),
    );
    for severity in ["info", "warning", "error", "p-severity"] {
        talk.update(
            "notice",
            json!({"severity": severity, "title": text("p-notice"), "description": text("p-why")}),
        );
    }
    talk.update(
        "compaction_update",
        json!({"compactionId": text("p-compact"), "status": "completed",
        "summary": [{"type": "text", "text": text("p-summary")}]}),
    );
    talk.update(
        "compaction_update",
        json!({"compactionId": "2", "status": "failed", "error": text("p-compacting")}),
    );
    talk.update(&text("p-unknown"), json!({"p": text("p-unknown")}));
    talk.update("plan", json!({"entries": text("p-malformed")}));
    talk.agent.stderr(&text("p-stderr"));
}

/// Holds (Hostile agents): No text of an agent commands the terminal, in any window: checked in the bytes that Neovim's TUI writes.
#[test]
fn no_window_lets_a_sequence_through() {
    let mut talk = Talk::start("");
    say_everything(&mut talk);
    talk.settle("All was said.");
    let viewer = &mut talk.viewer;
    viewer.nvim.command("RatStart");
    viewer.go_to("All was said.");
    viewer.look_through();
    for (command, text) in
        [("RatPlan", "p-step"), ("RatTools", "p-title"), ("RatInfo", "p-version")]
    {
        viewer.open(command, text);
    }
    viewer.nvim.command("RatTrace");
    // The page comes in pieces.
    let is_whole = "vim.fn.search('All was said', 'nw') > 0";
    viewer.nvim.poll("all of the traffic", |nvim| nvim.eval(is_whole) == json!(true));
    viewer.look_through();
    for name in ["rat://fake/1/plan", "rat://fake/1/tools"] {
        viewer.nvim.enter(name);
        viewer.look_through();
        viewer.nvim.command("normal q");
    }
    viewer.go_to("p-run");
    viewer.nvim.input("zv<CR>");
    viewer.poll("row 1 ");
    viewer.look_through();
    viewer.nvim.command("close");
    viewer.go_to("opens it");
    viewer.nvim.input("zv<CR>");
    viewer.poll("p-written");
    viewer.look_through();
    viewer.nvim.command("close");
    talk.agent.reply(&talk.turn, json!({"stopReason": text("p-reason")}));
    viewer.nvim.poll_state("ready");
    viewer.look();
    viewer.finish(&[
        "p-message",
        "p-thought",
        "p-user",
        "p-heading",
        "p-again",
        "p-table",
        "p-code",
        "p-words",
        "p-title",
        "p-place",
        "p-edit",
        "p-old",
        "p-new",
        "p-run",
        "p-command",
        "p-row",
        "p-written",
        "p-step",
        "p-doing",
        "p-done",
        "p-summary",
        "p-unknown",
        "p-version",
        "p-content",
        "p-link",
        "p-resource",
        "p-stderr",
    ]);
}
