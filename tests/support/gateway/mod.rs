//! A server on this machine that agents are reached through: it starts the agent's program for each connection and carries its
//! lines over a Unix socket, a WebSocket or HTTP. Connections can be cut at any byte. It answers nothing by itself.

mod forms;
mod process;
mod wire;

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto::ring, pki_types::PrivatePkcs8KeyDer};

pub use wire::Head;
use wire::Listener;

/// What carries the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A Unix socket.
    Unix,
    /// A WebSocket.
    WebSocket,
    /// The protocol's draft: a stream for the connection and one for each session.
    Streamable,
    /// One stream of numbered events, and POST requests that are answered with nothing.
    OneStream,
    /// No stream but the answer to each POST request, which is held until the request is done.
    Replies,
}

/// The server.
pub struct Gateway {
    /// Where agents are reached.
    pub url: String,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the test and the server share.
struct Shared {
    way: Way,
    command: Vec<String>,
    /// Counts how often all connections were cut.
    cuts: watch::Sender<u64>,
    /// How many bytes are written before everything is cut; `None` for ever.
    budget: Mutex<Option<usize>>,
    /// The requests that have come.
    seen: Mutex<Vec<Head>>,
    /// The programs that were started.
    pids: Mutex<Vec<u32>>,
    /// What every request is answered with instead.
    answer: Mutex<Option<String>>,
    /// Whether answers wait.
    holds: watch::Sender<bool>,
    /// The event after which the stream is cut once.
    last_event: Mutex<Option<usize>>,
    sessions: Mutex<HashMap<String, Arc<forms::Connection>>>,
    log: Mutex<Option<Arc<forms::Log>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Cuts all connections, and forgets what they were about.
    fn cut(&self) {
        *locked(&self.budget) = None;
        locked(&self.sessions).clear();
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Gateway {
    /// Starts a server that starts `command` for each connection. A Unix socket is made in `folder`.
    pub fn start(way: Way, command: Vec<String>, folder: &Path) -> Self {
        Self::start_with(way, command, folder, false)
    }

    /// Like [`Gateway::start`] with TLS. The certificate of its authority is `ca.pem` in `folder`.
    pub fn start_with_tls(way: Way, command: Vec<String>, folder: &Path) -> Self {
        Self::start_with(way, command, folder, true)
    }

    fn start_with(way: Way, command: Vec<String>, folder: &Path, is_secure: bool) -> Self {
        let shared = Arc::new(Shared {
            way,
            command,
            cuts: watch::Sender::new(0),
            budget: Mutex::default(),
            seen: Mutex::default(),
            pids: Mutex::default(),
            answer: Mutex::default(),
            holds: watch::Sender::new(false),
            last_event: Mutex::default(),
            sessions: Mutex::default(),
            log: Mutex::default(),
        });
        let tls = is_secure.then(|| tls(folder));
        let (stop, stopped) = oneshot::channel();
        let serving = shared.clone();
        let (url, listener) = if way == Way::Unix {
            let path = folder.join("gateway");
            let listener = std::os::unix::net::UnixListener::bind(&path);
            (format!("unix://{}", path.display()), Listener::Unix(listener.expect("listen")))
        } else {
            let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
            let port = listener.local_addr().expect("the port").port();
            let scheme = if way == Way::WebSocket { "ws" } else { "http" };
            let (secure, host) = if is_secure { ("s", "localhost") } else { ("", "127.0.0.1") };
            (format!("{scheme}{secure}://{host}:{port}/acp"), Listener::Tcp(listener, tls))
        };
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                tokio::select! {
                    () = wire::serve(listener, serving) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { url, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Has all connections cut once this many more bytes are written.
    pub fn cut_after(&self, bytes: usize) {
        *locked(&self.shared.budget) = Some(bytes);
    }

    /// Has the stream of events cut once, after the one with this number.
    pub fn cut_after_event(&self, number: usize) {
        *locked(&self.shared.last_event) = Some(number);
    }

    /// Answers every request with these lines and nothing else.
    pub fn answer(&self, lines: &[&str]) {
        let answer = format!("{}\r\ncontent-length: 0\r\n\r\n", lines.join("\r\n"));
        *locked(&self.shared.answer) = Some(answer);
    }

    /// Serves again.
    pub fn serve(&self) {
        *locked(&self.shared.answer) = None;
    }

    /// Has answers wait or not.
    pub fn hold(&self, holds: bool) {
        self.shared.holds.send_replace(holds);
    }

    /// The requests that have come.
    pub fn requests(&self) -> Vec<Head> {
        locked(&self.shared.seen).clone()
    }

    /// The pids of the programs that were started, one for each connection.
    pub fn pids(&self) -> Vec<u32> {
        locked(&self.shared.pids).clone()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.shared.cut();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A certificate for `localhost` by an authority of its own.
fn tls(folder: &Path) -> TlsAcceptor {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("an authority");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let encoded = STANDARD.encode(authority.der());
    let pem = format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n");
    std::fs::write(folder.join("ca.pem"), pem).expect("write a certificate");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a certificate");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private.into())
        .expect("a server with a certificate");
    TlsAcceptor::from(Arc::new(config))
}
