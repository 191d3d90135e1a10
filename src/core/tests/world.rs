//! A simulated environment for a `State`: an agent, a disk and an editor.

use super::*;
use crate::core::messages::editor::UserAutocmd;
use crate::core::messages::judgement::{Case, Judgement};
use crate::trust::rule::{Decision, Rule};
use std::time::Duration;

/// Simulates everything around a `State` and records its effects.
#[derive(Default)]
pub(super) struct World {
    pub(super) state: State,
    pub(super) agent: Option<AgentId>,
    pub(super) calls: Vec<(CallId, Call)>,
    pub(super) request_tokens: Vec<RequestToken>,
    pub(super) answers: HashMap<RequestToken, Vec<Answer>>,
    pub(super) file_requests: Vec<RequestToken>,
    /// Commands that were started and have not both ended and been released.
    pub(super) commands: Vec<terminals::Command>,
    pub(super) questions: Vec<u64>,
    pub(super) messages: Vec<EditorMessage>,
    pub(super) timers: Vec<Timer>,
    /// The same with their times.
    pub(super) waits: Vec<(Timer, Duration)>,
    /// Contexts that prompts are waiting for.
    pub(super) contexts: Vec<CollectPromptContext>,
    /// The content of each prompt that was sent.
    pub(super) sent: Vec<Vec<Content>>,
    /// Commands for the store.
    pub(super) stored: Vec<StoreCommand>,
    /// Files to follow; an empty list means all.
    pub(super) followed: Vec<Vec<PathBuf>>,
    /// The ends of turns: what was reported to the agent, and whether it took the prompt into account.
    pub(super) turn_ends: Vec<(Vec<ReportedChange>, bool)>,
    pub(super) withdrawn: Vec<CallId>,
    /// Permission requests that the user's rules have to decide on.
    pub(super) cases: Vec<Case>,
    pub(super) next_token: u64,
    /// Number of sessions the agent has opened.
    pub(super) sessions: usize,
    /// The session the agent's messages are about; `None` for the first one.
    pub(super) session: Option<SessionId>,
}

impl World {
    pub(super) fn handle(&mut self, event: Event) {
        let mut collected = Vec::new();
        for effect in self.state.handle(event) {
            match effect {
                Effect::Agent(effect) => match effect.action {
                    AgentCommand::Start { .. } => self.agent = Some(effect.agent),
                    AgentCommand::Call { call, request, .. } => {
                        if let Call::Prompt { blocks, .. } = &request {
                            self.sent.push(blocks.clone());
                        }
                        self.calls.push((call, request));
                    }
                    AgentCommand::Answer { token, answer } => {
                        self.answers.entry(token).or_default().push(answer);
                    }
                    AgentCommand::Stop => {
                        self.agent = None;
                        self.calls.clear();
                    }
                    AgentCommand::Withdraw(call) => self.withdrawn.push(call),
                    AgentCommand::Cancel(_) => {}
                },
                Effect::Read { token, .. } | Effect::Write { token, .. } => {
                    self.file_requests.push(token);
                }
                Effect::CollectPromptContext(request)
                    if self.state.chats[&request.chat].access.policy.unsaved == Unsaved::Ignore
                        && request.files.is_empty() =>
                {
                    // Only a checkpoint is waited for.
                    let CollectPromptContext { chat, turn, unsaved, .. } = request;
                    let context = PromptContext::default();
                    collected.push(Event::PromptContextCollected { chat, turn, unsaved, context });
                }
                Effect::CollectPromptContext(request) => self.contexts.push(request),
                Effect::TurnEnded { reported, taken, .. } => self.turn_ends.push((reported, taken)),
                Effect::Terminal(terminal, action) => self.terminal(&terminal, &action),
                Effect::Store(command) => self.stored.push(command),
                Effect::Timer { timer, after } => {
                    self.timers.push(timer);
                    self.waits.push((timer, after));
                }
                Effect::Judge(case) => self.cases.push(*case),
                Effect::FollowDisk { paths, .. } => self.followed.push(paths),
                Effect::CallIs { .. }
                | Effect::Buffer { .. }
                | Effect::Export { .. }
                | Effect::ExportChat { .. }
                | Effect::FindDenied(..)
                | Effect::FindPending { .. }
                | Effect::FindChanges { .. }
                | Effect::FindChange { .. }
                | Effect::ComposeReview(_)
                | Effect::Checkpoint(_)
                | Effect::Worktree(_)
                | Effect::Query { .. }
                | Effect::Tools(_)
                | Effect::KeepAsBase { .. }
                | Effect::Forget(_)
                | Effect::Preload { .. }
                | Effect::AgentReadDisk { .. }
                | Effect::Review { .. }
                | Effect::TakeBack
                | Effect::ForgetDecisions
                | Effect::Close(_)
                | Effect::Trace { .. }
                | Effect::TraceMore(_)
                | Effect::TraceClose(_)
                | Effect::Watch(_) => {}
            }
        }
        for event in collected {
            self.handle(event);
        }
        let frame = self.state.take_frame().messages;
        self.questions.extend(frame.iter().filter_map(|told| match told {
            EditorMessage::Ask(asked) => Some(asked.id),
            _ => None,
        }));
        for message in &frame {
            if let EditorMessage::Autocommand(UserAutocmd::Error(_, failure)) = message {
                let texts = [&failure.message].into_iter().chain(&failure.details);
                let is_for_all = |text: &str| !text.contains(":Rat") && !text.contains(":help");
                assert!(texts.clone().all(|it| is_for_all(&it.text)), "{failure:?}");
            }
        }
        self.messages.extend(frame);
    }

    pub(super) fn agent_sends(&mut self, from: AgentEvent) {
        if let Some(agent) = self.agent {
            self.handle(Event::Agent(agent, from));
        }
    }

    /// The agent sends a request.
    pub(super) fn request(&mut self, request: AgentRequest) {
        if self.agent.is_none() {
            return;
        }
        self.next_token += 1;
        let token = RequestToken(self.next_token);
        self.request_tokens.push(token);
        let session = self.session.clone().unwrap_or_else(|| "s".into());
        self.agent_sends(AgentEvent::Request { token, session, request });
    }

    pub(super) fn request_permission(&mut self, call: &str) {
        let options = vec![
            option("yes", OptionKind::AllowOnce),
            option("always", OptionKind::AllowAlways),
            option("no", OptionKind::RejectOnce),
        ];
        let patch = Box::new(ToolCallPatch::default());
        let tool_call = call.into();
        self.request(AgentRequest::Permission(PermissionRequest {
            tool_call,
            patch,
            question: None,
            options,
        }));
    }

    /// Replies to our oldest call as a cooperative agent would.
    pub(super) fn reply(&mut self) -> Option<Call> {
        if self.calls.is_empty() {
            return None;
        }
        let (call, request) = self.calls.remove(0);
        let reply = match &request {
            Call::Initialize => Reply::Initialized(Box::new(AgentInfo {
                protocol: Some(crate::session::protocol::Protocol::V1),
                ..AgentInfo::default()
            })),
            Call::NewSession(_) | Call::Fork(..) => {
                self.sessions += 1;
                let id =
                    if self.sessions == 1 { "s".into() } else { format!("s{}", self.sessions) };
                Reply::Session { id: id.as_str().into(), setup: SessionSetup::default() }
            }
            Call::Load(..) | Call::Resume(..) => Reply::Restored(SessionSetup::default()),
            Call::Prompt { .. } => Reply::Turn(StopReason::EndTurn),
            _ => Reply::Done,
        };
        self.agent_sends(AgentEvent::Answer { call, result: Ok(reply) });
        Some(request)
    }

    pub(super) fn reply_with_error(&mut self, error: CallError) {
        if !self.calls.is_empty() {
            let (call, _) = self.calls.remove(0);
            self.agent_sends(AgentEvent::Answer { call, result: Err(error) });
        }
    }

    /// Completes the context of the oldest waiting prompt, with this number of files with unsaved changes.
    pub(super) fn context_collected(&mut self, files: usize) {
        if self.contexts.is_empty() {
            return;
        }
        let CollectPromptContext { chat, turn, unsaved, .. } = self.contexts.remove(0);
        let files = if unsaved == Unsaved::Ignore { 0 } else { files };
        let context = PromptContext {
            unsaved: (0..files).map(|i| unsaved_file(&i.to_string())).collect(),
            changed: vec![changed_file("agent's")],
            problems: vec!["0 was not saved".to_owned(); usize::from(unsaved == Unsaved::Save)],
            ..PromptContext::default()
        };
        self.handle(Event::PromptContextCollected { chat, turn, unsaved, context });
    }

    pub(super) fn ready() -> Self {
        Self::ready_with(Unsaved::Ignore)
    }

    pub(super) fn ready_with(unsaved: Unsaved) -> Self {
        let mut world = Self::default();
        world.handle(start_with(ChatPolicy {
            unsaved,
            write_dirty: WriteDirty::Ask,
            ..ChatPolicy::default()
        }));
        world.reply();
        world.reply();
        assert_eq!(world.chat_state(), ChatState::Ready);
        world
    }

    /// The user has rules.
    pub(super) fn with_rules(mut self) -> Self {
        for chat in self.state.chats.values_mut() {
            let rule: Rule = "allow execute".parse().unwrap();
            chat.access.policy.rules = Arc::new([rule]);
        }
        self.state.rules_changed();
        self
    }

    /// The rules decide on the request that has waited longest for them.
    pub(super) fn judge(&mut self, decision: Decision, by: &[&str]) {
        if !self.cases.is_empty() {
            let version = self.cases.remove(0).version;
            let by = by.iter().map(|rule| (*rule).to_owned()).collect();
            self.handle(Event::Judged(
                version,
                Judgement { decision, by, unclear: None, real_files: Vec::new() },
            ));
        }
    }

    pub(super) fn chat_state(&self) -> ChatState {
        self.state.chats[&ChatId(1)].state()
    }

    pub(super) fn answers_to(&self, token: u64) -> &[Answer] {
        self.answers.get(&RequestToken(token)).map_or(&[], Vec::as_slice)
    }
}
