//! What agents change: files they write to disk themselves, of which buffers are to follow, and what the user is told of
//! every change, whichever way it came.

use super::chat::Chat;
use super::effect::{Effect, Happened, Level, ToEditor};
use super::event::{BufferFact, ChatId, FileChange};
use super::reach::Reach;
use super::state::State;
use crate::session::author::Author;
use crate::session::ids::ToolCallId;
use std::path::PathBuf;

/// So many files are named in one line.
const MOST_NAMES: usize = 3;

impl State {
    /// Has open buffers follow what the agent wrote to disk, with this tool call if that is known; no paths means all of
    /// them.
    pub(super) fn adopt(&mut self, id: ChatId, tool_call: Option<ToolCallId>, paths: Vec<PathBuf>) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(session) = chat.key() else { return };
        let by = Author { session, turn: chat.turns, tool_call };
        self.effects.push(Effect::Adopt { chat: id, by, paths, reach: chat.reach() });
    }

    /// An agent that reads the disk itself refers to what it saw there; one that reads through us to what we said.
    pub(super) fn seen(&mut self, id: ChatId, paths: Vec<PathBuf>) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(session) = chat.key() else { return };
        if !chat.reads_buffers() {
            let by_model = chat.info.quirks.model_reads_disk;
            self.effects.push(Effect::Seen { session, paths, reach: chat.reach(), by_model });
        }
    }

    /// Only what happens during a turn may be the agent's doing.
    pub(super) fn watch(&mut self) {
        let running = self.chats.values().filter(|chat| chat.turn().is_some());
        let reach = running.map(Chat::reach).collect();
        self.effects.push(Effect::Watch(reach));
    }

    /// Documents know of it, as far as agents have to do with them.
    pub(super) fn buffer(&mut self, path: PathBuf, fact: BufferFact) {
        let reach: Reach = self.chats.values().map(Chat::reach).collect();
        if reach.is_empty() {
            return;
        }
        self.effects.push(Effect::Buffer { path, fact, reach });
        if fact == BufferFact::Read && self.chats.values().any(|chat| chat.turn().is_some()) {
            self.watch();
        }
    }

    pub(super) fn disk_changed(&mut self, paths: &[PathBuf]) {
        // Several may run at once: the effect checks whose roots hold the files. Who comes first is taken for the one
        // who did it, and that is who has a tool call for it.
        let running = self.chats.values().filter(|chat| chat.turn().is_some());
        let touching = |chat: &Chat| {
            let tool_call = paths.first().and_then(|path| chat.said().touching(path));
            (chat.id, tool_call)
        };
        let mut running: Vec<_> = running.map(touching).collect();
        running.sort_by_key(|(_, tool_call)| tool_call.is_none());
        for (id, tool_call) in running {
            self.adopt(id, tool_call, paths.to_vec());
        }
    }

    /// Buffers have followed their files, or could not: then why.
    pub(super) fn adopted(
        &mut self,
        id: ChatId,
        changes: Vec<FileChange>,
        failed: Vec<(PathBuf, String)>,
    ) {
        self.changed(id, changes);
        let Some(chat) = self.chats.get(&id) else { return };
        let (name, scene) = (chat.name().to_owned(), chat.scene());
        let Some((path, why)) = failed.first() else { return };
        let more = match failed.len() {
            1 => String::new(),
            count => format!(" (and {} more: see :RatLog)", count - 1),
        };
        let path = scene.shorten(path);
        let text = format!("{name} changed {path}, and its buffer does not follow: {why}{more}");
        self.notify(Level::Warn, text);
    }

    /// Tells of changes of files, each kind in one line.
    pub(super) fn changed(&mut self, id: ChatId, changes: Vec<FileChange>) {
        let named = |wanted: fn(&FileChange) -> bool| -> Vec<PathBuf> {
            changes.iter().filter(|it| wanted(it)).map(|it| it.path.clone()).collect()
        };
        let contested = named(|change| change.conflicts > 0);
        let deleted = named(|change| change.deleted);
        if let Some((name, files)) = self.names(id, &contested) {
            let text = format!(
                "{name} changed {files} where you did, too: your text stays until you decide \
                 (:RatConflicts)"
            );
            self.notify(Level::Warn, text);
        }
        if let Some((name, files)) = self.names(id, &deleted) {
            let text = format!(
                "{name} deleted {files}: the text stays in the buffer, :write brings it back"
            );
            self.notify(Level::Warn, text);
        }
        for change in changes {
            let happened = Happened::FileChanged(id, change);
            self.after.push(ToEditor::Autocommand(happened));
        }
    }

    /// The agent, and some files as one says them; `None` where there are none.
    fn names(&self, id: ChatId, paths: &[PathBuf]) -> Option<(String, String)> {
        let chat = self.chats.get(&id).filter(|_| !paths.is_empty())?;
        let scene = chat.scene();
        let shown: Vec<_> = paths.iter().take(MOST_NAMES).map(|path| scene.shorten(path)).collect();
        let more = match paths.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more files"),
        };
        Some((chat.name().to_owned(), shown.join(", ") + &more))
    }
}
