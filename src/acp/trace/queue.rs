//! Lines of traffic on their way to the thread that writes them. Adding one costs little and wakes nobody, since every message
//! of an agent is added; they are taken in pauses and many at once, so that writing takes no time from a turn.

use crate::jsonrpc::recording::Direction;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a pause has to be until what came before it is taken, and how long that is put off where there is none.
const PAUSE: Duration = Duration::from_millis(300);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Creates a queue that holds about so many bytes, including those that were taken last.
pub(super) fn queue(limit: usize) -> (Recorder, Taker) {
    let inner = Arc::new(Inner { limit, state: Mutex::default(), wake: Condvar::new() });
    (Recorder(Arc::clone(&inner)), Taker(inner))
}

/// The end where lines are added.
#[derive(Debug)]
pub(super) struct Recorder(Arc<Inner>);

/// The end where they are taken.
#[derive(Debug)]
pub(super) struct Taker(Arc<Inner>);

/// Lines in the order they were added.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// The time, the origin and the end of each in `bytes`.
    lines: Vec<(Duration, Direction, usize)>,
    /// How many did not find room after them.
    pub(super) missing: u64,
    /// Told once all of this is written.
    pub(super) flushes: Vec<mpsc::Sender<()>>,
}

#[derive(Debug)]
struct Inner {
    limit: usize,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: Batch,
    /// How many bytes of the last batch are being written.
    taken: usize,
    is_closed: bool,
}

impl Recorder {
    /// Adds a line. It does not wait.
    pub(super) fn add(&self, at: Duration, direction: Direction, bytes: &[u8]) {
        let mut state = self.0.state.lock();
        let is_first = state.next.lines.is_empty() && state.next.missing == 0;
        if state.next.missing > 0 || state.taken + state.next.bytes.len() > self.0.limit {
            state.next.missing += 1;
        } else {
            state.next.bytes.extend_from_slice(bytes);
            let end = state.next.bytes.len();
            state.next.lines.push((at, direction, end));
        }
        if is_first || self.0.is_urgent(&state) {
            self.0.wake.notify_one();
        }
    }

    /// Has all lines taken at once. What is returned is told when they are written.
    pub(super) fn flush(&self) -> mpsc::Receiver<()> {
        let (done, flushed) = mpsc::channel();
        self.0.state.lock().next.flushes.push(done);
        self.0.wake.notify_one();
        flushed
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.0.state.lock().is_closed = true;
        self.0.wake.notify_one();
    }
}

impl Inner {
    /// Whether what waits has to be taken without waiting for a pause.
    fn is_urgent(&self, state: &State) -> bool {
        let is_much = state.next.bytes.len() > self.limit / 3;
        is_much || state.is_closed || !state.next.flushes.is_empty()
    }
}

impl Taker {
    /// Waits for lines and then for a pause, and returns them all; `None` once nobody can add any more. The last ones are
    /// written by then.
    pub(super) fn take(&self) -> Option<Batch> {
        let Inner { state, wake, .. } = &*self.0;
        let mut state = state.lock();
        state.taken = 0;
        while state.next.is_empty() {
            if state.is_closed {
                return None;
            }
            wake.wait(&mut state);
        }
        let deadline = Instant::now() + LONGEST_WAIT;
        while !self.0.is_urgent(&state) {
            let (count, until) = (state.next.lines.len(), (Instant::now() + PAUSE).min(deadline));
            let is_over = wake.wait_until(&mut state, until).timed_out();
            if is_over && (state.next.lines.len() == count || until == deadline) {
                break;
            }
        }
        state.taken = state.next.bytes.len();
        Some(std::mem::take(&mut state.next))
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.missing == 0 && self.flushes.is_empty()
    }

    /// The lines: when each came, from where, and its bytes.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Duration, Direction, &[u8])> {
        let mut start = 0;
        self.lines.iter().map(move |(at, direction, end)| {
            let bytes = &self.bytes[std::mem::replace(&mut start, *end)..*end];
            (*at, *direction, bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(recorder: &Recorder, text: &str) {
        recorder.add(Duration::ZERO, Direction::FromAgent, text.as_bytes());
    }

    fn texts(batch: &Batch) -> Vec<&str> {
        batch.lines().map(|(_, _, bytes)| str::from_utf8(bytes).unwrap()).collect()
    }

    #[test]
    fn lines_are_taken_together_and_in_order() {
        let (recorder, taker) = queue(1000);
        for text in ["one", "", "three"] {
            add(&recorder, text);
        }
        let start = Instant::now();
        let batch = taker.take().unwrap();
        assert!(start.elapsed() >= PAUSE, "there was no pause");
        assert_eq!(texts(&batch), ["one", "", "three"]);
        let flushed = recorder.flush();
        assert_eq!(taker.take().unwrap().flushes.len(), 1);
        assert!(flushed.recv().is_err(), "told when it is dropped");
        add(&recorder, "last");
        drop(recorder);
        assert_eq!(texts(&taker.take().unwrap()), ["last"]);
        assert!(taker.take().is_none());
    }

    #[test]
    fn much_is_taken_at_once_and_what_has_no_room_is_counted() {
        let (recorder, taker) = queue(30);
        for _ in 0..10 {
            add(&recorder, "0123456789");
        }
        let start = Instant::now();
        let batch = taker.take().unwrap();
        assert!(start.elapsed() < PAUSE);
        assert_eq!((batch.lines().count(), batch.missing), (4, 6));
        // It is still being written.
        add(&recorder, "no room");
        assert_eq!(taker.take().unwrap().missing, 1);
        add(&recorder, "room");
        drop(recorder);
        assert_eq!(texts(&taker.take().unwrap()), ["room"]);
    }
}
