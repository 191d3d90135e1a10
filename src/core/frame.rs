//! What the editor is told at the end of a turn of the loop: one ordered list, of bounded size.

use super::chat::Chat;
use super::effect::{Effect, Page, Scratch, ToEditor, View};
use super::event::ChatId;
use super::state::State;
use crate::session::label;
use crate::view::patch::Patch;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes of text in one frame: a larger one would hold the editor up.
const FRAME: usize = 64 * 1024;

/// Characters of a title; it stands in one line above the text.
const MOST_TITLE: usize = 120;

/// What the editor is told at once.
#[derive(Debug, Default)]
pub struct Frame {
    /// In order.
    pub messages: Vec<ToEditor>,
    /// Bytes of transcript in it.
    pub bytes: usize,
    /// What is to be done where something could not be drawn.
    pub effects: Vec<Effect>,
}

/// Cuts what is too much for one frame off a text, between two lines.
fn split(scratch: &mut Scratch) -> Option<Scratch> {
    if scratch.text.len() <= FRAME {
        return None;
    }
    let room = (0..=FRAME).rev().find(|end| scratch.text.is_char_boundary(*end))?;
    let head = &scratch.text[..room];
    let end = match head.rfind('\n') {
        Some(end) => end,
        None => head.len() + scratch.text[head.len()..].find('\n')?,
    };
    let text = scratch.text.split_off(end + 1);
    (!text.is_empty()).then(|| Scratch { text, more: true, ..scratch.clone() })
}

impl State {
    /// Shows text in a buffer of its own, `like` the file of that name.
    pub(super) fn show_text(
        &mut self,
        (chat, page): (ChatId, Page),
        title: &str,
        filetype: &'static str,
        text: String,
        like: Option<String>,
    ) {
        // What is still to come of an earlier text has no place any more.
        let is_old = |it: &ToEditor| matches!(it, ToEditor::Scratch(old) if old.chat == chat && old.page == page);
        self.after.retain(|it| !is_old(it));
        let title = label::short(title, MOST_TITLE);
        let scratch = Scratch { chat, page, title, filetype, text, like, more: false };
        self.after.push(ToEditor::Scratch(scratch));
    }

    /// The editor does not show this as it was drawn: draws all of it again.
    pub(super) fn redraw(&mut self, id: ChatId, view: View) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.redraw_view(view);
        }
    }

    /// The editor may have taken nothing of a frame: draws everything again.
    pub(super) fn frame_lost(&mut self) {
        for chat in self.chats.values_mut() {
            chat.redraw();
            chat.changed = true;
        }
    }

    /// Whether the editor has to be told something.
    pub fn has_frame(&self) -> bool {
        !self.before.is_empty()
            || !self.after.is_empty()
            || self.has_feed()
            || self.chats.values().any(|chat| chat.changed || chat.is_undrawn())
    }

    /// Takes what the editor is to be told now; what does not fit is told next time.
    pub fn take_frame(&mut self) -> Frame {
        let mut frame = std::mem::take(&mut self.before);
        let mut room = FRAME;
        let mut broken = Vec::new();
        for chat in self.chats.values_mut() {
            let drawing = || chat.draw(room, &mut frame);
            match catch_unwind(AssertUnwindSafe(drawing)) {
                Ok(bytes) => room = room.saturating_sub(bytes),
                Err(_) => broken.push(chat.id),
            }
            if std::mem::take(&mut chat.changed) {
                frame.push(ToEditor::Status(Box::new(chat.status())));
            }
        }
        for id in broken {
            self.undrawable(id);
        }
        self.feed(&mut frame);
        for message in std::mem::take(&mut self.after) {
            frame.push(match message {
                ToEditor::Scratch(mut scratch) => {
                    self.after.extend(split(&mut scratch).map(ToEditor::Scratch));
                    ToEditor::Scratch(scratch)
                }
                other => other,
            });
        }
        let effects = std::mem::take(&mut self.effects);
        Frame { messages: frame, bytes: FRAME - room, effects }
    }
}

impl Chat {
    /// Whether the editor does not show all of it yet.
    fn is_undrawn(&self) -> bool {
        let dirty = !self.blank.is_empty() || self.transcript.first_dirty().is_some();
        dirty && !self.undrawable
    }

    /// Draws what is new in so much room. Gives the bytes of text.
    fn draw(&mut self, room: usize, frame: &mut Vec<ToEditor>) -> usize {
        if self.undrawable {
            return 0;
        }
        #[cfg(test)]
        assert!(!self.breaks_when_drawn, "a drawing that breaks");
        let (id, scene, mut bytes) = (self.id, self.scene(), 0);
        let mut put = |view, blank: &mut BTreeSet<View>, patch: Patch| {
            let reset = blank.remove(&view);
            if !patch.is_empty() || reset {
                frame.push(ToEditor::Draw { chat: id, view, reset, patch });
            }
        };
        if room > 0 {
            let patch = self.view.render(&mut self.transcript, &scene, room);
            bytes = patch.bytes;
            put(View::Chat, &mut self.blank, patch);
        }
        if self.changed || self.blank.contains(&View::Plan) {
            put(View::Plan, &mut self.blank, self.plan_view.render(&self.transcript));
        }
        if self.changed || self.blank.contains(&View::Tools) {
            let patch = self.tools_view.render(&self.transcript, &scene);
            put(View::Tools, &mut self.blank, patch);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_cut_is_whole_lines_and_adds_up(lines in prop::collection::vec(0..40_000usize, 0..12), last in "a?é?") {
            let text = lines.iter().map(|len| "é".repeat(*len) + "\n").collect::<String>() + &last;
            let (chat, page, title) = (ChatId(1), Page::Info, String::new());
            let mut rest = Some(Scratch { chat, page, title, filetype: "", text: text.clone(), like: None, more: false });
            let (mut joined, mut pieces) = (String::new(), 0);
            while let Some(mut scratch) = rest {
                rest = split(&mut scratch);
                prop_assert_eq!(scratch.more, pieces > 0);
                prop_assert!(rest.is_none() || scratch.text.ends_with('\n'));
                prop_assert!(scratch.text.len() <= FRAME || scratch.text.lines().count() == 1);
                joined += &scratch.text;
                pieces += 1;
            }
            prop_assert_eq!(joined, text);
        }
    }
}
