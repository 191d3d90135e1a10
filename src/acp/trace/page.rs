//! The page of `:RatTrace`: reads what is recorded as it comes, and makes lines of what the filter lets through. Blocks while it
//! reads. What it shows at once is bounded, so the oldest is left out; a saved file has all of it.

use super::filter::Filter;
use super::reader::Reader;
use super::spool::Spool;
use super::{Head, headline};
use crate::core::messages::trace::TraceItem;
use crate::jsonrpc::incoming;
use crate::jsonrpc::recording::{Direction, Record};
use crate::session::signs::ELLIPSIS;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// How many messages are shown at most when there is more than can be shown, and how many bytes of them.
const MAX_ITEMS: usize = 1500;
const MAX_BYTES: usize = 512 << 10;

/// How many bytes of messages that are not shown yet are held.
const MAX_HELD_BYTES: usize = 16 << 20;

/// The size of a piece in bytes, which the last message in it may exceed, and how many messages are in it.
const PIECE_BYTES: usize = 16 << 10;
const PIECE_ITEMS: usize = 60;

/// How much of a message is shown.
const MAX_LINES: usize = 200;
const MAX_LINE_BYTES: usize = 2000;

/// How many unanswered requests are remembered.
const MAX_OPEN: usize = 10_000;

/// Where a page is in the traffic.
#[derive(Debug)]
pub struct Follower {
    reader: Reader,
    filter: Filter,
    /// The number of the last message.
    number: u64,
    /// Unanswered requests: whether they are ours and the id.
    open: HashMap<(bool, String), Request>,
    /// What is to be shown next.
    ready: VecDeque<TraceItem>,
    /// Whether `ready` has what there was when the page was opened.
    is_first: bool,
}

#[derive(Debug)]
struct Request {
    number: u64,
    at: f64,
    method: String,
    is_shown: bool,
}

/// A message that the filter lets through.
struct Found {
    number: u64,
    at: f64,
    direction: Direction,
    head: Head,
    answered: Option<Request>,
    json: String,
}

impl Follower {
    /// Creates a page that begins with what is recorded so far.
    pub fn new(spool: Spool, filter: &str) -> Self {
        Self {
            reader: Reader::new(spool),
            filter: Filter::parse(filter),
            number: 0,
            open: HashMap::new(),
            ready: VecDeque::new(),
            is_first: true,
        }
    }

    /// Returns what is to be shown next, nothing if there is nothing new, and whether more of what was recorded when the page was
    /// opened follows.
    pub fn piece(&mut self) -> (Vec<TraceItem>, bool) {
        if self.ready.is_empty() {
            if self.number == 0 {
                self.reader.spool().flush();
            } else {
                self.is_first = false;
            }
            self.read();
        }
        let (mut items, mut bytes) = (Vec::new(), 0);
        while bytes < PIECE_BYTES
            && items.len() < PIECE_ITEMS
            && let Some(item) = self.ready.pop_front()
        {
            bytes += size(&item);
            items.push(item);
        }
        (items, self.is_first && !self.ready.is_empty())
    }

    /// Reads all that is new, and makes lines of the last of it.
    fn read(&mut self) {
        let (mut found, mut held, mut left_out) = (VecDeque::new(), 0, 0_u64);
        loop {
            let chunk = match self.reader.read() {
                Ok(chunk) => chunk,
                Err(error) => {
                    tracing::warn!(target: "acp", %error, "the recorded traffic cannot be read");
                    break;
                }
            };
            if chunk.missing > 0 {
                self.number += chunk.missing;
                found.push_back(missing(chunk.missing));
            }
            if chunk.is_end() {
                break;
            }
            for line in chunk.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let Some(message) = self.look_at(line) else { continue };
                held += message.json.len();
                found.push_back(message);
                while found.len() > MAX_ITEMS || held > MAX_HELD_BYTES && found.len() > 1 {
                    held -= found.pop_front().map_or(0, |oldest| oldest.json.len());
                    left_out += 1;
                }
            }
        }
        let mut bytes = 0;
        while let Some(message) = found.pop_back() {
            let item = self.item(message);
            bytes += size(&item);
            if bytes > MAX_BYTES && !self.ready.is_empty() {
                left_out += 1 + found.len() as u64;
                break;
            }
            self.ready.push_front(item);
        }
        if left_out > 0 {
            let what = if left_out == 1 { "message is" } else { "messages are" };
            let line =
                format!("{ELLIPSIS} {left_out} {what} left out here. :RatTrace save has all.");
            self.ready.push_front(TraceItem { number: 0, answers: None, line, body: Vec::new() });
        }
    }

    /// Returns a recorded line if the filter lets it through.
    fn look_at(&mut self, line: &[u8]) -> Option<Found> {
        self.number += 1;
        let record: Record<'_> = serde_json::from_slice(line).ok()?;
        let (at, direction, json) = (record.t, record.direction, record.message.get());
        let is_message = matches!(direction, Direction::ToAgent | Direction::FromAgent);
        let head = incoming::parse(json).ok().filter(|_| is_message);
        let head = head.map(|message| Head::of(&message)).unwrap_or_default();
        let by_us = direction == Direction::ToAgent;
        let answered = match (&head.method, &head.id) {
            (None, Some(id)) => self.open.remove(&(!by_us, id.clone())),
            _ => None,
        };
        let method = answered.as_ref().map(|it| it.method.as_str()).or(head.method.as_deref());
        let asked = match (direction, &answered) {
            (Direction::ToAgent, Some(_)) => Direction::FromAgent,
            (Direction::FromAgent, Some(_)) => Direction::ToAgent,
            (direction, _) => direction,
        };
        // With its request an answer is shown, whatever is in it.
        let has_request = answered.as_ref().is_some_and(|request| request.is_shown);
        let is_shown = has_request || self.filter.allows(asked, method, json);
        if let (Some(method), Some(id)) = (&head.method, &head.id)
            && self.open.len() < MAX_OPEN
        {
            let request = Request { number: self.number, at, method: method.clone(), is_shown };
            self.open.insert((by_us, id.clone()), request);
        }
        let number = self.number;
        is_shown.then(|| Found { number, at, direction, head, answered, json: json.to_owned() })
    }

    fn item(&self, found: Found) -> TraceItem {
        let Found { number, at, direction, head, answered, json } = found;
        let mut message = serde_json::from_str(&json).unwrap_or(Value::String(json));
        let method = answered.as_ref().map(|request| request.method.as_str());
        let line = headline::line(at, direction, &head, method, &message);
        let answers = answered.filter(|request| request.is_shown);
        let answers =
            answers.map(|request| (request.number, headline::answered(at - request.at, &message)));
        self.reader.spool().redactor().json(&mut message);
        TraceItem { number, answers, line, body: body(&message) }
    }
}

fn missing(count: u64) -> Found {
    let json = count.to_string();
    let (head, direction) = (Head::default(), Direction::Missing);
    Found { number: 0, at: 0.0, direction, head, answered: None, json }
}

fn size(item: &TraceItem) -> usize {
    item.line.len() + item.body.iter().map(|line| line.len() + 1).sum::<usize>()
}

/// Returns the lines of a message.
fn body(message: &Value) -> Vec<String> {
    if message.is_number() {
        return Vec::new();
    }
    let text = serde_json::to_string_pretty(message).unwrap_or_default();
    let cut = |line: &str| match line.char_indices().find(|(at, _)| *at >= MAX_LINE_BYTES) {
        Some((end, _)) => format!("  {}{ELLIPSIS}", &line[..end]),
        None => format!("  {line}"),
    };
    let mut lines: Vec<_> = text.lines().take(MAX_LINES).map(cut).collect();
    let more = text.lines().count() - lines.len();
    if more > 0 {
        lines.push(format!("  {ELLIPSIS} {more} more lines. :RatTrace save has all."));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::super::redact::Redactor;
    use super::super::spool::LIMITS;
    use super::*;
    use std::time::Duration;

    fn spool() -> Spool {
        Spool::start(None, Redactor::default(), LIMITS)
    }

    fn record(spool: &Spool, millis: u64, direction: Direction, json: &str) {
        spool.record(Duration::from_millis(millis), direction, json.as_bytes());
    }

    fn all(follower: &mut Follower) -> Vec<TraceItem> {
        let mut all = Vec::new();
        loop {
            let (items, more) = follower.piece();
            all.extend(items);
            if !more {
                return all;
            }
        }
    }

    #[test]
    fn an_answer_goes_with_its_request_and_has_the_time_between() {
        let spool = spool();
        let prompt = r#"{"id":7,"method":"session/prompt","params":{"prompt":[{"text":"hi"}]}}"#;
        record(&spool, 1000, Direction::ToAgent, prompt);
        record(&spool, 1500, Direction::FromAgent, r#"{"method":"session/update"}"#);
        let mut follower = Follower::new(spool.clone(), "session/prompt");
        let first = all(&mut follower);
        assert_eq!(first.len(), 1, "{first:?}");
        assert_eq!(first[0].line, "    1.000 > session/prompt 7 · hi");
        assert!(first[0].body.iter().any(|line| line.contains(r#""text": "hi""#)));
        let answer = r#"{"id":7,"result":{"stopReason":"end_turn"}}"#;
        record(&spool, 3000, Direction::FromAgent, answer);
        spool.flush();
        let next = all(&mut follower);
        let joined = " · 2.0 s · end_turn".to_owned();
        assert_eq!(next[0].answers, Some((first[0].number, joined)));
        assert_eq!(follower.piece(), (Vec::new(), false));
        let answers = all(&mut Follower::new(spool, "end_turn"));
        assert_eq!(answers[0].line, "    3.000 < answer to session/prompt 7 · end_turn");
        assert_eq!(answers[0].answers, None);
    }

    #[test]
    fn of_much_traffic_the_last_is_shown_and_the_rest_is_counted() {
        let spool = spool();
        for number in 0..4000 {
            let json = format!(r#"{{"method":"session/update","params":{{"n":{number}}}}}"#);
            record(&spool, number, Direction::FromAgent, &json);
        }
        let items = all(&mut Follower::new(spool.clone(), ""));
        assert_eq!(items.len(), MAX_ITEMS + 1);
        assert_eq!(items[0].line, "… 2500 messages are left out here. :RatTrace save has all.");
        assert!(items[MAX_ITEMS].body.concat().contains("3999"));
        assert!(all(&mut Follower::new(spool, "!<")).is_empty());
    }

    #[test]
    fn a_long_message_is_shown_in_part() {
        let long: Vec<u32> = (0..10_000).collect();
        let lines = body(&serde_json::json!({ "list": long }));
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert!(lines[MAX_LINES].contains("9804 more lines"), "{}", lines[MAX_LINES]);
    }
}
