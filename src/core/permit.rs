//! Requests for permission: shown, counted, answered once.

use super::chat::Waiting;
use super::effect::{Answer, Happened, Level, ToEditor};
use super::event::{AgentId, ChatId, PermissionChoice, Token};
use super::state::{Debt, State};
use crate::session::ids::OptionId;
use crate::session::permission::{OptionKind, Outcome, PermissionOption, PermissionRequest};
use crate::session::prompt::Prompt;
use crate::session::transcript::{Asked, Decision};

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
        let tool_call = chat.spoken().ask(&tool_call, *patch, asked);
        chat.tools_view.touch(&tool_call);
        chat.changed = true;
        if cancelled {
            return self.pay(token, Answer::Permission(Outcome::Cancelled));
        }
        let title = chat.said().find_tool(&tool_call).map(|entry| entry.call.title.clone());
        chat.permissions.push(Waiting { id: number, token, tool_call, options });
        let happened = Happened::Permission(id, number, title.unwrap_or_default());
        self.after.push(ToEditor::Autocommand(happened));
    }

    pub(super) fn permission(
        &mut self,
        chat: Option<ChatId>,
        request: Option<u64>,
        choice: PermissionChoice,
    ) {
        let Some((id, waiting)) = self.waiting(chat, request) else {
            // A picker answered late changes nothing.
            if request.is_none() {
                self.notify(Level::Info, "no request waits for permission");
            }
            return;
        };
        let kinds = match &choice {
            PermissionChoice::Option(option) => {
                if waiting.options.iter().any(|offered| offered.id == *option) {
                    self.settle(id, &waiting, Some(option));
                }
                return;
            }
            PermissionChoice::Allow => [OptionKind::AllowOnce, OptionKind::AllowAlways],
            PermissionChoice::Deny(_) => [OptionKind::RejectOnce, OptionKind::RejectAlways],
        };
        let option = pick(&waiting.options, kinds);
        if option.is_none() && choice == PermissionChoice::Allow {
            return self.notify(
                Level::Warn,
                "this request offers no way to allow it: choose with :RatPermission",
            );
        }
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

    /// The other waiting requests an "always" settles: of the same tool and kind, offering the same option.
    fn alike(&self, id: ChatId, waiting: &Waiting, option: &OptionId) -> Vec<Waiting> {
        let always = |options: &[PermissionOption]| {
            options.iter().any(|it| {
                it.id == *option
                    && matches!(it.kind, OptionKind::AllowAlways | OptionKind::RejectAlways)
            })
        };
        let Some(chat) = self.chats.get(&id).filter(|_| always(&waiting.options)) else {
            return Vec::new();
        };
        let Some(tool) = chat.said().find_tool(&waiting.tool_call) else { return Vec::new() };
        chat.permissions
            .iter()
            .filter(|other| other.id != waiting.id && always(&other.options))
            .filter(|other| {
                chat.said().find_tool(&other.tool_call).is_some_and(|entry| {
                    entry.call.kind == tool.call.kind && entry.call.name == tool.call.name
                })
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

/// The first option of the first kind that is offered.
fn pick(options: &[PermissionOption], kinds: [OptionKind; 2]) -> Option<OptionId> {
    kinds
        .into_iter()
        .find_map(|kind| options.iter().find(|option| option.kind == kind))
        .map(|option| option.id.clone())
}
