//! The archive: sessions that are not among the newest of their folder, each in a compressed file. They are listed, searched and
//! opened like the others. A session is in the archive if its file is there; nothing else says so.
//!
//! A file begins with a line of JSON that says what session it is. Pieces of the transcript follow, each with its length, the
//! length it is compressed to (both 32 bits, little endian) and its bytes (LZ4 block).

use super::locked::create_private_folder;
use super::names::escaped;
use crate::session::saved::{SavedSession, StoreKey};
use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use lz4_flex::block;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Version of the file format.
const VERSION: u32 = 1;

/// Maximum length of the first line, in bytes.
const MAX_HEADER: u64 = 64 << 10;

/// How much is compressed at once, in bytes.
const PIECE: usize = 1 << 20;

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct Header<S> {
    version: u32,
    #[serde(flatten)]
    session: S,
}

/// Reads the transcript of an archived session.
#[derive(Debug)]
pub(super) struct Archived {
    file: BufReader<File>,
    /// The piece that is being read, and how much of it has been.
    piece: Vec<u8>,
    read: usize,
}

/// Writes a session to the archive of the store in `store`, in place of what was there.
pub(super) fn write(
    store: &Path,
    session: &SavedSession,
    mut transcript: impl Read,
) -> io::Result<()> {
    let path = file_of(store, &session.key());
    path.parent().map_or(Ok(()), create_private_folder)?;
    let mut file = AtomicWriteFile::options().mode(0o600).preserve_mode(false).open(&path)?;
    serde_json::to_writer(&mut file, &Header { version: VERSION, session })?;
    file.write_all(b"\n")?;
    let mut piece = Vec::new();
    loop {
        piece.clear();
        transcript.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        if piece.is_empty() {
            break;
        }
        let compressed = block::compress(&piece);
        for length in [piece.len(), compressed.len()] {
            file.write_all(&u32::try_from(length).map_err(io::Error::other)?.to_le_bytes())?;
        }
        file.write_all(&compressed)?;
    }
    file.commit()
}

/// Opens the transcript of an archived session. An error of the kind `NotFound` says that it is not archived.
pub(super) fn open(store: &Path, session: &StoreKey) -> io::Result<Archived> {
    let mut file = BufReader::new(File::open(file_of(store, session))?);
    read_header(&mut file)?;
    Ok(Archived { file, piece: Vec::new(), read: 0 })
}

/// Whether a session is in the archive.
pub(super) fn has(store: &Path, session: &StoreKey) -> bool {
    file_of(store, session).exists()
}

/// Removes a session from the archive, if it is there.
pub(super) fn remove(store: &Path, session: &StoreKey) {
    let path = file_of(store, session);
    if let Err(error) = fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::error!(path = %path.display(), %error, "an archived session was not removed");
    }
}

/// Returns the archived sessions of a folder, in no order.
pub(super) fn list(store: &Path, cwd: &Path) -> Vec<SavedSession> {
    let mut sessions = Vec::new();
    list_in(&folder_of(store, cwd), &mut sessions);
    sessions.retain(|session| session.cwd == cwd);
    sessions
}

/// Returns all archived sessions, in no order.
pub(super) fn list_all(store: &Path) -> Vec<SavedSession> {
    let folders = fs::read_dir(folder_in(store)).into_iter().flatten().flatten();
    let mut sessions = Vec::new();
    for folder in folders {
        list_in(&folder.path(), &mut sessions);
    }
    sessions
}

fn list_in(folder: &Path, sessions: &mut Vec<SavedSession>) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    for path in files.filter(|path| path.extension() == Some("lz4".as_ref())) {
        let session = File::open(&path).and_then(|file| read_header(&mut BufReader::new(file)));
        match session {
            Ok(session) => sessions.push(session),
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "an archived session is unreadable");
            }
        }
    }
}

fn read_header(file: &mut BufReader<File>) -> io::Result<SavedSession> {
    let mut line = Vec::new();
    file.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line)?;
    let Header { version, session } = serde_json::from_slice(&line)?;
    if version != VERSION {
        return Err(io::Error::other(format!("version {version} of another rat.nvim")));
    }
    Ok(session)
}

impl Read for Archived {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.read == self.piece.len() {
            self.read = 0;
            self.piece = next_piece(&mut self.file)?;
        }
        let from = &self.piece[self.read..];
        let length = from.len().min(to.len());
        to[..length].copy_from_slice(&from[..length]);
        self.read += length;
        Ok(length)
    }
}

/// Returns the next piece; empty at the end of the file.
fn next_piece(file: &mut BufReader<File>) -> io::Result<Vec<u8>> {
    if file.fill_buf()?.is_empty() {
        return Ok(Vec::new());
    }
    let mut length = || -> io::Result<usize> {
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes)?;
        usize::try_from(u32::from_le_bytes(bytes)).map_err(io::Error::other)
    };
    let (whole, compressed) = (length()?, length()?);
    if whole > PIECE || compressed > block::get_maximum_output_size(PIECE) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a piece of it is too long"));
    }
    let mut bytes = vec![0; compressed];
    file.read_exact(&mut bytes)?;
    block::decompress(&bytes, whole)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn folder_in(store: &Path) -> PathBuf {
    store.join("archive")
}

fn folder_of(store: &Path, cwd: &Path) -> PathBuf {
    folder_in(store).join(escaped(&cwd.to_string_lossy()))
}

fn file_of(store: &Path, session: &StoreKey) -> PathBuf {
    let StoreKey { cwd, agent, id } = session;
    // `escaped` never returns `=`, so the two names cannot run together.
    let name = format!("{}={}.lz4", escaped(agent.as_str()), escaped(id.as_str()));
    folder_of(store, cwd).join(name)
}
