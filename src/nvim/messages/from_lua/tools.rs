//! What the editor has found for its own tools, and the tools that the user adds.

use super::LuaMessage;
use crate::core::messages::tools::UserTool;
use crate::core::messages::workbench::{self, Findings};
use crate::edit::{self, PositionEncoding};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// What was found for a question (`rat.tools.ask`).
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Found {
    /// The number of the question.
    id: u64,
    /// Why there is no answer, in one line for an agent's model.
    error: Option<String>,
    /// Places in files.
    #[serde(default)]
    places: Vec<FoundPlace>,
    /// How many places there are, if not all of them are sent.
    total: Option<usize>,
    /// The edits that a change needs, by file.
    #[serde(default)]
    edits: Vec<FoundEdits>,
    /// What to tell the model besides, a line or text each.
    #[serde(default)]
    notes: Vec<String>,
}

/// A place in a file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct FoundPlace {
    /// The path of the file.
    path: String,
    /// The line, from 1; 0 if it is about the whole file.
    line: u32,
    /// What is there, in one line. Missing: the line of the file.
    text: Option<String>,
}

/// Edits of a file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct FoundEdits {
    /// The path of the file.
    path: String,
    /// How their positions count.
    encoding: PositionUnit,
    /// The edits.
    edits: Vec<FoundEdit>,
}

/// How the positions of a language server count.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
enum PositionUnit {
    /// Bytes.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Code units of UTF-16.
    #[serde(rename = "utf-16")]
    Utf16,
    /// Characters.
    #[serde(rename = "utf-32")]
    Utf32,
}

/// A replacement of a range (LSP `TextEdit`).
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct FoundEdit {
    /// The line in which the range begins, from 0.
    line: usize,
    /// The character at which it begins, from 0.
    character: usize,
    /// The line in which it ends, from 0.
    end_line: usize,
    /// The character at which it ends, from 0.
    end_character: usize,
    /// What replaces it.
    text: String,
}

/// Tells which tools the user has added.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct OfferTools {
    /// All of them.
    tools: Vec<OwnTool>,
}

/// A tool that the user has added.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct OwnTool {
    /// Its name.
    name: String,
    /// What it does.
    description: String,
    /// The JSON schema of its arguments, as JSON text.
    input_schema: String,
    /// Whether it changes nothing.
    #[serde(default)]
    read_only: bool,
}

impl From<Found> for LuaMessage {
    fn from(found: Found) -> Self {
        let Found { id, error, places, total, edits, notes } = found;
        let total = total.unwrap_or(places.len());
        let places = places.into_iter().map(Into::into).collect();
        let edits = edits.into_iter().map(Into::into).collect();
        let findings = Findings { places, total, edits, notes };
        Self::Found(id, error.map_or(Ok(findings), Err))
    }
}

impl From<FoundPlace> for workbench::Place {
    fn from(FoundPlace { path, line, text }: FoundPlace) -> Self {
        Self { path: path.into(), line, text: text.unwrap_or_default() }
    }
}

impl From<FoundEdits> for workbench::FileEdits {
    fn from(FoundEdits { path, encoding, edits }: FoundEdits) -> Self {
        let encoding = match encoding {
            PositionUnit::Utf8 => PositionEncoding::Utf8,
            PositionUnit::Utf16 => PositionEncoding::Utf16,
            PositionUnit::Utf32 => PositionEncoding::Utf32,
        };
        Self { path: path.into(), encoding, edits: edits.into_iter().map(Into::into).collect() }
    }
}

impl From<FoundEdit> for edit::RangeEdit {
    fn from(edit: FoundEdit) -> Self {
        let FoundEdit { line, character, end_line, end_character, text } = edit;
        let start = edit::Position { line, character };
        let end = edit::Position { line: end_line, character: end_character };
        Self { start, end, text }
    }
}

impl From<OfferTools> for LuaMessage {
    fn from(OfferTools { tools }: OfferTools) -> Self {
        let tool = |OwnTool { name, description, input_schema, read_only }| UserTool {
            name,
            description,
            input_schema,
            only_reads: read_only,
        };
        Self::OfferTools(tools.into_iter().map(tool).collect())
    }
}
