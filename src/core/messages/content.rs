//! Content other than plain text, such as images and resources: what can be done with it, and the results.

use crate::session::address::Address;
use crate::session::author::ChatId;
use crate::session::content::ContentId;
use std::path::PathBuf;

/// What can be done with a piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentOffer {
    /// The chat it is in.
    pub chat: ChatId,
    /// The content.
    pub id: ContentId,
    /// Describes it in one line.
    pub title: String,
    /// A suggested file name, without a folder.
    pub name: String,
    /// What can be done with the content itself.
    pub can: Vec<ContentAction>,
    /// Where its URI points, if it has one we can open.
    pub address: Option<Address>,
}

/// Something that can be done with the content itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentAction {
    /// Show its text.
    Show,
    /// Show it as an image, if the editor can.
    Picture,
    /// Open it with another program.
    Open,
    /// Save it to a file.
    Save,
}

/// What the user wants done with a piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentCommand {
    /// List what can be done; `EditorMessage::Offer` follows.
    Offer,
    /// Show its text.
    Show,
    /// Write it to a file.
    Export(ExportTarget),
}

/// The file that content is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportTarget {
    /// Absolute.
    pub path: PathBuf,
    /// Whether an existing file is overwritten.
    pub replace: bool,
    /// What the editor will do with the file, in its own words; `None` if it is only saved.
    pub then: Option<String>,
}

/// The data of a piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentBytes {
    /// Base64.
    Base64(String),
    /// Plain text.
    Text(String),
}

/// The result of writing content to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportOutcome {
    /// It was written.
    Done,
    /// The file exists and was not overwritten.
    Exists,
    /// It failed; holds the reason.
    Failed(String),
}
