//! The terminals that tool calls of a conversation show. What runs in them is not known here.

mod shelf;

pub(super) use shelf::Shelf;

use super::{Entry, ToolEntry, Transcript};
use crate::session::content::Content;
use crate::session::ids::TerminalId;
use crate::session::terminal::{Terminal, TerminalNews};
use crate::session::tool_call::ToolContent;
use crate::session::update::Severity;

/// How much of what a command wrote is written down, in bytes.
const KEPT: usize = 16 << 10;

impl Transcript {
    /// An agent says what happens in a terminal of its own.
    pub fn terminal_told(&mut self, id: &TerminalId, news: &TerminalNews) {
        if self.terminals.get(id).is_none() {
            self.terminals.insert(id, Terminal::default());
        }
        self.terminals.change(id, |terminal| match news {
            // What runs in ours we know ourselves.
            _ if terminal.command.is_some() => {}
            TerminalNews::Begun => {}
            TerminalNews::Output(bytes) => terminal.append(bytes),
            TerminalNews::Whole(bytes) => terminal.replace(bytes),
            TerminalNews::Exited(exit) => terminal.finish(exit.clone(), None),
        });
        self.terminal_changed(id);
    }

    /// A command begins to run in a terminal of ours.
    pub fn begin_terminal(&mut self, id: &TerminalId, terminal: Terminal) {
        self.terminals.insert(id, terminal);
        self.terminal_changed(id);
    }

    /// What is known of a terminal.
    pub fn terminal(&self, id: &TerminalId) -> Option<&Terminal> {
        self.terminals.get(id)
    }

    /// Something happens in a terminal.
    pub fn change_terminal(&mut self, id: &TerminalId, change: impl FnOnce(&mut Terminal)) {
        self.terminals.change(id, change);
        self.terminal_changed(id);
    }

    /// A command of ours could not be started: the call that wanted it says why.
    pub fn terminal_failed(&mut self, id: &TerminalId, why: &str) {
        let command = self.terminals.remove(id).and_then(|terminal| terminal.command);
        let command = command.unwrap_or_default();
        let open = || self.tools().rev().filter(|tool| tool.call.status.is_open());
        let wants = |tool: &&ToolEntry| {
            let input = tool.call.input.as_ref().and_then(|input| input.command.as_ref());
            tool.call.title.contains(&command) || input.is_some_and(|it| it.contains(&command))
        };
        let only = || open().next().filter(|_| open().count() == 1);
        let Some(call) = open().find(wants).or_else(only).map(|tool| tool.call.id.clone()) else {
            return self.note(
                Severity::Warning,
                format!("{command} did not run: {why}"),
                Vec::new(),
            );
        };
        let index = self.tool_index(&call);
        let said = ToolContent::Content(Content::Text(why.to_owned()));
        self.tool_at(index).call.content.push(said);
        self.touch(index);
    }

    fn terminal_changed(&mut self, id: &TerminalId) {
        let shown = || self.shown.get(id).into_iter().flatten();
        self.dirty.extend(shown());
        if self.terminals.get(id).is_some_and(|terminal| terminal.exit.is_some()) {
            // Written down once, not with each piece of output.
            self.unkept.extend(shown());
        }
        while let Some((id, terminal)) = self.terminals.spare() {
            self.replace_terminal(&id, &terminal);
        }
    }

    /// There is no room for a terminal any more: from now on what is written down of it is what is shown.
    fn replace_terminal(&mut self, id: &TerminalId, terminal: &Terminal) {
        for index in self.shown.remove(id).into_iter().flatten() {
            if let Entry::Tool(tool) = &mut self.entries[index] {
                in_words(&mut tool.call.content, |shown| (shown == id).then_some(terminal));
                self.touch(index);
            }
        }
    }

    /// An entry as it is written down: terminals do not outlive Neovim, but the end of what they showed does.
    pub(super) fn to_keep(&self, index: usize) -> Entry {
        let mut entry = self.entries[index].clone();
        if let Entry::Tool(tool) = &mut entry {
            in_words(&mut tool.call.content, |id| self.terminals.get(id));
        }
        entry
    }

    /// From now on all terminals there are stand as what they showed.
    pub(super) fn shelve_terminals(&mut self) {
        for id in self.shown.keys().cloned().collect::<Vec<_>>() {
            if let Some(terminal) = self.terminals.remove(&id) {
                self.replace_terminal(&id, &terminal);
            }
        }
    }

    /// Whether a tool call that is not over shows this terminal.
    pub fn is_waited_for(&self, id: &TerminalId) -> bool {
        let mut calls = self.shown.get(id).into_iter().flatten();
        calls.any(|index| match &self.entries[*index] {
            Entry::Tool(entry) => {
                entry.call.status.is_open() && entry.call.terminals().any(|shown| shown == id)
            }
            _ => false,
        })
    }
}

/// Puts an account in the place of each terminal that is known.
fn in_words<'a>(content: &mut [ToolContent], known: impl Fn(&TerminalId) -> Option<&'a Terminal>) {
    for item in content {
        if let ToolContent::Terminal(id) = item
            && let Some(terminal) = known(id)
        {
            *item = ToolContent::Content(Content::Text(terminal.account(KEPT)));
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn what_a_terminal_showed_is_written_down_once_when_its_command_has_ended() {
        let id = TerminalId::from("t");
        let mut transcript = shown(&id);
        transcript.begin_terminal(&id, Terminal::new("make".to_owned(), 0));
        assert_eq!(transcript.take_unkept().len(), 1);
        transcript.drawn(0);
        transcript.change_terminal(&id, |terminal| terminal.append(b"a line\n"));
        assert_eq!((transcript.first_dirty(), transcript.take_unkept()), (Some(0), Vec::new()));
        let exit = TerminalExit { code: Some(0), signal: None };
        transcript.change_terminal(&id, |terminal| terminal.finish(exit, None));
        let kept = transcript.take_unkept();
        let [(0, Entry::Tool(tool))] = &kept[..] else { panic!("{kept:?}") };
        let text = "$ make\na line\n[exit 0]".to_owned();
        assert_eq!(tool.call.content, [ToolContent::Content(Content::Text(text))]);
    }

    #[test]
    fn the_oldest_terminal_becomes_text_where_there_is_no_room_for_more() {
        let mut transcript = shown(&"0".into());
        transcript.terminals = Shelf::new(100 << 10);
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
        // Each call that showed it.
        for call in ["call", "call 0"] {
            let [ToolContent::Content(Content::Text(text))] = content(call) else {
                panic!("{call}")
            };
            assert!(text.starts_with("$ make 0\n") && text.ends_with("line 0\n[exit 0]"), "{text}");
        }
        assert!(transcript.terminal(&"0".into()).is_none());
        assert_eq!(content("call 19"), [ToolContent::Terminal("19".into())]);
        assert!(transcript.terminal(&"19".into()).is_some());
        assert!(transcript.dirty.contains(&0) && transcript.unkept.contains(&0));
    }

    #[test]
    fn an_open_call_that_shows_a_terminal_waits_for_it() {
        let id = TerminalId::from("t");
        let mut transcript = shown(&id);
        assert!(transcript.is_waited_for(&id) && !transcript.is_waited_for(&"other".into()));
        transcript.settle_tools(ToolStatus::Cancelled);
        assert!(!transcript.is_waited_for(&id));
    }

    #[test]
    fn a_command_that_does_not_run_is_told_in_the_call_that_wanted_it_or_in_a_note() {
        let id = TerminalId::from("t");
        let mut transcript = shown(&"other".into());
        transcript.begin_terminal(&id, Terminal::new("make".to_owned(), 0));
        transcript.terminal_failed(&id, "make is not on PATH");
        let call = &transcript.find_tool(&"call".into()).unwrap().call;
        let said = ToolContent::Content(Content::Text("make is not on PATH".to_owned()));
        assert_eq!(call.content.last(), Some(&said));
        assert!(transcript.terminal(&id).is_none());
        transcript.settle_tools(ToolStatus::Completed);
        transcript.begin_terminal(&id, Terminal::new("make".to_owned(), 0));
        transcript.terminal_failed(&id, "make is not on PATH");
        let last = transcript.entries().last();
        assert!(matches!(last, Some(Entry::Note(note)) if note.title.contains("not on PATH")));
    }
}
