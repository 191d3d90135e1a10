//! The transport to agents behind a WebSocket (RFC 6455): a text message is a message of the protocol.

use super::Opened;
use super::link;
use super::link::{FromUs, ToUs};
use super::server::{Failure, Server};
use crate::core::messages::agent::{ExitCause, Obstacle};
use crate::jsonrpc::incoming::LONGEST_LINE;
use crate::session::label;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use reqwest::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Method, StatusCode, Upgraded};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// How often the agent's side is asked for a sign of life.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// The silence after which the connection counts as lost: it must have answered two pings by then.
const MAX_SILENCE: Duration = Duration::from_secs(50);

/// How long the agent's side may take to answer that we close the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(300);

/// How long what has arrived is still passed on when nothing can be sent any more.
const BROKEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How many pings may come until we wait for the answers to be sent: the agent's side may not read them.
const MAX_PINGS: usize = 256;

/// How much of the reason for closing is shown, in characters.
const MAX_REASON: usize = 120;

type Socket = WebSocketStream<Upgraded>;

/// Connects to `server`. Must be called inside a tokio runtime.
pub(super) fn open(server: Server) -> Opened {
    link::open(|from_us, to_us| async move {
        match connect(&server).await {
            Ok(socket) => carry(socket, from_us, to_us).await,
            Err(failure) => failure.unreachable(),
        }
    })
}

async fn connect(server: &Server) -> Result<Socket, Failure> {
    let key = generate_key();
    let request = server
        .request(Method::GET)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key);
    let response = server.send(request).await?;
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    let is_accepted = accepted.is_some_and(|it| *it == derive_accept_key(key.as_bytes()));
    if response.status() != StatusCode::SWITCHING_PROTOCOLS || !is_accepted {
        let detail = "there is no WebSocket".to_owned();
        return Err(Failure::new(Obstacle::NoAgent, detail));
    }
    let stream = response.upgrade().await.map_err(|error| Failure::of(&error))?;
    tracing::info!(target: "acp", "connected to a WebSocket");
    let limits = WebSocketConfig::default()
        .max_message_size(Some(LONGEST_LINE))
        .max_frame_size(Some(LONGEST_LINE));
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(limits)).await)
}

/// When the agent's side was heard last; `None` while nobody listens because what it has said is still being passed on.
type LastHeard = Mutex<Option<Instant>>;

async fn carry(socket: Socket, mut from_us: FromUs, mut to_us: ToUs) -> ExitCause {
    let (sink, mut stream) = socket.split();
    let sink = AsyncMutex::new(sink);
    let heard = Mutex::new(Some(Instant::now()));
    let down = receive(&mut stream, &sink, &mut to_us, &heard);
    tokio::pin!(down);
    let sent = tokio::select! {
        cause = &mut down => return cause,
        sent = send(&sink, &mut from_us, &heard) => sent,
    };
    match sent {
        Sent::All => {
            let closing = async {
                let _ = sink.lock().await.close().await;
                down.await
            };
            timeout(CLOSE_TIMEOUT, closing).await.unwrap_or(ExitCause::HungUp(String::new()))
        }
        // What has arrived is still read: its end says more.
        Sent::Broken(error) => {
            timeout(BROKEN_TIMEOUT, down).await.unwrap_or_else(|_| ExitCause::Lost(words(&error)))
        }
        Sent::Silence => {
            ExitCause::Lost(format!("no sign of life for {} s", MAX_SILENCE.as_secs()))
        }
    }
}

/// Passes on what the agent says until the connection ends, and returns why it has.
async fn receive(
    stream: &mut SplitStream<Socket>,
    sink: &AsyncMutex<SplitSink<Socket, Message>>,
    to_us: &mut ToUs,
    heard: &LastHeard,
) -> ExitCause {
    let (mut end, mut pings) = (None, 0);
    loop {
        let message = stream.next().await;
        *heard.lock() = None;
        match message {
            Some(Ok(Message::Text(text))) if to_us.message(text.as_bytes()).await.is_err() => {
                return ExitCause::HungUp(String::new());
            }
            // Some servers do not tell texts and bytes apart.
            Some(Ok(Message::Binary(bytes))) if to_us.message(&bytes).await.is_err() => {
                return ExitCause::HungUp(String::new());
            }
            // Once it was told, reading on answers it.
            Some(Ok(Message::Close(frame))) => {
                end = Some(match frame {
                    Some(frame) if frame.code != CloseCode::Normal => {
                        ExitCause::Lost(closed(u16::from(frame.code), frame.reason.as_str()))
                    }
                    Some(frame) => ExitCause::HungUp(one_line(frame.reason.as_str())),
                    None => ExitCause::HungUp(String::new()),
                });
            }
            Some(Ok(Message::Ping(_))) => {
                pings += 1;
                if pings == MAX_PINGS {
                    let flushed = async { sink.lock().await.flush().await };
                    match timeout(MAX_SILENCE, flushed).await {
                        Ok(Ok(())) => pings = 0,
                        Ok(Err(error)) => return ExitCause::Lost(words(&error)),
                        Err(_) => return ExitCause::Lost("it reads nothing".to_owned()),
                    }
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return end.unwrap_or_else(|| ExitCause::Lost(words(&error))),
            None => return end.unwrap_or_else(|| ExitCause::Lost("it broke off".to_owned())),
        }
        *heard.lock() = Some(Instant::now());
    }
}

enum Sent {
    All,
    Broken(Error),
    Silence,
}

/// Sends our messages, and pings meanwhile.
async fn send(
    sink: &AsyncMutex<SplitSink<Socket, Message>>,
    from_us: &mut FromUs,
    heard: &LastHeard,
) -> Sent {
    let mut pings = interval(PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings.tick().await;
    loop {
        let message = tokio::select! {
            line = from_us.next() => match line {
                Some(line) => Message::text(String::from_utf8_lossy(&line).into_owned()),
                None => return Sent::All,
            },
            _ = pings.tick() => {
                let last = *heard.lock();
                if last.is_some_and(|last| last.elapsed() > MAX_SILENCE) {
                    return Sent::Silence;
                }
                Message::Ping(Vec::new().into())
            }
        };
        if let Err(error) = sink.lock().await.send(message).await {
            return Sent::Broken(error);
        }
    }
}

fn words(error: &Error) -> String {
    match error {
        Error::Io(error) => one_line(&error.to_string()),
        other => one_line(&other.to_string()),
    }
}

fn closed(code: u16, reason: &str) -> String {
    let reason = one_line(reason);
    if reason.is_empty() {
        format!("it was closed with code {code}")
    } else {
        format!("it was closed with code {code}, {reason}")
    }
}

fn one_line(text: &str) -> String {
    label::short(text.lines().next().unwrap_or_default(), MAX_REASON)
}
