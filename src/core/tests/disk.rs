//! Which files buffers are to follow, and when.

use super::*;
use crate::session::tool_call::{Location, ToolKind};

/// What is followed at the end of a call of this kind that names a file.
fn followed(kind: ToolKind, named: &str) -> Vec<Vec<PathBuf>> {
    let mut world = World::ready();
    world.happen(prompt("go"));
    world.gathered(0);
    world.adopts.clear();
    let patch = ToolCallPatch {
        kind: Some(kind),
        status: Some(ToolStatus::Completed),
        locations: Some(vec![Location { path: named.into(), line: None }]),
        ..ToolCallPatch::default()
    };
    let update = Update::ToolCall { id: "1".into(), patch: Box::new(patch) };
    world.say(FromAgent::Update { session: "s".into(), update });
    world.adopts
}

#[test]
fn an_edit_is_followed_in_the_files_it_names_also_as_seen_from_the_folder_of_the_session() {
    let here = || vec![vec![PathBuf::from("/project/src/a")]];
    assert_eq!(followed(ToolKind::Edit, "/project/src/a"), here());
    assert_eq!(followed(ToolKind::Edit, "src/a"), here());
    assert_eq!(followed(ToolKind::Read, "src/a"), [] as [Vec<PathBuf>; 0]);
}

#[test]
fn a_command_is_followed_in_all_files_whatever_it_names() {
    for kind in [ToolKind::Execute, ToolKind::Other] {
        assert_eq!(followed(kind, "/project"), [vec![], vec![PathBuf::from("/project")]]);
    }
}
