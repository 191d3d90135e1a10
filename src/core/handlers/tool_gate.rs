//! The gate of the editor's own tools: what would change something is shown to the user on a card, and done only if they, or
//! their rules, allow it. Whether the agent asks, too, does not matter.

use super::files::cancelled;
use super::tool_rows::{is_call_of, own_row, rule_name};
use crate::core::chat::{Chat, PendingPermission, PermissionStage};
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::files::ProposedWrite;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::policy::ReviewMode;
use crate::core::messages::tools::{Query, ToolAnswer, ToolCallToken};
use crate::core::requests::{PendingRequest, Requester};
use crate::core::state::State;
use crate::core::tools::{RunningCall, Step, Writing};
use crate::core::user_messages::count;
use crate::session::author::{Author, ChatId};
use crate::session::content::Content;
use crate::session::editor_tool::{EditorTool, QuickfixItem, ToolRequest};
use crate::session::entry::ToolEntry;
use crate::session::ids::ToolCallId;
use crate::session::label;
use crate::session::permission::{
    DecidedBy, OptionKind, Outcome, PermissionOption, PermissionRequest,
};
use crate::session::tool_call::{
    Diff, Location, ToolCallPatch, ToolContent, ToolInput, ToolKind, ToolStatus,
};
use crate::trust::kept::{self, Extent};
use std::collections::BTreeSet;

/// The ids of the options on a card.
const ALLOW: &str = "allow";
const ALLOW_TOOL: &str = "allow-tool";
const REJECT: &str = "reject";

impl State {
    /// The writes that a call needs are known.
    pub(super) fn edits_prepared(&mut self, request: RequestToken, writes: Vec<ProposedWrite>) {
        let Some(PendingRequest { by: Requester::Tool(token), .. }) =
            self.requests.remove(&request)
        else {
            return;
        };
        let writes: Vec<_> =
            writes.into_iter().filter(|write| write.before != write.after).collect();
        if writes.is_empty() {
            let text = "nothing to change: the text is like that already";
            return self.finish_tool(token, ToolAnswer { text: text.to_owned(), is_error: false });
        }
        self.ask_consent(token, writes);
    }

    /// Asks the user on a card whether a call may do what it asks for.
    pub(super) fn ask_consent(&mut self, token: ToolCallToken, writes: Vec<ProposedWrite>) {
        let request = RequestToken::of_ours(self.next_id());
        let Some(call) = self.tools.calls.get_mut(&token) else { return };
        let Some(chat) = self.chats.get(&call.chat) else { return };
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.tool_failed(token, &cancelled());
        }
        let row = call.row.clone().unwrap_or_else(|| own_row(token));
        call.row = Some(row.clone());
        let asked = chat.card(call, row, &writes);
        call.step = Step::Consent(writes);
        let id = call.chat;
        self.permission_requested(id, Requester::Tool(token), request, asked);
    }

    /// The user, or a rule, has decided about a call.
    pub(super) fn tool_decided(&mut self, token: ToolCallToken, outcome: &Outcome) {
        let answer = match outcome {
            Outcome::Selected(option) if option.as_str() == REJECT => {
                let reason = self.tools.calls.get_mut(&token).and_then(|call| call.reason.take());
                reason.map_or_else(
                    || "the user rejected this, and nothing was changed: ask what to do".to_owned(),
                    |reason| {
                        format!(
                            "the user rejected this, and nothing was changed. They say: {reason}"
                        )
                    },
                )
            }
            Outcome::Selected(option) => {
                if option.as_str() == ALLOW_TOOL {
                    self.allow_tool_for_session(token);
                }
                return self.carry_out(token);
            }
            Outcome::Cancelled => "this was cancelled, and nothing was changed".to_owned(),
        };
        self.finish_tool(token, ToolAnswer::error(answer));
    }

    /// Has the answer to a call say why the user rejects it. Returns the reason if it cannot, since no call waits for an answer.
    pub(super) fn put_reason_into_answer(
        &mut self,
        waiting: &PendingPermission,
        reason: String,
    ) -> Option<String> {
        let by = self.requests.get(&waiting.token).map(|request| request.by);
        let Some(Requester::Tool(token)) = by else { return Some(reason) };
        let call = self.tools.calls.get_mut(&token).filter(|call| call.caller.is_some());
        let Some(call) = call else { return Some(reason) };
        call.reason = Some(reason);
        None
    }

    /// Makes a rule of what the user allows for the session, so that it is listed with the others.
    fn allow_tool_for_session(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get(&token) else { return };
        let Some(chat) = self.chats.get(&call.chat) else { return };
        let (id, title) = (call.chat, chat.title_of_tool(&call.request));
        let line = format!("allow tool {}", rule_name(&call.request));
        let mut made = chat.access.session_rules.iter();
        if made.any(|kept| kept.rule.to_string() == line) {
            return;
        }
        if let Ok(rules) = kept::parse(std::slice::from_ref(&line), Some(&title)) {
            self.add_rules(
                id,
                Extent::Session,
                rules,
                format!("Kept until this session ends: {line}."),
            );
        }
    }

    /// Does what was allowed.
    fn carry_out(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get_mut(&token) else { return };
        let Step::Consent(writes) = std::mem::replace(&mut call.step, Step::Work) else { return };
        if writes.is_empty() {
            return self.run_query(token);
        }
        let (id, row) = (call.chat, call.row.clone());
        let mut writing = Writing::default();
        let mut effects = Vec::new();
        let Some(session) = self.chats.get(&id).and_then(Chat::key) else {
            return self.finish_tool(token, ToolAnswer::error("the session has ended"));
        };
        for write in writes {
            let request = RequestToken::of_ours(self.next_id());
            let Some(chat) = self.chats.get_mut(&id) else { return };
            let session = session.clone();
            let by = Author { session, turn: chat.turns, tool_call: row.clone() };
            let mut effect = chat.write(request, by, write.path.clone(), write.after.content());
            if let Effect::Write { base, repeats, .. } = &mut effect {
                (*base, *repeats) = (Some(write.before.content()), false);
            }
            let by = Requester::Tool(token);
            let pending = PendingRequest { by, chat: id, file: Some(effect.clone()) };
            self.requests.insert(request, pending);
            writing.open.insert(request, write.path);
            effects.push(effect);
        }
        if let Some(call) = self.tools.calls.get_mut(&token) {
            call.step = Step::Writes(writing);
        }
        self.effects.extend(effects);
    }

    /// One of the writes of a call is done.
    pub(super) fn tool_write_done(
        &mut self,
        token: ToolCallToken,
        request: RequestToken,
        answer: Answer,
    ) {
        let Some(call) = self.tools.calls.get_mut(&token) else { return };
        let Step::Writes(writing) = &mut call.step else { return };
        let Some(path) = writing.open.remove(&request) else { return };
        match answer {
            Answer::Error { message, .. } => writing.failed.push((path, message)),
            _ => writing.written.push(path),
        }
        if !writing.open.is_empty() {
            return;
        }
        let Writing { mut written, mut failed, .. } = std::mem::take(writing);
        written.sort();
        failed.sort();
        if written.is_empty() {
            let why = failed.into_iter().map(|(_, why)| why).collect::<Vec<_>>().join("\n");
            return self.finish_tool(token, ToolAnswer::error(why));
        }
        let query = Query::Check { request: call.request.clone(), written, failed };
        call.step = Step::Check;
        self.query(token, query);
    }

    /// Closes the card of a call that nobody waits for any more.
    pub(super) fn withdraw_consent(&mut self, id: ChatId, token: ToolCallToken) {
        let Some(chat) = self.chats.get(&id) else { return };
        let is_of_call = |request: &RequestToken| {
            self.requests.get(request).is_some_and(|it| it.by == Requester::Tool(token))
        };
        let mut waiting = chat.awaiting_user.permissions.iter();
        let waiting = waiting.find(|waiting| is_of_call(&waiting.token)).cloned();
        if let Some(waiting) = waiting {
            self.close_permission(id, &waiting, None);
        }
    }

    /// Answers a request that no rule decides and that the user need not see: what an agent asks about a tool of ours, since our
    /// own card comes when the tool is called.
    pub(super) fn allow_own_tool(&mut self, id: ChatId, request: u64) {
        let Some(chat) = self.chats.get(&id) else { return };
        let mut waiting = chat.awaiting_user.permissions.iter();
        let Some(waiting) = waiting.find(|waiting| waiting.id == request) else { return };
        if waiting.stage != PermissionStage::Provider {
            return;
        }
        let by = self.requests.get(&waiting.token).map(|request| request.by);
        let is_ours = matches!(by, Some(Requester::Agent(_)))
            && chat.is_own_tool(&waiting.tool_call, &self.tools.offered);
        let once = waiting.options.iter().find(|option| option.kind == OptionKind::AllowOnce);
        let Some(option) = once.filter(|_| is_ours).map(|option| option.id.clone()) else {
            return;
        };
        let waiting = PendingPermission { by: DecidedBy::Editor, ..waiting.clone() };
        self.close_permission(id, &waiting, Some(option));
    }

    /// Keeps what an agent says of a tool call from changing the card on it: what is shown there is what would be done.
    pub(super) fn keep_card(&self, id: ChatId, call: &ToolCallId, patch: &mut ToolCallPatch) {
        let Some(chat) = self.chats.get(&id) else { return };
        if chat.tools.titled.contains(call) {
            patch.title = None;
        }
        let is_asked = |it: &RunningCall| {
            it.chat == id && it.row.as_ref() == Some(call) && matches!(it.step, Step::Consent(_))
        };
        if self.tools.calls.values().any(is_asked) {
            (patch.title, patch.name, patch.kind) = (None, None, None);
            (patch.content, patch.locations, patch.input) = (None, None, None);
        }
    }
}

impl Chat {
    /// Whether a tool call is one of a tool of ours, or of one that the user has added. Its name is a text of the model with
    /// some agents, so nothing else about it may say that it is something else.
    fn is_own_tool(&self, call: &ToolCallId, added: &BTreeSet<String>) -> bool {
        let Some(ToolEntry { call, .. }) = self.incoming().find_tool(call) else { return false };
        let is_plain = matches!(
            call.kind,
            ToolKind::Other | ToolKind::Read | ToolKind::Search | ToolKind::Think
        );
        let has_effects = call.commands().next().is_some()
            || call.content.iter().any(|item| !matches!(item, ToolContent::Content(_)));
        if self.tools.server.is_none() || !is_plain || has_effects {
            return false;
        }
        let given = || call.input.iter().flat_map(|input| &input.fields).map(|(name, _)| &**name);
        let takes = |tool: EditorTool| given().all(|name| tool.arguments().contains(&name));
        EditorTool::ALL.into_iter().any(|tool| is_call_of(call, tool.name()) && takes(tool))
            || added.iter().any(|name| is_call_of(call, name))
    }

    /// Describes an entry of a quickfix list as answers of the tools do.
    fn quickfix_line(&self, item: &QuickfixItem) -> String {
        let QuickfixItem { file, line, text } = item;
        let text = label::line(text);
        format!("{}:{line}: {text}\n", self.scene().shorten(&self.cwd.join(file)))
    }

    /// Returns the request for permission that is shown for a call.
    fn card(
        &self,
        call: &RunningCall,
        row: ToolCallId,
        writes: &[ProposedWrite],
    ) -> PermissionRequest {
        let files = count(writes.len(), "file");
        let title = match &call.request {
            ToolRequest::Rename(..) => format!("{} in {files}", self.title_of_tool(&call.request)),
            request => self.title_of_tool(request),
        };
        let diff = |write: &ProposedWrite| {
            ToolContent::Diff(Diff {
                path: write.path.clone(),
                old: write.exists.then(|| write.before.content()),
                new: write.after.content(),
            })
        };
        let location = |write: &ProposedWrite| Location { path: write.path.clone(), line: None };
        let kind = if writes.is_empty() { ToolKind::Other } else { ToolKind::Edit };
        let has_row = self.incoming().find_tool(&row).is_some();
        let mut content: Vec<_> = writes.iter().map(diff).collect();
        let mut fields = Vec::new();
        match &call.request {
            ToolRequest::SetQuickfix(items) => {
                let lines = items.iter().map(|item| self.quickfix_line(item));
                content.push(ToolContent::Content(Content::Text(lines.collect())));
            }
            // Diffs show what the arguments would.
            _ if writes.is_empty() => fields.push(("arguments".to_owned(), call.input.clone())),
            _ => {}
        }
        let patch = ToolCallPatch {
            title: Some(title),
            name: Some(rule_name(&call.request)),
            kind: Some(kind),
            status: (!has_row).then_some(ToolStatus::InProgress),
            content: Some(content),
            locations: Some(writes.iter().map(location).collect()),
            input: Some(ToolInput { json: call.input.clone(), fields, ..ToolInput::default() }),
            ..ToolCallPatch::default()
        };
        let option = |id: &str, name: &str, kind| PermissionOption {
            id: id.into(),
            name: name.to_owned(),
            kind,
        };
        let mut options = vec![option(ALLOW, "Allow", OptionKind::AllowOnce)];
        // Each change is to be looked at then.
        if self.access.policy.review != ReviewMode::Before {
            let all = format!("Allow {} for this session", call.request.name());
            options.push(option(ALLOW_TOOL, &all, OptionKind::AllowAlways));
        }
        options.push(option(REJECT, "Reject", OptionKind::RejectOnce));
        PermissionRequest { tool_call: row, patch: Box::new(patch), question: None, options }
    }
}
