//! Elicitations in the transcript: the request and its outcome, never what the user entered.

use super::Transcript;
use crate::session::entry::{ElicitationEntry, ElicitationState, Entry};

impl Transcript {
    /// Adds an elicitation request. It may ask what an open tool call says that it asks.
    pub fn elicit(&mut self, request: ElicitationEntry) {
        let asks = |entry: &Entry| matches!(entry, Entry::Tool(tool) if tool.call.status.is_open() && !tool.call.questions().is_empty());
        let entries = self
            .entries
            .iter()
            .enumerate()
            .rev()
            .take_while(|(index, _)| *index >= self.session_start);
        let asking: Vec<usize> =
            entries.filter(|(_, entry)| asks(entry)).map(|(index, _)| index).collect();
        for index in asking {
            self.mark_changed(index);
        }
        self.push(Entry::Elicitation(request));
    }

    /// Sets the outcome of the request with this number.
    pub fn set_elicitation_state(&mut self, id: u64, state: ElicitationState) {
        let entries = self.entries.iter_mut().enumerate().rev();
        let found = entries.into_iter().find_map(|(index, entry)| match entry {
            Entry::Elicitation(request) if request.id == id => Some((index, request)),
            _ => None,
        });
        if let Some((index, request)) = found {
            request.became = state;
            self.mark_changed(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::address::Page;
    use crate::session::elicitation::ElicitationKind;
    use crate::session::ids::ElicitationId;

    /// ACP 136.
    #[test]
    fn only_the_host_of_an_address_is_saved_and_restoring_cancels_the_request() {
        let address = Page::parse("https://example.com/?token=secret").unwrap();
        let wants = ElicitationKind::Url(ElicitationId::from("e"), address);
        let mut transcript = Transcript::default();
        transcript.elicit(ElicitationEntry::new(1, "Log in.", &wants, ElicitationState::Waiting));
        let written = serde_json::to_string(&transcript.entries()[0]).unwrap();
        assert!(written.contains("example.com") && !written.contains("secret"), "{written}");
        let read = serde_json::from_str(&written).unwrap();
        let restored = Transcript::restore(vec![read]);
        let Entry::Elicitation(request) = &restored.entries()[0] else { panic!() };
        assert_eq!(request.became, ElicitationState::Cancelled);
    }
}
