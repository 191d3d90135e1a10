//! Work that is carried out in the order in which the user asked for it, one piece after the other, although each piece is a
//! task of its own.

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Where pieces of work line up.
#[derive(Debug, Default)]
pub(super) struct InOrder(Mutex<Option<oneshot::Receiver<()>>>);

/// The place of a piece of work among the others. The next one begins when it is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl InOrder {
    /// Lines up a piece of work that begins after all that have lined up before.
    pub(super) fn line_up(&self) -> Ticket {
        let (done, is_done) = oneshot::channel();
        Ticket { before: self.0.lock().replace(is_done), _done: done }
    }
}

impl Ticket {
    /// Waits until the work before is done.
    pub(super) async fn wait(&mut self) {
        if let Some(before) = self.before.take() {
            // It is an error if the other one was dropped, which is what is waited for.
            let _ = before.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn whatever_runs_first_the_order_is_that_of_the_requests() {
        let (order, seen) = (InOrder::default(), Arc::new(Mutex::new(Vec::new())));
        let tickets: Vec<Ticket> = (0..200).map(|_| order.line_up()).collect();
        let work = tickets.into_iter().enumerate().rev().map(|(number, mut ticket)| {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                ticket.wait().await;
                seen.lock().push(number);
                tokio::task::yield_now().await;
                assert_eq!(seen.lock().last(), Some(&number), "another one has begun");
            })
        });
        for task in work.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert!(seen.lock().is_sorted());
    }
}
