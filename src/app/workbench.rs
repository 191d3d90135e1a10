//! The port to what the editor knows beyond documents.

use crate::core::messages::workbench::{Findings, Question};
use async_trait::async_trait;

/// What the editor knows beyond documents.
#[async_trait]
pub trait Workbench: Send + Sync + std::fmt::Debug {
    /// Asks a question. The error is one line for an agent's model.
    async fn ask(&self, question: Question) -> Result<Findings, String>;
}

/// Knows nothing: there is no editor.
#[derive(Debug)]
pub(super) struct NoWorkbench;

#[async_trait]
impl Workbench for NoWorkbench {
    async fn ask(&self, _question: Question) -> Result<Findings, String> {
        Err("there is no editor".to_owned())
    }
}
