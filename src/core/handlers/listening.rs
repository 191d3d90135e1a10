//! What scripts that listen are told: updates of agents, turns, permission requests. It has no influence on any decision.

use crate::core::chat::{LateReplay, PendingPermission};
use crate::core::listening::kind_of;
use crate::core::messages::conversation::{ConversationEvent, EventKind, ToolCallEvent};
use crate::core::messages::editor::{EditorMessage, UserAutocmd};
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::ids::{OptionId, ToolCallId};
use crate::session::tool_call::ToolCallPatch;
use crate::session::update::Update;

impl State {
    /// Handles an update of a session.
    pub(in crate::core) fn update(&mut self, id: ChatId, update: Update) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.is_replayed(&update) {
            return;
        }
        if let Some(late) = chat.replay.late_mut().filter(|_| update.is_conversation()) {
            for update in late.sift(&chat.transcript, update) {
                self.accept(id, update);
            }
            return;
        }
        self.accept(id, update);
    }

    /// Shows what was held back, since it may have been replayed, and now the turn is over.
    pub(super) fn accept_held(&mut self, id: ChatId) {
        let late = self.chats.get_mut(&id).and_then(|chat| chat.replay.late_mut());
        for update in late.map(LateReplay::take_held).unwrap_or_default() {
            self.accept(id, update);
        }
    }

    fn accept(&mut self, id: ChatId, update: Update) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let is_replayed = chat.replay.loading().is_some();
        let called = match &update {
            _ if !self.listening.wants(kind_of(&update)) => None,
            // Told afterwards, because the update need not say what the call is.
            Update::ToolCall { id: call, patch } => {
                let is_new = chat.incoming().find_tool(call).is_none();
                Some((call.clone(), patch.as_ref().clone(), is_new))
            }
            update => {
                let update = update.clone();
                self.listening.tell(id, ConversationEvent::Update { update, is_replayed });
                None
            }
        };
        self.apply_update(id, update);
        if let Some((call, patch, is_new)) = called {
            self.tell_tool_call(id, call, patch, is_new, is_replayed);
        }
    }

    fn tell_tool_call(
        &mut self,
        id: ChatId,
        call: ToolCallId,
        patch: ToolCallPatch,
        is_new: bool,
        is_replayed: bool,
    ) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(now) = chat.incoming().find_tool(&call).map(|entry| &entry.call) else { return };
        let (title, kind, status) = (now.title.clone(), now.kind, now.status);
        let event = ToolCallEvent { id: call, patch, is_new, title, kind, status, is_replayed };
        self.listening.tell(id, ConversationEvent::ToolCall(Box::new(event)));
    }

    pub(super) fn tell_turn_start(&mut self, id: ChatId, prompt: Option<String>) {
        self.after_draw.push(EditorMessage::Autocommand(UserAutocmd::TurnStart(id)));
        if self.listening.wants(EventKind::TurnStart) {
            self.listening.tell(id, ConversationEvent::TurnStart { prompt });
        }
    }

    pub(super) fn tell_turn_end(&mut self, id: ChatId, stop_reason: &str, next: bool) {
        let stop_reason = stop_reason.to_owned();
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.last_stop = Some(stop_reason.clone());
            chat.redraw.status = true;
        }
        let ended = UserAutocmd::TurnEnd(id, stop_reason.clone(), next);
        self.after_draw.push(EditorMessage::Autocommand(ended));
        if self.listening.wants(EventKind::TurnEnd) {
            self.listening.tell(id, ConversationEvent::TurnEnd { stop_reason, next });
        }
    }

    /// Tells of a permission request that waits.
    pub(super) fn tell_permission_asked(&mut self, id: ChatId, request: u64, title: String) {
        let happened = UserAutocmd::Permission(id, request, title);
        self.after_draw.push(EditorMessage::Autocommand(happened));
        if !self.listening.wants(EventKind::Permission) {
            return;
        }
        let waiting = self.chats.get(&id).and_then(|chat| chat.waiting_permission(request));
        if let Some(waiting) = waiting {
            self.listening.tell(id, ConversationEvent::PermissionAsked(Box::new(waiting)));
        }
    }

    /// Tells of a permission request that was answered, with an option unless it was cancelled.
    pub(super) fn tell_permission_decided(
        &mut self,
        id: ChatId,
        decided: &PendingPermission,
        option: Option<&OptionId>,
    ) {
        if !self.listening.wants(EventKind::Permission) {
            return;
        }
        let PendingPermission { id: request, tool_call, options, by, .. } = decided;
        let call = self.chats.get(&id).and_then(|chat| chat.incoming().find_tool(tool_call));
        let decided = ConversationEvent::PermissionDecided {
            id: *request,
            tool_call: tool_call.clone(),
            title: call.map(|entry| entry.call.title.clone()).unwrap_or_default(),
            option: options.iter().find(|it| Some(&it.id) == option).cloned(),
            is_automatic: !by.is_user(),
        };
        self.listening.tell(id, decided);
    }
}
