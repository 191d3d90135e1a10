//! Turns of the sessions, and the user who undoes and redoes them: none of their own text goes, nor that of another session;
//! what is not taken back is reported; and a redo brings back everything that the undo has changed. Everything goes the way
//! of `:RatUndo`, through the runner of effects.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rat_nvim::core::messages::checkpoint::{
    CheckpointCommand, KeptTurn, PlannedAction, UndoOutcome, UndoPlan, UndoRequest, UndoTarget,
};
use rat_nvim::core::messages::effect::{CollectPromptContext, Effect};
use rat_nvim::core::messages::event::Event;
use rat_nvim::core::messages::file_scope::FileScope;
use rat_nvim::core::messages::policy::Unsaved;
use rat_nvim::host::checkpoints::Checkpoints;
use rat_nvim::host::checkpoints::limits::Limits;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::author::Author;
use tokio::time::{Duration, Instant};

use super::desk::Desk;
use super::disk;
use super::headless::Edges;
use super::left::Left;
use super::model::{Checked, Look, shown};
use super::moved::Moved;
use super::nvim::within;
use super::words::{all_unformatted, gone, words};
use super::world::{SESSIONS, World, chat, key};

/// In so many steps, one turn ends of each session, and the user undoes one.
const STEPS_OF_A_TURN: usize = 10;
const STEPS_WITHOUT_UNDO: usize = 25;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The turns of a world.
pub(crate) struct Turns {
    edges: Edges,
    root: PathBuf,
    store: PathBuf,
    /// The number of the turn of each session that is running. Each turn has a number of its own.
    running: [Option<u64>; 2],
    begun: u64,
    kept: Vec<KeptTurn>,
    /// The words that a turn has brought into a file, and those that came back when it was undone.
    pub(crate) brought: HashMap<(u64, usize), HashSet<String>>,
    returned: HashMap<(u64, usize), HashSet<String>>,
    /// The words in a file of turns that were undone there in part, since another turn had put lines in place of theirs: once
    /// that one is undone, too, they are gone as well.
    undone_in_part: HashSet<(u64, usize)>,
    moved: Moved,
    /// The words that came on disk while a turn was running, whoever wrote them.
    pub(crate) meanwhile: HashMap<(u64, usize), HashSet<String>>,
    /// The words that came on disk while nobody had the file open, and were nobody's when that was followed: what was there
    /// before was not known, or not to the turn of who followed. The next look of a turn that knows it finds them.
    pub(crate) nobodys: HashMap<usize, HashSet<String>>,
    pub(crate) left: Left,
}

impl Drop for Turns {
    fn drop(&mut self) {
        // So that nothing is written there any more.
        self.edges.runner.flush();
        let _ = fs::remove_dir_all(&self.store);
    }
}

impl Turns {
    /// The documents of the desk are those of the runner from now on.
    pub(crate) fn new(desk: &mut dyn Desk) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let store = disk::above().join(format!("rat-turns-{}-{number}", std::process::id()));
        let limits = Limits::default();
        let checkpoints = Checkpoints::open(Some(store.clone()), Secrets::default(), limits);
        let edges = Edges::new(desk.editor(), Path::new(""), checkpoints);
        desk.connect(Arc::clone(edges.runner.documents()));
        let root = desk.folder().to_owned();
        let (running, kept) = ([None; 2], Vec::new());
        let (brought, returned) = (HashMap::new(), HashMap::new());
        let (meanwhile, nobodys) = (HashMap::new(), HashMap::new());
        Self {
            edges,
            root,
            store,
            running,
            begun: 0,
            kept,
            brought,
            returned,
            undone_in_part: HashSet::new(),
            moved: Moved::default(),
            meanwhile,
            nobodys,
            left: Left::default(),
        }
    }

    /// Whether a turn has brought a word that was to go when the turn was undone, and stayed.
    fn has_stayed(&self, index: usize, word: &str) -> bool {
        let turns = self.undone_in_part.iter().filter(|(_, at)| *at == index);
        turns.filter_map(|turn| self.brought.get(turn)).any(|words| words.contains(word))
    }

    fn scope(&self) -> FileScope {
        FileScope { roots: vec![self.root.clone()], ..FileScope::default() }
    }

    fn run(&mut self, command: CheckpointCommand) {
        self.edges.runner.run(Effect::Checkpoint(command));
    }

    /// The words that a turn has moved into another line and that need not be in the old one once it is undone: where a
    /// place stays; and those that somebody else had taken out of the old line, also before the undo of another turn brought
    /// them back in the new one, or that the undo of another turn has left in the new one only.
    fn moved(&self, (turn, index): (u64, usize), stays: bool, is_redo: bool) -> HashSet<String> {
        let others = || self.returned.iter().filter(|((of, at), _)| *of != turn && *at == index);
        let came_back = |word: &String| others().any(|(_, words)| words.contains(word));
        let was_left = |word: &String| self.left.by_others((turn, index), word);
        let was_taken = |word: &String| self.moved.taken_by_others((turn, index), word);
        let is_gone = |word: &String| came_back(word) || was_left(word) || was_taken(word);
        let may_go = |word: &&String| stays || !is_redo && is_gone(word);
        self.moved.words((turn, index)).filter(may_go).cloned().collect()
    }

    /// Waits for an event.
    async fn event<T>(&mut self, is_it: impl Fn(Event) -> Option<T>) -> T {
        within(async {
            loop {
                let event = self.edges.done.recv().await.expect("the runner is there");
                if let Some(found) = is_it(event) {
                    return found;
                }
            }
        })
        .await
    }
}

/// An undo or redo that was carried out.
struct Undo {
    turn: u64,
    is_redo: bool,
    outcome: UndoOutcome,
}

impl World {
    /// A turn may end, and one be undone.
    pub(crate) async fn turns_go_on(&mut self) -> Checked {
        for session in 0..2 {
            if self.running(session).is_some() && self.dice.once_in(STEPS_OF_A_TURN) {
                self.ends_turn(session).await?;
            }
        }
        if !self.typing && self.dice.once_in(STEPS_WITHOUT_UNDO) {
            self.undoes_a_turn().await?;
        }
        Ok(())
    }

    fn running(&self, session: usize) -> Option<u64> {
        self.turns.as_ref().and_then(|turns| turns.running[session])
    }

    /// Who does what a session does now. Not all of it is known to be the doing of a tool call.
    pub(crate) fn author(&mut self, session: usize) -> Author {
        let key = key(session);
        if self.turns.is_none() {
            return Author { session: key, turn: 1, tool_call: None };
        }
        let tool_call = (!self.dice.once_in(4)).then(|| "call".into());
        Author { session: key, turn: self.running(session).unwrap_or(0), tool_call }
    }

    /// A session is prompted, unless it is at work.
    pub(crate) async fn begins_turn(&mut self, session: usize) {
        if self.turns.is_none() || self.running(session).is_some() {
            return;
        }
        let all = self.all().await;
        let Some(turns) = &mut self.turns else { return };
        turns.begun += 1;
        for (index, now) in all.iter().enumerate() {
            let missing = self.files[index].before_a_turn(now);
            turns.brought.entry((turns.begun, index)).or_default().extend(missing);
            turns.left.begins((turns.begun, index), now);
        }
        let turn = turns.begun;
        turns.running[session] = Some(turn);
        self.trail.note(format!("{}: begins turn {turn}", SESSIONS[session]));
        let request = CollectPromptContext {
            chat: chat(session),
            turn,
            session: key(session),
            cwd: turns.root.clone(),
            scope: turns.scope(),
            unsaved: Unsaved::Ignore,
            reads_buffers: true,
            is_reviewed: true,
            files: Vec::new(),
        };
        turns.edges.runner.run(Effect::CollectPromptContext(request));
        let is_it =
            |event: Event| matches!(event, Event::PromptContextCollected { .. }).then_some(());
        turns.event(is_it).await;
    }

    /// What this change has put into a file belongs to a turn, but for what the user has typed meanwhile.
    pub(crate) fn is_brought(
        &mut self,
        index: usize,
        turn: u64,
        (was, now): (&Look, &Look),
        typed: Option<&str>,
    ) {
        let Some(turns) = &mut self.turns else { return };
        let after = words(now.kept());
        // What is not open has been there before it is followed.
        let before = match &was.text {
            Some(text) => words(text),
            None => self.files[index].expected.synced().clone(),
        };
        let new = gone(&after, &before).into_iter().filter(|word| Some(*word) != typed);
        turns.brought.entry((turn, index)).or_default().extend(new.map(str::to_owned));
        let before = was.text.as_deref().unwrap_or(&self.files[index].expected.synced_text);
        turns.moved.changed((turn, index), (before, now.kept()), typed);
    }

    /// The same for a change on disk. If it was followed as nobody's, the turns that are running are taken to have made it.
    pub(crate) fn is_brought_on_disk(&mut self, index: usize, turn: u64, looks: (&Look, &Look)) {
        self.is_brought(index, turn, looks, None);
        let Some(turns) = self.turns.as_mut().filter(|_| turn == 0) else { return };
        let words = turns.brought.get(&(turn, index)).cloned().unwrap_or_default();
        for running in turns.running.into_iter().flatten() {
            turns.brought.entry((running, index)).or_default().extend(words.clone());
        }
    }

    /// A file was changed on disk, and nobody knows for certain by whom.
    pub(crate) fn came_on_disk(&mut self, index: usize, before: &str) {
        let file = &mut self.files[index];
        let now = fs::read_to_string(&file.path).unwrap();
        // Whoever brings back what was taken away there has brought it.
        file.expected.is_given_up(before, &now);
        let Some(turns) = &mut self.turns else { return };
        let (before, now) = (words(before), words(&now));
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let (new, old) = (owned(gone(&now, &before)), owned(gone(&before, &now)));
        for turn in turns.running.into_iter().flatten() {
            turns.meanwhile.entry((turn, index)).or_default().extend(new.clone());
            turns.moved.went_on_disk((turn, index), old.clone());
        }
    }

    /// All files that were changed on disk are followed as a tool call of a running turn ends.
    pub(crate) async fn looks(&mut self, session: usize, by: Author) -> Checked {
        let was = self.all().await;
        let Some(turns) = &mut self.turns else { return Ok(()) };
        self.trail.note(format!("{}: all files are followed", SESSIONS[session]));
        let (turn, chat, scope) = (by.turn, by.session.chat, turns.scope());
        let paths = Vec::new();
        let author = by.clone();
        let effect = Effect::FollowDisk { chat, by, paths, unopened: true, scope };
        turns.edges.runner.run(effect);
        let (session_key, deadline) = (key(session), Instant::now() + Duration::from_secs(20));
        if !self.desk.documents().scans_done(&session_key, deadline).await {
            return Err("files are not followed in time".to_owned());
        }
        self.pass_on().await;
        for (index, was) in was.iter().enumerate() {
            if self.files[index].pending.take().is_none() {
                self.is_found_late(index, session, &author).await?;
                continue;
            }
            if was.text.is_none() {
                // What was there before the turn began is no change to it.
                let path = &self.files[index].path;
                let followed = within(self.desk.documents().disk_changed(path, &author)).await;
                followed.map_err(|error| error.to_string())?;
            }
            let now = self.look(index).await;
            self.is_nobodys(index, &author, &now).await?;
            self.is_brought_on_disk(index, turn, (was, &now));
            let checked = self.check_follow(index, session, None, (was, &now));
            checked.map_err(|why| format!("{why}\n{}", shown(was, &now)))?;
        }
        Ok(())
    }

    async fn all(&self) -> Vec<Look> {
        let mut all = Vec::new();
        for index in 0..self.files.len() {
            all.push(self.look(index).await);
        }
        all
    }

    async fn ends_turn(&mut self, session: usize) -> Checked {
        for index in 0..self.files.len() {
            self.follows(index).await?;
        }
        let by = Author { tool_call: None, ..self.author(session) };
        self.looks(session, by.clone()).await?;
        let Some(turns) = &mut self.turns else { return Ok(()) };
        self.trail.note(format!("{}: ends turn {}", SESSIONS[session], by.turn));
        turns.running[session] = None;
        let (agent, prompt) = (SESSIONS[session].to_owned(), by.turn.to_string());
        turns.run(CheckpointCommand::End { by, agent, prompt });
        let (chat, roots) = (chat(session), vec![turns.root.clone()]);
        // Only then is it kept.
        turns.run(CheckpointCommand::List { chat, roots, request: None, of: None });
        let is_it = |event: Event| match event {
            Event::TurnsListed { turns, .. } => Some(turns),
            _ => None,
        };
        turns.kept = turns.event(is_it).await;
        Ok(())
    }

    async fn undoes_a_turn(&mut self) -> Checked {
        let session = self.dice.within(0..2);
        for index in 0..self.files.len() {
            self.follows(index).await?;
        }
        if self.running(session).is_some() {
            self.ends_turn(session).await?;
        }
        let kept = self.turns.as_ref().map(|turns| turns.kept.clone()).unwrap_or_default();
        let target = match self.dice.within(0..5) {
            0 => UndoTarget::LastUndone,
            1 if !kept.is_empty() => UndoTarget::Turn(self.dice.pick(&kept).turn.clone()),
            _ => UndoTarget::Last,
        };
        let (force, goes_back) = (self.dice.once_in(2), self.dice.once_in(2));
        let before = self.all().await;
        let Some(undo) = self.undo(session, target, force, &before).await? else { return Ok(()) };
        let undone = self.all().await;
        let is_changed = before.iter().zip(&undone).any(|(it, now)| it.kept() != now.kept());
        if undo.is_redo || !goes_back || !is_changed {
            return Ok(());
        }
        let redo = self.undo(session, UndoTarget::LastUndone, force, &undone).await?;
        let now = self.all().await;
        for (index, (before, now)) in before.iter().zip(&now).enumerate() {
            self.is_as_before(before, now).map_err(|why| {
                let (name, changed) = (&self.files[index].name, &undo.outcome.changed);
                format!("{name}: {why}, redone after {changed:?}\n{}", shown(before, now))
            })?;
        }
        match redo {
            Some(redo) if redo.turn != undo.turn => {
                Err(format!("turn {} was undone, and turn {} redone", undo.turn, redo.turn))
            }
            Some(Undo { outcome, .. }) if outcome.conflicts > 0 || !outcome.left.is_empty() => {
                Err(format!("nobody has changed anything, and a redo leaves {outcome:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Whether an undo and its redo have left no trace.
    fn is_as_before(&self, before: &Look, now: &Look) -> Checked {
        if self.sorts {
            return Ok(());
        }
        // A formatter may have changed the text when it was saved.
        if all_unformatted(before.kept()) != all_unformatted(now.kept()) {
            Err("it has another text".to_owned())
        } else if all_unformatted(&before.disk) != all_unformatted(&now.disk) {
            Err(format!("its file had\n{}and has\n{}", before.disk, now.disk))
        } else if before.modified != now.modified {
            Err(format!("it was modified: {}, and is: {}", before.modified, now.modified))
        } else {
            Ok(())
        }
    }

    /// Plans and carries out, as the user who answers "Undo". `None` if there is nothing to do.
    async fn undo(
        &mut self,
        session: usize,
        target: UndoTarget,
        force: bool,
        was: &[Look],
    ) -> Checked<Option<Undo>> {
        let Some(turns) = &mut self.turns else { return Ok(None) };
        self.trail.note(format!("user: undoes {target:?}, by force: {force}"));
        let (chat, roots) = (chat(session), vec![turns.root.clone()]);
        turns.run(CheckpointCommand::Plan(UndoRequest { chat, roots, target, force }));
        let is_it = |event: Event| match event {
            Event::UndoPlanned(_, plan) => Some(plan),
            _ => None,
        };
        let plan = match turns.event(is_it).await {
            Err(why) if why.starts_with("Nothing to") => return Ok(None),
            plan => plan?,
        };
        self.trail.note(format!("        {:?}", plan.files));
        let is_left = |action: &PlannedAction| matches!(action, PlannedAction::Leave(_));
        if plan.files.iter().all(|file| is_left(&file.action)) {
            return Ok(None);
        }
        turns.run(CheckpointCommand::Undo(chat, Box::new(plan)));
        let is_it = |event: Event| match event {
            Event::Undone(_, plan, outcome) => Some((plan, outcome)),
            _ => None,
        };
        let (plan, outcome) = turns.event(is_it).await;
        let outcome = outcome?;
        self.trail.note(format!("        {outcome:?}"));
        self.check_undo(&plan, &outcome, was).await?;
        let turn = plan.prompt.parse().map_err(|_| format!("it was for {}", plan.prompt))?;
        Ok(Some(Undo { turn, is_redo: plan.redoes.is_some(), outcome }))
    }

    async fn check_undo(
        &mut self,
        plan: &UndoPlan,
        outcome: &UndoOutcome,
        was: &[Look],
    ) -> Checked {
        let turn: u64 = plan.prompt.parse().map_err(|_| format!("it was for {}", plan.prompt))?;
        let is_left = |path: &PathBuf| outcome.left.iter().any(|(left, _)| left == path);
        let is_told = |path: &PathBuf| outcome.changed.contains(path) || is_left(path);
        if let Some(file) = plan.files.iter().find(|file| !is_told(&file.path)) {
            return Err(format!("what became of {} is not told", file.path.display()));
        }
        for (index, was) in was.iter().enumerate() {
            self.user_did(index).await;
            let now = self.look(index).await;
            if now.text.is_none() {
                self.files[index].expected.comes_together(&now.disk);
            }
            let path = self.files[index].path.clone();
            let failed =
                |why: String| Err(format!("{}, undo: {why}\n{}", path.display(), shown(was, &now)));
            let (before, after) = (words(was.kept()), words(now.kept()));
            let Some(turns) = &mut self.turns else { return Ok(()) };
            let stayed: HashSet<String> =
                before.keys().filter(|word| turns.has_stayed(index, word)).cloned().collect();
            let (is_redo, stays) = (plan.redoes.is_some(), outcome.conflicts > 0);
            let moved = turns.moved((turn, index), stays, is_redo);
            let (gives, takes) = if is_redo {
                (&mut turns.brought, &turns.returned)
            } else {
                (&mut turns.returned, &turns.brought)
            };
            let is_in = |words: Option<&HashSet<String>>, word: &str| {
                words.is_some_and(|words| words.contains(word))
            };
            let (takes, moved) = (takes.get(&(turn, index)), Some(&moved));
            let meanwhile = turns.meanwhile.get(&(turn, index)).filter(|_| plan.force);
            let went = turns.moved.gone_on_disk((turn, index)).filter(|_| !plan.force);
            let may_go = |word: &str| {
                let all = [takes, moved, meanwhile, went, Some(&stayed)];
                all.into_iter().any(|words| is_in(words, word))
            };
            let is_gone = |word: &&String| !after.contains_key(*word) && !may_go(word);
            if let Some(word) = before.keys().find(is_gone) {
                return failed(format!("{word} is gone, and turn {turn} had not brought it"));
            }
            self.files[index].expected.is_given_back(was, &now);
            let back = gone(&after, &before).into_iter().map(str::to_owned);
            gives.entry((turn, index)).or_default().extend(back);
            if stays && !is_redo {
                turns.undone_in_part.insert((turn, index));
            } else {
                turns.undone_in_part.remove(&(turn, index));
            }
            if is_redo {
                turns.left.comes_back((turn, index), (was, &now));
            }
            if !was.modified && now.modified {
                return failed("it is modified now".to_owned());
            }
            if was.modified && now.disk != was.disk {
                return failed(format!("it was modified, and its file is now\n{}", now.disk));
            }
            // What was done before the turn began and was taken for its doing is not of it.
            let is_of_turn = plan.files.iter().any(|file| file.path == path);
            let is_whole = is_of_turn && outcome.conflicts == 0 && !is_left(&path);
            let is_whole = is_whole && plan.redoes.is_none();
            if is_whole {
                self.has_left((turn, index), plan.force, &now).await;
            }
            self.check_record(index)
                .await
                .and(if is_whole {
                    self.has_nothing_of(index, turn, plan.force).await
                } else {
                    Ok(())
                })
                .or_else(failed)?;
        }
        Ok(())
    }
}
