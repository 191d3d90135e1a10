//! The edge to agents: starting them (`transport`), JSON-RPC (`peer`) and what agents speak (`handshake`, `dialect`). It runs the
//! effects of `State` on agents and sends what agents say as `AgentEvent`. What an agent may do, and when it is called, is
//! decided by `State`.

mod connection;
mod content;
pub mod dialect;
pub mod fields;
pub mod go;
pub mod handshake;
mod mapped;
pub mod openoxide;
mod options;
pub mod peer;
mod plan;
mod printed;
pub mod quirks;
pub mod redact;
mod stderr;
mod stderr_log;
mod tool_data;
pub mod trace;
pub mod transport;
mod unified;
pub mod v0;
pub mod v1;
pub mod v2;
mod writer;

use crate::core::messages::agent::AgentEvent;
use crate::core::messages::effect::{AgentCommand, AgentEffect};
use crate::core::messages::ids::AgentId;
use crate::secrets::Secrets;
use parking_lot::Mutex;
use peer::Tokens;
use redact::Redactor;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use trace::{Tap, Trace};
use transport::Transport;

/// Events of one agent, in order.
pub type Batch = (AgentId, Vec<AgentEvent>);

/// How many traces of exited agents stay available.
const EXITED_TRACES: usize = 8;

/// The grace periods of stopping an agent.
#[derive(Debug, Clone, Copy)]
pub struct GracePeriods {
    /// From closing its stdin to SIGTERM.
    pub stdin: Duration,
    /// From SIGTERM to SIGKILL.
    pub term: Duration,
    /// From the exit of the process until its pipes are closed by force and its children are killed.
    pub drain: Duration,
    /// How long it may read nothing although more waits for it than is kept.
    pub unread: Duration,
}

impl Default for GracePeriods {
    fn default() -> Self {
        Self {
            stdin: Duration::from_millis(500),
            term: Duration::from_millis(500),
            drain: Duration::from_millis(250),
            unread: Duration::from_secs(60),
        }
    }
}

impl GracePeriods {
    /// The time after which an agent is gone, whatever it does.
    fn total(self) -> Duration {
        self.stdin + 2 * self.term + 2 * self.drain
    }
}

/// The connections to all agents of this Neovim.
#[derive(Debug)]
pub struct Agents {
    out: mpsc::Sender<Batch>,
    transport: Arc<dyn Transport>,
    grace_periods: GracePeriods,
    secrets: Secrets,
    tokens: Tokens,
    stderr_folder: Option<PathBuf>,
    traffic_folder: Option<PathBuf>,
    tap: Option<Tap>,
    handles: HashMap<AgentId, Handle>,
}

#[derive(Debug)]
struct Handle {
    commands: mpsc::UnboundedSender<AgentCommand>,
    trace: trace::Shared,
    /// Completes when no process of the agent is left.
    gone: oneshot::Receiver<()>,
}

impl Agents {
    /// Creates the edge without any agents. Their events are sent to `out` in batches; while `out` is full, no more of their
    /// output is read. The secrets in their configurations are added to `secrets`.
    pub fn new(
        out: mpsc::Sender<Batch>,
        transport: Arc<dyn Transport>,
        grace_periods: GracePeriods,
        secrets: Secrets,
    ) -> Self {
        let (tokens, handles) = (Tokens::default(), HashMap::new());
        Self {
            out,
            transport,
            grace_periods,
            secrets,
            tokens,
            stderr_folder: None,
            traffic_folder: None,
            tap: None,
            handles,
        }
    }

    /// Passes every message of every agent to `tap`.
    #[must_use]
    pub fn with_tap(self, tap: Tap) -> Self {
        Self { tap: Some(tap), ..self }
    }

    /// Has what agents write to stderr kept in this folder, in a file for each.
    #[must_use]
    pub fn with_stderr_in(self, folder: PathBuf) -> Self {
        Self { stderr_folder: Some(folder), ..self }
    }

    /// Has the traffic kept in files in this folder, which end with this process, in place of memory.
    #[must_use]
    pub fn with_traffic_in(self, folder: PathBuf) -> Self {
        Self { traffic_folder: Some(folder), ..self }
    }

    /// Runs an effect without waiting; its results are sent to `out`. Must be called inside a tokio runtime.
    ///
    /// `Exited` is the last event of an agent. A call that is made while `Exited` is on its way gets no answer of its own.
    pub fn run(&mut self, effect: AgentEffect) {
        let AgentEffect { agent: id, action } = effect;
        match (self.handles.get(&id), action) {
            (None, AgentCommand::Start { config, cwd }) => {
                self.drop_exited();
                self.secrets.learn(&config);
                let redactor = Redactor::new(self.secrets.clone());
                let trace = Trace::new(redactor, self.traffic_folder.clone());
                let trace = Arc::new(Mutex::new(trace.with_tap(self.tap.clone())));
                let (commands, queue) = mpsc::unbounded_channel();
                let (gone_tx, gone) = oneshot::channel();
                tokio::spawn(connection::run(connection::Setup {
                    id,
                    config,
                    cwd,
                    transport: self.transport.clone(),
                    grace_periods: self.grace_periods,
                    tokens: self.tokens.clone(),
                    trace: trace.clone(),
                    stderr_folder: self.stderr_folder.clone(),
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

    /// Returns the trace of a running agent, or of one of the last `EXITED_TRACES` agents that exited.
    pub fn trace(&self, id: AgentId) -> Option<trace::Shared> {
        self.handles.get(&id).map(|handle| handle.trace.clone())
    }

    /// Stops all agents with all their processes. Takes no longer than the grace periods, even if nobody reads `out`.
    pub async fn shutdown(&mut self) {
        for handle in self.handles.values() {
            let _ = handle.commands.send(AgentCommand::Stop);
        }
        let until = tokio::time::Instant::now() + self.grace_periods.total();
        for (id, handle) in self.handles.drain() {
            if tokio::time::timeout_at(until, handle.gone).await.is_err() {
                tracing::error!(target: "acp", ?id, "still there after SIGKILL");
            }
        }
    }

    /// Drops the handles of exited agents, except for the last `EXITED_TRACES`.
    fn drop_exited(&mut self) {
        let exited = self.handles.iter().filter(|(_, handle)| handle.commands.is_closed());
        let mut exited: Vec<AgentId> = exited.map(|(id, _)| *id).collect();
        exited.sort_unstable();
        let excess = exited.len().saturating_sub(EXITED_TRACES);
        for id in &exited[..excess] {
            self.handles.remove(id);
        }
    }
}
