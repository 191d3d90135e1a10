//! The forms in which the gateway carries the lines of a program.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value as Json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::process::Process;
use super::wire::{Head, Stream, answer};
use super::{Shared, locked};

static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Lines in both directions.
pub(super) async fn unix(stream: Stream, shared: &Shared) -> io::Result<()> {
    let Process { stdin, mut stdout } = Process::start(shared);
    let (mut reader, mut writer) = tokio::io::split(stream);
    let up = async {
        let mut lines = tokio::io::BufReader::new(&mut reader).lines();
        while let Some(line) = lines.next_line().await? {
            let _ = stdin.send(line);
        }
        Ok(())
    };
    let down = async {
        while let Some(line) = stdout.recv().await {
            writer.write_all(format!("{line}\n").as_bytes()).await?;
        }
        writer.shutdown().await
    };
    tokio::select! {
        ended = up => ended,
        ended = down => ended,
    }
}

/// A text message for each line.
pub(super) async fn websocket(mut stream: Stream, head: &Head, shared: &Shared) -> io::Result<()> {
    let key = head.headers.get("sec-websocket-key").cloned().unwrap_or_default();
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let limits = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(limits)).await;
    let (mut sink, mut messages) = socket.split();
    let Process { stdin, mut stdout } = Process::start(shared);
    let down = async {
        while let Some(line) = stdout.recv().await {
            if sink.send(Message::text(line)).await.is_err() {
                return;
            }
        }
        let _ = sink.close().await;
    };
    let up = async move {
        while let Some(Ok(message)) = messages.next().await {
            if let Message::Text(text) = message {
                let _ = stdin.send(text.as_str().to_owned());
            }
        }
    };
    tokio::pin!(up);
    tokio::select! {
        () = down => up.await,
        () = &mut up => {}
    }
    Ok(())
}

/// A connection of the protocol's draft.
pub(super) struct Connection {
    to_agent: mpsc::UnboundedSender<String>,
    boxes: Mutex<HashMap<Option<String>, Mailbox>>,
    /// The stream that the answer to a request goes to.
    routes: Mutex<HashMap<String, Option<String>>>,
    /// Whether the client has ended it.
    ended: watch::Sender<bool>,
}

struct Mailbox {
    sender: mpsc::UnboundedSender<String>,
    receiver: Option<mpsc::UnboundedReceiver<String>>,
}

impl Default for Mailbox {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver: Some(receiver) }
    }
}

impl Connection {
    fn route(&self, line: String) {
        let message: Json = serde_json::from_str(&line).unwrap_or_default();
        let session = if message.get("method").is_some() {
            message["params"]["sessionId"].as_str().map(str::to_owned)
        } else {
            locked(&self.routes).remove(&message["id"].to_string()).flatten()
        };
        let _ = locked(&self.boxes).entry(session).or_default().sender.send(line);
    }
}

fn connection(head: &Head, shared: &Shared) -> Option<Arc<Connection>> {
    let id = head.headers.get("acp-connection-id")?;
    locked(&shared.sessions).get(id).cloned()
}

/// A message in the protocol's draft.
pub(super) async fn post(
    stream: &mut Stream,
    head: &Head,
    body: String,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let message: Json = serde_json::from_str(&body).unwrap_or_default();
    if message["method"] == "initialize" {
        let Process { stdin, mut stdout } = Process::start(shared);
        let _ = stdin.send(body);
        let Some(first) = stdout.recv().await else {
            return answer(stream, "500 Internal Server Error", "", "").await;
        };
        let id = format!("connection-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let connection = Arc::new(Connection {
            to_agent: stdin,
            boxes: Mutex::default(),
            routes: Mutex::default(),
            ended: watch::Sender::new(false),
        });
        locked(&shared.sessions).insert(id.clone(), connection.clone());
        let (mut cuts, mut ended) = (shared.cuts.subscribe(), connection.ended.subscribe());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    line = stdout.recv() => match line {
                        Some(line) => connection.route(line),
                        None => break locked(&connection.boxes).clear(),
                    },
                    _ = cuts.changed() => break,
                    _ = ended.changed() => break,
                }
            }
        });
        let headers = format!(
            "content-type: application/json\r\nacp-connection-id: {id}\r\nset-cookie: way=north; Path=/\r\n"
        );
        return answer(stream, "200 OK", &headers, &first).await;
    }
    let Some(connection) = connection(head, shared) else {
        return answer(stream, "404 Not Found", "", "").await;
    };
    if message.get("method").is_some() && message.get("id").is_some() {
        let session = head.headers.get("acp-session-id").cloned();
        locked(&connection.routes).insert(message["id"].to_string(), session);
    }
    let _ = connection.to_agent.send(body);
    answer(stream, "202 Accepted", "", "").await
}

const EVENTS: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: hello\n\n";

/// A stream in the protocol's draft.
pub(super) async fn get(mut stream: Stream, head: &Head, shared: &Shared) -> io::Result<()> {
    let session = head.headers.get("acp-session-id").cloned();
    let Some(connection) = connection(head, shared) else {
        return answer(&mut stream, "404 Not Found", "", "").await;
    };
    let receiver = locked(&connection.boxes).entry(session).or_default().receiver.take();
    drop(connection);
    let Some(mut receiver) = receiver else {
        return answer(&mut stream, "409 Conflict", "", "").await;
    };
    stream.write_all(EVENTS).await?;
    while let Some(line) = receiver.recv().await {
        stream.write_all(format!("data: {line}\n\n").as_bytes()).await?;
    }
    stream.shutdown().await
}

/// The end of a connection in the protocol's draft.
pub(super) async fn delete(stream: &mut Stream, head: &Head, shared: &Shared) -> io::Result<()> {
    let id = head.headers.get("acp-connection-id").cloned().unwrap_or_default();
    if let Some(connection) = locked(&shared.sessions).remove(&id) {
        connection.ended.send_replace(true);
    }
    answer(stream, "202 Accepted", "", "").await
}

/// Everything a program has said, as numbered events.
pub(super) struct Log {
    to_agent: mpsc::UnboundedSender<String>,
    events: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
    /// How many were written to a stream.
    told: AtomicUsize,
    /// Whether the handshake has begun.
    begun: AtomicBool,
}

fn log(shared: &Shared, anew: bool) -> Arc<Log> {
    let mut current = locked(&shared.log);
    if let Some(log) = current.as_ref().filter(|_| !anew) {
        return log.clone();
    }
    let Process { stdin, mut stdout } = Process::start(shared);
    let log = Arc::new(Log {
        to_agent: stdin,
        events: Mutex::default(),
        count: watch::Sender::new(0),
        told: AtomicUsize::new(0),
        begun: AtomicBool::new(false),
    });
    let telling = log.clone();
    tokio::spawn(async move {
        while let Some(line) = stdout.recv().await {
            locked(&telling.events).push(line);
            telling.count.send_modify(|count| *count += 1);
        }
    });
    *current = Some(log.clone());
    log
}

/// A message where there is one stream.
pub(super) async fn post_to_one(
    stream: &mut Stream,
    body: String,
    shared: &Shared,
) -> io::Result<()> {
    send_to_log(body, shared);
    answer(stream, "202 Accepted", "", "").await
}

/// A message where there is no stream but the answers. Returns whether it was answered with events, up to the response.
pub(super) async fn post_with_reply(
    stream: &mut Stream,
    body: String,
    shared: &Shared,
) -> io::Result<bool> {
    let message: Json = serde_json::from_str(&body).unwrap_or_default();
    let log = send_to_log(body, shared);
    if message.get("method").is_none() || message.get("id").is_none() {
        answer(stream, "202 Accepted", "", "").await?;
        return Ok(false);
    }
    stream.write_all(EVENTS).await?;
    let mut count = log.count.subscribe();
    loop {
        let next = log.told.load(Ordering::SeqCst);
        let _ = count.wait_for(|count| *count > next).await;
        let line = locked(&log.events)[next].clone();
        log.told.store(next + 1, Ordering::SeqCst);
        stream.write_all(format!("data: {line}\n\n").as_bytes()).await?;
        let said: Json = serde_json::from_str(&line).unwrap_or_default();
        if said.get("method").is_none() && said["id"] == message["id"] {
            stream.shutdown().await?;
            return Ok(true);
        }
    }
}

fn send_to_log(body: String, shared: &Shared) -> Arc<Log> {
    let message: Json = serde_json::from_str(&body).unwrap_or_default();
    let is_first = message["method"] == "initialize";
    let current = locked(&shared.log).clone();
    let begins = |log: Arc<Log>| log.begun.swap(true, Ordering::SeqCst);
    let is_another = is_first && current.is_some_and(begins);
    let log = log(shared, is_another);
    log.begun.fetch_or(is_first, Ordering::SeqCst);
    let _ = log.to_agent.send(body);
    log
}

/// The one stream.
pub(super) async fn get_one(mut stream: Stream, head: &Head, shared: &Shared) -> io::Result<()> {
    let log = log(shared, false);
    let after = head.headers.get("last-event-id").and_then(|id| id.parse::<usize>().ok());
    // Some servers repeat what was told already.
    let mut next = after.map_or(log.told.load(Ordering::SeqCst), |id| id.saturating_sub(2));
    stream.write_all(EVENTS).await?;
    stream.write_all(b"retry: 10\n\n").await?;
    let mut count = log.count.subscribe();
    loop {
        let _ = count.wait_for(|count| *count > next).await;
        let line = locked(&log.events)[next].clone();
        next += 1;
        stream.write_all(format!("id: {next}\ndata: {line}\n\n").as_bytes()).await?;
        log.told.fetch_max(next, Ordering::SeqCst);
        if locked(&shared.last_event).take_if(|last| *last == next).is_some() {
            return stream.shutdown().await;
        }
    }
}
