//! What the user does with content that is no text: it is offered, and then opened, saved or shown. Its data stay here
//! until then, and nothing is done that was not asked for.

use super::effect::{Effect, Level, Page, ToEditor};
use super::event::ChatId;
use super::state::State;
use crate::session::address::{Address, address};
use crate::session::content::{Content, ContentId};
use crate::session::{label, media};
use std::path::{Path, PathBuf};

/// A longer text is shown without colours, in bytes: a parser would hold the editor up.
const MOST_HIGHLIGHTED: usize = 1 << 20;

/// What can be done with content, as the editor is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// In which chat.
    pub chat: ChatId,
    /// Which content.
    pub id: ContentId,
    /// What it is, in one line.
    pub title: String,
    /// A name for a file of it, without a folder.
    pub name: String,
    /// What can be done with it itself.
    pub can: Vec<Can>,
    /// Where its address leads.
    pub address: Option<Address>,
}

/// Something that can be done with content itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Can {
    /// Its text can be shown.
    Show,
    /// It is an image, for who can show one.
    Picture,
    /// Another program can be given it.
    Open,
    /// It can be written to a file.
    Save,
}

/// What is done with content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentAct {
    /// Say what can be done.
    Offer,
    /// Show its text.
    Show,
    /// Write it to a file.
    Export(Export),
}

/// A file that content is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Absolute.
    pub path: PathBuf,
    /// Whether a file that is there is replaced.
    pub replace: bool,
    /// What the editor does with the file then, in its own word; nothing where it is just saved.
    pub then: Option<String>,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bytes {
    /// Base64 data.
    Base64(String),
    /// Text.
    Text(String),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exported {
    /// It is written.
    Done,
    /// There is a file of that name.
    Exists,
    /// It failed; why.
    Failed(String),
}

impl State {
    pub(super) fn content(&mut self, chat: ChatId, id: &ContentId, act: ContentAct) {
        let content = self.chats.get(&chat).and_then(|chat| chat.transcript.content(id));
        let Some(content) = content else {
            return self.notify(Level::Warn, "it is not there any more");
        };
        match act {
            ContentAct::Offer => {
                let offer = offer(chat, id, content);
                self.after.push(ToEditor::Offer(Box::new(offer)));
            }
            ContentAct::Show => {
                let Content::Resource { text, .. } = content else { return };
                let text = text.clone();
                let like = (text.len() <= MOST_HIGHLIGHTED).then(|| name(content));
                let title = content.words();
                self.show_text((chat, Page::Content(id.clone())), &title, "", text, like);
            }
            ContentAct::Export(export) => {
                let bytes = match content {
                    Content::Resource { text, .. } => Bytes::Text(text.clone()),
                    content => match content.data() {
                        Some(data) => Bytes::Base64(data.to_owned()),
                        None => return self.notify(Level::Warn, "there are no data to write"),
                    },
                };
                self.effects.push(Effect::Export { chat, id: id.clone(), export, bytes });
            }
        }
    }

    pub(super) fn exported(
        &mut self,
        chat: ChatId,
        id: ContentId,
        export: Export,
        outcome: Exported,
    ) {
        let Export { path, then, .. } = export;
        match outcome {
            Exported::Done if then.is_none() => {
                self.notify(Level::Info, format!("saved as {}", path.display()));
            }
            Exported::Failed(why) => {
                self.notify(Level::Error, format!("{} was not written: {why}", path.display()));
            }
            Exported::Done | Exported::Exists => {
                let exists = outcome == Exported::Exists;
                self.after.push(ToEditor::Exported { chat, id, path, exists, then });
            }
        }
    }
}

fn offer(chat: ChatId, id: &ContentId, content: &Content) -> Offer {
    let media = content.data().and_then(media::sniff_base64);
    let text = matches!(content, Content::Resource { .. });
    let can = [
        (text, Can::Show),
        (media.is_some_and(|media| media.is_image()), Can::Picture),
        // What would run what it is given is never handed on: only kinds that are known by how they begin.
        (media.is_some(), Can::Open),
        (text || content.data().is_some(), Can::Save),
    ];
    Offer {
        chat,
        id: id.clone(),
        title: content.words(),
        name: name(content),
        can: can.into_iter().filter(|(fits, _)| *fits).map(|(_, can)| can).collect(),
        address: content.uri().and_then(address),
    }
}

/// A name for a file: the last part of the address, else the kind, with the ending of what it is.
fn name(content: &Content) -> String {
    let media = content.data().and_then(media::sniff_base64);
    let kind = match content {
        Content::Image { .. } => "image",
        Content::Audio { .. } => "audio",
        _ => "resource",
    };
    let path = match content.uri().and_then(address) {
        Some(Address::File { path, .. }) => path,
        Some(Address::Web(page)) => page.url.split(['?', '#']).next().unwrap_or_default().into(),
        None => content.uri().map(PathBuf::from).unwrap_or_default(),
    };
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let own = path.extension().map(|end| end.to_string_lossy().into_owned());
    let end = media.map(|media| media.extension.to_owned()).or(own);
    let stem = stem(&path).map(|stem| stem.trim_start_matches('.').to_owned());
    let stem = stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| kind.to_owned());
    let name = end.map_or(stem.clone(), |end| format!("{}.{end}", label::short(&stem, 80)));
    label::short(&name, 100).replace(['/', '\u{fffd}', '…'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::About;

    fn blob(uri: &str, data: &str) -> Content {
        let (uri, data) = (uri.to_owned(), data.to_owned());
        Content::Blob { uri, mime: None, data, about: About::default() }
    }

    #[test]
    fn a_name_has_no_folder_and_the_ending_of_what_it_is() {
        let png = "iVBORw0KGgoAAAA";
        assert_eq!(name(&blob("file:///a/run.sh", png)), "run.png");
        assert_eq!(name(&blob("file:///a/run.sh", "AAAA")), "run.sh");
        assert_eq!(name(&blob("https://a.b/c/d.pdf?x=/e.sh", "AAAA")), "d.pdf");
        assert_eq!(name(&blob("../../.bashrc", "AAAA")), "bashrc");
        assert_eq!(name(&blob("file:///a%0A%2Fb", "AAAA")), "b");
        assert_eq!(name(&blob("", png)), "resource.png");
        assert!(name(&blob(&format!("file:///{}", "x".repeat(500)), png)).len() < 110);
    }

    #[test]
    fn what_is_not_known_by_its_bytes_is_not_given_to_other_programs() {
        let can = |data| offer(ChatId(1), &ContentId::Message(0, 0), &blob("file:///a", data)).can;
        assert_eq!(can("W0Rlc2t0b3AgRW50cnld"), [Can::Save]);
        assert_eq!(can("iVBORw0KGgoAAAA"), [Can::Picture, Can::Open, Can::Save]);
        assert_eq!(can(""), []);
    }
}
