//! Resolves the URL of an agent that runs elsewhere, and its headers with what they take from the environment.

use super::options::AgentOptions;
use crate::session::agent::RemoteAgent;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

/// The beginning of the URL of a Unix socket; a path follows.
const UNIX: &str = "unix://";

/// The header with credentials (RFC 9110, section 11.6.2).
const AUTHORIZATION: &str = "authorization";

/// Returns how to reach an agent, if `options` have a URL. `variable` looks up the agent's environment. The error
/// is one line without any secret.
pub(super) fn remote(
    setting: &dyn Fn(&str) -> String,
    options: &AgentOptions,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<RemoteAgent>, String> {
    let Some(given) = &options.url else { return Ok(None) };
    if options.command.is_some() {
        return Err(format!("{} has both command and url; set only one", setting("")));
    }
    let mut secrets = Vec::new();
    let mut headers = Vec::new();
    for (header, value) in &options.headers {
        let problem = |what: &str| format!("{} {what}", setting(&format!("headers.{header}")));
        let value = expanded(value, variable, &mut secrets).map_err(|what| problem(&what))?;
        if header.is_empty() || !header.bytes().all(is_token) {
            return Err(problem("is not the name of a header"));
        }
        if value.chars().any(char::is_control) {
            return Err(problem("contains a line break or another control character"));
        }
        headers.push((header.to_ascii_lowercase(), value));
    }
    let url = if given.starts_with(UNIX) {
        socket(setting, given, &headers)?
    } else {
        web(setting, given, &mut headers, &mut secrets)?
    };
    let home = || variable("HOME");
    let ca_file = options.ca_file.as_ref().map(|path| match path.strip_prefix("~/").zip(home()) {
        Some((rest, home)) => format!("{}/{rest}", home.trim_end_matches('/')),
        None => path.clone(),
    });
    Ok(Some(RemoteAgent { url, headers, ca_file, secrets }))
}

fn socket(
    setting: &dyn Fn(&str) -> String,
    given: &str,
    headers: &[(String, String)],
) -> Result<String, String> {
    if !given[UNIX.len()..].starts_with('/') {
        return Err(format!("{} needs an absolute path, as in unix:///run/agent", setting("url")));
    }
    if !headers.is_empty() {
        return Err(format!("{} cannot be sent to a Unix socket", setting("headers")));
    }
    Ok(given.to_owned())
}

/// Checks a web URL. Its user and password become a header.
fn web(
    setting: &dyn Fn(&str) -> String,
    given: &str,
    headers: &mut Vec<(String, String)>,
    secrets: &mut Vec<String>,
) -> Result<String, String> {
    const SCHEMES: &str = "it must begin with unix://, ws://, wss://, http:// or https://";
    // The URL is not repeated, because it may hold a password.
    let mut url = Url::parse(given)
        .map_err(|error| format!("{} is not a URL ({error}); {SCHEMES}", setting("url")))?;
    if !matches!(url.scheme(), "ws" | "wss" | "http" | "https") {
        let scheme = url.scheme();
        return Err(format!("{} begins with {scheme}:; {SCHEMES}", setting("url")));
    }
    let decoded = |text: &str| {
        let pairs = format!("x={}", text.replace('+', "%2B"));
        url::form_urlencoded::parse(pairs.as_bytes())
            .next()
            .map_or_else(String::new, |(_, text)| text.into_owned())
    };
    let (user, password) = (decoded(url.username()), url.password().map(decoded));
    if !user.is_empty() || password.is_some() {
        secrets.extend(url.password().map(str::to_owned).into_iter().chain(password.clone()));
        let encoded = STANDARD.encode(format!("{user}:{}", password.unwrap_or_default()));
        secrets.push(encoded.clone());
        if !headers.iter().any(|(name, _)| name == AUTHORIZATION) {
            headers.push((AUTHORIZATION.to_owned(), format!("Basic {encoded}")));
        }
        // Fails only for URLs without a host, which these schemes do not allow.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
    }
    url.set_fragment(None);
    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    secrets.extend(url.query().map(str::to_owned));
    Ok(url.into())
}

/// Replaces each `${NAME}` in `text` by a variable, and adds its value to `secrets`. The error continues the name of the option.
fn expanded(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    secrets: &mut Vec<String>,
) -> Result<String, String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("has ${ without }")?;
        let value = variable(name).filter(|value| !value.is_empty());
        let value = value
            .ok_or_else(|| format!("needs the environment variable {name}, which is not set"))?;
        whole.push_str(before);
        whole.push_str(&value);
        secrets.push(value);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Whether the name of a header may contain this byte (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::agent::ConfigSource;

    fn resolved(json: serde_json::Value) -> Result<Option<RemoteAgent>, String> {
        let options: AgentOptions = serde_json::from_value(json).unwrap();
        remote(&|key| ConfigSource::Options.setting("a", key), &options, &|name| {
            let known = [("TOKEN", "secret-token"), ("EMPTY", ""), ("HOME", "/home/me")];
            known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn problem(json: serde_json::Value) -> String {
        resolved(json).expect_err("a problem")
    }

    /// Holds (Transports): Headers take variables from the environment; one that is not set is told in one line.
    #[test]
    fn headers_take_variables_from_the_environment() {
        let json = serde_json::json!({
            "url": "wss://host/acp", "ca_file": "~/ca.pem",
            "headers": {"Authorization": "Bearer ${TOKEN}", "X-Plain": "a$b {c}"},
        });
        let agent = resolved(json).unwrap().unwrap();
        assert_eq!(agent.url, "wss://host/acp");
        assert_eq!(agent.ca_file.as_deref(), Some("/home/me/ca.pem"));
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected =
            [header("authorization", "Bearer secret-token"), header("x-plain", "a$b {c}")];
        assert_eq!(agent.headers, expected);
        assert!(agent.secrets.iter().any(|secret| secret == "secret-token"));
        let unset = |name: &str| {
            let value = format!("Bearer ${{{name}}}");
            problem(serde_json::json!({"url": "ws://h", "headers": {"Authorization": value}}))
        };
        let expected =
            "agents.a.headers.Authorization needs the environment variable NO, which is not set";
        assert_eq!(unset("NO"), expected);
        assert_eq!(unset("EMPTY"), expected.replace("NO", "EMPTY"));
    }

    #[test]
    fn credentials_in_an_address_become_a_header_and_are_not_shown() {
        let json = serde_json::json!({"url": "https://me:pa%20ss+word@host:1/a?key=very-secret#x"});
        let agent = resolved(json).unwrap().unwrap();
        assert_eq!(agent.url, "https://host:1/a?key=very-secret");
        assert_eq!(agent.shown(), "https://host:1/a");
        let basic = STANDARD.encode("me:pa ss+word");
        assert_eq!(agent.headers, [("authorization".to_owned(), format!("Basic {basic}"))]);
        for secret in ["pa%20ss+word", "pa ss+word", &basic, "very-secret"] {
            assert!(agent.secrets.iter().any(|known| known == secret), "{secret}");
        }
        let shown = format!("{agent:?}");
        assert!(!shown.contains("secret") && !shown.contains(&basic), "{shown}");
        assert!(shown.contains("https://host:1/a") && shown.contains("authorization"), "{shown}");
    }

    /// Holds (Transports): A URL that makes no sense, or one beside a command, is told in one line.
    #[test]
    fn what_makes_no_sense_is_told_in_one_line() {
        use serde_json::json;
        let schemes = "it must begin with unix://, ws://, wss://, http:// or https://";
        for (json, expected) in [
            (
                json!({"url": "ws://h", "command": "x"}),
                "agents.a has both command and url; set only one",
            ),
            (
                json!({"url": "ftp://me:pw@h"}),
                &*format!("agents.a.url begins with ftp:; {schemes}"),
            ),
            (
                json!({"url": "localhost"}),
                &format!("agents.a.url is not a URL (relative URL without a base); {schemes}"),
            ),
            (
                json!({"url": "unix://x"}),
                "agents.a.url needs an absolute path, as in unix:///run/agent",
            ),
            (
                json!({"url": "unix:///x", "headers": {"A": "b"}}),
                "agents.a.headers cannot be sent to a Unix socket",
            ),
            (
                json!({"url": "ws://h", "headers": {"A b": "c"}}),
                "agents.a.headers.A b is not the name of a header",
            ),
            (
                json!({"url": "ws://h", "headers": {"A": "${TOKEN"}}),
                "agents.a.headers.A has ${ without }",
            ),
            (
                json!({"url": "ws://h", "headers": {"A": "b\nc"}}),
                "agents.a.headers.A contains a line break or another control character",
            ),
        ] {
            assert_eq!(problem(json), expected);
        }
        assert_eq!(resolved(json!({"command": "x"})), Ok(None));
    }
}
