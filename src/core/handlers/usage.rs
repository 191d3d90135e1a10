//! Warns of a context that is nearly full.

use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::update::{Severity, Usage};

/// From how many percent of the context on the user is warned, and below how many they may be warned again.
const NEARLY_FULL: u64 = 90;
const ROOMY: u64 = 75;

impl State {
    /// At the end of a turn, warns once that the context is nearly full; again only after it was emptied.
    pub(super) fn warn_of_full_context(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Some(percent) = chat.usage.as_ref().and_then(Usage::percent) else { return };
        let was_nearly_full = chat.is_nearly_full;
        chat.is_nearly_full = percent >= if was_nearly_full { ROOMY } else { NEARLY_FULL };
        if chat.is_nearly_full && !was_nearly_full {
            let title =
                format!("{percent}% of the context is used: :RatStart! begins a new session");
            let details =
                vec!["The agent may soon summarize or forget what came first.".to_owned()];
            chat.transcript.note(Severity::Warning, title, details);
        }
    }
}
