//! The process's stdin and stdout as asynchronous streams that need no helper thread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// A stream to read from.
pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// A stream to write to.
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns stdin and stdout. Neovim connects its jobs with socket pairs (`:help jobstart()`), other parents use pipes;
/// both are polled directly. Anything else goes through tokio's blocking threads.
pub fn streams() -> io::Result<(Reader, Writer)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    Ok((reader(input), writer(output)))
}

fn reader(fd: OwnedFd) -> Reader {
    if let Some(stream) = socket(&fd) {
        return Box::new(stream);
    }
    match pipe::Receiver::from_owned_fd(fd) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::io::stdin()),
    }
}

fn writer(fd: OwnedFd) -> Writer {
    if let Some(stream) = socket(&fd) {
        return Box::new(stream);
    }
    match pipe::Sender::from_owned_fd(fd) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::io::stdout()),
    }
}

fn socket(fd: &OwnedFd) -> Option<UnixStream> {
    let stream = StdUnixStream::from(fd.try_clone().ok()?);
    // Only a socket has a peer.
    stream.peer_addr().ok()?;
    stream.set_nonblocking(true).ok()?;
    UnixStream::from_std(stream).ok()
}
