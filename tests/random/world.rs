//! One random world: a Neovim with documents, a second one, some files, two sessions. It plays steps and looks at what
//! became of them; what is expected is in `model`.

use std::fs;
use std::path::{Path, PathBuf};

use rat_nvim::core::event::BufferFact;
use rat_nvim::session::author::Author;
use serde_json::Value;

use super::dice::Dice;
use super::model::{Checked, Expected, Knowledge, Look};
use super::nvim::{Nvim, session_of, within};
use super::trail::Trail;

/// What the steps need in Neovim: looking at a file's buffer, and what was told since.
const TOOLS: &str = r#"
require("rat.track").start()
function _G.find(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) == path then return buf end
  end
end
function _G.look(path)
  local buf = find(path)
  if not buf then return "{}" end
  local conflicts = vim.tbl_map(function(one)
    return table.concat(one.theirs, "\n")
  end, require("rat.conflict").list(buf))
  return vim.json.encode({
    text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n") .. "\n",
    modified = vim.bo[buf].modified,
    undo = vim.fn.undotree(buf).seq_last,
    conflicts = table.concat(conflicts, "\n"),
  })
end
function _G.take_told()
  local told = vim.tbl_map(function(one) return one[2].kind .. " " .. one[2].path end, _G.told)
  _G.told = {}
  return table.concat(told, "\n")
end
"#;

pub(crate) const SESSIONS: [&str; 2] = ["anna", "bert"];

pub(crate) fn author(session: usize) -> Author {
    Author { session: session_of(SESSIONS[session]), turn: 1, tool_call: None }
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

pub(crate) struct World {
    pub(crate) nvim: Nvim,
    pub(crate) other: Nvim,
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
}

impl World {
    pub(crate) async fn new(name: &str, seed: u64, trail: Trail) -> Self {
        let mut dice = Dice::new(seed);
        let nvim = Nvim::start(name).await;
        let other = nvim.beside(&["-n"]).await;
        nvim.lua(TOOLS).await;
        let autoread = if dice.once_in(2) { "set autoread" } else { "set noautoread" };
        other.command(autoread).await;
        let moves = dice.once_in(2);
        let large = dice.once_in(8);
        let reads_disk = [dice.once_in(2), dice.once_in(2)];
        let mut files = Vec::new();
        for index in 0..3 {
            let count = if large && index == 2 { 3000 } else { dice.within(5..40) };
            let text: String = (0..count).map(|line| format!("line-{index}{line:05}\n")).collect();
            let name = format!("{}.txt", ["one", "two", "three"][index]);
            let path = nvim.put(&name, &text);
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
        let mut world =
            Self { nvim, other, dice, files, trail, at, typing, moves, sorts, reads_disk, made };
        world.trail.note(format!("{autoread} there, lines move: {moves}, one is large: {large}"));
        world.open(0).await;
        world
    }

    pub(crate) async fn step(&mut self) -> Checked {
        match self.dice.within(0..20) {
            0..8 => self.user().await?,
            8..17 => self.agent().await?,
            17..19 => self.editor_beside().await?,
            _ => self.quiet().await?,
        }
        self.nvim.asks_nothing().await;
        Ok(())
    }

    pub(crate) fn word(&mut self, author: &str) -> String {
        self.made += 1;
        format!("{author}-{:06}", self.made)
    }

    /// Has the user open a file, or go to it.
    pub(crate) async fn open(&mut self, index: usize) {
        let name = self.files[index].name.clone();
        self.trail.note(format!("user: opens {name}"));
        if self.files[index].is_open {
            self.nvim.command(&format!("buffer {name}")).await;
        } else {
            self.nvim.open(&name).await;
        }
        (self.files[index].is_open, self.at) = (true, index);
        self.user_did(index).await;
        let path = self.files[index].path.clone();
        within(self.nvim.files.note(&path)).await.unwrap();
    }

    pub(crate) async fn look(&self, index: usize) -> Look {
        look(&self.nvim, &self.files[index].path).await
    }

    /// The user has done something in that file.
    pub(crate) async fn user_did(&mut self, index: usize) {
        self.pass_on().await;
        let now = self.look(index).await;
        self.files[index].expected.by_user(&now);
    }

    /// Documents hear what Neovim tells.
    pub(crate) async fn pass_on(&self) {
        let told = self.nvim.eval("take_told()").await;
        for (kind, path) in told.lines().filter_map(|line| line.split_once(' ')) {
            let fact = if kind == "read" { BufferFact::Read } else { BufferFact::Clean };
            within(self.nvim.files.buffer(Path::new(path), fact)).await.unwrap();
        }
    }
}

pub(crate) async fn look(nvim: &Nvim, path: &Path) -> Look {
    let json = nvim.eval(&format!("look({:?})", path.to_str().unwrap())).await;
    let value: Value = serde_json::from_str(&json).unwrap();
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    Look {
        text: text("text"),
        modified: value["modified"] == Value::Bool(true),
        undo: value["undo"].as_i64().unwrap_or(0),
        conflicts: text("conflicts").unwrap_or_default(),
        disk: fs::read_to_string(path).unwrap(),
    }
}
