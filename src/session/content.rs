//! Content blocks (ACP content), both those an agent sends and those we send, and what one that is no text is in words.

use super::ids::ToolCallId;
use super::{label, media};
use serde::{Deserialize, Serialize};

/// Longer base64 data are not written down with a conversation, in bytes.
const MOST_KEPT: usize = 256 * 1024;
/// A name or an address is shown with so many characters.
const NAME: usize = 100;

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
        #[serde(default, skip_serializing_if = "is_large")]
        data: String,
        /// Where it lies, where the agent says so.
        uri: Option<String>,
        /// What else is said of it.
        #[serde(default)]
        about: About,
    },
    /// Sound.
    Audio {
        /// MIME type, such as `audio/wav`.
        mime: String,
        /// Base64 data.
        #[serde(default, skip_serializing_if = "is_large")]
        data: String,
        /// What else is said of it.
        #[serde(default)]
        about: About,
    },
    /// A link to something the receiver can fetch itself.
    ResourceLink {
        /// The address.
        uri: String,
        /// A short name.
        name: String,
        /// MIME type, where known.
        mime: Option<String>,
        /// What else is said of it.
        #[serde(default)]
        about: About,
    },
    /// A resource with its text.
    Resource {
        /// The address, `file://` for files.
        uri: String,
        /// MIME type, where known.
        mime: Option<String>,
        /// The text itself.
        text: String,
        /// What else is said of it.
        #[serde(default)]
        about: About,
    },
    /// A resource with binary data.
    Blob {
        /// The address.
        uri: String,
        /// MIME type, where known.
        mime: Option<String>,
        /// Base64 data.
        #[serde(default, skip_serializing_if = "is_large")]
        data: String,
        /// What else is said of it.
        #[serde(default)]
        about: About,
    },
    /// A kind of content we do not know.
    Unknown {
        /// Its `type`.
        kind: String,
    },
}

/// What an agent says of content beside what it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// For people, in place of a link's name.
    pub title: Option<String>,
    /// More about a link.
    pub description: Option<String>,
    /// Of what a link leads to, in bytes.
    pub size: Option<u64>,
    /// For whom it is, if not for both.
    pub audience: Option<Audience>,
    /// How important it is, from 0 to 1.
    pub priority: Option<f64>,
}

/// For whom content is (ACP `annotations.audience`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Where content stands in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ContentId {
    /// In a message: the entry, and the item of those that are no text.
    Message(usize, usize),
    /// In a tool call: the item of its content.
    Tool(usize, ToolCallId),
}

impl ContentId {
    /// As it goes over the wire.
    pub fn encode(&self) -> String {
        match self {
            Self::Message(entry, item) => format!("m{item}:{entry}"),
            Self::Tool(item, call) => format!("t{item}:{call}"),
        }
    }

    /// The other way; `None` where it makes no sense.
    pub fn decode(text: &str) -> Option<Self> {
        let (place, of) = text.split_once(':')?;
        let (kind, item) = place.split_at_checked(1)?;
        let item = item.parse().ok()?;
        match kind {
            "m" => Some(Self::Message(of.parse().ok()?, item)),
            "t" => Some(Self::Tool(item, of.into())),
            _ => None,
        }
    }
}

impl Content {
    /// The text of a text block, `None` for every other kind.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Its address, where it has one.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Image { uri, .. } => uri.as_deref(),
            Self::ResourceLink { uri, .. }
            | Self::Resource { uri, .. }
            | Self::Blob { uri, .. } => Some(uri),
            Self::Text(_) | Self::Audio { .. } | Self::Unknown { .. } => None,
        }
    }

    /// Its base64 data, where it has some.
    pub fn data(&self) -> Option<&str> {
        match self {
            Self::Image { data, .. } | Self::Audio { data, .. } | Self::Blob { data, .. } => {
                Some(data).filter(|data| !data.is_empty()).map(String::as_str)
            }
            _ => None,
        }
    }

    /// The MIME type that is said.
    pub fn mime(&self) -> Option<&str> {
        let mime = match self {
            Self::Image { mime, .. } | Self::Audio { mime, .. } => Some(mime),
            Self::ResourceLink { mime, .. }
            | Self::Resource { mime, .. }
            | Self::Blob { mime, .. } => mime.as_ref(),
            Self::Text(_) | Self::Unknown { .. } => None,
        };
        mime.filter(|mime| !mime.is_empty()).map(String::as_str)
    }

    fn about(&self) -> Option<&About> {
        match self {
            Self::Image { about, .. }
            | Self::Audio { about, .. }
            | Self::ResourceLink { about, .. }
            | Self::Resource { about, .. }
            | Self::Blob { about, .. } => Some(about),
            Self::Text(_) | Self::Unknown { .. } => None,
        }
    }

    /// What it is, in one line without control characters: kind, name, pixels, type, size, for whom.
    pub fn words(&self) -> String {
        let (kind, name) = match self {
            Self::Text(text) => return label::short(text.lines().next().unwrap_or_default(), NAME),
            Self::Unknown { kind } => {
                return format!("content of the unknown kind \"{}\"", label::short(kind, NAME));
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
            name.map(|name| label::short(name, NAME)),
            uri.map(|uri| label::short(uri, NAME)),
            media.and_then(|media| media.pixels).map(|(width, height)| format!("{width}×{height}")),
            self.mime().map(|mime| label::short(mime, NAME)),
            self.bytes().map(|bytes| size(usize::try_from(bytes).unwrap_or(usize::MAX))),
            self.lacks_data().then(|| "without data".to_owned()),
            self.about().and_then(|about| about.audience).map(|audience| match audience {
                Audience::User => "for you".to_owned(),
                Audience::Assistant => "for the model".to_owned(),
            }),
            self.about().and_then(|about| about.priority).map(|it| format!("priority {it}")),
            self.about()
                .and_then(|about| about.description.as_ref())
                .map(|description| label::short(description, NAME)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Whether what should have data has none: the agent gave none, or they were too large to be written down.
    fn lacks_data(&self) -> bool {
        let has_some = matches!(self, Self::Image { .. } | Self::Audio { .. } | Self::Blob { .. });
        has_some && self.data().is_none()
    }

    /// How many bytes it has, where that is known.
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

/// A number of bytes for people.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

fn is_large(data: &str) -> bool {
    data.len() > MOST_KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_matters_and_harms_nobody() {
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
            link.words(),
            format!(
                "link · Two lines\u{fffd}[31m\u{fffd} · {address} · 2 KiB · for the model · priority 0.5"
            )
        );
    }

    #[test]
    fn ids_come_back() {
        for id in [ContentId::Message(12, 3), ContentId::Tool(0, "a:b|c".into())] {
            assert_eq!(ContentId::decode(&id.encode()), Some(id));
        }
        for id in ["", "m", "m1", "x1:1", "é1:1", "m:1", "m1:-1"] {
            assert_eq!(ContentId::decode(id), None, "{id}");
        }
    }

    #[test]
    fn large_data_are_not_written_down() {
        let image = |bytes: usize| Content::Image {
            mime: "image/png".to_owned(),
            data: "A".repeat(bytes),
            uri: None,
            about: About::default(),
        };
        let kept = |content: &Content| -> Content {
            serde_json::from_str(&serde_json::to_string(content).unwrap()).unwrap()
        };
        assert_eq!(kept(&image(MOST_KEPT)), image(MOST_KEPT));
        assert_eq!(kept(&image(MOST_KEPT + 1)), image(0));
        assert_eq!(image(0).words(), "image · image/png · without data");
        // As it was written down by an earlier version.
        let old = r#"{"Image":{"mime":"image/png","data":"AAAA","uri":null}}"#;
        assert_eq!(serde_json::from_str::<Content>(old).unwrap(), image(4));
    }
}
