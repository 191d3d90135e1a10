//! The lines of an agent's stdout: messages, and what it has printed instead of one or before one.

use super::peer::{Outcome, Peer};
use super::stderr;
use super::trace::Trace;
use crate::core::messages::agent::AgentEvent;
use crate::jsonrpc::incoming::{self, Line, Lines, Message};
use crate::jsonrpc::noise;
use std::borrow::Cow;
use std::time::Duration;

/// At most so many lines that are no messages are passed on.
const MAX_PRINTED: usize = 100;

/// A line is passed on without its end after this time: a question may wait there for an answer.
const UNFINISHED: Duration = Duration::from_millis(500);

/// Counts the lines that were passed on, so that an agent that prints without end is not followed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// Lines that are no messages.
    count: usize,
    /// How much of the line that has no end yet, in bytes.
    shown: usize,
}

impl Printed {
    /// Returns after how long a silence [`Self::show_unfinished`] is to be called, if at all.
    pub(super) fn unfinished(&self, lines: &Lines, peer: &Peer) -> Option<Duration> {
        (lines.held() > self.shown && peer.is_starting()).then_some(UNFINISHED)
    }

    /// Passes on the line that has no end yet, unless it may become a message.
    pub(super) fn show_unfinished(&mut self, lines: &Lines, outcome: &mut Outcome) {
        self.shown = lines.held();
        if !lines.partial().contains(&b'{') {
            self.pass_on(lines.partial(), outcome);
        }
    }

    /// Passes a line to the peer if it is a message, or if one is behind what does not belong on its line.
    pub(super) fn receive(
        &mut self,
        line: &Line<'_>,
        peer: &mut Peer,
        outcome: &mut Outcome,
        trace: &mut Trace,
    ) {
        self.shown = 0;
        let bytes = match line {
            Line::Whole(bytes) => *bytes,
            Line::TooLong { bytes } => {
                tracing::error!(target: "acp", bytes, "a line that is too long was dropped");
                return;
            }
        };
        peer.saw_output(outcome);
        // Checking first is several times as fast as `from_utf8_lossy` where nothing has to be replaced.
        let text =
            str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        let stray = match incoming::parse(&text) {
            Ok(message) => {
                trace.record_received(bytes, Some(&message));
                return peer.receive(message, outcome);
            }
            Err(stray) => stray,
        };
        tracing::warn!(target: "acp", size = bytes.len(), "stray line on stdout: {stray}");
        let is_starting = peer.is_starting();
        for candidate in noise::candidates(&text) {
            let Ok(message) = incoming::parse(candidate.json) else { continue };
            // A line of a log may quote any message. What a start waits for is an answer.
            let is_answer = matches!(message, Message::Response { .. });
            if candidate.before.is_empty() || is_starting && is_answer {
                if !candidate.before.is_empty() {
                    trace.record_received(candidate.before.as_bytes(), None);
                    self.pass_on(candidate.before.as_bytes(), outcome);
                }
                trace.record_received(candidate.json.as_bytes(), Some(&message));
                return peer.receive(message, outcome);
            }
        }
        trace.record_received(bytes, None);
        if is_starting {
            self.pass_on(bytes, outcome);
        }
    }

    /// Passes on a line that is no message, as a person would read it.
    pub(super) fn pass_on(&mut self, line: &[u8], outcome: &mut Outcome) {
        let shown = line.trim_ascii_end().rsplit(|byte| *byte == b'\r').next().unwrap_or_default();
        let text = stderr::clean(shown);
        if self.count < MAX_PRINTED && !text.trim().is_empty() {
            self.count += 1;
            outcome.events.push(AgentEvent::Printed(text.trim_end().to_owned()));
        }
    }
}
