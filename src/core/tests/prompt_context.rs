//! Prompt context, step by step.

use super::*;
use crate::core::messages::editor::UserAutocmd;
use crate::session::content::About;
use crate::session::prompt::{Attachment, Body, FileRead};

/// A world whose prompt "go" waits for its context.
fn waiting(unsaved: Unsaved) -> World {
    let mut world = World::ready_with(unsaved);
    world.handle(prompt("go"));
    assert_eq!(world.chat_state(), ChatState::Running);
    assert!(world.sent.is_empty(), "not before it is known what goes along");
    world
}

fn choose(world: &mut World, index: Option<usize>) {
    let id = world.questions.pop().expect("a question");
    world.handle(Event::User(UserAction::Answer { id, index }));
}

/// Returns the texts of the prompt that was sent.
fn sent(world: &World) -> Vec<&str> {
    assert_eq!(world.sent.len(), 1);
    world.sent[0].iter().filter_map(Content::text).collect()
}

fn attachments(world: &World) -> Vec<String> {
    use crate::session::entry::{Attached, Entry};
    let entries = world.state.chats[&ChatId(1)].transcript.entries();
    let message = entries.iter().find_map(|entry| match entry {
        Entry::Message(message) => {
            Some(message.attachments.iter().map(Attached::summary).collect())
        }
        _ => None,
    });
    message.unwrap()
}

#[test]
fn a_note_is_sent_with_the_prompt_and_shown() {
    let mut world = waiting(Unsaved::Note);
    world.context_collected(2);
    let sent = sent(&world);
    assert_eq!(sent.len(), 3);
    assert!(sent[1].starts_with("Since you last saw them"), "{}", sent[1]);
    assert!(
        sent[2].contains("--- a/0\n+++ b/0\n@@ -1,1 +1,1 @@\n-1\n+2\n--- a/1\n"),
        "{}",
        sent[2]
    );
    let shown = ["changes in 1 file the agent has not seen", "unsaved changes in 2 files"];
    assert_eq!(attachments(&world), shown);
}

/// A prompt that consists only of a file that has to be read.
fn file_prompt() -> Event {
    let attachment = Attachment {
        uri: "file:///project/a.bin".to_owned(),
        label: "a.bin".to_owned(),
        lines: None,
        part: None,
        mime: None,
        body: Body::File("/project/a.bin".into()),
    };
    let prompt = Prompt { text: String::new(), attachments: vec![attachment], ..Prompt::default() };
    Event::User(UserAction::Prompt { chat: None, prompt, now: false })
}

#[test]
fn attached_files_are_read_before_the_prompt_is_sent() {
    let mut world = World::ready_with(Unsaved::Ignore);
    world.handle(file_prompt());
    assert_eq!(world.contexts[0].files, ["/project/a.bin"].map(PathBuf::from));
    let turn = world.contexts[0].turn;
    let read = FileRead::Data { data: "AAE=".to_owned(), size: 2, media: None, changed: None };
    let context = PromptContext {
        unsaved: vec![unsaved_file("a")],
        files: [("/project/a.bin".into(), read)].into(),
        ..PromptContext::default()
    };
    world.handle(Event::PromptContextCollected {
        chat: ChatId(1),
        turn,
        unsaved: Unsaved::Ignore,
        context,
    });
    assert!(matches!(&world.sent[0][..], [Content::ResourceLink { .. }]), "{:?}", world.sent);
}

#[test]
fn a_prompt_of_nothing_but_a_file_that_is_gone_comes_back() {
    let mut world = World::ready_with(Unsaved::Note);
    world.handle(file_prompt());
    world.context_collected(0);
    assert!(world.sent.is_empty());
    assert_eq!(world.chat_state(), ChatState::Ready);
    assert!(world.messages.iter().any(|told| matches!(told, EditorMessage::Draft { .. })));
}

#[test]
fn a_cancel_returns_a_prompt_that_was_not_sent() {
    let mut world = waiting(Unsaved::Note);
    world.handle(prompt("next"));
    world.handle(Event::User(UserAction::Cancel(None)));
    assert_eq!(world.chat_state(), ChatState::Ready);
    assert!(matches!(
        world.messages.iter().rev().find_map(|told| match told {
            EditorMessage::Draft { prompt, .. } => Some(prompt.text.as_str()),
            _ => None,
        }),
        Some("go")
    ));
    // Context that arrives now is ignored.
    world.context_collected(1);
    assert!(world.sent.is_empty());
    world.handle(Event::User(UserAction::Queue(None, QueueAction::Resume)));
    world.context_collected(1);
    assert_eq!(sent(&world)[0], "next");
    let ends = |told: &&EditorMessage| matches!(told, EditorMessage::Autocommand(UserAutocmd::TurnEnd(_, why, _)) if why == "cancelled");
    assert_eq!(world.messages.iter().filter(ends).count(), 1);
}

#[test]
fn the_user_is_asked_about_unsaved_text_if_configured() {
    let mut world = waiting(Unsaved::Ask);
    world.context_collected(2);
    assert_eq!(world.chat_state(), ChatState::Waiting);
    choose(&mut world, Some(0));
    assert_eq!(world.chat_state(), ChatState::Running);
    assert_eq!(world.contexts[0].unsaved, Unsaved::Note, "the texts as they are now");
    world.context_collected(2);
    assert_eq!(sent(&world).len(), 3);

    let mut world = waiting(Unsaved::Ask);
    world.context_collected(1);
    choose(&mut world, Some(1));
    assert_eq!(world.contexts[0].unsaved, Unsaved::Save);

    let mut world = waiting(Unsaved::Ask);
    world.context_collected(1);
    choose(&mut world, Some(2));
    world.context_collected(1);
    assert_eq!(sent(&world).len(), 2, "without unsaved changes");

    let mut world = waiting(Unsaved::Ask);
    world.context_collected(1);
    choose(&mut world, None);
    assert_eq!(world.chat_state(), ChatState::Ready);
    assert!(world.sent.is_empty());
    assert!(world.messages.iter().any(|told| matches!(told, EditorMessage::Draft { .. })));

    let mut world = waiting(Unsaved::Ask);
    world.context_collected(0);
    assert_eq!(sent(&world).len(), 2, "nothing to ask");
}

#[test]
fn texts_are_embedded_if_the_agent_supports_it_and_they_fit() {
    let mut world = waiting(Unsaved::Embed);
    world.context_collected(1);
    assert!(sent(&world)[2].starts_with("The user has unsaved changes"), "a note instead");

    let mut world = World::ready_with(Unsaved::Embed);
    let chat = world.state.chats.get_mut(&ChatId(1)).unwrap();
    chat.info.capabilities.prompt.embedded = true;
    world.handle(prompt("go"));
    let mut large = unsaved_file("large");
    large.text = text(&"x".repeat(300 * 1024));
    let (unsaved, turn) = (vec![large, unsaved_file("small")], world.contexts[0].turn);
    let context = PromptContext { unsaved, ..PromptContext::default() };
    world.handle(Event::PromptContextCollected {
        chat: ChatId(1),
        turn,
        unsaved: Unsaved::Embed,
        context,
    });
    let resources: Vec<_> = world.sent[0].iter().filter(|it| it.text().is_none()).collect();
    let uri = "file:///project/small".to_owned();
    let (text, about) = ("2\n".to_owned(), About::default());
    assert_eq!(resources, [&Content::Resource { uri, mime: None, text, about }]);
    assert!(sent(&world)[2].contains("+++ b/large\n"));
    assert_eq!(attachments(&world), ["unsaved text of 1 file", "unsaved changes in 1 file"]);
}

#[test]
fn a_report_counts_once_the_agent_has_replied() {
    let mut world = waiting(Unsaved::Note);
    world.context_collected(0);
    world.reply();
    let told = vec![changed_file("agent's").report];
    assert_eq!(world.turn_ends, [(told.clone(), true)]);
    world.handle(prompt("again"));
    world.context_collected(0);
    world.reply_with_error(CallError::Rpc {
        code: -32603,
        message: "no".to_owned(),
        detail: None,
        data: None,
    });
    assert_eq!(world.turn_ends[1], (told, false));
}

#[test]
fn an_agent_that_reads_through_us_is_not_told_what_it_sees() {
    let mut world = World::ready_with(Unsaved::Note);
    world.handle(prompt("go"));
    world.context_collected(0);
    world.request(AgentRequest::Read { path: "/project/a".into(), line: None, limit: None });
    world.reply();
    world.handle(prompt("go on"));
    assert_eq!(world.contexts[0].unsaved, Unsaved::Ignore);
    assert!(world.contexts[0].reads_buffers);
}

#[test]
fn a_waiting_prompt_is_sent_first_after_a_restart() {
    let mut world = waiting(Unsaved::Note);
    world.handle(prompt("next"));
    world.handle(Event::User(UserAction::Restart { chat: None, force: false }));
    world.context_collected(1);
    assert!(world.sent.is_empty(), "what was found out for the old agent is late");
    world.reply();
    world.reply();
    world.context_collected(0);
    assert_eq!(sent(&world)[0], "go");
}

#[test]
fn an_edit_of_unsaved_text_asks_and_every_answer_settles_it() {
    let write = AgentRequest::Write { path: "/project/a".into(), content: String::new() };
    let asked = || {
        let mut world = waiting(Unsaved::Note);
        world.context_collected(0);
        world.request(write.clone());
        let token = world.file_requests.pop().unwrap();
        let outcome = FileOutcome::Unsaved("/project/a".into());
        world.handle(Event::File { token, outcome });
        assert_eq!(world.chat_state(), ChatState::Waiting);
        assert_eq!(world.answers_to(1), []);
        world
    };
    let mut world = asked();
    choose(&mut world, Some(0));
    assert_eq!(world.file_requests, [RequestToken(1)], "it is written after all");
    assert_eq!(world.chat_state(), ChatState::Running);

    for index in [Some(1), None] {
        let mut world = asked();
        choose(&mut world, index);
        assert!(matches!(world.answers_to(1), [Answer::Error { code: -32603, .. }]));
    }
    let mut world = asked();
    world.handle(Event::User(UserAction::Cancel(None)));
    assert!(matches!(world.answers_to(1), [Answer::Error { code: -32800, .. }]));
    let mut world = asked();
    world.agent_sends(AgentEvent::Withdrawn(RequestToken(1)));
    assert!(matches!(world.answers_to(1), [Answer::Error { code: -32800, .. }]));
    assert_eq!(world.chat_state(), ChatState::Running);
    let mut world = asked();
    world.handle(Event::User(UserAction::Stop(None)));
    assert!(matches!(world.answers_to(1), [Answer::Error { .. }]));
    assert!(world.messages.iter().any(|told| matches!(told, EditorMessage::Unask(_))));
}

#[test]
fn after_a_login_the_context_is_collected_again() {
    let mut world = World::ready_with(Unsaved::Note);
    let (id, name) = ("key".into(), "Key".to_owned());
    let method = AuthMethod { id, name, description: None, kind: AuthKind::Agent };
    world.state.chats.get_mut(&ChatId(1)).unwrap().info.auth_methods.push(method);
    world.handle(prompt("go"));
    world.context_collected(1);
    world.reply_with_error(CallError::Rpc {
        code: AUTH_REQUIRED,
        message: String::new(),
        detail: None,
        data: None,
    });
    assert!(matches!(world.reply(), Some(Call::Authenticate(_))));
    assert_eq!(world.sent.len(), 1, "not before it is known again what goes along");
    world.context_collected(2);
    let texts = |blocks: &[Content]| -> Vec<String> {
        blocks.iter().filter_map(Content::text).map(str::to_owned).collect()
    };
    let (before, after) = (texts(&world.sent[0]), texts(&world.sent[1]));
    assert_eq!((before[0].as_str(), after[0].as_str()), ("go", "go"));
    assert!(!before[2].contains("b/1\n") && after[2].contains("b/1\n"), "{after:?}");
}
