//! Content blocks (ACP content), both those an agent sends and those we send.

use serde::{Deserialize, Serialize};

/// One content block. What an agent sends and we do not know keeps its type name and is drawn as a placeholder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Content {
    /// Markdown text.
    Text(String),
    /// An image; the data stays base64 until somebody wants to see it.
    Image {
        /// MIME type, such as `image/png`.
        mime: String,
        /// Base64 data.
        data: String,
        /// Where it lies, where the agent says so.
        uri: Option<String>,
    },
    /// Sound.
    Audio {
        /// MIME type, such as `audio/wav`.
        mime: String,
        /// Base64 data.
        data: String,
    },
    /// A link to something the receiver can fetch itself.
    ResourceLink {
        /// The address.
        uri: String,
        /// A short name.
        name: String,
        /// MIME type, where known.
        mime: Option<String>,
    },
    /// A resource with its text.
    Resource {
        /// The address, `file://` for files.
        uri: String,
        /// MIME type, where known.
        mime: Option<String>,
        /// The text itself.
        text: String,
    },
    /// A resource with binary data.
    Blob {
        /// The address.
        uri: String,
        /// MIME type, where known.
        mime: Option<String>,
        /// Base64 data.
        data: String,
    },
    /// A kind of content we do not know.
    Unknown {
        /// Its `type`.
        kind: String,
    },
}

impl Content {
    /// The text of a text block, `None` for every other kind.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}
