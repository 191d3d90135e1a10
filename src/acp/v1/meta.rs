//! `_meta`, where agents send it (ACP extensibility): taken out as JSON text and looked into no further.

use crate::acp::codec::Text;
use crate::session::ids::SessionId;
use crate::session::update::Meta;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A larger one is told of without what it says, in bytes.
pub const MOST: usize = 16 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification<'a> {
    #[serde(borrow)]
    update: Update<'a>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    tag: Text<'a>,
    #[serde(borrow)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow)]
    session_id: Option<Text<'a>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// What the params of a `session/update` carry: the update's own, else the notification's.
pub fn of_update(params: &str) -> Option<Meta> {
    let Notification { update, meta } = holder(params)?;
    let json = update.meta.or(meta)?;
    made(&update.tag.0, update.tool_call_id.map(|id| id.0.into_owned()), json)
}

/// What an answer to `method` carries, and the session it is the first to name.
pub fn of_answer(method: &str, result: &str) -> Option<(Option<SessionId>, Meta)> {
    let Answer { session_id, meta } = holder(result)?;
    Some((session_id.map(|id| (*id.0).into()), made(method, None, meta?)?))
}

/// Reads what has a `_meta` somewhere; most has none, which costs no more than a look through it.
fn holder<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    memchr::memmem::find(json.as_bytes(), b"\"_meta\"")?;
    serde_json::from_str(json).ok()
}

fn made(kind: &str, id: Option<String>, json: &RawValue) -> Option<Meta> {
    let json = json.get();
    // Anything but an object is not what the protocol says.
    json.starts_with('{').then(|| Meta {
        kind: kind.to_owned(),
        id,
        size: json.len(),
        json: (json.len() <= MOST).then(|| json.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_has_its_own_or_that_of_its_notification() {
        let own = r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","_meta":{"a":[1]}}}"#;
        let meta = of_update(own).unwrap();
        assert_eq!((meta.kind.as_str(), meta.id.as_deref()), ("tool_call", Some("t")));
        assert_eq!((meta.json.as_deref(), meta.size), (Some(r#"{"a":[1]}"#), 9));
        let outer = r#"{"sessionId":"s","_meta":{"b":2},"update":{"sessionUpdate":"x"}}"#;
        assert_eq!(of_update(outer).unwrap().json.as_deref(), Some(r#"{"b":2}"#));
    }

    #[test]
    fn what_is_none_or_no_object_is_none() {
        for meta in ["null", "5", "[]", "\"{\""] {
            let params = format!(r#"{{"update":{{"sessionUpdate":"x","_meta":{meta}}}}}"#);
            assert_eq!(of_update(&params), None, "{meta}");
        }
        assert_eq!(of_update(r#"{"update":{"sessionUpdate":"x"}}"#), None);
        // Further down it belongs to something else.
        assert_eq!(of_update(r#"{"update":{"sessionUpdate":"x","y":{"_meta":{}}}}"#), None);
    }

    #[test]
    fn an_answer_may_name_its_session() {
        let (session, meta) = of_answer("session/new", r#"{"sessionId":"s","_meta":{}}"#).unwrap();
        assert_eq!((session, meta.kind.as_str()), (Some("s".into()), "session/new"));
        let (session, _) = of_answer("session/prompt", r#"{"_meta":{}}"#).unwrap();
        assert_eq!(session, None);
    }

    #[test]
    fn of_a_large_one_only_its_size_is_told() {
        let large = format!(r#"{{"_meta":{{"a":"{}"}}}}"#, "x".repeat(MOST));
        let (_, meta) = of_answer("x", &large).unwrap();
        assert_eq!((meta.json, meta.size), (None, MOST + 8));
    }
}
