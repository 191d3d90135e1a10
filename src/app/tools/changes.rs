//! Prepares the changes of calls as writes, and says what they have led to.

use super::{Answered, Call, is_missing, refused, text};
use crate::app::file_outcome::failure;
use crate::core::messages::files::{Consent, FileOutcome, ProposedWrite};
use crate::core::messages::policy::WriteDirty;
use crate::core::messages::workbench::{FileEdits, Question};
use crate::documents::WriteRequest;
use crate::edit::{ReplaceError, Text, apply_ranges, replace};
use crate::session::author::Author;
use crate::session::editor_tool::{Replacement, Severity, ToolRequest};
use crate::session::tool_call::ToolKind;
use std::path::{Path, PathBuf};

/// How many lines are named where a text is not unique.
const MOST_LINES: usize = 10;

impl Call<'_> {
    /// Prepares replacements in a file.
    pub(super) async fn edit(&self, file: &Path, edits: &[Replacement]) -> Answered {
        let path = self.resolve(file, ToolKind::Edit).await?;
        self.settle(vec![path.clone()]).await;
        let read = match self.text_of(&path, None, None).await {
            Err(outcome) if is_missing(&outcome) => {
                if edits.iter().any(|edit| !edit.old.is_empty()) {
                    return Err(refused(format!(
                        "{} does not exist: to create it, replace an empty old_string",
                        path.display()
                    )));
                }
                String::new()
            }
            read => read?,
        };
        let edits = edits.iter().map(|edit| (edit.old.as_str(), edit.new.as_str(), edit.all));
        let made = replace(&Text::parse(&read), edits);
        let (edited, _) = made.map_err(|error| refused(said(&error, &path)))?;
        let write = self.propose(path, read, edited.content()).await?;
        Ok(FileOutcome::Edits(write.into_iter().collect()))
    }

    /// Prepares what a language server would change.
    pub(super) async fn change(&self, question: Question) -> Answered {
        let findings = self.ask(question).await?;
        if findings.edits.is_empty() {
            let notes = text::with_notes("nothing to change\n".to_owned(), &findings.notes);
            return Ok(FileOutcome::Text(notes));
        }
        let mut changes = Vec::new();
        for FileEdits { path: named, encoding, edits } in findings.edits {
            let path = match self.resolve(&named, ToolKind::Edit).await {
                // It is shown to the user in any case.
                Err(FileOutcome::AskFirst(path)) => path,
                Err(FileOutcome::Outside { file, has_other_name, .. }) => {
                    let is = if has_other_name { "also has a name" } else { "is" };
                    return Err(refused(format!(
                        "{} would change, too, which {is} outside the project: nothing was changed",
                        file.display()
                    )));
                }
                resolved => resolved?,
            };
            // At once: the edits are about the text that the language server knows.
            let read = self.text_of(&path, None, None).await?;
            let text = apply_ranges(&Text::parse(&read), &edits, encoding);
            let text = text.ok_or_else(|| refused("the edits of the language server overlap"))?;
            changes.push((path, read, text.content()));
        }
        self.settle(changes.iter().map(|(path, ..)| path.clone()).collect()).await;
        let mut writes = Vec::new();
        for (path, read, content) in changes {
            writes.extend(self.propose(path, read, content).await?);
        }
        Ok(FileOutcome::Edits(writes))
    }

    /// Waits until the editor knows what is wrong before a change, so that what the change has led to can be told.
    async fn settle(&self, files: Vec<PathBuf>) {
        if let Err(problem) = self.tools.workbench.ask(Question::Settle(files)).await {
            tracing::debug!(%problem, "diagnostics before a change are not known");
        }
    }

    /// Merges a text with what the user has changed meanwhile. `None` if nothing changes.
    async fn propose(
        &self,
        path: PathBuf,
        base: String,
        content: String,
    ) -> Answered<Option<ProposedWrite>> {
        let by = Author { session: self.session.clone(), turn: 0, tool_call: None };
        let write = WriteRequest {
            by,
            path,
            content,
            base: Some(base),
            dirty: WriteDirty::Leave,
            repeats: false,
            consent: Consent::Missing,
        };
        self.tools.documents.propose(&write).await.map_err(|error| failure(&error))
    }

    /// Says what was changed, and which errors there are now that were not there before.
    pub(super) async fn check(
        &self,
        request: &ToolRequest,
        written: Vec<PathBuf>,
        failed: Vec<(PathBuf, String)>,
    ) -> Answered {
        let names = |paths: Vec<&PathBuf>| {
            let names: Vec<_> = paths.iter().map(|path| text::short(self.cwd(), path)).collect();
            names.join(", ")
        };
        let mut said = vec![format!("changed and saved: {}", names(written.iter().collect()))];
        let mut unsaved = self.tools.editor.loaded(true).await.unwrap_or_default();
        unsaved.retain(|path| written.contains(path));
        if !unsaved.is_empty() {
            let names = names(unsaved.iter().collect());
            said.push(format!("the user has other changes that are not saved in: {names}"));
        }
        said.extend(
            failed.into_iter().map(|(path, why)| {
                format!("not changed: {}: {why}", text::short(self.cwd(), &path))
            }),
        );
        let severity = if matches!(request, ToolRequest::Edit { .. }) {
            Severity::Warning
        } else {
            Severity::Error
        };
        let found = self.diagnostics(written, severity, true).await;
        said.push(match found {
            Ok(FileOutcome::Text(text)) => text,
            Err(FileOutcome::Failed { message, .. }) => message,
            _ => "the diagnostics are not known".to_owned(),
        });
        Ok(FileOutcome::Text(said.join("\n")))
    }
}

/// Says why a text was not replaced, so that the model can correct it.
fn said(error: &ReplaceError, path: &Path) -> String {
    let name = path.display();
    match error {
        ReplaceError::Missing { at } => format!(
            "edits[{at}].old_string is not in {name}: read it with read_buffer, since the user may have changed it"
        ),
        ReplaceError::Empty { at } => {
            format!("edits[{at}].old_string is empty, but {name} is not: nothing was changed")
        }
        ReplaceError::Ambiguous { at, lines } => {
            let more = if lines.len() > MOST_LINES { " and more" } else { "" };
            let lines: Vec<_> = lines.iter().take(MOST_LINES).map(ToString::to_string).collect();
            format!(
                "edits[{at}].old_string is in {name} several times, in lines {}{more}: add context, or set replace_all",
                lines.join(", ")
            )
        }
    }
}
