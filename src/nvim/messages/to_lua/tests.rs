//! Encoding of one message of each kind, and a comparison of the hand-written encoding with its types.

use super::draw::Draw;
use super::*;
use crate::core::messages::checkpoint::{KeptTurn, TurnRef};
use crate::core::messages::content::{ContentAction, ContentOffer};
use crate::core::messages::editor::{Asked, EditOutcome, Level, SessionItem, UserAutocmd};
use crate::core::messages::failure::{Failure, Origin};
use crate::core::messages::files::{FileChange, ProposedWrite};
use crate::core::messages::page::View;
use crate::core::messages::page::{PageId, ScratchPage};
use crate::core::messages::review::{
    ChangedHunk, ComparedFile, Comparison, ListPurpose, ListedChange, PendingCount, PendingFile,
    PendingLines, ReviewList, ReviewScope,
};
use crate::core::messages::review_page::{HeadKind, ReviewHead, ReviewHunk, ReviewPage};
use crate::core::messages::status::{ChatState, ChatStatus, WaitingElicitation, WaitingPermission};
use crate::core::messages::trace::{TraceItem, TracePiece};
use crate::core::messages::user::SessionAction;
use crate::edit::{HunkId, Text};
use crate::session::address::{self, Address};
use crate::session::author::{Author, ChatId, SessionKey};
use crate::session::content::ContentId;
use crate::session::elicitation::{ElicitationKind, Field, FieldValue, Form, Kind};
use crate::session::permission::{OptionKind, PermissionOption};
use crate::session::prompt::{Attachment, Body, Prompt};
use crate::session::saved::SavedSession;
use crate::session::search::{MarkedLine, SearchHit, SearchResult};
use crate::session::tool_call::{Diff, ToolKind};
use crate::session::update::{Choice, Command, ConfigOption, Meta, OptionValue, Usage};
use crate::view::line::{Highlight, Line};
use crate::view::patch::{Op, Patch};
use expect_test::expect_file;
use proptest::prelude::*;
use std::sync::Arc;

/// Hostile text as an agent could send it: only a buffer may receive it unchanged.
fn hostile_text() -> String {
    "a\u{1b}[2J\nb".to_owned()
}

fn failure() -> Failure {
    Failure {
        message: hostile_text().into(),
        details: Vec::new(),
        origin: Origin::Agent,
        code: Some(-32603),
        is_retryable: true,
        last_messages: vec![hostile_text()],
    }
}

fn waiting_permission() -> WaitingPermission {
    WaitingPermission {
        id: 2,
        tool_call: "t".to_owned(),
        title: hostile_text(),
        kind: "edit",
        tool_kind: ToolKind::Edit,
        files: Vec::new(),
        commands: vec![hostile_text()],
        command_cwds: Vec::new(),
        asks: hostile_text(),
        revision: 3,
        options: vec![PermissionOption {
            id: "o".into(),
            name: hostile_text(),
            kind: OptionKind::AllowOnce,
        }],
        diffs: 1,
        for_user: false,
    }
}

fn chats() -> Vec<EditorMessage> {
    let chat = ChatId(1);
    let status = ChatStatus {
        chat,
        agent: "claude".to_owned(),
        title: hostile_text(),
        session: Some("s".to_owned()),
        session_title: Some(hostile_text()),
        state: ChatState::Waiting,
        detail: Some(hostile_text()),
        stop_reason: Some(hostile_text()),
        is_between_turns: true,
        prompt: Some(hostile_text()),
        queued: vec![hostile_text()],
        queue_numbers: vec![1],
        queue_paused: true,
        permissions: vec![waiting_permission()],
        elicitations: vec![WaitingElicitation { id: 4, mode: "form", message: hostile_text() }],
        usage: Some(Usage { used: 5, size: 6, cost: Some((0.5, hostile_text())) }),
        mode: Some(hostile_text()),
        plan: Some((1, 2)),
    };
    let short = ChatStatus {
        session: None,
        session_title: None,
        detail: None,
        usage: Some(Usage { used: 5, size: 6, cost: None }),
        mode: None,
        plan: None,
        ..status.clone()
    };
    let attachment = |body| Attachment {
        uri: "file:///a".to_owned(),
        label: hostile_text(),
        lines: Some((1, 2)),
        part: Some(hostile_text()),
        mime: Some("text/plain".to_owned()),
        body,
    };
    let attachments = [Body::Text(hostile_text()), Body::File("/a".into())].map(attachment);
    let attachments = attachments.to_vec();
    let (path, via, created, deleted) = ("/a".into(), "disk", false, false);
    let change =
        FileChange { path, hunks: 1, conflicts: 2, created, deleted, via, is_certain: true };
    let happened = [
        UserAutocmd::TurnStart(chat),
        UserAutocmd::TurnEnd(chat, hostile_text(), true),
        UserAutocmd::Permission(chat, 2, hostile_text()),
        UserAutocmd::Elicitation(chat, 2, "url"),
        UserAutocmd::FileChanged(chat, change),
        UserAutocmd::ReviewChanged,
        UserAutocmd::Error(chat, failure()),
    ];
    let mut all = vec![
        EditorMessage::Chat {
            chat,
            agent: "claude".to_owned(),
            title: hostile_text(),
            cwd: "/a".into(),
            show: true,
            focus: false,
            edit: Some(3),
        },
        EditorMessage::Edited { chat, edit: 3, outcome: EditOutcome::Changed },
        EditorMessage::Status(Box::new(status)),
        EditorMessage::Status(Box::new(short)),
        EditorMessage::Notify(Level::Warn, hostile_text().into()),
        EditorMessage::Ask(Asked {
            id: 1,
            chat,
            title: hostile_text(),
            items: vec![hostile_text()],
            by_user: true,
            lasting: false,
            peek: Some(0),
            is_write: false,
        }),
        EditorMessage::Unask(1),
        EditorMessage::Closed(chat),
        EditorMessage::Draft {
            chat,
            prompt: Prompt { text: hostile_text(), attachments, ..Prompt::default() },
            taken: true,
        },
    ];
    all.extend(happened.map(EditorMessage::Autocommand));
    all
}

fn forms() -> Vec<EditorMessage> {
    let choice = Choice {
        value: "v".to_owned(),
        name: hostile_text(),
        description: Some(hostile_text()),
        group: Some(hostile_text()),
    };
    let field = |kind, default| Field {
        key: "k".to_owned(),
        title: hostile_text(),
        description: Some(hostile_text()),
        required: true,
        kind,
        default,
    };
    let choices = vec![choice];
    let fields = vec![
        field(Kind::Choice(choices.clone()), Some(FieldValue::Text("v".to_owned()))),
        field(Kind::Number(None, Some(1.5)), Some(FieldValue::Text("1\n".to_owned()))),
        field(Kind::Boolean, Some(FieldValue::Flag(true))),
        field(
            Kind::Several { choices, count: (None, Some(1)) },
            Some(FieldValue::Several(vec!["v".to_owned()])),
        ),
        field(Kind::Unknown(hostile_text()), None),
    ];
    let form = Form { title: Some(hostile_text()), description: Some(hostile_text()), fields };
    let page = page();
    let news = [
        ElicitationUpdate::Asked(hostile_text(), ElicitationKind::Form(form)),
        ElicitationUpdate::Asked(hostile_text(), ElicitationKind::Url("e".into(), page)),
        ElicitationUpdate::Problems(vec![("k".to_owned(), hostile_text())]),
        ElicitationUpdate::Open("https://a.b/".to_owned()),
    ];
    news.map(|news| EditorMessage::Elicitation(ChatId(1), 2, news)).into()
}

fn page() -> address::Page {
    address::Page {
        url: "https://a.b/".to_owned(),
        host: "a.b".to_owned(),
        warnings: vec![hostile_text()],
    }
}

fn sessions() -> Vec<EditorMessage> {
    let chat = ChatId(1);
    let session = |title: Option<String>, chat: Option<ChatId>| SessionItem {
        agent: "claude".into(),
        id: "s".into(),
        title,
        used_at: chat.map(|_| 7),
        updated_at: Some("2026-01-01T00:00:00Z".to_owned()),
        chat,
        open_elsewhere: true,
    };
    let option = |value| ConfigOption {
        id: "o".to_owned(),
        name: hostile_text(),
        description: Some(hostile_text()),
        category: Some("mode".to_owned()),
        value,
    };
    let choice = Choice {
        value: "v".to_owned(),
        name: hostile_text(),
        description: None,
        group: Some(hostile_text()),
    };
    let select = OptionValue::Select { current: "v".to_owned(), choices: vec![choice] };
    let command = |name: &str| Command {
        name: name.to_owned(),
        description: hostile_text(),
        hint: Some(hostile_text()),
    };
    let meta = Meta {
        kind: "plan".to_owned(),
        id: Some("t".to_owned()),
        json: Some("{}".to_owned()),
        size: 2,
    };
    vec![
        EditorMessage::Sessions {
            act: SessionAction::Open,
            cwd: "/a".into(),
            items: vec![
                session(Some(hostile_text()), Some(chat)),
                session(Some(" ".to_owned()), None),
            ],
            more: true,
        },
        found(),
        EditorMessage::Login {
            chat,
            title: hostile_text(),
            command: vec!["login".to_owned()],
            env: [("A".to_owned(), "1".to_owned())].into(),
            cwd: "/a".into(),
            by_user: true,
        },
        EditorMessage::Meta { chat, session: Some("s".into()), meta },
        EditorMessage::Options(chat, vec![option(OptionValue::Boolean(true)), option(select)]),
        EditorMessage::Commands(chat, vec![command("plan"), command(&hostile_text())]),
    ]
}

fn found() -> EditorMessage {
    let session = SavedSession {
        agent: "claude".into(),
        id: "s".into(),
        cwd: "/a".into(),
        title: Some(hostile_text()),
        used_at: 7,
        in_place: false,
        open: false,
    };
    let marked = MarkedLine { text: hostile_text(), marks: vec![0..1, 2..3] };
    let hits = vec![
        SearchHit { session: session.clone(), title: marked.clone(), line: Some(marked) },
        SearchHit { session, title: MarkedLine::default(), line: None },
    ];
    EditorMessage::Found(3, SearchResult { hits, found: 5, searched: 6, decoded: 7 })
}

fn shown() -> Vec<EditorMessage> {
    let chat = ChatId(1);
    let scratch = |page| ScratchPage {
        chat,
        page,
        title: hostile_text(),
        filetype: "markdown",
        text: hostile_text(),
        like: Some(hostile_text()),
        more: true,
        at_end: false,
    };
    let content = ContentId::Message(0, 0);
    let offer = |address| ContentOffer {
        chat,
        id: content.clone(),
        title: hostile_text(),
        name: "a.png".to_owned(),
        can: vec![
            ContentAction::Show,
            ContentAction::Picture,
            ContentAction::Open,
            ContentAction::Save,
        ],
        address,
    };
    let addresses = [
        None,
        Some(Address::File { path: "/a".into(), line: Some(3) }),
        Some(Address::Web(page())),
    ];
    let pages = [PageId::Info, PageId::Output("t".into()), PageId::Content(content.clone())];
    let diff = Diff { path: "/a\u{1b}b".into(), old: None, new: hostile_text() };
    let mut all: Vec<EditorMessage> =
        pages.map(|page| EditorMessage::Scratch(scratch(page))).into_iter().collect();
    all.extend(addresses.map(|address| EditorMessage::Offer(Box::new(offer(address)))));
    let answers = Some((1, hostile_text()));
    let item = |answers| {
        let body = vec![hostile_text()];
        TraceItem { number: 2, answers, line: hostile_text(), body }
    };
    let items = vec![item(None), item(answers)];
    let filter = hostile_text();
    let piece = TracePiece { chat, filter, reset: true, focus: true, more: true, items };
    all.push(EditorMessage::Trace(hostile_text(), piece));
    all.extend([
        EditorMessage::Exported {
            chat,
            id: content,
            path: "/a".into(),
            exists: true,
            then: Some("show".to_owned()),
        },
        EditorMessage::Terminal {
            chat,
            terminal: "t".into(),
            title: hostile_text(),
            open: true,
            bytes: vec![0x61, 0xff],
            over: false,
        },
        EditorMessage::Diff {
            chat,
            request: Some(2),
            tool_call: "t".into(),
            title: hostile_text(),
            files: vec![diff],
            is_editable: true,
        },
        EditorMessage::Draw { chat, view: View::Plan, reset: true, patch: patch() },
    ]);
    all
}

fn reviews() -> Vec<EditorMessage> {
    let list = ReviewList {
        chat: Some(ChatId(1)),
        scope: ReviewScope::Turn,
        purpose: ListPurpose::Update,
    };
    let page = ReviewPage {
        page: 3,
        list,
        title: hostile_text(),
        row: 4,
        replaces: Some(2),
        is_last: true,
        lines: vec![hostile_text()],
        heads: vec![ReviewHead {
            row: 4,
            path: "/a".into(),
            from: Some("/b".into()),
            kind: HeadKind::State,
            is_unknown: true,
        }],
        hunks: vec![ReviewHunk { row: 5, id: HunkId(9), lines: 1..3, calls: 0 }],
    };
    let hunks = vec![PendingLines { id: HunkId(9), start: 1, count: 2, removed: 0 }];
    let base = Arc::new(Text::parse(&hostile_text()));
    let from = Some("/b".into());
    let hunk = ChangedHunk { id: HunkId(3), base: 1..2, text: 4..6, by: vec![0] };
    let comparison = Comparison { path: "/a".into(), from, is_update: true };
    let session = SessionKey { chat: ChatId(1), session: "s".into() };
    let change = ListedChange {
        path: "/a".into(),
        row: 2,
        removed: vec![hostile_text()],
        added: vec![hostile_text()],
        by: Some(Author { session: session.clone(), turn: 3, tool_call: Some("t".into()) }),
        title: hostile_text(),
    };
    let turn = KeptTurn {
        turn: TurnRef { root: "/a".into(), id: "1-2".to_owned() },
        by: Some(Author { session, turn: 3, tool_call: None }),
        time: 7,
        agent: hostile_text(),
        prompt: hostile_text(),
        is_undone: true,
        files: 1,
        added: 2,
        removed: 3,
    };
    let write = ProposedWrite {
        path: "/a".into(),
        exists: false,
        before: Arc::clone(&base),
        after: Arc::clone(&base),
    };
    vec![
        EditorMessage::Proposal { id: 1, chat: ChatId(1), write: Box::new(write) },
        EditorMessage::Changes(4, vec![change]),
        EditorMessage::Rewritten(vec!["/a".into()]),
        EditorMessage::PendingCounts(vec![PendingCount { chat: ChatId(1), added: 5, removed: 6 }]),
        EditorMessage::Turns {
            chat: ChatId(1),
            turns: vec![turn],
            request: None,
            is_of_prompt: true,
        },
        EditorMessage::Review(page),
        EditorMessage::Pending(PendingFile { path: "/a".into(), tick: 7, hunks }),
        EditorMessage::Compare(ComparedFile {
            comparison,
            name: "a".into(),
            base: Some(base),
            hunks: vec![hunk],
            is_too_large: false,
        }),
    ]
}

fn patch() -> Patch {
    let line = Line { text: hostile_text(), format: "p|0,2X||".to_owned(), prefix: None };
    let lines = vec![line.clone(), line.with_prefix("│ ", Highlight::Strong)];
    let mut patch = Patch::default();
    patch.lines(0, 2, lines);
    patch.text(1, 3, "more\ntext".to_owned(), vec!["p".to_owned(), "p".to_owned()]);
    patch.ops.push(Op::Formats { row: 1, formats: vec!["q".to_owned()] });
    patch.ops.push(Op::Fold { first: 1, last: 2 });
    patch
}

#[test]
fn messages_match_the_golden_file() {
    let all: Vec<EditorMessage> =
        [chats(), forms(), sessions(), shown(), reviews()].into_iter().flatten().collect();
    let Value::Array(sent) = frame(all) else { panic!("a frame is a list") };
    let mut lines: Vec<String> = sent.iter().map(|it| format!("{it}\n")).collect();
    lines.sort();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/messages_to_lua.txt");
    expect_file![root].assert_eq(&lines.concat());
}

fn any_patch() -> impl Strategy<Value = Patch> {
    let text = "[a-zé\u{1b}\n]{0,6}";
    let prefix = proptest::option::of(text.prop_map(|text| (text, Highlight::Emphasis)));
    let line =
        (text, text, prefix).prop_map(|(text, format, prefix)| Line { text, format, prefix });
    let formats = || prop::collection::vec(text, 0..3);
    let op =
        prop_oneof![
            (0..9usize, 0..9usize, prop::collection::vec(line, 0..4))
                .prop_map(|(first, last, lines)| Op::Lines { first, last, lines }),
            (0..9usize, 0..9usize, text, formats())
                .prop_map(|(row, col, text, formats)| Op::Text { row, col, text, formats }),
            (0..9usize, formats()).prop_map(|(row, formats)| Op::Formats { row, formats }),
            (0..9usize, 0..9usize).prop_map(|(first, last)| Op::Fold { first, last }),
        ];
    prop::collection::vec(op, 0..5).prop_map(|ops| Patch { ops, bytes: 0 })
}

proptest! {
    /// Holds (Messages between Lua and the binary): Drawing is encoded as its type says.
    #[test]
    fn the_draw_encoding_matches_its_type(
        patch in any_patch(),
        reset in any::<bool>(),
        view in prop::sample::select(View::ALL.to_vec()),
    ) {
        let typed = ToLua::Draw(Draw::new(1, view, reset, patch.clone()));
        let chat = ChatId(1);
        let by_hand = message(EditorMessage::Draw { chat, view, reset, patch });
        prop_assert_eq!(by_hand, value::write(&typed));
    }
}
