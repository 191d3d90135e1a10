//! Which tool call an id means: ids are the agent's, each is good for one session, and one call may ask more than once.

use super::{Asked, Decision, Entry, ToolEntry, Transcript};
use crate::session::ids::ToolCallId;
use crate::session::tool_call::{ToolCallPatch, ToolStatus};

impl Transcript {
    /// Another session begins below what there is. Its agent may use the same ids for other things.
    pub fn begin_session(&mut self) {
        self.shelve_terminals();
        let named: Vec<_> = self.calls.drain().collect();
        for (id, index) in named {
            let past = self.unused(&id);
            self.tool_at(index).call.id = past.clone();
            self.calls.insert(past, index);
            self.touch(index);
        }
        self.begins = self.entries.len();
        self.beside.clear();
        self.compactions.clear();
        self.plan = None;
        self.echo.clear();
    }

    /// An id like this one that no call has.
    fn unused(&self, id: &ToolCallId) -> ToolCallId {
        let is_free = |id: &ToolCallId| !self.calls.contains_key(id);
        (1..=self.calls.len() + 1)
            .map(|number| ToolCallId::from(format!("{id} ({number})").as_str()))
            .find(is_free)
            .unwrap_or_else(|| id.clone())
    }

    /// The permission the agent asks for this tool call. Gives the id of the card that asks: where an earlier request
    /// of the call still waits for the user, that one stays, and this one stands below it.
    pub fn ask(&mut self, id: &ToolCallId, patch: ToolCallPatch, asked: Asked) -> ToolCallId {
        let waits = |tool: &ToolEntry| {
            tool.asked.as_ref().is_some_and(|asked| asked.decision == Decision::Waiting)
        };
        let Some(call) = self.find_tool(id).filter(|tool| waits(tool)).map(|tool| &tool.call)
        else {
            self.tool(id, patch).asked = Some(asked);
            return id.clone();
        };
        let mut call = call.clone();
        call.id = self.unused(id);
        let own = call.id.clone();
        let index = self.push_tool(call);
        self.beside.entry(id.clone()).or_default().push(index);
        self.tool(&own, patch).asked = Some(asked);
        own
    }

    /// What became of the request.
    pub fn decide(&mut self, id: &ToolCallId, request: u64, decision: Decision) {
        let index = self.tool_index(id);
        if let Some(asked) = &mut self.tool_at(index).asked
            && asked.id == request
        {
            asked.decision = decision;
            self.touch(index);
        }
    }

    /// What becomes of a call shows in all its cards.
    pub(super) fn follow_status(&mut self, id: &ToolCallId, status: Option<ToolStatus>) {
        let Some(status) = status else { return };
        for index in self.beside.get(id).cloned().unwrap_or_default() {
            if let Some(Entry::Tool(tool)) = self.entries.get_mut(index) {
                tool.call.status = status;
                self.touch(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::Content;
    use crate::session::ids::{OptionId, TerminalId};
    use crate::session::terminal::TerminalNews;
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

    fn asked(id: u64) -> Asked {
        Asked { id, options: Vec::new(), decision: Decision::Waiting }
    }

    #[test]
    fn the_same_id_in_another_session_is_another_call() {
        let mut transcript = Transcript::default();
        for (number, title) in ["first", "second", "third"].into_iter().enumerate() {
            transcript.tool(&"call_1".into(), titled(title));
            transcript.begin_session();
            assert_eq!(transcript.tools().count(), number + 1);
        }
        assert_eq!(titles(&transcript), ["first", "second", "third"]);
        // Each is still found by the id it has now, and no two have one.
        for tool in transcript.tools() {
            assert_eq!(transcript.find_tool(&tool.call.id), Some(tool));
        }
        assert!(transcript.find_tool(&"call_1".into()).is_none());
    }

    #[test]
    fn messages_and_terminals_of_another_session_stay_as_they_are() {
        let mut transcript = Transcript::default();
        let (message, terminal) = ("m".into(), TerminalId::from("t"));
        let say = |text: &str| [Content::Text(text.to_owned())];
        let run = |bytes: &str| ToolCallPatch {
            content: Some(vec![ToolContent::Terminal("t".into())]),
            terminals: vec![("t".into(), TerminalNews::Output(bytes.as_bytes().to_vec()))],
            ..ToolCallPatch::default()
        };
        transcript.message(Role::Agent, &message, &say("one"));
        transcript.tool(&"c".into(), run("old"));
        transcript.begin_session();
        transcript.message(Role::Agent, &message, &say("two"));
        transcript.tool(&"c".into(), run("new"));
        assert!(matches!(&transcript.entries()[0], Entry::Message(it) if it.text == "one"));
        let calls: Vec<_> = transcript.tools().collect();
        assert!(matches!(&calls[0].call.content[..],
            [ToolContent::Content(Content::Text(text))] if text.contains("old")));
        assert_eq!(transcript.terminal(&terminal).map(|it| it.text(99).0), Some("new".to_owned()));
    }

    #[test]
    fn two_requests_of_one_call_stand_side_by_side() {
        let mut transcript = Transcript::default();
        let id = ToolCallId::from("call_1");
        assert_eq!(transcript.ask(&id, titled("rm a"), asked(1)), id);
        let second = transcript.ask(&id, titled("rm b"), asked(2));
        assert_eq!(titles(&transcript), ["rm a", "rm b"]);
        let chosen = Decision::Chosen(OptionId::from("yes"));
        transcript.decide(&id, 1, chosen.clone());
        let decisions = |transcript: &Transcript| {
            transcript.tools().map(|it| it.asked.clone().unwrap().decision).collect::<Vec<_>>()
        };
        assert_eq!(decisions(&transcript), [chosen.clone(), Decision::Waiting]);
        transcript.decide(&second, 2, Decision::Cancelled);
        assert_eq!(decisions(&transcript), [chosen, Decision::Cancelled]);
        transcript.tool(&id, done());
        assert!(transcript.tools().all(|tool| tool.call.status == ToolStatus::Completed));
    }
}
