//! Runs the effects on what agents have changed and nobody has decided on: finds it, composes pages of it, and carries the
//! user's decisions out.

use super::events::Events;
use super::file_scope::filter_in_scope;
use super::in_order::InOrder;
use super::renames;
use super::review_history::ReviewHistory;
use super::review_page;
use super::review_states::{ReviewStates, StateWayBack};
use crate::core::messages::event::Event;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::review::{
    ChangeScope, ChangedFile, Comparison, ListPurpose, Review, ReviewAction, ReviewList,
    ReviewOutcome, ReviewedFile, ReviewedPart, SelectedHunks,
};
use crate::core::messages::review_page::ReviewDraft;
use crate::documents::{Decided, DocumentError, Documents, WayBack};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How many files are looked at at once. For each of them the editor is asked something, and what is asked at once is
/// answered in one piece.
const AT_ONCE: usize = 16;

/// How long a review that is opened waits for changes that are being looked for.
const SCAN_LIMIT: Duration = Duration::from_secs(2);

/// Why a decision on a file is not taken back.
const CHANGED: &str = "it has changed since";

/// What a decision has done to one file.
#[derive(Debug)]
struct Done {
    file: ReviewedFile,
    way_back: Back,
}

/// The way back from there.
#[derive(Debug)]
enum Back {
    Lines(WayBack),
    State(Box<StateWayBack>),
}

/// What is pending in documents.
#[derive(Debug, Clone)]
pub(super) struct Reviews {
    documents: Arc<Documents>,
    states: ReviewStates,
    history: Arc<ReviewHistory<Done>>,
    /// Decisions, and what takes them back. The next one may be about the text that one has left.
    in_order: Arc<InOrder>,
    events: Events,
}

impl Reviews {
    pub(super) fn new(documents: Arc<Documents>, states: ReviewStates, events: Events) -> Self {
        let (history, in_order) = (Arc::new(ReviewHistory::new()), Arc::default());
        Self { documents, states, history, in_order, events }
    }

    /// Keeps or rejects pending changes, in one file after the other.
    pub(super) fn review(&self, review: Review, scope: FileScope) {
        let reviews = self.clone();
        let this = review.decision.map(|number| self.history.begin(number, review.action));
        let mut ticket = self.in_order.line_up();
        self.events.spawn(async move {
            ticket.wait().await;
            let Review { action, paths, from, part, changes, is_last, .. } = review;
            let paths: Vec<PathBuf> = paths.into_iter().chain(from.clone()).collect();
            let (mut reviewed, mut failed) = (Vec::new(), Vec::new());
            if part != ReviewedPart::State {
                let of_lines = match &paths[..] {
                    [] => reviews.documents.changed_by_agents().await,
                    paths => paths.to_vec(),
                };
                for path in filter_in_scope(reviews.documents.disks(), &scope, of_lines).await {
                    match reviews.decide_on_lines(action, &path, &changes).await {
                        Ok((decided, back)) => reviewed.push((reviewed_file(path, decided), back)),
                        Err(error) => failed.push((path, error.message_for_user())),
                    }
                }
            }
            // A mode belongs to no line.
            if part != ReviewedPart::Lines && changes.hunks == SelectedHunks::All {
                for state in reviews.states.list(&scope).await {
                    let is_wanted =
                        |path: &PathBuf| *path == state.path || Some(path) == state.from.as_ref();
                    if !paths.is_empty() && !paths.iter().any(is_wanted) {
                        continue;
                    }
                    for path in std::iter::once(state.path).chain(state.from) {
                        match reviews.states.decide(&path, action, &changes).await {
                            None => {}
                            Some(Ok(back)) => {
                                let file = reviewed_file(path, Decided::default());
                                let back = Back::State(Box::new(back));
                                reviewed
                                    .push((ReviewedFile { is_whole: true, ..file }, Some(back)));
                            }
                            Some(Err(why)) => failed.push((path, why)),
                        }
                    }
                }
            }
            let (mut files, mut decided) = (Vec::new(), Vec::new());
            for (file, way_back) in reviewed {
                let file = ReviewedFile { from: from.clone(), ..file };
                // What was kept out of sight is nothing that the user would take back.
                let way_back = way_back.filter(|_| file.hunks > 0 || file.is_whole);
                decided.extend(way_back.map(|way_back| Done { file: file.clone(), way_back }));
                files.push(file);
            }
            if let Some(this) = this {
                this.done(decided);
            }
            Event::Reviewed(ReviewOutcome { action, files, failed, is_last })
        });
    }

    async fn decide_on_lines(
        &self,
        action: ReviewAction,
        path: &Path,
        changes: &ChangeScope,
    ) -> Result<(Decided, Option<Back>), DocumentError> {
        if action == ReviewAction::Reject
            && let Some(back) = self.states.put_back(path, changes).await
        {
            let (sessions, is_form) = (back.sessions(), back.is_empty_file());
            let decided = Decided { hunks: 1, is_form, sessions, ..Decided::default() };
            return Ok((decided, Some(Back::State(Box::new(back)))));
        }
        if action == ReviewAction::Reject {
            self.states.separate(path).await?;
        }
        let mut decided = match action {
            ReviewAction::Keep => self.documents.keep(path, changes.clone()).await?,
            ReviewAction::Reject => self.documents.reject(path, changes.clone()).await?,
        };
        if action == ReviewAction::Reject {
            self.states.complete(path).await;
        }
        let back = decided.way_back.take().map(Back::Lines);
        Ok((decided, back))
    }

    /// Takes the last decision back that was made in a review, in one file after the other.
    pub(super) fn take_back(&self) {
        let reviews = self.clone();
        let mut ticket = self.in_order.line_up();
        self.events.spawn(async move {
            ticket.wait().await;
            let Some((action, decided)) = reviews.history.take().await else {
                return Event::TakenBack(None, Vec::new(), Vec::new());
            };
            let (mut files, mut left) = (Vec::new(), Vec::new());
            for Done { file, way_back } in decided {
                let taken_back = match way_back {
                    Back::Lines(way_back) => {
                        let taken = reviews.documents.take_back(&file.path, way_back).await;
                        let taken = taken.map_err(|error| error.message_for_user());
                        taken.and_then(|done| done.then_some(()).ok_or(CHANGED.to_owned()))
                    }
                    Back::State(way_back) => reviews.states.take_back(&file.path, *way_back).await,
                };
                match taken_back {
                    Ok(()) => files.push(file),
                    Err(why) => left.push((file.path, why)),
                }
            }
            Event::TakenBack(Some(action), files, left)
        });
    }

    /// Forgets the decisions that can be taken back: a turn was undone or redone, and they were about what there was before.
    pub(super) fn forget_decisions(&self) {
        self.history.clear();
    }

    /// Finds out what is pending in files that are loaded.
    pub(super) fn find_pending(&self, paths: Vec<PathBuf>, scope: FileScope) {
        let documents = Arc::clone(&self.documents);
        self.events.spawn(async move {
            let mut found = Vec::new();
            for path in filter_in_scope(documents.disks(), &scope, paths).await {
                match documents.pending_lines(&path).await {
                    Ok(file) => found.extend(file),
                    Err(error) => log(&path, &error),
                }
            }
            Event::PendingFound(found)
        });
    }

    /// Finds out what is pending in all files.
    pub(super) fn find_changes(&self, list: ReviewList, scope: FileScope) {
        let (documents, states) = (Arc::clone(&self.documents), self.states.clone());
        self.events.spawn(async move {
            // Somebody who asks as a turn ends must not be told that it has changed nothing.
            if !matches!(list.purpose, ListPurpose::Update | ListPurpose::Count)
                && !documents.present_scans_done(Instant::now() + SCAN_LIMIT).await
            {
                tracing::info!("changes are listed before all of them have been looked for");
            }
            let paths = documents.changed_by_agents().await;
            let mut paths = filter_in_scope(documents.disks(), &scope, paths).await;
            paths.sort_unstable();
            let files = changes_of(&documents, paths).await;
            Event::ChangesFound(list, files, states.list(&scope).await)
        });
    }

    /// Composes the page of a review and sends it in pieces.
    pub(super) fn compose(&self, draft: Box<ReviewDraft>) {
        let events = self.events.clone();
        tokio::task::spawn_blocking(move || {
            review_page::compose(&draft, |piece, all| {
                events.send(Event::ReviewComposed(Box::new(piece), all));
            });
        });
    }

    /// Finds out what is pending in one file; of one that was moved, what differs from the file at its old place.
    pub(super) fn find_change(&self, comparison: Comparison, scope: FileScope) {
        let documents = Arc::clone(&self.documents);
        self.events.spawn(async move {
            let paths = std::iter::once(comparison.path.clone()).chain(comparison.from.clone());
            let real = filter_in_scope(documents.disks(), &scope, paths.collect()).await;
            let found = changes_of(&documents, real).await;
            let change = match (&found[..], &comparison.from) {
                ([file], None) => Some(file.clone()),
                ([file, old], Some(_)) => Some(renames::renamed(old, file)),
                _ => None,
            };
            Event::ChangeFound(comparison, change)
        });
    }

    /// Keeps what is pending in a file where its base has these lines.
    pub(super) fn keep_as_base(&self, path: PathBuf, base: Vec<String>, scope: FileScope) {
        let documents = Arc::clone(&self.documents);
        let mut ticket = self.in_order.line_up();
        self.events.spawn(async move {
            ticket.wait().await;
            let real = filter_in_scope(documents.disks(), &scope, vec![path]).await;
            let (mut files, mut failed) = (Vec::new(), Vec::new());
            for path in real {
                match documents.keep_as_base(&path, base.clone()).await {
                    Ok(decided) => files.push(reviewed_file(path, decided)),
                    Err(error) => failed.push((path, error.message_for_user())),
                }
            }
            let action = ReviewAction::Keep;
            Event::Reviewed(ReviewOutcome { action, files, failed, is_last: true })
        });
    }
}

fn reviewed_file(path: PathBuf, decided: Decided) -> ReviewedFile {
    let Decided { hunks, lines, conflicts, sessions, is_unsaved, is_form, .. } = decided;
    let (conflicts, from, is_whole) = (conflicts.len(), None, false);
    ReviewedFile { path, from, hunks, lines, is_whole, is_form, conflicts, sessions, is_unsaved }
}

/// Returns what is pending in files, in their order.
async fn changes_of(documents: &Arc<Documents>, paths: Vec<PathBuf>) -> Vec<ChangedFile> {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let looking = paths.into_iter().map(|path| {
        let (documents, slots) = (Arc::clone(documents), Arc::clone(&slots));
        tokio::spawn(async move {
            let _slot = slots.acquire().await;
            documents.changes(&path).await.inspect_err(|error| log(&path, error))
        })
    });
    let mut changed = Vec::new();
    for file in looking.collect::<Vec<_>>() {
        changed.extend(file.await.ok().and_then(Result::ok).flatten());
    }
    changed
}

/// Logs an error that the user need not know of, since the file is read again when it is needed.
fn log(path: &Path, error: &DocumentError) {
    tracing::debug!(path = %path.display(), %error, "what is pending in a file is not known");
}
