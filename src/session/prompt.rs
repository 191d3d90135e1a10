//! Prompts with their attachments, and how they become content blocks, each in the richest form the
//! agent accepts. It reads no files and sends nothing.

use super::content::{About, Content, size};
use super::in_place::InPlace;
use super::media::Media;
use super::utc;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Images and audio of more bytes are sent as a link. Models refuse larger ones, and some agents
/// then fail on every later prompt, too.
pub const MAX_MEDIA: usize = 5 << 20;
/// Other files of more bytes are sent as a link.
pub const MAX_BLOB: usize = 1 << 20;
/// Once the files of a prompt exceed this many bytes, the rest are sent as links.
const MAX_TOTAL: usize = 20 << 20;

/// The content an agent accepts in a prompt (ACP `promptCapabilities`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptCapabilities {
    /// Image content.
    pub image: bool,
    /// Audio content.
    pub audio: bool,
    /// Embedded resources (`embeddedContext`).
    pub embedded: bool,
}

/// An attachment of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The `file://` URL without a line range; a buffer without a file has another scheme.
    pub uri: String,
    /// The path as shown to the user.
    pub label: String,
    /// First and last line, counted from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
    /// Which part of these lines it is, such as `columns 5-9`; `None` for whole lines.
    pub part: Option<String>,
    /// MIME type, if known; for a file, only by its name.
    pub mime: Option<String>,
    /// Its content.
    pub body: Body,
}

/// The content of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text of a buffer, saved or not.
    Text(String),
    /// A file that is not text, or is a large one. It is read when the prompt is sent.
    File(PathBuf),
}

/// The result of reading an attached file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRead {
    /// The whole content.
    Data {
        /// Base64 data.
        data: String,
        /// Its decoded size in bytes.
        size: usize,
        /// The media type by its first bytes, if known.
        media: Option<Media>,
        /// When it was changed, in seconds since 1970, if known.
        changed: Option<u64>,
    },
    /// It is larger than [`size_limit`] allows.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// As for `Data`.
        changed: Option<u64>,
    },
    /// It could not be read; the reason in one line.
    Failed(String),
}

impl FileRead {
    fn changed(&self) -> Option<u64> {
        match self {
            Self::Data { changed, .. } | Self::TooLarge { changed, .. } => *changed,
            Self::Failed(_) => None,
        }
    }
}

/// The files that were read, by path.
pub type FilesRead = BTreeMap<PathBuf, FileRead>;

/// Returns the maximum size of an attached file of this type, in bytes.
pub fn size_limit(media: Option<Media>) -> usize {
    if media.is_some_and(|media| media.is_image() || media.is_audio()) {
        MAX_MEDIA
    } else {
        MAX_BLOB
    }
}

/// A prompt the user wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The attachments in order.
    pub attachments: Vec<Attachment>,
    /// The lines that the answer is to replace, if it is not only to be read.
    pub in_place: Option<Arc<InPlace>>,
}

/// A prompt as it is sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Packed {
    /// The content blocks.
    pub blocks: Vec<Content>,
    /// Notices for the user about attachments that are missing or sent as a link, one line each.
    pub notices: Vec<String>,
}

impl Prompt {
    /// Whether it goes back into the prompt buffer if it is not answered. What was to change lines in place is asked for there
    /// again.
    pub fn is_returned(&self) -> bool {
        !self.text.is_empty() && self.in_place.is_none()
    }

    /// Returns the files that have to be read before the prompt is sent.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.attachments.iter().filter_map(|attachment| match &attachment.body {
            Body::File(path) => Some(path.as_path()),
            Body::Text(_) => None,
        })
    }

    /// Builds the content blocks to send: the text, then the attachments, each in the richest form
    /// that the agent accepts. Text becomes a `resource`, or a link and a text block, since it may
    /// be unsaved. A file becomes an image, audio or `resource`, or else a link (ACP content), if the
    /// agent `can_open` links to our files.
    pub fn pack(
        &self,
        capabilities: PromptCapabilities,
        files: &FilesRead,
        can_open: bool,
    ) -> Packed {
        let mut packed = Packed::default();
        if !self.text.is_empty() {
            packed.blocks.push(Content::Text(self.text.clone()));
        }
        let mut room = MAX_TOTAL;
        for attachment in &self.attachments {
            match &attachment.body {
                Body::Text(text) => attachment.pack_text(text, capabilities, &mut packed.blocks),
                Body::File(path) => {
                    let read = files.get(path);
                    attachment.pack_file(read, capabilities, can_open, &mut room, &mut packed);
                }
            }
        }
        packed
    }
}

impl Attachment {
    /// Returns the URL with the lines as its fragment, such as `#L3-7`.
    pub fn address(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}#L{first}", self.uri),
            Some((first, last)) => format!("{}#L{first}-{last}", self.uri),
            None => self.uri.clone(),
        }
    }

    /// Returns its title for the user, such as `src/main.rs:3-7` or `src/main.rs:3 (columns 5-9)`.
    pub fn title(&self) -> String {
        let mut title = match self.lines {
            Some((first, last)) if first == last => format!("{}:{first}", self.label),
            Some((first, last)) => format!("{}:{first}-{last}", self.label),
            None => self.label.clone(),
        };
        if let Some(part) = &self.part {
            // Writing to a string cannot fail.
            let _ = write!(title, " ({part})");
        }
        title
    }

    /// `changed` is the time of the file, in seconds since 1970.
    fn link(&self, changed: Option<u64>) -> Content {
        Content::ResourceLink {
            uri: self.address(),
            name: self.title(),
            mime: self.mime.clone(),
            about: About { last_modified: changed.map(utc::text), ..About::default() },
        }
    }

    fn pack_text(&self, text: &str, capabilities: PromptCapabilities, out: &mut Vec<Content>) {
        if capabilities.embedded {
            out.push(Content::Resource {
                uri: self.address(),
                mime: self.mime.clone(),
                text: text.to_owned(),
                about: About::default(),
            });
            return;
        }
        out.push(self.link(None));
        // The text may be unsaved, so a link to the file is not enough.
        let fence = fence_for(text);
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        out.push(Content::Text(format!("{}:\n{fence}\n{text}{newline}{fence}", self.title())));
    }

    fn pack_file(
        &self,
        read: Option<&FileRead>,
        capabilities: PromptCapabilities,
        can_open: bool,
        room: &mut usize,
        out: &mut Packed,
    ) {
        let omitted = |why: &str| format!("Could not attach {}: {why}", self.label);
        let block = match read {
            None => return out.notices.push(omitted("it was not read in time")),
            Some(FileRead::Failed(why)) => return out.notices.push(omitted(why)),
            Some(FileRead::TooLarge { bytes, .. }) => Err(Some(self.too_large(*bytes))),
            Some(FileRead::Data { data, size, media, .. }) if size <= room => {
                self.embed(data, *media, capabilities).inspect(|_| *room -= size)
            }
            Some(FileRead::Data { .. }) => {
                let most = size(MAX_TOTAL);
                Err(Some(format!("the files of one prompt may have {most} in total")))
            }
        };
        match block {
            Ok(block) => out.blocks.push(block),
            Err(why) if !can_open => {
                let why = why.unwrap_or_else(|| "the agent accepts no such content".to_owned());
                out.notices.push(omitted(&why));
            }
            Err(why) => {
                out.blocks.push(self.link(read.and_then(FileRead::changed)));
                let notice = why.map(|why| format!("{} was sent as a link: {why}", self.label));
                out.notices.extend(notice);
            }
        }
    }

    /// Returns a block with the file's data, or the reason for the user why the agent gets a link.
    /// `None` if a link is what the user expects.
    fn embed(
        &self,
        data: &str,
        media: Option<Media>,
        capabilities: PromptCapabilities,
    ) -> Result<Content, Option<String>> {
        let (data, about) = (data.to_owned(), About::default());
        match media {
            Some(media) if media.is_image() && capabilities.image => {
                let uri = Some(self.uri.clone());
                Ok(Content::Image { mime: media.mime.to_owned(), data, uri, about })
            }
            Some(media) if media.is_image() => {
                Err(Some("the agent does not accept images".to_owned()))
            }
            Some(media) if media.is_audio() && capabilities.audio => {
                Ok(Content::Audio { mime: media.mime.to_owned(), data, about })
            }
            Some(media) if media.is_audio() => {
                Err(Some("the agent does not accept audio".to_owned()))
            }
            None if self.is_named("image/") => {
                Err(Some("it is not a PNG, JPEG, GIF or WebP image".to_owned()))
            }
            _ if !capabilities.embedded => Err(None),
            media => {
                let mime = media.map(|media| media.mime.to_owned()).or_else(|| self.mime.clone());
                Ok(Content::Blob { uri: self.uri.clone(), mime, data, about })
            }
        }
    }

    fn too_large(&self, bytes: u64) -> String {
        let media = self.is_named("image/") || self.is_named("audio/");
        let most = size(if media { MAX_MEDIA } else { MAX_BLOB });
        let bytes = size(usize::try_from(bytes).unwrap_or(usize::MAX));
        format!("it has {bytes}, the limit is {most}")
    }

    /// Whether its MIME type by name starts with `kind`.
    fn is_named(&self, kind: &str) -> bool {
        self.mime.as_ref().is_some_and(|mime| mime.starts_with(kind))
    }
}

/// Returns a code fence that is longer than any in `text` (CommonMark 4.5).
pub fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests;
