//! Decodes content blocks (ACP content).

use super::fields::{Fields, texts};
use crate::session::content::{About, Audience, Content};
use serde_json::Value;

/// Decodes a content block. One of an unknown kind, or without a required field, becomes `Unknown`.
pub(super) fn block(value: Value) -> Content {
    match value {
        Value::String(text) => Content::Text(text),
        other => match Fields::of(other) {
            Some(mut fields) => of_kind(&fields.text("type").unwrap_or_default(), fields),
            None => unknown(""),
        },
    }
}

/// Decodes a list of content blocks.
pub(super) fn blocks(values: Vec<Value>) -> Vec<Content> {
    values.into_iter().map(block).collect()
}

/// Returns whether `kind` is a known type of content block.
pub(super) fn is_kind(kind: &str) -> bool {
    matches!(kind, "text" | "image" | "audio" | "resource_link" | "resource")
}

/// Decodes a content block whose `type` field has been taken out already.
pub(super) fn of_kind(kind: &str, mut fields: Fields) -> Content {
    known(kind, &mut fields).unwrap_or_else(|| unknown(kind))
}

fn unknown(kind: &str) -> Content {
    Content::Unknown { kind: kind.to_owned() }
}

fn known(kind: &str, fields: &mut Fields) -> Option<Content> {
    let about = about(fields);
    Some(match kind {
        "text" => {
            let text = fields.text("text")?;
            if about.is_marked() { Content::Marked { text, about } } else { Content::Text(text) }
        }
        "image" => Content::Image {
            data: fields.text("data")?,
            mime: fields.text("mimeType").unwrap_or_default(),
            uri: fields.text("uri"),
            about,
        },
        "audio" => Content::Audio {
            data: fields.text("data")?,
            mime: fields.text("mimeType").unwrap_or_default(),
            about,
        },
        "resource_link" => {
            let uri = fields.text("uri")?;
            let name = fields.text("name").unwrap_or_else(|| uri.clone());
            Content::ResourceLink { uri, name, mime: fields.text("mimeType"), about }
        }
        "resource" => resource(fields.object("resource")?, about)?,
        _ => return None,
    })
}

fn about(fields: &mut Fields) -> About {
    let mut notes = fields.object("annotations").unwrap_or_default();
    let audience = texts(notes.list("audience").unwrap_or_default());
    About {
        title: fields.text("title"),
        description: fields.text("description"),
        size: fields.whole("size"),
        audience: match audience.as_slice() {
            [only] if only == "user" => Some(Audience::User),
            [only] if only == "assistant" => Some(Audience::Assistant),
            _ => None,
        },
        priority: notes.float("priority").filter(|priority| (0.0..=1.0).contains(priority)),
        last_modified: notes.text("lastModified").filter(|time| !time.trim().is_empty()),
    }
}

fn resource(mut fields: Fields, about: About) -> Option<Content> {
    let uri = fields.text("uri")?;
    let mime = fields.text("mimeType");
    if let Some(text) = fields.text("text") {
        return Some(Content::Resource { uri, mime, text, about });
    }
    Some(Content::Blob { uri, mime, data: fields.text("blob")?, about })
}
