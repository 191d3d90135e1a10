//! How fast a hundred sessions are searched, beside reading their files.

use super::compare;
use rat_nvim::host::store::Store;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::entry::{Entry, Message};
use rat_nvim::session::saved::SavedSession;
use rat_nvim::session::search::SearchQuery;
use rat_nvim::session::update::Role;
use std::fs;
use std::path::{Path, PathBuf};
use tokio::runtime::Builder;

const SESSIONS: usize = 100;
/// How many messages each has, of about eight kilobytes.
const MESSAGES: usize = 128;

fn message(text: String) -> Entry {
    let (role, attachments) = (Role::Agent, Vec::new());
    Entry::Message(Message { role, id: None, text, attachments, said_anew: 0, about: None })
}

fn entries(session: usize) -> Vec<(usize, Entry)> {
    let words = |at: usize| format!("the parser returns an error of {} before calling ", at % 977);
    let text = |part: usize| (0..160).map(|at| words(session + part * at)).collect::<String>();
    let end = format!("what about number_{session}?");
    (0..MESSAGES).map(text).chain([end]).map(message).enumerate().collect()
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            files_below(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}

#[test]
fn of_a_hundred_sessions() {
    let folder = std::env::temp_dir().join(format!("rat-bench-searches-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let store = Store::open(Some(folder.clone()), Secrets::default());
    runtime.block_on(async {
        for at in 0..SESSIONS {
            let session = SavedSession {
                agent: "fake".into(),
                id: at.to_string().into(),
                cwd: "/project".into(),
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
        store.list("/project".into()).await;
    });
    let mut files = Vec::new();
    files_below(&folder, &mut files);
    let read = || files.iter().map(|file| fs::read(file).unwrap().len()).sum::<usize>();
    for words in ["number_99?", "parser", "nowhere", "parser error number_99?"] {
        let query = SearchQuery::new(words).unwrap();
        let search = || runtime.block_on(store.search(query.clone())).unwrap();
        compare(&format!("searching 100 sessions for {words:?}"), "reading them", search, read);
    }
    drop(store);
    fs::remove_dir_all(&folder).unwrap();
}
