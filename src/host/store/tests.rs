//! Saving and loading sessions, with several programs that use one folder.

mod archive;
mod growth;
mod search;
mod uses;

use super::*;
use crate::secrets::Secrets;
use crate::session::content::Content;
use crate::session::entry::{Message, Note};
use crate::session::transcript::Transcript;
use crate::session::update::{Role, Severity};
use std::fs;
use std::os::unix::fs::PermissionsExt;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rat-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn store(&self) -> Store {
        Store::open(Some(self.0.clone()), Secrets::default())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn session(id: &str) -> SavedSession {
    SavedSession {
        agent: "fake".into(),
        id: id.into(),
        cwd: "/a project/ü".into(),
        title: Some("title".to_owned()),
        used_at: 0,
        in_place: false,
        open: false,
    }
}

fn note(title: &str) -> Entry {
    let (severity, title) = (Severity::Info, title.to_owned());
    Entry::Note(Note::new(severity, title))
}

/// Counts the transcripts of the folder that [`session`] works in.
fn count_transcripts(folder: &Folder) -> usize {
    fs::read_dir(folder.0.join("transcripts/+a%20project+%c3%bc")).unwrap().count()
}

async fn ids(store: &Store) -> Vec<String> {
    let sessions = store.list("/a project/ü".into()).await;
    sessions.iter().map(|session| session.id.to_string()).collect()
}

#[tokio::test]
async fn a_saved_session_is_there_after_a_restart() {
    let folder = Folder::new("restart");
    let store = folder.store();
    store.save(session("1"), false, vec![(0, note("a")), (1, note("b"))]);
    store.save(session("1"), false, vec![(1, note("B")), (2, note("c"))]);
    assert!(store.list("/a project/ü".into()).await[0].open, "by this program");
    store.flush();
    drop(store);
    let store = folder.store();
    assert_eq!(ids(&store).await, ["1"]);
    let one = store.find_last("/a project/ü".into(), &"fake".into()).await.unwrap();
    assert_eq!((one.title.as_deref(), one.open), (Some("title"), false));
    assert!(one.used_at > 1_700_000_000);
    let entries = store.load_transcript(session("1").key(), false).await.entries;
    assert_eq!(entries, [note("a"), note("B"), note("c")]);
    assert!(store.list("/elsewhere".into()).await.is_empty());
    store.save(session("1"), true, vec![(0, note("all of it"))]);
    assert_eq!(store.load_transcript(session("1").key(), false).await.entries, [note("all of it")]);
}

fn message(text: &str) -> Entry {
    let mut transcript = Transcript::default();
    transcript.chunk(Role::Agent, None, &Content::Text(format!("{text} ")));
    let Some(Entry::Message(message)) = transcript.entries().first() else { panic!() };
    Entry::Message(Message { text: text.to_owned(), ..message.clone() })
}

/// More text of a message at index 1. With `starts`, also the note at index 0 and the message without text.
fn part(starts: bool, more: &str) -> TranscriptPart {
    let entries = if starts { vec![(0, note("a")), (1, message(""))] } else { Vec::new() };
    TranscriptPart { entries, more: Some((1, more.to_owned())) }
}

#[tokio::test]
async fn a_message_is_saved_while_it_streams_in() {
    let folder = Folder::new("part");
    let store = folder.store();
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let mut said = String::new();
    for number in 0..20 {
        let more = format!("word {number}, ");
        said += &more;
        let saved = store.save_part(session("1"), part(number == 0, &more)).await;
        assert_eq!(saved, Ok(SaveResult::Written));
        let loaded = store.load_transcript(session("1").key(), false).await;
        assert_eq!((loaded.entries, loaded.has_gaps), (vec![note("a"), message(&said)], false));
    }
    assert!(fs::read_to_string(&file).unwrap().matches("word 7,").count() == 1);
    // Saving another entry does not change the message; saving the message replaces what was appended.
    store.save_part(session("1"), TranscriptPart { entries: vec![(2, note("b"))], more: None });
    store.save_part(session("1"), part(false, "more"));
    said += "more";
    let load = async || store.load_transcript(session("1").key(), false).await.entries;
    assert_eq!(load().await, [note("a"), message(&said), note("b")]);
    store.save(session("1"), false, vec![(1, message("all of it"))]);
    assert_eq!(load().await, [note("a"), message("all of it"), note("b")]);
    store.save_part(session("1"), part(true, "and "));
    store.save_part(session("1"), part(false, "anew"));
    assert_eq!(load().await, [note("a"), message("and anew"), note("b")]);
}

/// Holds (Sessions): A secret that arrives in two pieces is redacted in both.
#[tokio::test]
async fn a_secret_that_is_split_between_two_parts_is_redacted() {
    let folder = Folder::new("halves");
    let secrets = Secrets::default();
    let store = Store::open(Some(folder.0.clone()), secrets.clone());
    secrets.add(["sk-\"12345678".to_owned()]);
    store.save_part(session("1"), part(true, "the key is sk-\"123"));
    store.save_part(session("1"), part(false, "45678, is it not? There is more to be said."));
    store.save_part(session("1"), part(false, " sk-\"12345678 and so on, as long as it takes"));
    store.flush();
    let entries = store.load_transcript(session("1").key(), false).await.entries;
    let Some(Entry::Message(message)) = entries.last() else { panic!("{entries:?}") };
    let all = "the key is [redacted], is it not? There is more to be said. [redacted] and so on";
    assert!(message.text.starts_with(all), "{}", message.text);
}

#[tokio::test]
async fn a_secret_is_redacted_in_transcripts_and_titles() {
    let folder = Folder::new("secret");
    let secrets = Secrets::default();
    let store = Store::open(Some(folder.0.clone()), secrets.clone());
    // A secret is only known once an agent is started with it.
    secrets.add(["sk-\"12345678".to_owned()]);
    let titled = SavedSession { title: Some("use sk-\"12345678".to_owned()), ..session("1") };
    store.save(titled, true, vec![(0, note("the key is sk-\"12345678"))]);
    store.flush();
    assert_eq!(
        store.load_transcript(session("1").key(), false).await.entries,
        [note("the key is [redacted]")]
    );
    let sessions = store.list("/a project/ü".into()).await;
    assert_eq!(sessions[0].title.as_deref(), Some("use [redacted]"));
}

/// Holds (Sessions): Sessions with the same id are apart: of two agents, and of one agent in two folders.
#[tokio::test]
async fn sessions_with_one_id_in_two_folders_are_separate() {
    let folder = Folder::new("apart");
    let store = folder.store();
    let there = |id: &str| SavedSession { cwd: "/elsewhere".into(), ..session(id) };
    store.save(session("1"), false, vec![(0, note("here"))]);
    store.save(there("1"), false, vec![(0, note("there")), (1, note("more"))]);
    assert_eq!(store.load_transcript(session("1").key(), false).await.entries, [note("here")]);
    store.save(session("1"), true, vec![(0, note("anew"))]);
    assert_eq!(
        store.load_transcript(there("1").key(), false).await.entries,
        [note("there"), note("more")]
    );
    store.forget(there("1").key());
    assert!(store.list("/elsewhere".into()).await.is_empty());
    assert_eq!(store.load_transcript(session("1").key(), false).await.entries, [note("anew")]);
    assert_eq!(store.list("/a project/ü".into()).await.len(), 1);
    // The names of agent and session do not run together.
    let named = |agent: &str, id: &str| SavedSession { agent: agent.into(), ..session(id) };
    store.save(named("a-b", "c"), false, vec![(0, note("a-b"))]);
    store.save(named("a", "b-c"), false, vec![(0, note("a"))]);
    assert_eq!(store.load_transcript(named("a-b", "c").key(), false).await.entries, [note("a-b")]);
}

/// Holds (Sessions): Transcripts stored by older versions go on where they are.
#[tokio::test]
async fn a_transcript_in_the_old_shared_folder_stays_there() {
    let folder = Folder::new("old");
    let store = folder.store();
    store.save(session("1"), false, vec![(0, note("a"))]);
    store.flush();
    drop(store);
    let old = folder.0.join("transcripts/fake-1.jsonl");
    fs::rename(folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl"), &old).unwrap();
    let store = folder.store();
    let there = SavedSession { cwd: "/elsewhere".into(), ..session("1") };
    assert!(
        store.load_transcript(there.key(), false).await.entries.is_empty(),
        "of another folder"
    );
    assert_eq!(store.load_transcript(session("1").key(), false).await.entries, [note("a")]);
    store.save(there.clone(), false, vec![(0, note("there"))]);
    store.save(session("1"), false, vec![(1, note("b"))]);
    assert_eq!(
        store.load_transcript(session("1").key(), false).await.entries,
        [note("a"), note("b")]
    );
    assert_eq!(store.load_transcript(there.key(), false).await.entries, [note("there")]);
    store.forget(session("1").key());
    assert!(
        store.load_transcript(session("1").key(), false).await.entries.is_empty() && !old.exists()
    );
}

/// Holds (Sessions): Two programs that write transcripts lose nothing of each other's.
#[tokio::test]
async fn two_programs_do_not_overwrite_each_others_sessions() {
    let folder = Folder::new("two");
    let (one, other) = (folder.store(), folder.store());
    for number in 0..20 {
        one.save(session(&format!("one{number}")), false, Vec::new());
        other.save(session(&format!("other{number}")), false, Vec::new());
    }
    one.flush();
    other.flush();
    assert_eq!(ids(&one).await.len(), 40);
    // Only the program that has a session open writes its transcript.
    one.save(session("one1"), false, vec![(0, note("one"))]);
    one.flush();
    let entries = other.load_transcript(session("one1").key(), false).await.entries;
    other.save(session("one1"), false, vec![(0, note("other"))]);
    other.flush();
    assert_eq!(entries, [note("one")]);
    assert_eq!(one.load_transcript(session("one1").key(), false).await.entries, [note("one")]);
}

#[tokio::test]
async fn finding_the_last_session_waits_for_another_program_to_close_it() {
    let folder = Folder::new("last");
    let one = folder.store();
    one.save(session("1"), false, vec![(0, note("a"))]);
    one.flush();
    let other = folder.store();
    let agent = "fake".into();
    assert!(other.find_last("/elsewhere".into(), &agent).await.is_none());
    let waiting = other.find_last("/a project/ü".into(), &agent);
    let ending = async {
        assert!(other.list("/a project/ü".into()).await[0].open);
        drop(one);
    };
    let (last, ()) = tokio::join!(waiting, ending);
    assert!(!last.unwrap().open);
    // If it stays open, it is returned as open.
    let again = folder.store();
    again.save(session("1"), false, vec![(1, note("b"))]);
    again.flush();
    assert!(other.find_last("/a project/ü".into(), &agent).await.unwrap().open);
}

/// Holds (Sessions): A transcript that cannot be written is reported once and written whole later.
#[tokio::test]
async fn a_session_another_program_had_open_is_written_whole_once_it_is_closed() {
    let folder = Folder::new("elsewhere");
    let one = folder.store();
    assert_eq!(one.save(session("1"), false, vec![(0, note("a"))]).await, Ok(SaveResult::Written));
    let other = folder.store();
    let save = |replace, entries| other.save(session("1"), replace, entries);
    let (b, c) = ((1, note("b")), (2, note("c")));
    assert_eq!(save(false, vec![b.clone()]).await, Ok(SaveResult::Elsewhere));
    assert_eq!(save(true, vec![b.clone()]).await, Ok(SaveResult::Elsewhere));
    drop(one);
    assert!(!folder.store().find_last("/a project/ü".into(), &"fake".into()).await.unwrap().open);
    assert_eq!(save(false, vec![c.clone()]).await, Ok(SaveResult::Behind));
    assert_eq!(save(true, vec![(0, note("a")), b]).await, Ok(SaveResult::Written));
    let third = folder.store();
    assert_eq!(third.save(session("1"), false, Vec::new()).await, Ok(SaveResult::Elsewhere));
    assert_eq!(save(false, vec![c]).await, Ok(SaveResult::Written));
    let entries = other.load_transcript(session("1").key(), false).await.entries;
    assert_eq!(entries, [note("a"), note("b"), note("c")]);
}

#[tokio::test]
async fn checking_whether_a_session_is_open_does_not_make_it_look_open() {
    let folder = Folder::new("look");
    let one = folder.store();
    one.save(session("1"), false, vec![(0, note("a"))]);
    one.flush();
    drop(one);
    let store = folder.store();
    assert!(!store.find_last("/a project/ü".into(), &"fake".into()).await.unwrap().open);
    let file =
        fs::File::open(folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl")).unwrap();
    let _looking = nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockSharedNonblock).unwrap();
    assert!(!store.list("/a project/ü".into()).await[0].open);
}

#[tokio::test]
async fn forgetting_a_session_deletes_its_transcript() {
    let folder = Folder::new("forget");
    let store = folder.store();
    store.save(session("1"), false, vec![(0, note("a"))]);
    store.save(session("2"), false, vec![(0, note("a"))]);
    store.forget(session("1").key());
    assert_eq!(ids(&store).await, ["2"]);
    assert!(store.load_transcript(session("1").key(), false).await.entries.is_empty());
}

/// Writes a transcript of two entries and cuts off its last line.
fn write_truncated(folder: &Folder) {
    let store = folder.store();
    store.save(session("1"), false, vec![(0, note("a")), (1, note("b"))]);
    store.flush();
    drop(store);
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() - 5]).unwrap();
}

#[tokio::test]
async fn an_incomplete_line_does_not_affect_others() {
    let folder = Folder::new("cut");
    write_truncated(&folder);
    assert_eq!(
        folder.store().load_transcript(session("1").key(), false).await.entries,
        [note("a")]
    );
}

/// Holds (Sessions): A torn line in a transcript costs that line only.
#[tokio::test]
async fn an_entry_after_an_incomplete_line_starts_a_new_line() {
    let folder = Folder::new("torn");
    write_truncated(&folder);
    let store = folder.store();
    assert!(!store.find_last("/a project/ü".into(), &"fake".into()).await.unwrap().open);
    store.save(session("1"), false, vec![(1, note("c"))]);
    assert_eq!(
        store.load_transcript(session("1").key(), false).await.entries,
        [note("a"), note("c")]
    );
}

/// Set in the process whose files may not grow, as on a full disk.
const FULL: &str = "RAT_TEST_STORE_FULL";

/// Holds (Sessions): A full disk leaves the transcript as it was.
#[test]
fn a_failed_write_leaves_the_file_unchanged() {
    if std::env::var_os(FULL).is_none() {
        let name = "host::store::tests::a_failed_write_leaves_the_file_unchanged";
        let limited = std::process::Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact \"$1\" --nocapture"])
            .arg(std::env::current_exe().unwrap())
            .arg(name)
            .env(FULL, "1")
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&limited.stdout);
        return assert!(limited.status.success() && stdout.contains("1 passed"), "{limited:?}");
    }
    let folder = Folder::new("full");
    let store = folder.store();
    store.save(session("1"), false, vec![(0, note("a"))]);
    store.flush();
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let before = fs::read(&file).unwrap();
    let large = "x".repeat(64 << 10);
    assert!(fs::write(folder.0.join("probe"), &large).is_err(), "the limit holds");
    let save =
        |replace, entries| store.save(session("1"), replace, entries).blocking_recv().unwrap();
    let saved = save(false, vec![(1, note("b")), (2, note(&large))]);
    assert!(matches!(&saved, SaveResult::Failed(why) if why.contains("large")), "{saved:?}");
    assert!(fs::read(&file).unwrap() == before, "nothing is left half written");
    // The whole transcript is needed now.
    assert_eq!(save(false, vec![(3, note("c"))]), SaveResult::Behind);
    assert!(matches!(save(true, vec![(0, note(&large))]), SaveResult::Failed(_)));
    assert!(fs::read(&file).unwrap() == before);
    assert_eq!(count_transcripts(&folder), 1);
    assert_eq!(save(true, vec![(0, note("a")), (1, note("b"))]), SaveResult::Written);
    assert_eq!(save(false, vec![(2, note("c"))]), SaveResult::Written);
}

#[tokio::test]
async fn a_transcript_has_gaps_until_it_is_replaced() {
    let folder = Folder::new("gaps");
    let store = folder.store();
    let entries = [(0, note("a")), (1, note("b")), (2, note("c"))];
    store.save(session("1"), false, entries.to_vec());
    store.flush();
    let load = async || store.load_transcript(session("1").key(), false).await;
    assert!(!load().await.has_gaps);
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    for (missing, left) in
        [(2, vec![note("a"), note("c")]), (0, vec![note("a"), note("b"), note("c")])]
    {
        let mut lines: Vec<&str> = whole.lines().collect();
        lines[missing] = "{\"at\":";
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        assert_eq!(
            load().await,
            SavedTranscript { entries: left, has_gaps: true, ..SavedTranscript::default() }
        );
    }
    store.save(session("1"), true, entries.to_vec());
    let entries = entries.map(|(_, entry)| entry).to_vec();
    assert_eq!(
        load().await,
        SavedTranscript { entries, has_gaps: false, ..SavedTranscript::default() }
    );
}

#[tokio::test]
async fn a_damaged_index_is_renamed_and_one_of_another_version_not_changed() {
    let folder = Folder::new("damaged");
    let store = folder.store();
    store.save(session("1"), false, Vec::new());
    store.flush();
    let projects = folder.0.join("projects");
    let file = projects.join("+a%20project+%c3%bc.json");
    fs::write(&file, "{\"version\":1,").unwrap();
    store.save(session("2"), false, Vec::new());
    assert_eq!(ids(&store).await, ["2"]);
    assert!(file.with_extension("damaged").exists());
    fs::write(&file, "{\"version\":2,\"sessions\":7}").unwrap();
    store.save(session("3"), false, Vec::new());
    store.flush();
    assert!(ids(&store).await.is_empty());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"version\":2,\"sessions\":7}");
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    let folder = Folder::new("private");
    let store = folder.store();
    store.save(session("1"), false, vec![(0, note("a"))]);
    store.flush();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    assert_eq!(mode(&folder.0), 0);
    assert_eq!(mode(&folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl")), 0);
    assert_eq!(mode(&folder.0.join("projects")), 0);
    assert_eq!(mode(&folder.0.join("projects/+a%20project+%c3%bc.json")), 0);
}

#[tokio::test]
async fn without_a_folder_nothing_is_saved_and_no_call_waits() {
    let store = Store::open(None, Secrets::default());
    store.save(session("1"), false, Vec::new());
    store.flush();
    assert!(ids(&store).await.is_empty());
}

#[test]
fn file_names_are_distinct_and_not_too_long() {
    let texts =
        ["/a/b", "/a+b", "/A/b", "..", "", "a%2f", "ü", &"x/".repeat(300), &"y/".repeat(300)];
    let names: std::collections::HashSet<String> =
        texts.iter().map(|text| names::escaped(text).to_lowercase()).collect();
    assert_eq!(names.len(), texts.len());
    assert!(names.iter().all(|name| name.len() < 200 && !name.starts_with('.')));
}

/// Holds (Sessions): Of two Neovims started at once, one resumes the session.
#[tokio::test]
async fn only_one_of_two_programs_can_claim_a_session() {
    let folder = Folder::new("claim");
    let (one, other) = (folder.store(), folder.store());
    assert_eq!(one.save(session("1"), false, vec![(0, note("a"))]).await, Ok(SaveResult::Written));
    one.release(session("1").key());
    let claim = async |store: &Store| {
        let loaded = store.load_transcript(session("1").key(), true).await;
        (loaded.is_elsewhere, loaded.entries.len())
    };
    assert_eq!(claim(&one).await, (false, 1));
    assert_eq!(claim(&other).await, (true, 0));
    // The program that has it may claim it again.
    assert_eq!(claim(&one).await, (false, 1));
    one.release(session("1").key());
    one.list("/a project/ü".into()).await;
    assert_eq!(claim(&other).await, (false, 1));
}
