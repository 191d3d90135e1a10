//! Which events of conversations scripts listen to.

use crate::core::messages::conversation::EventKind;
use crate::core::messages::user::UserAction;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Tells which events are listened to. No others are sent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Listen {
    /// All events that have a listener.
    events: Vec<EventName>,
}

macro_rules! names {
    ($($name:ident,)*) => {
        /// The name of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub(in crate::nvim) enum EventName {
            $($name,)*
        }

        impl From<EventName> for EventKind {
            fn from(name: EventName) -> Self {
                match name {
                    $(EventName::$name => Self::$name,)*
                }
            }
        }
    };
}

names! {
    Chunk, Message, ToolCall, ToolContent, Terminal, Plan, Commands, Mode, Options, SessionInfo, Usage, Notice,
    Compaction, CompactionChunk, Meta, Activity, Unknown, Permission, TurnStart, TurnEnd,
}

impl From<Listen> for UserAction {
    fn from(Listen { events }: Listen) -> Self {
        Self::Listen(events.into_iter().map(Into::into).collect())
    }
}
