//! Tool calls across sessions, whose agents may reuse an id, and several permission requests for
//! one tool call.

use super::Transcript;
use crate::session::entry::{Decision, Entry, PermissionEntry, ToolEntry};
use crate::session::ids::ToolCallId;
use crate::session::permission::DecidedBy;
use crate::session::shown::Shown;
use crate::session::tool_call::{ToolCall, ToolCallPatch, ToolStatus};

impl Transcript {
    /// Starts another session after the existing entries. Its agent may use the same ids again, so
    /// earlier tool calls get new ones.
    pub fn begin_session(&mut self) {
        self.terminals_to_text();
        self.forget_messages();
        let earlier: Vec<_> = self.calls.drain().collect();
        for (id, index) in earlier {
            let unused = self.unused_id(&id);
            self.tool_at(index).call.id = unused.clone();
            self.calls.insert(unused, index);
            self.mark_changed(index);
        }
        self.session_start = self.entries.len();
        self.duplicates.clear();
        self.compactions.clear();
        self.plan = None;
        self.echo.clear();
    }

    /// Derives an id from `id` that no tool call has.
    fn unused_id(&self, id: &ToolCallId) -> ToolCallId {
        let is_free = |id: &ToolCallId| !self.calls.contains_key(id);
        (1..=self.calls.len() + 1)
            .map(|number| ToolCallId::from(format!("{id} ({number})").as_str()))
            .find(is_free)
            .unwrap_or_else(|| id.clone())
    }

    /// Whether a tool call that is announced is another one than the one with its id, which was there before the latest prompt,
    /// has ended and waits for nobody.
    pub fn is_announced_anew(&self, id: &ToolCallId) -> bool {
        let is_over = |tool: &ToolEntry| !tool.call.status.is_open() && !tool.is_waiting();
        self.find_tool(id).is_some_and(is_over) && self.is_before_prompt(id)
    }

    fn is_before_prompt(&self, id: &ToolCallId) -> bool {
        let index = self.calls.get(id).copied();
        index.is_some_and(|index| self.turn_start.is_some_and(|start| index < start))
    }

    /// Whether a permission request with this id is about another call than the one that has the id, or asks about it once
    /// more. So it gets a card of its own, and what was decided stays.
    pub fn is_asked_anew(&self, id: &ToolCallId) -> bool {
        let Some(tool) = self.find_tool(id) else { return false };
        // A call that we have cancelled, since its turn has ended, may ask late.
        let has_ended = matches!(tool.call.status, ToolStatus::Completed | ToolStatus::Failed);
        match &tool.asked {
            // The user is asked about a call of the editor's tools when it comes, on the card of the agent's own request.
            Some(asked) if asked.by == DecidedBy::Editor => has_ended,
            Some(asked) => asked.decision != Decision::Waiting,
            None => has_ended || self.is_before_prompt(id),
        }
    }

    /// Gives a tool call another id, so that the next call with its id is a new one. While it is open, it goes on with the
    /// status of that.
    pub(super) fn retire(&mut self, id: &ToolCallId) -> Option<ToolCall> {
        let unused = self.unused_id(id);
        let index = self.calls.remove(id)?;
        let tool = self.tool_at(index);
        let call = tool.call.clone();
        tool.call.id = unused.clone();
        // Whoever asks again wants no more than what is asked for then.
        if let Some(asked) = &mut tool.asked {
            asked.shown = None;
        }
        if call.status.is_open() {
            self.duplicates.entry(id.clone()).or_default().push(index);
        } else {
            self.duplicates.remove(id);
        }
        self.calls.insert(unused, index);
        self.mark_changed(index);
        Some(call)
    }

    /// Adds a permission request to a tool call and returns the id of the tool call that shows it.
    /// If an earlier request for the call is still unanswered, the new one is shown by a duplicate
    /// of the tool call.
    pub fn ask(
        &mut self,
        id: &ToolCallId,
        patch: ToolCallPatch,
        asked: PermissionEntry,
    ) -> ToolCallId {
        if self.is_asked_anew(id)
            && let Some(earlier) = self.retire(id)
        {
            // What a request leaves out is as it was.
            if earlier.status.is_open() || patch.title.is_none() {
                self.push_tool(ToolCall { status: ToolStatus::Pending, output: None, ..earlier });
            }
        }
        let Some(call) = self.find_tool(id).filter(|tool| tool.is_waiting()).map(|tool| &tool.call)
        else {
            self.tool(id, patch).asked = Some(asked);
            return id.clone();
        };
        let mut call = call.clone();
        call.id = self.unused_id(id);
        let duplicate = call.id.clone();
        let index = self.push_tool(call);
        self.duplicates.entry(id.clone()).or_default().push(index);
        self.tool(&duplicate, patch).asked = Some(asked);
        duplicate
    }

    /// Sets the outcome of a permission request, and who has chosen it.
    pub fn decide(&mut self, id: &ToolCallId, request: u64, decision: Decision, by: DecidedBy) {
        let index = self.tool_index(id);
        if let Some(asked) = &mut self.tool_at(index).asked
            && asked.id == request
        {
            asked.decision = decision;
            asked.by = by;
            self.mark_changed(index);
        }
    }

    /// Keeps what a request that was just allowed has shown, for as long as its call is open.
    pub fn keep_shown(&mut self, id: &ToolCallId, shown: Shown) {
        let index = self.tool_index(id);
        let tool = self.tool_at(index);
        if tool.is_allowed()
            && tool.call.status.is_open()
            && let Some(asked) = &mut tool.asked
        {
            asked.shown = Some(Box::new(shown));
        }
    }

    /// Returns what the open calls have shown that the user, or what they have set up, has allowed; the newest first.
    pub fn allowed(&self) -> impl Iterator<Item = &Shown> {
        let open = self.tools().rev().filter(|tool| tool.call.status.is_open());
        let allowed = open.filter(|tool| tool.is_allowed_by_somebody());
        allowed.filter_map(|tool| tool.asked.as_ref()?.shown.as_deref())
    }

    /// Notes why no rule decides on a request; `None` if there is no more to say than that.
    pub fn leave_undecided(&mut self, id: &ToolCallId, request: u64, why: Option<String>) {
        let index = self.tool_index(id);
        if let Some(asked) = &mut self.tool_at(index).asked
            && asked.id == request
            && asked.undecided != why
        {
            asked.undecided = why;
            self.mark_changed(index);
        }
    }

    /// Notes on a tool call what the user has decided about a change of it, unless it waits for another decision.
    pub fn note_decision(&mut self, id: &ToolCallId, decided: PermissionEntry) {
        let index = self.tool_index(id);
        let asked = &mut self.tool_at(index).asked;
        if asked.as_ref().is_none_or(|asked| asked.decision != Decision::Waiting) {
            *asked = Some(decided);
            self.mark_changed(index);
        }
    }

    /// Notes that a rule has refused something to one of the open tool calls.
    pub fn refuse_open(&mut self) {
        for entry in &mut self.entries {
            if let Entry::Tool(tool) = entry
                && tool.call.status.is_open()
            {
                tool.was_refused = true;
            }
        }
    }

    /// Notes on a tool call the user's rule that denies what it has done without asking.
    pub fn mark_against_rule(&mut self, id: &ToolCallId, rule: String) {
        let index = self.tool_index(id);
        self.tool_at(index).against_rule = Some(rule);
        self.mark_changed(index);
    }

    /// Whether the user is asked in a form after a tool call has begun: the form may be its question.
    pub fn has_form_after(&self, id: &ToolCallId) -> bool {
        let start = self.calls.get(id).copied().unwrap_or(self.entries.len());
        let after = self.entries.iter().skip(start);
        after.into_iter().any(|entry| matches!(entry, Entry::Elicitation(_)))
    }

    /// Copies the status of a tool call to its duplicates.
    pub(super) fn copy_status(&mut self, id: &ToolCallId, status: Option<ToolStatus>) {
        let Some(status) = status else { return };
        for index in self.duplicates.get(id).cloned().unwrap_or_default() {
            if let Some(Entry::Tool(tool)) = self.entries.get_mut(index)
                && tool.call.status.is_open()
            {
                tool.call.status = status;
                self.mark_changed(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::Content;
    use crate::session::ids::{OptionId, TerminalId};
    use crate::session::terminal::TerminalUpdate;
    use crate::session::tool_call::ToolContent;
    use crate::session::update::Role;

    fn titled(title: &str) -> ToolCallPatch {
        ToolCallPatch { title: Some(title.to_owned()), ..ToolCallPatch::default() }
    }

    fn done() -> ToolCallPatch {
        ToolCallPatch { status: Some(ToolStatus::Completed), ..ToolCallPatch::default() }
    }

    fn titles(transcript: &Transcript) -> Vec<&str> {
        transcript.tools().map(|tool| tool.call.title.as_str()).collect()
    }

    fn asked(id: u64) -> PermissionEntry {
        PermissionEntry {
            id,
            question: None,
            undecided: None,
            options: Vec::new(),
            decision: Decision::Waiting,
            by: DecidedBy::User,
            shown: None,
        }
    }

    /// Holds (Sessions): An id in a new session below an old transcript never means an entry of the old one.
    #[test]
    fn the_same_id_in_another_session_is_another_call() {
        let mut transcript = Transcript::default();
        for (number, title) in ["first", "second", "third"].into_iter().enumerate() {
            transcript.tool(&"call_1".into(), titled(title));
            transcript.begin_session();
            assert_eq!(transcript.tools().count(), number + 1);
        }
        assert_eq!(titles(&transcript), ["first", "second", "third"]);
        // Each is found by its new id, and no two have the same.
        for tool in transcript.tools() {
            assert_eq!(transcript.find_tool(&tool.call.id), Some(tool));
        }
        assert!(transcript.find_tool(&"call_1".into()).is_none());
    }

    /// Holds (Sessions): An id in a new session below an old transcript never means an entry of the old one.
    #[test]
    fn messages_and_terminals_of_an_earlier_session_are_unchanged() {
        let mut transcript = Transcript::default();
        let (message, terminal) = ("m".into(), TerminalId::from("t"));
        let say = |text: &str| [Content::Text(text.to_owned())];
        let run = |bytes: &str| ToolCallPatch {
            content: Some(vec![ToolContent::Terminal("t".into())]),
            terminals: vec![("t".into(), TerminalUpdate::Output(bytes.as_bytes().to_vec()))],
            ..ToolCallPatch::default()
        };
        transcript.message(Role::Agent, &message, &say("one"));
        transcript.tool(&"c".into(), run("old"));
        transcript.begin_session();
        transcript.message(Role::Agent, &message, &say("two"));
        transcript.tool(&"c".into(), run("new"));
        assert!(matches!(&transcript.entries()[0], Entry::Message(old) if old.text == "one"));
        let calls: Vec<_> = transcript.tools().collect();
        assert!(matches!(&calls[0].call.content[..],
            [ToolContent::Content(Content::Text(text))] if text.contains("old")));
        let output = transcript.terminal(&terminal).map(|terminal| terminal.text(99).0);
        assert_eq!(output, Some("new".to_owned()));
    }

    /// Holds (Permission requests): Two requests of one tool call stand side by side.
    #[test]
    fn two_permission_requests_for_one_call_are_shown_side_by_side() {
        let mut transcript = Transcript::default();
        let id = ToolCallId::from("call_1");
        assert_eq!(transcript.ask(&id, titled("rm a"), asked(1)), id);
        let second = transcript.ask(&id, titled("rm b"), asked(2));
        assert_eq!(titles(&transcript), ["rm a", "rm b"]);
        let chosen = Decision::Chosen(OptionId::from("yes"));
        transcript.decide(&id, 1, chosen.clone(), DecidedBy::User);
        let decisions = |transcript: &Transcript| {
            transcript.tools().map(|tool| tool.asked.clone().unwrap().decision).collect::<Vec<_>>()
        };
        assert_eq!(decisions(&transcript), [chosen.clone(), Decision::Waiting]);
        transcript.decide(&second, 2, Decision::Cancelled, DecidedBy::User);
        assert_eq!(decisions(&transcript), [chosen, Decision::Cancelled]);
        transcript.tool(&id, done());
        assert!(transcript.tools().all(|tool| tool.call.status == ToolStatus::Completed));
    }
}
