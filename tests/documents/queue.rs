//! Requests that come at once, and ones nobody waits for any more.

use std::collections::HashSet;
use std::sync::Arc;

use rat_nvim::core::messages::files::{BufferEvent, Consent};
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::{DocumentError, Documents, WriteRequest};

use super::nvim::{Nvim, author, lines, session, session_of, within};
use rat_nvim::session::author::{Author, SessionKey};

#[tokio::test]
async fn writes_to_one_file_happen_in_the_order_asked() {
    let nvim = Nvim::start("queue-order").await;
    let path = nvim.edit("a.txt", "0\n").await;
    let write = |files: Arc<Documents>, content: String| {
        let request = WriteRequest {
            by: author(),
            path: path.clone(),
            content,
            base: None,
            dirty: WriteDirty::default(),
            repeats: false,
            consent: Consent::NotNeeded,
        };
        tokio::spawn(async move { files.write(request).await })
    };
    let mut last = None;
    for i in 1..=20 {
        last = Some(write(Arc::clone(&nvim.files), format!("{i}\n")));
    }
    within(last.unwrap()).await.unwrap().unwrap();
    assert_eq!((nvim.text().await, nvim.disk("a.txt")), ("20".into(), "20\n".into()));
    for i in (0..20).rev() {
        nvim.command("undo").await;
        assert_eq!(nvim.text().await, i.to_string());
    }
}

#[tokio::test]
async fn a_write_nobody_waits_for_is_carried_to_its_end() {
    let nvim = Nvim::start("queue-drop").await;
    let text = lines(20_000);
    let path = nvim.edit("a.txt", &text).await;
    let new = text.replace("line 7\n", "agent\n");
    {
        let write = nvim.write(&path, &new);
        tokio::pin!(write);
        // Polled once, then dropped.
        assert!(futures_now(&mut write).await.is_none());
    }
    // The next in the queue sees what it did.
    assert_eq!(nvim.read(&path).await.unwrap(), new);
    assert_eq!(nvim.disk("a.txt"), new);
}

async fn futures_now<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn what_is_prepared_is_at_hand() {
    let nvim = Nvim::start("queue-prepare").await;
    let path = nvim.edit("a.txt", lines(9)).await;
    within(nvim.files.preload(&path)).await.unwrap();
    within(nvim.files.preload(&nvim.path("none"))).await.unwrap();
    nvim.lua("require('rat.document.buffers').slices = function() error('fetched again') end")
        .await;
    nvim.command("call setline(1, 'unsaved')").await;
    assert_eq!(nvim.read(&path).await.unwrap(), lines(9).replace("line 0", "unsaved"));
}

#[tokio::test]
async fn sessions_know_apart_and_are_forgotten() {
    let nvim = Nvim::start("queue-sessions").await;
    let path = nvim.edit("a.txt", "1\n2\n3\n").await;
    let other = session_of("other");
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(2, 'user') | write").await;
    let request = |session: &SessionKey| WriteRequest {
        by: Author { session: session.clone(), ..author() },
        path: path.clone(),
        content: "1\nuser and agent\n3\n".to_owned(),
        base: None,
        dirty: WriteDirty::default(),
        repeats: false,
        consent: Consent::NotNeeded,
    };
    // This session has read line 2 as it was; the other starts from the text as it is.
    let refused = within(nvim.files.write(request(&session()))).await;
    assert!(matches!(refused, Err(DocumentError::Conflict { .. })), "{refused:?}");
    within(nvim.files.write(request(&other))).await.unwrap();
    nvim.files.forget(&session()).await;
    nvim.files.forget(&other).await;
    nvim.command("call setline(2, 'user') | write").await;
    within(nvim.files.write(request(&session()))).await.unwrap();
    assert_eq!(nvim.eval("vim.fn.getline(2)").await, "user and agent");
}

/// Holds (Files): What is known of files ends with the session.
#[tokio::test]
async fn documents_that_nobody_has_to_do_with_are_let_go() {
    let nvim = Nvim::start("queue-gone").await;
    let (open, closed) = (nvim.edit("open.txt", "1\n").await, nvim.put("closed.txt", "1\n"));
    let written = nvim.put("written.txt", "1\n");
    let other = session_of("other");
    for path in [&open, &closed] {
        nvim.read(path).await.unwrap();
        within(nvim.files.agent_read_disk(path, &other)).await.unwrap();
    }
    nvim.write(&written, "2\n").await.unwrap();
    nvim.files.forget(&session()).await;
    assert_eq!(
        nvim.files.count(),
        3,
        "the other knows two, and one can be undone when it is opened"
    );
    nvim.files.forget(&other).await;
    assert_eq!(nvim.files.count(), 1);
    // What is noted of loaded files goes with their buffers.
    within(nvim.files.record_baseline(&open)).await.unwrap();
    nvim.files.drop_unused(&HashSet::new()).await;
    assert_eq!(nvim.files.count(), 2);
    nvim.command("bwipeout").await;
    nvim.files.drop_unused(&HashSet::new()).await;
    assert_eq!(nvim.files.count(), 1);
    nvim.open("written.txt").await;
    within(nvim.files.buffer(&written, BufferEvent::Read)).await.unwrap();
    nvim.command("silent undo").await;
    assert_eq!(nvim.text().await, "1");
}

/// Of a thousand files and more, the texts of those read longest ago are not held, and nothing is taken back for it.
/// Holds (Files): What is known of files is bounded: a file read long ago is read again before it is written.
#[tokio::test]
async fn a_file_read_very_long_ago_is_read_again_before_it_is_written() {
    let nvim = Nvim::start("queue-many").await;
    let changed = nvim.put("changed.txt", "1\n2\n");
    nvim.read(&changed).await.unwrap();
    let many = nvim.put("many.txt", "1\n");
    for number in 0..1_000 {
        let path = nvim.path(&format!("many/{number}.txt"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::hard_link(&many, &path).unwrap();
        nvim.read(&path).await.unwrap();
    }
    nvim.put("changed.txt", "user\n2\n");
    let refused = nvim.write(&changed, "1\nagent\n").await;
    assert!(matches!(refused, Err(DocumentError::Conflict { .. })), "{refused:?}");
    nvim.read(&changed).await.unwrap();
    nvim.write(&changed, "user\nagent\n").await.unwrap();
    assert_eq!(nvim.disk("changed.txt"), "user\nagent\n");
}
