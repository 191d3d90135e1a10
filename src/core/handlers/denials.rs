//! Tells the user what an agent was kept from writing because it is confined, and how to allow it. Agents do not report
//! that as such, so their texts and the output of their tools are searched.

use crate::core::chat::Chat;
use crate::core::messages::effect::Effect;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::author::ChatId;
use crate::session::confinement::DeniedPath;
use crate::session::denial::{MAX_SEARCHED, denied_paths};
use crate::session::entry::{Entry, Note};
use crate::session::ids::ToolCallId;
use crate::session::update::{Role, Severity};
use crate::view::tool_card;
use std::borrow::Cow;

impl State {
    /// Searches what a tool call has printed; without one, what the agent has said in the turn that is about to end.
    pub(super) fn look_for_denials(&mut self, id: ChatId, call: Option<&ToolCallId>) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(confinement) = &chat.config.confinement else { return };
        let texts = match call {
            Some(call) => chat.output_of_call(call),
            None => chat.said_in_turn(),
        };
        let mut paths: Vec<_> =
            texts.iter().flat_map(|text| denied_paths(text, &chat.cwd)).collect();
        paths.sort();
        paths.dedup();
        if !paths.is_empty() {
            let confinement = Box::new(confinement.clone());
            self.effects.push(Effect::FindDenied(id, confinement, paths));
        }
    }

    /// The agent was kept from writing these paths. Each is told once.
    pub(in crate::core) fn denied(&mut self, id: ChatId, denied: Vec<DeniedPath>) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        for it in denied {
            let title = user_messages::confined(&chat.config, &it);
            let key = Some(format!("denied {}", it.allow.display()));
            let is_told = |entry: &Entry| matches!(entry, Entry::Note(note) if note.key == key);
            if !chat.transcript.entries().iter().any(is_told) {
                let severity = Severity::Warning;
                chat.transcript.keyed_note(Note { severity, title, details: Vec::new(), key });
            }
        }
    }
}

impl Chat {
    fn output_of_call(&self, call: &ToolCallId) -> Vec<Cow<'_, str>> {
        let Some(entry) = self.transcript.find_tool(call) else { return Vec::new() };
        let terminals = entry.call.terminals().filter_map(|id| self.terminal(id));
        let printed = terminals.map(|terminal| terminal.text(MAX_SEARCHED).0);
        let printed = printed.chain([tool_card::output_text(&entry.call)]).map(Cow::from);
        printed.chain(entry.call.output.as_deref().map(Cow::from)).collect()
    }

    fn said_in_turn(&self) -> Vec<Cow<'_, str>> {
        let Some(turn) = self.turn() else { return Vec::new() };
        let entries = self.transcript.entries().iter().skip(turn.entry);
        let said = entries.filter_map(|entry| match entry {
            Entry::Message(message) if message.role == Role::Agent => {
                Some(Cow::from(&message.text))
            }
            _ => None,
        });
        said.collect()
    }
}
