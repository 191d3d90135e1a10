//! A search through all saved sessions: what it reads and decodes, and how much memory it needs. How long it takes beside reading
//! alone is measured by `bench/searches.rs`.

use crate::alone;
use crate::support::{Held, TempFolder, files_below};
use rat_nvim::host::store::Store;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::entry::{Entry, Message, ToolEntry};
use rat_nvim::session::saved::SavedSession;
use rat_nvim::session::search::SearchQuery;
use rat_nvim::session::tool_call::ToolCall;
use rat_nvim::session::update::Role;
use std::io::Write as _;
use std::path::Path;

/// How many sessions are searched; `RAT_SESSIONS` chooses more.
const SESSIONS: usize = 100;
/// How large each is, in bytes.
const BYTES: usize = 1 << 20;
/// Prompts, answers and calls of tools, of one session.
const PARTS: usize = BYTES / (16 << 10);
/// What is read besides the transcripts, in bytes: what the test itself looks at.
const READ_BESIDES: u64 = 1 << 20;
/// The memory that a search may add, in bytes, however many sessions there are.
const MEMORY: u64 = 64 << 20;

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
    Entry::Message(Message { role, id: None, text, attachments, said_anew: 0, about: None })
}

/// Prompts, answers and the output of tools, half of each session.
fn entries(at: usize) -> Vec<(usize, Entry)> {
    let mut entries = Vec::new();
    for part in 0..PARTS {
        let text = prose(at * 1000 + part, 8 << 10);
        let id = format!("call {part}").into();
        let call = ToolCall { output: Some(format!("only_in_output {text}")), ..ToolCall::new(id) };
        entries.push(message(Role::Agent, &text));
        entries.push(Entry::Tool(Box::new(ToolEntry::new(call))));
    }
    entries.push(message(Role::User, &format!("what about number_{at}?")));
    entries.into_iter().enumerate().collect()
}

/// How many bytes this process has read, as far as the system tells (`man 5 proc`, rchar).
fn read() -> Option<u64> {
    let io = std::fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

/// How many bytes the files below a folder have.
fn size(folder: &Path) -> u64 {
    files_below(folder).iter().map(|path| path.metadata().unwrap().len()).sum()
}

/// Holds (Searching): A search reads each session once and decodes only lines with a word, and its memory does not depend on how many sessions there are.
#[test]
fn many_sessions_are_read_once_and_hardly_decoded() {
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
    let (last, saved) = (sessions - 1, size(folder.path()));
    for (words, expected, decoded) in [
        (format!("number_{last}?"), 1, 1),
        // One in each is enough.
        ("parser".to_owned(), sessions, sessions),
        ("nowhere".to_owned(), 0, 0),
        ("ONLY_IN_OUTPUT".to_owned(), 0, 0),
        // Where it is in a line is not known before.
        ("only_in_output".to_owned(), 0, sessions * PARTS),
        (format!("parser buffer number_{last}?"), 1, 2 * sessions + 1),
    ] {
        let before = read();
        let found = store.search(SearchQuery::new(&words).unwrap()).await.unwrap();
        let read = before.zip(read()).map(|(before, after)| after - before);
        assert_eq!((found.found, found.searched), (expected, sessions), "{words}");
        // A figure that cannot be shown is no failure.
        let _ = writeln!(
            std::io::stderr(),
            "{sessions} sessions of {saved} bytes, {words}: {read:?} read, {} lines decoded",
            found.decoded
        );
        assert!(read.is_none_or(|read| read <= saved + READ_BESIDES), "{words}: {read:?}");
        assert!(found.decoded <= decoded, "{words}: {} lines decoded", found.decoded);
    }
    let grown = before.zip(Held::by(this));
    let grown = grown.map(|(before, after)| after.peak.saturating_sub(before.memory));
    let _ = writeln!(std::io::stderr(), "{grown:?} bytes more");
    assert!(grown.is_none_or(|bytes| bytes <= MEMORY), "{grown:?}");
}
