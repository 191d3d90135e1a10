//! Lines of traffic on their way to the thread that writes them. Adding one costs little and wakes nobody, since every message
//! of an agent is added; they are taken in pauses and many at once, so that writing takes no time from a turn. Of each line only
//! what differs from the one before is kept: in a flood most of a line is the same, and memory that is used for the first time
//! takes longer than the comparison.

use crate::jsonrpc::recording::Direction;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// From how many bytes on a line is shared with whoever sends it rather than copied.
const SHARED_BYTES: usize = 64 << 10;

/// How long a pause has to be until what came before it is taken, and how long that is put off where there is none.
const PAUSE: Duration = Duration::from_millis(300);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Creates a queue that holds about so many bytes, including those that were taken last.
pub(super) fn queue(limit: usize) -> (Recorder, Taker) {
    queue_with(limit, PAUSE, LONGEST_WAIT)
}

fn queue_with(limit: usize, pause: Duration, longest_wait: Duration) -> (Recorder, Taker) {
    let (state, wake) = (Mutex::default(), Condvar::new());
    let inner = Arc::new(Inner { limit, pause, longest_wait, state, wake });
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
    /// What each of them has in its middle.
    bytes: Vec<u8>,
    lines: Vec<Entry>,
    /// The lines that are not in `bytes`, by their number.
    shared: Vec<(usize, Arc<String>)>,
    /// How many bytes they have.
    shared_bytes: usize,
    /// The last line, unless it is a shared one.
    last: Vec<u8>,
    /// How many did not find room after them.
    pub(super) missing: u64,
    /// Told once all of this is written.
    flushes: Vec<mpsc::Sender<()>>,
}

/// A line, as what differs from the line before.
#[derive(Debug)]
struct Entry {
    at: Duration,
    /// How many bytes of its middle there are in `Batch::bytes`.
    middle: u32,
    /// How many bytes it begins and ends with that are those of the line before.
    prefix: u16,
    suffix: u16,
    direction: Direction,
}

#[derive(Debug)]
struct Inner {
    limit: usize,
    pause: Duration,
    longest_wait: Duration,
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
        self.push(|batch| batch.push(at, direction, bytes));
    }

    /// The same for a line that is also sent. A long one is not copied.
    pub(super) fn add_sent(&self, at: Duration, direction: Direction, line: &Arc<String>) {
        if line.len() < SHARED_BYTES {
            return self.add(at, direction, line.as_bytes());
        }
        self.push(|batch| batch.push_shared(at, direction, line));
    }

    fn push(&self, push: impl FnOnce(&mut Batch)) {
        let mut state = self.0.state.lock();
        let is_first = state.next.lines.is_empty() && state.next.missing == 0;
        if state.next.missing > 0 || state.taken + state.next.size() > self.0.limit {
            state.next.missing += 1;
        } else {
            push(&mut state.next);
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
        let is_much = state.next.size() > self.limit / 3;
        is_much || state.is_closed || !state.next.flushes.is_empty()
    }
}

impl Taker {
    /// Waits for lines and then for a pause, and returns them all; `None` once nobody can add any more. The last ones are
    /// written by then.
    pub(super) fn take(&self) -> Option<Batch> {
        let Inner { state, wake, pause, longest_wait, .. } = &*self.0;
        let mut state = state.lock();
        while state.next.is_empty() {
            if state.is_closed {
                return None;
            }
            wake.wait(&mut state);
        }
        let deadline = Instant::now() + *longest_wait;
        while !self.0.is_urgent(&state) {
            let (count, until) = (state.next.lines.len(), (Instant::now() + *pause).min(deadline));
            let is_over = wake.wait_until(&mut state, until).timed_out();
            if is_over && (state.next.lines.len() == count || until == deadline) {
                break;
            }
        }
        state.taken = state.next.size();
        Some(std::mem::take(&mut state.next))
    }

    /// What was taken is written, so there is room again, and whoever waits for that is told.
    pub(super) fn written(&self, batch: Batch) {
        self.0.state.lock().taken = 0;
        for done in batch.flushes {
            // Whoever has asked may have given up.
            let _ = done.send(());
        }
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.missing == 0 && self.flushes.is_empty()
    }

    /// How many bytes of memory the lines take.
    fn size(&self) -> usize {
        self.bytes.len() + self.shared_bytes + self.lines.len() * size_of::<Entry>()
    }

    fn push(&mut self, at: Duration, direction: Direction, line: &[u8]) {
        let most = line.len().min(self.last.len()).min(usize::from(u16::MAX));
        let prefix = common_prefix(&line[..most], &self.last[..most]);
        let (rest, last) = (&line[prefix..], &self.last[prefix..]);
        let suffix = common_suffix(rest, last, most - prefix);
        let middle = &rest[..rest.len() - suffix];
        self.bytes.extend_from_slice(middle);
        self.lines.push(Entry {
            at,
            // Longer ones are not read from an agent.
            middle: u32::try_from(middle.len()).unwrap_or(u32::MAX),
            prefix: u16::try_from(prefix).unwrap_or(u16::MAX),
            suffix: u16::try_from(suffix).unwrap_or(u16::MAX),
            direction,
        });
        self.last.clear();
        self.last.extend_from_slice(line);
    }

    fn push_shared(&mut self, at: Duration, direction: Direction, line: &Arc<String>) {
        self.shared.push((self.lines.len(), Arc::clone(line)));
        self.shared_bytes += line.len();
        self.lines.push(Entry { at, middle: 0, prefix: 0, suffix: 0, direction });
        self.last.clear();
    }

    /// Passes each line: when it came, from where, and its bytes.
    pub(super) fn each(&self, mut pass: impl FnMut(Duration, Direction, &[u8])) {
        let (mut line, mut rest) = (Vec::new(), &self.bytes[..]);
        let mut shared = self.shared.iter().peekable();
        for (number, entry) in self.lines.iter().enumerate() {
            let Entry { at, middle, prefix, suffix, direction } = entry;
            if let Some((_, text)) = shared.next_if(|(of, _)| *of == number) {
                line.clear();
                pass(*at, *direction, text.as_bytes());
                continue;
            }
            let (middle, after) = rest.split_at(*middle as usize);
            rest = after;
            let kept = usize::from(*prefix)..line.len() - usize::from(*suffix);
            line.splice(kept, middle.iter().copied());
            pass(*at, *direction, &line);
        }
    }
}

/// How many bytes are compared at once.
const BLOCK: usize = 16;

/// Returns with how many of the same bytes two slices of one length begin.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let same = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
}

/// Returns with how many of the same bytes two slices end, at most so many.
fn common_suffix(one: &[u8], other: &[u8], most: usize) -> usize {
    let (one, other) = (&one[one.len() - most..], &other[other.len() - most..]);
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one[..most - same].iter().rev().zip(other[..most - same].iter().rev());
    same + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(recorder: &Recorder, text: &str) {
        recorder.add(Duration::ZERO, Direction::FromAgent, text.as_bytes());
    }

    fn texts(batch: &Batch) -> Vec<String> {
        let mut texts = Vec::new();
        batch.each(|_, _, bytes| texts.push(String::from_utf8(bytes.to_vec()).unwrap()));
        texts
    }

    proptest! {
        #[test]
        fn lines_come_out_as_they_went_in(
            lines in prop::collection::vec("[ab]{0,80}", 0..20),
            shared in prop::collection::vec(any::<bool>(), 20),
        ) {
            let mut batch = Batch::default();
            for (line, is_shared) in lines.iter().zip(shared) {
                if is_shared {
                    batch.push_shared(Duration::ZERO, Direction::ToAgent, &Arc::new(line.clone()));
                } else {
                    batch.push(Duration::ZERO, Direction::FromAgent, line.as_bytes());
                }
            }
            prop_assert_eq!(texts(&batch), lines);
        }
    }

    #[test]
    fn a_line_that_is_like_the_one_before_takes_little_room() {
        let mut batch = Batch::default();
        let lines: Vec<String> =
            [0, 70_000, 70_000, 100].map(|length| format!("<{}>", "x".repeat(length))).into();
        for line in &lines {
            batch.push(Duration::ZERO, Direction::FromAgent, line.as_bytes());
        }
        assert_eq!(texts(&batch), lines);
        assert!(batch.bytes.len() < 75_000, "{}", batch.bytes.len());
    }

    #[test]
    fn a_long_line_that_is_sent_is_not_copied() {
        let (recorder, taker) = queue(1 << 20);
        let (short, long) = (Arc::new("x".repeat(10)), Arc::new("x".repeat(SHARED_BYTES)));
        for line in [&short, &long, &short] {
            recorder.add_sent(Duration::ZERO, Direction::ToAgent, line);
        }
        assert_eq!((Arc::strong_count(&short), Arc::strong_count(&long)), (1, 2));
        drop(recorder);
        let batch = taker.take().unwrap();
        assert!(batch.size() > SHARED_BYTES && batch.bytes.len() < 100);
        assert_eq!(texts(&batch), [&short, &long, &short].map(|line| (**line).clone()));
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
        const HOUR: Duration = Duration::from_secs(3600);
        let (recorder, taker) = queue_with(4 * size_of::<Entry>(), HOUR, HOUR);
        for number in 0..10 {
            add(&recorder, &number.to_string());
        }
        // A pause would have no end here.
        let (done, finished) = mpsc::channel();
        let taking = std::thread::spawn(move || {
            let batch = taker.take();
            drop(done.send((taker, batch)));
        });
        let (taker, batch) = finished.recv_timeout(Duration::from_secs(20)).unwrap();
        taking.join().unwrap();
        let batch = batch.unwrap();
        assert_eq!((texts(&batch).len(), batch.missing), (4, 6));
        // It is still being written.
        add(&recorder, "no room");
        taker.written(batch);
        let _flushed = recorder.flush();
        let batch = taker.take().unwrap();
        assert_eq!(batch.missing, 1);
        taker.written(batch);
        add(&recorder, "room");
        drop(recorder);
        assert_eq!(texts(&taker.take().unwrap()), ["room"]);
    }
}
