//! The handshake: in which protocols an agent is offered a conversation, one after the other, and which dialect its answer
//! chooses.

use super::dialect::{Dialect, EncodeError};
use super::fields::{Fields, json, whole};
use super::go::Go;
use super::mapped::Mapped;
use super::openoxide::OpenOxide;
use super::v0::V0;
use super::v1::{V1, outgoing, reply};
use super::v2::{self, V2};
use crate::core::messages::agent::{
    CallError, INTERNAL_ERROR, INVALID_REQUEST, UNSUPPORTED_VERSION,
};
use crate::core::messages::call::Call;
use crate::jsonrpc::outgoing::request;
use crate::session::agent::{AgentConfig, AgentInfo, ClientCapabilities};
use crate::session::ids::AgentName;
use crate::session::paths::PathMap;
use crate::session::protocol::{Offered, Protocol};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The version in an offer to agents whose versions are strings.
const STRING_VERSION: &str = "0.1";

/// The errors with which an agent may refuse an offer.
const REFUSALS: RangeInclusive<i64> = INTERNAL_ERROR..=INVALID_REQUEST;

/// What has been offered to an agent.
#[derive(Debug)]
pub struct Handshake {
    offered: Offered,
    /// The configured options of sessions.
    options: Vec<(String, String)>,
    /// The folders that the agent knows by other paths.
    paths: PathMap,
    /// The folder here that the agent works in.
    cwd: PathBuf,
    /// Whether the agent has other files.
    is_separate: bool,
    /// The agent's name in the configuration.
    agent: AgentName,
    /// What `paths` is called where the agent is configured.
    setting: String,
    /// What it may ask of us.
    capabilities: ClientCapabilities,
    offer: Offer,
    /// Why the first offer was refused.
    first_refusal: Option<CallError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    /// Version 2, in a message that agents of version 1 can read, too.
    Second,
    /// Version 1.
    First,
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
    /// Begins with an agent that is configured like this and works in this folder.
    pub fn new(config: &AgentConfig, cwd: &Path) -> Self {
        let offer = match config.offered {
            Offered::All | Offered::Acp | Offered::Only(Protocol::V2) => Offer::Second,
            Offered::Only(Protocol::V1 | Protocol::V0) => Offer::First,
            Offered::Only(Protocol::Go | Protocol::OpenOxide) => Offer::Text,
        };
        Self {
            offered: config.offered,
            options: config.options.clone(),
            paths: config.disk.paths.clone(),
            cwd: cwd.to_owned(),
            is_separate: config.disk.is_separate,
            agent: config.name.clone(),
            setting: config.setting("paths"),
            capabilities: config.capabilities,
            offer,
            first_refusal: None,
        }
    }

    /// Returns the dialect in which messages are read until one is chosen.
    pub fn initial_dialect() -> Box<dyn Dialect> {
        Box::new(V1::default())
    }

    /// Whether the agent prints something before it reads the first message.
    pub fn waits_for_output(&self) -> bool {
        self.offered == Offered::Only(Protocol::OpenOxide)
    }

    /// Whether the agent may call this method. One that was switched off is unknown to it.
    pub fn allows(&self, method: &str) -> bool {
        let ours = self.capabilities;
        match method {
            "fs/read_text_file" => ours.files.read,
            "fs/write_text_file" => ours.files.write,
            "elicitation/create" => ours.elicitation,
            _ => ours.terminal || !method.starts_with("terminal/"),
        }
    }

    /// Encodes the current offer.
    pub fn offer(&self, id: i64) -> Result<String, EncodeError> {
        let method = Call::Initialize.method();
        Ok(match self.offer {
            Offer::Second => request(id, method, &v2::outgoing::offer(self.capabilities)?)?,
            Offer::First => request(id, method, &outgoing::initialize(self.capabilities))?,
            Offer::Text => request(id, method, &text_offer(self.capabilities))?,
        })
    }

    /// The agent has answered the current offer. `has_version` says whether the message named the version of JSON-RPC.
    pub fn answered(&mut self, outcome: Result<&str, &str>, has_version: bool) -> Step {
        match outcome {
            Ok(result) => match self.chosen(result, has_version) {
                Ok((dialect, info)) => Step::Chosen(
                    Mapped::wrap(dialect, &self.paths, &self.agent, &self.setting),
                    info,
                ),
                Err(error) => Step::Failed(error),
            },
            Err(error) => self.refused(reply::error(error)),
        }
    }

    /// The agent has ended before it answered. Returns whether it is to be started again for the next offer. One that cannot
    /// read a number as the version ends on any number, so it is offered a string.
    pub fn ended(&mut self) -> bool {
        let may_speak_another = self.offer != Offer::Text && self.offered == Offered::All;
        if may_speak_another {
            self.offer = Offer::Text;
        }
        may_speak_another
    }

    fn refused(&mut self, error: CallError) -> Step {
        let is_refusal = matches!(&error, CallError::Rpc { code, .. }
            if REFUSALS.contains(code) || *code == UNSUPPORTED_VERSION);
        let next = match (self.offer, self.offered) {
            (Offer::Second, Offered::All | Offered::Acp) => Some(Offer::First),
            (Offer::First, Offered::All) => Some(Offer::Text),
            _ => None,
        };
        match next.filter(|_| is_refusal) {
            Some(next) => {
                self.offer = next;
                self.first_refusal.get_or_insert(error);
                Step::OfferAgain
            }
            None => Step::Failed(self.first_refusal.take().unwrap_or(error)),
        }
    }

    fn chosen(
        &self,
        result: &str,
        has_version: bool,
    ) -> Result<(Box<dyn Dialect>, Box<AgentInfo>), CallError> {
        let fields = json(result).and_then(Fields::of).unwrap_or_default();
        let version = number_version(&fields, self.offer);
        let configured = match self.offered {
            Offered::Only(protocol) => Some(protocol),
            Offered::All | Offered::Acp => None,
        };
        match configured.or_else(|| recognized(&fields, version, has_version)) {
            Some(Protocol::Go) => Ok(Go::answered(fields, &self.options, self.cwd.clone())),
            Some(Protocol::OpenOxide) => {
                let folder = (!self.is_separate).then(|| self.cwd.clone());
                Ok(OpenOxide::answered(fields, &self.options, folder))
            }
            Some(Protocol::V2) if version == Some(2) => {
                let info = v2::reply::initialized(fields);
                Ok((Box::new(V2::new(info.capabilities)), Box::new(info)))
            }
            Some(protocol @ (Protocol::V1 | Protocol::V0)) if version == Some(1) => {
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

/// Returns the version that an answer agrees to, if it is a number. An agent that repeats version 2 without the `info` that
/// belongs to it has only copied what it was offered, and speaks version 1.
fn number_version(answer: &Fields, offer: Offer) -> Option<u64> {
    let version = answer.peek("protocolVersion").and_then(whole)?;
    let is_copied = version == 2 && offer == Offer::Second && answer.peek("info").is_none();
    Some(if is_copied { 1 } else { version })
}

/// Returns the protocol that an answer belongs to.
fn recognized(answer: &Fields, version: Option<u64>, has_version: bool) -> Option<Protocol> {
    match version {
        Some(2) => return Some(Protocol::V2),
        Some(1) => {
            let is_old = !has_version && answer.peek("agentInfo").is_none();
            return Some(if is_old { Protocol::V0 } else { Protocol::V1 });
        }
        _ => {}
    }
    answer.peek("protocolVersion").filter(|version| version.is_string())?;
    if answer.peek("serverInfo").is_some() {
        return Some(Protocol::OpenOxide);
    }
    answer.peek("capabilities").map(|_| Protocol::Go)
}

/// Describes an answer of an unknown protocol in a few words.
fn described(mut answer: Fields) -> String {
    match answer.any("protocolVersion") {
        None => "no protocolVersion".to_owned(),
        Some(version) => format!("protocolVersion {version}"),
    }
}

fn text_offer(ours: ClientCapabilities) -> Value {
    let name = "rat.nvim";
    serde_json::json!({
        "protocolVersion": STRING_VERSION,
        "clientInfo": { "name": name, "version": env!("CARGO_PKG_VERSION") },
        "capabilities": {
            "terminal": ours.terminal,
            "fs.readTextFile": ours.files.read,
            "fs.writeTextFile": ours.files.write,
            "diff_rendering": true,
            "terminal_display": true,
            "slash_commands": true,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(offered: Offered) -> Handshake {
        let config = AgentConfig::unusable("fake".into(), String::new());
        Handshake::new(&AgentConfig { offered, ..config }, Path::new("/"))
    }

    fn chosen(offered: Offered, answer: &str, has_version: bool) -> Option<Protocol> {
        match handshake(offered).answered(Ok(answer), has_version) {
            Step::Chosen(_, info) => info.protocol,
            Step::OfferAgain | Step::Failed(_) => None,
        }
    }

    #[test]
    fn the_answer_chooses_the_protocol() {
        let named = r#"{"protocolVersion":1,"agentInfo":{"name":"x"}}"#;
        let second = r#"{"protocolVersion":2,"info":{"name":"x","version":"1"}}"#;
        let copied = r#"{"protocolVersion":2,"agentInfo":{"name":"x"}}"#;
        for (answer, has_version, protocol) in [
            (second, true, Some(Protocol::V2)),
            (copied, true, Some(Protocol::V1)),
            (r#"{"protocolVersion":1}"#, true, Some(Protocol::V1)),
            (r#"{"protocolVersion":1.0}"#, true, Some(Protocol::V1)),
            (r#"{"protocolVersion":1}"#, false, Some(Protocol::V0)),
            (named, false, Some(Protocol::V1)),
            (r#"{"protocolVersion":"2025-01-01","capabilities":{}}"#, true, Some(Protocol::Go)),
            (r#"{"protocolVersion":"0.1","serverInfo":{}}"#, true, Some(Protocol::OpenOxide)),
            (r#"{"protocolVersion":"0.1"}"#, true, None),
            (r#"{"protocolVersion":3,"info":{}}"#, true, None),
            (r#"{"protocolVersion":null}"#, true, None),
            ("[]", true, None),
        ] {
            assert_eq!(chosen(Offered::All, answer, has_version), protocol, "{answer}");
        }
    }

    #[test]
    fn a_setting_decides_instead_of_the_answer() {
        let first = r#"{"protocolVersion":1}"#;
        let second = r#"{"protocolVersion":2,"info":{}}"#;
        let only = |protocol, answer, has_version| {
            chosen(Offered::Only(protocol), answer, has_version) == Some(protocol)
        };
        assert!(only(Protocol::V0, first, true));
        assert!(only(Protocol::V1, first, false));
        assert!(!only(Protocol::V1, second, true));
        assert!(only(Protocol::V2, second, true));
        assert!(!only(Protocol::V2, first, true), "version 1 was not asked for");
        assert!(only(Protocol::Go, r#"{"protocolVersion":"1"}"#, true));
        let offer = handshake(Offered::Only(Protocol::Go)).offer(1).unwrap();
        assert!(offer.contains(r#""protocolVersion":"0.1""#));
    }

    #[test]
    fn the_first_offer_can_be_read_by_agents_of_both_versions() {
        let offer: Value =
            serde_json::from_str(&handshake(Offered::Acp).offer(1).unwrap()).unwrap();
        let params = &offer["params"];
        assert_eq!(params["protocolVersion"], 2);
        assert_eq!(params["info"], params["clientInfo"]);
        assert!(params["capabilities"]["elicitation"]["form"].is_object());
        assert_eq!(params["clientCapabilities"]["fs"]["readTextFile"], true);
    }

    #[test]
    fn each_offer_is_made_once() {
        let refusal = |code: i64| format!(r#"{{"code":{code},"message":"no {code}"}}"#);
        let mut undecided = handshake(Offered::All);
        for (version, code) in [("2", -32022), ("1", -32602)] {
            let offer = undecided.offer(1).unwrap();
            assert!(offer.contains(&format!(r#""protocolVersion":{version}"#)), "{offer}");
            assert!(matches!(undecided.answered(Err(&refusal(code)), true), Step::OfferAgain));
        }
        assert!(undecided.offer(2).unwrap().contains(r#""protocolVersion":"0.1""#));
        let Step::Failed(CallError::Rpc { code, .. }) =
            undecided.answered(Err(&refusal(-32600)), true)
        else {
            panic!("not given up");
        };
        assert_eq!(code, -32022, "the reason for refusing the first");
        assert!(!undecided.ended());
        let first = Offered::Only(Protocol::V1);
        for (offered, code) in [(Offered::All, -32000), (Offered::Acp, -32000), (first, -32602)] {
            let failed = handshake(offered).answered(Err(&refusal(code)), true);
            assert!(matches!(failed, Step::Failed(_)), "{code}");
        }
        assert!(handshake(Offered::All).ended());
        assert!(!handshake(Offered::Acp).ended() && !handshake(first).ended());
    }

    #[test]
    fn a_known_agent_of_acp_is_not_offered_a_string() {
        let refusal = r#"{"code":-32602,"message":"no"}"#;
        let mut known = handshake(Offered::Acp);
        assert!(matches!(known.answered(Err(refusal), true), Step::OfferAgain));
        assert!(known.offer(1).unwrap().contains(r#""protocolVersion":1"#));
        assert!(matches!(known.answered(Err(refusal), true), Step::Failed(_)));
    }
}
