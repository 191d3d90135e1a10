//! A transcript whose entries are replaced again and again.

use super::*;

/// Holds (Hostile agents): A message that an agent replaces again and again does not fill the disk: its file is written anew.
#[tokio::test]
async fn a_file_that_is_mostly_replaced_is_to_be_written_anew() {
    let folder = Folder::new("overgrown");
    let store = folder.store();
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let (long, mut rewritten, mut largest) = ("x".repeat(1 << 20), 0, 0);
    for _ in 0..100 {
        let part = TranscriptPart { entries: vec![(0, message(&long))], more: None };
        if store.save_part(session("1"), part).await == Ok(SaveResult::Overgrown) {
            store.save(session("1"), true, vec![(0, message(&long))]);
            store.flush();
            rewritten += 1;
        }
        largest = largest.max(fs::metadata(&file).unwrap().len());
    }
    assert!((4..=7).contains(&rewritten), "{rewritten}");
    assert!(largest < 24 << 20, "{largest} bytes");
    // What only grows is rewritten less and less often.
    let mut rewritten = 0;
    for number in 0..200 {
        let part = TranscriptPart { entries: vec![(number, message(&long))], more: None };
        if store.save_part(session("2"), part).await == Ok(SaveResult::Overgrown) {
            store.save(session("2"), true, (0..=number).map(|at| (at, message(&long))).collect());
            rewritten += 1;
        }
    }
    assert!(rewritten <= 4, "{rewritten}");
}
