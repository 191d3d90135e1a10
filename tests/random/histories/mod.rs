//! Histories: turns that change a folder in every way a shell can, the user's own shell between them, undos and redos in any
//! order, and programs that end and begin again. Everything goes the way of `:RatUndo`, through the runner of effects, on a
//! real folder: in memory, or with `RAT_DISK` below that folder. `RAT_SEED` and `RAT_STEPS` choose others.

mod model;
mod tree;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use rat_nvim::core::messages::checkpoint::{
    CheckpointCommand, PlannedAction, TurnRef, UndoPlan, UndoRequest, UndoTarget,
};
use rat_nvim::core::messages::effect::{CollectPromptContext, Effect};
use rat_nvim::core::messages::event::Event;
use rat_nvim::core::messages::file_scope::FileScope;
use rat_nvim::core::messages::policy::Unsaved;
use rat_nvim::host::checkpoints::Checkpoints;
use rat_nvim::host::checkpoints::limits::Limits;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::author::Author;

use crate::desk::Desk as _;
use crate::dice::Dice;
use crate::disk;
use crate::headless::Edges;
use crate::memory::Memory;
use crate::nvim::within;
use crate::trail::Trail;
use crate::world::{chat, key};
use model::{Change, Told, check, check_outside};
use tree::{IGNORED_LIMIT, LIMIT, Tree, edit};

const SEED: u64 = 20_261_127;
const STEPS: usize = 5_000;
const STEPS_OF_A_HISTORY: usize = 100;
const ABREAST: usize = 2;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A folder and what has happened in it.
struct History {
    edges: Edges,
    desk: Memory,
    folder: PathBuf,
    dice: Dice,
    trail: Trail,
    made: usize,
    /// The number of the running turn, and what it has found.
    running: Option<(u64, Tree)>,
    begun: u64,
    /// What each turn has found and left.
    turns: HashMap<u64, (Tree, Tree)>,
    /// The same of the undos of each turn.
    undone: HashMap<u64, Vec<(Tree, Tree)>>,
    kept: Vec<TurnRef>,
    /// The turns within which the program was killed: their prompts are not known.
    killed: HashMap<TurnRef, u64>,
    /// The turns of which not everything was seen as it came: the machine was busy, or patterns hid it for a while.
    unclear: HashSet<u64>,
    /// What the user has written between such a kill and the next program.
    after_kills: HashSet<String>,
}

impl Drop for History {
    fn drop(&mut self) {
        self.edges.runner.flush();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn edges(desk: &Memory, folder: &Path) -> Edges {
    let limits = Limits { file: LIMIT, ignored_file: IGNORED_LIMIT, ..Limits::default() };
    let store = Some(folder.join("store"));
    Edges::new(desk.editor(), Path::new(""), Checkpoints::open(store, Secrets::default(), limits))
}

/// The files that a program locks while it writes beside them.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let inner = |path: PathBuf| if path.is_dir() { locks(&path) } else { vec![path] };
    entries.flat_map(inner).filter(|path| path.ends_with("lock")).collect()
}

fn is_free(lock: &Path) -> bool {
    let Ok(file) = fs::File::open(lock) else { return true };
    Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok()
}

impl History {
    fn new(seed: u64, trail: Trail) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let above = std::env::var_os("RAT_DISK").map_or_else(disk::above, PathBuf::from);
        let name = format!("rat-histories-{}-{number}", std::process::id());
        let folder = above.canonicalize().unwrap().join(name);
        let root = folder.join("root");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(folder.join("outside")).unwrap();
        let desk = Memory::new(seed);
        let edges = edges(&desk, &folder);
        Self {
            edges,
            desk,
            folder,
            dice: Dice::new(seed),
            trail,
            made: 0,
            running: None,
            begun: 0,
            turns: HashMap::new(),
            undone: HashMap::new(),
            kept: Vec::new(),
            killed: HashMap::new(),
            unclear: HashSet::new(),
            after_kills: HashSet::new(),
        }
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn outside(&self) -> PathBuf {
        self.folder.join("outside")
    }

    fn tree(&self) -> Tree {
        Tree::of(&self.root())
    }

    fn scope(&self) -> FileScope {
        FileScope { roots: vec![self.root()], ..FileScope::default() }
    }

    fn run(&mut self, command: CheckpointCommand) {
        self.edges.runner.run(Effect::Checkpoint(command));
    }

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

    async fn step(&mut self, seed: u64, number: usize) -> Result<(), String> {
        self.trail.step(number);
        self.dice = Dice::new(Dice::new(seed ^ number as u64).next());
        match self.dice.within(0..12) {
            0..6 => {
                self.begins().await;
                self.edits("agent");
                if self.dice.once_in(4) {
                    self.looks().await;
                }
            }
            6..8 => self.ends().await,
            8..10 => {
                self.ends().await;
                self.edits("user");
            }
            10 => {
                self.ends().await;
                return self.undoes().await;
            }
            _ if self.dice.once_in(4) => {
                if self.dice.once_in(2) {
                    self.ends().await;
                    self.begins_again();
                } else {
                    self.is_killed().await?;
                }
            }
            _ => {
                self.ends().await;
                return self.undoes().await;
            }
        }
        Ok(())
    }

    /// Returns the word that is in what was written.
    fn edits(&mut self, who: &str) -> String {
        self.made += 1;
        let word = format!("{who}-{:05}", self.made);
        let (root, outside) = (self.root(), self.outside());
        let did = edit(&root, &outside, &mut self.dice, &word);
        if let Some((turn, _)) = &self.running
            && did.starts_with("ignores")
        {
            self.unclear.insert(*turn);
        }
        self.trail.note(format!("{who}: {did} ({word})"));
        word
    }

    fn author(&self) -> Author {
        let turn = self.running.as_ref().map_or(0, |(turn, _)| *turn);
        Author { session: key(0), turn, tool_call: Some("call".into()) }
    }

    async fn begins(&mut self) {
        if self.running.is_some() {
            return;
        }
        self.begun += 1;
        let turn = self.begun;
        self.trail.note(format!("begins turn {turn}"));
        self.running = Some((turn, self.tree()));
        let (cwd, scope) = (self.root(), self.scope());
        let request = CollectPromptContext {
            chat: chat(0),
            turn,
            session: key(0),
            cwd,
            scope,
            unsaved: Unsaved::Ignore,
            reads_buffers: true,
            is_reviewed: true,
            files: Vec::new(),
        };
        let began = Instant::now();
        self.edges.runner.run(Effect::CollectPromptContext(request));
        let is_it =
            |event: Event| matches!(event, Event::PromptContextCollected { .. }).then_some(());
        self.event(is_it).await;
        if began.elapsed() > Duration::from_secs(1) {
            self.unclear.insert(turn);
        }
    }

    /// A tool call ends.
    async fn looks(&mut self) {
        let (by, scope) = (self.author(), self.scope());
        let effect =
            Effect::FollowDisk { chat: chat(0), by, paths: Vec::new(), unopened: true, scope };
        self.edges.runner.run(effect);
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        let documents = self.edges.runner.documents();
        assert!(documents.scans_done(&key(0), deadline).await);
    }

    async fn ends(&mut self) {
        if self.running.is_none() {
            return;
        }
        self.looks().await;
        let by = Author { tool_call: None, ..self.author() };
        let Some((turn, found)) = self.running.take() else { return };
        self.trail.note(format!("ends turn {turn}"));
        self.turns.insert(turn, (found, self.tree()));
        self.run(CheckpointCommand::End { by, agent: "a".to_owned(), prompt: turn.to_string() });
        // Only then is it kept.
        self.lists().await;
    }

    async fn lists(&mut self) {
        let roots = vec![self.root()];
        self.run(CheckpointCommand::List { chat: chat(0), roots, request: None, of: None });
        let is_it = |event: Event| match event {
            Event::TurnsListed { turns, .. } => Some(turns),
            _ => None,
        };
        let kept = self.event(is_it).await;
        self.kept = kept.into_iter().map(|kept| kept.turn).collect();
    }

    /// The program is killed within a turn, and the user goes on before another begins.
    async fn is_killed(&mut self) -> Result<(), String> {
        let Some((turn, found)) = self.running.take() else {
            self.begins_again();
            return Ok(());
        };
        self.trail.note(format!("is killed within turn {turn}"));
        while self.dice.once_in(2) {
            let word = self.edits("user");
            self.after_kills.insert(word);
        }
        let known: HashSet<TurnRef> = self.kept.iter().cloned().collect();
        self.edges.runner.flush();
        self.ends_program();
        self.edges = edges(&self.desk, &self.folder);
        self.lists().await;
        self.turns.insert(turn, (found, self.tree()));
        let mut new = self.kept.iter().filter(|kept| !known.contains(kept));
        if let Some(new) = new.next() {
            self.killed.insert(new.clone(), turn);
        }
        new.next().map_or(Ok(()), |more| Err(format!("two turns were killed: {more:?}")))
    }

    /// The program ends, and another one begins.
    fn begins_again(&mut self) {
        self.trail.note("another program begins");
        self.edges.runner.flush();
        if self.dice.once_in(3) {
            // It has begun before the other one has ended.
            self.edges = edges(&self.desk, &self.folder);
            return;
        }
        self.ends_program();
        self.edges = edges(&self.desk, &self.folder);
    }

    /// The program has ended, and what it had locked is free.
    fn ends_program(&mut self) {
        let checkpoints = Checkpoints::open(None, Secrets::default(), Limits::default());
        self.edges = Edges::new(self.desk.editor(), Path::new(""), checkpoints);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !locks(&self.folder.join("store")).iter().all(|lock| is_free(lock)) {
            assert!(Instant::now() < deadline, "a program does not end");
            std::thread::yield_now();
        }
    }

    async fn undoes(&mut self) -> Result<(), String> {
        let target = match self.dice.within(0..5) {
            0 | 1 => UndoTarget::LastUndone,
            2 if !self.kept.is_empty() => UndoTarget::Turn(self.dice.pick(&self.kept).clone()),
            _ => UndoTarget::Last,
        };
        let (roots, force) = (vec![self.root()], self.dice.once_in(3));
        self.trail.note(format!("undoes {target:?}, by force: {force}"));
        let request = UndoRequest { chat: chat(0), roots, target, force };
        self.run(CheckpointCommand::Plan(request));
        let is_it = |event: Event| match event {
            Event::UndoPlanned(_, plan) => Some(plan),
            _ => None,
        };
        let plan = match self.event(is_it).await {
            Err(why) if why.starts_with("Nothing to") => return Ok(()),
            plan => plan?,
        };
        self.trail.note(format!("    {:?}", plan.files));
        let killed = self.killed.get(plan.redoes.as_ref().unwrap_or(&plan.turn)).copied();
        let turn = killed.or_else(|| plan.prompt.parse().ok());
        let turn: u64 = turn.ok_or_else(|| format!("it was for {:?}", plan.prompt))?;
        let is_left = |action: &PlannedAction| matches!(action, PlannedAction::Leave(_));
        let (is_redo, was) = (plan.redoes.is_some(), self.tree());
        let outside = Tree::of(&self.outside());
        let told = if plan.files.iter().all(|file| is_left(&file.action)) {
            // As it is told without a question.
            let why = |action| match action {
                PlannedAction::Leave(why) => why,
                other => format!("{other:?}"),
            };
            let left =
                plan.files.into_iter().map(|file| (self.below(&file.path), why(file.action)));
            Told { changed: HashSet::default(), left: left.collect() }
        } else {
            self.carries_out(plan).await?
        };
        let now = self.tree();
        let is_certain = killed.is_none() && !self.unclear.contains(&turn) || force || is_redo;
        if killed.is_some() && !is_certain {
            // Whoever has written it: it was written after the last look.
            let [had, has] = [&was, &now].map(Tree::words);
            let mut late = had.intersection(&self.after_kills);
            if let Some(word) = late.find(|word| !has.contains(*word)) {
                return Err(format!(
                    "{word} is lost, and was written after the program was killed"
                ));
            }
        }
        let of_turn = self.turns.get(&turn);
        let had_patterns =
            of_turn.is_some_and(|(found, left)| found.has_patterns() || left.has_patterns());
        let outsides = (&outside, &Tree::of(&self.outside()));
        let check = |(found, left): &(Tree, Tree)| {
            let change = Change { found, left, is_certain, had_patterns };
            check_outside(&change, outsides)?;
            check(&change, (&was, &now), &told)
        };
        if !is_redo {
            let of_turn = self.turns.get(&turn).ok_or("it is of no turn")?;
            let checked = check(of_turn);
            // What was changed by another name is not of the undo.
            let is_left = |path: &Path| told.left.iter().any(|(left, _)| left == path);
            let is_of_turn =
                |path: &Path| of_turn.0.get(path) != of_turn.1.get(path) && !is_left(path);
            let now = now.but_other_names(&was, is_of_turn);
            self.undone.entry(turn).or_default().push((was, now));
            return checked;
        }
        // One that has changed nothing is not kept, so that an earlier one is redone.
        let undone = self.undone.entry(turn).or_default();
        let mut whys = Vec::new();
        for undone in undone.iter().rev() {
            match check(undone) {
                Ok(()) => return Ok(()),
                Err(why) => whys.push(why),
            }
        }
        Err(format!("it redoes none of its undos: {}", whys.join("\n")))
    }

    fn below(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root()).unwrap_or(path).to_owned()
    }

    async fn carries_out(&mut self, plan: UndoPlan) -> Result<Told, String> {
        self.run(CheckpointCommand::Undo(chat(0), Box::new(plan)));
        let is_it = |event: Event| match event {
            Event::Undone(_, _, outcome) => Some(outcome),
            _ => None,
        };
        let outcome = self.event(is_it).await?;
        self.trail.note(format!("    {outcome:?}"));
        let changed = outcome.changed.iter().map(|path| self.below(path)).collect();
        let left = outcome.left.into_iter().map(|(path, why)| (self.below(&path), why));
        Ok(Told { changed, left: left.collect() })
    }
}

/// Holds (Review): Of whatever turns, shells and undos make of a folder, in any order, an undo restores or names every path of its turn, takes nothing that others have done, and touches nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_are_undone() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = number("RAT_SEED").unwrap_or(SEED);
    let steps = number("RAT_STEPS").map_or(STEPS, |steps| usize::try_from(steps).unwrap());
    let mut out = std::io::stderr();
    writeln!(out, "Histories: RAT_SEED={seed} RAT_STEPS={steps}").unwrap();
    let began = Instant::now();
    let mut dice = Dice::new(seed);
    // The first is the seed itself, so that a history can be played alone.
    let seeds = std::iter::once(seed).chain(std::iter::repeat_with(|| dice.next()));
    let seeds: Vec<u64> = seeds.take(steps.div_ceil(STEPS_OF_A_HISTORY)).collect();
    for abreast in seeds.chunks(ABREAST) {
        let all: Vec<_> = abreast.iter().map(|&seed| tokio::spawn(history(seed))).collect();
        for history in all {
            if let Err(why) = history.await.unwrap() {
                panic!("{why}");
            }
        }
    }
    writeln!(out, "Histories: {steps} steps in {:.1?}", began.elapsed()).unwrap();
}

/// Plays one history. If it fails, whatever is not needed for that is left out.
async fn history(seed: u64) -> Result<(), String> {
    let Err(mut failure) = play(seed, BTreeSet::new(), STEPS_OF_A_HISTORY).await else {
        return Ok(());
    };
    let (mut left_out, mut size) = (BTreeSet::new(), STEPS_OF_A_HISTORY / 2);
    while size > 0 {
        let mut from = 1;
        while from <= failure.0 {
            let fewer: BTreeSet<usize> =
                left_out.iter().copied().chain(from..from + size).collect();
            if fewer.len() > left_out.len()
                && let Err(again) = play(seed, fewer.clone(), failure.0).await
            {
                (failure, left_out) = (again, fewer);
            }
            from += size;
        }
        size /= 2;
    }
    let again = format!("RAT_SEED={seed} RAT_STEPS={STEPS_OF_A_HISTORY} plays it again");
    Err(format!("\n{}\n{again}", failure.1))
}

/// The error has the step, and what has happened.
async fn play(seed: u64, left_out: BTreeSet<usize>, steps: usize) -> Result<(), (usize, String)> {
    let trail = Trail::default();
    let inner = trail.clone();
    let played = tokio::spawn(async move {
        let mut history = History::new(seed, inner);
        for number in (1..=steps).filter(|number| !left_out.contains(number)) {
            history.step(seed, number).await?;
        }
        Ok(())
    });
    let why = match played.await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(panic) => panic.to_string(),
    };
    Err((trail.at(), format!("{}{why}", trail.lines())))
}
