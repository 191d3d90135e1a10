//! What can be done with content, and what came of it, as `lua/rat/content.lua` takes it.

use super::{map, optional};
use crate::core::content::{Can, Offer};
use crate::core::event::ChatId;
use crate::session::address::{Address, Page};
use crate::session::content::ContentId;
use rmpv::Value;
use std::path::Path;

pub(super) fn offer(offer: Offer) -> Value {
    let (path, line, page) = match offer.address {
        Some(Address::File { path, line }) => {
            (Some(path.to_string_lossy().into_owned()), line, None)
        }
        Some(Address::Web(page)) => (None, None, Some(page)),
        None => (None, None, None),
    };
    let (url, host, warnings) = match page {
        Some(Page { url, host, warnings }) => (Some(url), Some(host), warnings),
        None => (None, None, Vec::new()),
    };
    map([
        ("chat", offer.chat.0.into()),
        ("id", offer.id.encode().into()),
        ("title", offer.title.into()),
        ("name", offer.name.into()),
        ("can", Value::Array(offer.can.into_iter().map(|can| word(can).into()).collect())),
        ("path", optional(path)),
        ("line", optional(line)),
        ("url", optional(url)),
        ("host", optional(host)),
        ("warnings", Value::Array(warnings.into_iter().map(Value::from).collect())),
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
) -> Value {
    map([
        ("chat", chat.0.into()),
        ("id", id.encode().into()),
        ("path", path.to_string_lossy().as_ref().into()),
        ("exists", exists.into()),
        ("use", optional(then)),
    ])
}
