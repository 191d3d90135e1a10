//! What scripts listen to, and what they have not been told yet. It costs nothing where nobody listens.

use super::messages::conversation::{ConversationEvent, EventKind};
use super::messages::editor::EditorMessage;
use super::size;
use crate::session::author::ChatId;
use crate::session::content::Content;
use crate::session::update::Update;
use std::collections::{BTreeSet, VecDeque};

/// Maximum bytes of events in a frame, unless a single one is larger. It is also the maximum of a joined chunk.
const MAX_BYTES: usize = 64 * 1024;

/// What an event counts for in addition to its text.
const OVERHEAD: usize = 256;

/// What is listened to.
#[derive(Debug, Default)]
pub(super) struct Listening {
    wanted: BTreeSet<EventKind>,
    untold: VecDeque<(ChatId, ConversationEvent)>,
}

impl Listening {
    /// Replaces the kinds that are wanted. What has happened already is still told.
    pub(super) fn listen(&mut self, wanted: impl IntoIterator<Item = EventKind>) {
        self.wanted = wanted.into_iter().collect();
    }

    pub(super) fn wants(&self, kind: EventKind) -> bool {
        self.wanted.contains(&kind)
    }

    /// Whether there is anything to tell.
    pub(super) fn is_behind(&self) -> bool {
        !self.untold.is_empty()
    }

    /// Adds an event to those that are told, in order. Text that continues the last chunk is joined with it.
    pub(super) fn tell(&mut self, chat: ChatId, event: ConversationEvent) {
        match event {
            ConversationEvent::Update {
                update: Update::Chunk { role, message, content: Content::Text(text) },
                is_replayed,
            } => {
                let mut rest = text.as_str();
                loop {
                    rest = self.join(chat, rest, |last| {
                        matches!(last, ConversationEvent::Update {
                            update: Update::Chunk { role: its, message: of, .. },
                            is_replayed: replayed,
                        } if *its == role && *of == message && *replayed == is_replayed)
                    });
                    if rest.is_empty() {
                        return;
                    }
                    let content = Content::Text(String::new());
                    let update = Update::Chunk { role, message: message.clone(), content };
                    self.untold
                        .push_back((chat, ConversationEvent::Update { update, is_replayed }));
                }
            }
            event => self.untold.push_back((chat, event)),
        }
    }

    /// Appends as much as fits to the last event if that is a text chunk for which `fits` holds, and returns the rest.
    fn join<'a>(
        &mut self,
        chat: ChatId,
        text: &'a str,
        fits: impl Fn(&ConversationEvent) -> bool,
    ) -> &'a str {
        let Some((its_chat, last)) = self.untold.back_mut() else { return text };
        if *its_chat != chat || !fits(last) {
            return text;
        }
        let ConversationEvent::Update {
            update: Update::Chunk { content: Content::Text(joined), .. },
            ..
        } = last
        else {
            return text;
        };
        let room = MAX_BYTES.saturating_sub(joined.len()).min(text.len());
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        joined.push_str(&text[..end]);
        &text[end..]
    }

    /// Takes what fits into a frame, and at least one event.
    pub(super) fn take(&mut self) -> Vec<EditorMessage> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some((_, next)) = self.untold.front() {
            bytes += OVERHEAD + size(next);
            if bytes > MAX_BYTES + OVERHEAD && !taken.is_empty() {
                break;
            }
            let next = self.untold.pop_front();
            taken.extend(next.map(|(chat, it)| EditorMessage::Conversation(chat, Box::new(it))));
        }
        taken
    }
}

/// The number of bytes of an event's texts that may be large.
fn size(event: &ConversationEvent) -> usize {
    match event {
        ConversationEvent::Update { update, .. } => size::of_update(update),
        ConversationEvent::ToolCall(call) => size::of_call(&call.patch),
        ConversationEvent::PermissionAsked(asked) => asked.asks.len(),
        ConversationEvent::TurnStart { prompt } => prompt.as_ref().map_or(0, String::len),
        ConversationEvent::PermissionDecided { .. } | ConversationEvent::TurnEnd { .. } => 0,
    }
}

/// Returns the kind of an update.
pub(super) fn kind_of(update: &Update) -> EventKind {
    match update {
        Update::Chunk { .. } => EventKind::Chunk,
        Update::Message { .. } => EventKind::Message,
        Update::ToolCall { .. } => EventKind::ToolCall,
        Update::ToolContent { .. } => EventKind::ToolContent,
        Update::Terminal { .. } => EventKind::Terminal,
        Update::Plan(_) => EventKind::Plan,
        Update::Commands(_) => EventKind::Commands,
        Update::Mode(_) => EventKind::Mode,
        Update::Options(_) => EventKind::Options,
        Update::Info { .. } => EventKind::SessionInfo,
        Update::Usage(_) => EventKind::Usage,
        Update::Notice { .. } => EventKind::Notice,
        Update::Compaction { .. } => EventKind::Compaction,
        Update::CompactionChunk { .. } => EventKind::CompactionChunk,
        Update::Meta(_) => EventKind::Meta,
        Update::Activity(_) => EventKind::Activity,
        Update::Unknown { .. } => EventKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::update::Role;
    use proptest::prelude::*;

    fn chunk(role: Role, text: &str) -> ConversationEvent {
        let content = Content::Text(text.to_owned());
        let update = Update::Chunk { role, message: None, content };
        ConversationEvent::Update { update, is_replayed: false }
    }

    fn add(list: &mut Vec<(ChatId, Role, String)>, chat: ChatId, role: Role, text: &str) {
        match list.last_mut() {
            Some((its, of, joined)) if (*its, *of) == (chat, role) => joined.push_str(text),
            _ => list.push((chat, role, text.to_owned())),
        }
    }

    proptest! {
        /// Holds (Scripts in Lua): Chunks are joined in order and complete, and no frame holds more than one needs to.
        #[test]
        fn chunks_are_joined_in_order_and_completely(
            said in prop::collection::vec((1..3u32, any::<bool>(), 1..50_000usize, "[aé]"), 1..20),
            takes in prop::collection::vec(any::<bool>(), 20),
        ) {
            let mut listening = Listening::default();
            let (mut all, mut told): (Vec<(ChatId, Role, String)>, Vec<_>) = Default::default();
            let mut take = |listening: &mut Listening| {
                let mut bytes = 0;
                for message in listening.take() {
                    let EditorMessage::Conversation(chat, event) = message else { panic!() };
                    let ConversationEvent::Update { update: Update::Chunk { role, content, .. }, .. } = *event else { panic!() };
                    let text = content.text().unwrap();
                    bytes += text.len();
                    assert!(!text.is_empty());
                    add(&mut told, chat, role, text);
                }
                assert!(bytes <= MAX_BYTES);
            };
            for ((chat, is_thought, count, letter), is_taken) in said.into_iter().zip(takes) {
                let role = if is_thought { Role::Thought } else { Role::Agent };
                let text = letter.repeat(count);
                add(&mut all, ChatId(chat), role, &text);
                listening.tell(ChatId(chat), chunk(role, &text));
                if is_taken {
                    take(&mut listening);
                }
            }
            while listening.is_behind() {
                take(&mut listening);
            }
            prop_assert_eq!(told, all);
        }
    }

    #[test]
    fn small_chunks_become_one() {
        let mut listening = Listening::default();
        for text in ["a", "b", "", "c"] {
            listening.tell(ChatId(1), chunk(Role::Agent, text));
        }
        let joined = Box::new(chunk(Role::Agent, "abc"));
        assert_eq!(listening.take(), [EditorMessage::Conversation(ChatId(1), joined)]);
        assert!(!listening.is_behind());
    }
}
