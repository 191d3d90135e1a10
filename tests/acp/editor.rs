//! The messages made from the schemas in real Neovim: hundreds of them in one session, by chance and each variant in full,
//! after which all requests are answered, nothing has failed in the editor, and a prompt works as ever.

use super::forge::{Filling, Forge};
use super::schema::UNSTABLE;
use crate::support::{Chat, Dice, Pending, TRANSCRIPT};
use rat_nvim::acp::v1::table;
use serde_json::{Value as Json, json};

fn by_chance(dice: &mut Dice, mischief: bool) -> Filling {
    let draws = (0..100).map(|_| u32::try_from(dice.next() >> 32).unwrap()).collect();
    Filling::Chance { draws, mischief }
}

/// What an agent says that is made from the schemas.
struct Forger {
    chat: Chat,
    asked: Vec<Pending>,
}

impl Forger {
    /// The same message about this session and this project.
    fn here(&self, params: &Json) -> Json {
        let project = self.chat.nvim.cwd().to_string_lossy().into_owned();
        let text = params.to_string().replace("\"/project", &format!("\"{project}"));
        let mut params: Json = serde_json::from_str(&text).unwrap();
        if params.get("sessionId").is_some() {
            params["sessionId"] = json!(self.chat.session);
        }
        params
    }

    fn update(&mut self, index: usize, filling: Filling) {
        let forge = Forge::new(&UNSTABLE, filling).branch("SessionUpdate", index);
        let params = self.here(&forge.make("SessionNotification").json);
        self.chat.agent.notify("session/update", params);
    }

    fn request(&mut self, method: &str, filling: Filling) {
        if let Some(name) = UNSTABLE.of_method("client", method, "Request") {
            let params = self.here(&Forge::new(&UNSTABLE, filling).make(name).json);
            let pending = self.chat.agent.ask(method, params);
            self.asked.push(pending);
        }
    }
}

/// ACP 2, 11, 12.
#[test]
fn an_agent_that_says_anything_harms_neither_the_editor_nor_the_session() {
    let chat = Chat::builder().screen(100, 30).in_turn();
    let mut forger = Forger { chat, asked: Vec::new() };
    let mut dice = Dice::new(4);
    let variants = UNSTABLE.branches("SessionUpdate").len();
    for round in 0..12 {
        for index in 0..variants {
            let filling = match round {
                0 => Filling::Least,
                1..4 => Filling::Full(round),
                _ => by_chance(&mut dice, round % 2 == 0),
            };
            forger.update(index, filling);
        }
        for row in table::TO_CLIENT {
            let filling =
                if round == 0 { Filling::Full(0) } else { by_chance(&mut dice, round % 2 == 0) };
            forger.request(row.name, filling);
        }
    }
    let Forger { mut chat, asked } = forger;
    // What waits for the user is settled by the end of the turn.
    chat.nvim.command("RatCancel");
    chat.agent.expect_notification("session/cancel");
    assert!(asked.len() > 100, "only {} requests", asked.len());
    for pending in asked {
        let _ = chat.agent.expect_answer(pending);
    }
    chat.end_turn("cancelled");
    chat.nvim.poll_state("ready");
    chat.prompt("and now?");
    let text = json!({"type": "text", "text": "It goes on."});
    chat.update(
        json!({"sessionUpdate": "agent_message_chunk", "messageId": "last", "content": text}),
    );
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.poll("the answer in the transcript", |nvim| {
        nvim.buffer_lines(TRANSCRIPT).iter().any(|line| line == "It goes on.")
    });
    let messages = chat.nvim.messages();
    assert!(
        !messages.contains("Error executing") && !messages.contains("stack traceback"),
        "{messages}"
    );
}

/// ACP 123.
#[test]
fn notices_that_come_together_stop_nobody() {
    let mut chat = Chat::start();
    let session = chat.session.clone();
    let notice = |number: u32| {
        let update = json!({"sessionUpdate": "notice", "severity": "warning",
            "title": format!("{} notice \u{0}\u{1b} {number}", "long ".repeat(number as usize))});
        let params = json!({"sessionId": session, "update": update});
        format!("{}\n", json!({"method": "session/update", "params": params}))
    };
    let together: String = (1..=20).map(notice).collect();
    chat.agent.send_raw(together.as_bytes());
    chat.nvim.poll("the last notice", |nvim| {
        assert!(!nvim.mode_is_blocked(), "Neovim waits for a key");
        nvim.messages().trim_end().ends_with("20")
    });
    assert_eq!(chat.nvim.status()["state"], json!("ready"));
}

/// ACP 17.
#[test]
fn a_request_that_waits_for_the_user_holds_up_nothing() {
    let mut chat = Chat::builder().file("a.txt", "a text\n").in_turn();
    let file = chat.path("a.txt");
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    let call = json!({"toolCallId": "t", "title": "Look"});
    let waiting = chat.ask_permission(call, options);
    let read = chat.request("fs/read_text_file", json!({"path": file}));
    assert_eq!(read.unwrap()["content"], json!("a text\n"));
    chat.say("Meanwhile.");
    chat.nvim.poll_screen("Meanwhile.");
    assert!(!chat.agent.is_answered(waiting));
    chat.end_turn("end_turn");
    chat.answer(waiting);
}

/// ACP 76.
#[test]
fn what_waits_is_answered_before_the_agent_is_ended() {
    for end in ["RatStop", "qall!"] {
        let mut chat = Chat::in_turn();
        let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
        let waiting = chat.ask_permission(json!({"toolCallId": "t"}), options);
        if end == "RatStop" {
            chat.nvim.command(end);
        } else {
            chat.nvim.quit();
        }
        assert_eq!(
            chat.agent.expect_answer(waiting),
            Ok(json!({"outcome": {"outcome": "cancelled"}})),
            "after :{end}"
        );
        chat.agent.expect_stdin_closed();
    }
}

/// ACP 93.
#[test]
fn a_path_that_is_not_absolute_is_refused() {
    let mut chat = Chat::builder().file("a.txt", "a text\n").start();
    for (method, params) in [
        ("fs/read_text_file", json!({"path": "a.txt"})),
        ("fs/write_text_file", json!({"path": "a.txt", "content": ""})),
    ] {
        let error = chat.request(method, params).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{error}");
        assert!(error["message"].as_str().unwrap().contains("a.txt"), "{error}");
    }
}

/// ACP 120.
#[test]
fn commands_are_those_said_last_and_go_as_text() {
    let mut chat = Chat::start();
    for names in [["gone", "going"], ["go now", "go back"]] {
        let command =
            |name| json!({"name": name, "description": "Goes.", "input": {"hint": "where"}});
        let commands: Vec<_> = names.into_iter().map(command).collect();
        chat.update(
            json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}),
        );
    }
    chat.say("Ready.");
    chat.nvim.poll_screen("Ready.");
    chat.nvim.input("i/g<C-x><C-u>");
    chat.nvim.poll_screen("/go now where");
    assert!(!chat.nvim.screen().contains("/gone"), "{}", chat.nvim.screen().text());
    chat.nvim.input("<C-y> home<Esc><CR>");
    let prompt = chat.expect_prompt();
    assert_eq!(prompt.params["prompt"], json!([{"type": "text", "text": "/go now home"}]));
}
