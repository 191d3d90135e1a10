//! The pages of `:RatTrace`, each read by a task of its own that sends a piece only once the last one was taken, and saving
//! traffic. What is read and written is read and written on blocking threads.

use super::events::Events;
use crate::acp::trace::page::Follower;
use crate::acp::trace::save;
use crate::acp::trace::spool::Spool;
use crate::core::messages::event::Event;
use crate::core::messages::trace::{TraceFile, TracePiece, TraceSaved, TraceTask};
use crate::session::author::ChatId;
use std::collections::HashMap;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// The pages that are open.
#[derive(Debug)]
pub(super) struct Traces {
    events: Events,
    /// Tells the task of a page that a piece was taken. Without its sender a task ends.
    pages: HashMap<ChatId, mpsc::UnboundedSender<()>>,
}

impl Traces {
    pub(super) fn new(events: Events) -> Self {
        Self { events, pages: HashMap::new() }
    }

    pub(super) fn run(&mut self, chat: ChatId, spool: Spool, task: TraceTask) {
        match task {
            TraceTask::Open { filter, focus } => {
                let (taken, pieces_taken) = mpsc::unbounded_channel();
                self.pages.insert(chat, taken);
                let piece =
                    TracePiece { chat, filter, reset: true, focus, more: false, items: Vec::new() };
                tokio::spawn(follow(spool, piece, pieces_taken, self.events.clone()));
            }
            TraceTask::Save { file, agent } => self.save(spool, file, agent),
        }
    }

    pub(super) fn more(&self, chat: ChatId) {
        if let Some(page) = self.pages.get(&chat) {
            // Fails only if the task has panicked.
            let _ = page.send(());
        }
    }

    pub(super) fn close(&mut self, chat: ChatId) {
        self.pages.remove(&chat);
    }

    fn save(&self, spool: Spool, file: TraceFile, agent: String) {
        self.events.spawn(async move {
            let path = file.path.clone();
            let saved = spawn_blocking(move || save::save(&spool, &file, &agent)).await;
            let outcome = saved.unwrap_or_else(|error| TraceSaved::Failed(error.to_string()));
            Event::TraceSaved(path, outcome)
        });
    }
}

/// Sends the pieces of a page until it is closed. `piece` is the first, without its items.
async fn follow(
    spool: Spool,
    mut piece: TracePiece,
    mut taken: mpsc::UnboundedReceiver<()>,
    events: Events,
) {
    let mut changes = spool.changes();
    let mut follower = Follower::new(spool, &piece.filter);
    loop {
        changes.mark_unchanged();
        let reading = spawn_blocking(move || {
            let next = follower.piece();
            (follower, next)
        });
        let Ok((read, (items, more))) = reading.await else { return };
        follower = read;
        if items.is_empty() && !piece.reset {
            tokio::select! {
                told = changes.changed() => if told.is_err() {
                    return;
                },
                again = taken.recv() => if again.is_none() {
                    return;
                },
            }
            continue;
        }
        events.send(Event::TracePiece(TracePiece { more, items, ..piece.clone() }));
        (piece.reset, piece.focus) = (false, false);
        if taken.recv().await.is_none() {
            return;
        }
    }
}
