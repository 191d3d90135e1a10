//! What agents do through us without asking, where a rule of the user says to ask: reads and writes of files, and commands.
//! What the user has just allowed as a tool call is not asked about again.

use super::files::cancelled;
use crate::core::chat::Chat;
use crate::core::messages::agent::{INTERNAL_ERROR, INVALID_PARAMS};
use crate::core::messages::editor::EditorMessage;
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::files::Consent;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::page::PageId;
use crate::core::questions::Question;
use crate::core::requests::Requester;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::label;
use crate::session::terminal::request::CreateTerminal;
use crate::session::tool_call::ToolKind;
use crate::session::update::Severity;
use crate::trust::rule::Decision;
use std::path::{Path, PathBuf};

/// How much of a command is in the question about it, in characters.
const MAX_COMMAND: usize = 100;

impl State {
    /// A rule says to ask about a file that an agent wants to read or write.
    pub(super) fn ask_about_file(&mut self, id: ChatId, token: RequestToken, file: PathBuf) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.respond(token, cancelled());
        }
        let Some(request) = self.requests.get_mut(&token) else { return };
        match &mut request.file {
            Some(Effect::Write { path, content, consent, scope, .. }) => {
                // What is refused, some agents would write themselves.
                let is_ours = matches!(request.by, Requester::Tool(_));
                let is_asked = is_ours || !chat.info.quirks.writes_files_itself_too;
                let is_allowed =
                    chat.incoming().allowed().any(|shown| shown.has_write(path, &file, content));
                if is_asked && !is_allowed && *consent == Consent::NotNeeded {
                    *consent = Consent::Missing;
                }
                scope.rules.asked.push((ToolKind::Edit, file));
                self.effects.extend(request.file.clone());
            }
            Some(Effect::Query { query, scope, .. }) if !query.only_reads() => {
                // What it would change is shown to the user first.
                scope.rules.asked.push((ToolKind::Edit, file));
                self.effects.extend(request.file.clone());
            }
            Some(Effect::Query { .. }) => self.ask_about_reading(id, token, file),
            Some(Effect::Read { path, scope, .. }) => {
                if chat.incoming().allowed().any(|shown| shown.names(path, &file)) {
                    scope.rules.asked.push((ToolKind::Read, file));
                    return self.effects.extend(request.file.clone());
                }
                self.ask_about_reading(id, token, file);
            }
            _ => {}
        }
    }

    /// Asks once per file.
    fn ask_about_reading(&mut self, id: ChatId, token: RequestToken, file: PathBuf) {
        let is_unclear = self.is_of_unclear_call(token);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if is_unclear || chat.access.unread.contains(&file) {
            return self.respond(token, unread(&file));
        }
        if chat.access.allowed.iter().any(|it| it.holds(&file)) {
            // The user was asked about it because it is outside of the project.
            chat.access.read_by_consent.push(file.clone());
        }
        if chat.access.read_by_consent.contains(&file) {
            // The user has allowed it since the request was sent.
            return self.retry(id, &[token]);
        }
        let open = self.questions.values_mut().find_map(|question| match question {
            Question::Read { chat, file: asked, waiting } if *chat == id && *asked == file => {
                Some(waiting)
            }
            _ => None,
        });
        if let Some(waiting) = open {
            return waiting.push(token);
        }
        let (agent, short) = (chat.agent_title(), chat.scene().shorten(&file));
        let title = format!("{agent} wants to read {short}");
        let items = ["Allow this file for the session", "Refuse"].map(str::to_owned).to_vec();
        self.ask(Question::Read { chat: id, file, waiting: vec![token] }, title, items);
        self.count_questions();
    }

    /// The user has answered whether an agent may read a file.
    pub(in crate::core) fn read_answered(
        &mut self,
        id: ChatId,
        file: PathBuf,
        waiting: &[RequestToken],
        index: Option<usize>,
    ) {
        self.count_questions();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if index == Some(0) {
            chat.access.read_by_consent.push(file);
            return self.retry(id, waiting);
        }
        if index.is_some() {
            chat.access.unread.push(file.clone());
        }
        for token in waiting {
            self.respond(*token, unread(&file));
        }
    }

    /// Asks about a command that an agent wants to run.
    pub(super) fn ask_about_command(
        &mut self,
        id: ChatId,
        token: RequestToken,
        create: Box<CreateTerminal>,
    ) {
        let Some(chat) = self.chats.get(&id) else { return };
        let line = label::short(&create.line(), MAX_COMMAND);
        let title = format!("{} wants to run {line}", chat.agent_title());
        let items = ["Run it", "Show the command", "Reject it"].map(str::to_owned).to_vec();
        self.ask(Question::Command { chat: id, token, create }, title, items);
        self.count_questions();
    }

    /// Shows the whole command that a question is about, and the folder it would run in.
    pub(super) fn show_command(&mut self, id: ChatId, create: &CreateTerminal) {
        let Some(chat) = self.chats.get(&id) else { return };
        let cwd = create.cwd.as_ref().unwrap_or(&chat.cwd);
        // Each on one line: a line break in a value must not look like another command.
        let env = create.env.iter().map(|(name, value)| format!("{name}={value}"));
        let env: String = env.map(|variable| format!("{}\n", label::line(&variable))).collect();
        let cwd = cwd.display().to_string();
        let text = format!("# in {}\n{env}{}\n", label::line(&cwd), create.line());
        self.show_text((id, PageId::Turn), "What would run", "sh", text, None);
    }

    /// The user has answered whether an agent may run a command.
    pub(in crate::core) fn command_answered(
        &mut self,
        id: ChatId,
        token: RequestToken,
        create: CreateTerminal,
        index: Option<usize>,
    ) {
        self.count_questions();
        if index == Some(0) {
            self.note_decision(
                id,
                Severity::Info,
                format!("You allowed it to run {}", create.line()),
            );
            self.start_terminal(id, token, create);
            return;
        }
        self.refuse_command(id, token, &create);
    }

    /// Not every agent announces a command as a tool call, on which the decision could stand.
    fn note_decision(&mut self, id: ChatId, severity: Severity, title: String) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.transcript.note(severity, title, Vec::new());
        }
    }

    /// The user has rejected a command with the keys for that, perhaps with words for the agent.
    pub(super) fn reject_command(&mut self, number: u64, reason: Option<String>) {
        let Some(Question::Command { chat, token, create }) = self.questions.remove(&number) else {
            return;
        };
        self.after_draw.push(EditorMessage::Unask(number));
        self.refuse_command(chat, token, &create);
        if let Some(reason) = reason {
            self.send_reason(chat, reason);
        }
        self.count_questions();
    }

    fn refuse_command(&mut self, id: ChatId, token: RequestToken, create: &CreateTerminal) {
        let title = format!("Did not run {}: you rejected it", create.line());
        self.note_decision(id, Severity::Warning, title);
        let message = "the user does not want this command to run: ask what to do".to_owned();
        self.respond(token, Answer::Error { code: INTERNAL_ERROR, message });
    }
}

impl Chat {
    /// Whether rules deny or ask about some commands.
    pub(super) fn restricts_commands(&self) -> bool {
        let mut rules = self.access.rules.iter();
        rules.any(|rule| rule.decision != Decision::Allow && rule.kind == Some(ToolKind::Execute))
    }

    /// Whether a call is allowed that runs this command as it is: in this folder, and with no variables, which are not shown.
    pub(super) fn has_allowed_command(&self, create: &CreateTerminal) -> bool {
        let cwd = create.cwd.as_deref().map_or_else(|| self.cwd.clone(), |it| self.cwd.join(it));
        let line = create.line();
        create.env.is_empty() && self.incoming().allowed().any(|it| it.has_command(&line, &cwd))
    }
}

fn unread(file: &Path) -> Answer {
    let message = format!("the user does not want {} to be read: ask what to do", file.display());
    Answer::Error { code: INVALID_PARAMS, message }
}
