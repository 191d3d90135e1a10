//! Bytes and requests of the gateway: accepting connections, cutting them, and as much of HTTP/1.1 as the forms need.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf,
};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

use super::{Shared, Way, forms, locked};

/// The head of a request.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// Its method.
    pub method: String,
    /// The path and query.
    pub path: String,
    /// Its headers, with lower-case names.
    pub headers: BTreeMap<String, String>,
}

/// A connection whose bytes are counted.
pub(super) struct Counted<S> {
    inner: S,
    shared: Arc<Shared>,
}

pub(super) type Stream = BufReader<Box<dyn Io>>;

pub(super) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let left = *locked(&self.shared.budget);
        if left == Some(0) {
            self.shared.cut();
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let most = left.unwrap_or(usize::MAX).min(bytes.len());
        let written = Pin::new(&mut self.inner).poll_write(cx, &bytes[..most]);
        if let (Poll::Ready(Ok(written)), Some(left)) = (&written, left) {
            *locked(&self.shared.budget) = Some(left - written);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Where connections come from.
pub(super) enum Listener {
    Unix(std::os::unix::net::UnixListener),
    Tcp(std::net::TcpListener, Option<TlsAcceptor>),
}

/// Serves all connections.
pub(super) async fn serve(listener: Listener, shared: Arc<Shared>) {
    match listener {
        Listener::Unix(listener) => {
            listener.set_nonblocking(true).expect("a socket that can be asked");
            let listener = UnixListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(until_cut(Box::new(stream), shared.clone()));
            }
        }
        Listener::Tcp(listener, tls) => {
            listener.set_nonblocking(true).expect("a socket that can be asked");
            let listener = TcpListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, shared) = (tls.clone(), shared.clone());
                tokio::spawn(async move {
                    let Some(tls) = tls else { return until_cut(Box::new(stream), shared).await };
                    if let Ok(stream) = tls.accept(stream).await {
                        until_cut(Box::new(stream), shared).await;
                    }
                });
            }
        }
    }
}

/// Serves a connection until it ends or all are cut.
async fn until_cut(stream: Box<dyn Io>, shared: Arc<Shared>) {
    let mut cuts = shared.cuts.subscribe();
    let stream: Box<dyn Io> = Box::new(Counted { inner: stream, shared: shared.clone() });
    let stream = BufReader::new(stream);
    tokio::select! {
        _ = cuts.changed() => {}
        _ = answer_all(stream, &shared) => {}
    }
}

async fn answer_all(mut stream: Stream, shared: &Arc<Shared>) -> io::Result<()> {
    if shared.way == Way::Unix {
        return forms::unix(stream, shared).await;
    }
    while let Some((head, body)) = read_request(&mut stream).await? {
        locked(&shared.seen).push(head.clone());
        let mut holds = shared.holds.subscribe();
        let _ = holds.wait_for(|holds| !holds).await;
        let raw = locked(&shared.answer).clone();
        if let Some(raw) = raw {
            stream.write_all(raw.as_bytes()).await?;
            continue;
        }
        match (shared.way, head.method.as_str()) {
            (Way::WebSocket, _) => return forms::websocket(stream, &head, shared).await,
            (Way::Streamable, "POST") => forms::post(&mut stream, &head, body, shared).await?,
            (Way::Streamable, "GET") => return forms::get(stream, &head, shared).await,
            (Way::Streamable, _) => forms::delete(&mut stream, &head, shared).await?,
            (Way::Replies, "POST") => {
                if forms::post_with_reply(&mut stream, body, shared).await? {
                    return Ok(());
                }
            }
            (Way::Replies, _) => answer(&mut stream, "405 Method Not Allowed", "", "").await?,
            (_, "POST") => forms::post_to_one(&mut stream, body, shared).await?,
            (_, _) => return forms::get_one(stream, &head, shared).await,
        }
    }
    Ok(())
}

async fn read_request(stream: &mut Stream) -> io::Result<Option<(Head, String)>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut head = Head {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        headers: BTreeMap::new(),
    };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.split_once(':') else { break };
        head.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = head.headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((head, String::from_utf8_lossy(&body).into_owned())))
}

/// Answers a request: the status, further headers as lines, the body.
pub(super) async fn answer(
    stream: &mut Stream,
    status: &str,
    headers: &str,
    body: &str,
) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.flush().await
}
