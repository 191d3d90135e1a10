//! Writes that the user is asked about before they are made (the option `review = "before"`), and the texts they want
//! instead.

use super::files::cancelled;
use super::review_list::MAX_COMPARED_LINES;
use crate::core::chat::Chat;
use crate::core::messages::agent::INTERNAL_ERROR;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::files::{Consent, ProposedWrite};
use crate::core::messages::ids::RequestToken;
use crate::core::messages::page::PageId;
use crate::core::messages::policy::ReviewMode;
use crate::core::messages::review::{EditedDiff, ReviewAction};
use crate::core::questions::{Attempt, Question};
use crate::core::requests::Requester;
use crate::core::state::State;
use crate::edit::unified::{FileDiff, bounded};
use crate::edit::{Text, diff};
use crate::session::author::{Author, ChatId};
use crate::session::entry::{Decision, PermissionEntry};
use crate::session::keys;
use crate::session::permission::{DecidedBy, OptionKind, PermissionOption};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much of the user's changes the agent is told, in bytes.
const MAX_NOTE_BYTES: usize = 8 * 1024;

impl Question {
    /// The item of [`Question::Write`] and [`Question::Command`] that shows what it is about.
    pub(in crate::core) const SHOW: usize = 1;
}

impl Chat {
    /// Returns the effect for a write that the agent requests.
    pub(super) fn write(
        &mut self,
        token: RequestToken,
        by: Author,
        path: PathBuf,
        content: String,
    ) -> Effect {
        let (dirty, scope) = (self.access.policy.write_dirty, self.file_scope());
        let repeats = self.info.quirks.writes_files_itself_too;
        self.access.writes_through_us |= !repeats;
        let (content, base, given) = self.decided(&path, content);
        Effect::Write { token, by, path, content, base, dirty, repeats, consent: given, scope }
    }

    /// Returns the text to write, the text it replaces if that is known, and what the user has said to it.
    fn decided(&mut self, path: &Path, content: String) -> (String, Option<String>, Consent) {
        let edits = &mut self.access.edited;
        let found = edits.iter().position(|it| it.path == path && is_text(&content, &it.new));
        if let Some(EditedDiff { old, new, edited, .. }) = found.map(|at| edits.swap_remove(at)) {
            let [old, new, edited] = [old, new, edited].map(|lines| text_like(&content, &lines));
            let note = note(path, &new, &edited);
            self.decisions.edit(path, diff(&new, &edited).len());
            let given = Consent::Edited { sent: content, proposed: Arc::new(new), note };
            return (edited.content(), Some(old.content()), given);
        }
        let allowed = self.incoming().allowed().find_map(|shown| shown.old_text(path, &content));
        let (is_allowed, base) = (allowed.is_some(), allowed.flatten().map(str::to_owned));
        let given = match self.access.policy.review {
            ReviewMode::Before if is_allowed => Consent::Given,
            // What is refused, such an agent would write itself.
            ReviewMode::Before if !self.info.quirks.writes_files_itself_too => Consent::Missing,
            _ => Consent::NotNeeded,
        };
        (content, base, given)
    }

    /// Whether the user may edit a change before allowing it, as the agent's write will come through us.
    pub(in crate::core) fn may_edit_diffs(&self) -> bool {
        let goes_through_us = self.access.writes_through_us || self.info.quirks.model_reads_disk;
        self.access.policy.review == ReviewMode::Before && goes_through_us
    }
}

impl State {
    pub(super) fn ask_about_write(
        &mut self,
        id: ChatId,
        token: RequestToken,
        write: Box<ProposedWrite>,
    ) {
        let Some(chat) = self.chats.get(&id) else { return };
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.respond(token, cancelled());
        }
        let (agent, short) = (chat.agent_title(), chat.scene().shorten(&write.path));
        let hunks = diff(&write.before, &write.after);
        let added: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
        let removed: usize = hunks.iter().map(|hunk| hunk.removed).sum();
        let verb = if write.exists { "change" } else { "create" };
        let title = format!("{agent} wants to {verb} {short} (+{added} -{removed})");
        let items = ["Write it", "Show the change", "Reject it"].map(str::to_owned).to_vec();
        self.ask(Question::Write { chat: id, token, write, attempt: None }, title, items);
        self.count_questions();
    }

    /// Shows the change or the command that a question is about.
    pub(in crate::core) fn show_write(&mut self, number: u64) {
        if let Some(Question::Command { chat, create, .. }) = self.questions.get(&number) {
            let (chat, create) = (*chat, create.clone());
            return self.show_command(chat, &create);
        }
        let Some(Question::Write { chat, write, attempt: None, .. }) = self.questions.get(&number)
        else {
            return;
        };
        let (chat, write) = (*chat, write.clone());
        if write.before.len().max(write.after.len()) <= MAX_COMPARED_LINES {
            return self.after_draw.push(EditorMessage::Proposal { id: number, chat, write });
        }
        let before = write.exists.then_some(&*write.before);
        let changes = FileDiff::new(&write.path.display().to_string(), before, Some(&write.after));
        let text = changes.map(|changes| changes.to_text()).unwrap_or_default();
        self.show_text((chat, PageId::Turn), "What would change", "diff", text, None);
    }

    pub(in crate::core) fn write_answered(
        &mut self,
        id: ChatId,
        token: RequestToken,
        write: &ProposedWrite,
        index: Option<usize>,
    ) {
        if index == Some(0) {
            self.make_write(token, Consent::Given, None);
        } else {
            self.reject_write(id, token, write);
        }
        self.count_questions();
    }

    /// The user has decided on a change that was shown: wants the file to have these lines, or rejects it.
    pub(in crate::core) fn decide_write(
        &mut self,
        number: u64,
        lines: Result<Vec<String>, Option<String>>,
    ) {
        if let (Some(Question::Command { .. }), Err(reason)) = (self.questions.get(&number), &lines)
        {
            return self.reject_command(number, reason.clone());
        }
        let Some(Question::Write { chat, token, write, attempt: None }) =
            self.questions.get(&number)
        else {
            return;
        };
        let (chat, token, write) = (*chat, *token, write.clone());
        match lines.map(|lines| like(&write.after, &lines)) {
            Ok(edited) if edited == *write.after => {
                self.attempt_write(number, token, None);
                self.make_write(token, Consent::Given, None);
            }
            Ok(edited) if edited != *write.before || !write.exists => {
                let note = note(&write.path, &write.after, &edited);
                self.attempt_write(number, token, Some(diff(&write.after, &edited).len()));
                let texts = (write.before.content(), edited.content());
                // The agent's own text goes into the consent there.
                let (sent, proposed) = (String::new(), write.after.clone());
                let consent = Consent::Edited { sent, proposed, note };
                self.make_write(token, consent, Some(texts));
            }
            other => {
                self.questions.remove(&number);
                self.after_draw.push(EditorMessage::Unask(number));
                self.reject_write(chat, token, &write);
                if let Err(Some(reason)) = other {
                    self.send_reason(chat, reason);
                }
            }
        }
        self.count_questions();
    }

    /// Remembers a write as the agent has requested it, before it is made as the user wants it.
    fn attempt_write(&mut self, number: u64, write: RequestToken, edited: Option<usize>) {
        let file = self.requests.get(&write).and_then(|request| request.file.clone());
        if let Some(Question::Write { attempt, .. }) = self.questions.get_mut(&number) {
            *attempt = file.map(|requested| Box::new(Attempt { requested, edited }));
        }
    }

    /// Notes what has become of a write that was made as the user wants it.
    pub(super) fn write_made(&mut self, token: RequestToken) {
        let made = self.questions.values().find(|question| question.is_being_made(token));
        let Some(Question::Write { chat, write, attempt: Some(attempt), .. }) = made else {
            return;
        };
        if let Some(hunks) = attempt.edited {
            let (chat, path) = (*chat, write.path.clone());
            if let Some(chat) = self.chats.get_mut(&chat) {
                // Not all agents show their model the answer to a write.
                chat.decisions.edit(&path, hunks);
            }
            self.note_on_card(token, OptionKind::AllowOnce, "You edited this change");
        }
    }

    /// Asks the user again about a write that could not be made, unless its page is gone with the question or the turn.
    pub(super) fn may_try_again(&mut self, id: ChatId, token: RequestToken, reason: &str) -> bool {
        let is_cancelled =
            self.chats.get(&id).is_none_or(|chat| chat.turn().is_some_and(|turn| turn.cancelled));
        let failed = self.questions.iter_mut().find(|(_, question)| question.is_being_made(token));
        let Some((number, Question::Write { chat, write, attempt, .. })) = failed else {
            return false;
        };
        let (Some(request), false) = (self.requests.get_mut(&token), is_cancelled) else {
            return false;
        };
        request.file = attempt.take().map(|attempt| attempt.requested);
        let (id, chat, write) = (*number, *chat, write.clone());
        let name = self.shorten(&write.path);
        let again = keys::hint("ga", "tries again", ":RatAllow tries again");
        let rejects = keys::hint("gr", "rejects it", ":RatDeny rejects it");
        let told = format!("Could not write {name}: {reason} ({again}, {rejects})");
        self.notify(Level::Warn, told);
        self.after_draw.push(EditorMessage::Proposal { id, chat, write });
        self.count_questions();
        true
    }

    /// Makes a write that the user wants, or turns the text of its base into that they want instead.
    fn make_write(
        &mut self,
        token: RequestToken,
        given: Consent,
        instead: Option<(String, String)>,
    ) {
        let Some(request) = self.requests.get_mut(&token) else { return };
        let Some(Effect::Write { content, base, consent, .. }) = &mut request.file else { return };
        *consent = given;
        if let Some((before, edited)) = instead {
            *base = Some(before);
            let own = std::mem::replace(content, edited);
            if let Consent::Edited { sent, .. } = consent {
                *sent = own;
            }
        }
        self.effects.extend(request.file.clone());
    }

    /// A write that the user has agreed to could not be made. Gives back the text they have typed.
    pub(super) fn wanted_write_failed(&mut self, id: ChatId, token: RequestToken, reason: &str) {
        let request = self.requests.get(&token);
        let Some(Effect::Write { path, content, consent, .. }) =
            request.and_then(|request| request.file.as_ref())
        else {
            return;
        };
        let name = self.shorten(path);
        match consent {
            Consent::Edited { .. } => {
                let text = content.clone();
                let told = format!(
                    "Could not write your version of {name}, so it is shown here: {reason}"
                );
                self.notify(Level::Warn, told);
                let title = format!("Your version of {name}, not written");
                self.show_text((id, PageId::Turn), &title, "", text, None);
            }
            Consent::Given => {
                self.notify(Level::Warn, format!("Could not write {name}: {reason}"));
            }
            Consent::NotNeeded | Consent::Missing => {}
        }
    }

    fn reject_write(&mut self, id: ChatId, token: RequestToken, write: &ProposedWrite) {
        if let Some(chat) = self.chats.get_mut(&id) {
            let hunks = diff(&write.before, &write.after).len().max(1);
            chat.decisions.decide(&write.path, ReviewAction::Reject, hunks);
        }
        self.note_on_card(token, OptionKind::RejectOnce, "You rejected this change");
        let path = write.path.display();
        let message =
            format!("the user rejected this change to {path}, which was not made: ask what to do");
        self.respond(token, Answer::Error { code: INTERNAL_ERROR, message });
    }

    /// Says on the card of a write's tool call what the user has done, since agents report only an error.
    fn note_on_card(&mut self, token: RequestToken, kind: OptionKind, words: &str) {
        let number = self.next_id();
        let Some(request) = self.requests.get(&token) else { return };
        let Some(Effect::Write { by, .. }) = &request.file else { return };
        let Some(chat) = self.chats.get_mut(&request.chat) else { return };
        let Some(call) = by.tool_call.clone() else { return };
        let option = PermissionOption { id: words.into(), name: words.to_owned(), kind };
        let decision = Decision::Chosen(option.id.clone());
        let decided = PermissionEntry {
            id: number,
            question: None,
            undecided: None,
            options: vec![option],
            decision,
            by: DecidedBy::User,
            shown: None,
        };
        chat.incoming_mut().note_decision(&call, decided);
        chat.redraw.tool_calls.insert(call);
    }

    /// Returns the answer to a write that was made.
    pub(super) fn answer_to_write(&self, token: RequestToken) -> Answer {
        // What the user has changed is told to the agent that waits for the answer.
        let request =
            self.requests.get(&token).filter(|request| matches!(request.by, Requester::Agent(_)));
        match request.and_then(|request| request.file.as_ref()) {
            Some(Effect::Write { consent: Consent::Edited { note, .. }, .. }) => {
                Answer::Error { code: INTERNAL_ERROR, message: note.clone() }
            }
            _ => Answer::Written,
        }
    }

    /// The user has edited a change that they are about to allow.
    pub(in crate::core) fn diff_edited(&mut self, id: ChatId, edited: EditedDiff) {
        if let Some(chat) = self.chats.get_mut(&id).filter(|chat| chat.may_edit_diffs()) {
            chat.access.edited.retain(|other| other.path != edited.path);
            chat.access.edited.push(edited);
        }
    }
}

/// What the agent is told of a change that the user has made to its text.
fn note(path: &Path, sent: &Text, edited: &Text) -> String {
    let name = path.display();
    let changes = FileDiff::new(&name.to_string(), Some(sent), Some(edited));
    let changes = bounded(&changes.iter().collect::<Vec<_>>(), MAX_NOTE_BYTES);
    format!(
        "the user edited this change to {name} before it was written. From the text you sent to the text the \
         file has now:\n\n{changes}"
    )
}

/// Whether a text has these lines.
fn is_text(content: &str, lines: &[String]) -> bool {
    Text::parse(content).lines().eq(lines.iter().map(String::as_str))
}

fn text_like(content: &str, lines: &[String]) -> Text {
    like(&Text::parse(content), lines)
}

/// Returns a text with these lines and the line ends of another.
fn like(text: &Text, lines: &[String]) -> Text {
    // A buffer has at least one line.
    let is_empty = lines.iter().all(String::is_empty) && lines.len() < 2;
    Text::from_body(lines.join("\n"), text.shape(), is_empty)
}
