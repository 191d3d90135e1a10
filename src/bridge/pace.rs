//! Decides when the next frame is sent and when one that Neovim refused is retried. It sends nothing itself.

use std::time::Duration;
use tokio::time::Instant;

/// The time between two frames, except in a flood. Screens do not refresh more often.
const FRAME_INTERVAL: Duration = Duration::from_millis(8);

/// A frame with at least this many bytes of text counts as part of a flood.
const FLOOD_BYTES: usize = 8 * 1024;

/// This many messages since the last frame count as a flood as well.
const FLOOD_MESSAGES: usize = 100;

/// The longest delay before a refused frame is retried. It is short because the lock may end at any key.
const MAX_RETRY_DELAY: Duration = Duration::from_millis(128);

/// The longest delay before a view that could not be drawn is drawn again.
const MAX_REDRAW_DELAY: Duration = Duration::from_secs(4);

/// Failures to draw that are less than this apart count as a series, which lets the delay grow.
const FAILURE_WINDOW: Duration = Duration::from_secs(10);

/// The schedule of frames.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the next frame is sent, or the refused one is retried.
    next: Instant,
    /// How many messages of agents arrived since the last frame.
    messages: usize,
    /// How often in a row the current frame was refused.
    refusals: u32,
    /// How many frames of the current series could not be drawn completely.
    failures: u32,
    /// When that happened last.
    last_failure: Option<Instant>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { next: now, messages: 0, refusals: 0, failures: 0, last_failure: None }
    }

    /// When the next frame may be sent.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Counts `count` messages of an agent. A flood of them makes a frame due at once, unless views cannot be drawn.
    pub(super) fn messages_received(&mut self, count: usize, now: Instant) {
        self.messages += count;
        if self.messages >= FLOOD_MESSAGES && self.failures == 0 {
            self.next = now;
        }
    }

    /// Schedules the frame after one with `bytes` bytes of text, which is sent now.
    pub(super) fn frame_sent(&mut self, bytes: usize, now: Instant) {
        self.messages = 0;
        // A pause lets changes accumulate. In a flood enough of them wait already.
        self.next = if bytes < FLOOD_BYTES { now + FRAME_INTERVAL } else { now };
    }

    /// Schedules a retry of a frame that Neovim cannot apply now.
    pub(super) fn frame_refused(&mut self, now: Instant) {
        self.next = now + backoff(self.refusals).min(MAX_RETRY_DELAY);
        self.refusals += 1;
    }

    /// Records that Neovim has applied a frame, or lost it, and delays the next one unless everything was drawn.
    pub(super) fn frame_applied(&mut self, all_drawn: bool, now: Instant) {
        self.refusals = 0;
        let recent = self.last_failure.is_some_and(|at| now - at < FAILURE_WINDOW);
        if !recent {
            self.failures = 0;
        }
        if !all_drawn {
            self.next = now + backoff(self.failures).min(MAX_REDRAW_DELAY);
            self.failures += 1;
            self.last_failure = Some(now);
        }
    }
}

/// Returns a delay that starts at `FRAME_INTERVAL` and doubles with each attempt.
fn backoff(attempts: u32) -> Duration {
    FRAME_INTERVAL * 2_u32.pow(attempts.min(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_frame_is_retried_with_a_growing_delay_up_to_a_limit() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.frame_sent(0, now);
        let mut last = Duration::ZERO;
        for _ in 0..100 {
            pace.frame_refused(now);
            assert!(pace.next() - now >= last);
            last = pace.next() - now;
        }
        assert_eq!(last, MAX_RETRY_DELAY);
        pace.frame_applied(true, now);
        pace.frame_refused(now);
        assert_eq!(pace.next() - now, FRAME_INTERVAL);
    }

    /// Holds (Windows and views): What cannot be drawn is retried with pauses.
    #[test]
    fn a_view_that_cannot_be_drawn_is_retried_with_a_growing_delay() {
        let start = Instant::now();
        let (mut pace, mut now, mut tries) = (Pace::new(start), start, 0);
        while now - start < Duration::from_secs(60) {
            pace.frame_sent(FLOOD_BYTES, now);
            // A full redraw takes several frames, and only the last of them fails.
            pace.frame_applied(true, now);
            pace.frame_sent(FLOOD_BYTES, now);
            pace.frame_applied(false, now);
            pace.messages_received(FLOOD_MESSAGES, now);
            tries += 1;
            now = pace.next();
        }
        assert!((10..40).contains(&tries), "{tries}");
        now += FAILURE_WINDOW;
        pace.frame_applied(true, now);
        pace.frame_applied(false, now);
        assert_eq!(
            pace.next() - now,
            FRAME_INTERVAL,
            "the first failure of a new series is retried soon"
        );
    }
}
