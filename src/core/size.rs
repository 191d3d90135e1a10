//! How large updates are: the number of bytes of their texts that an agent may make large.

use crate::session::content::Content;
use crate::session::terminal::TerminalUpdate;
use crate::session::tool_call::{ToolCallPatch, ToolContent};
use crate::session::update::{Patch, Update};

/// Returns the size of an update.
pub(super) fn of_update(update: &Update) -> usize {
    match update {
        Update::Chunk { content, .. } | Update::CompactionChunk { content, .. } => {
            of_content(content)
        }
        Update::Message { content, .. } => content.iter().map(of_content).sum(),
        Update::ToolCall { patch, .. } => of_call(patch),
        Update::ToolContent { content, .. } => of_item(content),
        Update::Terminal {
            update: TerminalUpdate::Output(bytes) | TerminalUpdate::Whole(bytes),
            ..
        } => bytes.len(),
        Update::Plan(entries) => entries.iter().map(|entry| entry.content.len()).sum(),
        Update::Commands(commands) => {
            commands.iter().map(|it| it.name.len() + it.description.len()).sum()
        }
        Update::Notice { title, description, .. } => {
            title.len() + description.as_ref().map_or(0, String::len)
        }
        Update::Compaction { summary: Patch::Set(summary), .. } => {
            summary.iter().map(of_content).sum()
        }
        Update::Meta(meta) => meta.size,
        _ => 0,
    }
}

/// Returns the size of an update of a tool call.
pub(super) fn of_call(patch: &ToolCallPatch) -> usize {
    let content = patch.content.iter().flatten().map(of_item).sum::<usize>();
    let input = patch.input.as_ref().map_or(0, |input| input.json.len());
    let title = patch.title.as_ref().map_or(0, String::len);
    title + content + input + patch.output.as_ref().map_or(0, String::len)
}

fn of_item(item: &ToolContent) -> usize {
    match item {
        ToolContent::Content(content) => of_content(content),
        ToolContent::Diff(diff) => diff.new.len() + diff.old.as_ref().map_or(0, String::len),
        ToolContent::Change(_) | ToolContent::Terminal(_) | ToolContent::Unknown { .. } => 0,
    }
}

fn of_content(content: &Content) -> usize {
    match content {
        Content::Text(text) | Content::Marked { text, .. } | Content::Resource { text, .. } => {
            text.len()
        }
        other => other.data().map_or(0, str::len),
    }
}
