//! Lets the user's rules decide on a permission request, with the real paths of the files that it names.

use crate::core::messages::event::Event;
use crate::core::messages::judgement::{Case, Judgement};
use crate::host::paths::real_path;
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
    Judgement { decision: Decision::Ask, by: Vec::new(), unclear: None };

fn decide(case: &Case) -> Judgement {
    let resolve = |path: &Path| real_path(path).ok();
    let files: Option<Vec<PathBuf>> = case.files.iter().map(|file| resolve(file)).collect();
    let folders = (resolve(&case.root), resolve(&case.cwd));
    let (Some(root), Some(cwd), Some(files)) = (folders.0, folders.1, files) else {
        return LEFT_TO_THE_USER;
    };
    let call = rules::Call { files: &files, root: &root, cwd: &cwd, ..case.call(&resolve) };
    match rules::decide(&case.rules, call) {
        Verdict::Decided(decision, by) => {
            let by = by.iter().map(ToString::to_string).collect();
            Judgement { decision, by, unclear: None }
        }
        Verdict::Unclear(why) => Judgement { unclear: Some(why), ..LEFT_TO_THE_USER },
        Verdict::Open => LEFT_TO_THE_USER,
    }
}
