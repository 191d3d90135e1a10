//! What the editor shows of the latest review, so that an update of it sends only what differs.

use crate::core::messages::review::ReviewList;
use crate::core::messages::review_page::ReviewSection;
use std::sync::Arc;

/// The page of a review that was sent to the editor.
#[derive(Debug, Default)]
pub(super) struct SentReview {
    /// The number of the latest page.
    latest: u64,
    /// What is in it, once all of it was composed.
    sections: Option<Arc<Vec<ReviewSection>>>,
    /// What the user waits for.
    opening: Option<ReviewList>,
    /// What the user has asked for last.
    opened: Option<ReviewList>,
}

impl SentReview {
    /// The user has asked for this page, of which nothing has been composed yet.
    pub(super) fn opens(&mut self, list: ReviewList) {
        (self.opening, self.opened) = (Some(list), Some(list));
    }

    /// The page that the user has asked for last.
    pub(super) fn opened(&self) -> Option<ReviewList> {
        self.opened
    }

    /// The page that the user waits for, if nothing of it has been composed yet.
    pub(super) fn opening(&self) -> Option<ReviewList> {
        self.opening
    }

    /// Begins another page, whose number this returns, with what is in the one it takes the place of. That is nothing if
    /// the editor has only a part of it, or if `is_whole` asks for all lines.
    pub(super) fn begin(&mut self, is_whole: bool) -> (u64, Arc<Vec<ReviewSection>>) {
        self.latest += 1;
        let sections = self.sections.take().filter(|_| !is_whole);
        (self.latest, sections.unwrap_or_default())
    }

    /// A piece of a page was composed. Returns whether it belongs to the latest page.
    pub(super) fn is_latest(&mut self, page: u64) -> bool {
        let is_latest = page == self.latest;
        self.opening = self.opening.filter(|_| !is_latest);
        is_latest
    }

    /// All of the latest page has been composed.
    pub(super) fn composed(&mut self, sections: Vec<ReviewSection>) {
        self.sections = Some(Arc::new(sections));
    }

    /// It is unknown what the editor shows.
    pub(super) fn forget(&mut self) {
        self.sections = None;
    }
}
