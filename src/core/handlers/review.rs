//! The user keeps or rejects what agents have changed, and sees in open files what is pending.

use crate::core::chat::Chat;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Effect;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::review::{
    ChangeScope, PendingFile, Review, ReviewAction, ReviewRequest, ReviewedFile,
};
use crate::core::state::State;
use std::path::PathBuf;

impl State {
    pub(in crate::core) fn review(&mut self, request: ReviewRequest) {
        let ReviewRequest { action, last_turn_of, path, lines } = request;
        let mut changes = ChangeScope { lines, ..ChangeScope::default() };
        if let Some(chat) = last_turn_of {
            let chat = self.find_chat(chat).and_then(|id| self.chats.get(&id));
            let Some(session) = chat.and_then(Chat::key) else {
                return self.notify(Level::Warn, "No chat is open. :RatStart starts one.");
            };
            changes.turn = chat.map(|chat| chat.turns);
            changes.session = Some(session);
        }
        let (review, scope) = (Review { action, path, changes }, self.all_files());
        self.effects.push(Effect::Review { review, scope });
    }

    /// The files of all chats.
    fn all_files(&self) -> FileScope {
        self.chats.values().map(Chat::file_scope).collect()
    }

    /// Has the editor show what is pending in these files, if they are loaded.
    pub(in crate::core) fn show_pending(&mut self, paths: Vec<PathBuf>) {
        if !paths.is_empty() {
            let scope = self.all_files();
            self.effects.push(Effect::FindPending { paths, scope });
        }
    }

    pub(in crate::core) fn pending_found(&mut self, files: Vec<PendingFile>) {
        self.after_draw.extend(files.into_iter().map(EditorMessage::Pending));
    }

    /// Decisions were carried out. Nobody is told of hunks that were decided where they are seen.
    pub(in crate::core) fn reviewed(
        &mut self,
        action: ReviewAction,
        files: Vec<ReviewedFile>,
        failed: &[(PathBuf, String)],
    ) {
        if let Some((path, why)) = failed.first() {
            let text = format!("{}: {why}", self.short(path));
            self.notify(Level::Error, text);
        }
        let hunks: usize = files.iter().map(|file| file.hunks).sum();
        let verb = match action {
            ReviewAction::Keep => "Accepted",
            ReviewAction::Reject => "Rejected",
        };
        let changed: Vec<&ReviewedFile> = files.iter().filter(|file| file.hunks > 0).collect();
        let place = match &changed[..] {
            [] => String::new(),
            [file] => self.short(&file.path),
            files => format!("{} files", files.len()),
        };
        let staying: Vec<&ReviewedFile> = files.iter().filter(|file| file.conflicts > 0).collect();
        if let Some(first) = staying.first() {
            let count: usize = staying.iter().map(|file| file.conflicts).sum();
            let text = format!(
                "{} stayed, because you changed the same lines since ({})",
                plural(count, "hunk"),
                self.short(&first.path)
            );
            self.notify(Level::Warn, text);
        }
        if hunks > 0 {
            self.notify(Level::Info, format!("{verb} {} in {place}", plural(hunks, "hunk")));
        } else if failed.is_empty() && staying.is_empty() {
            self.notify(Level::Info, "No pending changes there");
        }
        self.show_pending(files.into_iter().map(|file| file.path).collect());
    }

    /// A path as the first chat shows it.
    fn short(&self, path: &std::path::Path) -> String {
        let chat = self.chats.values().next();
        chat.map_or_else(|| path.display().to_string(), |chat| chat.scene().shorten(path))
    }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
