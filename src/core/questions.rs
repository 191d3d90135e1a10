//! Our own questions that wait for the user.

use crate::core::messages::checkpoint::UndoPlan;
use crate::core::messages::effect::Effect;
use crate::core::messages::files::ProposedWrite;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::worktree::MergePlan;
use crate::session::author::ChatId;
use crate::session::ids::{AuthMethodId, SessionId};
use crate::session::terminal::request::CreateTerminal;
use std::path::PathBuf;

/// A question we ask the user.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Question {
    /// The agent has not ended this turn after a cancel: end the agent?
    EndAgent(ChatId, u64),
    /// Which of these methods to log in with?
    Login(ChatId, Vec<AuthMethodId>),
    /// May the agent use this file, or its folder if that may be offered?
    OutsidePath { chat: ChatId, file: PathBuf, folder: Option<PathBuf>, waiting: Vec<RequestToken> },
    /// May the agent read this file, about which a rule says to ask?
    Read { chat: ChatId, file: PathBuf, waiting: Vec<RequestToken> },
    /// May the agent run this command, about which a rule says to ask?
    Command { chat: ChatId, token: RequestToken, create: Box<CreateTerminal> },
    /// May this write also save the user's unsaved changes?
    DirtyWrite(ChatId, RequestToken),
    /// May this write be made? (the option `review = "before"`)
    Write {
        chat: ChatId,
        token: RequestToken,
        write: Box<ProposedWrite>,
        /// While it is being made as the user wants it, who still sees its page.
        attempt: Option<Box<Attempt>>,
    },
    /// What to do about unsaved text before the prompt of this turn is sent?
    UnsavedText(ChatId, u64),
    /// After which of the turns of this session, which has so many, to fork it?
    Fork(ChatId, SessionId, usize),
    /// Start the confined agent again so that it may write this?
    Widen(ChatId, PathBuf),
    /// Merge the worktree of this chat?
    Merge(ChatId, Box<MergePlan>),
    /// Remove the worktree of this chat although there is something in it that is not merged?
    RemoveWorktree(ChatId),
    /// Undo or redo this turn?
    Undo(ChatId, Box<UndoPlan>),
}

/// A write that is being made, to be asked about again if that fails.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attempt {
    /// The write as the agent has requested it.
    pub(super) requested: Effect,
    /// How many hunks the user has edited; `None` if it is made as the agent wants it.
    pub(super) edited: Option<usize>,
}

impl Question {
    /// The chat it is about.
    pub(super) fn chat(&self) -> ChatId {
        match self {
            Self::EndAgent(chat, _)
            | Self::Login(chat, _)
            | Self::OutsidePath { chat, .. }
            | Self::Read { chat, .. }
            | Self::Command { chat, .. }
            | Self::Write { chat, .. }
            | Self::DirtyWrite(chat, _)
            | Self::UnsavedText(chat, _)
            | Self::Fork(chat, ..)
            | Self::Widen(chat, _)
            | Self::Undo(chat, _)
            | Self::Merge(chat, _)
            | Self::RemoveWorktree(chat) => *chat,
        }
    }

    /// Whether it is about this write, which is being made.
    pub(super) fn is_being_made(&self, write: RequestToken) -> bool {
        matches!(self, Self::Write { token, attempt: Some(_), .. } if *token == write)
    }

    /// Whether an agent's request or a prompt waits for the answer.
    pub(super) fn holds_turn(&self) -> bool {
        !self.requests().is_empty() || matches!(self, Self::UnsavedText(..))
    }

    /// The requests of an agent that wait for the answer, but not a write that is being made.
    pub(super) fn requests(&self) -> &[RequestToken] {
        match self {
            Self::OutsidePath { waiting, .. } | Self::Read { waiting, .. } => waiting,
            Self::DirtyWrite(_, token)
            | Self::Command { token, .. }
            | Self::Write { token, attempt: None, .. } => std::slice::from_ref(token),
            Self::EndAgent(..)
            | Self::Login(..)
            | Self::Write { .. }
            | Self::UnsavedText(..)
            | Self::Fork(..)
            | Self::Widen(..)
            | Self::Undo(..)
            | Self::Merge(..)
            | Self::RemoveWorktree(..) => &[],
        }
    }
}
