//! Content blocks as agents send them (ACP content).

use super::fields::Fields;
use crate::session::content::Content;
use serde_json::Value;

/// One content block. A kind we do not know, or one that lacks what it needs, is `Unknown`.
pub(super) fn block(value: Value) -> Content {
    match value {
        Value::String(text) => Content::Text(text),
        other => match Fields::of(other) {
            Some(mut fields) => of_kind(&fields.text("type").unwrap_or_default(), fields),
            None => unknown(""),
        },
    }
}

/// The blocks of a list.
pub(super) fn blocks(values: Vec<Value>) -> Vec<Content> {
    values.into_iter().map(block).collect()
}

/// Whether `kind` is the type of a content block.
pub(super) fn is_kind(kind: &str) -> bool {
    matches!(kind, "text" | "image" | "audio" | "resource_link" | "resource")
}

/// A content block whose type has been taken out already.
pub(super) fn of_kind(kind: &str, mut fields: Fields) -> Content {
    known(kind, &mut fields).unwrap_or_else(|| unknown(kind))
}

fn unknown(kind: &str) -> Content {
    Content::Unknown { kind: kind.to_owned() }
}

fn known(kind: &str, fields: &mut Fields) -> Option<Content> {
    Some(match kind {
        "text" => Content::Text(fields.text("text")?),
        "image" => Content::Image {
            data: fields.text("data")?,
            mime: fields.text("mimeType").unwrap_or_default(),
            uri: fields.text("uri"),
        },
        "audio" => Content::Audio {
            data: fields.text("data")?,
            mime: fields.text("mimeType").unwrap_or_default(),
        },
        "resource_link" => {
            let uri = fields.text("uri")?;
            let name = fields.text("name").unwrap_or_else(|| uri.clone());
            Content::ResourceLink { uri, name, mime: fields.text("mimeType") }
        }
        "resource" => resource(fields.object("resource")?)?,
        _ => return None,
    })
}

fn resource(mut fields: Fields) -> Option<Content> {
    let uri = fields.text("uri")?;
    let mime = fields.text("mimeType");
    if let Some(text) = fields.text("text") {
        return Some(Content::Resource { uri, mime, text });
    }
    Some(Content::Blob { uri, mime, data: fields.text("blob")? })
}
