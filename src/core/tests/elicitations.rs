//! Elicitations: forms and addresses of agents, answered once whoever is quickest.

use super::{World, prompt, start_new};
use crate::core::effect::{Answer, Call, Happened, ToEditor};
use crate::core::elicitation::{Choice, News, Scope};
use crate::core::event::agent::{
    AUTH_REQUIRED, CallError, Exit, ExitCause, FromAgent, INVALID_PARAMS,
};
use crate::core::event::{ChatId, Event, Token, UserAction};
use crate::core::status::ChatState;
use crate::session::address::Page;
use crate::session::agent::{AuthKind, AuthMethod};
use crate::session::elicitation::{Action, Elicitation, Field, Form, Given, Kind, Value, Wants};
use crate::session::transcript::{Became, Entry};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A form or an address, of the session or of the oldest call of ours.
    Ask { form: bool, of_call: bool, of_tool: bool },
    /// The user does something with the request of this number.
    Do(u64, u8),
    /// What the user opened is done.
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
            let session = world.speaks_of.clone().unwrap_or_else(|| "s".into());
            let scope = call.map_or(Scope::Session(session), Scope::Call);
            let wants = if form { self::form() } else { address() };
            ask(world, scope, wants, of_tool);
        }
        Step::Do(id, what) => {
            let choice = match what {
                0 => Choice::Check(Vec::new()),
                1 => Choice::Accept(Vec::new()),
                2 => Choice::Accept(entered("rat")),
                3 => Choice::Decline,
                _ => Choice::Cancel,
            };
            for chat in 1..4 {
                decide(world, ChatId(chat), id, choice.clone());
            }
        }
        Step::Complete => world.say(FromAgent::ElicitationComplete("e".into())),
    }
}

fn form() -> Wants {
    let kind = Kind::Text { length: (Some(2), None), pattern: None, format: None };
    let field = Field {
        key: "name".to_owned(),
        title: "Name".to_owned(),
        description: None,
        required: true,
        kind,
        default: None,
    };
    Wants::Form(Form { fields: vec![field], ..Form::default() })
}

fn address() -> Wants {
    Wants::Address("e".into(), Page::read("https://example.com/a").unwrap())
}

fn entered(name: &str) -> Vec<(String, Given)> {
    vec![("name".to_owned(), Given::Text(name.to_owned()))]
}

/// Gives the token of the request.
fn ask(world: &mut World, scope: Scope, wants: Wants, of_tool: bool) -> u64 {
    if world.agent.is_some() {
        world.next_token += 1;
        let token = Token(world.next_token);
        world.asked.push(token);
        let tool_call = of_tool.then(|| "1".into());
        let elicitation = Elicitation { message: "Which?".to_owned(), tool_call, wants };
        let elicitation = Box::new(elicitation);
        world.say(FromAgent::Elicitation { token, scope, elicitation });
    }
    world.next_token
}

fn in_session(world: &mut World, wants: Wants) -> u64 {
    ask(world, Scope::Session("s".into()), wants, false)
}

fn decide(world: &mut World, chat: ChatId, id: u64, choice: Choice) {
    world.happen(Event::User(UserAction::Elicitation { chat, id, choice }));
}

/// The number of the request that waits in the first chat.
fn waiting(world: &World) -> u64 {
    world.state.chats[&ChatId(1)].elicitations[0].id
}

fn became(world: &World) -> Vec<Became> {
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
    world.happen(prompt("go"));
    world.gathered(0);
    world
}

/// ACP 125, 132.
#[test]
fn what_is_entered_is_sent_once_it_is_right_and_each_end_is_told_apart() {
    let mut world = in_turn();
    let token = in_session(&mut world, form());
    assert_eq!(world.stands(), ChatState::Waiting);
    let id = waiting(&world);
    let told = |world: &World| {
        let problems = world.seen.iter().filter_map(|told| match told {
            ToEditor::Elicitation(_, _, News::Problems(problems)) => Some(problems.len()),
            _ => None,
        });
        problems.collect::<Vec<_>>()
    };
    decide(&mut world, ChatId(1), id, Choice::Check(entered("r")));
    decide(&mut world, ChatId(1), id, Choice::Accept(Vec::new()));
    decide(&mut world, ChatId(1), id, Choice::Check(entered("rat")));
    assert_eq!(told(&world), [1, 1, 0]);
    assert!(world.answers_to(token).is_empty());
    decide(&mut world, ChatId(1), id, Choice::Accept(entered("rat")));
    decide(&mut world, ChatId(1), id, Choice::Decline);
    let content = vec![("name".to_owned(), Value::Text("rat".to_owned()))];
    assert_eq!(*answered(&world, token), Action::Accept(Some(content)));
    for (choice, action) in [(Choice::Decline, Action::Decline), (Choice::Cancel, Action::Cancel)] {
        let token = in_session(&mut world, form());
        let id = waiting(&world);
        decide(&mut world, ChatId(1), id, choice);
        assert_eq!(*answered(&world, token), action);
    }
    assert_eq!(became(&world), [Became::Sent, Became::Declined, Became::Cancelled]);
    assert_eq!(world.stands(), ChatState::Running);
    let events = world.seen.iter().filter(|told| {
        matches!(told, ToEditor::Autocommand(Happened::Elicitation(ChatId(1), _, "form")))
    });
    assert_eq!(events.count(), 3);
}

/// ACP 68, 73.
#[test]
fn whoever_does_not_need_it_any_more_it_is_cancelled() {
    let ends: [fn(&mut World, u64); 4] = [
        |world, _| world.happen(Event::User(UserAction::Cancel(None))),
        |world, token| world.say(FromAgent::Withdrawn(Token(token))),
        |world, _| world.happen(Event::User(UserAction::Stop(None))),
        |world, _| {
            world.say(FromAgent::Exited(Exit {
                cause: ExitCause::Status(1),
                stderr: Vec::new(),
                messages: Vec::new(),
            }));
        },
    ];
    for end in ends {
        let mut world = in_turn();
        let token = in_session(&mut world, form());
        end(&mut world, token);
        assert_eq!(*answered(&world, token), Action::Cancel);
        assert_eq!(became(&world), [Became::Cancelled]);
    }
    // One that belongs to the prompt is waited for by it.
    let mut world = in_turn();
    let [(call, Call::Prompt { .. })] = world.calls[..] else { panic!("{:?}", world.calls) };
    let token = ask(&mut world, Scope::Call(call), form(), false);
    assert_eq!(world.stands(), ChatState::Waiting);
    world.happen(Event::User(UserAction::Cancel(None)));
    assert_eq!(*answered(&world, token), Action::Cancel);
    // One that comes after the cancel does not even open.
    let mut world = in_turn();
    world.happen(Event::User(UserAction::Cancel(None)));
    let token = in_session(&mut world, form());
    assert_eq!(*answered(&world, token), Action::Cancel);
    assert!(!world.seen.iter().any(|told| matches!(told, ToEditor::Elicitation(..))));
}

#[test]
fn what_belongs_to_a_tool_call_ends_with_the_turn_and_the_rest_waits_on() {
    let mut world = in_turn();
    let of_tool = ask(&mut world, Scope::Session("s".into()), form(), true);
    let of_session = in_session(&mut world, form());
    assert!(matches!(world.answer(), Some(Call::Prompt { .. })));
    assert_eq!(*answered(&world, of_tool), Action::Cancel);
    assert!(world.answers_to(of_session).is_empty());
    assert_eq!(world.stands(), ChatState::Ready);
    let id = waiting(&world);
    decide(&mut world, ChatId(1), id, Choice::Accept(entered("rat")));
    assert!(matches!(answered(&world, of_session), Action::Accept(_)));
}

/// ACP 128, 129.
#[test]
fn an_address_is_opened_on_consent_only_and_done_once() {
    let mut world = in_turn();
    let opened = |world: &World| {
        let news = |told: &&ToEditor| matches!(told, ToEditor::Elicitation(_, _, News::Open(_)));
        world.seen.iter().filter(news).count()
    };
    let token = in_session(&mut world, address());
    world.say(FromAgent::ElicitationComplete("e".into()));
    assert_eq!((opened(&world), became(&world)), (0, vec![Became::Waiting]));
    let id = waiting(&world);
    decide(&mut world, ChatId(1), id, Choice::Accept(Vec::new()));
    assert_eq!(*answered(&world, token), Action::Accept(None));
    assert_eq!((opened(&world), became(&world)), (1, vec![Became::Opened]));
    world.say(FromAgent::ElicitationComplete("another".into()));
    assert_eq!(became(&world), [Became::Opened]);
    let told = world.seen.len();
    world.say(FromAgent::ElicitationComplete("e".into()));
    assert_eq!(became(&world), [Became::Complete]);
    assert!(world.seen.len() > told);
    let told = world.seen.len();
    world.say(FromAgent::ElicitationComplete("e".into()));
    assert_eq!(world.seen.len(), told, "it was done already");
    let declined = in_session(&mut world, address());
    let id = waiting(&world);
    decide(&mut world, ChatId(1), id, Choice::Decline);
    assert_eq!(*answered(&world, declined), Action::Decline);
    assert_eq!(opened(&world), 1);
}

/// ACP 130.
#[test]
fn one_that_belongs_to_a_login_is_asked_in_its_chat_and_ends_with_it() {
    let mut world = World::ready();
    world.happen(start_new());
    let method = AuthMethod {
        id: "key".into(),
        name: "Key".to_owned(),
        description: None,
        kind: AuthKind::Agent,
    };
    world.state.chats.get_mut(&ChatId(2)).unwrap().info.auth_methods = vec![method];
    world.refuse(CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), data: None });
    let [(call, Call::Authenticate(_))] = world.calls[..] else { panic!("{:?}", world.calls) };
    let answered_by_user = ask(&mut world, Scope::Call(call), form(), false);
    let left = ask(&mut world, Scope::Call(call), address(), false);
    let id = world.state.chats[&ChatId(2)].elicitations[0].id;
    decide(&mut world, ChatId(2), id, Choice::Accept(entered("rat")));
    assert!(matches!(answered(&world, answered_by_user), Action::Accept(Some(_))));
    world.answer();
    assert_eq!(*answered(&world, left), Action::Cancel);
    let late = ask(&mut world, Scope::Call(call), form(), false);
    assert_eq!(*answered(&world, late), Action::Cancel, "the login is over");
    let nobodys = ask(&mut world, Scope::Session("nobody's".into()), form(), false);
    let [Answer::Error { code: INVALID_PARAMS, .. }] = world.answers_to(nobodys) else {
        panic!("{:?}", world.answers_to(nobodys))
    };
}

#[test]
fn a_status_says_how_a_message_begins_however_long_it_is() {
    let mut world = in_turn();
    let message = format!("\n{}\n{}", "é".repeat(300), "more\n".repeat(1000));
    world.next_token += 1;
    let (token, wants) = (Token(world.next_token), form());
    world.asked.push(token);
    let elicitation = Box::new(Elicitation { message: message.clone(), tool_call: None, wants });
    let scope = Scope::Session("s".into());
    world.say(FromAgent::Elicitation { token, scope, elicitation });
    let status = world.state.chats[&ChatId(1)].status();
    assert_eq!(status.elicitations[0].message, "é".repeat(200));
    assert_eq!(status.detail, Some("é".repeat(200)));
    let news = world.seen.iter().find_map(|told| match told {
        ToEditor::Elicitation(_, _, News::Asked(message, _)) => Some(message),
        _ => None,
    });
    assert_eq!(news, Some(&message), "the form has all of it");
}
