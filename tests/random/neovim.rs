//! A real Neovim as the editor of a world.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rat_nvim::documents::Documents;
use rat_nvim::documents::editor::Editor;
use serde_json::Value;

use super::desk::{Act, Desk};
use super::disk;
use super::model::{Checked, Look};
use super::nvim::Nvim;

/// What the steps need in Neovim: looking at a file's buffer, and what was told since.
const TOOLS: &str = r#"
require("rat.document").start()
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
  end, require("rat.document.conflict").list(buf))
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

pub(crate) struct Neovim {
    nvim: Nvim,
    folder: PathBuf,
    /// How often keys were typed that are waited for.
    typed: Mutex<usize>,
}

impl Neovim {
    pub(crate) async fn start(name: &str) -> Box<dyn Desk> {
        let nvim = Nvim::start_under(&disk::above(), name).await;
        nvim.lua(TOOLS).await;
        let folder = nvim.path("a.txt").parent().unwrap().to_owned();
        Box::new(Self { nvim, folder, typed: Mutex::default() })
    }

    /// Types keys in Normal mode, and waits until they are through.
    async fn presses(&self, keys: &str) {
        let number = {
            let mut typed = self.typed.lock();
            *typed += 1;
            format!("keys-{typed}")
        };
        let keys = format!("{keys}:let g:done='{number}'<CR>");
        self.nvim.type_until(&keys, "vim.g.done", &number).await;
    }
}

#[async_trait]
impl Desk for Neovim {
    fn documents(&self) -> &Arc<Documents> {
        &self.nvim.files
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn editor(&self) -> Arc<dyn Editor> {
        Arc::clone(&self.nvim.editor) as Arc<dyn Editor>
    }

    fn connect(&mut self, documents: Arc<Documents>) {
        self.nvim.files = documents;
    }

    async fn beside(&self, autoread: bool) -> Box<dyn Desk> {
        let nvim = self.nvim.beside(&["-n"]).await;
        nvim.lua(TOOLS).await;
        nvim.command(if autoread { "set autoread" } else { "set noautoread" }).await;
        Box::new(Self { nvim, folder: self.folder.clone(), typed: Mutex::default() })
    }

    fn large(&self) -> usize {
        3000
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        self.nvim.put(name, text)
    }

    async fn does(&self, act: &Act, with_keys: bool) {
        match act {
            Act::Open(name) => self.nvim.open(name).await,
            Act::Begin { text, .. } | Act::Type { text, .. } => {
                self.nvim.keys(&act.keys()).await;
                self.has_typed(text).await;
            }
            Act::Escape => self.nvim.type_until(&act.keys(), "vim.fn.mode()", "n").await,
            _ if with_keys => self.presses(&act.keys()).await,
            _ => {
                self.nvim.command(&act.command()).await;
                // Neovim says "BufModifiedSet" before it takes the next key: only then is everything told.
                self.presses("").await;
            }
        }
    }

    async fn begins(&self, act: &Act) {
        self.nvim.keys(&act.keys()).await;
    }

    async fn has_typed(&self, word: &str) {
        let there = format!("tostring(text():find({word:?}, 1, true) ~= nil)");
        self.nvim.wait_for(&there, "true").await;
    }

    async fn current(&self) -> PathBuf {
        self.nvim.eval("vim.api.nvim_buf_get_name(0)").await.into()
    }

    async fn lines(&self) -> usize {
        self.nvim.eval("vim.fn.line('$')").await.parse().unwrap()
    }

    async fn look(&self, path: &Path) -> Look {
        let json = self.nvim.eval(&format!("look({:?})", path.to_str().unwrap())).await;
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

    async fn told(&self) -> String {
        self.nvim.eval("take_told()").await
    }

    /// Nobody can tell two texts of one size apart that were written within one tick without reading them, Neovim included.
    async fn lets_time_pass(&self, path: &Path, size: usize) {
        let before = fs::metadata(path).unwrap();
        let clock = path.with_extension("clock");
        while before.len() == size as u64 {
            fs::write(&clock, "").unwrap();
            if fs::metadata(&clock).unwrap().modified().unwrap() > before.modified().unwrap() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn asks_nothing(&self) -> Checked {
        self.nvim.asks_nothing().await;
        Ok(())
    }
}
