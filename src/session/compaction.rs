//! A compaction: the agent shortens its context (ACP session compaction). What is known of it, and what is said of it in one
//! line; how that looks is not known here.

use super::content::Content;
use super::update::{Patch, Severity};

/// What an agent has said of one compaction so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// Where it stands, in the agent's word.
    status: String,
    summary: Vec<Content>,
    error: Option<String>,
}

impl Default for Compaction {
    /// One that is heard of for the first time runs.
    fn default() -> Self {
        Self { status: "in_progress".to_owned(), summary: Vec::new(), error: None }
    }
}

impl Compaction {
    /// Takes an update in: what it leaves out stays, what it clears goes.
    pub fn change(&mut self, status: String, summary: Patch<Vec<Content>>, error: Patch<String>) {
        if !status.is_empty() {
            self.status = status;
        }
        error.apply(&mut self.error);
        match summary {
            Patch::Keep => {}
            Patch::Clear => self.summary.clear(),
            Patch::Set(summary) => self.summary = summary,
        }
    }

    /// Adds a piece of its summary; text goes on where text stands.
    pub fn add(&mut self, piece: Content) {
        match (self.summary.last_mut(), piece) {
            (Some(Content::Text(text)), Content::Text(more)) => text.push_str(&more),
            (_, piece) => self.summary.push(piece),
        }
    }

    /// How grave it is, and one line about it.
    pub fn line(&self) -> (Severity, String) {
        let (severity, mut line) = match (self.status.as_str(), &self.error) {
            (_, Some(error)) => {
                (Severity::Warning, format!("the context could not be shortened: {error}"))
            }
            ("failed", None) => {
                (Severity::Warning, "the context could not be shortened".to_owned())
            }
            ("in_progress", None) => (Severity::Info, "shortening the context …".to_owned()),
            ("completed", None) => (Severity::Info, "the context was shortened".to_owned()),
            (word, None) => (Severity::Info, format!("shortening the context: {word}")),
        };
        if let Some(first) = self.summary.first() {
            line = format!("{line} · {}", first.words());
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
    fn what_is_left_out_stays_and_what_is_null_goes() {
        let mut one = Compaction::default();
        one.add(text("It was "));
        one.add(text("long.\nVery."));
        assert_eq!(one.line().1, "shortening the context … · It was long.");
        one.change("completed".to_owned(), Patch::Keep, Patch::Keep);
        assert_eq!(
            one.line(),
            (Severity::Info, "the context was shortened · It was long.".to_owned())
        );
        one.change("failed".to_owned(), Patch::Clear, Patch::Set("no room".to_owned()));
        let failed = "the context could not be shortened: no room";
        assert_eq!(one.line(), (Severity::Warning, failed.to_owned()));
        one.change("failed".to_owned(), Patch::Keep, Patch::Keep);
        assert_eq!(one.line().1, failed);
        one.change("paused".to_owned(), Patch::Set(vec![text("anew")]), Patch::Clear);
        let neutral = (Severity::Info, "shortening the context: paused · anew".to_owned());
        assert_eq!(one.line(), neutral);
    }
}
