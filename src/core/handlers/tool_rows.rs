//! Which tool call of a session a call of the editor's own tools is, and what is said there.

use crate::core::chat::Chat;
use crate::core::messages::tools::ToolCallToken;
use crate::core::state::State;
use crate::core::tools::{AnsweredCall, Grant, RunningCall, Step};
use crate::core::user_messages::count;
use crate::session::agent::McpServersFor;
use crate::session::author::ChatId;
use crate::session::editor_tool::{SERVER_NAME, ToolRequest, own_name};
use crate::session::entry::ToolEntry;
use crate::session::ids::ToolCallId;
use crate::session::tool_call::{ToolCall, ToolCallPatch, ToolStatus};

/// How many calls of a turn are remembered until their tool calls come.
const MOST_AHEAD: usize = 32;

/// Whose a call is.
pub(super) struct Owner {
    pub(super) chat: ChatId,
    pub(super) row: Option<ToolCallId>,
    pub(super) is_unclear: bool,
}

impl State {
    /// Finds the session that has this tool call.
    pub(super) fn owner_by_id(&self, grant: Grant, id: &ToolCallId) -> Option<Owner> {
        let has_call = |chat: &&Chat| {
            let found = chat.incoming().find_tool(id);
            found.is_some_and(|tool| tool.call.status.is_open()) && !self.is_taken(chat.id, id)
        };
        let chat = self.callers(grant).find(has_call)?;
        Some(Owner { chat: chat.id, row: Some(id.clone()), is_unclear: false })
    }

    /// Finds the session with the open tool call that a call is: that of the same tool, with the same arguments if they are known.
    pub(super) fn owner_by_rows(&self, grant: Grant, name: &str, input: &str) -> Option<Owner> {
        let mut rows: Vec<(bool, &Chat, &ToolCallId)> = Vec::new();
        for chat in self.callers(grant) {
            let open = chat.incoming().tools().filter(|tool| tool.call.status.is_open());
            let fitting = open.filter(|tool| is_call_of(&tool.call, name));
            let free = fitting.filter(|tool| !self.is_taken(chat.id, &tool.call.id));
            rows.extend(free.filter_map(|tool| {
                let known = tool.call.input.as_ref();
                let is_same = known.is_some_and(|known| known.json == input);
                (is_same || known.is_none()).then_some((is_same, chat, &tool.call.id))
            }));
        }
        // Those with other arguments are other calls, unless they are not known yet.
        let is_known = rows.iter().any(|(is_same, ..)| *is_same);
        rows.retain(|(is_same, ..)| *is_same || !is_known);
        let (_, first, row) = *rows.first()?;
        let own = rows.iter().find(|(_, chat, _)| Some(chat.id) == grant.chat);
        let is_unclear = rows.iter().any(|(_, chat, _)| chat.id != first.id);
        let (_, chat, row) = own.copied().unwrap_or((false, first, row));
        Some(Owner { chat: chat.id, row: Some(row.clone()), is_unclear })
    }

    /// Takes the session that the caller was started for.
    pub(super) fn any_owner(&self, grant: Grant) -> Option<Owner> {
        let mut callers = self.callers(grant);
        let first = callers.next()?.id;
        let is_unclear = callers.next().is_some();
        let chat = grant.chat.filter(|id| self.chats.contains_key(id)).unwrap_or(first);
        Some(Owner { chat, row: None, is_unclear })
    }

    /// Returns the chats whose sessions may be calling.
    fn callers(&self, grant: Grant) -> impl Iterator<Item = &Chat> {
        let Grant { agent, chat: own } = grant;
        let on_agent = self.chats.values().filter(move |chat| chat.agent == Some(agent));
        let shares = |chat: &Chat| chat.info.quirks.mcp_servers == McpServersFor::Folder;
        on_agent.filter(move |chat| Some(chat.id) == own || shares(chat))
    }

    fn is_taken(&self, chat: ChatId, row: &ToolCallId) -> bool {
        self.tools.calls.values().any(|call| call.chat == chat && call.row.as_ref() == Some(row))
    }

    /// A tool call of a chat has changed: it may be that of a call which has none.
    pub(super) fn tool_row_changed(&mut self, id: ChatId, row: &ToolCallId) {
        self.title_late_row(id, row);
        let agent = self.chats.get(&id).and_then(|chat| chat.agent);
        let has_none = |call: &RunningCall| call.row.is_none();
        let calls = self.tools.calls.iter().filter(|(_, call)| has_none(call));
        for token in calls.map(|(token, _)| *token).collect::<Vec<_>>() {
            let Some(call) = self.tools.calls.get(&token) else { continue };
            let of_call = self.chats.get(&call.chat).and_then(|chat| chat.agent);
            let Some(agent) = agent.filter(|agent| of_call == Some(*agent)) else { continue };
            let grant = Grant { agent, chat: Some(call.chat) };
            let found = self.owner_by_rows(grant, call.request.name(), &call.input);
            let Some(owner) = found else { continue };
            let Some(call) = self.tools.calls.get_mut(&token) else { continue };
            if matches!(call.step, Step::Row) {
                (call.chat, call.row, call.is_unclear) = (owner.chat, owner.row, owner.is_unclear);
                self.title_row(token);
                self.begin_tool(token);
            } else if owner.chat == call.chat {
                call.row = owner.row;
                self.title_row(token);
            }
        }
    }

    /// A call is answered whose tool call has not come: what it is about is said there later.
    pub(super) fn await_row(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get(&token).filter(|call| call.row.is_none()) else {
            return;
        };
        let Some(chat) = self.chats.get_mut(&call.chat) else { return };
        if chat.tools.ahead.len() < MOST_AHEAD {
            let (request, input) = (call.request.clone(), call.input.clone());
            chat.tools.ahead.push(AnsweredCall { request, input });
        }
    }

    /// Says on a tool call what it is about if it has come after its call was answered.
    fn title_late_row(&mut self, id: ChatId, row: &ToolCallId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Some(ToolEntry { call, .. }) = chat.incoming().find_tool(row) else { return };
        let is_of_row = |answered: &AnsweredCall| {
            is_call_of(call, answered.request.name())
                && call.input.as_ref().is_some_and(|known| known.json == answered.input)
        };
        let found = chat.tools.ahead.iter().position(is_of_row);
        if let Some(at) = found.filter(|_| !chat.tools.titled.contains(row)) {
            let answered = chat.tools.ahead.remove(at);
            chat.set_title(row, &answered.request);
        }
    }

    /// Says on the tool call of a call what it is about: agents only name the tool.
    pub(super) fn title_row(&mut self, token: ToolCallToken) {
        let Some(call) = self.tools.calls.get(&token) else { return };
        let Some(chat) = self.chats.get_mut(&call.chat) else { return };
        let Some(row) = &call.row else { return };
        chat.set_title(row, &call.request);
    }

    /// Ends the tool call that stands for a call which its agent did not report.
    pub(super) fn end_own_row(&mut self, token: ToolCallToken, is_error: bool) {
        let Some(call) = self.tools.calls.get(&token) else { return };
        let Some(row) = call.row.clone().filter(|row| *row == own_row(token)) else { return };
        let Some(chat) = self.chats.get_mut(&call.chat) else { return };
        let status = if is_error { ToolStatus::Failed } else { ToolStatus::Completed };
        let patch = ToolCallPatch { status: Some(status), ..ToolCallPatch::default() };
        chat.incoming_mut().tool(&row, patch);
        chat.redraw.tool_calls.insert(row);
    }
}

impl Chat {
    fn set_title(&mut self, row: &ToolCallId, request: &ToolRequest) {
        let (title, name) = (Some(self.title_of_tool(request)), Some(rule_name(request)));
        self.tools.titled.insert(row.clone());
        self.incoming_mut().tool(row, ToolCallPatch { title, name, ..ToolCallPatch::default() });
        self.redraw.tool_calls.insert(row.clone());
    }

    /// Describes what a call asks for.
    pub(super) fn title_of_tool(&self, request: &ToolRequest) -> String {
        let short = |path: &std::path::Path| self.scene().shorten(path);
        match request {
            ToolRequest::Diagnostics { file: Some(file), .. } => {
                format!("Get diagnostics of {}", short(file))
            }
            ToolRequest::Diagnostics { file: None, .. } => "Get all diagnostics".to_owned(),
            ToolRequest::References(place) => format!("Find uses of {}", place.symbol),
            ToolRequest::Definition(place) => format!("Find the definition of {}", place.symbol),
            ToolRequest::FileSymbols(file) => format!("List symbols of {}", short(file)),
            ToolRequest::ProjectSymbols(query) => format!("Find symbols named {query}"),
            ToolRequest::OpenBuffers => "List open files".to_owned(),
            ToolRequest::ReadBuffer { file, .. } => format!("Read {}", short(file)),
            ToolRequest::Rename(place, name) => format!("Rename {} to {name}", place.symbol),
            ToolRequest::CodeAction { file, title: None, .. } => {
                format!("List code actions in {}", short(file))
            }
            ToolRequest::CodeAction { file, title: Some(action), .. } => {
                format!("Apply \"{action}\" in {}", short(file))
            }
            ToolRequest::Edit { file, .. } => format!("Edit {}", short(file)),
            ToolRequest::ReadQuickfix => "Read the quickfix list".to_owned(),
            ToolRequest::SetQuickfix(items) => {
                format!("Show {} in the quickfix list", count(items.len(), "place"))
            }
            ToolRequest::Own { name, .. } => format!("Run your tool {name}"),
        }
    }
}

/// The tool call that stands for a call which its agent did not report.
pub(super) fn own_row(token: ToolCallToken) -> ToolCallId {
    format!("rat-tool-{}", token.0).as_str().into()
}

/// Whether a tool call is one of this tool of ours.
pub(super) fn is_call_of(call: &ToolCall, name: &str) -> bool {
    let known = call.name.as_deref().unwrap_or(&call.title);
    own_name(known) == Some(name)
}

/// The name of a tool in rules, whatever name the agent gives it.
pub(super) fn rule_name(request: &ToolRequest) -> String {
    format!("mcp__{SERVER_NAME}__{}", request.name())
}
