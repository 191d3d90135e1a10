//! SIGTERM as something to wait for, so that it does not end the process before all is settled. What is settled is not
//! known here.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, which may come once.
#[derive(Debug)]
pub(super) struct Terminate {
    signal: Option<Signal>,
    came: bool,
}

impl Terminate {
    /// From now on the signal is waited for and ends nothing by itself. Inside a tokio runtime.
    pub(super) fn listen() -> Self {
        let signal = signal(SignalKind::terminate())
            .inspect_err(|error| tracing::error!(%error, "SIGTERM ends the bridge at once"))
            .ok();
        Self { signal, came: false }
    }

    /// Waits until the signal has come; once it has, it is there at once. May be dropped and waited for again.
    pub(super) async fn wait(&mut self) {
        if self.came {
            return;
        }
        match &mut self.signal {
            Some(signal) => {
                signal.recv().await;
                self.came = true;
            }
            None => std::future::pending().await,
        }
    }
}
