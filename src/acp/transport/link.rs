//! What the transports to agents elsewhere share: a task that carries lines between a connection of ours and theirs. How
//! long a session lasts and when a lost connection is made again is decided by `core`.

use super::{Opened, Remote};
use crate::core::messages::agent::ExitCause;
use async_trait::async_trait;
use std::borrow::Cow;
use std::io;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex, empty,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How much may be on its way between a connection and its task in each direction, in bytes. Beyond that the sender waits, so
/// that a slow reader is never buffered for.
const PIPE_BYTES: usize = 64 << 10;

/// Our messages, for the agent.
pub(super) struct FromUs {
    lines: BufReader<DuplexStream>,
    /// The beginning of a line whose end has not been read.
    partial: Vec<u8>,
}

/// The agent's messages, for us.
pub(super) struct ToUs(DuplexStream);

impl FromUs {
    /// Returns the next message without its line ending, `None` once the connection is to be closed. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.lines.read_until(b'\n', &mut self.partial).await.ok()?;
        let mut line = std::mem::take(&mut self.partial);
        (line.pop() == Some(b'\n')).then_some(line)
    }

    /// The messages as lines of bytes.
    pub(super) fn bytes(&mut self) -> &mut (impl AsyncRead + Unpin + use<>) {
        &mut self.lines
    }
}

impl ToUs {
    /// Passes on one message; waits while the reader is slow. Fails only if nobody reads any more.
    pub(super) async fn message(&mut self, message: &[u8]) -> io::Result<()> {
        self.0.write_all(&on_one_line(message)).await?;
        self.0.write_all(b"\n").await
    }

    /// Takes messages as lines of bytes.
    pub(super) fn bytes(&mut self) -> &mut (impl AsyncWrite + Unpin + use<>) {
        &mut self.0
    }
}

/// Outside of strings, where they are escaped, line breaks mean as much as spaces in JSON.
fn on_one_line(message: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', message).is_none() {
        return Cow::Borrowed(message);
    }
    let space = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
    message.iter().map(space).collect()
}

/// Starts the task of a connection. `carry` returns why it has ended, after it has passed on all it received; it ends the
/// connection in good order when there are no more messages of ours. Must be called inside a tokio runtime.
pub(super) fn open<F>(carry: impl FnOnce(FromUs, ToUs) -> F) -> Opened
where
    F: Future<Output = ExitCause> + Send + 'static,
{
    let (input, from_us) = duplex(PIPE_BYTES);
    let (output, to_us) = duplex(PIPE_BYTES);
    let from_us = FromUs { lines: BufReader::new(from_us), partial: Vec::new() };
    let carried = carry(from_us, ToUs(to_us));
    let (sender, cause) = watch::channel(None);
    let task = tokio::spawn(async move {
        let cause = carried.await;
        sender.send_replace(Some(cause));
    });
    Opened {
        input: Box::new(input),
        output: Box::new(output),
        diagnostics: Box::new(empty()),
        remote: Box::new(Link { task, cause }),
    }
}

/// The control of such a task.
#[derive(Debug)]
struct Link {
    task: JoinHandle<()>,
    cause: watch::Receiver<Option<ExitCause>>,
}

#[async_trait]
impl Remote for Link {
    async fn wait_for_exit(&mut self) -> ExitCause {
        let cause = self.cause.wait_for(Option::is_some).await;
        let cause = cause.ok().and_then(|cause| cause.clone());
        cause.unwrap_or_else(|| ExitCause::Lost("it was given up".to_owned()))
    }

    /// The end of our messages has asked it to end in good order, and there was time for that.
    fn terminate(&mut self) {
        self.task.abort();
    }

    fn kill(&mut self) {
        self.task.abort();
    }

    fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }

    async fn release(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        assert_eq!(&*on_one_line(b"{\r\n \"a\":\n1}"), b"{   \"a\": 1}");
        assert!(matches!(on_one_line(b"{\"a\":1}"), Cow::Borrowed(_)));
    }

    /// Holds (Transports): While we are slow to read, what an agent elsewhere says waits at the agent, not here.
    #[tokio::test]
    async fn a_slow_reader_holds_up_the_sender() {
        let passed = Arc::new(AtomicUsize::new(0));
        let count = passed.clone();
        let mut opened = open(|_, mut to_us| async move {
            while to_us.message(&[b'x'; 1023]).await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
            ExitCause::HungUp(String::new())
        });
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(passed.load(Ordering::SeqCst), PIPE_BYTES / 1024);
        drop(opened.output);
        assert_eq!(opened.remote.wait_for_exit().await, ExitCause::HungUp(String::new()));
    }
}
