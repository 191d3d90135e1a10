//! Detection of messages that an agent replays although they are shown already.

use super::late_replay::LateReplay;
use crate::session::transcript::Transcript;

/// How to treat the messages an agent sends.
#[derive(Debug, Default)]
pub(in crate::core) enum Replay {
    /// They are new.
    #[default]
    None,
    /// A session is being loaded (ACP `session/load`). Replayed messages are collected here until it is known that
    /// loading succeeded.
    Loading(Box<Transcript>),
    /// The session was loaded, but nothing has been replayed. Some agents replay after the reply, some never.
    MayFollowLoad,
    /// A prompt was sent before that.
    MayFollowPrompt(Box<LateReplay>),
    /// The session was forked. Some agents replay the conversation, beginning with a user message.
    MayFollowFork,
    /// The agent is replaying the conversation from before the fork, which is already shown.
    AfterFork,
}

impl Replay {
    /// The transcript that collects the replay, if a session is being loaded.
    pub(in crate::core) fn loading(&self) -> Option<&Transcript> {
        match self {
            Self::Loading(transcript) => Some(transcript),
            _ => None,
        }
    }

    /// Like [`Self::loading`], but mutable.
    pub(in crate::core) fn loading_mut(&mut self) -> Option<&mut Transcript> {
        match self {
            Self::Loading(transcript) => Some(transcript),
            _ => None,
        }
    }

    /// A prompt is sent, whose entry in the transcript this is: whether a replay may still follow.
    pub(in crate::core) fn prompt_sent(&mut self, transcript: &Transcript, prompt: usize) {
        let late = match self {
            Self::MayFollowLoad => LateReplay::after(transcript, prompt),
            _ => None,
        };
        *self = late.map_or(Self::None, |late| Self::MayFollowPrompt(Box::new(late)));
    }

    /// The replay that may come although a prompt was sent.
    pub(in crate::core) fn late_mut(&mut self) -> Option<&mut LateReplay> {
        match self {
            Self::MayFollowPrompt(late) => Some(late),
            _ => None,
        }
    }

    /// Whether the replay of a loaded session may still replace what is shown.
    pub(in crate::core) fn is_of_load(&self) -> bool {
        matches!(self, Self::Loading(_) | Self::MayFollowLoad)
    }
}
