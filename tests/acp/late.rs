//! Messages that come late, twice, in pieces, with a wrong id or with none: a model says what the transcript has to have, which
//! requests wait, and how the chat stands. `RAT_STEPS` says how many steps are played.

use super::world::World;
use crate::support::{Dice, Inputs, text};
use rat_nvim::core::messages::status::ChatState;
use rat_nvim::core::messages::user::{PermissionChoice, UserAction};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;

/// How many steps are played unless the environment says how many, and in each conversation.
const STEPS: u64 = 800;
const STEPS_OF_A_TALK: u64 = 40;

/// How many pieces a message has at most.
const PIECES: usize = 5;

/// Ids of tool calls; few, so that they are used again.
const CALLS: &[&str] = &["call_1", "call_2", "call_3"];

/// A message as its agent means it.
#[derive(Debug)]
struct Message {
    role: &'static str,
    /// The words sent so far, each with a number of its own.
    sent: usize,
    /// How many pieces are still to come, if others may come in between.
    left: usize,
}

/// A request for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Waits,
    Allowed,
    Rejected,
    Cancelled,
}

struct Talk {
    world: World,
    dice: Dice,
    messages: Vec<Message>,
    requests: Vec<Asked>,
    /// Which tool calls go on, by id.
    open: BTreeMap<&'static str, bool>,
    /// The latest request that the card of each call shows.
    shown: BTreeMap<&'static str, usize>,
    /// Those that came before the prompt.
    earlier: Vec<&'static str>,
    /// How the turn stands; `None` between turns.
    turn: Option<Turn>,
    prompts: usize,
    /// How many turns have ended without a word.
    silent: usize,
    trail: Vec<String>,
}

#[derive(Debug, Default)]
struct Turn {
    is_cancelled: bool,
    has_entries: bool,
}

impl Talk {
    fn start(dice: Dice) -> Self {
        let mut world = World::start();
        world.answer("initialize", &json!({"protocolVersion": 1}));
        world.answer("session/new", &json!({"sessionId": "s"}));
        Self {
            world,
            dice,
            messages: Vec::new(),
            requests: Vec::new(),
            open: BTreeMap::new(),
            shown: BTreeMap::new(),
            earlier: Vec::new(),
            turn: None,
            prompts: 0,
            silent: 0,
            trail: Vec::new(),
        }
    }

    fn step(&mut self) {
        match self.dice.within(0..16) {
            0..=2 => self.say_in_pieces(),
            3 => self.say_twice(),
            4 => self.say_in_pieces_and_whole(false),
            5 => self.say_in_pieces_and_whole(true),
            6 | 7 => self.go_on_late(),
            8 | 9 => self.call(),
            10 | 11 => self.ask(),
            12 => self.answer(),
            13 => self.end_turn(),
            14 => self.prompt(),
            _ => self.cancel(),
        }
        self.check();
    }

    fn update(&mut self, update: &Json) {
        self.trail.push(update.to_string());
        if let Some(turn) = &mut self.turn {
            turn.has_entries = true;
        }
        self.world.update(update);
    }

    fn chunk(&mut self, role: &str, id: Option<usize>, words: &str) {
        let mut update =
            json!({"sessionUpdate": format!("agent_{role}_chunk"), "content": text(words)});
        if let Some(id) = id {
            update["messageId"] = json!(format!("message {id}"));
        }
        self.update(&update);
    }

    fn role(&mut self) -> &'static str {
        if self.dice.once_in(4) { "thought" } else { "message" }
    }

    fn new_message(&mut self, role: &'static str, left: usize) -> usize {
        self.messages.push(Message { role, sent: 0, left });
        self.messages.len() - 1
    }

    /// Some more words of a message, which are never the same as others.
    fn words(&mut self, number: usize) -> String {
        let mut words = String::new();
        for _ in 0..self.dice.within(1..4) {
            let message = &mut self.messages[number];
            write!(words, "m{number}w{} ", message.sent).unwrap();
            message.sent += 1;
        }
        words
    }

    /// A message with an id, of which some pieces may come later.
    fn say_in_pieces(&mut self) {
        let (now, left) = (self.dice.within(1..PIECES), self.dice.within(0..PIECES));
        let role = self.role();
        let number = self.new_message(role, left);
        for _ in 0..now {
            self.piece(number);
        }
    }

    fn piece(&mut self, number: usize) {
        let (role, words) = (self.messages[number].role, self.words(number));
        self.chunk(role, Some(number), &words);
    }

    /// More of a message that others came after.
    fn go_on_late(&mut self) {
        let unfinished = self.messages.iter().enumerate().filter(|(_, message)| message.left > 0);
        let unfinished: Vec<usize> = unfinished.map(|(number, _)| number).collect();
        if !unfinished.is_empty() {
            let number = *self.dice.pick(&unfinished);
            self.messages[number].left -= 1;
            self.piece(number);
        }
    }

    /// Splits a text anywhere.
    fn split(&mut self, text: &str) -> Vec<String> {
        let mut pieces = vec![String::new()];
        for letter in text.chars() {
            if self.dice.once_in(6) {
                pieces.push(String::new());
            }
            pieces.last_mut().unwrap().push(letter);
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// A message that comes in pieces of one kind, and then again: as a whole, or in pieces. `id_first` says which of the two
    /// has the id.
    fn say_in_pieces_and_whole(&mut self, id_first: bool) {
        let role = self.role();
        self.part(other(role));
        let number = self.new_message(role, 0);
        let mut whole = self.words(number);
        whole += &self.words(number);
        whole += &self.words(number);
        let ids = if id_first { [Some(number), None] } else { [None, Some(number)] };
        for id in ids {
            let in_one = vec![whole.clone()];
            let pieces = if self.dice.once_in(2) { in_one } else { self.split(&whole) };
            // What comes first with an id is the whole: its pieces would be those of a stream.
            let pieces = if id_first && id.is_some() { vec![whole.clone()] } else { pieces };
            for piece in pieces {
                self.chunk(role, id, &piece);
            }
        }
        self.part(other(role));
    }

    /// Something of the other speaker, so that text without an id does not go on with another message.
    fn part(&mut self, role: &'static str) {
        let number = self.new_message(role, 0);
        self.piece(number);
    }

    /// A message that another one begins like.
    fn say_twice(&mut self) {
        let role = self.role();
        self.part(other(role));
        let number = self.new_message(role, 0);
        let words = self.words(number);
        self.chunk(role, None, &format!("{words}and "));
        // The words are the same, and what follows is not: it is another message.
        let next = self.new_message(role, 0);
        let more = self.words(next);
        for piece in self.split(&words) {
            self.chunk(role, Some(next), &piece);
        }
        self.chunk(role, Some(next), &more);
        self.twice(number);
        self.part(other(role));
    }

    /// The words of this message are there twice.
    fn twice(&mut self, number: usize) {
        let drawn = self.world.drawn();
        let words = words_of(&drawn, number);
        let once: Vec<usize> = (0..self.messages[number].sent).collect();
        assert_eq!(
            words,
            [once.clone(), once].concat(),
            "message {number} and one like it\n{drawn}"
        );
        self.messages[number].sent = usize::MAX;
    }

    fn call(&mut self) {
        let id = *self.dice.pick(CALLS);
        let status = *self.dice.pick(&["pending", "in_progress", "completed", "failed"]);
        let kind = *self.dice.pick(&["tool_call", "tool_call_update"]);
        // An update of what is above the prompt says nothing below it.
        let is_open = self.open.get(id).is_some_and(|is_open| *is_open);
        let goes_on = is_open || self.waits(id) || kind != "tool_call";
        let is_above = self.earlier.contains(&id) && goes_on;
        let said = self.turn.as_ref().is_some_and(|turn| turn.has_entries);
        self.update(&json!({"sessionUpdate": kind, "toolCallId": id, "title": format!("Do {id}"),
            "kind": "other", "status": status}));
        match &mut self.turn {
            Some(turn) if is_above => turn.has_entries = said,
            // A new card.
            _ if self.earlier.contains(&id) && !goes_on => {
                self.earlier.retain(|earlier| *earlier != id);
                self.shown.remove(id);
            }
            _ => {}
        }
        self.open.insert(id, matches!(status, "pending" | "in_progress"));
    }

    /// Whether the card of a call shows a request that waits.
    fn waits(&self, id: &str) -> bool {
        self.shown.get(id).is_some_and(|number| self.requests[*number] == Asked::Waits)
    }

    fn ask(&mut self) {
        let (id, number) = (*self.dice.pick(CALLS), self.requests.len());
        let options = json!([
            {"optionId": "yes", "name": format!("Yes r{number}."), "kind": "allow_once"},
            {"optionId": "no", "name": format!("No r{number}."), "kind": "reject_once"},
        ]);
        let call = json!({"toolCallId": id, "title": format!("Ask for {id}"), "kind": "other", "status": "pending"});
        let request = json!({"jsonrpc": "2.0", "id": format!("r{number}"), "method": "session/request_permission",
            "params": {"sessionId": "s", "toolCall": call, "options": options}});
        self.trail.push(request.to_string());
        if let Some(turn) = &mut self.turn {
            turn.has_entries = true;
        }
        let is_cancelled = self.turn.as_ref().is_some_and(|turn| turn.is_cancelled);
        // While one waits, another one has a card of its own.
        if !self.waits(id) {
            self.shown.insert(id, number);
            self.earlier.retain(|earlier| *earlier != id);
        }
        self.requests.push(if is_cancelled { Asked::Cancelled } else { Asked::Waits });
        self.open.insert(id, true);
        self.world.receive(&request);
    }

    /// The user answers the oldest request that waits.
    fn answer(&mut self) {
        let Some(oldest) = self.requests.iter_mut().find(|asked| **asked == Asked::Waits) else {
            return;
        };
        let is_allowed = self.dice.once_in(2);
        *oldest = if is_allowed { Asked::Allowed } else { Asked::Rejected };
        let choice =
            if is_allowed { PermissionChoice::Allow } else { PermissionChoice::Deny(None) };
        self.trail.push(format!("the user: {choice:?}"));
        self.world.decide(choice);
    }

    fn close_all(&mut self) {
        self.open.values_mut().for_each(|is_open| *is_open = false);
        for asked in self.requests.iter_mut().filter(|asked| **asked == Asked::Waits) {
            *asked = Asked::Cancelled;
        }
    }

    fn end_turn(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        self.trail.push("the turn ends".to_owned());
        self.silent += usize::from(!turn.has_entries && !turn.is_cancelled);
        self.close_all();
        self.world.answer("session/prompt", &json!({"stopReason": "end_turn"}));
    }

    fn prompt(&mut self) {
        if self.turn.is_none() {
            self.prompts += 1;
            self.trail.push("the user: a prompt".to_owned());
            self.world.prompt(&format!("prompt {}", self.prompts));
            self.turn = Some(Turn::default());
            self.earlier = self.open.keys().copied().collect();
        }
    }

    fn cancel(&mut self) {
        let waits = self.requests.contains(&Asked::Waits);
        self.trail.push("the user cancels".to_owned());
        self.world.user(UserAction::Cancel(None));
        match &mut self.turn {
            Some(turn) if !turn.is_cancelled => {
                turn.is_cancelled = true;
                self.close_all();
            }
            None if waits => self.close_all(),
            _ => {}
        }
    }

    fn expected_state(&self) -> ChatState {
        let waits = self.requests.contains(&Asked::Waits);
        match &self.turn {
            Some(turn) if turn.is_cancelled => ChatState::Cancelling,
            _ if waits => ChatState::Waiting,
            Some(_) => ChatState::Running,
            None if self.open.values().any(|is_open| *is_open) => ChatState::Running,
            None => ChatState::Ready,
        }
    }

    fn check(&self) {
        let drawn = self.world.drawn();
        self.check_messages(&drawn);
        assert_eq!(self.world.stands, self.expected_state(), "{drawn}");
        let waits = self.requests.iter().filter(|asked| **asked == Asked::Waits).count();
        assert_eq!(self.world.waiting.len(), waits, "requests that wait");
        for (number, asked) in self.requests.iter().enumerate() {
            let count = |words: String| drawn.matches(&words).count();
            let [yes, no] = ["Yes", "No"].map(|word| format!("{word} r{number}."));
            let expected = match asked {
                Asked::Waits => (1, 1, 0, 0),
                Asked::Allowed => (0, 0, 1, 0),
                Asked::Rejected => (0, 0, 0, 1),
                Asked::Cancelled => (0, 0, 0, 0),
            };
            let done = (count(format!("✓ {yes}")), count(format!("✗ {no}")));
            let found = (count(yes) - done.0, count(no) - done.1, done.0, done.1);
            assert_eq!(found, expected, "request {number} is {asked:?}\n{drawn}");
            let answers = self.world.answers.get(&format!("\"r{number}\"")).map_or(0, Vec::len);
            assert_eq!(answers, usize::from(*asked != Asked::Waits), "answers to {number}");
        }
        assert_eq!(
            drawn.matches("ended the turn without an answer").count(),
            self.silent,
            "{drawn}"
        );
    }

    /// Each word is there once, in order, and the messages are in the order in which they began.
    fn check_messages(&self, drawn: &str) {
        let mut first: HashMap<usize, usize> = HashMap::new();
        let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
        for (place, (message, word)) in all_words(drawn).into_iter().enumerate() {
            first.entry(message).or_insert(place);
            found.entry(message).or_default().push(word);
        }
        let mut before = None;
        for (number, message) in self.messages.iter().enumerate() {
            if message.sent == usize::MAX {
                continue;
            }
            let words = found.get(&number).map_or(&[][..], Vec::as_slice);
            let expected: Vec<usize> = (0..message.sent).collect();
            assert_eq!(words, expected, "message {number}\n{drawn}");
            let place = first.get(&number).copied();
            assert!(place > before, "message {number} is before an earlier one\n{drawn}");
            before = place;
        }
    }

    /// All that is open ends, and each request has its answer.
    fn settle(&mut self) {
        while self.requests.contains(&Asked::Waits) {
            self.answer();
            self.check();
        }
        while self.messages.iter().any(|message| message.left > 0) {
            self.go_on_late();
            self.check();
        }
        self.end_turn();
        self.check();
    }
}

/// The other speaker.
fn other(role: &str) -> &'static str {
    if role == "message" { "thought" } else { "message" }
}

/// The words of messages, in the order in which they are drawn: the number of the message and that of the word.
fn all_words(drawn: &str) -> Vec<(usize, usize)> {
    let words = drawn.split(|letter: char| !letter.is_ascii_alphanumeric());
    let word = |word: &str| {
        let (message, word) = word.strip_prefix('m')?.split_once('w')?;
        Some((message.parse().ok()?, word.parse().ok()?))
    };
    words.filter_map(word).collect()
}

fn words_of(drawn: &str, message: usize) -> Vec<usize> {
    let words = all_words(drawn).into_iter().filter(|(number, _)| *number == message);
    words.map(|(_, word)| word).collect()
}

/// The trail of a talk that fails.
impl Drop for Talk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Fails only where nobody reads.
            let _ = writeln!(std::io::stderr(), "{}", self.trail.join("\n"));
        }
    }
}

/// Holds (Turns): Whatever comes late, twice, in pieces or under an id that was used, each text is there once and in order, each request can be answered, what was decided stays, and the state is that of what is open.
#[test]
fn what_comes_late_or_twice_is_where_it_belongs() {
    let steps = std::env::var("RAT_STEPS").ok().and_then(|steps| steps.parse().ok());
    let steps: u64 = steps.unwrap_or(STEPS);
    let inputs = Inputs::of_many("late", steps.div_ceil(STEPS_OF_A_TALK));
    inputs.in_batches(1, |numbers| {
        let mut talk = Talk::start(inputs.dice(numbers.start));
        for _ in 0..STEPS_OF_A_TALK {
            talk.step();
        }
        talk.settle();
    });
}
