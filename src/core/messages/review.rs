//! What agents have changed and nobody has decided on yet, and what the user decides.

use crate::edit::{HunkId, Text};
use crate::session::author::{Author, ChatId, SessionKey};
use crate::session::ids::ToolCallId;
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// What the user does with pending changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewAction {
    /// They are pending no more.
    Keep,
    /// The text is as if they had never been made.
    Reject,
}

/// Whether it is known that an agent made a change. It is not if the change was found on disk and no tool call ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Certainty {
    /// Whether or not.
    #[default]
    Any,
    /// Only if it is known.
    Certain,
    /// Only if it is not known.
    Unknown,
}

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAuthor {
    /// The session and turn in which it was made.
    pub by: Author,
    /// Whether it is known that the agent made it. Otherwise somebody else may have.
    pub is_certain: bool,
}

impl ChangeAuthor {
    /// Whether both were made in one turn.
    pub fn is_same_turn(&self, other: &Self) -> bool {
        (&self.by.session, self.by.turn) == (&other.by.session, other.by.turn)
    }
}

/// Lines of a hunk that the user has selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedRows {
    /// Those that it has removed, counted from its first line in the base.
    pub removed: Range<usize>,
    /// Those that it has added, counted from its first line in the text.
    pub added: Range<usize>,
}

/// Which pending hunks of a file something is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SelectedHunks {
    /// All.
    #[default]
    All,
    /// Those that touch these lines (0-based).
    At(Range<usize>),
    /// These, as far as they are still pending.
    These(HashSet<HunkId>),
    /// These as far as they are still pending; if none is, those that touch these lines (0-based): another decision has just made
    /// other hunks of theirs.
    TheseOrAt(HashSet<HunkId>, Range<usize>),
    /// Some lines of one.
    Rows(HunkId, SelectedRows),
}

/// Which pending changes of a file something is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeScope {
    /// Only these hunks.
    pub hunks: SelectedHunks,
    /// Only what this session changed.
    pub session: Option<SessionKey>,
    /// Only what was changed in this turn.
    pub turn: Option<u64>,
    /// Only what this tool call changed.
    pub tool_call: Option<ToolCallId>,
    /// Only what is or is not known to be an agent's.
    pub certainty: Certainty,
    /// Also what was kept, in a file where anything is pending.
    pub has_kept: bool,
    /// The sessions of changes in place: if the newest change of the only hunk is of one of them, only what that session changed is
    /// rejected.
    pub in_place: Vec<SessionKey>,
}

impl ChangeScope {
    /// Whether changes by an author belong to it, wherever they are.
    pub fn includes(&self, author: &ChangeAuthor) -> bool {
        let ChangeAuthor { by, is_certain } = author;
        let has_certainty = match self.certainty {
            Certainty::Any => true,
            Certainty::Certain => *is_certain,
            Certainty::Unknown => !is_certain,
        };
        has_certainty
            && self.session.as_ref().is_none_or(|session| *session == by.session)
            && self.turn.is_none_or(|turn| turn == by.turn)
            && self.tool_call.as_ref().is_none_or(|call| Some(call) == by.tool_call.as_ref())
    }
}

/// Which kind of pending changes of a file a decision is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewedPart {
    /// All.
    All,
    /// The lines of its text.
    Lines,
    /// The file as a whole: whether it is there, what it is, its mode, bytes that are no text.
    State,
}

/// A decision on the pending changes of some files, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// What to do.
    pub action: ReviewAction,
    /// The names of the files' buffers; empty for all files.
    pub paths: Vec<PathBuf>,
    /// The name before, if it is about one file that was moved.
    pub from: Option<PathBuf>,
    /// Which kind of changes.
    pub part: ReviewedPart,
    /// Which changes.
    pub changes: ChangeScope,
    /// The number of the decision that it belongs to, if that can be taken back.
    pub decision: Option<u64>,
    /// Whether no other part of the decision follows.
    pub is_last: bool,
}

/// A decision as the user made it, before it is known which turn was the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    /// What to do.
    pub action: ReviewAction,
    /// The chat; `None` for the one used last.
    pub chat: Option<ChatId>,
    /// Which changes.
    pub scope: DecisionScope,
    /// The names of the files' buffers; empty for all files.
    pub paths: Vec<PathBuf>,
    /// The name before, if it is about one file that was moved.
    pub from: Option<PathBuf>,
    /// Which kind of changes.
    pub part: ReviewedPart,
    /// Only these hunks.
    pub hunks: SelectedHunks,
    /// Only what is or is not known to be an agent's.
    pub certainty: Certainty,
    /// The number of the decision that it belongs to, if that can be taken back.
    pub decision: Option<u64>,
    /// Whether no other part of the decision follows.
    pub is_last: bool,
}

/// Which pending changes a review shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewScope {
    /// Those of all sessions.
    All,
    /// Those of the chat's session.
    Session,
    /// Those of its last turn.
    Turn,
    /// Those of the last tool call that has changed anything.
    ToolCall,
}

/// Which pending changes a decision is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionScope {
    /// Those of all sessions.
    All,
    /// Those of the last turn of the chat.
    Turn,
    /// Those that the latest review shows.
    Listed,
}

/// A review that the user has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewList {
    /// The chat; `None` for the one used last.
    pub chat: Option<ChatId>,
    /// What to show.
    pub scope: ReviewScope,
    /// What the result is for.
    pub purpose: ListPurpose,
}

/// What a list of pending changes is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPurpose {
    /// To open a review.
    Open,
    /// To update a review if it is open.
    Update,
    /// For this call from Lua.
    Call(u64),
    /// To count the lines of each chat.
    Count,
}

/// How many lines are pending that the agent of a chat has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingCount {
    /// The chat. It may be closed.
    pub chat: ChatId,
    /// How many lines were added.
    pub added: usize,
    /// How many were removed.
    pub removed: usize,
}

/// A pending hunk, as Lua gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChange {
    /// The real path of the file.
    pub path: PathBuf,
    /// Its first row in the file, or the row after removed ones (0-based).
    pub row: usize,
    /// The lines it has removed.
    pub removed: Vec<String>,
    /// The lines it has added.
    pub added: Vec<String>,
    /// Who made it last.
    pub by: Option<Author>,
    /// The titles of the tool calls that made it.
    pub title: String,
}

/// A pending change of a file that is not one of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedState {
    /// Where the file is, or was.
    pub path: PathBuf,
    /// Where it was before, if it was only moved.
    pub from: Option<PathBuf>,
    /// What has happened, in a few words.
    pub what: String,
    /// Who did it, the earliest first.
    pub by: Vec<ChangeAuthor>,
}

/// The pending changes of a file, loaded or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The real path.
    pub path: PathBuf,
    /// Whether it existed before them.
    pub existed: bool,
    /// Whether it exists now.
    pub exists: bool,
    /// The text without them.
    pub base: Arc<Text>,
    /// The text as it is.
    pub text: Arc<Text>,
    /// In the order of the text.
    pub hunks: Vec<ChangedHunk>,
    /// Who made them.
    pub authors: Vec<ChangeAuthor>,
}

impl ChangedFile {
    /// Who made a hunk of it, the earliest first.
    pub fn authors_of<'a>(
        &'a self,
        hunk: &'a ChangedHunk,
    ) -> impl Iterator<Item = &'a ChangeAuthor> {
        hunk.by.iter().filter_map(|author| self.authors.get(*author))
    }
}

/// A pending hunk, and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedHunk {
    /// Which one it is. Those of a renamed file are decided on together.
    pub id: HunkId,
    /// The lines in the base (0-based).
    pub base: Range<usize>,
    /// The lines in the text (0-based).
    pub text: Range<usize>,
    /// The places of its authors among those of the file, the earliest first.
    pub by: Vec<usize>,
}

/// A comparison of a file with its base that the user has asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The file.
    pub path: PathBuf,
    /// Where it was before, if it was moved: its base is the one of the old file.
    pub from: Option<PathBuf>,
    /// Whether it is shown already, and only to be updated.
    pub is_update: bool,
}

/// A file and its base, to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedFile {
    /// What was asked for.
    pub comparison: Comparison,
    /// The name of the base, as the review shows it.
    pub name: String,
    /// The text without what is pending; `None` if nothing is.
    pub base: Option<Arc<Text>>,
    /// What is pending.
    pub hunks: Vec<ChangedHunk>,
    /// Whether there is too much to be compared in diff mode, so that nothing of it is here.
    pub is_too_large: bool,
}

/// What became of a decision, or of a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewOutcome {
    /// What was done.
    pub action: ReviewAction,
    /// Where.
    pub files: Vec<ReviewedFile>,
    /// Where it could not be done, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// Whether the other parts of the decision are carried out.
    pub is_last: bool,
}

/// What became of a decision in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFile {
    /// The real path.
    pub path: PathBuf,
    /// The name before, if the decision was about one file that was moved.
    pub from: Option<PathBuf>,
    /// How many hunks were kept or rejected.
    pub hunks: usize,
    /// How many lines, if only some of a hunk were.
    pub lines: Option<usize>,
    /// Whether a change that is not one of lines was.
    pub is_whole: bool,
    /// Whether the one hunk that is counted has no lines: an empty file is there or not.
    pub is_form: bool,
    /// How many places stay as they are, because somebody has changed them since.
    pub conflicts: usize,
    /// The sessions whose changes these were.
    pub sessions: Vec<SessionKey>,
    /// Whether its buffer is not saved, so that the file still has what was rejected.
    pub is_unsaved: bool,
}

/// What is pending in a loaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFile {
    /// The real path.
    pub path: PathBuf,
    /// 'changedtick' of the buffer that the lines refer to.
    pub tick: i64,
    /// In the order of the text.
    pub hunks: Vec<PendingLines>,
}

/// A pending hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLines {
    /// Which one it is.
    pub id: HunkId,
    /// Its first line, or the line after removed ones (0-based).
    pub start: usize,
    /// How many lines it has.
    pub count: usize,
    /// How many lines it replaces.
    pub removed: usize,
}

/// A change that the user has edited before allowing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedDiff {
    /// The file, as the agent named it.
    pub path: PathBuf,
    /// The text without the change.
    pub old: Vec<String>,
    /// The text with the agent's change.
    pub new: Vec<String>,
    /// The text the user wants.
    pub edited: Vec<String>,
}
