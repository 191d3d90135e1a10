//! File changes by agents: has open buffers follow what agents write to disk by themselves, and tells the user about
//! every change, whether it was written through us or not.

use crate::core::chat::{Chat, Phase, Placing};
use crate::core::messages::editor::{EditorMessage, Level, UserAutocmd};
use crate::core::messages::effect::Effect;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::files::{BufferEvent, CallState, FileChange};
use crate::core::messages::notice::Notice;
use crate::core::state::State;
use crate::session::author::Author;
use crate::session::author::ChatId;
use crate::session::ids::ToolCallId;
use crate::session::tool_call::ToolKind;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Maximum number of files named in one notification.
const MAX_NAMED_FILES: usize = 3;

impl State {
    /// Has open buffers follow what the agent wrote to disk, attributed to this tool call if it is known. No paths
    /// means all open files. With `unopened`, changes of other files are looked for, too.
    pub(in crate::core) fn follow_disk(
        &mut self,
        id: ChatId,
        tool_call: Option<ToolCallId>,
        paths: Vec<PathBuf>,
        unopened: bool,
    ) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(session) = chat.key() else { return };
        let by = Author { session, turn: chat.turns, tool_call };
        let scope = chat.file_scope();
        self.effects.push(Effect::FollowDisk { chat: id, by, paths, unopened, scope });
    }

    /// Notes that a tool call of the running turn runs from now on, or no more.
    pub(in crate::core) fn call_is(&mut self, id: ChatId, call: &ToolCallId, state: CallState) {
        let Some(chat) = self.chats.get(&id).filter(|chat| chat.turn().is_some()) else { return };
        let Some(session) = chat.key() else { return };
        let by = Author { session, turn: chat.turns, tool_call: Some(call.clone()) };
        let kind = chat.incoming().find_tool(call).map(|entry| entry.call.kind);
        let is_command = kind == Some(ToolKind::Execute);
        self.effects.push(Effect::CallIs { by, state, is_command });
    }

    /// Records that the agent has read these files from disk. Ignored for an agent that reads through us, because its
    /// edits refer to the text we gave it.
    pub(in crate::core) fn agent_read_disk(&mut self, id: ChatId, paths: Vec<PathBuf>) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(session) = chat.key() else { return };
        if !chat.reads_buffers() {
            let by_model = chat.info.quirks.model_reads_disk;
            self.effects.push(Effect::AgentReadDisk {
                session,
                paths,
                scope: chat.file_scope(),
                by_model,
            });
        }
    }

    /// Watches the files of chats with a running turn: only changes during a turn can be the agent's.
    pub(in crate::core) fn update_watch(&mut self) {
        let running = self.chats.values().filter(|chat| chat.turn().is_some());
        let scope = running.map(Chat::file_scope).collect();
        self.effects.push(Effect::Watch(scope));
    }

    /// Something has happened to a buffer. Only relevant to documents if there are chats.
    pub(in crate::core) fn buffer_event(&mut self, path: PathBuf, event: BufferEvent) {
        let scope: FileScope = self.chats.values().map(Chat::file_scope).collect();
        if scope.is_empty() {
            return;
        }
        if matches!(event, BufferEvent::Changed | BufferEvent::Read) {
            self.show_pending(vec![path.clone()]);
        }
        if event == BufferEvent::Changed {
            return;
        }
        self.effects.push(Effect::Buffer { path, event, scope });
        if event == BufferEvent::Read && self.chats.values().any(|chat| chat.turn().is_some()) {
            self.update_watch();
        }
    }

    pub(in crate::core) fn disk_changed(&mut self, paths: &[PathBuf]) {
        // Several turns may be running; the effect checks whose scope holds the files. The first chat to claim a change
        // is taken to be its author, so chats with a matching tool call go first.
        let running = self.chats.values().filter(|chat| chat.turn().is_some());
        let touching = |chat: &Chat| {
            let tool_call = paths.first().and_then(|path| chat.incoming().touching(path));
            (chat.id, tool_call)
        };
        let mut running: Vec<_> = running.map(touching).collect();
        running.sort_by_key(|(_, tool_call)| tool_call.is_none());
        for (id, tool_call) in running {
            self.follow_disk(id, tool_call, paths.to_vec(), false);
        }
    }

    /// Open buffers have followed their files, or could not.
    pub(in crate::core) fn disk_followed(
        &mut self,
        id: ChatId,
        changes: Vec<FileChange>,
        failed: Vec<(PathBuf, String)>,
    ) {
        self.report_changes(id, changes);
        let Some(chat) = self.chats.get(&id) else { return };
        let (name, scene) = (chat.name().to_owned(), chat.scene());
        let Some((path, why)) = failed.first() else { return };
        let more = match failed.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let path = scene.shorten(path);
        let text = format!("{name} changed {path}, but its buffer was not updated: {why}{more}");
        let notice = Notice::from(text);
        self.notify(
            Level::Warn,
            if failed.len() > 1 { notice.advise("See :RatLog.") } else { notice },
        );
    }

    /// Tells the user about file changes, with one notification for each kind, and about conflicts once in a turn.
    pub(in crate::core) fn report_changes(&mut self, id: ChatId, changes: Vec<FileChange>) {
        let named = |wanted: fn(&FileChange) -> bool| -> Vec<PathBuf> {
            changes.iter().filter(|it| wanted(it)).map(|it| it.path.clone()).collect()
        };
        let mut conflicting = named(|change| change.conflicts > 0);
        if let Some(Phase::Running(turn)) = self.chats.get_mut(&id).map(|chat| &mut chat.phase) {
            // The agent may write the same lines again and again.
            conflicting.retain(|path| turn.conflicts.insert(path.clone()));
            let written = named(|change| change.via == "protocol" && change.hunks > 0);
            let in_place = turn.prompt.in_place.as_ref();
            if !turn.is_placing() && in_place.is_some_and(|edit| written.contains(&edit.path)) {
                turn.placing = Placing::NotNeeded;
            }
        }
        let deleted = named(FileChange::is_deleted_under_buffer);
        let uncertain: BTreeSet<PathBuf> = named(|change| !change.is_certain).into_iter().collect();
        for is_agents in [true, false] {
            let of = |paths: &[PathBuf]| -> Vec<PathBuf> {
                let is_of = |path: &&PathBuf| uncertain.contains(*path) != is_agents;
                paths.iter().filter(is_of).cloned().collect()
            };
            if let Some((name, files)) = self.name_files(id, &of(&conflicting)) {
                let who = if is_agents {
                    format!("{name} changed the same lines as you in {files}")
                } else {
                    format!("The lines you changed in {files} have also changed on disk")
                };
                let text = format!("{who}. Yours are kept; :RatConflicts shows both.");
                self.notify(Level::Warn, text);
            }
            if let Some((name, files)) = self.name_files(id, &of(&deleted)) {
                let who = if is_agents {
                    format!("{name} deleted {files}")
                } else {
                    format!("Deleted on disk: {files}")
                };
                let text = format!("{who}. The text is still in the buffer; :write restores it.");
                self.notify(Level::Warn, text);
            }
        }
        if !changes.is_empty() {
            self.review_changed();
        }
        self.show_pending(changes.iter().map(|change| change.path.clone()).collect());
        for change in changes {
            let happened = UserAutocmd::FileChanged(id, change);
            self.after_draw.push(EditorMessage::Autocommand(happened));
        }
    }

    /// Returns the agent's name and the shortened list of files for a notification; `None` if there are no files.
    fn name_files(&self, id: ChatId, paths: &[PathBuf]) -> Option<(String, String)> {
        let chat = self.chats.get(&id).filter(|_| !paths.is_empty())?;
        let scene = chat.scene();
        let shown: Vec<_> =
            paths.iter().take(MAX_NAMED_FILES).map(|path| scene.shorten(path)).collect();
        let more = match paths.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more files"),
        };
        Some((chat.name().to_owned(), shown.join(", ") + &more))
    }
}
