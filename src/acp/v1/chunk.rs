//! What can be read of an update without a tree of JSON values: the fast path of streaming, and the last resort.
//! Whatever is no chunk of text goes the long way through `update`, with the same result.

use crate::acp::codec::Text;
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

/// What is needed to say whose update it was, where the rest cannot be read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Peek<'a> {
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

/// The session and the kind of an update of which nothing else can be read.
pub(super) fn peek(params: &str) -> Option<(SessionId, String)> {
    let Peek { session_id, update } = serde_json::from_str(params).ok()?;
    Some(((*session_id.0).into(), update.session_update.0.into_owned()))
}

/// Who speaks in a chunk of this kind.
pub(super) fn role(tag: &str) -> Option<Role> {
    match tag {
        "agent_message_chunk" => Some(Role::Agent),
        "agent_thought_chunk" => Some(Role::Thought),
        "user_message_chunk" => Some(Role::User),
        _ => None,
    }
}

/// The ids seen last: a stream says the same two thousands of times.
#[derive(Debug, Default)]
pub struct LastIds {
    session: Option<SessionId>,
    message: Option<MessageId>,
}

impl LastIds {
    /// The update in the params of a `session/update`, where it is a chunk of text.
    pub(super) fn text_chunk(&mut self, params: &str) -> Option<(SessionId, Update)> {
        let Notification { session_id, update } = serde_json::from_str(params).ok()?;
        let role = role(&update.session_update.0)?;
        if update.content.kind.0 != "text" {
            return None;
        }
        let message = update.message_id.map(|id| same_or_new(&mut self.message, &id.0));
        let session = same_or_new(&mut self.session, &session_id.0);
        Some((
            session,
            Update::Chunk { role, message, content: Content::Text(update.content.text) },
        ))
    }
}

fn same_or_new<Id>(last: &mut Option<Id>, text: &str) -> Id
where
    Id: Clone + AsRef<str> + for<'a> From<&'a str>,
{
    match last {
        Some(id) if (*id).as_ref() == text => id.clone(),
        _ => last.insert(text.into()).clone(),
    }
}
