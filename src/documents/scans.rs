//! Counts running scans of the disk for each session, so that others can wait for them. Does no scanning.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::session::author::SessionKey;

type Counts = Arc<watch::Sender<HashMap<SessionKey, usize>>>;

/// All running scans.
#[derive(Debug, Default)]
pub(super) struct DiskScans(Counts);

/// A running scan for changes a session has made on disk. It ends when this is dropped.
#[derive(Debug)]
pub struct DiskScan {
    counts: Counts,
    session: SessionKey,
}

impl Drop for DiskScan {
    fn drop(&mut self) {
        self.counts.send_modify(|counts| {
            if let Some(count) = counts.get_mut(&self.session) {
                *count -= 1;
            }
            counts.retain(|_, count| *count > 0);
        });
    }
}

impl DiskScans {
    /// Begins a scan for changes of a session.
    pub(super) fn begin(&self, session: SessionKey) -> DiskScan {
        let counts = Arc::clone(&self.0);
        counts.send_modify(|counts| *counts.entry(session.clone()).or_default() += 1);
        DiskScan { counts, session }
    }

    /// Waits until no scan for a session is running. Returns `false` if one still is at the deadline.
    pub(super) async fn done(&self, session: &SessionKey, deadline: Instant) -> bool {
        let mut counts = self.0.subscribe();
        timeout_at(deadline, counts.wait_for(|counts| !counts.contains_key(session))).await.is_ok()
    }
}
