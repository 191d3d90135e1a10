//! Writes that the user is asked about first (the option `review = "before"`): what they would change, and what follows from
//! the answer. It changes no text.

use super::agent_view::{Acknowledged, AgentView};
use super::blocking::run_blocking;
use super::change::{Origin, Via};
use super::document::Document;
use super::error::DocumentError;
use super::registry::Documents;
use super::requests::WriteRequest;
use super::review::Decided;
use crate::core::messages::files::{Consent, ProposedWrite};
use crate::edit::{Snapshot, Text, apply, merge};
use std::sync::Arc;

impl Documents {
    /// Finds out what a write would change; `None` if nothing.
    pub async fn propose(
        &self,
        request: &WriteRequest,
    ) -> Result<Option<ProposedWrite>, DocumentError> {
        let document = self.document_for(&request.path, &request.by.session);
        let mut document = document.lock().await;
        document.propose(request).await
    }
}

impl Document {
    async fn propose(
        &mut self,
        request: &WriteRequest,
    ) -> Result<Option<ProposedWrite>, DocumentError> {
        self.prepare_write(request).await?;
        let (before, after, exists) = match self.buffer_and_file().await? {
            Some((loaded, file)) => {
                let plan = self.plan(request, &loaded, file.as_ref()).await?;
                let after = apply(&plan.hunks, &loaded.text);
                (loaded.text, after, true)
            }
            None => {
                let file = self.read_file(None).await?;
                let exists = file.is_some();
                let before = file.map(|file| file.text);
                let before = before.unwrap_or_else(|| self.revisions.snapshot(Text::default()));
                let after = self.merge_unloaded(request, &before, exists).await?.after;
                (before, after, exists)
            }
        };
        let (path, before, after) = (self.path.clone(), before.into_text(), Arc::new(after));
        let changes = !exists || before != after;
        Ok(changes.then_some(ProposedWrite { path, exists, before, after }))
    }

    /// Records what follows from the user's consent to a write that was made and led to `after`.
    pub(super) async fn consented(
        &mut self,
        request: &WriteRequest,
        after: &Snapshot,
    ) -> Result<(), DocumentError> {
        if matches!(request.consent, Consent::Given | Consent::Edited { .. }) {
            let by = request.by.clone();
            self.change_record(move |record| {
                let is_this = |origin: &Origin| origin.by == by && origin.via == Via::Protocol;
                let choice = record.choose(None, is_this);
                record.keep(&choice);
                Decided::default()
            })
            .await?;
        }
        if let Consent::Edited { sent, proposed, .. } = &request.consent {
            // The agent is told what the user has changed in its text. It may not know other lines of the file.
            let (sent, proposed) = (Text::matching(sent, after), Arc::clone(proposed));
            let edited = Text::matching(&request.content, after);
            let told = run_blocking(move || match merge(&proposed, &sent, &edited) {
                Ok(merged) => apply(&merged.hunks, &sent),
                Err(_) => sent,
            });
            let told = self.revisions.snapshot(told.await?);
            let merge_base = Some(told.revision());
            self.set_view(request.by.session.clone(), AgentView::new(told));
            let known = Acknowledged { merge_base, text: Some(after.clone()) };
            self.acknowledged.insert(request.by.session.clone(), known);
        }
        Ok(())
    }
}
