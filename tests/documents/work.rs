//! Counts what Neovim does for documents. Figures go to stderr.

use std::io::Write as _;

use super::nvim::Nvim;
use crate::support::{WORK, Work};

/// Counts what Neovim does meanwhile.
pub(super) async fn work_of<T>(
    nvim: &Nvim,
    what: &str,
    work: impl Future<Output = T>,
) -> (T, Work) {
    let begin = "if not Work then assert(loadstring(...))() end Work.begin()";
    nvim.lua_with(begin, vec![WORK.into()]).await;
    let done = work.await;
    let counted = nvim.eval("vim.json.encode(Work.stop())").await;
    let counted = Work::read(&serde_json::from_str(&counted).unwrap());
    // A figure that cannot be shown is no failure.
    let _ = writeln!(std::io::stderr(), "{what}: {counted}");
    (done, counted)
}
