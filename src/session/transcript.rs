//! [`Transcript`], the entries of a conversation. Applies updates and requests to them, and records
//! which entries have to be drawn and saved. It does not know how they look.

mod calls;
mod elicitations;
mod growth;
mod message_index;
mod messages;
mod notes;
mod terminal_cache;
mod terminals;

use super::compaction::Compaction;
use super::content::{Content, ContentId};
use super::entry::{Attached, Decision, Entry, Message, ToolEntry};
use super::ids::{TerminalId, ToolCallId};
use super::saved::TranscriptPart;
use super::tool_call::{ToolCall, ToolCallPatch, ToolContent, ToolKind, ToolStatus};
use super::update::{PlanEntry, Role};
use growth::Growth;
use message_index::Messages;
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
    messages: Messages,
    /// The latest entry that is neither a message of the agent nor a note. Text never goes to a message before it, since nobody
    /// would see that.
    last_step: Option<usize>,
    /// The latest message of the user, also one that the agent has replayed.
    turn_start: Option<usize>,
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
        transcript.index_messages();
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

    /// Adds an entry at the end, and returns its index.
    pub fn push(&mut self, entry: Entry) -> usize {
        self.settle_messages();
        let index = self.entries.len();
        self.note_place(index, &entry);
        self.mark_changed(index);
        self.entries.push(entry);
        index
    }

    /// Adds the user's prompt, which starts a new turn, and returns its index.
    pub fn prompt(&mut self, text: &str, attachments: Vec<String>) -> usize {
        text.clone_into(&mut self.echo);
        self.plan = None;
        let text = text.to_owned();
        let attachments = attachments.into_iter().map(Attached::Words).collect();
        let index = self.push(Entry::Message(Message::new(Role::User, None, text, attachments)));
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

    /// Adds or updates a tool call. One that is announced in a later turn than the call that had its id is another call.
    pub fn tool(&mut self, id: &ToolCallId, patch: ToolCallPatch) -> &mut ToolEntry {
        if patch.announces && self.is_announced_anew(id) {
            self.retire(id);
        }
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
        let id = call.id.clone();
        let index = self.push(Entry::Tool(Box::new(ToolEntry::new(call))));
        self.calls.insert(id, index);
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
            self.plan = Some(self.push(Entry::Plan(plan)));
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
