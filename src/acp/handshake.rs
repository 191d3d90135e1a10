//! The handshake: in which protocols an agent is offered a conversation, one after the other, and which dialect its answer
//! chooses.

use super::dialect::{Dialect, EncodeError};
use super::fields::{Fields, json, whole};
use super::go::Go;
use super::openoxide::OpenOxide;
use super::v0::V0;
use super::v1::{V1, outgoing, reply};
use crate::core::messages::agent::{CallError, INTERNAL_ERROR, INVALID_REQUEST};
use crate::core::messages::call::Call;
use crate::jsonrpc::outgoing::request;
use crate::session::agent::{AgentCapabilities, AgentConfig, AgentInfo};
use crate::session::protocol::Protocol;
use serde_json::Value;
use std::ops::RangeInclusive;

/// The version in an offer to agents whose versions are strings.
const STRING_VERSION: &str = "0.1";

/// The errors with which an agent may refuse an offer.
const REFUSALS: RangeInclusive<i64> = INTERNAL_ERROR..=INVALID_REQUEST;

/// What has been offered to an agent.
#[derive(Debug)]
pub struct Handshake {
    /// The configured protocol; `None` to find out.
    protocol: Option<Protocol>,
    /// The configured options of sessions.
    options: Vec<(String, String)>,
    offer: Offer,
    /// Why the first offer was refused.
    first_refusal: Option<CallError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    /// A version that is a number.
    Number,
    /// A version that is a string.
    Text,
}

/// What follows from an agent's answer.
#[derive(Debug)]
pub enum Step {
    /// The agent speaks this dialect.
    Chosen(Box<dyn Dialect>, Box<AgentInfo>),
    /// The next offer is to be sent.
    OfferAgain,
    /// The agent speaks none.
    Failed(CallError),
}

impl Handshake {
    /// Begins with an agent that is configured like this.
    pub fn new(config: &AgentConfig) -> Self {
        let offer = match config.protocol {
            Some(Protocol::Go | Protocol::OpenOxide) => Offer::Text,
            None | Some(Protocol::V1 | Protocol::V0) => Offer::Number,
        };
        let (protocol, options) = (config.protocol, config.options.clone());
        Self { protocol, options, offer, first_refusal: None }
    }

    /// Returns the dialect in which messages are read until one is chosen.
    pub fn initial_dialect() -> Box<dyn Dialect> {
        Box::new(V1::default())
    }

    /// Whether the agent prints something before it reads the first message.
    pub fn waits_for_output(&self) -> bool {
        self.protocol == Some(Protocol::OpenOxide)
    }

    /// Encodes the current offer.
    pub fn offer(&self, id: i64) -> Result<String, EncodeError> {
        match self.offer {
            Offer::Number => {
                Ok(outgoing::call(id, &Call::Initialize, AgentCapabilities::default())?)
            }
            Offer::Text => Ok(request(id, Call::Initialize.method(), &text_offer())?),
        }
    }

    /// The agent has answered the current offer. `has_version` says whether the message named the version of JSON-RPC.
    pub fn answered(&mut self, outcome: Result<&str, &str>, has_version: bool) -> Step {
        match outcome {
            Ok(result) => match self.chosen(result, has_version) {
                Ok((dialect, info)) => Step::Chosen(dialect, info),
                Err(error) => Step::Failed(error),
            },
            Err(error) => self.refused(reply::error(error)),
        }
    }

    /// The agent has ended before it answered. Returns whether it is to be started again for the next offer.
    pub fn ended(&mut self) -> bool {
        let may_speak_another = self.offer == Offer::Number && self.protocol.is_none();
        if may_speak_another {
            self.offer = Offer::Text;
        }
        may_speak_another
    }

    fn refused(&mut self, error: CallError) -> Step {
        let is_refusal = matches!(&error, CallError::Rpc { code, .. } if REFUSALS.contains(code));
        if is_refusal && self.ended() {
            self.first_refusal = Some(error);
            return Step::OfferAgain;
        }
        Step::Failed(self.first_refusal.take().unwrap_or(error))
    }

    fn chosen(
        &self,
        result: &str,
        has_version: bool,
    ) -> Result<(Box<dyn Dialect>, Box<AgentInfo>), CallError> {
        let fields = json(result).and_then(Fields::of).unwrap_or_default();
        match self.protocol.or_else(|| recognized(&fields, has_version)) {
            Some(Protocol::Go) => Ok(Go::answered(fields)),
            Some(Protocol::OpenOxide) => Ok(OpenOxide::answered(fields, &self.options)),
            Some(protocol @ (Protocol::V1 | Protocol::V0)) if is_version_1(&fields) => {
                let info = reply::initialized(result)?;
                let v1 = V1::new(info.capabilities);
                let dialect: Box<dyn Dialect> =
                    if protocol == Protocol::V0 { Box::new(V0::new(v1)) } else { Box::new(v1) };
                Ok((dialect, Box::new(AgentInfo { protocol: Some(protocol), ..info })))
            }
            _ => Err(CallError::UnknownProtocol(described(fields))),
        }
    }
}

/// Returns the protocol that an answer belongs to.
fn recognized(answer: &Fields, has_version: bool) -> Option<Protocol> {
    if is_version_1(answer) {
        let is_old = !has_version && answer.peek("agentInfo").is_none();
        return Some(if is_old { Protocol::V0 } else { Protocol::V1 });
    }
    answer.peek("protocolVersion").filter(|version| version.is_string())?;
    if answer.peek("serverInfo").is_some() {
        return Some(Protocol::OpenOxide);
    }
    answer.peek("capabilities").map(|_| Protocol::Go)
}

fn is_version_1(answer: &Fields) -> bool {
    answer.peek("protocolVersion").and_then(whole) == Some(1)
}

/// Describes an answer of an unknown protocol in a few words.
fn described(mut answer: Fields) -> String {
    match answer.any("protocolVersion") {
        None => "no protocolVersion".to_owned(),
        Some(version) => format!("protocolVersion {version}"),
    }
}

fn text_offer() -> Value {
    let name = "rat.nvim";
    serde_json::json!({
        "protocolVersion": STRING_VERSION,
        "clientInfo": { "name": name, "version": env!("CARGO_PKG_VERSION") },
        "capabilities": {
            "terminal": true,
            "fs.readTextFile": true,
            "fs.writeTextFile": true,
            "diff_rendering": true,
            "terminal_display": true,
            "slash_commands": true,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(dialect: Option<&str>) -> Handshake {
        let protocol = dialect.map(|name| Protocol::named(name).unwrap());
        let config = AgentConfig::unusable("fake".into(), String::new());
        Handshake::new(&AgentConfig { protocol, ..config })
    }

    fn chosen(dialect: Option<&str>, answer: &str, has_version: bool) -> Option<Protocol> {
        match handshake(dialect).answered(Ok(answer), has_version) {
            Step::Chosen(_, info) => info.protocol,
            Step::OfferAgain | Step::Failed(_) => None,
        }
    }

    #[test]
    fn the_answer_chooses_the_protocol() {
        let named = r#"{"protocolVersion":1,"agentInfo":{"name":"x"}}"#;
        for (answer, has_version, protocol) in [
            (r#"{"protocolVersion":1}"#, true, Some(Protocol::V1)),
            (r#"{"protocolVersion":1.0}"#, true, Some(Protocol::V1)),
            (r#"{"protocolVersion":1}"#, false, Some(Protocol::V0)),
            (named, false, Some(Protocol::V1)),
            (r#"{"protocolVersion":"2025-01-01","capabilities":{}}"#, true, Some(Protocol::Go)),
            (r#"{"protocolVersion":"0.1","serverInfo":{}}"#, true, Some(Protocol::OpenOxide)),
            (r#"{"protocolVersion":"0.1"}"#, true, None),
            (r#"{"protocolVersion":2}"#, true, None),
            (r#"{"protocolVersion":null}"#, true, None),
            ("[]", true, None),
        ] {
            assert_eq!(chosen(None, answer, has_version), protocol, "{answer}");
        }
    }

    #[test]
    fn a_setting_decides_instead_of_the_answer() {
        assert_eq!(chosen(Some("0.1.1"), r#"{"protocolVersion":1}"#, true), Some(Protocol::V0));
        assert_eq!(chosen(Some("1"), r#"{"protocolVersion":1}"#, false), Some(Protocol::V1));
        assert_eq!(chosen(Some("1"), r#"{"protocolVersion":2}"#, true), None);
        let go = r#"{"protocolVersion":"1"}"#;
        assert_eq!(chosen(Some("go"), go, true), Some(Protocol::Go));
        assert!(handshake(Some("go")).offer(1).unwrap().contains(r#""protocolVersion":"0.1""#));
    }

    #[test]
    fn each_offer_is_made_once() {
        let refusal = |code: i64| format!(r#"{{"code":{code},"message":"no {code}"}}"#);
        let mut undecided = handshake(None);
        assert!(undecided.offer(1).unwrap().contains(r#""protocolVersion":1"#));
        assert!(matches!(undecided.answered(Err(&refusal(-32602)), true), Step::OfferAgain));
        assert!(undecided.offer(2).unwrap().contains(r#""protocolVersion":"0.1""#));
        let Step::Failed(CallError::Rpc { code, .. }) =
            undecided.answered(Err(&refusal(-32600)), true)
        else {
            panic!("not given up");
        };
        assert_eq!(code, -32602, "the reason for refusing the first");
        assert!(!undecided.ended());
        for (dialect, code) in [(None, -32000), (Some("1"), -32602)] {
            let failed = handshake(dialect).answered(Err(&refusal(code)), true);
            assert!(matches!(failed, Step::Failed(_)), "{code}");
        }
        assert!(!handshake(Some("1")).ended() && handshake(None).ended());
    }
}
