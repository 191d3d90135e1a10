//! Calls of the editor's own tools.

use super::*;
use crate::core::messages::files::ProposedWrite;
use crate::core::messages::tools::{
    GrantId, ToolAnswer, ToolCallToken, ToolCalled, ToolsCommand, ToolsEvent,
};
use crate::edit::Text;
use crate::session::agent::McpServer;
use crate::session::editor_tool::{Replacement, ToolRequest};
use crate::session::entry::Entry;

/// A world in which the tools were granted to the only chat.
struct Tools {
    world: World,
    grant: GrantId,
    answers: HashMap<ToolCallToken, Vec<ToolAnswer>>,
    called: Vec<ToolCallToken>,
    /// Requests of the core to the editor.
    queries: Vec<RequestToken>,
}

impl Tools {
    fn ready() -> Self {
        let mut world = World::ready();
        let grant = GrantId(1);
        let (chat, agent) = (ChatId(1), world.agent.unwrap());
        world
            .state
            .tools
            .grants
            .insert(grant, crate::core::tools::Grant { agent, chat: Some(chat) });
        let chat = world.state.chats.get_mut(&chat).unwrap();
        chat.tools.grant = Some(grant);
        chat.tools.server = Some(McpServer::Stdio {
            name: "rat".to_owned(),
            command: "/bin/rat-nvim".to_owned(),
            args: vec!["mcp".to_owned()],
            env: Vec::new(),
        });
        let (answers, called, queries) = (HashMap::new(), Vec::new(), Vec::new());
        Self { world, grant, answers, called, queries }
    }

    /// Handles an event, and notes what the core does about tools.
    fn handle(&mut self, event: Event) {
        for effect in self.world.state.handle(event) {
            match effect {
                Effect::Tools(ToolsCommand::Answer(token, answer)) => {
                    self.answers.entry(token).or_default().push(answer);
                }
                Effect::Query { token, .. } | Effect::Write { token, .. } => {
                    self.queries.push(token);
                }
                _ => {}
            }
        }
        self.world.state.take_frame();
    }

    fn call(&mut self, request: ToolRequest) -> ToolCallToken {
        let token = ToolCallToken(u64::try_from(self.called.len()).unwrap() + 1);
        self.called.push(token);
        let (grant, input, tool_call) = (self.grant, "{}".to_owned(), None);
        let called = ToolCalled { token, grant, request, input, tool_call };
        self.handle(Event::Tools(ToolsEvent::Called(Box::new(called))));
        token
    }

    fn answered(&mut self, outcome: FileOutcome) {
        if let Some(token) = self.queries.pop() {
            self.handle(Event::File { token, outcome });
        }
    }

    fn allow(&mut self, allow: bool) {
        let choice = if allow { PermissionChoice::Allow } else { PermissionChoice::Deny(None) };
        let (chat, id, revision) = (None, None, None);
        self.handle(Event::User(UserAction::Permission { chat, id, revision, choice }));
    }
}

fn read() -> ToolRequest {
    ToolRequest::ReadBuffer { file: "/proj/a".into(), offset: 1, limit: 9 }
}

fn edit() -> ToolRequest {
    let edit = Replacement { old: "a".to_owned(), new: "b".to_owned(), all: false };
    ToolRequest::Edit { file: "/proj/a".into(), edits: vec![edit] }
}

fn proposed() -> FileOutcome {
    let (path, exists) = ("/proj/a".into(), true);
    let (before, after) = (Arc::new(Text::parse("a\n")), Arc::new(Text::parse("b\n")));
    FileOutcome::Edits(vec![ProposedWrite { path, exists, before, after }])
}

fn outside() -> FileOutcome {
    FileOutcome::Outside { file: "/elsewhere/a".into(), folder: None, has_other_name: false }
}

fn written() -> FileOutcome {
    FileOutcome::Written { changes: Vec::new(), notice: None }
}

fn failed() -> FileOutcome {
    let message = "no".to_owned();
    FileOutcome::Failed { code: -32603, reason: message.clone(), message }
}

/// Something that happens to calls.
#[derive(Debug, Clone, Copy)]
enum Step {
    Read,
    Edit,
    RowsOver,
    Text,
    Proposed,
    Outside,
    Written,
    Failed,
    Allow(bool),
    Withdraw(usize),
    LimitOver(usize),
    Prompt,
    Cancel,
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Read),
        Just(Step::Edit),
        Just(Step::RowsOver),
        Just(Step::Text),
        Just(Step::Proposed),
        Just(Step::Outside),
        Just(Step::Written),
        Just(Step::Failed),
        any::<bool>().prop_map(Step::Allow),
        (0_usize..9).prop_map(Step::Withdraw),
        (0_usize..9).prop_map(Step::LimitOver),
        Just(Step::Prompt),
        Just(Step::Cancel),
        Just(Step::Stop),
    ]
}

fn play(tools: &mut Tools, step: Step) {
    match step {
        Step::Read => drop(tools.call(read())),
        Step::Edit => drop(tools.call(edit())),
        Step::RowsOver => {
            for token in tools.called.clone() {
                tools.handle(Event::Timer(Timer::ToolRow(token)));
            }
        }
        Step::Text => tools.answered(FileOutcome::Text("text".to_owned())),
        Step::Proposed => tools.answered(proposed()),
        Step::Outside => tools.answered(outside()),
        Step::Written => tools.answered(written()),
        Step::Failed => tools.answered(failed()),
        Step::Allow(allow) => tools.allow(allow),
        Step::Withdraw(index) => {
            // Only what is not answered is withdrawn, and then it gets no answer.
            let open = tools.called.get(index).copied();
            if let Some(token) = open.filter(|token| !tools.answers.contains_key(token)) {
                tools.handle(Event::Tools(ToolsEvent::Withdrawn(token)));
                tools.called.remove(index);
                tools.called.insert(index, ToolCallToken(0));
            }
        }
        Step::LimitOver(index) => {
            if let Some(token) = tools.called.get(index).copied() {
                tools.handle(Event::Timer(Timer::ToolLimit(token, token)));
            }
        }
        Step::Prompt => tools.handle(send("go", false)),
        Step::Cancel => tools.handle(Event::User(UserAction::Cancel(Some(ChatId(1))))),
        Step::Stop => tools.handle(Event::User(UserAction::Stop(Some(ChatId(1))))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Holds (Editor tools): Each call of a tool gets exactly one answer, whatever happens meanwhile.
    #[test]
    fn every_call_gets_exactly_one_answer(steps in prop::collection::vec(step(), 0..40)) {
        let mut tools = Tools::ready();
        for step in steps {
            play(&mut tools, step);
            for (token, answers) in &tools.answers {
                prop_assert_eq!(answers.len(), 1, "{:?}: {:?}", token, answers);
            }
        }
        tools.handle(Event::User(UserAction::Stop(Some(ChatId(1)))));
        for token in tools.called.iter().filter(|token| token.0 > 0) {
            prop_assert!(tools.answers.contains_key(token), "{:?} was never answered", token);
        }
        prop_assert!(tools.world.state.tools.calls.is_empty());
        prop_assert!(tools.world.state.tools.grants.is_empty());
        prop_assert!(tools.world.state.questions.is_empty());
        prop_assert!(tools.world.state.requests.is_empty());
    }
}

/// Holds (Editor tools): An agent that would not wait for the user is told so, and the same call gets the answer later.
#[test]
fn a_call_that_is_made_again_gets_the_answer() {
    let mut tools = Tools::ready();
    let first = tools.call(edit());
    tools.handle(Event::Timer(Timer::ToolRow(first)));
    tools.answered(proposed());
    tools.handle(Event::Timer(Timer::ToolLimit(first, first)));
    let told = &tools.answers[&first][0];
    assert!(told.is_error && told.text.contains("has not decided yet"), "{told:?}");
    let second = tools.call(edit());
    assert!(tools.queries.is_empty(), "it waits for the same card");
    tools.allow(true);
    tools.answered(written());
    tools.answered(FileOutcome::Text("changed".to_owned()));
    assert_eq!(tools.answers[&second][0].text, "changed");
    assert_eq!(tools.answers[&first].len(), 1);
}

/// Holds (Editor tools): The user is told why a card goes that they have not answered.
#[test]
fn a_card_that_its_agent_does_not_wait_for_is_explained() {
    let mut tools = Tools::ready();
    let token = tools.call(edit());
    tools.handle(Event::Timer(Timer::ToolRow(token)));
    tools.answered(proposed());
    tools.handle(Event::Timer(Timer::ToolLimit(token, token)));
    tools.world.state.turn_ended(ChatId(1), &StopReason::EndTurn);
    let chat = &tools.world.state.chats[&ChatId(1)];
    assert!(chat.awaiting_user.permissions.is_empty());
    let is_told = |entry: &Entry| matches!(entry, Entry::Note(note) if note.title.contains("did not wait for your answer to \"Edit"));
    assert!(chat.transcript.entries().iter().any(is_told));
}

/// Holds (Editor tools): What nobody waits for any more is not done: what the user is asked about it goes with it.
#[test]
fn a_withdrawn_call_is_not_done() {
    let mut tools = Tools::ready();
    let token = tools.call(edit());
    tools.handle(Event::Timer(Timer::ToolRow(token)));
    tools.answered(proposed());
    assert_eq!(tools.world.state.chats[&ChatId(1)].awaiting_user.permissions.len(), 1);
    tools.handle(Event::Tools(ToolsEvent::Withdrawn(token)));
    assert!(tools.world.state.chats[&ChatId(1)].awaiting_user.permissions.is_empty());
    tools.allow(true);
    assert!(tools.queries.is_empty() && tools.answers.is_empty());
    let token = tools.call(read());
    tools.answered(outside());
    assert_eq!(tools.world.state.questions.len(), 1);
    tools.handle(Event::Tools(ToolsEvent::Withdrawn(token)));
    assert!(tools.world.state.questions.is_empty() && tools.world.state.requests.is_empty());
}
