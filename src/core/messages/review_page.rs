//! The page of a review: what it is composed of, and the pieces in which the editor gets it.

use super::review::{ChangeScope, ChangedFile, ChangedState, ReviewList};
use crate::edit::HunkId;
use crate::session::author::Author;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that a page is composed of.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewDraft {
    /// The number of the page. A later one replaces it.
    pub page: u64,
    /// What it is for.
    pub list: ReviewList,
    /// Which changes it shows.
    pub scope: ChangeScope,
    /// What it shows, as a text before the numbers in its title; may be empty.
    pub of_what: &'static str,
    /// The files, with their names as shown.
    pub files: Vec<(String, ChangedFile)>,
    /// The changes that are not of lines, with the names of the files, those before a rename first.
    pub states: Vec<(Option<String>, String, ChangedState)>,
    /// What the agents said they were doing.
    pub titles: HashMap<Author, String>,
    /// The page that it takes the place of, if the editor shows one: only what differs is sent.
    pub shown: Arc<Vec<ReviewSection>>,
}

/// What is known of the lines about one file, to recognise them in the next page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewSection {
    /// Of everything about the section.
    pub hash: u64,
    /// How many rows it has.
    pub rows: usize,
}

/// A piece of a review, as lines to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewPage {
    /// The number of the page.
    pub page: u64,
    /// What it is for.
    pub list: ReviewList,
    /// Shown above the lines.
    pub title: String,
    /// The row of the first line (0-based).
    pub row: usize,
    /// How many rows the lines replace; `None` for all there are.
    pub replaces: Option<usize>,
    /// Whether nothing follows.
    pub is_last: bool,
    /// A unified diff.
    pub lines: Vec<String>,
    /// The lines that name files or whole changes of them.
    pub heads: Vec<ReviewHead>,
    /// The hunks.
    pub hunks: Vec<ReviewHunk>,
}

impl ReviewPage {
    /// How many bytes of text it has.
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.len() + 1).sum()
    }
}

/// A line of a review that names a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReviewHead {
    /// Its row (0-based), counted from the beginning of the whole page.
    pub row: usize,
    /// The file.
    pub path: PathBuf,
    /// Where it was before, if it was moved: both are decided on together.
    pub from: Option<PathBuf>,
    /// What it is about.
    pub kind: HeadKind,
    /// Whether it is not known that an agent made these changes.
    pub is_unknown: bool,
}

/// What a line of a review that is no line of a diff is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadKind {
    /// Lines of a file.
    File,
    /// A file as a whole, not lines of it.
    State,
    /// Everything after it.
    Group,
}

/// A hunk in a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewHunk {
    /// The row of its first line (0-based), counted from the beginning of the whole page.
    pub row: usize,
    /// Which one it is.
    pub id: HunkId,
    /// Its lines in the file.
    pub lines: Range<usize>,
    /// The same number as the hunk before it in the file if the same tool calls made both.
    pub calls: usize,
}
