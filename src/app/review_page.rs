//! Composes the page of a review, in pieces that the editor takes without a noticeable delay. That takes a while, so it is
//! done beside the event loop. What the page that is shown already has is left out.

use crate::core::messages::review::{ChangedFile, ChangedHunk};
use crate::core::messages::review_page::{
    ReviewDraft, ReviewHead, ReviewHunk, ReviewPage, ReviewSection,
};
use crate::view::review;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The size of the first piece in bytes: somewhat more than a screen.
const FIRST_BYTES: usize = 8 * 1024;
/// The size of the others. A larger one would block Neovim noticeably.
const PIECE_BYTES: usize = 64 * 1024;

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
        for head in &self.heads {
            head.path.hash(&mut hasher);
        }
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
    let chosen = chosen(draft);
    let hunks: usize = chosen.iter().map(|(_, _, hunks)| hunks.len()).sum();
    let (files, hunks) = (count(chosen.len(), "file"), count(hunks, "hunk"));
    let title = format!("Review · {}{files}, {hunks}", draft.of_what);
    let files = chosen.iter().enumerate();
    let rendered = files.map(|(index, (name, file, hunks))| {
        let is_first = index == 0;
        render(draft, is_first, name, file, hunks)
    });
    let shown = &draft.shown[..];
    if shown.is_empty() || chosen.is_empty() {
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

type Chosen<'a> = (&'a str, &'a ChangedFile, Vec<&'a ChangedHunk>);

/// The files that have changes the page is about, with the hunks of these.
fn chosen(draft: &ReviewDraft) -> Vec<Chosen<'_>> {
    let files = draft.files.iter().filter_map(|(name, file)| {
        let of_scope: Vec<bool> = file.authors.iter().map(|by| draft.scope.includes(by)).collect();
        let is_wanted = |hunk: &&ChangedHunk| {
            hunk.by.iter().any(|by| of_scope.get(*by).copied().unwrap_or_default())
        };
        let hunks: Vec<&ChangedHunk> = file.hunks.iter().filter(is_wanted).collect();
        // A new empty file has no hunks.
        (!hunks.is_empty() || file.hunks.is_empty()).then_some((&name[..], file, hunks))
    });
    files.collect()
}

fn render(
    draft: &ReviewDraft,
    is_first: bool,
    name: &str,
    file: &ChangedFile,
    hunks: &[&ChangedHunk],
) -> Rendered {
    let titles: Vec<&str> = file
        .authors
        .iter()
        .map(|by| draft.titles.get(by).map(String::as_str).unwrap_or_default())
        .collect();
    let as_shown = hunks.iter().map(|hunk| review::Hunk {
        base: hunk.base.clone(),
        text: hunk.text.clone(),
        title: joined(hunk.by.iter().filter_map(|by| titles.get(*by).copied())),
    });
    let shown = review::File {
        name: name.to_owned(),
        existence: (file.existed, file.exists),
        base: &file.base,
        text: &file.text,
        hunks: as_shown.collect(),
    };
    // An empty line separates files.
    let lines = if is_first { Vec::new() } else { vec![String::new()] };
    let mut rendered = Rendered { lines, heads: Vec::new(), hunks: Vec::new() };
    for part in review::parts(&shown) {
        let row = rendered.lines.len();
        match part.hunk.and_then(|index| hunks.get(index)) {
            Some(hunk) => rendered.hunks.push(ReviewHunk { row, lines: hunk.text.clone() }),
            None => rendered.heads.push(ReviewHead { row, path: file.path.clone() }),
        }
        rendered.lines.extend(part.lines);
    }
    rendered
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
