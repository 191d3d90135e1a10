//! Passes each event to its handler.

use crate::core::calls::{CallOwner, ExpectedReply};
use crate::core::event_subject::EventSubject;
use crate::core::messages::agent::{AgentEvent, CallError, Reply};
use crate::core::messages::editor::Level;
use crate::core::messages::effect::Effect;
use crate::core::messages::event::{Event, Timer};
use crate::core::messages::ids::{AgentId, CallId};
use crate::core::messages::user::UserAction;
use crate::core::questions::Question;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::author::ChatId;
use crate::session::fork::ForkPoint;

impl State {
    /// Processes an event and returns the effects to carry out.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        let subject = EventSubject::of(&event);
        self.catch_panic(&subject, |state| state.dispatch(event));
        self.tell_review_updates();
        std::mem::take(&mut self.effects)
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Agent(agent, from) => self.agent_event(agent, from),
            Event::User(action) => self.user_action(action),
            Event::File { token, outcome } => self.file_done(token, outcome),
            Event::DiskFollowed { chat, changes, failed } => {
                self.disk_followed(chat, changes, failed);
            }
            Event::Terminal(terminal, event) => self.terminal_event(&terminal, event),
            Event::Exported(chat, id, export, outcome) => {
                self.content_exported(chat, id, export, outcome);
            }
            Event::Denied(chat, denied) => self.denied(chat, denied),
            Event::Judged(version, judgement) => self.permission_judged(version, judgement),
            Event::RulesSaved(rules, then) => self.rules_saved(rules, then),
            Event::Buffer(path, event) => self.buffer_event(path, event),
            Event::Reviewed(outcome) => self.reviewed(outcome),
            Event::TakenBack(action, files, left) => self.taken_back(action, files, &left),
            Event::PendingFound(files) => self.pending_found(files),
            Event::FolderScan(chat, files) => self.folder_scanned(chat, files),
            Event::TurnKept(_) => self.review_changed(),
            Event::TurnNotKept(_, why) => self.turn_not_kept(&why),
            Event::TurnsListed { chat, turns, request, is_of_prompt } => {
                self.turns_listed(chat, turns, request, is_of_prompt);
            }
            Event::TurnShown(chat, shown) => self.turn_shown(chat, shown),
            Event::UndoPlanned(chat, plan) => self.undo_planned(chat, plan),
            Event::Undone(chat, plan, outcome) => self.undone(chat, &plan, outcome),
            Event::WorktreeCreated(request, created) => self.worktree_created(request, created),
            Event::MergePlanned(chat, plan) => self.merge_planned(chat, plan),
            Event::Merged(plan, outcome) => self.merged(&plan, outcome),
            Event::WorktreeChecked(chat, count) => self.worktree_checked(chat, count),
            Event::WorktreeRemoved(worktree, removed) => self.worktree_removed(&worktree, removed),
            Event::Tools(event) => self.tools_event(event),
            Event::ChangesFound(list, files, states) => self.changes_found(list, files, states),
            Event::ReviewComposed(piece, all) => self.review_composed(*piece, all),
            Event::ChangeFound(comparison, change) => self.change_found(comparison, change),
            Event::DiskChanged(paths) => self.disk_changed(&paths),
            Event::PromptContextCollected { chat, turn, unsaved, context } => {
                self.context_collected(chat, turn, unsaved, context);
            }
            Event::LastSession(chat, sessions) => self.last_session_found(chat, sessions),
            Event::SavedSessions(cwd, sessions) => self.saved_sessions(&cwd, sessions),
            Event::Searched(request, result) => self.searched(request, result),
            Event::TranscriptLoaded(chat, past) => self.transcript_loaded(chat, past),
            Event::Saved(session, result) => self.session_saved(&session, result),
            Event::Timer(Timer::CancelGrace(chat, turn)) => self.cancel_grace_over(chat, turn),
            Event::Timer(Timer::TurnLimit(chat, turn)) => self.turn_limit_over(chat, turn),
            Event::Timer(Timer::PermissionLimit(chat, request)) => {
                self.permission_limit_over(chat, request);
            }
            Event::Timer(Timer::SavePart(chat, turn)) => self.save_part(chat, turn),
            Event::Timer(Timer::Reconnect(chat, number)) => self.reconnect_now(chat, number),
            Event::Timer(Timer::Steady(chat, number)) => self.connection_is_steady(chat, number),
            Event::Timer(Timer::ToolRow(token)) => self.tool_row_over(token),
            Event::Timer(Timer::ToolLimit(token, caller)) => self.tool_limit_over(token, caller),
            Event::Timer(Timer::Printed(agent)) => self.show_printed(agent),
            Event::Timer(Timer::ReviewUpdates) => self.review_updates.release(),
            Event::FrameLost => self.frame_lost(),
            Event::TracePiece(piece) => self.trace_arrived(piece),
            Event::ChatExported(_, export, outcome) => self.chat_exported(&export, outcome),
            Event::TraceSaved(path, outcome) => self.trace_saved(&path, &outcome),
            #[cfg(test)]
            Event::Panic(..) => panic!("a handler that breaks"),
        }
    }

    fn agent_event(&mut self, agent: AgentId, from: AgentEvent) {
        match from {
            AgentEvent::Update { session, update } => match self.chat_of(agent, &session) {
                Some(id) => self.update(id, update),
                None => self.hold_update(agent, session, update),
            },
            AgentEvent::Request { token, session, request } => {
                self.request(agent, token, &session, request);
            }
            AgentEvent::MethodRefused { session, method, is_switched_off } => {
                self.method_refused(agent, &session, &method, is_switched_off);
            }
            AgentEvent::Elicitation { token, scope, elicitation } => {
                self.elicitation_requested(agent, token, &scope, *elicitation);
            }
            AgentEvent::ElicitationComplete(name) => self.elicitation_complete(agent, &name),
            AgentEvent::Withdrawn(token) => self.withdrawn(token),
            AgentEvent::Answer { call, result } => self.reply_received(call, result),
            AgentEvent::Meta(meta) => self.meta_of_agent(agent, &meta),
            AgentEvent::Printed(line) => self.printed(agent, line),
            AgentEvent::Exited(exit) => self.exited(agent, &exit),
        }
    }

    fn reply_received(&mut self, call: CallId, result: Result<Reply, CallError>) {
        self.call_ended(call);
        let Some((owner, expected)) = self.calls.remove(&call) else { return };
        // `Exited` follows, and tells more than an unanswered call does.
        if result == Err(CallError::Closed) {
            return;
        }
        match owner {
            CallOwner::Agent(agent) => match (expected, result) {
                (ExpectedReply::Initialize, Ok(Reply::Initialized(info))) => {
                    self.initialized(agent, *info);
                }
                (ExpectedReply::Initialize, Ok(reply)) => {
                    self.handshake_failed(agent, "initialize", &user_messages::wrong_reply(&reply));
                }
                (ExpectedReply::Initialize, Err(error)) => {
                    self.handshake_failed(agent, "initialize", &error);
                }
                (ExpectedReply::Sessions, result) => self.sessions_listed(agent, result),
                (ExpectedReply::LoggedOut, result) => self.logged_out(agent, result),
                (ExpectedReply::Deleted, Err(error)) => self.delete_failed(agent, &error),
                (ExpectedReply::UnwantedSession, Ok(Reply::Session { id, .. })) => {
                    self.close_unwanted_session(agent, id);
                }
                _ => {}
            },
            CallOwner::Chat(id) => self.chat_reply_received(id, call, expected, result),
        }
    }

    fn chat_reply_received(
        &mut self,
        id: ChatId,
        call: CallId,
        expected: ExpectedReply,
        result: Result<Reply, CallError>,
    ) {
        match (expected, result) {
            (ExpectedReply::Authenticate, Ok(_)) => self.logged_in(id),
            (ExpectedReply::Authenticate, Err(error)) => self.login_failed(id, &error),
            (
                ExpectedReply::NewSession | ExpectedReply::Fork,
                Ok(Reply::Session { id: session, setup }),
            ) => {
                self.session_opened(id, &session, setup);
            }
            (ExpectedReply::NewSession, Err(error)) => {
                self.session_failed(id, "session/new", &error);
            }
            (ExpectedReply::Fork, Err(error)) => self.session_failed(id, "session/fork", &error),
            (ExpectedReply::Load | ExpectedReply::Resume, Ok(Reply::Restored(setup))) => {
                self.session_restored(id, setup);
            }
            (ExpectedReply::Load | ExpectedReply::Resume, Err(error)) => {
                self.restore_failed(id, &error);
            }
            (ExpectedReply::Turn, Ok(Reply::Turn(stop))) => self.prompt_answered(id, call, &stop),
            (ExpectedReply::Turn, Ok(Reply::PromptReceived { message })) => {
                self.prompt_received(id, call, message.as_ref());
            }
            (ExpectedReply::Turn, Err(error)) => self.prompt_failed(id, call, &error),
            (ExpectedReply::Option { id: option, by_user, .. }, Ok(Reply::Options(options))) => {
                self.option_set(id, &option, by_user, options);
            }
            (ExpectedReply::Option { name, .. }, Err(error)) => {
                self.option_failed(id, &name, &error);
            }
            (ExpectedReply::Selected { setting, value, by_user }, Ok(_)) => {
                self.mode_or_model_set(id, setting, by_user, value);
            }
            (ExpectedReply::Selected { setting, .. }, Err(error)) => {
                self.option_failed(id, &format!("the {setting}"), &error);
            }
            (ExpectedReply::Ignored, _) => {}
            (_, Ok(reply)) => self.start_failed(id, "startup", &user_messages::wrong_reply(&reply)),
            (_, Err(error)) => self.start_failed(id, "startup", &error),
        }
    }

    fn user_action(&mut self, action: UserAction) {
        match action {
            UserAction::Start { config, problems, cwd, directories, policy, target, focus } => {
                self.report_settings_problems(problems);
                let id = self.start(*config, cwd, directories, target, focus);
                self.set_policy(id, policy);
            }
            UserAction::Renew { chat, config, problems } => self.renew(chat, &config, problems),
            UserAction::Edit(edit) => self.edit(*edit),
            UserAction::EditAgain(chat, prompt) => self.edit_again(chat, *prompt),
            UserAction::ListSessions { act, cwd } => self.list_sessions(act, cwd),
            UserAction::MoreSessions => self.more_sessions(),
            UserAction::Search(request, query) => self.search(request, query),
            UserAction::CloseSession(agent, session) => self.close_session(&agent, &session),
            UserAction::DeleteSession { agent, session, cwd } => {
                self.delete_session(agent, session, cwd);
            }
            UserAction::Review(request) => self.review(request),
            UserAction::TakeBack => self.effects.push(Effect::TakeBack),
            UserAction::ListTurns { chat, request, entry } => {
                self.with_chat(chat, |state, id| state.list_turns(id, request, entry));
            }
            UserAction::ShowTurn(chat, turn) => {
                self.with_chat(chat, |state, id| state.show_turn(id, turn));
            }
            UserAction::Undo(chat, target, force) => {
                self.with_chat(chat, |state, id| state.undo(id, target, force));
            }
            UserAction::Worktree(action) => self.worktree_action(action),
            UserAction::ListChanges(list) => self.list_changes(list),
            UserAction::Compare(comparison) => self.compare(comparison),
            UserAction::KeepAsBase(path, base) => self.keep_as_base(path, base),
            UserAction::Prompt { chat, prompt, now } => self.prompt(chat, prompt, now),
            UserAction::Cancel(chat) => self.with_chat(chat, Self::cancel),
            UserAction::Stop(chat) => self.with_chat(chat, Self::stop),
            UserAction::Close(chat) => self.with_chat(chat, Self::close_chat),
            UserAction::Restart { chat, force } => {
                self.with_chat(chat, |state, id| state.restart_requested(id, force));
            }
            UserAction::Fork(chat) => self.with_chat(chat, Self::fork),
            UserAction::SetOption { chat, option, value } => {
                self.with_chat(chat, |state, id| state.set_option(id, &option, &value));
            }
            UserAction::Login { chat, method } => {
                self.with_chat(chat, |state, id| state.login_requested(id, method.as_deref()));
            }
            UserAction::LoginEnded { chat, status } => self.terminal_login_over(chat, status),
            UserAction::Logout(chat) => self.with_chat(chat, Self::logout),
            UserAction::ExportChat(chat, export) => {
                self.with_chat(chat, |state, id| state.export_chat(id, export));
            }
            UserAction::Queue(chat, action) => {
                self.with_chat(chat, |state, id| state.act_on_queue(id, action));
            }
            UserAction::Permission { chat, id, revision, choice } => {
                self.permission_answered(chat, id, revision, choice);
            }
            UserAction::PermissionProvided { chat, id, revision, choice } => {
                self.permission_provided(chat, id, revision, choice);
            }
            UserAction::ShowRules(chat) => self.with_chat(chat, Self::rules_requested),
            UserAction::SuggestRule(chat, request) => self.suggest_rule(chat, request),
            UserAction::KeepRules { chat, request, extent, lines } => {
                self.keep_rules(chat, request, extent, lines);
            }
            UserAction::SetRules(chat, cwd, lists) => self.set_rules(chat, &cwd, lists),
            UserAction::Listen(kinds) => self.listening.listen(kinds),
            UserAction::Elicitation { chat, id, choice } => {
                self.elicitation_answered(chat, id, choice);
            }
            UserAction::ShowDiff { chat, tool_call: Some(it), .. } => self.show_diff_of(chat, &it),
            UserAction::ShowDiff { chat, id, tool_call: None } => self.show_diff(chat, id),
            UserAction::ShowOutput { chat, tool_call } => {
                self.with_chat(chat, |state, id| state.show_output(id, &tool_call));
            }
            UserAction::ShowTerminal { chat, terminal, show } => {
                self.with_chat(chat, |state, id| state.show_terminal(id, terminal, show));
            }
            UserAction::Content { chat, id, act } => {
                self.with_chat(chat, |state, chat| state.content(chat, &id, act));
            }
            UserAction::Widen(chat, path) => self.offer_to_widen(chat, path),
            UserAction::ShowInfo(chat) => self.with_chat(chat, Self::show_info),
            UserAction::Trace(chat, command) => self.trace(chat, command),
            UserAction::Answer { id, index } => self.question_answered(id, index),
            UserAction::ShowWrite(question) => self.show_write(question),
            UserAction::DecideWrite(question, lines) => self.decide_write(question, lines),
            UserAction::DiffEdited(chat, edited) => self.diff_edited(chat, edited),
            UserAction::Redraw(chat, view) => self.redraw(chat, view),
        }
    }

    /// Runs `action` on a chat, or tells the user that there is none.
    pub(super) fn with_chat(
        &mut self,
        chat: Option<ChatId>,
        action: impl FnOnce(&mut Self, ChatId),
    ) {
        match self.find_chat(chat) {
            Some(id) => action(self, id),
            None => self.notify(Level::Warn, user_messages::no_chat()),
        }
    }

    fn question_answered(&mut self, id: u64, index: Option<usize>) {
        let Some(question) = self.questions.remove(&id) else { return };
        match question {
            Question::EndAgent(chat, turn) => self.end_agent_answered(chat, turn, index),
            Question::Login(chat, methods) => self.login_answered(chat, &methods, index),
            Question::OutsidePath { chat, file, folder, waiting } => {
                self.outside_path_answered(chat, (file, folder), &waiting, index);
            }
            Question::Read { chat, file, waiting } => {
                self.read_answered(chat, file, &waiting, index);
            }
            Question::Command { chat, token, create } => {
                self.command_answered(chat, token, *create, index);
            }
            Question::DirtyWrite(_, token) => self.dirty_write_answered(token, index),
            Question::Write { chat, token, write, .. } => {
                self.write_answered(chat, token, &write, index);
            }
            Question::UnsavedText(chat, _) => self.unsaved_text_answered(chat, index),
            Question::Fork(chat, session, turns) => {
                self.fork_answered(chat, ForkPoint::whole(session), turns, index);
            }
            Question::Widen(chat, path) => self.widen_answered(chat, &path, index),
            Question::Undo(chat, plan) => self.undo_answered(chat, plan, index),
            Question::Merge(chat, plan) => self.merge_answered(chat, plan, index),
            Question::RemoveWorktree(chat) => self.removal_answered(chat, index),
        }
    }
}
