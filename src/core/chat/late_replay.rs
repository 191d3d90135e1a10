//! Tells a conversation that an agent replays late, when the next prompt was sent already, from the answer to that prompt: it is
//! the one that is shown.

use crate::session::content::Content;
use crate::session::entry::{Entry, Message};
use crate::session::ids::ToolCallId;
use crate::session::transcript::Transcript;
use crate::session::update::{Role, Update};
use std::collections::HashSet;

/// How far a late replay has come.
#[derive(Debug)]
pub(in crate::core) struct LateReplay {
    /// The entry of the prompt. What is replayed stands before it.
    prompt: usize,
    /// The entry that was replayed last; `None` before a replay has begun.
    at: Option<usize>,
    /// How many bytes of its text were.
    matched: usize,
    /// Whether the agent has said something new since.
    is_over: bool,
    /// The tool calls that were replayed.
    calls: HashSet<ToolCallId>,
    /// Pieces of a message that were replayed in part: something new may begin like it.
    held: Vec<Update>,
}

enum Verdict {
    /// It is shown already.
    Replayed,
    /// It is the beginning of a message that is shown, or of a new one that begins alike.
    InDoubt,
    New,
}

impl LateReplay {
    /// Waits for a replay after this prompt; `None` if no conversation stands before it.
    pub(in crate::core) fn after(transcript: &Transcript, prompt: usize) -> Option<Self> {
        transcript.entries().get(..prompt)?.iter().find_map(user_text)?;
        let (calls, held) = (HashSet::new(), Vec::new());
        Some(Self { prompt, at: None, matched: 0, is_over: false, calls, held })
    }

    /// Takes a part of the conversation, and returns what of it, and of what was held back, is new.
    pub(in crate::core) fn sift(&mut self, transcript: &Transcript, update: Update) -> Vec<Update> {
        match self.verdict(transcript.entries(), &update) {
            Verdict::Replayed => {
                self.held.clear();
                Vec::new()
            }
            Verdict::InDoubt => {
                self.held.push(update);
                Vec::new()
            }
            Verdict::New => {
                let mut new = self.take_held();
                new.push(update);
                new
            }
        }
    }

    /// Takes what was held back, which is not repeated any more.
    pub(in crate::core) fn take_held(&mut self) -> Vec<Update> {
        self.is_over = true;
        std::mem::take(&mut self.held)
    }

    fn verdict(&mut self, entries: &[Entry], update: &Update) -> Verdict {
        let (before, prompt) = (entries.get(..self.prompt), entries.get(self.prompt));
        let (Some(before), Some(prompt)) = (before, prompt.and_then(user_text)) else {
            return Verdict::New;
        };
        if let Some((Role::User, content)) = said(update) {
            return self.of_user(before, prompt, content);
        }
        let Some(at) = self.at.filter(|_| !self.is_over) else {
            // The answer has begun, unless a replay begins with the user's words.
            self.is_over = true;
            return Verdict::New;
        };
        match update {
            Update::ToolCall { id, patch } => self.of_call(before, at, id, patch.announces),
            Update::ToolContent { id, .. } if self.calls.contains(id) => Verdict::Replayed,
            Update::Plan(plan) if before.contains(&Entry::Plan(plan.clone())) => Verdict::Replayed,
            update => match said(update) {
                Some((role, Content::Text(piece))) => self.of_agent(before, at, role, piece),
                _ => Verdict::New,
            },
        }
    }

    /// Words of the user are never an answer, so that once a replay has begun, they belong to it.
    fn of_user(&mut self, before: &[Entry], prompt: &str, content: &Content) -> Verdict {
        let has_begun = self.at.is_some() && !self.is_over;
        let Content::Text(piece) = content else {
            return if has_begun { Verdict::Replayed } else { Verdict::New };
        };
        let from = self.at.map_or(0, |at| at + 1);
        let mut texts = before.iter().enumerate().skip(from);
        let found = texts.find_map(|(index, entry)| {
            let text = user_text(entry)?;
            begins_alike(text, piece).then_some((index, text))
        });
        let is_exact = found.is_some_and(|(_, text)| text == piece && prompt != piece);
        if begins_alike(prompt, piece) && !is_exact {
            // An echo of the prompt, after which the answer comes.
            self.is_over = true;
            return Verdict::New;
        }
        let Some((index, text)) = found else {
            // Such as what went with a prompt.
            return if has_begun { Verdict::Replayed } else { Verdict::New };
        };
        (self.at, self.matched, self.is_over) = (Some(index), text.len().min(piece.len()), false);
        Verdict::Replayed
    }

    fn of_agent(&mut self, before: &[Entry], at: usize, role: Role, piece: &str) -> Verdict {
        let going_on = before.get(at).map(|entry| (at, entry, self.matched));
        let later = before.iter().enumerate().skip(at + 1);
        let later = later.take_while(|(_, entry)| user_text(entry).is_none());
        let all = going_on.into_iter().chain(later.map(|(index, entry)| (index, entry, 0)));
        for (index, entry, matched) in all {
            let Entry::Message(message) = entry else { continue };
            let rest = message.text.get(matched..).unwrap_or_default();
            if message.role != role || rest.is_empty() {
                continue;
            }
            if let Some(rest) = rest.strip_prefix(piece) {
                (self.at, self.matched) = (Some(index), matched + piece.len());
                let is_whole = rest.trim().is_empty();
                return if is_whole { Verdict::Replayed } else { Verdict::InDoubt };
            }
            if piece.trim_end() == rest.trim_end() {
                (self.at, self.matched) = (Some(index), message.text.len());
                return Verdict::Replayed;
            }
        }
        Verdict::New
    }

    fn of_call(
        &mut self,
        before: &[Entry],
        at: usize,
        id: &ToolCallId,
        announces: bool,
    ) -> Verdict {
        // The id of a call is changed if a later one has the same.
        let changed = format!("{id} (");
        let is_it = |entry: &Entry| match entry {
            Entry::Tool(tool) => tool.call.id == *id || tool.call.id.as_ref().starts_with(&changed),
            _ => false,
        };
        if let Some(after) = before.iter().skip(at + 1).position(is_it) {
            (self.at, self.matched) = (Some(at + 1 + after), 0);
            self.calls.insert(id.clone());
            return Verdict::Replayed;
        }
        // Agents may use an id again.
        if self.calls.contains(id) && !announces { Verdict::Replayed } else { Verdict::New }
    }
}

/// What an update says, and who says it.
fn said(update: &Update) -> Option<(Role, &Content)> {
    match update {
        Update::Chunk { role, content, .. } => Some((*role, content)),
        Update::Message { role, content, .. } => match &content[..] {
            [content] => Some((*role, content)),
            _ => None,
        },
        _ => None,
    }
}

fn user_text(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Message(Message { role: Role::User, text, .. }) if !text.trim().is_empty() => {
            Some(text)
        }
        _ => None,
    }
}

/// Whether one text is the beginning of the other: agents replay a prompt in pieces, or with what went with it.
fn begins_alike(text: &str, piece: &str) -> bool {
    !piece.is_empty() && (text.starts_with(piece) || piece.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tool_call::ToolCallPatch;

    fn chunk(role: Role, text: &str) -> Update {
        Update::Chunk { role, message: None, content: Content::Text(text.to_owned()) }
    }

    fn call(id: &str) -> Update {
        let patch = ToolCallPatch { announces: true, ..ToolCallPatch::default() };
        Update::ToolCall { id: id.into(), patch: Box::new(patch) }
    }

    /// A conversation of two turns, and the next prompt.
    fn waiting() -> (Transcript, LateReplay) {
        let mut transcript = Transcript::default();
        transcript.prompt("one", Vec::new());
        let patch = ToolCallPatch { announces: true, ..ToolCallPatch::default() };
        transcript.tool(&"t".into(), patch);
        transcript.chunk(Role::Agent, None, &Content::Text("First answer".to_owned()));
        transcript.prompt("two", Vec::new());
        transcript.chunk(Role::Thought, None, &Content::Text("Hm.".to_owned()));
        transcript.chunk(Role::Agent, None, &Content::Text("Second answer".to_owned()));
        let prompt = transcript.prompt("three", Vec::new());
        let late = LateReplay::after(&transcript, prompt).unwrap();
        (transcript, late)
    }

    /// What of these is new.
    fn new(updates: Vec<Update>) -> Vec<Update> {
        let (transcript, mut late) = waiting();
        let mut new: Vec<Update> =
            updates.into_iter().flat_map(|update| late.sift(&transcript, update)).collect();
        new.extend(late.take_held());
        new
    }

    #[test]
    fn what_is_shown_is_not_new_in_whatever_pieces_it_comes() {
        let replay = || {
            vec![
                chunk(Role::User, "one"),
                call("t"),
                chunk(Role::Agent, "First answer"),
                chunk(Role::User, "two"),
                chunk(Role::User, "<context>what went with it</context>"),
                chunk(Role::Thought, "Hm."),
                chunk(Role::Agent, "Second "),
                chunk(Role::Agent, "answer"),
            ]
        };
        let answer = || chunk(Role::Agent, "Third answer");
        assert_eq!(new([replay(), vec![answer()]].concat()), [answer()]);
        // The agent may leave thoughts and calls out, echo the prompt, and use an id again.
        let short = vec![chunk(Role::User, "one"), chunk(Role::Agent, "First answer")];
        let echo = chunk(Role::User, "three");
        let rest = vec![echo.clone(), call("t"), answer()];
        assert_eq!(new([short, rest].concat()), [echo, call("t"), answer()]);
        let again = vec![call("t"), chunk(Role::Agent, "Second answer")];
        assert_eq!(new([replay(), again.clone()].concat()), again);
    }

    #[test]
    fn an_answer_is_new_although_it_begins_like_one_that_is_shown() {
        // No replay comes.
        let same = vec![chunk(Role::Agent, "First answer"), chunk(Role::User, "one")];
        assert_eq!(new(same.clone())[..1], same[..1]);
        let like = [chunk(Role::Agent, "Second "), chunk(Role::Agent, "thoughts")];
        let after = |rest: &[Update]| new([&[chunk(Role::User, "two")], rest].concat());
        assert_eq!(after(&like), like);
        assert_eq!(after(&like[..1]), like[..1]);
        // What is said after something new is new.
        let rest = [chunk(Role::Agent, "Other"), chunk(Role::Agent, "Second answer"), call("t")];
        assert_eq!(after(&rest), rest);
        let text = chunk(Role::User, "tw");
        let without_history = Transcript::default();
        assert!(LateReplay::after(&without_history, 0).is_none());
        assert!(new(vec![text]).is_empty());
    }
}
