//! The user's functions that read and write files in place of the editor (`:help rat-file-provider`): asks them in Neovim, and
//! waits for what Lua tells later. It decides nothing.

use crate::nvim::client::Client;
use crate::nvim::messages::calls::Call;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long an answer is waited for. Lua gives up earlier, unless Neovim is busy.
const LIMIT: Duration = Duration::from_secs(15);

/// What a provider has answered. Without a text and not written, it leaves the file to us.
#[derive(Debug, Default)]
pub(super) struct Provided {
    pub(super) text: Option<String>,
    pub(super) written: bool,
}

/// Which providers there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offered {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// The providers. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Providers(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    offered: Offered,
    last: u64,
    answers: HashMap<u64, oneshot::Sender<Provided>>,
}

impl Providers {
    /// The options have changed.
    pub(super) fn configure(&self, offered: Offered) {
        self.0.lock().offered = offered;
    }

    pub(super) fn offered(&self) -> Offered {
        self.0.lock().offered
    }

    /// A provider has answered.
    pub(super) fn answered(&self, id: u64, provided: Provided) {
        let waiting = self.0.lock().answers.remove(&id);
        // Nobody waits any more after the time limit.
        let _ = waiting.map(|waiting| waiting.send(provided));
    }

    /// Asks by the call that is made for this id.
    pub(super) async fn ask<C: Call>(
        &self,
        client: &Client,
        call: impl FnOnce(u64) -> C,
    ) -> Provided {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut waiting = self.0.lock();
            waiting.last += 1;
            let id = waiting.last;
            waiting.answers.insert(id, sender);
            id
        };
        let provided = match client.call(call(id)).await {
            Ok(_) => timeout(LIMIT, answer).await.ok().and_then(Result::ok),
            Err(error) => {
                error.log("a file provider could not be asked");
                None
            }
        };
        self.0.lock().answers.remove(&id);
        provided.unwrap_or_default()
    }
}
