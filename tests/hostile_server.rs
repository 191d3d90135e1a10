//! Agents that are reached through a server which sends far more than anyone reads, in every part of what it can send: the binary
//! needs no more memory than the help states (`:help rat-memory`), and asks no more often than it has to.

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::support::{Held, Nvim, TempFolder, poll_for};

pub(crate) const MIB: usize = 1 << 20;

/// How many bytes the binary may take (`:help rat-memory`).
const MOST: u64 = 256 << 20;

/// How much a server sends where nothing holds it up, in bytes: more than the binary may take.
const FLOOD: usize = 400 * MIB;

/// How long a server waits for somebody who does not read.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// How long a flood may take in a debug build on a busy machine.
const DEADLINE: Duration = Duration::from_secs(90);

const EVENTS: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The stream of the connection.
    Stream,
    /// The stream of a session.
    SessionStream,
    /// The first message.
    Initialize,
    /// The second.
    NewSession,
    /// Any other.
    Other,
}

/// Answers a request in some hostile way. Gives `false` where it does not.
type Worst = fn(&mut TcpStream, Asked) -> io::Result<bool>;

/// What a server has done.
#[derive(Debug, Default)]
struct Seen {
    /// How many hostile answers were given, up to their end.
    done: AtomicUsize,
    /// The size of the longest head of a request, in bytes.
    longest_head: AtomicUsize,
    /// When each stream was asked for.
    streams: Mutex<Vec<Instant>>,
}

/// Starts a server and gives its address.
fn serve(worst: Worst) -> (String, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    let seen = Arc::new(Seen::default());
    let all = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = all.clone();
            // Fails where nobody reads any more.
            thread::spawn(move || answer_all(stream, worst, &seen));
        }
    });
    (url, seen)
}

fn answer_all(mut stream: TcpStream, worst: Worst, seen: &Seen) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let begin = head.len();
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
            let line = head[begin..].to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        seen.longest_head.fetch_max(head.len(), Ordering::SeqCst);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let message: Json = serde_json::from_slice(&body).unwrap_or_default();
        let lower = head.to_ascii_lowercase();
        let asked = match message["method"].as_str() {
            Some("initialize") => Asked::Initialize,
            Some("session/new") => Asked::NewSession,
            None if lower.starts_with("get") && lower.contains("acp-session-id") => {
                Asked::SessionStream
            }
            None if lower.starts_with("get") => Asked::Stream,
            _ => Asked::Other,
        };
        if matches!(asked, Asked::Stream | Asked::SessionStream) {
            seen.streams.lock().push(Instant::now());
        }
        if let Some(key) = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")) {
            let accept = derive_accept_key(key.as_bytes());
            let head = format!(
                "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
                 sec-websocket-accept: {accept}\r\n\r\n"
            );
            stream.write_all(head.as_bytes())?;
        }
        let answered = worst(&mut stream, asked);
        if !matches!(answered, Ok(false)) {
            seen.done.fetch_add(1, Ordering::SeqCst);
            return answered.map(drop);
        }
        let result = match asked {
            Asked::Initialize => {
                json!({"protocolVersion": 1, "agentInfo": {"name": "x", "version": "1"}})
            }
            Asked::NewSession => json!({"sessionId": "s1"}),
            Asked::Other => json!({}),
            // It stays open.
            Asked::Stream | Asked::SessionStream => {
                stream.write_all(EVENTS)?;
                continue;
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        answer(&mut stream, &body, "")?;
    }
}

fn answer(stream: &mut TcpStream, body: &str, headers: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nacp-connection-id: c\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Writes a text again and again.
pub(crate) fn repeat(stream: &mut impl Write, text: &str, bytes: usize) -> io::Result<()> {
    let block = text.repeat(MIB.div_ceil(text.len()));
    for _ in 0..bytes.div_ceil(block.len()) {
        stream.write_all(block.as_bytes())?;
    }
    Ok(())
}

/// An event on the first stream of the connection.
fn on_stream(
    stream: &mut TcpStream,
    asked: Asked,
    flood: impl FnOnce(&mut TcpStream) -> io::Result<()>,
) -> io::Result<bool> {
    if asked != Asked::Stream {
        return Ok(false);
    }
    stream.write_all(EVENTS)?;
    flood(stream).map(|()| true)
}

/// Neovim with an agent at a URL, whose binary needs no more than it may until the server has done `count` times what it does.
fn expect_bounded(what: &str, url: &str, done: impl Fn() -> bool) {
    let mut nvim = Nvim::wide();
    nvim.setup(json!({"agents": {"fake": {"url": url}}, "notify": {"when": "never"}}));
    // It runs before it connects.
    nvim.command("RatStart nobody");
    nvim.command("RatStart fake");
    let pid = nvim.poll_for("the binary", |nvim| {
        let chans = nvim.eval("#vim.api.nvim_list_chans()");
        (chans.as_u64() > Some(1)).then(|| nvim.binary())
    });
    expect_bounded_in(what, pid, done);
    nvim.poll("an answer", |nvim| nvim.eval("1 + 1") == json!(2));
}

pub(crate) fn expect_bounded_in(what: &str, pid: u32, done: impl Fn() -> bool) {
    let ended = poll_for(DEADLINE, || done().then_some(()));
    assert!(ended.is_some(), "{what}: the server has not done its worst");
    // There is no /proc everywhere.
    if let Some(held) = Held::by(pid) {
        let _ = writeln!(io::stderr(), "{what}: {} MiB at most", held.peak >> 20);
        assert!(held.peak <= MOST, "{what}: {} MiB", held.peak >> 20);
    }
}

fn flood(what: &str, worst: Worst) {
    flood_by("http", what, 1, worst);
}

fn flood_by(scheme: &str, what: &str, count: usize, worst: Worst) {
    let _alone = crate::alone();
    let (address, seen) = serve(worst);
    let done = || seen.done.load(Ordering::SeqCst) >= count;
    expect_bounded(what, &format!("{scheme}://{address}/"), done);
}

/// Holds (Transports): Whatever a server sends that an agent is reached through, and however much, it takes no more memory than the help says.
#[test]
fn ids_of_events_are_not_kept() {
    flood("ids of a MiB", |stream, asked| {
        on_stream(stream, asked, |stream| {
            let id = "x".repeat(MIB);
            for number in 0..FLOOD / MIB {
                write!(stream, "id: {number}{id}\ndata: {{}}\n\n")?;
            }
            Ok(())
        })
    });
    flood("one long id", |stream, asked| {
        on_stream(stream, asked, |stream| {
            stream.write_all(b"id: ")?;
            repeat(stream, "x", FLOOD)?;
            stream.write_all(b"\ndata: {}\n\n")
        })
    });
}

/// Holds (Transports): Whatever a server sends that an agent is reached through, and however much, it takes no more memory than the help says.
#[test]
fn events_without_an_end_are_dropped() {
    flood("an endless line", |stream, asked| {
        on_stream(stream, asked, |stream| repeat(stream, "data: {", FLOOD))
    });
    flood("endless lines of one event", |stream, asked| {
        on_stream(stream, asked, |stream| repeat(stream, "data: xxxxxxxxxx\n", FLOOD))
    });
    flood("many small events", |stream, asked| {
        on_stream(stream, asked, |stream| repeat(stream, "data\n\n", FLOOD / 20))
    });
    flood("events of the longest size", |stream, asked| {
        on_stream(stream, asked, |stream| {
            for _ in 0..4 {
                stream.write_all(b"data: {\"method\":\"x\",\"params\":\"")?;
                repeat(stream, "x", 60 * MIB)?;
                stream.write_all(b"\"}\n\n")?;
            }
            Ok(())
        })
    });
    flood("events of very many values", |stream, asked| {
        on_stream(stream, asked, |stream| {
            let update = r#"{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"1","title":"x","rawInput":["#;
            for _ in 0..4 {
                write!(stream, "data: {update}")?;
                repeat(stream, "1,", 30 * MIB)?;
                stream.write_all(b"1]}}}\n\n")?;
            }
            Ok(())
        })
    });
}

/// Holds (Transports): Whatever a server sends that an agent is reached through, and however much, it takes no more memory than the help says.
#[test]
fn streams_share_what_they_may_take() {
    flood_by("http", "two streams", 2, |stream, asked| {
        if !matches!(asked, Asked::Stream | Asked::SessionStream) {
            return Ok(false);
        }
        stream.write_all(EVENTS)?;
        repeat(stream, "data: {", 60 * MIB)?;
        repeat(stream, "data: {", FLOOD).map(|()| true)
    });
    flood_by("http", "answers without an end", 2, |stream, asked| {
        if !matches!(asked, Asked::Stream | Asked::NewSession) {
            return Ok(false);
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999999999\r\n\r\n";
        stream.write_all(if asked == Asked::Stream { EVENTS } else { head.as_bytes() })?;
        repeat(stream, "data: {", FLOOD).map(|()| true)
    });
}

/// Holds (Transports): Whatever a server sends that an agent is reached through, and however much, it takes no more memory than the help says.
#[test]
fn heads_are_bounded() {
    flood("a head without an end", |stream, asked| {
        if asked != Asked::Initialize {
            return Ok(false);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        repeat(stream, "x-y: z\r\n", FLOOD).map(|()| true)
    });
    flood("a header without an end", |stream, asked| {
        if asked != Asked::Initialize {
            return Ok(false);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nset-cookie: a=")?;
        repeat(stream, "x", FLOOD).map(|()| true)
    });
    flood("an error without an end", |stream, asked| {
        if asked != Asked::Initialize {
            return Ok(false);
        }
        stream.write_all(b"HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n")?;
        repeat(stream, "1000\r\n", FLOOD).map(|()| true)
    });
    flood("a session with a long name", |stream, asked| {
        if asked != Asked::NewSession {
            return Ok(false);
        }
        let name = "s".repeat(60 * MIB);
        let body = json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": name}}).to_string();
        answer(stream, &body, "").map(|()| true)
    });
}

/// Holds (Transports): Whatever a server sends that an agent is reached through, and however much, it takes no more memory than the help says.
#[test]
fn a_websocket_is_bounded() {
    flood_by("ws", "pings that nobody reads the answers of", 1, |stream, _| {
        let ping = [&[0x89, 125][..], &[b'x'; 125]].concat();
        let block = ping.repeat(8192);
        for _ in 0..FLOOD / block.len() {
            stream.write_all(&block)?;
        }
        Ok(true)
    });
    flood_by("ws", "a message in endless pieces", 1, |stream, _| {
        let piece = [&[0x00, 126, 0xff, 0xff][..], &vec![b'x'; 0xffff]].concat();
        stream.write_all(&[0x01, 1, b'{'])?;
        for _ in 0..FLOOD / piece.len() {
            stream.write_all(&piece)?;
        }
        Ok(true)
    });
    flood_by("ws", "long messages", 1, |stream, _| {
        for _ in 0..4 {
            let body = "x".repeat(60 * MIB);
            stream.write_all(&[0x81, 127])?;
            stream.write_all(&(body.len() as u64).to_be_bytes())?;
            stream.write_all(body.as_bytes())?;
        }
        Ok(true)
    });
}

/// Holds (Transports): A server whose answers have no end gets 64 messages at most, and no more until one ends.
#[test]
fn answers_that_do_not_end_hold_us_up() {
    static POSTS: AtomicUsize = AtomicUsize::new(0);
    let _alone = crate::alone();
    let (address, _) = serve(|stream, asked| {
        match asked {
            Asked::Stream => {
                stream.write_all(EVENTS)?;
                for id in 0..300 {
                    let request = json!({"jsonrpc": "2.0", "id": id, "method": "x/y"});
                    write!(stream, "data: {request}\n\n")?;
                }
            }
            Asked::Other => {
                POSTS.fetch_add(1, Ordering::SeqCst);
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")?;
            }
            _ => return Ok(false),
        }
        // It stays open until we close it.
        stream.read(&mut [0]).map(|_| true)
    });
    let posts = || POSTS.load(Ordering::SeqCst);
    expect_bounded("answers without an end", &format!("http://{address}/"), || {
        let all = poll_for(Duration::from_secs(1), || (posts() > 64).then_some(()));
        all.is_none() && posts() == 64
    });
}

/// Holds (Transports): A server that ends each stream at once is asked ten times a second at most, whatever it says.
#[test]
fn streams_are_not_asked_for_all_the_time() {
    let _alone = crate::alone();
    let (address, seen) = serve(|stream, asked| {
        on_stream(stream, asked, |stream| {
            write!(stream, "retry: 0\nid: {:?}\ndata: {{}}\n\n", Instant::now())
        })
    });
    let began = Instant::now();
    let count = || seen.streams.lock().len();
    expect_bounded("streams that end", &format!("http://{address}/"), || count() >= 12);
    let times = seen.streams.lock().clone();
    // Each may be late, but none is early.
    let took = times[11] - began;
    assert!(took >= Duration::from_secs(1), "twelve streams within {took:?}");
}

/// Holds (Transports): Whatever a server sends that an agent is reached through, and however much, it takes no more memory than the help says.
#[test]
fn cookies_are_bounded() {
    let _alone = crate::alone();
    let (address, seen) = serve(|stream, asked| {
        if asked == Asked::Stream {
            let name =
                format!("{:?}", Instant::now()).replace(|it: char| !it.is_alphanumeric(), "");
            let cookies: String = (0..50)
                .map(|at| format!("set-cookie: {name}{at}={}\r\n", "x".repeat(3000)))
                .collect();
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
            write!(stream, "{head}{cookies}\r\nretry: 0\nid: {name}\ndata: {{}}\n\n")?;
            return Ok(true);
        }
        Ok(false)
    });
    expect_bounded("cookies", &format!("http://{address}/"), || seen.streams.lock().len() >= 20);
    let longest = seen.longest_head.load(Ordering::SeqCst);
    assert!(longest > 8 << 10, "no cookie is kept");
    assert!(longest < 32 << 10, "{longest} bytes in a head");
}

/// Holds (Transports): Whatever a server sends that an agent is reached through, and however much, it takes no more memory than the help says.
#[test]
fn a_socket_is_bounded() {
    let _alone = crate::alone();
    let folder = TempFolder::new();
    let path = folder.path().join("agent");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let told = done.clone();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        for _ in 0..3 {
            let _ = repeat(&mut stream, "{", 63 * MIB).and_then(|()| stream.write_all(b"\n"));
        }
        let _ = repeat(&mut stream, "{", FLOOD);
        told.fetch_add(1, Ordering::SeqCst);
    });
    let url = format!("unix://{}", path.display());
    expect_bounded("a socket", &url, || done.load(Ordering::SeqCst) > 0);
}
