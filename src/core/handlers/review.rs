//! The user keeps or rejects what agents have changed, and sees in open files what is pending.

use crate::core::chat::{Chat, Decisions};
use crate::core::messages::editor::{EditorMessage, Level, UserAutocmd};
use crate::core::messages::effect::Effect;
use crate::core::messages::event::Timer;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::review::{
    ChangeScope, DecisionScope, PendingFile, Review, ReviewAction, ReviewOutcome, ReviewRequest,
    ReviewedFile,
};
use crate::core::review_updates::INTERVAL;
use crate::core::state::State;
use crate::core::user_messages;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Why there is nothing to review.
pub(super) const OFF: &str = "Changes are not kept for review, since the option review is \"off\"";

impl State {
    pub(in crate::core) fn review(&mut self, request: ReviewRequest) {
        if self.says_that_review_is_off(OFF) {
            return;
        }
        let ReviewRequest { action, chat, scope, paths, from, .. } = request;
        let ReviewRequest { part, hunks, certainty, decision, is_last, .. } = request;
        let changes = match scope {
            DecisionScope::All => ChangeScope::default(),
            DecisionScope::Listed => self.listed.clone(),
            DecisionScope::Turn => {
                let chat = self.find_chat(chat).and_then(|id| self.chats.get(&id));
                let Some(session) = chat.and_then(Chat::key) else {
                    return self.notify(Level::Warn, user_messages::no_chat());
                };
                let turn = chat.map(|chat| chat.turns);
                ChangeScope { session: Some(session), turn, ..ChangeScope::default() }
            }
        };
        let in_place = match action {
            ReviewAction::Keep => Vec::new(),
            ReviewAction::Reject => {
                let edits = self.chats.values().filter(|chat| chat.edit.is_some());
                edits.filter_map(Chat::key).collect()
            }
        };
        let changes = ChangeScope { hunks, certainty, in_place, ..changes };
        let (review, scope) =
            (Review { action, paths, from, part, changes, decision, is_last }, self.all_files());
        self.effects.push(Effect::Review { review, scope });
    }

    /// Whether the user wants no changes to be shown and kept. If so, this tells them.
    pub(super) fn says_that_review_is_off(&mut self, text: &str) -> bool {
        let is_off = !self.chats.is_empty() && !self.chats.values().any(Chat::is_reviewed);
        if is_off {
            self.notify(Level::Warn, text);
        }
        is_off
    }

    /// The files of all chats.
    pub(super) fn all_files(&self) -> FileScope {
        self.chats.values().map(Chat::reviewed_files).collect()
    }

    /// Has the editor show what is pending in these files, if they are loaded.
    pub(in crate::core) fn show_pending(&mut self, paths: Vec<PathBuf>) {
        if self.chats.values().any(Chat::is_reviewed) {
            self.review_updates.add(paths);
        }
    }

    /// Tells the editor what has changed in the review, unless it was told a moment ago.
    pub(in crate::core) fn tell_review_updates(&mut self) {
        let Some((paths, has_changed)) = self.review_updates.take() else { return };
        if !paths.is_empty() {
            let scope = self.all_files();
            self.effects.push(Effect::FindPending { paths, scope });
        }
        if has_changed {
            let changed = EditorMessage::Autocommand(UserAutocmd::ReviewChanged);
            self.after_draw.push(changed);
        }
        self.effects.push(Effect::Timer { timer: Timer::ReviewUpdates, after: INTERVAL });
    }

    pub(in crate::core) fn pending_found(&mut self, files: Vec<PendingFile>) {
        if !files.is_empty() {
            self.review_changed();
        }
        self.after_draw.extend(files.into_iter().map(EditorMessage::Pending));
    }

    /// Other hunks may be pending than before, of which the editor will be told.
    pub(in crate::core) fn review_changed(&mut self) {
        self.review_updates.list_changed();
    }

    /// Has language servers told of files that are not open and have changed by what the user has done here.
    pub(super) fn rewritten(&mut self, paths: Vec<PathBuf>) {
        if !paths.is_empty() {
            self.after_draw.push(EditorMessage::Rewritten(paths));
        }
    }

    /// Decisions were carried out, and the user is told.
    pub(in crate::core) fn reviewed(&mut self, outcome: ReviewOutcome) {
        let ReviewOutcome { action, files, failed, is_last } = outcome;
        self.note_by_session(&files, |decisions, file| {
            decisions.decide(&file.path, action, file.hunks);
        });
        if action == ReviewAction::Reject {
            self.rewritten(changed_paths(&files));
        }
        let (all, not_done) = &mut self.decided;
        all.extend(files.iter().cloned());
        not_done.extend(failed);
        if is_last {
            let (all, not_done) = std::mem::take(&mut self.decided);
            let (level, text) = self.tell_decision(action, &all, &not_done);
            self.notify(level, text);
        }
        self.review_changed();
        self.show_pending(files.into_iter().map(|file| file.path).collect());
    }

    /// Says in one line what became of a decision: Neovim shows only the last one.
    fn tell_decision(
        &self,
        action: ReviewAction,
        files: &[ReviewedFile],
        failed: &[(PathBuf, String)],
    ) -> (Level, String) {
        let verb = match action {
            ReviewAction::Keep => "Accepted",
            ReviewAction::Reject => "Rejected",
        };
        let staying: Vec<&ReviewedFile> = files.iter().filter(|file| file.conflicts > 0).collect();
        let is_all = failed.is_empty() && staying.is_empty();
        let is_rejection = action == ReviewAction::Reject;
        let is_unsaved = |file: &ReviewedFile| file.is_unsaved && file.hunks > 0 && is_rejection;
        let unsaved = if files.iter().any(is_unsaved) { " (not saved)" } else { "" };
        let done = self.what_was_reviewed(files, is_all);
        let done = done.map(|what| format!("{verb} {what}{unsaved}"));
        let stays = staying.first().map(|first| {
            let count =
                user_messages::count(staying.iter().map(|file| file.conflicts).sum(), "hunk");
            let paths: BTreeSet<&PathBuf> = staying.iter().map(|file| &file.path).collect();
            let place = match paths.len() {
                1 => self.shorten(&first.path),
                count => format!("{count} files"),
            };
            let advice = match action {
                ReviewAction::Keep => ":RatAccept on the hunk itself accepts it",
                ReviewAction::Reject => {
                    ":RatReject on the hunk itself restores its old lines beside yours"
                }
            };
            format!("{count} in {place} stayed, because you edited the same lines: {advice}")
        });
        let failure = failed.first().map(|(path, why)| format!("{}: {why}", self.shorten(path)));
        let level = match (&failure, &stays) {
            (Some(_), _) => Level::Error,
            (None, Some(_)) => Level::Warn,
            (None, None) if !unsaved.is_empty() => Level::Warn,
            (None, None) => Level::Info,
        };
        let parts: Vec<String> = done.into_iter().chain(stays).chain(failure).collect();
        if parts.is_empty() {
            let verb = match action {
                ReviewAction::Keep => "accept",
                ReviewAction::Reject => "reject",
            };
            return (level, format!("No pending changes to {verb} here"));
        }
        (level, parts.join("; "))
    }

    /// The last decision was taken back, and the user is told.
    pub(in crate::core) fn taken_back(
        &mut self,
        action: Option<ReviewAction>,
        files: Vec<ReviewedFile>,
        left: &[(PathBuf, String)],
    ) {
        let Some(action) = action else {
            return self.notify(Level::Info, "Nothing to take back");
        };
        self.note_by_session(&files, |decisions, file| {
            decisions.take_back(&file.path, action, file.hunks);
        });
        if action == ReviewAction::Reject {
            self.rewritten(changed_paths(&files));
        }
        let done = self.what_was_reviewed(&files, left.is_empty());
        let done = done.map(|what| format!("Pending again: {what}"));
        let left = user_messages::left_alone(left, |path| self.shorten(path));
        let level = if left.is_some() { Level::Warn } else { Level::Info };
        let parts: Vec<String> = done.into_iter().chain(left).collect();
        self.notify(level, user_messages::sentence(&parts.join("; ")));
        self.review_changed();
        self.show_pending(files.into_iter().map(|file| file.path).collect());
    }

    /// Notes decisions for the next prompts of the sessions whose changes they were about.
    fn note_by_session(
        &mut self,
        files: &[ReviewedFile],
        note: impl Fn(&mut Decisions, &ReviewedFile),
    ) {
        for file in files {
            for session in &file.sessions {
                let chat =
                    self.chats.values_mut().find(|chat| chat.key().as_ref() == Some(session));
                if let Some(chat) = chat {
                    note(&mut chat.decisions, file);
                }
            }
        }
    }

    /// Says what a decision was about, in a few words; `None` if it was about nothing. `is_all` says that it was carried out
    /// wherever it was to be.
    fn what_was_reviewed(&self, files: &[ReviewedFile], is_all: bool) -> Option<String> {
        let is_changed = |file: &&ReviewedFile| file.hunks > 0 || file.is_whole;
        let changed = || files.iter().filter(is_changed);
        let paths: BTreeSet<&PathBuf> = changed().map(|file| &file.path).collect();
        let place = match paths.len() {
            0 => return None,
            1 => paths.first().map(|path| self.shorten(path)).unwrap_or_default(),
            count => format!("{count} files"),
        };
        let mut from = changed().map(|file| file.from.as_ref());
        let first = from.next().flatten().filter(|first| from.all(|it| it == Some(*first)));
        if let Some(from) = first.filter(|_| is_all) {
            return Some(format!("the rename of {}", self.shorten(from)));
        }
        // Counted as the review counts them, which has none for a file without lines.
        let hunks: usize = files.iter().filter(|file| !file.is_form).map(|file| file.hunks).sum();
        let lines: Option<usize> = changed().map(|file| file.lines).sum();
        Some(match (lines, hunks) {
            (Some(lines), _) => format!("{} in {place}", user_messages::count(lines, "line")),
            (None, 0) => format!("the change to {place}"),
            (None, hunks) => format!("{} in {place}", user_messages::count(hunks, "hunk")),
        })
    }

    /// A path as the chat whose folder it is in shows it.
    pub(super) fn shorten(&self, path: &Path) -> String {
        let folders = self.chats.values().flat_map(|chat| [chat.cwd.as_path(), chat.project()]);
        let short = folders.filter_map(|folder| path.strip_prefix(folder).ok());
        let short = short.map(|short| short.display().to_string());
        short.min_by_key(String::len).unwrap_or_else(|| path.display().to_string())
    }
}

/// The files that decisions have changed, and the old names of those that were moved.
fn changed_paths(files: &[ReviewedFile]) -> Vec<PathBuf> {
    let is_changed = |file: &&ReviewedFile| file.hunks > 0 || file.is_whole;
    let changed = files.iter().filter(is_changed);
    changed.flat_map(|file| file.from.iter().chain([&file.path])).cloned().collect()
}
