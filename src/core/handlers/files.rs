//! Reads and writes that agents make through us, and the paths they may use. Files that agents change on disk are
//! handled in `file_changes`.

use crate::core::chat::Chat;
use crate::core::messages::agent::{
    AgentRequest, INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, REQUEST_CANCELLED,
};
use crate::core::messages::editor::Level;
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::file_scope::AllowedPath;
use crate::core::messages::files::FileOutcome;
use crate::core::messages::ids::{AgentId, RequestToken};
use crate::core::messages::policy::{Outside, WriteDirty};
use crate::core::questions::Question;
use crate::core::requests::{PendingRequest, Requester};
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::author::{Author, SessionKey};
use crate::session::ids::SessionId;
use std::path::{Path, PathBuf};

/// The answer to requests that are still open when their session ends (ACP cancellation).
pub(in crate::core) fn ended() -> Answer {
    Answer::Error { code: REQUEST_CANCELLED, message: "the session has ended".to_owned() }
}

impl State {
    pub(in crate::core) fn request(
        &mut self,
        agent: AgentId,
        token: RequestToken,
        session: &SessionId,
        request: AgentRequest,
    ) {
        let Some(id) = self.chat_of(agent, session) else {
            return self.no_session(agent, token, session);
        };
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.access.reads_through_us |= matches!(request, AgentRequest::Read { .. });
        let (key, scope) = (SessionKey { chat: id, session: session.clone() }, chat.file_scope());
        let effect = match request {
            AgentRequest::Permission(request) => {
                return self.permission_requested(id, Requester::Agent(agent), token, request);
            }
            AgentRequest::Terminal(request) => {
                return self.terminal_requested(id, agent, token, request);
            }
            AgentRequest::Read { path, line, limit } => {
                Effect::Read { token, session: key, path, line, limit, scope }
            }
            AgentRequest::Write { path, content } => {
                let by = Author {
                    session: key,
                    turn: chat.turns,
                    tool_call: chat.incoming().touching(&path),
                };
                chat.write(token, by, path, content)
            }
        };
        self.requests.insert(
            token,
            PendingRequest { by: Requester::Agent(agent), chat: id, file: Some(effect.clone()) },
        );
        self.effects.push(effect);
    }

    pub(in crate::core) fn no_session(
        &mut self,
        agent: AgentId,
        token: RequestToken,
        session: &SessionId,
    ) {
        if let Some(chat) = self.chats_on(agent).first() {
            self.requests.insert(
                token,
                PendingRequest { by: Requester::Agent(agent), chat: *chat, file: None },
            );
        }
        let message = format!("there is no session {session} here");
        self.respond(token, Answer::Error { code: INVALID_PARAMS, message });
    }

    /// Handles `$/cancel_request`: the agent no longer needs the answer, but still gets one (ACP cancellation).
    pub(in crate::core) fn withdrawn(&mut self, token: RequestToken) {
        let found = self.chats.values().find_map(|chat| {
            let waiting =
                chat.awaiting_user.permissions.iter().find(|waiting| waiting.token == token)?;
            Some((chat.id, waiting.clone()))
        });
        if let Some((id, waiting)) = found {
            return self.close_permission(id, &waiting, None);
        }
        if self.elicitation_withdrawn(token) {
            return;
        }
        let message = "the request was withdrawn".to_owned();
        self.respond_early(token, Answer::Error { code: REQUEST_CANCELLED, message });
        self.leave_questions(token);
    }

    /// Withdraws a question that only this request waits for.
    pub(super) fn leave_questions(&mut self, token: RequestToken) {
        for question in self.questions.values_mut() {
            if let Question::OutsidePath { waiting, .. } | Question::Read { waiting, .. } = question
            {
                waiting.retain(|it| *it != token);
            }
        }
        self.withdraw_questions(|question| match question {
            Question::OutsidePath { waiting, .. } | Question::Read { waiting, .. } => {
                waiting.is_empty()
            }
            other => other.requests() == [token],
        });
        self.count_questions();
    }

    /// Answers the reads and writes that wait for the user, because the turn was cancelled.
    pub(in crate::core) fn cancel_file_questions(&mut self, id: ChatId) {
        let is_waiting =
            |question: &Question| question.chat() == id && !question.requests().is_empty();
        let waiting = self.questions.values().filter(|question| is_waiting(question));
        let tokens: Vec<RequestToken> =
            waiting.flat_map(|question| question.requests().to_vec()).collect();
        for token in tokens {
            self.respond(token, cancelled());
        }
        self.withdraw_questions(is_waiting);
        self.count_questions();
    }

    pub(in crate::core) fn file_done(&mut self, token: RequestToken, outcome: FileOutcome) {
        let requester = self.requests.get(&token).map(|request| request.chat);
        let Some(id) = self.answered_early.remove(&token).or(requester) else { return };
        match outcome {
            FileOutcome::Text(text) => self.respond(token, Answer::Text(text)),
            FileOutcome::Written { changes, notice } => {
                self.write_made(token);
                let answer = self.answer_to_write(token);
                self.respond(token, answer);
                self.report_changes(id, changes);
                if let Some(notice) = notice {
                    self.notify(Level::Info, notice);
                }
            }
            FileOutcome::Outside { .. }
            | FileOutcome::AskFirst(_)
            | FileOutcome::Unsaved(_)
            | FileOutcome::Proposed(_)
                if requester.is_none() => {}
            FileOutcome::AskFirst(file) => self.ask_about_file(id, token, file),
            FileOutcome::Outside { file, folder, has_other_name } => {
                self.ask_about_outside_path(id, token, (file, folder), has_other_name);
            }
            FileOutcome::Denied { file, rule } => self.file_denied(id, token, &file, &rule),
            FileOutcome::Unsaved(path) => self.ask_about_dirty_buffer(id, token, &path),
            FileOutcome::Proposed(write) => self.ask_about_write(id, token, write),
            FileOutcome::Edits(writes) => self.edits_prepared(token, writes),
            FileOutcome::Failed { code: NOT_FOUND, .. } if self.reads_missing_as_empty(token) => {
                self.respond(token, Answer::Text(String::new()));
            }
            FileOutcome::Failed { code, message, reason } => {
                if !self.may_try_again(id, token, &reason) {
                    if !self.placing_failed(token, &reason) {
                        self.wanted_write_failed(id, token, &reason);
                    }
                    self.respond(token, Answer::Error { code, message });
                }
            }
        }
    }

    fn file_denied(&mut self, id: ChatId, token: RequestToken, file: &Path, rule: &str) {
        let request = self.requests.get(&token).and_then(|request| request.file.as_ref());
        let verb = if request.is_some_and(reads) { "read" } else { "write" };
        self.placing_failed(token, &format!("the rule \"{rule}\" denies it"));
        let Some(chat) = self.chats.get(&id) else { return };
        let what = format!("let it {verb} {}", chat.scene().shorten(file));
        self.denied_by_rule(id, token, &what, rule, None);
    }

    /// Whether this is a read by an agent that can only create a file if reading the missing file gives an empty text.
    fn reads_missing_as_empty(&self, token: RequestToken) -> bool {
        self.requests.get(&token).is_some_and(|request| {
            let chat = self.chats.get(&request.chat);
            matches!(request.file, Some(Effect::Read { .. }))
                && chat.is_some_and(|chat| chat.info.quirks.missing_file_reads_empty)
        })
    }

    /// Asks the user about a path outside the roots, once per file.
    fn ask_about_outside_path(
        &mut self,
        id: ChatId,
        token: RequestToken,
        (file, folder): (PathBuf, Option<PathBuf>),
        has_other_name: bool,
    ) {
        let Some(chat) = self.chats.get(&id) else { return };
        let is_refused = chat.access.refused.iter().any(|it| it.holds(&file));
        if is_refused || self.is_of_unclear_call(token) {
            return self.respond(token, refusal(&file));
        }
        if chat.access.allowed.iter().any(|it| it.holds(&file)) {
            // The user has allowed it since the request was sent.
            return self.retry(id, &[token]);
        }
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.respond(token, cancelled());
        }
        let request = self.requests.get(&token).and_then(|request| request.file.as_ref());
        match (chat.access.policy.outside, request) {
            (Outside::Ask, _) => {}
            (Outside::Read, Some(effect)) if reads(effect) => {
                return self.retry_with(id, &[token], Some(AllowedPath::File(file)));
            }
            _ => return self.respond(token, refusal(&file)),
        }
        let open = self.questions.values_mut().find_map(|question| match question {
            Question::OutsidePath { chat, file: asked, waiting, .. }
                if *chat == id && *asked == file =>
            {
                Some(waiting)
            }
            _ => None,
        });
        if let Some(waiting) = open {
            return waiting.push(token);
        }
        let (agent, shown) = (chat.agent_title(), file.display());
        let title = if has_other_name {
            format!("{agent} wants to change {shown}, which is also a file outside the project")
        } else {
            format!("{agent} wants to use {shown} outside the project")
        };
        let what = if has_other_name { "all such files in" } else { "its folder" };
        let folder_item =
            folder.iter().map(|it| format!("Allow {what} {} for the session", it.display()));
        let mut items = vec!["Allow this file for the session".to_owned()];
        items.extend(folder_item.chain(["Refuse".to_owned()]));
        let waiting = vec![token];
        self.ask(Question::OutsidePath { chat: id, file, folder, waiting }, title, items);
        self.count_questions();
    }

    /// Asks the user about a write that would also save their unsaved changes; only if `write_dirty` is `ask`.
    fn ask_about_dirty_buffer(&mut self, id: ChatId, token: RequestToken, path: &Path) {
        let Some(chat) = self.chats.get(&id) else { return };
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.respond(token, cancelled());
        }
        let (agent, short) = (chat.agent_title(), chat.scene().shorten(path));
        let title = format!("{agent} wants to edit your unsaved changes in {short}");
        let items = vec!["Save the whole buffer".to_owned(), "Reject the edit".to_owned()];
        self.ask(Question::DirtyWrite(id, token), title, items);
        self.count_questions();
    }

    pub(in crate::core) fn dirty_write_answered(
        &mut self,
        token: RequestToken,
        index: Option<usize>,
    ) {
        self.count_questions();
        if index != Some(0) {
            let message = "the edit builds on unsaved changes, which the user does not want to \
                           save: ask what to do";
            let message = message.to_owned();
            return self.respond(token, Answer::Error { code: INTERNAL_ERROR, message });
        }
        let Some(mut effect) = self.requests.get(&token).and_then(|request| request.file.clone())
        else {
            return;
        };
        if let Effect::Write { dirty, .. } = &mut effect {
            *dirty = WriteDirty::Save;
        }
        self.effects.push(effect);
    }

    pub(in crate::core) fn outside_path_answered(
        &mut self,
        id: ChatId,
        (file, folder): (PathBuf, Option<PathBuf>),
        waiting: &[RequestToken],
        index: Option<usize>,
    ) {
        self.count_questions();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let is_allowed = index == Some(0) || (index == Some(1) && folder.is_some());
        let Some(index) = index else {
            for token in waiting {
                self.respond(*token, refusal(&file));
            }
            return;
        };
        let decided = match folder.filter(|_| !is_allowed || index == 1) {
            Some(folder) => AllowedPath::Folder(folder),
            None => AllowedPath::File(file),
        };
        if is_allowed { &mut chat.access.allowed } else { &mut chat.access.refused }
            .push(decided.clone());
        let also = self.close_settled_questions(id, &decided);
        for tokens in [waiting, &also] {
            if is_allowed {
                self.retry(id, tokens);
            } else {
                for token in tokens {
                    self.respond(*token, refusal(decided.path()));
                }
            }
        }
    }

    /// Closes the other questions that the answer for `settled` answers as well, and returns the requests that wait for
    /// them.
    fn close_settled_questions(&mut self, id: ChatId, settled: &AllowedPath) -> Vec<RequestToken> {
        let is_settled = |question: &Question| matches!(question, Question::OutsidePath { chat, file, .. } if *chat == id && settled.holds(file));
        let waiting = self.questions.values().filter(|it| is_settled(it));
        let waiting = waiting.flat_map(|question| match question {
            Question::OutsidePath { waiting, .. } => waiting.clone(),
            _ => Vec::new(),
        });
        let waiting = waiting.collect();
        self.withdraw_questions(is_settled);
        self.count_questions();
        waiting
    }

    /// Runs reads and writes again with the paths the agent may use now.
    pub(super) fn retry(&mut self, id: ChatId, tokens: &[RequestToken]) {
        self.retry_with(id, tokens, None);
    }

    /// Like `retry`, with one more path for these requests only.
    fn retry_with(&mut self, id: ChatId, tokens: &[RequestToken], more: Option<AllowedPath>) {
        let Some(mut now) = self.chats.get(&id).map(Chat::file_scope) else { return };
        now.allowed.extend(more);
        for token in tokens {
            let Some(mut effect) =
                self.requests.get(token).and_then(|request| request.file.clone())
            else {
                continue;
            };
            if let Effect::Read { scope, .. }
            | Effect::Write { scope, .. }
            | Effect::Query { scope, .. } = &mut effect
            {
                scope.clone_from(&now);
            }
            self.effects.push(effect);
        }
    }
}

pub(in crate::core) fn cancelled() -> Answer {
    let message = "the user cancelled the turn".to_owned();
    Answer::Error { code: REQUEST_CANCELLED, message }
}

/// Whether an effect on a file only reads it.
fn reads(effect: &Effect) -> bool {
    match effect {
        Effect::Read { .. } => true,
        Effect::Query { query, .. } => query.only_reads(),
        _ => false,
    }
}

fn refusal(path: &Path) -> Answer {
    let message = format!(
        "{} is outside the project and the user did not allow it: work inside the project",
        path.display()
    );
    Answer::Error { code: INVALID_PARAMS, message }
}
