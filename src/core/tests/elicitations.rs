//! Elicitations: each form or URL is answered exactly once, whoever answers it first.

use super::{World, prompt, start_new};
use crate::core::messages::agent::{
    AUTH_REQUIRED, AgentEvent, CallError, Exit, ExitCause, INVALID_PARAMS,
};
use crate::core::messages::call::Call;
use crate::core::messages::editor::{EditorMessage, UserAutocmd};
use crate::core::messages::effect::Answer;
use crate::core::messages::elicitation::{ElicitationChoice, ElicitationUpdate, Scope};
use crate::core::messages::event::Event;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::status::ChatState;
use crate::core::messages::user::UserAction;
use crate::session::address::Page;
use crate::session::agent::{AuthKind, AuthMethod};
use crate::session::author::ChatId;
use crate::session::elicitation::{
    Action, Elicitation, ElicitationKind, Field, FieldValue, Form, Kind, Value,
};
use crate::session::entry::{ElicitationState, Entry};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A form or a URL, of the session or of our oldest call.
    Ask { form: bool, of_call: bool, of_tool: bool },
    /// The user answers the elicitation with this number.
    Do(u64, u8),
    /// The agent reports that the opened URL is complete.
    Complete,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<(bool, bool, bool)>()
            .prop_map(|(form, of_call, of_tool)| Step::Ask { form, of_call, of_tool }),
        2 => (0..20u64, 0..5u8).prop_map(|(id, what)| Step::Do(id, what)),
        1 => Just(Step::Complete),
    ]
}

pub(super) fn play(world: &mut World, step: Step) {
    match step {
        Step::Ask { form, of_call, of_tool } => {
            let call = world.calls.first().map(|(call, _)| *call).filter(|_| of_call);
            let session = world.session.clone().unwrap_or_else(|| "s".into());
            let scope = call.map_or(Scope::Session(session), Scope::Call);
            let wants = if form { self::form() } else { address() };
            ask(world, scope, wants, of_tool);
        }
        Step::Do(id, what) => {
            let choice = match what {
                0 => ElicitationChoice::Check(Vec::new()),
                1 => ElicitationChoice::Accept(Vec::new()),
                2 => ElicitationChoice::Accept(entered("rat")),
                3 => ElicitationChoice::Decline,
                _ => ElicitationChoice::Cancel,
            };
            for chat in 1..4 {
                answer_as_user(world, ChatId(chat), id, choice.clone());
            }
        }
        Step::Complete => world.agent_sends(AgentEvent::ElicitationComplete("e".into())),
    }
}

fn form() -> ElicitationKind {
    let kind = Kind::Text { length: (Some(2), None), pattern: None, format: None };
    let field = Field {
        key: "name".to_owned(),
        title: "Name".to_owned(),
        description: None,
        required: true,
        kind,
        default: None,
    };
    ElicitationKind::Form(Form { fields: vec![field], ..Form::default() })
}

fn address() -> ElicitationKind {
    ElicitationKind::Url("e".into(), Page::parse("https://example.com/a").unwrap())
}

fn entered(name: &str) -> Vec<(String, FieldValue)> {
    vec![("name".to_owned(), FieldValue::Text(name.to_owned()))]
}

/// Returns the token of the request.
fn ask(world: &mut World, scope: Scope, wants: ElicitationKind, of_tool: bool) -> u64 {
    if world.agent.is_some() {
        world.next_token += 1;
        let token = RequestToken(world.next_token);
        world.request_tokens.push(token);
        let tool_call = of_tool.then(|| "1".into());
        let elicitation = Elicitation { message: "Which?".to_owned(), tool_call, wants };
        let elicitation = Box::new(elicitation);
        world.agent_sends(AgentEvent::Elicitation { token, scope, elicitation });
    }
    world.next_token
}

fn in_session(world: &mut World, wants: ElicitationKind) -> u64 {
    ask(world, Scope::Session("s".into()), wants, false)
}

fn answer_as_user(world: &mut World, chat: ChatId, id: u64, choice: ElicitationChoice) {
    world.handle(Event::User(UserAction::Elicitation { chat, id, choice }));
}

/// Returns the number of the elicitation that waits in the first chat.
fn waiting_number(world: &World) -> u64 {
    world.state.chats[&ChatId(1)].awaiting_user.elicitations[0].id
}

fn states(world: &World) -> Vec<ElicitationState> {
    let entries = world.state.chats[&ChatId(1)].transcript.entries().iter();
    let became = |entry: &Entry| match entry {
        Entry::Elicitation(elicited) => Some(elicited.became),
        _ => None,
    };
    entries.filter_map(became).collect()
}

fn answered(world: &World, token: u64) -> &Action {
    match world.answers_to(token) {
        [Answer::Elicitation(action)] => action,
        other => panic!("{other:?}"),
    }
}

fn in_turn() -> World {
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.context_collected(0);
    world
}

/// ACP 125, 132.
#[test]
fn values_are_sent_once_they_are_valid_and_each_outcome_has_its_own_action() {
    let mut world = in_turn();
    let token = in_session(&mut world, form());
    assert_eq!(world.chat_state(), ChatState::Waiting);
    let id = waiting_number(&world);
    let told = |world: &World| {
        let problems = world.messages.iter().filter_map(|told| match told {
            EditorMessage::Elicitation(_, _, ElicitationUpdate::Problems(problems)) => {
                Some(problems.len())
            }
            _ => None,
        });
        problems.collect::<Vec<_>>()
    };
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Check(entered("r")));
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Accept(Vec::new()));
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Check(entered("rat")));
    assert_eq!(told(&world), [1, 1, 0]);
    assert!(world.answers_to(token).is_empty());
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Accept(entered("rat")));
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Decline);
    let content = vec![("name".to_owned(), Value::Text("rat".to_owned()))];
    assert_eq!(*answered(&world, token), Action::Accept(Some(content)));
    for (choice, action) in
        [(ElicitationChoice::Decline, Action::Decline), (ElicitationChoice::Cancel, Action::Cancel)]
    {
        let token = in_session(&mut world, form());
        let id = waiting_number(&world);
        answer_as_user(&mut world, ChatId(1), id, choice);
        assert_eq!(*answered(&world, token), action);
    }
    assert_eq!(
        states(&world),
        [ElicitationState::Sent, ElicitationState::Declined, ElicitationState::Cancelled]
    );
    assert_eq!(world.chat_state(), ChatState::Running);
    let events = world.messages.iter().filter(|told| {
        matches!(told, EditorMessage::Autocommand(UserAutocmd::Elicitation(ChatId(1), _, "form")))
    });
    assert_eq!(events.count(), 3);
}

/// ACP 68, 73.
#[test]
fn an_elicitation_nobody_needs_any_more_is_cancelled() {
    let ends: [fn(&mut World, u64); 4] = [
        |world, _| world.handle(Event::User(UserAction::Cancel(None))),
        |world, token| world.agent_sends(AgentEvent::Withdrawn(RequestToken(token))),
        |world, _| world.handle(Event::User(UserAction::Stop(None))),
        |world, _| {
            world.agent_sends(AgentEvent::Exited(Exit {
                cause: ExitCause::Status(1),
                stderr: Vec::new(),
                stderr_lines: 0,
                messages: Vec::new(),
            }));
        },
    ];
    for end in ends {
        let mut world = in_turn();
        let token = in_session(&mut world, form());
        end(&mut world, token);
        assert_eq!(*answered(&world, token), Action::Cancel);
        assert_eq!(states(&world), [ElicitationState::Cancelled]);
    }
    // The prompt waits for an elicitation that belongs to it.
    let mut world = in_turn();
    let [(call, Call::Prompt { .. })] = world.calls[..] else { panic!("{:?}", world.calls) };
    let token = ask(&mut world, Scope::Call(call), form(), false);
    assert_eq!(world.chat_state(), ChatState::Waiting);
    world.handle(Event::User(UserAction::Cancel(None)));
    assert_eq!(*answered(&world, token), Action::Cancel);
    // One that arrives after the cancel is not even shown.
    let mut world = in_turn();
    world.handle(Event::User(UserAction::Cancel(None)));
    let token = in_session(&mut world, form());
    assert_eq!(*answered(&world, token), Action::Cancel);
    assert!(!world.messages.iter().any(|told| matches!(told, EditorMessage::Elicitation(..))));
}

#[test]
fn elicitations_of_tool_calls_end_with_the_turn_and_others_remain() {
    let mut world = in_turn();
    let of_tool = ask(&mut world, Scope::Session("s".into()), form(), true);
    let of_session = in_session(&mut world, form());
    assert!(matches!(world.reply(), Some(Call::Prompt { .. })));
    assert_eq!(*answered(&world, of_tool), Action::Cancel);
    assert!(world.answers_to(of_session).is_empty());
    assert_eq!(world.chat_state(), ChatState::Ready);
    let id = waiting_number(&world);
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Accept(entered("rat")));
    assert!(matches!(answered(&world, of_session), Action::Accept(_)));
}

/// ACP 128, 129.
#[test]
fn an_address_is_opened_on_consent_only_and_done_once() {
    let mut world = in_turn();
    let opened = |world: &World| {
        let news = |told: &&EditorMessage| {
            matches!(told, EditorMessage::Elicitation(_, _, ElicitationUpdate::Open(_)))
        };
        world.messages.iter().filter(news).count()
    };
    let token = in_session(&mut world, address());
    world.agent_sends(AgentEvent::ElicitationComplete("e".into()));
    assert_eq!((opened(&world), states(&world)), (0, vec![ElicitationState::Waiting]));
    let id = waiting_number(&world);
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Accept(Vec::new()));
    assert_eq!(*answered(&world, token), Action::Accept(None));
    assert_eq!((opened(&world), states(&world)), (1, vec![ElicitationState::Opened]));
    world.agent_sends(AgentEvent::ElicitationComplete("another".into()));
    assert_eq!(states(&world), [ElicitationState::Opened]);
    let told = world.messages.len();
    world.agent_sends(AgentEvent::ElicitationComplete("e".into()));
    assert_eq!(states(&world), [ElicitationState::Complete]);
    assert!(world.messages.len() > told);
    let told = world.messages.len();
    world.agent_sends(AgentEvent::ElicitationComplete("e".into()));
    assert_eq!(world.messages.len(), told, "it was done already");
    let declined = in_session(&mut world, address());
    let id = waiting_number(&world);
    answer_as_user(&mut world, ChatId(1), id, ElicitationChoice::Decline);
    assert_eq!(*answered(&world, declined), Action::Decline);
    assert_eq!(opened(&world), 1);
}

/// ACP 130.
#[test]
fn an_elicitation_of_a_login_is_shown_in_its_chat_and_ends_with_it() {
    let mut world = World::ready();
    world.handle(start_new());
    let method = AuthMethod {
        id: "key".into(),
        name: "Key".to_owned(),
        description: None,
        kind: AuthKind::Agent,
    };
    world.state.chats.get_mut(&ChatId(2)).unwrap().info.auth_methods = vec![method];
    world.reply_with_error(CallError::Rpc {
        code: AUTH_REQUIRED,
        message: String::new(),
        detail: None,
        data: None,
    });
    let [(call, Call::Authenticate(_))] = world.calls[..] else { panic!("{:?}", world.calls) };
    let answered_by_user = ask(&mut world, Scope::Call(call), form(), false);
    let left = ask(&mut world, Scope::Call(call), address(), false);
    let id = world.state.chats[&ChatId(2)].awaiting_user.elicitations[0].id;
    answer_as_user(&mut world, ChatId(2), id, ElicitationChoice::Accept(entered("rat")));
    assert!(matches!(answered(&world, answered_by_user), Action::Accept(Some(_))));
    world.reply();
    assert_eq!(*answered(&world, left), Action::Cancel);
    let late = ask(&mut world, Scope::Call(call), form(), false);
    assert_eq!(*answered(&world, late), Action::Cancel, "the login is over");
    let nobodys = ask(&mut world, Scope::Session("nobody's".into()), form(), false);
    let [Answer::Error { code: INVALID_PARAMS, .. }] = world.answers_to(nobodys) else {
        panic!("{:?}", world.answers_to(nobodys))
    };
}

#[test]
fn a_status_holds_only_the_beginning_of_a_message() {
    let mut world = in_turn();
    let message = format!("\n{}\n{}", "é".repeat(300), "more\n".repeat(1000));
    world.next_token += 1;
    let (token, wants) = (RequestToken(world.next_token), form());
    world.request_tokens.push(token);
    let elicitation = Box::new(Elicitation { message: message.clone(), tool_call: None, wants });
    let scope = Scope::Session("s".into());
    world.agent_sends(AgentEvent::Elicitation { token, scope, elicitation });
    let status = world.state.chats[&ChatId(1)].status();
    assert_eq!(status.elicitations[0].message, "é".repeat(200));
    assert_eq!(status.detail, Some("é".repeat(200)));
    let news = world.messages.iter().find_map(|told| match told {
        EditorMessage::Elicitation(_, _, ElicitationUpdate::Asked(message, _)) => Some(message),
        _ => None,
    });
    assert_eq!(news, Some(&message), "the form has all of it");
}
