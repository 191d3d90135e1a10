//! What agents send that we do not know: the user is told of each kind once.

use crate::core::chat::Chat;
use crate::core::messages::ids::AgentId;
use crate::core::state::State;
use crate::session::entry::Note;
use crate::session::ids::SessionId;
use crate::session::label;
use crate::session::update::Severity;

/// The most characters shown of the type of an update or a request that nobody knows.
const MAX_TAG: usize = 100;
/// The most characters shown of what is wrong with an update.
const MAX_PROBLEM: usize = 500;

impl State {
    /// A request of the agent was refused, since nothing here answers it.
    pub(in crate::core) fn method_refused(
        &mut self,
        agent: AgentId,
        session: &SessionId,
        method: &str,
        is_switched_off: bool,
    ) {
        let Some(id) = self.chat_of(agent, session) else { return };
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let method = label::short(method, MAX_TAG);
        let title = if is_switched_off {
            format!("Refused a request \"{method}\": it is switched off in the agent's settings")
        } else {
            format!("Refused a request of unknown type \"{method}\"")
        };
        chat.note_once(format!("refused {method}"), title);
    }
}

impl Chat {
    /// Tells of an update that is unknown, or that has a problem.
    pub(super) fn note_unknown(&mut self, tag: &str, problem: Option<&str>) {
        let tag = label::short(tag, MAX_TAG);
        let title = match problem.map(|problem| label::short(problem, MAX_PROBLEM)) {
            Some(problem) => format!("Ignored a malformed update \"{tag}\": {problem}"),
            None => format!("Ignored an update of unknown type \"{tag}\""),
        };
        self.note_once(format!("unknown {tag}"), title);
    }

    fn note_once(&mut self, key: String, title: String) {
        let note = Note { key: Some(key), ..Note::new(Severity::Info, title) };
        self.incoming_mut().keyed_note(note);
    }
}
