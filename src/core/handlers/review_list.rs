//! The review: what is pending in all files, as one page.

use crate::core::chat::Chat;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Effect;
use crate::core::messages::review::{
    ChangeScope, ChangedFile, ChangedHunk, ComparedFile, ListPurpose, ListedChange, ReviewList,
    ReviewPage, ReviewPart, ReviewScope,
};
use crate::core::state::State;
use crate::core::user_messages;
use crate::edit::Text;
use crate::session::author::{Author, ChatId};
use crate::session::ids::ToolCallId;
use crate::view::review;
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What Neovim's diff mode shows without a noticeable delay.
pub(super) const MAX_COMPARED_LINES: usize = 20_000;
const MAX_COMPARED_HUNKS: usize = 1_000;

impl State {
    pub(in crate::core) fn list_changes(&mut self, list: ReviewList) {
        let scope = self.all_files();
        self.effects.push(Effect::FindChanges { list, scope });
    }

    pub(in crate::core) fn changes_found(&mut self, list: ReviewList, files: &[ChangedFile]) {
        let chat = self.find_chat(list.chat);
        let scope = self.scope_of(chat, list.scope, files);
        let is_included = |by: &Author| scope.as_ref().is_some_and(|scope| scope.includes(by));
        if let ListPurpose::Call(request) = list.purpose {
            let changes = self.listed_changes(files, is_included);
            return self.after_draw.push(EditorMessage::Changes(request, changes));
        }
        let (title, lines, parts) = (String::new(), Vec::new(), Vec::new());
        let mut page = ReviewPage { list, title, row: 0, is_last: true, lines, parts };
        let (mut count, mut hunks) = (0, 0);
        for file in files {
            let is_wanted = |hunk: &&ChangedHunk| hunk.by.iter().any(is_included);
            let chosen: Vec<&ChangedHunk> = file.hunks.iter().filter(is_wanted).collect();
            // A new empty file has no hunks.
            if chosen.is_empty() && !file.hunks.is_empty() {
                continue;
            }
            count += 1;
            hunks += chosen.len();
            self.add_file(&mut page, file, &chosen);
        }
        self.listed = scope.unwrap_or_default();
        if count == 0 && list.purpose == ListPurpose::Open {
            return self.notify(Level::Info, "No pending changes");
        }
        let (files, hunks) =
            (user_messages::count(count, "file"), user_messages::count(hunks, "hunk"));
        page.title = format!("Review · {}{files}, {hunks}", of_what(list.scope));
        self.after_draw.retain(|message| !matches!(message, EditorMessage::Review(_)));
        self.after_draw.push(EditorMessage::Review(page));
    }

    /// The hunks of some authors, as Lua gets them.
    fn listed_changes(
        &self,
        files: &[ChangedFile],
        is_included: impl Fn(&Author) -> bool,
    ) -> Vec<ListedChange> {
        let lines = |text: &Text, rows: &Range<usize>| {
            rows.clone().map(|row| text.line(row).to_owned()).collect()
        };
        let hunks = files.iter().flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)));
        let wanted = hunks.filter(|(_, hunk)| hunk.by.iter().any(&is_included));
        let changes = wanted.map(|(file, hunk)| ListedChange {
            path: file.path.clone(),
            row: hunk.text.start,
            removed: lines(&file.base, &hunk.base),
            added: lines(&file.text, &hunk.text),
            by: hunk.by.last().cloned(),
            title: self.titles(&hunk.by),
        });
        changes.collect()
    }

    pub(in crate::core) fn compare(&mut self, path: PathBuf) {
        let scope = self.all_files();
        self.effects.push(Effect::FindChange { path, scope });
    }

    pub(in crate::core) fn keep_as_base(&mut self, path: PathBuf, base: Vec<String>) {
        let scope = self.all_files();
        self.effects.push(Effect::KeepAsBase { path, base, scope });
    }

    pub(in crate::core) fn change_found(&mut self, path: &Path, change: Option<ChangedFile>) {
        let name = self.shorten(path);
        let Some(ChangedFile { path, base, text, hunks, .. }) = change else {
            return self.notify(Level::Info, format!("No pending changes in {name}"));
        };
        let lines = base.len().max(text.len());
        if lines > MAX_COMPARED_LINES || hunks.len() > MAX_COMPARED_HUNKS {
            let text = format!(
                "{name} is too large for diff mode ({}, {})",
                user_messages::count(lines, "line"),
                user_messages::count(hunks.len(), "hunk")
            );
            return self.notify(Level::Warn, text);
        }
        self.after_draw.push(EditorMessage::Compare(ComparedFile { path, base }));
    }

    /// Which changes belong to a scope; `None` if none can.
    fn scope_of(
        &self,
        chat: Option<ChatId>,
        scope: ReviewScope,
        files: &[ChangedFile],
    ) -> Option<ChangeScope> {
        let chat = chat.and_then(|id| self.chats.get(&id));
        let session = chat.and_then(Chat::key);
        let turn = chat.map(|chat| chat.turns);
        let by = files.iter().flat_map(|file| &file.hunks).flat_map(|hunk| &hunk.by);
        let calls = by.filter(|by| Some(&by.session) == session.as_ref());
        let calls: HashSet<&ToolCallId> = calls.filter_map(|by| by.tool_call.as_ref()).collect();
        let mut by_age = chat.iter().flat_map(|chat| chat.transcript.tools().rev());
        let all = ChangeScope::default();
        Some(match scope {
            ReviewScope::All => all,
            ReviewScope::Session => ChangeScope { session: Some(session?), ..all },
            ReviewScope::Turn => ChangeScope { session: Some(session?), turn, ..all },
            ReviewScope::ToolCall => {
                let last = by_age.find(|entry| calls.contains(&entry.call.id))?;
                let tool_call = Some(last.call.id.clone());
                ChangeScope { session: Some(session?), tool_call, ..all }
            }
        })
    }

    fn add_file(&self, page: &mut ReviewPage, file: &ChangedFile, hunks: &[&ChangedHunk]) {
        let as_shown = hunks.iter().map(|hunk| review::Hunk {
            base: hunk.base.clone(),
            text: hunk.text.clone(),
            title: self.titles(&hunk.by),
        });
        let shown = review::File {
            name: self.shorten(&file.path),
            existence: (file.existed, file.exists),
            base: &file.base,
            text: &file.text,
            hunks: as_shown.collect(),
        };
        if !page.lines.is_empty() {
            page.lines.push(String::new());
        }
        for part in review::parts(&shown) {
            let hunk = part.hunk.and_then(|index| hunks.get(index));
            let hunk = hunk.map(|hunk| hunk.text.clone());
            page.parts.push(ReviewPart { row: page.lines.len(), path: file.path.clone(), hunk });
            page.lines.extend(part.lines);
        }
    }

    /// What the agents said they were doing when they made a hunk.
    fn titles(&self, by: &[Author]) -> String {
        let mut titles: Vec<String> = Vec::new();
        for by in by {
            let Some(chat) = self.chats.get(&by.session.chat) else { continue };
            let call = by.tool_call.as_ref().and_then(|id| chat.transcript.find_tool(id));
            let title = call.map(|entry| chat.scene().title(&entry.call));
            titles.extend(title.filter(|title| !titles.contains(title)));
        }
        titles.join(" · ")
    }
}

fn of_what(scope: ReviewScope) -> &'static str {
    match scope {
        ReviewScope::All => "",
        ReviewScope::Session => "this session: ",
        ReviewScope::Turn => "last turn: ",
        ReviewScope::ToolCall => "last tool call: ",
    }
}
