//! What was said in a session: a file that only grows, a line for each entry that is new or has changed; the last line of an
//! entry counts. Who has a session open holds a lock on its file.

use super::index::{private, private_folder};
use super::names::escaped;
use crate::session::ids::{AgentName, SessionId};
use crate::session::remembered::{Past, Remembered};
use crate::session::transcript::Entry;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The form of the lines.
const VERSION: u32 = 1;

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

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Transcripts {
    folder: PathBuf,
    /// Those this program has open. `None` where another one has it: that one writes.
    held: HashMap<PathBuf, Option<Flock<File>>>,
}

impl Transcripts {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.join("transcripts"), held: HashMap::new() }
    }

    /// Adds what has changed, or begins `anew` with it. Nothing happens where another program has the session open.
    pub(super) fn write(
        &mut self,
        session: &Remembered,
        anew: bool,
        entries: &[(usize, Entry)],
    ) -> io::Result<()> {
        let path = self.path(&session.agent, &session.id);
        let Some(file) = self.hold(&path)? else { return Ok(()) };
        let mut lines = Vec::new();
        if anew {
            file.set_len(0)?;
        }
        if file.metadata()?.len() == 0 {
            let Remembered { agent, id, cwd, .. } = session;
            line(&mut lines, &Head { version: VERSION, agent, session: id, cwd })?;
        }
        for (at, entry) in entries {
            line(&mut lines, &Written { at: *at, entry })?;
        }
        append(file, &lines)
    }

    /// The entries in order. Lines that make no sense are left out: a later version may have written them.
    pub(super) fn read(&self, agent: &AgentName, id: &SessionId) -> io::Result<Past> {
        let path = self.path(agent, id);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Past::default()),
            file => file?,
        };
        let mut lines = BufReader::new(file).split(b'\n');
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
        Ok(Past { entries: entries.into_values().collect(), has_gaps })
    }

    /// Whether some program has it open, be it this one.
    pub(super) fn is_open(&self, agent: &AgentName, id: &SessionId) -> bool {
        let path = self.path(agent, id);
        if self.held.contains_key(&path) {
            return true;
        }
        // The lock is let go at once.
        File::open(path)
            .is_ok_and(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).is_err())
    }

    pub(super) fn forget(&mut self, agent: &AgentName, id: &SessionId) {
        let path = self.path(agent, id);
        self.held.remove(&path);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::error!(path = %path.display(), %error, "a transcript was not removed");
        }
    }

    /// The file, if it is ours to write.
    fn hold(&mut self, path: &Path) -> io::Result<Option<&mut Flock<File>>> {
        if !self.held.contains_key(path) {
            private_folder(&self.folder)?;
            let file = private(File::options().create(true).read(true).append(true)).open(path)?;
            let held = Flock::lock(file, FlockArg::LockExclusiveNonblock)
                .inspect_err(|_| tracing::warn!(path = %path.display(), "open elsewhere"))
                .ok();
            if let Some(file) = &held {
                end_line(file)?;
            }
            self.held.insert(path.to_owned(), held);
        }
        Ok(self.held.get_mut(path).and_then(Option::as_mut))
    }

    fn path(&self, agent: &AgentName, id: &SessionId) -> PathBuf {
        let (agent, id) = (escaped(agent.as_str()), escaped(id.as_str()));
        self.folder.join(format!("{agent}-{id}.jsonl"))
    }
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
