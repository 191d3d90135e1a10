//! Tells the user what an agent was kept from writing because it is confined, and how to allow it. Agents do not report
//! that as such, so their texts and the output of their tools are searched.

use crate::core::chat::Chat;
use crate::core::messages::editor::Level;
use crate::core::messages::effect::Effect;
use crate::core::questions::Question;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::agent::Capability;
use crate::session::author::ChatId;
use crate::session::confinement::DeniedPath;
use crate::session::denial::{MAX_SEARCHED, denied_paths};
use crate::session::entry::{Entry, Note};
use crate::session::ids::ToolCallId;
use crate::session::tool_call::{ToolKind, ToolStatus};
use crate::session::update::{Role, Severity};
use crate::view::tool_card;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

impl State {
    /// Searches what a tool call has printed; without one, what the agent has said in the turn that is about to end, and what its
    /// commands have printed.
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

    /// Tells the user, once for each agent, that an agent could be confined that changes files or runs commands without asking.
    pub(super) fn offer_confinement(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if !chat.config.could_be_confined || self.told_unconfined.contains(&chat.config.name) {
            return;
        }
        let acts = |kind: ToolKind| {
            matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute)
        };
        let mut has_acted = false;
        for tool in chat.transcript.tools() {
            if tool.asked.is_some() {
                return;
            }
            has_acted |= tool.call.status == ToolStatus::Completed && acts(tool.call.kind);
        }
        if has_acted {
            self.told_unconfined.insert(chat.config.name.clone());
            let note = user_messages::could_be_confined(&chat.agent_title(), &chat.config);
            chat.transcript.note(Severity::Info, note, Vec::new());
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
                let denied = Some(it.allow);
                let note = Note { key, denied, ..Note::new(Severity::Warning, title) };
                chat.transcript.keyed_note(note);
            }
        }
    }

    /// Asks the user whether to start the agent of a chat again so that it may write a path that it was kept from writing.
    pub(in crate::core) fn offer_to_widen(&mut self, id: ChatId, path: PathBuf) {
        let Some(chat) = self.chats.get(&id) else { return };
        let name = chat.agent_title();
        let is_denied = |entry: &Entry| matches!(entry, Entry::Note(note) if note.denied.as_deref() == Some(path.as_path()));
        let Some(confinement) = &chat.config.confinement else {
            return self.notify(Level::Info, format!("{name} is not confined"));
        };
        if !chat.transcript.entries().iter().any(is_denied) {
            return;
        }
        let shown = chat.scene().shorten(&path);
        if confinement.covers(&path) {
            return self.notify(Level::Info, format!("{name} may write {shown} already"));
        }
        let question = Question::Widen(id, path);
        if self.questions.values().any(|open| *open == question) {
            return;
        }
        let running = chat.agent.map(|agent| self.chats_on(agent)).unwrap_or_default();
        let is_running = |id: &ChatId| self.chats.get(id).is_some_and(|chat| chat.turn().is_some());
        let turns = match running.iter().filter(|id| is_running(id)).count() {
            0 => "",
            1 => ", and its turn ends",
            _ => ", and its turns end",
        };
        let title = format!("Let {name} write {shown} until you stop it?");
        let can = |capability| chat.info.capabilities.has(capability);
        let resumes = can(Capability::Resume) || can(Capability::Load);
        let session = if resumes { "resume the session" } else { "begin a new session" };
        let start = format!("Yes: start it again and {session}{turns}");
        self.ask(question, title, vec![start, "No".to_owned()]);
    }

    /// Lets the agent write the path, if that is the user's answer: starts it again with the path allowed.
    pub(in crate::core) fn widen_answered(
        &mut self,
        id: ChatId,
        path: &Path,
        index: Option<usize>,
    ) {
        if index != Some(0) {
            return;
        }
        let agent = self.chats.get(&id).and_then(|chat| chat.agent);
        let mut chats = agent.map(|agent| self.chats_on(agent)).unwrap_or_default();
        if chats.is_empty() {
            chats.push(id);
        }
        // They share the agent only if they have the same configuration.
        for id in chats {
            let config = self.chats.get_mut(&id).map(|chat| &mut chat.config);
            if let Some(confinement) = config.and_then(|config| config.confinement.as_mut()) {
                confinement.write.push(path.to_owned());
            }
        }
        self.restart(id);
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
        // Not every command is shown by a tool call.
        let commands = turn.commands.iter().filter_map(|(id, _)| self.terminal(id));
        let printed = commands.map(|terminal| Cow::from(terminal.text(MAX_SEARCHED).0));
        said.chain(printed).collect()
    }
}
