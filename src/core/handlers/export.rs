//! Writing a conversation to a file.

use crate::core::messages::content::{ExportOutcome, ExportTarget};
use crate::core::messages::editor::Level;
use crate::core::messages::effect::Effect;
use crate::core::messages::notice::Notice;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::view::export;

impl State {
    pub(in crate::core) fn export_chat(&mut self, id: ChatId, target: ExportTarget) {
        let Some(chat) = self.chats.get(&id) else { return };
        let title = chat.title.clone().unwrap_or_else(|| chat.agent_title());
        let text = export::markdown(&title, &chat.transcript, &chat.scene());
        self.effects.push(Effect::ExportChat { chat: id, export: target, text });
    }

    pub(in crate::core) fn chat_exported(&mut self, target: &ExportTarget, outcome: ExportOutcome) {
        let path = target.path.display();
        match outcome {
            ExportOutcome::Done => self.notify(Level::Info, format!("Exported the chat to {path}")),
            ExportOutcome::Exists => {
                let note = Notice::from(format!("{path} exists."));
                self.notify(Level::Error, note.advise(":RatExport! replaces it."));
            }
            ExportOutcome::Failed(why) => {
                self.notify(Level::Error, format!("Could not write {path}: {why}"));
            }
        }
    }
}
