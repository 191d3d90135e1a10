//! The queue of prompts in the hands of the user: editing, ordering and removing them, and sending one at once.

use crate::core::chat::Phase;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::user::QueueAction;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::prompt::Prompt;

const NOT_QUEUED: &str = "That prompt is not queued any more";
const SENT_BEFORE: &str = "A prompt was sent before you changed it. Your text is in the prompt.";

impl State {
    pub(in crate::core) fn act_on_queue(&mut self, id: ChatId, action: QueueAction) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.redraw.status = true;
        match action {
            QueueAction::Take(number) => match chat.queue.remove(number) {
                Some(prompt) => {
                    self.after_draw.push(EditorMessage::Draft { chat: id, prompt, taken: true });
                }
                None => self.notify(Level::Info, NOT_QUEUED),
            },
            QueueAction::Drop(number) => {
                if chat.queue.remove(number).is_none() {
                    self.notify(Level::Info, NOT_QUEUED);
                }
            }
            QueueAction::Send(number) => self.send_queued(id, number),
            QueueAction::Arrange { prompts, known } => {
                let late = chat.queue.arrange(prompts, &known);
                if !late.is_empty() {
                    self.notify(Level::Warn, SENT_BEFORE);
                }
                for text in late {
                    let prompt = Prompt { text, ..Prompt::default() };
                    self.after_draw.push(EditorMessage::Draft { chat: id, prompt, taken: false });
                }
                self.send_next_prompt(id);
            }
            QueueAction::Resume => {
                chat.queue.resume();
                self.send_next_prompt(id);
            }
        }
    }

    /// Sends a queued prompt before all others. A running turn is cancelled for it.
    pub(super) fn send_queued(&mut self, id: ChatId, number: u64) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if !chat.queue.move_ahead(number) {
            return self.notify(Level::Info, NOT_QUEUED);
        }
        match &chat.phase {
            Phase::Running(turn) => {
                let is_cancelled = turn.cancelled;
                chat.queue.interrupt();
                if !is_cancelled {
                    self.cancel(id);
                }
            }
            Phase::Ready => self.send_next_prompt(id),
            Phase::Failed(_) | Phase::Stopped => self.connect(id),
            Phase::Starting(_) => {}
        }
    }
}
