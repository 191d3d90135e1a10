//! Searching what was saved.

use super::*;
use crate::session::search::{SearchQuery, SearchResult};
use crate::session::tool_call::{ToolCall, ToolInput};
use std::io::Cursor;

/// A session in a folder of its own.
fn session_in(folder: &str, id: &str, title: &str) -> SavedSession {
    SavedSession { cwd: folder.into(), title: Some(title.to_owned()), ..session(id) }
}

fn said(role: Role, text: &str) -> Entry {
    let (text, attachments) = (text.to_owned(), Vec::new());
    Entry::Message(Message { role, id: None, text, attachments, said_anew: 0, about: None })
}

fn call(title: &str, command: &str, output: &str) -> Entry {
    let input = ToolInput { command: Some(command.to_owned()), ..ToolInput::default() };
    let output = Some(output.to_owned());
    let call = ToolCall {
        title: title.to_owned(),
        input: Some(input),
        output,
        ..ToolCall::new("t".into())
    };
    Entry::Tool(Box::new(crate::session::entry::ToolEntry::new(call)))
}

async fn search(store: &Store, words: &str) -> SearchResult {
    store.search(SearchQuery::new(words).unwrap()).await.unwrap()
}

/// The ids of the sessions found, with the line shown of each.
async fn found(store: &Store, words: &str) -> Vec<(String, String)> {
    let hits = search(store, words).await.hits.into_iter();
    hits.map(|hit| {
        let line = hit.line.map(|line| line.text).unwrap_or_default();
        (hit.session.id.to_string(), line)
    })
    .collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(id, line)| ((*id).to_owned(), (*line).to_owned())).collect()
}

/// Holds (Searching): A session is found by its title, prompts, answers and tool calls, in every folder, but not by the output of tools.
#[tokio::test]
async fn sessions_of_all_folders_are_found_by_what_they_say() {
    let folder = Folder::new("search");
    let store = folder.store();
    let entries = vec![
        (0, said(Role::User, "please fix\nthe \"parser\" \\d+ now")),
        (1, call("Run cargo nextest", "grep -rn 'needle' src", "a haystack of output")),
    ];
    store.save(session_in("/a", "1", "Größe of things"), false, entries);
    store.save(session_in("/b", "2", "other"), false, vec![(0, said(Role::Agent, "a Needle"))]);
    store.flush();
    assert_eq!(found(&store, "größe THINGS").await, []);
    assert_eq!(found(&store, "größe things").await, pairs(&[("1", "")]));
    assert_eq!(found(&store, "\"parser\" \\d+").await, pairs(&[("1", "the \"parser\" \\d+ now")]));
    assert_eq!(found(&store, "nextest").await, pairs(&[("1", "Run cargo nextest")]));
    let both = search(&store, "needle").await;
    assert_eq!((both.found, both.searched, both.hits.len()), (2, 2, 2));
    assert_eq!(found(&store, "Needle").await, pairs(&[("2", "a Needle")]));
    assert_eq!(found(&store, "needle parser").await.len(), 1, "in different entries");
    assert_eq!(found(&store, "things parser").await.len(), 1, "one in the title");
    for absent in ["haystack", "text", "message", "entry", "nfix", "session absent"] {
        assert_eq!(found(&store, absent).await, [], "{absent}");
    }
}

#[tokio::test]
async fn what_is_still_being_said_and_what_is_broken_is_searched() {
    let folder = Folder::new("search-part");
    let store = folder.store();
    let part =
        |more: &str| TranscriptPart { entries: Vec::new(), more: Some((0, more.to_owned())) };
    store.save(session("1"), false, vec![(0, said(Role::Agent, ""))]);
    store.save_part(session("1"), part("the answer grows\n"));
    store.save(session("2"), false, vec![(0, said(Role::Agent, "the answer is here"))]);
    store.flush();
    drop(store);
    let path = folder.0.join("transcripts/+a%20project+%c3%bc/fake=2.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    bytes.splice(0..0, *b"\xff\xfe no line answer of ours\n");
    bytes.extend(b"{\"at\":1,\"entry\":{\"Message\":{\"role\":\"Agent\",\"text\":\"half an answ");
    fs::write(&path, bytes).unwrap();
    fs::write(folder.0.join("projects/broken.json"), "{").unwrap();
    let store = folder.store();
    let mut all = found(&store, "answer").await;
    all.sort();
    assert_eq!(all, pairs(&[("1", "the answer grows"), ("2", "the answer is here")]));
}

#[tokio::test]
async fn more_sessions_than_are_shown_are_counted() {
    let folder = Folder::new("search-many");
    let store = folder.store();
    for at in 0..250 {
        let one = session_in(&format!("/project/{}", at / 50), &at.to_string(), "the same");
        store.save(one, false, vec![(0, said(Role::User, "hi"))]);
    }
    // It is answered after everything is saved, which takes longer than a flush waits.
    store.list("/project/0".into()).await;
    let all = search(&store, "same hi").await;
    assert_eq!((all.hits.len(), all.found, all.searched), (200, 250, 250));
    assert!(all.hits.is_sorted_by_key(|hit| std::cmp::Reverse(hit.session.used_at)));
}

/// Holds (Searching): A search ends the one before it.
#[test]
fn a_search_that_nobody_waits_for_ends() {
    let folder = Folder::new("search-over");
    let store = folder.store();
    store.save(session("1"), false, vec![(0, said(Role::User, "needle"))]);
    store.flush();
    let query = SearchQuery::new("needle").unwrap();
    assert_eq!(crate::host::store::search::run(&folder.0, &query, &|| true), Ok(None));
    let found = crate::host::store::search::run(&folder.0, &query, &|| false).unwrap().unwrap();
    assert_eq!(found.found, 1);
}

#[tokio::test]
async fn without_a_folder_nothing_is_found() {
    let store = Store::open(None, Secrets::default());
    assert_eq!(search(&store, "a").await, SearchResult::default());
}

#[test]
fn lines_are_visited_whole_and_once_whatever_their_length() {
    let long = "x".repeat(3 << 20);
    let too_long = "y".repeat(18 << 20);
    let text = format!("first\n{long}\nsecond\n{too_long}\nthird\nlast");
    let (mut buffer, mut seen) = (Vec::new(), Vec::new());
    let visited =
        crate::host::store::search::visit_lines(Cursor::new(&text), &mut buffer, |lines| {
            seen.extend_from_slice(lines);
            std::ops::ControlFlow::Continue(())
        });
    visited.unwrap();
    let lines: Vec<&str> = std::str::from_utf8(&seen).unwrap().lines().collect();
    assert_eq!(lines.iter().map(|line| line.len()).collect::<Vec<_>>(), [5, 3 << 20, 6, 5, 4]);
    assert_eq!(lines[3..], ["third", "last"]);
    assert!(buffer.capacity() < 64 << 20, "{}", buffer.capacity());
}
