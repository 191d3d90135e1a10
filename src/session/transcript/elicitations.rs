//! What the user was asked to fill in or to open, in the transcript: that it was asked and what became of it, never what
//! was entered.

use super::{Entry, Transcript};
use crate::session::address::Page;
use crate::session::elicitation::Wants;
use serde::{Deserialize, Serialize};

/// A request in the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elicited {
    /// Our number of it.
    pub id: u64,
    /// Why the agent asks.
    pub message: String,
    /// What it asks for.
    pub about: About,
    /// What became of it.
    pub became: Became,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// These fields, by their titles.
    Fields(Vec<String>),
    /// To open an address.
    Address {
        /// Where it leads.
        host: String,
        /// All of it. It may carry what opens a door, so it is not written down.
        #[serde(skip)]
        url: Option<String>,
        /// What to beware of.
        warnings: Vec<String>,
    },
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Became {
    /// The user has not answered yet.
    Waiting,
    /// The form was sent.
    Sent,
    /// The user consented to open the address.
    Opened,
    /// What the user did there is done.
    Complete,
    /// The user said no.
    Declined,
    /// It was closed, or nobody needed it any more.
    Cancelled,
}

impl Elicited {
    /// What is shown of a request.
    pub fn new(id: u64, message: &str, wants: &Wants, became: Became) -> Self {
        let about = match wants {
            Wants::Form(form) => {
                About::Fields(form.fields.iter().map(|field| field.title.clone()).collect())
            }
            Wants::Address(_, Page { url, host, warnings }) => About::Address {
                host: host.clone(),
                url: Some(url.clone()),
                warnings: warnings.clone(),
            },
        };
        Self { id, message: message.to_owned(), about, became }
    }

    /// After a restart nobody waits for it any more.
    pub(super) fn restore(&mut self) {
        if matches!(self.became, Became::Waiting) {
            self.became = Became::Cancelled;
        }
    }
}

impl Transcript {
    /// The agent asks the user for something.
    pub fn elicit(&mut self, elicited: Elicited) {
        self.push(Entry::Elicitation(elicited));
    }

    /// What became of the request of this number.
    pub fn elicitation_became(&mut self, id: u64, became: Became) {
        let found = self.entries.iter_mut().enumerate().rev().find_map(|(at, entry)| match entry {
            Entry::Elicitation(elicited) if elicited.id == id => Some((at, elicited)),
            _ => None,
        });
        if let Some((at, elicited)) = found {
            elicited.became = became;
            self.touch(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ids::ElicitationId;

    /// ACP 136.
    #[test]
    fn an_address_is_written_down_by_its_host_alone_and_waits_for_nobody_afterwards() {
        let address = Page::read("https://example.com/?token=secret").unwrap();
        let wants = Wants::Address(ElicitationId::from("e"), address);
        let mut transcript = Transcript::default();
        transcript.elicit(Elicited::new(1, "Log in.", &wants, Became::Waiting));
        let written = serde_json::to_string(&transcript.entries()[0]).unwrap();
        assert!(written.contains("example.com") && !written.contains("secret"), "{written}");
        let read = serde_json::from_str(&written).unwrap();
        let restored = Transcript::restore(vec![read]);
        let Entry::Elicitation(elicited) = &restored.entries()[0] else { panic!() };
        assert_eq!(elicited.became, Became::Cancelled);
    }
}
