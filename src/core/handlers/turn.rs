//! Turns: prompts sent, queued and taken back; what the agent says meanwhile; how they end.

use super::chat::{Chat, Phase};
use super::effect::{Effect, Happened, Level, ToAgent, ToEditor};
use super::event::agent::CallError;
use super::event::{CallId, ChatId, Timer};
use super::state::{Question, State};
use super::{login, words};
use crate::session::content::Content;
use crate::session::ids::ToolCallId;
use crate::session::prompt::Prompt;
use crate::session::tool_call::{ToolCallPatch, ToolKind, ToolStatus};
use crate::session::transcript::{Note, Transcript};
use crate::session::turn::StopReason;
use crate::session::update::{Role, Severity, Update};
use std::path::PathBuf;

impl State {
    pub(super) fn prompt(&mut self, chat: Option<ChatId>, prompt: Prompt) {
        let Some(id) = self.find_chat(chat) else {
            return self.notify(Level::Warn, "there is no chat to send to: :RatStart begins one");
        };
        self.current = Some(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        match &chat.phase {
            Phase::Ready => self.send(id, prompt),
            Phase::Running(_) | Phase::Starting(_) => {
                chat.queue.push_back(prompt);
                chat.changed = true;
            }
            Phase::Failed(_) => {
                // A dead agent is started again by the next prompt.
                chat.queue.push_front(prompt);
                chat.queue_paused = false;
                self.launch(id);
            }
            Phase::Stopped => {
                let name = chat.name().to_owned();
                self.after.push(ToEditor::Draft(id, prompt));
                self.notify(
                    Level::Error,
                    format!("{name} is stopped: :RatRestart starts it again, the prompt is kept"),
                );
            }
        }
    }

    /// Sends the next queued prompt, if the agent is free for it.
    pub(super) fn pump(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.phase != Phase::Ready || chat.queue_paused {
            return;
        }
        if let Some(prompt) = chat.queue.pop_front() {
            self.send(id, prompt);
        }
    }

    pub(super) fn take_queued(&mut self, id: ChatId, index: usize) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if let Some(prompt) = chat.queue.remove(index) {
            chat.changed = true;
            self.after.push(ToEditor::Draft(id, prompt));
        }
    }

    pub(super) fn resume_queue(&mut self, id: ChatId) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.queue_paused = false;
            chat.changed = true;
        }
        self.pump(id);
    }

    /// Cancels the turn (ACP cancellation): the agent is told once, what waits for the user is answered, what runs
    /// shows as cancelled, and the turn ends with the agent's answer.
    pub(super) fn cancel(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let (agent, session) = (chat.agent, chat.session.clone());
        let Phase::Running(turn) = &mut chat.phase else {
            if self.call_off_login(id) {
                return;
            }
            return self.notify(Level::Info, "there is no turn to cancel");
        };
        let number = turn.number;
        if turn.is_unsent() {
            return self.call_off(id);
        }
        if turn.cancelled {
            return self.offer_to_kill(id, number);
        }
        turn.cancelled = true;
        chat.changed = true;
        chat.queue_paused = !chat.queue.is_empty();
        let after = chat.config.timeouts.cancel;
        if let (Some(agent), Some(session)) = (agent, session) {
            self.act(agent, ToAgent::Cancel(session));
        }
        self.settle_permissions(id);
        self.cancel_elicitations(id);
        self.settle_files(id);
        self.cancel_terminals(id);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.transcript.settle_tools(ToolStatus::Cancelled);
        }
        self.effects.push(Effect::Timer { timer: Timer::CancelGrace(id, number), after });
    }

    pub(super) fn cancel_grace_over(&mut self, id: ChatId, number: u64) {
        let turn = self.chats.get(&id).and_then(Chat::turn);
        if turn.is_some_and(|turn| turn.number == number && turn.cancelled) {
            self.offer_to_kill(id, number);
        }
    }

    fn offer_to_kill(&mut self, id: ChatId, number: u64) {
        let question = Question::Kill(id, number);
        if self.questions.values().any(|open| *open == question) {
            return;
        }
        let Some(chat) = self.chats.get(&id) else { return };
        let title = format!("{} has not stopped yet", chat.agent_title());
        self.ask(question, title, vec!["End the agent".to_owned(), "Wait".to_owned()]);
    }

    pub(super) fn kill_answered(&mut self, id: ChatId, number: u64, index: Option<usize>) {
        let running = self.chats.get(&id).and_then(Chat::turn);
        if index == Some(0) && running.is_some_and(|turn| turn.number == number) {
            self.kill(id);
        }
    }

    /// The answer to the prompt says how its turn ended.
    pub(super) fn turn_answered(&mut self, id: ChatId, call: CallId, stop: &StopReason) {
        if self.running(id, call).is_some() {
            self.turn_ended(id, stop);
        }
    }

    /// The running turn is over.
    pub(super) fn turn_ended(&mut self, id: ChatId, stop: &StopReason) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let cancelled = chat.turn().is_some_and(|turn| turn.cancelled);
        // Some agents say that a cancelled turn simply ended.
        let stop = if cancelled { &StopReason::Cancelled } else { stop };
        let note = match stop {
            StopReason::EndTurn => None,
            StopReason::Cancelled => Some((Severity::Info, "cancelled".to_owned())),
            StopReason::MaxTokens => Some((
                Severity::Warning,
                "stopped at the model's limit of tokens: ask it to go on, or begin anew with :RatStart!"
                    .to_owned(),
            )),
            StopReason::MaxTurnRequests => Some((
                Severity::Warning,
                "stopped at the agent's limit of requests in a turn: ask it to go on".to_owned(),
            )),
            StopReason::Refusal => Some((
                Severity::Warning,
                "refused: the agent does not remember this prompt and what came after it".to_owned(),
            )),
            StopReason::Unknown(word) if word.is_empty() => {
                Some((Severity::Info, "ended: the agent gave no reason".to_owned()))
            }
            StopReason::Unknown(word) => Some((Severity::Info, format!("ended: {word}"))),
        };
        if let Some((severity, title)) = note {
            chat.transcript.note(severity, title, Vec::new());
        }
        let pause = cancelled || *stop == StopReason::Refusal;
        self.over(id, *stop != StopReason::Refusal);
        self.end_turn(id, pause, words::stop_reason(stop));
    }

    /// The answer to the prompt is an error.
    pub(super) fn prompt_refused(&mut self, id: ChatId, call: CallId, error: &CallError) {
        if self.running(id, call).is_some() {
            self.turn_failed(id, error);
        }
    }

    /// The running turn has come to nothing.
    pub(super) fn turn_failed(&mut self, id: ChatId, error: &CallError) {
        let turn = self.chats.get(&id).and_then(|chat| chat.turn().cloned());
        let Some(turn) = turn else { return };
        self.over(id, turn.cancelled);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if turn.cancelled {
            // Agents answer a cancelled prompt with an error, too (ACP cancellation).
            chat.transcript.note(Severity::Info, "cancelled", Vec::new());
            return self.end_turn(id, true, "cancelled");
        }
        if login::is_wanted(error) {
            chat.queue.push_front(turn.prompt);
            chat.transcript.note(Severity::Warning, "a login is needed first", Vec::new());
            self.end_turn(id, true, "error");
            if let Some(chat) = self.chats.get_mut(&id) {
                chat.queue_paused = false;
            }
            return self.login(id);
        }
        let why = words::turn(chat.name(), error);
        let details = match error {
            CallError::Rpc { message, data, .. } => {
                let more = message.lines().skip(1).map(str::to_owned);
                more.chain(data.iter().cloned()).collect()
            }
            _ => Vec::new(),
        };
        chat.transcript.note(Severity::Error, why.clone(), details);
        self.after.push(ToEditor::Autocommand(Happened::Error(id, why.clone())));
        self.notify(Level::Error, why);
        self.end_turn(id, true, "error");
    }

    /// The chat, if this call is its running turn.
    pub(super) fn running(&mut self, id: ChatId, call: CallId) -> Option<&mut Chat> {
        self.chats
            .get_mut(&id)
            .filter(|chat| chat.turn().is_some_and(|turn| turn.call == Some(call)))
    }

    pub(super) fn end_turn(&mut self, id: ChatId, pause: bool, stop_reason: &str) {
        self.settle_permissions(id);
        self.end_elicitations(id);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.queue_paused = pause && !chat.queue.is_empty();
            // Gemini says nothing more of a call the user has rejected.
            chat.transcript.settle_tools(ToolStatus::Cancelled);
        }
        self.unask(|question| matches!(question, Question::Kill(chat, _) if *chat == id));
        self.enter(id, Phase::Ready);
        self.adopt(id, None, Vec::new());
        self.keep(id);
        self.after.push(ToEditor::Autocommand(Happened::TurnEnd(id, stop_reason.to_owned())));
        self.pump(id);
    }

    pub(super) fn update(&mut self, id: ChatId, update: Update) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        match update {
            Update::Chunk { role, message, content } => {
                chat.chunk(role, message.as_ref(), &content);
            }
            Update::Message { role, message, content } => {
                chat.spoken().message(role, &message, &content);
            }
            Update::ToolCall { id: call, patch } => self.tool_call(id, &call, *patch),
            Update::ToolContent { id: call, content } => {
                let there = chat.spoken().find_tool(&call);
                let mut all = there.map(|tool| tool.call.content.clone()).unwrap_or_default();
                all.push(content);
                let patch = ToolCallPatch { content: Some(all), ..ToolCallPatch::default() };
                self.tool_call(id, &call, patch);
            }
            Update::Terminal { id: terminal, news } => {
                chat.spoken().terminal_told(&terminal, &news);
            }
            Update::Plan(plan) => {
                chat.spoken().plan(plan);
                chat.changed = true;
            }
            Update::Commands(commands) => {
                self.after.push(ToEditor::Commands(id, commands));
            }
            Update::Mode(mode) => {
                if let Some(modes) = &mut chat.modes {
                    modes.current = mode;
                }
                self.tell_options(id);
            }
            Update::Options(options) => {
                chat.options = options;
                self.tell_options(id);
            }
            Update::Info { title, updated_at: _ } => {
                title.apply(&mut chat.title);
                chat.changed = true;
                self.keep(id);
            }
            Update::Usage(usage) => {
                chat.usage = Some(usage);
                chat.changed = true;
            }
            Update::Notice { severity, title, description } => {
                let level = match severity {
                    Severity::Info => Level::Info,
                    Severity::Warning => Level::Warn,
                    Severity::Error => Level::Error,
                };
                let more = description.map_or_else(String::new, |more| format!(": {more}"));
                let text = format!("{}: {title}{more}", chat.name());
                self.notify(level, text.replace('\n', " "));
            }
            Update::Compaction { id: key, status, summary, error } => {
                chat.spoken().compaction(&key, |it| it.change(status, summary, error));
            }
            Update::CompactionChunk { id: key, content } => {
                chat.spoken().compaction(&key, |it| it.add(content));
            }
            Update::Meta(meta) => self.meta(id, meta),
            Update::Activity(activity) => self.activity(id, activity),
            Update::Unknown { tag, problem } => {
                let title = match problem {
                    Some(problem) => format!("an update \"{tag}\" that makes no sense: {problem}"),
                    None => format!("an update of the unknown kind \"{tag}\""),
                };
                let key = Some(format!("unknown {tag}"));
                let note = Note { severity: Severity::Info, title, details: Vec::new(), key };
                chat.spoken().keyed_note(note);
            }
        }
    }

    fn tool_call(&mut self, id: ChatId, call: &ToolCallId, patch: ToolCallPatch) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let ended = matches!(patch.status, Some(ToolStatus::Completed | ToolStatus::Failed));
        let named = patch.locations.is_some() || patch.content.is_some();
        let replayed = chat.replay.is_some();
        let cwd = chat.cwd.clone();
        let asked = chat.asked_about(call);
        let entry = chat.spoken().tool(call, patch);
        let places = entry.call.locations.iter().map(|location| &location.path);
        let diffs = entry.call.diffs().map(|diff| &diff.path);
        // Some agents name files as seen from there.
        let paths: Vec<PathBuf> = places.chain(diffs).map(|path| cwd.join(path)).collect();
        let kind = entry.call.kind;
        chat.ask_anew(asked);
        chat.tools_view.touch(call);
        chat.changed = true;
        // What a loaded session says again happened long ago.
        if replayed || chat.turn().is_none() {
            return;
        }
        if ended && kind == ToolKind::Read {
            self.seen(id, paths);
        } else if ended {
            let call = Some(call.clone());
            if !paths.is_empty() && matches!(kind, ToolKind::Execute | ToolKind::Other) {
                // What it names, such as the folder a command runs in, is not all it may have changed.
                self.adopt(id, call.clone(), Vec::new());
            }
            self.adopt(id, call, paths);
        } else if named && !paths.is_empty() {
            let reach = chat.reach();
            self.effects.push(Effect::Prepare { paths, reach });
        }
        if ended {
            self.keep(id);
        }
    }
}

impl Chat {
    /// Where what the agent says goes: while a session is loaded, to what it says again.
    pub(super) fn spoken(&mut self) -> &mut Transcript {
        self.replay.as_mut().unwrap_or(&mut self.transcript)
    }

    /// Where that is found again.
    pub(super) fn said(&self) -> &Transcript {
        self.replay.as_ref().unwrap_or(&self.transcript)
    }

    fn chunk(
        &mut self,
        role: Role,
        message: Option<&crate::session::ids::MessageId>,
        content: &Content,
    ) {
        if role == Role::User && std::mem::take(&mut self.reloaded) {
            // A replay begins with what the user said first.
            self.transcript = Transcript::default();
            self.keep_anew = true;
            self.redraw();
        }
        let activity = match role {
            Role::User => None,
            Role::Agent => Some("writing"),
            Role::Thought => Some("thinking"),
        };
        if self.activity.as_deref() != activity {
            self.activity = activity.map(str::to_owned);
            self.changed = true;
        }
        self.spoken().chunk(role, message, content);
    }
}
