//! Turns of agents that tell by updates when they work (ACP version 2): the answer to a prompt does not end its turn, and
//! an agent may begin one by itself.

use super::chat::{Phase, Turn};
use super::effect::{Happened, ToEditor};
use super::event::agent::{CallError, INTERNAL_ERROR};
use super::event::{CallId, ChatId};
use super::state::State;
use crate::session::prompt::Prompt;
use crate::session::turn::Activity;

impl State {
    /// The agent has taken the prompt in, and will say when it is done with it.
    pub(super) fn prompt_accepted(&mut self, id: ChatId, call: CallId) {
        if let Some(Phase::Running(turn)) = self.running(id, call).map(|chat| &mut chat.phase) {
            turn.told_by_updates = true;
        }
    }

    /// The agent works, or has stopped.
    pub(super) fn activity(&mut self, id: ChatId, activity: Activity) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        match (&mut chat.phase, activity) {
            (Phase::Ready, Activity::Busy) => self.begins_by_itself(id),
            (Phase::Running(turn), Activity::Busy) => {
                // Not while the prompt waits for what goes with it: that work is not the prompt's.
                turn.told_by_updates |= turn.call.is_some();
            }
            // What it says before it has taken the prompt in is of what went before.
            (Phase::Running(turn), Activity::Idle(stop)) if turn.told_by_updates => {
                self.turn_ended(id, &stop);
            }
            (Phase::Running(turn), Activity::Failed(message)) if turn.told_by_updates => {
                let error = CallError::Rpc { code: INTERNAL_ERROR, message, data: None };
                self.turn_failed(id, &error);
            }
            _ => {}
        }
    }

    fn begins_by_itself(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.turns += 1;
        let entry = chat.transcript.entries().len();
        let mut turn = Turn::new(chat.turns, Prompt::default(), entry);
        turn.told_by_updates = true;
        self.enter(id, Phase::Running(turn));
        self.after.push(ToEditor::Autocommand(Happened::TurnStart(id)));
    }
}
