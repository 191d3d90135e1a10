//! What can be done with content, and what came of it, as `lua/rat/content.lua` takes it.

use super::labels;
use crate::core::content::{Can, Offer};
use crate::core::event::ChatId;
use crate::nvim::data::{Data, map};
use crate::session::address::{Address, Page};
use crate::session::content::ContentId;
use std::path::Path;

pub(super) fn offer(offer: Offer) -> Data {
    let (path, line, page) = match offer.address {
        Some(Address::File { path, line }) => (Some(path), line, None),
        Some(Address::Web(page)) => (None, None, Some(page)),
        None => (None, None, None),
    };
    let (url, host, warnings) = match page {
        Some(Page { url, host, warnings }) => (Some(url), Some(host), warnings),
        None => (None, None, Vec::new()),
    };
    map([
        ("chat", offer.chat.0.into()),
        ("id", Data::handle(offer.id.encode())),
        ("title", Data::label(offer.title)),
        ("name", Data::label(offer.name)),
        ("can", Data::list(offer.can.into_iter().map(|can| Data::word(word(can))))),
        ("path", Data::optional(path, |path| Data::path(&path))),
        ("line", line.into()),
        ("url", Data::optional(url, Data::label)),
        ("host", Data::optional(host, Data::label)),
        ("warnings", labels(warnings)),
    ])
}

fn word(can: Can) -> &'static str {
    match can {
        Can::Show => "show",
        Can::Picture => "picture",
        Can::Open => "open",
        Can::Save => "save",
    }
}

pub(super) fn exported(
    chat: ChatId,
    id: &ContentId,
    path: &Path,
    exists: bool,
    then: Option<String>,
) -> Data {
    map([
        ("chat", chat.0.into()),
        ("id", Data::handle(id.encode())),
        ("path", Data::path(path)),
        ("exists", exists.into()),
        ("use", Data::optional(then, Data::handle)),
    ])
}
