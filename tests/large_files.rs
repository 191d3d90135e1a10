//! Documents that are too large to be held: what is asked of them is answered in bounded time and memory, whichever way an
//! agent names them.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::support::Chat;
use serde_json::{Value as Json, json};

/// So much more memory may be needed at any moment.
const MOST_GROWTH: u64 = 64 << 20;

struct Turn {
    chat: Chat,
    /// The pid of the binary.
    bridge: u32,
}

impl Turn {
    fn start() -> Self {
        let mut chat = Chat::in_turn();
        let bridge = chat.nvim.binary();
        Self { chat, bridge }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.chat.path(name)
    }

    fn read(&mut self, path: &Path, part: Json) -> Result<String, String> {
        let mut params = json!({"path": path});
        params.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        let answer = self.chat.request("fs/read_text_file", params);
        answer
            .map(|answer| answer["content"].as_str().unwrap().to_owned())
            .map_err(|error| error["message"].as_str().unwrap().to_owned())
    }

    fn write(&mut self, path: &Path, content: &str) -> Result<Json, String> {
        let params = json!({"path": path, "content": content});
        let answer = self.chat.request("fs/write_text_file", params);
        answer.map_err(|error| error["message"].as_str().unwrap().to_owned())
    }

    /// Tool calls of each kind that name the file, from their announcement to their end.
    fn name(&mut self, path: &Path) {
        for (index, kind) in ["read", "edit", "execute", "other"].into_iter().enumerate() {
            let call = format!("{}-{index}", path.display());
            let diff = json!({"type": "diff", "path": path, "oldText": "a", "newText": "b"});
            let update = |update, status| {
                json!({"sessionUpdate": update, "toolCallId": call, "title": kind, "kind": kind,
                    "status": status, "locations": [{"path": path}], "content": [diff]})
            };
            self.chat.update(update("tool_call", "in_progress"));
            self.chat.update(update("tool_call_update", "completed"));
        }
        // What was asked of it before is done once this is answered.
        let _ = self.read(path, json!({"limit": 1}));
    }

    /// The most memory the bridge has had since this was asked last.
    fn peak(&self) -> u64 {
        let of = |name: &str| format!("/proc/{}/{name}", self.bridge);
        let Ok(status) = std::fs::read_to_string(of("status")) else { return 0 };
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        std::fs::write(of("clear_refs"), "5").unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    fn before(&self) -> u64 {
        self.peak();
        self.peak()
    }

    fn has_not_grown(&self, before: u64) {
        let grown = self.peak().saturating_sub(before);
        assert!(grown < MOST_GROWTH, "grown by {} MB", grown >> 20);
    }
}

/// A file of lines that goes on as a hole.
fn lines(path: &Path, count: usize, size: Option<u64>) {
    let file = File::create(path).unwrap();
    let mut lines = BufWriter::new(&file);
    for line in 1..=count {
        lines.write_all(numbered(line).as_bytes()).unwrap();
    }
    lines.flush().unwrap();
    drop(lines);
    if let Some(size) = size {
        file.set_len(size).unwrap();
    }
}

/// Holds (Reading files): A file of any size costs the memory of the lines that are asked for.
#[test]
fn a_file_of_any_size_costs_what_is_asked_of_it() {
    let _alone = crate::alone();
    let mut turn = Turn::start();
    let (sparse, holes) = (turn.path("sparse"), turn.path("holes"));
    lines(&sparse, 0, Some(1 << 40));
    lines(&holes, 1_000, Some(3 << 30));
    let before = turn.before();
    for path in [&sparse, &holes] {
        turn.name(path);
        let why = turn.read(path, json!({})).unwrap_err();
        assert!(why.contains("read parts of it (`line` and `limit`)"), "{why}");
        let why = turn.write(path, "new\n").unwrap_err();
        assert!(why.contains("more than the 64 MB that can be handled as a whole"), "{why}");
        let why = turn.read(path, json!({"line": 1_000_000})).unwrap_err();
        assert!(why.contains("NUL"), "{why}");
    }
    assert_eq!(turn.read(&holes, json!({"line": 7, "limit": 1})), Ok(numbered(7)));
    assert!(turn.read(&sparse, json!({"limit": 1})).unwrap_err().contains("NUL"));
    turn.has_not_grown(before);
    assert_eq!(turn.chat.nvim.status()["state"], json!("running"));
}

fn numbered(number: usize) -> String {
    format!("{number:09}{}\n", "x".repeat(990))
}

/// Holds (Reading files): A line of a file of hundreds of megabytes is read without the rest.
#[test]
fn a_line_of_hundreds_of_megabytes_of_lines_is_read_by_itself() {
    let _alone = crate::alone();
    let mut turn = Turn::start();
    let path = turn.path("lines");
    lines(&path, 400_000, None);
    let before = turn.before();
    turn.name(&path);
    for number in [1, 400_000] {
        assert_eq!(turn.read(&path, json!({"line": number, "limit": 1})), Ok(numbered(number)));
    }
    let why = turn.read(&path, json!({"line": 2})).unwrap_err();
    assert!(why.contains("the lines asked for have more than 8 MB"), "{why}");
    turn.has_not_grown(before);
}

/// Holds (Reading files): A line too long to hold is an error.
#[test]
fn one_line_without_end_is_an_error() {
    let _alone = crate::alone();
    let mut turn = Turn::start();
    let path = turn.path("line");
    let mut file = File::create(&path).unwrap();
    let piece = "x".repeat(1 << 20);
    for _ in 0..100 {
        file.write_all(piece.as_bytes()).unwrap();
    }
    let before = turn.before();
    turn.name(&path);
    let why = turn.read(&path, json!({"limit": 1})).unwrap_err();
    assert!(why.contains("the lines asked for have more than 8 MB"), "{why}");
    turn.has_not_grown(before);
}

/// Of a file that is too large to be held for a few lines, the whole text is what these lines are of, as long as nobody
/// changes it.
/// Holds (Reading files): A write to a file too large to hold refers to the text its lines were read from.
#[test]
fn what_is_written_refers_to_the_text_the_lines_were_of() {
    let _alone = crate::alone();
    let mut turn = Turn::start();
    let path = turn.path("lines");
    lines(&path, 20_000, None);
    let first = std::fs::read_to_string(&path).unwrap();
    assert_eq!(turn.read(&path, json!({"line": 20_001, "limit": 1})), Ok(String::new()));
    turn.read(&path, json!({"line": 5, "limit": 1})).unwrap();
    // The user changes another line before the agent writes.
    std::fs::write(&path, first.replacen(&numbered(9), "user\n", 1)).unwrap();
    let sent = first.replacen(&numbered(5), "agent\n", 1);
    let why = turn.write(&path, &sent).unwrap_err();
    assert!(why.contains("changed since you read it: read the file again"), "{why}");
    turn.read(&path, json!({"line": 5, "limit": 1})).unwrap();
    turn.write(&path, &sent.replacen(&numbered(9), "user\n", 1)).unwrap();
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(now.contains("agent\n") && now.contains("user\n"));
}
