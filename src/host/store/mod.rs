//! What outlives Neovim: which sessions a project has, and what was said in them. One thread writes, in the order asked;
//! nobody waits for it. It decides nothing: what is worth keeping is known elsewhere.

mod index;
mod names;
mod transcripts;

use crate::secrets::Secrets;
use crate::session::ids::AgentName;
use crate::session::remembered::{Kept, Past, Remembered, StoreKey};
use crate::session::transcript::Entry;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;
use tokio::time::Instant;
use transcripts::Transcripts;

/// So long the end of the program waits for what is still to be written.
const LAST: Duration = Duration::from_secs(2);

/// So long a program that ends may have a session open still, and so often is looked.
const ENDING: Duration = Duration::from_millis(1500);
const AGAIN: Duration = Duration::from_millis(50);

/// So long an index may say that a session was used last at another time than it was.
const FRESH: Duration = Duration::from_secs(30);

/// Where sessions are kept. Dropping it ends its thread once everything is written.
#[derive(Debug)]
pub struct Store {
    jobs: Option<mpsc::Sender<Job>>,
}

enum Job {
    Keep(Box<Remembered>, bool, Vec<(usize, Entry)>, oneshot::Sender<Kept>),
    Forget(StoreKey),
    Recall(PathBuf, oneshot::Sender<Vec<Remembered>>),
    Reread(StoreKey, bool, oneshot::Sender<Past>),
    Release(StoreKey),
    Flush(mpsc::Sender<()>),
}

impl Store {
    /// Keeps sessions below `folder`, which is made when it is needed; without one nothing is kept. The secrets never are.
    pub fn open(folder: Option<PathBuf>, secrets: Secrets) -> Self {
        let Some(folder) = folder else {
            tracing::warn!("sessions are not kept: there is no folder for them");
            return Self { jobs: None };
        };
        let (jobs, queue) = mpsc::channel();
        let started = thread::Builder::new().name("store".to_owned()).spawn(move || {
            let transcripts = Transcripts::new(&folder, secrets.clone());
            let mut keeper = Keeper { transcripts, secrets, folder, noted: HashMap::new() };
            for job in queue {
                keeper.work(job);
            }
        });
        let started = started.inspect_err(|error| tracing::error!(%error, "sessions are not kept"));
        Self { jobs: started.is_ok().then_some(jobs) }
    }

    /// Notes that a session was used just now, and what has changed in its transcript; or that this is now all of it. From
    /// now on this program is the one that writes it, if none has been. Gives what becomes of it, where sessions are kept.
    pub fn keep(
        &self,
        session: Remembered,
        anew: bool,
        entries: Vec<(usize, Entry)>,
    ) -> oneshot::Receiver<Kept> {
        let (answer, answered) = oneshot::channel();
        self.give(Job::Keep(Box::new(session), anew, entries, answer));
        answered
    }

    /// Forgets a session and what was said in it.
    pub fn forget(&self, session: StoreKey) {
        self.give(Job::Forget(session));
    }

    /// The sessions of a folder, those used last first. None where none can be read.
    pub async fn recall(&self, cwd: PathBuf) -> Vec<Remembered> {
        let (answer, answered) = oneshot::channel();
        self.give(Job::Recall(cwd, answer));
        answered.await.unwrap_or_default()
    }

    /// The session of an agent that was used last in a folder. Where another program has it open, it is waited for a moment:
    /// a Neovim that is just ending lets go of it.
    pub async fn last(&self, cwd: PathBuf, agent: &AgentName) -> Option<Remembered> {
        let until = Instant::now() + ENDING;
        loop {
            let sessions = self.recall(cwd.clone()).await;
            let last = sessions.into_iter().find(|it| it.agent == *agent)?;
            if !last.open || Instant::now() >= until {
                return Some(last);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// What was said in a session, as far as it was written down. With `claim` this program has it open from now on,
    /// unless another one does, which is said.
    pub async fn reread(&self, session: StoreKey, claim: bool) -> Past {
        let (answer, answered) = oneshot::channel();
        self.give(Job::Reread(session, claim, answer));
        answered.await.unwrap_or_default()
    }

    /// Lets others have a session.
    pub fn release(&self, session: StoreKey) {
        self.give(Job::Release(session));
    }

    /// Waits until everything is written, but not for long. It blocks: for the end of the program.
    pub fn flush(&self) {
        let (done, is_done) = mpsc::channel();
        self.give(Job::Flush(done));
        let _ = is_done.recv_timeout(LAST);
    }

    fn give(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Fails only where the thread broke, which has been said in its panic.
            let _ = jobs.send(job);
        }
    }
}

/// Does the work, on its own thread.
struct Keeper {
    folder: PathBuf,
    secrets: Secrets,
    transcripts: Transcripts,
    /// How each session that was used stands in its index, and since when.
    noted: HashMap<StoreKey, Noted>,
}

/// A session as it was noted last. An index is a file that is replaced as a whole: not for every line that is said.
struct Noted {
    session: Remembered,
    at: Instant,
    /// It was used since then.
    is_stale: bool,
}

impl Keeper {
    fn work(&mut self, job: Job) {
        match job {
            Job::Keep(mut session, anew, entries, answer) => {
                session.used_at = now();
                let title = session.title.take();
                session.title = title.map(|title| self.secrets.hide(&title).into_owned());
                let kept = self.transcripts.write(&session, anew, &entries);
                let _ = answer.send(kept.unwrap_or_else(|error| {
                    let why = error.to_string();
                    complain(&session.cwd, "a transcript was not written", Err(error));
                    Kept::Failed(why)
                }));
                complain(&session.cwd, "a session was not noted", self.used(&session));
            }
            Job::Forget(key) => {
                self.transcripts.forget(&key);
                self.noted.remove(&key);
                let forgotten = index::change(&self.folder, &key.cwd, |sessions| {
                    sessions.retain(|it| it.agent != key.agent || it.id != key.id);
                });
                complain(&key.cwd, "a session was not forgotten", forgotten.map(|_| ()));
            }
            Job::Recall(cwd, answer) => {
                self.note_stale();
                let mut sessions = index::read(&self.folder, &cwd).unwrap_or_else(|error| {
                    complain(&cwd, "sessions cannot be read", Err(error));
                    Vec::new()
                });
                for session in &mut sessions {
                    session.open = self.transcripts.is_open(&session.key());
                }
                sessions.sort_by_key(|session| std::cmp::Reverse(session.used_at));
                let _ = answer.send(sessions);
            }
            Job::Release(session) => self.transcripts.release(&session),
            Job::Reread(session, true, answer) if !self.transcripts.claim(&session) => {
                let _ = answer.send(Past { is_elsewhere: true, ..Past::default() });
            }
            Job::Reread(session, _, answer) => {
                let past = self.transcripts.read(&session).unwrap_or_else(|error| {
                    complain(&self.folder, "a transcript cannot be read", Err(error));
                    Past::default()
                });
                let _ = answer.send(past);
            }
            Job::Flush(done) => {
                self.note_stale();
                let _ = done.send(());
            }
        }
    }

    /// A session was used just now.
    fn used(&mut self, session: &Remembered) -> io::Result<()> {
        let noted = self.noted.get_mut(&session.key());
        if let Some(noted) = noted
            && noted.session.title == session.title
            && noted.at.elapsed() < FRESH
        {
            noted.session.used_at = session.used_at;
            noted.is_stale = true;
            return Ok(());
        }
        self.note(session)
    }

    /// Puts a session first in its index.
    fn note(&mut self, session: &Remembered) -> io::Result<()> {
        let (at, is_stale) = (Instant::now(), false);
        let noted = Noted { session: session.clone(), at, is_stale };
        self.noted.insert(session.key(), noted);
        let dropped = index::change(&self.folder, &session.cwd, |sessions| {
            sessions.retain(|it| it.agent != session.agent || it.id != session.id);
            sessions.insert(0, session.clone());
        })?;
        for old in dropped {
            self.transcripts.forget(&old.key());
        }
        Ok(())
    }
}

impl Keeper {
    /// Brings the indexes up to date.
    fn note_stale(&mut self) {
        let stale = self.noted.values().filter(|noted| noted.is_stale);
        let mut stale: Vec<Remembered> = stale.map(|noted| noted.session.clone()).collect();
        stale.sort_by_key(|session| session.used_at);
        for session in stale {
            let result = self.note(&session);
            complain(&session.cwd, "a session was not noted", result);
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn complain(path: &Path, what: &str, result: io::Result<()>) {
    if let Err(error) = result {
        tracing::error!(path = %path.display(), %error, "{what}");
    }
}

#[cfg(test)]
mod tests;
