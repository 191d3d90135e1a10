//! What outlives Neovim, on disk: an index of the newest sessions of each folder (`index`), their transcripts (`transcripts`),
//! the older sessions (`archive`), and the rules that the user has made (`rules`). One thread does all reading and writing, in the order requested. What is saved, and
//! when, is decided by `core`.

mod archive;
mod index;
mod listed;
mod locked;
mod names;
mod rules;
mod search;
mod transcripts;

use crate::secrets::Secrets;
use crate::session::entry::Entry;
use crate::session::ids::AgentName;
use crate::session::saved::{SaveResult, SavedSession, SavedTranscript, StoreKey, TranscriptPart};
use crate::session::search::{SearchQuery, SearchResult};
use crate::trust::kept::{KeptRules, RulesChange, RulesFailure};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;
use tokio::time::Instant;
use transcripts::Transcripts;

/// How long the program, when it exits, waits for pending writes.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for another program that is about to exit to close a session, and how often to check.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1500);
const CLOSE_POLL: Duration = Duration::from_millis(50);

/// How long the time of last use in an index may lag behind, so that the index is not rewritten for every message.
const INDEX_LAG: Duration = Duration::from_secs(30);

/// Handle to the thread that saves sessions. When it is dropped, the thread finishes its queue and exits.
#[derive(Debug)]
pub struct Store {
    /// `None` if sessions are not saved.
    jobs: Option<mpsc::Sender<Job>>,
    secrets: Secrets,
    /// The folder; `None` if sessions are not saved.
    folder: Option<PathBuf>,
    /// How many searches have begun. Only the last one is still wanted.
    searches: Arc<AtomicU64>,
}

enum Job {
    Save {
        session: Box<SavedSession>,
        /// Whether `part` replaces the transcript.
        replace: bool,
        part: TranscriptPart,
        reply: oneshot::Sender<SaveResult>,
    },
    Forget(StoreKey),
    List(PathBuf, oneshot::Sender<Vec<SavedSession>>),
    FindLast(PathBuf, AgentName, oneshot::Sender<Option<SavedSession>>),
    LoadTranscript {
        session: StoreKey,
        claim: bool,
        reply: oneshot::Sender<SavedTranscript>,
    },
    Release(StoreKey),
    Limit(Option<usize>),
    Rules(RulesChange, oneshot::Sender<Result<KeptRules, RulesFailure>>),
    Flush(mpsc::Sender<()>),
}

impl Store {
    /// Starts a store below `folder`, which is created when it is first needed. With `None` nothing is saved. `secrets`
    /// are redacted from everything that is written.
    pub fn open(folder: Option<PathBuf>, secrets: Secrets) -> Self {
        let Some(folder) = folder else {
            tracing::warn!("sessions are not saved: there is no folder for them");
            return Self { jobs: None, secrets, folder: None, searches: Arc::default() };
        };
        let searched = folder.clone();
        let (jobs, queue) = mpsc::channel();
        let known = secrets.clone();
        let started = thread::Builder::new().name("store".to_owned()).spawn(move || {
            let transcripts = Transcripts::new(&folder, known.clone());
            let mut worker = Worker {
                transcripts,
                secrets: known,
                folder,
                indexed: HashMap::new(),
                uses: 0,
                limit: None,
            };
            for job in queue {
                worker.run(job);
            }
        });
        let started =
            started.inspect_err(|error| tracing::error!(%error, "sessions are not saved"));
        let jobs = started.is_ok().then_some(jobs);
        Self { jobs, secrets, folder: Some(searched), searches: Arc::default() }
    }

    /// Returns a text without the secrets that are known.
    pub fn hide_secrets(&self, text: String) -> String {
        match self.secrets.hide(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(hidden) => hidden,
        }
    }

    /// Saves that a session was used just now, with the new and changed entries of its transcript; with `replace`,
    /// `entries` are the whole transcript. Unless another program has the session open, this one has it open from now
    /// on. The receiver gets the result; it is closed without one if sessions are not saved.
    pub fn save(
        &self,
        session: SavedSession,
        replace: bool,
        entries: Vec<(usize, Entry)>,
    ) -> oneshot::Receiver<SaveResult> {
        self.write(session, replace, TranscriptPart { entries, more: None })
    }

    /// Like [`Self::save`] while a message streams in: `part` has only the new end of its text.
    pub fn save_part(
        &self,
        session: SavedSession,
        part: TranscriptPart,
    ) -> oneshot::Receiver<SaveResult> {
        self.write(session, false, part)
    }

    fn write(
        &self,
        session: SavedSession,
        replace: bool,
        part: TranscriptPart,
    ) -> oneshot::Receiver<SaveResult> {
        let (reply, result) = oneshot::channel();
        self.send(Job::Save { session: Box::new(session), replace, part, reply });
        result
    }

    /// Deletes a session and its transcript.
    pub fn forget(&self, session: StoreKey) {
        self.send(Job::Forget(session));
    }

    /// Returns the sessions of a folder, most recently used first. Empty if the index cannot be read.
    pub async fn list(&self, cwd: PathBuf) -> Vec<SavedSession> {
        let (reply, result) = oneshot::channel();
        self.send(Job::List(cwd, reply));
        result.await.unwrap_or_default()
    }

    /// Returns the conversation with `agent` that was used last in a folder. If another program has it open, waits a moment
    /// for it to be closed, since that may be a Neovim that is exiting.
    pub async fn find_last(&self, cwd: PathBuf, agent: &AgentName) -> Option<SavedSession> {
        let until = Instant::now() + CLOSE_TIMEOUT;
        loop {
            let (reply, result) = oneshot::channel();
            self.send(Job::FindLast(cwd.clone(), agent.clone(), reply));
            let last = result.await.ok().flatten()?;
            if !last.open || Instant::now() >= until {
                return Some(last);
            }
            tokio::time::sleep(CLOSE_POLL).await;
        }
    }

    /// Searches the sessions of all folders, on threads of its own. `None` if another search begins before the end.
    pub fn search(
        &self,
        query: SearchQuery,
    ) -> impl Future<Output = Option<SearchResult>> + Send + 'static {
        let this = self.searches.fetch_add(1, Ordering::Relaxed) + 1;
        let (searches, folder) = (Arc::clone(&self.searches), self.folder.clone());
        let (reply, result) = oneshot::channel();
        let work = move || {
            let is_over = || searches.load(Ordering::Relaxed) != this;
            let found = folder.map(|folder| search::run(&folder, &query, &is_over));
            let found = found.unwrap_or_else(|| Ok(Some(SearchResult::default())));
            match found {
                Ok(found) => drop(found.map(|found| reply.send(found))),
                Err(error) => tracing::error!(%error, "a search failed"),
            }
        };
        if let Err(error) = thread::Builder::new().name("search".to_owned()).spawn(work) {
            tracing::error!(%error, "a search failed");
        }
        async move { result.await.ok() }
    }

    /// Loads what was saved of a transcript. With `claim`, this program has the session open from now on; if another
    /// program has it open, nothing is loaded and `is_elsewhere` is set.
    pub async fn load_transcript(&self, session: StoreKey, claim: bool) -> SavedTranscript {
        let (reply, result) = oneshot::channel();
        self.send(Job::LoadTranscript { session, claim, reply });
        result.await.unwrap_or_default()
    }

    /// Closes a session, so that other programs can open it.
    pub fn release(&self, session: StoreKey) {
        self.send(Job::Release(session));
    }

    /// Sets how many sessions of a folder are kept: from now on, older ones are deleted. `None` keeps all.
    pub fn limit(&self, sessions: Option<usize>) {
        self.send(Job::Limit(sessions));
    }

    /// Changes the rules that the user has made, and returns all that there are then.
    pub fn change_rules(
        &self,
        change: RulesChange,
    ) -> impl Future<Output = Result<KeptRules, RulesFailure>> + Send + 'static {
        let (reply, result) = oneshot::channel();
        self.send(Job::Rules(change, reply));
        let no_folder = || RulesFailure::Unsaved("there is no folder for them".to_owned());
        async move { result.await.unwrap_or_else(|_| Err(no_folder())) }
    }

    /// Reads the rules that the user has made, for the start of the program.
    pub fn read_rules(folder: &Path) -> Result<KeptRules, RulesFailure> {
        rules::read(folder)
    }

    /// Blocks until pending writes are done, for two seconds at most. Meant for the exit of the program.
    pub fn flush(&self) {
        let (done, is_done) = mpsc::channel();
        self.send(Job::Flush(done));
        let _ = is_done.recv_timeout(FLUSH_TIMEOUT);
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Fails only if the thread has panicked, which has been logged.
            let _ = jobs.send(job);
        }
    }
}

/// Runs the jobs, on the store's thread.
struct Worker {
    folder: PathBuf,
    secrets: Secrets,
    transcripts: Transcripts,
    /// The sessions this program has used, as last written to their indexes.
    indexed: HashMap<StoreKey, IndexedSession>,
    /// How many times sessions were used.
    uses: u64,
    /// How many sessions of a folder are kept; `None` keeps all.
    limit: Option<usize>,
}

/// A session as last written to its index.
struct IndexedSession {
    session: SavedSession,
    written_at: Instant,
    /// The number of its last use: sessions are often used within the same second.
    last_use: u64,
    /// It has been used since then.
    is_stale: bool,
}

impl Worker {
    fn run(&mut self, job: Job) {
        match job {
            Job::Save { mut session, replace, part, reply } => {
                let title = session.title.take();
                session.title = title.map(|title| self.secrets.hide(&title).into_owned());
                let saved = self.transcripts.write(&session, replace, &part);
                let cwd = session.cwd.clone();
                let _ = reply.send(saved.unwrap_or_else(|error| {
                    let why = error.to_string();
                    log_error(&cwd, "a transcript was not written", Err(error));
                    SaveResult::Failed(why)
                }));
                // At the exit, all sessions are saved, used or not.
                let touched = self.touch(session, part.is_use());
                log_error(&cwd, "a session was not saved", touched);
            }
            Job::Forget(key) => self.forget(&key),
            Job::List(cwd, reply) => {
                self.write_stale();
                let mut sessions = self.list(&cwd);
                for session in &mut sessions {
                    session.open = self.transcripts.is_open(&session.key());
                }
                let _ = reply.send(sessions);
            }
            Job::FindLast(cwd, agent, reply) => {
                self.write_stale();
                let mut sessions = self.list(&cwd).into_iter();
                let last = sessions.find(|session| session.agent == agent && !session.in_place);
                let _ = reply.send(last.map(|session| {
                    let open = self.transcripts.is_open(&session.key());
                    SavedSession { open, ..session }
                }));
            }
            Job::Limit(sessions) => self.limit = sessions,
            Job::Release(session) => self.transcripts.release(&session),
            Job::Rules(change, reply) => {
                let change = change.made_at(now(), |title| self.secrets.hide(title).into_owned());
                let _ = reply.send(rules::change(&self.folder, change));
            }
            Job::LoadTranscript { session, claim: true, reply }
                if !self.transcripts.claim(&session) =>
            {
                let elsewhere =
                    SavedTranscript { is_elsewhere: true, ..SavedTranscript::default() };
                let _ = reply.send(elsewhere);
            }
            Job::LoadTranscript { session, reply, .. } => {
                let transcript = self.transcripts.read(&session).unwrap_or_else(|error| {
                    log_error(&self.folder, "a transcript cannot be read", Err(error));
                    SavedTranscript::default()
                });
                let _ = reply.send(transcript);
            }
            Job::Flush(done) => {
                self.write_stale();
                let _ = done.send(());
            }
        }
    }

    /// Updates the time of last use of a session, if it `is_used` or has not been used by this program before. The index,
    /// which is a file that is replaced as a whole, may be written later.
    fn touch(&mut self, mut session: Box<SavedSession>, is_used: bool) -> io::Result<()> {
        let indexed = self.indexed.get_mut(&session.key());
        self.uses += 1;
        session.used_at = match &indexed {
            Some(indexed) if !is_used => indexed.session.used_at,
            _ => now(),
        };
        if let Some(indexed) = indexed
            && indexed.session.title == session.title
            && (!is_used || indexed.written_at.elapsed() < INDEX_LAG)
        {
            if is_used {
                indexed.session.used_at = session.used_at;
                indexed.last_use = self.uses;
                indexed.is_stale = true;
            }
            return Ok(());
        }
        self.write_index(&session, self.uses)
    }

    /// Writes the index of the session's folder, with the session first.
    fn write_index(&mut self, session: &SavedSession, last_use: u64) -> io::Result<()> {
        let (written_at, is_stale) = (Instant::now(), false);
        let indexed = IndexedSession { session: session.clone(), written_at, last_use, is_stale };
        self.indexed.insert(session.key(), indexed);
        let (folder, transcripts) = (&self.folder, &self.transcripts);
        let change = |sessions: &mut Vec<SavedSession>| {
            sessions.retain(|other| other.agent != session.agent || other.id != session.id);
            sessions.insert(0, session.clone());
        };
        index::update(folder, &session.cwd, change, |old| {
            transcripts.archive(old).unwrap_or_else(|error| {
                log_error(folder, "a session was not archived", Err(error));
                false
            })
        })?;
        archive::remove(folder, &session.key());
        self.delete_beyond_limit(&session.cwd);
        Ok(())
    }

    fn list(&self, cwd: &Path) -> Vec<SavedSession> {
        listed::of_folder(&self.folder, cwd)
    }

    fn forget(&mut self, key: &StoreKey) {
        self.transcripts.forget(key);
        self.indexed.remove(key);
        let change = |sessions: &mut Vec<SavedSession>| {
            sessions.retain(|session| session.agent != key.agent || session.id != key.id);
        };
        let forgotten = index::update(&self.folder, &key.cwd, change, |_| false);
        log_error(&key.cwd, "a session was not removed", forgotten);
    }

    /// Deletes the oldest sessions of a folder if the user wants no more than there are. Open ones stay.
    fn delete_beyond_limit(&mut self, cwd: &Path) {
        let Some(limit) = self.limit else { return };
        for session in self.list(cwd).iter().skip(limit) {
            if !self.transcripts.is_open(&session.key()) {
                self.forget(&session.key());
            }
        }
    }

    /// Updates the indexes for sessions that have been used since they were last written, least recently used first.
    fn write_stale(&mut self) {
        let stale = self.indexed.values().filter(|indexed| indexed.is_stale);
        let mut stale: Vec<(u64, SavedSession)> =
            stale.map(|indexed| (indexed.last_use, indexed.session.clone())).collect();
        stale.sort_by_key(|(last_use, _)| *last_use);
        for (last_use, session) in stale {
            let result = self.write_index(&session, last_use);
            log_error(&session.cwd, "a session was not saved", result);
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn log_error(path: &Path, what: &str, result: io::Result<()>) {
    if let Err(error) = result {
        tracing::error!(path = %path.display(), %error, "{what}");
    }
}

#[cfg(test)]
mod tests;
