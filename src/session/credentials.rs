//! Credentials in the configuration of an agent: which variables, arguments and URLs hold one. What they are hidden from is
//! decided elsewhere.

use super::agent::{AgentConfig, McpServer};
use std::borrow::Cow;
use url::{Url, form_urlencoded};

/// What a secret is replaced by.
pub const HIDDEN: &str = "[redacted]";

/// Values of fewer bytes are not treated as secrets: redacting them would redact ordinary words.
pub const SHORTEST: usize = 8;

/// What the name of a secret contains, without `-` and `_`.
pub const SECRET_PARTS: [&str; 7] =
    ["authorization", "apikey", "secret", "passw", "passphrase", "credential", "cookie"];

/// How else it may end.
pub const SECRET_ENDS: [&str; 4] = ["token", "accesskey", "privatekey", "bearer"];

/// The last words of variables and options that hold a secret. Too common for the fields of messages.
const SECRET_WORDS: [&str; 7] = ["key", "pat", "auth", "pass", "pwd", "dsn", "webhook"];

/// The last words of variables whose values are ordinary words, which sessions are full of.
const PLAIN_WORDS: [&str; 6] = ["model", "region", "profile", "level", "lang", "mode"];

/// How tokens of well-known services begin.
const TOKEN_PREFIXES: [&str; 15] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "hf_",
    "npm_",
    "pypi-",
    "eyJ",
];

/// The fewest letters and digits in a row that look random.
const RANDOM_LEN: usize = 20;

/// Whether a variable, header or field with this name holds a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns the secrets an agent is started with, longest first: in its environment, its arguments, its URL and headers, and
/// those of its MCP servers.
pub fn of_agent(config: &AgentConfig) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in &config.base_env {
        found.extend(of_variable(name, value));
    }
    for (name, value) in &config.env {
        found.extend(of_setting(name, value));
    }
    found.extend(in_arguments(&config.args));
    for server in &config.mcp_servers {
        match server {
            McpServer::Stdio { args, env, .. } => {
                found.extend(in_arguments(args));
                found.extend(env.iter().flat_map(|(name, value)| of_setting(name, value)));
            }
            McpServer::Http { url, headers, .. } | McpServer::Sse { url, headers, .. } => {
                found.extend(in_url(url));
                found.extend(in_headers(headers));
            }
        }
    }
    if let Some(remote) = &config.remote {
        found.extend(remote.secrets.iter().cloned());
        found.extend(in_headers(&remote.headers));
    }
    found.retain(|value| value.len() >= SHORTEST);
    found.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    found.dedup();
    found
}

/// Returns the secrets in a variable of the environment, which nobody has set for an agent.
pub fn of_variable(name: &str, value: &str) -> Vec<String> {
    if is_secret(name) || ends_with_one_of(name, &SECRET_WORDS) {
        return std::iter::once(value.to_owned()).chain(in_url(value)).collect();
    }
    in_url(value)
}

/// Replaces each of `secrets` in a text by [`HIDDEN`]. The longest have to come first: they may contain others.
pub fn hide<'a>(text: &'a str, secrets: &[String]) -> Cow<'a, str> {
    let mut clean = Cow::Borrowed(text);
    for secret in secrets {
        if clean.contains(secret.as_str()) {
            clean = Cow::Owned(clean.replace(secret.as_str(), HIDDEN));
        }
    }
    clean
}

/// Returns the secrets in a variable that the user has set for an agent or an MCP server. Whatever its name, its value may be
/// one, unless it is a path or an address.
fn of_setting(name: &str, value: &str) -> Vec<String> {
    let is_path = ["/", "~/", "./", "../"].iter().any(|start| value.starts_with(start));
    let is_plain = is_path || value.contains("://") || ends_with_one_of(name, &PLAIN_WORDS);
    let mut found = of_variable(name, value);
    if !is_plain || looks_random(value) {
        found.push(value.to_owned());
    }
    found
}

/// Returns the secrets in headers: their values, and the words of those that are named like a secret, because the scheme of an
/// authorization is a word before it.
fn in_headers(headers: &[(String, String)]) -> Vec<String> {
    let named = headers.iter().filter(|(name, _)| is_secret(name));
    let words = named.flat_map(|(_, value)| value.split_whitespace()).map(str::to_owned);
    headers.iter().map(|(_, value)| value.clone()).chain(words).collect()
}

/// Returns the secrets in the arguments of a program, which may be a command line for a shell: the values of options and
/// variables with such names, headers, URLs, and what looks random.
fn in_arguments(args: &[String]) -> Vec<String> {
    let headers = args.iter().filter_map(|arg| arg.split_once(": "));
    let headers = headers.filter(|(name, _)| is_secret(name));
    let headers: Vec<_> = headers.map(|(name, value)| (name.into(), value.into())).collect();
    let mut found = in_headers(&headers);
    let mut follows_name = false;
    let unquoted = |word: &'_ str| word.trim_matches(['"', '\'']).to_owned();
    for word in args.iter().flat_map(|arg| arg.split_whitespace()).map(unquoted) {
        // In a URL, `=` belongs to its query.
        let pair = word.split_once('=').filter(|(name, _)| !name.contains("://"));
        let (name, value) = pair.unwrap_or(("", &word));
        let value = unquoted(value);
        found.extend(in_url(&value));
        if follows_name && !word.starts_with('-') {
            found.push(word.clone());
        }
        if is_name_of_secret(name) || looks_random(&value) && !value.contains("://") {
            found.push(value);
        }
        follows_name = pair.is_none() && word.starts_with('-') && is_name_of_secret(&word);
    }
    found
}

/// Whether an option or a variable of this name holds a secret.
fn is_name_of_secret(name: &str) -> bool {
    let name = name.trim_start_matches('-');
    is_secret(name) || ends_with_one_of(&format!("-{name}"), &SECRET_WORDS)
}

/// Returns the secrets in a URL: its password, the values in its query, and the parts of its path that look random, as those of
/// webhooks do.
fn in_url(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.split_once("://") else { return Vec::new() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password that is not encoded may have any character.
    let authority = if Url::parse(text).is_ok() { &rest[..end] } else { rest };
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| match user.split_once(':') {
        Some((_, password)) => Some(password),
        None => looks_random(user).then_some(user),
    });
    let (path, query) = rest[end..].split_once('?').unwrap_or((&rest[end..], ""));
    let values = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1));
    let parts = path.split('/').filter(|part| looks_random(part));
    let raw = password.into_iter().chain(values).chain(parts);
    raw.flat_map(|raw| [raw.to_owned(), decoded(raw)]).collect()
}

/// Returns a part of a URL without its percent-encoding.
fn decoded(part: &str) -> String {
    let pair = format!("={}", part.replace('+', "%2B").replace('&', "%26"));
    form_urlencoded::parse(pair.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

fn ends_with_one_of(name: &str, words: &[&str]) -> bool {
    let last = name.rsplit_once(['_', '-']).map(|(_, last)| last);
    last.is_some_and(|last| words.iter().any(|word| last.eq_ignore_ascii_case(word)))
}

/// Whether a word looks like a token.
fn looks_random(word: &str) -> bool {
    let is_random = |run: &str| {
        run.len() >= RANDOM_LEN
            && run.contains(|c: char| c.is_ascii_digit())
            && run.contains(|c: char| c.is_ascii_alphabetic())
    };
    word.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random)
        || TOKEN_PREFIXES
            .iter()
            .any(|prefix| word.starts_with(prefix) && word.len() >= prefix.len() + SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::agent::RemoteAgent;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn secrets_are_recognized_by_name() {
        for name in ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["HOME", "PATH", "TOKENIZERS_PARALLELISM", "KEYMAP", "PWD"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn variables_are_recognized_by_their_name_or_value() {
        let hunter = "correct-horse";
        for name in ["OPENAI_KEY", "GH_PAT", "NPM_AUTH", "GPG_PASSPHRASE", "DB_PASS", "SENTRY_DSN"]
        {
            assert_eq!(of_variable(name, hunter), [hunter], "{name}");
        }
        for name in ["HOME", "PATH", "OLDPWD", "SSH_AUTH_SOCK", "GIT_ASKPASS", "KEYMAP", "EDITOR"] {
            assert!(of_variable(name, hunter).is_empty(), "{name}");
        }
        let url = "postgres://me:p%40ssword1@db.test/main?sslmode=require";
        let found = of_variable("DATABASE_URL", url);
        assert_eq!(hide(url, &found[..2]), "postgres://me:[redacted]@db.test/main?sslmode=require");
        assert!(found.contains(&"p@ssword1".to_owned()), "{found:?}");
        let raw = of_variable("DATABASE_URL", "postgres://me:pass/w#rd12@db.test/main");
        assert_eq!(raw[0], "pass/w#rd12");
        for (name, value, secret) in [
            (
                "SLACK_URL",
                "https://hooks.slack.test/services/T0/B0/aB3dE6gH9kL2nP5rS8uV",
                "aB3dE6gH9kL2nP5rS8uV",
            ),
            ("SLACK_WEBHOOK", "https://hooks.test/plain", "https://hooks.test/plain"),
            ("REPO", "https://ghp_1234567890@git.test/a", "ghp_1234567890"),
            ("PROXY", "https://me:hunter2hunter2@proxy.test", "hunter2hunter2"),
        ] {
            assert_eq!(of_variable(name, value)[0], secret, "{name}");
        }
        let plain = "https://registry.test/@scope/package/2024-10-22";
        assert!(of_variable("REGISTRY", plain).is_empty());
    }

    #[test]
    fn arguments_are_recognized_by_the_option_before_them_or_by_themselves() {
        for args in [
            &["--api-key", "correct-horse"][..],
            &["--key=correct-horse"],
            &["--pat", "correct-horse"],
            &["-H", "Authorization: Bearer correct-horse"],
            &["-c", "SOME_TOKEN='correct-horse' server --flag"],
            &["--url", "postgres://me:correct-horse@db.test/x"],
            &["--url=https://mcp.test/sse?key=correct-horse"],
        ] {
            let found = in_arguments(&owned(args));
            assert!(found.contains(&"correct-horse".to_owned()), "{args:?}: {found:?}");
        }
        for token in ["sk-ant-1234567890", "ghp_abcdefgh", "0123456789abcdef0123456789abcdef"] {
            assert_eq!(in_arguments(&owned(&["-y", "server", token])), [token]);
        }
        let plain = owned(&[
            "-y",
            "@modelcontextprotocol/server-filesystem@2025.8.21",
            "/home/me/project",
            "--model=claude-sonnet-4-5-20250929",
            "--port",
            "8080",
            "--url",
            "http://localhost:8080/sse",
            "--key-file=/etc/key",
        ]);
        assert!(in_arguments(&plain).is_empty(), "{:?}", in_arguments(&plain));
    }

    /// Holds (Hostile agents): Secrets of the configuration are known wherever they stand: in arguments, variables of any name, URLs and headers.
    #[test]
    fn the_secrets_of_an_agent_are_found_wherever_they_stand() {
        let mut config = AgentConfig::new("mine".into(), "agent".to_owned());
        config.args = owned(&["--token", "secret-argument"]);
        config.base_env = pairs(&[("OPENAI_KEY", "secret-inherited"), ("HOME", "/home/me/long")]);
        config.env = pairs(&[
            ("PLAIN", "secret-setting"),
            ("FOLDER", "/srv/project"),
            ("LLM_MODEL", "claude-sonnet"),
            ("BASE_URL", "http://localhost:11434/v1"),
        ]);
        config.mcp_servers = vec![
            McpServer::Stdio {
                name: "local".to_owned(),
                command: "/bin/server".to_owned(),
                args: owned(&["--password=secret-option", "/srv/project"]),
                env: pairs(&[("A", "secret-server"), ("ROOT", "/srv/project")]),
            },
            McpServer::Http {
                name: "web".to_owned(),
                url: "https://mcp.test/?key=secret-query".to_owned(),
                headers: pairs(&[("Authorization", "Bearer secret-header"), ("X", "secret-other")]),
            },
        ];
        config.remote = Some(RemoteAgent {
            url: "wss://agent.test".to_owned(),
            headers: pairs(&[("cookie", "a secret-cookie")]),
            ca_file: None,
            secrets: owned(&["secret-own"]),
        });
        let found = of_agent(&config);
        let mut bare: Vec<_> = found.iter().filter(|it| it.starts_with("secret-")).collect();
        bare.sort_unstable();
        let expected = [
            "argument",
            "cookie",
            "header",
            "inherited",
            "option",
            "other",
            "own",
            "query",
            "server",
            "setting",
        ];
        assert_eq!(bare, expected.map(|name| format!("secret-{name}")).iter().collect::<Vec<_>>());
        let whole = ["Bearer secret-header", "a secret-cookie"];
        assert_eq!(found.len(), bare.len() + whole.len(), "{found:?}");
        assert_eq!(hide("a Bearer secret-header b", &found), "a [redacted] b");
    }
}
