//! The transport to agents behind a Unix socket: lines in both directions, as through the pipes of a process.

use super::Opened;
use super::link;
use super::link::{FromUs, ToUs};
use crate::core::messages::agent::{ExitCause, Obstacle};
use std::path::PathBuf;
use tokio::io::{AsyncWriteExt, copy};
use tokio::net::UnixStream;

/// Connects to the socket at `path`. Must be called inside a tokio runtime.
pub(super) fn open(path: PathBuf) -> Opened {
    link::open(|from_us, to_us| carry(path, from_us, to_us))
}

async fn carry(path: PathBuf, mut from_us: FromUs, mut to_us: ToUs) -> ExitCause {
    let stream = match UnixStream::connect(&path).await {
        Ok(stream) => stream,
        Err(error) => {
            let detail = format!("{}: {error}", path.display());
            return ExitCause::Unreachable { obstacle: Obstacle::NoAnswer, detail };
        }
    };
    tracing::info!(target: "acp", path = %path.display(), "connected");
    let (mut received, mut sent) = stream.into_split();
    let down = copy(&mut received, to_us.bytes());
    let up = async {
        copy(from_us.bytes(), &mut sent).await?;
        sent.shutdown().await
    };
    tokio::pin!(down, up);
    let ended = tokio::select! {
        ended = &mut down => ended,
        // What the agent still says is read to its end, whether we have ended or it does not read any more.
        _ = &mut up => down.await,
    };
    match ended {
        Ok(_) => ExitCause::HungUp(String::new()),
        Err(error) => ExitCause::Lost(error.to_string()),
    }
}
