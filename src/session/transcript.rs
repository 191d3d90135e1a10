//! [`Transcript`], the entries of a conversation. Applies updates and requests to them, and records
//! which entries have to be drawn and saved. It does not know how they look.

mod calls;
mod elicitations;
mod growth;
mod notes;
mod terminal_cache;
mod terminals;

use super::compaction::Compaction;
use super::content::{Content, ContentId};
use super::entry::{Attached, Decision, Entry, Message, ToolEntry};
use super::ids::{MessageId, TerminalId, ToolCallId};
use super::saved::TranscriptPart;
use super::tool_call::{ToolCall, ToolCallPatch, ToolContent, ToolKind, ToolStatus};
use super::update::{PlanEntry, Role};
use growth::Growth;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use terminal_cache::TerminalCache;

/// The entries of a chat, of one session or of several in a row.
#[derive(Debug, Default)]
pub struct Transcript {
    /// New entries are only added at the end, so an index stays valid.
    entries: Vec<Entry>,
    /// Entries that changed since they were drawn.
    dirty: BTreeSet<usize>,
    /// Entries that changed since they were saved.
    unsaved_entries: BTreeSet<usize>,
    growth: Growth,
    /// The index of each tool call.
    calls: HashMap<ToolCallId, usize>,
    /// The entries of further permission requests for a tool call, made while one was unanswered.
    duplicates: HashMap<ToolCallId, Vec<usize>>,
    /// The first entry of the current session. Ids in earlier entries belong to other sessions.
    session_start: usize,
    terminals: TerminalCache,
    /// The tool calls that show each terminal.
    shown_by: HashMap<TerminalId, BTreeSet<usize>>,
    /// The plan of the current turn.
    plan: Option<usize>,
    compactions: HashMap<String, Compaction>,
    /// The latest prompt of the user.
    last_prompt: Option<usize>,
    /// The rest of the prompt that the agent may still echo.
    echo: String,
}

impl Transcript {
    /// Returns all entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the first entry that changed since it was drawn.
    pub fn first_dirty(&self) -> Option<usize> {
        self.dirty.first().copied()
    }

    /// Marks an entry as drawn.
    pub fn drawn(&mut self, index: usize) {
        self.dirty.remove(&index);
    }

    /// Marks every entry as not drawn, for a view that starts from scratch.
    pub fn redraw(&mut self) {
        self.dirty = (0..self.entries.len()).collect();
    }

    fn mark_changed(&mut self, index: usize) {
        self.dirty.insert(index);
        self.unsaved_entries.insert(index);
    }

    /// Restores a saved transcript. Requests and tool calls that were open are cancelled.
    pub fn restore(entries: Vec<Entry>) -> Self {
        let mut transcript = Self { entries, ..Self::default() };
        for (index, entry) in transcript.entries.iter_mut().enumerate() {
            if let Entry::Elicitation(elicitation) = entry {
                elicitation.restore();
            }
            if let Entry::Tool(tool) = entry {
                transcript.calls.insert(tool.call.id.clone(), index);
                if let Some(asked) = &mut tool.asked
                    && asked.decision == Decision::Waiting
                {
                    asked.decision = Decision::Cancelled;
                }
            }
        }
        transcript.settle_tools(ToolStatus::Cancelled);
        transcript.redraw();
        transcript.growth.mark_all_saved(transcript.entries.len());
        transcript
    }

    /// Takes the entries that changed since they were last saved, with their indices.
    pub fn take_unsaved(&mut self) -> Vec<(usize, Entry)> {
        self.growth.mark_all_saved(self.entries.len());
        let changed = std::mem::take(&mut self.unsaved_entries).into_iter();
        changed.map(|index| (index, self.to_save(index))).collect()
    }

    /// Marks every entry as not saved.
    pub fn mark_all_unsaved(&mut self) {
        self.unsaved_entries = (0..self.entries.len()).collect();
    }

    /// Takes what was added since the last call, to be saved while the turn is still running.
    /// Entries that changed in other ways are returned by [`Self::take_unsaved`] at its end.
    pub fn take_part(&mut self) -> TranscriptPart {
        let mut growth = std::mem::take(&mut self.growth);
        let unsaved: Vec<_> = self.unsaved_entries.iter().copied().collect();
        let (part, complete) = growth.take(&self.entries, &unsaved, |index| self.to_save(index));
        for index in complete {
            self.unsaved_entries.remove(&index);
        }
        self.growth = growth;
        part
    }

    /// Returns the first non-empty line of the first prompt, the title of a session that has none.
    pub fn opening(&self) -> Option<&str> {
        let mut prompts = self.entries.iter().filter_map(|entry| match entry {
            Entry::Message(message) if message.role == Role::User => Some(&message.text),
            _ => None,
        });
        prompts.next()?.lines().find(|line| !line.trim().is_empty())
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: Entry) {
        self.mark_changed(self.entries.len());
        self.entries.push(entry);
    }

    /// Adds the user's prompt, which starts a new turn, and returns its index.
    pub fn prompt(&mut self, text: &str, attachments: Vec<String>) -> usize {
        text.clone_into(&mut self.echo);
        self.plan = None;
        let text = text.to_owned();
        let attachments = attachments.into_iter().map(Attached::Words).collect();
        self.push(Entry::Message(Message::new(Role::User, None, text, attachments)));
        let index = self.entries.len() - 1;
        self.last_prompt = Some(index);
        index
    }

    /// Adds the prompt context to the prompt at `index`: the titles for display, and the text
    /// itself, which the agent may echo.
    pub fn add_to_prompt(&mut self, index: usize, titles: Vec<String>, text: &str) {
        if let Some(Entry::Message(message)) = self.entries.get_mut(index)
            && !titles.is_empty()
        {
            message.attachments.extend(titles.into_iter().map(Attached::Words));
            self.echo.push_str(text);
            self.mark_changed(index);
        }
    }

    /// Appends a chunk to the last message if it belongs to it, else starts a new message.
    pub fn chunk(&mut self, role: Role, id: Option<&MessageId>, content: &Content) {
        if role == Role::User && (self.is_own_prompt(id) || self.is_echo(content)) {
            return id.into_iter().for_each(|id| self.name_prompt(id));
        }
        let Content::Text(piece) = content else {
            return self.placeholder(role, content);
        };
        // Nothing is appended to what the user wrote: Gemini may replay an older prompt after it.
        let is_ours = role == Role::User && self.last_prompt == self.entries.len().checked_sub(1);
        if let Some(Entry::Message(last)) = self.entries.last_mut()
            && last.role == role
            && !is_ours
            && (last.id.is_none() || id.is_none() || last.id.as_ref() == id)
            && !(role == Role::User && last.id.is_none() && id.is_some())
        {
            last.text.push_str(piece);
            self.mark_changed(self.entries.len() - 1);
            return;
        }
        if piece.is_empty() {
            return;
        }
        let text = piece.clone();
        let attachments = Vec::new();
        self.push(Entry::Message(Message::new(role, id.cloned(), text, attachments)));
    }

    /// Records the id by which the agent calls the user's last prompt. What it says about that id from now on repeats it.
    pub fn name_prompt(&mut self, id: &MessageId) {
        if let Some(index) = self.last_prompt
            && let Some(Entry::Message(prompt)) = self.entries.get_mut(index)
            && prompt.id.is_none()
        {
            prompt.id = Some(id.clone());
            self.mark_changed(index);
        }
    }

    fn is_own_prompt(&self, id: Option<&MessageId>) -> bool {
        let prompt = self.last_prompt.and_then(|index| self.entries.get(index));
        matches!(prompt, Some(Entry::Message(prompt)) if id.is_some() && prompt.id.as_ref() == id)
    }

    /// Sets the whole content of a message, which may be new.
    pub fn message(&mut self, role: Role, id: &MessageId, content: &[Content]) {
        if role == Role::User && self.is_own_prompt(Some(id)) {
            return;
        }
        let known = self.entries[self.session_start..].iter().rposition(|entry| {
            matches!(entry, Entry::Message(old) if old.role == role && old.id.as_ref() == Some(id))
        });
        let Some(index) = known.map(|index| self.session_start + index) else {
            return content.iter().for_each(|block| self.chunk(role, Some(id), block));
        };
        if let Entry::Message(message) = &mut self.entries[index] {
            message.text = content.iter().filter_map(Content::text).collect();
            let others = content.iter().filter(|block| block.text().is_none());
            message.attachments = others.cloned().map(Attached::Content).collect();
            message.said_anew += 1;
        }
        self.mark_changed(index);
    }

    /// Whether a chunk of the user repeats our own prompt, which is already in the transcript.
    fn is_echo(&mut self, content: &Content) -> bool {
        if self.echo.is_empty() {
            return false;
        }
        match content.text() {
            Some(piece) => match self.echo.strip_prefix(piece) {
                Some(rest) => {
                    self.echo = rest.to_owned();
                    true
                }
                None => false,
            },
            // Our own attachments.
            None => true,
        }
    }

    /// Adds content other than text as an attachment.
    fn placeholder(&mut self, role: Role, content: &Content) {
        let attachment = Attached::Content(content.clone());
        match self.entries.last_mut() {
            Some(Entry::Message(last)) if last.role == role && last.text.is_empty() => {
                last.attachments.push(attachment);
                self.mark_changed(self.entries.len() - 1);
            }
            _ => {
                let attachments = vec![attachment];
                let text = String::new();
                self.push(Entry::Message(Message::new(role, None, text, attachments)));
            }
        }
    }

    /// Adds or updates a tool call.
    pub fn tool(&mut self, id: &ToolCallId, patch: ToolCallPatch) -> &mut ToolEntry {
        let index = self.tool_index(id);
        self.mark_changed(index);
        for (terminal, update) in &patch.terminals {
            self.update_terminal(terminal, update);
        }
        let status = patch.status;
        self.tool_at(index).call.apply(patch);
        self.copy_status(id, status);
        if let Entry::Tool(entry) = &self.entries[index] {
            for terminal in entry.call.terminals() {
                self.shown_by.entry(terminal.clone()).or_default().insert(index);
            }
        }
        self.tool_at(index)
    }

    /// Returns the content with this id, if it exists.
    pub fn content(&self, id: &ContentId) -> Option<&Content> {
        match id {
            ContentId::Message(entry, item) => match self.entries.get(*entry)? {
                Entry::Message(message) => match message.attachments.get(*item)? {
                    Attached::Content(content) => Some(content),
                    Attached::Words(_) => None,
                },
                _ => None,
            },
            ContentId::Tool(item, call) => match self.find_tool(call)?.call.content.get(*item)? {
                ToolContent::Content(content) => Some(content),
                _ => None,
            },
        }
    }

    /// Sets the `_meta` of a tool call, as JSON text. It is saved but not drawn.
    pub fn set_meta(&mut self, id: &ToolCallId, json: &str) {
        if let Some(index) = self.calls.get(id).copied() {
            self.tool_at(index).call.meta = Some(json.to_owned());
            self.unsaved_entries.insert(index);
        }
    }

    /// Returns a tool call.
    pub fn find_tool(&self, id: &ToolCallId) -> Option<&ToolEntry> {
        match self.entries.get(*self.calls.get(id)?) {
            Some(Entry::Tool(entry)) => Some(entry),
            _ => None,
        }
    }

    /// Returns all tool calls, oldest first.
    pub fn tools(&self) -> impl DoubleEndedIterator<Item = &ToolEntry> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Tool(tool) => Some(&**tool),
            _ => None,
        })
    }

    /// Returns the tool call that most probably changes this file: the newest open one that names
    /// it, else the only open one, else the newest open one that may change any file.
    pub fn touching(&self, path: &Path) -> Option<ToolCallId> {
        let open = || self.tools().rev().filter(|tool| tool.call.status.is_open());
        let names = |tool: &&ToolEntry| {
            tool.call.locations.iter().any(|location| location.path == path)
                || tool.call.diffs().any(|diff| diff.path == path)
        };
        let only = || open().next().filter(|_| open().count() == 1);
        let writes = |tool: &&ToolEntry| {
            use ToolKind::{Delete, Edit, Execute, Move, Other};
            matches!(tool.call.kind, Delete | Edit | Execute | Move | Other)
        };
        let likely = open().find(names).or_else(only).or_else(|| open().find(writes));
        likely.map(|tool| tool.call.id.clone())
    }

    fn tool_index(&mut self, id: &ToolCallId) -> usize {
        match self.calls.get(id) {
            Some(index) => *index,
            None => self.push_tool(ToolCall::new(id.clone())),
        }
    }

    fn push_tool(&mut self, call: ToolCall) -> usize {
        let index = self.entries.len();
        self.calls.insert(call.id.clone(), index);
        self.push(Entry::Tool(Box::new(ToolEntry { call, asked: None })));
        index
    }

    fn tool_at(&mut self, index: usize) -> &mut ToolEntry {
        match &mut self.entries[index] {
            Entry::Tool(entry) => entry,
            _ => unreachable!("`calls` holds indexes of tool calls only"),
        }
    }

    /// Sets the status of every open tool call (ACP: at once when a turn is cancelled).
    pub fn settle_tools(&mut self, status: ToolStatus) {
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let Entry::Tool(tool) = entry
                && tool.call.status.is_open()
            {
                tool.call.status = status;
                self.dirty.insert(index);
                self.unsaved_entries.insert(index);
            }
        }
    }

    /// Sets the plan. It replaces the one of the same turn in place. Clearing a plan that does not
    /// exist adds no entry.
    pub fn plan(&mut self, plan: Vec<PlanEntry>) {
        if let Some(index) = self.plan {
            self.entries[index] = Entry::Plan(plan);
            self.mark_changed(index);
        } else if !plan.is_empty() || self.last_plan().is_some_and(|last| !last.is_empty()) {
            self.plan = Some(self.entries.len());
            self.push(Entry::Plan(plan));
        }
    }

    /// Returns the latest plan, which is empty if it was cleared.
    pub fn last_plan(&self) -> Option<&[PlanEntry]> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Plan(plan) => Some(plan.as_slice()),
            _ => None,
        })
    }
}
