//! The terminals shown by tool calls of a transcript. It does not run commands.

use super::Transcript;
use crate::session::content::Content;
use crate::session::entry::{Entry, ToolEntry};
use crate::session::ids::TerminalId;
use crate::session::terminal::{Terminal, TerminalUpdate};
use crate::session::tool_call::{ToolCall, ToolContent};
use crate::session::update::Severity;

/// How many bytes of a command's output are saved.
const MAX_SAVED_OUTPUT: usize = 16 << 10;

impl Transcript {
    /// Applies an update of a terminal of the agent's own.
    pub fn update_terminal(&mut self, id: &TerminalId, update: &TerminalUpdate) {
        if self.terminals.get(id).is_none() {
            self.terminals.insert(id, Terminal::default());
        }
        self.terminals.change(id, |terminal| match update {
            // We know the state of our own terminals better.
            _ if terminal.is_ours => {}
            TerminalUpdate::Started => {}
            TerminalUpdate::Command(command) => terminal.command = Some(command.clone()),
            TerminalUpdate::Output(bytes) => terminal.append(bytes),
            TerminalUpdate::Whole(bytes) => terminal.replace(bytes),
            TerminalUpdate::Exited(exit) => terminal.finish(exit.clone(), None),
        });
        self.terminal_changed(id);
    }

    /// Adds a terminal in which we run a command.
    pub fn begin_terminal(&mut self, id: &TerminalId, terminal: Terminal) {
        self.terminals.insert(id, terminal);
        self.terminal_changed(id);
    }

    /// Returns a terminal, unless it was evicted.
    pub fn terminal(&self, id: &TerminalId) -> Option<&Terminal> {
        self.terminals.get(id)
    }

    /// Changes a terminal.
    pub fn change_terminal(&mut self, id: &TerminalId, change: impl FnOnce(&mut Terminal)) {
        self.terminals.change(id, change);
        self.terminal_changed(id);
    }

    /// Removes a terminal whose command could not be started. The reason is added to the tool call
    /// that most probably wanted it, else as a note.
    pub fn terminal_failed(&mut self, id: &TerminalId, why: &str) {
        let command = self.terminals.remove(id).and_then(|terminal| terminal.command);
        let command = command.unwrap_or_default();
        let open = || self.tools().rev().filter(|tool| tool.call.status.is_open());
        let wants = |tool: &&ToolEntry| {
            let input = tool.call.input.as_ref().and_then(|input| input.command.as_ref());
            tool.call.title.contains(&command)
                || input.is_some_and(|input| input.contains(&command))
        };
        let only = || open().next().filter(|_| open().count() == 1);
        let Some(call) = open().find(wants).or_else(only).map(|tool| tool.call.id.clone()) else {
            return self.note(
                Severity::Warning,
                format!("Could not run {command}: {why}"),
                Vec::new(),
            );
        };
        let index = self.tool_index(&call);
        let reason = ToolContent::Content(Content::Text(why.to_owned()));
        self.tool_at(index).call.content.push(reason);
        self.mark_changed(index);
    }

    fn terminal_changed(&mut self, id: &TerminalId) {
        let shown_by = || self.shown_by.get(id).into_iter().flatten();
        self.dirty.extend(shown_by());
        if self.terminals.get(id).is_some_and(|terminal| terminal.exit.is_some()) {
            // Saved once at the end, not with each chunk of output.
            self.unsaved_entries.extend(shown_by());
        }
        while let Some((id, terminal)) = self.terminals.evict() {
            self.replace_by_text(&id, &terminal);
        }
    }

    /// Replaces a removed terminal by its text in all tool calls that show it.
    fn replace_by_text(&mut self, id: &TerminalId, terminal: &Terminal) {
        for index in self.shown_by.remove(id).into_iter().flatten() {
            if let Entry::Tool(tool) = &mut self.entries[index] {
                to_text(&mut tool.call.content, |shown| (shown == id).then_some(terminal));
                self.mark_changed(index);
            }
        }
    }

    /// Returns an entry as it is saved, with terminals replaced by the end of their output.
    pub(super) fn to_save(&self, index: usize) -> Entry {
        let mut entry = self.entries[index].clone();
        if let Entry::Tool(tool) = &mut entry {
            to_text(&mut tool.call.content, |id| self.terminals.get(id));
        }
        if let Entry::Note(note) = &mut entry {
            *note = note.to_save();
        }
        entry
    }

    /// Replaces all terminals by their text.
    pub(super) fn terminals_to_text(&mut self) {
        for id in self.shown_by.keys().cloned().collect::<Vec<_>>() {
            if let Some(terminal) = self.terminals.remove(&id) {
                self.replace_by_text(&id, &terminal);
            }
        }
    }

    /// Whether an open tool call shows this terminal.
    pub fn is_shown_by_open_call(&self, id: &TerminalId) -> bool {
        self.calls_with(id).any(|call| call.status.is_open())
    }

    /// Returns the tool calls that show this terminal.
    pub fn calls_with(&self, id: &TerminalId) -> impl Iterator<Item = &ToolCall> {
        let indices = self.shown_by.get(id).into_iter().flatten();
        let calls = indices.filter_map(|index| match &self.entries[*index] {
            Entry::Tool(entry) => Some(&entry.call),
            _ => None,
        });
        calls.filter(move |call| call.terminals().any(|shown| shown == id))
    }
}

/// Replaces each terminal that `known` returns by its report.
fn to_text<'a>(content: &mut [ToolContent], known: impl Fn(&TerminalId) -> Option<&'a Terminal>) {
    for item in content {
        if let ToolContent::Terminal(id) = item
            && let Some(terminal) = known(id)
        {
            *item = ToolContent::Content(Content::Text(terminal.report(MAX_SAVED_OUTPUT)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal_cache::TerminalCache;
    use super::*;
    use crate::session::terminal::TerminalExit;
    use crate::session::tool_call::{ToolCallPatch, ToolStatus};

    fn shown(id: &TerminalId) -> Transcript {
        let mut transcript = Transcript::default();
        let content = Some(vec![ToolContent::Terminal(id.clone())]);
        let status = Some(ToolStatus::InProgress);
        let patch = ToolCallPatch { status, content, ..ToolCallPatch::default() };
        transcript.tool(&"call".into(), patch);
        transcript
    }

    #[test]
    fn output_is_saved_once_when_its_command_has_ended() {
        let id = TerminalId::from("t");
        let mut transcript = shown(&id);
        transcript.begin_terminal(&id, Terminal::new("make".to_owned(), 0));
        assert_eq!(transcript.take_unsaved().len(), 1);
        transcript.drawn(0);
        transcript.change_terminal(&id, |terminal| terminal.append(b"a line\n"));
        assert_eq!((transcript.first_dirty(), transcript.take_unsaved()), (Some(0), Vec::new()));
        let exit = TerminalExit { code: Some(0), signal: None };
        transcript.change_terminal(&id, |terminal| terminal.finish(exit, None));
        let saved = transcript.take_unsaved();
        let [(0, Entry::Tool(tool))] = &saved[..] else { panic!("{saved:?}") };
        let text = "$ make\na line\n[exit 0]".to_owned();
        assert_eq!(tool.call.content, [ToolContent::Content(Content::Text(text))]);
    }

    #[test]
    fn an_evicted_terminal_is_replaced_by_its_text() {
        let mut transcript = shown(&"0".into());
        transcript.terminals = TerminalCache::new(100 << 10);
        for number in 0..20 {
            let id = TerminalId::from(number.to_string());
            let content = Some(vec![ToolContent::Terminal(id.clone())]);
            let patch = ToolCallPatch { content, ..ToolCallPatch::default() };
            transcript.tool(&format!("call {number}").as_str().into(), patch);
            transcript.begin_terminal(&id, Terminal::new(format!("make {number}"), 0));
            let line = format!("line {number}\n");
            transcript.change_terminal(&id, |terminal| {
                terminal.append(line.repeat(1000).as_bytes());
            });
            let exit = TerminalExit { code: Some(0), signal: None };
            transcript.change_terminal(&id, |terminal| terminal.finish(exit, None));
        }
        let content = |call: &str| &transcript.find_tool(&call.into()).unwrap().call.content[..];
        // In each call that showed it.
        for call in ["call", "call 0"] {
            let [ToolContent::Content(Content::Text(text))] = content(call) else {
                panic!("{call}")
            };
            assert!(text.starts_with("$ make 0\n") && text.ends_with("line 0\n[exit 0]"), "{text}");
        }
        assert!(transcript.terminal(&"0".into()).is_none());
        assert_eq!(content("call 19"), [ToolContent::Terminal("19".into())]);
        assert!(transcript.terminal(&"19".into()).is_some());
        assert!(transcript.dirty.contains(&0) && transcript.unsaved_entries.contains(&0));
    }

    #[test]
    fn a_terminal_is_shown_by_an_open_call_until_that_ends() {
        let id = TerminalId::from("t");
        let mut transcript = shown(&id);
        assert!(
            transcript.is_shown_by_open_call(&id)
                && !transcript.is_shown_by_open_call(&"other".into())
        );
        transcript.settle_tools(ToolStatus::Cancelled);
        assert!(!transcript.is_shown_by_open_call(&id));
    }

    #[test]
    fn a_failed_start_is_shown_in_the_tool_call_or_in_a_note() {
        let id = TerminalId::from("t");
        let mut transcript = shown(&"other".into());
        transcript.begin_terminal(&id, Terminal::new("make".to_owned(), 0));
        transcript.terminal_failed(&id, "make is not on PATH");
        let call = &transcript.find_tool(&"call".into()).unwrap().call;
        let reason = ToolContent::Content(Content::Text("make is not on PATH".to_owned()));
        assert_eq!(call.content.last(), Some(&reason));
        assert!(transcript.terminal(&id).is_none());
        transcript.settle_tools(ToolStatus::Completed);
        transcript.begin_terminal(&id, Terminal::new("make".to_owned(), 0));
        transcript.terminal_failed(&id, "make is not on PATH");
        let last = transcript.entries().last();
        assert!(matches!(last, Some(Entry::Note(note)) if note.title.contains("not on PATH")));
    }
}
