//! Requests to the web server that an agent runs behind: TLS, proxies, redirects, headers and cookies, and what stands in the
//! way put into words. It knows nothing of the messages.

use crate::core::messages::agent::{ExitCause, Obstacle};
use crate::session::agent::{AgentConfig, RemoteAgent};
use crate::session::label;
use parking_lot::Mutex;
use reqwest::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Method, NoProxy, Proxy, RequestBuilder, Response, StatusCode};
use rustls::CertificateError;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::time::Duration;
use url::Url;

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// How often the system and HTTP/2 check whether the server is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The largest number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// How many bytes of cookies are kept, with their names, and how much of an address is told, in characters.
const MAX_COOKIES: usize = 16 << 10;
const MAX_TARGET: usize = 200;

/// How many connections are kept open that nothing is sent through.
const MAX_IDLE: usize = 8;

/// A server and what it has to be sent with each request.
#[derive(Debug)]
pub(super) struct Server {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// By name. Servers with several machines lead a client to the same one by them.
    cookies: Mutex<BTreeMap<String, String>>,
}

/// Why a request has failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) obstacle: Obstacle,
    /// In words, without secrets.
    pub(super) detail: String,
    /// What the server has answered, if it has.
    pub(super) status: Option<StatusCode>,
}

impl Server {
    /// Creates the client for the URL of `remote`; a WebSocket needs HTTP/1.1. It reads certificates, so it may block. Fails if
    /// what is configured cannot be used.
    pub(super) fn new(
        config: &AgentConfig,
        remote: &RemoteAgent,
        is_websocket: bool,
    ) -> Result<Self, Failure> {
        // Fails if it has been chosen before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let unusable = |detail: String| Failure::new(Obstacle::Configuration, detail);
        let url = Url::parse(&remote.url).map_err(|error| unusable(error.to_string()))?;
        let (scheme, is_secure) = match url.scheme() {
            "ws" | "http" => ("http", false),
            _ => ("https", true),
        };
        let url = format!("{scheme}{}", &remote.url[url.scheme().len()..]);
        let url = Url::parse(&url).map_err(|error| unusable(error.to_string()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &remote.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_str(value);
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(unusable("a header cannot be sent".to_owned()));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let mut client = Client::builder()
            .user_agent(concat!("rat.nvim/", env!("CARGO_PKG_VERSION")))
            .redirect(same_origin(is_websocket))
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(KEEP_ALIVE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .pool_max_idle_per_host(MAX_IDLE)
            .no_proxy();
        if is_websocket {
            client = client.http1_only();
        }
        let authorities = match &remote.ca_file {
            Some(file) => authorities(file).map_err(unusable)?,
            None => Vec::new(),
        };
        // Reading those of the system takes a while and fails where there are none.
        client = if is_secure {
            client.tls_certs_merge(authorities)
        } else {
            client.tls_certs_only(authorities)
        };
        for proxy in proxies(config).map_err(unusable)? {
            client = client.proxy(proxy);
        }
        let client = client.build().map_err(|error| unusable(words(&error)))?;
        Ok(Self { client, url, headers, cookies: Mutex::default() })
    }

    /// Begins a request.
    pub(super) fn request(&self, method: Method) -> RequestBuilder {
        let mut headers = self.headers.clone();
        let cookies = self.cookies.lock();
        if !cookies.is_empty() && !headers.contains_key(COOKIE) {
            let pairs: Vec<_> =
                cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if let Ok(mut value) = HeaderValue::from_str(&pairs.join("; ")) {
                value.set_sensitive(true);
                headers.insert(COOKIE, value);
            }
        }
        drop(cookies);
        self.client.request(method, self.url.clone()).headers(headers)
    }

    /// Sends a request and waits for the head of the answer. An answer that refuses the request is an error.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| Failure::of(&error))?;
        self.keep_cookies(response.headers());
        let status = response.status();
        if status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        let detail = if status.is_redirection() {
            let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
            let target = location.and_then(|to| response.url().join(to).ok());
            format!(
                "it redirects to {}",
                target.map_or_else(
                    || "nowhere".to_owned(),
                    |target| label::short(&without_query(target), MAX_TARGET)
                )
            )
        } else {
            format!("it answered {}", status.to_string().trim())
        };
        Err(Failure { obstacle: obstacle(status), detail, status: Some(status) })
    }

    /// Keeps the cookies of an answer (RFC 6265). They all go to this one server, so their attributes do not matter, except
    /// for those that delete one.
    fn keep_cookies(&self, headers: &HeaderMap) {
        let mut cookies = self.cookies.lock();
        for cookie in headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
            let mut parts = cookie.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
                continue;
            };
            let deletes = parts.any(|part| part.eq_ignore_ascii_case("max-age=0"));
            if deletes || value.is_empty() {
                cookies.remove(name.trim());
            } else {
                cookies.insert(name.trim().to_owned(), value.trim().to_owned());
                let held = cookies.iter().map(|(name, value)| name.len() + value.len());
                // What cannot be sent back does not lead anywhere.
                if held.sum::<usize>() > MAX_COOKIES {
                    cookies.remove(name.trim());
                }
            }
        }
    }
}

impl Failure {
    pub(super) fn new(obstacle: Obstacle, detail: String) -> Self {
        Self { obstacle, detail, status: None }
    }

    /// What follows for a connection that could not be made.
    pub(super) fn unreachable(self) -> ExitCause {
        ExitCause::Unreachable { obstacle: self.obstacle, detail: self.detail }
    }

    /// What follows for a connection that has been made before.
    pub(super) fn lost(self) -> ExitCause {
        if self.obstacle.may_pass() { ExitCause::Lost(self.detail) } else { self.unreachable() }
    }

    /// Describes an error of the connection.
    pub(super) fn of(error: &reqwest::Error) -> Self {
        let mut source: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(current) = source {
            if let Some(error) = current.downcast_ref::<rustls::Error>() {
                return Self::of_tls(error);
            }
            // What such an error wraps is not its source.
            let wrapped = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            source = match wrapped {
                Some(wrapped) => Some(wrapped),
                None => current.source(),
            };
        }
        Self::new(Obstacle::NoAnswer, words(error))
    }

    fn of_tls(error: &rustls::Error) -> Self {
        use CertificateError as Bad;
        let (obstacle, detail) = match error {
            rustls::Error::InvalidCertificate(bad) => match bad {
                Bad::UnknownIssuer => (
                    Obstacle::UnknownAuthority,
                    "its certificate is from an unknown authority".to_owned(),
                ),
                Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                    (Obstacle::Certificate, "its certificate is for another name".to_owned())
                }
                Bad::Expired | Bad::ExpiredContext { .. } => {
                    (Obstacle::Certificate, "its certificate has expired".to_owned())
                }
                other => {
                    (Obstacle::Certificate, format!("its certificate is not valid ({other:?})"))
                }
            },
            other => (Obstacle::NoAgent, format!("TLS failed ({other})")),
        };
        Self::new(obstacle, detail)
    }
}

/// Follows redirects within the server, since headers with secrets must not go anywhere else. A request that would lose its body
/// by it is not repeated.
fn same_origin(is_websocket: bool) -> Policy {
    Policy::custom(move |attempt| {
        let origin = attempt.previous().first().map(Url::origin);
        let keeps_method = is_websocket
            || [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT]
                .contains(&attempt.status());
        let stays = origin == Some(attempt.url().origin());
        if stays && keeps_method && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

fn obstacle(status: StatusCode) -> Obstacle {
    match status {
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::PROXY_AUTHENTICATION_REQUIRED => Obstacle::Credentials,
        StatusCode::NOT_FOUND => Obstacle::NotFound,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Obstacle::NoAnswer,
        status if status.is_redirection() => Obstacle::Redirect,
        status if status.is_server_error() => Obstacle::NoAnswer,
        _ => Obstacle::NoAgent,
    }
}

/// Reads certificates of authorities. The error is in words.
fn authorities(file: &str) -> Result<Vec<Certificate>, String> {
    let pem = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let all = Certificate::from_pem_bundle(&pem).map_err(|error| words(&error));
    let all = all.map_err(|error| format!("{file}: {error}"))?;
    if all.is_empty() {
        return Err(format!("{file} has no certificate"));
    }
    Ok(all)
}

/// Returns the proxies that the agent's environment names, as other programs read it.
fn proxies(config: &AgentConfig) -> Result<Vec<Proxy>, String> {
    let variable = |name: &str| {
        let value = config.variable(&name.to_ascii_lowercase()).or_else(|| config.variable(name));
        value.filter(|value| !value.is_empty())
    };
    let excepted = variable("NO_PROXY").and_then(NoProxy::from_string);
    let all = variable("ALL_PROXY");
    let mut proxies = Vec::new();
    for (name, is_secure) in [("HTTPS_PROXY", true), ("HTTP_PROXY", false)] {
        let Some(address) = variable(name).or(all) else { continue };
        let proxy = if is_secure { Proxy::https(address) } else { Proxy::http(address) };
        // The URL is not repeated, because it may hold a password.
        let proxy = proxy.map_err(|_| format!("{name} or ALL_PROXY is not a URL"))?;
        proxies.push(proxy.no_proxy(excepted.clone()));
    }
    Ok(proxies)
}

/// Describes an error by its innermost cause: the outer ones repeat the URL.
fn words(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let words = match innermost.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_timeout() => "it did not answer in time".to_owned(),
        Some(_) => "the request failed".to_owned(),
        None => innermost.to_string(),
    };
    words.lines().next().unwrap_or_default().to_owned()
}

fn without_query(mut url: Url) -> String {
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.into()
}
