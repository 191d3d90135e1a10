//! The connection to Neovim: the only place that names nvim-rs. It calls Lua functions and passes notifications on;
//! what they mean is not known here.

use async_trait::async_trait;
use futures_io::AsyncWrite;
use nvim_rs::{Handler, Neovim};
use rmpv::Value;
use std::fmt;
use tokio::sync::{mpsc, oneshot};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Runs `require(module)[function](...)`. What is nil here comes as `vim.NIL`, which Lua takes for true.
const CALL: &str = "local args, count = { ... }, select('#', ...) \
    for i = 3, count do if args[i] == vim.NIL then args[i] = nil end end \
    return require(args[1])[args[2]](unpack(args, 3, count))";

/// What comes from Neovim without being asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum FromNvim {
    /// `rpcnotify(channel, name, ...)`, in the order sent.
    Notification {
        /// The method.
        name: String,
        /// Its arguments.
        args: Vec<Value>,
    },
    /// The connection is over; nothing comes after this.
    Gone(String),
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NvimError {
    /// The Lua function raised an error.
    #[error("{0}")]
    Lua(String),
    /// Neovim is gone.
    #[error("Neovim has closed the connection")]
    Gone,
}

impl NvimError {
    /// Writes down that `what` failed. The end of Neovim is no failure, and told elsewhere.
    pub fn log(&self, what: &str) {
        match self {
            Self::Lua(error) => tracing::error!(%error, "{what}"),
            Self::Gone => tracing::debug!("{what}: {self}"),
        }
    }
}

/// A handle to call Neovim with; cheap to clone.
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
    /// Speaks msgpack-RPC over `reader` and `writer` (`:help rpc`). What comes in goes to `inbox`, in order.
    /// Has to be called within a tokio runtime.
    pub fn connect<R, W>(reader: R, writer: W, inbox: mpsc::UnboundedSender<FromNvim>) -> Self
    where
        R: tokio::io::AsyncRead + Send + Unpin + 'static,
        W: tokio::io::AsyncWrite + Send + Unpin + 'static,
    {
        let gone = tokio_util::sync::CancellationToken::new();
        let handler = Inbox { sender: inbox.clone() };
        let (nvim, io) =
            Neovim::new(reader.compat(), Box::new(writer.compat_write()) as Writer, handler);
        let over = gone.clone();
        tokio::spawn(async move {
            let why = match io.await {
                Ok(()) => "closed".to_owned(),
                Err(error) => error.to_string(),
            };
            over.cancel();
            drop(inbox.send(FromNvim::Gone(why)));
        });
        Self { nvim, gone }
    }

    /// Calls `require(module)[function](args...)` on Neovim's main loop and gives its first result.
    ///
    /// Calls may run side by side, and dropping the returned future is safe: nvim-rs ends the whole connection
    /// when nobody waits for an answer any more, so each call runs in a task of its own.
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
        self.request("nvim_exec_lua", vec![CALL.into(), Value::Array(all)]).await
    }

    /// Whether Neovim has ended, or closed the connection.
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
                Ok(Err(_)) | Err(_) => Err(NvimError::Gone),
            },
            // After the loop has ended nvim-rs never answers.
            () = self.gone.cancelled() => Err(NvimError::Gone),
        }
    }
}

/// Neovim's errors are `[kind, message]`.
fn message_of(error: &Value) -> String {
    let text = match error {
        Value::Array(parts) => parts.get(1).unwrap_or(error),
        _ => error,
    };
    text.as_str().map_or_else(|| text.to_string(), str::to_owned)
}

#[derive(Clone)]
struct Inbox {
    sender: mpsc::UnboundedSender<FromNvim>,
}

#[async_trait]
impl Handler for Inbox {
    type Writer = Writer;

    async fn handle_notify(&self, name: String, args: Vec<Value>, _: Neovim<Writer>) {
        drop(self.sender.send(FromNvim::Notification { name, args }));
    }
}
