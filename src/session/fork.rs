//! What a fork of a session begins with.

use super::entry::{Entry, Message};
use super::ids::SessionId;
use super::update::Role;

/// Where a session is forked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPoint {
    /// The session.
    pub session: SessionId,
    /// How many of its turns the fork begins with; `None` for all.
    pub turns: Option<usize>,
}

impl ForkPoint {
    /// A fork of the whole session.
    pub fn whole(session: impl Into<SessionId>) -> Self {
        Self { session: session.into(), turns: None }
    }

    /// Cuts a transcript of the session off after the turns that the fork begins with.
    pub fn cut(&self, entries: &mut Vec<Entry>) {
        let next = self.turns.and_then(|turns| prompts(entries).nth(turns));
        if let Some((index, _)) = next {
            entries.truncate(index);
        }
    }
}

/// Returns the prompts of a transcript, each with its index. What an agent replays as several messages in a row is one.
pub fn prompts(entries: &[Entry]) -> impl Iterator<Item = (usize, &str)> {
    let mut last = Role::Agent;
    entries.iter().enumerate().filter_map(move |(index, entry)| {
        let role = match entry {
            Entry::Message(Message { role, .. }) => *role,
            _ => Role::Agent,
        };
        let is_first = role == Role::User && std::mem::replace(&mut last, role) != Role::User;
        last = role;
        match entry {
            Entry::Message(message) if is_first => Some((index, message.text.as_str())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::entry::Note;
    use crate::session::update::Severity;

    fn said(role: Role, text: &str) -> Entry {
        Entry::Message(Message {
            role,
            id: None,
            text: text.to_owned(),
            attachments: Vec::new(),
            said_anew: 0,
            about: None,
        })
    }

    fn failed() -> Entry {
        let (title, details) = ("failed".to_owned(), Vec::new());
        Entry::Note(Note { details, ..Note::new(Severity::Error, title) })
    }

    #[test]
    fn a_transcript_is_cut_before_the_next_prompt() {
        let all = vec![
            Entry::Banner("here".to_owned()),
            said(Role::User, "one"),
            said(Role::Agent, "1"),
            said(Role::User, "two"),
            failed(),
            said(Role::User, "three"),
            said(Role::User, "and its file"),
            said(Role::Agent, "3"),
        ];
        let found: Vec<_> = prompts(&all).collect();
        assert_eq!(found, [(1, "one"), (3, "two"), (5, "three")]);
        for (turns, left) in [(Some(1), 3), (Some(2), 5), (Some(3), 8), (Some(9), 8), (None, 8)] {
            let mut entries = all.clone();
            ForkPoint { session: "s".into(), turns }.cut(&mut entries);
            assert_eq!(entries, all[..left], "{turns:?}");
        }
    }
}
