//! Data that agents send in `_meta`: passed on to Lua and stored with the tool call it is about. It has no influence on
//! any decision.

use crate::core::messages::editor::EditorMessage;
use crate::core::messages::ids::AgentId;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::update::Meta;

impl State {
    /// Handles `_meta` of a message about a chat's session.
    pub(in crate::core) fn meta(&mut self, id: ChatId, meta: Meta) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let replayed = chat.replay.is_of_load();
        let of_session = meta.kind == "session_info_update" || meta.kind.contains('/');
        if let (Some(call), Some(json)) = (&meta.id, &meta.json) {
            chat.incoming_mut().set_meta(&call.as_str().into(), json);
        }
        // Replayed data is not reported again, except what describes the session itself.
        if !replayed || of_session {
            let session = chat.session.clone();
            self.after_draw.push(EditorMessage::Meta { chat: id, session, meta });
        }
    }

    /// Handles `_meta` of a reply that is about no session: it is reported for every chat of the agent.
    pub(in crate::core) fn meta_of_agent(&mut self, agent: AgentId, meta: &Meta) {
        for chat in self.chats_on(agent) {
            let meta = meta.clone();
            self.after_draw.push(EditorMessage::Meta { chat, session: None, meta });
        }
    }
}
