//! Saving sessions while they are used, and loading them when they are resumed.

use crate::core::chat::Chat;
use crate::core::chat::LastSession;
use crate::core::connection::ConnectionStage;
use crate::core::messages::effect::{Effect, StoreCommand};
use crate::core::messages::event::Timer;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::ids::SessionId;
use crate::session::saved::{SaveResult, SavedSession, SavedTranscript, StoreKey, TranscriptPart};
use crate::session::tool_call::ToolStatus;
use crate::session::update::Severity;
use std::time::Duration;

/// Interval at which an unfinished answer is saved.
const SAVE_INTERVAL: Duration = Duration::from_secs(3);

impl State {
    /// Saves what has changed in the session. A session without a prompt is not saved.
    pub(in crate::core) fn save(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Some(session) = chat.saved_session() else { return };
        let rewrite = std::mem::take(&mut chat.saving.rewrite);
        if rewrite {
            chat.transcript.mark_all_unsaved();
        }
        let entries = chat.transcript.take_unsaved();
        self.effects.push(Effect::Store(StoreCommand::Save(Box::new(session), rewrite, entries)));
    }

    /// Schedules the next save of an unfinished turn, so that little is lost if the process is killed.
    pub(in crate::core) fn schedule_save(&mut self, id: ChatId) {
        let Some(turn) = self.chats.get(&id).and_then(Chat::turn) else { return };
        let timer = Timer::SavePart(id, turn.number);
        self.effects.push(Effect::Timer { timer, after: SAVE_INTERVAL });
    }

    /// Saves what the agent has said so far in this turn.
    pub(in crate::core) fn save_part(&mut self, id: ChatId, number: u64) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.turn().is_none_or(|turn| turn.number != number) {
            return;
        }
        if chat.saving.rewrite {
            self.save(id);
        } else if let Some(session) = chat.saved_session() {
            let part = chat.transcript.take_part();
            if part != TranscriptPart::default() {
                self.effects.push(Effect::Store(StoreCommand::SavePart(Box::new(session), part)));
            }
        }
        self.schedule_save(id);
    }

    /// Handles the result of a save. The user is told once if saving fails.
    pub(in crate::core) fn session_saved(&mut self, session: &StoreKey, result: SaveResult) {
        let Some(id) = self.find_open(session) else { return };
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let problem = match result {
            SaveResult::Written => {
                chat.saving.failed = false;
                let continued = chat.saving.continues.take().filter(|old| old != session);
                self.effects.extend(continued.map(|old| Effect::Store(StoreCommand::Forget(old))));
                return;
            }
            SaveResult::Overgrown => {
                (chat.saving.failed, chat.saving.rewrite) = (false, true);
                return self.save(id);
            }
            SaveResult::Behind => {
                chat.saving.rewrite = true;
                return self.save(id);
            }
            SaveResult::Elsewhere => {
                "Another Neovim has this session open. Messages here are not saved until it closes it."
                    .to_owned()
            }
            SaveResult::Failed(why) => {
                format!("Could not save the transcript: {why}")
            }
        };
        if !std::mem::replace(&mut chat.saving.failed, true) {
            chat.transcript.note(Severity::Warning, problem, Vec::new());
        }
    }

    /// Prepares for the end of Neovim: answers all requests and saves what is unsaved.
    pub fn prepare_exit(&mut self) -> Vec<Effect> {
        for id in self.chats.keys().copied().collect::<Vec<_>>() {
            self.settle_chat(id, ToolStatus::Cancelled);
            if let Some(chat) = self.chats.get_mut(&id) {
                // No result will arrive, so this save has to write everything if an earlier one failed.
                chat.saving.rewrite |= chat.saving.failed;
            }
            self.save(id);
        }
        std::mem::take(&mut self.effects)
    }

    /// Asks the store for the most recent session of the chat's folder.
    pub(in crate::core) fn find_last_session(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.opening.waits_for_store = true;
        let (agent, cwd) = (chat.config.name.clone(), chat.cwd.clone());
        self.effects.push(Effect::Store(StoreCommand::FindLast(id, agent, cwd)));
    }

    /// Asks the store for a session's transcript. `claim` reserves the session, so that no other Neovim can open it.
    pub(in crate::core) fn load_transcript(&mut self, id: ChatId, session: SessionId, claim: bool) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.opening.waits_for_store = true;
        let key = chat.store_key(session);
        self.effects.push(Effect::Store(StoreCommand::LoadTranscript(id, key, claim)));
    }

    /// Reopens the most recent session of the folder, unless another chat or another Neovim has it open. An older
    /// session is never chosen instead, since that would be surprising.
    pub(in crate::core) fn last_session_found(&mut self, id: ChatId, last: Option<SavedSession>) {
        let open_here = last.as_ref().is_some_and(|last| self.find_open(&last.key()).is_some());
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let open_elsewhere = last.as_ref().is_some_and(|last| last.open) && !open_here;
        chat.opening.last = if open_elsewhere { LastSession::Elsewhere } else { LastSession::None };
        match last.filter(|last| !last.open && !open_here) {
            Some(last) => {
                chat.opening.last = LastSession::Here(last.id.clone());
                chat.title = last.title;
                self.load_transcript(id, last.id, true);
            }
            None => self.store_replied(id),
        }
    }

    /// Finds the chat that has this session open.
    pub(in crate::core) fn find_open(&self, key: &StoreKey) -> Option<ChatId> {
        let StoreKey { cwd, agent, id } = key;
        let has_session = |chat: &&Chat| {
            chat.config.name == *agent && chat.cwd == *cwd && chat.session.as_ref() == Some(id)
        };
        self.chats.values().find(has_session).map(|chat| chat.id)
    }

    /// Handles the transcript of the session that is about to be opened.
    pub(in crate::core) fn transcript_loaded(&mut self, id: ChatId, past: SavedTranscript) {
        if let Some(chat) = self.chats.get_mut(&id) {
            if past.is_elsewhere {
                // Another Neovim has claimed it in the meantime.
                (chat.opening.last, chat.title) = (LastSession::Elsewhere, None);
            } else {
                chat.opening.saved = past.entries;
                chat.saving.rewrite = past.has_gaps;
            }
        }
        self.store_replied(id);
    }

    fn store_replied(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.opening.waits_for_store = false;
        if self
            .connection_of(id)
            .is_some_and(|(_, connection)| connection.stage == ConnectionStage::Ready)
        {
            self.open_session(id);
        }
    }
}

impl Chat {
    /// Describes its session for the store. `None` if there is nothing to resume, or if a replay may still replace what
    /// is shown.
    fn saved_session(&self) -> Option<SavedSession> {
        let session = self.session.clone()?;
        if self.replay.is_of_load() {
            return None;
        }
        self.transcript.opening()?;
        Some(SavedSession {
            agent: self.config.name.clone(),
            id: session,
            cwd: self.cwd.clone(),
            title: self.session_title(),
            used_at: 0,
            in_place: self.edit.is_some() && !self.saving.is_conversation,
            open: true,
        })
    }

    /// Returns the effect that gives up the claim on its session, so that another Neovim can open it.
    pub(in crate::core) fn release_effect(&self) -> Option<Effect> {
        let session = self.session.clone()?;
        Some(Effect::Store(StoreCommand::Release(self.store_key(session))))
    }
}
