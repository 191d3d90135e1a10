//! The socket to one running relay (`relay.py` says what its frames mean): reads them on a thread, in order.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};

/// What a relay tells.
#[derive(Debug)]
pub enum Report {
    /// It runs: pid, process group, working folder, arguments and environment as JSON.
    Hello(serde_json::Value),
    /// A line of its stdin, without the line end; not necessarily UTF-8.
    Line(Vec<u8>),
    /// Its stdin was closed.
    StdinClosed,
    /// SIGTERM is ignored from now on.
    Deaf,
    /// SIGTERM came, and was ignored.
    Terminated,
    /// The pid of the grandchild.
    Grandchild(u32),
}

/// Reads the frames of a relay until it is gone; then the channel ends.
pub fn reports(mut socket: UnixStream) -> Receiver<Report> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        while let Some((kind, payload)) = read_frame(&mut socket) {
            let reports = match kind {
                b'h' => vec![Report::Hello(serde_json::from_slice(&payload).unwrap_or_default())],
                b'i' => lines(&mut line, &payload),
                b'z' => vec![Report::StdinClosed],
                b'k' => vec![Report::Deaf],
                b't' => vec![Report::Terminated],
                b'g' => vec![Report::Grandchild(
                    String::from_utf8_lossy(&payload).parse().unwrap_or_default(),
                )],
                _ => break,
            };
            if reports.into_iter().any(|report| sender.send(report).is_err()) {
                break;
            }
        }
    });
    receiver
}

/// Sends one order. An error means that the relay is gone.
pub fn order(socket: &mut UnixStream, kind: u8, payload: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(std::io::Error::other)?;
    socket.write_all(&[kind])?;
    socket.write_all(&length.to_be_bytes())?;
    socket.write_all(payload)
}

fn read_frame(socket: &mut UnixStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    socket.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut payload = vec![0; usize::try_from(length).ok()?];
    socket.read_exact(&mut payload).ok()?;
    Some((head[0], payload))
}

/// The lines that `payload` completes; what is left of it waits in `rest`.
fn lines(rest: &mut Vec<u8>, payload: &[u8]) -> Vec<Report> {
    let mut lines = Vec::new();
    for byte in payload {
        match byte {
            b'\n' => lines.push(Report::Line(std::mem::take(rest))),
            byte => rest.push(*byte),
        }
    }
    lines
}
