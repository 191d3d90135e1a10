//! What the binary tells Lua: frames of `{kind, payload}` pairs, which `require("rat.rpc.inbox").apply` applies in
//! order.

mod chat;
mod content;
mod draw;
pub(super) mod event;
mod form;
mod review;
mod rules;
mod search;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod trace;
mod worktree;

use crate::core::messages::editor::EditorMessage;
use crate::core::messages::elicitation::ElicitationUpdate;
use crate::nvim::value;
use rmpv::Value;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// The number of a chat, from 1.
type Chat = u32;

/// All messages to Lua.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum ToLua {
    /// A chat exists, or is to be shown.
    Chat(chat::Opened),
    /// The status of a chat has changed.
    Status(Box<status::Status>),
    /// The content of a view has changed. Encoded by hand, because most of the data is in these messages.
    #[cfg(test)]
    Draw(draw::Draw),
    /// A change in place is over.
    Edited(chat::Edited),
    /// Notify the user.
    Notify(chat::Notify),
    /// Trigger a `User` autocommand.
    Event(chat::Event),
    /// Something that scripts listen to has happened in a conversation. Sent only if there is a listener.
    Update(#[cfg_attr(test, schemars(with = "event::Happened"))] event::SessionEvent),
    /// An agent asks the user to fill in a form or to open a URL.
    Elicitation(form::ElicitationRequest),
    /// The result of validating a form.
    Problems(form::FormProblems),
    /// The user has agreed to open a URL.
    Browse(form::Browse),
    /// Ask the user one of our own questions.
    Ask(chat::Ask),
    /// Show the rules.
    Rules(rules::Rules),
    /// Let the user edit rules made of a request.
    Rule(rules::Suggestion),
    /// What is wrong with the rules that the user has written.
    RuleProblems(rules::RuleProblems),
    /// Withdraw a question.
    Unask(chat::Unask),
    /// Remove a chat that was closed.
    Closed(chat::Closed),
    /// The session list that was requested.
    Sessions(session::Sessions),
    /// What a search through the saved sessions has found.
    Found(search::Found),
    /// The worktree that was requested.
    Worktree(worktree::Worktree),
    /// Show a text in a scratch buffer.
    Scratch(content::Scratch),
    /// Show a piece of the traffic with an agent.
    Trace(trace::Trace),
    /// Output for a terminal buffer.
    Terminal(content::TerminalOutput),
    /// Return a prompt to the user.
    Draft(chat::Draft),
    /// Log in with a program in a terminal of the editor.
    Login(session::Login),
    /// Data that an agent sent in `_meta`.
    Meta(session::Meta),
    /// What can be done with the content that the user has chosen.
    Offer(content::Offer),
    /// Content was written to a file, or the file exists already.
    Exported(content::Exported),
    /// The options of a session have changed.
    Options(session::Options),
    /// The agent's slash commands have changed.
    Commands(session::Commands),
    /// What is pending in a loaded file.
    Pending(review::Pending),
    /// Turns to choose from.
    Turns(review::Turns),
    /// The answer to `require("rat").changes()`.
    Changes(review::Changes),
    /// How many lines are pending that the agent of each chat has changed.
    PendingCounts(review::PendingCounts),
    /// Files that the user has put back or merged may have changed on disk.
    Rewritten(review::Rewritten),
    /// Show what is pending in all files.
    Review(review::Review),
    /// Compare a file with its base.
    Compare(review::Compare),
    /// Show a write that waits for the user's consent, or one that they wanted and that could not be made.
    Proposal(review::Proposal),
    /// Show changes in diff mode.
    Diff(content::Diff),
}

/// Encodes a frame as the list that `rat.rpc.inbox.apply` takes.
pub fn frame(messages: Vec<EditorMessage>) -> Value {
    Value::Array(messages.into_iter().map(message).collect())
}

fn message(message: EditorMessage) -> Value {
    let typed = match message {
        EditorMessage::Draw { chat, view, reset, patch } => {
            return draw::message(chat.0, view, reset, patch);
        }
        EditorMessage::Chat { chat, agent, title, cwd, show, focus, edit } => {
            ToLua::Chat(chat::Opened::new(chat.0, agent, title, &cwd, (show, focus), edit))
        }
        EditorMessage::Edited { chat, edit, outcome } => {
            ToLua::Edited(chat::Edited::new(chat.0, edit, outcome))
        }
        EditorMessage::Status(status) => ToLua::Status(Box::new((*status).into())),
        EditorMessage::Notify(level, notice) => {
            ToLua::Notify(chat::Notify::new(level, &notice.to_string()))
        }
        EditorMessage::Autocommand(happened) => ToLua::Event(happened.into()),
        EditorMessage::Conversation(chat, event) => {
            ToLua::Update(event::SessionEvent::new(chat.0, *event))
        }
        EditorMessage::Elicitation(chat, id, news) => match news {
            ElicitationUpdate::Asked(message, wants) => {
                ToLua::Elicitation(form::ElicitationRequest::new(chat.0, id, &message, wants))
            }
            ElicitationUpdate::Problems(all) => {
                ToLua::Problems(form::FormProblems::new(chat.0, id, all))
            }
            ElicitationUpdate::Open(url) => ToLua::Browse(form::Browse::new(chat.0, id, url)),
        },
        EditorMessage::Ask(asked) => ToLua::Ask(asked.into()),
        EditorMessage::Proposal { id, chat, write } => {
            ToLua::Proposal(review::Proposal::new(id, chat.0, &write))
        }
        EditorMessage::Rules(page) => ToLua::Rules((*page).into()),
        EditorMessage::RuleSuggestion(suggestion) => ToLua::Rule(suggestion.into()),
        EditorMessage::RuleProblems(problems) => ToLua::RuleProblems(problems.into()),
        EditorMessage::Unask(id) => ToLua::Unask(chat::Unask::new(id)),
        EditorMessage::Closed(chat) => ToLua::Closed(chat::Closed::new(chat.0)),
        EditorMessage::Sessions { act, cwd, items, more } => {
            ToLua::Sessions(session::Sessions::new(act, &cwd, items, more))
        }
        EditorMessage::Found(request, result) => ToLua::Found(search::Found::new(request, result)),
        EditorMessage::Worktree(request, created) => {
            ToLua::Worktree(worktree::Worktree::new(request, created))
        }
        EditorMessage::Scratch(scratch) => ToLua::Scratch(scratch.into()),
        EditorMessage::Trace(title, piece) => ToLua::Trace(trace::Trace::new(&title, piece)),
        EditorMessage::Terminal { chat, terminal, title, open, bytes, over } => ToLua::Terminal(
            content::TerminalOutput::new(chat.0, terminal, &title, open, bytes, over),
        ),
        EditorMessage::Draft { chat, prompt, taken } => {
            ToLua::Draft(chat::Draft::new(chat.0, prompt, taken))
        }
        EditorMessage::Login { chat, title, command, env, cwd, by_user } => {
            ToLua::Login(session::Login::new(chat.0, &title, command, env, &cwd, by_user))
        }
        EditorMessage::Meta { chat, session, meta } => {
            ToLua::Meta(session::Meta::new(chat.0, session, meta))
        }
        EditorMessage::Offer(offer) => ToLua::Offer((*offer).into()),
        EditorMessage::Exported { chat, id, path, exists, then } => {
            ToLua::Exported(content::Exported::new(chat.0, &id, &path, exists, then))
        }
        EditorMessage::Options(chat, options) => {
            ToLua::Options(session::Options::new(chat.0, options))
        }
        EditorMessage::Commands(chat, commands) => {
            ToLua::Commands(session::Commands::new(chat.0, commands))
        }
        EditorMessage::Pending(file) => ToLua::Pending(file.into()),
        EditorMessage::Turns { chat, turns, request, is_of_prompt } => {
            ToLua::Turns(review::Turns::new(chat.0, turns, request, is_of_prompt))
        }
        EditorMessage::Changes(request, changes) => {
            ToLua::Changes(review::Changes::new(request, changes))
        }
        EditorMessage::PendingCounts(counts) => ToLua::PendingCounts(counts.into()),
        EditorMessage::Rewritten(paths) => ToLua::Rewritten(review::Rewritten::new(&paths)),
        EditorMessage::Review(page) => ToLua::Review(page.into()),
        EditorMessage::Compare(file) => ToLua::Compare(file.into()),
        EditorMessage::Diff { chat, request, tool_call, title, files, is_editable } => {
            ToLua::Diff(content::Diff::new(chat.0, request, tool_call, &title, files, is_editable))
        }
    };
    value::write(&typed)
}
