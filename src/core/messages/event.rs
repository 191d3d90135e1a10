//! Everything that happens. The edges create events; only `State` handles them.

use crate::core::messages::agent::AgentEvent;
use crate::core::messages::checkpoint::{KeptTurn, UndoOutcome, UndoPlan};
use crate::core::messages::content::{ExportOutcome, ExportTarget};
use crate::core::messages::files::{BufferEvent, FileChange, FileOutcome, PromptContext};
use crate::core::messages::ids::{AgentId, RequestToken};
use crate::core::messages::judgement::{Judgement, RequestVersion};
use crate::core::messages::policy::Unsaved;
use crate::core::messages::review::{
    ChangedFile, ChangedState, Comparison, PendingFile, ReviewAction, ReviewList, ReviewOutcome,
    ReviewedFile,
};
use crate::core::messages::review_page::{ReviewPage, ReviewSection};
use crate::core::messages::rules::ThenTell;
use crate::core::messages::terminal::TerminalEvent;
use crate::core::messages::tools::{ToolCallToken, ToolsEvent};
use crate::core::messages::trace::{TracePiece, TraceSaved};
use crate::core::messages::user::UserAction;
use crate::core::messages::worktree::{MergeOutcome, MergePlan, NewWorktree, Worktree};
use crate::session::author::ChatId;
use crate::session::confinement::DeniedPath;
use crate::session::content::ContentId;
use crate::session::ids::TerminalId;
use crate::session::saved::{SaveResult, SavedSession, SavedTranscript, StoreKey};
use crate::session::search::SearchResult;
use crate::trust::kept::{KeptRules, RulesFailure};
use std::path::PathBuf;
use std::sync::Arc;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An agent has sent something or has ended.
    Agent(AgentId, AgentEvent),
    /// The user has done something.
    User(UserAction),
    /// A read or write for an agent is done.
    File {
        /// The request it was for.
        token: RequestToken,
        /// The result.
        outcome: FileOutcome,
    },
    /// Open buffers have been updated after an agent changed their files on disk.
    DiskFollowed {
        /// The chat whose turn it was.
        chat: ChatId,
        /// The changed files.
        changes: Vec<FileChange>,
        /// Files whose buffers could not be updated, each with the reason.
        failed: Vec<(PathBuf, String)>,
    },
    /// The context for a prompt is complete.
    PromptContextCollected {
        /// The chat.
        chat: ChatId,
        /// The turn of the prompt.
        turn: u64,
        /// How unsaved text was handled.
        unsaved: Unsaved,
        /// The context.
        context: PromptContext,
    },
    /// Something has happened in a terminal.
    Terminal(TerminalId, TerminalEvent),
    /// Content was to be written to a file.
    Exported(ChatId, ContentId, ExportTarget, ExportOutcome),
    /// How writing a conversation to a file has ended.
    ChatExported(ChatId, ExportTarget, ExportOutcome),
    /// The user's rules decide on a permission request, or leave it to the user.
    Judged(RequestVersion, Judgement),
    /// The agent of a chat was kept from writing these paths, because it is confined.
    Denied(ChatId, Vec<DeniedPath>),
    /// The rules that are saved now, or why they cannot be read or changed; and what to tell the user.
    RulesSaved(Result<KeptRules, RulesFailure>, ThenTell),
    /// Something has happened to a file's buffer; the path is the buffer's name.
    Buffer(PathBuf, BufferEvent),
    /// Pending changes were kept or rejected, or could not be.
    Reviewed(ReviewOutcome),
    /// The last decision, if there was one, was taken back in these files, and not in others: the reasons, by file.
    TakenBack(Option<ReviewAction>, Vec<ReviewedFile>, Vec<(PathBuf, String)>),
    /// How many files the first scan of a chat's folders has read, as it takes long. `None` if it is over.
    FolderScan(ChatId, Option<usize>),
    /// What is pending in loaded files.
    PendingFound(Vec<PendingFile>),
    /// What a turn has changed is kept.
    TurnKept(ChatId),
    /// What the turn of a chat changes cannot be kept: why.
    TurnNotKept(ChatId, String),
    /// The kept turns, for the user or for this call from Lua.
    TurnsListed {
        /// The chat.
        chat: ChatId,
        /// The newest first.
        turns: Vec<KeptTurn>,
        /// The number of the Lua call that wants them.
        request: Option<u64>,
        /// Whether only those of one prompt were wanted.
        is_of_prompt: bool,
    },
    /// What a turn has changed, as a unified diff; otherwise why it cannot be shown.
    TurnShown(ChatId, Result<String, String>),
    /// What undoing a turn would do; otherwise why it cannot be undone.
    UndoPlanned(ChatId, Result<UndoPlan, String>),
    /// A turn was undone or redone; otherwise why not.
    Undone(ChatId, Box<UndoPlan>, Result<UndoOutcome, String>),
    /// A worktree was created for the request with this number; otherwise why not.
    WorktreeCreated(u64, Result<NewWorktree, String>),
    /// What merging the worktree of a chat would do; otherwise why it cannot be merged.
    MergePlanned(ChatId, Result<MergePlan, String>),
    /// A worktree was merged; otherwise why nothing was changed.
    Merged(Box<MergePlan>, Result<MergeOutcome, String>),
    /// How many changed files of the worktree of a chat are not the same in the project; otherwise why that is not known.
    WorktreeChecked(ChatId, Result<usize, String>),
    /// A worktree was removed; otherwise why something of it is left.
    WorktreeRemoved(Arc<Worktree>, Result<(), String>),
    /// The server of the editor's own tools reports something.
    Tools(ToolsEvent),
    /// What is pending in all files, for a review.
    ChangesFound(ReviewList, Vec<ChangedFile>, Vec<ChangedState>),
    /// A piece of the page of a review; with the last one, what is in the whole page.
    ReviewComposed(Box<ReviewPage>, Option<Vec<ReviewSection>>),
    /// What is pending in the file that the user wants to compare with its base; `None` if nothing is.
    ChangeFound(Comparison, Option<ChangedFile>),
    /// Watched files have changed on disk; holds their real paths.
    DiskChanged(Vec<PathBuf>),
    /// The most recent session of the chat's agent in its folder.
    LastSession(ChatId, Option<SavedSession>),
    /// The saved sessions of a folder.
    SavedSessions(PathBuf, Vec<SavedSession>),
    /// What the search with this number has found.
    Searched(u64, SearchResult),
    /// The transcript of the session a chat is about to open.
    TranscriptLoaded(ChatId, SavedTranscript),
    /// The result of saving a session.
    Saved(StoreKey, SaveResult),
    /// A timer has fired.
    Timer(Timer),
    /// It is unknown how much of a frame the editor has applied.
    FrameLost,
    /// Makes a handler panic; for the test of how that is handled.
    #[cfg(test)]
    Panic(AgentId, RequestToken),
    /// A piece of a page of traffic.
    TracePiece(TracePiece),
    /// The traffic of an agent was to be saved to this file.
    TraceSaved(PathBuf, TraceSaved),
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Whether the agent has ended the cancelled turn with this number.
    CancelGrace(ChatId, u64),
    /// Whether the turn with this number has ended in the time that it has (`timeouts.prompt`).
    TurnLimit(ChatId, u64),
    /// Whether the permission request with this number was answered in the time for that (`timeouts.permission`).
    PermissionLimit(ChatId, u64),
    /// Saving what the agent has said so far in the turn with this number.
    SavePart(ChatId, u64),
    /// Reaching the lost agent of a chat again, for the time with this number. It fires up to a quarter of its time early, so
    /// that not all clients of a server come back at once.
    Reconnect(ChatId, u64),
    /// Whether the session of a chat has lasted since its agent was reached for the time with this number.
    Steady(ChatId, u64),
    /// Whether the tool call of the session is known that this call of one of the editor's own tools is.
    ToolRow(ToolCallToken),
    /// Whether this call is answered. The second token is that of who waits for the answer.
    ToolLimit(ToolCallToken, ToolCallToken),
    /// Showing what this agent has printed, if chats still wait for it.
    Printed(AgentId),
    /// Telling the editor what has changed in the review since it was told last.
    ReviewUpdates,
}
