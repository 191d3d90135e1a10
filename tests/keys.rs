//! Every key that `g?` lists, pressed in real Neovim: each has a case here, and a key without one fails the test.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Pending, Request};

/// A turn with all a key may act on: two messages, a thought, a location, a request with a diff, a queued prompt, an
/// attachment, a sent prompt in the history.
struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
    prompt: Request,
    request: Pending,
}

impl Talk {
    fn start() -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let file = nvim.folder().file("project/file.txt", "one\ntwo\nthree\n");
        let mut agent = nvim.start_agent_with(json!({"permission": {"open": "never"}}));
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("earlier prompt");
        let first = agent.expect_request("session/prompt");
        agent.say(&session, "An answer.");
        agent.reply(&first, json!({"stopReason": "end_turn"}));
        nvim.poll_state("ready");
        nvim.send("latest prompt");
        let prompt = agent.expect_request("session/prompt");
        let thought = json!({"type": "text", "text": "Hm.\nHmm."});
        agent.update(&session, json!({"sessionUpdate": "agent_thought_chunk", "content": thought}));
        let place = json!([{"path": file, "line": 2}]);
        agent.update(&session, json!({
            "sessionUpdate": "tool_call", "toolCallId": "read", "title": "Look", "locations": place,
        }));
        let diff = json!({"type": "diff", "path": file, "oldText": "one\n", "newText": "ONE\n"});
        let options: Vec<_> = (1..=9)
            .map(|n| json!({"optionId": format!("o{n}"), "name": format!("Option {n}"), "kind": "allow_once"}))
            .collect();
        let call =
            json!({"toolCallId": "edit", "title": "Change", "kind": "edit", "content": [diff]});
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        let request = agent.ask("session/request_permission", params);
        nvim.poll_state("waiting");
        nvim.poll_screen("[g9] Option 9");
        Self { nvim, agent, session, prompt, request }
    }

    fn enter(&mut self, view: &str) {
        let name =
            if view == "chat" { "rat://fake/1".to_owned() } else { format!("rat://fake/1/{view}") };
        self.nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([name]));
    }

    fn go_to(&mut self, text: &str) {
        let found = self.nvim.lua("return vim.fn.search('\\\\V' .. ..., 'w')", json!([text]));
        assert_ne!(found, json!(0), "{text} is not in the transcript");
    }

    fn is_in(&mut self, what: &str, expression: &str, wanted: &Json) {
        let code = format!("return {expression}");
        self.nvim.poll(what, |nvim| nvim.lua(&code, json!([])) == *wanted);
    }

    fn expect_prompt(&mut self, lines: &[&str]) {
        self.nvim
            .poll("the prompt's text", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == lines);
    }

    fn queue(&mut self, text: &str) {
        self.nvim.send(text);
        self.nvim.poll("the queue", |nvim| nvim.status()["queued"] == json!([text]));
    }

    fn end_turn(&mut self) {
        self.nvim.command("RatAllow");
        self.agent.expect_answer(self.request).unwrap();
        self.agent.reply(&self.prompt, json!({"stopReason": "end_turn"}));
    }

    fn expect_option(&mut self, option: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        assert_eq!(self.agent.expect_answer(self.request), Ok(outcome));
    }
}

/// Keys with the modes they are listed in, as `g?` has them for a view.
fn listed(nvim: &mut Nvim, view: &str) -> BTreeSet<(String, String)> {
    let code = "local found = {}
        for _, key in ipairs(require('rat.keys').of(...)) do
          for _, mode in ipairs(key.modes) do table.insert(found, { mode, key.lhs }) end
        end
        return found";
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let found = nvim.lua(code, json!([view]));
    found.as_array().unwrap().iter().map(|key| (text(&key[0]), text(&key[1]))).collect()
}

fn press_all(view: &str, press: fn(&mut Talk, &str, &str)) {
    let mut talk = Talk::start();
    let keys = listed(&mut talk.nvim, view);
    assert!(keys.len() > 10, "{keys:?}");
    for (mode, key) in keys {
        // A digit spends the request, sending spends the prompt: each key has a talk of its own.
        let mut talk = Talk::start();
        talk.enter(view);
        press(&mut talk, &mode, &key);
    }
}

#[test]
fn every_key_of_the_prompt_does_what_it_says() {
    press_all("prompt", |talk, mode, key| match (mode, key) {
        ("n", "<CR>" | "<C-s>") | ("i", "<C-s>") => {
            talk.end_turn();
            let back = if mode == "n" { "<Esc>" } else { "" };
            talk.nvim.input(&format!("ihello{back}{key}"));
            let sent = talk.agent.expect_request("session/prompt");
            assert_eq!(sent.params["prompt"][0]["text"], json!("hello"));
        }
        ("n", "<C-c>") => {
            talk.nvim.input(key);
            talk.agent.expect_notification("session/cancel");
        }
        (_, "<Up>") => {
            talk.nvim.input(if mode == "i" { "i<Up>" } else { "<Up>" });
            talk.expect_prompt(&["latest prompt"]);
            talk.nvim.input("<Up>");
            talk.expect_prompt(&["earlier prompt"]);
        }
        (_, "<Down>") => {
            talk.nvim.input(if mode == "i" { "idraft<Up>" } else { "idraft<Esc><Up>" });
            talk.expect_prompt(&["latest prompt"]);
            talk.nvim.input("<Down>");
            talk.expect_prompt(&["draft"]);
        }
        ("n", "g-") => {
            talk.nvim.command("RatAdd");
            talk.nvim.poll_screen("g- removes");
            talk.nvim.input(key);
            talk.nvim.poll("no attachment", |nvim| !nvim.screen().contains("g- removes"));
        }
        ("n", "g<") => {
            talk.queue("waits");
            talk.nvim.input("g<lt>");
            talk.expect_prompt(&["waits"]);
        }
        ("n", "g/") => {
            let command =
                json!({"name": "review", "description": "Look", "input": {"hint": "what"}});
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": [command]});
            talk.agent.update(&talk.session, update);
            talk.agent.say(&talk.session, "You have commands now.");
            talk.nvim.poll_screen("You have commands now.");
            talk.nvim.input(key);
            talk.nvim.poll_screen("/review <what> · Look");
            talk.nvim.choose(1);
            talk.expect_prompt(&["/review "]);
        }
        ("i", "<C-x><C-u>") => {
            let command = json!({"name": "review", "description": "Look at the changes"});
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": [command]});
            talk.agent.update(&talk.session, update);
            talk.agent.say(&talk.session, "You have commands now.");
            talk.nvim.poll_screen("You have commands now.");
            talk.nvim.input("i/rev<C-x><C-u>");
            talk.expect_prompt(&["/review"]);
        }
        ("n", "g?") => expect_help(talk),
        (_, "gf" | "gF" | "<C-w>f" | "<C-w><C-f>" | "<C-w>F" | "<C-w>gf" | "<C-w>gF") => {
            talk.nvim.input("isee file.txt:2.<Esc>");
            talk.nvim.input(&format!("{}{key}", if mode == "x" { "v" } else { "" }));
            let place = "{ vim.fn.expand('%:t'), vim.fn.line('.') }";
            talk.is_in("the place", place, &json!(["file.txt", 2]));
        }
        ("n", key) => expect_answer(talk, key),
        _ => panic!("{mode} {key} is listed and has no case"),
    });
}

#[test]
fn every_key_of_the_transcript_does_what_it_says() {
    press_all("chat", |talk, mode, key| match (mode, key) {
        (_, "<CR>" | "gf" | "gF" | "<C-w>f" | "<C-w><C-f>" | "<C-w>F" | "<C-w>gf" | "<C-w>gF") => {
            talk.go_to("Look");
            talk.nvim.input(&format!("{}{key}", if mode == "x" { "v" } else { "" }));
            talk.is_in(
                "the place",
                "{ vim.fn.expand('%:t'), vim.fn.line('.') }",
                &json!(["file.txt", 2]),
            );
            talk.is_in("a window of the user's", "vim.fn.winnr()", &json!(1));
        }
        ("n", "]]") => {
            talk.nvim.input("gg]]j");
            talk.is_in("the first message", "vim.fn.getline('.')", &json!("earlier prompt"));
            talk.nvim.input("2]]j");
            talk.is_in("two further", "vim.fn.getline('.')", &json!("latest prompt"));
        }
        ("n", "[[") => {
            talk.go_to("latest prompt");
            talk.nvim.input("2[[j");
            talk.is_in("two back", "vim.fn.getline('.')", &json!("An answer."));
        }
        ("n", "gd") => {
            talk.nvim.input(key);
            talk.nvim.poll_screen("ga allow  gr reject");
            talk.is_in("native diff mode", "vim.wo.diff", &json!(true));
        }
        ("n", "gx") => {
            let open = "vim.ui.open = function(what) vim.g.opened = what return {} end";
            talk.nvim.lua(open, json!([]));
            talk.agent.say(&talk.session, "See [it](https://a.example/x).");
            talk.nvim.poll_screen("See it.");
            talk.go_to("it](");
            talk.nvim.input(key);
            talk.is_in("the address", "vim.g.opened", &json!("https://a.example/x"));
        }
        ("n", "i" | "a" | "o") => {
            talk.nvim.input(key);
            talk.is_in("the prompt", "vim.bo.filetype", &json!("ratprompt"));
        }
        ("n", "za") => {
            talk.go_to("Hmm.");
            talk.is_in("a closed fold", "vim.fn.foldclosed('.') > 0", &json!(true));
            talk.nvim.input(key);
            talk.is_in("an open fold", "vim.fn.foldclosed('.') > 0", &json!(false));
        }
        ("n", "q") => {
            talk.nvim.input(key);
            talk.is_in("the user's window alone", "vim.fn.winnr('$')", &json!(1));
        }
        ("n", "g?") => expect_help(talk),
        ("n", key) => expect_answer(talk, key),
        _ => panic!("{mode} {key} is listed and has no case"),
    });
}

/// Keys that answer the request: `ga`, `gr`, and `g` with an option's number.
fn expect_answer(talk: &mut Talk, key: &str) {
    if talk.nvim.lua("return vim.bo.filetype", json!([])) == "rat" {
        talk.go_to("Option 1");
    }
    talk.nvim.input(key);
    match key {
        "ga" => talk.expect_option("o1"),
        "gr" => {
            let cancelled = json!({"outcome": {"outcome": "cancelled"}});
            assert_eq!(talk.agent.expect_answer(talk.request), Ok(cancelled));
        }
        _ => {
            let digit = key.strip_prefix('g').filter(|digit| digit.parse::<u8>().is_ok());
            talk.expect_option(&format!("o{}", digit.unwrap()));
        }
    }
}

fn expect_help(talk: &mut Talk) {
    talk.nvim.input("g?");
    talk.nvim.poll_screen("list these keys");
    talk.nvim.input("q");
    talk.nvim.poll("no list", |nvim| !nvim.screen().contains("list these keys"));
}

#[test]
fn the_plan_and_the_tool_calls_close_alone() {
    for (command, view) in [("RatPlan", "plan"), ("RatTools", "tools")] {
        let mut talk = Talk::start();
        let before = talk.nvim.lua("return vim.fn.winrestcmd()", json!([]));
        talk.nvim.command(command);
        talk.enter(view);
        assert_eq!(listed(&mut talk.nvim, view), listed(&mut talk.nvim, "chat"));
        talk.nvim.input("q");
        let wanted = before.clone();
        talk.is_in("the layout from before", "vim.fn.winrestcmd()", &wanted);
    }
}
