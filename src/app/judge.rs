//! Lets the user's rules decide on a permission request, with the real paths of the files that it names.

use crate::core::messages::event::Event;
use crate::core::messages::judgement::{Case, Judgement};
use crate::host::paths::{meanings, real_path};
use crate::trust::rule::Decision;
use crate::trust::rules::{self, Verdict};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a file system may take to answer what a path leads to. After that the user is asked.
const RESOLVE_LIMIT: Duration = Duration::from_secs(2);

/// Decides on a request, on a blocking thread.
pub(super) async fn judge(case: Box<Case>) -> Event {
    let version = case.version;
    let judged = timeout(RESOLVE_LIMIT, spawn_blocking(move || decide(&case))).await;
    let judgement = judged.ok().and_then(Result::ok);
    Event::Judged(version, judgement.unwrap_or(LEFT_TO_THE_USER))
}

const LEFT_TO_THE_USER: Judgement =
    Judgement { decision: Decision::Ask, by: Vec::new(), unclear: None, real_files: Vec::new() };

fn decide(case: &Case) -> Judgement {
    let resolve = |path: &Path| real_path(path).ok();
    let Some(root) = resolve(&case.root) else { return LEFT_TO_THE_USER };
    let home = std::env::home_dir();
    let real = |paths: &[PathBuf]| -> Option<Vec<PathBuf>> {
        let meant = paths.iter().flat_map(|path| meanings(path, &case.root, home.as_deref()));
        meant.map(|path| resolve(&path)).collect()
    };
    let (Some(files), Some(cwds)) = (real(&case.files), real(&case.cwds)) else {
        return LEFT_TO_THE_USER;
    };
    let call = rules::Call { files: &files, root: &root, cwds: &cwds, ..case.call(&resolve) };
    let verdict = rules::decide(&case.rules, call);
    // With several meanings, none of them is the file that is named.
    let real_files = if files.len() == case.files.len() { files.clone() } else { Vec::new() };
    match verdict {
        Verdict::Decided(decision, by) => {
            let by = by.iter().map(ToString::to_string).collect();
            Judgement { decision, by, unclear: None, real_files }
        }
        Verdict::Unclear(why) => Judgement { unclear: Some(why), real_files, ..LEFT_TO_THE_USER },
        Verdict::Open => Judgement { real_files, ..LEFT_TO_THE_USER },
    }
}
