//! What must not be seen in logs and traces: environment values, headers, keys. Nothing here changes what is
//! sent.

use crate::secrets::{HIDDEN, Secrets, is_secret};
use serde_json::Value;
use std::borrow::Cow;

/// The longest text that a trace shows, in characters.
const LONGEST_TEXT: usize = 400;

/// Takes secrets out of what is shown of an agent's traffic.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Secrets,
}

impl Redactor {
    /// One that knows these, and those that are learnt later.
    pub fn new(secrets: Secrets) -> Self {
        Self { secrets }
    }

    /// `text` without the secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.secrets.hide(text)
    }

    /// Takes out of a message what must not be seen, and shortens long texts.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let clean = self.text(text);
                *text = shortened(&clean);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(map) => {
                if map.get("action").is_some_and(|action| action == "accept")
                    && let Some(content) = map.get_mut("content")
                {
                    // What the user filled in (ACP elicitation).
                    *content = filled_in(content);
                }
                // What is to be opened, and where MCP servers are: both may carry what opens a door.
                let is_door = map.get("mode").is_some_and(|mode| mode == "url")
                    || map.contains_key("headers");
                for (key, value) in map {
                    match key.as_str() {
                        "url" if is_door => *value = host_alone(value),
                        "env" | "headers" | "accounts" => hide(value),
                        key if is_secret(key) && value.is_string() => hide(value),
                        _ => self.json(value),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Hides every value, and leaves the names.
fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(map) => {
            map.iter_mut().filter(|(key, _)| *key != "name").for_each(|(_, value)| hide(value));
        }
        Value::Null => {}
        other => *other = HIDDEN.into(),
    }
}

/// An address up to its host.
fn host_alone(url: &Value) -> Value {
    let url = url.as_str().and_then(|url| url::Url::parse(url).ok());
    let place = url.as_ref().and_then(|url| Some((url.scheme(), url.host_str()?)));
    place.map_or(HIDDEN.into(), |(scheme, host)| format!("{scheme}://{host}/{HIDDEN}").into())
}

/// The keys of a form without what was entered, whatever they are called.
fn filled_in(content: &Value) -> Value {
    match content {
        Value::Object(map) => {
            let hidden = |key: &String| (key.clone(), Value::from(HIDDEN));
            Value::Object(map.keys().map(hidden).collect())
        }
        _ => HIDDEN.into(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((cut, _)) => format!("{}… ({} bytes)", &text[..cut], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// ACP 136.
    #[test]
    fn environment_headers_and_keys_are_hidden_and_names_stay() {
        let mut value = json!({
            "env": [{"name": "A", "value": "one"}], "headers": {"X": "two"},
            "nested": [{"apiKey": "three", "Authorization": "Bearer four", "access_token": "five"}],
            "usage": {"totalTokens": 6, "token_count": {"a": "seven"}}, "accounts": [{"label": "someone"}],
        });
        Redactor::default().json(&mut value);
        let shown = value.to_string();
        for secret in ["one", "two", "three", "four", "five", "someone"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains(r#""name":"A""#) && shown.contains("seven"), "{shown}");
    }

    /// ACP 136.
    #[test]
    fn of_addresses_that_open_doors_the_host_stays() {
        let mut value = json!({
            "params": {"mode": "url", "url": "https://me:one@a.test/two?code=three", "message": "m"},
            "mcpServers": [{"type": "http", "url": "http://b.test:1/four", "headers": []}],
            "rawInput": {"url": "https://c.test/page"},
        });
        Redactor::default().json(&mut value);
        assert_eq!(value["params"]["url"], "https://a.test/[redacted]");
        assert_eq!(value["mcpServers"][0]["url"], "http://b.test/[redacted]");
        assert_eq!(value["rawInput"]["url"], "https://c.test/page");
    }

    /// ACP 136.
    #[test]
    fn what_the_user_filled_in_is_hidden() {
        let content = json!({"name": "one", "list": ["two"], "n": 3, "env": {"name": "four"}});
        let mut value = json!({"id": 1, "result": {"action": "accept", "content": content}});
        Redactor::default().json(&mut value);
        let hidden = json!({"name": HIDDEN, "list": HIDDEN, "n": HIDDEN, "env": HIDDEN});
        assert_eq!(value["result"], json!({"action": "accept", "content": hidden}));
    }

    /// ACP 136.
    #[test]
    fn what_the_agent_was_started_with_is_hidden_wherever_it_turns_up() {
        let secrets = Secrets::default();
        secrets.add(["sk-12345678".to_owned()]);
        let mut value = json!({"content": "key sk-12345678", "sk-12345678": 1});
        Redactor::new(secrets).json(&mut value);
        assert_eq!(value["content"], "key [redacted]");
    }

    #[test]
    fn long_texts_are_shortened_at_a_character() {
        let mut value = json!("é".repeat(500));
        Redactor::default().json(&mut value);
        assert_eq!(
            value.as_str().map(|text| text.chars().count()),
            Some(400 + "… (1000 bytes)".chars().count())
        );
    }
}
