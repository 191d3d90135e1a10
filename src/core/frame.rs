//! Frames: what the editor is told at the end of each turn of the event loop, as one ordered list of bounded size.

use crate::core::chat::Chat;
use crate::core::drawn::DrawnChat;
use crate::core::messages::editor::EditorMessage;
use crate::core::messages::effect::Effect;
use crate::core::messages::page::View;
use crate::core::messages::page::{PageId, ScratchPage};
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::label;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum bytes of text in a frame. A larger frame would block Neovim noticeably.
const MAX_FRAME_BYTES: usize = 64 * 1024;

/// Maximum length of a page's title in characters; it is shown on one line above the text.
const MAX_TITLE_CHARS: usize = 120;

/// A batch of messages for the editor.
#[derive(Debug, Default)]
pub struct Frame {
    /// In the order they are carried out.
    pub messages: Vec<EditorMessage>,
    /// Bytes of transcript text in it.
    pub bytes: usize,
    /// Effects that follow from drawing that panicked.
    pub effects: Vec<Effect>,
}

/// Splits off what does not fit into one frame, at a line break, and returns it.
fn split(scratch: &mut ScratchPage) -> Option<ScratchPage> {
    if scratch.text.len() <= MAX_FRAME_BYTES {
        return None;
    }
    let room = (0..=MAX_FRAME_BYTES).rev().find(|end| scratch.text.is_char_boundary(*end))?;
    let head = &scratch.text[..room];
    let end = match head.rfind('\n') {
        Some(end) => end,
        None => head.len() + scratch.text[head.len()..].find('\n')?,
    };
    let text = scratch.text.split_off(end + 1);
    (!text.is_empty()).then(|| ScratchPage { text, more: true, ..scratch.clone() })
}

impl State {
    /// Shows a text in a scratch buffer. `like` is a file name to detect the filetype from, if `filetype` is empty.
    pub(super) fn show_text(
        &mut self,
        (chat, page): (ChatId, PageId),
        title: &str,
        filetype: &'static str,
        text: String,
        like: Option<String>,
    ) {
        // The rest of an earlier text for the same page is obsolete.
        let is_stale = |message: &EditorMessage| matches!(message, EditorMessage::Scratch(old) if old.chat == chat && old.page == page);
        self.after_draw.retain(|message| !is_stale(message));
        let title = label::short(title, MAX_TITLE_CHARS);
        let scratch =
            ScratchPage { chat, page, title, filetype, text, like, more: false, at_end: false };
        self.after_draw.push(EditorMessage::Scratch(scratch));
    }

    /// Puts the cursor at the end of the page that was shown last.
    pub(super) fn show_end(&mut self) {
        if let Some(EditorMessage::Scratch(scratch)) = self.after_draw.last_mut() {
            scratch.at_end = true;
        }
    }

    /// Redraws a view completely, because the editor has lost its content.
    pub(super) fn redraw(&mut self, id: ChatId, view: View) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.redraw_view(view);
        }
    }

    /// Redraws everything, because it is unknown how much of a frame the editor has applied.
    pub(super) fn frame_lost(&mut self) {
        for chat in self.chats.values_mut() {
            chat.redraw_all();
            chat.redraw.status = true;
        }
        self.review_page.forget();
        for id in self.chats.keys().copied().collect::<Vec<_>>() {
            self.follow_trace(id, false);
        }
    }

    /// Whether there is anything to tell the editor.
    pub fn has_frame(&self) -> bool {
        !self.before_draw.is_empty()
            || !self.after_draw.is_empty()
            || self.listening.is_behind()
            || self.has_terminal_output()
            || self.chats.values().any(|chat| chat.redraw.status || self.is_undrawn(chat))
    }

    /// Whether the chat has changes that can be drawn.
    fn is_undrawn(&self, chat: &Chat) -> bool {
        let has_panicked = self.drawn.get(&chat.id).is_some_and(|drawn| drawn.has_panicked);
        !self.is_headless && !has_panicked && DrawnChat::is_behind(chat)
    }

    /// Takes the next frame. What does not fit is left for the frame after it.
    pub fn take_frame(&mut self) -> Frame {
        let mut frame = std::mem::take(&mut self.before_draw);
        let mut room = MAX_FRAME_BYTES;
        let mut broken = Vec::new();
        for chat in self.chats.values_mut() {
            if !self.is_headless {
                let drawn = self.drawn.entry(chat.id).or_default();
                let drawing = || drawn.draw(chat, room, &mut frame);
                match catch_unwind(AssertUnwindSafe(drawing)) {
                    Ok(bytes) => room = room.saturating_sub(bytes),
                    Err(_) => {
                        drawn.has_panicked = true;
                        broken.push(chat.id);
                    }
                }
            }
            if std::mem::take(&mut chat.redraw.status) {
                frame.push(EditorMessage::Status(Box::new(chat.status())));
            }
        }
        for id in broken {
            self.fail_drawing(id);
        }
        self.draw_terminals(&mut frame);
        let mut has_review = false;
        for message in std::mem::take(&mut self.after_draw) {
            frame.push(match message {
                EditorMessage::Scratch(mut scratch) => {
                    self.after_draw.extend(split(&mut scratch).map(EditorMessage::Scratch));
                    EditorMessage::Scratch(scratch)
                }
                // Each piece is as large as a frame may be.
                EditorMessage::Review(page) if has_review => {
                    self.after_draw.push(EditorMessage::Review(page));
                    continue;
                }
                EditorMessage::Review(page) => {
                    has_review = true;
                    room = room.saturating_sub(page.bytes());
                    EditorMessage::Review(page)
                }
                other => other,
            });
        }
        frame.extend(self.listening.take());
        let effects = std::mem::take(&mut self.effects);
        Frame { messages: frame, bytes: MAX_FRAME_BYTES - room, effects }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_split_text_consists_of_whole_lines_and_adds_up(lines in prop::collection::vec(0..40_000usize, 0..12), last in "a?é?") {
            let text = lines.iter().map(|len| "é".repeat(*len) + "\n").collect::<String>() + &last;
            let (chat, page, title) = (ChatId(1), PageId::Info, String::new());
            let mut rest = Some(ScratchPage { chat, page, title, filetype: "", text: text.clone(), like: None, more: false, at_end: false });
            let (mut joined, mut pieces) = (String::new(), 0);
            while let Some(mut scratch) = rest {
                rest = split(&mut scratch);
                prop_assert_eq!(scratch.more, pieces > 0);
                prop_assert!(rest.is_none() || scratch.text.ends_with('\n'));
                prop_assert!(scratch.text.len() <= MAX_FRAME_BYTES || scratch.text.lines().count() == 1);
                joined += &scratch.text;
                pieces += 1;
            }
            prop_assert_eq!(joined, text);
        }
    }
}
