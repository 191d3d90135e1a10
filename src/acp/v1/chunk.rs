//! Decodes parts of `session/update` without building a tree of JSON values: the fast path for chunks of text, and the
//! fallback for updates that cannot be parsed. The result for a chunk is the same as that of `update`, which decodes all else.

use crate::jsonrpc::incoming::Text;
use crate::session::content::Content;
use crate::session::ids::{MessageId, SessionId};
use crate::session::update::{Role, Update};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    update: Chunk<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    session_update: Text<'a>,
    #[serde(borrow)]
    content: Block<'a>,
    #[serde(borrow)]
    message_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    text: String,
}

/// The fields that identify an update of which the rest cannot be decoded.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    update: Tag<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tag<'a> {
    #[serde(borrow)]
    session_update: Text<'a>,
}

/// Returns the session and the kind of an update that cannot be decoded.
pub fn identify(params: &str) -> Option<(SessionId, String)> {
    let Identity { session_id, update } = serde_json::from_str(params).ok()?;
    Some(((*session_id.0).into(), update.session_update.0.into_owned()))
}

/// Returns the author of a chunk by the kind of its update.
pub(super) fn role(tag: &str) -> Option<Role> {
    match tag {
        "agent_message_chunk" => Some(Role::Agent),
        "agent_thought_chunk" => Some(Role::Thought),
        "user_message_chunk" => Some(Role::User),
        _ => None,
    }
}

/// The last session and message id, which are reused because a stream repeats them with each chunk.
#[derive(Debug, Default)]
pub struct LastIds {
    session: Option<SessionId>,
    message: Option<MessageId>,
}

impl LastIds {
    /// Decodes the params of a `session/update` if it is a chunk of text.
    pub fn text_chunk(&mut self, params: &str) -> Option<(SessionId, Update)> {
        let Notification { session_id, update } = serde_json::from_str(params).ok()?;
        let role = role(&update.session_update.0)?;
        if update.content.kind.0 != "text" {
            return None;
        }
        let message = update.message_id.map(|id| reuse_or_replace(&mut self.message, &id.0));
        let session = reuse_or_replace(&mut self.session, &session_id.0);
        Some((
            session,
            Update::Chunk { role, message, content: Content::Text(update.content.text) },
        ))
    }
}

/// Clones `last` if it is `text`, otherwise replaces it.
fn reuse_or_replace<Id>(last: &mut Option<Id>, text: &str) -> Id
where
    Id: Clone + AsRef<str> + for<'a> From<&'a str>,
{
    match last {
        Some(id) if (*id).as_ref() == text => id.clone(),
        _ => last.insert(text.into()).clone(),
    }
}
