//! Decodes parts of `session/update` without building a tree of JSON values: the fast path for chunks of text, and the
//! fallback for updates that cannot be parsed. The result for a chunk is the same as that of `update`, which decodes all else.

use crate::jsonrpc::incoming::{Text, join_half, repair_surrogates, split_half};
use crate::session::content::Content;
use crate::session::ids::{MessageId, SessionId};
use crate::session::update::{Role, Update};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Notification<'a, T> {
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    update: Chunk<'a, T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Chunk<'a, T> {
    #[serde(borrow)]
    session_update: Text<'a>,
    #[serde(borrow)]
    content: Block<'a, T>,
    #[serde(borrow)]
    message_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Block<'a, T> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    text: T,
    /// Whom it is for and the like, which `update` decodes.
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
}

/// The first half of a surrogate pair at the end of a chunk: programs that count UTF-16 code units cut emoji in two.
#[derive(Debug)]
struct Half {
    session: SessionId,
    role: Role,
    message: Option<MessageId>,
    unit: u16,
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
    half: Option<Half>,
}

impl LastIds {
    /// Decodes the params of a `session/update` if it is a chunk of text.
    pub fn text_chunk(&mut self, params: &str) -> Option<(SessionId, Update)> {
        if self.half.is_none() {
            if let Some((session, role, message, text)) = self.chunk::<String>(params) {
                return Some((session, chunk(role, message, text)));
            }
            // Only half a character at the end is kept, so the usual way decodes everything else.
            memchr::memmem::find(params.as_bytes(), b"\\ud")
                .or_else(|| memchr::memmem::find(params.as_bytes(), b"\\uD"))?;
        }
        let (session, role, message, raw) = self.chunk::<&RawValue>(params)?;
        let raw = raw.get().strip_prefix('"')?.strip_suffix('"')?;
        let text = self.rejoined(&session, role, message.as_ref(), raw)?;
        Some((session, chunk(role, message, text)))
    }

    fn chunk<'a, T: Deserialize<'a>>(
        &mut self,
        params: &'a str,
    ) -> Option<(SessionId, Role, Option<MessageId>, T)> {
        let Notification { session_id, update } = serde_json::from_str(params).ok()?;
        let role = role(&update.session_update.0)?;
        if update.content.kind.0 != "text" || update.content.annotations.is_some() {
            return None;
        }
        let message = update.message_id.map(|id| reuse_or_replace(&mut self.message, &id.0));
        let session = reuse_or_replace(&mut self.session, &session_id.0);
        Some((session, role, message, update.content.text))
    }

    /// Decodes the text of a chunk with the half of a character that the chunk before it ended with. The half at its own end
    /// is kept for the next one. `raw` is what is between the quotes.
    fn rejoined(
        &mut self,
        session: &SessionId,
        role: Role,
        message: Option<&MessageId>,
        raw: &str,
    ) -> Option<String> {
        let is_same = |half: &mut Half| {
            half.session == *session && half.role == role && half.message.as_ref() == message
        };
        let (mut text, mut rest) = (String::new(), raw);
        if let Some(Half { unit, .. }) = self.half.take_if(is_same) {
            match join_half(unit, raw) {
                Some((character, after)) => {
                    text.push(character);
                    rest = after;
                }
                None => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        let (rest, half) = split_half(rest);
        let quoted = format!("\"{rest}\"");
        let repaired = repair_surrogates(&quoted).unwrap_or(quoted);
        text.push_str(&serde_json::from_str::<String>(&repaired).ok()?);
        if let Some(unit) = half {
            let (session, message) = (session.clone(), message.cloned());
            self.half = Some(Half { session, role, message, unit });
        }
        Some(text)
    }
}

fn chunk(role: Role, message: Option<MessageId>, text: String) -> Update {
    Update::Chunk { role, message, content: Content::Text(text) }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes chunks of these texts, which are JSON between the quotes, and joins what they say.
    fn said(pieces: &[(&str, &str)]) -> Vec<(String, String)> {
        let (mut last, mut said) = (LastIds::default(), Vec::<(String, String)>::new());
        for (session, piece) in pieces {
            let params = format!(
                r#"{{"sessionId":"{session}","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{piece}"}}}}}}"#
            );
            let found = last.text_chunk(&params).expect("a chunk");
            let (session, Update::Chunk { content: Content::Text(text), .. }) = found else {
                panic!("{params}")
            };
            said.push((session.to_string(), text));
        }
        said
    }

    fn joined(pieces: &[&str]) -> String {
        let pieces: Vec<_> = pieces.iter().map(|piece| ("s", *piece)).collect();
        said(&pieces).into_iter().map(|(_, text)| text).collect()
    }

    /// Holds (Turns): A character of which one half ends a chunk and the other begins the next is whole.
    #[test]
    fn a_character_that_two_chunks_share_is_whole() {
        assert_eq!(joined(&[r"a \ud83d", r"\ude00 b"]), "a 😀 b");
        assert_eq!(joined(&[r"\uD83D", r"\uDE00\ud83d", r"\ude00"]), "😀😀");
        assert_eq!(joined(&[r"\\ud83d", r"\ude00"]), "\\ud83d\u{fffd}");
        assert_eq!(joined(&[r"\ud83d\ude00 \ud83d", "plain"]), "😀 \u{fffd}plain");
        assert_eq!(joined(&[r"\ud83d\ud83d", r"\ude00"]), "\u{fffd}😀");
        assert_eq!(joined(&[r"\ude00", r"\u00e4\n\ud83d!"]), "\u{fffd}ä\n\u{fffd}!");
        // Another session comes in between.
        let apart = said(&[("s", r"\ud83d"), ("t", "b"), ("t", r"\ude00"), ("s", r"\ude00")]);
        let of = |wanted: &str| {
            let texts = apart.iter().filter(|(session, _)| session == wanted);
            texts.map(|(_, text)| text.as_str()).collect::<String>()
        };
        assert_eq!((of("s"), of("t")), ("😀".to_owned(), "b\u{fffd}".to_owned()));
    }
}
