//! Implements `app::workbench::Workbench` by `rat.tools` in Neovim: asks a question, and waits for what Lua tells later. It
//! translates and decides nothing.

use crate::app::workbench::Workbench;
use crate::core::messages::workbench::{self, Findings};
use crate::nvim::client::Client;
use crate::nvim::messages::calls::tools::{Ask, Item, Question, Symbol};
use crate::session::editor_tool::{QuickfixItem, Severity};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long an answer is waited for. Lua gives up earlier, unless Neovim is busy.
const LIMIT: Duration = Duration::from_secs(30);

/// What Neovim knows. Clones share what is waited for.
#[derive(Debug, Clone)]
pub(super) struct NvimWorkbench {
    client: Client,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    answers: HashMap<u64, oneshot::Sender<Result<Findings, String>>>,
}

impl NvimWorkbench {
    pub(super) fn new(client: Client) -> Self {
        Self { client, waiting: Arc::default() }
    }

    /// Lua has an answer.
    pub(super) fn found(&self, id: u64, found: Result<Findings, String>) {
        let waiting = self.waiting.lock().answers.remove(&id);
        // Nobody waits any more after the time limit.
        let _ = waiting.map(|waiting| waiting.send(found));
    }
}

#[async_trait]
impl Workbench for NvimWorkbench {
    async fn ask(&self, asked: workbench::Question) -> Result<Findings, String> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting.lock();
            waiting.last += 1;
            let id = waiting.last;
            waiting.answers.insert(id, sender);
            id
        };
        let asking = async {
            if let Err(error) = self.client.call(Ask { id, question: question(asked) }).await {
                error.log("the editor's tools could not ask Neovim");
                return Err("Neovim could not be asked: its log says why".to_owned());
            }
            answer.await.unwrap_or_else(|_| Err("Neovim has not answered".to_owned()))
        };
        let answered = timeout(LIMIT, asking).await;
        self.waiting.lock().answers.remove(&id);
        answered.unwrap_or_else(|_| {
            Err(format!("Neovim is busy and has not answered for {} s", LIMIT.as_secs()))
        })
    }
}

fn text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

fn word(severity: Severity) -> &'static str {
    let words = Severity::WORDS.into_iter();
    words.filter(|(_, known)| *known == severity).map(|(word, _)| word).next().unwrap_or_default()
}

fn symbol(symbol: workbench::Symbol) -> Symbol {
    let workbench::Symbol { file, name, line } = symbol;
    Symbol { file: text(file), symbol: name, line }
}

fn question(question: workbench::Question) -> Question {
    use workbench::Question as Asked;
    match question {
        Asked::Diagnostics { files, severity, since_last_edit_of } => Question::Diagnostics {
            files: files.into_iter().map(text).collect(),
            severity: word(severity),
            since_last_edit_of: since_last_edit_of.map(|chat| chat.0),
        },
        Asked::Settle(files) => Question::Settle { files: files.into_iter().map(text).collect() },
        Asked::References(at) => Question::References(symbol(at)),
        Asked::Definition(at) => Question::Definition(symbol(at)),
        Asked::FileSymbols(file) => Question::FileSymbols { file: text(file) },
        Asked::ProjectSymbols(folder, query) => {
            Question::ProjectSymbols { folder: text(folder), query }
        }
        Asked::Rename(at, new_name) => Question::Rename { at: symbol(at), new_name },
        Asked::Actions(file, line) => Question::Actions { file: text(file), line },
        Asked::Action(file, line, title) => Question::Action { file: text(file), line, title },
        Asked::OpenBuffers => Question::OpenBuffers {},
        Asked::Quickfix => Question::Quickfix {},
        Asked::SetQuickfix(items) => {
            let item = |QuickfixItem { file, line, text: shown }| Item {
                file: text(file),
                line,
                text: shown,
            };
            Question::SetQuickfix { items: items.into_iter().map(item).collect() }
        }
        Asked::Own(name, input) => Question::Own { name, input },
    }
}
