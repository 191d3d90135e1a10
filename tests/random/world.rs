//! One random world: an editor with documents, a second one, some files, two sessions. It plays steps and looks at what
//! became of them; what is expected is in `model`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rat_nvim::core::messages::files::BufferEvent;
use rat_nvim::edit::HunkId;
use rat_nvim::session::author::{ChatId, SessionKey};

use super::desk::{Act, Desk};
use super::dice::Dice;
use super::model::{Checked, Expected, Knowledge, Look};
use super::nvim::within;
use super::trail::Trail;
use super::turns::Turns;
use super::words::{gone, words};

pub(crate) const SESSIONS: [&str; 2] = ["anna", "bert"];

/// Each session has a chat of its own.
pub(crate) fn key(session: usize) -> SessionKey {
    SessionKey { chat: chat(session), session: SESSIONS[session].into() }
}

pub(crate) fn chat(session: usize) -> ChatId {
    ChatId(u32::try_from(session).unwrap() + 1)
}

/// One file of a world.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) is_open: bool,
    /// By whom it was changed on disk since that was last followed; the index of a session.
    pub(crate) pending: Option<usize>,
    /// Whether that was made from another text than the file had: lines that both sides moved may be there twice then.
    pub(crate) is_stale: bool,
    pub(crate) knows: [Knowledge; 2],
    pub(crate) expected: Expected,
    pub(crate) is_open_there: bool,
}

impl File {
    /// What is on disk before a turn begins is not of it, even if its look is the first to follow that. Returns the words that
    /// are in the buffer only, or were in the file as it was last followed: their going, or coming back, is the turn's doing if it
    /// writes that to the disk.
    pub(crate) fn before_a_turn(&mut self, now: &Look) -> Vec<String> {
        if self.pending.is_none() {
            return Vec::new();
        }
        self.expected.is_seen(&now.disk);
        let before = match &now.text {
            Some(text) => words(text),
            None => self.expected.synced().clone(),
        };
        gone(&before, &words(&now.disk)).into_iter().map(str::to_owned).collect()
    }
}

/// What the user does with what agents have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Habits {
    /// Keeps and rejects what is pending.
    pub(crate) reviews: bool,
    /// Undoes and redoes turns.
    pub(crate) undoes: bool,
}

pub(crate) struct World {
    /// The second editor. It ends first.
    pub(crate) other: Box<dyn Desk>,
    pub(crate) desk: Box<dyn Desk>,
    seed: u64,
    pub(crate) dice: Dice,
    pub(crate) files: Vec<File>,
    pub(crate) trail: Trail,
    /// The file in the user's window.
    pub(crate) at: usize,
    /// Whether the user is in Insert mode.
    pub(crate) typing: bool,
    /// Whether lines change places here: by moving, copying and sorting.
    pub(crate) moves: bool,
    /// Whether a formatter sorts the first lines of what is saved.
    pub(crate) sorts: bool,
    /// Which sessions read the disk themselves, too; the others read through us only.
    pub(crate) reads_disk: [bool; 2],
    pub(crate) made: usize,
    habits: Habits,
    /// The hunks that the user has seen in a review, pending or not.
    pub(crate) shown_hunks: BTreeSet<HunkId>,
    /// `None` if the user undoes none.
    pub(crate) turns: Option<Turns>,
}

impl World {
    pub(crate) async fn new(
        mut desk: Box<dyn Desk>,
        (seed, habits): (u64, Habits),
        trail: Trail,
    ) -> Self {
        let turns = habits.undoes.then(|| Turns::new(&mut *desk));
        let mut dice = Dice::new(seed);
        let autoread = dice.once_in(2);
        let other = desk.beside(autoread).await;
        let moves = dice.once_in(2);
        let large = dice.once_in(8);
        let reads_disk = [dice.once_in(2), dice.once_in(2)];
        let mut files = Vec::new();
        for index in 0..3 {
            let count = if large && index == 2 { desk.large() } else { dice.within(5..40) };
            let text: String = (0..count).map(|line| format!("line-{index}{line:05}\n")).collect();
            let name = format!("{}.txt", ["one", "two", "three"][index]);
            let path = desk.put(&name, &text);
            let mut expected = Expected::default();
            expected.begins(&text);
            files.push(File {
                name,
                path,
                is_open: false,
                pending: None,
                is_stale: false,
                knows: Default::default(),
                expected,
                is_open_there: false,
            });
        }
        let (at, typing, sorts, made) = (0, false, false, 0);
        trail.note(format!(
            "autoread there: {autoread}, lines move: {moves}, one is large: {large}"
        ));
        let mut world = Self {
            other,
            desk,
            seed,
            dice,
            files,
            trail,
            at,
            typing,
            moves,
            sorts,
            reads_disk,
            made,
            habits,
            shown_hunks: BTreeSet::new(),
            turns,
        };
        world.open(0).await;
        world
    }

    /// Plays a step. Its dice are its own, so that the others are what they are also without it.
    pub(crate) async fn step(&mut self, number: usize) -> Checked {
        self.trail.step(number);
        self.dice = Dice::new(Dice::new(self.seed ^ number as u64).next());
        match self.dice.within(0..20) {
            0..8 => self.user().await?,
            8..17 => self.agent().await?,
            17..19 => self.editor_beside().await?,
            _ => self.quiet().await?,
        }
        if self.habits.reviews && self.dice.once_in(6) {
            self.decides().await?;
        }
        if self.turns.is_some() {
            self.turns_go_on().await?;
        }
        self.desk.asks_nothing().await?;
        self.check_files().await
    }

    pub(crate) fn word(&mut self, author: &str) -> String {
        self.made += 1;
        format!("{author}-{:06}", self.made)
    }

    /// Has the user open a file, or go to it.
    pub(crate) async fn open(&mut self, index: usize) {
        let name = self.files[index].name.clone();
        self.trail.note(format!("user: opens {name}"));
        let act = if self.files[index].is_open {
            Act::GoTo { name, quietly: false }
        } else {
            Act::Open(name)
        };
        self.desk.does(&act, false).await;
        (self.files[index].is_open, self.at) = (true, index);
        self.user_did(index).await;
        let path = self.files[index].path.clone();
        within(self.desk.documents().record_baseline(&path)).await.unwrap();
    }

    pub(crate) async fn look(&self, index: usize) -> Look {
        self.desk.look(&self.files[index].path).await
    }

    /// The user has done something in that file.
    pub(crate) async fn user_did(&mut self, index: usize) {
        self.pass_on().await;
        let now = self.look(index).await;
        self.files[index].expected.by_user(&now);
    }

    /// Documents hear what Neovim tells.
    pub(crate) async fn pass_on(&self) {
        let told = self.desk.told().await;
        for (kind, path) in told.lines().filter_map(|line| line.split_once(' ')) {
            let fact = match kind {
                "read" => BufferEvent::Read,
                "saved" => BufferEvent::Saved,
                _ => BufferEvent::Clean,
            };
            within(self.desk.documents().buffer(Path::new(path), fact)).await.unwrap();
        }
    }
}
