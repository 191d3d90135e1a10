//! What of a review reaches the editor.

use super::*;
use crate::core::messages::review::{
    ChangeAuthor, ChangedFile, ChangedHunk, ChangedState, ListPurpose, PendingCount, ReviewList,
    ReviewScope,
};
use crate::core::messages::review_page::{ReviewDraft, ReviewPage};
use crate::edit::{HunkId, Text};
use crate::session::author::{Author, SessionKey};
use std::sync::Arc;

/// A page was asked for, and something is pending. Returns what is to be composed.
fn found(world: &mut World, purpose: ListPurpose) -> ReviewDraft {
    found_in(world, ReviewScope::All, purpose)
}

fn found_in(world: &mut World, scope: ReviewScope, purpose: ListPurpose) -> ReviewDraft {
    let session = SessionKey { chat: ChatId(1), session: "s".into() };
    let by = Author { session, turn: 1, tool_call: None };
    let state = ChangedState {
        path: "/p/a".into(),
        from: None,
        what: "deleted".to_owned(),
        by: vec![ChangeAuthor { by, is_certain: true }],
    };
    let list = ReviewList { chat: None, scope, purpose };
    let effects = world.state.handle(Event::ChangesFound(list, Vec::new(), vec![state]));
    let draft = effects.into_iter().find_map(|effect| match effect {
        Effect::ComposeReview(draft) => Some(*draft),
        _ => None,
    });
    draft.unwrap()
}

fn compose(world: &mut World, draft: &ReviewDraft) {
    let piece = ReviewPage {
        page: draft.page,
        list: draft.list,
        title: String::new(),
        row: 0,
        replaces: None,
        is_last: true,
        lines: Vec::new(),
        heads: Vec::new(),
        hunks: Vec::new(),
    };
    world.state.handle(Event::ReviewComposed(Box::new(piece), Some(Vec::new())));
}

#[test]
fn an_update_does_not_lose_the_review_that_the_user_has_asked_for() {
    for is_composed in [false, true] {
        let mut world = World::ready();
        let first = found(&mut world, ListPurpose::Open);
        if is_composed {
            compose(&mut world, &first);
        }
        let update = found(&mut world, ListPurpose::Update);
        assert_eq!(update.list.purpose, ListPurpose::Open, "composed: {is_composed}");
        compose(&mut world, &first);
        compose(&mut world, &update);
        let frame = world.state.take_frame().messages;
        let pages: Vec<(u64, ListPurpose)> = frame
            .iter()
            .filter_map(|message| match message {
                EditorMessage::Review(page) => Some((page.page, page.list.purpose)),
                _ => None,
            })
            .collect();
        assert_eq!(pages, [(update.page, ListPurpose::Open)]);
        let later = found(&mut world, ListPurpose::Update);
        assert_eq!(later.list.purpose, ListPurpose::Update, "the editor has it");
    }
}

/// Holds (Review): An update that was asked for before another page was opened shows what is on that page.
#[test]
fn an_update_shows_what_was_opened_last() {
    let mut world = World::ready();
    for scope in [ReviewScope::All, ReviewScope::Session] {
        let opened = found_in(&mut world, scope, ListPurpose::Open);
        compose(&mut world, &opened);
        world.state.take_frame();
    }
    let late = found_in(&mut world, ReviewScope::All, ListPurpose::Update);
    assert_eq!((late.list.scope, late.list.purpose), (ReviewScope::Session, ListPurpose::Update));
}

/// Holds (Several chats): Pending lines are counted for the chat whose agent changed them last.
#[test]
fn pending_lines_are_counted_by_chat() {
    let author = |chat| {
        let session = SessionKey { chat: ChatId(chat), session: "s".into() };
        ChangeAuthor { by: Author { session, turn: 1, tool_call: None }, is_certain: true }
    };
    let hunk =
        |base, text, by: &[usize]| ChangedHunk { id: HunkId(1), base, text, by: by.to_vec() };
    let text = Arc::new(Text::parse("1\n2\n3\n4\n5\n6\n"));
    let file = ChangedFile {
        path: "/p/a".into(),
        existed: true,
        exists: true,
        base: Arc::clone(&text),
        text,
        hunks: vec![hunk(0..1, 0..3, &[0]), hunk(2..4, 4..4, &[0, 1]), hunk(5..5, 5..6, &[0])],
        authors: vec![author(1), author(2)],
    };
    let mut world = World::ready();
    world.state.take_frame();
    let list = ReviewList { chat: None, scope: ReviewScope::All, purpose: ListPurpose::Count };
    world.state.handle(Event::ChangesFound(list, vec![file], Vec::new()));
    let counts = world.state.take_frame().messages.into_iter().find_map(|message| match message {
        EditorMessage::PendingCounts(counts) => Some(counts),
        _ => None,
    });
    let of = |chat, added, removed| PendingCount { chat: ChatId(chat), added, removed };
    assert_eq!(counts.unwrap(), [of(1, 4, 1), of(2, 0, 2)]);
}
