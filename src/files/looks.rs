//! Which sessions' doings on disk are being looked for just now. It only counts.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::Files;
use crate::session::author::SessionKey;

type Open = Arc<watch::Sender<HashMap<SessionKey, usize>>>;

/// The looks that are under way.
#[derive(Debug, Default)]
pub(super) struct Looks(Open);

/// A look at the disk, until it is dropped.
#[derive(Debug)]
pub struct Look {
    open: Open,
    session: SessionKey,
}

impl Drop for Look {
    fn drop(&mut self) {
        self.open.send_modify(|open| {
            if let Some(count) = open.get_mut(&self.session) {
                *count -= 1;
            }
            open.retain(|_, count| *count > 0);
        });
    }
}

impl Files {
    /// From now on it is looked for what a session did on disk.
    pub fn begin_look(&self, session: SessionKey) -> Look {
        let open = Arc::clone(&self.looks.0);
        open.send_modify(|open| *open.entry(session.clone()).or_default() += 1);
        Look { open, session }
    }

    /// Waits until all looks for what the session did are over: before, its doings cannot be told from the user's. `false`
    /// if they are not by the deadline.
    pub async fn looked(&self, session: &SessionKey, deadline: Instant) -> bool {
        let mut open = self.looks.0.subscribe();
        timeout_at(deadline, open.wait_for(|open| !open.contains_key(session))).await.is_ok()
    }
}
