//! Commands that run for agents (ACP `terminal/*`): a task for each one, which starts it, reads its output and kills
//! it. What to run, and when to kill it, is decided by `core`.

mod command;
mod start;

use crate::core::messages::terminal::{TerminalCommand, TerminalEvent};
use crate::process::confine::Launcher;
use crate::process::group::Watchdog;
use crate::session::ids::TerminalId;
use crate::session::terminal::TerminalExit;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);

/// All commands that run for agents of this Neovim.
#[derive(Debug)]
pub struct Terminals {
    out: mpsc::Sender<(TerminalId, TerminalEvent)>,
    launcher: Launcher,
    watchdog: Option<Watchdog>,
    running: HashMap<TerminalId, Handle>,
}

#[derive(Debug)]
struct Handle {
    orders: mpsc::UnboundedSender<Order>,
    /// Resolves when no process of the command is left.
    gone: oneshot::Receiver<()>,
}

/// What to do with a command that has been started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Kill it; its output can still be read.
    Kill,
    /// Kill it and forget it.
    Release,
}

impl Terminals {
    /// Creates a set without commands. Their events are sent to `out`; while it is full, their output is not read.
    /// Without a watchdog, commands go on running if the bridge is killed. Those of agents that are confined are started by
    /// the launcher.
    pub fn new(
        out: mpsc::Sender<(TerminalId, TerminalEvent)>,
        launcher: Launcher,
        watchdog: Option<Watchdog>,
    ) -> Self {
        Self { out, launcher, watchdog, running: HashMap::new() }
    }

    /// Carries out an effect without waiting; the results are sent to `out`. Must be called within a tokio runtime.
    pub fn run(&mut self, terminal: TerminalId, action: TerminalCommand) {
        self.running.retain(|_, handle| !handle.orders.is_closed());
        let order = match action {
            TerminalCommand::Start(launch) => {
                let (orders, queue) = mpsc::unbounded_channel();
                let (gone_sender, gone) = oneshot::channel();
                let (id, out) = (terminal.clone(), self.out.clone());
                let helpers = (self.launcher.clone(), self.watchdog.clone());
                tokio::spawn(async move {
                    let (terminal, events) = (id.clone(), out.clone());
                    let task = tokio::spawn(async move {
                        command::run(id, *launch, helpers, queue, gone_sender, &out).await;
                    });
                    if let Err(error) = task.await {
                        tracing::error!(target: "terminal", %terminal, %error, "the terminal's task failed");
                        let exit = TerminalEvent::Exited(TerminalExit::default(), Duration::ZERO);
                        // Fails only if the bridge is gone.
                        let _ = events.send((terminal, exit)).await;
                    }
                });
                self.running.insert(terminal, Handle { orders, gone });
                return;
            }
            TerminalCommand::Kill => Order::Kill,
            TerminalCommand::Release => Order::Release,
        };
        if let Some(handle) = self.running.get(&terminal) {
            // Fails if the command has ended by itself meanwhile.
            let _ = handle.orders.send(order);
        }
    }

    /// Kills all commands and every process they have started. Takes little longer than a second even if `out` is not
    /// read.
    pub async fn shutdown(&mut self) {
        for handle in self.running.values() {
            let _ = handle.orders.send(Order::Release);
        }
        let until = tokio::time::Instant::now() + 3 * GRACE;
        for (id, handle) in self.running.drain() {
            if tokio::time::timeout_at(until, handle.gone).await.is_err() {
                tracing::error!(target: "terminal", %id, "still there after SIGKILL");
            }
        }
    }
}
