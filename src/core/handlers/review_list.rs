//! The review: what is pending in all files, as one page.

use super::review::OFF;
use crate::core::chat::Chat;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::Effect;
use crate::core::messages::review::{
    ChangeAuthor, ChangeScope, ChangedFile, ChangedState, ComparedFile, Comparison, ListPurpose,
    ListedChange, PendingCount, ReviewList, ReviewScope,
};
use crate::core::messages::review_page::{ReviewDraft, ReviewPage, ReviewSection};
use crate::core::state::State;
use crate::core::user_messages;
use crate::edit::Text;
use crate::session::author::{Author, ChatId};
use crate::session::ids::ToolCallId;
use crate::session::signs;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

/// What Neovim's diff mode shows without a noticeable delay.
pub(super) const MAX_COMPARED_LINES: usize = 20_000;
const MAX_COMPARED_HUNKS: usize = 1_000;

impl State {
    pub(in crate::core) fn list_changes(&mut self, list: ReviewList) {
        if list.purpose == ListPurpose::Open && self.says_that_review_is_off(OFF) {
            return;
        }
        let scope = self.all_files();
        self.effects.push(Effect::FindChanges { list, scope });
    }

    pub(in crate::core) fn changes_found(
        &mut self,
        list: ReviewList,
        files: Vec<ChangedFile>,
        states: Vec<ChangedState>,
    ) {
        if list.purpose == ListPurpose::Count {
            return self.after_draw.push(EditorMessage::PendingCounts(count_by_chat(&files)));
        }
        let list = self.not_lost(list);
        let chat = self.find_chat(list.chat);
        let scope = self.scope_of(chat, list.scope, (&files, &states));
        let is_included =
            |by: &ChangeAuthor| scope.as_ref().is_some_and(|scope| scope.includes(by));
        if let ListPurpose::Call(request) = list.purpose {
            let changes = self.listed_changes(&files, is_included);
            return self.after_draw.push(EditorMessage::Changes(request, changes));
        }
        // A new empty file has no hunks.
        let is_wanted =
            |file: &ChangedFile| file.hunks.is_empty() || file.authors.iter().any(is_included);
        let files: Vec<ChangedFile> = files.into_iter().filter(is_wanted).collect();
        let is_wanted = |state: &ChangedState| state.by.iter().any(is_included);
        let states: Vec<ChangedState> = states.into_iter().filter(is_wanted).collect();
        let scope = scope.unwrap_or_default();
        self.listed = scope.clone();
        if files.is_empty() && states.is_empty() && list.purpose == ListPurpose::Open {
            return self.notify(Level::Info, "No pending changes");
        }
        let authors = files.iter().flat_map(|file| &file.authors);
        let authors = authors.chain(states.iter().flat_map(|state| &state.by));
        let titles =
            authors.filter_map(|it| Some((it.by.clone(), self.title_of(&it.by)?))).collect();
        let named = files.into_iter().map(|file| (self.shorten(&file.path), file));
        let mut named: Vec<(String, ChangedFile)> = named.collect();
        tell_apart(&mut named);
        let states = states.into_iter().map(|state| {
            let from = state.from.as_ref().map(|from| self.shorten(from));
            (from, self.shorten(&state.path), state)
        });
        let states = states.collect();
        let is_review = |message: &EditorMessage| matches!(message, EditorMessage::Review(_));
        let is_whole = list.purpose == ListPurpose::Open || self.after_draw.iter().any(is_review);
        self.after_draw.retain(|message| !is_review(message));
        if list.purpose == ListPurpose::Open {
            self.review_page.opens(ReviewList { chat: chat.or(list.chat), ..list });
        }
        let (page, shown) = self.review_page.begin(is_whole);
        let of_what = of_what(list.scope);
        let files = named;
        let draft = ReviewDraft { page, list, scope, of_what, files, states, titles, shown };
        self.effects.push(Effect::ComposeReview(Box::new(draft)));
    }

    /// An update is of the page that the user has asked for last, though it may have been asked for before that one. It takes the
    /// place of a page that the editor does not have yet: if the user has asked for that one, it is what is shown.
    fn not_lost(&self, list: ReviewList) -> ReviewList {
        if list.purpose != ListPurpose::Update {
            return list;
        }
        let is_open = |list: &ReviewList| list.purpose == ListPurpose::Open;
        let waiting = self.after_draw.iter().find_map(|message| match message {
            EditorMessage::Review(page) => Some(page.list).filter(is_open),
            _ => None,
        });
        let waited_for = waiting.or(self.review_page.opening());
        let opened = self.review_page.opened();
        let opened = opened.map(|opened| ReviewList { purpose: ListPurpose::Update, ..opened });
        waited_for.or(opened).unwrap_or(list)
    }

    /// A piece of a page was composed.
    pub(in crate::core) fn review_composed(
        &mut self,
        piece: ReviewPage,
        all: Option<Vec<ReviewSection>>,
    ) {
        if !self.review_page.is_latest(piece.page) {
            return;
        }
        self.after_draw.push(EditorMessage::Review(piece));
        if let Some(all) = all {
            self.review_page.composed(all);
        }
    }

    /// The hunks of some authors, as Lua gets them.
    fn listed_changes(
        &self,
        files: &[ChangedFile],
        is_included: impl Fn(&ChangeAuthor) -> bool,
    ) -> Vec<ListedChange> {
        let lines = |text: &Text, rows: &Range<usize>| {
            rows.clone().map(|row| text.line(row).to_owned()).collect()
        };
        let hunks = files.iter().flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)));
        let wanted = hunks.filter(|(file, hunk)| file.authors_of(hunk).any(&is_included));
        let changes = wanted.map(|(file, hunk)| ListedChange {
            path: file.path.clone(),
            row: hunk.text.start,
            removed: lines(&file.base, &hunk.base),
            added: lines(&file.text, &hunk.text),
            by: file.authors_of(hunk).last().map(|author| author.by.clone()),
            title: self.titles(file.authors_of(hunk).map(|author| &author.by)),
        });
        changes.collect()
    }

    pub(in crate::core) fn compare(&mut self, comparison: Comparison) {
        let scope = self.all_files();
        self.effects.push(Effect::FindChange { comparison, scope });
    }

    pub(in crate::core) fn keep_as_base(&mut self, path: PathBuf, base: Vec<String>) {
        let scope = self.all_files();
        self.effects.push(Effect::KeepAsBase { path, base, scope });
    }

    pub(in crate::core) fn change_found(
        &mut self,
        comparison: Comparison,
        change: Option<ChangedFile>,
    ) {
        let name = self.shorten(comparison.from.as_ref().unwrap_or(&comparison.path));
        let Some(ChangedFile { path, base, text, hunks, .. }) = change else {
            if comparison.is_update {
                return self.compare_without(comparison, name, false);
            }
            return self.notify(Level::Info, format!("No pending changes in {name}"));
        };
        let lines = base.len().max(text.len());
        if lines > MAX_COMPARED_LINES || hunks.len() > MAX_COMPARED_HUNKS {
            let text = format!(
                "{name} is too large for diff mode ({}, {})",
                user_messages::count(lines, "line"),
                user_messages::count(hunks.len(), "hunk")
            );
            if comparison.is_update {
                self.compare_without(comparison, name, true);
            }
            return self.notify(Level::Warn, text);
        }
        let comparison = Comparison { path, ..comparison };
        let (base, is_too_large) = (Some(base), false);
        let file = ComparedFile { comparison, name, base, hunks, is_too_large };
        self.after_draw.push(EditorMessage::Compare(file));
    }

    /// Updates a comparison of a file where nothing is pending any more, or too much.
    fn compare_without(&mut self, comparison: Comparison, name: String, is_too_large: bool) {
        let (base, hunks) = (None, Vec::new());
        let file = ComparedFile { comparison, name, base, hunks, is_too_large };
        self.after_draw.push(EditorMessage::Compare(file));
    }

    /// Which changes belong to a scope; `None` if none can.
    fn scope_of(
        &self,
        chat: Option<ChatId>,
        scope: ReviewScope,
        (files, states): (&[ChangedFile], &[ChangedState]),
    ) -> Option<ChangeScope> {
        let chat = chat.and_then(|id| self.chats.get(&id));
        let session = chat.and_then(Chat::key);
        let turn = chat.map(|chat| chat.turns);
        let by = files.iter().flat_map(|file| &file.authors);
        let by = by.chain(states.iter().flat_map(|state| &state.by)).map(|author| &author.by);
        let by = by.filter(|by| Some(&by.session) == session.as_ref());
        let by: Vec<_> = by.filter_map(|by| Some((by.turn, by.tool_call.as_ref()?))).collect();
        // A call of an earlier turn may have had the same id.
        let last_turn = by.iter().map(|(turn, _)| *turn).max();
        let of_turn = by.into_iter().filter(|(turn, _)| Some(*turn) == last_turn);
        let calls: HashSet<&ToolCallId> = of_turn.map(|(_, call)| call).collect();
        let mut by_age = chat.iter().flat_map(|chat| chat.transcript.tools().rev());
        let all = ChangeScope::default();
        Some(match scope {
            ReviewScope::All => all,
            ReviewScope::Session => ChangeScope { session: Some(session?), ..all },
            ReviewScope::Turn => ChangeScope { session: Some(session?), turn, ..all },
            ReviewScope::ToolCall => {
                let last = by_age.find(|entry| calls.contains(&entry.call.id))?;
                let tool_call = Some(last.call.id.clone());
                ChangeScope { session: Some(session?), turn: last_turn, tool_call, ..all }
            }
        })
    }

    /// What the agents said they were doing when they made a hunk.
    fn titles<'a>(&self, by: impl Iterator<Item = &'a Author>) -> String {
        let mut titles: Vec<String> = Vec::new();
        for title in by.filter_map(|by| self.title_of(by)) {
            if !titles.contains(&title) {
                titles.push(title);
            }
        }
        signs::joined(&titles)
    }

    fn title_of(&self, by: &Author) -> Option<String> {
        let chat = self.chats.get(&by.session.chat)?;
        if let Some(title) = chat.call_titles.find(by) {
            return Some(title.to_owned());
        }
        let entry = chat.transcript.find_tool(by.tool_call.as_ref()?)?;
        Some(chat.scene().title(&entry.call))
    }
}

/// Counts the pending lines of each chat, in the order of the chats. A hunk is counted for the one that changed it last.
fn count_by_chat(files: &[ChangedFile]) -> Vec<PendingCount> {
    let mut lines: BTreeMap<ChatId, (usize, usize)> = BTreeMap::new();
    for (file, hunk) in files.iter().flat_map(|file| file.hunks.iter().map(move |it| (file, it))) {
        if let Some(author) = file.authors_of(hunk).last() {
            let (added, removed) = lines.entry(author.by.session.chat).or_default();
            *added += hunk.text.len();
            *removed += hunk.base.len();
        }
    }
    let counts = lines.into_iter();
    counts.map(|(chat, (added, removed))| PendingCount { chat, added, removed }).collect()
}

/// Names files by their whole paths that would have the same name, since they are in the folders of different chats.
fn tell_apart(files: &mut [(String, ChangedFile)]) {
    let mut count: HashMap<String, usize> = HashMap::new();
    for (name, _) in files.iter() {
        *count.entry(name.clone()).or_default() += 1;
    }
    for (name, file) in files {
        if count.get(name).is_some_and(|count| *count > 1) {
            *name = file.path.display().to_string();
        }
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
