//! Composes the page of a review, in pieces that the editor takes without a noticeable delay. That takes a while, so it is
//! done beside the event loop. What the page that is shown already has is left out.

use super::renames::{self, Listed};
use crate::core::messages::review::{
    Certainty, ChangeAuthor, ChangeScope, ChangedFile, ChangedHunk, ChangedState,
};
use crate::core::messages::review_page::{
    HeadKind, ReviewDraft, ReviewHead, ReviewHunk, ReviewPage, ReviewSection,
};
use crate::session::author::Author;
use crate::session::signs::{self, ARROW, DOT};
use crate::view::review;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The size of the first piece in bytes: somewhat more than a screen.
const FIRST_BYTES: usize = 8 * 1024;
/// The size of the others. A larger one would block Neovim noticeably.
const PIECE_BYTES: usize = 96 * 1024;

/// The lines about one file. Rows count from its first line.
struct Rendered {
    lines: Vec<String>,
    heads: Vec<ReviewHead>,
    hunks: Vec<ReviewHunk>,
}

impl Rendered {
    fn section(&self) -> ReviewSection {
        let mut hasher = DefaultHasher::new();
        self.lines.hash(&mut hasher);
        self.heads.hash(&mut hasher);
        for hunk in &self.hunks {
            (hunk.id, &hunk.lines).hash(&mut hasher);
        }
        ReviewSection { hash: hasher.finish(), rows: self.lines.len() }
    }
}

/// Composes the page and sends its pieces. The last one comes with all of its sections.
pub(super) fn compose(
    draft: &ReviewDraft,
    send: impl FnMut(ReviewPage, Option<Vec<ReviewSection>>),
) {
    let groups = [Certainty::Certain, Certainty::Unknown].map(|certainty| {
        let scope = ChangeScope { certainty, ..draft.scope.clone() };
        Group::new(draft, scope)
    });
    let mut paths: Vec<&Path> = groups.iter().flat_map(Group::paths).collect();
    paths.sort_unstable();
    paths.dedup();
    let hunks: usize = groups.iter().map(Group::count).sum();
    // A rename or a change of the mode has no hunks.
    let hunks = if hunks == 0 { String::new() } else { format!(", {}", count(hunks, "hunk")) };
    let title = format!("Review {DOT} {}{}{hunks}", draft.of_what, count(paths.len(), "file"));
    let is_first = groups[0].is_empty();
    let rendered = groups.iter().enumerate().flat_map(|(number, group)| {
        let is_unknown = number == 1;
        group.render(draft, is_unknown, !is_unknown || is_first)
    });
    let shown = &draft.shown[..];
    if shown.is_empty() || paths.is_empty() {
        let mut writer = Writer::new(draft, title, 0, None, send);
        let mut sections = Vec::new();
        for part in rendered {
            sections.push(part.section());
            writer.add(part);
        }
        return writer.end(sections);
    }
    let rendered: Vec<Rendered> = rendered.collect();
    let sections: Vec<ReviewSection> = rendered.iter().map(Rendered::section).collect();
    let before = sections.iter().zip(shown).take_while(|(new, old)| new == old).count();
    let shorter = sections.len().min(shown.len());
    let same_after = sections.iter().rev().zip(shown.iter().rev()).take(shorter - before);
    let after = same_after.take_while(|(new, old)| new == old).count();
    let rows = |sections: &[ReviewSection]| sections.iter().map(|section| section.rows).sum();
    let (row, until) = (rows(&sections[..before]), sections.len() - after);
    let replaces = Some(rows(&shown[before..shown.len() - after]));
    let mut writer = Writer::new(draft, title, row, replaces, send);
    for part in rendered.into_iter().take(until).skip(before) {
        writer.add(part);
    }
    writer.end(sections);
}

/// Changes of which one thing is known: that an agent made them, or not.
struct Group<'a> {
    scope: ChangeScope,
    files: Vec<Listed<'a>>,
    states: Vec<&'a (Option<String>, String, ChangedState)>,
}

impl<'a> Group<'a> {
    fn new(draft: &'a ReviewDraft, scope: ChangeScope) -> Self {
        let files = draft.files.iter().filter(|(_, file)| {
            // A new empty file has no hunks.
            let is_empty = file.hunks.is_empty() && scope.certainty == Certainty::Certain;
            is_empty || chosen(&scope, file).next().is_some()
        });
        let files: Vec<_> = files.map(|(name, file)| (&name[..], file)).collect();
        let is_in = |state: &&(Option<String>, String, ChangedState)| is_in(&scope, &state.2.by);
        let states = draft.states.iter().filter(is_in).collect();
        Self { files: renames::join(&files), states, scope }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.states.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.iter().map(|listed| &*listed.file.path);
        files.chain(self.states.iter().map(|(_, _, state)| &*state.path))
    }

    fn count(&self) -> usize {
        self.files.iter().map(|listed| chosen(&self.scope, &listed.file).count()).sum()
    }

    /// Renders the group, which is the first in the page or not.
    fn render(
        &self,
        draft: &ReviewDraft,
        is_unknown: bool,
        is_first: bool,
    ) -> impl Iterator<Item = Rendered> {
        let has_heading = is_unknown && !self.is_empty();
        let heading = has_heading.then(|| heading(is_first));
        let states = self.states.iter().map(move |state| render_state(draft, is_unknown, state));
        let has_rows = has_heading || !self.states.is_empty();
        let lines = self.files.iter().enumerate().map(move |(at, listed)| {
            render(draft, (&self.scope, is_unknown), at == 0 && is_first && !has_rows, listed)
        });
        heading.into_iter().chain(states).chain(lines)
    }
}

/// Whether changes are in a scope. What is known to be an agent's in part counts as known.
fn is_in(scope: &ChangeScope, by: &[ChangeAuthor]) -> bool {
    let certain = ChangeScope { certainty: Certainty::Certain, ..scope.clone() };
    let is_certain = by.iter().any(|author| certain.includes(author));
    match scope.certainty {
        Certainty::Unknown => !is_certain && by.iter().any(|author| scope.includes(author)),
        _ => by.iter().any(|author| scope.includes(author)),
    }
}

/// The hunks of a file that a group is about.
fn chosen<'a>(scope: &ChangeScope, file: &'a ChangedFile) -> impl Iterator<Item = &'a ChangedHunk> {
    let of_scope: Vec<bool> = file.authors.iter().map(|by| scope.includes(by)).collect();
    let certain = ChangeScope { certainty: Certainty::Certain, ..scope.clone() };
    let is_unknown = scope.certainty == Certainty::Unknown;
    let is_certain: Vec<bool> = file.authors.iter().map(|by| certain.includes(by)).collect();
    let has = |of: &[bool], hunk: &ChangedHunk| {
        hunk.by.iter().any(|by| of.get(*by).copied().unwrap_or_default())
    };
    file.hunks
        .iter()
        .filter(move |hunk| has(&of_scope, hunk) && !(is_unknown && has(&is_certain, hunk)))
}

/// The line above what somebody else may have changed.
fn heading(is_first: bool) -> Rendered {
    let mut lines = if is_first { Vec::new() } else { vec![String::new()] };
    let row = lines.len();
    lines.push("Changed while no tool call ran: by the agent, or by somebody else".to_owned());
    let (path, from, kind) = (PathBuf::new(), None, HeadKind::Group);
    let head = ReviewHead { row, path, from, kind, is_unknown: true };
    Rendered { lines, heads: vec![head], hunks: Vec::new() }
}

/// Renders a change that is not one of lines, in one row.
fn render_state(
    draft: &ReviewDraft,
    is_unknown: bool,
    (from, name, state): &(Option<String>, String, ChangedState),
) -> Rendered {
    let from = from.as_ref().map(|from| format!("{from} {ARROW} ")).unwrap_or_default();
    let title = joined(state.by.iter().map(|author| title(draft, &author.by)));
    let line = with_title(format!("{from}{name}  {}", state.what), &title);
    let (path, from, kind) = (state.path.clone(), state.from.clone(), HeadKind::State);
    let head = ReviewHead { row: 0, path, from, kind, is_unknown };
    Rendered { lines: vec![line], heads: vec![head], hunks: Vec::new() }
}

fn render(
    draft: &ReviewDraft,
    (scope, is_unknown): (&ChangeScope, bool),
    is_first: bool,
    listed: &Listed<'_>,
) -> Rendered {
    let Listed { name, file, from } = listed;
    let titles: Vec<&str> = file.authors.iter().map(|author| title(draft, &author.by)).collect();
    let hunks: Vec<&ChangedHunk> = chosen(scope, file).collect();
    let as_shown = hunks.iter().map(|hunk| review::Hunk {
        base: hunk.base.clone(),
        text: hunk.text.clone(),
        title: joined(hunk.by.iter().filter_map(|by| titles.get(*by).copied())),
    });
    let shown = review::File {
        name: (*name).to_owned(),
        from: from.map(|(name, _)| name.to_owned()),
        existence: (file.existed, file.exists),
        base: &file.base,
        text: &file.text,
        hunks: as_shown.collect(),
    };
    // An empty line separates files.
    let lines = if is_first { Vec::new() } else { vec![String::new()] };
    let mut rendered = Rendered { lines, heads: Vec::new(), hunks: Vec::new() };
    let (mut calls, mut before) = (0, None);
    for mut part in review::parts(&shown) {
        let row = rendered.lines.len();
        if let Some(hunk) = part.hunk.and_then(|index| hunks.get(index)) {
            if before.replace(&hunk.by).is_some_and(|before| *before != hunk.by) {
                calls += 1;
            }
            rendered.hunks.push(ReviewHunk { row, id: hunk.id, lines: hunk.text.clone(), calls });
        } else {
            let (path, from) = (file.path.clone(), from.map(|(_, old)| old.path.clone()));
            rendered.heads.push(ReviewHead { row, path, from, kind: HeadKind::File, is_unknown });
            if hunks.is_empty() {
                let title = joined(titles.iter().copied());
                part.lines = part.lines.into_iter().map(|line| with_title(line, &title)).collect();
            }
        }
        rendered.lines.extend(part.lines);
    }
    rendered
}

/// What an agent said it was doing; may be empty.
fn title<'a>(draft: &'a ReviewDraft, by: &Author) -> &'a str {
    draft.titles.get(by).map(String::as_str).unwrap_or_default()
}

fn with_title(line: String, title: &str) -> String {
    if title.is_empty() { line } else { format!("{line} {DOT} {title}") }
}

/// Different titles in one line.
fn joined<'a>(titles: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for title in titles.filter(|title| !title.is_empty()) {
        if !all.contains(&title) {
            all.push(title);
        }
    }
    signs::joined(&all)
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Collects lines until there are enough for a piece.
struct Writer<'a, F> {
    draft: &'a ReviewDraft,
    piece: ReviewPage,
    /// The row after the last line.
    row: usize,
    /// How many bytes the piece may still have.
    room: usize,
    send: F,
}

impl<'a, F: FnMut(ReviewPage, Option<Vec<ReviewSection>>)> Writer<'a, F> {
    fn new(
        draft: &'a ReviewDraft,
        title: String,
        row: usize,
        replaces: Option<usize>,
        send: F,
    ) -> Self {
        let piece = ReviewPage {
            page: draft.page,
            list: draft.list,
            title,
            row,
            replaces,
            is_last: false,
            lines: Vec::new(),
            heads: Vec::new(),
            hunks: Vec::new(),
        };
        Self { draft, piece, row, room: FIRST_BYTES, send }
    }

    fn add(&mut self, part: Rendered) {
        let (mut heads, mut hunks) =
            (part.heads.into_iter().peekable(), part.hunks.into_iter().peekable());
        for (index, line) in part.lines.into_iter().enumerate() {
            if line.len() >= self.room && !self.piece.lines.is_empty() {
                self.flush(None);
            }
            self.room = self.room.saturating_sub(line.len() + 1);
            let row = self.row;
            if let Some(head) = heads.next_if(|head| head.row == index) {
                self.piece.heads.push(ReviewHead { row, ..head });
            }
            if let Some(hunk) = hunks.next_if(|hunk| hunk.row == index) {
                self.piece.hunks.push(ReviewHunk { row, ..hunk });
            }
            self.piece.lines.push(line);
            self.row += 1;
        }
    }

    fn flush(&mut self, all: Option<Vec<ReviewSection>>) {
        let next = ReviewPage {
            page: self.draft.page,
            list: self.draft.list,
            title: self.piece.title.clone(),
            row: self.row,
            replaces: Some(0),
            is_last: false,
            lines: Vec::new(),
            heads: Vec::new(),
            hunks: Vec::new(),
        };
        let piece = std::mem::replace(&mut self.piece, next);
        self.room = PIECE_BYTES;
        (self.send)(ReviewPage { is_last: all.is_some(), ..piece }, all);
    }

    fn end(mut self, sections: Vec<ReviewSection>) {
        self.flush(Some(sections));
    }
}
