//! When the next frame goes out, and when one that Neovim could not take is offered again. It sends nothing itself.

use std::time::Duration;
use tokio::time::Instant;

/// Between two frames: a screen is not drawn more often either.
const PAUSE: Duration = Duration::from_millis(8);

/// A frame with so many bytes of text comes from a flood.
const FLOOD: usize = 8 * 1024;

/// So do so many messages within one pause.
const FLOOD_MESSAGES: usize = 100;

/// A refused frame is offered again at least this often: what locks the text may end at any key.
const LONGEST_WAIT: Duration = Duration::from_millis(128);

/// A view that cannot be drawn is drawn again at least this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// Trouble that comes again within this time is the same one.
const SAME_TROUBLE: Duration = Duration::from_secs(10);

/// The times of frames.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the next frame goes out, or the refused one again.
    next: Instant,
    /// Messages of agents taken in since the last frame.
    gathered: usize,
    /// How often in a row the frame was refused.
    refused: u32,
    /// How often in a row views could not be drawn, and when that was last.
    failed: u32,
    failed_at: Option<Instant>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { next: now, gathered: 0, refused: 0, failed: 0, failed_at: None }
    }

    /// When the next frame may go out.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// So many messages of an agent were taken in.
    pub(super) fn gathered(&mut self, count: usize, now: Instant) {
        self.gathered += count;
        if self.gathered >= FLOOD_MESSAGES && self.failed == 0 {
            self.next = now;
        }
    }

    /// A frame with so many bytes of text goes out.
    pub(super) fn sent(&mut self, bytes: usize, now: Instant) {
        self.gathered = 0;
        // What comes next may gather for a moment. In a flood there is enough of it already.
        self.next = if bytes < FLOOD { now + PAUSE } else { now };
    }

    /// Neovim cannot take the frame now.
    pub(super) fn refused(&mut self, now: Instant) {
        self.next = now + grown(self.refused).min(LONGEST_WAIT);
        self.refused += 1;
    }

    /// Neovim has taken the frame; whether it could draw all of it.
    pub(super) fn taken(&mut self, drawn: bool, now: Instant) {
        self.refused = 0;
        let recent = self.failed_at.is_some_and(|at| now - at < SAME_TROUBLE);
        if !recent {
            self.failed = 0;
        }
        if !drawn {
            self.next = now + grown(self.failed).min(LONGEST_PAUSE);
            self.failed += 1;
            self.failed_at = Some(now);
        }
    }
}

/// A pause that doubles each time.
fn grown(times: u32) -> Duration {
    PAUSE * 2_u32.pow(times.min(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_frame_is_offered_ever_more_slowly_but_often_enough() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.sent(0, now);
        let mut last = Duration::ZERO;
        for _ in 0..100 {
            pace.refused(now);
            assert!(pace.next() - now >= last);
            last = pace.next() - now;
        }
        assert_eq!(last, LONGEST_WAIT);
        pace.taken(true, now);
        pace.refused(now);
        assert_eq!(pace.next() - now, PAUSE);
    }

    #[test]
    fn what_cannot_be_drawn_is_not_tried_at_full_speed() {
        let start = Instant::now();
        let (mut pace, mut now, mut tries) = (Pace::new(start), start, 0);
        while now - start < Duration::from_secs(60) {
            pace.sent(FLOOD, now);
            // A whole drawing takes several frames, and only the last of them fails.
            pace.taken(true, now);
            pace.sent(FLOOD, now);
            pace.taken(false, now);
            pace.gathered(FLOOD_MESSAGES, now);
            tries += 1;
            now = pace.next();
        }
        assert!((10..40).contains(&tries), "{tries}");
        now += SAME_TROUBLE;
        pace.taken(true, now);
        pace.taken(false, now);
        assert_eq!(pace.next() - now, PAUSE, "new trouble is mended at once");
    }
}
