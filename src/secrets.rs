//! [`Secrets`], the secret values known from the environment and the configuration, and their
//! redaction from everything we write to a file or show in a trace. What is sent to agents is not
//! redacted.

pub mod search;

use crate::session::agent::AgentConfig;
use crate::session::credentials::{self, SHORTEST};
use parking_lot::RwLock;
use std::borrow::Cow;
use std::sync::Arc;

/// The secrets known so far. Clones share them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Vec<String>>>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.read().len())
    }
}

impl Secrets {
    /// Collects the secrets of this program's environment.
    pub fn of_environment() -> Self {
        let secrets = Self::default();
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            Some(credentials::of_variable(&name, &value))
        });
        secrets.add(variables.flatten());
        secrets
    }

    /// Adds the secrets an agent is started with.
    pub fn learn(&self, config: &AgentConfig) {
        self.add(credentials::of_agent(config));
    }

    /// Adds values, and the form each has inside a JSON string.
    pub fn add(&self, values: impl IntoIterator<Item = String>) {
        let mut all = self.0.write();
        for value in values.into_iter().filter(|value| value.len() >= SHORTEST) {
            let json = serde_json::Value::from(value.as_str()).to_string();
            all.push(json.trim_matches('"').to_owned());
            all.push(value);
        }
        // Longest first: where one secret contains another, the longer one has to be replaced.
        all.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
    }

    /// Returns how many are known. They only become more.
    pub fn known(&self) -> usize {
        self.0.read().len()
    }

    /// Replaces each secret in `text`.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        credentials::hide(text, &self.0.read())
    }

    /// Returns how many bytes of a text that still grows can be redacted and written by themselves:
    /// no secret crosses that position, whatever follows.
    pub fn safe_split(&self, text: &str) -> usize {
        let all = self.0.read();
        let longest = all.first().map_or(0, String::len);
        let floor = |end: usize| (0..=end).rev().find(|at| text.is_char_boundary(*at));
        let mut end = floor((text.len() + 1).saturating_sub(longest.max(1))).unwrap_or_default();
        let start_of_crossing = |end: usize| {
            (end.saturating_sub(longest)..end).filter(|at| text.is_char_boundary(*at)).find(|at| {
                let crosses = |secret: &String| {
                    at + secret.len() > end && text[*at..].starts_with(secret.as_str())
                };
                all.iter().any(crosses)
            })
        };
        while let Some(start) = start_of_crossing(end) {
            end = start;
        }
        end
    }

    /// Like [`Secrets::hide`] for bytes; returns what is not valid UTF-8 unchanged.
    pub fn hide_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match std::str::from_utf8(bytes).map(|text| self.hide(text)) {
            Ok(Cow::Owned(clean)) => Cow::Owned(clean.into_bytes()),
            Ok(Cow::Borrowed(_)) | Err(_) => Cow::Borrowed(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::credentials::HIDDEN;

    #[test]
    fn known_secrets_are_redacted_also_in_json() {
        let secrets = Secrets::default();
        let values = ["sk-12345678", "sk-12345678-long", "quote\"back\\slash", "short"];
        secrets.add(values.map(str::to_owned));
        let hidden = |text: &str| secrets.hide(text).into_owned();
        assert_eq!(hidden("key sk-12345678-long, sk-12345678"), "key [redacted], [redacted]");
        assert_eq!(hidden("quote\"back\\slash"), HIDDEN);
        assert_eq!(hidden(r#"{"a":"quote\"back\\slash"}"#), r#"{"a":"[redacted]"}"#);
        assert_eq!(hidden("short"), "short");
        assert_eq!(&*secrets.hide_bytes(b"\xff sk-12345678"), b"\xff sk-12345678");
    }

    #[test]
    fn a_secret_that_arrives_in_chunks_is_redacted() {
        let secrets = Secrets::default();
        assert_eq!(secrets.safe_split("all"), 3, "without secrets, everything can be written");
        secrets.add(["sk-12345678", "sk-12345678-löng"].map(str::to_owned));
        let text = "the key sk-12345678-löng, and sk-12345678, ü sk-1 ends";
        for size in 1..12 {
            let (mut written, mut rest) = (String::new(), String::new());
            let pieces: Vec<char> = text.chars().collect();
            for piece in pieces.chunks(size) {
                rest.extend(piece);
                let end = secrets.safe_split(&rest);
                written += &secrets.hide(&rest[..end]);
                rest.drain(..end);
                assert!(rest.len() < 3 * "sk-12345678-löng".len(), "{rest}");
            }
            written += &secrets.hide(&rest);
            assert_eq!(written, "the key [redacted], and [redacted], ü sk-1 ends");
        }
    }
}
