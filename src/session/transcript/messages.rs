//! Messages of a transcript: which one a piece of text belongs to, and which pieces repeat what was said already. Some agents
//! send a message in pieces without an id and then as a whole with one, or the other way round.

use super::Transcript;
use super::message_index::{Messages, Repeat};
use crate::session::content::{About, Content};
use crate::session::entry::{Attached, Entry, Message};
use crate::session::ids::MessageId;
use crate::session::update::Role;

/// A message with fewer bytes and no blank in it may be the first piece of one, so that what is equal to it may go on with it.
const MIN_WHOLE: usize = 16;

impl Transcript {
    /// Adds a piece of a message: to the message with its id, also if that is not the last one; without an id, to the last
    /// message if nothing else came after it.
    pub fn chunk(&mut self, role: Role, id: Option<&MessageId>, content: &Content) {
        if role == Role::User && (self.is_own_prompt(id) || self.is_echo(content)) {
            return id.into_iter().for_each(|id| self.name_prompt(id));
        }
        let (piece, about) = match content {
            Content::Text(piece) => (piece, None),
            Content::Marked { text, about } => (text, Some(about)),
            other => return self.placeholder(role, other),
        };
        if self.last_about(role) != about {
            self.settle_messages();
            return self.add(role, id, piece, about);
        }
        if self.messages.repeat.is_some() && self.goes_on_repeating(role, id, piece) {
            return;
        }
        // Nothing is appended to what the user wrote: Gemini may replay an older prompt after it.
        let last = self.entries.len().checked_sub(1);
        let last = last.filter(|last| role != Role::User || self.last_prompt != Some(*last));
        if let Some(index) = last
            && let Entry::Message(message) = &self.entries[index]
            && message.role == role
        {
            match (&message.id, id) {
                (Some(last), Some(id)) if last != id => {}
                (None, Some(_)) if role == Role::User && !message.text.is_empty() => {}
                (None, Some(id)) if self.is_known(role, id) => {}
                (None, Some(id)) if message.text.is_empty() => {
                    self.name(index, id);
                    return self.append(index, piece);
                }
                (None, Some(id)) => {
                    if self.begins_repeating(index, Some(id), piece) {
                        return;
                    }
                }
                (Some(_), None) => {
                    let is_whole = is_whole(&message.text);
                    if !(is_whole && self.begins_repeating(index, None, piece)) {
                        self.append(index, piece);
                    }
                    return;
                }
                (Some(_), Some(_)) | (None, None) => return self.append(index, piece),
            }
        }
        self.add(role, id, piece, about);
    }

    /// The annotations of the last entry, if that is a message of this author. Text with others is a message of its own.
    fn last_about(&self, role: Role) -> Option<&About> {
        match self.entries.last() {
            Some(Entry::Message(last)) if last.role == role => last.about.as_ref(),
            _ => None,
        }
    }

    /// Adds text to the message with this id, unless the agent or the user did something after it or it has other annotations;
    /// else as a new message.
    fn add(&mut self, role: Role, id: Option<&MessageId>, text: &str, about: Option<&About>) {
        if text.is_empty() {
            return;
        }
        let known = id.and_then(|id| self.messages.by_id.get(&(role, id.clone()))?.last().copied());
        let is_alike = |index: &usize| match &self.entries[*index] {
            Entry::Message(message) => message.about.as_ref() == about,
            _ => false,
        };
        let known = known.filter(is_alike);
        if let Some(index) = known.filter(|index| self.last_step.is_none_or(|step| step < *index)) {
            return self.append(index, text);
        }
        let mut message = Message::new(role, id.cloned(), text.to_owned(), Vec::new());
        message.about = about.cloned();
        let index = self.push(Entry::Message(message));
        if let Some(id) = id {
            self.messages.by_id.entry((role, id.clone())).or_default().push(index);
        }
    }

    fn append(&mut self, index: usize, text: &str) {
        if let Some(Entry::Message(message)) = self.entries.get_mut(index)
            && !text.is_empty()
        {
            message.text.push_str(text);
            self.mark_changed(index);
        }
    }

    /// Gives a message without an id the one that it has after all.
    fn name(&mut self, index: usize, id: &MessageId) {
        if let Some(Entry::Message(message)) = self.entries.get_mut(index)
            && message.id.is_none()
        {
            message.id = Some(id.clone());
            self.messages.by_id.entry((message.role, id.clone())).or_default().push(index);
            self.mark_changed(index);
        }
    }

    fn is_known(&self, role: Role, id: &MessageId) -> bool {
        self.messages.by_id.contains_key(&(role, id.clone()))
    }

    fn text_at(&self, index: usize) -> &str {
        match self.entries.get(index) {
            Some(Entry::Message(message)) => &message.text,
            _ => "",
        }
    }

    /// Whether a piece repeats the last message from its beginning: in part, as a whole, or as a whole with more text.
    fn begins_repeating(&mut self, index: usize, id: Option<&MessageId>, piece: &str) -> bool {
        if piece.is_empty() {
            return false;
        }
        self.messages.repeat = Some(Repeat { message: index, id: id.cloned(), matched: 0 });
        self.goes_on_repeating_at(index, piece)
    }

    /// Handles a piece while others are held back. Returns `false` if it has nothing to do with them.
    fn goes_on_repeating(&mut self, role: Role, id: Option<&MessageId>, piece: &str) -> bool {
        let Some(repeat) = &self.messages.repeat else { return false };
        let index = repeat.message;
        let is_same = repeat.id.as_ref() == id
            && matches!(self.entries.get(index), Some(Entry::Message(message)) if message.role == role);
        if is_same && self.goes_on_repeating_at(index, piece) {
            return true;
        }
        // Not a repetition, then: what was held back is new text.
        self.settle_messages();
        false
    }

    fn goes_on_repeating_at(&mut self, index: usize, piece: &str) -> bool {
        let Some(mut repeat) = self.messages.repeat.take() else { return false };
        let rest = &self.text_at(index)[repeat.matched..];
        let more = match rest.starts_with(piece) {
            true if rest.len() > piece.len() => {
                repeat.matched += piece.len();
                self.messages.repeat = Some(repeat);
                return true;
            }
            true => String::new(),
            false if piece.starts_with(rest) => piece[rest.len()..].to_owned(),
            // A whole is often sent without the line breaks at its end.
            false if piece.trim_end() == rest.trim_end() && !rest.trim().is_empty() => {
                String::new()
            }
            false => {
                self.messages.repeat = Some(repeat).filter(|repeat| repeat.matched > 0);
                return false;
            }
        };
        if let Some(id) = &repeat.id {
            self.name(index, id);
        }
        self.append(index, &more);
        true
    }

    /// Shows what was held back because it might have repeated a message, unless it has repeated all of it.
    pub fn settle_messages(&mut self) {
        let Some(repeat) = self.messages.repeat.take() else { return };
        let (text, rest) = self.text_at(repeat.message).split_at(repeat.matched);
        let (text, is_whole) = (text.to_owned(), rest.trim().is_empty());
        match (&repeat.id, is_whole) {
            (Some(id), true) => self.name(repeat.message, id),
            (None, true) => {}
            (None, false) => self.append(repeat.message, &text),
            (id @ Some(_), false) => {
                if let Some(Entry::Message(message)) = self.entries.get(repeat.message) {
                    self.add(message.role, id.as_ref(), &text, None);
                }
            }
        }
    }

    /// Forgets which messages there are, for a session whose agent may use the same ids.
    pub(super) fn forget_messages(&mut self) {
        self.settle_messages();
        self.messages = Messages::default();
    }

    /// Finds the messages of a restored session.
    pub(super) fn index_messages(&mut self) {
        for (index, entry) in self.entries.iter().enumerate() {
            if let Entry::Message(Message { role, id: Some(id), .. }) = entry {
                self.messages.by_id.entry((*role, id.clone())).or_default().push(index);
            }
        }
        let entries = std::mem::take(&mut self.entries);
        entries.iter().enumerate().for_each(|(index, entry)| self.note_place(index, entry));
        self.entries = entries;
    }

    /// Notes where the latest step of the agent and the latest turn begin.
    pub(super) fn note_place(&mut self, index: usize, entry: &Entry) {
        match entry {
            Entry::Message(Message { role: Role::User, .. }) => {
                (self.last_step, self.turn_start) = (Some(index), Some(index));
            }
            Entry::Tool(_) | Entry::Plan(_) | Entry::Elicitation(_) => self.last_step = Some(index),
            Entry::Message(_) | Entry::Note(_) | Entry::Banner(_) => {}
        }
    }

    /// Records the id by which the agent calls the user's last prompt. What it says about that id from now on repeats it.
    pub fn name_prompt(&mut self, id: &MessageId) {
        if let Some(index) = self.last_prompt
            && let Some(Entry::Message(prompt)) = self.entries.get_mut(index)
            && prompt.id.is_none()
        {
            prompt.id = Some(id.clone());
            self.mark_changed(index);
        }
    }

    fn is_own_prompt(&self, id: Option<&MessageId>) -> bool {
        let prompt = self.last_prompt.and_then(|index| self.entries.get(index));
        matches!(prompt, Some(Entry::Message(prompt)) if id.is_some() && prompt.id.as_ref() == id)
    }

    /// Sets the whole content of a message, which may be new.
    pub fn message(&mut self, role: Role, id: &MessageId, content: &[Content]) {
        if role == Role::User && self.is_own_prompt(Some(id)) {
            return;
        }
        let is_repeat = |repeat: &Repeat| repeat.id.as_ref() == Some(id);
        if !self.messages.repeat.as_ref().is_some_and(is_repeat) {
            self.settle_messages();
        }
        let Some(entries) = self.messages.by_id.get(&(role, id.clone())).cloned() else {
            // What was held back is part of this whole.
            self.messages.repeat = None;
            return content.iter().for_each(|block| self.chunk(role, Some(id), block));
        };
        let whole: String = content.iter().filter_map(Content::text).collect();
        let others = content.iter().filter(|block| block.text().is_none());
        let attachments: Vec<_> = others.cloned().map(Attached::Content).collect();
        // Where it is in several entries, the first ones keep what they have of it.
        let (last, before) = match entries.split_last() {
            Some((last, before)) => (*last, before),
            None => return,
        };
        let shown: String = before.iter().map(|index| self.text_at(*index)).collect();
        let (shown, rest) = match whole.strip_prefix(&shown) {
            Some(rest) => (true, rest.to_owned()),
            None => (false, whole),
        };
        for index in before.iter().filter(|_| !shown) {
            self.replace(*index, String::new(), Vec::new());
        }
        self.replace(last, rest, attachments);
        let mut marks = content.iter().filter(|block| block.text().is_some());
        let about = marks.find_map(|block| block.about().cloned());
        if let Some(Entry::Message(message)) = self.entries.get_mut(last) {
            message.about = about;
        }
    }

    fn replace(&mut self, index: usize, text: String, attachments: Vec<Attached>) {
        if let Some(Entry::Message(message)) = self.entries.get_mut(index) {
            (message.text, message.attachments) = (text, attachments);
            message.said_anew += 1;
            self.mark_changed(index);
        }
    }

    /// Whether a chunk of the user repeats our own prompt, which is already in the transcript.
    fn is_echo(&mut self, content: &Content) -> bool {
        if self.echo.is_empty() {
            return false;
        }
        match content.text() {
            Some(piece) => match self.echo.strip_prefix(piece) {
                Some(rest) => {
                    self.echo = rest.to_owned();
                    true
                }
                None => false,
            },
            // Our own attachments.
            None => true,
        }
    }

    /// Adds content other than text as an attachment.
    fn placeholder(&mut self, role: Role, content: &Content) {
        self.settle_messages();
        let attachment = Attached::Content(content.clone());
        match self.entries.last_mut() {
            Some(Entry::Message(last)) if last.role == role && last.text.is_empty() => {
                last.attachments.push(attachment);
                self.mark_changed(self.entries.len() - 1);
            }
            _ => {
                let attachments = vec![attachment];
                let text = String::new();
                self.push(Entry::Message(Message::new(role, None, text, attachments)));
            }
        }
    }
}

/// Whether a text is certainly not just the first piece of a message.
fn is_whole(text: &str) -> bool {
    text.len() >= MIN_WHOLE || text.trim().contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::Audience;
    use crate::session::ids::ToolCallId;
    use crate::session::tool_call::ToolCallPatch;

    fn text(text: &str) -> Content {
        Content::Text(text.to_owned())
    }

    fn say(transcript: &mut Transcript, id: Option<&str>, pieces: &[&str]) {
        let id = id.map(MessageId::from);
        for piece in pieces {
            transcript.chunk(Role::Agent, id.as_ref(), &text(piece));
        }
    }

    fn texts(transcript: &Transcript) -> Vec<&str> {
        let texts = transcript.entries().iter().map(|entry| match entry {
            Entry::Message(message) => message.text.as_str(),
            _ => "-",
        });
        texts.collect()
    }

    fn call(transcript: &mut Transcript) {
        let id = format!("call {}", transcript.entries().len());
        transcript.tool(&ToolCallId::from(id.as_str()), ToolCallPatch::default());
    }

    /// Holds (Content): Text with annotations is a message of its own that keeps them, and none of it is lost.
    #[test]
    fn text_with_annotations_is_a_message_of_its_own() {
        let for_model =
            About { audience: Some(Audience::Assistant), priority: Some(0.2), ..About::default() };
        let marked =
            |text: &str| Content::Marked { text: text.to_owned(), about: for_model.clone() };
        for id in [None, Some("m".into())] {
            let mut transcript = Transcript::default();
            let pieces =
                [text("One. "), marked("Note "), marked("to self."), text("Two."), text(" More.")];
            for piece in pieces {
                transcript.chunk(Role::Agent, id.as_ref(), &piece);
            }
            assert_eq!(texts(&transcript), ["One. ", "Note to self.", "Two. More."], "{id:?}");
            let marks = transcript.entries().iter().map(|entry| match entry {
                Entry::Message(message) => message.about.clone(),
                _ => None,
            });
            let marks: Vec<_> = marks.collect();
            assert_eq!(marks, [None, Some(for_model.clone()), None]);
            let saved = serde_json::to_string(transcript.entries()).unwrap();
            let again = Transcript::restore(serde_json::from_str(&saved).unwrap());
            assert_eq!(again.entries(), transcript.entries());
        }
        // As a whole, in the second version of the protocol.
        let mut transcript = Transcript::default();
        transcript.message(Role::Agent, &"m".into(), &[text("One.")]);
        transcript.message(Role::Agent, &"m".into(), &[marked("Two.")]);
        let [Entry::Message(message)] = transcript.entries() else { panic!("one message") };
        assert!(message.is_for_model() && message.text == "Two.");
    }

    /// Holds (Turns): A message in pieces without an id that is said again as a whole with one is there once, and so is the reverse.
    #[test]
    fn a_message_that_is_repeated_with_an_id_is_there_once() {
        for again in [
            &["Hello there, world.\n"][..],
            &["Hel", "lo there, ", "world.\n"],
            &["Hello there, world."],
            &["Hello there", ", world."],
        ] {
            let mut transcript = Transcript::default();
            say(&mut transcript, None, &["Hello ", "there, world.\n"]);
            say(&mut transcript, Some("m"), again);
            transcript.settle_messages();
            assert_eq!(texts(&transcript), ["Hello there, world.\n"], "{again:?}");
            say(&mut transcript, Some("m"), &["More."]);
            assert_eq!(texts(&transcript), ["Hello there, world.\nMore."]);

            let mut transcript = Transcript::default();
            say(&mut transcript, Some("m"), &["Hello there, world.\n"]);
            say(&mut transcript, None, again);
            transcript.settle_messages();
            assert_eq!(texts(&transcript), ["Hello there, world.\n"], "{again:?}");
        }
        // As a whole in the second version of the protocol, with more at its end.
        let mut transcript = Transcript::default();
        say(&mut transcript, None, &["Hello "]);
        transcript.message(Role::Agent, &"m".into(), &[text("Hello there, "), text("world.")]);
        transcript.message(Role::Agent, &"m".into(), &[text("Hello there, world!")]);
        assert_eq!(texts(&transcript), ["Hello there, world!"]);
    }

    #[test]
    fn a_message_that_begins_like_the_one_before_it_is_shown() {
        let mut transcript = Transcript::default();
        say(&mut transcript, None, &["Let me look at it. Done."]);
        say(&mut transcript, Some("m"), &["Let me", " look at it. Not done."]);
        say(&mut transcript, Some("n"), &["Let"]);
        call(&mut transcript);
        let shown = ["Let me look at it. Done.", "Let me look at it. Not done.", "Let", "-"];
        assert_eq!(texts(&transcript), shown);
        // Pieces without an id go on with the message before them, also if they begin like it.
        let mut transcript = Transcript::default();
        say(&mut transcript, Some("m"), &["One two, "]);
        say(&mut transcript, None, &["One", " more."]);
        say(&mut transcript, Some("n"), &["ha"]);
        say(&mut transcript, None, &["ha", "ha"]);
        assert_eq!(texts(&transcript), ["One two, One more.", "hahaha"]);
        say(&mut transcript, Some("o"), &["One two three"]);
        say(&mut transcript, None, &["One two"]);
        transcript.settle_messages();
        assert_eq!(texts(&transcript)[2..], ["One two threeOne two"]);
    }

    /// Holds (Turns): Text with the id of an earlier message goes to that message, and below what the agent has done since.
    #[test]
    fn text_goes_to_the_message_with_its_id() {
        let mut transcript = Transcript::default();
        say(&mut transcript, Some("one"), &["1"]);
        say(&mut transcript, Some("two"), &["2"]);
        say(&mut transcript, Some("one"), &["1"]);
        say(&mut transcript, None, &["2"]);
        assert_eq!(texts(&transcript), ["11", "22"]);
        call(&mut transcript);
        say(&mut transcript, None, &["3"]);
        say(&mut transcript, Some("one"), &["1"]);
        assert_eq!(texts(&transcript), ["11", "22", "-", "3", "1"]);
        transcript.message(Role::Agent, &"one".into(), &[text("11 and 1")]);
        assert_eq!(texts(&transcript), ["11", "22", "-", "3", " and 1"]);
        transcript.message(Role::Agent, &"one".into(), &[text("none")]);
        assert_eq!(texts(&transcript), ["", "22", "-", "3", "none"]);
        // An id that is used again after a prompt is another message.
        transcript.prompt("more", Vec::new());
        say(&mut transcript, Some("two"), &["4"]);
        assert_eq!(texts(&transcript)[5..], ["more", "4"]);
    }
}
