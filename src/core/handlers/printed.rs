//! What agents print to stdout instead of sending a message, while their chats wait for them: an address to sign in at is shown
//! with the lines around it.

use crate::core::chat::Phase;
use crate::core::messages::effect::Effect;
use crate::core::messages::event::Timer;
use crate::core::messages::ids::AgentId;
use crate::core::state::State;
use crate::session::entry::Note;
use crate::session::update::Severity;
use std::time::Duration;

/// How long a chat waits before it shows what its agent has printed. Many agents print where their documentation is, and go on.
const DELAY: Duration = Duration::from_secs(1);

impl State {
    /// The agent has printed a line, or has added to the last one.
    pub(in crate::core) fn printed(&mut self, agent: AgentId, line: String) {
        let Some(connection) = self.connections.get_mut(&agent) else { return };
        let had_address = connection.printed.has_address();
        connection.printed.add(line);
        if connection.printed.is_shown {
            self.show_printed(agent);
        } else if !had_address && connection.printed.has_address() {
            self.effects.push(Effect::Timer { timer: Timer::Printed(agent), after: DELAY });
        }
    }

    /// Shows what an agent has printed in the chats that still wait for it.
    pub(in crate::core) fn show_printed(&mut self, agent: AgentId) {
        let Some(connection) = self.connections.get_mut(&agent) else { return };
        let lines = connection.printed.lines().to_vec();
        let waits = self.chats.values_mut().filter(|chat| chat.agent == Some(agent));
        for chat in waits.filter(|chat| matches!(chat.phase, Phase::Starting(_))) {
            connection.printed.is_shown = true;
            let title = format!("{} printed this while starting:", chat.agent_title());
            let key = Note::printed_key(agent.0);
            let note = Note { details: lines.clone(), key, ..Note::new(Severity::Info, title) };
            chat.transcript.keyed_note(note);
        }
    }
}
