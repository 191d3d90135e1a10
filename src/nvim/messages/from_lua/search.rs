//! Searching the saved sessions.

use crate::core::messages::user::UserAction;
use crate::nvim::value::ReadError;
use crate::session::search::SearchQuery;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Searches the saved sessions of all folders. A search that is still going on ends without an answer.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Search {
    /// The number of the search, which comes back with what it finds.
    request: u64,
    /// Words that a session must all have.
    words: String,
}

impl TryFrom<Search> for UserAction {
    type Error = ReadError;

    fn try_from(Search { request, words }: Search) -> Result<Self, ReadError> {
        let query = SearchQuery::new(&words);
        Ok(Self::Search(request, query.map_err(|error| ReadError::of("words", error.to_string()))?))
    }
}
