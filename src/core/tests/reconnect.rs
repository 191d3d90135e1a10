//! Connections that are lost, and programs that end by themselves.

use super::*;
use crate::core::messages::agent::Obstacle;
use crate::session::agent::{AgentCapabilities, Capability, RemoteAgent};
use std::time::Duration;

/// A chat on an agent elsewhere that can resume sessions.
fn elsewhere() -> World {
    let mut world = World::default();
    let url = "wss://host/acp".to_owned();
    let remote = RemoteAgent { url, headers: Vec::new(), ca_file: None, secrets: Vec::new() };
    let config = AgentConfig { remote: Some(remote), reconnect: Reconnect::Now, ..config() };
    start_config(&mut world, config);
    world
}

/// A chat on a program that is started again by itself and can resume sessions.
fn program() -> World {
    let mut world = World::default();
    start_config(&mut world, AgentConfig { reconnect: Reconnect::Now, ..config() });
    world
}

fn start_config(world: &mut World, config: AgentConfig) {
    let mut event = start();
    if let Event::User(UserAction::Start { config: started, .. }) = &mut event {
        **started = config;
    }
    world.handle(event);
    initialized(world);
    world.reply();
    assert_eq!(world.chat_state(), ChatState::Ready);
}

fn initialized(world: &mut World) {
    let (call, request) = world.calls.remove(0);
    assert!(matches!(request, Call::Initialize), "{request:?}");
    let info = AgentInfo {
        protocol: Some(crate::session::protocol::Protocol::V1),
        capabilities: AgentCapabilities::of(&[Capability::Resume]),
        ..AgentInfo::default()
    };
    world.agent_sends(AgentEvent::Answer { call, result: Ok(Reply::Initialized(Box::new(info))) });
}

fn ends(world: &mut World, cause: ExitCause) {
    let exit = Exit { cause, stderr: Vec::new(), stderr_lines: 0, messages: Vec::new() };
    world.agent_sends(AgentEvent::Exited(exit));
}

pub(super) fn lose(world: &mut World) {
    ends(world, ExitCause::Lost("broken pipe".to_owned()));
}

fn unreachable_by(obstacle: Obstacle) -> ExitCause {
    ExitCause::Unreachable { obstacle, detail: "no".to_owned() }
}

fn unreachable(world: &mut World, obstacle: Obstacle) {
    ends(world, unreachable_by(obstacle));
}

/// Takes the timer that was set last for another attempt, and its time.
fn attempt(world: &mut World) -> (Timer, Duration) {
    let at = world.waits.iter().rposition(|(timer, _)| matches!(timer, Timer::Reconnect(..)));
    world.waits.remove(at.expect("no attempt is planned"))
}

fn waits(world: &World) -> bool {
    world.state.chats[&ChatId(1)].is_reconnecting()
}

fn transcript(world: &World) -> String {
    format!("{:?}", world.state.chats[&ChatId(1)].transcript.entries())
}

fn drafts(world: &World) -> Vec<&str> {
    let draft = |told| match told {
        &EditorMessage::Draft { ref prompt, taken: false, .. } => Some(prompt.text.as_str()),
        _ => None,
    };
    world.messages.iter().filter_map(draft).collect()
}

fn resume(world: &mut World) {
    initialized(world);
    assert!(matches!(&world.calls[..], [(_, Call::Resume(session, _))] if session.as_ref() == "s"));
    world.reply();
}

/// Holds (Transports): A lost connection is made again and its session resumed; the turn that was lost with it is told, its prompt given back and never sent again by itself.
#[test]
fn a_lost_connection_is_made_again() {
    let mut world = elsewhere();
    world.handle(prompt("go"));
    world.handle(prompt("queued"));
    lose(&mut world);
    assert!(waits(&world));
    let (timer, after) = attempt(&mut world);
    assert_eq!(after, Duration::from_secs(1));
    let said = transcript(&world);
    assert!(
        said.contains("The connection to fake was lost: broken pipe. Connecting again."),
        "{said}"
    );
    assert!(said.contains("This turn was lost"), "{said}");
    assert_eq!(drafts(&world), ["go"]);
    world.handle(Event::Timer(timer));
    resume(&mut world);
    assert_eq!(world.chat_state(), ChatState::Ready);
    assert_eq!(world.sent.len(), 1, "a prompt was sent by itself");
    let queue = &world.state.chats[&ChatId(1)].queue;
    assert!(queue.is_paused() && queue.texts().count() == 1);
}

/// Holds (Transports): Attempts to connect again are made after 1 s and at most 30 s, until one succeeds or cannot succeed.
#[test]
fn attempts_become_rarer() {
    let mut world = elsewhere();
    lose(&mut world);
    let mut seconds = Vec::new();
    for _ in 0..7 {
        let (timer, after) = attempt(&mut world);
        seconds.push(after.as_secs());
        world.handle(Event::Timer(timer));
        unreachable(&mut world, Obstacle::NoAnswer);
        assert!(waits(&world));
    }
    assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
    assert_eq!(transcript(&world).matches("was lost").count(), 1, "told once");
    let (timer, _) = attempt(&mut world);
    world.handle(Event::Timer(timer));
    unreachable(&mut world, Obstacle::Credentials);
    assert_eq!(world.chat_state(), ChatState::Failed);
    assert!(transcript(&world).contains("could not be reached: no. Check agents.fake.headers."));
}

#[test]
fn a_session_that_lasts_counts_losses_anew() {
    let mut world = elsewhere();
    let wait_after_loss = |world: &mut World| {
        lose(world);
        let (timer, after) = attempt(world);
        world.handle(Event::Timer(timer));
        resume(world);
        after.as_secs()
    };
    assert_eq!([wait_after_loss(&mut world), wait_after_loss(&mut world)], [1, 2]);
    let steady: Vec<_> =
        world.waits.iter().filter(|(it, _)| matches!(it, Timer::Steady(..))).copied().collect();
    assert_eq!(steady[0].1, Duration::from_secs(60));
    // The first one is about a session that has been lost since.
    world.handle(Event::Timer(steady[0].0));
    assert_eq!(wait_after_loss(&mut world), 4);
    let (last, _) = *world.waits.last().unwrap();
    world.handle(Event::Timer(last));
    assert_eq!(wait_after_loss(&mut world), 1);
}

/// Holds (Transports): `:RatStop` ends the attempts to connect again; a prompt or `:RatRestart` makes one at once.
#[test]
fn the_user_ends_or_hastens_attempts() {
    let mut world = elsewhere();
    lose(&mut world);
    let (timer, _) = attempt(&mut world);
    world.handle(Event::User(UserAction::Stop(None)));
    world.handle(Event::Timer(timer));
    assert_eq!((world.chat_state(), world.agent), (ChatState::Stopped, None));
    for event in [prompt("go"), Event::User(UserAction::Restart { chat: None, force: false })] {
        let mut world = elsewhere();
        lose(&mut world);
        let (timer, _) = attempt(&mut world);
        world.handle(event);
        world.handle(Event::Timer(timer));
        resume(&mut world);
        assert!(world.calls.len() <= 1, "connected twice: {:?}", world.calls);
        assert!(!waits(&world));
    }
}

#[test]
fn all_chats_of_a_connection_come_back_on_one() {
    let mut world = elsewhere();
    let mut second = start_new();
    if let Event::User(UserAction::Start { config, .. }) = &mut second {
        **config = world.state.chats[&ChatId(1)].config.clone();
    }
    world.handle(second);
    world.reply();
    lose(&mut world);
    let timers: Vec<_> = world.waits.drain(..).map(|(timer, _)| timer).collect();
    assert_eq!(timers.len(), 2);
    for timer in timers {
        world.handle(Event::Timer(timer));
    }
    initialized(&mut world);
    assert!(
        matches!(&world.calls[..], [(_, Call::Resume(..)), (_, Call::Resume(..))]),
        "{:?}",
        world.calls
    );
}

/// Starts an agent elsewhere that does not answer yet.
fn start_unanswered(reconnect: Reconnect) -> World {
    let mut world = World::default();
    let mut event = start();
    if let Event::User(UserAction::Start { config, .. }) = &mut event {
        config.reconnect = reconnect;
    }
    world.handle(event);
    world
}

/// Holds (Transports): An agent that is not there yet is waited for as long as for its first answer; the user is told once.
#[test]
fn an_agent_may_come_up_slowly() {
    let mut world = start_unanswered(Reconnect::Now);
    let mut waited = Duration::ZERO;
    loop {
        world.calls.clear();
        unreachable(&mut world, Obstacle::NoAnswer);
        if !waits(&world) {
            break;
        }
        let (timer, after) = attempt(&mut world);
        waited += after;
        world.handle(Event::Timer(timer));
    }
    assert_eq!(waited, Duration::from_secs(31), "one more would be after more than 60 s");
    assert_eq!(world.chat_state(), ChatState::Failed);
    let said = transcript(&world);
    let news = "could not be reached: no. Trying again for up to 60 s. :RatStop stops it.";
    assert_eq!(said.matches(news).count(), 1, "{said}");
    // Started anew by the user, it is waited for as long again, and its session is opened when it is there.
    world.handle(Event::User(UserAction::Restart { chat: Some(ChatId(1)), force: false }));
    world.calls.clear();
    unreachable(&mut world, Obstacle::NoAnswer);
    let (timer, after) = attempt(&mut world);
    assert_eq!(after, Duration::from_secs(1));
    world.handle(Event::Timer(timer));
    world.calls.drain(..world.calls.len() - 1);
    initialized(&mut world);
    world.reply();
    assert_eq!(world.chat_state(), ChatState::Ready);
}

#[test]
fn what_will_not_come_up_is_not_tried_again() {
    for (reconnect, cause) in [
        (Reconnect::Now, ExitCause::Lost("broken pipe".to_owned())),
        (Reconnect::Now, unreachable_by(Obstacle::Credentials)),
        (Reconnect::Prompt, unreachable_by(Obstacle::NoAnswer)),
    ] {
        let mut world = start_unanswered(reconnect);
        ends(&mut world, cause);
        assert_eq!(world.chat_state(), ChatState::Failed);
    }
}

/// Holds (Crashes): With `reconnect = "now"` an agent that ends is started again at once, three times before a session has lasted a minute.
#[test]
fn a_program_is_started_again_at_once_but_not_for_ever() {
    let mut world = program();
    world.handle(prompt("go"));
    for _ in 0..3 {
        ends(&mut world, ExitCause::Signal("SIGKILL".to_owned()));
        let (timer, after) = attempt(&mut world);
        assert_eq!(after, Duration::ZERO);
        world.handle(Event::Timer(timer));
        resume(&mut world);
        assert_eq!(world.chat_state(), ChatState::Ready);
    }
    assert_eq!(drafts(&world), ["go"], "given back once");
    let said = transcript(&world);
    assert!(said.contains("fake was killed by SIGKILL. Starting it again."), "{said}");
    ends(&mut world, ExitCause::Status(1));
    assert_eq!(world.chat_state(), ChatState::Failed);
    // One that ends in its handshake is not started again by itself.
    let mut world = program();
    ends(&mut world, ExitCause::Status(1));
    let (timer, _) = attempt(&mut world);
    world.handle(Event::Timer(timer));
    ends(&mut world, ExitCause::Status(1));
    assert_eq!(world.chat_state(), ChatState::Failed);
}
