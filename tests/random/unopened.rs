//! What a session is taken to have done to a file that nobody has open, and to know of it.

use std::path::Path;

use rat_nvim::core::messages::files::Consent;
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::core::messages::review::ChangeScope;
use rat_nvim::documents::{Documents, ReadRequest, Touched, WriteRequest};
use rat_nvim::session::author::Author;

use super::desk::{Act, Desk};
use super::disk;
use super::memory::Memory;
use super::nvim::within;
use super::world::key;

fn author(session: usize, turn: u64) -> Author {
    Author { session: key(session), turn, tool_call: Some("call".into()) }
}

async fn reads(documents: &Documents, path: &Path) -> String {
    let request = ReadRequest { session: key(0), path: path.into(), line: None, limit: None };
    within(documents.read(request)).await.unwrap()
}

/// First on disk and then through us.
async fn writes_twice(documents: &Documents, path: &Path, by: &Author, content: &str) {
    disk::overwrite(path, content);
    writes(documents, path, by, content).await;
}

async fn writes(documents: &Documents, path: &Path, by: &Author, content: &str) {
    let request = WriteRequest {
        by: by.clone(),
        path: path.to_owned(),
        content: content.to_owned(),
        base: None,
        dirty: WriteDirty::default(),
        repeats: true,
        consent: Consent::NotNeeded,
    };
    within(documents.write(request)).await.unwrap();
}

/// Holds (Review): What was redone stays where its agent, which does not know of that, writes the file from what it has read.
#[tokio::test]
async fn what_was_redone_stays_when_its_agent_writes_from_what_it_has_read() {
    let desk = Memory::new(1);
    let documents = desk.documents();
    let (before, after) = ("1\n2\n3\n4\n", "1\ntwo\n3\n4\n");
    let path = desk.put("a.txt", before);
    let by = author(0, 1);
    reads(documents, &path).await;
    disk::overwrite(&path, after);
    within(documents.disk_changed(&path, &by)).await.unwrap();

    disk::overwrite(&path, before);
    within(documents.was_restored(&path, None, None)).await.unwrap();
    assert_eq!(reads(documents, &path).await, before);
    disk::overwrite(&path, after);
    within(documents.was_restored(&path, Some(&by), None)).await.unwrap();

    desk.does(&Act::Open("a.txt".into()), false).await;
    within(documents.record_baseline(&path)).await.unwrap();
    disk::overwrite(&path, "1\n2\n3\nfour\n");
    within(documents.disk_changed(&path, &author(0, 2))).await.unwrap();
    assert_eq!(desk.look(&path).await.kept(), "1\ntwo\n3\nfour\n");
}

/// Holds (Review): A file that an agent has written on disk and then through us is its change, whoever looks there first.
#[tokio::test]
async fn what_was_sent_once_it_was_on_disk_is_its_senders_change() {
    let desk = Memory::new(1);
    let documents = desk.documents();
    let (before, after) = ("1\n2\n3\n", "1\ntwo\n3\n");
    let path = desk.put("a.txt", before);
    let (sender, other) = (author(0, 1), author(1, 2));
    reads(documents, &path).await;
    writes_twice(documents, &path, &sender, after).await;

    within(documents.set_before(&path, Some(before.into()), &other, false)).await.unwrap();
    within(documents.disk_changed(&path, &other)).await.unwrap();
    let touched = |by| within(documents.touched(&path, by));
    assert_eq!(touched(&other).await.unwrap(), Touched::No);
    let by = sender.clone();
    assert_eq!(touched(&sender).await.unwrap(), Touched::Yes { by, is_certain: true });
}

/// Holds (Review): What an agent has written on disk and then sent is its change, even if another has changed the file since.
#[tokio::test]
async fn what_was_sent_once_it_was_on_disk_is_its_senders_change_whatever_came_since() {
    let desk = Memory::new(1);
    let documents = desk.documents();
    let (before, sent) = ("1\n2\n3\n4\n", "1\ntwo\n3\n4\n");
    let path = desk.put("a.txt", before);
    let (sender, other) = (author(0, 1), author(1, 2));
    reads(documents, &path).await;
    writes_twice(documents, &path, &sender, sent).await;
    disk::overwrite(&path, "1\ntwo\n3\nfour\n");

    within(documents.set_before(&path, Some(before.into()), &other, false)).await.unwrap();
    within(documents.disk_changed(&path, &other)).await.unwrap();
    let touched = |by| within(documents.touched(&path, by));
    for by in [&sender, &other] {
        let is_certain = true;
        assert_eq!(touched(by).await.unwrap(), Touched::Yes { by: by.clone(), is_certain });
    }
    let scope = ChangeScope { session: Some(key(1)), ..ChangeScope::default() };
    within(documents.reject(&path, scope)).await.unwrap();
    assert_eq!(desk.look(&path).await.kept(), sent);
}

/// Holds (Review): What an agent has changed on disk before its first write through us belongs to its turn, too.
#[tokio::test]
async fn what_was_changed_on_disk_before_the_first_write_is_of_the_same_turn() {
    let desk = Memory::new(1);
    let documents = desk.documents();
    let before = "1\n2\n3\n";
    let path = desk.put("a.txt", before);
    let by = author(0, 1);
    disk::overwrite(&path, "1\n3\n");
    reads(documents, &path).await;
    writes(documents, &path, &by, "1\nthree\n").await;

    within(documents.set_before(&path, Some(before.into()), &by, false)).await.unwrap();
    within(documents.disk_changed(&path, &by)).await.unwrap();
    let scope = ChangeScope { session: Some(key(0)), ..ChangeScope::default() };
    within(documents.reject(&path, scope)).await.unwrap();
    assert_eq!(desk.look(&path).await.kept(), before);
}

/// Holds (Review): A file that an agent has deleted and then written is the old one again without its turn.
#[tokio::test]
async fn what_was_deleted_before_it_was_written_comes_back_without_the_turn() {
    let desk = Memory::new(1);
    let documents = desk.documents();
    let before = "1\n2\n3\n";
    let path = desk.put("a.txt", before);
    let by = author(0, 1);
    std::fs::remove_file(&path).unwrap();
    writes(documents, &path, &by, "new\n").await;

    within(documents.set_before(&path, Some(before.into()), &by, false)).await.unwrap();
    within(documents.disk_changed(&path, &by)).await.unwrap();
    let scope = ChangeScope { session: Some(key(0)), ..ChangeScope::default() };
    within(documents.reject(&path, scope)).await.unwrap();
    assert_eq!(desk.look(&path).await.kept(), before);
}
