//! A search through all saved sessions: how long it takes and how much memory it needs.

use crate::alone;
use crate::support::{Held, TempFolder};
use rat_nvim::host::store::Store;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::entry::{Entry, Message, ToolEntry};
use rat_nvim::session::saved::SavedSession;
use rat_nvim::session::search::{SearchQuery, SearchResult};
use rat_nvim::session::tool_call::ToolCall;
use rat_nvim::session::update::Role;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// How many sessions are searched; `RAT_SESSIONS` chooses more.
const SESSIONS: usize = 100;
/// How large each is, in bytes.
const BYTES: usize = 1 << 20;
/// How long a search through a hundred of them may take. Without optimizations, and beside others, it takes many times as long
/// as it should.
const LIMIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3000 } else { 300 });
/// The memory that a search may add, in bytes, however many sessions there are.
const MEMORY: u64 = 64 << 20;
const ROUNDS: usize = 3;

const WORDS: &[&str] = &[
    "the",
    "parser",
    "returns",
    "an",
    "error",
    "when",
    "a",
    "buffer",
    "is",
    "empty",
    "so",
    "we",
    "check",
    "its",
    "length",
    "before",
    "calling",
    "Vec::with_capacity",
    "and",
    "keep",
    "tests",
];

/// Words in an order that only depends on `seed`.
fn prose(seed: usize, bytes: usize) -> String {
    let (mut text, mut dice) = (String::new(), seed + 1);
    while text.len() < bytes {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(WORDS[(dice >> 33) % WORDS.len()]);
        text.push(if dice.is_multiple_of(13) { '\n' } else { ' ' });
    }
    text
}

fn message(role: Role, text: &str) -> Entry {
    let (text, attachments) = (text.to_owned(), Vec::new());
    Entry::Message(Message { role, id: None, text, attachments, said_anew: 0 })
}

/// Prompts, answers and the output of tools, half of each session.
fn entries(at: usize) -> Vec<(usize, Entry)> {
    let mut entries = Vec::new();
    for part in 0..BYTES / (16 << 10) {
        let text = prose(at * 1000 + part, 8 << 10);
        let id = format!("call {part}").into();
        let call = ToolCall { output: Some(format!("only_in_output {text}")), ..ToolCall::new(id) };
        entries.push(message(Role::Agent, &text));
        entries.push(Entry::Tool(Box::new(ToolEntry::new(call))));
    }
    entries.push(message(Role::User, &format!("what about number_{at}?")));
    entries.into_iter().enumerate().collect()
}

/// Searches several times and returns what the quickest has found, and how long it took.
async fn search(store: &Store, words: &str) -> (SearchResult, Duration) {
    let mut best: Option<(SearchResult, Duration)> = None;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let found = store.search(SearchQuery::new(words).unwrap()).await.unwrap();
        let took = begun.elapsed();
        best = best.filter(|(_, least)| *least < took).or(Some((found, took)));
    }
    best.unwrap()
}

/// Holds (Searching): A search takes no longer than reading the sessions, and its memory does not depend on how many there are.
#[test]
fn many_sessions_are_searched_at_once() {
    let _alone = alone();
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(play());
}

async fn play() {
    let sessions = std::env::var("RAT_SESSIONS").ok().and_then(|count| count.parse().ok());
    let sessions = sessions.unwrap_or(SESSIONS);
    let folder = TempFolder::new();
    let store = Store::open(Some(folder.path().to_owned()), Secrets::default());
    for at in 0..sessions {
        let session = SavedSession {
            agent: "fake".into(),
            id: at.to_string().into(),
            cwd: format!("/project/{}", at / 100).into(),
            title: Some(format!("session {at}")),
            used_at: 0,
            in_place: false,
            open: false,
        };
        let key = session.key();
        let _ = store.save(session, false, entries(at)).await;
        store.release(key);
    }
    // It is answered after everything is saved.
    store.list("/project/0".into()).await;
    let this = std::process::id();
    let before = Held::forget_peak(this).and_then(|()| Held::by(this));
    let limit = LIMIT * u32::try_from(sessions.div_ceil(SESSIONS)).unwrap();
    let last = sessions - 1;
    let mut measured = Vec::new();
    for (words, expected) in [
        (format!("number_{last}?"), 1),
        ("parser".to_owned(), sessions),
        ("nowhere".to_owned(), 0),
        ("ONLY_IN_OUTPUT".to_owned(), 0),
        ("only_in_output".to_owned(), 0),
        (format!("parser buffer number_{last}?"), 1),
    ] {
        let (found, took) = search(&store, &words).await;
        assert_eq!((found.found, found.searched), (expected, sessions), "{words}");
        measured.push((words, took));
        assert!(took <= limit, "{measured:?}");
    }
    let grown = before.zip(Held::by(this));
    let grown = grown.map(|(before, after)| after.peak.saturating_sub(before.memory));
    let _ = writeln!(std::io::stderr(), "{sessions} sessions: {measured:?}, {grown:?} bytes more");
    assert!(grown.is_none_or(|bytes| bytes <= MEMORY), "{grown:?}");
}
