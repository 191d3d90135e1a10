//! Ctrl-C and the request to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end a run.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

/// What a signal wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// SIGINT: cancel the turn.
    Cancel,
    /// SIGTERM: end at once.
    End,
}

impl Signals {
    /// Takes the signals over from now on. Must be called inside a tokio runtime.
    pub(super) fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Wanted {
        tokio::select! {
            () = received(&mut self.interrupt) => Wanted::Cancel,
            () = received(&mut self.terminate) => Wanted::End,
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
