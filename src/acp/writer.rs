//! Writes our messages to an agent.

use std::sync::Arc;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// Up to this size, a line is copied so that it is written with its end in one call.
const MAX_COPIED_BYTES: usize = 16 << 10;

/// Writes the lines of `queue`. Once the queue is closed and everything is written, the input is closed.
pub(super) async fn write_lines(
    mut input: Box<dyn AsyncWrite + Send + Unpin>,
    mut queue: mpsc::UnboundedReceiver<Arc<String>>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(line) = queue.recv().await {
        if line.len() > MAX_COPIED_BYTES {
            input.write_all(line.as_bytes()).await?;
            input.write_all(b"\n").await?;
            continue;
        }
        buffer.clear();
        buffer.extend_from_slice(line.as_bytes());
        buffer.push(b'\n');
        input.write_all(&buffer).await?;
    }
    Ok(())
}
