//! What is kept comes back, whoever else keeps something.

use super::*;
use crate::secrets::Secrets;
use crate::session::transcript::Note;
use crate::session::update::Severity;
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

fn session(id: &str) -> Remembered {
    Remembered {
        agent: "fake".into(),
        id: id.into(),
        cwd: "/a project/ü".into(),
        title: Some("title".to_owned()),
        used_at: 0,
        open: false,
    }
}

fn note(title: &str) -> Entry {
    let (severity, title) = (Severity::Info, title.to_owned());
    Entry::Note(Note { severity, title, details: Vec::new(), key: None })
}

/// How many there are of the one folder.
fn transcripts(folder: &Folder) -> usize {
    fs::read_dir(folder.0.join("transcripts/+a%20project+%c3%bc")).unwrap().count()
}

async fn ids(store: &Store) -> Vec<String> {
    let sessions = store.recall("/a project/ü".into()).await;
    sessions.iter().map(|session| session.id.to_string()).collect()
}

#[tokio::test]
async fn what_was_kept_is_there_after_a_restart() {
    let folder = Folder::new("restart");
    let store = folder.store();
    store.keep(session("1"), false, vec![(0, note("a")), (1, note("b"))]);
    store.keep(session("1"), false, vec![(1, note("B")), (2, note("c"))]);
    assert!(store.recall("/a project/ü".into()).await[0].open, "by this program");
    store.flush();
    drop(store);
    let store = folder.store();
    assert_eq!(ids(&store).await, ["1"]);
    let one = store.last("/a project/ü".into(), &"fake".into()).await.unwrap();
    assert_eq!((one.title.as_deref(), one.open), (Some("title"), false));
    assert!(one.used_at > 1_700_000_000);
    let entries = store.reread(session("1").key(), false).await.entries;
    assert_eq!(entries, [note("a"), note("B"), note("c")]);
    assert!(store.recall("/elsewhere".into()).await.is_empty());
    store.keep(session("1"), true, vec![(0, note("all of it"))]);
    assert_eq!(store.reread(session("1").key(), false).await.entries, [note("all of it")]);
}

#[tokio::test]
async fn a_secret_stands_neither_in_a_transcript_nor_in_a_title() {
    let folder = Folder::new("secret");
    let secrets = Secrets::default();
    let store = Store::open(Some(folder.0.clone()), secrets.clone());
    // Known only once an agent is started with it.
    secrets.add(["sk-\"12345678".to_owned()]);
    let told = Remembered { title: Some("use sk-\"12345678".to_owned()), ..session("1") };
    store.keep(told, true, vec![(0, note("the key is sk-\"12345678"))]);
    store.flush();
    assert_eq!(
        store.reread(session("1").key(), false).await.entries,
        [note("the key is [redacted]")]
    );
    let recalled = store.recall("/a project/ü".into()).await;
    assert_eq!(recalled[0].title.as_deref(), Some("use [redacted]"));
}

#[tokio::test]
async fn sessions_of_one_name_in_two_folders_are_kept_apart() {
    let folder = Folder::new("apart");
    let store = folder.store();
    let there = |id: &str| Remembered { cwd: "/elsewhere".into(), ..session(id) };
    store.keep(session("1"), false, vec![(0, note("here"))]);
    store.keep(there("1"), false, vec![(0, note("there")), (1, note("more"))]);
    assert_eq!(store.reread(session("1").key(), false).await.entries, [note("here")]);
    store.keep(session("1"), true, vec![(0, note("anew"))]);
    assert_eq!(store.reread(there("1").key(), false).await.entries, [note("there"), note("more")]);
    store.forget(there("1").key());
    assert!(store.recall("/elsewhere".into()).await.is_empty());
    assert_eq!(store.reread(session("1").key(), false).await.entries, [note("anew")]);
    assert_eq!(store.recall("/a project/ü".into()).await.len(), 1);
    // Neither do names run together.
    let named = |agent: &str, id: &str| Remembered { agent: agent.into(), ..session(id) };
    store.keep(named("a-b", "c"), false, vec![(0, note("a-b"))]);
    store.keep(named("a", "b-c"), false, vec![(0, note("a"))]);
    assert_eq!(store.reread(named("a-b", "c").key(), false).await.entries, [note("a-b")]);
}

#[tokio::test]
async fn a_transcript_from_when_all_had_one_folder_goes_on_where_it_is() {
    let folder = Folder::new("old");
    let store = folder.store();
    store.keep(session("1"), false, vec![(0, note("a"))]);
    store.flush();
    drop(store);
    let old = folder.0.join("transcripts/fake-1.jsonl");
    fs::rename(folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl"), &old).unwrap();
    let store = folder.store();
    let there = Remembered { cwd: "/elsewhere".into(), ..session("1") };
    assert!(store.reread(there.key(), false).await.entries.is_empty(), "of another folder");
    assert_eq!(store.reread(session("1").key(), false).await.entries, [note("a")]);
    store.keep(there.clone(), false, vec![(0, note("there"))]);
    store.keep(session("1"), false, vec![(1, note("b"))]);
    assert_eq!(store.reread(session("1").key(), false).await.entries, [note("a"), note("b")]);
    assert_eq!(store.reread(there.key(), false).await.entries, [note("there")]);
    store.forget(session("1").key());
    assert!(store.reread(session("1").key(), false).await.entries.is_empty() && !old.exists());
}

#[tokio::test]
async fn two_programs_lose_nothing_of_each_other() {
    let folder = Folder::new("two");
    let (one, other) = (folder.store(), folder.store());
    for number in 0..20 {
        one.keep(session(&format!("one{number}")), false, Vec::new());
        other.keep(session(&format!("other{number}")), false, Vec::new());
    }
    one.flush();
    other.flush();
    assert_eq!(ids(&one).await.len(), 40);
    // The one who has a session open writes its transcript.
    one.keep(session("one1"), false, vec![(0, note("one"))]);
    one.flush();
    let entries = other.reread(session("one1").key(), false).await.entries;
    other.keep(session("one1"), false, vec![(0, note("other"))]);
    other.flush();
    assert_eq!(entries, [note("one")]);
    assert_eq!(one.reread(session("one1").key(), false).await.entries, [note("one")]);
}

#[tokio::test]
async fn a_session_that_is_let_go_a_moment_later_is_waited_for() {
    let folder = Folder::new("last");
    let one = folder.store();
    one.keep(session("1"), false, vec![(0, note("a"))]);
    one.flush();
    let other = folder.store();
    let agent = "fake".into();
    assert!(other.last("/elsewhere".into(), &agent).await.is_none());
    let waiting = other.last("/a project/ü".into(), &agent);
    let ending = async {
        assert!(other.recall("/a project/ü".into()).await[0].open);
        drop(one);
    };
    let (last, ()) = tokio::join!(waiting, ending);
    assert!(!last.unwrap().open);
    // One that stays open is told as such.
    let again = folder.store();
    again.keep(session("1"), false, vec![(1, note("b"))]);
    again.flush();
    assert!(other.last("/a project/ü".into(), &agent).await.unwrap().open);
}

#[tokio::test]
async fn a_session_that_was_open_elsewhere_is_written_whole_once_it_is_let_go() {
    let folder = Folder::new("elsewhere");
    let one = folder.store();
    assert_eq!(one.keep(session("1"), false, vec![(0, note("a"))]).await, Ok(Kept::Written));
    let other = folder.store();
    let keep = |anew, entries| other.keep(session("1"), anew, entries);
    let (b, c) = ((1, note("b")), (2, note("c")));
    assert_eq!(keep(false, vec![b.clone()]).await, Ok(Kept::Elsewhere));
    assert_eq!(keep(true, vec![b.clone()]).await, Ok(Kept::Elsewhere));
    drop(one);
    assert!(!folder.store().last("/a project/ü".into(), &"fake".into()).await.unwrap().open);
    assert_eq!(keep(false, vec![c.clone()]).await, Ok(Kept::Behind));
    assert_eq!(keep(true, vec![(0, note("a")), b]).await, Ok(Kept::Written));
    let third = folder.store();
    assert_eq!(third.keep(session("1"), false, Vec::new()).await, Ok(Kept::Elsewhere));
    assert_eq!(keep(false, vec![c]).await, Ok(Kept::Written));
    let entries = other.reread(session("1").key(), false).await.entries;
    assert_eq!(entries, [note("a"), note("b"), note("c")]);
}

#[tokio::test]
async fn two_who_look_whether_a_session_is_open_do_not_take_each_other_for_it() {
    let folder = Folder::new("look");
    let one = folder.store();
    one.keep(session("1"), false, vec![(0, note("a"))]);
    one.flush();
    drop(one);
    let store = folder.store();
    assert!(!store.last("/a project/ü".into(), &"fake".into()).await.unwrap().open);
    let file =
        fs::File::open(folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl")).unwrap();
    let _looking = nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockSharedNonblock).unwrap();
    assert!(!store.recall("/a project/ü".into()).await[0].open);
}

#[tokio::test]
async fn a_forgotten_session_is_gone_with_what_was_said() {
    let folder = Folder::new("forget");
    let store = folder.store();
    store.keep(session("1"), false, vec![(0, note("a"))]);
    store.keep(session("2"), false, vec![(0, note("a"))]);
    store.forget(session("1").key());
    assert_eq!(ids(&store).await, ["2"]);
    assert!(store.reread(session("1").key(), false).await.entries.is_empty());
}

#[tokio::test]
async fn of_a_folder_the_newest_hundred_are_remembered() {
    let folder = Folder::new("most");
    let store = folder.store();
    for number in 0..105 {
        store.keep(session(&number.to_string()), false, vec![(0, note("a"))]);
    }
    let ids = ids(&store).await;
    assert_eq!((ids.len(), ids.contains(&"4".to_owned())), (100, false));
    assert_eq!(transcripts(&folder), 100);
}

/// Leaves a transcript of two entries whose last line was cut off.
fn tear(folder: &Folder) {
    let store = folder.store();
    store.keep(session("1"), false, vec![(0, note("a")), (1, note("b"))]);
    store.flush();
    drop(store);
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() - 5]).unwrap();
}

#[tokio::test]
async fn a_line_that_was_cut_off_costs_itself_only() {
    let folder = Folder::new("cut");
    tear(&folder);
    assert_eq!(folder.store().reread(session("1").key(), false).await.entries, [note("a")]);
}

#[tokio::test]
async fn what_follows_a_line_that_was_cut_off_is_a_line_of_its_own() {
    let folder = Folder::new("torn");
    tear(&folder);
    let store = folder.store();
    assert!(!store.last("/a project/ü".into(), &"fake".into()).await.unwrap().open);
    store.keep(session("1"), false, vec![(1, note("c"))]);
    assert_eq!(store.reread(session("1").key(), false).await.entries, [note("a"), note("c")]);
}

/// Set where files may not grow, as on a full disk.
const FULL: &str = "RAT_TEST_STORE_FULL";

#[test]
fn what_has_no_room_leaves_what_is_there() {
    if std::env::var_os(FULL).is_none() {
        let name = "host::store::tests::what_has_no_room_leaves_what_is_there";
        let limited = std::process::Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact \"$1\" --nocapture"])
            .arg(std::env::current_exe().unwrap())
            .arg(name)
            .env(FULL, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&limited.stdout);
        return assert!(limited.status.success() && said.contains("1 passed"), "{limited:?}");
    }
    let folder = Folder::new("full");
    let store = folder.store();
    store.keep(session("1"), false, vec![(0, note("a"))]);
    store.flush();
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let before = fs::read(&file).unwrap();
    let large = "x".repeat(64 << 10);
    assert!(fs::write(folder.0.join("probe"), &large).is_err(), "the limit holds");
    let keep = |anew, entries| store.keep(session("1"), anew, entries).blocking_recv().unwrap();
    let kept = keep(false, vec![(1, note("b")), (2, note(&large))]);
    assert!(matches!(&kept, Kept::Failed(why) if why.contains("large")), "{kept:?}");
    assert!(fs::read(&file).unwrap() == before, "nothing half written stays");
    // What was not written is asked for.
    assert_eq!(keep(false, vec![(3, note("c"))]), Kept::Behind);
    assert!(matches!(keep(true, vec![(0, note(&large))]), Kept::Failed(_)));
    assert!(fs::read(&file).unwrap() == before);
    assert_eq!(transcripts(&folder), 1);
    assert_eq!(keep(true, vec![(0, note("a")), (1, note("b"))]), Kept::Written);
    assert_eq!(keep(false, vec![(2, note("c"))]), Kept::Written);
}

#[tokio::test]
async fn a_transcript_that_misses_something_is_told_as_such_until_it_is_written_anew() {
    let folder = Folder::new("gaps");
    let store = folder.store();
    let entries = [(0, note("a")), (1, note("b")), (2, note("c"))];
    store.keep(session("1"), false, entries.to_vec());
    store.flush();
    let reread = async || store.reread(session("1").key(), false).await;
    assert!(!reread().await.has_gaps);
    let file = folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    for (missing, left) in
        [(2, vec![note("a"), note("c")]), (0, vec![note("a"), note("b"), note("c")])]
    {
        let mut lines: Vec<&str> = whole.lines().collect();
        lines[missing] = "{\"at\":";
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        assert_eq!(reread().await, Past { entries: left, has_gaps: true, ..Past::default() });
    }
    store.keep(session("1"), true, entries.to_vec());
    let entries = entries.map(|(_, entry)| entry).to_vec();
    assert_eq!(reread().await, Past { entries, has_gaps: false, ..Past::default() });
}

#[tokio::test]
async fn a_damaged_index_is_put_aside_and_one_of_another_version_left_alone() {
    let folder = Folder::new("damaged");
    let store = folder.store();
    store.keep(session("1"), false, Vec::new());
    store.flush();
    let projects = folder.0.join("projects");
    let file = projects.join("+a%20project+%c3%bc.json");
    fs::write(&file, "{\"version\":1,").unwrap();
    store.keep(session("2"), false, Vec::new());
    assert_eq!(ids(&store).await, ["2"]);
    assert!(file.with_extension("damaged").exists());
    fs::write(&file, "{\"version\":2,\"sessions\":7}").unwrap();
    store.keep(session("3"), false, Vec::new());
    store.flush();
    assert!(ids(&store).await.is_empty());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"version\":2,\"sessions\":7}");
}

#[tokio::test]
async fn nobody_else_can_read_it() {
    let folder = Folder::new("private");
    let store = folder.store();
    store.keep(session("1"), false, vec![(0, note("a"))]);
    store.flush();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    assert_eq!(mode(&folder.0), 0);
    assert_eq!(mode(&folder.0.join("transcripts/+a%20project+%c3%bc/fake=1.jsonl")), 0);
    assert_eq!(mode(&folder.0.join("projects")), 0);
    assert_eq!(mode(&folder.0.join("projects/+a%20project+%c3%bc.json")), 0);
}

#[tokio::test]
async fn without_a_folder_nothing_is_kept_and_nobody_waits() {
    let store = Store::open(None, Secrets::default());
    store.keep(session("1"), false, Vec::new());
    store.flush();
    assert!(ids(&store).await.is_empty());
}

#[test]
fn names_differ_and_fit() {
    let texts =
        ["/a/b", "/a+b", "/A/b", "..", "", "a%2f", "ü", &"x/".repeat(300), &"y/".repeat(300)];
    let names: std::collections::HashSet<String> =
        texts.iter().map(|text| names::escaped(text).to_lowercase()).collect();
    assert_eq!(names.len(), texts.len());
    assert!(names.iter().all(|name| name.len() < 200 && !name.starts_with('.')));
}

#[tokio::test]
async fn of_two_programs_that_go_on_with_a_session_at_once_one_gets_it() {
    let folder = Folder::new("claim");
    let (one, other) = (folder.store(), folder.store());
    assert_eq!(one.keep(session("1"), false, vec![(0, note("a"))]).await, Ok(Kept::Written));
    one.release(session("1").key());
    let claim = async |store: &Store| {
        let past = store.reread(session("1").key(), true).await;
        (past.is_elsewhere, past.entries.len())
    };
    assert_eq!(claim(&one).await, (false, 1));
    assert_eq!(claim(&other).await, (true, 0));
    // Whoever has it may ask again.
    assert_eq!(claim(&one).await, (false, 1));
    one.release(session("1").key());
    one.recall("/a project/ü".into()).await;
    assert_eq!(claim(&other).await, (false, 1));
}
