//! What is kept of sessions: a file each below the home folder, with one entry per line; and the log that tests read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use agent_client_protocol as acp;
use serde_json::{Value as Json, json};

use crate::Session;

fn file(id: &acp::SessionId) -> PathBuf {
    let home = std::env::var_os("HOME").unwrap_or_default();
    Path::new(&home).join("sessions").join(&*id.0)
}

/// The entries of a session.
pub(crate) fn load(id: &acp::SessionId) -> io::Result<Vec<Json>> {
    let text = fs::read_to_string(file(id))?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Adds an entry.
pub(crate) fn remember(session: &Session, entry: Json) {
    let path = file(&session.id);
    let folder = path.parent().expect("a folder");
    fs::create_dir_all(folder).expect("a folder for sessions");
    append(&path, &entry);
    session.history.borrow_mut().push(entry);
}

/// Notes all that the agent knows in a turn, where tests ask what its model would be asked.
pub(crate) fn log(session: &Session) {
    if let Some(path) = std::env::var_os("AGENT_LOG") {
        append(Path::new(&path), &json!({"body": &*session.history.borrow()}));
    }
}

fn append(path: &Path, entry: &Json) {
    let mut file =
        OpenOptions::new().create(true).append(true).open(path).expect("a file to add to");
    writeln!(file, "{entry}").expect("a line more");
}

/// What is said of an entry when its session is loaded.
pub(crate) fn updates(entry: &Json) -> Vec<acp::SessionUpdate> {
    let of_user = entry["user"].as_array().into_iter().flatten();
    let of_user = of_user.filter_map(|block| serde_json::from_value(block.clone()).ok());
    let of_user = of_user.map(|content| acp::SessionUpdate::UserMessageChunk { content });
    let of_agent = entry["agent"]
        .as_str()
        .map(|text| acp::SessionUpdate::AgentMessageChunk { content: text.into() });
    of_user.chain(of_agent).collect()
}
