//! Changes in place: how an agent is asked for one, and the write that puts the code of its answer in place of the lines. That
//! write is made like one that the agent requests, and belongs to the turn of the answer.

use crate::core::chat::{Chat, Phase, Placing, Turn};
use crate::core::messages::agent::REQUEST_CANCELLED;
use crate::core::messages::editor::{EditOutcome, EditorMessage, Level};
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::file_scope::AllowedPath;
use crate::core::messages::files::Consent;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::notice::Notice;
use crate::core::messages::policy::{ReviewMode, WriteDirty};
use crate::core::messages::user::{NewEdit, SessionTarget};
use crate::core::requests::{PendingRequest, Requester};
use crate::core::state::State;
use crate::edit::fit_indent;
use crate::session::author::{Author, ChatId};
use crate::session::content::Content;
use crate::session::entry::Entry;
use crate::session::in_place::InPlace;
use crate::session::prompt::{Attachment, Body, FilesRead, Prompt, fence_for};
use crate::session::tool_call::{ToolKind, ToolStatus};
use crate::session::turn::StopReason;
use crate::session::update::{Role, Severity};
use crate::view::code_block::last_code_block;
use std::sync::Arc;
use url::Url;

/// How much of the file the agent is sent, in bytes.
const MAX_SURROUNDINGS: usize = 64 << 10;

/// How to ask again.
const AGAIN: &str = ":RatEdit there asks again.";

/// What to do with the answer of a turn.
enum Placement {
    /// Give the file this text.
    Write(String),
    /// Nothing.
    Over(EditOutcome, Option<(Level, Notice)>),
}

impl Chat {
    /// Names the lines of a change in place, such as `src/a.rs:3-9`.
    fn place(&self, edit: &InPlace) -> String {
        self.asked_about(edit, String::new()).title()
    }

    fn asked_about(&self, edit: &InPlace, text: String) -> Attachment {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (first, last) = edit.numbers();
        Attachment {
            uri: Url::from_file_path(&edit.path).map(String::from).unwrap_or_default(),
            label: self.scene().shorten(&edit.path),
            lines: Some((number(first), number(last))),
            part: None,
            mime: None,
            body: Body::Text(text),
        }
    }

    /// Returns how the agent is asked for a change in place, after the words of the user: what to answer, and the text.
    pub(super) fn request_in_place(&self, edit: &InPlace) -> Vec<Content> {
        let (place, wanted) = (self.place(edit), edit.wanted().join("\n"));
        let fence = fence_for(&wanted);
        let (start, around) = edit.surroundings(MAX_SURROUNDINGS);
        let around = around.join("\n") + "\n";
        let request = format!(
            "Answer with one fenced code block: the text that replaces {place}, complete and with its indentation. It must not \
             repeat what comes before or after these lines. If it contains a code fence itself, use a longer one around it. Do \
             not edit files for this: the editor puts the block in place of the lines. These are the lines as they are in the \
             editor, which may not be saved:\n{fence}\n{wanted}\n{fence}\nWhat they are part of follows."
        );
        let last = start + around.lines().count().max(1) - 1;
        let lines = [start, last].map(|line| u32::try_from(line).unwrap_or(u32::MAX));
        let around =
            Attachment { lines: Some((lines[0], lines[1])), ..self.asked_about(edit, around) };
        let prompt = Prompt { text: request, attachments: vec![around], in_place: None };
        prompt.pack(self.info.capabilities.prompt, &FilesRead::new(), false).blocks
    }

    /// Decides what to do with the answer of a turn that was asked for a change in place.
    fn placement(&self, turn: &Turn, edit: &InPlace, stop: &StopReason) -> Placement {
        let (agent, place) = (self.agent_title(), self.place(edit));
        let failed = |text: String| {
            let notice = Notice::from(text).advise(AGAIN);
            Placement::Over(EditOutcome::Failed, Some((Level::Warn, notice)))
        };
        if turn.cancelled || *stop == StopReason::Cancelled {
            return Placement::Over(EditOutcome::Cancelled, None);
        }
        if self.has_edited(turn, edit) {
            return Placement::Over(EditOutcome::Changed, None);
        }
        if *stop != StopReason::EndTurn {
            let why = stop.word().replace('_', " ");
            return failed(format!("{agent} stopped before it was done with {place} ({why})."));
        }
        let messages = self.transcript.entries().iter().skip(turn.entry).rev();
        let texts = messages.filter_map(|entry| match entry {
            Entry::Message(message) if message.role == Role::Agent => Some(message.text.as_str()),
            _ => None,
        });
        let Some(code) = texts.filter(|text| !text.trim().is_empty()).find_map(last_code_block)
        else {
            let text = format!("{agent}'s answer has no code, so {place} is unchanged.");
            let notice = Notice::from(text).advise(":RatToggle there shows the answer.");
            return Placement::Over(EditOutcome::Failed, Some((Level::Warn, notice)));
        };
        let lines = fit_indent(&code, edit.wanted());
        if lines == edit.wanted() {
            let notice = format!("{agent} would leave {place} as it is.").into();
            return Placement::Over(EditOutcome::Unchanged, Some((Level::Info, notice)));
        }
        Placement::Write(edit.text_with(&lines))
    }

    /// Whether the agent has changed the file itself: its answer then only tells of that.
    fn has_edited(&self, turn: &Turn, edit: &InPlace) -> bool {
        let is_edit = |entry: &Entry| match entry {
            Entry::Tool(tool) => {
                matches!(tool.call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move)
                    && tool.call.status == ToolStatus::Completed
                    && tool.call.paths().any(|path| self.cwd.join(path) == edit.path)
            }
            _ => false,
        };
        turn.placing == Placing::NotNeeded
            || self.transcript.entries().iter().skip(turn.entry).any(is_edit)
    }

    /// Returns the write that gives the file its new text.
    fn write_in_place(
        &self,
        token: RequestToken,
        edit: &InPlace,
        content: String,
    ) -> Option<Effect> {
        let by = Author { session: self.key()?, turn: self.turns, tool_call: None };
        let policy = &self.access.policy;
        Some(Effect::Write {
            token,
            by,
            path: edit.path.clone(),
            content,
            base: Some(edit.text()),
            // Whoever changes unsaved lines in place does not want to save them.
            dirty: match policy.write_dirty {
                WriteDirty::Save => WriteDirty::Save,
                _ => WriteDirty::Leave,
            },
            repeats: false,
            consent: match policy.review {
                ReviewMode::Before => Consent::Missing,
                _ => Consent::NotNeeded,
            },
            scope: self.file_scope(),
        })
    }
}

impl State {
    /// Asks for a change in place in a new session. Its chat stays in the background.
    pub(in crate::core) fn edit(&mut self, edit: NewEdit) {
        let NewEdit { config, problems, cwd, directories, policy, prompt } = edit;
        self.report_settings_problems(problems);
        let id = self.add_chat(config, cwd, directories, SessionTarget::New);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.edit = prompt.in_place.as_ref().map(|edit| edit.number);
        }
        // Commands without a chat need one.
        self.current = self.current.or(Some(id));
        self.announce(id, false, false);
        self.set_policy(id, policy);
        self.edit_again(id, prompt);
    }

    /// Asks for a change in place in a session that there is already, so that the agent knows what it has answered before.
    pub(in crate::core) fn edit_again(&mut self, id: ChatId, prompt: Prompt) {
        if let (Some(chat), Some(edit)) = (self.chats.get_mut(&id), &prompt.in_place) {
            // The user has pointed at this file.
            let file = AllowedPath::File(edit.path.clone());
            chat.access.refused.retain(|refused| *refused != file);
            if !chat.access.allowed.contains(&file) {
                chat.access.allowed.push(file);
            }
        }
        let current = self.current;
        self.prompt(Some(id), prompt, false);
        self.current = current;
    }

    /// Puts the code of a turn's answer in place of the lines it was asked for. Returns whether the end of the turn waits for
    /// that, since what a turn changes can be undone with it.
    pub(super) fn place_answer(&mut self, id: ChatId, stop: &StopReason) -> bool {
        let Some(chat) = self.chats.get(&id) else { return false };
        let Some(turn) = chat.turn().filter(|turn| !turn.is_placing()) else { return false };
        let Some(edit) = turn.prompt.in_place.clone() else { return false };
        let (outcome, notice) = match chat.placement(turn, &edit, stop) {
            Placement::Over(outcome, notice) => (outcome, notice),
            Placement::Write(content) => {
                let token = RequestToken::of_ours(self.next_id());
                let chat = self.chats.get_mut(&id);
                let effect =
                    chat.as_ref().and_then(|chat| chat.write_in_place(token, &edit, content));
                let (Some(chat), Some(effect)) = (chat, effect) else { return false };
                if let Some(turn) = chat.turn_mut() {
                    turn.placing = Placing::Running;
                }
                let request =
                    PendingRequest { by: Requester::InPlace, chat: id, file: Some(effect.clone()) };
                self.requests.insert(token, request);
                self.effects.push(effect);
                return true;
            }
        };
        if let Some((level, notice)) = notice {
            self.notify(level, notice);
        }
        self.edit_over(id, outcome);
        false
    }

    /// The write of an answer's code is over, which ends the turn.
    pub(in crate::core) fn answer_placed(&mut self, id: ChatId, answer: &Answer) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Some(turn) = chat.turn().filter(|turn| turn.is_placing()) else { return };
        let outcome = match answer {
            Answer::Written => EditOutcome::Changed,
            Answer::Error { code: REQUEST_CANCELLED, .. } => EditOutcome::Cancelled,
            _ => EditOutcome::Failed,
        };
        if let Some(edit) = turn.prompt.in_place.clone() {
            let place = chat.place(&edit);
            let (severity, note) = match outcome {
                EditOutcome::Changed => (Severity::Info, format!("Replaced {place}")),
                _ => (Severity::Warning, format!("{place} was left as it is")),
            };
            chat.transcript.note(severity, note, Vec::new());
        }
        self.edit_over(id, outcome);
        self.turn_ended(id, &StopReason::EndTurn);
    }

    /// Tells the user why an answer's code could not be put in place. Returns whether it is about such a write.
    pub(super) fn placing_failed(&mut self, token: RequestToken, why: &str) -> bool {
        let Some(request) =
            self.requests.get(&token).filter(|request| request.by == Requester::InPlace)
        else {
            return false;
        };
        let chat = self.chats.get(&request.chat);
        let edit = chat.and_then(|chat| chat.turn()?.prompt.in_place.clone());
        if let Some((chat, edit)) = chat.zip(edit) {
            let text = format!("Could not change {}: {why}.", chat.place(&edit));
            self.notify(Level::Warn, Notice::from(text).advise(AGAIN));
        }
        true
    }

    /// The turn of a chat ends in another way than by its answer. A write that has begun is made all the same.
    pub(super) fn stop_placing(&mut self, id: ChatId) {
        if let Some(turn) = self.chats.get_mut(&id).and_then(Chat::turn_mut) {
            turn.placing = Placing::Awaited;
        }
    }

    /// Cancels changes in place that are still to be asked for. Returns whether there were any.
    pub(super) fn withdraw_edits(&mut self, id: ChatId) -> bool {
        let Some(chat) = self.chats.get_mut(&id) else { return false };
        let edits = chat.queue.take_in_place();
        chat.redraw.status = true;
        self.tell_edits(id, &edits, EditOutcome::Cancelled)
    }

    /// Reports changes in place that are not made because a chat enters another phase.
    pub(in crate::core) fn drop_edits(&mut self, id: ChatId, next: &Phase) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let mut dropped: Vec<_> =
            chat.turn_mut().and_then(|turn| turn.prompt.in_place.take()).into_iter().collect();
        dropped.extend(match next {
            Phase::Failed(_) | Phase::Stopped => chat.queue.take_in_place(),
            Phase::Ready => chat.queue.take_paused_in_place(),
            Phase::Starting(_) | Phase::Running(_) => Vec::new(),
        });
        self.tell_edits(id, &dropped, EditOutcome::Failed);
    }

    /// The change in place that the turn was asked for is over.
    pub(super) fn edit_over(&mut self, id: ChatId, outcome: EditOutcome) {
        let turn = self.chats.get_mut(&id).and_then(Chat::turn_mut);
        let edit = turn.and_then(|turn| turn.prompt.in_place.take());
        self.tell_edits(id, edit.as_slice(), outcome);
    }

    fn tell_edits(&mut self, chat: ChatId, edits: &[Arc<InPlace>], outcome: EditOutcome) -> bool {
        let told =
            edits.iter().map(|edit| EditorMessage::Edited { chat, edit: edit.number, outcome });
        self.after_draw.extend(told);
        !edits.is_empty()
    }
}
