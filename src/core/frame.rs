//! What the editor is told at the end of a turn of the loop: one ordered list, of bounded size.

use super::effect::{ToEditor, View};
use super::state::State;
use crate::view::patch::Patch;

/// Bytes of text in one frame: a larger one would hold the editor up.
const FRAME: usize = 64 * 1024;

/// What the editor is told at once.
#[derive(Debug, Default)]
pub struct Frame {
    /// In order.
    pub messages: Vec<ToEditor>,
    /// Bytes of transcript in it.
    pub bytes: usize,
}

impl State {
    /// Whether the editor has to be told something.
    pub fn has_frame(&self) -> bool {
        !self.before.is_empty()
            || !self.after.is_empty()
            || self.has_feed()
            || self
                .chats
                .values()
                .any(|chat| chat.changed || chat.blank || chat.transcript.first_dirty().is_some())
    }

    /// Takes what the editor is to be told now; what does not fit is told next time.
    pub fn take_frame(&mut self) -> Frame {
        let mut frame = std::mem::take(&mut self.before);
        let mut room = FRAME;
        for chat in self.chats.values_mut() {
            let scene = chat.scene();
            let reset = std::mem::take(&mut chat.blank);
            let mut draw = |view, patch: Patch| {
                if !patch.is_empty() || reset {
                    frame.push(ToEditor::Draw { chat: chat.id, view, reset, patch });
                }
            };
            if room > 0 {
                let patch = chat.view.render(&mut chat.transcript, &scene, room);
                room = room.saturating_sub(patch.bytes);
                draw(View::Chat, patch);
            }
            if reset || chat.changed {
                draw(View::Plan, chat.plan_view.render(&chat.transcript));
                draw(View::Tools, chat.tools_view.render(&chat.transcript, &scene));
            }
            if std::mem::take(&mut chat.changed) {
                frame.push(ToEditor::Status(Box::new(chat.status())));
            }
        }
        self.feed(&mut frame);
        frame.append(&mut self.after);
        Frame { messages: frame, bytes: FRAME - room }
    }
}
