//! Permission requests: shown to the user and answered exactly once.

use crate::core::chat::Chat;
use crate::core::chat::{PendingPermission, Phase};
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Answer;
use crate::core::messages::files::CallState;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::notice::Notice;
use crate::core::messages::page::View;
use crate::core::messages::user::PermissionChoice;
use crate::core::requests::{PendingRequest, Requester};
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::entry::{Decision, PermissionEntry};
use crate::session::ids::{OptionId, ToolCallId};
use crate::session::paths::other_reading;
use crate::session::permission::{
    DecidedBy, OptionKind, Outcome, PermissionOption, PermissionRequest,
};
use crate::session::prompt::Prompt;
use crate::session::shown::Shown;
use crate::session::tool_call::{ToolCall, ToolKind, ToolStatus};
use std::path::Component;

/// What to do where there is no simple answer.
const CHOOSE: &str = "Choose an answer with :RatPermission.";

impl State {
    /// An agent requests permission, or needs it for a call of one of the editor's own tools. The request also updates its tool call, and may be the first message about it.
    pub(in crate::core) fn permission_requested(
        &mut self,
        id: ChatId,
        by: Requester,
        token: RequestToken,
        request: PermissionRequest,
    ) {
        self.requests.insert(token, PendingRequest { by, chat: id, file: None });
        let number = self.next_id();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let cancelled = chat.turn().is_some_and(|turn| turn.cancelled);
        let decision = if cancelled { Decision::Cancelled } else { Decision::Waiting };
        let PermissionRequest { tool_call, patch, question, options } = request;
        let asked = PermissionEntry {
            id: number,
            question,
            undecided: None,
            options: options.clone(),
            decision,
            by: DecidedBy::User,
            shown: None,
        };
        let before = chat.call_awaiting_permission(&tool_call);
        let named = chat.paths_of_call(&tool_call);
        if chat.incoming().is_asked_anew(&tool_call) {
            chat.redraw_view(View::Tools);
        }
        let tool_call = chat.incoming_mut().ask(&tool_call, *patch, asked);
        chat.bump_revisions(before);
        chat.redraw.tool_calls.insert(tool_call.clone());
        chat.redraw.status = true;
        if cancelled {
            return self.respond(token, Answer::Permission(Outcome::Cancelled));
        }
        let title = chat.incoming().find_tool(&tool_call).map(|entry| entry.call.title.clone());
        chat.awaiting_user.permissions.push(PendingPermission {
            id: number,
            token,
            tool_call: tool_call.clone(),
            options,
            revision: 0,
            by: DecidedBy::User,
            stage: chat.first_stage(),
            real_files: Vec::new(),
        });
        self.call_is(id, &tool_call, CallState::Waits);
        self.preload(id, &tool_call, &named);
        self.tell_permission_asked(id, number, title.unwrap_or_default());
        self.judge_waiting(id);
        self.allow_own_tool(id, number);
        self.tool_row_changed(id, &tool_call);
        self.limit_permission(id, number);
    }

    pub(in crate::core) fn permission_answered(
        &mut self,
        chat: Option<ChatId>,
        request: Option<u64>,
        revision: Option<u64>,
        choice: PermissionChoice,
    ) {
        let Some((id, waiting)) = self.find_permission(chat, request) else {
            // The answer from a picker may arrive after the request was settled.
            if request.is_none() {
                self.notify(Level::Info, "No permission request is waiting");
            }
            return;
        };
        if revision.is_some_and(|seen| seen != waiting.revision) {
            let text = "The request has changed since you saw it. Look at it and answer again.";
            return self.notify(Level::Warn, text);
        }
        self.decide_permission(id, &waiting, choice);
    }

    /// The user's permission provider answers a request. What the user has answered first is left as it is, and the
    /// provider is asked again about a request that has changed.
    pub(in crate::core) fn permission_provided(
        &mut self,
        chat: ChatId,
        request: u64,
        revision: u64,
        choice: PermissionChoice,
    ) {
        let found = self.find_permission(Some(chat), Some(request));
        if let Some((id, mut waiting)) = found.filter(|(_, waiting)| waiting.revision == revision) {
            waiting.by = DecidedBy::Provider;
            self.decide_permission(id, &waiting, choice);
        }
    }

    fn decide_permission(
        &mut self,
        id: ChatId,
        waiting: &PendingPermission,
        choice: PermissionChoice,
    ) {
        let offers = |kind| waiting.options.iter().find(|option| option.kind == kind);
        let option = match &choice {
            PermissionChoice::Option(option) => {
                if waiting.options.iter().any(|offered| offered.id == *option) {
                    self.answer_permission(id, waiting, Some(option));
                }
                return;
            }
            PermissionChoice::Allow => match offers(OptionKind::AllowOnce) {
                Some(option) => Some(option.id.clone()),
                None => {
                    let text = Notice::from("This request cannot be allowed once.").advise(CHOOSE);
                    return self.notify(Level::Warn, text);
                }
            },
            PermissionChoice::Deny(_) => {
                let once = offers(OptionKind::RejectOnce).map(|option| option.id.clone());
                if once.is_none() && offers(OptionKind::RejectAlways).is_some() {
                    let text = Notice::from("This request cannot be rejected once.").advise(CHOOSE);
                    return self.notify(Level::Warn, text);
                }
                once
            }
        };
        let reason = match choice {
            PermissionChoice::Deny(Some(reason)) => self.put_reason_into_answer(waiting, reason),
            _ => None,
        };
        self.answer_permission(id, waiting, option.as_ref());
        if let Some(reason) = reason {
            self.send_reason(id, reason);
        }
    }

    /// Tells the agent why the user has rejected what it asked for. The protocol has no field for a reason, so it is
    /// sent as the next prompt.
    pub(super) fn send_reason(&mut self, id: ChatId, reason: String) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.queue.push_ahead(Prompt { text: reason, ..Prompt::default() });
            chat.redraw.status = true;
        }
    }

    /// Returns the waiting request with this number; for `None`, the oldest.
    pub(in crate::core) fn find_permission(
        &self,
        chat: Option<ChatId>,
        request: Option<u64>,
    ) -> Option<(ChatId, PendingPermission)> {
        self.chats
            .values()
            .filter(|it| chat.is_none_or(|id| it.id == id))
            .flat_map(|chat| {
                chat.awaiting_user.permissions.iter().map(|waiting| (chat.id, waiting))
            })
            .filter(|(_, waiting)| request.is_none_or(|id| waiting.id == id))
            .min_by_key(|(_, waiting)| waiting.id)
            .map(|(id, waiting)| (id, waiting.clone()))
    }

    /// Answers a request, and others that the same answer settles. `None` answers `cancelled`.
    pub(super) fn answer_permission(
        &mut self,
        id: ChatId,
        waiting: &PendingPermission,
        option: Option<&OptionId>,
    ) {
        let alike = option.map_or_else(Vec::new, |option| self.settled_by(id, waiting, option));
        self.close_permission(id, waiting, option.cloned());
        for mut other in alike {
            other.by = waiting.by.clone();
            self.close_permission(id, &other, option.cloned());
        }
    }

    /// Answers a single request. `None` answers `cancelled`.
    pub(in crate::core) fn close_permission(
        &mut self,
        id: ChatId,
        waiting: &PendingPermission,
        option: Option<OptionId>,
    ) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.awaiting_user.permissions.retain(|it| it.id != waiting.id);
        chat.redraw.status = true;
        let (decision, outcome) = match option {
            Some(option) => (Decision::Chosen(option.clone()), Outcome::Selected(option)),
            None => (Decision::Cancelled, Outcome::Cancelled),
        };
        let by = waiting.by.clone();
        chat.incoming_mut().decide(&waiting.tool_call, waiting.id, decision, by);
        chat.keep_shown(waiting);
        chat.redraw.tool_calls.insert(waiting.tool_call.clone());
        let option = match &outcome {
            Outcome::Selected(option) => Some(option),
            Outcome::Cancelled => None,
        };
        self.tell_permission_decided(id, waiting, option);
        self.call_is(id, &waiting.tool_call, CallState::Runs);
        self.respond(waiting.token, Answer::Permission(outcome));
    }

    /// Returns the other waiting requests that an "always" answer settles: they offer the same option and clearly ask
    /// for the same thing.
    fn settled_by(
        &self,
        id: ChatId,
        waiting: &PendingPermission,
        option: &OptionId,
    ) -> Vec<PendingPermission> {
        let offered = |options: &[PermissionOption]| {
            let found = options.iter().find(|it| it.id == *option).cloned();
            found.filter(|it| matches!(it.kind, OptionKind::AllowAlways | OptionKind::RejectAlways))
        };
        let Some(chosen) = offered(&waiting.options) else { return Vec::new() };
        let Some(chat) = self.chats.get(&id) else { return Vec::new() };
        let Some(tool) = chat.incoming().find_tool(&waiting.tool_call) else { return Vec::new() };
        chat.awaiting_user
            .permissions
            .iter()
            .filter(|other| other.id != waiting.id)
            .filter(|other| offered(&other.options).as_ref() == Some(&chosen))
            .filter(|other| {
                let other = chat.incoming().find_tool(&other.tool_call);
                other.is_some_and(|other| chat.is_same_request(&tool.call, &other.call))
            })
            .cloned()
            .collect()
    }

    /// Answers all waiting requests of a chat with `cancelled`.
    pub(in crate::core) fn cancel_permissions(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        for waiting in chat.awaiting_user.permissions.clone() {
            self.close_permission(id, &waiting, None);
        }
    }

    /// Answers the requests that came after the end of a turn with `cancelled`. Returns whether there were any.
    pub(super) fn cancel_late_requests(&mut self, id: ChatId) -> bool {
        let Some(chat) = self.chats.get(&id).filter(|chat| chat.phase == Phase::Ready) else {
            return false;
        };
        let (permissions, questions) =
            (!chat.awaiting_user.permissions.is_empty(), chat.awaiting_user.questions > 0);
        if permissions {
            self.cancel_permissions(id);
            if let Some(chat) = self.chats.get_mut(&id) {
                chat.transcript.settle_tools(ToolStatus::Cancelled);
                chat.redraw_view(View::Tools);
            }
            self.save(id);
        }
        if questions {
            self.cancel_file_questions(id);
        }
        permissions || questions
    }

    pub(in crate::core) fn show_diff(&mut self, chat: Option<ChatId>, request: Option<u64>) {
        let waiting = self.find_permission(chat, request);
        let shown =
            waiting.and_then(|(id, it)| self.chats.get(&id)?.diff(&it.tool_call, Some(it.id)));
        match shown {
            Some(shown) => self.after_draw.push(shown),
            None => self.notify(Level::Info, "No waiting request has a diff"),
        }
    }

    /// Shows the changes of a tool call, whether or not a request is waiting.
    pub(in crate::core) fn show_diff_of(&mut self, chat: Option<ChatId>, call: &ToolCallId) {
        let Some(chat) = chat.and_then(|chat| self.chats.get(&chat)) else { return };
        match chat.diff(call, None) {
            Some(shown) => self.after_draw.push(shown),
            None => self.notify(Level::Info, "This tool call has no diff"),
        }
    }
}

impl Chat {
    /// Returns the message that shows a tool call's changes; `None` if it has none.
    fn diff(&self, call: &ToolCallId, request: Option<u64>) -> Option<EditorMessage> {
        let call = &self.incoming().find_tool(call)?.call;
        let files: Vec<_> = call.diffs().cloned().collect();
        let (tool_call, title) = (call.id.clone(), call.title.clone());
        let is_editable = request.is_some() && self.may_edit_diffs();
        let chat = self.id;
        let shown = EditorMessage::Diff { chat, request, tool_call, title, files, is_editable };
        call.diffs().next().map(|_| shown)
    }

    /// Returns a copy of a tool call that requests are waiting about, to compare with it after an update.
    pub(in crate::core) fn call_awaiting_permission(&self, call: &ToolCallId) -> Option<ToolCall> {
        let waits = self.awaiting_user.permissions.iter().any(|waiting| waiting.tool_call == *call);
        self.incoming().find_tool(call).filter(|_| waits).map(|entry| entry.call.clone())
    }

    /// Invalidates what the user has seen of waiting requests if the update of their tool call changed what they have
    /// to decide about. The user's rules decide again, see `judge_waiting`.
    pub(in crate::core) fn bump_revisions(&mut self, before: Option<ToolCall>) {
        let Some(before) = before else { return };
        let now = self.incoming().find_tool(&before.id);
        if now.is_none_or(|now| decision_inputs(&now.call) == decision_inputs(&before)) {
            return;
        }
        let stage = self.first_stage();
        for waiting in
            self.awaiting_user.permissions.iter_mut().filter(|it| it.tool_call == before.id)
        {
            waiting.revision += 1;
            waiting.stage = stage;
            waiting.real_files.clear();
        }
        self.redraw.status = true;
    }

    /// Keeps what a request has shown if it was just allowed.
    fn keep_shown(&mut self, waiting: &PendingPermission) {
        let entry = self.incoming().find_tool(&waiting.tool_call).filter(|tool| tool.is_allowed());
        let shown = entry.map(|tool| Shown::of(&tool.call, &self.cwd, &waiting.real_files));
        if let Some(shown) = shown {
            self.incoming_mut().keep_shown(&waiting.tool_call, shown);
        }
    }

    /// Whether an "always" answer about one call also answers the other. Commands must be identical. Reads and edits
    /// are alike if the same tool makes them and all their files are inside the roots.
    fn is_same_request(&self, one: &ToolCall, other: &ToolCall) -> bool {
        if one.kind != other.kind || one.name != other.name {
            return false;
        }
        let of_files = matches!(one.kind, ToolKind::Read | ToolKind::Edit) && one.name.is_some();
        decision_inputs(one) == decision_inputs(other)
            || of_files && self.is_inside(one) && self.is_inside(other)
    }

    /// Whether the call names files and all of them are inside the roots.
    fn is_inside(&self, call: &ToolCall) -> bool {
        let scope = self.file_scope();
        let mut paths = call.paths().peekable();
        paths.peek().is_some()
            && paths.all(|path| {
                let path = self.cwd.join(path);
                let climbs = path.components().any(|part| part == Component::ParentDir);
                !climbs
                    && other_reading(&path, &self.cwd).is_none()
                    && scope.roots.iter().any(|root| path.starts_with(root))
            })
    }
}

/// Returns the parts of a tool call that the user decides about.
fn decision_inputs(call: &ToolCall) -> impl PartialEq {
    let input = call.input.as_ref().map(|input| {
        (&input.command, &input.cwd, &input.other_commands, &input.other_cwds, &input.json)
    });
    let (diffs, paths): (Vec<_>, Vec<_>) = (call.diffs().collect(), call.paths().collect());
    (&call.title, &call.name, call.kind, input, &call.locations, diffs, paths)
}
