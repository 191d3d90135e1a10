//! Files: what agents read and write through us, and where they may. What they change on disk is in `changes`.

use super::effect::{Answer, Effect, Level};
use super::event::{
    AgentId, AgentRequest, ChatId, FileOutcome, INVALID_PARAMS, NOT_FOUND, REQUEST_CANCELLED, Token,
};
use super::state::{Debt, Question, State};
use crate::session::ids::SessionId;
use std::path::{Path, PathBuf};

/// The answer to what the end of a session leaves open (ACP cancellation).
pub(super) fn ended() -> Answer {
    Answer::Error { code: REQUEST_CANCELLED, message: "the session has ended".to_owned() }
}

impl State {
    pub(super) fn request(
        &mut self,
        id: ChatId,
        agent: AgentId,
        token: Token,
        session: &SessionId,
        request: AgentRequest,
    ) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.reads_through_us |= matches!(request, AgentRequest::Read { .. });
        if chat.session.as_ref() != Some(session) {
            self.debts.insert(token, Debt { agent, chat: id, file: None });
            let message = format!("there is no session {session} here");
            return self.pay(token, Answer::Error { code: INVALID_PARAMS, message });
        }
        let (session, roots) = (session.clone(), chat.roots());
        let effect = match request {
            AgentRequest::Permission(request) => return self.asked(id, agent, token, request),
            AgentRequest::Read { path, line, limit } => {
                Effect::Read { token, session, path, line, limit, roots }
            }
            AgentRequest::Write { path, content } => {
                let base = chat.transcript.allowed(&path, &content).map(str::to_owned);
                Effect::Write { token, session, path, content, base, roots }
            }
        };
        self.debts.insert(token, Debt { agent, chat: id, file: Some(effect.clone()) });
        self.effects.push(effect);
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
        let message = "the request was withdrawn".to_owned();
        self.pay(token, Answer::Error { code: REQUEST_CANCELLED, message });
        for question in self.questions.values_mut() {
            if let Question::Outside { waiting, .. } = question {
                waiting.retain(|it| *it != token);
            }
        }
        self.unask_outside(
            |question| matches!(question, Question::Outside { waiting, .. } if waiting.is_empty()),
        );
    }

    /// Answers what waits for a folder to be allowed: the user has cancelled the turn.
    pub(super) fn settle_outside(&mut self, id: ChatId) {
        let of_chat = |question: &Question| match question {
            Question::Outside { chat, waiting, .. } if *chat == id => Some(waiting.clone()),
            _ => None,
        };
        let tokens: Vec<Token> = self.questions.values().filter_map(of_chat).flatten().collect();
        for token in tokens {
            self.pay(token, cancelled());
        }
        self.unask_outside(|question| of_chat(question).is_some());
    }

    /// Takes questions about folders back.
    fn unask_outside(&mut self, pointless: impl Fn(&Question) -> bool) {
        self.unask(pointless);
        for chat in self.chats.values_mut() {
            let open = self.questions.values().filter(
                |question| matches!(question, Question::Outside { chat: of, .. } if *of == chat.id),
            );
            let open = open.count();
            chat.changed |= open != chat.questions;
            chat.questions = open;
        }
    }

    pub(super) fn file_done(&mut self, token: Token, outcome: FileOutcome) {
        let Some(debt) = self.debts.get(&token) else { return };
        let id = debt.chat;
        match outcome {
            FileOutcome::Text(text) => self.pay(token, Answer::Text(text)),
            FileOutcome::Written { changes, notice } => {
                self.pay(token, Answer::Written);
                self.changed(id, changes);
                if let Some(notice) = notice {
                    self.notify(Level::Info, notice);
                }
            }
            FileOutcome::Outside(folder) => self.outside(id, token, folder),
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

    /// A path outside the roots asks, once per folder.
    fn outside(&mut self, id: ChatId, token: Token, folder: PathBuf) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.refused.contains(&folder) {
            return self.pay(token, refusal(&folder));
        }
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.pay(token, cancelled());
        }
        let open = self.questions.values_mut().find_map(|question| match question {
            Question::Outside { chat, folder: asked, waiting }
                if *chat == id && *asked == folder =>
            {
                Some(waiting)
            }
            _ => None,
        });
        if let Some(waiting) = open {
            return waiting.push(token);
        }
        chat.questions += 1;
        chat.changed = true;
        let title =
            format!("{} wants to use {} outside the project", chat.agent_title(), folder.display());
        let items = vec!["Allow this folder for the session".to_owned(), "Refuse".to_owned()];
        self.ask(Question::Outside { chat: id, folder, waiting: vec![token] }, title, items);
    }

    pub(super) fn outside_answered(
        &mut self,
        id: ChatId,
        folder: PathBuf,
        waiting: &[Token],
        index: Option<usize>,
    ) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.questions = chat.questions.saturating_sub(1);
        chat.changed = true;
        if index != Some(0) {
            if index.is_some() {
                chat.refused.push(folder.clone());
            }
            for token in waiting {
                self.pay(*token, refusal(&folder));
            }
            return;
        }
        chat.allowed.push(folder);
        let now = chat.roots();
        for token in waiting {
            let Some(mut effect) = self.debts.get(token).and_then(|debt| debt.file.clone()) else {
                continue;
            };
            if let Effect::Read { roots, .. } | Effect::Write { roots, .. } = &mut effect {
                roots.clone_from(&now);
            }
            self.effects.push(effect);
        }
    }
}

fn cancelled() -> Answer {
    let message = "the user cancelled the turn before allowing the folder".to_owned();
    Answer::Error { code: REQUEST_CANCELLED, message }
}

fn refusal(folder: &Path) -> Answer {
    let message = format!(
        "{} is outside the project and the user did not allow it: work inside the project",
        folder.display()
    );
    Answer::Error { code: INVALID_PARAMS, message }
}
