//! Knows the running scans of the disk for each session, so that others can wait for them. Does no scanning.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::session::author::SessionKey;
use crate::session::ids::ToolCallId;

/// The running scans, the oldest first.
type Running = Arc<watch::Sender<Vec<Scan>>>;

/// A scan that is running.
#[derive(Debug)]
struct Scan {
    /// Larger than that of all scans that began before.
    number: u64,
    session: SessionKey,
    /// The tool call whose end it is for.
    tool_call: Option<ToolCallId>,
}

/// All running scans.
#[derive(Debug, Default)]
pub(super) struct DiskScans {
    running: Running,
    begun: AtomicU64,
}

/// A running scan for changes a session has made on disk. It ends when this is dropped.
#[derive(Debug)]
pub struct DiskScan {
    running: Running,
    number: u64,
}

impl Drop for DiskScan {
    fn drop(&mut self) {
        self.running.send_modify(|running| running.retain(|scan| scan.number != self.number));
    }
}

impl DiskScans {
    /// Begins a scan for changes of a session, which may be those of a tool call.
    pub(super) fn begin(&self, session: SessionKey, tool_call: Option<ToolCallId>) -> DiskScan {
        let (running, number) = (Arc::clone(&self.running), self.begun.fetch_add(1, Relaxed));
        running.send_modify(|running| running.push(Scan { number, session, tool_call }));
        DiskScan { running, number }
    }

    /// Returns the tool call of a session whose changes are being looked for.
    pub(super) fn tool_call(&self, session: &SessionKey) -> Option<ToolCallId> {
        let running = self.running.borrow();
        running
            .iter()
            .rev()
            .filter(|scan| scan.session == *session)
            .find_map(|scan| scan.tool_call.clone())
    }

    /// Waits until no scan for a session is running. Returns `false` if one still is at the deadline.
    pub(super) async fn done(&self, session: &SessionKey, deadline: Instant) -> bool {
        self.wait_until(deadline, |scan| scan.session == *session).await
    }

    /// Waits for the scans that are running now, for any session. Returns `false` if one still is at the deadline.
    pub(super) async fn present_done(&self, deadline: Instant) -> bool {
        let begun = self.begun.load(Relaxed);
        self.wait_until(deadline, |scan| scan.number < begun).await
    }

    /// Waits until none of the scans that `matches` is running. Returns `false` if one still is at the deadline.
    async fn wait_until(&self, deadline: Instant, matches: impl Fn(&Scan) -> bool) -> bool {
        let mut running = self.running.subscribe();
        let none = running.wait_for(|running| !running.iter().any(&matches));
        timeout_at(deadline, none).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::author::ChatId;

    /// Holds (Review): Whoever asks for changes waits for the looks at files that have begun, not for those that begin later.
    #[tokio::test]
    async fn the_scans_that_run_are_waited_for() {
        let scans = DiskScans::default();
        let session = |name: &str| SessionKey { chat: ChatId(1), session: name.into() };
        // What is done by now is told even so.
        let now = Instant::now;
        let later = now() + Duration::from_mins(1);
        let (first, other) = (scans.begin(session("a"), None), scans.begin(session("b"), None));
        assert!(!scans.present_done(now()).await);
        let ends = async {
            let _later = scans.begin(session("a"), None);
            drop((first, other));
            assert!(!scans.done(&session("a"), now()).await);
            assert!(scans.done(&session("b"), now()).await);
        };
        let (done, ()) = tokio::join!(scans.present_done(later), ends);
        assert!(done);
    }
}
