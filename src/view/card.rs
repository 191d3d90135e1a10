//! [`Card`], framed lines of which a range may be folded at first, and what all cards share.

use super::line::{Action, Class, Highlight, Line, Style};
use crate::session::entry::{Decision, Note, ToolEntry};
use crate::session::label;
use crate::session::update::Severity;
use std::path::Path;

/// The maximum number of lines of output in a card.
pub(super) const MAX_OUTPUT_LINES: usize = 40;
/// The prefix of a card's last row.
pub(super) const LAST_PREFIX: &str = "  └ ";
/// Output of more lines is folded at first.
pub(super) const MAX_UNFOLDED: usize = 8;

/// The lines of a card, and which of them are folded at first.
#[derive(Debug, Default)]
pub struct Card {
    /// The lines.
    pub lines: Vec<Line>,
    /// The first and last folded line, counted from the card's first line.
    pub fold: Option<(usize, usize)>,
    /// The number of lines that the fold stands for beyond its own rows: long output has rows only
    /// for its beginning or its end.
    pub(super) extra_lines: isize,
    /// The number of lines of the same output below the fold.
    pub(super) lines_below: usize,
}

impl Card {
    /// Adds the number of lines to the first row of the fold, from which Lua makes the fold's text.
    pub(super) fn label_fold(&mut self) {
        let Some((first, last)) = self.fold else { return };
        let rows = last + 1 - first;
        let folded = rows.saturating_add_signed(self.extra_lines);
        let all = folded + self.lines_below;
        let of = if self.lines_below > 0 { format!(" of {all}") } else { String::new() };
        let lines = if all == 1 { "line" } else { "lines" };
        self.lines[first].add_argument(&format!("{rows}\t{folded}{of} {lines}"));
    }

    /// Makes every row but the last one an inner row of the frame: the row on how a command ended
    /// is not the last if one on the user's decision follows.
    pub(super) fn close_frame(&mut self) {
        let ends =
            |line: &&mut Line| line.prefix.as_ref().is_some_and(|(text, _)| text == LAST_PREFIX);
        for line in self.lines.iter_mut().rev().filter(ends).skip(1) {
            line.prefix = line.prefix.take().map(|(_, highlight)| ("  ├ ".to_owned(), highlight));
        }
    }
}

/// Creates a card without a fold.
pub fn of(lines: Vec<Line>) -> Card {
    Card { lines, ..Card::default() }
}

/// Whether a tool call waits for the user's decision.
pub fn is_waiting(entry: &ToolEntry) -> bool {
    entry.asked.as_ref().is_some_and(|asked| asked.decision == Decision::Waiting)
}

/// Renders a note.
pub fn note(note: &Note) -> Vec<Line> {
    let (class, icon, highlight) = match note.severity {
        Severity::Info => (Class::Note, "· ", Highlight::Dim),
        Severity::Warning => (Class::Warning, "! ", Highlight::Active),
        Severity::Error => (Class::Error, "✗ ", Highlight::Bad),
    };
    let denied = note.denied.as_deref().and_then(Path::to_str).filter(|path| label::is_plain(path));
    let action = denied.map(|path| Action::Widen(path.to_owned()));
    let style = Style { action, ..Style::new(class) };
    let title = Line::new(note.title.trim(), &style).with_prefix(icon, highlight);
    let details = note
        .details
        .iter()
        .map(|detail| Line::of(Class::Body, detail.as_str()).with_prefix("  │ ", Highlight::Dim));
    std::iter::once(title).chain(details).collect()
}
