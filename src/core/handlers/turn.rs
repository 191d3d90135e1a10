//! Turns: sending and queueing prompts, handling updates of a running turn, cancelling it, and ending it.

use super::login;
use crate::core::chat::{Chat, Phase, Replay};
use crate::core::failures;
use crate::core::messages::agent::CallError;
use crate::core::messages::editor::{EditorMessage, Level, UserAutocmd};
use crate::core::messages::effect::{AgentCommand, Effect};
use crate::core::messages::event::Timer;
use crate::core::messages::files::CallState;
use crate::core::messages::ids::CallId;
use crate::core::messages::page::View;
use crate::core::questions::Question;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::agent::OnCancelTimeout;
use crate::session::author::ChatId;
use crate::session::content::Content;
use crate::session::ids::ToolCallId;
use crate::session::prompt::Prompt;
use crate::session::tool_call::{ToolCall, ToolCallPatch, ToolKind, ToolStatus};
use crate::session::transcript::Transcript;
use crate::session::turn::StopReason;
use crate::session::update::{Role, Severity, Update};
use std::path::PathBuf;

impl State {
    /// Sends a prompt, or queues it while the agent works; with `now`, the running turn is cancelled in its favour.
    pub(in crate::core) fn prompt(&mut self, chat: Option<ChatId>, prompt: Prompt, now: bool) {
        let Some(id) = self.find_chat(chat) else {
            return self.notify(Level::Warn, user_messages::no_chat());
        };
        self.current = Some(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        match &chat.phase {
            Phase::Ready => self.start_turn(id, prompt),
            Phase::Running(_) | Phase::Starting(_) if !chat.is_reconnecting() => {
                let number = chat.queue.push(prompt);
                chat.redraw.status = true;
                if now {
                    self.send_queued(id, number);
                }
            }
            Phase::Running(_) | Phase::Starting(_) | Phase::Failed(_) | Phase::Stopped => {
                // A prompt restarts an agent that has ended.
                chat.queue.push_ahead(prompt);
                self.connect(id);
            }
        }
    }

    /// Sends the next queued prompt if the agent is ready.
    pub(in crate::core) fn send_next_prompt(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.phase != Phase::Ready {
            return;
        }
        if let Some(prompt) = chat.queue.next() {
            self.start_turn(id, prompt);
        }
    }

    /// Cancels the turn (ACP cancellation). The agent is notified once, everything that waits for the user is answered,
    /// and running tool calls show as cancelled. The turn ends with the agent's reply.
    pub(in crate::core) fn cancel(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let (agent, session) = (chat.agent, chat.session.clone());
        let Phase::Running(turn) = &mut chat.phase else {
            if self.withdraw_login(id) || self.withdraw_edits(id) || self.cancel_late_requests(id) {
                return;
            }
            return self.notify(Level::Info, "No turn to cancel");
        };
        let number = turn.number;
        if turn.is_unsent() {
            return self.withdraw_prompt(id);
        }
        if turn.is_placing() {
            return self.cancel_file_questions(id);
        }
        if turn.cancelled {
            return self.offer_to_end_agent(id, number);
        }
        turn.cancelled = true;
        chat.redraw.status = true;
        chat.queue.pause();
        let after = chat.time_to_obey();
        if let (Some(agent), Some(session)) = (agent, session) {
            self.send_to_agent(agent, AgentCommand::Cancel(session));
        }
        self.cancel_permissions(id);
        self.cancel_elicitations(id);
        self.cancel_file_questions(id);
        self.cancel_terminals(id);
        self.cut_calls_off(id, ToolStatus::Cancelled);
        self.effects.push(Effect::Timer { timer: Timer::CancelGrace(id, number), after });
    }

    pub(in crate::core) fn cancel_grace_over(&mut self, id: ChatId, number: u64) {
        let turn = self.chats.get(&id).and_then(Chat::turn);
        if turn.is_some_and(|turn| turn.number == number && turn.cancelled) {
            match self.chats.get(&id).map(Chat::on_cancel_timeout) {
                Some(OnCancelTimeout::Restart) => self.restart_deaf_agent(id),
                Some(OnCancelTimeout::Ask) => self.offer_to_end_agent(id, number),
                None => {}
            }
        }
    }

    /// Ends an agent that may not even have read the cancellation, and starts it again.
    fn restart_deaf_agent(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let note =
            format!("{} did not stop, so it was ended and started again", chat.agent_title());
        chat.transcript.note(Severity::Warning, note, Vec::new());
        // Nothing is sent to it before it has started.
        chat.queue.hold();
        self.end_turn(id, true, "cancelled");
        self.restart(id);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.queue.hold();
        }
    }

    fn offer_to_end_agent(&mut self, id: ChatId, number: u64) {
        let question = Question::EndAgent(id, number);
        if self.questions.values().any(|open| *open == question) {
            return;
        }
        let Some(chat) = self.chats.get(&id) else { return };
        let title = format!("{} has not stopped yet", chat.agent_title());
        let others = chat.agent.map_or(0, |agent| self.chats_on(agent).len().saturating_sub(1));
        let end = match others {
            0 => "End the agent".to_owned(),
            1 => "End the agent, and 1 other chat that uses it".to_owned(),
            _ => format!("End the agent, and {others} other chats that use it"),
        };
        self.ask(question, title, vec![end, "Wait".to_owned()]);
    }

    pub(in crate::core) fn end_agent_answered(
        &mut self,
        id: ChatId,
        number: u64,
        index: Option<usize>,
    ) {
        let running = self.chats.get(&id).and_then(Chat::turn);
        if index == Some(0) && running.is_some_and(|turn| turn.number == number) {
            self.kill(id);
        }
    }

    /// Handles the reply to the prompt, which holds the stop reason.
    pub(in crate::core) fn prompt_answered(&mut self, id: ChatId, call: CallId, stop: &StopReason) {
        if self.chat_of_prompt(id, call).is_some() {
            self.turn_ended(id, stop);
        }
    }

    /// Ends the running turn with a stop reason.
    pub(in crate::core) fn turn_ended(&mut self, id: ChatId, stop: &StopReason) {
        self.accept_held(id);
        if self.place_answer(id, stop) {
            return;
        }
        self.drop_late_tool_calls(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let cancelled = chat.turn().is_some_and(|turn| turn.cancelled);
        // Some agents report `end_turn` for a cancelled turn.
        let stop = if cancelled { &StopReason::Cancelled } else { stop };
        chat.transcript.settle_messages();
        let note = match stop {
            StopReason::EndTurn if chat.has_silent_turn() => {
                let note = format!("{} ended the turn without an answer", chat.agent_title());
                Some((Severity::Info, note))
            }
            StopReason::EndTurn => None,
            StopReason::Cancelled => Some((Severity::Info, "Cancelled".to_owned())),
            StopReason::MaxTokens => Some((
                Severity::Warning,
                "Stopped at the model's token limit. Ask it to continue, or start over with :RatStart!"
                    .to_owned(),
            )),
            StopReason::MaxTurnRequests => Some((
                Severity::Warning,
                "Stopped at the agent's limit of requests per turn. Ask it to continue.".to_owned(),
            )),
            StopReason::Refusal => Some((
                Severity::Warning,
                "Refused. The agent forgets this prompt and what came after it.".to_owned(),
            )),
            StopReason::Unknown(word) if word.is_empty() => {
                Some((Severity::Info, "The turn ended without a reason".to_owned()))
            }
            StopReason::Unknown(word) => Some((Severity::Info, format!("The turn ended: {word}"))),
        };
        if let Some((severity, title)) = note {
            chat.transcript.note(severity, title, Vec::new());
        }
        let pause = cancelled || *stop == StopReason::Refusal;
        self.report_turn_end(id, *stop != StopReason::Refusal);
        self.end_turn(id, pause, stop.word());
    }

    /// Handles an error reply to the prompt.
    pub(in crate::core) fn prompt_failed(&mut self, id: ChatId, call: CallId, error: &CallError) {
        if self.chat_of_prompt(id, call).is_some() {
            self.turn_failed(id, error);
        }
    }

    /// Ends the running turn with an error.
    pub(in crate::core) fn turn_failed(&mut self, id: ChatId, error: &CallError) {
        let turn = self.chats.get(&id).and_then(|chat| chat.turn().cloned());
        let Some(turn) = turn else { return };
        self.accept_held(id);
        self.report_turn_end(id, turn.cancelled);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if turn.cancelled {
            // Agents also reply to a cancelled prompt with an error (ACP cancellation).
            chat.transcript.note(Severity::Info, "Cancelled", Vec::new());
            return self.end_turn(id, true, "cancelled");
        }
        if login::is_required(error) {
            chat.transcript.note(Severity::Warning, "Login required", Vec::new());
            chat.turn_mut().map(|turn| turn.prompt.in_place.take());
            self.end_turn(id, true, "error");
            if let Some(chat) = self.chats.get_mut(&id) {
                chat.queue.push_ahead(turn.prompt);
            }
            return self.login(id);
        }
        let mut why = user_messages::turn(chat.name(), error);
        if turn.prompt.is_returned() {
            why = why.advise(user_messages::PROMPT_IS_BACK);
            let prompt = turn.prompt.clone();
            self.after_draw.push(EditorMessage::Draft { chat: id, prompt, taken: false });
        }
        let failure = failures::of_call(why.clone(), error);
        let details = user_messages::details(&failure);
        chat.transcript.note(Severity::Error, why.to_string(), details);
        let told = UserAutocmd::Error(id, failure);
        self.after_draw.push(EditorMessage::Autocommand(told));
        self.notify(Level::Error, why);
        self.end_turn(id, true, "error");
    }

    /// Returns the chat if this call is the prompt of its running turn.
    pub(in crate::core) fn chat_of_prompt(
        &mut self,
        id: ChatId,
        call: CallId,
    ) -> Option<&mut Chat> {
        self.chats
            .get_mut(&id)
            .filter(|chat| chat.turn().is_some_and(|turn| turn.call == Some(call)))
    }

    pub(in crate::core) fn end_turn(&mut self, id: ChatId, pause: bool, stop_reason: &str) {
        self.cancel_permissions(id);
        self.end_elicitations(id);
        if let Some(chat) = self.chats.get_mut(&id) {
            if pause {
                chat.queue.pause();
            }
            chat.transcript.settle_messages();
            // Gemini sends no further update for a tool call the user has rejected.
            chat.transcript.settle_tools(ToolStatus::Cancelled);
        }
        self.withdraw_questions(
            |question| matches!(question, Question::EndAgent(chat, _) if *chat == id),
        );
        let ended = self.chats.get(&id).and_then(|chat| chat.turn().cloned());
        self.look_for_denials(id, None);
        self.note_unannounced_commands(id);
        self.offer_confinement(id);
        self.warn_of_full_context(id);
        self.enter_phase(id, Phase::Ready);
        self.follow_disk(id, None, Vec::new(), true);
        self.keep_turn(id, ended);
        self.save(id);
        let chat = self.chats.get(&id);
        let next = chat.is_some_and(|chat| chat.queue.is_ready());
        self.tell_turn_end(id, stop_reason, next);
        self.send_next_prompt(id);
    }

    /// Applies an update of a session that is not shown already.
    pub(super) fn apply_update(&mut self, id: ChatId, update: Update) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        match update {
            Update::Chunk { role, message, content } => {
                chat.chunk(role, message.as_ref(), &content);
            }
            Update::Message { role, message, content } => {
                chat.incoming_mut().message(role, &message, &content);
            }
            Update::ToolCall { id: call, patch } => self.tool_call(id, &call, *patch),
            Update::ToolContent { id: call, content } => {
                let there = chat.incoming_mut().find_tool(&call).map(|tool| tool.call.clone());
                let mut now = there.unwrap_or_else(|| ToolCall::new(call.clone()));
                now.add_content(content);
                let (content, omitted) = (Some(now.content), now.omitted);
                let patch = ToolCallPatch { content, omitted, ..ToolCallPatch::default() };
                self.tool_call(id, &call, patch);
            }
            Update::Terminal { id: terminal, update } => {
                chat.incoming_mut().update_terminal(&terminal, &update);
            }
            Update::Plan(plan) => {
                chat.incoming_mut().plan(plan);
                chat.redraw.status = true;
            }
            Update::Commands(commands) => {
                self.after_draw.push(EditorMessage::Commands(id, commands));
            }
            Update::Mode(mode) => {
                if let Some(modes) = &mut chat.settings.modes {
                    modes.current = mode;
                }
                self.send_options(id);
            }
            Update::Options(options) => {
                chat.settings.options = options;
                self.send_options(id);
            }
            Update::Info { title, updated_at: _ } => {
                title.apply(&mut chat.title);
                chat.redraw.status = true;
                self.save(id);
            }
            Update::Usage(usage) => {
                chat.usage = Some(usage);
                chat.redraw.status = true;
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
                chat.incoming_mut().compaction(&key, |it| it.change(status, summary, error));
            }
            Update::CompactionChunk { id: key, content } => {
                chat.incoming_mut().compaction(&key, |it| it.add(content));
            }
            Update::Meta(meta) => self.meta(id, meta),
            Update::Activity(activity) => self.activity(id, activity),
            Update::Unknown { tag, problem } => chat.note_unknown(&tag, problem.as_deref()),
        }
    }

    /// Tool calls end before the agent has said so. What they have changed until now is theirs.
    pub(super) fn cut_calls_off(&mut self, id: ChatId, status: ToolStatus) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.turn().is_some_and(|turn| !turn.is_unsent()) {
            let open = chat.transcript.tools().filter(|tool| tool.call.status.is_open());
            let writing = open.filter(|tool| tool.call.kind != ToolKind::Read);
            let calls: Vec<ToolCallId> = writing.map(|tool| tool.call.id.clone()).collect();
            for call in calls {
                self.follow_disk(id, Some(call), Vec::new(), true);
            }
        }
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.transcript.settle_tools(status);
        }
    }

    fn tool_call(&mut self, id: ChatId, call: &ToolCallId, mut patch: ToolCallPatch) {
        self.keep_card(id, call, &mut patch);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let ended = matches!(patch.status, Some(ToolStatus::Completed | ToolStatus::Failed));
        let replayed = chat.replay.loading().is_some();
        let asked = chat.call_awaiting_permission(call);
        let named = chat.paths_of_call(call);
        if patch.announces && chat.incoming().is_announced_anew(call) {
            chat.redraw_view(View::Tools);
        }
        let kind = chat.incoming_mut().tool(call, patch).call.kind;
        let paths = chat.paths_of_call(call);
        chat.mark_against_rule(call);
        chat.bump_revisions(asked);
        chat.redraw.tool_calls.insert(call.clone());
        chat.redraw.status = true;
        let is_in_turn = chat.turn().is_some();
        let waits = chat.call_awaiting_permission(call).is_some();
        self.judge_waiting(id);
        self.tool_row_changed(id, call);
        // Replayed tool calls happened long ago.
        if replayed || !is_in_turn {
            return;
        }
        let state = match (ended, waits) {
            (true, _) => CallState::Ended,
            (false, true) => CallState::Waits,
            (false, false) => CallState::Runs,
        };
        self.call_is(id, call, state);
        if ended && kind == ToolKind::Read {
            self.agent_read_disk(id, paths);
        } else if ended {
            let call = Some(call.clone());
            if !paths.is_empty() && matches!(kind, ToolKind::Execute | ToolKind::Other) {
                // The call may have changed other files than the ones it names, such as the folder a command runs in.
                self.follow_disk(id, call.clone(), Vec::new(), false);
            }
            self.follow_disk(id, call, paths, true);
        } else {
            self.preload(id, call, &named);
        }
        if ended {
            self.look_for_denials(id, Some(call));
            self.save(id);
        }
    }

    /// Has the files read that a tool call is about to change, when it names them first: when it does so again, it may have
    /// changed them. `named` are those it has named before.
    pub(super) fn preload(&mut self, id: ChatId, call: &ToolCallId, named: &[PathBuf]) {
        let Some(chat) = self.chats.get(&id) else { return };
        if chat.replay.loading().is_some() || chat.turn().is_none() {
            return;
        }
        let mut paths = chat.paths_of_call(call);
        paths.retain(|path| !named.contains(path));
        if !paths.is_empty() {
            let scope = chat.file_scope();
            self.effects.push(Effect::Preload { chat: id, paths, scope });
        }
    }
}

impl Chat {
    /// The transcript that the agent's messages are added to; while a session is loaded, the one that collects the
    /// replay.
    pub(in crate::core) fn incoming_mut(&mut self) -> &mut Transcript {
        self.replay.loading_mut().unwrap_or(&mut self.transcript)
    }

    /// Like [`Self::incoming_mut`], but immutable.
    pub(in crate::core) fn incoming(&self) -> &Transcript {
        self.replay.loading().unwrap_or(&self.transcript)
    }

    /// Returns the paths of the files that a tool call names.
    pub(super) fn paths_of_call(&self, call: &ToolCallId) -> Vec<PathBuf> {
        let Some(entry) = self.incoming().find_tool(call) else { return Vec::new() };
        // Some agents send paths relative to the session's working directory.
        entry.call.paths().map(|path| self.cwd.join(path)).collect()
    }

    /// Whether an update replays what is already shown. After a fork, the replay starts with the first user message.
    pub(super) fn is_replayed(&mut self, update: &Update) -> bool {
        let of_user = match update {
            Update::Chunk { role, .. } | Update::Message { role, .. } => *role == Role::User,
            _ => false,
        };
        if of_user && matches!(self.replay, Replay::MayFollowFork) {
            self.replay = Replay::AfterFork;
        }
        matches!(self.replay, Replay::AfterFork) && update.is_conversation()
    }

    fn chunk(
        &mut self,
        role: Role,
        message: Option<&crate::session::ids::MessageId>,
        content: &Content,
    ) {
        if role == Role::User && matches!(self.replay, Replay::MayFollowLoad) {
            self.replay = Replay::None;
            // A replay starts with a user message.
            self.transcript = Transcript::default();
            self.saving.rewrite = true;
            self.redraw_all();
        }
        let activity = match role {
            Role::User => None,
            Role::Agent => Some("writing"),
            Role::Thought => Some("thinking"),
        };
        if let Phase::Running(turn) = &mut self.phase
            && turn.activity != activity
        {
            turn.activity = activity;
            self.redraw.status = true;
        }
        self.incoming_mut().chunk(role, message, content);
    }
}
