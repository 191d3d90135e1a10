//! Does what calls of the editor's own tools ask for: reads go through documents, so that unsaved text is seen, and changes are
//! prepared as writes, which `State` has made like those of an agent. What language servers know is asked through
//! [`Workbench`]. Nothing outside the files that the agent may use is read or changed.

mod changes;
mod lines;
mod text;

use super::file_outcome::read_outcome;
use super::file_scope::{filter_in_scope, resolve_in_scope};
use super::workbench::Workbench;
use crate::core::messages::agent::{INTERNAL_ERROR, NOT_FOUND};
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::files::FileOutcome;
use crate::core::messages::tools::Query;
use crate::core::messages::workbench::{Findings, Question, Symbol};
use crate::documents::editor::Editor;
use crate::documents::{Documents, ReadRequest};
use crate::session::author::SessionKey;
use crate::session::editor_tool::{Severity, SymbolPlace, ToolRequest};
use crate::session::tool_call::ToolKind;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// The largest excerpt of a file in an answer, in bytes: about what all agents pass on to their models.
const MOST_OF_FILE: usize = 40 << 10;

/// What is said in place of the text of a file that the agent may not read.
const HIDDEN: &str = "(not shown: you have no access to this file)";

/// What the tools work with.
#[derive(Debug, Clone)]
pub(super) struct Tools {
    pub(super) documents: Arc<Documents>,
    pub(super) editor: Arc<dyn Editor>,
    pub(super) workbench: Arc<dyn Workbench>,
}

/// One call.
struct Call<'a> {
    tools: &'a Tools,
    session: SessionKey,
    scope: FileScope,
}

impl Tools {
    /// Answers a query.
    pub(super) async fn answer(
        &self,
        session: SessionKey,
        query: Query,
        scope: FileScope,
    ) -> FileOutcome {
        let call = Call { tools: self, session, scope };
        let answered = match query {
            Query::Run(request) => call.run(request).await,
            Query::Check { request, written, failed } => {
                call.check(&request, written, failed).await
            }
        };
        answered.unwrap_or_else(|outcome| outcome)
    }
}

/// An outcome that tells a model what is wrong.
fn refused(why: impl Into<String>) -> FileOutcome {
    let message = why.into();
    FileOutcome::Failed { code: INTERNAL_ERROR, reason: message.clone(), message }
}

/// `Err` is the outcome that ends the call before its end.
type Answered<T = FileOutcome> = Result<T, FileOutcome>;

impl Call<'_> {
    async fn run(&self, request: ToolRequest) -> Answered {
        match request {
            ToolRequest::ReadBuffer { file, offset, limit } => {
                self.read(&file, offset, limit).await
            }
            ToolRequest::Edit { file, edits } => self.edit(&file, &edits).await,
            ToolRequest::Diagnostics { file, severity, since_last_edit } => {
                let mut files = Vec::new();
                if let Some(file) = file {
                    files.push(self.resolve(&file, ToolKind::Read).await?);
                }
                self.diagnostics(files, severity, since_last_edit).await
            }
            ToolRequest::References(place) => {
                let symbol = self.symbol(place, ToolKind::Read).await?;
                self.places(Question::References(symbol), "reference").await
            }
            ToolRequest::Definition(place) => {
                let symbol = self.symbol(place, ToolKind::Read).await?;
                self.places(Question::Definition(symbol), "definition").await
            }
            ToolRequest::FileSymbols(file) => {
                let file = self.resolve(&file, ToolKind::Read).await?;
                self.places(Question::FileSymbols(file), "symbol").await
            }
            ToolRequest::ProjectSymbols(query) => {
                let folder = self.cwd().to_owned();
                self.places(Question::ProjectSymbols(folder, query), "symbol").await
            }
            ToolRequest::OpenBuffers => self.open_buffers().await,
            ToolRequest::ReadQuickfix => self.places(Question::Quickfix, "entry").await,
            ToolRequest::SetQuickfix(items) => {
                let findings = self.ask(Question::SetQuickfix(items)).await?;
                Ok(FileOutcome::Text(text::with_notes(String::new(), &findings.notes)))
            }
            ToolRequest::CodeAction { file, line, title: None } => {
                let file = self.resolve(&file, ToolKind::Read).await?;
                let findings = self.ask(Question::Actions(file, line)).await?;
                Ok(FileOutcome::Text(text::with_notes(String::new(), &findings.notes)))
            }
            ToolRequest::CodeAction { file, line, title: Some(title) } => {
                let file = self.resolve(&file, ToolKind::Edit).await?;
                self.change(Question::Action(file, line, title)).await
            }
            ToolRequest::Rename(place, name) => {
                let symbol = self.symbol(place, ToolKind::Edit).await?;
                self.change(Question::Rename(symbol, name)).await
            }
            ToolRequest::Own { name, input, .. } => {
                let findings = self.ask(Question::Own(name, input)).await?;
                Ok(FileOutcome::Text(text::with_notes(String::new(), &findings.notes)))
            }
        }
    }

    fn cwd(&self) -> &Path {
        &self.scope.rules.cwd
    }

    async fn resolve(&self, file: &Path, kind: ToolKind) -> Answered<PathBuf> {
        resolve_in_scope(self.tools.documents.disks(), &self.scope, file, kind).await
    }

    async fn symbol(&self, place: SymbolPlace, kind: ToolKind) -> Answered<Symbol> {
        let SymbolPlace { file, symbol: name, line } = place;
        Ok(Symbol { file: self.resolve(&file, kind).await?, name, line })
    }

    async fn ask(&self, question: Question) -> Answered<Findings> {
        self.tools.workbench.ask(question).await.map_err(refused)
    }

    async fn read(&self, file: &Path, offset: u32, limit: u32) -> Answered {
        let path = self.resolve(file, ToolKind::Read).await?;
        // One more shows whether the file goes on.
        let (from, count) = (Some(offset), Some(limit.saturating_add(1)));
        let read = match self.tools.editor.provided_text(&path, from, count).await {
            Some(text) => text,
            None => self.text_of(&path, from, count).await?,
        };
        let is_unsaved = self.tools.editor.loaded(true).await.is_ok_and(|all| all.contains(&path));
        Ok(FileOutcome::Text(excerpt(&read, offset, limit, is_unsaved)))
    }

    /// Reads lines of a document; all if it is not said which.
    async fn text_of(
        &self,
        path: &Path,
        line: Option<u32>,
        limit: Option<u32>,
    ) -> Answered<String> {
        let (session, path) = (self.session.clone(), path.to_owned());
        let request = ReadRequest { session, path, line, limit };
        match read_outcome(self.tools.documents.read(request).await) {
            FileOutcome::Text(text) => Ok(text),
            other => Err(other),
        }
    }

    /// Asks a question whose answer is places, and says which.
    async fn places(&self, question: Question, what: &str) -> Answered {
        let findings = self.within_scope(self.ask(question).await?).await;
        let findings = lines::with_texts(findings).await;
        Ok(FileOutcome::Text(text::places(self.cwd(), &findings, what)))
    }

    /// Lists the files the user has open. What is selected is in the first one, and told only if that may be read.
    async fn open_buffers(&self) -> Answered {
        let Findings { places, total, edits, notes } = self.ask(Question::OpenBuffers).await?;
        let found = Findings { places, total, edits, notes: Vec::new() };
        let mut shown = self.within_scope(found).await;
        if shown.places.first().is_some_and(|place| place.text != HIDDEN) {
            shown.notes.extend(notes);
        }
        Ok(FileOutcome::Text(text::places(self.cwd(), &shown, "file")))
    }

    async fn diagnostics(
        &self,
        files: Vec<PathBuf>,
        severity: Severity,
        since_last_edit: bool,
    ) -> Answered {
        let since_last_edit_of = since_last_edit.then_some(self.session.chat);
        let question = Question::Diagnostics { files, severity, since_last_edit_of };
        self.places(question, if since_last_edit { "new diagnostic" } else { "diagnostic" }).await
    }

    /// Leaves out what is said of files that the agent may not read. Their places are counted all the same.
    async fn within_scope(&self, findings: Findings) -> Findings {
        let Findings { mut places, total, edits, mut notes } = findings;
        let total = total.max(places.len());
        let all: HashSet<PathBuf> = places.iter().map(|place| place.path.clone()).collect();
        let mut allowed = HashSet::new();
        let inside = filter_in_scope(
            self.tools.documents.disks(),
            &self.scope,
            all.iter().cloned().collect(),
        );
        for path in inside.await {
            if self.resolve(&path, ToolKind::Read).await.is_ok() {
                allowed.insert(path);
            }
        }
        let hidden = spawn_blocking(move || {
            // They may be named by a link.
            let is_allowed = |path: &PathBuf| {
                allowed.contains(path) || path.canonicalize().is_ok_and(|it| allowed.contains(&it))
            };
            all.into_iter().filter(|path| !is_allowed(path)).collect::<HashSet<_>>()
        });
        let Ok(hidden) = hidden.await else { return Findings::default() };
        if !hidden.is_empty() {
            notes.push(match hidden.len() {
                1 => "the text of 1 file is not shown, since you have no access to it".to_owned(),
                count => {
                    format!(
                        "the text of {count} files is not shown, since you have no access to them"
                    )
                }
            });
        }
        for place in &mut places {
            if hidden.contains(&place.path) {
                HIDDEN.clone_into(&mut place.text);
            }
        }
        Findings { places, total, edits, notes }
    }
}

/// Formats an excerpt of a file, and says what follows it.
fn excerpt(read: &str, offset: u32, limit: u32, is_unsaved: bool) -> String {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (mut end, mut count) = (0, 0);
    for line in read.split_inclusive('\n') {
        if count == limit || (count > 0 && end + line.len() > MOST_OF_FILE) {
            break;
        }
        end += line.len();
        count += 1;
    }
    let mut notes = Vec::new();
    if end < read.len() {
        let next = u64::from(offset) + count as u64;
        notes.push(format!("the file goes on: read on with offset {next}"));
    }
    if end == 0 {
        notes.push("nothing is there".to_owned());
    }
    if is_unsaved {
        notes.push("this is the text in the editor, with changes that are not saved".to_owned());
    }
    let mut text = text::shortened(&read[..end], MOST_OF_FILE).into_owned();
    if !notes.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n[{}]", notes.join("; "));
    }
    text
}

/// Whether the file of an outcome does not exist.
fn is_missing(outcome: &FileOutcome) -> bool {
    matches!(outcome, FileOutcome::Failed { code: NOT_FOUND, .. })
}
