//! Content other than plain text: listing what can be done with it, and showing, opening or saving it when the user
//! asks. The data stays in the transcript until then.

use crate::core::messages::content::{
    ContentAction, ContentBytes, ContentCommand, ContentOffer, ExportOutcome, ExportTarget,
};
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Effect;
use crate::core::messages::page::PageId;
use crate::core::state::State;
use crate::session::address::{Address, address};
use crate::session::author::ChatId;
use crate::session::content::{Content, ContentId};
use crate::session::{label, media};
use std::path::{Path, PathBuf};

/// Texts longer than this many bytes are shown without syntax highlighting, because parsing them would block the
/// editor.
const MAX_HIGHLIGHTED_BYTES: usize = 1 << 20;

impl State {
    pub(in crate::core) fn content(&mut self, chat: ChatId, id: &ContentId, act: ContentCommand) {
        let content = self.chats.get(&chat).and_then(|chat| chat.transcript.content(id));
        let Some(content) = content else {
            return self.notify(Level::Warn, "This content is no longer available");
        };
        match act {
            ContentCommand::Offer => {
                let offer = offer(chat, id, content);
                self.after_draw.push(EditorMessage::Offer(Box::new(offer)));
            }
            ContentCommand::Show => {
                let Content::Resource { text, .. } = content else { return };
                let text = text.clone();
                let like = (text.len() <= MAX_HIGHLIGHTED_BYTES).then(|| name(content));
                let title = content.summary();
                self.show_text((chat, PageId::Content(id.clone())), &title, "", text, like);
            }
            ContentCommand::Export(export) => {
                let bytes = match content {
                    Content::Resource { text, .. } => ContentBytes::Text(text.clone()),
                    content => match content.data() {
                        Some(data) => ContentBytes::Base64(data.to_owned()),
                        None => return self.notify(Level::Warn, "There is no data to save"),
                    },
                };
                self.effects.push(Effect::Export { chat, id: id.clone(), export, bytes });
            }
        }
    }

    pub(in crate::core) fn content_exported(
        &mut self,
        chat: ChatId,
        id: ContentId,
        export: ExportTarget,
        outcome: ExportOutcome,
    ) {
        let ExportTarget { path, then, .. } = export;
        match outcome {
            ExportOutcome::Done if then.is_none() => {
                self.notify(Level::Info, format!("Saved as {}", path.display()));
            }
            ExportOutcome::Failed(why) => {
                self.notify(Level::Error, format!("Could not save {}: {why}", path.display()));
            }
            ExportOutcome::Done | ExportOutcome::Exists => {
                let exists = outcome == ExportOutcome::Exists;
                self.after_draw.push(EditorMessage::Exported { chat, id, path, exists, then });
            }
        }
    }
}

fn offer(chat: ChatId, id: &ContentId, content: &Content) -> ContentOffer {
    let media = content.data().and_then(media::sniff_base64);
    let text = matches!(content, Content::Resource { .. });
    let can = [
        (text, ContentAction::Show),
        (media.is_some_and(|media| media.is_image()), ContentAction::Picture),
        // Only kinds of data recognised by their first bytes may be opened, so that nothing executable is passed to
        // another program.
        (media.is_some(), ContentAction::Open),
        (text || content.data().is_some(), ContentAction::Save),
    ];
    ContentOffer {
        chat,
        id: id.clone(),
        title: content.summary(),
        name: name(content),
        can: can.into_iter().filter(|(fits, _)| *fits).map(|(_, can)| can).collect(),
        address: content.uri().and_then(address),
    }
}

/// Suggests a file name: the last part of the URI, or else the kind of content, with the extension of the actual data.
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
    fn a_file_name_has_no_folder_and_the_extension_of_its_data() {
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
    fn data_of_an_unknown_kind_cannot_be_opened() {
        let can = |data| offer(ChatId(1), &ContentId::Message(0, 0), &blob("file:///a", data)).can;
        assert_eq!(can("W0Rlc2t0b3AgRW50cnld"), [ContentAction::Save]);
        assert_eq!(
            can("iVBORw0KGgoAAAA"),
            [ContentAction::Picture, ContentAction::Open, ContentAction::Save]
        );
        assert_eq!(can(""), []);
    }
}
