//! What a session knows of a file in which the user has undone and redone its doing.

use std::path::Path;

use rat_nvim::documents::{Documents, ReadRequest};
use rat_nvim::session::author::Author;

use super::desk::{Act, Desk};
use super::disk;
use super::memory::Memory;
use super::nvim::within;
use super::world::key;

async fn reads(documents: &Documents, path: &Path) -> String {
    let request = ReadRequest { session: key(0), path: path.into(), line: None, limit: None };
    within(documents.read(request)).await.unwrap()
}

/// Holds (Review): What was redone stays where its agent, which does not know of that, writes the file from what it has read.
#[tokio::test]
async fn what_was_redone_stays_when_its_agent_writes_from_what_it_has_read() {
    let desk = Memory::new(1);
    let documents = desk.documents();
    let (before, after) = ("1\n2\n3\n4\n", "1\ntwo\n3\n4\n");
    let path = desk.put("a.txt", before);
    let by = Author { session: key(0), turn: 1, tool_call: Some("call".into()) };
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
    let by = Author { turn: 2, ..by };
    within(documents.disk_changed(&path, &by)).await.unwrap();
    assert_eq!(desk.look(&path).await.kept(), "1\ntwo\n3\nfour\n");
}
