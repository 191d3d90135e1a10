//! Finds files for the completion of prompts, off the loop, and tells Lua. It decides nothing.

use crate::host::project_files::ProjectFiles;
use crate::nvim::client::Client;
use crate::nvim::messages::calls::completion::FilesFound;
use std::path::Path;

/// So many files are offered.
const COUNT: usize = 200;

/// What Lua asks for.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) folder: String,
    pub(super) typed: String,
}

/// Answers a question: again after the list of files was made anew, if other files are found then.
pub(super) fn answer(files: &ProjectFiles, client: Client, query: Query) {
    let files = files.clone();
    tokio::spawn(async move {
        let (query, found) = find(files.clone(), query, false).await;
        tell(&client, &query, &found.0).await;
        if found.1 {
            let (query, (paths, _)) = find(files, query, true).await;
            if paths != found.0 {
                tell(&client, &query, &paths).await;
            }
        }
    });
}

/// Returns the files that were found, and whether that list is old.
async fn find(files: ProjectFiles, query: Query, anew: bool) -> (Query, (Vec<String>, bool)) {
    let (folder, typed) = (query.folder.clone(), query.typed.clone());
    let searched = tokio::task::spawn_blocking(move || {
        let folder = Path::new(&folder);
        if anew {
            files.renew(folder);
        }
        let found = files.find(folder, &typed, COUNT);
        (found.paths, found.is_old)
    });
    let found = searched.await.unwrap_or_else(|error| {
        tracing::error!(%error, "the files of a project were not listed");
        (Vec::new(), false)
    });
    (query, found)
}

async fn tell(client: &Client, query: &Query, paths: &[String]) {
    let found = FilesFound { folder: &query.folder, typed: &query.typed, paths };
    if let Err(error) = client.call(found).await {
        error.log("Neovim did not take the files that were found");
    }
}
