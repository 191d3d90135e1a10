//! What was said in a session: a file that only grows or is replaced whole, a line for each entry that is new or has
//! changed; the last line of an entry counts. Who has a session open holds a lock on its file.

use super::index::{private, private_folder};
use super::names::escaped;
use crate::secrets::Secrets;
use crate::session::ids::{AgentName, SessionId};
use crate::session::remembered::{Kept, Past, Remembered, StoreKey};
use crate::session::transcript::Entry;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The form of the lines.
const VERSION: u32 = 1;

/// A first line has at most so many bytes.
const MOST_HEAD: u64 = 64 << 10;

/// So much of a transcript is read: more was not written by us.
const MOST_READ: u64 = 256 << 20;

/// So often a file that others look at, or have just replaced, is tried again.
const LOOKS: usize = 100;

/// The first line.
#[derive(Serialize)]
struct Head<'a> {
    version: u32,
    agent: &'a AgentName,
    session: &'a SessionId,
    cwd: &'a Path,
}

/// Every other line.
#[derive(Serialize)]
struct Written<'a> {
    at: usize,
    entry: &'a Entry,
}

#[derive(Deserialize)]
struct Read {
    at: usize,
    entry: Entry,
}

/// Whose it is.
#[derive(Deserialize)]
struct Of {
    agent: AgentName,
    session: SessionId,
    cwd: PathBuf,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Transcripts {
    folder: PathBuf,
    secrets: Secrets,
    /// Those this program has open.
    held: HashMap<PathBuf, Held>,
}

/// A transcript that this program has open.
#[derive(Debug, Default)]
struct Held {
    /// `None` where another program has it open, too, and writes it.
    file: Option<Flock<File>>,
    /// Something was not written: only all of it makes it right.
    is_behind: bool,
}

impl Transcripts {
    pub(super) fn new(folder: &Path, secrets: Secrets) -> Self {
        Self { secrets, folder: folder.join("transcripts"), held: HashMap::new() }
    }

    /// Adds what has changed, or begins `anew` with it. Nothing is written where another program has the session open, or
    /// where something is missing before it.
    pub(super) fn write(
        &mut self,
        session: &Remembered,
        anew: bool,
        entries: &[(usize, Entry)],
    ) -> io::Result<Kept> {
        let path = self.path(&session.key());
        let held = self.held.entry(path.clone()).or_default();
        let kept = held.write(&path, session, anew, entries, &self.secrets);
        held.is_behind = !matches!(kept, Ok(Kept::Written));
        kept
    }

    /// The entries in order. Lines that make no sense are left out: a later version may have written them.
    pub(super) fn read(&self, session: &StoreKey) -> io::Result<Past> {
        let path = self.path(session);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Past::default()),
            file => file?,
        };
        let size = file.metadata()?.len();
        if size > MOST_READ {
            return Err(io::Error::other(format!("it has {size} bytes")));
        }
        let mut lines = BufReader::new(file).take(MOST_READ).split(b'\n');
        let head = lines.next().transpose()?.unwrap_or_default();
        let head = serde_json::from_slice::<Version>(&head);
        if let Ok(Version { version }) = head
            && version != VERSION
        {
            return Err(io::Error::other(format!("version {version} of another rat.nvim")));
        }
        let mut entries = BTreeMap::new();
        for line in lines {
            if let Ok(Read { at, entry }) = serde_json::from_slice(&line?) {
                entries.insert(at, entry);
            }
        }
        let has_gaps = head.is_err() || entries.keys().copied().ne(0..entries.len());
        Ok(Past { entries: entries.into_values().collect(), has_gaps, is_elsewhere: false })
    }

    /// Whether some program has it open, be it this one.
    pub(super) fn is_open(&self, session: &StoreKey) -> bool {
        let path = self.path(session);
        if self.held.contains_key(&path) {
            return true;
        }
        // Shared, and let go at once: who looks does not keep others from looking.
        File::open(path).is_ok_and(|file| Flock::lock(file, FlockArg::LockSharedNonblock).is_err())
    }

    /// Opens a session that is to go on here. `false` where another program has it open.
    pub(super) fn claim(&mut self, session: &StoreKey) -> bool {
        let path = self.path(session);
        let held = self.held.get(&path).is_some_and(|held| held.file.is_some());
        // Where nothing is written down there is nothing to go on with, and nothing to hold.
        if held || !path.exists() {
            return true;
        }
        match hold(&path) {
            Ok(Some(file)) => {
                self.held.insert(path, Held { file: Some(file), is_behind: false });
                true
            }
            Ok(None) => false,
            // That will be said when it cannot be written.
            Err(_) => true,
        }
    }

    /// Lets go of a session. What was not written of it is lost to it.
    pub(super) fn release(&mut self, session: &StoreKey) {
        self.held.remove(&self.path(session));
    }

    pub(super) fn forget(&mut self, session: &StoreKey) {
        let path = self.path(session);
        self.held.remove(&path);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::error!(path = %path.display(), %error, "a transcript was not removed");
        }
    }

    /// Where its transcript is: a folder for each folder agents work in. One that was begun where all had one folder stays
    /// there.
    fn path(&self, session: &StoreKey) -> PathBuf {
        let StoreKey { cwd, agent, id } = session;
        let (agent, id) = (escaped(agent.as_str()), escaped(id.as_str()));
        let path = self.folder.join(escaped(&cwd.to_string_lossy()));
        // Of what stands in a name, this sign is escaped.
        let path = path.join(format!("{agent}={id}.jsonl"));
        let old = self.folder.join(format!("{agent}-{id}.jsonl"));
        if !path.exists() && is_of(&old, session) { old } else { path }
    }
}

impl Held {
    fn write(
        &mut self,
        path: &Path,
        session: &Remembered,
        anew: bool,
        entries: &[(usize, Entry)],
        secrets: &Secrets,
    ) -> io::Result<Kept> {
        if self.file.is_none() {
            self.file = hold(path)?;
        }
        let Some(file) = &self.file else { return Ok(Kept::Elsewhere) };
        if self.is_behind && !anew {
            return Ok(Kept::Behind);
        }
        let mut lines = Vec::new();
        if anew || file.metadata()?.len() == 0 {
            let Remembered { agent, id, cwd, .. } = session;
            line(&mut lines, &Head { version: VERSION, agent, session: id, cwd })?;
        }
        for (at, entry) in entries {
            line(&mut lines, &Written { at: *at, entry })?;
        }
        let lines = secrets.hide_bytes(&lines);
        if anew {
            self.file = Some(replace(path, &lines)?);
        } else {
            append(file, &lines)?;
        }
        Ok(Kept::Written)
    }
}

/// Whether the file is the transcript of this session: where all had one folder, another one may have its name.
fn is_of(path: &Path, session: &StoreKey) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut first = Vec::new();
    let read = BufReader::new(file).take(MOST_HEAD).read_until(b'\n', &mut first);
    let head = read.ok().and_then(|_| serde_json::from_slice::<Of>(&first).ok());
    head.is_some_and(|it| {
        (it.agent, it.session, it.cwd)
            == (session.agent.clone(), session.id.clone(), session.cwd.clone())
    })
}

/// The file, if it is ours to write.
fn hold(path: &Path) -> io::Result<Option<Flock<File>>> {
    for _ in 0..LOOKS {
        match Flock::lock(open(path)?, FlockArg::LockExclusiveNonblock) {
            Ok(held) if is_at(&held, path)? => {
                end_line(&held)?;
                return Ok(Some(held));
            }
            // It was replaced or removed meanwhile.
            Ok(_) => {}
            Err((file, Errno::EWOULDBLOCK)) => {
                // Who holds it alone writes it; others only look whether it is open.
                if Flock::lock(file, FlockArg::LockSharedNonblock).is_err() {
                    return Ok(None);
                }
            }
            Err((_, error)) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Puts a file with these lines in the place of one that is ours, or leaves that as it is. It is ours, too.
fn replace(path: &Path, lines: &[u8]) -> io::Result<Flock<File>> {
    let new = path.with_extension("new");
    let file = Flock::lock(open(&new)?, FlockArg::LockExclusiveNonblock);
    let file = file.map_err(|(_, error)| error)?;
    let written = file.set_len(0).and_then(|()| append(&file, lines));
    if let Err(error) = written.and_then(|()| fs::rename(&new, path)) {
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    Ok(file)
}

fn open(path: &Path) -> io::Result<File> {
    path.parent().map_or(Ok(()), private_folder)?;
    private(File::options().create(true).read(true).append(true)).open(path)
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (file, at) = (file.metadata()?, fs::metadata(path));
    Ok(at.is_ok_and(|at| (at.dev(), at.ino()) == (file.dev(), file.ino())))
}

/// Adds lines, all of them or none. At once: a program that is killed leaves whole lines, but for the last one.
fn append(mut file: &File, lines: &[u8]) -> io::Result<()> {
    let end = file.metadata()?.len();
    file.write_all(lines).inspect_err(|_| {
        if let Err(error) = file.set_len(end) {
            tracing::error!(%error, "half a line stays in a transcript");
        }
    })
}

/// Ends a line that was cut off, so that it costs itself only.
fn end_line(file: &File) -> io::Result<()> {
    let mut last = [b'\n'];
    if let Some(at) = file.metadata()?.len().checked_sub(1) {
        file.read_exact_at(&mut last, at)?;
    }
    if last == *b"\n" { Ok(()) } else { append(file, b"\n") }
}

fn line(out: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.push(b'\n');
    Ok(())
}
