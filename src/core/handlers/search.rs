//! Searching the saved sessions.

use crate::core::messages::editor::EditorMessage;
use crate::core::messages::effect::{Effect, StoreCommand};
use crate::core::state::State;
use crate::session::search::{SearchQuery, SearchResult};

impl State {
    /// Starts a search, which ends the one before it.
    pub(in crate::core) fn search(&mut self, request: u64, query: SearchQuery) {
        self.effects.push(Effect::Store(StoreCommand::Search(request, query)));
    }

    /// Shows what a search has found.
    pub(in crate::core) fn searched(&mut self, request: u64, result: SearchResult) {
        self.after_draw.push(EditorMessage::Found(request, result));
    }
}
