//! What the editor is told at the end of a turn of the loop: one ordered list, of bounded size.

use super::effect::{Page, Scratch, ToEditor, View};
use super::event::ChatId;
use super::state::State;
use crate::session::content::plain;
use crate::view::patch::Patch;
use std::collections::BTreeSet;

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
        let title = plain(title, MOST_TITLE);
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
            || self.chats.values().any(|chat| {
                chat.changed || !chat.blank.is_empty() || chat.transcript.first_dirty().is_some()
            })
    }

    /// Takes what the editor is to be told now; what does not fit is told next time.
    pub fn take_frame(&mut self) -> Frame {
        let mut frame = std::mem::take(&mut self.before);
        let mut room = FRAME;
        for chat in self.chats.values_mut() {
            let scene = chat.scene();
            let mut draw = |view, blank: &mut BTreeSet<View>, patch: Patch| {
                let reset = blank.remove(&view);
                if !patch.is_empty() || reset {
                    frame.push(ToEditor::Draw { chat: chat.id, view, reset, patch });
                }
            };
            if room > 0 {
                let patch = chat.view.render(&mut chat.transcript, &scene, room);
                room = room.saturating_sub(patch.bytes);
                draw(View::Chat, &mut chat.blank, patch);
            }
            if chat.changed || chat.blank.contains(&View::Plan) {
                draw(View::Plan, &mut chat.blank, chat.plan_view.render(&chat.transcript));
            }
            if chat.changed || chat.blank.contains(&View::Tools) {
                let patch = chat.tools_view.render(&chat.transcript, &scene);
                draw(View::Tools, &mut chat.blank, patch);
            }
            if std::mem::take(&mut chat.changed) {
                frame.push(ToEditor::Status(Box::new(chat.status())));
            }
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
        Frame { messages: frame, bytes: FRAME - room }
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
