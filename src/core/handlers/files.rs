//! Files: what agents read and write through us, and where they may. What they change on disk is in `changes`.

use super::chat::Chat;
use super::effect::{Answer, Effect, Level};
use super::event::agent::{
    AgentRequest, INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, REQUEST_CANCELLED,
};
use super::event::{AgentId, ChatId, FileOutcome, Token};
use super::policy::WriteDirty;
use super::reach::Allowed;
use super::state::{Debt, Question, State};
use crate::session::author::{Author, SessionKey};
use crate::session::ids::SessionId;
use std::path::{Path, PathBuf};

/// The answer to what the end of a session leaves open (ACP cancellation).
pub(super) fn ended() -> Answer {
    Answer::Error { code: REQUEST_CANCELLED, message: "the session has ended".to_owned() }
}

impl State {
    pub(super) fn request(
        &mut self,
        agent: AgentId,
        token: Token,
        session: &SessionId,
        request: AgentRequest,
    ) {
        let Some(id) = self.chat_of(agent, session) else {
            return self.no_session(agent, token, session);
        };
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.reads_through_us |= matches!(request, AgentRequest::Read { .. });
        let (key, reach) = (SessionKey { chat: id, session: session.clone() }, chat.reach());
        let effect = match request {
            AgentRequest::Permission(request) => return self.asked(id, agent, token, request),
            AgentRequest::Terminal(request) => {
                return self.terminal_asked(id, agent, token, request);
            }
            AgentRequest::Read { path, line, limit } => {
                Effect::Read { token, session: key, path, line, limit, reach }
            }
            AgentRequest::Write { path, content } => {
                let base = chat.said().allowed(&path, &content).map(str::to_owned);
                let dirty = chat.policy.write_dirty;
                let repeats = chat.info.quirks.writes_files_itself_too;
                let by = Author {
                    session: key,
                    turn: chat.turns,
                    tool_call: chat.said().touching(&path),
                };
                Effect::Write { token, by, path, content, base, dirty, repeats, reach }
            }
        };
        self.debts.insert(token, Debt { agent, chat: id, file: Some(effect.clone()) });
        self.effects.push(effect);
    }

    pub(super) fn no_session(&mut self, agent: AgentId, token: Token, session: &SessionId) {
        if let Some(chat) = self.chats_on(agent).first() {
            self.debts.insert(token, Debt { agent, chat: *chat, file: None });
        }
        let message = format!("there is no session {session} here");
        self.pay(token, Answer::Error { code: INVALID_PARAMS, message });
    }

    /// The agent does not want the answer any more; it gets one all the same (ACP cancellation).
    pub(super) fn withdrawn(&mut self, token: Token) {
        let found = self.chats.values().find_map(|chat| {
            let waiting = chat.permissions.iter().find(|waiting| waiting.token == token)?;
            Some((chat.id, waiting.clone()))
        });
        if let Some((id, waiting)) = found {
            return self.conclude(id, &waiting, None);
        }
        if self.elicitation_withdrawn(token) {
            return;
        }
        let message = "the request was withdrawn".to_owned();
        self.answer_early(token, Answer::Error { code: REQUEST_CANCELLED, message });
        for question in self.questions.values_mut() {
            if let Question::Outside { waiting, .. } = question {
                waiting.retain(|it| *it != token);
            }
        }
        self.unask(|question| match question {
            Question::Outside { waiting, .. } => waiting.is_empty(),
            Question::Dirty(_, of) => *of == token,
            _ => false,
        });
        self.count_questions();
    }

    /// Answers the reads and writes that wait for the user: the turn is cancelled.
    pub(super) fn settle_files(&mut self, id: ChatId) {
        let waiting = |question: &Question| match question {
            Question::Outside { chat, waiting, .. } if *chat == id => waiting.clone(),
            Question::Dirty(chat, token) if *chat == id => vec![*token],
            _ => Vec::new(),
        };
        let tokens: Vec<Token> = self.questions.values().flat_map(waiting).collect();
        for token in tokens {
            self.pay(token, cancelled());
        }
        self.unask(|question| !waiting(question).is_empty());
        self.count_questions();
    }

    pub(super) fn file_done(&mut self, token: Token, outcome: FileOutcome) {
        let debtor = self.debts.get(&token).map(|debt| debt.chat);
        let Some(id) = self.answered_early.remove(&token).or(debtor) else { return };
        match outcome {
            FileOutcome::Text(text) => self.pay(token, Answer::Text(text)),
            FileOutcome::Written { changes, notice } => {
                self.pay(token, Answer::Written);
                self.changed(id, changes);
                if let Some(notice) = notice {
                    self.notify(Level::Info, notice);
                }
            }
            FileOutcome::Outside { .. } | FileOutcome::Unsaved(_) if debtor.is_none() => {}
            FileOutcome::Outside { file, folder } => self.outside(id, token, file, folder),
            FileOutcome::Unsaved(path) => self.dirty(id, token, &path),
            FileOutcome::Failed { code: NOT_FOUND, .. } if self.wants_empty(token) => {
                self.pay(token, Answer::Text(String::new()));
            }
            FileOutcome::Failed { code, message } => {
                self.pay(token, Answer::Error { code, message });
            }
        }
    }

    /// Whether this is the read of an agent that cannot create a file unless the missing one reads as empty.
    fn wants_empty(&self, token: Token) -> bool {
        self.debts.get(&token).is_some_and(|debt| {
            let chat = self.chats.get(&debt.chat);
            matches!(debt.file, Some(Effect::Read { .. }))
                && chat.is_some_and(|chat| chat.info.quirks.missing_file_reads_empty)
        })
    }

    /// A path outside the roots asks, once for each file.
    fn outside(&mut self, id: ChatId, token: Token, file: PathBuf, folder: Option<PathBuf>) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.refused.iter().any(|it| it.holds(&file)) {
            return self.pay(token, refusal(&file));
        }
        if chat.allowed.iter().any(|it| it.holds(&file)) {
            // It was asked for before the user said so.
            return self.try_again(id, &[token]);
        }
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.pay(token, cancelled());
        }
        let open = self.questions.values_mut().find_map(|question| match question {
            Question::Outside { chat, file: asked, waiting, .. }
                if *chat == id && *asked == file =>
            {
                Some(waiting)
            }
            _ => None,
        });
        if let Some(waiting) = open {
            return waiting.push(token);
        }
        let title =
            format!("{} wants to use {} outside the project", chat.agent_title(), file.display());
        let folder_item =
            folder.iter().map(|it| format!("Allow its folder {} for the session", it.display()));
        let mut items = vec!["Allow this file for the session".to_owned()];
        items.extend(folder_item.chain(["Refuse".to_owned()]));
        let waiting = vec![token];
        self.ask(Question::Outside { chat: id, file, folder, waiting }, title, items);
        self.count_questions();
    }

    /// A write that would save the user's unsaved changes with it asks, where that was chosen.
    fn dirty(&mut self, id: ChatId, token: Token, path: &Path) {
        let Some(chat) = self.chats.get(&id) else { return };
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.pay(token, cancelled());
        }
        let (agent, short) = (chat.agent_title(), chat.scene().shorten(path));
        let title = format!("{agent} edits your unsaved changes of {short}");
        let items = vec!["Save it all".to_owned(), "Refuse the edit".to_owned()];
        self.ask(Question::Dirty(id, token), title, items);
        self.count_questions();
    }

    pub(super) fn dirty_answered(&mut self, token: Token, index: Option<usize>) {
        self.count_questions();
        if index != Some(0) {
            let message = "the user does not want the unsaved changes of this file saved, which \
                           the edit builds on: ask what to do";
            let message = message.to_owned();
            return self.pay(token, Answer::Error { code: INTERNAL_ERROR, message });
        }
        let Some(mut effect) = self.debts.get(&token).and_then(|debt| debt.file.clone()) else {
            return;
        };
        if let Effect::Write { dirty, .. } = &mut effect {
            *dirty = WriteDirty::Save;
        }
        self.effects.push(effect);
    }

    pub(super) fn outside_answered(
        &mut self,
        id: ChatId,
        (file, folder): (PathBuf, Option<PathBuf>),
        waiting: &[Token],
        index: Option<usize>,
    ) {
        self.count_questions();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let is_allowed = index == Some(0) || (index == Some(1) && folder.is_some());
        let Some(index) = index else {
            for token in waiting {
                self.pay(*token, refusal(&file));
            }
            return;
        };
        let meant = match folder.filter(|_| !is_allowed || index == 1) {
            Some(folder) => Allowed::Folder(folder),
            None => Allowed::File(file),
        };
        if is_allowed { &mut chat.allowed } else { &mut chat.refused }.push(meant.clone());
        let also = self.settle_outside(id, &meant);
        for tokens in [waiting, &also] {
            if is_allowed {
                self.try_again(id, tokens);
            } else {
                for token in tokens {
                    self.pay(*token, refusal(meant.path()));
                }
            }
        }
    }

    /// Closes the questions about files that are settled with this one. Gives what waits for them.
    fn settle_outside(&mut self, id: ChatId, settled: &Allowed) -> Vec<Token> {
        let is_settled = |question: &Question| matches!(question, Question::Outside { chat, file, .. } if *chat == id && settled.holds(file));
        let waiting = self.questions.values().filter(|it| is_settled(it));
        let waiting = waiting.flat_map(|question| match question {
            Question::Outside { waiting, .. } => waiting.clone(),
            _ => Vec::new(),
        });
        let waiting = waiting.collect();
        self.unask(is_settled);
        self.count_questions();
        waiting
    }

    /// Reads and writes that the user has been asked about, with what the agent may touch now.
    fn try_again(&mut self, id: ChatId, tokens: &[Token]) {
        let Some(now) = self.chats.get(&id).map(Chat::reach) else { return };
        for token in tokens {
            let Some(mut effect) = self.debts.get(token).and_then(|debt| debt.file.clone()) else {
                continue;
            };
            if let Effect::Read { reach, .. } | Effect::Write { reach, .. } = &mut effect {
                reach.clone_from(&now);
            }
            self.effects.push(effect);
        }
    }
}

pub(super) fn cancelled() -> Answer {
    let message = "the user cancelled the turn".to_owned();
    Answer::Error { code: REQUEST_CANCELLED, message }
}

fn refusal(path: &Path) -> Answer {
    let message = format!(
        "{} is outside the project and the user did not allow it: work inside the project",
        path.display()
    );
    Answer::Error { code: INVALID_PARAMS, message }
}
