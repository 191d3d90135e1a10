//! Git worktrees that sessions work in: merging what has changed in one into the user's folder, and removing one.

use super::undo::{describe_files, extent, files_and_folders};
use crate::core::chat::Chat;
use crate::core::messages::checkpoint::PlannedAction;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Effect;
use crate::core::messages::notice::Notice;
use crate::core::messages::page::PageId;
use crate::core::messages::user::WorktreeAction;
use crate::core::messages::worktree::{
    MergeOutcome, MergePlan, MergeRequest, NewWorktree, Worktree, WorktreeCommand,
};
use crate::core::questions::Question;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::author::{Author, ChatId};
use crate::session::update::Severity;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const HOW_TO_START: &str = ":RatStart! AGENT worktree starts a chat in one.";
const OFF: &str = "The option review is \"off\", so nothing can be merged from a worktree";

impl State {
    pub(in crate::core) fn worktree_action(&mut self, action: WorktreeAction) {
        match action {
            WorktreeAction::Create { request, cwd, below, agent } => {
                self.worktree(WorktreeCommand::Create { request, cwd, below, agent });
            }
            WorktreeAction::Merge(chat, all) => {
                self.with_chat(chat, |state, id| state.merge_requested(id, all));
            }
            WorktreeAction::Remove(chat) => self.with_chat(chat, Self::remove_worktree),
        }
    }

    fn worktree(&mut self, command: WorktreeCommand) {
        self.effects.push(Effect::Worktree(command));
    }

    pub(in crate::core) fn worktree_created(
        &mut self,
        request: u64,
        created: Result<NewWorktree, String>,
    ) {
        self.after_draw.push(EditorMessage::Worktree(request, created));
    }

    /// Returns the worktree of a chat whose agent is idle; otherwise the user is told.
    fn idle_worktree(&mut self, id: ChatId, what: &str) -> Option<Arc<Worktree>> {
        let chat = self.chats.get(&id)?;
        let Some(worktree) = chat.access.policy.worktree.clone() else {
            let folder = name_of(&chat.cwd);
            let text = format!("{} in {folder} is not in a worktree.", chat.agent_title());
            self.notify(Level::Warn, Notice::from(text).advise(HOW_TO_START));
            return None;
        };
        if chat.turn().is_some() {
            let text = format!("A worktree can be {what} only while no turn is running.");
            self.notify(Level::Warn, Notice::from(text).advise(":RatCancel cancels it."));
            return None;
        }
        Some(worktree)
    }

    fn merge_requested(&mut self, id: ChatId, all: bool) {
        if self.says_that_review_is_off(OFF) {
            return;
        }
        let Some(worktree) = self.idle_worktree(id, "merged") else { return };
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(session) = chat.key() else {
            let text = format!("{} has not begun its session yet", chat.agent_title());
            return self.notify(Level::Warn, text);
        };
        let by = Author { session, turn: chat.turns, tool_call: None };
        let (agent, cwd) = (chat.name().to_owned(), chat.cwd.clone());
        self.worktree(WorktreeCommand::Plan(MergeRequest { by, agent, worktree, cwd, all }));
    }

    /// Shows what a merge would do, and asks.
    pub(in crate::core) fn merge_planned(&mut self, id: ChatId, plan: Result<MergePlan, String>) {
        let plan = match plan {
            Ok(plan) => plan,
            Err(why) => return self.notify(Level::Error, format!("Could not merge: {why}")),
        };
        self.withdraw_questions(|question| matches!(question, Question::Merge(..)));
        let name = plan.request.name();
        let elsewhere = outside(&plan);
        if plan.files.is_empty() {
            let new = if plan.request.all { "" } else { " new" };
            let notice = Notice::from(format!("Nothing{new} to merge from {name}{elsewhere}."));
            let again = ":RatWorktree! merge merges everything again.";
            let notice = if plan.request.all { notice } else { notice.advise(again) };
            return self.notify(Level::Info, notice);
        }
        if plan.files.iter().all(|file| matches!(file.action, PlannedAction::Leave(_))) {
            let left = plan.files.iter().filter_map(|file| match &file.action {
                PlannedAction::Leave(why) => Some((file.path.clone(), why.clone())),
                _ => None,
            });
            let left: Vec<_> = left.collect();
            let left = user_messages::left_alone(&left, |path| below(&plan.root, path));
            let text =
                format!("Merged nothing from {name}{elsewhere}; {}", left.unwrap_or_default());
            return self.notify(Level::Warn, text);
        }
        let again = user_messages::changed_meanwhile(plan.is_again);
        let title = format!("{again}Merge {name}? {}{elsewhere}", extent(&plan.files, false));
        let items = ["Merge", "Show what would change", "Cancel"].map(str::to_owned).to_vec();
        self.ask(Question::Merge(id, Box::new(plan)), title, items);
    }

    pub(in crate::core) fn merge_answered(
        &mut self,
        id: ChatId,
        plan: Box<MergePlan>,
        index: Option<usize>,
    ) {
        match index {
            Some(0) if self.idle_worktree(id, "merged").is_some() => {
                self.worktree(WorktreeCommand::Merge(plan));
            }
            Some(1) => {
                let name = plan.request.name();
                let project = name_of(&plan.request.worktree.project);
                let text = format!(
                    "Merging {name} would change in {project}:\n\n{}\nCommits and ignored files stay in the worktree.\nPress q to \
                     return to the question.\n",
                    describe_files(&plan.files, ["merge", "change"], |path| below(
                        &plan.root, path
                    )),
                );
                let title = format!("Merge {}", extent(&plan.files, false));
                self.show_text((id, PageId::Preview), &title, "", text, None);
                // The editor asks once the page is closed.
                self.merge_planned(id, Ok(*plan));
            }
            _ => {}
        }
    }

    pub(in crate::core) fn merged(
        &mut self,
        plan: &MergePlan,
        outcome: Result<MergeOutcome, String>,
    ) {
        let (outcome, accepted) = match outcome {
            Ok(MergeOutcome { project, accepted }) => (project, accepted),
            Err(why) => return self.notify(Level::Error, format!("Could not merge: {why}")),
        };
        let MergeRequest { by, worktree, .. } = &plan.request;
        let is_folder =
            |path: &&PathBuf| plan.files.iter().any(|file| file.is_folder && file.path == **path);
        let folders = outcome.changed.iter().filter(is_folder).count();
        let changed = files_and_folders(outcome.changed.len() - folders, folders);
        let is_done = !outcome.changed.is_empty();
        let project = name_of(&worktree.project);
        let merged = if is_done { changed.as_str() } else { "nothing" };
        let mut parts = vec![format!("Merged {merged} into {project}")];
        let named = |path: &Path| below(&plan.root, path);
        let unsaved: Vec<_> = outcome.unsaved.iter().map(|path| named(path)).collect();
        let are = if unsaved.len() == 1 { "is" } else { "are" };
        parts
            .extend(user_messages::names(&unsaved).map(|names| format!("{names} {are} not saved")));
        parts.extend(user_messages::left_alone(&outcome.left, named));
        let mut text = format!("{}.", parts.join("; "));
        if let Some(why) = &outcome.not_kept {
            // Writing to a string cannot fail.
            let _ = write!(text, " This cannot be undone: {why}.");
        }
        if is_done {
            self.effects.push(Effect::ForgetDecisions);
            self.rewritten(outcome.changed.clone());
        }
        let is_whole = outcome.not_kept.is_none() && outcome.left.is_empty();
        let notice = Notice::from(text);
        let notice =
            if is_done { notice.advise(":RatReview lists what is pending.") } else { notice };
        if let Some(chat) = self.chats.get_mut(&by.session.chat) {
            let severity = if is_whole { Severity::Info } else { Severity::Warning };
            chat.transcript.note(severity, notice.to_string(), Vec::new());
            chat.redraw.status = true;
        }
        self.notify(if is_whole { Level::Info } else { Level::Warn }, notice);
        self.review_changed();
        self.show_pending([outcome.changed, accepted].concat());
    }

    fn remove_worktree(&mut self, id: ChatId) {
        if let Some(worktree) = self.idle_worktree(id, "removed") {
            let cwd = self.chats.get(&id).map(|chat| chat.cwd.clone()).unwrap_or_default();
            self.worktree(WorktreeCommand::Check(id, worktree, cwd));
        }
    }

    /// Removes a worktree of which everything is in the project, and asks if there is more in it.
    pub(in crate::core) fn worktree_checked(&mut self, id: ChatId, count: Result<usize, String>) {
        let Some(worktree) = self.idle_worktree(id, "removed") else { return };
        let name = name_of(&worktree.top);
        let title = match count {
            Ok(0) => return self.remove_now(id, worktree),
            Ok(count) => {
                let files = user_messages::count(count, "changed file");
                let differ = if count == 1 { "differs" } else { "differ" };
                format!("Remove {name}? {files} {differ} from yours")
            }
            Err(why) => {
                format!("Remove {name}? Its changes could not be compared with your files: {why}")
            }
        };
        let items = vec!["Remove it with its changes".to_owned(), "Cancel".to_owned()];
        self.ask(Question::RemoveWorktree(id), title, items);
    }

    pub(in crate::core) fn removal_answered(&mut self, id: ChatId, index: Option<usize>) {
        if index == Some(0)
            && let Some(worktree) = self.idle_worktree(id, "removed")
        {
            self.remove_now(id, worktree);
        }
    }

    fn remove_now(&mut self, id: ChatId, worktree: Arc<Worktree>) {
        let is_in_it = |chat: &&Chat| chat.access.policy.worktree.as_ref() == Some(&worktree);
        let chats: Vec<ChatId> = self.chats.values().filter(is_in_it).map(|chat| chat.id).collect();
        let is_busy = |other: &ChatId| {
            *other != id && self.chats.get(other).is_some_and(|chat| chat.turn().is_some())
        };
        if chats.iter().any(is_busy) {
            let text = format!(
                "Another chat is working in {}, so it was not removed",
                name_of(&worktree.top)
            );
            return self.notify(Level::Warn, text);
        }
        for chat in chats {
            self.close_chat(chat);
        }
        self.worktree(WorktreeCommand::Remove(worktree));
    }

    pub(in crate::core) fn worktree_removed(
        &mut self,
        worktree: &Worktree,
        removed: Result<(), String>,
    ) {
        let name = name_of(&worktree.top);
        match removed {
            Ok(()) => self.notify(Level::Info, format!("Removed the worktree {name}")),
            Err(why) => self.notify(Level::Error, format!("Could not remove {name}: {why}")),
        }
    }
}

/// Names a file of the project that a merge is about.
fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// What a merge leaves out.
fn outside(plan: &MergePlan) -> String {
    if plan.outside == 0 {
        return String::new();
    }
    let files = user_messages::count(plan.outside, "file");
    format!(", without {files} outside of this folder")
}

/// What a folder is called.
fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}
