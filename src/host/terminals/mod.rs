//! Commands that run for agents: started, listened to, ended. When that happens is decided elsewhere.

mod life;
mod start;

use crate::core::command::{FromTerminal, ToTerminal};
use crate::process::group::Watchdog;
use crate::session::ids::TerminalId;
use crate::session::terminal::TerminalExit;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(1);

/// All commands that run for agents of this Neovim.
#[derive(Debug)]
pub struct Terminals {
    out: mpsc::Sender<(TerminalId, FromTerminal)>,
    watchdog: Option<Watchdog>,
    running: HashMap<TerminalId, Handle>,
}

#[derive(Debug)]
struct Handle {
    orders: mpsc::UnboundedSender<Order>,
    gone: oneshot::Receiver<()>,
}

/// What is done with a command that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Kill,
    Release,
}

impl Terminals {
    /// No commands yet. What happens to them goes to `out`; while `out` is full they wait. Without a watchdog a
    /// command outlives a bridge that is killed.
    pub fn new(out: mpsc::Sender<(TerminalId, FromTerminal)>, watchdog: Option<Watchdog>) -> Self {
        Self { out, watchdog, running: HashMap::new() }
    }

    /// Carries an effect out. It never waits; whatever comes of it comes through `out`. Inside a tokio runtime.
    pub fn run(&mut self, terminal: TerminalId, action: ToTerminal) {
        self.running.retain(|_, handle| !handle.orders.is_closed());
        let order = match action {
            ToTerminal::Start(launch) => {
                let (orders, queue) = mpsc::unbounded_channel();
                let (gone_sender, gone) = oneshot::channel();
                let (id, watchdog, out) =
                    (terminal.clone(), self.watchdog.clone(), self.out.clone());
                tokio::spawn(async move {
                    let (terminal, told) = (id.clone(), out.clone());
                    let life = tokio::spawn(async move {
                        life::live(id, *launch, watchdog, queue, gone_sender, &out).await;
                    });
                    if let Err(error) = life.await {
                        tracing::error!(target: "terminal", %terminal, %error, "broke down");
                        let exit = FromTerminal::Exited(TerminalExit::default(), Duration::ZERO);
                        // Nobody listens any more when the bridge ends.
                        let _ = told.send((terminal, exit)).await;
                    }
                });
                self.running.insert(terminal, Handle { orders, gone });
                return;
            }
            ToTerminal::Kill => Order::Kill,
            ToTerminal::Release => Order::Release,
        };
        if let Some(handle) = self.running.get(&terminal) {
            // Fails where nothing of it is left.
            let _ = handle.orders.send(order);
        }
    }

    /// Ends all commands with all they started. Takes little longer than the grace, whether or not `out` is read.
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
