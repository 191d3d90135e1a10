//! Notes in a transcript: what we tell the user about the session.

use super::Transcript;
use crate::session::compaction::Compaction;
use crate::session::entry::{Entry, Note};
use crate::session::update::Severity;

impl Transcript {
    /// Adds a note.
    pub fn note(&mut self, severity: Severity, title: impl Into<String>, details: Vec<String>) {
        self.push(Entry::Note(Note { details, ..Note::new(severity, title) }));
    }

    /// Adds a note, or replaces the one with the same key in place.
    pub fn keyed_note(&mut self, note: Note) {
        let has_key = |entry: &Entry| matches!(entry, Entry::Note(old) if old.key == note.key);
        let found = self.entries[self.session_start..].iter().rposition(has_key);
        match found.map(|index| self.session_start + index) {
            Some(index) => {
                self.entries[index] = Entry::Note(note);
                self.mark_changed(index);
            }
            None => {
                self.push(Entry::Note(note));
            }
        }
    }

    /// Adds a note that the session was reopened. It replaces the previous such note if nothing was
    /// said since.
    pub fn note_reopened(&mut self, title: String) {
        let key = Some("reopened".to_owned());
        let note = Note { key, ..Note::new(Severity::Info, title) };
        match self.entries.last_mut() {
            Some(Entry::Note(old)) if old.key == note.key => {
                *old = note;
                self.mark_changed(self.entries.len() - 1);
            }
            _ => {
                self.push(Entry::Note(note));
            }
        }
    }

    /// Updates a compaction and its note in place.
    pub fn compaction(&mut self, id: &str, change: impl FnOnce(&mut Compaction)) {
        let compaction = self.compactions.entry(id.to_owned()).or_default();
        change(compaction);
        let (severity, title) = compaction.line();
        let key = Some(format!("compaction {id}"));
        self.keyed_note(Note { key, ..Note::new(severity, title) });
    }
}
