//! The plan split: the session's plan, whole.

use super::card;
use super::line::{Class, Line};
use crate::session::transcript::{Entry, Transcript};

/// The lines of the plan split.
pub fn lines(transcript: &Transcript) -> Vec<Line> {
    let last = transcript.entries().iter().rev().find_map(|entry| match entry {
        Entry::Plan(plan) if !plan.is_empty() => Some(card::plan(plan)),
        _ => None,
    });
    last.unwrap_or_else(|| vec![Line::of(Class::Note, "The agent has made no plan.")])
}
