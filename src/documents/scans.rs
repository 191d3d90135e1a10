//! Knows the running scans of the disk for each session, so that others can wait for them. Does no scanning.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::session::author::SessionKey;
use crate::session::ids::ToolCallId;

/// The tool calls whose end the scans are for.
type Running = Arc<watch::Sender<HashMap<SessionKey, Vec<Option<ToolCallId>>>>>;

/// All running scans.
#[derive(Debug, Default)]
pub(super) struct DiskScans(Running);

/// A running scan for changes a session has made on disk. It ends when this is dropped.
#[derive(Debug)]
pub struct DiskScan {
    running: Running,
    session: SessionKey,
    tool_call: Option<ToolCallId>,
}

impl Drop for DiskScan {
    fn drop(&mut self) {
        self.running.send_modify(|running| {
            if let Some(scans) = running.get_mut(&self.session)
                && let Some(place) = scans.iter().position(|call| *call == self.tool_call)
            {
                scans.swap_remove(place);
            }
            running.retain(|_, scans| !scans.is_empty());
        });
    }
}

impl DiskScans {
    /// Begins a scan for changes of a session, which may be those of a tool call.
    pub(super) fn begin(&self, session: SessionKey, tool_call: Option<ToolCallId>) -> DiskScan {
        let running = Arc::clone(&self.0);
        running.send_modify(|running| {
            running.entry(session.clone()).or_default().push(tool_call.clone());
        });
        DiskScan { running, session, tool_call }
    }

    /// Returns the tool call of a session whose changes are being looked for.
    pub(super) fn tool_call(&self, session: &SessionKey) -> Option<ToolCallId> {
        self.0.borrow().get(session)?.iter().flatten().next_back().cloned()
    }

    /// Waits until no scan for a session is running. Returns `false` if one still is at the deadline.
    pub(super) async fn done(&self, session: &SessionKey, deadline: Instant) -> bool {
        let mut running = self.0.subscribe();
        timeout_at(deadline, running.wait_for(|running| !running.contains_key(session)))
            .await
            .is_ok()
    }
}
