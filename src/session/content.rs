//! Content blocks (ACP content), sent by an agent or by us, and how one is described in one line.

use super::ids::ToolCallId;
use super::signs::{self, TIMES};
use super::{label, media};
use serde::{Deserialize, Serialize};

/// Base64 data of more bytes is not saved with the transcript.
const MAX_SAVED_DATA: usize = 256 * 1024;
/// The number of characters of a time that are shown.
const MAX_TIME: usize = 40;
/// The number of characters of a name or URL that are shown.
const MAX_NAME: usize = 100;

/// A content block. One of an unknown type is drawn as a placeholder with the type's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Content {
    /// Markdown text.
    Text(String),
    /// The same, with annotations.
    Marked {
        /// The text.
        text: String,
        /// The annotations.
        about: About,
    },
    /// An image. Its data is decoded only when the user opens it.
    Image {
        /// MIME type, such as `image/png`.
        mime: String,
        /// Base64 data.
        #[serde(default, skip_serializing_if = "is_large")]
        data: String,
        /// Where the image comes from, if the agent says so.
        uri: Option<String>,
        /// Further properties.
        #[serde(default)]
        about: About,
    },
    /// An audio clip.
    Audio {
        /// MIME type, such as `audio/wav`.
        mime: String,
        /// Base64 data.
        #[serde(default, skip_serializing_if = "is_large")]
        data: String,
        /// Further properties.
        #[serde(default)]
        about: About,
    },
    /// A link to a resource that the receiver can read itself.
    ResourceLink {
        /// The URL.
        uri: String,
        /// A short name.
        name: String,
        /// MIME type; `None` if it is not known.
        mime: Option<String>,
        /// Further properties.
        #[serde(default)]
        about: About,
    },
    /// An embedded text resource.
    Resource {
        /// The URL, `file://` for files.
        uri: String,
        /// MIME type; `None` if it is not known.
        mime: Option<String>,
        /// The content of the resource.
        text: String,
        /// Further properties.
        #[serde(default)]
        about: About,
    },
    /// An embedded binary resource.
    Blob {
        /// The URL.
        uri: String,
        /// MIME type; `None` if it is not known.
        mime: Option<String>,
        /// Base64 data.
        #[serde(default, skip_serializing_if = "is_large")]
        data: String,
        /// Further properties.
        #[serde(default)]
        about: About,
    },
    /// A type of content that we do not know.
    Unknown {
        /// Its `type`.
        kind: String,
    },
}

/// Optional properties of a content block: those of a resource link, and ACP `annotations`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// A display name for a link.
    pub title: Option<String>,
    /// A description of a link's resource.
    pub description: Option<String>,
    /// The size of a link's resource in bytes.
    pub size: Option<u64>,
    /// Who the content is for; `None` for both.
    pub audience: Option<Audience>,
    /// Its importance, from 0 to 1.
    pub priority: Option<f64>,
    /// When it was changed last, as its sender wrote the time (ISO 8601).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl About {
    /// Whether any annotation is set.
    pub fn is_marked(&self) -> bool {
        self.audience.is_some() || self.priority.is_some() || self.last_modified.is_some()
    }

    /// Says what is set, in a few words without control characters; empty if that is nothing. Text is for the user anyway.
    pub fn words(&self, is_text: bool) -> String {
        let audience = match self.audience {
            Some(Audience::User) if !is_text => Some("for you".to_owned()),
            Some(Audience::Assistant) => Some("for the model".to_owned()),
            Some(Audience::User) | None => None,
        };
        let is_time = |time: &&String| time.starts_with(|first: char| first.is_ascii_digit());
        let time = self.last_modified.as_ref().filter(is_time);
        let parts = [
            audience,
            self.priority.map(|value| format!("priority {value}")),
            time.map(|time| format!("changed {}", label::short(time, MAX_TIME))),
        ];
        signs::joined(&parts.into_iter().flatten().collect::<Vec<_>>())
    }
}

/// Who content is for (ACP `annotations.audience`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Identifies content other than text within a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ContentId {
    /// An attachment of a message: the index of the entry and of the attachment.
    Message(usize, usize),
    /// An item of a tool call's content, by its index.
    Tool(usize, ToolCallId),
}

impl ContentId {
    /// Encodes the id as a string for Lua.
    pub fn encode(&self) -> String {
        match self {
            Self::Message(entry, item) => format!("m{item}:{entry}"),
            Self::Tool(item, call) => format!("t{item}:{call}"),
        }
    }

    /// Decodes what [`ContentId::encode`] returned; `None` for anything else.
    pub fn decode(text: &str) -> Option<Self> {
        let (place, owner) = text.split_once(':')?;
        let (kind, item) = place.split_at_checked(1)?;
        let item = item.parse().ok()?;
        match kind {
            "m" => Some(Self::Message(owner.parse().ok()?, item)),
            "t" => Some(Self::Tool(item, owner.into())),
            _ => None,
        }
    }
}

impl Content {
    /// Returns the text of a text block; `None` for every other type.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Marked { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns its URL, if it has one.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Image { uri, .. } => uri.as_deref(),
            Self::ResourceLink { uri, .. }
            | Self::Resource { uri, .. }
            | Self::Blob { uri, .. } => Some(uri),
            Self::Text(_) | Self::Marked { .. } | Self::Audio { .. } | Self::Unknown { .. } => None,
        }
    }

    /// Returns its base64 data, if it has any.
    pub fn data(&self) -> Option<&str> {
        match self {
            Self::Image { data, .. } | Self::Audio { data, .. } | Self::Blob { data, .. } => {
                Some(data).filter(|data| !data.is_empty()).map(String::as_str)
            }
            _ => None,
        }
    }

    /// Returns the MIME type that its sender gave.
    pub fn mime(&self) -> Option<&str> {
        let mime = match self {
            Self::Image { mime, .. } | Self::Audio { mime, .. } => Some(mime),
            Self::ResourceLink { mime, .. }
            | Self::Resource { mime, .. }
            | Self::Blob { mime, .. } => mime.as_ref(),
            Self::Text(_) | Self::Marked { .. } | Self::Unknown { .. } => None,
        };
        mime.filter(|mime| !mime.is_empty()).map(String::as_str)
    }

    /// Returns its further properties.
    pub fn about(&self) -> Option<&About> {
        match self {
            Self::Marked { about, .. }
            | Self::Image { about, .. }
            | Self::Audio { about, .. }
            | Self::ResourceLink { about, .. }
            | Self::Resource { about, .. }
            | Self::Blob { about, .. } => Some(about),
            Self::Text(_) | Self::Unknown { .. } => None,
        }
    }

    /// Describes it in one line without control characters: type, name, URL, pixels, MIME type,
    /// size, audience, priority and description, as far as they are known.
    pub fn summary(&self) -> String {
        let (kind, name) = match self {
            Self::Text(text) | Self::Marked { text, .. } => {
                return label::short(text.lines().next().unwrap_or_default(), MAX_NAME);
            }
            Self::Unknown { kind } => {
                return format!("content of unknown type \"{}\"", label::short(kind, MAX_NAME));
            }
            Self::Image { .. } => ("image", None),
            Self::Audio { .. } => ("audio", None),
            Self::ResourceLink { name, about, .. } => {
                ("link", about.title.as_ref().or(Some(name)).filter(|name| !name.is_empty()))
            }
            Self::Resource { .. } | Self::Blob { .. } => ("resource", None),
        };
        let media = self.data().and_then(media::sniff_base64);
        let uri = self.uri().filter(|uri| name.is_none_or(|name| name != uri));
        let parts = [
            Some(kind.to_owned()),
            name.map(|name| label::short(name, MAX_NAME)),
            uri.map(|uri| label::short(uri, MAX_NAME)),
            media
                .and_then(|media| media.pixels)
                .map(|(width, height)| format!("{width}{TIMES}{height}")),
            self.mime().map(|mime| label::short(mime, MAX_NAME)),
            self.bytes().map(|bytes| size(usize::try_from(bytes).unwrap_or(usize::MAX))),
            self.lacks_data().then(|| "no data".to_owned()),
            self.about().map(|about| about.words(false)).filter(|words| !words.is_empty()),
            self.about()
                .and_then(|about| about.description.as_ref())
                .map(|description| label::short(description, MAX_NAME)),
        ];
        signs::joined(&parts.into_iter().flatten().collect::<Vec<_>>())
    }

    /// Whether its data is missing: the agent sent none, or it was too large to be saved.
    fn lacks_data(&self) -> bool {
        let needs_data =
            matches!(self, Self::Image { .. } | Self::Audio { .. } | Self::Blob { .. });
        needs_data && self.data().is_none()
    }

    /// Returns its size in bytes, if that is known.
    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Resource { text, .. } => Some(text.len() as u64),
            _ => self
                .data()
                .map(|data| media::decoded_len(data) as u64)
                .or_else(|| self.about().and_then(|about| about.size)),
        }
    }
}

/// Formats a number of bytes, such as `12 KiB`.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

fn is_large(data: &str) -> bool {
    data.len() > MAX_SAVED_DATA
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_line_without_control_characters() {
        let about = About {
            title: Some("Two\nlines\u{1b}[31m\u{202e}".to_owned()),
            size: Some(3000),
            audience: Some(Audience::Assistant),
            priority: Some(0.5),
            ..About::default()
        };
        let (uri, name) = ("https://a.b/".to_owned() + &"c".repeat(200), "n".to_owned());
        let link = Content::ResourceLink { uri, name, mime: None, about };
        let address = format!("https://a.b/{}…", "c".repeat(88));
        assert_eq!(
            link.summary(),
            format!(
                "link · Two lines\u{fffd}[31m\u{fffd} · {address} · 2 KiB · for the model · priority 0.5"
            )
        );
    }

    #[test]
    fn ids_round_trip() {
        for id in [ContentId::Message(12, 3), ContentId::Tool(0, "a:b|c".into())] {
            assert_eq!(ContentId::decode(&id.encode()), Some(id));
        }
        for id in ["", "m", "m1", "x1:1", "é1:1", "m:1", "m1:-1"] {
            assert_eq!(ContentId::decode(id), None, "{id}");
        }
    }

    #[test]
    fn large_data_is_not_saved() {
        let image = |bytes: usize| Content::Image {
            mime: "image/png".to_owned(),
            data: "A".repeat(bytes),
            uri: None,
            about: About::default(),
        };
        let saved = |content: &Content| -> Content {
            serde_json::from_str(&serde_json::to_string(content).unwrap()).unwrap()
        };
        assert_eq!(saved(&image(MAX_SAVED_DATA)), image(MAX_SAVED_DATA));
        assert_eq!(saved(&image(MAX_SAVED_DATA + 1)), image(0));
        assert_eq!(image(0).summary(), "image · image/png · no data");
        // As an earlier version saved it.
        let old = r#"{"Image":{"mime":"image/png","data":"AAAA","uri":null}}"#;
        assert_eq!(serde_json::from_str::<Content>(old).unwrap(), image(4));
    }
}
