//! What Lua tells the binary with `require("rat.rpc").notify(name, payload)`. An invalid payload is refused as a whole.

mod answer;
mod content;
mod edit;
mod listen;
mod prompt;
mod rules;
mod search;
mod session;
pub mod start;
#[cfg(test)]
mod tests;
mod tools;
mod undo;
mod worktree;
mod write;

use crate::core::messages::files::BufferEvent;
use crate::core::messages::page;
use crate::core::messages::review::Comparison;
use crate::core::messages::tools::UserTool;
use crate::core::messages::user::{QueueAction, UserAction, WorktreeAction};
use crate::core::messages::workbench::Findings;
use crate::nvim::value::{self, ReadError};
use crate::session::author::ChatId;
use rmpv::Value;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// The number of a chat, from 1.
type Chat = u32;

/// All messages from Lua.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum FromLua {
    /// `:RatStart`: the user wants a chat with an agent.
    Start(Box<start::Start>),
    /// `:RatSessions`: the user wants to choose from the sessions of a folder.
    Sessions(session::Sessions),
    /// The user wants to see more sessions.
    SessionsMore(session::SessionsMore),
    /// `:RatSearch`: the user searches the saved sessions.
    Search(search::Search),
    /// The user closes a session.
    SessionClose(session::SessionClose),
    /// The user deletes a session.
    SessionDelete(session::SessionDelete),
    /// The user sends a prompt.
    Prompt(prompt::Prompt),
    /// `:RatEdit`: the user wants lines changed in place, by an agent that has changed them before.
    Edit(edit::Edit),
    /// `:RatCancel`: cancels the running turn.
    Cancel(Cancel),
    /// `:RatStop`: closes the chat's session.
    Stop(Stop),
    /// `:RatStop!`: closes the chat.
    Close(Close),
    /// `:RatRestart`: restarts the agent of a chat.
    Restart(Restart),
    /// `:RatFork`: forks the session of a chat.
    Fork(Fork),
    /// The user sets an option of the session, its mode or its model.
    Option(session::SetOption),
    /// `:RatLogin`: logs in.
    Login(session::Login),
    /// The login program that ran in a terminal has ended.
    LoginEnded(session::LoginEnded),
    /// `:RatLogout`: logs out.
    Logout(Logout),
    /// The user takes a prompt out of the queue in order to edit it.
    QueueTake(prompt::QueueTake),
    /// The user removes a prompt from the queue.
    QueueDrop(prompt::QueueDrop),
    /// The user has a queued prompt sent at once, for which a running turn is cancelled.
    QueueSend(prompt::QueueSend),
    /// The user has edited the queue.
    QueueArrange(prompt::QueueArrange),
    /// The user resumes a paused queue.
    QueueGo(QueueGo),
    /// The user answers a permission request.
    Permission(answer::Permission),
    /// The user answers an elicitation or has its form validated.
    Elicitation(answer::Elicitation),
    /// The user answers one of our own questions.
    Answer(answer::Answer),
    /// `:RatAccept`, `:RatReject`: the user decides on what agents have changed.
    Review(answer::Review),
    /// The user wants to let a confined agent write a path.
    Widen(answer::Widen),
    /// `:RatRules`: the user wants to see the rules.
    Rules(Rules),
    /// The user wants to make a rule of a permission request.
    SuggestRule(rules::SuggestRule),
    /// The user keeps rules made of a permission request.
    KeepRules(rules::KeepRules),
    /// The user has written lists of rules.
    SetRules(rules::SetRules),
    /// The user takes the last decision on pending changes back.
    TakeBack(TakeBack),
    /// `:RatTurns`: the user wants to choose from the turns whose changes are kept.
    Turns(undo::Turns),
    /// The user wants to see what a turn has changed.
    ShowTurn(undo::ShowTurn),
    /// `:RatUndo`, `:RatRedo`: undoes or redoes a turn.
    Undo(undo::Undo),
    /// `:RatStart! AGENT worktree`: the user wants a worktree.
    CreateWorktree(worktree::CreateWorktree),
    /// `:RatWorktree merge`: merges the worktree of a chat.
    Merge(worktree::Merge),
    /// `:RatWorktree remove`: removes the worktree of a chat.
    RemoveWorktree(RemoveWorktree),
    /// `:RatReview`: the user wants to see what is pending.
    ListChanges(answer::ListChanges),
    /// The user wants to compare a file with its base.
    Compare(answer::Compare),
    /// The user has changed the base in a comparison, which keeps what agrees with it.
    KeepAsBase(answer::KeepAsBase),
    /// The user wants to see the write that a question is about.
    ShowWrite(write::ShowWrite),
    /// The user has decided on a write that was shown.
    DecideWrite(write::DecideWrite),
    /// The user has edited a change that they are about to allow.
    DiffEdited(write::DiffEdited),
    /// The user wants to see the changes of a permission request or of a tool call in diff mode.
    Diff(content::ShowDiff),
    /// The user wants to see the complete output of a tool call.
    Output(content::ShowOutput),
    /// The user wants to see a terminal in a terminal buffer, or has wiped out that buffer.
    Terminal(content::ShowTerminal),
    /// The user does something with a piece of content.
    Content(content::Content),
    /// `:RatInfo`: shows what is known of the agent.
    Show(content::Show),
    /// `:RatTrace`: the user wants to see the traffic with the agent, or its page wants more or is closed.
    Trace(content::Trace),
    /// `:RatTrace save`: saves the traffic with the agent.
    SaveTrace(content::SaveTrace),
    /// `:RatExport`: writes the conversation to a file.
    ExportChat(content::ExportChat),
    /// The buffer of a view was created again, so the view has to be redrawn completely.
    Redraw(Redraw),
    /// The connection was established, or the options have changed.
    Configure(Configure),
    /// The user's provider of files has answered.
    Provided(Provided),
    /// The user types the name of a file in a prompt.
    Files(Files),
    /// Something was found for the editor's own tools, or not.
    Found(tools::Found),
    /// The user has added tools.
    OfferTools(tools::OfferTools),
    /// Which events scripts listen to, after that has changed.
    Listen(listen::Listen),
    /// There was an error in Lua, which is to be logged.
    Problem(Problem),
    /// Something has happened to the buffer of a file.
    Buffer(Buffer),
}

/// A message from Lua, converted to types of the core.
#[derive(Debug, Clone, PartialEq)]
pub enum LuaMessage {
    /// The user has done something.
    User(UserAction),
    /// The user wants a chat with an agent.
    Start(Box<start::StartRequest>),
    /// A setting has changed.
    Configure {
        /// The log level, from `error` to `trace`.
        log_level: Option<String>,
        /// How many sessions of a folder are kept; `None` for all.
        keep_sessions: Option<usize>,
        /// Whether the user has a provider that reads files, and one that writes files.
        provides: (bool, bool),
    },
    /// The user's provider of files has answered.
    Provided {
        /// Our number of the question.
        id: u64,
        /// The text of the file.
        text: Option<String>,
        /// Whether it has written the file.
        written: bool,
    },
    /// The user types the name of a file in a prompt.
    Files {
        /// The folder of the session.
        folder: String,
        /// What they have typed so far.
        typed: String,
    },
    /// What was found for the question with this number, or why there is no answer.
    Found(u64, Result<Findings, String>),
    /// The tools that the user has added.
    OfferTools(Vec<UserTool>),
    /// Something has happened to a file's buffer (`lua/rat/document/track.lua`).
    Buffer(PathBuf, BufferEvent),
    /// An error in Lua, for the log.
    Problem(String),
}

/// Decodes a notification. The error names the field that is wrong.
pub fn notification(name: &str, args: Vec<Value>) -> Result<LuaMessage, NotificationError> {
    let payload = args.into_iter().next().unwrap_or(Value::Map(Vec::new()));
    let message = value::read_message::<FromLua>(name, payload).and_then(FromLua::into_message);
    message.map_err(|problem| NotificationError { name: name.to_owned(), problem })
}

/// Why a notification was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct NotificationError {
    name: String,
    problem: ReadError,
}

impl FromLua {
    fn into_message(self) -> Result<LuaMessage, ReadError> {
        let action = match self {
            Self::Start(start) => return Ok(LuaMessage::Start(Box::new((*start).try_into()?))),
            Self::Sessions(list) => list.into(),
            Self::SessionsMore(_) => UserAction::MoreSessions,
            Self::Search(search) => search.try_into()?,
            Self::SessionClose(close) => close.into(),
            Self::SessionDelete(delete) => delete.into(),
            Self::Prompt(prompt) => prompt.try_into()?,
            Self::Edit(edit) => edit.try_into()?,
            Self::Cancel(Cancel { chat }) => UserAction::Cancel(chat.map(ChatId)),
            Self::Stop(Stop { chat }) => UserAction::Stop(chat.map(ChatId)),
            Self::Close(Close { chat }) => UserAction::Close(chat.map(ChatId)),
            Self::Restart(Restart { chat, force }) => {
                UserAction::Restart { chat: chat.map(ChatId), force }
            }
            Self::Fork(Fork { chat }) => UserAction::Fork(chat.map(ChatId)),
            Self::Option(option) => option.into(),
            Self::Login(login) => login.into(),
            Self::LoginEnded(ended) => ended.into(),
            Self::Logout(Logout { chat }) => UserAction::Logout(chat.map(ChatId)),
            Self::QueueTake(take) => take.into(),
            Self::QueueDrop(drop) => drop.into(),
            Self::QueueSend(send) => send.into(),
            Self::QueueArrange(arrange) => arrange.into(),
            Self::QueueGo(QueueGo { chat }) => {
                UserAction::Queue(chat.map(ChatId), QueueAction::Resume)
            }
            Self::Permission(permission) => permission.into(),
            Self::Elicitation(elicitation) => elicitation.into(),
            Self::Answer(answer) => answer.try_into()?,
            Self::Review(review) => review.try_into()?,
            Self::Widen(answer::Widen { chat, path }) => {
                UserAction::Widen(ChatId(chat), path.into())
            }
            Self::Rules(Rules { chat }) => UserAction::ShowRules(chat.map(ChatId)),
            Self::SuggestRule(suggest) => suggest.into(),
            Self::KeepRules(keep) => keep.into(),
            Self::SetRules(set) => set.into(),
            Self::TakeBack(TakeBack {}) => UserAction::TakeBack,
            Self::Turns(undo::Turns { chat, request, entry }) => {
                let entry = entry.and_then(|entry| usize::try_from(entry).ok());
                UserAction::ListTurns { chat: chat.map(ChatId), request, entry }
            }
            Self::ShowTurn(show) => show.into(),
            Self::Undo(undo) => undo.into(),
            Self::CreateWorktree(create) => create.into(),
            Self::Merge(merge) => merge.into(),
            Self::RemoveWorktree(RemoveWorktree { chat }) => {
                UserAction::Worktree(WorktreeAction::Remove(chat.map(ChatId)))
            }
            Self::ListChanges(list) => list.into(),
            Self::Compare(answer::Compare { path, from, update }) => {
                let from = from.map(Into::into);
                UserAction::Compare(Comparison { path: path.into(), from, is_update: update })
            }
            Self::KeepAsBase(answer::KeepAsBase { path, lines }) => {
                UserAction::KeepAsBase(path.into(), lines)
            }
            Self::ShowWrite(write::ShowWrite { id }) => UserAction::ShowWrite(id),
            Self::DecideWrite(write::DecideWrite { id, lines, reason }) => {
                UserAction::DecideWrite(id, lines.ok_or(reason))
            }
            Self::DiffEdited(edited) => edited.into(),
            Self::Diff(diff) => diff.into(),
            Self::Output(output) => output.into(),
            Self::Terminal(terminal) => terminal.into(),
            Self::Content(content) => content.try_into()?,
            Self::Show(show) => show.into(),
            Self::Trace(trace) => trace.into(),
            Self::SaveTrace(save) => save.into(),
            Self::ExportChat(export) => export.into(),
            Self::Listen(listen) => listen.into(),
            Self::Redraw(Redraw { chat, view }) => UserAction::Redraw(ChatId(chat), view.into()),
            Self::Provided(Provided { id, text, written }) => {
                return Ok(LuaMessage::Provided { id, text, written });
            }
            Self::Found(found) => return Ok(found.into()),
            Self::OfferTools(offer) => return Ok(offer.into()),
            Self::Files(Files { folder, typed }) => {
                return Ok(LuaMessage::Files { folder, typed });
            }
            Self::Configure(Configure { log_level, keep_sessions, reads_files, writes_files }) => {
                let provides = (reads_files, writes_files);
                return Ok(LuaMessage::Configure { log_level, keep_sessions, provides });
            }
            Self::Problem(Problem { text }) => return Ok(LuaMessage::Problem(text)),
            Self::Buffer(change) => return Ok(change.into()),
        };
        Ok(LuaMessage::User(action))
    }
}

/// Converts an index that Lua counts from 1 to one that counts from 0.
fn from_zero(index: u32) -> Result<usize, ReadError> {
    let index = index.checked_sub(1).and_then(|index| usize::try_from(index).ok());
    index.ok_or_else(|| ReadError::of("index", "counts from 1"))
}

macro_rules! about_a_chat {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub(in crate::nvim) struct $name {
            /// The chat; without it, the one used last.
            chat: Option<Chat>,
        }
    )*};
}
about_a_chat!(
    /// Cancels the running turn.
    Cancel,
    /// Closes the chat's session.
    Stop,
    /// Closes the chat.
    Close,
    /// Forks the session of a chat.
    Fork,
    /// Shows the rules that hold in a chat.
    Rules,
    /// Logs out.
    Logout,
    /// Removes the worktree of a chat.
    RemoveWorktree,
    /// Resumes a paused queue.
    QueueGo,
);

/// Restarts the agent of a chat.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Restart {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// Whether turns that the same agent runs in other chats may be ended.
    #[serde(default)]
    force: bool,
}

/// Takes the last decision on pending changes back.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct TakeBack {}

/// Redraws a view completely.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Redraw {
    /// The chat.
    chat: Chat,
    /// The view.
    view: View,
}

/// The views of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum View {
    /// The transcript.
    Chat,
    /// The plan.
    Plan,
    /// The tool calls.
    Tools,
}

impl From<View> for page::View {
    fn from(view: View) -> Self {
        match view {
            View::Chat => Self::Chat,
            View::Plan => Self::Plan,
            View::Tools => Self::Tools,
        }
    }
}

/// Options that apply from now on.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Configure {
    /// The log level, as in the option of the same name.
    log_level: Option<String>,
    /// How many sessions of a folder are kept, as in the option of the same name.
    keep_sessions: Option<usize>,
    /// Whether `files.read_provider` is set.
    #[serde(default)]
    reads_files: bool,
    /// Whether `files.write_provider` is set.
    #[serde(default)]
    writes_files: bool,
}

/// What the user's provider of files has answered. Without a text and not written, the file is used as usual.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Provided {
    /// The number of the question.
    id: u64,
    /// The text of the file, or of the lines that were asked for.
    text: Option<String>,
    /// Whether it has written the file.
    #[serde(default)]
    written: bool,
}

/// Asks for the files that match what the user types. The answer is the call `rat.complete.files.found`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Files {
    /// The folder of the session.
    folder: String,
    /// What they have typed behind the `@`.
    typed: String,
}

/// An error in Lua.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Problem {
    /// The error message.
    text: String,
}

/// Something that has happened to a buffer.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Buffer {
    /// What has happened.
    kind: Fact,
    /// The buffer's file name.
    path: String,
}

/// What has happened to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Fact {
    /// Neovim has read the file into it.
    Read,
    /// The user has saved it.
    Saved,
    /// It has become unmodified in another way.
    Clean,
    /// Its text has changed while something is pending in it.
    Changed,
}

impl From<Buffer> for LuaMessage {
    fn from(Buffer { kind, path }: Buffer) -> Self {
        Self::Buffer(path.into(), kind.into())
    }
}

impl From<Fact> for BufferEvent {
    fn from(fact: Fact) -> Self {
        match fact {
            Fact::Read => Self::Read,
            Fact::Saved => Self::Saved,
            Fact::Clean => Self::Clean,
            Fact::Changed => Self::Changed,
        }
    }
}
