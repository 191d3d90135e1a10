//! Turns of agents that report their activity by updates (ACP version 2). The reply to a prompt does not end its turn,
//! and an agent may start a turn by itself.

use crate::core::chat::{Phase, Turn};
use crate::core::messages::agent::{CallError, INTERNAL_ERROR};
use crate::core::messages::ids::CallId;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::ids::MessageId;
use crate::session::prompt::Prompt;
use crate::session::turn::Activity;

impl State {
    /// The agent has received the prompt, which is the message with this id, and will report the end of its turn by an
    /// update.
    pub(in crate::core) fn prompt_received(
        &mut self,
        id: ChatId,
        call: CallId,
        message: Option<&MessageId>,
    ) {
        let Some(chat) = self.chat_of_prompt(id, call) else { return };
        if let Phase::Running(turn) = &mut chat.phase {
            turn.ends_by_update = true;
            if let Some(message) = message {
                chat.transcript.name_prompt(message);
            }
        }
    }

    /// The agent has started or stopped working.
    pub(in crate::core) fn activity(&mut self, id: ChatId, activity: Activity) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        match (&mut chat.phase, activity) {
            (Phase::Ready, Activity::Busy) => self.start_agent_turn(id),
            (Phase::Running(turn), Activity::Busy) => {
                // While the prompt's context is still being collected, the agent is working on something else.
                turn.ends_by_update |= turn.call.is_some();
            }
            // Before the agent has received the prompt, it reports on an earlier turn.
            (Phase::Running(turn), Activity::Idle(stop)) if turn.ends_by_update => {
                self.turn_ended(id, &stop);
            }
            (Phase::Running(turn), Activity::Failed(message)) if turn.ends_by_update => {
                let error =
                    CallError::Rpc { code: INTERNAL_ERROR, message, detail: None, data: None };
                self.turn_failed(id, &error);
            }
            _ => {}
        }
    }

    fn start_agent_turn(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.note_call_titles();
        chat.turns += 1;
        let entry = chat.transcript.entries().len();
        let mut turn = Turn::new(chat.turns, Prompt::default(), entry);
        turn.ends_by_update = true;
        self.enter_phase(id, Phase::Running(Box::new(turn)));
        self.tell_turn_start(id, None);
    }
}
