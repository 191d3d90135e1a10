//! Composes the page of a review, in pieces that the editor takes without a noticeable delay. That takes a while, so it is
//! done beside the event loop. What the page that is shown already has is left out.

use super::renames::{self, Listed};
use crate::core::messages::review::{ChangedFile, ChangedHunk, ChangedState};
use crate::core::messages::review_page::{
    ReviewDraft, ReviewHead, ReviewHunk, ReviewPage, ReviewSection,
};
use crate::session::author::Author;
use crate::view::review;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

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
            hunk.lines.hash(&mut hasher);
        }
        ReviewSection { hash: hasher.finish(), rows: self.lines.len() }
    }
}

/// Composes the page and sends its pieces. The last one comes with all of its sections.
pub(super) fn compose(
    draft: &ReviewDraft,
    send: impl FnMut(ReviewPage, Option<Vec<ReviewSection>>),
) {
    let files = chosen_files(draft);
    let files = renames::join(&files);
    let mut paths: Vec<&Path> = files.iter().map(|listed| &*listed.file.path).collect();
    paths.extend(draft.states.iter().map(|(_, _, state)| &*state.path));
    paths.sort_unstable();
    paths.dedup();
    let hunks = files.iter().map(|listed| chosen(draft, &listed.file).count()).sum();
    let (counted, hunks) = (count(paths.len(), "file"), count(hunks, "hunk"));
    let title = format!("Review · {}{counted}, {hunks}", draft.of_what);
    let states = draft.states.iter().map(|state| render_state(draft, state));
    let has_states = !draft.states.is_empty();
    let lines = files.iter().enumerate();
    let lines = lines.map(|(at, listed)| render(draft, at == 0 && !has_states, listed));
    let rendered = states.chain(lines);
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

/// The files that have changes the page is about.
fn chosen_files(draft: &ReviewDraft) -> Vec<(&str, &ChangedFile)> {
    let files = draft.files.iter().filter(|(_, file)| {
        // A new empty file has no hunks.
        file.hunks.is_empty() || chosen(draft, file).next().is_some()
    });
    files.map(|(name, file)| (&name[..], file)).collect()
}

/// The hunks of a file that the page is about.
fn chosen<'a>(
    draft: &'a ReviewDraft,
    file: &'a ChangedFile,
) -> impl Iterator<Item = &'a ChangedHunk> {
    let of_scope: Vec<bool> = file.authors.iter().map(|by| draft.scope.includes(by)).collect();
    let is_chosen = move |by: &usize| of_scope.get(*by).copied().unwrap_or_default();
    file.hunks.iter().filter(move |hunk| hunk.by.iter().any(&is_chosen))
}

/// Renders a change that is not one of lines, in one row.
fn render_state(
    draft: &ReviewDraft,
    (from, name, state): &(Option<String>, String, ChangedState),
) -> Rendered {
    let from = from.as_ref().map(|from| format!("{from} → ")).unwrap_or_default();
    let title = joined(state.by.iter().map(|by| title(draft, by)));
    let line = with_title(format!("{from}{name}  {}", state.what), &title);
    let head =
        ReviewHead { row: 0, path: state.path.clone(), from: state.from.clone(), is_state: true };
    Rendered { lines: vec![line], heads: vec![head], hunks: Vec::new() }
}

fn render(draft: &ReviewDraft, is_first: bool, listed: &Listed<'_>) -> Rendered {
    let Listed { name, file, from } = listed;
    let titles: Vec<&str> = file.authors.iter().map(|by| title(draft, by)).collect();
    let hunks: Vec<&ChangedHunk> = chosen(draft, file).collect();
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
    for mut part in review::parts(&shown) {
        let row = rendered.lines.len();
        if let Some(hunk) = part.hunk.and_then(|index| hunks.get(index)) {
            rendered.hunks.push(ReviewHunk { row, lines: hunk.text.clone() });
        } else {
            let (path, from) = (file.path.clone(), from.map(|(_, old)| old.path.clone()));
            rendered.heads.push(ReviewHead { row, path, from, is_state: false });
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
    if title.is_empty() { line } else { format!("{line} · {title}") }
}

/// Different titles in one line.
fn joined<'a>(titles: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for title in titles.filter(|title| !title.is_empty()) {
        if !all.contains(&title) {
            all.push(title);
        }
    }
    all.join(" · ")
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
