//! Takes decisions on a [`Record`] back: what was kept is pending again, and after a rejection the record is where it was
//! before. The text is changed by whoever knows it.

use super::record::{Form, Kept, Place, Record, Version};
use super::text::Text;

impl<O> Record<O> {
    /// Returns where the record is.
    pub fn place(&self) -> Place {
        Place { base: self.begins_with, state: self.at }
    }

    fn has_place(&self, place: Place) -> bool {
        place.base == self.begins_with && place.state < self.states.len()
    }

    /// Returns the text at a place; `None` if it is one of another record.
    pub fn text_at(&mut self, place: Place) -> Option<(Text, Form)> {
        if !self.has_place(place) {
            return None;
        }
        let from = self.at;
        self.go_to(place.state);
        let found = (self.text(), self.form());
        self.go_to(from);
        Some(found)
    }

    /// Records that the text is again the one it had at a place: what was pending there is pending again. If it is not quite
    /// that, since a formatter has run for instance, the rest is a change that no agent made.
    pub fn return_to(&mut self, place: Place, now: &Version)
    where
        O: Clone,
    {
        let is_there = !self.has_place(place) || self.goes_to(place.state, &now.text);
        // Not where the text has not changed at all.
        if !is_there && !self.has_lines_of(&now.text) {
            self.go_to(place.state);
        }
        self.catch_up(now);
    }

    /// Makes pending again what a decision has kept.
    pub fn take_back(&mut self, kept: &Kept) {
        if !self.has_place(kept.at) {
            return;
        }
        self.remove_kept(&kept.changes);
        if let Some(forms) = kept.forms.filter(|_| kept.at.state == self.at) {
            self.states[self.at].forms = forms;
        }
    }
}
