//! What becomes of unsaved text under an agent's write (`write_dirty`), and what an agent then knows of the file.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rat_nvim::core::messages::files::{ChangedFile, Consent, ReportedChange};
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::{AgentChange, DocumentError, WriteRequest};
use rat_nvim::edit::unified::bounded;
use tokio::time::Instant;

use super::nvim::{Nvim, author, session, within};

const THREE: &str = "1\n2\n3\n";

async fn write(
    nvim: &Nvim,
    path: &Path,
    content: &str,
    dirty: WriteDirty,
) -> Result<AgentChange, DocumentError> {
    let (path, content) = (path.to_owned(), content.to_owned());
    let request = WriteRequest {
        by: author(),
        path,
        content,
        base: None,
        dirty,
        repeats: false,
        consent: Consent::NotNeeded,
    };
    within(nvim.files.write(request)).await
}

/// What became of the files the agent wrote, for one that reads the disk.
async fn changed(nvim: &Nvim) -> (String, Vec<ReportedChange>) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let cwd = nvim.path("");
    let files: Vec<ChangedFile> = nvim.files.changed(&session(), &cwd, false, deadline).await;
    let diffs: Vec<_> = files.iter().map(|file| &file.diff).collect();
    (bounded(&diffs, 16 * 1024), files.into_iter().map(|file| file.report).collect())
}

/// Holds (Writing files): With `write_dirty = "save"` the buffer is saved whole.
#[tokio::test]
async fn save_saves_the_buffer_whole() {
    let nvim = Nvim::start("dirty-save").await;
    let path = nvim.edit("a.txt", THREE).await;
    nvim.command("call setline(1, 'user')").await;
    let written = write(&nvim, &path, "1\n2\nthree\n", WriteDirty::Save).await.unwrap();
    assert!(written.saved_unsaved);
    assert_eq!(nvim.disk("a.txt"), "user\n2\nthree\n");
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    // A text that is there already saves nothing.
    nvim.command("call setline(1, 'user again')").await;
    let written = write(&nvim, &path, "1\n2\nthree\n", WriteDirty::Save).await.unwrap();
    assert!(!written.saved_unsaved && written.hunks.is_empty());
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    assert_eq!(nvim.disk("a.txt"), "user\n2\nthree\n");
}

/// Holds (Writing files): With `write_dirty = "ask"` the user is asked where the agent's text cannot be saved without theirs.
#[tokio::test]
async fn ask_keeps_apart_what_it_can_and_else_changes_nothing() {
    let nvim = Nvim::start("dirty-ask").await;
    let path = nvim.edit("a.txt", THREE).await;
    nvim.command("call setline(1, 'user')").await;
    let read = nvim.read(&path).await.unwrap();
    let three = read.replace('3', "three");
    assert!(!write(&nvim, &path, &three, WriteDirty::Ask).await.unwrap().saved_unsaved);
    assert_eq!(nvim.disk("a.txt"), "1\n2\nthree\n");
    let tick = nvim.eval("vim.b.changedtick").await;
    let both = three.replace("user", "user and agent");
    let refused = write(&nvim, &path, &both, WriteDirty::Ask).await;
    assert_eq!(refused, Err(DocumentError::Unsaved(path.clone())));
    assert_eq!(nvim.eval("vim.b.changedtick").await, tick);
    assert_eq!(nvim.disk("a.txt"), "1\n2\nthree\n");
    // The user has said yes.
    assert!(write(&nvim, &path, &both, WriteDirty::Save).await.unwrap().saved_unsaved);
    assert_eq!(nvim.disk("a.txt"), both);
}

/// Holds (Writing files): With `write_dirty = "ask"` the user is asked where the agent's text cannot be saved without theirs.
#[tokio::test]
async fn ask_asks_for_a_new_file_that_the_user_has_not_saved_yet() {
    let nvim = Nvim::start("dirty-new").await;
    nvim.open("new.txt").await;
    nvim.command("call setline(1, ['user', '2'])").await;
    let path = nvim.path("new.txt");
    let read = nvim.read(&path).await.unwrap();
    let content = read.replace('2', "two");
    let refused = write(&nvim, &path, &content, WriteDirty::Ask).await;
    assert_eq!(refused, Err(DocumentError::Unsaved(path.clone())));
    assert!(!path.exists());
    assert!(write(&nvim, &path, &content, WriteDirty::Separate).await.unwrap().saved_unsaved);
    assert_eq!(nvim.disk("new.txt"), content);
}

/// Holds (Prompt context): An agent is told once of what others have changed in the files it wrote.
#[tokio::test]
async fn what_others_do_after_a_turn_is_told_until_it_is_known() {
    let nvim = Nvim::start("dirty-changed").await;
    let path = nvim.put("a.txt", THREE);
    nvim.write(&path, "agent\n").await.unwrap();
    // In the turn the disk is the agent's.
    fs::write(&path, "agent's formatter\n").unwrap();
    nvim.files.turn_ended(&session(), Vec::new(), true, false).await;
    assert_eq!(changed(&nvim).await.0, "");
    fs::write(&path, "somebody else\n").unwrap();
    let (diff, told) = changed(&nvim).await;
    let wanted = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-agent's formatter\n+somebody else\n";
    assert_eq!(diff, wanted);
    nvim.files.turn_ended(&session(), told, false, false).await;
    let (diff, told) = changed(&nvim).await;
    assert_eq!(diff, wanted, "the agent has not taken it in");
    nvim.files.turn_ended(&session(), told, true, false).await;
    assert_eq!(changed(&nvim).await.0, "");
    fs::remove_file(&path).unwrap();
    let (diff, told) = changed(&nvim).await;
    assert_eq!(diff, "--- a/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-somebody else\n");
    nvim.files.turn_ended(&session(), told, true, false).await;
    assert_eq!(changed(&nvim).await.0, "");
    // What the agent reads is newer than what it was told.
    fs::write(&path, "back\n").unwrap();
    let (_, told) = changed(&nvim).await;
    assert_eq!(nvim.read(&path).await.unwrap(), "back\n");
    fs::write(&path, "and changed\n").unwrap();
    let (diff, _) = changed(&nvim).await;
    assert!(diff.contains("-back\n+and changed\n"), "{diff}");
    assert_eq!(told.len(), 1);
}

#[tokio::test]
async fn what_the_user_saves_while_the_agent_works_is_told() {
    let nvim = Nvim::start("dirty-meanwhile").await;
    let path = nvim.edit("a.txt", THREE).await;
    nvim.write(&path, "1\n2\nthree\n").await.unwrap();
    nvim.command("call setline(1, 'user') | write").await;
    nvim.files.turn_ended(&session(), Vec::new(), true, false).await;
    assert_eq!(
        changed(&nvim).await.0,
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-1\n+user\n 2\n three\n"
    );
}

/// Gemini's write tool reads the file through us to show a difference; its model has read the disk.
/// Holds (Writing files): A text the agent made from the file on disk (Gemini) takes back no unsaved change.
#[tokio::test]
async fn a_text_made_from_the_disk_takes_no_unsaved_change_back() {
    let nvim = Nvim::start("dirty-seen").await;
    let path = nvim.edit("a.txt", "1\n2\n3\n4\n5\n").await;
    nvim.files.model_read_disk(&path, &session()).await.unwrap();
    nvim.command("call setline(4, 'user') | call append(4, 'more')").await;
    for (sent, line) in [("one\n2\n3\n4\n5\n", "one"), ("I\n2\n3\n4\n5\n", "I")] {
        let read = nvim.read(&path).await.unwrap();
        assert!(read.contains("user\nmore"));
        nvim.write(&path, sent).await.unwrap();
        assert_eq!(nvim.text().await, format!("{line}\n2\n3\nuser\nmore\n5"));
        assert_eq!(
            (nvim.disk("a.txt"), nvim.eval("vim.bo.modified").await),
            (sent.into(), "true".into())
        );
    }
    // An edit of what was read through us is one of just that.
    let read = nvim.read(&path).await.unwrap();
    nvim.write(&path, &read.replace("user", "user and agent")).await.unwrap();
    assert_eq!(nvim.text().await, "I\n2\n3\nuser and agent\nmore\n5");
    // What the model would take back where it changes the same lines is not lost either.
    nvim.command("call setline(1, 'user')").await;
    nvim.read(&path).await.unwrap();
    nvim.write(&path, &read.replace("user", "user and agent").replace('3', "three")).await.unwrap();
    assert_eq!(nvim.text().await, "user\n2\nthree\nuser and agent\nmore\n5");
}
