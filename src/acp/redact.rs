//! Removes environment values, headers, keys and what the user entered from copies of messages for logs and traces. What is
//! sent to agents is not changed.

use crate::secrets::Secrets;
use crate::secrets::search::Search;
use crate::session::credentials::{HIDDEN, SECRET_ENDS, SECRET_PARTS, is_secret};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// How much of a string a trace shows, in characters.
const MAX_TEXT_CHARS: usize = 400;

/// A string from this size on that is no key is not searched for what is only the case in short ones, such as the kind of an
/// update.
const LONG_STRING_BYTES: usize = 256;

/// Hides secrets in the traffic with an agent.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Secrets,
}

impl Redactor {
    /// Creates a redactor for `secrets`, including those that are added to them later.
    pub fn new(secrets: Secrets) -> Self {
        Self { secrets }
    }

    /// Returns `text` without the secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.secrets.hide(text)
    }

    /// Hides the confidential parts of a message and shortens long strings.
    pub fn json(&self, value: &mut Value) {
        self.clean(value, true);
    }

    /// Hides the confidential parts of a message. Returns `false` if there were none: then it is as it was.
    pub fn whole(&self, value: &mut Value) -> bool {
        self.clean(value, false)
    }

    /// Whether [`Self::whole`] may hide anything in this JSON text. Much faster, so that most messages need not be parsed.
    pub fn may_hide(&self, json: &str) -> bool {
        SUSPICIOUS.as_ref().is_none_or(|words| is_suspicious(json, words))
            || matches!(self.text(json), Cow::Owned(_))
    }

    /// Returns how many secrets are known; more may be added later.
    pub fn known(&self) -> usize {
        self.secrets.known()
    }

    /// Returns a search for the secrets that are known by now.
    pub fn search(&self) -> Search {
        Search::new(&self.secrets)
    }

    fn clean(&self, value: &mut Value, shortens: bool) -> bool {
        match value {
            Value::String(text) => {
                let clean = self.text(text);
                let hides = matches!(clean, Cow::Owned(_));
                if shortens {
                    *text = shortened(&clean);
                } else if hides {
                    *text = clean.into_owned();
                }
                hides
            }
            Value::Number(number) => {
                let hides = matches!(self.text(&number.to_string()), Cow::Owned(_));
                if hides {
                    *value = HIDDEN.into();
                }
                hides
            }
            // Not `any`, which stops at the first.
            Value::Array(items) => {
                items.iter_mut().fold(false, |hides, item| self.clean(item, shortens) | hides)
            }
            Value::Object(map) => self.clean_object(map, shortens),
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Hides secrets in the output of a terminal, which is encoded in base64 (ACP 2).
    fn clean_bytes(&self, data: Option<&mut Value>) -> bool {
        let Some(Value::String(data)) = data else { return false };
        let Ok(bytes) = STANDARD.decode(&*data) else { return false };
        match self.text(&String::from_utf8_lossy(&bytes)) {
            Cow::Owned(clean) => *data = STANDARD.encode(clean),
            Cow::Borrowed(_) => return false,
        }
        true
    }

    fn clean_object(&self, map: &mut Map<String, Value>, shortens: bool) -> bool {
        let mut hides = false;
        if map.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
            let named = std::mem::take(map).into_iter();
            *map = named.map(|(key, value)| (self.text(&key).into_owned(), value)).collect();
            hides = true;
        }
        if map.get("action").is_some_and(|action| action == "accept")
            && let Some(content) = map.get_mut("content")
        {
            // The user's input to a form (ACP elicitation).
            *content = without_values(content);
            hides = true;
        }
        if map.get("sessionUpdate").and_then(Value::as_str).is_some_and(has_bytes) {
            hides |= self.clean_bytes(map.get_mut("data"));
            hides |=
                self.clean_bytes(map.get_mut("output").and_then(|output| output.get_mut("data")));
        }
        // The URLs of elicitations and of MCP servers may contain credentials.
        let has_confidential_url =
            map.get("mode").is_some_and(|mode| mode == "url") || map.contains_key("headers");
        for (key, value) in map {
            match key.as_str() {
                "url" if has_confidential_url => *value = host_only(value),
                "env" | "headers" | "accounts" => hide(value),
                key if is_secret(key) && value.is_string() => hide(value),
                _ => {
                    hides |= self.clean(value, shortens);
                    continue;
                }
            }
            hides = true;
        }
        hides
    }
}

/// Finds keys by which values are hidden, wherever they stand. `None` if it cannot be compiled.
static SUSPICIOUS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let spread = |word: &&str| word.chars().map(String::from).collect::<Vec<_>>().join("[-_]*");
    let words: Vec<String> = SECRET_PARTS.iter().chain(&SECRET_ENDS).map(spread).collect();
    let keys =
        r#""(?:env|headers|accounts|action|mode|url|terminal_update|terminal_output_chunk)""#;
    Regex::new(&format!("(?i-u:{keys}|{})", words.join("|"))).ok()
});

/// Whether a JSON text has keys by which values are hidden, or escapes that can conceal them.
fn is_suspicious(json: &str, words: &Regex) -> bool {
    let (mut rest, mut tries) = (json, json.len() / LONG_STRING_BYTES);
    // Most of a long text is in a few long strings, in which only the escapes matter.
    while tries > 0
        && let Some(start) = memchr::memchr(b'"', rest.as_bytes())
    {
        let Some(len) = len_of_string(&rest[start..]) else { return true };
        let (string, after) = rest[start..].split_at(len);
        let is_key = after.trim_start().starts_with(':');
        if is_key || len < LONG_STRING_BYTES {
            tries -= 1;
            if words.is_match(string) {
                return true;
            }
        }
        rest = after;
    }
    has_rare_escape(rest) || words.is_match(rest)
}

/// Returns how long a string at the beginning of a JSON text is, with its quotes. `None` if it has no end, or escapes that can
/// conceal a secret or a key: any but the usual ones, which secrets are known with.
fn len_of_string(json: &str) -> Option<usize> {
    let bytes = json.as_bytes();
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        is_usual_escape(bytes.get(at + 1)).then_some(())?;
        at += 2;
    }
}

fn has_rare_escape(json: &str) -> bool {
    let mut rest = json.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if !is_usual_escape(rest.get(at + 1)) {
            return true;
        }
        rest = &rest[at + 2..];
    }
    false
}

fn is_usual_escape(after_backslash: Option<&u8>) -> bool {
    matches!(after_backslash, Some(b'n' | b't' | b'r' | b'"' | b'\\'))
}

/// Whether an update has the output of a terminal.
fn has_bytes(update: &str) -> bool {
    matches!(update, "terminal_update" | "terminal_output_chunk")
}

/// Hides all values except for those of the key `name`.
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

/// Returns the scheme and host of a URL.
fn host_only(url: &Value) -> Value {
    let url = url.as_str().and_then(|url| url::Url::parse(url).ok());
    let parts = url.as_ref().and_then(|url| Some((url.scheme(), url.host_str()?)));
    parts.map_or(HIDDEN.into(), |(scheme, host)| format!("{scheme}://{host}/{HIDDEN}").into())
}

/// Hides all values of a form, including that of the key `name`.
fn without_values(content: &Value) -> Value {
    match content {
        Value::Object(map) => {
            let hidden = |key: &String| (key.clone(), Value::from(HIDDEN));
            Value::Object(map.keys().map(hidden).collect())
        }
        _ => HIDDEN.into(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((cut, _)) => format!("{}… ({} bytes)", &text[..cut], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// ACP 136.
    #[test]
    fn environment_headers_and_keys_are_hidden_but_not_their_names() {
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
    fn confidential_urls_are_reduced_to_their_host() {
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
    fn the_users_input_to_a_form_is_hidden() {
        let content = json!({"name": "one", "list": ["two"], "n": 3, "env": {"name": "four"}});
        let mut value = json!({"id": 1, "result": {"action": "accept", "content": content}});
        Redactor::default().json(&mut value);
        let hidden = json!({"name": HIDDEN, "list": HIDDEN, "n": HIDDEN, "env": HIDDEN});
        assert_eq!(value["result"], json!({"action": "accept", "content": hidden}));
    }

    /// ACP 136.
    #[test]
    fn known_secrets_are_hidden_in_any_string() {
        let secrets = Secrets::default();
        secrets.add(["sk-12345678".to_owned()]);
        let mut value = json!({"content": "key sk-12345678", "sk-12345678": 1});
        Redactor::new(secrets).json(&mut value);
        assert_eq!(value["content"], "key [redacted]");
    }

    /// ACP 136.
    #[test]
    fn known_secrets_are_hidden_in_the_bytes_of_a_terminal() {
        let secrets = Secrets::default();
        secrets.add(["sk-12345678".to_owned()]);
        let redactor = Redactor::new(secrets);
        let data = |bytes: &[u8]| STANDARD.encode(bytes);
        for (said, hidden) in [
            (&b"key sk-12345678\xff end"[..], "key [redacted]\u{fffd} end"),
            (&b"none\xff"[..], ""),
        ] {
            for mut value in [
                json!({"sessionUpdate": "terminal_update", "output": {"data": data(said)}}),
                json!({"sessionUpdate": "terminal_output_chunk", "data": data(said)}),
            ] {
                assert!(redactor.may_hide(&value.to_string()));
                let is_hidden = redactor.whole(&mut value);
                let now = value.to_string();
                assert_eq!(is_hidden, !hidden.is_empty());
                let expected = if is_hidden { data(hidden.as_bytes()) } else { data(said) };
                assert!(now.contains(&expected), "{now}");
            }
        }
    }

    /// ACP 136.
    #[test]
    fn what_is_kept_whole_is_as_it_was_but_for_secrets() {
        let secrets = Secrets::default();
        secrets.add(["sk-12345678".to_owned(), "1234567890".to_owned()]);
        let redactor = Redactor::new(secrets);
        let plain = json!({"text": "x".repeat(5000), "n": [1, 2.5, null], "env": null});
        let mut value = json!({"a": plain["text"], "n": plain["n"]});
        assert!(!redactor.whole(&mut value));
        assert_eq!(value, json!({"a": plain["text"], "n": plain["n"]}));
        let mut value = json!({
            "x": "sk-12345678", "sk-12345678": 1, "n": 1_234_567_890, "text": plain["text"],
            "env": {"A": "b"}, "list": ["sk-12345678", "sk-12345678"],
        });
        assert!(redactor.whole(&mut value));
        let shown = value.to_string();
        assert!(!shown.contains("12345678") && !shown.contains(r#""b""#), "{shown}");
        assert_eq!(value["text"], plain["text"]);
    }

    proptest! {
        /// What is not looked at has nothing to hide.
        #[test]
        fn nothing_is_hidden_where_nothing_may_be(
            key in "(API_?KEY|to-ken|Cookie|env|headers|url|mode|accounts|action|text|x_Pass-Wd|name)",
            value in "(accept|url|sk-12345678|a\"b\\\\c12345|words|\n|/)",
            unusual in any::<bool>(),
            long in prop::sample::select(vec![0, 300, 5000]),
            is_first in any::<bool>(),
        ) {
            let secrets = Secrets::default();
            secrets.add(["sk-12345678", "a\"b\\c12345", "87654321"].map(str::to_owned));
            let redactor = Redactor::new(secrets);
            let message = json!({"p": {key: value, "at": "x/y", "content": {"a": 12_345_678}}});
            let long = json!("a\n\"b".repeat(long)).to_string();
            let mut text = if is_first {
                format!(r#"{{"long" : {long},"message" : {message}}}"#)
            } else {
                format!(r#"{{"message":{message},"long":[{long}]}}"#)
            };
            if unusual {
                text = text.replace('/', "\\/").replace('k', "\\u006b");
            }
            let mut parsed: Value = serde_json::from_str(&text).unwrap();
            prop_assert!(!redactor.whole(&mut parsed) || redactor.may_hide(&text), "{text}");
        }
    }

    #[test]
    fn long_strings_are_cut_between_characters() {
        let mut value = json!("é".repeat(500));
        Redactor::default().json(&mut value);
        assert_eq!(
            value.as_str().map(|text| text.chars().count()),
            Some(400 + "… (1000 bytes)".chars().count())
        );
    }
}
