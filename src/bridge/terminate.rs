//! SIGTERM as a future, so that the signal does not end the process before the event loop has shut down.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for SIGTERM and remembers whether it was received.
#[derive(Debug)]
pub(super) struct Terminate {
    /// `None` if the handler could not be installed; then the signal ends the process at once.
    signal: Option<Signal>,
    received: bool,
}

impl Terminate {
    /// Installs the handler: from now on the signal no longer ends the process. Must be called inside a tokio runtime.
    pub(super) fn listen() -> Self {
        let signal = signal(SignalKind::terminate())
            .inspect_err(|error| tracing::error!(%error, "SIGTERM ends the bridge at once"))
            .ok();
        Self { signal, received: false }
    }

    /// Waits for the signal and returns at once if it was received before. Cancel safe.
    pub(super) async fn wait(&mut self) {
        if self.received {
            return;
        }
        match &mut self.signal {
            Some(signal) => {
                signal.recv().await;
                self.received = true;
            }
            None => std::future::pending().await,
        }
    }
}
