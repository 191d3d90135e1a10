//! The edge to agents: processes, JSON-RPC lines, and the protocol in our words. It translates and carries out;
//! what an agent may do and when it is called is decided elsewhere.

mod agent;
pub mod codec;
pub mod convert;
pub mod peer;
pub mod process;
pub mod quirks;
pub mod redact;
mod stderr;
pub mod table;
pub mod trace;

use crate::core::effect::{AgentEffect, ToAgent};
use crate::core::event::AgentId;
use crate::core::event::agent::FromAgent;
use crate::process::group::Watchdog;
use crate::secrets::Secrets;
use parking_lot::Mutex;
use peer::Tokens;
use redact::Redactor;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use trace::Trace;

/// What an agent said, in order.
pub type Batch = (AgentId, Vec<FromAgent>);

/// How many traces of agents that ended are kept.
const TRACES_OF_THE_DEAD: usize = 8;

/// How long an ending agent gets.
#[derive(Debug, Clone, Copy)]
pub struct Graces {
    /// From the closing of its stdin to SIGTERM.
    pub stdin: Duration,
    /// From SIGTERM to SIGKILL.
    pub term: Duration,
    /// From the end of the process to the end of its pipes and of its children.
    pub drain: Duration,
}

impl Default for Graces {
    fn default() -> Self {
        Self {
            stdin: Duration::from_millis(500),
            term: Duration::from_millis(500),
            drain: Duration::from_millis(250),
        }
    }
}

impl Graces {
    /// By when an agent is gone, whatever it does.
    fn total(self) -> Duration {
        self.stdin + 2 * self.term + 2 * self.drain
    }
}

/// All agents of this Neovim.
#[derive(Debug)]
pub struct Agents {
    out: mpsc::Sender<Batch>,
    watchdog: Option<Watchdog>,
    graces: Graces,
    secrets: Secrets,
    tokens: Tokens,
    handles: HashMap<AgentId, Handle>,
}

#[derive(Debug)]
struct Handle {
    commands: mpsc::UnboundedSender<ToAgent>,
    trace: trace::Shared,
    gone: oneshot::Receiver<()>,
}

impl Agents {
    /// No agents yet. What they say goes to `out`, in batches; while `out` is full they wait. Without a watchdog
    /// agents that ignore the end of their stdin outlive a bridge that is killed.
    /// The secrets they are started with are added to `secrets`.
    pub fn new(
        out: mpsc::Sender<Batch>,
        watchdog: Option<Watchdog>,
        graces: Graces,
        secrets: Secrets,
    ) -> Self {
        let (tokens, handles) = (Tokens::default(), HashMap::new());
        Self { out, watchdog, graces, secrets, tokens, handles }
    }

    /// Carries an effect out. It never waits; whatever comes of it comes through `out`. Inside a tokio runtime.
    /// After `Exited` an agent is not heard of any more: calls that cross it get no answer of their own.
    pub fn run(&mut self, effect: AgentEffect) {
        let AgentEffect { agent: id, action } = effect;
        match (self.handles.get(&id), action) {
            (None, ToAgent::Start { config, cwd }) => {
                self.bury_traces();
                self.secrets.learn(&config);
                let trace = Arc::new(Mutex::new(Trace::new(Redactor::new(self.secrets.clone()))));
                let (commands, queue) = mpsc::unbounded_channel();
                let (gone_tx, gone) = oneshot::channel();
                tokio::spawn(agent::live(agent::Birth {
                    id,
                    config,
                    cwd,
                    watchdog: self.watchdog.clone(),
                    graces: self.graces,
                    tokens: self.tokens.clone(),
                    trace: trace.clone(),
                    commands: queue,
                    out: self.out.clone(),
                    gone: gone_tx,
                }));
                self.handles.insert(id, Handle { commands, trace, gone });
            }
            (Some(handle), action) => {
                if handle.commands.send(action).is_err() {
                    tracing::debug!(target: "acp", ?id, "too late: the agent has ended");
                }
            }
            (None, _) => tracing::warn!(target: "acp", ?id, "no such agent"),
        }
    }

    /// The traffic with an agent, also of one that ended not long ago.
    pub fn trace(&self, id: AgentId) -> Option<trace::Shared> {
        self.handles.get(&id).map(|handle| handle.trace.clone())
    }

    /// Ends all agents with their groups. Takes no longer than the graces allow, whether or not `out` is read.
    pub async fn shutdown(&mut self) {
        for handle in self.handles.values() {
            let _ = handle.commands.send(ToAgent::Stop);
        }
        let until = tokio::time::Instant::now() + self.graces.total();
        for (id, handle) in self.handles.drain() {
            if tokio::time::timeout_at(until, handle.gone).await.is_err() {
                tracing::error!(target: "acp", ?id, "still there after SIGKILL");
            }
        }
    }

    /// Forgets the oldest agents that ended, but for the last few.
    fn bury_traces(&mut self) {
        let ended = self.handles.iter().filter(|(_, handle)| handle.commands.is_closed());
        let mut ended: Vec<AgentId> = ended.map(|(id, _)| *id).collect();
        ended.sort_unstable();
        let forgotten = ended.len().saturating_sub(TRACES_OF_THE_DEAD);
        for id in &ended[..forgotten] {
            self.handles.remove(id);
        }
    }
}
