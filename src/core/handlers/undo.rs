//! Kept turns: lists them, shows what they changed, undoes and redoes them.

use crate::core::chat::{Chat, Turn};
use crate::core::messages::checkpoint::{
    CheckpointCommand, KeptTurn, PlannedAction, PlannedFile, TurnRef, UndoOutcome, UndoPlan,
    UndoRequest, UndoTarget,
};
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Effect;
use crate::core::messages::notice::Notice;
use crate::core::messages::page::PageId;
use crate::core::questions::Question;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::author::{Author, ChatId};
use crate::session::entry::Entry;
use crate::session::label;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How much of a prompt is shown in a question, in characters.
const MAX_PROMPT: usize = 40;

const OFF: &str = "Turns are not kept, since the option review is \"off\"";

impl State {
    /// Reads the files in the folders of a chat before its first turn.
    pub(in crate::core) fn prepare_checkpoints(&mut self, id: ChatId) {
        if self.chats.get(&id).is_some_and(Chat::is_reviewed) {
            let chat = self.chats.get(&id);
            let roots = chat.map(|chat| chat.file_scope().roots).unwrap_or_default();
            self.checkpoint(CheckpointCommand::Prepare(id, roots));
        }
    }

    /// The first scan of a chat's folders takes long: it has read so many files. `None` if it is over.
    pub(in crate::core) fn folder_scanned(&mut self, id: ChatId, files: Option<usize>) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.scanned_files = files;
            chat.redraw.status = true;
        }
    }

    /// Keeps what the turn of a chat, which has ended, has changed.
    pub(in crate::core) fn keep_turn(&mut self, id: ChatId, ended: Option<Turn>) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (Some(session), Some(turn)) = (chat.key(), ended) else { return };
        if turn.is_unsent() {
            return self.checkpoint(CheckpointCommand::Drop(id));
        }
        let by = Author { session, turn: turn.number, tool_call: None };
        let (agent, prompt) = (chat.name().to_owned(), turn.prompt.text);
        self.checkpoint(CheckpointCommand::End { by, agent, prompt });
    }

    pub(in crate::core) fn turn_not_kept(&mut self, why: &str) {
        self.notify(Level::Warn, format!("This turn cannot be undone: {why}"));
    }

    pub(in crate::core) fn list_turns(
        &mut self,
        id: ChatId,
        request: Option<u64>,
        entry: Option<usize>,
    ) {
        if request.is_none() && self.says_that_review_is_off(OFF) {
            return;
        }
        let roots = self.roots(id);
        let Some(chat) = self.chats.get(&id) else { return };
        let of = entry.and_then(|entry| match chat.transcript.entries().get(entry)? {
            Entry::Message(message) => Some((chat.session.clone()?, message.text.clone())),
            _ => None,
        });
        if of.is_none() && entry.is_some() {
            return self.notify(Level::Info, "This prompt was not sent");
        }
        self.checkpoint(CheckpointCommand::List { chat: id, roots, request, of });
    }

    pub(in crate::core) fn turns_listed(
        &mut self,
        id: ChatId,
        turns: Vec<KeptTurn>,
        request: Option<u64>,
        is_of_prompt: bool,
    ) {
        if turns.is_empty() && request.is_none() {
            let text = if is_of_prompt {
                "The turn of this prompt has changed no files"
            } else {
                "No turn has changed files in this folder"
            };
            return self.notify(Level::Info, text);
        }
        self.after_draw.push(EditorMessage::Turns { chat: id, turns, request, is_of_prompt });
    }

    pub(in crate::core) fn show_turn(&mut self, id: ChatId, turn: TurnRef) {
        self.checkpoint(CheckpointCommand::Show(id, turn));
    }

    pub(in crate::core) fn turn_shown(&mut self, id: ChatId, shown: Result<String, String>) {
        match shown {
            Ok(text) => {
                self.show_text((id, PageId::Turn), "What the turn changed", "diff", text, None);
            }
            Err(why) => self.notify(Level::Warn, user_messages::sentence(&why)),
        }
    }

    pub(in crate::core) fn undo(&mut self, id: ChatId, target: UndoTarget, force: bool) {
        if self.says_that_review_is_off(OFF) {
            return;
        }
        if let Some(chat) = self.chats.get(&id).filter(|chat| chat.turn().is_some()) {
            let text = format!(
                "{} is working. Turns can be undone and redone only while none is running.",
                chat.agent_title()
            );
            return self.notify(Level::Warn, Notice::from(text).advise(":RatCancel cancels it."));
        }
        let roots = self.roots(id);
        self.checkpoint(CheckpointCommand::Plan(UndoRequest { chat: id, roots, target, force }));
    }

    /// Shows what an undo would do, and asks.
    pub(in crate::core) fn undo_planned(&mut self, id: ChatId, plan: Result<UndoPlan, String>) {
        let plan = match plan {
            Ok(plan) => plan,
            Err(why) => return self.notify(Level::Info, user_messages::sentence(&why)),
        };
        self.withdraw_questions(|question| matches!(question, Question::Undo(..)));
        let verb = if plan.redoes.is_some() { "Redo" } else { "Undo" };
        let is_left = |file: &PlannedFile| matches!(file.action, PlannedAction::Leave(_));
        let prompt = user_messages::quoted(&label::short(&plan.prompt, MAX_PROMPT));
        if plan.files.iter().all(is_left) {
            let why = plan.files.iter().find_map(|file| match &file.action {
                PlannedAction::Leave(why) => Some((self.shorten(&file.path), why)),
                _ => None,
            });
            let why = why.map_or_else(String::new, |(path, why)| match plan.files.len() {
                1 => format!(": {path}: {why}"),
                count => format!(" in {count} files ({path}: {why})"),
            });
            let text = format!("Nothing of {prompt} to {}{why}", verb.to_lowercase());
            return self.notify(Level::Info, text);
        }
        let again = user_messages::changed_meanwhile(plan.is_again);
        let title = format!("{again}{verb} {prompt}? {}", extent(&plan.files, plan.is_late));
        let items = vec![verb.to_owned(), "Show what would change".to_owned(), "Cancel".to_owned()];
        self.ask(Question::Undo(id, Box::new(plan)), title, items);
    }

    pub(in crate::core) fn undo_answered(
        &mut self,
        id: ChatId,
        plan: Box<UndoPlan>,
        index: Option<usize>,
    ) {
        match index {
            Some(0) => self.checkpoint(CheckpointCommand::Undo(id, plan)),
            Some(1) => {
                let text = self.describe(&plan);
                let verb = if plan.redoes.is_some() { "Redo" } else { "Undo" };
                let title = format!("{verb} {}", extent(&plan.files, plan.is_late));
                self.show_text((id, PageId::Preview), &title, "", text, None);
                // The editor asks once the page is closed.
                self.undo_planned(id, Ok(*plan));
            }
            _ => {}
        }
    }

    fn describe(&self, plan: &UndoPlan) -> String {
        let (verb, heading) = match plan.redoes {
            Some(_) => ("redo", "Redoing"),
            None => ("undo", "Undoing"),
        };
        let prompt = user_messages::quoted(&label::short(&plan.prompt, MAX_PROMPT));
        let mut text = format!("{heading} {prompt} would change:\n\n");
        let files = describe_files(&plan.files, [verb, "restore"], |path| self.shorten(path));
        text.push_str(&files);
        if plan.not_covered > 0 {
            let files = user_messages::count(plan.not_covered, "file");
            let _ = writeln!(text, "\nNot covered: {files}, too large or not readable.");
        }
        if plan.is_late {
            text.push_str(
                "\nThe turn began before all files had been read, so some may be missing here.\n",
            );
        }
        text.push_str("\nIgnored folders and commits stay as they are.\n");
        text.push_str("Press q to return to the question.\n");
        text
    }

    pub(in crate::core) fn undone(
        &mut self,
        id: ChatId,
        plan: &UndoPlan,
        outcome: Result<UndoOutcome, String>,
    ) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(why) => return self.notify(Level::Error, user_messages::sentence(&why)),
        };
        let (done, back) = if plan.redoes.is_some() {
            ("Redid", ":RatUndo undoes it")
        } else {
            ("Undid", ":RatRedo redoes it")
        };
        let is_folder =
            |path: &&PathBuf| plan.files.iter().any(|file| file.is_folder && file.path == **path);
        let folders = outcome.changed.iter().filter(is_folder).count();
        let changed = files_and_folders(outcome.changed.len() - folders, folders);
        let is_done = !outcome.changed.is_empty();
        if is_done {
            self.effects.push(Effect::ForgetDecisions);
            self.rewritten(outcome.changed.clone());
        }
        let mut parts = vec![if is_done {
            format!("{done} the turn in {changed}")
        } else {
            format!("{done} nothing")
        }];
        let unsaved: Vec<_> = outcome.unsaved.iter().map(|path| self.shorten(path)).collect();
        let are = if unsaved.len() == 1 { "is" } else { "are" };
        parts
            .extend(user_messages::names(&unsaved).map(|names| format!("{names} {are} not saved")));
        if outcome.conflicts > 0 {
            let hunks = user_messages::count(outcome.conflicts, "hunk");
            parts.push(format!("{hunks} stayed, because the same lines have changed since"));
        }
        parts.extend(user_messages::left_alone(&outcome.left, |path| self.shorten(path)));
        let mut text = format!("{}.", parts.join("; "));
        if is_done {
            let session = Some(&plan.session);
            let of_turn = |chat: &&mut Chat| chat.session.as_ref() == session;
            if let Some(chat) = self.chats.values_mut().find(of_turn) {
                chat.decisions.undo(&plan.prompt, plan.redoes.is_some());
            }
            // Writing to a string cannot fail.
            let _ = match &outcome.not_kept {
                Some(why) => write!(text, " This cannot be undone: {why}."),
                None => write!(text, " {back}."),
            };
        }
        let is_whole = outcome.not_kept.is_none() && outcome.left.is_empty();
        let is_whole = is_whole && outcome.conflicts == 0;
        self.notify(if is_whole { Level::Info } else { Level::Warn }, text);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.redraw.status = true;
        }
        self.review_changed();
        self.show_pending(outcome.changed);
    }

    /// The folders whose turns can be undone from a chat.
    fn roots(&self, id: ChatId) -> Vec<PathBuf> {
        self.chats.get(&id).map(|chat| chat.reviewed_files().roots).unwrap_or_default()
    }

    fn checkpoint(&mut self, command: CheckpointCommand) {
        self.effects.push(Effect::Checkpoint(command));
    }
}

/// Says what happens to each path, a line each: `verb` is what is done, and `put` what happens to a file as a whole.
pub(super) fn describe_files(
    files: &[PlannedFile],
    [verb, put]: [&str; 2],
    name: impl Fn(&Path) -> String,
) -> String {
    let line = |file: &PlannedFile| {
        let path = name(&file.path);
        let slash = if file.is_folder { "/" } else { "" };
        let what = match &file.action {
            PlannedAction::Restore => put.to_owned(),
            PlannedAction::Mode { from, to } => format!("mode {from:o} to {to:o}"),
            PlannedAction::Replace { now, before } => {
                format!("delete the {now}, {put} the {before}")
            }
            PlannedAction::Delete => "delete".to_owned(),
            PlannedAction::Create => "create".to_owned(),
            PlannedAction::Merge(0) => format!("{verb}; later changes stay"),
            PlannedAction::Merge(conflicts) => {
                let hunks = user_messages::count(*conflicts, "hunk");
                format!("{verb} all but {hunks} with later changes")
            }
            PlannedAction::Leave(why) => format!("leave as it is: {why}"),
        };
        format!("{path}{slash}: {what}\n")
    };
    files.iter().map(line).collect()
}

/// How much a plan would do, in a few words.
pub(super) fn extent(planned: &[PlannedFile], is_late: bool) -> String {
    let (mut files, mut folders, mut left, mut conflicts) = (0, 0, 0, 0);
    for file in planned {
        match file.action {
            PlannedAction::Leave(_) => left += 1,
            _ if file.is_folder => folders += 1,
            _ => files += 1,
        }
        if let PlannedAction::Merge(places) = file.action {
            conflicts += places;
        }
    }
    let mut text = files_and_folders(files, folders);
    // Writing to a string cannot fail.
    if conflicts > 0 {
        let _ = write!(text, ", {}", user_messages::count(conflicts, "conflict"));
    }
    if left > 0 {
        let _ = write!(text, "; {left} left alone");
    }
    if is_late {
        text.push_str(", perhaps not all");
    }
    text
}

pub(super) fn files_and_folders(files: usize, folders: usize) -> String {
    let counted = [(files, "file"), (folders, "folder")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted: Vec<_> = counted.map(|(count, what)| user_messages::count(count, what)).collect();
    counted.join(" and ")
}
