//! The times that the user has set for turns and for their own answers (`timeouts.prompt`, `timeouts.permission`).

use crate::core::messages::effect::Effect;
use crate::core::messages::event::Timer;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::update::Severity;
use std::time::Duration;

impl State {
    /// A prompt was sent.
    pub(super) fn limit_turn(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (limit, turn) = (chat.config.timeouts.prompt, chat.turn().map(|turn| turn.number));
        if let (Some(after), Some(number)) = (limit, turn) {
            self.effects.push(Effect::Timer { timer: Timer::TurnLimit(id, number), after });
        }
    }

    pub(in crate::core) fn turn_limit_over(&mut self, id: ChatId, number: u64) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if !chat.turn().is_some_and(|turn| turn.number == number && !turn.cancelled) {
            return;
        }
        if chat.awaiting_user.holds_turn() {
            // The time of the user does not count.
            return self.limit_turn(id);
        }
        let limit = chat.config.timeouts.prompt.unwrap_or_default();
        let setting = chat.config.setting("timeouts.prompt");
        let note =
            format!("The turn took longer than {}, so it was cancelled ({setting})", words(limit));
        chat.transcript.note(Severity::Warning, note, Vec::new());
        self.cancel(id);
    }

    /// A permission request waits for the user.
    pub(super) fn limit_permission(&mut self, id: ChatId, request: u64) {
        let limit = self.chats.get(&id).and_then(|chat| chat.config.timeouts.permission);
        if let Some(after) = limit {
            self.effects.push(Effect::Timer { timer: Timer::PermissionLimit(id, request), after });
        }
    }

    pub(in crate::core) fn permission_limit_over(&mut self, id: ChatId, request: u64) {
        let Some((id, waiting)) = self.find_permission(Some(id), Some(request)) else { return };
        self.close_permission(id, &waiting, None);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let limit = chat.config.timeouts.permission.unwrap_or_default();
        let setting = chat.config.setting("timeouts.permission");
        let note = format!(
            "Nobody answered within {}, so the request was cancelled ({setting})",
            words(limit)
        );
        chat.transcript.note(Severity::Warning, note, Vec::new());
    }
}

fn words(limit: Duration) -> String {
    if limit < Duration::from_secs(1) {
        format!("{} ms", limit.as_millis())
    } else {
        format!("{} s", limit.as_secs())
    }
}
