//! The versions of the protocol as these tests play them: what each calls the same things.

use super::schema::{Schema, UNSTABLE, V2};
use super::world::World;
use rat_nvim::acp::v1;
use rat_nvim::acp::v1::table::Row;
use rat_nvim::acp::v2;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

/// A version of the protocol.
pub(crate) struct Version {
    pub(crate) number: u64,
    pub(crate) schema: &'static LazyLock<Schema>,
    pub(crate) updates: &'static [Row],
    pub(crate) to_client: &'static [Row],
    /// The definition of the params of `session/update`.
    pub(crate) update: &'static str,
}

pub(crate) const FIRST: Version = Version {
    number: 1,
    schema: &UNSTABLE,
    updates: v1::table::UPDATES,
    to_client: v1::table::TO_CLIENT,
    update: "SessionNotification",
};

pub(crate) const SECOND: Version = Version {
    number: 2,
    schema: &V2,
    updates: v2::table::UPDATES,
    to_client: v2::table::TO_CLIENT,
    update: "UpdateSessionNotification",
};

pub(crate) const BOTH: [Version; 2] = [FIRST, SECOND];

impl Version {
    /// What an agent answers to `initialize` that has these capabilities.
    pub(crate) fn initialized(&self, capabilities: &Json) -> Json {
        match self.number {
            1 => json!({"protocolVersion": 1, "agentCapabilities": capabilities}),
            _ => {
                let info = json!({"name": "fake", "version": "1"});
                json!({"protocolVersion": 2, "info": info, "capabilities": capabilities})
            }
        }
    }

    /// An agent with the session `s`, in the middle of a turn.
    pub(crate) fn in_a_turn(&self) -> World {
        let mut world = World::start();
        world.answer("initialize", &self.initialized(&json!({"session": {}})));
        world.answer("session/new", &json!({"sessionId": "s"}));
        world.prompt("go");
        world
    }

    /// The agent ends the turn whose prompt waits for an answer.
    pub(crate) fn end_turn(&self, world: &mut World) {
        if self.number == 1 {
            return world.answer("session/prompt", &json!({"stopReason": "end_turn"}));
        }
        world.answer("session/prompt", &json!({"messageId": "prompt"}));
        let idle =
            json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"});
        world.update(&idle);
    }
}
