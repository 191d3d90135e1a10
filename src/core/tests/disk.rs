//! When buffers follow files on disk, and which.

use super::*;
use crate::core::messages::editor::Level;
use crate::core::messages::files::FileChange;
use crate::session::tool_call::{Location, ToolKind};

/// Returns which files are followed when a tool call of this kind that names a file ends.
fn followed(kind: ToolKind, named: &str) -> Vec<Vec<PathBuf>> {
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.context_collected(0);
    world.followed.clear();
    let patch = ToolCallPatch {
        kind: Some(kind),
        status: Some(ToolStatus::Completed),
        locations: Some(vec![Location { path: named.into(), line: None }]),
        ..ToolCallPatch::default()
    };
    let update = Update::ToolCall { id: "1".into(), patch: Box::new(patch) };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    world.followed
}

#[test]
fn an_edit_is_followed_in_the_files_it_names_also_if_their_paths_are_relative() {
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

/// Holds (Changes on disk): A conflict that an agent writes again and again is told once in a turn.
#[test]
fn conflicts_in_a_file_are_told_once_in_a_turn() {
    let mut world = World::ready();
    let mut told = Vec::new();
    for _ in 0..2 {
        world.handle(prompt("go"));
        for path in ["/project/a", "/project/a", "/project/b"] {
            let path = PathBuf::from(path);
            let change = FileChange {
                path,
                hunks: 1,
                conflicts: 1,
                created: false,
                deleted: false,
                via: "disk",
                is_certain: true,
            };
            let (changes, failed) = (vec![change], Vec::new());
            world.handle(Event::DiskFollowed { chat: ChatId(1), changes, failed });
        }
        world.reply();
    }
    for message in &world.messages {
        if let EditorMessage::Notify(Level::Warn, notice) = message {
            told.extend(notice.text.split([' ', '.']).find(|word| ["a", "b"].contains(word)));
        }
    }
    assert_eq!(told, ["a", "b", "a", "b"]);
}
