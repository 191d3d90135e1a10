//! The channel from running effects back to the event loop.

use crate::core::messages::event::Event;
use tokio::sync::mpsc;

/// Sends the results of effects to the event loop as events.
#[derive(Debug, Clone)]
pub(super) struct Events(mpsc::UnboundedSender<Event>);

impl Events {
    pub(super) fn new(sender: mpsc::UnboundedSender<Event>) -> Self {
        Self(sender)
    }

    /// Sends an event. Once the loop has ended, the event is dropped.
    pub(super) fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }

    /// Spawns `work` and sends the event it returns.
    pub(super) fn spawn(&self, work: impl Future<Output = Event> + Send + 'static) {
        let events = self.clone();
        tokio::spawn(async move { events.send(work.await) });
    }
}
