//! Requests for permission: shown, counted, answered once.

use super::chat::{Chat, Waiting};
use super::effect::{Answer, Happened, Level, ToEditor};
use super::event::{AgentId, ChatId, PermissionChoice, Token};
use super::state::{Debt, State};
use crate::session::ids::{OptionId, ToolCallId};
use crate::session::permission::{OptionKind, Outcome, PermissionOption, PermissionRequest};
use crate::session::prompt::Prompt;
use crate::session::tool_call::{ToolCall, ToolKind};
use crate::session::transcript::{Asked, Decision};
use std::path::Component;

impl State {
    /// An agent asks. The request is an update of its tool call, too, and may be the first that is heard of it.
    pub(super) fn asked(
        &mut self,
        id: ChatId,
        agent: AgentId,
        token: Token,
        request: PermissionRequest,
    ) {
        self.debts.insert(token, Debt { agent, chat: id, file: None });
        let number = self.next_id();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let cancelled = chat.turn().is_some_and(|turn| turn.cancelled);
        let decision = if cancelled { Decision::Cancelled } else { Decision::Waiting };
        let PermissionRequest { tool_call, patch, options } = request;
        let asked = Asked { id: number, options: options.clone(), decision };
        let before = chat.asked_about(&tool_call);
        let tool_call = chat.spoken().ask(&tool_call, *patch, asked);
        chat.ask_anew(before);
        chat.tools_view.touch(&tool_call);
        chat.changed = true;
        if cancelled {
            return self.pay(token, Answer::Permission(Outcome::Cancelled));
        }
        let title = chat.said().find_tool(&tool_call).map(|entry| entry.call.title.clone());
        chat.permissions.push(Waiting { id: number, token, tool_call, options, revision: 0 });
        let happened = Happened::Permission(id, number, title.unwrap_or_default());
        self.after.push(ToEditor::Autocommand(happened));
    }

    pub(super) fn permission(
        &mut self,
        chat: Option<ChatId>,
        request: Option<u64>,
        revision: Option<u64>,
        choice: PermissionChoice,
    ) {
        let Some((id, waiting)) = self.waiting(chat, request) else {
            // A picker answered late changes nothing.
            if request.is_none() {
                self.notify(Level::Info, "no request waits for permission");
            }
            return;
        };
        if revision.is_some_and(|seen| seen != waiting.revision) {
            let text = "the request has changed since you saw it: look at it and answer again";
            return self.notify(Level::Warn, text);
        }
        let offers = |kind| waiting.options.iter().find(|option| option.kind == kind);
        let option = match &choice {
            PermissionChoice::Option(option) => {
                if waiting.options.iter().any(|offered| offered.id == *option) {
                    self.settle(id, &waiting, Some(option));
                }
                return;
            }
            PermissionChoice::Allow => match offers(OptionKind::AllowOnce) {
                Some(option) => Some(option.id.clone()),
                None => {
                    let text = "this request cannot be allowed once: choose with :RatPermission";
                    return self.notify(Level::Warn, text);
                }
            },
            PermissionChoice::Deny(_) => {
                let once = offers(OptionKind::RejectOnce).map(|option| option.id.clone());
                if once.is_none() && offers(OptionKind::RejectAlways).is_some() {
                    let text = "this request cannot be rejected once: choose with :RatPermission";
                    return self.notify(Level::Warn, text);
                }
                once
            }
        };
        self.settle(id, &waiting, option.as_ref());
        if let PermissionChoice::Deny(Some(reason)) = choice
            && let Some(chat) = self.chats.get_mut(&id)
        {
            // The protocol has no field for it: the agent reads it as the next prompt.
            chat.queue.push_front(Prompt { text: reason, attachments: Vec::new() });
            chat.changed = true;
        }
    }

    /// The waiting request meant; without a number, the oldest.
    pub(super) fn waiting(
        &self,
        chat: Option<ChatId>,
        request: Option<u64>,
    ) -> Option<(ChatId, Waiting)> {
        self.chats
            .values()
            .filter(|it| chat.is_none_or(|id| it.id == id))
            .flat_map(|chat| chat.permissions.iter().map(|waiting| (chat.id, waiting)))
            .filter(|(_, waiting)| request.is_none_or(|id| waiting.id == id))
            .min_by_key(|(_, waiting)| waiting.id)
            .map(|(id, waiting)| (id, waiting.clone()))
    }

    /// Answers a request: with an option, or without one as cancelled.
    fn settle(&mut self, id: ChatId, waiting: &Waiting, option: Option<&OptionId>) {
        let alike = option.map_or_else(Vec::new, |option| self.alike(id, waiting, option));
        self.conclude(id, waiting, option.cloned());
        for other in alike {
            self.conclude(id, &other, option.cloned());
        }
    }

    /// Answers one request: with an option, or without one as cancelled.
    pub(super) fn conclude(&mut self, id: ChatId, waiting: &Waiting, option: Option<OptionId>) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.permissions.retain(|it| it.id != waiting.id);
        chat.changed = true;
        let (decision, outcome) = match option {
            Some(option) => (Decision::Chosen(option.clone()), Outcome::Selected(option)),
            None => (Decision::Cancelled, Outcome::Cancelled),
        };
        chat.spoken().decide(&waiting.tool_call, waiting.id, decision);
        chat.tools_view.touch(&waiting.tool_call);
        self.pay(waiting.token, Answer::Permission(outcome));
    }

    /// The other waiting requests an "always" settles: those that offer the same answer and ask the same beyond doubt.
    fn alike(&self, id: ChatId, waiting: &Waiting, option: &OptionId) -> Vec<Waiting> {
        let offered = |options: &[PermissionOption]| {
            let found = options.iter().find(|it| it.id == *option).cloned();
            found.filter(|it| matches!(it.kind, OptionKind::AllowAlways | OptionKind::RejectAlways))
        };
        let Some(chosen) = offered(&waiting.options) else { return Vec::new() };
        let Some(chat) = self.chats.get(&id) else { return Vec::new() };
        let Some(tool) = chat.said().find_tool(&waiting.tool_call) else { return Vec::new() };
        chat.permissions
            .iter()
            .filter(|other| other.id != waiting.id)
            .filter(|other| offered(&other.options).as_ref() == Some(&chosen))
            .filter(|other| {
                let other = chat.said().find_tool(&other.tool_call);
                other.is_some_and(|other| chat.ask_the_same(&tool.call, &other.call))
            })
            .cloned()
            .collect()
    }

    /// Answers all waiting requests of a chat with `cancelled`.
    pub(super) fn settle_permissions(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        for waiting in chat.permissions.clone() {
            self.conclude(id, &waiting, None);
        }
    }

    pub(super) fn show_diff(&mut self, chat: Option<ChatId>, request: Option<u64>) {
        let found = self.waiting(chat, request).and_then(|(id, waiting)| {
            let entry = self.chats.get(&id)?.said().find_tool(&waiting.tool_call)?;
            let files: Vec<_> = entry.call.diffs().cloned().collect();
            (!files.is_empty()).then(|| (id, waiting.id, entry.call.title.clone(), files))
        });
        match found {
            Some((chat, request, title, files)) => {
                let request = Some(request);
                self.after.push(ToEditor::Diff { chat, request, title, files });
            }
            None => self.notify(Level::Info, "no waiting request shows a change"),
        }
    }
}

impl Chat {
    /// A tool call that requests wait about, to be compared once it has changed.
    pub(super) fn asked_about(&self, call: &ToolCallId) -> Option<ToolCall> {
        let waits = self.permissions.iter().any(|waiting| waiting.tool_call == *call);
        self.said().find_tool(call).filter(|_| waits).map(|entry| entry.call.clone())
    }

    /// A tool call has changed: if what is asked has, what the user saw of the requests about it counts no more.
    pub(super) fn ask_anew(&mut self, before: Option<ToolCall>) {
        let Some(before) = before else { return };
        let now = self.said().find_tool(&before.id);
        if now.is_none_or(|now| asks(&now.call) == asks(&before)) {
            return;
        }
        for waiting in self.permissions.iter_mut().filter(|it| it.tool_call == before.id) {
            waiting.revision += 1;
        }
        self.changed = true;
    }

    /// Whether a lasting answer to one is an answer to the other. Two commands are only alike where they are the same; two
    /// reads or edits also where one tool makes them, each of files of the project.
    fn ask_the_same(&self, one: &ToolCall, other: &ToolCall) -> bool {
        if one.kind != other.kind || one.name != other.name {
            return false;
        }
        let of_files = matches!(one.kind, ToolKind::Read | ToolKind::Edit) && one.name.is_some();
        asks(one) == asks(other) || of_files && self.is_inside(one) && self.is_inside(other)
    }

    /// Whether a call names files, and all of them lie within the roots.
    fn is_inside(&self, call: &ToolCall) -> bool {
        let reach = self.reach();
        let mut paths = call.paths().peekable();
        paths.peek().is_some()
            && paths.all(|path| {
                let path = self.cwd.join(path);
                let climbs = path.components().any(|part| part == Component::ParentDir);
                !climbs && reach.roots.iter().any(|root| path.starts_with(root))
            })
    }
}

/// What the user decides about when they decide about a tool call.
fn asks(call: &ToolCall) -> impl PartialEq {
    let input = call.input.as_ref().map(|input| (&input.command, &input.cwd, &input.json));
    let diffs: Vec<_> = call.diffs().collect();
    (&call.title, &call.name, call.kind, input, &call.locations, diffs)
}
