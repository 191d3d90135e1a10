//! The last messages in both directions, which are told in full if the agent fails: there is no page of traffic here.

use super::arguments::Format;
use super::stdout::Stdout;
use crate::acp::trace::Tap;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

/// How many messages are kept.
const FRAMES: usize = 3;
/// The most bytes of one that are kept.
const MAX_BYTES: usize = 64 << 10;

/// The last messages.
#[derive(Debug, Clone, Default)]
pub(super) struct LastFrames(Arc<Mutex<VecDeque<String>>>);

impl LastFrames {
    /// Returns what every message passes through: it is noted, or printed where the format has them all.
    pub(super) fn of(format: Format, stdout: &Stdout) -> (Self, Tap) {
        let last = Self::default();
        let (frames, stdout) = (Arc::clone(&last.0), stdout.clone());
        let tap = match format {
            Format::Jsonl => Tap::new(move |message| stdout.write([message, b"\n"].concat())),
            Format::Text | Format::Simple => Self::noting(frames),
        };
        (last, tap)
    }

    fn noting(frames: Arc<Mutex<VecDeque<String>>>) -> Tap {
        Tap::new(move |message| {
            let kept = &message[..message.len().min(MAX_BYTES)];
            let mut text = String::from_utf8_lossy(kept).into_owned();
            if kept.len() < message.len() {
                // Writing to a string cannot fail.
                let _ = write!(text, " ({} bytes)", message.len());
            }
            let mut frames = frames.lock();
            if frames.len() == FRAMES {
                frames.pop_front();
            }
            frames.push_back(text);
        })
    }

    /// Returns a line about each, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().iter().map(|frame| format!("  last message: {frame}")).collect()
    }
}
