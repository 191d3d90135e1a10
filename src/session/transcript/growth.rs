//! Incremental saving of a transcript during a turn: of a growing message only the new text, other
//! entries once they are complete. The total cost does not depend on how often it is saved.

use crate::session::entry::{Entry, Message};
use crate::session::saved::TranscriptPart;

/// The maximum number of bytes of a message to save at once, so that a flood does not delay the
/// loop.
const MAX_BYTES: usize = 1 << 20;

/// What was saved of a transcript so far.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// The number of entries that were saved in some state.
    entries: usize,
    /// The last message, which may still grow.
    message: Option<SavedMessage>,
}

/// How much of a message was saved.
#[derive(Debug)]
struct SavedMessage {
    index: usize,
    bytes: usize,
    said_anew: u32,
}

impl Growth {
    /// Records that all entries are saved completely.
    pub(super) fn mark_all_saved(&mut self, entries: usize) {
        *self = Self { entries, message: None };
    }
}

impl Growth {
    /// Takes what has to be saved of the entries `unsaved`, given by index, and returns it with the
    /// indices of those that are then saved completely. `to_save` returns an entry as it is saved.
    pub(super) fn take(
        &mut self,
        entries: &[Entry],
        unsaved: &[usize],
        to_save: impl Fn(usize) -> Entry,
    ) -> (TranscriptPart, Vec<usize>) {
        let (mut part, mut complete) = (TranscriptPart::default(), Vec::new());
        let last = entries.len().saturating_sub(1);
        for &index in unsaved {
            match &entries[index] {
                Entry::Message(message) if index == last => {
                    let saved = self.message.take().filter(|saved| saved.index == index);
                    let (saved, new_entry) = add_growth(index, message, saved, &mut part);
                    part.entries.extend(new_entry);
                    self.message = Some(saved);
                }
                Entry::Message(_) => {
                    part.entries.push((index, to_save(index)));
                    complete.push(index);
                }
                // A tool call may be large, so it is saved when it is new and again at the end of
                // the turn.
                _ if index >= self.entries => part.entries.push((index, to_save(index))),
                _ => {}
            }
        }
        self.entries = entries.len();
        (part, complete)
    }
}

/// Adds the new text of a growing message to `part`. Returns how much of the message is then saved,
/// and, if it was not saved before or was replaced, its entry without text.
fn add_growth(
    index: usize,
    message: &Message,
    saved: Option<SavedMessage>,
    part: &mut TranscriptPart,
) -> (SavedMessage, Option<(usize, Entry)>) {
    let said_anew = message.said_anew;
    let is_prefix =
        |saved: &SavedMessage| saved.said_anew == said_anew && saved.bytes <= message.text.len();
    let saved = saved.filter(is_prefix);
    let bytes = saved.as_ref().map_or(0, |saved| saved.bytes);
    let new_entry = saved.is_none().then(|| {
        let Message { role, id, attachments, about, .. } = message;
        let (id, attachments, about) = (id.clone(), attachments.clone(), about.clone());
        let text = String::new();
        let empty = Message { role: *role, id, attachments, text, said_anew, about };
        (index, Entry::Message(empty))
    });
    let ends = (bytes..=message.text.len().min(bytes + MAX_BYTES)).rev();
    let end = ends.into_iter().find(|end| message.text.is_char_boundary(*end)).unwrap_or(bytes);
    let new = &message.text[bytes..end];
    part.more = (!new.is_empty()).then(|| (index, new.to_owned()));
    (SavedMessage { index, bytes: end, said_anew }, new_entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::Content;
    use crate::session::transcript::Transcript;
    use crate::session::update::Role;
    use std::collections::BTreeMap;

    fn say(transcript: &mut Transcript, role: Role, text: &str) {
        transcript.chunk(role, None, &Content::Text(text.to_owned()));
    }

    /// Saves a part as the store does, and returns the number of bytes of text in it.
    fn write(file: &mut BTreeMap<usize, Entry>, part: TranscriptPart) -> usize {
        let text = |entry: &Entry| match entry {
            Entry::Message(message) => message.text.len(),
            _ => 0,
        };
        let mut bytes: usize = part.entries.iter().map(|(_, entry)| text(entry)).sum();
        file.extend(part.entries);
        if let Some((at, more)) = part.more {
            bytes += more.len();
            let Some(Entry::Message(message)) = file.get_mut(&at) else { panic!("no message") };
            message.text.push_str(&more);
        }
        bytes
    }

    /// Holds (Sessions): Of a growing message only what is new is written.
    #[test]
    fn only_the_new_text_of_a_growing_message_is_saved() {
        let (mut transcript, mut file) = (Transcript::default(), BTreeMap::new());
        transcript.prompt("go", Vec::new());
        file.extend(transcript.take_unsaved());
        let mut bytes = 0;
        for number in 0..1000 {
            let role = if number < 500 { Role::Thought } else { Role::Agent };
            say(&mut transcript, role, "some words, ");
            bytes += write(&mut file, transcript.take_part());
            let entries: Vec<Entry> = file.values().cloned().collect();
            assert_eq!(entries, transcript.entries());
        }
        assert!(bytes < 3 * 1000 * "some words, ".len(), "{bytes}");
        assert_eq!(transcript.take_part(), TranscriptPart::default(), "nothing is new");
        // At the end of the turn the whole message is saved.
        assert_eq!(transcript.take_unsaved(), [(2, transcript.entries()[2].clone())]);
    }

    #[test]
    fn a_flood_is_saved_in_bounded_parts() {
        let (mut transcript, mut file) = (Transcript::default(), BTreeMap::new());
        say(&mut transcript, Role::Agent, &"€".repeat(MAX_BYTES));
        for _ in 0..4 {
            let written = write(&mut file, transcript.take_part());
            assert!(written > 0 && written <= MAX_BYTES, "{written}");
        }
        assert_eq!(file.values().cloned().collect::<Vec<_>>(), transcript.entries());
    }

    #[test]
    fn a_replaced_message_is_saved_again() {
        let (mut transcript, mut file) = (Transcript::default(), BTreeMap::new());
        let (id, words) = ("m".into(), |text: &str| [Content::Text(text.to_owned())]);
        for text in ["one two", "one", "three four five"] {
            transcript.message(Role::Agent, &id, &words(text));
            write(&mut file, transcript.take_part());
            let entries: Vec<Entry> = file.values().cloned().collect();
            assert_eq!(entries, transcript.entries());
        }
    }
}
