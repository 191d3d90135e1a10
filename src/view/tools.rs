//! The tool call split: every tool call of the session, a line each.

use super::card::{self, Scene};
use super::line::{Class, Line};
use crate::session::transcript::Transcript;

/// The lines of the tool call split, oldest first.
pub fn lines(transcript: &Transcript, scene: &Scene) -> Vec<Line> {
    let lines: Vec<Line> = transcript.tools().map(|entry| card::tool_title(entry, scene)).collect();
    if lines.is_empty() {
        return vec![Line::of(Class::Note, "The agent has called no tool.")];
    }
    lines
}
