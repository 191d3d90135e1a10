//! Calls about the completion of prompts.

use super::{Nothing, calls};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Tells what files match what the user has typed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FilesFound<'a> {
    /// The folder.
    pub folder: &'a str,
    /// What was typed behind the `@`.
    pub typed: &'a str,
    /// Relative paths, the best first; those of folders end with `/`.
    pub paths: &'a [String],
}

calls! {
    FilesFound<'_> = "rat.complete.files", "found" => Nothing;
}
