//! Renders the questions that a tool call asks the user in its input, where the protocol has no request for that.

use super::card::LAST_PREFIX;
use super::content::{MAX_WIDTH, truncate};
use super::line::{Class, Highlight, Line};
use super::scene;
use crate::session::entry::ToolEntry;
use crate::session::keys;
use crate::session::transcript::Transcript;

/// The maximum number of lines of a question.
const MAX_LINES: usize = 40;

/// Renders the questions with their options, without one that is the title.
pub(super) fn lines(entry: &ToolEntry) -> Vec<Line> {
    let title = scene::title(&entry.call);
    let mut lines = Vec::new();
    for question in entry.call.questions() {
        let rows = question.text.trim().lines().filter(|row| row.trim() != title);
        for row in rows.take(MAX_LINES) {
            let line = Line::of(Class::Body, truncate(row, MAX_WIDTH));
            lines.push(line.with_prefix("  │ ", Highlight::Active));
        }
        for (number, option) in question.options.iter().enumerate() {
            let words = option.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = format!("{}. {}", number + 1, truncate(&words, MAX_WIDTH));
            lines.push(Line::of(Class::Body, text).with_prefix("  │ ", Highlight::Dim));
        }
    }
    lines
}

/// Renders how to answer them, unless the agent asks in another way.
pub(super) fn hint(entry: &ToolEntry, transcript: &Transcript) -> Option<Line> {
    let call = &entry.call;
    let waits = call.status.is_open() && !call.questions().is_empty() && !entry.is_waiting();
    if !waits || transcript.has_form_after(&call.id) {
        return None;
    }
    // A prompt waits for the end of the turn, which may wait for the answer.
    let text = match keys::now("g<CR>") {
        Some(key) => format!("answer in the prompt: {key} sends it"),
        None => "answer in the prompt: :RatSend! sends it".to_owned(),
    };
    Some(Line::of(Class::Note, text).with_prefix(LAST_PREFIX, Highlight::Active))
}
