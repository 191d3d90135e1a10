//! Messages in orders that no agent should send, from before the handshake until after the end of a turn: each request is
//! answered once, nothing else is, and the next prompt works.

use super::world::World;
use crate::support::{Dice, Inputs, text};
use rat_nvim::core::messages::elicitation::ElicitationChoice;
use rat_nvim::core::messages::status::ChatState;
use rat_nvim::core::messages::user::{PermissionChoice, UserAction};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::io::Write as _;

/// So many steps are played at most.
const STEPS: usize = 40;

/// Methods of requests, and some that are none.
const METHODS: &[&str] = &[
    "fs/read_text_file",
    "fs/write_text_file",
    "session/request_permission",
    "elicitation/create",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
    "session/update",
    "initialize",
    "session/prompt",
    "session/cancel",
    "_unknown",
    "",
    "$/cancel_request",
];

const LINES: &[&str] = &[
    "",
    "{",
    "[]",
    "null",
    "7",
    "\"x\"",
    "{}",
    "{\"id\":null}",
    "{\"id\":{}}",
    "{\"method\":7}",
    "{\"result\":{}}",
    "{\"id\":[1],\"method\":\"_x\"}",
    "[{\"id\":1,\"method\":\"_x\"}]",
    "{\"jsonrpc\":\"1.0\",\"method\":\"_x\"}",
    "{\"id\":12345678901234567890123,\"method\":\"_x\"}",
    "{\"id\":1,\"id\":2}",
];

struct Play {
    world: World,
    dice: Dice,
    /// How many requests had each id, as JSON text.
    asked: HashMap<String, usize>,
    /// Ids of our calls, answered or not.
    called: Vec<Json>,
    trail: Vec<String>,
}

impl Play {
    fn start(dice: Dice) -> Self {
        let world = World::start();
        Self { world, dice, asked: HashMap::new(), called: Vec::new(), trail: Vec::new() }
    }

    fn has_ended(&self) -> bool {
        matches!(self.world.stands, ChatState::Failed | ChatState::Stopped)
    }

    fn say(&mut self, message: &Json) {
        self.trail.push(message.to_string());
        self.world.receive(message);
    }

    fn step(&mut self) {
        match self.dice.within(0..12) {
            0..=3 => self.request(),
            4 | 5 => self.update(),
            6 => self.answer_what_was_called(),
            7 => self.answer_what_was_not_called(),
            8 => {
                let line = *self.dice.pick(LINES);
                self.trail.push(line.to_owned());
                self.world.receive_line(line);
            }
            9 => {
                let id = self.id();
                self.say(&json!({"method": "$/cancel_request", "params": {"requestId": id}}));
            }
            10 => {
                let (method, params) = (*self.dice.pick(METHODS), self.params());
                self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
            }
            _ => self.act(),
        }
    }

    /// An id of few, so that many are used twice.
    fn id(&mut self) -> Json {
        let number = self.dice.within(0..12);
        match self.dice.within(0..4) {
            0 => json!(number.to_string()),
            1 => json!(-i64::try_from(number).unwrap()),
            _ => json!(number),
        }
    }

    fn session(&mut self) -> Json {
        self.dice.pick(&[json!("s"), json!("s"), json!("other"), json!(7), Json::Null]).clone()
    }

    fn params(&mut self) -> Json {
        let terminal = self
            .world
            .answers
            .values()
            .flatten()
            .find_map(|answer| answer["result"]["terminalId"].as_str().map(str::to_owned));
        let option = json!({"optionId": "o", "name": "Yes", "kind": self.dice.pick(&["allow_once", "reject_once", "odd"])});
        let path = *self.dice.pick(&["/project/a", "a", "", "/"]);
        let mut params = json!({
            "sessionId": self.session(), "path": path, "content": "x\n", "command": "true",
            "terminalId": terminal.unwrap_or_else(|| "none".to_owned()), "options": [option],
            "toolCall": {"toolCallId": "t", "title": "Run", "kind": "execute"}, "mode": "form", "message": "?",
            "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
        });
        if self.dice.once_in(4) {
            let keys: Vec<String> = params.as_object().unwrap().keys().cloned().collect();
            let key = self.dice.pick(&keys).clone();
            params[key] = self.dice.pick(&[json!(null), json!(7), json!([]), json!({})]).clone();
        }
        params
    }

    fn request(&mut self) {
        let (id, method, params) = (self.id(), *self.dice.pick(METHODS), self.params());
        *self.asked.entry(id.to_string()).or_default() += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn update(&mut self) {
        let update = match self.dice.within(0..6) {
            0 => json!({"sessionUpdate": "agent_message_chunk", "content": text("words")}),
            1 => {
                json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Run", "status": "pending"})
            }
            2 => {
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"})
            }
            3 => {
                json!({"sessionUpdate": "plan", "entries": [{"content": "step", "status": "pending"}]})
            }
            4 => json!({"sessionUpdate": "current_mode_update", "currentModeId": "none"}),
            _ => json!({"sessionUpdate": 7}),
        };
        let session = self.session();
        self.say(&json!({"method": "session/update", "params": {"sessionId": session, "update": update}}));
    }

    /// Answers one of our calls, often as it should be answered.
    fn answer_what_was_called(&mut self) {
        if self.world.calls.is_empty() {
            return;
        }
        let at = self.dice.within(0..self.world.calls.len());
        let called = self.world.calls.remove(at);
        self.called.push(called.id.clone());
        let message = match self.dice.within(0..8) {
            0 => json!({"id": called.id, "error": {"code": -32603, "message": "no"}}),
            1 => json!({"id": called.id, "result": null}),
            _ => json!({"id": called.id, "result": usual(&called.method)}),
        };
        self.say(&message);
    }

    /// Answers a call twice, or one that nobody made.
    fn answer_what_was_not_called(&mut self) {
        self.called.push(json!(self.dice.within(100..1000)));
        let id = self.dice.pick(&self.called).clone();
        let method = *self.dice.pick(&["initialize", "session/new", "session/prompt"]);
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": usual(method)}));
    }

    /// The user does something.
    fn act(&mut self) {
        let what = self.dice.within(0..5);
        self.trail.push(format!("the user does {what}"));
        match what {
            0 => self.world.prompt("more"),
            1 => self.world.user(UserAction::Cancel(None)),
            2 => self.world.decide(PermissionChoice::Allow),
            3 => self.world.deny_all(),
            _ => self.world.answer_forms(&ElicitationChoice::Decline),
        }
    }

    /// All that is open ends as it should, and one more prompt is answered.
    fn settle(&mut self) {
        self.world.deny_all();
        self.world.answer_forms(&ElicitationChoice::Decline);
        while let Some(called) = self.world.calls.first().cloned() {
            self.world.answer(&called.method, &usual(&called.method));
            self.world.deny_all();
        }
        if self.has_ended() {
            return;
        }
        // A tool call may go on after its turn.
        let stands = self.world.stands;
        assert!(matches!(stands, ChatState::Ready | ChatState::Running), "{stands:?}");
        self.world.prompt("and now?");
        self.world.update(&json!({"sessionUpdate": "agent_message_chunk", "messageId": "goes-on",
            "content": text("It goes on.")}));
        assert!(self.world.drawn().contains("It goes on."), "{}", self.world.drawn());
        self.world.answer("session/prompt", &usual("session/prompt"));
        assert_eq!(self.world.stands, ChatState::Ready);
    }

    fn expect_one_answer_to_each(&self) {
        for (id, count) in &self.asked {
            let answers = self.world.answers.get(id).map_or(0, Vec::len);
            assert_eq!(answers, *count, "answers to {id}: {:?}", self.world.answers.get(id));
        }
    }
}

/// The trail of a play that fails.
impl Drop for Play {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Fails only where nobody reads.
            let _ = writeln!(std::io::stderr(), "{}", self.trail.join("\n"));
        }
    }
}

/// What an agent answers to a call of ours.
fn usual(method: &str) -> Json {
    match method {
        "initialize" => json!({"protocolVersion": 1}),
        "session/new" => json!({"sessionId": "s"}),
        "session/prompt" => json!({"stopReason": "end_turn"}),
        _ => json!({}),
    }
}

/// Holds (Hostile agents): In whatever order messages come, before the handshake too, each request gets one answer, and the next prompt works.
#[test]
fn generated_orders_of_messages_leave_nothing_unanswered() {
    let inputs = Inputs::of("orders");
    inputs.in_batches(1, |numbers| {
        let mut play = Play::start(inputs.dice(numbers.start));
        if !play.dice.once_in(4) {
            play.world = World::in_a_turn();
        }
        for _ in 0..play.dice.within(1..STEPS) {
            if play.has_ended() {
                break;
            }
            play.step();
        }
        play.settle();
        play.world.stop();
        play.expect_one_answer_to_each();
    });
}
