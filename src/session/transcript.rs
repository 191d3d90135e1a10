//! The conversation as a list of entries that only grows at the end; each change marks its entry dirty for the view.
//! How it looks is not known here.

mod calls;
mod elicitations;
mod terminals;

pub use elicitations::{About, Became, Elicited};

use super::compaction::Compaction;
use super::content::{Content, ContentId};
use super::ids::{MessageId, OptionId, TerminalId, ToolCallId};
use super::permission::{OptionKind, PermissionOption};
use super::tool_call::{ToolCall, ToolCallPatch, ToolContent, ToolStatus};
use super::update::{PlanEntry, Role, Severity};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use terminals::Shelf;

/// One thing in the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// What this conversation is, at the top and after each restart.
    Banner(String),
    /// Somebody speaks.
    Message(Message),
    /// A tool call.
    Tool(Box<ToolEntry>),
    /// The plan, as it stood last in its turn.
    Plan(Vec<PlanEntry>),
    /// What the user was asked to fill in or to open.
    Elicitation(Elicited),
    /// Something that happened: how a turn ended, a notice, an error.
    Note(Note),
}

/// A message, or as much of it as came so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its id, where the agent gives one.
    pub id: Option<MessageId>,
    /// The text, byte for byte as it came.
    pub text: String,
    /// What went with it: attached files, images.
    pub attachments: Vec<Attached>,
    /// How often it was said anew; else the text only grows.
    #[serde(default)]
    pub said_anew: u32,
}

/// What goes with a message beside its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Attached {
    /// Something of the user's, in words.
    Words(String),
    /// Content that is no text.
    Content(Content),
}

impl Attached {
    /// What it is, in one line.
    pub fn words(&self) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Content(content) => content.words(),
        }
    }
}

impl Message {
    fn new(role: Role, id: Option<MessageId>, text: String, attachments: Vec<Attached>) -> Self {
        Self { role, id, text, attachments, said_anew: 0 }
    }
}

/// A tool call and what the user was asked about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEntry {
    /// The call.
    pub call: ToolCall,
    /// The permission the agent asked for.
    pub asked: Option<Asked>,
}

impl ToolEntry {
    /// Whether the user has allowed it.
    fn is_allowed(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| match &asked.decision {
            Decision::Chosen(id) => asked.options.iter().any(|option| {
                option.id == *id
                    && matches!(option.kind, OptionKind::AllowOnce | OptionKind::AllowAlways)
            }),
            Decision::Waiting | Decision::Cancelled => false,
        })
    }
}

/// A request for permission in the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Our number of the request.
    pub id: u64,
    /// The ways to answer.
    pub options: Vec<PermissionOption>,
    /// What became of it.
    pub decision: Decision,
}

/// What became of a request for permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// The user has not answered yet.
    Waiting,
    /// The user chose this option.
    Chosen(OptionId),
    /// The turn was cancelled, or the agent withdrew.
    Cancelled,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How grave.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// More lines.
    pub details: Vec<String>,
    /// A note that is replaced in place, such as a compaction.
    pub key: Option<String>,
}

/// The conversation.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: Vec<Entry>,
    dirty: BTreeSet<usize>,
    /// What has changed since it was written down.
    unkept: BTreeSet<usize>,
    calls: HashMap<ToolCallId, usize>,
    /// Further requests for permission of a call, whose cards stand beside its own.
    beside: HashMap<ToolCallId, Vec<usize>>,
    /// Where the running session begins: what stands before was named by another one.
    begins: usize,
    terminals: Shelf,
    /// The tool calls that show each of them.
    shown: HashMap<TerminalId, BTreeSet<usize>>,
    /// The plan entry of the running turn.
    plan: Option<usize>,
    compactions: HashMap<String, Compaction>,
    /// What is left of our own prompt that the agent may echo.
    echo: String,
}

impl Transcript {
    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The lowest entry that changed since it was drawn.
    pub fn first_dirty(&self) -> Option<usize> {
        self.dirty.first().copied()
    }

    /// Marks an entry as drawn.
    pub fn drawn(&mut self, index: usize) {
        self.dirty.remove(&index);
    }

    /// Marks every entry as not drawn, for a view that starts anew.
    pub fn redraw(&mut self) {
        self.dirty = (0..self.entries.len()).collect();
    }

    fn touch(&mut self, index: usize) {
        self.dirty.insert(index);
        self.unkept.insert(index);
    }

    /// A conversation that was written down. What was open then is not any more.
    pub fn restore(entries: Vec<Entry>) -> Self {
        let mut transcript = Self { entries, ..Self::default() };
        for (index, entry) in transcript.entries.iter_mut().enumerate() {
            if let Entry::Elicitation(elicited) = entry {
                elicited.restore();
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
        transcript
    }

    /// What has changed since this was asked last, with where it stands; to be written down.
    pub fn take_unkept(&mut self) -> Vec<(usize, Entry)> {
        let changed = std::mem::take(&mut self.unkept).into_iter();
        changed.map(|index| (index, self.to_keep(index))).collect()
    }

    /// Has all of it written down, not only what has changed.
    pub fn keep_all(&mut self) {
        self.unkept = (0..self.entries.len()).collect();
    }

    /// How the first prompt begins: a title for a session that has none.
    pub fn opening(&self) -> Option<&str> {
        let mut prompts = self.entries.iter().filter_map(|entry| match entry {
            Entry::Message(message) if message.role == Role::User => Some(&message.text),
            _ => None,
        });
        prompts.next()?.lines().find(|line| !line.trim().is_empty())
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: Entry) {
        self.touch(self.entries.len());
        self.entries.push(entry);
    }

    /// Adds a note.
    pub fn note(&mut self, severity: Severity, title: impl Into<String>, details: Vec<String>) {
        self.push(Entry::Note(Note { severity, title: title.into(), details, key: None }));
    }

    /// Adds a note, or replaces the one with the same key where it stands.
    pub fn keyed_note(&mut self, note: Note) {
        let is_it = |entry: &Entry| matches!(entry, Entry::Note(old) if old.key == note.key);
        let found = self.entries[self.begins..].iter().rposition(is_it);
        match found.map(|index| self.begins + index) {
            Some(index) => {
                self.entries[index] = Entry::Note(note);
                self.touch(index);
            }
            None => self.push(Entry::Note(note)),
        }
    }

    /// What is said of a compaction changes: one note, where it stood first.
    pub fn compaction(&mut self, id: &str, change: impl FnOnce(&mut Compaction)) {
        let compaction = self.compactions.entry(id.to_owned()).or_default();
        change(compaction);
        let (severity, title) = compaction.line();
        let key = Some(format!("compaction {id}"));
        self.keyed_note(Note { severity, title, details: Vec::new(), key });
    }

    /// The user's prompt, as it is sent. Starts a new turn. Gives where it stands.
    pub fn prompt(&mut self, text: &str, attachments: Vec<String>) -> usize {
        text.clone_into(&mut self.echo);
        self.plan = None;
        let text = text.to_owned();
        let attachments = attachments.into_iter().map(Attached::Words).collect();
        self.push(Entry::Message(Message::new(Role::User, None, text, attachments)));
        self.entries.len() - 1
    }

    /// What goes with the prompt that stands there, beside what the user attached: in words for the display, and the
    /// text itself, which an agent may repeat.
    pub fn add_to_prompt(&mut self, index: usize, titles: Vec<String>, text: &str) {
        if let Some(Entry::Message(message)) = self.entries.get_mut(index)
            && !titles.is_empty()
        {
            message.attachments.extend(titles.into_iter().map(Attached::Words));
            self.echo.push_str(text);
            self.touch(index);
        }
    }

    /// A piece of a message: it goes on the last message where that is the same one, else it starts a new one.
    pub fn chunk(&mut self, role: Role, id: Option<&MessageId>, content: &Content) {
        if role == Role::User && self.is_echo(content) {
            return;
        }
        let Content::Text(piece) = content else {
            return self.placeholder(role, content);
        };
        if let Some(Entry::Message(last)) = self.entries.last_mut()
            && last.role == role
            && (last.id.is_none() || id.is_none() || last.id.as_ref() == id)
            && !(role == Role::User && last.id.is_none() && id.is_some())
        {
            last.text.push_str(piece);
            self.touch(self.entries.len() - 1);
            return;
        }
        if piece.is_empty() {
            return;
        }
        let text = piece.clone();
        let attachments = Vec::new();
        self.push(Entry::Message(Message::new(role, id.cloned(), text, attachments)));
    }

    /// A message is this, whatever was said of it.
    pub fn message(&mut self, role: Role, id: &MessageId, content: &[Content]) {
        let known = self.entries[self.begins..].iter().rposition(|entry| {
            matches!(entry, Entry::Message(it) if it.role == role && it.id.as_ref() == Some(id))
        });
        let Some(index) = known.map(|index| self.begins + index) else {
            return content.iter().for_each(|piece| self.chunk(role, Some(id), piece));
        };
        if let Entry::Message(message) = &mut self.entries[index] {
            message.text = content.iter().filter_map(Content::text).collect();
            let others = content.iter().filter(|piece| piece.text().is_none());
            message.attachments = others.cloned().map(Attached::Content).collect();
            message.said_anew += 1;
        }
        self.touch(index);
    }

    /// An agent may repeat our own prompt; it is already there.
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
            // What we attached comes back as what it was.
            None => true,
        }
    }

    fn placeholder(&mut self, role: Role, content: &Content) {
        let what = Attached::Content(content.clone());
        match self.entries.last_mut() {
            Some(Entry::Message(last)) if last.role == role && last.text.is_empty() => {
                last.attachments.push(what);
                self.touch(self.entries.len() - 1);
            }
            _ => {
                let attachments = vec![what];
                let text = String::new();
                self.push(Entry::Message(Message::new(role, None, text, attachments)));
            }
        }
    }

    /// A tool call is announced or changes.
    pub fn tool(&mut self, id: &ToolCallId, patch: ToolCallPatch) -> &mut ToolEntry {
        let index = self.tool_index(id);
        self.touch(index);
        for (terminal, news) in &patch.terminals {
            self.terminal_told(terminal, news);
        }
        let status = patch.status;
        self.tool_at(index).call.apply(patch);
        self.follow_status(id, status);
        if let Entry::Tool(entry) = &self.entries[index] {
            for terminal in entry.call.terminals() {
                self.shown.entry(terminal.clone()).or_default().insert(index);
            }
        }
        self.tool_at(index)
    }

    /// The content that stands there.
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

    /// Keeps what the agent added to what it said of a tool call, as JSON text.
    pub fn keep_meta(&mut self, id: &ToolCallId, json: &str) {
        if let Some(index) = self.calls.get(id).copied() {
            self.tool_at(index).call.meta = Some(json.to_owned());
            self.unkept.insert(index);
        }
    }

    /// The tool call, if it was ever named.
    pub fn find_tool(&self, id: &ToolCallId) -> Option<&ToolEntry> {
        match self.entries.get(*self.calls.get(id)?) {
            Some(Entry::Tool(entry)) => Some(entry),
            _ => None,
        }
    }

    /// Every tool call, oldest first.
    pub fn tools(&self) -> impl DoubleEndedIterator<Item = &ToolEntry> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Tool(tool) => Some(&**tool),
            _ => None,
        })
    }

    /// The text that the user has allowed to be replaced by `content` in this file, as the request showed it; `None`
    /// where no tool call that still runs has asked for exactly this change.
    pub fn allowed(&self, path: &Path, content: &str) -> Option<&str> {
        let open = self.tools().rev().filter(|tool| tool.call.status.is_open());
        let allowed = open.filter(|tool| tool.is_allowed());
        allowed.flat_map(|tool| tool.call.diffs()).find_map(|diff| {
            let old = diff.old.as_deref()?;
            (diff.path == path && diff.new == content).then_some(old)
        })
    }

    /// The tool call that most probably touches this file: the newest open one that names it, else the only open one.
    pub fn touching(&self, path: &Path) -> Option<ToolCallId> {
        let open = || self.tools().rev().filter(|tool| tool.call.status.is_open());
        let names = |tool: &&ToolEntry| {
            tool.call.locations.iter().any(|location| location.path == path)
                || tool.call.diffs().any(|diff| diff.path == path)
        };
        let only = || open().next().filter(|_| open().count() == 1);
        open().find(names).or_else(only).map(|tool| tool.call.id.clone())
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

    /// Shows every call that is still open as `status` (ACP: at once when a turn is cancelled).
    pub fn settle_tools(&mut self, status: ToolStatus) {
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let Entry::Tool(tool) = entry
                && tool.call.status.is_open()
            {
                tool.call.status = status;
                self.dirty.insert(index);
                self.unkept.insert(index);
            }
        }
    }

    /// The plan, whole; it replaces the one of the same turn where that stands. Taking back one that there is not
    /// says nothing.
    pub fn plan(&mut self, plan: Vec<PlanEntry>) {
        if let Some(index) = self.plan {
            self.entries[index] = Entry::Plan(plan);
            self.touch(index);
        } else if !plan.is_empty() || self.last_plan().is_some_and(|last| !last.is_empty()) {
            self.plan = Some(self.entries.len());
            self.push(Entry::Plan(plan));
        }
    }

    /// The plan as it was made last; empty where it was taken back.
    pub fn last_plan(&self) -> Option<&[PlanEntry]> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Plan(plan) => Some(plan.as_slice()),
            _ => None,
        })
    }
}
