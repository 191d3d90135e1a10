//! Forks a chat's session, as a whole or after an earlier turn if the agent can.

use crate::core::chat::{Phase, Replay};
use crate::core::messages::editor::Level;
use crate::core::messages::notice::Notice;
use crate::core::messages::user::SessionTarget;
use crate::core::questions::Question;
use crate::core::state::State;
use crate::session::agent::Capability;
use crate::session::author::ChatId;
use crate::session::fork::{self, ForkPoint};
use crate::session::label;
use crate::session::transcript::Transcript;
use crate::session::update::Severity;

/// How much of a prompt is shown in the question, in characters.
const MAX_PROMPT: usize = 40;

impl State {
    /// Forks the session of a chat in a new chat. Asks after which turn, if the agent can fork after an earlier one.
    pub(in crate::core) fn fork(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let can = chat.info.capabilities;
        let agent = chat.agent_title();
        let problem = if !matches!(chat.phase, Phase::Ready | Phase::Running(_)) {
            let text = format!("{agent} has no session open to fork.");
            Some(Notice::from(text).advise(":RatRestart opens it."))
        } else if !can.has(Capability::Fork) {
            Some(format!("{agent} cannot fork sessions").into())
        } else {
            None
        };
        if let Some(problem) = problem {
            return self.notify(Level::Warn, problem);
        }
        let Some(session) = chat.session.clone() else { return };
        let entries = chat.transcript.entries();
        let prompts: Vec<_> = fork::prompts(entries).map(|(_, text)| text).collect();
        if prompts.len() < 2 {
            return self.fork_at(id, ForkPoint::whole(session));
        }
        if !can.has(Capability::ForkAtTurn) {
            self.notify(Level::Info, "Forking the whole session as it is now");
            return self.fork_at(id, ForkPoint::whole(session));
        }
        let items = prompts.iter().rev().map(|prompt| label::short(prompt, MAX_PROMPT)).collect();
        let turns = prompts.len();
        self.withdraw_questions(|question| matches!(question, Question::Fork(..)));
        self.ask(Question::Fork(id, session, turns), "Fork after which prompt?".to_owned(), items);
    }

    /// The user has chosen the prompt at `index`, counted from the last, after whose turn a session of `turns` turns is
    /// forked.
    pub(in crate::core) fn fork_answered(
        &mut self,
        id: ChatId,
        mut point: ForkPoint,
        turns: usize,
        index: Option<usize>,
    ) {
        let Some(index) = index else { return };
        point.turns = turns.checked_sub(index).filter(|kept| *kept < turns);
        self.fork_at(id, point);
    }

    fn fork_at(&mut self, id: ChatId, point: ForkPoint) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (config, policy) = (chat.config.clone(), chat.access.policy.clone());
        let (cwd, directories) = (chat.cwd.clone(), chat.directories.clone());
        let id = self.start(config, cwd, directories, SessionTarget::Fork(point), true);
        self.set_policy(id, policy);
    }

    /// A fork was opened: starts its transcript with that of its source.
    pub(in crate::core) fn start_fork(&mut self, id: ChatId, point: &ForkPoint) {
        let Some(chat) = self.chats.get(&id) else { return };
        let source = self
            .find_open(&chat.store_key(point.session.clone()))
            .and_then(|id| self.chats.get(&id));
        let said = source.map(|source| source.transcript.entries().to_vec());
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let mut past = said.unwrap_or_else(|| std::mem::take(&mut chat.opening.saved));
        point.cut(&mut past);
        if !past.is_empty() {
            chat.transcript = Transcript::restore(past);
            chat.replay = Replay::MayFollowFork;
            chat.redraw_all();
        }
        chat.saving.rewrite = true;
        chat.transcript.note(Severity::Info, "Forked: a new session starts here", Vec::new());
    }
}
