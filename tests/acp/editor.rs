//! The messages made from the schemas in real Neovim: hundreds of them in one session, by chance and each variant in full,
//! after which all requests are answered, nothing has failed in the editor, and a prompt works as ever.

use crate::forge::{Filling, Forge};
use crate::schema::UNSTABLE;
use crate::support::{Agent, Nvim, Options, Pending};
use rat_nvim::acp::table;
use serde_json::{Value as Json, json};

/// `SplitMix64`: the same draws each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn chance(&mut self, mischief: bool) -> Filling {
        let draws = (0..100).map(|_| u32::try_from(self.next() >> 32).unwrap()).collect();
        Filling::Chance { draws, mischief }
    }
}

struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
    asked: Vec<Pending>,
}

impl Talk {
    /// The same message about this session and this project.
    fn here(&self, params: &Json) -> Json {
        let project = self.nvim.cwd().to_string_lossy().into_owned();
        let text = params.to_string().replace("\"/project", &format!("\"{project}"));
        let mut params: Json = serde_json::from_str(&text).unwrap();
        if params.get("sessionId").is_some() {
            params["sessionId"] = json!(self.session);
        }
        params
    }

    fn update(&mut self, index: usize, filling: Filling) {
        let forge = Forge::new(&UNSTABLE, filling).branch("SessionUpdate", index);
        let params = self.here(&forge.make("SessionNotification").json);
        self.agent.notify("session/update", params);
    }

    fn request(&mut self, method: &str, filling: Filling) {
        if let Some(name) = UNSTABLE.of_method("client", method, "Request") {
            let params = self.here(&Forge::new(&UNSTABLE, filling).make(name).json);
            let pending = self.agent.ask(method, params);
            self.asked.push(pending);
        }
    }
}

/// ACP 2, 11, 12.
#[test]
fn an_agent_that_says_anything_harms_neither_the_editor_nor_the_session() {
    let mut nvim = Nvim::start(Options { columns: 100, lines: 30, ..Options::default() });
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    nvim.poll_state("running");
    let mut talk = Talk { nvim, agent, session, asked: Vec::new() };
    let mut dice = Dice(4);
    let variants = UNSTABLE.branches("SessionUpdate").len();
    for round in 0..12 {
        for index in 0..variants {
            let filling = match round {
                0 => Filling::Least,
                1..4 => Filling::Full(round),
                _ => dice.chance(round % 2 == 0),
            };
            talk.update(index, filling);
        }
        for row in table::TO_CLIENT {
            let filling = if round == 0 { Filling::Full(0) } else { dice.chance(round % 2 == 0) };
            talk.request(row.name, filling);
        }
    }
    let Talk { mut nvim, mut agent, session, asked } = talk;
    // What waits for the user is settled by the end of the turn.
    nvim.command("RatCancel");
    agent.expect_notification("session/cancel");
    assert!(asked.len() > 100, "only {} requests", asked.len());
    for pending in asked {
        let _ = agent.expect_answer(pending);
    }
    agent.reply(&prompt, json!({"stopReason": "cancelled"}));
    nvim.poll_state("ready");
    nvim.send("and now?");
    let prompt = agent.expect_request("session/prompt");
    agent.update(
        &session,
        json!({"sessionUpdate": "agent_message_chunk", "messageId": "last",
            "content": {"type": "text", "text": "It goes on."}}),
    );
    agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
    nvim.poll("the answer in the transcript", |nvim| {
        nvim.buffer_lines("rat://fake/1").iter().any(|line| line == "It goes on.")
    });
    let messages = nvim.messages();
    assert!(
        !messages.contains("Error executing") && !messages.contains("stack traceback"),
        "{messages}"
    );
}

/// ACP 123.
#[test]
fn notices_that_come_together_stop_nobody() {
    let mut nvim = Nvim::start(Options::default());
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    let notice = |number: u32| {
        let update = json!({"sessionUpdate": "notice", "severity": "warning",
            "title": format!("{} notice \u{0}\u{1b} {number}", "long ".repeat(number as usize))});
        let params = json!({"sessionId": session, "update": update});
        format!("{}\n", json!({"method": "session/update", "params": params}))
    };
    let together: String = (1..=20).map(notice).collect();
    agent.send_raw(together.as_bytes());
    nvim.poll("the last notice", |nvim| {
        assert!(!nvim.mode_is_blocked(), "Neovim waits for a key");
        nvim.messages().trim_end().ends_with("20")
    });
    assert_eq!(nvim.status()["state"], json!("ready"));
}

/// ACP 17.
#[test]
fn a_request_that_waits_for_the_user_holds_up_nothing() {
    let mut nvim = Nvim::start(Options::default());
    let file = nvim.folder().file("project/a.txt", "a text\n");
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    let call = json!({"toolCallId": "t", "title": "Look"});
    let waiting = agent.ask(
        "session/request_permission",
        json!({"sessionId": session, "toolCall": call, "options": options}),
    );
    nvim.poll_state("waiting");
    let read = agent.request("fs/read_text_file", json!({"sessionId": session, "path": file}));
    assert_eq!(read.unwrap()["content"], json!("a text\n"));
    agent.say(&session, "Meanwhile.");
    nvim.poll_screen("Meanwhile.");
    assert!(!agent.is_answered(waiting));
    agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    agent.expect_answer(waiting).unwrap();
}

/// ACP 76.
#[test]
fn what_waits_is_answered_before_the_agent_is_ended() {
    for end in ["RatStop", "qall!"] {
        let mut nvim = Nvim::start(Options::default());
        let mut agent = nvim.start_agent();
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("go");
        agent.expect_request("session/prompt");
        let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
        let waiting = agent.ask(
            "session/request_permission",
            json!({"sessionId": session, "toolCall": {"toolCallId": "t"}, "options": options}),
        );
        nvim.poll_state("waiting");
        if end == "RatStop" {
            nvim.command(end);
        } else {
            nvim.quit();
        }
        assert_eq!(
            agent.expect_answer(waiting),
            Ok(json!({"outcome": {"outcome": "cancelled"}})),
            "after :{end}"
        );
        agent.expect_stdin_closed();
    }
}

/// ACP 93.
#[test]
fn a_path_that_is_not_absolute_is_refused() {
    let mut nvim = Nvim::start(Options::default());
    nvim.folder().file("project/a.txt", "a text\n");
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    for (method, params) in [
        ("fs/read_text_file", json!({"sessionId": session, "path": "a.txt"})),
        ("fs/write_text_file", json!({"sessionId": session, "path": "a.txt", "content": ""})),
    ] {
        let error = agent.request(method, params).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{error}");
        assert!(error["message"].as_str().unwrap().contains("a.txt"), "{error}");
    }
}

/// ACP 120.
#[test]
fn commands_are_those_said_last_and_go_as_text() {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.start_agent();
    let session = agent.handshake();
    nvim.poll_state("ready");
    for names in [["gone", "going"], ["go now", "go back"]] {
        let command =
            |name| json!({"name": name, "description": "Goes.", "input": {"hint": "where"}});
        let commands: Vec<_> = names.into_iter().map(command).collect();
        agent.update(
            &session,
            json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}),
        );
    }
    agent.say(&session, "Ready.");
    nvim.poll_screen("Ready.");
    nvim.input("i/g<C-x><C-u>");
    nvim.poll_screen("/go now where");
    assert!(!nvim.screen().contains("/gone"), "{}", nvim.screen().text());
    nvim.input("<C-y> home<Esc><CR>");
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"], json!([{"type": "text", "text": "/go now home"}]));
}
