//! [`Compaction`], the state of one context compaction by the agent (ACP session compaction), and
//! its description in one line.

use super::content::Content;
use super::signs::{DOT, ELLIPSIS};
use super::update::{Patch, Severity};

/// What is known of one compaction so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The agent's own word: `in_progress`, `completed`, `failed` or one we do not know.
    status: String,
    summary: Vec<Content>,
    error: Option<String>,
}

impl Default for Compaction {
    /// A compaction runs when it is first mentioned.
    fn default() -> Self {
        Self { status: "in_progress".to_owned(), summary: Vec::new(), error: None }
    }
}

impl Compaction {
    /// Applies an update. An empty `status` leaves the current one.
    pub fn change(&mut self, status: String, summary: Patch<Vec<Content>>, error: Patch<String>) {
        if !status.is_empty() {
            self.status = status;
        }
        error.apply(&mut self.error);
        match summary {
            Patch::Unchanged => {}
            Patch::Clear => self.summary.clear(),
            Patch::Set(summary) => self.summary = summary,
        }
    }

    /// Appends a chunk to the summary; consecutive text is joined.
    pub fn add(&mut self, chunk: Content) {
        match (self.summary.last_mut(), chunk) {
            (
                Some(Content::Text(text)),
                Content::Text(more) | Content::Marked { text: more, .. },
            ) => {
                text.push_str(&more);
            }
            (_, chunk) => self.summary.push(chunk),
        }
    }

    /// Returns its severity and a description in one line.
    pub fn line(&self) -> (Severity, String) {
        let (severity, mut line) = match (self.status.as_str(), &self.error) {
            (_, Some(error)) => {
                (Severity::Warning, format!("Could not compact the context: {error}"))
            }
            ("failed", None) => (Severity::Warning, "Could not compact the context".to_owned()),
            ("in_progress", None) => (Severity::Info, format!("Compacting the context {ELLIPSIS}")),
            ("completed", None) => (Severity::Info, "Compacted the context".to_owned()),
            (word, None) => (Severity::Info, format!("Compacting the context: {word}")),
        };
        if let Some(first) = self.summary.first() {
            line = format!("{line} {DOT} {}", first.summary());
        }
        (severity, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Content {
        Content::Text(text.to_owned())
    }

    /// ACP 124.
    #[test]
    fn absent_fields_are_unchanged_and_null_clears() {
        let mut one = Compaction::default();
        one.add(text("It was "));
        one.add(text("long.\nVery."));
        assert_eq!(one.line().1, "Compacting the context … · It was long.");
        one.change("completed".to_owned(), Patch::Unchanged, Patch::Unchanged);
        assert_eq!(one.line(), (Severity::Info, "Compacted the context · It was long.".to_owned()));
        one.change("failed".to_owned(), Patch::Clear, Patch::Set("no room".to_owned()));
        let failed = "Could not compact the context: no room";
        assert_eq!(one.line(), (Severity::Warning, failed.to_owned()));
        one.change("failed".to_owned(), Patch::Unchanged, Patch::Unchanged);
        assert_eq!(one.line().1, failed);
        one.change("paused".to_owned(), Patch::Set(vec![text("anew")]), Patch::Clear);
        let neutral = (Severity::Info, "Compacting the context: paused · anew".to_owned());
        assert_eq!(one.line(), neutral);
    }
}
