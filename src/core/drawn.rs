//! What the editor currently shows of each chat. The chat itself knows nothing of it.

use super::chat::Chat;
use super::messages::editor::EditorMessage;
use super::messages::page::View;
use crate::view::chat::ChatView;
use crate::view::patch::Patch;
use crate::view::plan::PlanView;
use crate::view::tools::ToolsView;

/// What the editor currently shows of one chat.
#[derive(Debug, Default)]
pub(super) struct DrawnChat {
    chat: ChatView,
    plan: PlanView,
    tools: ToolsView,
    /// Drawing it has panicked, so it is not drawn any more.
    pub(super) has_panicked: bool,
}

impl DrawnChat {
    /// Whether the chat has changes the editor does not show.
    pub(super) fn is_behind(chat: &Chat) -> bool {
        !chat.redraw.views.is_empty() || chat.transcript.first_dirty().is_some()
    }

    /// Draws the changes, with at most `room` bytes of transcript text, and returns the number of bytes drawn.
    pub(super) fn draw(
        &mut self,
        chat: &mut Chat,
        room: usize,
        frame: &mut Vec<EditorMessage>,
    ) -> usize {
        let tool_calls = std::mem::take(&mut chat.redraw.tool_calls);
        if self.has_panicked {
            return 0;
        }
        #[cfg(test)]
        assert!(!chat.panics_when_drawn, "a drawing that breaks");
        for view in &chat.redraw.views {
            match view {
                View::Chat => {
                    self.chat = ChatView::default();
                    chat.transcript.redraw();
                }
                View::Plan => self.plan = PlanView::default(),
                View::Tools => self.tools = ToolsView::default(),
            }
        }
        for call in &tool_calls {
            self.tools.mark_changed(call);
        }
        let (id, scene, mut bytes) = (chat.id, chat.scene(), 0);
        let (reset_views, status) = (std::mem::take(&mut chat.redraw.views), chat.redraw.status);
        let mut put = |view, patch: Patch| {
            let reset = reset_views.contains(&view);
            if !patch.is_empty() || reset {
                frame.push(EditorMessage::Draw { chat: id, view, reset, patch });
            }
        };
        if room > 0 {
            let patch = self.chat.render(&mut chat.transcript, &scene, room);
            bytes = patch.bytes;
            put(View::Chat, patch);
        } else if reset_views.contains(&View::Chat) {
            chat.redraw.views.insert(View::Chat);
        }
        if status || reset_views.contains(&View::Plan) {
            put(View::Plan, self.plan.render(&chat.transcript));
        }
        if status || reset_views.contains(&View::Tools) {
            put(View::Tools, self.tools.render(&chat.transcript, &scene));
        }
        bytes
    }
}
