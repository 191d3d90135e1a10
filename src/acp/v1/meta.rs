//! Extracts `_meta` from messages of agents (ACP extensibility) as JSON text, without interpreting it.

use crate::jsonrpc::incoming::Text;
use crate::session::ids::SessionId;
use crate::session::update::Meta;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The largest `_meta` whose contents are passed on, in bytes. Of a larger one only the size is passed on.
pub const MAX_BYTES: usize = 16 * 1024;

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

/// Extracts the `_meta` of the update in the params of a `session/update`, or else that of the notification.
pub fn of_update(params: &str) -> Option<Meta> {
    let Notification { update, meta } = parse_with_meta(params)?;
    let json = update.meta.or(meta)?;
    new_meta(&update.tag.0, update.tool_call_id.map(|id| id.0.into_owned()), json)
}

/// Extracts the `_meta` of the result of `method`, with the session that the result names, if any.
pub fn of_answer(method: &str, result: &str) -> Option<(Option<SessionId>, Meta)> {
    let Answer { session_id, meta } = parse_with_meta(result)?;
    Some((session_id.map(|id| (*id.0).into()), new_meta(method, None, meta?)?))
}

/// Parses JSON that contains a `_meta` anywhere. Most messages do not, and for them this is only a substring search.
fn parse_with_meta<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    memchr::memmem::find(json.as_bytes(), b"\"_meta\"")?;
    serde_json::from_str(json).ok()
}

fn new_meta(kind: &str, id: Option<String>, json: &RawValue) -> Option<Meta> {
    let json = json.get();
    // The protocol allows only objects.
    json.starts_with('{').then(|| Meta {
        kind: kind.to_owned(),
        id,
        size: json.len(),
        json: (json.len() <= MAX_BYTES).then(|| json.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meta_of_an_update_precedes_that_of_its_notification() {
        let own = r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","_meta":{"a":[1]}}}"#;
        let meta = of_update(own).unwrap();
        assert_eq!((meta.kind.as_str(), meta.id.as_deref()), ("tool_call", Some("t")));
        assert_eq!((meta.json.as_deref(), meta.size), (Some(r#"{"a":[1]}"#), 9));
        let outer = r#"{"sessionId":"s","_meta":{"b":2},"update":{"sessionUpdate":"x"}}"#;
        assert_eq!(of_update(outer).unwrap().json.as_deref(), Some(r#"{"b":2}"#));
    }

    #[test]
    fn a_meta_that_is_missing_or_not_an_object_is_none() {
        for meta in ["null", "5", "[]", "\"{\""] {
            let params = format!(r#"{{"update":{{"sessionUpdate":"x","_meta":{meta}}}}}"#);
            assert_eq!(of_update(&params), None, "{meta}");
        }
        assert_eq!(of_update(r#"{"update":{"sessionUpdate":"x"}}"#), None);
        // One that is nested deeper belongs to something else.
        assert_eq!(of_update(r#"{"update":{"sessionUpdate":"x","y":{"_meta":{}}}}"#), None);
    }

    #[test]
    fn a_result_may_name_its_session() {
        let (session, meta) = of_answer("session/new", r#"{"sessionId":"s","_meta":{}}"#).unwrap();
        assert_eq!((session, meta.kind.as_str()), (Some("s".into()), "session/new"));
        let (session, _) = of_answer("session/prompt", r#"{"_meta":{}}"#).unwrap();
        assert_eq!(session, None);
    }

    #[test]
    fn only_the_size_of_a_large_meta_is_passed_on() {
        let large = format!(r#"{{"_meta":{{"a":"{}"}}}}"#, "x".repeat(MAX_BYTES));
        let (_, meta) = of_answer("x", &large).unwrap();
        assert_eq!((meta.json, meta.size), (None, MAX_BYTES + 8));
    }
}
