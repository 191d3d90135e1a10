//! Values that stand in no file of ours and in no trace, whoever says them: keys known from the environment and the
//! configuration. Nothing here changes what is sent.

use crate::session::agent::{AgentConfig, McpServer};
use parking_lot::RwLock;
use std::borrow::Cow;
use std::sync::Arc;

/// What stands in the place of a secret.
pub const HIDDEN: &str = "[redacted]";

/// A secret shorter than this is no secret, and hiding it would hide words. In bytes.
const SHORTEST: usize = 8;

/// The secrets that are known so far. Clones share them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Vec<String>>>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.read().len())
    }
}

impl Secrets {
    /// Those of this program's own environment: variables whose names say so.
    pub fn of_environment() -> Self {
        let secrets = Self::default();
        let named = std::env::vars_os().filter_map(|(name, value)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            is_secret(&name).then_some(value)
        });
        secrets.add(named);
        secrets
    }

    /// Those an agent is started with: variables whose names say so, and all that MCP servers get.
    pub fn learn(&self, config: &AgentConfig) {
        let named = config.base_env.iter().chain(&config.env).filter(|(name, _)| is_secret(name));
        let given = config.mcp_servers.iter().flat_map(|server| match server {
            McpServer::Stdio { env, .. } => env,
            McpServer::Http { headers, .. } | McpServer::Sse { headers, .. } => headers,
        });
        self.add(named.chain(given).map(|(_, value)| value.clone()));
    }

    /// These, too, and how each stands in JSON.
    pub fn add(&self, values: impl IntoIterator<Item = String>) {
        let mut all = self.0.write();
        for value in values.into_iter().filter(|value| value.len() >= SHORTEST) {
            let json = serde_json::Value::from(value.as_str()).to_string();
            all.push(json.trim_matches('"').to_owned());
            all.push(value);
        }
        // Where one secret holds another, the whole of it has to go.
        all.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
    }

    /// `text` without the secrets.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        for secret in self.0.read().iter() {
            if clean.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), HIDDEN));
            }
        }
        clean
    }

    /// The same for what is about to be written to a file; what is no UTF-8 holds none of them.
    pub fn hide_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match std::str::from_utf8(bytes).map(|text| self.hide(text)) {
            Ok(Cow::Owned(clean)) => Cow::Owned(clean.into_bytes()),
            Ok(Cow::Borrowed(_)) | Err(_) => Cow::Borrowed(bytes),
        }
    }
}

/// Whether what has this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let parts =
        ["authorization", "apikey", "secret", "passw", "passphrase", "credential", "cookie"];
    let ends = ["token", "accesskey", "privatekey", "bearer"];
    parts.iter().any(|part| name.contains(part)) || ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_hidden_wherever_it_turns_up() {
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
    fn names_say_what_is_a_secret() {
        for name in ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["HOME", "PATH", "TOKENIZERS_PARALLELISM", "KEYMAP", "PWD"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
