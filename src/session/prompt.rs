//! Prompts: what the user says, and what goes with it, in the richest form an agent takes. Nothing is read or sent here.

use super::content::{About, Content, size};
use super::media::Media;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An image or a sound with more bytes goes as a link: models refuse larger ones, and some agents then any later prompt.
pub const MOST_MEDIA: usize = 5 << 20;
/// A file of another kind with more bytes goes as a link.
pub const MOST_BLOB: usize = 1 << 20;
/// Files with more bytes together go as links from there on.
const MOST_TOGETHER: usize = 20 << 20;

/// What an agent takes in a prompt (ACP `promptCapabilities`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptCapabilities {
    /// Images.
    pub image: bool,
    /// Sound.
    pub audio: bool,
    /// Resources with their text.
    pub embedded: bool,
}

/// Something that goes with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// `file://` address of the whole file, without a line range; a buffer without a file has another scheme.
    pub uri: String,
    /// The path as the user would write it, for the display.
    pub label: String,
    /// First and last line, counted from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
    /// MIME type, where known; of a file only what its name says.
    pub mime: Option<String>,
    /// What it holds.
    pub body: Body,
}

/// What an attachment holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text as the user sees it, saved or not.
    Text(String),
    /// A file that is an image, sound or no text, or has too much of it: read when the prompt goes out.
    File(PathBuf),
}

/// What was read of a file that goes with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRead {
    /// All of it.
    Data {
        /// Base64.
        data: String,
        /// How many bytes that is.
        size: usize,
        /// What it is, where its first bytes tell.
        media: Option<Media>,
    },
    /// It has so many bytes, more than go with a prompt.
    TooLarge(u64),
    /// It could not be read; why.
    Failed(String),
}

/// What was read, by path.
pub type FilesRead = BTreeMap<PathBuf, FileRead>;

/// How many bytes of a file of this kind go with a prompt.
pub fn most(media: Option<Media>) -> usize {
    if media.is_some_and(|media| media.is_image() || media.is_audio()) {
        MOST_MEDIA
    } else {
        MOST_BLOB
    }
}

/// A prompt the user wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// What goes with them.
    pub attachments: Vec<Attachment>,
}

/// A prompt as it is sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Packed {
    /// The content.
    pub blocks: Vec<Content>,
    /// What goes in a poorer form than the user may expect, a line each.
    pub notices: Vec<String>,
}

impl Prompt {
    /// The files that have to be read before it is sent.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.attachments.iter().filter_map(|attachment| match &attachment.body {
            Body::File(path) => Some(path.as_path()),
            Body::Text(_) => None,
        })
    }

    /// The content blocks to send: first the words, then what goes with them, each in the richest form
    /// the agent takes (ACP content: `resource`, else a link and, for what a link cannot say, the text itself).
    pub fn pack(&self, takes: PromptCapabilities, files: &FilesRead) -> Packed {
        let mut packed = Packed::default();
        if !self.text.is_empty() {
            packed.blocks.push(Content::Text(self.text.clone()));
        }
        let mut room = MOST_TOGETHER;
        for attachment in &self.attachments {
            match &attachment.body {
                Body::Text(text) => attachment.pack_text(text, takes, &mut packed.blocks),
                Body::File(path) => {
                    attachment.pack_file(files.get(path), takes, &mut room, &mut packed);
                }
            }
        }
        packed
    }
}

impl Attachment {
    /// The address with the lines as its fragment, `#L3-7`.
    pub fn address(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}#L{first}", self.uri),
            Some((first, last)) => format!("{}#L{first}-{last}", self.uri),
            None => self.uri.clone(),
        }
    }

    /// What the user reads: `src/main.rs:3-7`.
    pub fn title(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}:{first}", self.label),
            Some((first, last)) => format!("{}:{first}-{last}", self.label),
            None => self.label.clone(),
        }
    }

    fn link(&self) -> Content {
        Content::ResourceLink {
            uri: self.address(),
            name: self.title(),
            mime: self.mime.clone(),
            about: About::default(),
        }
    }

    fn pack_text(&self, text: &str, takes: PromptCapabilities, out: &mut Vec<Content>) {
        if takes.embedded {
            out.push(Content::Resource {
                uri: self.address(),
                mime: self.mime.clone(),
                text: text.to_owned(),
                about: About::default(),
            });
            return;
        }
        out.push(self.link());
        // A link names the file; the exact text, perhaps unsaved, has to go as words.
        let fence = fence_for(text);
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        out.push(Content::Text(format!("{}:\n{fence}\n{text}{newline}{fence}", self.title())));
    }

    fn pack_file(
        &self,
        read: Option<&FileRead>,
        takes: PromptCapabilities,
        room: &mut usize,
        out: &mut Packed,
    ) {
        let left_out = |why: &str| format!("{} is left out: {why}", self.label);
        let whole = match read {
            None => return out.notices.push(left_out("it was not read")),
            Some(FileRead::Failed(why)) => return out.notices.push(left_out(why)),
            Some(FileRead::TooLarge(bytes)) => Err(Some(self.too_large(*bytes))),
            Some(FileRead::Data { data, size, media }) if size <= room => {
                self.whole(data, *media, takes).inspect(|_| *room -= size)
            }
            Some(FileRead::Data { .. }) => {
                let most = size(MOST_TOGETHER);
                Err(Some(format!("all files of a prompt have {most} at most")))
            }
        };
        match whole {
            Ok(block) => out.blocks.push(block),
            Err(why) => {
                out.blocks.push(self.link());
                let notice = why.map(|why| format!("{} goes as a link: {why}", self.label));
                out.notices.extend(notice);
            }
        }
    }

    /// The file itself, if the agent takes it; else why not, where that is worth a word.
    fn whole(
        &self,
        data: &str,
        media: Option<Media>,
        takes: PromptCapabilities,
    ) -> Result<Content, Option<String>> {
        let (data, about) = (data.to_owned(), About::default());
        match media {
            Some(media) if media.is_image() && takes.image => {
                let uri = Some(self.uri.clone());
                Ok(Content::Image { mime: media.mime.to_owned(), data, uri, about })
            }
            Some(media) if media.is_image() => Err(Some("the agent takes no images".to_owned())),
            Some(media) if media.is_audio() && takes.audio => {
                Ok(Content::Audio { mime: media.mime.to_owned(), data, about })
            }
            Some(media) if media.is_audio() => Err(Some("the agent takes no sound".to_owned())),
            None if self.is_named("image/") => {
                Err(Some("it is no PNG, JPEG, GIF or WebP image".to_owned()))
            }
            _ if !takes.embedded => Err(None),
            media => {
                let mime = media.map(|media| media.mime.to_owned()).or_else(|| self.mime.clone());
                Ok(Content::Blob { uri: self.uri.clone(), mime, data, about })
            }
        }
    }

    fn too_large(&self, bytes: u64) -> String {
        let media = self.is_named("image/") || self.is_named("audio/");
        let most = size(if media { MOST_MEDIA } else { MOST_BLOB });
        let bytes = size(usize::try_from(bytes).unwrap_or(usize::MAX));
        format!("it has {bytes}, and {most} is the most that is sent")
    }

    /// Whether its name says that it is of this kind.
    fn is_named(&self, kind: &str) -> bool {
        self.mime.as_ref().is_some_and(|mime| mime.starts_with(kind))
    }
}

/// A code fence longer than any in `text` (CommonMark 4.5).
fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests;
