//! What a message of the protocol is about, in one line.

use super::Head;
use crate::jsonrpc::recording::Direction;
use crate::session::label;
use crate::session::signs::{DOT, ELLIPSIS};
use serde_json::Value;
use std::time::Duration;

/// How much of a text is shown, in characters.
const MAX_CHARS: usize = 80;

/// Returns the line of a message. An answer has the `method` of its request.
pub(super) fn line(
    at: f64,
    direction: Direction,
    head: &Head,
    method: Option<&str>,
    message: &Value,
) -> String {
    let sign = match direction {
        Direction::ToAgent => ">",
        Direction::FromAgent => "<",
        Direction::Stray => "?",
        Direction::Stderr => "!",
        Direction::Missing => ELLIPSIS.now(),
    };
    let what = match (&head.method, direction) {
        (Some(method), _) => method.clone(),
        (None, Direction::Stray) => "not a message".to_owned(),
        (None, Direction::Stderr) => "stderr".to_owned(),
        (None, Direction::Missing) => format!("{message} messages are missing here"),
        (None, _) => format!("answer to {}", method.unwrap_or("an unknown request")),
    };
    let id = head.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
    let line = format!("{at:>9.3} {sign} {what}{id}{}", gist(message));
    label::line(&line).into_owned()
}

/// Returns what the line of a request ends with once it is answered.
pub(super) fn answered(after: f64, message: &Value) -> String {
    let after = Duration::try_from_secs_f64(after).unwrap_or_default();
    let time = if after < Duration::from_secs(1) {
        format!("{} ms", after.as_millis())
    } else {
        format!("{:.1} s", after.as_secs_f64())
    };
    label::line(&format!(" {DOT} {time}{}", gist(message))).into_owned()
}

/// Returns the part of a message that tells most, with a separator before it.
fn gist(message: &Value) -> String {
    if let Some(text) = message.as_str() {
        return format!(" {DOT} {}", label::short(text, MAX_CHARS));
    }
    if let Some(error) = message.get("error") {
        let (code, text) = (&error["code"], error["message"].as_str().unwrap_or_default());
        return format!(" {DOT} error {code}: {}", label::short(text, MAX_CHARS));
    }
    let about = message.get("params").or_else(|| message.get("result")).unwrap_or(message);
    let update = &about["update"];
    let paths = [
        "/update/content/text",
        "/update/title",
        "/update/status",
        "/update/currentModeId",
        "/prompt/0/text",
        "/toolCall/title",
        "/path",
        "/command",
        "/stopReason",
        "/modeId",
        "/value",
        "/outcome/optionId",
        "/outcome/outcome",
        "/message",
    ];
    let kind = update["sessionUpdate"].as_str().map(|kind| format!(" {DOT} {kind}"));
    let session = || about["sessionId"].as_str().filter(|_| kind.is_none());
    let text = paths.iter().find_map(|path| about.pointer(path)?.as_str()).or_else(session);
    let text = text.map(|text| format!(" {DOT} {}", label::short(text, MAX_CHARS)));
    kind.unwrap_or_default() + &text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_says_what_a_message_is_about() {
        let head = |method: Option<&str>, id: Option<&str>| Head {
            method: method.map(str::to_owned),
            id: id.map(str::to_owned),
        };
        let update = json!({"params": {"sessionId": "s", "update": {
            "sessionUpdate": "agent_message_chunk", "content": {"text": "a\nb"},
        }}});
        assert_eq!(
            line(1.25, Direction::FromAgent, &head(Some("session/update"), None), None, &update),
            "    1.250 < session/update · agent_message_chunk · a b"
        );
        let error = json!({"id": 3, "error": {"code": -32000, "message": "no"}});
        assert_eq!(
            line(2.0, Direction::FromAgent, &head(None, Some("3")), Some("session/new"), &error),
            "    2.000 < answer to session/new 3 · error -32000: no"
        );
        assert_eq!(
            answered(0.02, &json!({"result": {"stopReason": "end_turn"}})),
            " · 20 ms · end_turn"
        );
        assert_eq!(answered(61.5, &json!({"result": null})), " · 61.5 s");
        let stderr = line(0.0, Direction::Stderr, &head(None, None), None, &json!("oops"));
        assert_eq!(stderr, "    0.000 ! stderr · oops");
    }
}
