//! The connection to Neovim, and the only file that uses nvim-rs. It calls Lua functions and forwards notifications
//! without interpreting either.

use super::messages::calls::Call;
use super::value;
use async_trait::async_trait;
use futures_io::AsyncWrite;
use nvim_rs::{Handler, Neovim};
use rmpv::Value;
use std::fmt;
use tokio::sync::{mpsc, oneshot};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Runs `require(module)[function](...)`. A nil argument arrives as `vim.NIL`, which is truthy in Lua, so it is
/// converted first.
const CALL_LUA: &str = "local args, count = { ... }, select('#', ...) \
    for i = 3, count do if args[i] == vim.NIL then args[i] = nil end end \
    return require(args[1])[args[2]](unpack(args, 3, count))";

/// Something that Neovim sends on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum NvimEvent {
    /// `rpcnotify(channel, name, ...)`, in the order sent.
    Notification {
        /// The method.
        name: String,
        /// Its arguments.
        args: Vec<Value>,
    },
    /// The connection has ended; holds the reason. This is the last event.
    Gone(String),
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NvimError {
    /// The Lua function raised an error.
    #[error("{0}")]
    Lua(String),
    /// The result could not be decoded.
    #[error("unexpected answer from {0}")]
    Malformed(String),
    /// The connection has ended.
    #[error("Neovim has closed the connection")]
    Gone,
}

impl NvimError {
    /// Logs that `what` failed. The end of the connection is not logged as an error here, because it is reported
    /// elsewhere.
    pub fn log(&self, what: &str) {
        match self {
            Self::Lua(error) | Self::Malformed(error) => tracing::error!(%error, "{what}"),
            Self::Gone => tracing::debug!("{what}: {self}"),
        }
    }
}

/// A handle for calling Neovim. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    nvim: Neovim<Writer>,
    gone: tokio_util::sync::CancellationToken,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// Speaks msgpack-RPC over `reader` and `writer` (`:help rpc`). Incoming events go to `inbox` in order. Must be
    /// called within a tokio runtime.
    pub fn connect<R, W>(reader: R, writer: W, inbox: mpsc::UnboundedSender<NvimEvent>) -> Self
    where
        R: tokio::io::AsyncRead + Send + Unpin + 'static,
        W: tokio::io::AsyncWrite + Send + Unpin + 'static,
    {
        let gone = tokio_util::sync::CancellationToken::new();
        let handler = NotificationHandler { sender: inbox.clone() };
        let (nvim, io) =
            Neovim::new(reader.compat(), Box::new(writer.compat_write()) as Writer, handler);
        let gone_token = gone.clone();
        tokio::spawn(async move {
            let why = match io.await {
                Ok(()) => "closed".to_owned(),
                Err(error) => error.to_string(),
            };
            gone_token.cancel();
            drop(inbox.send(NvimEvent::Gone(why)));
        });
        Self { nvim, gone }
    }

    /// Calls `require(module)[function](args...)` on Neovim's main loop and returns the first result.
    ///
    /// Calls may run concurrently, and dropping the returned future is safe. nvim-rs ends the whole connection if a
    /// response has no receiver, so each call runs in its own task.
    pub async fn lua(
        &self,
        module: &'static str,
        function: &'static str,
        args: Vec<Value>,
    ) -> Result<Value, NvimError> {
        let mut all = Vec::with_capacity(args.len() + 2);
        all.push(module.into());
        all.push(function.into());
        all.extend(args);
        self.request("nvim_exec_lua", vec![CALL_LUA.into(), Value::Array(all)]).await
    }

    /// Calls a Lua function with typed arguments and a typed result.
    pub async fn call<C: Call>(&self, call: C) -> Result<C::Answer, NvimError> {
        let arguments = value::arguments(&call);
        drop(call);
        let answer = self.lua(C::MODULE, C::FUNCTION, arguments).await?;
        value::read(answer).map_err(|problem| {
            NvimError::Malformed(format!("{}.{}: {problem}", C::MODULE, C::FUNCTION))
        })
    }

    /// Whether the connection has ended.
    pub fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Calls an API function (`:help api`).
    pub async fn request(
        &self,
        method: &'static str,
        args: Vec<Value>,
    ) -> Result<Value, NvimError> {
        let (sender, receiver) = oneshot::channel();
        let nvim = self.nvim.clone();
        tokio::spawn(async move {
            let answer = nvim.call(method, args).await;
            drop(sender.send(answer));
        });
        tokio::select! {
            answer = receiver => match answer {
                Ok(Ok(Ok(value))) => Ok(value),
                Ok(Ok(Err(error))) => Err(NvimError::Lua(message_of(&error))),
                Ok(Err(_)) => {
                    // Whoever waits for an answer may learn of the end before the loop has said so.
                    self.gone.cancel();
                    Err(NvimError::Gone)
                }
                Err(_) => Err(NvimError::Gone),
            },
            // nvim-rs never responds after its loop has ended.
            () = self.gone.cancelled() => Err(NvimError::Gone),
        }
    }
}

/// Extracts the message from an error of Neovim, which is `[kind, message]`.
fn message_of(error: &Value) -> String {
    let text = match error {
        Value::Array(parts) => parts.get(1).unwrap_or(error),
        _ => error,
    };
    text.as_str().map_or_else(|| text.to_string(), str::to_owned)
}

#[derive(Clone)]
struct NotificationHandler {
    sender: mpsc::UnboundedSender<NvimEvent>,
}

#[async_trait]
impl Handler for NotificationHandler {
    type Writer = Writer;

    async fn handle_notify(&self, name: String, args: Vec<Value>, _: Neovim<Writer>) {
        drop(self.sender.send(NvimEvent::Notification { name, args }));
    }
}
