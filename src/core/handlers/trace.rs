//! `:RatTrace`: the page of the traffic with an agent, and saving it to a file. What is recorded is read by the edge.

use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Effect;
use crate::core::messages::notice::Notice;
use crate::core::messages::trace::{TraceCommand, TracePiece, TraceSaved, TraceTask};
use crate::core::state::State;
use crate::core::user_messages::{self, count};
use crate::session::author::ChatId;
use crate::session::label;
use crate::session::signs::DOT;
use std::path::Path;

/// How much of a filter is shown in the title, in characters.
const MAX_FILTER_CHARS: usize = 60;

impl State {
    pub(in crate::core) fn trace(&mut self, chat: Option<ChatId>, command: TraceCommand) {
        let Some(id) = self.find_chat(chat) else {
            if matches!(command, TraceCommand::Open(_) | TraceCommand::Save(_)) {
                self.notify(Level::Warn, user_messages::no_chat());
            }
            // The page of a chat that has ended.
            self.effects.extend(chat.map(Effect::TraceClose));
            return;
        };
        let Some(chat) = self.chats.get_mut(&id) else { return };
        match command {
            TraceCommand::More => self.effects.push(Effect::TraceMore(id)),
            TraceCommand::Close => {
                chat.trace_filter = None;
                self.effects.push(Effect::TraceClose(id));
            }
            TraceCommand::Open(filter) => {
                chat.trace_filter = Some(filter);
                self.follow_trace(id, true);
            }
            TraceCommand::Save(file) => {
                let agent = chat.name().to_string();
                let task = TraceTask::Save { file, agent };
                if let Some(agent) = chat.last_agent {
                    self.effects.push(Effect::Trace { agent, chat: id, task });
                }
            }
        }
    }

    /// Has the page of a chat follow its agent, if it is open.
    pub(in crate::core) fn follow_trace(&mut self, id: ChatId, focus: bool) {
        let Some(chat) = self.chats.get(&id) else { return };
        if let (Some(agent), Some(filter)) = (chat.last_agent, chat.trace_filter.clone()) {
            let task = TraceTask::Open { filter, focus };
            self.effects.push(Effect::Trace { agent, chat: id, task });
        }
    }

    pub(in crate::core) fn trace_arrived(&mut self, piece: TracePiece) {
        let Some(chat) = self.chats.get(&piece.chat) else { return };
        if chat.trace_filter.as_ref() != Some(&piece.filter) {
            return;
        }
        let mut title = format!("{} {DOT} trace", chat.agent_title());
        if !piece.filter.is_empty() {
            title = format!("{title} {DOT} {}", label::short(&piece.filter, MAX_FILTER_CHARS));
        }
        self.after_draw.push(EditorMessage::Trace(title, piece));
    }

    pub(in crate::core) fn trace_saved(&mut self, path: &Path, outcome: &TraceSaved) {
        let path = path.display();
        match outcome {
            TraceSaved::Done(messages, 0) => {
                let messages = messages.to_string();
                self.notify(Level::Info, format!("Saved the traffic as {path} ({messages} lines)"));
            }
            TraceSaved::Done(_, missing) => {
                let missing = count(usize::try_from(*missing).unwrap_or(usize::MAX), "message");
                let note = format!(
                    "Saved the traffic as {path}, but {missing} were too many to keep and are missing."
                );
                self.notify(Level::Warn, Notice::from(note).advise(":help :RatTrace"));
            }
            TraceSaved::Exists => {
                let note = Notice::from(format!("{path} exists."));
                self.notify(Level::Error, note.advise(":RatTrace! save overwrites it."));
            }
            TraceSaved::Failed(why) => {
                self.notify(Level::Error, format!("Could not save {path}: {why}"));
            }
        }
    }
}
