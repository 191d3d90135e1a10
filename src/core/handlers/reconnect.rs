//! Connections that are lost, or whose agent is not there yet: they are made again after a while, and their sessions resumed;
//! also by the user, perhaps with another configuration.
//! What was lost with them is told, and never sent again by itself.

use crate::core::chat::{Chat, Phase, StartupStep};
use crate::core::connection::ConnectionStage;
use crate::core::failures;
use crate::core::messages::agent::{Exit, ExitCause};
use crate::core::messages::editor::{EditorMessage, Level, UserAutocmd};
use crate::core::messages::effect::Effect;
use crate::core::messages::event::Timer;
use crate::core::messages::ids::AgentId;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::agent::{AgentConfig, Reconnect};
use crate::session::author::ChatId;
use crate::session::prompt::Prompt;
use crate::session::tool_call::ToolStatus;
use crate::session::update::Severity;
use std::collections::HashMap;
use std::time::Duration;

/// From what to what the wait before another attempt grows.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long a session has to last before the next loss counts as the first.
const STEADY: Duration = Duration::from_secs(60);

/// How often a program that ends is started again before its sessions have lasted that long.
const MAX_RESTARTS: u32 = 3;

/// Returns how long to wait before `attempt`, counted from 0.
fn wait(attempt: u32) -> Duration {
    FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt)).min(LONGEST_WAIT)
}

impl State {
    /// Has the agent of a chat started like this the next time, for all chats that use it.
    pub(in crate::core) fn renew(
        &mut self,
        id: ChatId,
        config: &AgentConfig,
        problems: Vec<String>,
    ) {
        self.report_settings_problems(problems);
        let Some(chat) = self.chats.get(&id) else { return };
        let others = chat.agent.map(|agent| self.chats_on(agent)).unwrap_or_default();
        for id in others.into_iter().chain([id]) {
            if let Some(chat) = self.chats.get_mut(&id) {
                chat.renewed = Some(config.clone());
            }
        }
    }

    /// Decides whether an agent that has ended is reached or started again by itself, and after what time.
    pub(in crate::core) fn reconnects_after(
        &self,
        agent: AgentId,
        cause: &ExitCause,
    ) -> Option<Duration> {
        let connection = self.connections.get(&agent)?;
        let chats = self.chats_on(agent);
        let chats = || chats.iter().filter_map(|id| self.chats.get(id));
        let attempts = chats().map(|chat| chat.losses.attempts).max()?;
        if connection.config.reconnect == Reconnect::Prompt {
            return None;
        }
        let was_ready = !matches!(connection.stage, ConnectionStage::Initializing);
        // What was reached once is waited for without end, what is only started for as long as for its first answer.
        let is_start = chats().all(|chat| chat.losses.is_over() || chat.losses.is_start());
        let waited: Duration = (0..=attempts).map(wait).sum();
        let limit = connection.config.timeouts.initialize;
        let may_come_up = !is_start || limit.is_none_or(|limit| waited <= limit);
        match cause {
            ExitCause::Lost(_) | ExitCause::HungUp(_) => {
                (was_ready || attempts > 0 && may_come_up).then(|| wait(attempts))
            }
            ExitCause::Unreachable { obstacle, .. } => {
                (obstacle.may_pass() && may_come_up).then(|| wait(attempts))
            }
            // With the status 0 it has ended as it wanted to. One that reads nothing would do so again.
            ExitCause::NotStarted { .. } | ExitCause::Status(0) | ExitCause::ReadsNothing => None,
            ExitCause::Status(_) | ExitCause::Signal(_) | ExitCause::ClosedPipe => {
                (was_ready && attempts < MAX_RESTARTS).then_some(Duration::ZERO)
            }
        }
    }

    /// Ends a connection and has it made again after a time. The first loss is told, and what was lost with it.
    pub(in crate::core) fn reconnect(&mut self, agent: AgentId, exit: &Exit, after: Duration) {
        let Some(connection) = self.connections.get(&agent) else { return };
        let is_start = matches!(connection.stage, ConnectionStage::Initializing);
        let why = match &exit.cause {
            ExitCause::Unreachable { detail, .. } if is_start => {
                user_messages::not_there_yet(&connection.config, detail)
            }
            cause => user_messages::lost(&connection.config, cause),
        };
        let failure = failures::of_exit(why, exit);
        let (why, details) = (failure.message.to_string(), user_messages::details(&failure));
        let lost = self.sent_prompts(agent);
        let mut is_news = false;
        for id in self.end_connection(agent, ToolStatus::Failed) {
            let Some(chat) = self.chats.get_mut(&id) else { continue };
            let is_first = chat.losses.is_over();
            chat.losses.began(is_start);
            let number = chat.losses.number;
            if is_first {
                is_news = true;
                chat.transcript.note(Severity::Warning, why.clone(), details.clone());
            }
            self.give_prompt_back(id, &lost);
            self.enter_phase(id, Phase::Starting(StartupStep::Reconnecting));
            if is_first {
                let told = UserAutocmd::Error(id, failure.clone());
                self.after_draw.push(EditorMessage::Autocommand(told));
            }
            self.effects.push(Effect::Timer { timer: Timer::Reconnect(id, number), after });
        }
        if is_news {
            self.notify(Level::Warn, why);
        }
    }

    /// The prompts that an agent is working on, unless the user has cancelled it.
    pub(super) fn sent_prompts(&self, agent: AgentId) -> HashMap<ChatId, Prompt> {
        let turns = self.chats_on(agent).into_iter().filter_map(|id| {
            let turn = self.chats.get(&id)?.turn()?;
            (!turn.is_unsent() && !turn.cancelled).then(|| (id, turn.prompt.clone()))
        });
        turns.collect()
    }

    /// Puts the prompt of a turn that was lost with its agent back into the prompt buffer.
    pub(super) fn give_prompt_back(&mut self, id: ChatId, lost: &HashMap<ChatId, Prompt>) {
        let Some((chat, prompt)) = self.chats.get_mut(&id).zip(lost.get(&id)) else { return };
        let back = if prompt.in_place.is_none() { user_messages::PROMPT_IS_BACK } else { "" };
        let note = format!("This turn was lost with it. {back}");
        chat.transcript.note(Severity::Error, note.trim_end(), Vec::new());
        if prompt.is_returned() {
            self.return_prompt(id, prompt.clone());
        }
    }

    /// The time to wait before another attempt is over.
    pub(in crate::core) fn reconnect_now(&mut self, id: ChatId, number: u64) {
        let is_waiting = |chat: &Chat| chat.is_reconnecting() && chat.losses.number == number;
        if self.chats.get(&id).is_some_and(is_waiting) {
            self.connect(id);
        }
    }

    /// A session is open again after a loss.
    pub(in crate::core) fn reconnected(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if !chat.losses.is_over() {
            let number = chat.losses.recovered();
            let timer = Timer::Steady(id, number);
            self.effects.push(Effect::Timer { timer, after: STEADY });
        }
    }

    /// A session has lasted for a while since the loss with this number.
    pub(in crate::core) fn connection_is_steady(&mut self, id: ChatId, number: u64) {
        if let Some(chat) = self.chats.get_mut(&id)
            && chat.losses.number == number
            && chat.losses.is_over()
        {
            chat.losses.attempts = 0;
        }
    }
}
