//! What is to outlive Neovim: written down as it comes about, and brought back when a session goes on.

use super::chat::Chat;
use super::effect::{Effect, Keeping};
use super::event::ChatId;
use super::link::Stage;
use super::state::State;
use crate::session::ids::SessionId;
use crate::session::remembered::{Kept, Past, Remembered, StoreKey};
use crate::session::tool_call::ToolStatus;
use crate::session::update::Severity;

/// A title taken from a prompt has at most so many characters.
const TITLE: usize = 80;

impl State {
    /// Has it written down what the session has become. One without a prompt is not worth it.
    pub(super) fn keep(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Some(session) = chat.session.clone() else { return };
        if chat.replay.is_some() || chat.reloaded {
            // What is shown is about to be said again.
            return;
        }
        let Some(opening) = chat.transcript.opening() else { return };
        let opening = opening.trim().chars().take(TITLE).collect();
        let remembered = Remembered {
            agent: chat.config.name.clone(),
            id: session,
            cwd: chat.cwd.clone(),
            title: chat.title.clone().or(Some(opening)),
            used_at: 0,
            open: true,
        };
        let anew = std::mem::take(&mut chat.keep_anew);
        if anew {
            chat.transcript.keep_all();
        }
        let entries = chat.transcript.take_unkept();
        self.effects.push(Effect::Keep(Keeping::Note(Box::new(remembered), anew, entries)));
    }

    /// What became of what was to be written down. That it was not is told once.
    pub(super) fn kept(&mut self, session: &StoreKey, kept: Kept) {
        let Some(id) = self.open_as(session) else { return };
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let problem = match kept {
            Kept::Written => {
                chat.unkept = false;
                return;
            }
            Kept::Behind => {
                chat.keep_anew = true;
                return self.keep(id);
            }
            Kept::Elsewhere => {
                "another Neovim has this session open: what is said here is not kept until it lets go"
                    .to_owned()
            }
            Kept::Failed(why) => {
                format!("what is said here could not be written down and is not kept ({why})")
            }
        };
        if !std::mem::replace(&mut chat.unkept, true) {
            chat.transcript.note(Severity::Warning, problem, Vec::new());
        }
    }

    /// Neovim is about to end: what agents wait for is answered, and what is not written down yet is.
    pub fn farewell(&mut self) -> Vec<Effect> {
        for id in self.chats.keys().copied().collect::<Vec<_>>() {
            self.settle_all(id, ToolStatus::Cancelled);
            if let Some(chat) = self.chats.get_mut(&id) {
                // No answer will be heard: all of it goes, should it be possible now.
                chat.keep_anew |= chat.unkept;
            }
            self.keep(id);
        }
        std::mem::take(&mut self.effects)
    }

    /// Asks for the sessions of the chat's folder, to go on with the last one.
    pub(super) fn recall_last(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.awaits_store = true;
        let (agent, cwd) = (chat.config.name.clone(), chat.cwd.clone());
        self.effects.push(Effect::Keep(Keeping::Recall(id, agent, cwd)));
    }

    /// Asks for what was said in a session; `claim`ed, no other Neovim goes on with it from then on.
    pub(super) fn reread(&mut self, id: ChatId, session: SessionId, claim: bool) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.awaits_store = true;
        let key = chat.store_key(session);
        self.effects.push(Effect::Keep(Keeping::Reread(id, key, claim)));
    }

    /// The session that was used last in a chat's folder goes on, unless somebody has it open. An older one would surprise.
    pub(super) fn recalled(&mut self, id: ChatId, last: Option<Remembered>) {
        let here = last.as_ref().is_some_and(|last| self.open_as(&last.key()).is_some());
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.last_is_elsewhere = last.as_ref().is_some_and(|last| last.open) && !here;
        match last.filter(|last| !last.open && !here) {
            Some(last) => {
                chat.last = Some(last.id.clone());
                chat.title = last.title;
                self.reread(id, last.id, true);
            }
            None => self.store_answered(id),
        }
    }

    /// The chat that has this session open.
    pub(super) fn open_as(&self, key: &StoreKey) -> Option<ChatId> {
        let StoreKey { cwd, agent, id } = key;
        let its = |chat: &&Chat| {
            chat.config.name == *agent && chat.cwd == *cwd && chat.session.as_ref() == Some(id)
        };
        self.chats.values().find(its).map(|chat| chat.id)
    }

    /// What was said in the session that is to go on.
    pub(super) fn reread_done(&mut self, id: ChatId, past: Past) {
        if let Some(chat) = self.chats.get_mut(&id) {
            if past.is_elsewhere {
                // Another Neovim was quicker.
                (chat.last, chat.title) = (None, None);
                chat.last_is_elsewhere = true;
            } else {
                chat.past = past.entries;
                chat.keep_anew = past.has_gaps;
            }
        }
        self.store_answered(id);
    }

    fn store_answered(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.awaits_store = false;
        if self.link_of(id).is_some_and(|(_, link)| link.stage == Stage::Ready) {
            self.open_session(id);
        }
    }
}

impl Chat {
    /// That it does not use its session any more: another Neovim may go on with it.
    pub(super) fn release(&self) -> Option<Effect> {
        let session = self.session.clone()?;
        Some(Effect::Keep(Keeping::Release(self.store_key(session))))
    }
}
