//! What agents add to what the protocol says (`_meta`): handed on to Lua and kept with the tool call it is about. Nothing
//! is decided by it.

use super::effect::ToEditor;
use super::event::{AgentId, ChatId};
use super::state::State;
use crate::session::update::Meta;

impl State {
    /// It came with something said of a chat's session.
    pub(super) fn meta(&mut self, id: ChatId, meta: Meta) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let replayed = chat.replay.is_some() || chat.reloaded;
        let of_session = meta.kind == "session_info_update" || meta.kind.contains('/');
        if let (Some(call), Some(json)) = (&meta.id, &meta.json) {
            chat.spoken().keep_meta(&call.as_str().into(), json);
        }
        // What a loaded session says again is no news, but for what is known of the session itself.
        if !replayed || of_session {
            let session = chat.session.clone();
            self.after.push(ToEditor::Meta { chat: id, session, meta });
        }
    }

    /// It came with an answer that is about no session: all who are on that agent hear of it.
    pub(super) fn meta_of_agent(&mut self, agent: AgentId, meta: &Meta) {
        for chat in self.chats_on(agent) {
            let meta = meta.clone();
            self.after.push(ToEditor::Meta { chat, session: None, meta });
        }
    }
}
