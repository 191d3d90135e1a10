//! Transcripts on disk: one JSON Lines file for each session, which is only appended to or replaced as a whole. After a
//! header, each line is an entry that is new or has changed, or text to append to a message; a later line for an entry
//! replaces the earlier ones and what was appended to them. The program that has a session open holds a lock on its
//! file. The file of an archived session is written again when the session is opened.

use super::archive;
use super::locked::{create_private_folder, private};
use super::names::escaped;
use crate::secrets::Secrets;
use crate::session::entry::Entry;
use crate::session::ids::{AgentName, SessionId};
use crate::session::saved::{SaveResult, SavedSession, SavedTranscript, StoreKey, TranscriptPart};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Version of the file format.
const VERSION: u32 = 1;

/// Maximum length of the header line, in bytes.
const MAX_HEADER: u64 = 64 << 10;

/// Files with more bytes are not read: this program does not write them that large.
pub(super) const MAX_FILE: u64 = 256 << 20;

/// How often locking a file is retried while others check its lock or replace it.
const MAX_LOCK_TRIES: usize = 100;

/// The header, which is the first line.
#[derive(Serialize)]
struct Header<'a> {
    version: u32,
    agent: &'a AgentName,
    session: &'a SessionId,
    cwd: &'a Path,
}

/// A line with an entry.
#[derive(Serialize)]
struct EntryLine<'a> {
    /// Index in the transcript.
    at: usize,
    entry: &'a Entry,
}

/// A line with text to append to a message.
#[derive(Serialize)]
struct AppendLine<'a> {
    /// Index of the message in the transcript.
    at: usize,
    more: &'a str,
}

/// An [`EntryLine`] or an [`AppendLine`].
#[derive(Deserialize)]
struct Line {
    at: usize,
    #[serde(default)]
    entry: Option<Entry>,
    #[serde(default)]
    more: Option<String>,
}

/// The fields of the header that identify the session.
#[derive(Deserialize)]
struct Owner {
    agent: AgentName,
    session: SessionId,
    cwd: PathBuf,
}

/// The field that the header of every version has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// All transcripts.
#[derive(Debug)]
pub(super) struct Transcripts {
    folder: PathBuf,
    /// The folder of the store.
    store: PathBuf,
    secrets: Secrets,
    /// Those this program has open, by file.
    open: HashMap<PathBuf, OpenTranscript>,
}

/// How much may be appended, in bytes, beyond doubling a file, until it is written anew: an agent may replace a long message
/// again and again.
const MAX_REPLACED: u64 = 16 << 20;

/// A transcript that this program has open.
#[derive(Debug, Default)]
struct OpenTranscript {
    /// `None` if another program holds the lock and writes the file.
    file: Option<Flock<File>>,
    /// How large the file was when it was last as short as it can be, in bytes.
    shortest: u64,
    /// Something could not be written, so the file is only complete again once it has been replaced as a whole.
    is_behind: bool,
    /// The message that is streaming in, by index, and the end of its text that is not written yet, since a secret may
    /// begin there.
    streaming: Option<(usize, String)>,
}

impl Transcripts {
    pub(super) fn new(folder: &Path, secrets: Secrets) -> Self {
        let store = folder.to_owned();
        Self { secrets, folder: folder_in(folder), store, open: HashMap::new() }
    }

    /// Appends a part to a transcript, or with `replace` makes it the whole transcript. Nothing is written if another
    /// program has the session open, or if something before the part could not be written.
    pub(super) fn write(
        &mut self,
        session: &SavedSession,
        replace: bool,
        part: &TranscriptPart,
    ) -> io::Result<SaveResult> {
        let path = file_of(&self.folder, &session.key());
        let open = self.open.entry(path.clone()).or_default();
        if open.file.is_none() {
            open.file = lock_restored(&path, &self.store, &session.key())?;
        }
        let saved = open.write(&path, session, replace, part, &self.secrets);
        open.is_behind = !matches!(saved, Ok(SaveResult::Written | SaveResult::Overgrown));
        saved
    }

    /// Loads a transcript, also an archived one; empty if there is none.
    pub(super) fn read(&self, session: &StoreKey) -> io::Result<SavedTranscript> {
        match open_any(&self.store, &self.folder, session) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SavedTranscript::default()),
            Err(error) => Err(error),
            Ok(Saved::Archived(archived)) => decode(archived),
            Ok(Saved::File(file)) => {
                let size = file.metadata()?.len();
                if size > MAX_FILE {
                    return Err(io::Error::other(format!("it has {size} bytes")));
                }
                decode(file)
            }
        }
    }

    /// Moves a session to the archive. Returns `false` if some program has it open, or if it is too large.
    pub(super) fn archive(&self, session: &SavedSession) -> io::Result<bool> {
        let path = file_of(&self.folder, &session.key());
        if self.open.contains_key(&path) {
            return Ok(false);
        }
        if !path.exists() {
            archive::write(&self.store, session, io::empty())?;
            return Ok(true);
        }
        let Some(file) = lock(&path)? else { return Ok(false) };
        if file.metadata()?.len() > MAX_FILE {
            return Ok(false);
        }
        archive::write(&self.store, session, &*file)?;
        fs::remove_file(&path)?;
        Ok(true)
    }

    /// Whether any program has a session open, including this one.
    pub(super) fn is_open(&self, session: &StoreKey) -> bool {
        let path = file_of(&self.folder, session);
        if self.open.contains_key(&path) {
            return true;
        }
        // A shared lock, released at once, so that two programs that check do not see each other's.
        File::open(path).is_ok_and(|file| Flock::lock(file, FlockArg::LockSharedNonblock).is_err())
    }

    /// Opens a session. Returns `false` if another program has it open.
    pub(super) fn claim(&mut self, session: &StoreKey) -> bool {
        let path = file_of(&self.folder, session);
        let is_locked = self.open.get(&path).is_some_and(|open| open.file.is_some());
        // Without a file there is nothing to load and nothing to lock.
        if is_locked || !path.exists() && !archive::has(&self.store, session) {
            return true;
        }
        match lock_restored(&path, &self.store, session) {
            Ok(Some(file)) => {
                let shortest = file.metadata().map_or(0, |metadata| metadata.len());
                let open = OpenTranscript { file: Some(file), shortest, ..Default::default() };
                self.open.insert(path, open);
                true
            }
            Ok(None) => false,
            // The first write will report the error.
            Err(_) => true,
        }
    }

    /// Closes a session. What could not be written of its transcript is lost.
    pub(super) fn release(&mut self, session: &StoreKey) {
        self.open.remove(&file_of(&self.folder, session));
    }

    /// Deletes a transcript, also from the archive.
    pub(super) fn forget(&mut self, session: &StoreKey) {
        let path = file_of(&self.folder, session);
        self.open.remove(&path);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::error!(path = %path.display(), %error, "a transcript was not removed");
        }
        archive::remove(&self.store, session);
    }
}

impl OpenTranscript {
    fn write(
        &mut self,
        path: &Path,
        session: &SavedSession,
        replace: bool,
        part: &TranscriptPart,
        secrets: &Secrets,
    ) -> io::Result<SaveResult> {
        let Some(file) = &self.file else { return Ok(SaveResult::Elsewhere) };
        if self.is_behind && !replace {
            return Ok(SaveResult::Behind);
        }
        let mut lines = Vec::new();
        if replace || file.metadata()?.len() == 0 {
            let SavedSession { agent, id, cwd, .. } = session;
            push_line(&mut lines, &Header { version: VERSION, agent, session: id, cwd })?;
        }
        for (at, entry) in &part.entries {
            push_line(&mut lines, &EntryLine { at: *at, entry })?;
        }
        if let Some((at, _)) = &self.streaming
            && (replace || part.entries.iter().any(|(entry, _)| entry == at))
        {
            self.streaming = None;
        }
        if let Some((at, new)) = &part.more {
            let unwritten = self.streaming.take().filter(|(streaming, _)| streaming == at);
            let mut text = unwritten.map_or_else(String::new, |(_, text)| text) + new;
            let unwritten = text.split_off(secrets.safe_split(&text));
            if !text.is_empty() {
                push_line(&mut lines, &AppendLine { at: *at, more: &secrets.hide(&text) })?;
            }
            self.streaming = Some((*at, unwritten));
        }
        let lines = secrets.hide_bytes(&lines);
        if replace {
            let file = replace_file(path, |file| append(file, &lines))?;
            self.shortest = file.metadata()?.len();
            self.file = Some(file);
            return Ok(SaveResult::Written);
        }
        append(file, &lines)?;
        let is_overgrown = file.metadata()?.len() > 2 * self.shortest + MAX_REPLACED;
        Ok(if is_overgrown { SaveResult::Overgrown } else { SaveResult::Written })
    }
}

/// A transcript as it is found.
pub(super) enum Saved {
    File(File),
    Archived(archive::Archived),
}

/// Opens the transcript of a session, also an archived one. `folder` is that of all transcripts.
pub(super) fn open_any(store: &Path, folder: &Path, session: &StoreKey) -> io::Result<Saved> {
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match File::open(file_of(folder, session)) {
        Err(error) if is_missing(&error) => match archive::open(store, session) {
            // It may have been restored in between.
            Err(error) if is_missing(&error) => {
                File::open(file_of(folder, session)).map(Saved::File)
            }
            archived => archived.map(Saved::Archived),
        },
        file => file.map(Saved::File),
    }
}

/// Returns the folder of all transcripts in that of the store.
pub(super) fn folder_in(store: &Path) -> PathBuf {
    store.join("transcripts")
}

/// Returns the file of a session's transcript, in a subfolder for the folder the agent works in. `folder` is that of all
/// transcripts. Earlier versions kept them all in that one; a file that is there stays there.
pub(super) fn file_of(folder: &Path, session: &StoreKey) -> PathBuf {
    let StoreKey { cwd, agent, id } = session;
    let (agent, id) = (escaped(agent.as_str()), escaped(id.as_str()));
    let path = folder.join(escaped(&cwd.to_string_lossy()));
    // `escaped` never returns `=`, so the two names cannot run together.
    let path = path.join(format!("{agent}={id}.jsonl"));
    let old = folder.join(format!("{agent}-{id}.jsonl"));
    if !path.exists() && belongs_to(&old, session) { old } else { path }
}

/// Whether a file in the folder that all transcripts once shared is that of this session: one of another folder may
/// have the same name.
fn belongs_to(path: &Path, session: &StoreKey) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut first = Vec::new();
    let read = BufReader::new(file).take(MAX_HEADER).read_until(b'\n', &mut first);
    let owner = read.ok().and_then(|_| serde_json::from_slice::<Owner>(&first).ok());
    owner.is_some_and(|owner| {
        (owner.agent, owner.session, owner.cwd)
            == (session.agent.clone(), session.id.clone(), session.cwd.clone())
    })
}

/// Reads a transcript. Lines that cannot be decoded are skipped, since a later version may have written them.
fn decode(transcript: impl Read) -> io::Result<SavedTranscript> {
    let mut lines = BufReader::new(transcript).take(MAX_FILE).split(b'\n');
    let header = lines.next().transpose()?.unwrap_or_default();
    let header = serde_json::from_slice::<Version>(&header);
    if let Ok(Version { version }) = header
        && version != VERSION
    {
        return Err(io::Error::other(format!("version {version} of another rat.nvim")));
    }
    let mut entries = BTreeMap::new();
    for line in lines {
        let Ok(Line { at, entry, more }) = serde_json::from_slice(&line?) else { continue };
        if let Some(entry) = entry {
            entries.insert(at, entry);
        }
        if let (Some(more), Some(Entry::Message(message))) = (more, entries.get_mut(&at)) {
            message.text.push_str(&more);
        }
    }
    let has_gaps = header.is_err() || entries.keys().copied().ne(0..entries.len());
    Ok(SavedTranscript { entries: entries.into_values().collect(), has_gaps, is_elsewhere: false })
}

/// Opens and locks the file of a session, like [`lock`]. If there is none, the archive may have the session: then the file is
/// written from there, and the archive keeps it until the index lists it again.
fn lock_restored(path: &Path, store: &Path, session: &StoreKey) -> io::Result<Option<Flock<File>>> {
    let Some(file) = lock(path)? else { return Ok(None) };
    if file.metadata()?.len() > 0 {
        return Ok(Some(file));
    }
    match archive::open(store, session) {
        Ok(mut archived) => {
            replace_file(path, |mut file| io::copy(&mut archived, &mut file).map(drop)).map(Some)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(file)),
        Err(error) => Err(error),
    }
}

/// Opens and locks a file; creates it if it does not exist. `None` if another program holds the lock.
fn lock(path: &Path) -> io::Result<Option<Flock<File>>> {
    for _ in 0..MAX_LOCK_TRIES {
        match Flock::lock(open(path)?, FlockArg::LockExclusiveNonblock) {
            Ok(file) if is_at(&file, path)? => {
                terminate_last_line(&file)?;
                return Ok(Some(file));
            }
            // The file has been replaced or removed since it was opened.
            Ok(_) => {}
            Err((file, Errno::EWOULDBLOCK)) => {
                // An exclusive lock is that of the program that writes the file. A shared one is only held for a
                // moment, by a program that checks whether the session is open.
                if Flock::lock(file, FlockArg::LockSharedNonblock).is_err() {
                    return Ok(None);
                }
            }
            Err((_, error)) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Atomically replaces a file that this program has locked. Returns the new file, locked.
fn replace_file(
    path: &Path,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<Flock<File>> {
    let new = path.with_extension("new");
    let file = Flock::lock(open(&new)?, FlockArg::LockExclusiveNonblock);
    let file = file.map_err(|(_, error)| error)?;
    let written = file.set_len(0).and_then(|()| write(&file));
    if let Err(error) = written.and_then(|()| fs::rename(&new, path)) {
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    Ok(file)
}

fn open(path: &Path) -> io::Result<File> {
    path.parent().map_or(Ok(()), create_private_folder)?;
    private(File::options().create(true).read(true).append(true)).open(path)
}

/// Whether `path` still names the open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (file, at) = (file.metadata()?, fs::metadata(path));
    Ok(at.is_ok_and(|at| (at.dev(), at.ino()) == (file.dev(), file.ino())))
}

/// Appends lines, all or none of them, in one call: if the program is killed, at most the last line is incomplete.
fn append(mut file: &File, lines: &[u8]) -> io::Result<()> {
    let end = file.metadata()?.len();
    file.write_all(lines).inspect_err(|_| {
        if let Err(error) = file.set_len(end) {
            tracing::error!(%error, "half a line stays in a transcript");
        }
    })
}

/// Terminates a last line that is incomplete, so that the next one is not lost with it.
fn terminate_last_line(file: &File) -> io::Result<()> {
    let mut last = [b'\n'];
    if let Some(at) = file.metadata()?.len().checked_sub(1) {
        file.read_exact_at(&mut last, at)?;
    }
    if last == *b"\n" { Ok(()) } else { append(file, b"\n") }
}

fn push_line(out: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.push(b'\n');
    Ok(())
}
