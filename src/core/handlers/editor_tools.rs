//! Calls of the editor's own tools: whose they are, what they do step by step, and their answers, exactly one each.

use super::files::cancelled;
use super::tool_rows::{Owner, rule_name};
use crate::core::chat::Chat;
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::event::Timer;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::tools::{Query, ToolAnswer, ToolCallToken, ToolCalled, ToolsCommand};
use crate::core::requests::{PendingRequest, Requester};
use crate::core::state::State;
use crate::core::tools::{RunningCall, Step};
use crate::session::author::ChatId;
use crate::session::update::Severity;
use crate::trust::rule::Decision;
use crate::trust::rules;
use std::time::Duration;

/// How long to wait for the tool call of the session that a call is: agents report the two by different ways.
const ROW_LIMIT: Duration = Duration::from_millis(500);

/// How long agents wait for an answer at least, and how much earlier it has to be there.
const LIMIT: u64 = 60;
const MARGIN: u64 = 10;

impl State {
    pub(in crate::core) fn tool_called(&mut self, called: ToolCalled) {
        let ToolCalled { token, grant, request, input, tool_call } = called;
        let Some(grant) = self.tools.grants.get(&grant).copied() else {
            return self.answer_tool(token, ToolAnswer::error("this session has ended"));
        };
        let owner = tool_call.and_then(|id| self.owner_by_id(grant, &id));
        let owner = owner.or_else(|| self.owner_by_rows(grant, request.name(), &input));
        let Some(Owner { chat, row, is_unclear }) = owner.or_else(|| self.any_owner(grant)) else {
            return self.answer_tool(token, ToolAnswer::error("this session has ended"));
        };
        if self.joins_call(chat, token, request.name(), &input) {
            return;
        }
        let Some(of) = self.chats.get_mut(&chat) else { return };
        *of.tools.calls.entry(request.name().to_owned()).or_default() += 1;
        let needs_row = is_unclear || request.changes_files() || request.is_asked_first();
        let waits = needs_row && row.is_none();
        let call = RunningCall {
            chat,
            is_unclear,
            request,
            input,
            row,
            caller: Some(token),
            step: Step::Row,
            reason: None,
        };
        self.tools.calls.insert(token, call);
        self.limit(token, token);
        self.title_row(token);
        if waits {
            let timer = Timer::ToolRow(token);
            self.effects.push(Effect::Timer { timer, after: ROW_LIMIT });
        } else {
            self.begin_tool(token);
        }
    }

    /// The tool call of a call has not come.
    pub(in crate::core) fn tool_row_over(&mut self, token: ToolCallToken) {
        if self.tools.calls.get(&token).is_some_and(|call| matches!(call.step, Step::Row)) {
            self.begin_tool(token);
        }
    }

    pub(super) fn begin_tool(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get(&token) else { return };
        let turn = self.chats.get(&call.chat).and_then(Chat::turn);
        if turn.is_some_and(|turn| turn.cancelled) {
            return self.tool_failed(token, &cancelled());
        }
        let rule = self.chats.get(&call.chat).and_then(|chat| {
            rules::about_tool(&chat.access.rules, chat.name(), &rule_name(&call.request))
        });
        let asks = rule.is_some_and(|rule| rule.decision == Decision::Ask);
        if let Some(rule) = rule.filter(|rule| rule.decision == Decision::Deny) {
            let (id, rule) = (call.chat, rule.to_string());
            let why = format!("the user does not allow this, by the rule \"{rule}\"");
            self.count_decided(id, &[rule]);
            self.refused_by_rule(id);
            self.finish_tool(token, ToolAnswer::error(why));
        } else if call.request.is_asked_first() || asks && !call.request.changes_files() {
            self.ask_consent(token, Vec::new());
        } else {
            self.run_query(token);
        }
    }

    /// Asks the editor for what a call asks for.
    pub(super) fn run_query(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get_mut(&token) else { return };
        call.step = Step::Work;
        let Some(chat) = self.chats.get(&call.chat) else { return };
        let query = Query::Run(call.request.clone().in_folder(&chat.cwd));
        self.query(token, query);
    }

    pub(super) fn query(&mut self, call: ToolCallToken, query: Query) {
        let token = RequestToken::of_ours(self.next_id());
        let Some(RunningCall { chat: id, is_unclear, .. }) = self.tools.calls.get(&call) else {
            return;
        };
        let Some(chat) = self.chats.get(id) else { return };
        let Some(session) = chat.key() else {
            let why = ToolAnswer::error("the session is not open yet");
            return self.finish_tool(call, why);
        };
        let mut scope = chat.file_scope();
        if *is_unclear {
            self.limit_to_all(*id, &mut scope);
        }
        let effect = Effect::Query { token, session, query, scope };
        let by = Requester::Tool(call);
        let request = PendingRequest { by, chat: *id, file: Some(effect.clone()) };
        self.requests.insert(token, request);
        self.effects.push(effect);
    }

    /// Whether this is a request of a call of which it is not known for certain which session it is of.
    pub(super) fn is_of_unclear_call(&self, request: RequestToken) -> bool {
        let by = self.requests.get(&request).map(|request| request.by);
        let Some(Requester::Tool(call)) = by else { return false };
        self.tools.calls.get(&call).is_some_and(|call| call.is_unclear)
    }

    /// Leaves in a scope only what all sessions of the chat's agent may use.
    fn limit_to_all(&self, id: ChatId, scope: &mut FileScope) {
        let agent = self.chats.get(&id).and_then(|chat| chat.agent);
        for other in self.chats.values().filter(|chat| chat.agent == agent && chat.id != id) {
            let all = other.file_scope();
            scope.roots.retain(|root| all.roots.contains(root));
            scope.allowed.retain(|path| all.allowed.contains(path));
            scope.rules.asked.retain(|asked| all.rules.asked.contains(asked));
        }
    }

    /// A step of a call has its answer.
    pub(in crate::core) fn tool_step_done(
        &mut self,
        token: ToolCallToken,
        request: RequestToken,
        answer: Answer,
    ) {
        let Some(call) = self.tools.calls.get_mut(&token) else { return };
        match (&mut call.step, answer) {
            (Step::Consent(_), Answer::Permission(outcome)) => self.tool_decided(token, &outcome),
            (Step::Writes(_), answer) => self.tool_write_done(token, request, answer),
            (_, Answer::Text(text)) => {
                self.finish_tool(token, ToolAnswer { text, is_error: false });
            }
            (_, answer) => self.tool_failed(token, &answer),
        }
    }

    /// Ends a call by an error.
    pub(super) fn tool_failed(&mut self, token: ToolCallToken, answer: &Answer) {
        let why = match answer {
            Answer::Error { message, .. } => message.clone(),
            _ => "it did not work".to_owned(),
        };
        self.finish_tool(token, ToolAnswer::error(why));
    }

    /// A call is over.
    pub(super) fn finish_tool(&mut self, token: ToolCallToken, answer: ToolAnswer) {
        self.end_own_row(token, answer.is_error);
        self.await_row(token);
        let Some(call) = self.tools.calls.get_mut(&token) else { return };
        match call.caller {
            Some(caller) => {
                self.tools.calls.remove(&token);
                self.answer_tool(caller, answer);
            }
            // What is read may be another text by the time it is asked for again.
            None if call.request.changes_files() => call.step = Step::Done(answer),
            None => drop(self.tools.calls.remove(&token)),
        }
    }

    /// Answers a call. This is the only place where an answer leaves.
    fn answer_tool(&mut self, caller: ToolCallToken, answer: ToolAnswer) {
        self.effects.push(Effect::Tools(ToolsCommand::Answer(caller, answer)));
    }

    /// Sets the time until a caller has to be answered.
    fn limit(&mut self, token: ToolCallToken, caller: ToolCallToken) {
        let chat = self.tools.calls.get(&token).and_then(|call| self.chats.get(&call.chat));
        let known = chat.and_then(|chat| chat.info.quirks.tool_seconds);
        let after = Duration::from_secs(known.map_or(LIMIT, u64::from) - MARGIN);
        self.effects.push(Effect::Timer { timer: Timer::ToolLimit(token, caller), after });
    }

    /// The caller would not wait any longer. What the user decides is given to the same call when it is made again.
    pub(in crate::core) fn tool_limit_over(&mut self, token: ToolCallToken, caller: ToolCallToken) {
        let call = self.tools.calls.get_mut(&token).filter(|it| it.caller == Some(caller));
        let Some(call) = call else { return };
        call.caller = None;
        let why = match call.step {
            Step::Consent(_) | Step::Writes(_) => {
                "the user has not decided yet; make the same call again to wait for the decision"
            }
            _ => "it takes too long; make the same call again to wait for it",
        };
        self.answer_tool(caller, ToolAnswer::error(why));
    }

    /// Whether a call repeats one that could not be answered in time, and gets its answer.
    fn joins_call(&mut self, chat: ChatId, caller: ToolCallToken, name: &str, input: &str) -> bool {
        let is_same = |call: &RunningCall| {
            call.caller.is_none()
                && call.chat == chat
                && call.request.name() == name
                && call.input == input
        };
        let Some((token, call)) = self.tools.calls.iter_mut().find(|(_, call)| is_same(call))
        else {
            return false;
        };
        let token = *token;
        call.caller = Some(caller);
        if let Step::Done(answer) = &call.step {
            let answer = answer.clone();
            self.tools.calls.remove(&token);
            self.answer_tool(caller, answer);
        } else {
            self.limit(token, caller);
        }
        true
    }

    /// Nobody waits for the answer to a call any more. A change that has begun is made all the same.
    pub(in crate::core) fn tool_withdrawn(&mut self, caller: ToolCallToken) {
        let found = self.tools.calls.iter_mut().find(|(_, call)| call.caller == Some(caller));
        let Some((token, call)) = found.map(|(token, call)| (*token, call)) else { return };
        call.caller = None;
        if !matches!(call.step, Step::Writes(_) | Step::Check) {
            self.drop_tool_call(token);
        }
    }

    /// Forgets a call that has changed nothing, and what the user is asked about it.
    fn drop_tool_call(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get(&token) else { return };
        self.withdraw_consent(call.chat, token);
        self.end_own_row(token, true);
        self.tools.calls.remove(&token);
        let is_of_call = |request: &PendingRequest| request.by == Requester::Tool(token);
        let requests = self.requests.iter().filter(|(_, request)| is_of_call(request));
        for request in requests.map(|(request, _)| *request).collect::<Vec<_>>() {
            self.requests.remove(&request);
            self.leave_questions(request);
        }
    }

    /// Ends the calls of a session that is over.
    pub(super) fn end_tool_calls(&mut self, id: ChatId) {
        let ended = self.tools.calls.values().filter(|call| call.chat == id);
        let callers: Vec<_> = ended.filter_map(|call| call.caller).collect();
        self.tools.calls.retain(|_, call| call.chat != id);
        for caller in callers {
            self.answer_tool(caller, ToolAnswer::error("the session has ended"));
        }
    }

    /// The turn of a chat is over, and with it the calls that would have been made again.
    pub(super) fn drop_late_tool_calls(&mut self, id: ChatId) {
        let is_late = |call: &RunningCall| {
            call.chat == id && call.caller.is_none() && !matches!(call.step, Step::Writes(_))
        };
        let late = self.tools.calls.iter().filter(|(_, call)| is_late(call));
        for token in late.map(|(token, _)| *token).collect::<Vec<_>>() {
            self.note_unanswered(token);
            self.drop_tool_call(token);
        }
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.tools.ahead.clear();
        }
    }

    /// Tells the user why the card of a call goes without their answer.
    fn note_unanswered(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get(&token) else { return };
        let Some(chat) = self.chats.get_mut(&call.chat) else { return };
        if matches!(call.step, Step::Consent(_)) {
            let (agent, title) = (chat.agent_title(), chat.title_of_tool(&call.request));
            let text = format!("{agent} did not wait for your answer to \"{title}\"");
            chat.transcript.note(Severity::Warning, text, Vec::new());
        }
    }
}
