//! Sessions beyond the number that the index lists, and stores that earlier versions have written.

use super::*;
use crate::session::search::SearchQuery;
use std::fmt::Write as _;

const CWD: &str = "/a project/ü";

/// A conversation that was closed again.
async fn talk(store: &Store, id: &str, words: &str) {
    let saved = store.save(session(id), false, vec![(0, message(words))]).await;
    assert_eq!(saved, Ok(SaveResult::Written), "{id}");
    store.release(session(id).key());
}

/// The same for a session of `:RatEdit`.
async fn edit(store: &Store, id: &str) {
    let session = SavedSession { in_place: true, ..session(id) };
    let saved = store.save(session.clone(), false, vec![(0, message("make it shorter"))]).await;
    assert_eq!(saved, Ok(SaveResult::Written), "{id}");
    store.release(session.key());
}

async fn found(store: &Store, words: &str) -> Vec<String> {
    let hits = store.search(SearchQuery::new(words).unwrap()).await.unwrap().hits;
    hits.iter().map(|hit| hit.session.id.to_string()).collect()
}

fn count(folder: &Folder, name: &str) -> usize {
    let files = fs::read_dir(folder.0.join(name).join("+a%20project+%c3%bc"));
    files.map_or(0, Iterator::count)
}

/// Holds (Sessions): No session is deleted unasked: those beyond the hundredth are compressed, and listed, searched and opened as before.
#[tokio::test]
async fn the_thousandth_session_costs_the_first_nothing() {
    let folder = Folder::new("archive");
    let (mut store, mut edits) = (folder.store(), 0);
    for number in 0..1000 {
        talk(&store, &number.to_string(), &format!("words of number{number}.")).await;
        // A burst of changes in place, and a new Neovim.
        if number % 100 == 50 {
            for _ in 0..25 {
                edit(&store, &format!("edit{edits}")).await;
                edits += 1;
            }
            store.flush();
            drop(store);
            store = folder.store();
        }
        if number == 99 {
            store.flush();
            assert_eq!((count(&folder, "transcripts"), count(&folder, "archive")), (125, 0));
        }
    }
    assert_eq!(ids(&store).await.len(), 1250);
    assert_eq!((count(&folder, "transcripts"), count(&folder, "archive")), (200, 1050));
    for number in [0, 1, 99, 100, 500, 899, 900, 999] {
        assert_eq!(found(&store, &format!("number{number}.")).await, [number.to_string()]);
        let loaded = store.load_transcript(session(&number.to_string()).key(), false).await;
        assert_eq!(loaded.entries, [message(&format!("words of number{number}."))]);
    }
    // The last conversation is resumed, not a change in place.
    edit(&store, "last").await;
    assert_eq!(ids(&store).await.len(), 1251);
    let last = store.find_last(CWD.into(), &"fake".into()).await.unwrap();
    assert!(!last.in_place, "{last:?}");
}

/// Holds (Sessions): An archived session goes on as if it had never been archived, and for one Neovim at a time.
#[tokio::test]
async fn an_archived_session_goes_on() {
    let folder = Folder::new("archived");
    let store = folder.store();
    for number in 0..102 {
        talk(&store, &number.to_string(), &format!("number{number}.")).await;
    }
    let first = ids(&store).await.into_iter().find(|id| {
        !folder.0.join(format!("transcripts/+a%20project+%c3%bc/fake={id}.jsonl")).exists()
    });
    let first = first.expect("an archived session");
    let key = session(&first).key();
    // It is not open, it is opened by one program, and is as it was.
    assert!(store.list(CWD.into()).await.iter().all(|session| !session.open));
    let other = folder.store();
    let one = store.load_transcript(key.clone(), true).await;
    assert_eq!(one.entries, [message(&format!("number{first}."))]);
    assert!(!one.has_gaps);
    assert!(other.load_transcript(key.clone(), true).await.is_elsewhere);
    // Nothing has been said in it yet: it is listed once, and still so if this program ends now.
    let listed = |ids: Vec<String>| ids.iter().filter(|id| **id == first).count();
    assert_eq!((listed(ids(&store).await), listed(ids(&other).await)), (1, 1));
    store.save(session(&first), false, vec![(1, message("and more"))]);
    store.flush();
    assert_eq!((listed(ids(&store).await), ids(&store).await.len()), (1, 102));
    assert_eq!(found(&store, &format!("number{first}.")).await, std::slice::from_ref(&first));
    drop((store, other));
    let store = folder.store();
    assert_eq!(ids(&store).await[0], first, "it was used last");
    assert_eq!(
        store.load_transcript(key.clone(), false).await.entries,
        [message(&format!("number{first}.")), message("and more")]
    );
    // A program that saves without having opened it keeps what there is, too.
    let again = ids(&store).await.pop().unwrap();
    store.save(session(&again), false, vec![(1, message("again"))]);
    let entries = store.load_transcript(session(&again).key(), false).await.entries;
    assert_eq!(entries, [message(&format!("number{again}.")), message("again")]);
    for id in [first, again] {
        store.forget(session(&id).key());
        // A search reads the files beside what is done to them.
        store.flush();
        assert!(found(&store, &format!("number{id}.")).await.is_empty());
        assert!(store.load_transcript(session(&id).key(), true).await.entries.is_empty());
    }
    assert_eq!(ids(&store).await.len(), 100);
}

/// Holds (Sessions): A session that some Neovim has open is never archived.
#[tokio::test]
async fn open_sessions_are_not_archived() {
    let folder = Folder::new("archive-open");
    let (store, other) = (folder.store(), folder.store());
    for id in ["here", "there"] {
        let store = if id == "here" { &store } else { &other };
        let saved = store.save(session(id), false, vec![(0, message(id))]).await;
        assert_eq!(saved, Ok(SaveResult::Written));
    }
    for number in 0..150 {
        talk(&store, &number.to_string(), "words").await;
    }
    store.flush();
    assert_eq!((count(&folder, "transcripts"), count(&folder, "archive")), (102, 50));
    for (store, id) in [(&store, "here"), (&other, "there")] {
        let saved = store.save(session(id), false, vec![(1, message("more"))]).await;
        assert_eq!(saved, Ok(SaveResult::Written));
        let entries = store.load_transcript(session(id).key(), false).await.entries;
        assert_eq!(entries, [message(id), message("more")]);
    }
    assert_eq!(ids(&store).await.len(), 152);
}

/// Holds (Sessions): A limit on saved sessions is the user's to set. It deletes those used longest ago, but no open one.
#[tokio::test]
async fn a_limit_deletes_the_oldest_that_are_closed() {
    let folder = Folder::new("limit");
    let store = folder.store();
    store.save(session("open"), false, vec![(0, message("open"))]);
    for number in 0..110 {
        talk(&store, &number.to_string(), "words").await;
    }
    assert_eq!(ids(&store).await.len(), 111);
    store.limit(Some(5));
    talk(&store, "last", "words").await;
    let mut left = ids(&store).await;
    left.sort();
    assert_eq!((left.len(), left.contains(&"last".to_owned())), (6, true), "{left:?}");
    assert!(left.contains(&"open".to_owned()), "{left:?}");
    assert_eq!((count(&folder, "transcripts"), count(&folder, "archive")), (6, 0));
}

/// The index and the transcripts of a store as version 0.1 has written them, of this many sessions.
fn write_old_store(folder: &Folder, sessions: usize) {
    let transcripts = folder.0.join("transcripts");
    let project = transcripts.join("+a%20project+%c3%bc");
    fs::create_dir_all(&project).unwrap();
    fs::create_dir_all(folder.0.join("projects")).unwrap();
    let mut index = Vec::new();
    for number in (0..sessions).rev() {
        let used = 1_700_000_000 + number;
        index.push(format!(
            r#"{{"agent":"fake","id":"{number}","cwd":"{CWD}","title":"old {number}","used_at":{used}}}"#
        ));
        let mut lines =
            format!(r#"{{"version":1,"agent":"fake","session":"{number}","cwd":"{CWD}"}}"#) + "\n";
        let first = r#"{"at":0,"entry":{"Message":{"role":"User","id":null,"text":"#;
        let rest = r#","attachments":[],"said_anew":0}}}"#;
        writeln!(lines, "{first}\"asked number{number}.\"{rest}").unwrap();
        let answer = first.replace("\"at\":0", "\"at\":1").replace("User", "Agent");
        writeln!(lines, "{answer}\"it is \"{rest}").unwrap();
        writeln!(lines, r#"{{"at":1,"more":"answered"}}"#).unwrap();
        // Still earlier versions kept all transcripts in one folder.
        let path = match number % 2 {
            0 => project.join(format!("fake={number}.jsonl")),
            _ => transcripts.join(format!("fake-{number}.jsonl")),
        };
        fs::write(path, lines).unwrap();
    }
    let index = format!(r#"{{"version":1,"sessions":[{}]}}"#, index.join(","));
    fs::write(folder.0.join("projects/+a%20project+%c3%bc.json"), index).unwrap();
}

/// Holds (Sessions): A store that an earlier version has written opens without a loss.
#[tokio::test]
async fn a_store_of_an_earlier_version_opens_whole() {
    let folder = Folder::new("archive-old");
    write_old_store(&folder, 100);
    let store = folder.store();
    let check = async |store: &Store, number: usize| {
        let id = number.to_string();
        let loaded = store.load_transcript(session(&id).key(), false).await;
        let texts: Vec<&str> = loaded
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Message(message) => Some(message.text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(texts, [&format!("asked number{number}."), "it is answered"]);
        assert!(!loaded.has_gaps);
        assert_eq!(found(store, &format!("number{number}.")).await, [id]);
    };
    assert_eq!(ids(&store).await.len(), 100);
    for number in 0..100 {
        check(&store, number).await;
    }
    for number in 0..60 {
        talk(&store, &format!("new{number}"), "words").await;
    }
    store.flush();
    drop(store);
    let store = folder.store();
    assert_eq!((ids(&store).await.len(), count(&folder, "archive")), (160, 60));
    for number in 0..100 {
        check(&store, number).await;
    }
    assert_eq!(fs::read_dir(folder.0.join("transcripts")).unwrap().count(), 21);
}

/// Holds (Sessions): A kill while a session is archived or opened from the archive loses nothing.
#[tokio::test]
async fn a_half_done_archiving_loses_nothing() {
    let folder = Folder::new("archive-half");
    write_old_store(&folder, 3);
    let key = session("0").key();
    let [listed, archived]: [SavedSession; 2] = {
        let store = folder.store();
        let mut sessions = store.list(CWD.into()).await;
        let first = sessions.remove(2);
        [first.clone(), first]
    };
    // In the archive, and still in the index with its transcript.
    let transcript = folder.0.join("transcripts/+a%20project+%c3%bc/fake=0.jsonl");
    let text = fs::read(&transcript).unwrap();
    super::super::archive::write(&folder.0, &archived, &text[..]).unwrap();
    let whole = async || {
        let store = folder.store();
        assert_eq!(ids(&store).await.len(), 3);
        assert_eq!(found(&store, "number0.").await, ["0"]);
        assert_eq!(store.load_transcript(key.clone(), false).await.entries.len(), 2);
    };
    whole().await;
    // The transcript is gone.
    fs::remove_file(&transcript).unwrap();
    whole().await;
    // It is also gone from the index, and half of the transcript was written anew.
    fs::write(transcript.with_extension("new"), &text[..text.len() / 2]).unwrap();
    let index = folder.0.join("projects/+a%20project+%c3%bc.json");
    let sessions = fs::read_to_string(&index).unwrap();
    let (others, _) = sessions.rsplit_once(",{").unwrap();
    fs::write(&index, format!("{others}]}}")).unwrap();
    whole().await;
    let store = folder.store();
    assert_eq!(store.load_transcript(key.clone(), true).await.entries.len(), 2);
    assert_eq!(fs::read(&transcript).unwrap(), text);
    drop(store);
    whole().await;
    assert_eq!(listed.title.as_deref(), Some("old 0"));
}

/// Holds (Sessions): An archived session that is damaged costs that session only.
#[tokio::test]
async fn a_damaged_archive_costs_one_session() {
    let folder = Folder::new("archive-damaged");
    let store = folder.store();
    for number in 0..103 {
        talk(&store, &number.to_string(), &"long words ".repeat(number + 1)).await;
    }
    store.flush();
    let archive = folder.0.join("archive/+a%20project+%c3%bc");
    let mut files: Vec<_> =
        fs::read_dir(&archive).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let [torn, foreign, whole] = &files[..] else { panic!("{files:?}") };
    let bytes = fs::read(torn).unwrap();
    fs::write(torn, &bytes[..bytes.len() - 3]).unwrap();
    fs::write(foreign, "{\"version\":9}\n").unwrap();
    assert_eq!(ids(&store).await.len(), 102);
    assert_eq!(found(&store, "words").await.len(), 101);
    let id = |file: &Path| file.file_stem().unwrap().to_str().unwrap()[5..].to_owned();
    assert_eq!(store.load_transcript(session(&id(whole)).key(), true).await.entries.len(), 1);
    assert!(store.load_transcript(session(&id(torn)).key(), true).await.entries.is_empty());
    // What it was is not written over.
    assert_eq!(fs::read(torn).unwrap().len(), bytes.len() - 3);
}

/// Holds (Sessions): Archived sessions are only readable by their owner, and secrets are not in them.
#[tokio::test]
async fn an_archived_session_is_private() {
    let folder = Folder::new("archive-private");
    let secrets = Secrets::default();
    let store = Store::open(Some(folder.0.clone()), secrets.clone());
    secrets.add(["sk-\"12345678".to_owned()]);
    for number in 0..101 {
        let titled = SavedSession {
            title: Some("use sk-\"12345678".to_owned()),
            ..session(&number.to_string())
        };
        let text = message("the key is sk-\"12345678");
        let saved = store.save(titled.clone(), false, vec![(0, text)]).await;
        assert_eq!(saved, Ok(SaveResult::Written));
        store.release(titled.key());
    }
    store.flush();
    let archive = folder.0.join("archive/+a%20project+%c3%bc");
    let file = fs::read_dir(&archive).unwrap().next().unwrap().unwrap().path();
    for path in [folder.0.join("archive"), archive, file.clone()] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
    }
    let bytes = fs::read(&file).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("12345678"));
}

/// Holds (Sessions): A session that is archived or opened while sessions are listed is in the list.
#[tokio::test]
async fn a_list_has_what_is_moved_meanwhile() {
    let folder = Folder::new("archive-moved");
    let store = folder.store();
    for number in 0..101 {
        talk(&store, &number.to_string(), "words").await;
    }
    store.flush();
    let root = folder.0.clone();
    let reader = thread::spawn(move || {
        let mut counts = std::collections::BTreeSet::new();
        for _ in 0..300 {
            counts.insert(listed::of_folder(&root, Path::new(CWD)).len());
        }
        counts
    });
    // Each is used, which archives another one.
    while !reader.is_finished() {
        let oldest = ids(&store).await.pop().unwrap();
        store.save(session(&oldest), false, vec![(1, message("more"))]);
        store.release(session(&oldest).key());
    }
    assert_eq!(reader.join().unwrap().into_iter().collect::<Vec<_>>(), [101]);
}
