//! What goes with a prompt because the agent cannot see it, step by step.

use super::*;
use crate::core::effect::Happened;
use crate::session::content::About;
use crate::session::prompt::{Attachment, Body, FileRead};

/// A world whose prompt "go" waits for what goes with it.
fn waiting(unsaved: Unsaved) -> World {
    let mut world = World::ready_with(unsaved);
    world.happen(prompt("go"));
    assert_eq!(world.stands(), ChatState::Running);
    assert!(world.sent.is_empty(), "not before it is known what goes along");
    world
}

fn choose(world: &mut World, index: Option<usize>) {
    let id = world.questions.pop().expect("a question");
    world.happen(Event::User(UserAction::Answer { id, index }));
}

/// The texts of the prompt that went out.
fn sent(world: &World) -> Vec<&str> {
    assert_eq!(world.sent.len(), 1);
    world.sent[0].iter().filter_map(Content::text).collect()
}

fn attachments(world: &World) -> Vec<String> {
    use crate::session::transcript::{Attached, Entry};
    let entries = world.state.chats[&ChatId(1)].transcript.entries();
    let message = entries.iter().find_map(|entry| match entry {
        Entry::Message(message) => Some(message.attachments.iter().map(Attached::words).collect()),
        _ => None,
    });
    message.unwrap()
}

#[test]
fn a_note_goes_along_and_is_shown() {
    let mut world = waiting(Unsaved::Note);
    world.gathered(2);
    let sent = sent(&world);
    assert_eq!(sent.len(), 3);
    assert!(sent[1].starts_with("Since you last saw them"), "{}", sent[1]);
    assert!(
        sent[2].contains("--- a/0\n+++ b/0\n@@ -1,1 +1,1 @@\n-1\n+2\n--- a/1\n"),
        "{}",
        sent[2]
    );
    let shown = ["changes of 1 file that the agent has not seen", "unsaved changes of 2 files"];
    assert_eq!(attachments(&world), shown);
}

/// A prompt with nothing but a file that has to be read.
fn file_prompt() -> Event {
    let attachment = Attachment {
        uri: "file:///project/a.bin".to_owned(),
        label: "a.bin".to_owned(),
        lines: None,
        mime: None,
        body: Body::File("/project/a.bin".into()),
    };
    let prompt = Prompt { text: String::new(), attachments: vec![attachment] };
    Event::User(UserAction::Prompt { chat: None, prompt })
}

#[test]
fn files_are_waited_for_where_nothing_else_goes_along() {
    let mut world = World::ready_with(Unsaved::Ignore);
    world.happen(file_prompt());
    assert_eq!(world.gathers[0].files, ["/project/a.bin"].map(PathBuf::from));
    let turn = world.gathers[0].turn;
    let read = FileRead::Data { data: "AAE=".to_owned(), size: 2, media: None };
    let gathered = Gathered {
        unsaved: vec![unsaved_file("a")],
        files: [("/project/a.bin".into(), read)].into(),
        ..Gathered::default()
    };
    world.happen(Event::Gathered { chat: ChatId(1), turn, unsaved: Unsaved::Ignore, gathered });
    assert!(matches!(&world.sent[0][..], [Content::ResourceLink { .. }]), "{:?}", world.sent);
}

#[test]
fn a_prompt_of_nothing_but_a_file_that_is_gone_comes_back() {
    let mut world = World::ready_with(Unsaved::Note);
    world.happen(file_prompt());
    world.gathered(0);
    assert!(world.sent.is_empty());
    assert_eq!(world.stands(), ChatState::Ready);
    assert!(world.seen.iter().any(|told| matches!(told, ToEditor::Draft(..))));
}

#[test]
fn a_prompt_that_waits_is_given_back_by_a_cancel() {
    let mut world = waiting(Unsaved::Note);
    world.happen(prompt("next"));
    world.happen(Event::User(UserAction::Cancel(None)));
    assert_eq!(world.stands(), ChatState::Ready);
    assert!(matches!(
        world.seen.iter().rev().find_map(|told| match told {
            ToEditor::Draft(_, prompt) => Some(prompt.text.as_str()),
            _ => None,
        }),
        Some("go")
    ));
    // What is found out now is for nobody.
    world.gathered(1);
    assert!(world.sent.is_empty());
    world.happen(Event::User(UserAction::ResumeQueue(None)));
    world.gathered(1);
    assert_eq!(sent(&world)[0], "next");
    let ends = |told: &&ToEditor| matches!(told, ToEditor::Autocommand(Happened::TurnEnd(_, why)) if why == "cancelled");
    assert_eq!(world.seen.iter().filter(ends).count(), 1);
}

#[test]
fn a_question_is_asked_where_that_is_chosen() {
    let mut world = waiting(Unsaved::Ask);
    world.gathered(2);
    assert_eq!(world.stands(), ChatState::Waiting);
    choose(&mut world, Some(0));
    assert_eq!(world.stands(), ChatState::Running);
    assert_eq!(world.gathers[0].unsaved, Unsaved::Note, "the texts as they are now");
    world.gathered(2);
    assert_eq!(sent(&world).len(), 3);

    let mut world = waiting(Unsaved::Ask);
    world.gathered(1);
    choose(&mut world, Some(1));
    assert_eq!(world.gathers[0].unsaved, Unsaved::Save);

    let mut world = waiting(Unsaved::Ask);
    world.gathered(1);
    choose(&mut world, Some(2));
    world.gathered(1);
    assert_eq!(sent(&world).len(), 2, "without unsaved changes");

    let mut world = waiting(Unsaved::Ask);
    world.gathered(1);
    choose(&mut world, None);
    assert_eq!(world.stands(), ChatState::Ready);
    assert!(world.sent.is_empty());
    assert!(world.seen.iter().any(|told| matches!(told, ToEditor::Draft(..))));

    let mut world = waiting(Unsaved::Ask);
    world.gathered(0);
    assert_eq!(sent(&world).len(), 2, "nothing to ask");
}

#[test]
fn texts_are_embedded_where_the_agent_takes_them_and_they_have_room() {
    let mut world = waiting(Unsaved::Embed);
    world.gathered(1);
    assert!(sent(&world)[2].starts_with("The user has unsaved changes"), "a note instead");

    let mut world = World::ready_with(Unsaved::Embed);
    let chat = world.state.chats.get_mut(&ChatId(1)).unwrap();
    chat.info.capabilities.prompt.embedded = true;
    world.happen(prompt("go"));
    let mut large = unsaved_file("large");
    large.text = text(&"x".repeat(300 * 1024));
    let (unsaved, turn) = (vec![large, unsaved_file("small")], world.gathers[0].turn);
    let gathered = Gathered { unsaved, ..Gathered::default() };
    world.happen(Event::Gathered { chat: ChatId(1), turn, unsaved: Unsaved::Embed, gathered });
    let resources: Vec<_> = world.sent[0].iter().filter(|it| it.text().is_none()).collect();
    let uri = "file:///project/small".to_owned();
    let (text, about) = ("2\n".to_owned(), About::default());
    assert_eq!(resources, [&Content::Resource { uri, mime: None, text, about }]);
    assert!(sent(&world)[2].contains("+++ b/large\n"));
    assert_eq!(attachments(&world), ["unsaved text of 1 file", "unsaved changes of 1 file"]);
}

#[test]
fn what_was_told_counts_once_the_agent_has_taken_it_in() {
    let mut world = waiting(Unsaved::Note);
    world.gathered(0);
    world.answer();
    let told = vec![changed_file("agent's").told];
    assert_eq!(world.over, [(told.clone(), true)]);
    world.happen(prompt("again"));
    world.gathered(0);
    world.refuse(CallError::Rpc { code: -32603, message: "no".to_owned(), data: None });
    assert_eq!(world.over[1], (told, false));
}

#[test]
fn an_agent_that_reads_through_us_is_not_told_what_it_sees() {
    let mut world = World::ready_with(Unsaved::Note);
    world.happen(prompt("go"));
    world.gathered(0);
    world.request(AgentRequest::Read { path: "/project/a".into(), line: None, limit: None });
    world.answer();
    world.happen(prompt("go on"));
    assert_eq!(world.gathers[0].unsaved, Unsaved::Ignore);
    assert!(world.gathers[0].reads_buffers);
}

#[test]
fn a_prompt_that_waits_is_the_first_to_go_to_the_next_agent() {
    let mut world = waiting(Unsaved::Note);
    world.happen(prompt("next"));
    world.happen(Event::User(UserAction::Restart(None)));
    world.gathered(1);
    assert!(world.sent.is_empty(), "what was found out for the old agent is late");
    world.answer();
    world.answer();
    world.gathered(0);
    assert_eq!(sent(&world)[0], "go");
}

#[test]
fn an_edit_of_unsaved_text_asks_and_each_way_answers() {
    let write = AgentRequest::Write { path: "/project/a".into(), content: String::new() };
    let asked = || {
        let mut world = waiting(Unsaved::Note);
        world.gathered(0);
        world.request(write.clone());
        let token = world.files.pop().unwrap();
        let outcome = FileOutcome::Unsaved("/project/a".into());
        world.happen(Event::File { token, outcome });
        assert_eq!(world.stands(), ChatState::Waiting);
        assert_eq!(world.answers_to(1), []);
        world
    };
    let mut world = asked();
    choose(&mut world, Some(0));
    assert_eq!(world.files, [Token(1)], "it is written after all");
    assert_eq!(world.stands(), ChatState::Running);

    for index in [Some(1), None] {
        let mut world = asked();
        choose(&mut world, index);
        assert!(matches!(world.answers_to(1), [Answer::Error { code: -32603, .. }]));
    }
    let mut world = asked();
    world.happen(Event::User(UserAction::Cancel(None)));
    assert!(matches!(world.answers_to(1), [Answer::Error { code: -32800, .. }]));
    let mut world = asked();
    world.say(FromAgent::Withdrawn(Token(1)));
    assert!(matches!(world.answers_to(1), [Answer::Error { code: -32800, .. }]));
    assert_eq!(world.stands(), ChatState::Running);
    let mut world = asked();
    world.happen(Event::User(UserAction::Stop(None)));
    assert!(matches!(world.answers_to(1), [Answer::Error { .. }]));
    assert!(world.seen.iter().any(|told| matches!(told, ToEditor::Unask(_))));
}

#[test]
fn after_a_login_the_texts_go_along_as_they_are_then() {
    let mut world = World::ready_with(Unsaved::Note);
    let (id, name) = ("key".into(), "Key".to_owned());
    let method = AuthMethod { id, name, description: None, kind: AuthKind::Agent };
    world.state.chats.get_mut(&ChatId(1)).unwrap().info.auth_methods.push(method);
    world.happen(prompt("go"));
    world.gathered(1);
    world.refuse(CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), data: None });
    assert!(matches!(world.answer(), Some(Call::Authenticate(_))));
    assert_eq!(world.sent.len(), 1, "not before it is known again what goes along");
    world.gathered(2);
    let texts = |blocks: &[Content]| -> Vec<String> {
        blocks.iter().filter_map(Content::text).map(str::to_owned).collect()
    };
    let (before, after) = (texts(&world.sent[0]), texts(&world.sent[1]));
    assert_eq!((before[0].as_str(), after[0].as_str()), ("go", "go"));
    assert!(!before[2].contains("b/1\n") && after[2].contains("b/1\n"), "{after:?}");
}
